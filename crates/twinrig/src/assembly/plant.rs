//! From the models to a plant and an armed loop.

use model::compensator::Compensator;
use model::coupled::Coupled;
use model::equations::Equations;
use model::first_order::Scheme;
use model::integrator::{Hold, Integrator, IntegratorError, Method, Options};
use model::motion::Motion;
use model::sensor::Sensor;
use model::transfer::{ActuatorDynamics, TransferError, TransferSystem};
use nalgebra::DMatrix;
use runtime::hybrid_loop::{HybridLoop, LoopParts};
use runtime::load::Load;
use runtime::monitor::{EnergyMonitor, Watch};
use runtime::plant::{CoupledPlant, Plant, Released, RigidPlant, SplitPlant};
use runtime::record::FrameSink;
use runtime::rig::{FaultyRig, Rig, VirtualRig, VirtualRigParts};
use thiserror::Error;

use super::Assembly;
use crate::experiment::Experiment;
use crate::experiment::closed_loop::{Feedback, TransferKind};

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
    pub(super) fn of(experiment: &Experiment) -> Self {
        let ideal = matches!(experiment.transfer_system.kind, TransferKind::Ideal);
        let said = experiment.span("integrator.feedback").is_some();
        match experiment.integrator.feedback {
            Feedback::Continuous => Self::Continuous,
            Feedback::Held if ideal && !said => Self::Continuous,
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
}

impl PlantError {
    /// The key that should change.
    pub fn path(&self) -> &'static str {
        match self {
            Self::Integrator(_) => "integrator.method",
            Self::Transfer(_) => "transfer_system.kind",
            Self::ContinuousDelay | Self::ContinuousMethod { .. } => "integrator.feedback",
            Self::FaultWithoutRig | Self::FaultWithinStep => "transfer_system.kind",
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
        let sensors = |noise: &[f64], quantum: &[f64], name: &str| -> Vec<Sensor> {
            noise
                .iter()
                .zip(quantum)
                .enumerate()
                .map(|(i, (&noise, &quantum))| {
                    let stream = format!("sensor.{name}.{}", i + 1);
                    Sensor::new(noise, quantum, self.seed, &stream)
                })
                .collect()
        };
        let values = &self.sensors;
        VirtualRig::new(VirtualRigParts {
            transfer_system: self.transfer_system.clone(),
            specimen: self.partition.specimen.clone(),
            converter: self.converter,
            displacement_sensors: sensors(
                &values.displacement_noise,
                &values.displacement_quantum,
                "displacement",
            ),
            force_sensors: sensors(&values.force_noise, &values.force_quantum, "force"),
            step_s: self.integrator.step_s,
        })
    }

    /// Both sides, at rest, joined as declared.
    pub fn plant(&self) -> Result<Plant, PlantError> {
        if self.coupling == Coupling::Continuous && !self.faults.is_empty() {
            return Err(PlantError::FaultWithoutRig);
        }
        match (self.coupling, &self.transfer_system) {
            (Coupling::Held, _) if !self.faults.is_empty() => {
                let rig = self.virtual_rig()?;
                if rig.answers_within_step() {
                    return Err(PlantError::FaultWithinStep);
                }
                let rig = FaultyRig::new(Box::new(rig), &self.faults, self.count(), self.seed);
                self.split(Box::new(rig), None)
            }
            (Coupling::Held, _) => {
                let rig = self.virtual_rig()?;
                let direct = rig.direct_inertia();
                self.split(Box::new(rig), direct)
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

    /// The numerical substructure with any rig.
    pub fn split(
        &self,
        rig: Box<dyn Rig>,
        direct_inertia: Option<DMatrix<f64>>,
    ) -> Result<Plant, PlantError> {
        let options = Options { direct_inertia, ..self.integrator.clone() };
        let numerical = Integrator::new(&self.substructures.numerical, &options)?;
        let elements = self.elements.len();
        Ok(Plant::Split(SplitPlant { numerical, elements, rig }))
    }

    /// Structure and specimen in one piece: both sides of the cut put together
    /// again, so that the cut itself is tested.
    fn rigid(&self) -> Result<Plant, PlantError> {
        let numerical = &self.substructures.numerical;
        let specimen = &self.partition.specimen;
        let b = numerical.interface_matrix();
        let joined = |part: &DMatrix<f64>, taken: &DMatrix<f64>| part + &b * taken * b.transpose();
        let whole = Equations {
            mass: joined(&numerical.mass, &specimen.mass),
            damping: joined(&numerical.damping, &specimen.damping),
            stiffness: joined(&numerical.stiffness, &specimen.stiffness),
            ..self.substructures.whole.clone()
        };
        let whole = Integrator::new(&whole, &self.integrator)?;
        let no_force = vec![0.0; self.count()];
        let (rig, elements) = (self.virtual_rig()?, self.elements.len());
        Ok(Plant::Rigid(Box::new(RigidPlant { whole, elements, rig, no_force })))
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
        Ok(Plant::Coupled(Box::new(CoupledPlant {
            model,
            rig: self.virtual_rig()?,
            command: Motion::rest(self.count()),
            error: vec![0.0; self.count()],
            released: Released::No,
        })))
    }

    /// Arms a loop around a plant.
    pub fn hybrid_loop(&self, plant: Plant, load: Load, options: LoopOptions) -> HybridLoop {
        let monitor = EnergyMonitor::new(
            &self.substructures.numerical,
            self.work,
            options.constant_j,
            self.stop_at,
        );
        let parts = LoopParts {
            plant,
            compensator: Compensator::None,
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
        let watch = (!self.watch.is_nothing()).then(|| {
            let numerical = &self.substructures.numerical;
            Watch::new(&self.watch, numerical, self.work, options.constant_j, &self.limits)
        });
        let hybrid = HybridLoop::new(parts, sink);
        match watch {
            Some(watch) => hybrid.watched(watch),
            None => hybrid,
        }
    }
}
