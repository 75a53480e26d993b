//! The verdict against the loop that runs, on random systems.

use std::f64::consts::TAU;

use crate::iterative::chain;
use analysis::loop_stability::modes::{follow, true_modes};
use analysis::loop_stability::{Curve, Joint, LoopDescription, OpenLoop, verdict};
use model::compensator::{
    Compensator, DerivativeSource, Design, FirstOrderDesign, ForwardPredictionDesign,
    InverseDesign, PiLeadDesign, ShapingDesign, Site, delay_series,
};
use model::equations::{Equations, RelativeDof};
use model::integrator::{Hold, Integrator, Method, Options};
use model::sensor::{Converter, Sensor};
use model::specimen::Specimen;
use model::structure::damping;
use model::transfer::{ServoHydraulic, TransferSystem};
use nalgebra::{DMatrix, DVector};
use numerics::lti::TransferFunction;
use numerics::random::Stream;
use numerics::second_order::SecondOrder;
use runtime::gate::Limits;
use runtime::hybrid_loop::{HybridLoop, LoopParts};
use runtime::interlock::SafePath;
use runtime::load::Load;
use runtime::monitor::{EnergyMonitor, WorkRule};
use runtime::numerical::Plant;
use runtime::rig::{LateForce, VirtualRig, VirtualRigParts};

pub(crate) const METHODS: [Method; 6] = [
    Method::RungeKutta4,
    Method::Exact(Hold::First),
    Method::Newmark,
    Method::ImplicitEuler,
    Method::ChenRicles,
    Method::KolayRicles { spectral_radius: 0.6 },
];

/// Loops nearer to their boundary than this are left out, 1/s: their motion would
/// take minutes of the test to show which way it goes.
const MARGIN_1_S: f64 = 0.1;
/// Systems that are compared.
const SYSTEMS: usize = 220;

/// A row of one to four masses, one or two interface DOFs, and any rig and fixed
/// compensator.
pub(crate) fn random_loop(random: &mut Stream, number: usize) -> LoopDescription {
    let n = 1 + (4.0 * random.uniform()) as usize;
    let mass =
        DMatrix::from_diagonal(&DVector::from_fn(n, |_, _| 500.0 + 1000.0 * random.uniform()));
    let springs: Vec<f64> = (0..n).map(|_| 2e5 + 1e6 * random.uniform()).collect();
    let stiffness = chain(&springs);
    let ratio = 0.01 + 0.04 * random.uniform();
    let damping = damping::modal(&mass, &stiffness, &[ratio]).unwrap();
    let count = if n > 1 && random.uniform() < 0.4 { 2 } else { 1 };
    let first = (n as f64 * random.uniform()) as usize;
    let second = (first + 1) % n;
    let interface: Vec<RelativeDof> = [first, second][..count]
        .iter()
        .map(|&dof| {
            let between = dof > 0 && random.uniform() < 0.3;
            RelativeDof { from: between.then(|| dof - 1), to: Some(dof) }
        })
        .collect();
    let transfer_system = random_rig(random, number);
    let massive = matches!(transfer_system, TransferSystem::ServoHydraulic(_));
    let mut diagonal = |least: f64, more: f64| {
        DMatrix::from_diagonal(&DVector::from_fn(count, |_, _| least + more * random.uniform()))
    };
    let specimen = Specimen {
        matrices: SecondOrder {
            mass: diagonal(if massive { 20.0 } else { 0.0 }, 60.0),
            damping: diagonal(0.0, 400.0),
            stiffness: diagonal(3e4, 2e5),
        },
        elements: Vec::new(),
    };
    let at_once = matches!(transfer_system, TransferSystem::Delay { samples } if samples < 1.0);
    let compensator = if at_once { Design::None } else { random_compensator(random) };
    let low_pass_hz = (random.uniform() < 0.2 && !at_once).then(|| 40.0 + 100.0 * random.uniform());
    LoopDescription {
        numerical: Equations {
            matrices: SecondOrder { mass, damping, stiffness },
            load: DMatrix::from_element(n, 1, 1.0),
            interface,
            elements: Vec::new(),
            states: None,
        },
        specimen,
        inside: None,
        integrator: Options {
            method: METHODS[number % METHODS.len()],
            step_s: 1e-3,
            direct_inertia: None,
            iterations: 1,
        },
        transfer_system,
        compensator,
        shaping: ShapingDesign { low_pass_hz, ..ShapingDesign::default() },
        force_delay: if at_once { 0 } else { (3.0 * random.uniform()) as usize },
        joint: Joint::Held,
        extra_delay_s: 0.0,
    }
}

