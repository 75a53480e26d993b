//! Tick, clocks and driver at each of their limits: just within, on it, just beyond.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use model::channel::Channel;
use model::motion::Motion;
use runtime::clock::{Began, Clock, Driving, Overruns, drive, run_virtual};
use runtime::event::What;
use runtime::gate::{Limits, Trip, TripKind};
use runtime::interlock::{Phase, Response, SafePath};
use runtime::link::LinkCounts;
use runtime::open_loop::{Drive, OpenLoop};
use runtime::operator;
use runtime::realtime::{Cpu, Driver, Latency, Memory, RealtimePlan, Timing, run_by};
use runtime::rig::{Measured, Rig, RigFault, Validity};
use runtime::source::Source;
use runtime::stop::StopHandle;
use runtime::tick::Loop;
use runtime::world;

const STEP_S: f64 = 1.0 / 1024.0;
/// What a rig was told, and what it shall say.
#[derive(Default)]
struct Told {
    commands: Vec<f64>,
    left: Option<Phase>,
    cause: Option<TripKind>,
    force_n: f64,
    /// Ticks in which nothing is heard.
    silent: Option<fn(usize) -> bool>,
    /// The tick from which on it reports a fault.
    faulty: Option<usize>,
    measured: usize,
}

struct Scripted(Arc<Mutex<Told>>);

impl Rig for Scripted {
    fn channels(&self) -> Vec<Channel> {
        Vec::new()
    }

    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        let mut told = self.0.lock().unwrap();
        let tick = told.measured;
        told.measured += 1;
        measured.displacement.fill(told.commands.last().copied().unwrap_or(0.0));
        measured.force.fill(told.force_n);
        measured.round_trip_ns = tick.is_multiple_of(2).then_some(300);
        measured.validity = if told.silent.is_some_and(|silent| silent(tick)) {
            Validity::Bridged { ticks: 1, for_s: 0.5, allowed_s: 2.0 }
        } else {
            Validity::Fresh
        };
        match told.faulty {
            Some(from) if tick >= from => Err(RigFault::device(17)),
            _ => Ok(()),
        }
    }

    fn actuate(&mut self, command: &Motion) {
        self.0.lock().unwrap().commands.push(command.displacement[0]);
    }

    fn on_trip(&mut self, cause: TripKind) {
        self.0.lock().unwrap().cause = Some(cause);
    }

    fn disarm(&mut self, left: Phase) {
        self.0.lock().unwrap().left = Some(left);
    }

    fn link(&self) -> Option<&LinkCounts> {
        None
    }
}

/// Out by 1/1024 m a tick, with a way to safe of 2 ticks of hold and the same stride.
fn open_loop(ticks: usize, told: Told) -> (OpenLoop, Arc<Mutex<Told>>) {
    let told = Arc::new(Mutex::new(told));
    let displacement: Vec<f64> = (1..=ticks).map(|k| k as f64 / 1024.0).collect();
    let zeros = vec![0.0; ticks];
    let drive = Drive { dof: 0, displacement, velocity: zeros.clone(), acceleration: zeros };
    let limits = Limits {
        command: vec![0.5],
        rate: vec![1.0],
        force: vec![100.0],
        tracking_error: vec![1.0],
        ..Limits::unlimited(1, STEP_S)
    };
    let path = SafePath { hold_s: 2.0 * STEP_S, rate_m_s: 1.0 };
    let rig = Box::new(Scripted(Arc::clone(&told)));
    (OpenLoop::new(rig, drive, limits, path, None), told)
}

fn in_strides(commands: &[f64]) -> Vec<f64> {
    commands.iter().map(|x| 1024.0 * x).collect()
}

#[test]
fn a_trip_in_the_tick_holds_ramps_and_says_when() {
    let (mut test, told) = open_loop(100, Told::default());
    for tick in 0..4 {
        assert_eq!((test.ticks(), test.time_s()), (tick, tick as f64 * STEP_S));
        test.tick();
    }
    assert_eq!((test.step_s(), test.tripped(), test.phase()), (STEP_S, None, Phase::Running));
    told.lock().unwrap().force_n = 101.0;
    test.tick();
    let (trip, time_s) = test.tripped().unwrap();
    assert_eq!(
        (trip.kind, trip.value, trip.limit, time_s),
        (TripKind::Force, 101.0, 100.0, 4.0 * STEP_S)
    );
    assert_eq!((test.phase(), test.is_over()), (Phase::Holding, false));
    assert_eq!(told.lock().unwrap().cause, Some(TripKind::Force));
    told.lock().unwrap().force_n = 0.0;
    let mut phases = Vec::new();
    while !test.is_over() {
        test.tick();
        phases.push(test.phase());
    }
    let commands = in_strides(&told.lock().unwrap().commands);
    assert_eq!(commands, [1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0, 4.0, 3.0, 2.0, 1.0, 0.0]);
    assert_eq!(phases[..3], [Phase::Holding, Phase::Holding, Phase::Ramping]);
    assert_eq!(phases[phases.len() - 1], Phase::Safe);
    assert_eq!(test.command().velocity, [0.0]);
    drop(test);
    assert_eq!(told.lock().unwrap().left, Some(Phase::Safe));
}

