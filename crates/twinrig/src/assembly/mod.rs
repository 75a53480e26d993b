//! From an experiment to an armed loop: the models, the plant, the record's header.

mod build;
mod cache;
mod components;
mod contradictions;
mod course;
mod full;
mod guard;
mod load;
mod plant;
mod reduced;
mod state_space;
mod store;
mod structure;

pub use load::LoadSignal;
pub use plant::{Coupling, LoopOptions, NotInside, PlantError, Recording};
pub(crate) use reduced::acceptance;
pub use reduced::{Examined, Reduced, ReductionFacts};
pub use state_space::{Synthesis, SynthesisModel, ground};
pub use store::SignalStore;

use std::collections::BTreeSet;
use std::sync::Arc;

use model::channel::Channel;
use model::compensator::{Compensator, CompensatorError, Design, ShapingDesign, Site};
use model::equations::ConnectedElement;
use model::integrator::{Method, Options};
use model::partition::{Partition, Substructures};
use model::sensor::Converter;
use model::structure::Structure;
use model::transfer::{ServoHydraulic, TransferSystem};
use runtime::frame::{Block, FramePlan, MotionDetail};
use runtime::gate::Limits;
use runtime::hybrid_loop::course::CoursePlan;
use runtime::interlock::SafePath;
use runtime::link::LinkPlan;
use runtime::load::Load;
use runtime::monitor::{MonitorPlan, WorkRule};
use runtime::reference::{Reference, ReferenceError, reference};
use runtime::rig::Fault;
use runtime::rig::Peer;
use runtime::streamed_load::StreamPlan;
use runtime::two_rate::Rates;

use build::{build, split};
use experiment::{Diagnostics, Experiment, Source};
use structure::Builder;

/// Unit of the amplitude of a mode, which is normalised by mass.
pub const MODAL_UNIT: &str = "m √kg";

/// Everything a test consists of, in models and numbers.
#[derive(Debug, Clone)]
pub struct Assembly {
    /// The structure as if it were built; the reduced one if it is reduced.
    pub structure: Structure,
    /// What it was reduced from, if it was.
    pub reduced: Option<Arc<Reduced>>,
    /// DOFs that are amplitudes of modes.
    pub amplitudes: BTreeSet<usize>,
    /// What of it stands in the laboratory.
    pub partition: Partition,
    /// Nonlinear elements of the numerical part.
    pub elements: Vec<ConnectedElement>,
    /// Nonlinear elements between DOFs of the specimen, by the DOFs of the
    /// structure; only the virtual shaker of an iterative test has them.
    pub inside_elements: Vec<ConnectedElement>,
    /// Both sides of the cut.
    pub substructures: Substructures,
    /// The load signals.
    pub loads: Vec<LoadSignal>,
    /// Algorithm and step.
    pub integrator: Options,
    /// How the two sides are joined.
    pub coupling: Coupling,
    /// A slower rate for the numerical part, if it has one.
    pub rates: Option<Rates>,
    /// Between command and motion.
    pub transfer_system: TransferSystem,
    /// Of the command.
    pub converter: Converter,
    /// Noise and steps of the sensors, per interface DOF.
    pub sensors: SensorValues,
    /// What the rig becomes during a rehearsal.
    pub change: Option<PlantChange>,
    /// From desired motion to command, as declared.
    pub design: Design,
    /// What the command passes behind it, as declared.
    pub shaping: ShapingDesign,
    /// The same, built and at rest; see [`Assembly::set_compensator`].
    pub compensator: Compensator,
    /// What may pass.
    pub limits: Limits,
    /// The way to safe.
    pub safe_path: SafePath,
    /// How the work of the force is summed.
    pub work: WorkRule,
    /// Threshold of the stability warning, %; infinite to watch only.
    pub stop_at: f64,
    /// C of the stability warning, J; derived from the reference where absent.
    pub constant_j: Option<f64>,
    /// Indicators beyond the energies.
    pub watch: MonitorPlan,
    /// Faults to rehearse.
    pub faults: Vec<Fault>,
    /// Seed of the sensors.
    pub seed: u64,
    /// Number of ticks of the load; the most of them if it is streamed.
    pub ticks: usize,
    /// What comes before and after the load, if anything does.
    pub course: Option<CoursePlan>,
    /// Ticks in which the load goes to zero after its end.
    pub ease_ticks: usize,
    /// Where the virtual rig stands at the start, m.
    pub stands_at_m: f64,
    /// How the load arrives, if it is streamed.
    pub stream: Option<StreamPlan>,
    /// Ticks between two frames.
    pub every: u64,
    /// What a frame holds of the numerical motion.
    pub detail: MotionDetail,
    /// A laboratory at the end of a wire that takes the rig's place in a run.
    pub remote: Option<FoundLaboratory>,
}

