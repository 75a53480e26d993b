//! No tick allocates: running, tripping, holding, ramping, whatever the plant.

use crate::allocations::calls;
use crate::common;

use crate::common::benchmark::{BILINEAR, BOUC_WEN, Case, ground, quick, servo};
use keys::Stated;
use model::compensator::{
    AdaptiveInverseDesign, AdaptiveModelBasedDesign, AdaptiveTimeSeriesDesign, DerivativeSource,
    Design, FirstOrderDesign, ForwardPredictionDesign, InverseDesign, PiLeadDesign, ShapingDesign,
};
use model::element::{Law, Side};
use model::equations::{Descriptor, RelativeDof};
use model::first_order::Scheme;
use model::integrator::Method;
use model::internal_motion::InternalMotion;
use model::partition::InternalDofs;
use model::specimen::Specimen;
use model::structure::{StateForm, Structure};
use model::transfer::{ServoHydraulic, TransferSystem};
use nalgebra::DMatrix;
use numerics::block::{hstack, vstack};
use numerics::second_order::SecondOrder;
use runtime::frame::MotionDetail;
use runtime::interlock::Phase;
use runtime::laboratory::{Laboratory, LaboratoryParts, Start};
use runtime::link::Pace;
use runtime::monitor::{
    AmplitudeLevels, DelayLevels, EnergyErrorPlan, ForecastPlan, FrequencyEvaluationPlan, Levels,
    LimitsUsedPlan, MonitorPlan, StabilityPlan, TrackingPlan, WindowedPlan,
};
use runtime::numerical::Plant;
use runtime::record::{Options, Recorder};
use runtime::rig::NetworkRig;
use runtime::stop::StopHandle;
use runtime::world;

/// Runs with a command limit that trips, into a record; every phase is seen.
fn assert_no_allocation(name: &str, case: &Case, build: impl Fn(&Case) -> Plant) {
    let mut case = case.clone();
    case.detail = MotionDetail::Full;
    case.safe_path.rate_m_s = 0.05;
    case.watch = everything();
    let peak = {
        let trace = case.run(build(&case), 4096);
        trace.command.iter().fold(0.0f64, |most, c| most.max(c[0].abs()))
    };
    case.limits.command[0] = 0.8 * peak;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let options = Options::rehearsal();
    let (sink, handle) =
        Recorder::create(&path, &common::header(), &case.channels(), vec![], &options).unwrap();
    let mut hybrid = case.recorded(build(&case), ground(case.step_s, 4096), sink);
    let mut seen = [0u32; 4];
    while !hybrid.is_over() {
        hybrid.sink_mut().unwrap().wait_for_room();
        let before = calls();
        hybrid.tick();
        let spent = calls() - before;
        assert_eq!(spent, 0, "{name}, tick {}, {:?}", hybrid.ticks(), hybrid.phase());
        seen[hybrid.phase() as usize] += 1;
    }
    assert_eq!(hybrid.phase(), Phase::Safe, "{name}");
    assert!(seen[0] > 100 && seen[1] > 100 && seen[2] > 10 && seen[3] == 1, "{name}: {seen:?}");
    assert!(hybrid.events().events.len() > 1, "{name}: something was warned of");
    let ticks = hybrid.ticks();
    drop(hybrid);
    let summary = handle.finish(ticks, None).unwrap();
    assert_eq!((summary.frames, summary.frames_lost), (ticks, 0), "{name}");
}

/// Every indicator, with a level that warns in each run.
fn everything() -> MonitorPlan {
    let warn = |level: f64| Levels { warn_at: Some(level), ..Levels::default() };
    let stability = StabilityPlan { warn_at: Some(1e-4), ..StabilityPlan::default() };
    MonitorPlan {
        stability_warning: Stated { value: stability, stated: true },
        windowed_warning: Some(WindowedPlan {
            window_s: 0.05,
            constant_j: None,
            levels: warn(1e-4),
        }),
        energy_error: Some(EnergyErrorPlan { levels: warn(1e-4) }),
        forecast: Some(ForecastPlan {
            window_s: 0.01,
            warn_below_s: Some(1e3),
            ..ForecastPlan::default()
        }),
        tracking: Some(TrackingPlan {
            window_s: 0.05,
            delay: DelayLevels { levels: warn(1e-6) },
            amplitude: AmplitudeLevels { levels: warn(1e-6) },
        }),
        limits_used: Some(LimitsUsedPlan { levels: warn(0.1) }),
        frequency_evaluation: Some(FrequencyEvaluationPlan {
            window_s: 0.05,
            band_hz: 100.0,
            ..FrequencyEvaluationPlan::default()
        }),
        ..MonitorPlan::default()
    }
}