#[test]
fn a_fault_of_the_rig_stops_the_test_in_its_tick() {
    let (mut test, told) = open_loop(100, Told { faulty: Some(3), ..Told::default() });
    run_virtual(&mut test, &StopHandle::default(), |_| {});
    let (trip, time_s) = test.tripped().unwrap();
    assert_eq!((trip.kind, trip.value, time_s), (TripKind::Device, 17.0, 3.0 * STEP_S));
    // On the way to safe it cannot stop it again.
    assert_eq!(test.phase(), Phase::Safe);
    let commands = in_strides(&told.lock().unwrap().commands);
    assert_eq!(commands, [1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0, 0.0]);
}

#[test]
fn measurements_that_begin_to_be_missing_are_noted_eight_times() {
    let (mut test, _told) =
        open_loop(60, Told { silent: Some(|tick| tick % 5 == 2), ..Told::default() });
    run_virtual(&mut test, &StopHandle::default(), |_| {});
    let events = &test.events().events;
    let ticks: Vec<u64> = events.iter().map(|event| event.tick).collect();
    assert_eq!(ticks, [2, 7, 12, 17, 22, 27, 32, 37]);
    for event in events {
        let Trip { kind, value, limit, .. } = event.cause;
        assert_eq!(
            (event.what, kind, value, limit),
            (What::Warning, TripKind::PeerSilent, 0.5, 2.0)
        );
    }
    assert_eq!(test.tripped(), None);
}

#[test]
fn stops_between_ticks_are_those_of_the_operator() {
    // A response decides where the way begins; a second stop freezes it, a third does nothing.
    for (response, phase) in [
        (Response::Hold, Phase::Holding),
        (Response::RampDown, Phase::Ramping),
        (Response::Abort, Phase::Safe),
    ] {
        let (mut test, _told) = open_loop(100, Told::default());
        (0..9).for_each(|_| test.tick());
        operator::stop(&mut test, response);
        assert_eq!((test.phase(), test.is_over()), (phase, phase == Phase::Safe));
        let last = *test.events().events.last().unwrap();
        assert_eq!(
            (last.tick, last.what, last.cause.kind),
            (9, What::Trip(response), TripKind::Operator)
        );
        operator::freeze(&mut test);
        let frozen = if phase == Phase::Safe { Phase::Safe } else { Phase::Frozen };
        assert_eq!((test.phase(), test.is_over()), (frozen, true));
        let noted = test.events().events.len();
        test.trip_overrun(9, 3);
        operator::freeze(&mut test);
        assert_eq!(test.events().events.len(), noted);
    }
    // Nothing can be taken down that runs; a hold can, and an aborted rig.
    let (mut test, told) = open_loop(100, Told::default());
    (0..3).for_each(|_| test.tick());
    operator::ramp_down(&mut test);
    assert_eq!((test.phase(), test.tripped()), (Phase::Running, None));
    operator::stop(&mut test, Response::Abort);
    operator::ramp_down(&mut test);
    run_virtual(&mut test, &StopHandle::default(), |_| {});
    assert_eq!(in_strides(&told.lock().unwrap().commands), [1.0, 2.0, 3.0, 2.0, 1.0, 0.0]);
}

#[test]
fn an_overrun_trips_once() {
    let (mut test, _told) = open_loop(100, Told::default());
    (0..2).for_each(|_| test.tick());
    test.trip_overrun(7, 5);
    let (trip, time_s) = test.tripped().unwrap();
    assert_eq!((trip.kind, trip.dof, trip.value, trip.limit), (TripKind::Overrun, 0, 7.0, 5.0));
    assert_eq!((time_s, test.phase()), (2.0 * STEP_S, Phase::Holding));
    // A test that has tripped stays as it is.
    test.trip_overrun(8, 5);
    assert_eq!((test.tripped().unwrap().0.value, test.phase()), (7.0, Phase::Holding));
    test.tick();
    test.trip_overrun(8, 5);
    assert_eq!(test.phase(), Phase::Holding);
}

