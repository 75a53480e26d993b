//! From the models to a plant and an armed loop.

use model::coupled::Coupled;
use model::equations::{Equations, RelativeDof};
use model::first_order::Scheme;
use model::integrator::{Hold, Integrator, IntegratorError, Method, Options};
use model::internal_motion::InternalMotion;
use model::motion::Motion;
use model::sensor::Sensor;
use model::specimen::Specimen;
use model::transfer::{ActuatorDynamics, TransferError, TransferSystem};
use nalgebra::DMatrix;
use runtime::hybrid_loop::{HybridLoop, LoopParts};
use runtime::load::Load;
use runtime::monitor::EnergyMonitor;
use runtime::numerical::Plant;
use runtime::record::FrameSink;
use runtime::rig::{FaultyRig, LateForce, Rig, RigSlot, VirtualRig, VirtualRigParts};
use runtime::two_rate::{TwoRateError, TwoRateModel, TwoRateParts};
use thiserror::Error;

use super::Assembly;
use experiment::Experiment;
use experiment::closed_loop::{Feedback, TransferKind};

/// Time in which a virtual rig comes to rest before a test.
const STANDING_S: f64 = 20.0;
const MOST_STANDING_TICKS: f64 = 1e6;

/// How the two substructures are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coupling {
    /// The measured force is held over the step, as a real test does.
    Held,
    /// Rig and numerical part are one system.
    Continuous,
}

impl Coupling {
    /// What the file asks for. An ideal transfer system has no reason to hold
    /// the force unless the file says so.
    pub(crate) fn of(experiment: &Experiment) -> Self {
        let ideal = matches!(experiment.transfer_system.kind, TransferKind::Ideal);
        let feedback = experiment.integrator.feedback;
        // Nor can one part of a system be at the end of a wire.
        let elsewhere = experiment.rig.address.is_some();
        match feedback.value {
            Feedback::Continuous => Self::Continuous,
            // A main loop is a rate of its own: nothing is one system.
            Feedback::Held
                if ideal && !feedback.stated && !elsewhere && experiment.main_loop.is_none() =>
            {
                Self::Continuous
            }
            Feedback::Held => Self::Held,
        }
    }
}

/// Why there is no plant.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlantError {
    /// The integrator cannot be made.
    #[error(transparent)]
    Integrator(#[from] IntegratorError),
    /// The transfer system does not fit.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// A pure delay acts between samples.
    #[error(
        "a pure delay works on sampled signals, so the force is held: use feedback = \"held\", or \
         a transfer function"
    )]
    ContinuousDelay,
    /// A late force needs a rig that has answered before.
    #[error(
        "a rig that answers at once cannot have a late force: give [transfer_system] a delay of a \
         step or more, or dynamics, or remove force_delay_samples"
    )]
    LateForceAtOnce,
    /// Late forces and changes belong to a rig of its own.
    #[error(
        "`{key}` belongs to a rig that is stepped on its own: use feedback = \"held\", or remove it"
    )]
    ContinuousRig {
        /// The key in the file.
        key: &'static str,
    },
    /// Only a servo-hydraulic rig can change.
    #[error("only a servo_hydraulic transfer system can change during a rehearsal")]
    ChangeOfOther,
    /// Only two methods integrate first-order systems.
    #[error(
        "feedback = \"continuous\" needs the method rk4 or exact: {method} is made for structures \
         alone"
    )]
    ContinuousMethod {
        /// The method asked for.
        method: &'static str,
    },
    /// There is no rig of its own to fail.
    #[error(
        "a fault strikes between numerical part and rig, which are one system here: use feedback \
         = \"held\" and a transfer system that is at least one step late"
    )]
    FaultWithoutRig,
    /// The rig answers within the tick.
    #[error(
        "a fault needs a rig that is at least one step late: this one answers within the step, \
         where its force is part of the balance. Use samples = 1 or more, or a transfer system \
         with dynamics"
    )]
    FaultWithinStep,
    /// A specimen with DOFs of its own cannot stand behind this.
    #[error("a specimen with DOFs of its own (`inside`) {0}")]
    Inside(NotInside),
    /// An element ends at two interface DOFs.
    #[error(
        "only `twinrig trace` with [trace.shaker] plays an element between two interface DOFs: make \
         its deformation an interface DOF, interface = [\"{from}\", {{ from = \"{from}\", to = \
         \"{to}\" }}], and give the element `at = 2` instead of `between`"
    )]
    BetweenInterface {
        /// Names of its ends.
        from: String,
        /// See `from`.
        to: String,
    },
    /// An element ends at an interface DOF and the ground.
    #[error(
        "only `twinrig trace` with [trace.shaker] plays an element between the ground and an \
         interface DOF: give it `at`, the place of the DOF in `interface`, instead of `between`"
    )]
    BetweenGround,
    /// A rig that is fetched is one of its own.
    #[error(
        "a rig is fetched before it is joined to the numerical part, and here both are one system: \
         use feedback = \"held\" and a transfer system that is at least one step late, or remove \
         `initiating`"
    )]
    InitiatingWithoutRig,
    /// The main loop cannot be made.
    #[error(transparent)]
    TwoRate(#[from] TwoRateError),
    /// A main loop has a rate of its own.
    #[error(
        "a main loop and the rig have rates of their own and cannot be one system: use feedback = \
         \"held\", or remove [main_loop]"
    )]
    ContinuousMainLoop,
}

