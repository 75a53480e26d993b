//! The one driver: a device as the clock, an owner that goes away, and what is
//! watched on the way to safe.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::channel::Channel;
use model::motion::Motion;
use runtime::clock::{DeviceClock, drive, run_virtual};
use runtime::gate::{Limits, TripKind};
use runtime::interlock::{Phase, Response, SafePath};
use runtime::link::LinkCounts;
use runtime::open_loop::{Drive, OpenLoop};
use runtime::operator;
use runtime::realtime::{Cpu, Driver, Memory, RealtimePlan};
use runtime::rig::{Measured, Rig, RigFault};
use runtime::stop::StopHandle;
use runtime::world::System;

const STEP_S: f64 = 1e-3;
/// Of the ramp, and what the limits allow.
const SAFE_M_S: f64 = 0.2;
const MOST_M_S: f64 = 1.0;
const MOST_N: f64 = 1000.0;

/// What a rig was told, and what a test tells it.
#[derive(Default)]
struct Seen {
    commands: Vec<f64>,
    left: Option<Phase>,
    /// Force over displacement, N/m.
    stiffness: f64,
}

/// A rig that is where its command is.
struct Watched(Arc<Mutex<Seen>>);

impl Rig for Watched {
    fn channels(&self) -> Vec<Channel> {
        Vec::new()
    }

    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        let seen = self.0.lock().unwrap();
        let position = seen.commands.last().copied().unwrap_or(0.0);
        measured.displacement.fill(position);
        measured.achieved.fill(position);
        measured.force.fill(seen.stiffness * position);
        Ok(())
    }

    fn actuate(&mut self, command: &Motion) {
        self.0.lock().unwrap().commands.push(command.displacement[0]);
    }

    fn on_trip(&mut self, _cause: TripKind) {}

    fn disarm(&mut self, left: Phase) {
        self.0.lock().unwrap().left = Some(left);
    }

    fn link(&self) -> Option<&LinkCounts> {
        None
    }
}

/// Out to 10 mm at 0.1 m/s, and there for the rest of a minute.
fn open_loop() -> (OpenLoop, Arc<Mutex<Seen>>) {
    let seen = Arc::new(Mutex::new(Seen { stiffness: 5e4, ..Seen::default() }));
    let displacement: Vec<f64> = (1..60_000).map(|k| (1e-4 * f64::from(k)).min(0.01)).collect();
    let zeros = vec![0.0; displacement.len()];
    let drive = Drive { dof: 0, displacement, velocity: zeros.clone(), acceleration: zeros };
    let limits = Limits {
        command: vec![0.02],
        rate: vec![MOST_M_S],
        force: vec![MOST_N],
        ..Limits::unlimited(1, STEP_S)
    };
    let safe_path = SafePath { hold_s: 0.02, rate_m_s: SAFE_M_S };
    let rig = Box::new(Watched(Arc::clone(&seen)));
    (OpenLoop::new(rig, drive, limits, safe_path, None), seen)
}

/// Drives by a device that misses periods as `missed` says; gives the overruns.
fn by_device(test: &mut OpenLoop, missed: fn(u64) -> u64) -> runtime::clock::Overruns {
    let mut sample = 0;
    let wait = || {
        sample += 1;
        1 + missed(sample)
    };
    let mut clock = DeviceClock { wait, clock: &System };
    drive(test, &mut clock, || 0, 5, |_, _| {})
}

#[test]
fn a_device_sets_the_pace_and_the_motion_is_that_of_virtual_time() {
    let (mut here, seen_here) = open_loop();
    run_virtual(&mut here, &StopHandle::default(), |_| {});
    let (mut there, seen_there) = open_loop();
    // It misses a few periods now and then: none is made up for.
    let overruns = by_device(&mut there, |sample| if sample % 1000 == 0 { 3 } else { 0 });
    assert_eq!((there.tripped(), overruns.count, overruns.missed), (None, 59, 177));
    assert_eq!(seen_here.lock().unwrap().commands, seen_there.lock().unwrap().commands);
}

#[test]
fn a_device_that_misses_too_much_stops_the_test_and_the_rig_is_taken_to_safe() {
    let (mut test, seen) = open_loop();
    by_device(&mut test, |sample| if sample == 400 { 6 } else { 0 });
    let (trip, time_s) = test.tripped().unwrap();
    assert_eq!((trip.kind, trip.value, trip.limit), (TripKind::Overrun, 6.0, 5.0));
    assert!((time_s - 0.399).abs() < 1e-9, "{time_s}");
    drop(test);
    let seen = seen.lock().unwrap();
    assert_eq!((seen.commands.last(), seen.left), (Some(&0.0), Some(Phase::Safe)));
}

