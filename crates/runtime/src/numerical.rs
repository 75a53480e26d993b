//! The numerical substructure, in one of four forms.
//!
//! The closed loop does not care which: it measures, reads the desired motion,
//! actuates and advances. `Partitioned` is the real thing, and `TwoRate` the same
//! at a slower rate; the other two exist in virtual time only, where numerical
//! part and virtual rig are one system.

use model::coupled::Coupled;
use model::integrator::{ElementEnergy, Integrator, NotConverged, StepWork};
use model::motion::Motion;

use crate::interlock::Stop;
use crate::rig::{Measured, Rig, RigSlot, VirtualRig};
use crate::source::Scene;
use crate::two_rate::TwoRateModel;

/// Both sides of the interface.
pub struct Plant {
    /// What is simulated.
    pub numerical: Numerical,
    /// What stands in the laboratory.
    pub rig: RigSlot,
}

/// The numerical substructure.
pub enum Numerical {
    /// Stepped on its own; the measured force is held over the step.
    Partitioned {
        /// What is simulated.
        integrator: Integrator,
        /// Number of its nonlinear elements.
        elements: usize,
    },
    /// An ideal transfer system: structure and specimen move as one.
    Monolithic(Box<Monolithic>),
    /// Numerical substructure and virtual rig integrated as one system.
    Continuous(Box<Continuous>),
    /// Stepped at a slower rate than the rig.
    TwoRate(Box<TwoRateModel>),
}

/// The whole structure in one integrator; the specimen's force is read off it.
pub struct Monolithic {
    /// The structure as if it were built.
    whole: Integrator,
    /// Number of nonlinear elements of the numerical part; those of the
    /// specimen follow.
    elements: usize,
    /// Zeros: no interface force acts on the whole structure.
    no_force: Vec<f64>,
}

/// Numerical substructure and rig as one system.
pub struct Continuous {
    /// Both.
    model: Coupled,
    /// The converted command.
    command: Motion,
    /// Sensor error of the force, held over the step.
    error: Vec<f64>,
    /// Whether a trip has taken the rig out, which then follows commands alone.
    released: bool,
}

impl Plant {
    /// A numerical substructure of so many nonlinear elements, and any rig.
    pub fn partitioned(integrator: Integrator, elements: usize, rig: impl Into<RigSlot>) -> Self {
        Self { numerical: Numerical::Partitioned { integrator, elements }, rig: rig.into() }
    }

    /// The whole structure, whose specimen has the sensors of `rig`.
    pub fn monolithic(whole: Integrator, elements: usize, rig: VirtualRig) -> Self {
        let no_force = vec![0.0; whole.interface().count()];
        let numerical = Numerical::Monolithic(Box::new(Monolithic { whole, elements, no_force }));
        Self { numerical, rig: rig.into() }
    }

    /// Numerical substructure and rig as one system; `rig` is the same rig alone,
    /// for its sensors and for the way to safe.
    pub fn continuous(model: Coupled, rig: VirtualRig) -> Self {
        let count = model.interface().count();
        let (command, error) = (Motion::rest(count), vec![0.0; count]);
        let joint = Continuous { model, command, error, released: false };
        Self { numerical: Numerical::Continuous(Box::new(joint)), rig: rig.into() }
    }

    /// A numerical substructure at a slower rate, and any rig.
    pub fn two_rate(model: TwoRateModel, rig: impl Into<RigSlot>) -> Self {
        Self { numerical: Numerical::TwoRate(Box::new(model)), rig: rig.into() }
    }
}

impl Numerical {
    /// At rest under the load of the first instant, before the loop is armed.
    pub fn rest(&mut self, load: &[f64]) {
        match self {
            Self::Partitioned { integrator, .. } => integrator.rest(load),
            Self::Monolithic(joint) => joint.whole.rest(load),
            // Keeps nothing of the past.
            Self::Continuous(_) => {}
            Self::TwoRate(model) => model.rest(load),
        }
    }

    /// Samples the sensors and balances the forces of this instant.
    #[inline(always)]
    pub fn measure(&mut self, load: &[f64], scene: &mut Scene<'_>) -> Result<(), Stop> {
        match self {
            Self::Partitioned { integrator, .. } => {
                let health = scene.rig.measure(integrator.interface(), scene.measured);
                integrator.equilibrium(load, &mut scene.measured.force);
                Ok(health?)
            }
            Self::Monolithic(joint) => {
                joint.whole.equilibrium(load, &mut joint.no_force);
                if let RigSlot::Virtual(rig) = scene.rig {
                    rig.follow(joint.whole.interface(), scene.measured);
                }
                Ok(())
            }
            Self::Continuous(joint) => {
                joint.measure(load, scene.rig, scene.measured);
                Ok(())
            }
            Self::TwoRate(model) => model.measure(load, scene),
        }
    }

    /// Where the desired motion belongs to a new prediction from this tick on:
    /// what that would have asked for a tick earlier.
    #[inline(always)]
    pub fn new_prediction(&self) -> Option<&Motion> {
        match self {
            Self::Partitioned { .. } | Self::Monolithic(_) | Self::Continuous(_) => None,
            Self::TwoRate(model) => model.new_prediction(),
        }
    }

