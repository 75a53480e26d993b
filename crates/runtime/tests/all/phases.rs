//! Initiating, running, completing: the load sees the same test, and the rig is
//! led to it and away from it without a jump.

use crate::common::benchmark::{Case, ground, quick};
use model::motion::Motion;
use runtime::gate::TripKind;
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::{Completing, CoursePlan, Initiating, Rest, Stage};
use runtime::interlock::{Phase, Response};
use runtime::load::Load;
use runtime::numerical::Plant;
use runtime::operator;
use runtime::rig::{Measured, Rig, RigFault, VirtualRig};
use runtime::streamed_load::{Feed, LoadEnd, StreamPlan};

const TICKS: usize = 3000;
const RATE_M_S: f64 = 0.01;

fn case() -> Case {
    let mut case = Case::benchmark().with_transfer(quick());
    case.safe_path.rate_m_s = RATE_M_S;
    case
}

fn plan(step_s: f64) -> CoursePlan {
    let ticks = |time_s: f64| (time_s / step_s) as u64;
    CoursePlan {
        initiating: Some(Initiating {
            rate_m_s: RATE_M_S,
            reach_m: 3e-3,
            fetch_ticks: ticks(0.3) + 1,
            settle_ticks: ticks(0.2),
            within_m: 1e-4,
        }),
        completing: Some(Completing {
            ring_down_ticks: ticks(20.0),
            rest: Some(Rest { within_m: 2e-4, ticks: ticks(0.5) }),
            home_rate_m_s: RATE_M_S,
        }),
    }
}

/// A rig that stands somewhere at the start.
fn standing(case: &Case, at_m: f64) -> VirtualRig {
    let mut rig = case.rig();
    let mut command = Motion::rest(case.count());
    command.displacement.fill(at_m);
    for _ in 0..20_000 {
        rig.actuate(&command);
    }
    rig
}

fn course(case: &Case, plant: Plant, ticks: usize) -> HybridLoop {
    let load = ground(case.step_s, ticks).easing(100);
    case.hybrid(plant, load).along(plan(case.step_s), None)
}

/// Phase, command and measured displacement of every tick.
fn run(hybrid: &mut HybridLoop) -> Vec<(Phase, f64, f64)> {
    let mut seen = Vec::new();
    while !hybrid.is_over() {
        hybrid.tick();
        let measured = hybrid.measured().displacement[0];
        seen.push((hybrid.phase(), hybrid.command().displacement[0], measured));
        assert!(seen.len() < 200_000, "it never ends");
    }
    seen
}

fn commands(seen: &[(Phase, f64, f64)], phase: Phase) -> Vec<u64> {
    seen.iter().filter(|s| s.0 == phase).map(|s| s.1.to_bits()).collect()
}

#[test]
fn the_load_meets_the_same_test_whatever_comes_before_it() {
    let two = case().with_ratio(8);
    type Build = fn(&Case) -> Plant;
    for (case, build) in [(case(), Case::split as Build), (two, Case::two_rate)] {
        let plain = run(&mut case.hybrid(build(&case), ground(case.step_s, TICKS)));
        let mut hybrid = course(&case, build(&case), TICKS);
        let seen = run(&mut hybrid);
        assert_eq!(commands(&plain, Phase::Running).len(), TICKS);
        assert_eq!(commands(&plain, Phase::Running), commands(&seen, Phase::Running));
        assert_eq!(hybrid.tripped(), None);
        let mut phases: Vec<Phase> = seen.iter().map(|s| s.0).collect();
        phases.dedup();
        let whole =
            [Phase::Initiating, Phase::Running, Phase::Completing, Phase::Homing, Phase::Safe];
        assert_eq!(phases, whole);
        assert_eq!(hybrid.command().displacement[0], 0.0);
        let course = hybrid.source().course.as_ref().unwrap();
        let Initiating { fetch_ticks, settle_ticks, .. } = course.plan.initiating.unwrap();
        assert_eq!(course.begun(Stage::Running), Some(fetch_ticks + settle_ticks));
    }
}