/// A clock that says what stands in its list: when each tick begins, against which
/// deadline, after how many missed periods, and when it ends.
struct Listed {
    ticks: Vec<(u64, u64, u64, u64)>,
    next: usize,
    /// Waits that end with nothing, before each tick.
    idle: usize,
    idled: usize,
}

impl Clock for Listed {
    const REAL: bool = true;

    fn wait<S: Source>(&mut self, _test: &mut Loop<S>) -> Option<Began> {
        if self.idled < self.idle {
            self.idled += 1;
            return None;
        }
        self.idled = 0;
        let (at_ns, deadline_ns, missed, _) = self.ticks[self.next];
        self.next += 1;
        Some(Began { at_ns, deadline_ns, missed })
    }

    fn now_ns(&self) -> u64 {
        self.ticks[self.next - 1].3
    }
}

/// Began, deadline, missed, ended; what has been counted after the tick.
type Row = ((u64, u64, u64, u64), (u64, u64, u64, u64));

#[test]
fn ticks_that_come_or_end_too_late_are_counted_in_rows() {
    let rows: [Row; 9] = [
        ((100, 100, 0, 150), (0, 0, 0, 0)),
        // On time, and it ends on the next deadline: that is in time.
        ((201, 200, 0, 300), (0, 0, 0, 0)),
        ((310, 300, 0, 401), (0, 0, 0, 0)),
        // The one before ended a nanosecond too late.
        ((402, 400, 0, 499), (1, 0, 1, 1)),
        ((500, 500, 0, 560), (1, 0, 0, 1)),
        // Two periods without a tick, then one that spilled.
        ((820, 600, 2, 910), (2, 2, 2, 2)),
        ((911, 900, 0, 990), (3, 2, 3, 3)),
        ((1000, 1000, 0, 1090), (3, 2, 0, 3)),
        ((1100, 1100, 0, 1190), (3, 2, 0, 3)),
    ];
    let (mut test, _told) = open_loop(rows.len(), Told::default());
    let ticks = rows.iter().map(|row| row.0).collect();
    let mut clock = Listed { ticks, next: 0, idle: 2, idled: 0 };
    let mut seen = Vec::new();
    let overruns = drive(
        &mut test,
        &mut clock,
        || 0,
        3,
        |test, ticked| {
            let Overruns { count, missed, in_a_row, most_in_a_row } = ticked.overruns;
            let began = ticked.began;
            seen.push((
                (began.at_ns, began.deadline_ns, began.missed, ticked.ended_ns),
                (count, missed, in_a_row, most_in_a_row),
            ));
            assert_eq!(test.ticks(), seen.len() as u64);
        },
    );
    assert_eq!(seen, rows);
    assert_eq!(overruns, Overruns { count: 3, missed: 2, in_a_row: 0, most_in_a_row: 3 });
    assert_eq!(test.tripped(), None, "three in a row are allowed");
    // The first of each row is noted.
    let noted: Vec<_> =
        test.events().events.iter().map(|e| (e.tick, e.cause.value, e.cause.limit)).collect();
    assert_eq!(noted, [(3, 1.0, 3.0), (5, 2.0, 3.0)]);
}

#[test]
fn one_missed_period_more_than_allowed_trips_and_rows_are_noted_eight_times() {
    for (missed, trips) in [(3, false), (4, true)] {
        let (mut test, _told) = open_loop(60, Told::default());
        let mut driving = Driving::new(3);
        driving.count(&mut test, &Began { at_ns: 0, deadline_ns: 0, missed });
        assert_eq!(test.tripped().is_some(), trips, "{missed}");
    }
    let (mut test, _told) = open_loop(60, Told::default());
    let mut driving = Driving::new(3);
    for _ in 0..12 {
        driving.count(&mut test, &Began { at_ns: 0, deadline_ns: 0, missed: 1 });
        test.tick();
        driving.count(&mut test, &Began { at_ns: 0, deadline_ns: 0, missed: 0 });
        test.tick();
    }
    let ticks: Vec<u64> = test.events().events.iter().map(|event| event.tick).collect();
    assert_eq!(ticks, [0, 2, 4, 6, 8, 10, 12, 14]);
    // A press is obeyed once.
    driving.obey(&mut test, 0);
    assert_eq!(test.tripped(), None);
    driving.obey(&mut test, 1);
    assert_eq!(test.phase(), Phase::Holding);
    driving.obey(&mut test, 1);
    assert_eq!(test.phase(), Phase::Holding);
    driving.obey(&mut test, 2);
    assert_eq!(test.phase(), Phase::Ramping);
}

