//! The numerical substructure, in one of its forms.
//!
//! The closed loop does not care which: it measures, reads the desired motion,
//! actuates and advances. A partitioned one is the real thing, and `TwoRate` the
//! same at a slower rate; a monolithic and a continuous one exist in virtual time
//! only, where numerical part and virtual rig are one system.

use model::coupled::Coupled;
use model::integrator::{Integrator, NotConverged};
use model::motion::Motion;

use crate::frame::append;
use crate::interlock::Stop;
use crate::monitor::Observation;
use crate::rig::{Measured, RigSlot, VirtualRig};
use crate::source::Scene;
use crate::two_rate::{Rates, TwoRateModel};

/// Both sides of the interface.
pub struct Plant {
    /// What is simulated.
    pub numerical: Numerical,
    /// What stands in the laboratory.
    pub rig: RigSlot,
}

/// The numerical substructure.
pub enum Numerical {
    /// Stepped by an integrator.
    Stepped(Stepped),
    /// Numerical substructure and virtual rig integrated as one system.
    Continuous(Box<Continuous>),
    /// Stepped at a slower rate than the rig.
    TwoRate(Box<TwoRateModel>),
}

/// Stepped on its own, the measured force held over the step (partitioned), or in
/// one piece with the specimen, whose force is read off it (monolithic).
pub struct Stepped {
    integrator: Integrator,
    /// Number of nonlinear elements of the numerical part; those of the
    /// specimen follow.
    elements: usize,
    monolithic: Option<OnePiece>,
}

/// The forces at the interface of a structure in one piece.
struct OnePiece {
    /// Zeros: none acts on the whole.
    outside: Vec<f64>,
    /// The specimen's own, which works on the rest, without the error of its sensor, which moves
    /// nothing here.
    inside: Vec<f64>,
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

impl Numerical {
    /// Whether the rig is no part of it, so that it can stand still while the rig is held.
    pub fn is_apart(&self) -> bool {
        match self {
            Self::Stepped(stepped) => stepped.monolithic.is_none(),
            Self::Continuous(_) => false,
            Self::TwoRate(_) => true,
        }
    }
}

impl Plant {
    /// A numerical substructure of so many nonlinear elements, and any rig.
    pub fn partitioned(integrator: Integrator, elements: usize, rig: impl Into<RigSlot>) -> Self {
        let numerical = Numerical::Stepped(Stepped { integrator, elements, monolithic: None });
        Self { numerical, rig: rig.into() }
    }

    /// The whole structure as if it were built, whose specimen has the sensors of
    /// `rig`: an ideal transfer system.
    pub fn monolithic(whole: Integrator, elements: usize, rig: VirtualRig) -> Self {
        let none = vec![0.0; whole.interface().count()];
        let monolithic = Some(OnePiece { outside: none.clone(), inside: none });
        let numerical = Numerical::Stepped(Stepped { integrator: whole, elements, monolithic });
        Self { numerical, rig: rig.into() }
    }

    /// Numerical substructure and rig as one system; `rig` is the same rig alone,
    /// for its sensors and for the way to safe.
    pub fn continuous(model: Coupled, rig: VirtualRig) -> Self {
        let count = model.interface.count();
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
            Self::Stepped(part) => part.integrator.rest(load),
            // Keeps nothing of the past.
            Self::Continuous(_) => {}
            Self::TwoRate(model) => model.rest(load),
        }
    }

    /// The integrator of a partitioned one, at the rate of the tick.
    #[inline(always)]
    pub fn partitioned(&self) -> Option<&Integrator> {
        match self {
            Self::Stepped(part) if part.monolithic.is_none() => Some(&part.integrator),
            _ => None,
        }
    }

    /// What is simulated at two rates, where it is.
    #[inline(always)]
    pub fn two_rate(&self) -> Option<&TwoRateModel> {
        match self {
            Self::TwoRate(model) => Some(model),
            _ => None,
        }
    }