impl PlantError {
    /// The key that should change.
    pub fn path(&self) -> &'static str {
        match self {
            Self::TwoRate(error) => match error {
                TwoRateError::Integrator(_) => "integrator.method",
                TwoRateError::Predictor(_) | TwoRateError::ModelBasedMethod { .. } => {
                    "main_loop.predictor"
                }
                TwoRateError::BadRatio { .. } | TwoRateError::TooLarge { .. } => "main_loop.ratio",
                TwoRateError::TaskTooLong { .. } | TwoRateError::AnswersAtOnce => {
                    "main_loop.task_time"
                }
                TwoRateError::BadBridge { .. } => "main_loop.bridge",
                TwoRateError::BadStepTime => "main_loop.step_time",
            },
            Self::ContinuousMainLoop => "integrator.feedback",
            Self::Inside(why) => why.path(),
            Self::BetweenInterface { .. } | Self::BetweenGround => "partition.element",
            Self::Integrator(_) => "integrator.method",
            Self::Transfer(_) => "transfer_system.kind",
            Self::LateForceAtOnce | Self::ContinuousRig { key: "force_delay_samples" } => {
                "sensors.force_delay_samples"
            }
            Self::ContinuousRig { .. } | Self::ChangeOfOther => "transfer_system.change",
            Self::ContinuousDelay | Self::ContinuousMethod { .. } => "integrator.feedback",
            Self::FaultWithoutRig | Self::FaultWithinStep => "transfer_system.kind",
            Self::InitiatingWithoutRig => "phases.initiating",
        }
    }
}

/// Why a specimen with DOFs of its own cannot be rehearsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotInside {
    /// Its motion follows the achieved one.
    #[error("needs a rig that is at least one step late: give [transfer_system] more delay")]
    AtOnce,
    /// The actuator's equations hold the specimen's.
    #[error(
        "cannot stand behind servo_hydraulic, whose equations are those of a specimen without: use \
         transfer_function or delay"
    )]
    Servo,
    /// Rig and numerical part are stepped as one.
    #[error("is stepped on its own: use feedback = \"held\"")]
    Continuous,
    /// The main loop would have to predict it.
    #[error("has no main loop: remove [main_loop]")]
    MainLoop,
    /// Its numbers overflow.
    #[error("cannot be stepped: its mass or stiffness is beyond what numbers hold")]
    NotFinite,
    /// Its elements are played by the virtual shaker alone.
    #[error(
        "has nonlinear elements between its DOFs, which only `twinrig trace` with [trace.shaker] \
         plays"
    )]
    Elements,
}

