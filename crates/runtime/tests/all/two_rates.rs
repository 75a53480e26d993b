//! A slow main loop beside a fast tick.

use crate::common::benchmark::{BOUC_WEN, Case, Trace, ground, quick};
use model::integrator::{Hold, Method};
use model::predictor::{Design as Prediction, Stages};
use runtime::gate::TripKind;
use runtime::hybrid_loop::HybridLoop;
use runtime::monitor::{EnergyErrorPlan, WorkRule};
use runtime::numerical::Plant;
use runtime::two_rate::{Counts, ForceUse, MainState, Rates, StepTime};

const EXACT: Method = Method::Exact(Hold::First);

fn with(case: Case, change: impl FnOnce(&mut Rates)) -> Case {
    let mut case = case;
    change(case.rates.as_mut().unwrap());
    case
}

fn counts(hybrid: &HybridLoop) -> Counts {
    hybrid.two_rates().expect("two rates").counts
}

/// Largest distance of two columns over the size of the second.
fn distance(ours: &[Vec<f64>], exact: &[Vec<f64>]) -> f64 {
    assert_eq!(ours.len(), exact.len());
    let size = exact.iter().flatten().fold(0.0f64, |most, x| most.max(x.abs()));
    let pairs = ours.iter().flatten().zip(exact.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / size
}

#[test]
fn a_ratio_of_one_without_task_time_is_the_ordinary_loop() {
    for method in [Method::RungeKutta4, EXACT, Method::Newmark, Method::ChenRicles] {
        let case = Case::benchmark().with_method(method).with_transfer(quick());
        let two = with(case.clone().with_ratio(1), |rates| {
            (rates.task_ticks, rates.force) = (0, ForceUse::Last);
        });
        let (ordinary, slow) = (case.run(case.split(), 4096), two.run(two.two_rate(), 4096));
        let apart = distance(&slow.command, &ordinary.command);
        assert!(apart < 1e-12, "{method:?}: {apart:e}");
        let (ours, theirs) = (slow.energies.last().unwrap(), ordinary.energies.last().unwrap());
        let gap = (ours.feedback - theirs.feedback).abs() / theirs.feedback.abs();
        assert!(gap < 1e-9 || method == Method::ChenRicles, "{method:?}: {gap:e}");
    }
}

/// Deviation of the commanded motion from that of the whole structure.
fn error(case: &Case) -> f64 {
    let whole = case.run(case.rigid(), 8192);
    let preview = ground(case.step_s, 8192);
    let plant = Plant::two_rate(case.two_rate_under(Some(preview)), case.rig());
    distance(&case.run(plant, 8192).command, &whole.command)
}

#[test]
fn every_predictor_gives_the_whole_structure_back() {
    // Ideal rig with a massive specimen: its inertia acts within the tick.
    let case = Case::benchmark().with_method(EXACT).with_ratio(8);
    let of = |predictor| error(&with(case.clone(), |rates| rates.predictor = predictor));
    let hermite = of(Prediction::Hermite);
    let cubic = of(Prediction::Lagrange { order: 3, stages: Stages::One });
    let model = of(Prediction::ModelBased);
    println!("hermite {hermite:e}, cubic {cubic:e}, model {model:e}");
    assert!(hermite < 1e-3 && cubic < 5e-3, "{hermite:e} {cubic:e}");
    // What is left is the force between its samples, taken as straight.
    assert!(model < 0.3 * hermite && model < 1e-5, "{model:e}");
    for predictor in [
        Prediction::PredictedAcceleration,
        Prediction::Adaptive { taps: 6, forgetting: 0.999 },
        Prediction::LeastSquares { order: 3, points: 5 },
    ] {
        let error = of(predictor);
        assert!(error < 2e-2, "{predictor:?}: {error:e}");
    }
}

#[test]
fn holding_the_force_is_a_delay_of_half_a_period() {
    let case = Case::benchmark().with_method(EXACT).with_ratio(8);
    let of = |force| error(&with(case.clone(), |rates| rates.force = force));
    let [all, average, last] = [ForceUse::AllSamples, ForceUse::Average, ForceUse::Last].map(of);
    println!("all {all:e}, average {average:e}, last {last:e}");
    assert!(all < 0.05 * last && average < 0.5 * last, "{all:e} {average:e} {last:e}");
}

#[test]
fn a_main_loop_of_its_own_gives_the_same_bits() {
    let case = with(Case::benchmark().with_noise(3).with_transfer(quick()).with_ratio(10), |r| {
        r.task_ticks = 3;
    });
    let inline = case.run(case.two_rate(), 4096);
    let mut plant = case.two_rate_under(None);
    let mut main = plant.detach_main().unwrap();
    assert!(plant.detach_main().is_none(), "there is only one");
    let mut hybrid = case.hybrid(Plant::two_rate(plant, case.rig()), ground(case.step_s, 4096));
    let mut commands = Vec::new();
    let mut steps = 0;
    while !hybrid.is_over() {
        hybrid.tick();
        commands.push(hybrid.command().displacement.clone());
        // Up to two ticks late is in time.
        if hybrid.ticks() % 10 == 3 {
            while main.poll() == MainState::Stepped {
                steps += 1;
            }
        }
    }
    assert_eq!(steps, 410);
    assert_eq!(counts(&hybrid).missing, 0);
    assert_eq!(commands, inline.command);
}

#[test]
fn a_main_loop_on_a_thread_gives_the_same_bits() {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    let case = with(Case::benchmark().with_noise(3).with_transfer(quick()).with_ratio(5), |r| {
        r.task_ticks = 2;
    });
    let inline = case.run(case.two_rate(), 2048);
    let mut plant = case.two_rate_under(None);
    let mut main = plant.detach_main().unwrap();
    let mut hybrid = case.hybrid(Plant::two_rate(plant, case.rig()), ground(case.step_s, 2048));
    let (over, steps) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                match main.poll() {
                    MainState::Stepped => {
                        steps.fetch_add(1, Ordering::Release);
                    }
                    _ => std::thread::yield_now(),
                }
            }
        });
        for commanded in &inline.command {
            hybrid.tick();
            assert_eq!(hybrid.command().displacement, *commanded);
            // No deadline is missed here: the tick waits for a batch that is due.
            let due = 1 + (hybrid.ticks() - 1) / 5;
            while steps.load(Ordering::Acquire) < due {
                std::thread::yield_now();
            }
        }
        over.store(true, Ordering::Release);
    });
    assert_eq!(counts(&hybrid).missing, 0);
}