fn random_rig(random: &mut Stream, number: usize) -> TransferSystem {
    let corner = TAU * (8.0 + 40.0 * random.uniform());
    match number % 5 {
        0 => TransferSystem::Delay { samples: (1.0 + 25.0 * random.uniform()).floor() },
        // Between two samples, and below one.
        1 => TransferSystem::Delay { samples: 20.0 * random.uniform() },
        2 => TransferSystem::Delay { samples: random.uniform() },
        3 => TransferSystem::ServoHydraulic(ServoHydraulic {
            servo_gain: ServoHydraulic::BENCHMARK.servo_gain * (0.8 + 0.4 * random.uniform()),
            ..ServoHydraulic::BENCHMARK
        }),
        _ => {
            let order = 1 + (3.0 * random.uniform()) as usize;
            let denominator: &[f64] = match order {
                1 => &[1.0, corner],
                2 => &[1.0, 1.4 * corner, corner * corner],
                _ => &[1.0, 2.0 * corner, 2.0 * corner * corner, corner.powi(3)],
            };
            let function =
                TransferFunction::new(&[0.97 * corner.powi(order as i32)], denominator).unwrap();
            // A pure delay in front of it, whole or not, or none.
            let samples = [0.0, 3.0, 6.0 * random.uniform()][(3.0 * random.uniform()) as usize];
            TransferSystem::TransferFunction { function, samples }
        }
    }
}

fn random_compensator(random: &mut Stream) -> Design {
    let inverse = |coefficients: Vec<f64>, derivatives| {
        Design::Inverse(InverseDesign { coefficients, derivatives })
    };
    let delay_s = 0.015 * random.uniform();
    match (7.0 * random.uniform()) as usize {
        0 => Design::FirstOrder(FirstOrderDesign { gain: 1.02, lead_s: delay_s }),
        1 => inverse(delay_series::<3>(1.0, delay_s).to_vec(), DerivativeSource::Motion),
        2 => inverse(delay_series::<4>(1.0, delay_s).to_vec(), DerivativeSource::Motion),
        3 => inverse(delay_series::<2>(1.0, delay_s).to_vec(), DerivativeSource::Differences),
        4 => {
            let order = 1 + (3.0 * random.uniform()) as usize;
            Design::ForwardPrediction(ForwardPredictionDesign { order, delay_s, gain: 1.0 })
        }
        5 => Design::PiLead(PiLeadDesign {
            proportional: 0.3 + random.uniform(),
            integral_1_s: 20.0 * random.uniform(),
            lead_gain: 1.0 + 5.0 * random.uniform(),
            lead_pole_1_s: 800.0,
        }),
        _ => Design::None,
    }
}

/// The rig of a loop, with sensors that say what is.
pub(crate) fn virtual_rig(description: &LoopDescription) -> VirtualRig {
    let sensors =
        || (0..description.specimen.count()).map(|_| Sensor::new(0.0, 0.0, 0, "")).collect();
    VirtualRig::new(VirtualRigParts {
        transfer_system: description.transfer_system.clone(),
        specimen: description.specimen.clone(),
        converter: Converter::EXACT,
        displacement_sensors: sensors(),
        force_sensors: sensors(),
        step_s: description.integrator.step_s,
    })
    .unwrap()
}