const METHODS: [Method; 7] = Method::all(0.5);

const GAP: Law = Law::Gap { stiffness: 2e6, opening: 1e-3, side: Side::Both };

#[test]
fn a_specimen_with_dofs_of_its_own_allocates_nothing() {
    let case = Case::benchmark().with_noise(2).with_delay(3.0);
    let two = |own: f64, joint: f64| DMatrix::from_row_slice(2, 2, &[own, joint, joint, own]);
    let inside = InternalDofs {
        dofs: vec![0, 1],
        matrices: SecondOrder {
            mass: two(20.0, 0.0),
            damping: two(400.0, -200.0),
            stiffness: two(2e6, -1e6),
        },
        to_interface: SecondOrder {
            mass: DMatrix::zeros(2, 1),
            damping: DMatrix::from_column_slice(2, 1, &[0.0, -200.0]),
            stiffness: DMatrix::from_column_slice(2, 1, &[0.0, -1e6]),
        },
    };
    assert_no_allocation("inside", &case, |case| {
        let inside = InternalMotion::new(&inside, case.step_s).unwrap();
        case.split_with(case.rig().with_inside(inside), None)
    });
}

#[test]
fn no_linear_loop_allocates() {
    let noisy = Case::benchmark().with_noise(2);
    for method in METHODS {
        let case = noisy.clone().with_method(method).with_delay(3.0);
        assert_no_allocation(&format!("split {method:?}"), &case, Case::split);
        assert_no_allocation(&format!("rigid {method:?}"), &case, Case::rigid);
    }
    for samples in [0.0, 0.5, 1.0, 7.25] {
        let case = noisy.clone().with_delay(samples);
        assert_no_allocation(&format!("delay {samples}"), &case, Case::split);
    }
    let TransferSystem::TransferFunction { function, .. } = quick() else { unreachable!() };
    let late = TransferSystem::TransferFunction { function, samples: 1.5 };
    for transfer_system in [quick(), late, servo()] {
        let case = noisy.clone().with_transfer(transfer_system);
        assert_no_allocation("split with dynamics", &case, Case::split);
    }
    for transfer_system in [quick(), servo()] {
        for scheme in [Scheme::RungeKutta4, Scheme::ExactFirstHold, Scheme::ExactZeroHold] {
            let case = noisy.clone().with_transfer(transfer_system.clone());
            assert_no_allocation("coupled", &case, |case| case.coupled(scheme));
        }
    }
}

/// The same structure as E ẏ = A y, with E = [C M; M 0] and A = [−K 0; 0 M].
fn in_first_order(mut case: Case) -> Case {
    let structure = &mut case.structure;
    let (n, none) = (structure.size(), DMatrix::zeros(structure.size(), structure.size()));
    let Structure { matrices: SecondOrder { mass, damping, stiffness }, influence, .. } =
        &*structure;
    let square = |a, b, c, d| vstack(&[&hstack(&[a, b]), &hstack(&[c, d])]);
    let descriptor = Descriptor {
        e: square(damping, mass, mass, &none),
        a: square(&-stiffness, &none, &none, mass),
    };
    let ground = (-mass * influence).resize_vertically(2 * n, 0.0);
    structure.states = Some(Box::new(StateForm { descriptor, ground }));
    structure.matrices = structure.matrices.map(|_| none.clone());
    case
}

#[test]
fn no_loop_around_a_first_order_model_allocates() {
    let noisy = Case::benchmark().with_noise(2);
    for method in &METHODS[..5] {
        let case = in_first_order(noisy.clone()).with_method(*method).with_delay(3.0);
        assert_no_allocation(&format!("first order {method:?}"), &case, Case::split);
        assert_no_allocation(&format!("first order {method:?}"), &case, Case::rigid);
    }
    for scheme in [Scheme::RungeKutta4, Scheme::ExactFirstHold] {
        let case = in_first_order(noisy.clone()).with_transfer(quick());
        assert_no_allocation("first order, coupled", &case, |case| case.coupled(scheme));
    }
    let yielding = noisy.with_storey_law(BILINEAR).with_method(Method::RungeKutta4);
    assert_no_allocation("first order, element", &in_first_order(yielding), Case::split);
}