#[test]
fn late_steps_are_bridged_counted_and_then_trip() {
    let base = Case::benchmark().with_transfer(quick()).with_ratio(10);
    let late = |ticks: f64, bridge: usize| {
        with(base.clone(), |rates| {
            (rates.task_ticks, rates.bridge) = (2, bridge);
            let base_s = ticks * base.step_s;
            rates.step_time = Some(StepTime { base_s, per_iteration_s: 0.0, jitter_s: 0.0 });
        })
    };
    let run = |case: &Case| {
        let mut hybrid = case.hybrid(case.two_rate(), ground(case.step_s, 1000));
        while !hybrid.is_over() {
            hybrid.tick();
        }
        hybrid
    };
    let in_time = run(&late(2.0, 4));
    assert_eq!(counts(&in_time), Counts { batches: 100, ..Counts::default() });
    // Three ticks late, a hundred times.
    let bridged = run(&late(5.0, 4));
    let found = counts(&bridged);
    assert_eq!((found.batches, found.late), (100, 100));
    assert_eq!((found.missing, found.erased, found.longest_bridge), (300, 300, 3));
    assert_eq!(bridged.tripped(), None);
    assert_eq!(bridged.events().events[0].cause.kind, TripKind::MainLoopLate);
    let (trip, at_s) = run(&late(5.0, 2)).tripped().unwrap();
    assert_eq!((trip.kind, trip.value, trip.limit), (TripKind::MainLoopLate, 3.0, 2.0));
    assert_eq!((at_s / base.step_s).round(), 4.0, "the first batch is for tick 2");
    // A main loop that never answers.
    let case = late(2.0, 6);
    let mut plant = case.two_rate_under(None);
    let main = plant.detach_main();
    let mut hybrid = case.hybrid(Plant::two_rate(plant, case.rig()), ground(case.step_s, 1000));
    while !hybrid.is_over() {
        hybrid.tick();
    }
    assert_eq!(hybrid.tripped().unwrap().0.kind, TripKind::MainLoopLate);
    drop(main);
}

#[test]
fn jitter_and_iterations_make_a_run_late_the_same_way_each_time() {
    let case = with(
        Case::benchmark()
            .with_storey_law(BOUC_WEN)
            .with_method(Method::Newmark)
            .with_transfer(quick())
            .with_ratio(10),
        |rates| {
            rates.task_ticks = 3;
            rates.step_time =
                Some(StepTime { base_s: 2e-4, per_iteration_s: 1e-5, jitter_s: 2e-4 });
        },
    );
    let run = || {
        let mut hybrid = case.hybrid(case.two_rate(), ground(case.step_s, 2000));
        let mut commands = Vec::new();
        while !hybrid.is_over() {
            hybrid.tick();
            commands.push(hybrid.command().displacement[0].to_bits());
        }
        (counts(&hybrid), commands)
    };
    let (first, again) = (run(), run());
    assert!(first.0.late > 10 && first.0.most_iterations >= 10, "{:?}", first.0);
    assert!(first.0.late < first.0.batches, "{:?}", first.0);
    assert_eq!(first, again);
}

/// Largest gap in the balance over the largest input work.
fn residual(trace: &Trace) -> f64 {
    let peak = trace.energies.iter().map(|e| e.input).fold(0.0, f64::max);
    trace.energies.iter().map(|e| e.numerical.abs()).fold(0.0, f64::max) / peak
}

