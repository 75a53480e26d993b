//! From an experiment to an armed loop: the models, the plant, the record's header.

mod cache;
mod contradictions;
mod course;
mod full;
mod guard;
mod load;
mod plant;
mod reduced;
mod store;
mod structure;
mod unstepped;

pub use load::LoadSignal;
pub use plant::{Coupling, LoopOptions, NotInside, PlantError, Recording};
pub use reduced::{Examined, Reduced};
pub use store::SignalStore;
pub use unstepped::{Unstepped, UnsteppedModel};

use std::f64::consts::TAU;
use std::sync::Arc;

use model::channel::Channel;
use model::compensator::{Compensator, CompensatorError, Design, ShapingDesign, Site};
use model::equations::PlacedElement;
use model::integrator::{Hold, Method, Options};
use model::partition::{LoadPattern, Partition, PartitionError, Substructures};
use model::sensor::Converter;
use model::structure::Structure;
use model::transfer::{ServoHydraulic, TransferSystem};
use numerics::eigen;
use numerics::lti::TransferFunction;
use runtime::frame::{FramePlan, MotionDetail};
use runtime::gate::Limits;
use runtime::hybrid_loop::course::CoursePlan;
use runtime::interlock::SafePath;
use runtime::link::LinkPlan;
use runtime::load::Load;
use runtime::monitor::{WatchPlan, WorkRule};
use runtime::reference::{Reference, ReferenceError, reference};
use runtime::rig::{Fault, NetworkRig};
use runtime::streamed_load::StreamPlan;
use runtime::two_rate::{ForceUse, Rates};

use crate::experiment::closed_loop::{self, TransferKind};
use crate::experiment::watch::{RecordedDofs, RecordedMotion, Work};
use crate::experiment::{CompensatorSpec, Diagnostic, Diagnostics, Experiment, PerDof, Source};
use structure::{Builder, Origin};

/// Unit of the amplitude of a mode, which is normalised by mass.
pub const MODAL_UNIT: &str = "m √kg";

/// Where the commands keep reduced models, beside the runs.
pub const CACHE: &str = "runs/cache";