#[test]
fn no_nonlinear_loop_allocates() {
    let yielding =
        |law: Law| Case::benchmark().with_noise(2).with_specimen_law(law).with_storey_law(law);
    for law in [BILINEAR, BOUC_WEN, GAP] {
        for method in METHODS.into_iter().filter(|m| !matches!(m, Method::Exact(_))) {
            let case = yielding(law).with_method(method).with_delay(2.5);
            assert_no_allocation(&format!("split {method:?} {law:?}"), &case, Case::split);
            assert_no_allocation(&format!("rigid {method:?} {law:?}"), &case, Case::rigid);
        }
        for transfer_system in [quick(), servo()] {
            let case = yielding(law).with_transfer(transfer_system);
            assert_no_allocation("split with dynamics", &case, Case::split);
            assert_no_allocation("coupled", &case, |case| case.coupled(Scheme::RungeKutta4));
        }
    }
}

#[test]
fn no_loop_with_two_interface_dofs_allocates() {
    let two = |a: f64, b: f64, c: f64| DMatrix::from_row_slice(2, 2, &[a, b, b, c]);
    let mut case = Case::benchmark().with_noise(2);
    case.partition.interface =
        vec![RelativeDof::of_dof(0), RelativeDof { from: Some(0), to: Some(1) }];
    case.partition.specimen = Specimen {
        matrices: SecondOrder {
            mass: two(40.0, 5.0, 30.0),
            damping: two(150.0, -40.0, 120.0),
            stiffness: two(1.2e6, -0.5e6, 0.9e6),
        },
        elements: Vec::new(),
    };
    case.limits = runtime::gate::Limits::unlimited(2, case.step_s);
    for samples in [0.0, 0.5, 2.0] {
        assert_no_allocation("two DOFs", &case.clone().with_delay(samples), Case::split);
    }
    assert_no_allocation("two DOFs", &case, Case::rigid);
    for transfer_system in [quick(), servo()] {
        let case = case.clone().with_transfer(transfer_system);
        assert_no_allocation("two DOFs", &case, Case::split);
        assert_no_allocation("two DOFs", &case, |case| case.coupled(Scheme::RungeKutta4));
    }
}

#[test]
fn no_loop_at_two_rates_allocates() {
    use model::predictor::{Design as Prediction, Stages};
    use runtime::two_rate::{ForceUse, StepTime};
    let cubic = |stages| Prediction::Lagrange { order: 3, stages };
    for predictor in [
        Prediction::Hermite,
        cubic(Stages::One),
        cubic(Stages::Two),
        Prediction::LeastSquares { order: 2, points: 6 },
        Prediction::PredictedAcceleration,
        Prediction::ModelBased,
        Prediction::Adaptive { taps: 4, forgetting: 0.999 },
        Prediction::Combined { order: 3 },
    ] {
        let mut case = Case::benchmark().with_noise(2).with_delay(3.0).with_ratio(10);
        case.rates.as_mut().unwrap().predictor = predictor;
        assert_no_allocation(&format!("{predictor:?}"), &case, Case::two_rate);
    }
    for method in METHODS {
        for force in [ForceUse::AllSamples, ForceUse::Average, ForceUse::Last] {
            let mut case = Case::benchmark().with_noise(2).with_transfer(quick()).with_ratio(8);
            case.method = method;
            let rates = case.rates.as_mut().unwrap();
            rates.force = force;
            // Late every now and then, so that batches are bridged.
            rates.step_time =
                Some(StepTime { base_s: case.step_s, per_iteration_s: 0.0, jitter_s: case.step_s });
            assert_no_allocation(&format!("{method:?} {force:?}"), &case, Case::two_rate);
        }
    }
    let yielding = Case::benchmark().with_specimen_law(BILINEAR).with_storey_law(BOUC_WEN);
    let case = yielding.with_method(Method::Newmark).with_transfer(servo()).with_ratio(8);
    assert_no_allocation("nonlinear", &case, Case::two_rate);
}

