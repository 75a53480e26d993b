//! Numerical substructure and rig, joined in one of four ways.
//!
//! The tick does not care which: it measures, reads the desired motion,
//! actuates and advances. `Split` is the real thing, and `TwoRate` the same with
//! a slower numerical part; the other two exist in virtual time only.

use model::channel::Channel;
use model::coupled::Coupled;
use model::integrator::{ElementEnergy, Integrator, NotConverged, StepWork};
use model::motion::Motion;

use crate::event::EventLog;
use crate::gate::{Trip, TripKind};
use crate::link::LinkCounts;
use crate::rig::{Measured, Rig, RigFault, RigSlot, VirtualRig};
use crate::two_rate::TwoRatePlant;

/// Both sides of the interface.
pub enum Plant {
    /// A numerical substructure and a rig; the measured force is held over the step.
    Split(SplitPlant),
    /// An ideal transfer system: structure and specimen move as one.
    Rigid(Box<RigidPlant>),
    /// Numerical substructure and virtual rig integrated as one system.
    Coupled(Box<CoupledPlant>),
    /// A numerical substructure that is stepped at a slower rate than the rig.
    TwoRate(Box<TwoRatePlant>),
}

/// A numerical substructure and any rig.
pub struct SplitPlant {
    /// What is simulated.
    pub numerical: Integrator,
    /// Number of its nonlinear elements.
    pub elements: usize,
    /// What stands in the laboratory.
    pub rig: RigSlot,
}

/// The whole structure in one integrator; the specimen's force is read off it.
pub struct RigidPlant {
    /// The structure as if it were built.
    pub whole: Integrator,
    /// The specimen with its sensors, moved exactly as desired.
    pub rig: VirtualRig,
    /// Number of nonlinear elements of the numerical part; those of the
    /// specimen follow.
    pub elements: usize,
    /// Zeros: no interface force acts on the whole structure.
    pub no_force: Vec<f64>,
}

/// Numerical substructure and rig as one system.
pub struct CoupledPlant {
    /// Both.
    pub model: Coupled,
    /// The same rig alone, for sensors and for the way to safe.
    pub rig: VirtualRig,
    /// The converted command.
    pub command: Motion,
    /// Sensor error of the force, held over the step.
    pub error: Vec<f64>,
    /// Set by a trip: the rig then follows commands alone.
    pub released: Released,
}

/// Whether a joint model still moves as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// It does.
    No,
    /// A trip has taken the rig out of the loop.
    Yes,
}

impl Plant {
    /// At rest under the load of the first instant, before the loop is armed.
    pub fn rest(&mut self, load: &[f64]) {
        match self {
            Self::Split(plant) => plant.numerical.rest(load),
            Self::Rigid(plant) => plant.whole.rest(load),
            // Keeps nothing of the past.
            Self::Coupled(_) => {}
            Self::TwoRate(plant) => plant.rest(load),
        }
    }

    /// Samples the sensors and balances the forces of this instant.
    #[inline(always)]
    pub fn measure(&mut self, load: &[f64], measured: &mut Measured) -> Result<(), RigFault> {
        match self {
            Self::Split(plant) => {
                let health = plant.rig.measure(plant.numerical.interface(), measured);
                plant.numerical.equilibrium(load, &mut measured.force);
                return health;
            }
            Self::Rigid(plant) => plant.measure(load, measured),
            Self::Coupled(plant) => plant.measure(load, measured),
            Self::TwoRate(plant) => return plant.measure(load, measured),
        }
        Ok(())
    }

