//! The models of an experiment, or what is wrong with it.

use std::f64::consts::TAU;
use std::iter;

use model::compensator::{Compensator, Design, ShapingDesign};
use model::equations::ConnectedElement;
use model::error::MatrixName;
use model::integrator::{Hold, Method, Options, unstable_step};
use model::partition::{LoadPattern, Partition, PartitionError, Substructures};
use model::sensor::Converter;
use model::structure::Structure;
use model::transfer::TransferSystem;
use numerics::eigen::{self, Asymmetry};
use numerics::lti::TransferFunction;
use runtime::frame::MotionDetail;
use runtime::gate::Limits;
use runtime::interlock::SafePath;
use runtime::monitor::{KINDS, MonitorPlan, Work, WorkRule};
use runtime::two_rate::ForceUse;

use super::structure::Builder;
use super::{
    Assembly, Coupling, PlantChange, SensorValues, SignalStore, contradictions, course, guard,
};
use experiment::closed_loop::{self, TransferKind};
use experiment::watch::{RecordedDofs, RecordedMotion};
use experiment::{CompensatorSpec, Diagnostic, Diagnostics, Experiment, PerDof, Source};

/// ωh at which an undamped motion begins to grow with rk4: |R(jy)| = 1 at y² = 8.
const RK4_BOUND: f64 = 2.0 * std::f64::consts::SQRT_2;

/// Both sides of the cut, or what is wrong with it.
pub(super) fn split(
    experiment: &Experiment,
    partition: &Partition,
    structure: &Structure,
    elements: &[ConnectedElement],
    loads: &[LoadPattern],
    found: &mut Diagnostics,
) -> Option<Substructures> {
    partition
        .split(structure, elements, loads)
        .map_err(|error| {
            let path = match error {
                PartitionError::NoMassLeft(..) => "partition.mass",
                PartitionError::InsideLoaded(..) => "excitation",
                PartitionError::ElementInside(..) => "partition.inside",
                _ => "partition.interface",
            };
            let mut diagnostic = Diagnostic::error(error.to_string());
            if matches!(error, PartitionError::NoMassLeft(..)) && experiment.reduction.is_some() {
                diagnostic = diagnostic.remedy(
                    "if that is rounding, keep fewer modes: a reduced model with nearly all of \
                     them has motions without mass",
                );
            }
            found.push(experiment.place(path, diagnostic));
        })
        .ok()
}

pub(super) fn build(
    experiment: &Experiment,
    source: &dyn Source,
    store: &SignalStore,
    found: &mut Diagnostics,
) -> Option<Assembly> {
    let mut builder = Builder::new(experiment, source, store, found);
    let structure = builder.structure()?;
    let elements = builder.elements(&structure);
    let partition = builder.partition(&structure);
    let inside_elements = builder.inside_elements(&structure);
    let loads = builder.loads(&structure);
    let amplitudes = builder.origin.amplitudes(structure.size());
    let reduced = builder.origin.reduced();
    let (elements, partition, loads) = (elements?, partition?, loads?);
    let inside_elements = inside_elements?;
    let patterns: Vec<LoadPattern> = loads.iter().map(|signal| signal.pattern.clone()).collect();
    let mut substructures = split(experiment, &partition, &structure, &elements, &patterns, found)?;
    substructures.whole.elements.extend(inside_elements.iter().cloned());
    warn_of_energies(experiment, &structure, found);
    warn_of_indefinite(experiment, &substructures, found);
    refuse_long_steps(experiment, &substructures, found);
    let transfer_system = transfer_system(experiment, found)?;
    let coupling = Coupling::of(experiment);
    contradictions::refuse(experiment, found);
    let count = partition.interface.len();
    let spec = &experiment.transfer_system;
    let integrator = integrator_options(experiment);
    let mut assembly = Assembly {
        coupling,
        rates: experiment.rates(),
        design: Design::None,
        shaping: ShapingDesign::default(),
        compensator: Compensator::NONE,
        change: plant_change(experiment),
        transfer_system,
        converter: Converter {
            quantum: spec.quantum_m.unwrap_or(0.0),
            saturation: spec.saturation_m.unwrap_or(f64::INFINITY),
        },
        sensors: sensors(experiment, count),
        limits: limits(experiment, count),
        safe_path: safe_path(experiment, count),
        work: work_rule(experiment, coupling, integrator.method),
        integrator,
        stop_at: experiment
            .monitor
            .stability_warning
            .stop_at
            .map_or(f64::INFINITY, |ratio| 100.0 * ratio),
        constant_j: experiment.monitor.stability_warning.constant_j,
        watch: experiment.monitor,
        faults: experiment
            .faults
            .iter()
            .map(|spec| guard::fault(spec, experiment.integrator.step_s()))
            .collect(),
        seed: experiment.seed,
        ticks: experiment.ticks() as usize,
        course: course::plan(experiment),
        ease_ticks: course::ease_ticks(experiment),
        stands_at_m: experiment.phases.initiating.map_or(0.0, |spec| spec.stands_at_m),
        stream: course::stream(experiment),
        every: experiment.record.every,
        detail: motion_detail(experiment),
        remote: None,
        structure,
        reduced,
        amplitudes,
        partition,
        elements,
        inside_elements,
        substructures,
        loads,
    };
    complete(&mut assembly, experiment, found)?;
    Some(assembly)
}