/// Every kind of compensator, fit for the benchmark.
fn compensators() -> Vec<Design> {
    let derivatives = DerivativeSource::Motion;
    vec![
        Design::None,
        Design::FirstOrder(FirstOrderDesign { gain: 1.0, lead_s: 0.02 }),
        Design::Inverse(InverseDesign {
            coefficients: vec![0.992542, 0.0248894, 1.06623e-4, 3.85639e-7],
            derivatives,
        }),
        Design::ForwardPrediction(ForwardPredictionDesign { order: 3, delay_s: 0.02, gain: 1.0 }),
        Design::AdaptiveModelBased(AdaptiveModelBasedDesign {
            derivatives,
            ..AdaptiveModelBasedDesign::PUBLISHED
        }),
        Design::AdaptiveInverse(AdaptiveInverseDesign::GENERIC),
        Design::AdaptiveTimeSeries(AdaptiveTimeSeriesDesign::GENERIC),
        Design::PiLead(PiLeadDesign {
            proportional: 2.0,
            integral_1_s: 95.0,
            lead_gain: 50.8316336,
            lead_pole_1_s: 8570.39734,
        }),
    ]
}

#[test]
fn no_compensator_allocates() {
    let shaped =
        ShapingDesign { low_pass_hz: Some(200.0), saturation_m: Some(1.0), rate_m_s: Some(100.0) };
    for design in compensators() {
        let name = format!("{design:?}");
        for shaping in [ShapingDesign::default(), shaped] {
            let mut case = Case::benchmark().with_noise(2).with_transfer(servo());
            case = case.with_compensator(design.clone());
            case.shaping = shaping;
            assert_no_allocation(&name, &case, Case::split);
            assert_no_allocation(&name, &case, |case| case.coupled(Scheme::RungeKutta4));
        }
        let late = |case: &Case| {
            let rig = runtime::rig::LateForce::new(case.rig(), 2, case.count());
            case.split_with(Box::new(rig), None)
        };
        let case = Case::benchmark().with_noise(2).with_transfer(servo());
        assert_no_allocation(&name, &case.with_compensator(design), late);
    }
}

#[test]
fn no_planned_change_allocates() {
    let case = Case::benchmark().with_noise(2).with_transfer(servo());
    let changing = |case: &Case| {
        let factors = ServoHydraulic::BENCHMARK.rescale_to(&ServoHydraulic::BENCHMARK, 1);
        let rig = case.rig().becoming(case.rig(), 500, factors);
        case.split_with(rig, None)
    };
    assert_no_allocation("changing", &case, changing);
}

/// The loop's end of a wire: answers that come, that are asked for again, and
/// that never come.
#[test]
fn a_rig_at_the_end_of_a_wire() {
    let mut case = Case::benchmark().with_transfer(quick()).with_noise(3);
    case.safe_path.rate_m_s = 0.05;
    let elsewhere = common::link::laboratory(&case, 2.0, 10);
    let proxy = common::proxy::Proxy::new(elsewhere.address, common::proxy::Mischief::ALL, 5);
    let pace = Pace::LockStep { timeout_s: 0.5 };
    let plan = common::link::plan(&case, proxy.address(), pace);
    let rig = NetworkRig::connect(&world::system(), &StopHandle::default(), &plan).unwrap();
    let mut hybrid = case.hybrid(case.split_with(Box::new(rig), None), ground(case.step_s, 4096));
    while !hybrid.is_over() {
        if hybrid.ticks() == 300 {
            proxy.cut();
        }
        let before = calls();
        hybrid.tick();
        assert_eq!(calls() - before, 0, "tick {}, {:?}", hybrid.ticks(), hybrid.phase());
    }
    let counts = hybrid.link().unwrap();
    assert!(counts.resent > 0 && counts.corrupt > 0 && counts.bridged > 0, "{counts:?}");
    assert_eq!(hybrid.phase(), Phase::Safe);
    drop((hybrid, proxy));
    elsewhere.thread.join().unwrap().unwrap();
}