/// Everything a test consists of, in models and numbers.
#[derive(Debug, Clone)]
pub struct Assembly {
    /// The structure as if it were built; the reduced one if it is reduced.
    pub structure: Structure,
    /// What it was reduced from, if it was.
    pub reduced: Option<Arc<Reduced>>,
    /// What of it stands in the laboratory.
    pub partition: Partition,
    /// Nonlinear elements of the numerical part.
    pub elements: Vec<PlacedElement>,
    /// Nonlinear elements between DOFs of the specimen, by the DOFs of the
    /// structure; only the virtual shaker of an iterative test has them.
    pub inside_elements: Vec<PlacedElement>,
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
    pub watch: WatchPlan,
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
    pub remote: Option<LinkPlan>,
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
        let load = Load::side_by_side(&series, self.ticks);
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
        let mut channels = self.frame_plan().channels();
        if self.course.is_some() {
            course::describe_phases(&mut channels);
        }
        channels.extend(self.watch.channels(self.count()));
        if self.rates.is_some() {
            channels.extend(Rates::channels());
        }
        if self.remote.is_some() {
            channels.extend(NetworkRig::channels());
        }
        channels
    }

    /// The channels of a frame.
    pub fn frame_plan(&self) -> FramePlan {
        let unit = |kind: &model::structure::DofKind| match kind {
            model::structure::DofKind::Translation => "m".to_owned(),
            model::structure::DofKind::Rotation => "rad".to_owned(),
        };
        let stayed = self.reduced.as_ref().map_or(usize::MAX, |reduced| reduced.names.len());
        let dof = |dof: usize| {
            let kind = &self.structure.kinds[dof];
            let unit = if dof < stayed { unit(kind) } else { MODAL_UNIT.to_owned() };
            (self.structure.names[dof].clone(), unit)
        };
        FramePlan {
            dofs: self.simulated().into_iter().map(dof).collect(),
            interface: self.count(),
            loads: self.loads.iter().map(|signal| signal.channel.clone()).collect(),
            detail: self.detail,
            parameters: self.design.parameters(self.count()),
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
    let origin = Origin::default();
    let mut builder = Builder { experiment, source, store, found: &mut found, origin };
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
    let origin = Origin::default();
    let mut builder = Builder { experiment, source, store, found: &mut found, origin };
    let examined = experiment.reduction.as_ref().and_then(|spec| builder.examined(spec));
    found.sort();
    examined.ok_or(found)
}

/// The structure in full beside a model that the loop does not step, and warnings.
pub fn examine_unstepped(
    experiment: &Experiment,
    source: &dyn Source,
    store: &SignalStore,
) -> Result<(Unstepped, Diagnostics), Diagnostics> {
    let mut found = experiment.diagnostics();
    let origin = Origin::default();
    let mut builder = Builder { experiment, source, store, found: &mut found, origin };
    let examined = experiment.reduction.as_ref().and_then(|spec| builder.unstepped(spec));
    found.sort();
    match examined {
        Some(made) => Ok((made, found)),
        None => Err(found),
    }
}

/// Both sides of the cut, or what is wrong with it.
fn split(
    experiment: &Experiment,
    partition: &Partition,
    structure: &Structure,
    elements: &[PlacedElement],
    loads: &[LoadPattern],
    found: &mut Diagnostics,
) -> Option<Substructures> {
    partition
        .split(structure, elements, loads)
        .map_err(|error| {
            let path = match error {
                PartitionError::NoMassLeft { .. } => "partition.mass",
                PartitionError::InsideLoaded { .. } => "excitation",
                PartitionError::ElementInside { .. } => "partition.inside",
                _ => "partition.interface",
            };
            let mut diagnostic = Diagnostic::error(error.to_string());
            if matches!(error, PartitionError::NoMassLeft { .. }) && experiment.reduction.is_some()
            {
                diagnostic = diagnostic.remedy(
                    "if that is rounding, keep fewer modes: a reduced model with nearly all of \
                     them has motions without mass",
                );
            }
            found.push(experiment.place(path, diagnostic));
        })
        .ok()
}

fn build(
    experiment: &Experiment,
    source: &dyn Source,
    store: &SignalStore,
    found: &mut Diagnostics,
) -> Option<Assembly> {
    let mut builder = Builder { experiment, source, store, found, origin: Origin::default() };
    let structure = builder.structure()?;
    let elements = builder.elements(&structure);
    let partition = builder.partition(&structure);
    let inside_elements = builder.inside_elements(&structure);
    let loads = builder.loads(&structure);
    let reduced = match builder.origin {
        Origin::Reduced(reduced) => Some(reduced),
        Origin::Itself | Origin::Mesh(_) => None,
    };
    let (elements, partition, loads) = (elements?, partition?, loads?);
    let inside_elements = inside_elements?;
    let patterns: Vec<LoadPattern> = loads.iter().map(|signal| signal.pattern.clone()).collect();
    let mut substructures = split(experiment, &partition, &structure, &elements, &patterns, found)?;
    substructures.whole.elements.extend(inside_elements.iter().cloned());
    warn_of_indefinite(experiment, &substructures, found);
    refuse_long_steps(experiment, &substructures, found);
    let transfer_system = transfer_system(experiment, found)?;
    let coupling = Coupling::of(experiment);
    contradictions::refuse(experiment, found);
    let count = partition.interface.len();
    let expand = |values: &Option<PerDof>, absent: f64| {
        values.as_ref().map_or(vec![absent; count], |values| values.expand(count))
    };
    let (spec, limits) = (&experiment.transfer_system, &experiment.limits);
    let capacity = spec.capacity_n.unwrap_or(f64::INFINITY);
    let sensors = &experiment.sensors;
    let integrator = integrator_options(experiment);
    let mut assembly = Assembly {
        coupling,
        rates: experiment.main_loop,
        design: Design::None,
        shaping: ShapingDesign::default(),
        compensator: Compensator::None,
        change: spec.change.map(|change| PlantChange {
            tick: (change.at_s / experiment.integrator.step_s).round() as u64,
            servo: servo(&change.servo),
            specimen_stiffness: change.specimen_stiffness,
        }),
        transfer_system,
        converter: Converter {
            quantum: spec.quantum_m.unwrap_or(0.0),
            saturation: spec.saturation_m.unwrap_or(f64::INFINITY),
        },
        sensors: SensorValues {
            displacement_noise: expand(&sensors.displacement_noise, 0.0),
            force_noise: expand(&sensors.force_noise, 0.0),
            acceleration_noise: expand(&sensors.acceleration_noise, 0.0),
            displacement_quantum: expand(&sensors.displacement_quantum, 0.0),
            force_quantum: expand(&sensors.force_quantum, 0.0),
            force_delay: sensors.force_delay_samples,
        },
        limits: Limits {
            command: expand(&limits.command, f64::INFINITY),
            rate: expand(&limits.rate, f64::INFINITY),
            force: expand(&limits.force, f64::INFINITY)
                .into_iter()
                .map(|force| force.min(capacity))
                .collect(),
            tracking_error: expand(&limits.tracking_error, f64::INFINITY),
            step_s: experiment.integrator.step_s,
        },
        safe_path: SafePath {
            hold_s: limits.safe_hold_s,
            // The way to safe keeps the gate's own limit.
            rate_m_s: expand(&limits.rate, f64::INFINITY)
                .into_iter()
                .fold(limits.safe_rate_m_s, f64::min),
        },
        work: match (experiment.monitor.work, coupling) {
            (Work::Exact, Coupling::Held) => WorkRule::exact_for(integrator.method),
            // A force that changes within the step is not held: the straight
            // rule is the better one.
            _ => WorkRule::Trapezoid,
        },
        integrator,
        stop_at: experiment.monitor.stop_at.map_or(f64::INFINITY, |ratio| 100.0 * ratio),
        constant_j: experiment.monitor.constant_j,
        watch: guard::watch_plan(&experiment.monitor),
        faults: experiment
            .faults
            .iter()
            .map(|spec| guard::fault(spec, experiment.integrator.step_s))
            .collect(),
        seed: experiment.seed,
        ticks: experiment.ticks() as usize,
        course: course::plan(experiment),
        ease_ticks: course::ease_ticks(experiment),
        stands_at_m: experiment.phases.initiating.map_or(0.0, |spec| spec.stands_at_m),
        stream: course::stream(experiment),
        every: experiment.record.every,
        detail: match (experiment.record.motion, experiment.record.displacements) {
            (RecordedMotion::Full, _) => MotionDetail::Full,
            (_, RecordedDofs::Interface) => MotionDetail::Interface,
            _ => MotionDetail::Displacement,
        },
        remote: None,
        structure,
        reduced,
        partition,
        elements,
        inside_elements,
        substructures,
        loads,
    };
    let CompensatorSpec { design, shaping } = &experiment.compensator;
    if let Err(error) = assembly.set_compensator(design.clone(), shaping) {
        let path = format!("compensator.{}", error.key());
        found.push(experiment.place(&path, Diagnostic::error(error.to_string())));
        return None;
    }
    warn_of_idle_compensator(experiment, &assembly, found);
    // A file for iterative tests need not describe a loop that is closed.
    let is_cut = experiment.trace.is_some() && experiment.span("transfer_system").is_none();
    // Building the plant once finds what only it can know.
    if !is_cut && let Err(error) = assembly.plant() {
        let path = error.path();
        found.push(experiment.place(path, Diagnostic::error(error.to_string())));
        return None;
    }
    Some(assembly)
}

fn integrator_options(experiment: &Experiment) -> Options {
    let (method, iterations) = match experiment.integrator.method {
        closed_loop::Method::Rk4 => (Method::RungeKutta4, 1),
        closed_loop::Method::Exact { hold: closed_loop::Hold::Zero } => {
            (Method::Exact(Hold::Zero), 1)
        }
        closed_loop::Method::Exact { hold: closed_loop::Hold::First } => {
            (Method::Exact(Hold::First), 1)
        }
        closed_loop::Method::Newmark { iterations } => (Method::Newmark, iterations),
        closed_loop::Method::ImplicitEuler { iterations } => (Method::ImplicitEuler, iterations),
        closed_loop::Method::Cr => (Method::ChenRicles, 1),
        closed_loop::Method::KrAlpha { spectral_radius } => {
            (Method::KolayRicles { spectral_radius }, 1)
        }
    };
    Options { method, step_s: experiment.integrator.step_s, direct_inertia: None, iterations }
}

fn transfer_system(experiment: &Experiment, found: &mut Diagnostics) -> Option<TransferSystem> {
    match &experiment.transfer_system.kind {
        TransferKind::Ideal => Some(TransferSystem::Ideal),
        TransferKind::Delay { samples, .. } => Some(TransferSystem::Delay { samples: *samples }),
        TransferKind::TransferFunction { numerator, denominator, delay_s } => {
            match TransferFunction::new(numerator, denominator) {
                Ok(function) => Some(TransferSystem::TransferFunction {
                    function,
                    samples: delay_s / experiment.integrator.step_s,
                }),
                Err(error) => {
                    let error = Diagnostic::error(error.to_string());
                    found.push(experiment.place("transfer_system.numerator", error));
                    None
                }
            }
        }
        TransferKind::ServoHydraulic(declared) => {
            Some(TransferSystem::ServoHydraulic(servo(declared)))
        }
    }
}

fn servo(declared: &closed_loop::ServoHydraulic) -> ServoHydraulic {
    ServoHydraulic {
        gain: declared.gain,
        servo_gain: declared.servo_gain,
        velocity_feedback: declared.velocity_feedback,
        leakage: declared.leakage,
        servo_damping: declared.servo_damping,
        servo_stiffness: declared.servo_stiffness,
    }
}

/// A rig without delay follows the desired motion, whatever it is commanded.
fn warn_of_idle_compensator(experiment: &Experiment, assembly: &Assembly, found: &mut Diagnostics) {
    let at_once = match assembly.transfer_system {
        TransferSystem::Ideal => true,
        TransferSystem::Delay { samples } => samples < 1.0,
        TransferSystem::TransferFunction { .. } | TransferSystem::ServoHydraulic(_) => false,
    };
    if at_once && assembly.compensator != Compensator::None {
        let message = "the transfer system answers at once: the compensator has no part in the \
                       rehearsal";
        let warning = Diagnostic::warning(message)
            .remedy("give [transfer_system] a delay of a step or more, or dynamics");
        found.push(experiment.place("compensator", warning));
    }
}

/// A step beyond the method's bound blows the numerical part up by itself.
fn refuse_long_steps(
    experiment: &Experiment,
    substructures: &Substructures,
    found: &mut Diagnostics,
) {
    let options = integrator_options(experiment);
    let (bound, step_s) = (options.method.stability_bound(), options.step_s);
    if bound.is_infinite() {
        return;
    }
    // The reference goes tick by tick; the main loop may take longer steps.
    let long = experiment.main_loop.filter(|rates| rates.force != ForceUse::AllSamples);
    let main_s = step_s * long.map_or(1.0, |rates| rates.ratio as f64);
    for (equations, step_s) in [(&substructures.numerical, main_s), (&substructures.whole, step_s)]
    {
        let stiffness = equations.steepest_stiffness();
        let Ok(modes) = eigen::symmetric_modes(&stiffness, &equations.mass) else { continue };
        let fastest = modes.omega_rad_s.iter().copied().fold(0.0, f64::max);
        if fastest * step_s <= bound {
            continue;
        }
        let message = format!(
            "a step of {:.4} ms leaves {:.2} points per cycle of the {:.4} Hz mode, and {} is \
             unstable below {:.2}",
            1e3 * step_s,
            TAU / (fastest * step_s),
            fastest / TAU,
            options.method.name(),
            TAU / bound
        );
        let remedy = format!(
            "use a rate of at least \"{:.0} Hz\", or the method exact, newmark, cr or kr_alpha",
            (2.0 * fastest * step_s / options.step_s / bound).ceil()
        );
        let key = if experiment.span("integrator.step").is_some() { "step" } else { "rate" };
        let error = Diagnostic::error(message).remedy(remedy);
        found.push(experiment.place(&format!("integrator.{key}"), error));
        return;
    }
}

/// What is allowed, but makes a test or its monitor doubtful.
fn warn_of_indefinite(
    experiment: &Experiment,
    substructures: &Substructures,
    found: &mut Diagnostics,
) {
    let numerical = &substructures.numerical;
    let negative = |matrix: &nalgebra::DMatrix<f64>| {
        let smallest = eigen::smallest_symmetric_eigenvalue(matrix).unwrap_or(0.0);
        (smallest < -1e-9 * matrix.amax()).then_some(smallest)
    };
    if let Some(smallest) = negative(&numerical.damping) {
        let message = format!(
            "the numerical damping is not positive semidefinite (eigenvalue {smallest:.4e} N·s/m): \
             its dissipated energy may fall, and the stability warning means little"
        );
        let warning = Diagnostic::warning(message)
            .remedy("give the specimen less damping than the structure has at its DOF");
        found.push(experiment.place("partition.damping", warning));
    }
    if let Some(smallest) = negative(&numerical.stiffness) {
        let message = format!(
            "the numerical stiffness is not positive semidefinite (eigenvalue {smallest:.4e} N/m): \
             the simulated part stands only as long as the specimen holds it"
        );
        let warning = Diagnostic::warning(message)
            .remedy("give the specimen less stiffness than the structure has at its DOF");
        found.push(experiment.place("partition.stiffness", warning));
    }
}