    /// Samples the sensors and balances the forces of this instant.
    #[inline(always)]
    pub fn measure(&mut self, load: &[f64], scene: &mut Scene<'_>) -> Result<(), Stop> {
        match self {
            Self::Stepped(part) => part.measure(load, scene),
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
        self.two_rate()?.new_prediction()
    }

    /// The desired motion of the interface.
    #[inline(always)]
    pub fn desired(&self) -> &Motion {
        match self {
            Self::Stepped(part) => part.integrator.interface(),
            Self::Continuous(joint) => &joint.model.interface,
            Self::TwoRate(model) => &model.desired,
        }
    }

    /// Displacement of every numerical DOF; with two rates that of the newest
    /// instant of the main loop.
    #[inline(always)]
    pub fn displacement(&self) -> &[f64] {
        match self {
            Self::Stepped(part) => part.integrator.displacement(),
            Self::Continuous(joint) => joint.model.displacement(),
            Self::TwoRate(model) => &model.batch.displacement,
        }
    }

    /// Velocity of every numerical DOF, of the same instant.
    #[inline(always)]
    pub fn velocity(&self) -> &[f64] {
        match self {
            Self::Stepped(part) => part.integrator.velocity(),
            Self::Continuous(joint) => joint.model.velocity(),
            Self::TwoRate(model) => &model.batch.velocity,
        }
    }

    /// Most ticks that an [observation](Self::observation) may be old.
    pub(crate) fn most_age(&self) -> usize {
        self.two_rate().map_or(0, |model| {
            let Rates { ratio, task_ticks, bridge, .. } = model.rates;
            ratio + task_ticks + bridge
        })
    }

    /// How far the velocity lies behind the displacement, s, where the monitor sees every step.
    pub fn velocity_lag_s(&self) -> f64 {
        match self {
            Self::Stepped(part) => part.integrator.velocity_lag_s(),
            _ => 0.0,
        }
    }

    /// What the energy monitor is told of this instant; `force` is the one just measured.
    #[inline(always)]
    pub fn observation<'a>(&'a self, load: &'a [f64], force: &'a [f64]) -> Observation<'a> {
        let (elements, work) = match self {
            Self::Stepped(part) => (part.integrator.element_energy(part.elements), None),
            Self::Continuous(joint) => (joint.model.element_energy(), None),
            Self::TwoRate(model) => (model.batch.elements, Some(model.work)),
        };
        // Only of a partitioned one does the step move nothing but the numerical part.
        let step_work = || self.partitioned()?.step_work(force);
        let force = match self {
            Self::Stepped(Stepped { monolithic: Some(piece), .. }) => &piece.inside,
            _ => force,
        };
        Observation {
            displacement: self.displacement(),
            velocity: self.velocity(),
            interface: &self.desired().displacement,
            load,
            force,
            elements,
            work: work.or_else(step_work),
            age: self.two_rate().map_or(0, TwoRateModel::age),
        }
    }

    /// Appends displacement (order 0), velocity (1) or acceleration (2) of every
    /// numerical DOF at this tick to a frame that has room.
    pub fn show(
        &mut self,
        order: usize,
        load: &[f64],
        measured: &Measured,
        step_s: f64,
        frame: &mut Vec<f64>,
    ) {
        match (&mut *self, order) {
            (Self::TwoRate(model), _) => model.show(order, step_s, frame),
            (_, 0) => append(frame, self.displacement()),
            (_, 1) => append(frame, self.velocity()),
            (numerical, _) => {
                let before = frame.len();
                frame.resize(before + numerical.displacement().len(), 0.0);
                let out = &mut frame[before..];
                match numerical {
                    Self::Stepped(part) => {
                        let Stepped { integrator, monolithic, .. } = part;
                        let piece = monolithic.as_ref();
                        let outside = piece.map_or(&measured.force, |piece| &piece.outside);
                        integrator.acceleration(load, outside, out);
                    }
                    Self::Continuous(joint) => joint.model.acceleration(out),
                    Self::TwoRate(_) => {}
                }
            }
        }
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
            Self::Stepped(Stepped { integrator, monolithic, .. }) => {
                let outside = monolithic.as_ref().map_or(&measured.force, |piece| &piece.outside);
                integrator.advance(load, next, outside)
            }
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

impl Stepped {
    #[inline(always)]
    fn measure(&mut self, load: &[f64], scene: &mut Scene<'_>) -> Result<(), Stop> {
        let Self { integrator, monolithic, .. } = self;
        let Some(piece) = monolithic else {
            let health = scene.rig.measure(integrator.interface(), scene.measured);
            integrator.equilibrium(load, &mut scene.measured.force);
            return Ok(health?);
        };
        integrator.equilibrium(load, &mut piece.outside);
        if let RigSlot::Virtual(rig) = scene.rig {
            rig.follow(integrator.interface(), scene.measured);
            piece.inside.copy_from_slice(rig.force());
        }
        Ok(())
    }
}

impl Continuous {
    fn measure(&mut self, load: &[f64], rig: &mut RigSlot, measured: &mut Measured) {
        self.model.observe(load);
        let (achieved, force) = (&self.model.achieved.displacement, &self.model.force);
        if let RigSlot::Virtual(rig) = rig {
            rig.parts.sense(achieved, force, measured);
        }
        for (error, (said, truth)) in self.error.iter_mut().zip(measured.force.iter().zip(force)) {
            *error = said - truth;
        }
    }
}