/// The laboratory's end: commands, gaps, a trip and the way to safe.
#[test]
fn a_laboratory() {
    let case = Case::benchmark().with_transfer(quick()).with_noise(3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let channels = Laboratory::channels(1);
    let (sink, handle) =
        Recorder::create(&path, &common::header(), &channels, vec![], &Options::rehearsal())
            .unwrap();
    let mut limits = case.limits.clone();
    limits.command[0] = 4e-3;
    let safe_path = runtime::interlock::SafePath { hold_s: 0.01, rate_m_s: 0.05 };
    let rig = case.rig().into();
    let parts =
        LaboratoryParts { rig, limits, safe_path, every: 1, start: Start::Zero, bridge: 10 };
    let mut laboratory = Laboratory::new(parts, Some(sink));
    let mut command = model::motion::Motion::rest(1);
    let before = calls();
    for tick in (0..2000).filter(|tick| tick % 50 > 3) {
        command.displacement[0] = 5e-6 * tick as f64;
        if laboratory.tripped().is_none() {
            laboratory.obey(tick, &command, 0);
        }
    }
    let at = laboratory.ticks();
    while !laboratory.is_safe() {
        laboratory.tick_after(case.step_s);
    }
    assert_eq!(calls() - before, 0);
    assert!(at > 700 && laboratory.ticks() > at + 100, "it tripped and went to safe");
    drop(laboratory);
    assert!(handle.finish(0, None).unwrap().frames > 700);
}

#[test]
fn no_course_and_no_streamed_load_allocates() {
    use runtime::hybrid_loop::course::{Completing, CoursePlan, Initiating, Rest};
    use runtime::load::Load;
    use runtime::streamed_load::Feed;
    use runtime::streamed_load::StreamPlan;
    let plan = CoursePlan {
        initiating: Some(Initiating {
            rate_m_s: 0.01,
            reach_m: 1e-3,
            fetch_ticks: 200,
            settle_ticks: 100,
            within_m: 1e-3,
        }),
        completing: Some(Completing {
            ring_down_ticks: 500,
            rest: Some(Rest { within_m: 1e-9, ticks: 100 }),
            home_rate_m_s: 0.01,
        }),
    };
    let stream = StreamPlan {
        bounds: vec![100.0],
        ticks_per_sample: 3,
        buffer_samples: 500,
        prefill_samples: 100,
        bridge_ticks: 40,
        ease_ticks: 50,
        patience_ticks: 5000,
    };
    type Build = fn(&Case) -> Plant;
    let case = Case::benchmark().with_noise(2).with_transfer(quick());
    for (case, build) in
        [(case.clone(), Case::split as Build), (case.with_ratio(8), Case::two_rate)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.arrow");
        let header = common::header();
        let options = Options::rehearsal();
        let (sink, handle) =
            Recorder::create(&path, &header, &case.channels(), vec![], &options).unwrap();
        let (mut feed, taken) = Feed::new(&stream);
        let rows: Vec<f64> = (0..400).map(|k| (0.1 * f64::from(k)).sin()).collect();
        let load = Load::unknown(1, 1_000_000);
        // Those who look on take nothing: their ring is full, and the frames are dropped.
        let (tap, _reader) = runtime::tap::Tap::new(case.channels().len(), 100);
        let looked = std::sync::Arc::clone(&tap.state);
        let hybrid = case.recorded(build(&case), load, sink).along(plan, Some(taken));
        let mut hybrid = hybrid.tapped(tap);
        let mut seen = [0u32; 7];
        while !hybrid.is_over() {
            hybrid.sink_mut().unwrap().wait_for_room();
            if hybrid.ticks() == 400 {
                // It starves at the end.
                assert_eq!(feed.offer(&rows), Ok(400));
            }
            let before = calls();
            hybrid.tick();
            assert_eq!(calls() - before, 0, "tick {}, {:?}", hybrid.ticks(), hybrid.phase());
            seen[hybrid.phase() as usize] += 1;
        }
        assert!(seen[0] > 1200 && seen[4] == 400 && seen[5] == 500 && seen[6] > 2, "{seen:?}");
        let ticks = hybrid.ticks();
        assert_eq!(
            (looked.ticks.load(std::sync::atomic::Ordering::Relaxed), looked.dropped()),
            (ticks, ticks - 100)
        );
        drop(hybrid);
        assert_eq!(handle.finish(ticks, None).unwrap().frames_lost, 0);
    }
}