fn plan() -> RealtimePlan {
    RealtimePlan {
        period_s: STEP_S,
        priority: 1,
        cpu: Cpu::Any,
        memory: Memory::Unlocked,
        overrun_limit: 1_000_000,
        main_loop: None,
    }
}

#[test]
fn a_test_whose_owner_goes_away_ends_safe() {
    let (test, seen) = open_loop();
    let running = Driver::start(&plan()).unwrap().begin(test, &StopHandle::default()).unwrap();
    while seen.lock().unwrap().commands.last().is_none_or(|x| *x < 5e-3) {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(running);
    let seen = seen.lock().unwrap();
    assert_eq!((seen.commands.last(), seen.left), (Some(&0.0), Some(Phase::Safe)));
    for pair in seen.commands.windows(2) {
        assert!((pair[1] - pair[0]).abs() <= SAFE_M_S * STEP_S + 1e-12, "{pair:?}");
    }
}

#[test]
fn an_owner_that_goes_away_does_not_end_a_way_to_safe_that_has_begun() {
    for presses in [1, 2] {
        let (mut test, seen) = open_loop();
        (0..200).for_each(|_| test.tick());
        let stop = StopHandle::default();
        (0..presses).for_each(|_| stop.press());
        drop(Driver::start(&plan()).unwrap().begin(test, &stop).unwrap());
        let seen = seen.lock().unwrap();
        assert_eq!((seen.commands.last(), seen.left), (Some(&0.0), Some(Phase::Safe)));
    }
}

/// Ticks to 10 mm, where the force is half its limit, and into the ramp.
fn ramping() -> (OpenLoop, Arc<Mutex<Seen>>) {
    let (mut test, seen) = open_loop();
    (0..200).for_each(|_| test.tick());
    operator::stop(&mut test, Response::RampDown);
    (0..5).for_each(|_| test.tick());
    assert_eq!(test.phase(), Phase::Ramping);
    (test, seen)
}

#[test]
fn a_force_that_passes_its_limit_on_the_ramp_freezes_the_command() {
    let (mut test, seen) = ramping();
    let stood = test.command().displacement[0];
    seen.lock().unwrap().stiffness = 1.01 * MOST_N / stood;
    test.tick();
    assert_eq!((test.phase(), test.command().displacement[0]), (Phase::Frozen, stood));
    assert!(test.is_over());
    let last = *test.events().events.last().unwrap();
    assert_eq!(last.cause.kind, TripKind::Force);
    assert_eq!(test.tripped().unwrap().0.kind, TripKind::Operator, "the first trip stays");
    drop(test);
    assert_eq!(seen.lock().unwrap().left, Some(Phase::Frozen));
}

#[test]
fn a_force_within_its_limit_lets_the_ramp_go_on_to_zero() {
    let (mut test, seen) = ramping();
    seen.lock().unwrap().stiffness = 0.99 * MOST_N / test.command().displacement[0];
    run_virtual(&mut test, &StopHandle::default(), |_| {});
    assert_eq!((test.phase(), test.command().displacement[0]), (Phase::Safe, 0.0));
}

#[test]
fn a_force_beyond_its_limit_may_go_down_but_not_up_again() {
    for (growth, end) in [(1.04, Phase::Safe), (1.2, Phase::Frozen)] {
        let (mut test, seen) = open_loop();
        (0..200).for_each(|_| test.tick());
        // 20 % beyond the limit at 10 mm: it trips, holds and begins its ramp.
        seen.lock().unwrap().stiffness = 1.2 * MOST_N / 0.01;
        test.tick();
        assert_eq!(test.tripped().unwrap().0.kind, TripKind::Force);
        while test.phase() != Phase::Ramping {
            test.tick();
        }
        seen.lock().unwrap().stiffness *= growth;
        run_virtual(&mut test, &StopHandle::default(), |_| {});
        assert_eq!(test.phase(), end, "{growth}");
    }
    // Once it is within its limit again, the limit holds.
    let (mut test, seen) = open_loop();
    (0..200).for_each(|_| test.tick());
    seen.lock().unwrap().stiffness = 1.2 * MOST_N / 0.01;
    test.tick();
    while test.measured().force[0] > 0.9 * MOST_N {
        test.tick();
    }
    seen.lock().unwrap().stiffness = 1.1 * MOST_N / test.command().displacement[0];
    test.tick();
    assert_eq!(test.phase(), Phase::Frozen);
}

#[test]
fn a_second_stop_on_the_ramp_freezes_it_and_says_so_to_the_rig() {
    let (mut test, seen) = ramping();
    let stood = test.command().displacement[0];
    operator::freeze(&mut test);
    run_virtual(&mut test, &StopHandle::default(), |_| {});
    assert_eq!((test.phase(), test.command().displacement[0]), (Phase::Frozen, stood));
    drop(test);
    assert_eq!(seen.lock().unwrap().left, Some(Phase::Frozen));
}
