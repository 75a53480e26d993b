//! A virtual rig whose specimen is shaken by force actuators under control.

use model::motion::Motion;
use model::sensor::Sensor;
use model::shaken::{ShakenDynamics, ShakenError, ShakenSpecimen, ShakenStep, Shaker};

use super::{Measured, Rig, RigFault};

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
    /// Displacement, force and acceleration of each interface DOF.
    readings: Vec<[f64; 3]>,
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
            readings: vec![[0.0; 3]; specimen.interface.len()],
        })
    }

    /// Goes through `ticks` of measuring and actuating. `lead` is shown what each
    /// interface DOF's sensors say, displacement, force and acceleration, and sets
    /// target and velocity; if it says no, the run ends after that measurement. How
    /// many ticks were done.
    #[inline]
    pub(crate) fn run(
        &mut self,
        ticks: usize,
        mut lead: impl FnMut(usize, &[[f64; 3]], &mut [f64], &mut [f64]) -> bool,
    ) -> usize {
        let Self { step, interface, forces_at, sensors, readings, .. } = self;
        let readings = &mut readings[..interface.len()];
        step.run(ticks, |tick, now| {
            for (i, reading) in readings.iter_mut().enumerate() {
                *reading = sensors.read(i, *forces_at, interface[i], now.state, now.acceleration);
            }
            lead(tick, readings, now.target, now.velocity)
        })
    }
}

impl ShakenSensors {
    /// What those of one interface DOF say.
    #[inline(always)]
    fn read(
        &mut self,
        i: usize,
        forces_at: usize,
        dof: usize,
        state: &[f64],
        acceleration: &[f64],
    ) -> [f64; 3] {
        [
            self.displacement[i].read(state[dof]),
            self.force[i].read(state[forces_at + i]),
            self.acceleration[i].read(acceleration[i]),
        ]
    }
}

impl Rig for ShakenRig {
    nothing_behind_it!();

    #[inline]
    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        measured.has_acceleration = true;
        for i in 0..self.interface.len() {
            let (state, accelerations) = (self.step.state(), &self.step.acceleration);
            let dof = self.interface[i];
            let [displacement, force, acceleration] =
                self.sensors.read(i, self.forces_at, dof, state, accelerations);
            measured.achieved[i] = state[dof];
            measured.displacement[i] = displacement;
            measured.force[i] = force;
            measured.acceleration[i] = acceleration;
        }
        Ok(())
    }

    #[inline]
    fn actuate(&mut self, command: &Motion) {
        self.step.advance(&command.displacement, &command.velocity);
    }
}