impl NotInside {
    fn path(self) -> &'static str {
        match self {
            Self::AtOnce | Self::Servo => "transfer_system.kind",
            Self::Continuous => "integrator.feedback",
            Self::MainLoop => "main_loop",
            Self::NotFinite => "partition.inside",
            Self::Elements => "partition.element",
        }
    }
}

/// What a loop is told beside the assembly.
pub struct LoopOptions {
    /// C of the stability warning, J.
    pub constant_j: f64,
    /// Where the frames go.
    pub recording: Recording,
}

/// Where the frames go.
pub enum Recording {
    /// Nowhere.
    Off,
    /// Into a record.
    Into(FrameSink),
}

impl Assembly {
    /// The rig alone, at rest.
    pub fn virtual_rig(&self) -> Result<VirtualRig, TransferError> {
        let rig = self.rig_of(&self.transfer_system, &self.partition.specimen, "sensor")?;
        let inside = self.partition.inside.as_ref();
        let moved = inside.and_then(|inside| InternalMotion::new(inside, self.integrator.step_s));
        Ok(match moved {
            Some(moved) => rig.with_inside(moved),
            None => rig,
        })
    }

    /// What a specimen with DOFs of its own cannot stand behind.
    fn check_inside(&self) -> Result<(), PlantError> {
        let refuse = |why| Err(PlantError::Inside(why));
        let element = self.inside_elements.first();
        let Some(inside) = &self.partition.inside else {
            return element.map_or(Ok(()), |element| Err(self.between(element.place)));
        };
        if element.is_some() {
            return refuse(NotInside::Elements);
        }
        match self.transfer_system {
            TransferSystem::ServoHydraulic(_) => return refuse(NotInside::Servo),
            TransferSystem::Ideal => return refuse(NotInside::AtOnce),
            TransferSystem::Delay { samples } if samples < 1.0 => return refuse(NotInside::AtOnce),
            TransferSystem::Delay { .. } | TransferSystem::TransferFunction { .. } => {}
        }
        if self.coupling == Coupling::Continuous {
            return refuse(NotInside::Continuous);
        }
        if self.rates.is_some() {
            return refuse(NotInside::MainLoop);
        }
        if InternalMotion::new(inside, self.integrator.step_s).is_none() {
            return refuse(NotInside::NotFinite);
        }
        Ok(())
    }

    /// An element of the specimen that is at no interface DOF by itself.
    fn between(&self, place: RelativeDof) -> PlantError {
        let name = |dof: usize| self.structure.names[dof].clone();
        match (place.from, place.to) {
            (Some(from), Some(to)) => {
                PlantError::BetweenInterface { from: name(from), to: name(to) }
            }
            _ => PlantError::BetweenGround,
        }
    }

    /// A rig of these parts; its sensors draw from streams that begin with `family`.
    fn rig_of(
        &self,
        transfer_system: &TransferSystem,
        specimen: &Specimen,
        family: &str,
    ) -> Result<VirtualRig, TransferError> {
        let sensors = |name: &str, noise: &[f64], quantum: &[f64]| {
            self.sensors_called(&format!("{family}.{name}"), noise, quantum)
        };
        let values = &self.sensors;
        VirtualRig::new(VirtualRigParts {
            transfer_system: transfer_system.clone(),
            specimen: specimen.clone(),
            converter: self.converter,
            displacement_sensors: sensors(
                "displacement",
                &values.displacement_noise,
                &values.displacement_quantum,
            ),
            force_sensors: sensors("force", &values.force_noise, &values.force_quantum),
            step_s: self.integrator.step_s,
        })
    }