    /// Notes what the plant has to say of this tick, and trips where it cannot
    /// go on.
    #[inline(always)]
    pub fn attend(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Trip> {
        match self {
            Self::Split(_) | Self::Rigid(_) | Self::Coupled(_) => Ok(()),
            Self::TwoRate(plant) => plant.attend(tick, log),
        }
    }

    /// Where the desired motion belongs to a new prediction from this tick on:
    /// what that would have asked for a tick earlier.
    #[inline(always)]
    pub fn rejoined(&self) -> Option<&Motion> {
        match self {
            Self::Split(_) | Self::Rigid(_) | Self::Coupled(_) => None,
            Self::TwoRate(plant) => plant.rejoined(),
        }
    }

    /// Samples the sensors of the rig alone, on the way to safe.
    pub fn measure_rig(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        match self {
            Self::Split(plant) => plant.rig.measure(ahead, measured),
            Self::Rigid(plant) => plant.rig.measure(ahead, measured),
            Self::Coupled(plant) => plant.rig.measure(ahead, measured),
            Self::TwoRate(plant) => plant.rig_mut().measure(ahead, measured),
        }
    }

    /// The desired motion of the interface.
    #[inline(always)]
    pub fn desired(&self) -> &Motion {
        match self {
            Self::Split(plant) => plant.numerical.interface(),
            Self::Rigid(plant) => plant.whole.interface(),
            Self::Coupled(plant) => plant.model.interface(),
            Self::TwoRate(plant) => plant.desired(),
        }
    }

    /// Displacement of every numerical DOF; with two rates that of the newest
    /// instant of the main loop.
    #[inline(always)]
    pub fn displacement(&self) -> &[f64] {
        match self {
            Self::Split(plant) => plant.numerical.displacement(),
            Self::Rigid(plant) => plant.whole.displacement(),
            Self::Coupled(plant) => plant.model.displacement(),
            Self::TwoRate(plant) => plant.displacement(),
        }
    }

    /// Velocity of every numerical DOF, of the same instant.
    #[inline(always)]
    pub fn velocity(&self) -> &[f64] {
        match self {
            Self::Split(plant) => plant.numerical.velocity(),
            Self::Rigid(plant) => plant.whole.velocity(),
            Self::Coupled(plant) => plant.model.velocity(),
            Self::TwoRate(plant) => plant.velocity(),
        }
    }

    /// Energy of the nonlinear elements of the numerical part.
    #[inline(always)]
    pub fn element_energy(&self) -> ElementEnergy {
        match self {
            Self::Split(plant) => plant.numerical.element_energy(plant.elements),
            Self::Rigid(plant) => plant.whole.element_energy(plant.elements),
            Self::Coupled(plant) => plant.model.element_energy(),
            Self::TwoRate(plant) => plant.element_energy(),
        }
    }

    /// The work done on the numerical part over the last step, where its
    /// integrator gives it. `force` is the one just measured.
    #[inline(always)]
    pub fn step_work(&self, force: &[f64]) -> Option<StepWork> {
        match self {
            Self::Split(plant) => plant.numerical.step_work(force),
            // Their integrators move more than the numerical part.
            Self::Rigid(_) | Self::Coupled(_) => None,
            Self::TwoRate(plant) => Some(plant.work()),
        }
    }

    /// Acceleration of every numerical DOF, for those who record it.
    pub fn acceleration(&mut self, load: &[f64], measured: &Measured, out: &mut [f64]) {
        match self {
            Self::Split(plant) => plant.numerical.acceleration(load, &measured.force, out),
            Self::Rigid(plant) => plant.whole.acceleration(load, &plant.no_force, out),
            Self::Coupled(plant) => plant.model.acceleration(out),
            // Shown by `show`.
            Self::TwoRate(_) => {}
        }
    }

    /// Displacement of every numerical DOF at this tick, appended to a frame.
    #[inline(always)]
    pub fn show_displacement(&self, step_s: f64, frame: &mut Vec<f64>) {
        match self {
            Self::TwoRate(plant) => plant.show(0, step_s, frame),
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
        if let Self::TwoRate(plant) = self {
            plant.show(1, step_s, frame);
            plant.show(2, step_s, frame);
        } else {
            frame.extend_from_slice(self.velocity());
            self.acceleration(load, measured, scratch);
            frame.extend_from_slice(scratch);
        }
    }

    /// Values of the channels of two rates, appended.
    #[inline(always)]
    pub fn write(&self, frame: &mut Vec<f64>) {
        if let Self::TwoRate(plant) = self {
            plant.write(frame);
        }
    }

    /// The channels of the rig itself.
    pub fn rig_channels(&self) -> Vec<Channel> {
        match self {
            Self::Split(plant) => plant.rig.channels(),
            Self::Rigid(plant) => plant.rig.channels(),
            Self::Coupled(plant) => plant.rig.channels(),
            Self::TwoRate(plant) => plant.rig().channels(),
        }
    }

    /// Lets the rig go after the last tick.
    pub fn disarm(&mut self) {
        match self {
            Self::Split(plant) => plant.rig.disarm(),
            Self::Rigid(plant) => plant.rig.disarm(),
            Self::Coupled(plant) => plant.rig.disarm(),
            Self::TwoRate(plant) => plant.rig_mut().disarm(),
        }
    }

    /// What a rig behind a link has counted.
    #[inline]
    pub fn link(&self) -> Option<&LinkCounts> {
        match self {
            Self::Split(plant) => plant.rig.link(),
            Self::TwoRate(plant) => plant.rig().link(),
            Self::Rigid(_) | Self::Coupled(_) => None,
        }
    }

    /// Gives the rig its command.
    #[inline(always)]
    pub fn actuate(&mut self, command: &Motion) {
        match self {
            Self::Split(plant) => plant.rig.actuate(command),
            Self::Rigid(plant) => plant.rig.actuate(command),
            Self::Coupled(plant) => plant.actuate(command),
            Self::TwoRate(plant) => plant.rig_mut().actuate(command),
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
            Self::Split(plant) => plant.numerical.advance(load, next, &measured.force),
            Self::Rigid(plant) => plant.whole.advance(load, next, &plant.no_force),
            Self::Coupled(plant) => {
                plant.model.advance(load, next, &plant.command, &plant.error);
                Ok(())
            }
            // The main loop goes on by itself.
            Self::TwoRate(_) => Ok(()),
        }
    }

    /// Takes the rig out of the loop after a trip; it stands where it stood.
    pub fn release(&mut self, command: &Motion, cause: TripKind) {
        match self {
            Self::Rigid(plant) => plant.rig.on_trip(cause),
            Self::Split(plant) => plant.rig.on_trip(cause),
            Self::TwoRate(plant) => plant.rig_mut().on_trip(cause),
            Self::Coupled(_) => self.detach(command),
        }
    }

    /// Takes the rig out of a joint model, where it is led on alone; a rig of
    /// its own needs no word.
    pub fn detach(&mut self, command: &Motion) {
        if let Self::Coupled(plant) = self
            && plant.released == Released::No
        {
            plant.released = Released::Yes;
            let CoupledPlant { model, rig, .. } = &mut **plant;
            rig.take_over(model.rig_state(), model.specimen(), command);
        }
    }
}

impl RigidPlant {
    fn measure(&mut self, load: &[f64], measured: &mut Measured) {
        self.whole.equilibrium(load, &mut self.no_force);
        self.rig.follow(self.whole.interface(), measured);
    }
}

impl CoupledPlant {
    fn measure(&mut self, load: &[f64], measured: &mut Measured) {
        self.model.observe(load);
        let (achieved, force) = (&self.model.achieved().displacement, self.model.force());
        self.rig.sense(achieved, force, measured);
        for (error, (said, truth)) in self.error.iter_mut().zip(measured.force.iter().zip(force)) {
            *error = said - truth;
        }
    }

    fn actuate(&mut self, command: &Motion) {
        match self.released {
            Released::No => self.rig.convert(command, &mut self.command),
            Released::Yes => self.rig.actuate(command),
        }
    }
}
