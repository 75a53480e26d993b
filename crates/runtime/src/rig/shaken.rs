//! A virtual rig whose specimen is shaken by force actuators under control.

use model::element::Element;
use model::equations::{Deformation, PlacedElement};
use model::first_order::{FirstOrderStepper, Scheme};
use model::motion::Motion;
use model::sensor::Sensor;
use model::shaken::{ShakenDynamics, ShakenError, ShakenSpecimen, Shaker};
use numerics::panel::PanelMatrix;

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
    stepper: FirstOrderStepper,
    places: Vec<Deformation>,
    elements: Vec<Element>,
    interface: Vec<usize>,
    size: usize,
    sensors: ShakenSensors,
    /// Target, its velocity, 1 for the preload.
    held: Vec<f64>,
    /// State, 1, element forces: what the accelerations follow from.
    input: Vec<f64>,
    acceleration: PanelMatrix,
    output: Vec<f64>,
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
        let count = specimen.interface.len();
        let scheme = Scheme::ExactZeroHold;
        let stepper =
            FirstOrderStepper::with_slopes(&dynamics.system, &dynamics.slopes, scheme, step_s);
        let acceleration = PanelMatrix::new(&dynamics.acceleration);
        let mut held = vec![0.0; 2 * count + 1];
        held[2 * count] = 1.0;
        let of = |placed: &PlacedElement| (placed.place, placed.element.clone());
        let (places, elements) = specimen.elements.iter().map(of).unzip();
        Ok(Self {
            stepper,
            places,
            elements,
            interface: specimen.interface.clone(),
            size: dynamics.size,
            sensors,
            held,
            input: vec![0.0; dynamics.acceleration.ncols()],
            output: acceleration.output(),
            acceleration,
            measured_acceleration: vec![0.0; count],
        })
    }

    fn accelerate(&mut self) {
        let states = self.stepper.state().len();
        let (y, rest) = self.input.split_at_mut(states);
        y.copy_from_slice(self.stepper.state());
        rest[0] = 1.0;
        for ((r, element), place) in rest[1..].iter_mut().zip(&self.elements).zip(&self.places) {
            *r = element.trial_force(place.value(&y[..self.size]));
        }
        self.acceleration.multiply(&self.input, &mut self.output);
    }
}

impl Rig for ShakenRig {
    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) {
        self.accelerate();
        let state = self.stepper.state();
        for (i, &dof) in self.interface.iter().enumerate() {
            measured.achieved[i] = state[dof];
            measured.displacement[i] = self.sensors.displacement[i].read(state[dof]);
            measured.force[i] = self.sensors.force[i].read(state[2 * self.size + i]);
            self.measured_acceleration[i] = self.sensors.acceleration[i].read(self.output[i]);
        }
    }

    fn actuate(&mut self, command: &Motion) {
        let count = self.interface.len();
        self.held[..count].copy_from_slice(&command.displacement);
        self.held[count..2 * count].copy_from_slice(&command.velocity);
        let (places, elements, size) = (&self.places, &self.elements, self.size);
        self.stepper.advance(&[], &[], &self.held, |y, r| {
            for ((r, element), place) in r.iter_mut().zip(elements).zip(places) {
                *r = element.trial_force(place.value(&y[..size]));
            }
        });
        let state = self.stepper.state();
        for (element, place) in self.elements.iter_mut().zip(&self.places) {
            element.commit(place.value(&state[..size]));
        }
    }

    fn acceleration(&self) -> Option<&[f64]> {
        Some(&self.measured_acceleration)
    }
}
