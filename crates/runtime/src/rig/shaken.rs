//! A virtual rig whose specimen is shaken by force actuators under control.

use model::motion::Motion;
use model::sensor::Sensor;
use model::shaken::{ShakenDynamics, ShakenError, ShakenSpecimen, ShakenStep, Shaker};

use super::{Measured, Rig};

/// Sensors of a shaken specimen, one per interface DOF each.
#[derive(Debug, Clone)]
pub struct ShakenSensors {
    /// Lasers, m.
    pub displacement: Vec<Sensor>,
    /// Load cells, N: the actuator's force without its preload, as a
    /// piezoelectric cell shows it.
    pub force: Vec<Sensor>,
    /// Accelerometers, m/s².
    pub acceleration: Vec<Sensor>,
}

/// The rig with its state. A command's displacement and velocity are the target.
#[derive(Debug, Clone)]
pub struct ShakenRig {
    step: ShakenStep,
    interface: Vec<usize>,
    /// Where the actuators' forces stand in the state.
    forces_at: usize,
    sensors: ShakenSensors,
    measured_acceleration: Vec<f64>,
}

impl ShakenRig {
    /// At rest, virgin.
    pub fn new(
        shaker: &Shaker,
        specimen: &ShakenSpecimen,
        sensors: ShakenSensors,
        step_s: f64,
    ) -> Result<Self, ShakenError> {
        let dynamics = ShakenDynamics::new(shaker, specimen)?;
        Ok(Self {
            step: ShakenStep::new(&dynamics, specimen, step_s),
            interface: specimen.interface.clone(),
            forces_at: 2 * dynamics.size,
            sensors,
            measured_acceleration: vec![0.0; specimen.interface.len()],
        })
    }
}

impl Rig for ShakenRig {
    #[inline]
    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) {
        let (state, acceleration) = (self.step.state(), self.step.acceleration());
        for (i, &dof) in self.interface.iter().enumerate() {
            let (sensors, force) = (&mut self.sensors, state[self.forces_at + i]);
            measured.achieved[i] = state[dof];
            measured.displacement[i] = sensors.displacement[i].read(state[dof]);
            measured.force[i] = sensors.force[i].read(force);
            self.measured_acceleration[i] = sensors.acceleration[i].read(acceleration[i]);
        }
    }

    #[inline]
    fn actuate(&mut self, command: &Motion) {
        self.step.advance(&command.displacement, &command.velocity);
    }

    #[inline]
    fn acceleration(&self) -> Option<&[f64]> {
        Some(&self.measured_acceleration)
    }
}