    /// The desired motion of the interface.
    #[inline(always)]
    pub fn desired(&self) -> &Motion {
        match self {
            Self::Partitioned { integrator, .. } => integrator.interface(),
            Self::Monolithic(joint) => joint.whole.interface(),
            Self::Continuous(joint) => joint.model.interface(),
            Self::TwoRate(model) => model.desired(),
        }
    }

    /// Displacement of every numerical DOF; with two rates that of the newest
    /// instant of the main loop.
    #[inline(always)]
    pub fn displacement(&self) -> &[f64] {
        match self {
            Self::Partitioned { integrator, .. } => integrator.displacement(),
            Self::Monolithic(joint) => joint.whole.displacement(),
            Self::Continuous(joint) => joint.model.displacement(),
            Self::TwoRate(model) => model.displacement(),
        }
    }

    /// Velocity of every numerical DOF, of the same instant.
    #[inline(always)]
    pub fn velocity(&self) -> &[f64] {
        match self {
            Self::Partitioned { integrator, .. } => integrator.velocity(),
            Self::Monolithic(joint) => joint.whole.velocity(),
            Self::Continuous(joint) => joint.model.velocity(),
            Self::TwoRate(model) => model.velocity(),
        }
    }

    /// Energy of the nonlinear elements of the numerical part.
    #[inline(always)]
    pub fn element_energy(&self) -> ElementEnergy {
        match self {
            Self::Partitioned { integrator, elements } => integrator.element_energy(*elements),
            Self::Monolithic(joint) => joint.whole.element_energy(joint.elements),
            Self::Continuous(joint) => joint.model.element_energy(),
            Self::TwoRate(model) => model.element_energy(),
        }
    }

    /// The work done on the numerical part over the last step, where its
    /// integrator gives it. `force` is the one just measured.
    #[inline(always)]
    pub fn step_work(&self, force: &[f64]) -> Option<StepWork> {
        match self {
            Self::Partitioned { integrator, .. } => integrator.step_work(force),
            // Their integrators move more than the numerical part.
            Self::Monolithic(_) | Self::Continuous(_) => None,
            Self::TwoRate(model) => Some(model.work()),
        }
    }

    /// Displacement of every numerical DOF at this tick, appended to a frame.
    #[inline(always)]
    pub fn show_displacement(&self, step_s: f64, frame: &mut Vec<f64>) {
        match self {
            Self::TwoRate(model) => model.show(0, step_s, frame),
            _ => frame.extend_from_slice(self.displacement()),
        }
    }

    /// Velocity and acceleration of every numerical DOF at this tick, likewise.
    /// `scratch` has room for the accelerations.
    pub fn show_rates(
        &mut self,
        load: &[f64],
        measured: &Measured,
        step_s: f64,
        scratch: &mut [f64],
        frame: &mut Vec<f64>,
    ) {
        match self {
            Self::Partitioned { integrator, .. } => {
                integrator.acceleration(load, &measured.force, scratch);
            }
            Self::Monolithic(joint) => joint.whole.acceleration(load, &joint.no_force, scratch),
            Self::Continuous(joint) => joint.model.acceleration(scratch),
            Self::TwoRate(model) => {
                model.show(1, step_s, frame);
                model.show(2, step_s, frame);
                return;
            }
        }
        frame.extend_from_slice(self.velocity());
        frame.extend_from_slice(scratch);
    }

    /// Gives the rig its command.
    #[inline(always)]
    pub fn actuate(&mut self, rig: &mut RigSlot, command: &Motion) {
        match (self, rig) {
            (Self::Continuous(joint), RigSlot::Virtual(rig)) if !joint.released => {
                rig.convert(command, &mut joint.command);
            }
            (_, rig) => rig.actuate(command),
        }
    }

    /// Goes one period on.
    #[inline(always)]
    pub fn advance(
        &mut self,
        load: &[f64],
        next: &[f64],
        measured: &Measured,
    ) -> Result<(), NotConverged> {
        match self {
            Self::Partitioned { integrator, .. } => integrator.advance(load, next, &measured.force),
            Self::Monolithic(joint) => joint.whole.advance(load, next, &joint.no_force),
            Self::Continuous(joint) => {
                joint.model.advance(load, next, &joint.command, &joint.error);
                Ok(())
            }
            // The main loop goes on by itself.
            Self::TwoRate(_) => Ok(()),
        }
    }

    /// Takes the rig out of a joint model, where it is led on alone; a rig of
    /// its own needs no word.
    pub fn release(&mut self, rig: &mut RigSlot, held: &Motion) {
        if let (Self::Continuous(joint), RigSlot::Virtual(rig)) = (self, rig)
            && !joint.released
        {
            joint.released = true;
            rig.take_over(joint.model.rig_state(), joint.model.specimen(), held);
        }
    }
}

impl Continuous {
    fn measure(&mut self, load: &[f64], rig: &mut RigSlot, measured: &mut Measured) {
        self.model.observe(load);
        let (achieved, force) = (&self.model.achieved().displacement, self.model.force());
        if let RigSlot::Virtual(rig) = rig {
            rig.sense(achieved, force, measured);
        }
        for (error, (said, truth)) in self.error.iter_mut().zip(measured.force.iter().zip(force)) {
            *error = said - truth;
        }
    }
}