fn plant_change(experiment: &Experiment) -> Option<PlantChange> {
    experiment.transfer_system.change().map(|(change, servo)| PlantChange {
        tick: (change.at_s / experiment.integrator.step_s()).round() as u64,
        servo,
        specimen_stiffness: change.specimen_stiffness.unwrap_or(1.0),
    })
}

/// Gives the assembly its compensator, and builds the plant once: that finds what only
/// it can know.
fn complete(
    assembly: &mut Assembly,
    experiment: &Experiment,
    found: &mut Diagnostics,
) -> Option<()> {
    let CompensatorSpec { design, shaping } = &experiment.compensator;
    let failed = match assembly.set_compensator(design.clone(), shaping) {
        Err(error) => Some((format!("compensator.{}", error.key()), error.to_string())),
        Ok(()) => {
            warn_of_idle_compensator(experiment, assembly, found);
            // A file for iterative tests need not describe a loop that is closed.
            let is_cut = experiment.trace.is_some() && !experiment.transfer_system.stated;
            let built = if is_cut { None } else { assembly.plant().err() };
            built.map(|error| (error.path().to_owned(), error.to_string()))
        }
    };
    let Some((path, message)) = failed else { return Some(()) };
    found.push(experiment.place(&path, Diagnostic::error(message)));
    None
}

/// A value for each interface DOF.
fn expand(values: &Option<PerDof>, absent: f64, count: usize) -> Vec<f64> {
    values.as_ref().map_or(vec![absent; count], |values| values.expand(count))
}

fn sensors(experiment: &Experiment, count: usize) -> SensorValues {
    let sensors = &experiment.sensors;
    SensorValues {
        displacement_noise: expand(&sensors.displacement_noise, 0.0, count),
        force_noise: expand(&sensors.force_noise, 0.0, count),
        acceleration_noise: expand(&sensors.acceleration_noise, 0.0, count),
        displacement_quantum: expand(&sensors.displacement_quantum, 0.0, count),
        force_quantum: expand(&sensors.force_quantum, 0.0, count),
        force_delay: sensors.force_delay_samples,
    }
}

fn limits(experiment: &Experiment, count: usize) -> Limits {
    let limits = &experiment.limits;
    let capacity = experiment.transfer_system.capacity_n.unwrap_or(f64::INFINITY);
    let force = expand(&limits.force, f64::INFINITY, count);
    Limits {
        command: expand(&limits.command, f64::INFINITY, count),
        rate: expand(&limits.rate, f64::INFINITY, count),
        force: force.into_iter().map(|force| force.min(capacity)).collect(),
        tracking_error: expand(&limits.tracking_error, f64::INFINITY, count),
        overshoot: limits.overshoot,
        step_s: experiment.integrator.step_s(),
    }
}

/// The way to safe keeps the gate's own limit.
fn safe_path(experiment: &Experiment, count: usize) -> SafePath {
    let (limits, safe) = (&experiment.limits, &experiment.limits.safe);
    let rates = expand(&limits.rate, f64::INFINITY, count).into_iter();
    SafePath { hold_s: safe.hold_s, rate_m_s: rates.fold(safe.rate_m_s, f64::min) }
}