#[test]
fn a_rig_is_fetched_from_where_it_stands_and_taken_home_without_a_jump() {
    let case = case();
    let at_m = -2.5e-3;
    let plant = case.split_with(Box::new(standing(&case, at_m)), None);
    let mut hybrid = course(&case, plant, TICKS);
    let seen = run(&mut hybrid);
    assert_eq!(hybrid.tripped(), None);
    assert!((seen[0].2 - at_m).abs() < 1e-9, "it stood there: {}", seen[0].2);
    let stride = RATE_M_S * case.step_s;
    assert!((seen[0].1 - at_m).abs() <= stride + 1e-12, "the command begins there");
    for pair in seen.windows(2) {
        let step = (pair[1].1 - pair[0].1).abs();
        if matches!(pair[1].0, Phase::Initiating | Phase::Homing | Phase::Safe) {
            assert!(step <= stride * (1.0 + 1e-9), "{step} in {:?}", pair[1].0);
        }
    }
    let last = seen.iter().rposition(|s| s.0 == Phase::Initiating).unwrap();
    assert!(seen[last].2.abs() < 1e-6, "settled at its start: {}", seen[last].2);
}

#[test]
fn the_structure_rings_down_until_it_rests() {
    let case = case();
    let mut hybrid = course(&case, case.split(), TICKS);
    let seen = run(&mut hybrid);
    let rest = plan(case.step_s).completing.unwrap().rest.unwrap();
    let down: Vec<&(Phase, f64, f64)> = seen.iter().filter(|s| s.0 == Phase::Completing).collect();
    let most = plan(case.step_s).completing.unwrap().ring_down_ticks as usize;
    assert!(down.len() > rest.ticks as usize && down.len() < most, "{}", down.len());
    let (moving, still) = down.split_at(down.len() - rest.ticks as usize);
    assert!(still.iter().all(|s| s.2.abs() <= rest.within_m));
    assert!(moving.iter().any(|s| s.2.abs() > rest.within_m));
}