    /// Sensors whose streams of noise are called so, and by their numbers.
    pub(crate) fn sensors_called(&self, name: &str, noise: &[f64], quantum: &[f64]) -> Vec<Sensor> {
        let each = noise.iter().zip(quantum).zip(1..);
        each.map(|((&noise, &quantum), number)| {
            Sensor::new(noise, quantum, self.seed, &format!("{name}.{number}"))
        })
        .collect()
    }

    /// Lets a rig come to rest where it is said to stand at the start.
    fn stand(&self, rig: &mut VirtualRig) {
        let mut command = Motion::rest(self.count());
        command.displacement.fill(self.stands_at_m);
        let ticks = (STANDING_S / self.integrator.step_s).clamp(1.0, MOST_STANDING_TICKS);
        for _ in 0..ticks as u64 {
            rig.actuate(&command);
        }
    }

    /// The rig as the loop meets it: changing, its force late, faulty, as declared.
    fn whole_rig(&self, rig: VirtualRig) -> Result<RigSlot, PlantError> {
        let (massive_at_once, at_once) =
            (rig.direct_inertia().is_some(), rig.answers_within_step());
        let mut whole = match &self.change {
            None => RigSlot::from(rig),
            Some(change) => {
                let TransferSystem::ServoHydraulic(before) = &self.transfer_system else {
                    return Err(PlantError::ChangeOfOther);
                };
                let mut specimen = self.partition.specimen.clone();
                specimen.matrices.stiffness *= change.specimen_stiffness;
                let after = TransferSystem::ServoHydraulic(change.servo);
                let rescale = before.rescale_to(&change.servo, self.count());
                let after = self.rig_of(&after, &specimen, "sensor.changed")?;
                RigSlot::from(rig.becoming(after, change.tick, rescale))
            }
        };
        let samples = self.sensors.force_delay;
        if samples > 0 {
            if massive_at_once {
                return Err(PlantError::LateForceAtOnce);
            }
            whole = LateForce::new(whole, samples, self.count()).into();
        }
        if !self.faults.is_empty() {
            if at_once {
                return Err(PlantError::FaultWithinStep);
            }
            whole = FaultyRig::new(whole, &self.faults, self.count(), self.seed).into();
        }
        Ok(whole)
    }

    /// The rig as a laboratory of its own plays it; `None` if it answers within
    /// the tick, which no wire can carry.
    pub fn rig_alone(&self) -> Result<Option<RigSlot>, PlantError> {
        let mut rig = self.virtual_rig()?;
        if rig.answers_within_step() {
            return Ok(None);
        }
        if self.stands_at_m != 0.0 {
            self.stand(&mut rig);
        }
        self.whole_rig(rig).map(Some)
    }

    /// Both sides, at rest, joined as declared.
    pub fn plant(&self) -> Result<Plant, PlantError> {
        self.check_inside()?;
        if self.coupling == Coupling::Continuous {
            if self.ticks_before() > 0 {
                return Err(PlantError::InitiatingWithoutRig);
            }
            if self.rates.is_some() {
                return Err(PlantError::ContinuousMainLoop);
            }
            if self.sensors.force_delay > 0 {
                return Err(PlantError::ContinuousRig { key: "force_delay_samples" });
            }
            if self.change.is_some() {
                return Err(PlantError::ContinuousRig { key: "change" });
            }
            if !self.faults.is_empty() {
                return Err(PlantError::FaultWithoutRig);
            }
        }
        match (self.coupling, &self.transfer_system) {
            (Coupling::Held, _) => {
                let mut rig = self.virtual_rig()?;
                let direct = rig.direct_inertia();
                if self.stands_at_m != 0.0 {
                    if rig.answers_within_step() {
                        return Err(PlantError::InitiatingWithoutRig);
                    }
                    self.stand(&mut rig);
                }
                if rig.answers_within_step() && self.rates.is_some_and(|r| r.task_ticks == 0) {
                    return Err(TwoRateError::AnswersAtOnce.into());
                }
                self.split(self.whole_rig(rig)?, direct)
            }
            (Coupling::Continuous, TransferSystem::Ideal) => self.rigid(),
            (Coupling::Continuous, TransferSystem::Delay { .. }) => {
                Err(PlantError::ContinuousDelay)
            }
            (Coupling::Continuous, TransferSystem::TransferFunction { function, samples }) => {
                if *samples > 0.0 {
                    return Err(PlantError::ContinuousDelay);
                }
                let specimen = &self.partition.specimen;
                self.coupled(&ActuatorDynamics::from_function(function, specimen))
            }
            (Coupling::Continuous, TransferSystem::ServoHydraulic(servo)) => {
                self.coupled(&ActuatorDynamics::from_servo(servo, &self.partition.specimen)?)
            }
        }
    }