fn work_rule(experiment: &Experiment, coupling: Coupling, method: Method) -> WorkRule {
    match (experiment.monitor.work, coupling) {
        (Work::Exact, Coupling::Held) if experiment.main_loop.is_none() => {
            WorkRule::exact_for(method)
        }
        // A force that changes within the step is not held: the straight rule is the
        // better one. A main loop sums its own work.
        _ => WorkRule::Trapezoid,
    }
}

fn motion_detail(experiment: &Experiment) -> MotionDetail {
    match (experiment.record.motion, experiment.record.displacements) {
        (RecordedMotion::Full, _) => MotionDetail::Full,
        (_, RecordedDofs::Interface) => MotionDetail::Interface,
        _ => MotionDetail::Displacement,
    }
}

fn integrator_options(experiment: &Experiment) -> Options {
    let (method, iterations) = match experiment.integrator.method {
        closed_loop::Method::Rk4 => (Method::RungeKutta4, 1),
        closed_loop::Method::Exact { hold } => (Method::Exact(hold.unwrap_or(Hold::Zero)), 1),
        closed_loop::Method::Newmark { iterations } => (Method::Newmark, iterations),
        closed_loop::Method::ImplicitEuler { iterations } => (Method::ImplicitEuler, iterations),
        closed_loop::Method::Cr => (Method::ChenRicles, 1),
        closed_loop::Method::KrAlpha { spectral_radius } => {
            (Method::KolayRicles { spectral_radius }, 1)
        }
    };
    Options { method, step_s: experiment.integrator.step_s(), direct_inertia: None, iterations }
}

fn transfer_system(experiment: &Experiment, found: &mut Diagnostics) -> Option<TransferSystem> {
    match &experiment.transfer_system.kind {
        TransferKind::Ideal => Some(TransferSystem::Ideal),
        TransferKind::Delay(delay) => {
            Some(TransferSystem::Delay { samples: delay.samples(experiment.integrator.step_s()) })
        }
        TransferKind::TransferFunction { numerator, denominator, delay_s } => {
            match TransferFunction::new(numerator, denominator) {
                Ok(function) => Some(TransferSystem::TransferFunction {
                    function,
                    samples: delay_s.unwrap_or(0.0) / experiment.integrator.step_s(),
                }),
                Err(error) => {
                    let error = Diagnostic::error(error.to_string());
                    found.push(experiment.place("transfer_system.numerator", error));
                    None
                }
            }
        }
        TransferKind::ServoHydraulic { servo, .. } => Some(TransferSystem::ServoHydraulic(*servo)),
    }
}

/// A rig without delay follows the desired motion, whatever it is commanded.
fn warn_of_idle_compensator(experiment: &Experiment, assembly: &Assembly, found: &mut Diagnostics) {
    let at_once = match assembly.transfer_system {
        TransferSystem::Ideal => true,
        TransferSystem::Delay { samples } => samples < 1.0,
        TransferSystem::TransferFunction { .. } | TransferSystem::ServoHydraulic(_) => false,
    };
    if at_once && assembly.compensator != Compensator::NONE {
        let message = "the transfer system answers at once: the compensator has no part in the \
                       rehearsal";
        let warning = Diagnostic::warning(message)
            .remedy("give [transfer_system] a delay of a step or more, or dynamics");
        found.push(experiment.place("compensator", warning));
    }
}

/// A step that makes motions grow which the model lets decay blows the numerical
/// part up by itself.
fn refuse_long_steps(
    experiment: &Experiment,
    substructures: &Substructures,
    found: &mut Diagnostics,
) {
    let options = integrator_options(experiment);
    // The reference goes tick by tick; the main loop may take longer steps.
    let long = experiment.rates().filter(|rates| rates.force != ForceUse::AllSamples);
    let main_s = options.step_s * long.map_or(1.0, |rates| rates.ratio as f64);
    // Behind an ideal rig both sides are stepped as one.
    let as_one = Coupling::of(experiment) == Coupling::Continuous
        && matches!(experiment.transfer_system.kind, TransferKind::Ideal);
    let numerical = (!as_one).then_some((&substructures.numerical, main_s));
    let stepped = numerical.into_iter().chain([(&substructures.whole, options.step_s)]);
    for (equations, step_s) in stepped {
        let options = Options { step_s, ..options.clone() };
        // What cannot be stepped at all is refused where it is built.
        let Ok(Some(unstable)) = unstable_step(equations, &options) else { continue };
        let (rate, name) = (unstable.motion.norm(), options.method.name());
        let message = if unstable.motion.im > 0.5 * rate {
            format!(
                "a step of {:.4} ms leaves {:.2} points per cycle of the {:.4} Hz mode, and {name} \
                 is unstable below {:.2}",
                1e3 * step_s,
                TAU / (rate * step_s),
                rate / TAU,
                TAU / RK4_BOUND
            )
        } else {
            format!(
                "a step of {:.4} ms is too long for a motion that decays with {:.4} 1/s: {name} \
                 makes it grow {:.3} times a step",
                1e3 * step_s,
                -unstable.motion.re,
                unstable.factor
            )
        };
        let remedy = format!(
            "use a rate of at least \"{:.0} Hz\", or the method exact, newmark, cr or kr_alpha",
            (2.0 * rate * step_s / experiment.integrator.step_s() / RK4_BOUND).ceil()
        );
        let path = format!("integrator.{}", experiment.integrator.pace.key());
        found.push(experiment.place(&path, Diagnostic::error(message).remedy(remedy)));
        return;
    }
}