/// A laboratory that was found at the end of a wire.
#[derive(Debug, Clone)]
pub struct FoundLaboratory {
    /// What the loop asks of it.
    pub plan: LinkPlan,
    /// What it has told of itself.
    pub peer: Peer,
}

/// Noise and steps, one entry per interface DOF, SI.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorValues {
    /// Standard deviation of the displacement, m.
    pub displacement_noise: Vec<f64>,
    /// Standard deviation of the force, N.
    pub force_noise: Vec<f64>,
    /// Standard deviation of the acceleration, m/s².
    pub acceleration_noise: Vec<f64>,
    /// Step of the displacement, m.
    pub displacement_quantum: Vec<f64>,
    /// Step of the force, N.
    pub force_quantum: Vec<f64>,
    /// Whole periods by which the force comes late.
    pub force_delay: usize,
}

/// A servo-hydraulic rig that becomes another one, its state carried over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlantChange {
    /// The first tick of the new rig.
    pub tick: u64,
    /// The actuator from then on.
    pub servo: ServoHydraulic,
    /// Stiffness of the specimen, as a share of what it was.
    pub specimen_stiffness: f64,
}

impl Assembly {
    /// Builds the models an experiment declares. Gives warnings, or every error.
    pub fn new(
        experiment: &Experiment,
        source: &dyn Source,
    ) -> Result<(Self, Diagnostics), Diagnostics> {
        Self::sharing(experiment, source, &SignalStore::default())
    }

    /// The same for one of many variants: a signal that another variant has read
    /// or sampled already is taken from the store.
    pub fn sharing(
        experiment: &Experiment,
        source: &dyn Source,
        store: &SignalStore,
    ) -> Result<(Self, Diagnostics), Diagnostics> {
        let mut found = experiment.diagnostics();
        let built = build(experiment, source, store, &mut found);
        found.sort();
        match built {
            Some(assembly) if !found.has_errors() => Ok((assembly, found)),
            _ => Err(found),
        }
    }

    /// Number of interface DOFs.
    pub fn count(&self) -> usize {
        self.partition.interface.len()
    }

    /// Takes another compensator, built for this loop as it now is: its period
    /// and the converter of its command.
    pub fn set_compensator(
        &mut self,
        design: Design,
        shaping: &ShapingDesign,
    ) -> Result<(), CompensatorError> {
        let site =
            Site { count: self.count(), step_s: self.integrator.step_s, converter: self.converter };
        self.compensator = Compensator::new(&design, shaping, &site)?;
        self.design = design;
        self.shaping = *shaping;
        Ok(())
    }

    /// The sampled load.
    pub fn load(&self) -> Load {
        if self.stream.is_some() {
            return Load::unknown(self.loads.len(), self.ticks);
        }
        let series: Vec<&[f64]> = self.loads.iter().map(|signal| &*signal.samples).collect();
        let load = Load::new(&series, self.ticks);
        // Without an end of its own the test is over with the load.
        match self.course.and_then(|plan| plan.completing) {
            Some(_) => load.easing(self.ease_ticks),
            None => load,
        }
    }

    /// The response of the whole structure, by the method of the test. The exact
    /// one may serve a linear numerical part beside a nonlinear specimen; the
    /// whole is then left to Newmark's.
    pub fn reference(&self, load: &Load) -> Result<Reference, ReferenceError> {
        let whole = &self.substructures.whole;
        let mut integrator = self.integrator.clone();
        if matches!(integrator.method, Method::Exact(_)) && !whole.elements.is_empty() {
            integrator = Options { method: Method::Newmark, iterations: 20, ..integrator };
        }
        let mut reference = reference(whole, &integrator, load, self.every)?;
        if self.partition.inside.is_some() {
            // What is inside the specimen is neither simulated nor recorded.
            let simulated = self.simulated();
            let columns = std::mem::take(&mut reference.displacement);
            let kept = columns.into_iter().enumerate();
            reference.displacement =
                kept.filter(|(dof, _)| simulated.contains(dof)).map(|(_, column)| column).collect();
        }
        Ok(reference)
    }