    /// The numerical substructure with any rig, at the rate of the tick or, with
    /// a main loop, at its own.
    pub fn split(
        &self,
        rig: impl Into<RigSlot>,
        direct_inertia: Option<DMatrix<f64>>,
    ) -> Result<Plant, PlantError> {
        if let Some(rates) = self.rates {
            let model = TwoRateModel::new(TwoRateParts {
                rates,
                numerical: &self.substructures.numerical,
                integrator: &self.integrator,
                specimen: &self.partition.specimen,
                preview: (rates.predictor == model::predictor::Design::ModelBased)
                    .then(|| self.load()),
                direct_inertia,
                seed: self.seed,
                detail: self.detail,
            })?;
            return Ok(Plant::two_rate(model, rig));
        }
        let options = Options { direct_inertia, ..self.integrator.clone() };
        let numerical = Integrator::new(&self.substructures.numerical, &options)?;
        Ok(Plant::partitioned(numerical, self.elements.len(), rig))
    }

    /// Structure and specimen in one piece: both sides of the cut put together
    /// again, so that the cut itself is tested.
    fn rigid(&self) -> Result<Plant, PlantError> {
        let joined = self.substructures.numerical.joined(&self.partition.specimen.matrices);
        let elements = self.substructures.whole.elements.clone();
        let whole = Equations { elements, ..joined };
        let whole = Integrator::new(&whole, &self.integrator)?;
        Ok(Plant::monolithic(whole, self.elements.len(), self.virtual_rig()?))
    }

    fn coupled(&self, dynamics: &ActuatorDynamics) -> Result<Plant, PlantError> {
        let scheme = match self.integrator.method {
            Method::RungeKutta4 => Scheme::RungeKutta4,
            Method::Exact(Hold::Zero) => Scheme::ExactZeroHold,
            Method::Exact(Hold::First) => Scheme::ExactFirstHold,
            other => return Err(PlantError::ContinuousMethod { method: other.name() }),
        };
        let model = Coupled::new(
            &self.substructures.numerical,
            dynamics,
            &self.partition.specimen,
            scheme,
            self.integrator.step_s,
        )?;
        Ok(Plant::continuous(model, self.virtual_rig()?))
    }

    /// Arms a loop around a plant.
    pub fn hybrid_loop(&self, plant: Plant, load: Load, options: LoopOptions) -> HybridLoop {
        let (numerical, method) = (&self.substructures.numerical, self.integrator.method);
        let lag_s = plant.numerical.velocity_lag_s();
        let monitor = EnergyMonitor::new(numerical, self.work, options.constant_j, self.stop_at)
            .for_method(method, lag_s, numerical);
        let parts = LoopParts {
            plant,
            compensator: self.compensator.clone(),
            limits: self.limits.clone(),
            safe_path: self.safe_path,
            monitor,
            load,
            step_s: self.integrator.step_s,
            every: self.every,
            detail: self.detail,
        };
        let sink = match options.recording {
            Recording::Off => None,
            Recording::Into(sink) => Some(sink),
        };
        HybridLoop::new(parts, sink).watched(&self.watch)
    }
}