/// Stands far away and counts what it is told.
struct Far {
    at_m: f64,
    commands: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl Rig for Far {
    runtime::nothing_behind_it!();

    fn measure(&mut self, _: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        measured.displacement[0] = self.at_m;
        measured.force[0] = 0.0;
        Ok(())
    }

    fn actuate(&mut self, _: &Motion) {
        self.commands.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_rig_that_stands_elsewhere_is_never_commanded() {
    let case = case();
    for (at_m, kind) in [
        (4e-3, TripKind::NotAtStart),
        (f64::NAN, TripKind::NotFinite),
        (-1.0, TripKind::NotAtStart),
    ] {
        let commands = std::sync::Arc::default();
        let rig = Far { at_m, commands: std::sync::Arc::clone(&commands) };
        let mut hybrid = course(&case, case.split_with(Box::new(rig), None), TICKS);
        let seen = run(&mut hybrid);
        let (trip, time_s) = hybrid.tripped().unwrap();
        assert_eq!((trip.kind, time_s, seen.len()), (kind, 0.0, 1));
        assert_eq!(commands.load(std::sync::atomic::Ordering::Relaxed), 0, "{at_m}");
    }
    // One that does not come along is found out before the load begins, and
    // what it is told never jumps.
    let commands = std::sync::Arc::default();
    let rig = Far { at_m: 2e-3, commands: std::sync::Arc::clone(&commands) };
    let mut hybrid = course(&case, case.split_with(Box::new(rig), None), TICKS);
    let seen = run(&mut hybrid);
    let (trip, _) = hybrid.tripped().unwrap();
    assert_eq!((trip.kind, trip.limit), (TripKind::NotAtStart, 1e-4));
    assert!((trip.value - 2e-3).abs() < 1e-12);
    assert!(seen.iter().all(|s| s.0 != Phase::Running));
    assert!(trip.text().contains("where it should"), "{}", trip.text());
}

#[test]
fn the_operator_stops_any_phase_but_the_last() {
    let case = case();
    let whole = run(&mut course(&case, case.split(), 500));
    for phase in [Phase::Initiating, Phase::Running, Phase::Completing, Phase::Homing] {
        let at = whole.iter().position(|s| s.0 == phase).unwrap() + 2;
        let mut hybrid = course(&case, case.split(), 500);
        for _ in 0..at {
            hybrid.tick();
        }
        assert_eq!(hybrid.phase(), phase);
        operator::stop(&mut hybrid, Response::Hold);
        assert_eq!(hybrid.phase(), Phase::Holding, "{phase:?}");
        run(&mut hybrid);
        assert_eq!((hybrid.phase(), hybrid.command().displacement[0]), (Phase::Safe, 0.0));
    }
    let mut over = course(&case, case.split(), 500);
    run(&mut over);
    operator::stop(&mut over, Response::Hold);
    assert_eq!((over.phase(), over.tripped()), (Phase::Safe, None));
}

fn streaming(bridge_ticks: usize) -> StreamPlan {
    StreamPlan {
        bounds: vec![100.0],
        ticks_per_sample: 1,
        buffer_samples: TICKS + 1,
        prefill_samples: 100,
        bridge_ticks,
        ease_ticks: 100,
        patience_ticks: 5000,
    }
}

fn samples(load: &Load) -> Vec<f64> {
    (0..=load.ticks()).map(|tick| load.at(tick)[0]).collect()
}

#[test]
fn a_streamed_load_gives_the_bits_of_the_same_load_from_a_file() {
    let two = case().with_ratio(8);
    type Build = fn(&Case) -> Plant;
    for (case, build) in [(case(), Case::split as Build), (two, Case::two_rate)] {
        let known = run(&mut course(&case, build(&case), TICKS));
        let (mut feed, stream) = Feed::new(&streaming(10));
        let all = samples(&ground(case.step_s, TICKS));
        let mut hybrid = case
            .hybrid(build(&case), Load::unknown(1, 1_000_000_000))
            .along(plan(case.step_s), Some(stream));
        let mut fed = 0;
        let mut seen = Vec::new();
        while !hybrid.is_over() {
            // In pieces of any size, just before they are needed.
            if hybrid.waits().is_some() {
                assert!(fed < all.len());
                let piece = &all[fed..(fed + 137).min(all.len())];
                fed += feed.offer(piece).unwrap();
                if fed == all.len() {
                    feed.end();
                }
                continue;
            }
            hybrid.tick();
            seen.push((hybrid.phase(), hybrid.command().displacement[0].to_bits()));
        }
        let known: Vec<_> = known.iter().map(|s| (s.0, s.1.to_bits())).collect();
        assert_eq!(seen, known);
        assert_eq!(hybrid.load_end(), Some(LoadEnd::Declared));
        assert_eq!(feed.state.used(), TICKS as u64 + 1);
        assert_eq!(feed.state.starved(), 0);
    }
}

#[test]
fn silence_is_bridged_and_then_ends_the_load() {
    let case = case();
    let (mut feed, stream) = Feed::new(&streaming(50));
    let all = samples(&ground(case.step_s, TICKS));
    feed.offer(&all[..1000]).unwrap();
    let mut hybrid =
        case.hybrid(case.split(), Load::unknown(1, TICKS)).along(plan(case.step_s), Some(stream));
    let seen = run(&mut hybrid);
    assert_eq!(hybrid.tripped(), None, "a starved test is completed, not tripped");
    assert_eq!(hybrid.load_end(), Some(LoadEnd::Starved));
    let running = seen.iter().filter(|s| s.0 == Phase::Running).count();
    assert_eq!(running, 999 + 50 - 1, "the samples, and what was bridged");
    assert_eq!(feed.state.starved(), 50);
    assert_eq!((hybrid.phase(), hybrid.command().displacement[0]), (Phase::Safe, 0.0));
}

#[test]
fn a_load_that_never_comes_trips_and_a_load_without_end_is_ended() {
    let case = case();
    let (_feed, stream) = Feed::new(&streaming(50));
    let mut hybrid =
        case.hybrid(case.split(), Load::unknown(1, TICKS)).along(plan(case.step_s), Some(stream));
    run(&mut hybrid);
    assert_eq!(hybrid.tripped().unwrap().0.kind, TripKind::NoLoad);
    assert_eq!(hybrid.phase(), Phase::Safe);
    let (mut feed, stream) = Feed::new(&streaming(50));
    feed.offer(&samples(&ground(case.step_s, TICKS))).unwrap();
    let mut hybrid =
        case.hybrid(case.split(), Load::unknown(1, 700)).along(plan(case.step_s), Some(stream));
    let seen = run(&mut hybrid);
    assert_eq!(seen.iter().filter(|s| s.0 == Phase::Running).count(), 700);
    assert_eq!(hybrid.load_end(), Some(LoadEnd::TimeUp));
}