/// The loop that runs without limits under a load, with a plant on its late rig.
pub(crate) fn running(
    description: &LoopDescription,
    load: Vec<f64>,
    plant: impl FnOnce(VirtualRig) -> Plant,
) -> HybridLoop {
    let (count, step_s) = (description.specimen.count(), description.integrator.step_s);
    let site = Site { count, step_s, converter: Converter::EXACT };
    let ticks = load.len() - 1;
    HybridLoop::new(
        LoopParts {
            plant: plant(virtual_rig(description)),
            compensator: Compensator::new(&description.compensator, &description.shaping, &site)
                .unwrap(),
            limits: Limits::unlimited(count, step_s),
            safe_path: SafePath { hold_s: 0.0, rate_m_s: 1.0 },
            monitor: EnergyMonitor::new(&description.numerical, WorkRule::Held, 1.0, f64::INFINITY),
            load: Load::new(&[load], ticks),
            step_s,
            every: 1,
            detail: runtime::frame::MotionDetail::Interface,
        },
        None,
    )
}

/// Of one rate, with this load.
pub(crate) fn one_rate(description: &LoopDescription, load: Vec<f64>) -> HybridLoop {
    let LoopDescription { numerical, integrator, force_delay, .. } = description;
    running(description, load, |rig| {
        let options = Options { direct_inertia: rig.direct_inertia(), ..integrator.clone() };
        let numerical = Integrator::new(numerical, &options).unwrap();
        let rig = LateForce::new(rig, *force_delay, description.specimen.count());
        Plant::partitioned(numerical, 0, rig)
    })
}

/// After a push on every DOF.
fn armed(description: &LoopDescription, ticks: usize) -> HybridLoop {
    let mut push = vec![0.0; ticks + 1];
    push[..7].copy_from_slice(&[1.0, 3.0, 2.0, -1.0, 2.5, 0.5, 1.0]);
    one_rate(description, push)
}

/// Whether the motion of the second half is larger than that of the first.
fn grows(description: &LoopDescription, seconds: f64) -> bool {
    let ticks = (seconds / description.integrator.step_s) as usize;
    let mut hybrid = armed(description, ticks);
    let mut sums = [0.0f64; 2];
    for tick in 0..ticks {
        hybrid.tick();
        let size = hybrid.source().numerical.displacement().iter().map(|x| x * x).sum::<f64>();
        // A feedback ignores measurements beyond 1e9 m, and would hold the motion there.
        if size.is_nan() || size > 1e12 {
            return true;
        }
        if tick >= ticks / 2 {
            sums[usize::from(tick >= 3 * ticks / 4)] += size;
        }
    }
    sums[1] > sums[0]
}

fn whole(description: &LoopDescription) -> Equations {
    let LoopDescription { numerical, specimen, .. } = description;
    let b = numerical.interface_matrix();
    let joined = |part: &DMatrix<f64>, taken: &DMatrix<f64>| part + &b * taken * b.transpose();
    Equations {
        matrices: SecondOrder {
            mass: joined(&numerical.matrices.mass, &specimen.matrices.mass),
            damping: joined(&numerical.matrices.damping, &specimen.matrices.damping),
            stiffness: joined(&numerical.matrices.stiffness, &specimen.matrices.stiffness),
        },
        ..numerical.clone()
    }
}

/// Whether a loop is nearer to its boundary than `MARGIN_1_S`, either way: the
/// dominant motion that was found says so.
fn is_near(description: &LoopDescription) -> bool {
    let open = OpenLoop::sampled(description).unwrap();
    let curve = Curve::follow(&open).unwrap();
    let found = follow(&open, &curve, &true_modes(&whole(description)).unwrap()).unwrap();
    found.dominant().is_some_and(|(motion, _)| motion.growth_1_s().abs() < MARGIN_1_S)
}

#[test]
fn the_verdict_is_what_the_running_loop_does() {
    const SEED: u64 = 20_261_116;
    let mut random = Stream::new(SEED, "loops");
    let (mut compared, mut unstable, mut near, mut number) = (0, 0, 0, 0);
    while compared < SYSTEMS {
        let description = random_loop(&mut random, number);
        number += 1;
        if is_near(&description) {
            near += 1;
            continue;
        }
        let told = verdict(&description).unwrap();
        // At the margin the slowest motion changes by e^{±4} in this time.
        let found = grows(&description, 40.0);
        assert_eq!(
            told.growing > 0,
            found,
            "seed {SEED}, system {number}: the verdict is {told:?}, the loop {} for {description:#?}",
            if found { "grows" } else { "decays" }
        );
        unstable += usize::from(found);
        compared += 1;
    }
    println!("seed {SEED}: {compared} compared, {unstable} unstable, {near} near the boundary");
    assert!((40..180).contains(&unstable), "{unstable} unstable ones");
    assert!(near < SYSTEMS / 3, "{near} left out");
}