#[test]
fn the_energies_balance_at_every_step_of_the_main_loop() {
    for (method, most) in [(EXACT, 1e-5), (Method::RungeKutta4, 1e-5), (Method::Newmark, 1e-10)] {
        let case = Case::benchmark().with_method(method).with_delay(4.0).with_ratio(10);
        let residual = residual(&case.run(case.two_rate(), 16_384));
        println!("{method:?}: {residual:e}");
        assert!(residual < most, "{method:?}: {residual:e}");
    }
    // One long step: the work of the held force is exact, that of damping is
    // summed over ten ticks at a time.
    let case = with(Case::benchmark().with_method(EXACT).with_delay(4.0).with_ratio(10), |rates| {
        rates.force = ForceUse::Last;
    });
    let long = residual(&case.run(case.two_rate(), 16_384));
    assert!(long < 2e-3, "{long:e}");
    // The mean force of CR acts from half a long step before its instant: what is open goes to and
    // fro with that half step and does not grow.
    let case = with(case.with_method(Method::ChenRicles), |rates| rates.force = ForceUse::Average);
    let mean = residual(&case.run(case.two_rate(), 16_384));
    println!("{mean:e}");
    assert!(mean < 2e-2, "{mean:e}");
}

/// At two rates the energy error index belongs to the instant of the main loop's newest step, as the
/// energies do, however late that comes: it is what one rate shows there.
#[test]
fn the_energy_error_is_that_of_the_main_loops_instant() {
    let mut case = Case::benchmark().with_method(EXACT).with_delay(20.0).with_ratio(10);
    case.watch.energy_error = Some(EnergyErrorPlan::default());
    case.rule = WorkRule::Trapezoid;
    let late = with(case.clone(), |rates| {
        (rates.task_ticks, rates.bridge) = (3, 4);
        let base_s = 5.0 * case.step_s;
        rates.step_time = Some(StepTime { base_s, per_iteration_s: 0.0, jitter_s: 0.0 });
    });
    for case in [&case, &late] {
        let mut hybrid = case.hybrid(case.two_rate(), ground(case.step_s, 8192));
        let (mut works, mut worst, mut size) = (Vec::new(), 0.0f64, 0.0f64);
        let mut last = None;
        while !hybrid.is_over() {
            hybrid.tick();
            let now = (hybrid.measured().displacement[0], hybrid.measured().force[0]);
            let (x, f): (f64, f64) = last.replace(now).unwrap_or(now);
            let before = works.last().copied().unwrap_or(0.0);
            works.push(before - 0.5 * (f + now.1) * (now.0 - x));
            let instant = hybrid.two_rates().unwrap().state_tick() as usize;
            let energies = hybrid.monitor().energies();
            let missing = works[instant] - energies.feedback;
            let expected = 100.0 * missing / (energies.input.max(0.0) + 1.0);
            let mut values = Vec::new();
            hybrid.indicators().unwrap().write(&mut values);
            worst = worst.max((values[0] - expected).abs());
            size = size.max(expected.abs());
        }
        assert!(size > 5.0 && worst < 1e-9 * size, "{size} {worst:e}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// However late the steps are: the loop ends or trips, and the counts agree.
    #[test]
    fn no_lateness_is_undefined(
        ratio in 1usize..12,
        task in 0usize..12,
        bridge in 0usize..20,
        base in 0.0..15.0f64,
        jitter in 0.0..4.0f64,
        seed in 0u64..1000,
    ) {
        let mut case = with(Case::benchmark().with_transfer(quick()).with_ratio(ratio), |rates| {
            (rates.task_ticks, rates.bridge) = (task.min(ratio), bridge);
        });
        case.seed = seed;
        let tick_s = case.step_s;
        let case = with(case, |rates| {
            rates.step_time = Some(StepTime {
                base_s: base * tick_s,
                per_iteration_s: 0.0,
                jitter_s: jitter * tick_s,
            });
        });
        let mut hybrid = case.hybrid(case.two_rate(), ground(tick_s, 600));
        let mut bridged = 0;
        while !hybrid.is_over() {
            let running = hybrid.phase() == runtime::interlock::Phase::Running;
            let before = counts(&hybrid).missing;
            hybrid.tick();
            bridged += u64::from(running && counts(&hybrid).missing > before);
            proptest::prop_assert!(hybrid.command().displacement[0].is_finite());
        }
        let found = counts(&hybrid);
        proptest::prop_assert_eq!(found.missing, bridged);
        proptest::prop_assert!(found.erased <= found.late * ratio as u64);
        proptest::prop_assert!(found.late <= found.batches);
        match hybrid.tripped() {
            None => proptest::prop_assert!(found.longest_bridge <= bridge as u64),
            Some((trip, _)) => {
                proptest::prop_assert_eq!(trip.kind, TripKind::MainLoopLate);
                proptest::prop_assert_eq!(found.longest_bridge, bridge as u64 + 1);
            }
        }
        if base + 4.0 * jitter < 1e-9 || (jitter == 0.0 && base <= task.min(ratio) as f64) {
            proptest::prop_assert_eq!(found.missing, 0);
        }
    }
}