/// Says what the energies leave out where they are not the forms of symmetric
/// matrices.
fn warn_of_energies(experiment: &Experiment, structure: &Structure, found: &mut Diagnostics) {
    if structure.states.is_some() {
        let monitor = &experiment.monitor;
        let resting = KINDS.iter().filter(|kind| kind.about.rests_on_energies);
        let resting = resting.map(|kind| (kind.key, (kind.is_asked)(monitor)));
        let stability = (MonitorPlan::STABILITY_WARNING, monitor.stability_warning.stated);
        for (key, asked) in iter::once(stability).chain(resting) {
            if asked {
                let error = Diagnostic::error(format!(
                    "`{key}` rests on the energy that damping takes, which is not known of a \
                     first-order model"
                ));
                let error = error.remedy("remove it, or take method = \"rubin\"");
                found.push(experiment.place(&format!("monitor.{key}"), error));
            }
        }
        let left = KINDS.iter().filter(|kind| !kind.about.rests_on_energies);
        let left: Vec<&str> = left.map(|kind| kind.key).collect();
        let warning = Diagnostic::warning(format!(
            "the numerical part is of first order: the monitor sums the works of load and measured \
             force; kinetic, strain and dissipated energy are not known. Of the indicators remain {}",
            left.join(", ")
        ));
        found.push(experiment.place("reduction.method", warning));
    } else if let Some((matrix, pair)) = structure.asymmetry() {
        let Asymmetry { row, column, upper, lower, .. } = pair;
        let resting = KINDS.iter().filter(|kind| kind.about.rests_on_energies);
        let resting = resting.map(|kind| kind.key);
        let resting: Vec<&str> =
            iter::once(MonitorPlan::STABILITY_WARNING).chain(resting).collect();
        let message = format!(
            "the {matrix} matrix is not symmetric: row {r}, column {c} is {upper} but row {c}, \
             column {r} is {lower}; it is taken as it is. The energies leave the work of what is \
             not symmetric out, and indicators that rest on them say less ({})",
            resting.join(", "),
            r = row + 1,
            c = column + 1
        );
        let path = match matrix {
            MatrixName::Damping => "structure.damping",
            _ => "structure.stiffness",
        };
        found.push(experiment.place(path, Diagnostic::warning(message)));
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
        let symmetric = 0.5 * (matrix + matrix.transpose());
        let smallest = eigen::smallest_symmetric_eigenvalue(&symmetric).unwrap_or(0.0);
        (smallest < -1e-9 * matrix.amax()).then_some(smallest)
    };
    if let Some(smallest) = negative(&numerical.matrices.damping) {
        let message = format!(
            "the numerical damping is not positive semidefinite (eigenvalue {smallest:.4e} N·s/m): \
             its dissipated energy may fall, and the stability warning means little"
        );
        let warning = Diagnostic::warning(message)
            .remedy("give the specimen less damping than the structure has at its DOF");
        found.push(experiment.place("partition.damping", warning));
    }
    if let Some(smallest) = negative(&numerical.matrices.stiffness) {
        let message = format!(
            "the numerical stiffness is not positive semidefinite (eigenvalue {smallest:.4e} N/m): \
             the simulated part stands only as long as the specimen holds it"
        );
        let warning = Diagnostic::warning(message)
            .remedy("give the specimen less stiffness than the structure has at its DOF");
        found.push(experiment.place("partition.stiffness", warning));
    }
}