#[test]
fn a_delay_at_the_margin_is_where_the_running_loop_turns() {
    const SEED: u64 = 7;
    let mut random = Stream::new(SEED, "margins");
    let mut compared = 0;
    while compared < 12 {
        let mut description = random_loop(&mut random, 0);
        description.compensator = Design::None;
        let told = verdict(&description).unwrap();
        let Some(margin) = told.delay_margin.filter(|m| told.is_stable() && m.delay_s < 0.1) else {
            continue;
        };
        let TransferSystem::Delay { samples } = description.transfer_system else { continue };
        // Whole samples on either side: the same loop with a longer delay.
        let more = margin.delay_s / description.integrator.step_s;
        let with = |samples: f64| LoopDescription {
            transfer_system: TransferSystem::Delay { samples },
            ..description.clone()
        };
        let (below, above) = (with(samples + more.floor()), with(samples + more.ceil()));
        assert!(verdict(&below).unwrap().is_stable(), "{margin:?} {description:#?}");
        assert!(!verdict(&above).unwrap().is_stable(), "{margin:?} {description:#?}");
        compared += 1;
    }
}

#[test]
fn forty_dofs_with_four_at_the_interface_are_judged() {
    let n = 40;
    let stiffness = DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 if i + 1 == n => 4e7,
        0 => 8e7,
        1 => -4e7,
        _ => 0.0,
    });
    let mass = DMatrix::identity(n, n) * 2e4;
    let damping = damping::modal(&mass, &stiffness, &[0.02]).unwrap();
    let diagonal = |value: f64| DMatrix::from_diagonal_element(4, 4, value);
    let specimen = Specimen {
        matrices: SecondOrder {
            mass: diagonal(50.0),
            damping: diagonal(2e3),
            stiffness: diagonal(8e6),
        },
        elements: Vec::new(),
    };
    let interface: Vec<RelativeDof> = [0, 9, 19, 29]
        .into_iter()
        .map(|dof: usize| RelativeDof { from: dof.checked_sub(1), to: Some(dof) })
        .collect();
    let place = |interface: Vec<RelativeDof>| Equations {
        matrices: SecondOrder {
            mass: mass.clone(),
            damping: damping.clone(),
            stiffness: stiffness.clone(),
        },
        load: DMatrix::from_element(n, 1, 1.0),
        interface,
        elements: Vec::new(),
        states: None,
    };
    let b = place(interface.clone()).interface_matrix();
    let mut numerical = place(interface);
    numerical.matrices.mass -= &b * &specimen.matrices.mass * b.transpose();
    numerical.matrices.damping -= &b * &specimen.matrices.damping * b.transpose();
    numerical.matrices.stiffness -= &b * &specimen.matrices.stiffness * b.transpose();
    let described = |samples: f64| LoopDescription {
        numerical: numerical.clone(),
        specimen: specimen.clone(),
        inside: None,
        integrator: Options {
            method: Method::Newmark,
            step_s: 1.0 / 1024.0,
            direct_inertia: None,
            iterations: 1,
        },
        transfer_system: TransferSystem::Delay { samples },
        compensator: Design::None,
        shaping: ShapingDesign::default(),
        force_delay: 0,
        joint: Joint::Held,
        extra_delay_s: 0.0,
    };
    let one = described(1.0);
    let open = OpenLoop::sampled(&one).unwrap();
    let curve = Curve::follow(&open).unwrap();
    assert_eq!(curve.growing, 0);
    let found = follow(&open, &curve, &true_modes(&whole(&one)).unwrap()).unwrap();
    assert_eq!(found.modes.len(), 40);
    assert!(found.modes.iter().all(|mode| mode.in_loop.is_some()), "{found:?}");
    let margin = verdict(&one).unwrap().delay_margin.unwrap();
    let more = (margin.delay_s * 1024.0).floor();
    assert!(!grows(&described(1.0 + more), 60.0));
    assert!(!verdict(&described(2.0 + more)).unwrap().is_stable());
}