/// Time that passes only when somebody looks at it or sleeps.
struct Watch {
    now_ns: AtomicU64,
    /// What a look costs, ns.
    look_ns: u64,
    slept_until: Mutex<Vec<u64>>,
}

impl world::Clock for Watch {
    fn now_ns(&self) -> u64 {
        self.now_ns.fetch_add(self.look_ns, Ordering::Relaxed) + self.look_ns
    }

    fn wall_ns(&self) -> u64 {
        0
    }

    fn sleep_until_ns(&self, instant_ns: u64) {
        self.slept_until.lock().unwrap().push(instant_ns);
        self.now_ns.fetch_max(instant_ns, Ordering::Relaxed);
    }
}

fn plan(period_s: f64) -> RealtimePlan {
    RealtimePlan {
        period_s,
        priority: 1,
        cpu: Cpu::Any,
        memory: Memory::Unlocked,
        overrun_limit: 5,
        main_loop: None,
    }
}

fn timed(period_s: f64, look_ns: u64) -> (Timing, Vec<u64>) {
    let (mut test, _told) = open_loop(8, Told::default());
    let watch =
        Watch { now_ns: AtomicU64::new(5_000), look_ns, slept_until: Mutex::new(Vec::new()) };
    let timing = run_by(&watch, &mut test, &plan(period_s), &StopHandle::default());
    (timing, watch.slept_until.into_inner().unwrap())
}

#[test]
fn deadlines_begin_two_periods_from_now_and_ticks_are_timed() {
    // Two periods, at least a millisecond and at most 100.
    for (period_s, lead_ns) in [(2e-3, 4_000_000), (1e-5, 1_000_000), (0.2, 100_000_000)] {
        let (timing, deadlines) = timed(period_s, 40);
        let told: Vec<u64> =
            (0..8).map(|k| 5_040 + lead_ns + (k as f64 * 1e9 * period_s) as u64).collect();
        assert_eq!(deadlines, told);
        // A look costs 40 ns: one at the start of a tick, one at its end.
        let Timing { wake_up, execution, round_trip, overruns, .. } = timing;
        assert_eq!((wake_up.count(), wake_up.quantile_ns(0.0), wake_up.max_ns()), (8, 40, 40));
        assert_eq!(
            (execution.count(), execution.quantile_ns(0.0), execution.max_ns()),
            (8, 40, 40)
        );
        assert_eq!((round_trip.count(), round_trip.max_ns()), (4, 300));
        assert_eq!(overruns, Overruns::default());
    }
}

#[test]
fn a_tick_that_takes_longer_than_its_period_is_an_overrun() {
    // A look takes 3 ms of a period of 2 ms.
    let (timing, _) = timed(2e-3, 3_000_000);
    let Overruns { count, missed, .. } = timing.overruns;
    assert!(count > 2 && missed > 2, "{:?}", timing.overruns);
    assert_eq!(timing.execution.quantile_ns(0.5) / 1000, 3_000);
}

#[test]
fn a_record_keeps_the_times_that_were_counted() {
    let latency = |times: &[u64]| {
        let mut latency = Latency::default();
        times.iter().for_each(|time| latency.record(*time));
        latency
    };
    let timing = Timing {
        wake_up: latency(&[10, 20, 30]),
        execution: latency(&[1000]),
        overruns: Overruns { count: 4, missed: 9, in_a_row: 1, most_in_a_row: 6 },
        ..Timing::default()
    };
    let driver = Driver::start(&plan(2e-3)).unwrap();
    let note = Driver::note(&plan(2e-3), &driver.granted, &timing);
    let named: Vec<(&str, u64)> =
        note.latencies.iter().map(|l| (l.name.as_str(), l.count)).collect();
    assert_eq!(named, [("wake_up", 3), ("execution", 1)]);
    assert_eq!((note.period_s, note.overruns, note.missed), (2e-3, 4, 9));
    assert_eq!((note.most_in_a_row, note.overrun_limit), (6, 5));
    assert_eq!(note.facts, driver.granted.facts);
}