    /// The DOFs of the structure that are simulated, counted from 0, in the order
    /// of the numerical part.
    pub fn simulated(&self) -> Vec<usize> {
        self.partition.simulated(self.structure.size())
    }

    /// The name of DOF `dof` of the numerical part.
    pub fn simulated_name(&self, dof: usize) -> &str {
        let whole = self.simulated().get(dof).copied().unwrap_or(dof);
        self.structure.names.get(whole).map_or("", String::as_str)
    }

    /// Everything a frame holds, in the order in which the tick writes it.
    pub fn channels(&self) -> Vec<Channel> {
        let mut channels = self.frame_plan().channels(&Block::hybrid(self.detail));
        if self.course.is_some() {
            course::describe_phases(&mut channels);
        }
        channels
    }

    /// The channels of a frame.
    pub fn frame_plan(&self) -> FramePlan {
        let unit = |kind: &model::structure::DofKind| match kind {
            model::structure::DofKind::Translation => "m".to_owned(),
            model::structure::DofKind::Rotation => "rad".to_owned(),
        };
        let dof = |dof: usize| {
            let kind = &self.structure.kinds[dof];
            let modal = self.amplitudes.contains(&dof);
            let unit = if modal { MODAL_UNIT.to_owned() } else { unit(kind) };
            (self.structure.names[dof].clone(), unit)
        };
        FramePlan {
            dofs: self.simulated().into_iter().map(dof).collect(),
            interface: self.count(),
            loads: self.loads.iter().map(|signal| signal.channel.clone()).collect(),
            parameters: self.design.parameters(self.count()),
            indicators: self.watch.channels(self.count()),
            source: self.rates.map_or_else(Vec::new, |_| Rates::channels()),
            auxiliary: self
                .remote
                .as_ref()
                .map_or_else(Vec::new, |one| LinkPlan::channels(one.peer.auxiliary)),
        }
    }
}

/// Structure and partition alone, cut: what the stability of a pure delay needs.
/// No load is read.
pub fn structure_and_partition(
    experiment: &Experiment,
    source: &dyn Source,
    store: &SignalStore,
) -> Result<(Partition, Substructures), Diagnostics> {
    let mut found = experiment.diagnostics();
    let mut builder = Builder::new(experiment, source, store, &mut found);
    let built = (|| {
        let structure = builder.structure()?;
        let elements = builder.elements(&structure);
        let partition = builder.partition(&structure)?;
        let substructures =
            split(experiment, &partition, &structure, &elements?, &[], builder.found)?;
        Some((partition, substructures))
    })();
    found.sort();
    match built {
        Some(built) if !found.has_errors() => Ok(built),
        _ => Err(found),
    }
}

/// The structure in full beside the reduced one, which is made now and kept. A
/// file that asks for no reduction gives none, and no diagnostics.
pub fn examine(
    experiment: &Experiment,
    source: &dyn Source,
    store: &SignalStore,
) -> Result<Examined, Diagnostics> {
    let mut found = experiment.diagnostics();
    let mut builder = Builder::new(experiment, source, store, &mut found);
    let examined = experiment.reduction.as_ref().and_then(|spec| builder.examined(spec));
    found.sort();
    examined.ok_or(found)
}

/// The structure in full beside a reduced model without M, C and K, and warnings.
pub fn examine_synthesis(
    experiment: &Experiment,
    source: &dyn Source,
    store: &SignalStore,
) -> Result<(Synthesis, Diagnostics), Diagnostics> {
    let mut found = experiment.diagnostics();
    let mut builder = Builder::new(experiment, source, store, &mut found);
    let examined = experiment.reduction.as_ref().and_then(|spec| builder.synthesis(spec));
    found.sort();
    match examined {
        Some(made) => Ok((made, found)),
        None => Err(found),
    }
}
