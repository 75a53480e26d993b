//! Real time: the same tick, punctual or not; overruns, the operator, no allocation.
//!
//! Nothing here judges how punctual this machine is.

use crate::allocations::calls;
use crate::common;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::benchmark::{Case, ground, quick};
use model::first_order::Scheme;
use model::motion::Motion;
use runtime::clock::run_virtual;
use runtime::event::What;
use runtime::gate::TripKind;
use runtime::hybrid_loop::ClosedLoop;
use runtime::interlock::{Phase, Response};
use runtime::numerical::Plant;
use runtime::realtime::{Cpu, Driver, Finished, Memory, RealtimePlan, ThreadPlan};
use runtime::record::{FrameSink, Options, Record, Recorder, Summary};
use runtime::rig::{Measured, Rig, RigFault};
use runtime::stop::StopHandle;

fn plan(case: &Case, overrun_limit: u64) -> RealtimePlan {
    RealtimePlan {
        period_s: case.step_s,
        priority: 10,
        cpu: Cpu::Any,
        memory: Memory::Unlocked,
        overrun_limit,
        main_loop: None,
    }
}

/// Runs a loop into a record and reads it back.
fn recorded(
    case: &Case,
    ticks: usize,
    run: impl FnOnce(FrameSink) -> (u64, Option<runtime::record::TimingNote>),
) -> (Record, Summary) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let options = Options { ring_frames: ticks + 1, ..Options::rehearsal() };
    let (sink, mut handle) =
        Recorder::create(&path, &common::header(), &case.channels(), vec![], &options).unwrap();
    let (ticks, timing) = run(sink);
    if let Some(timing) = timing {
        handle.note_timing(timing);
    }
    let summary = handle.finish(ticks, None).unwrap();
    (Record::read(&path).unwrap(), summary)
}

fn bits(record: &Record) -> Vec<Vec<u64>> {
    let columns = record.columns.iter();
    columns.map(|column| column.iter().map(|value| value.to_bits()).collect()).collect()
}

#[test]
fn real_time_and_virtual_time_give_the_same_bits() {
    const TICKS: usize = 1500;
    let builders: [fn(&Case) -> Plant; 3] =
        [Case::split, Case::rigid, |case| case.coupled(Scheme::RungeKutta4)];
    for plant in builders {
        let case = Case::benchmark().with_transfer(quick()).with_noise(7);
        let load = || ground(case.step_s, TICKS);
        let (rehearsed, _) = recorded(&case, TICKS, |sink| {
            let mut hybrid = case.recorded(plant(&case), load(), sink);
            run_virtual(&mut hybrid, &StopHandle::default(), |_| {});
            (hybrid.ticks(), None)
        });
        let plan = RealtimePlan { memory: Memory::Locked, ..plan(&case, 1_000_000) };
        let driver = Driver::start(&plan).unwrap();
        let granted = driver.granted.clone();
        assert!(granted.facts.iter().any(|(name, _)| name == "loop scheduling"), "{granted:?}");
        let (lived, summary) = recorded(&case, TICKS, |sink| {
            let hybrid = case.recorded(plant(&case), load(), sink);
            let Finished { test: hybrid, timing } =
                driver.run(hybrid, &StopHandle::default(), |_| {}).unwrap();
            (hybrid.ticks(), Some(Driver::note(&plan, &granted, &timing)))
        });
        assert_eq!(bits(&rehearsed), bits(&lived));
        assert_eq!(rehearsed.columns[0].len(), TICKS);
        // Every tick is in the histograms, and they come back from the file.
        assert!(summary.timing.is_some() && summary.is_complete());
        let timing = lived.summary.unwrap().timing.unwrap();
        assert!(timing.overruns <= TICKS as u64 && timing.most_in_a_row <= 1_000_000);
        for name in ["wake_up", "execution"] {
            let latency = timing.latency(name).unwrap();
            assert_eq!(latency.count, TICKS as u64);
            assert!(latency.p50_s > 0.0 && latency.p99_s <= latency.max_s);
            assert!(latency.max_s < 50.0, "{}", latency.max_s);
            assert_eq!(latency.bins.iter().map(|bin| bin.2).sum::<u64>(), TICKS as u64);
        }
        assert_eq!(timing.latency("round_trip"), None, "a virtual rig has none");
    }
}

/// Two rates, the main loop with eight milliseconds for each step.
fn two_rates() -> (Case, RealtimePlan) {
    let mut case = Case::benchmark().with_step(2e-3).with_delay(2.0).with_noise(7).with_ratio(5);
    case.method = model::integrator::Method::Exact(model::integrator::Hold::First);
    let rates = case.rates.as_mut().unwrap();
    (rates.task_ticks, rates.bridge) = (4, 900);
    let main_loop = Some(ThreadPlan { priority: 5, cpu: Cpu::Any });
    let plan = RealtimePlan { main_loop, ..plan(&case, 1_000_000) };
    (case, plan)
}

#[test]
fn two_rates_on_two_threads_give_the_bits_of_virtual_time_until_a_batch_is_late() {
    const TICKS: usize = 400;
    let (case, plan) = two_rates();
    let (rehearsed, _) = recorded(&case, TICKS, |sink| {
        let mut hybrid = case.recorded(case.two_rate(), ground(case.step_s, TICKS), sink);
        run_virtual(&mut hybrid, &StopHandle::default(), |_| {});
        (hybrid.ticks(), None)
    });
    assert!(rehearsed.column("main.bridged").unwrap().iter().all(|&ticks| ticks == 0.0));
    let mut compared = 0;
    // A machine that is late once may be punctual the next time.
    for _ in 0..5 {
        let driver = Driver::start(&plan).unwrap();
        let granted = driver.granted.clone();
        assert!(granted.facts.iter().any(|(name, _)| name == "main loop scheduling"));
        let (lived, summary) = recorded(&case, TICKS, |sink| {
            let hybrid = case.recorded(case.two_rate(), ground(case.step_s, TICKS), sink);
            let Finished { test: hybrid, timing } =
                driver.run(hybrid, &StopHandle::default(), |_| {}).unwrap();
            (hybrid.ticks(), Some(Driver::note(&plan, &granted, &timing)))
        });
        let bridged = lived.column("main.bridged").unwrap();
        let punctual = bridged.iter().position(|&ticks| ticks > 0.0).unwrap_or(TICKS);
        for (expected, found) in bits(&rehearsed).iter().zip(bits(&lived)) {
            assert_eq!(expected[..punctual], found[..punctual]);
        }
        let timing = summary.timing.unwrap();
        let steps = timing.latency("main.execution").unwrap().count;
        assert!((78..=80).contains(&steps), "{steps} of 80 steps: the last may be cut short");
        assert!(timing.latency("main.wake_up").unwrap().count > 0);
        compared = compared.max(punctual);
        if compared == TICKS {
            break;
        }
    }
    println!("{compared} of {TICKS} ticks compared");
    assert!(compared > 20, "no run in which the main loop was in time");
}

#[test]
fn a_main_loop_that_died_is_bridged_and_then_trips() {
    let (mut case, plan) = two_rates();
    case.rates.as_mut().unwrap().bridge = 10;
    let mut hybrid = case.hybrid(case.two_rate(), ground(case.step_s, 400));
    // Held here, where nobody calls it.
    let dead = hybrid.detach_main().unwrap();
    let driver = Driver::start(&plan).unwrap();
    let Finished { test: hybrid, timing } =
        driver.run(hybrid, &StopHandle::default(), |_| {}).unwrap();
    let (trip, time_s) = hybrid.tripped().unwrap();
    assert_eq!(trip.kind, TripKind::MainLoopLate);
    // The first batch is due at tick 4; the eleventh tick without one is too many.
    assert!((time_s - 14.0 * case.step_s).abs() < 1e-9, "{time_s}");
    assert_eq!(hybrid.phase(), Phase::Safe);
    assert!(timing.main_loop.is_none_or(|main| main.execution.count() == 0));
    drop(dead);
}

/// A spring that may take its time, and looks at the thread it runs in.
struct Watched {
    position: f64,
    tick: u64,
    /// At this tick it takes so long.
    slow: Option<(u64, Duration)>,
    /// Calls of the allocator so far, and how many came between two ticks.
    calls: Option<u64>,
    spent: &'static AtomicU64,
}

impl Watched {
    fn new(slow: Option<(u64, Duration)>, spent: &'static AtomicU64) -> Box<Self> {
        Box::new(Self { position: 0.0, tick: 0, slow, calls: None, spent })
    }
}

impl Rig for Watched {
    runtime::nothing_behind_it!();

    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        let now = calls();
        if let Some(before) = self.calls.replace(now) {
            self.spent.fetch_add(now - before, Ordering::Relaxed);
        }
        if let Some((tick, time)) = self.slow
            && self.tick == tick
        {
            thread::sleep(time);
        }
        measured.displacement.fill(self.position);
        measured.achieved.fill(self.position);
        measured.force.fill(1.19e6 * self.position);
        self.tick += 1;
        measured.round_trip_ns = self.tick.is_multiple_of(2).then_some(5000);
        Ok(())
    }

    fn actuate(&mut self, command: &Motion) {
        self.position = command.displacement[0];
    }
}

static UNUSED: AtomicU64 = AtomicU64::new(0);

fn run_slow(limit: u64, time: Duration) -> Finished<ClosedLoop> {
    let case = Case::benchmark().with_step(1e-3);
    let plant = case.split_with(Watched::new(Some((300, time)), &UNUSED), None);
    let hybrid = case.hybrid(plant, ground(case.step_s, 700));
    Driver::start(&plan(&case, limit)).unwrap().run(hybrid, &StopHandle::default(), |_| {}).unwrap()
}

#[test]
fn a_slow_tick_is_bridged_counted_and_noted() {
    let Finished { test: hybrid, timing } = run_slow(1_000_000, Duration::from_millis(30));
    assert_eq!((hybrid.ticks(), hybrid.tripped()), (700, None), "every tick was done, once");
    assert!(timing.overruns.count >= 1);
    assert!(timing.overruns.missed >= 28, "{:?}", timing.overruns);
    assert!(timing.overruns.most_in_a_row >= 28);
    assert!(timing.execution.max_ns() >= 30_000_000);
    assert_eq!(timing.round_trip.count(), 350, "as often as the rig told");
    let events = &hybrid.events().events;
    let noted = events.iter().find(|event| event.cause.kind == TripKind::Overrun).unwrap();
    assert_eq!(noted.what, What::Warning);
}

#[test]
fn too_many_missed_in_a_row_trip_and_the_rig_is_taken_to_safe() {
    // 150 periods: a stall that long by chance would trip the test as well,
    // earlier, and leave the assertion on the tick to tell.
    let Finished { test: hybrid, .. } = run_slow(100, Duration::from_millis(150));
    let (trip, time_s) = hybrid.tripped().unwrap();
    assert_eq!(trip.kind, TripKind::Overrun);
    assert!(trip.value > 100.0 && trip.limit == 100.0);
    assert!(trip.text().starts_with("deadlines missed in a row: 1"), "{}", trip.text());
    assert!((time_s - 0.301).abs() < 1e-9, "the tick after the slow one, not {time_s} s");
    assert_eq!(hybrid.phase(), Phase::Safe);
    assert_eq!(hybrid.command().displacement, [0.0]);
    let what: Vec<What> = hybrid.events().events.iter().map(|event| event.what).collect();
    assert!(what.contains(&What::Trip(Response::Hold)), "{what:?}");
}

#[test]
fn the_button_stops_and_a_second_press_only_ends_the_hold() {
    for presses in 1..=4 {
        let button = StopHandle::default();
        let mut case = Case::benchmark().with_step(1e-3);
        case.safe_path.hold_s = 0.2;
        let plant = case.split_with(Watched::new(None, &UNUSED), None);
        let hybrid = case.hybrid(plant, ground(case.step_s, 60_000));
        let driver = Driver::start(&plan(&case, 1_000_000)).unwrap();
        let mut pressed = 0;
        let Finished { test: hybrid, .. } = driver
            .run(hybrid, &button, |status| {
                if status.glance().ticks > 100 && pressed < presses {
                    pressed += 1;
                    button.press();
                }
            })
            .unwrap();
        assert_eq!(hybrid.tripped().unwrap().0.kind, TripKind::Operator);
        assert_eq!(hybrid.phase(), Phase::Safe, "{presses} presses");
        assert_eq!(hybrid.command().displacement, [0.0]);
        let events = &hybrid.events().events;
        let ramps = events.iter().filter(|event| event.what == What::OperatorRampDown).count();
        // The looks are a tenth of a second apart, the hold lasts two.
        assert!(ramps == usize::from(presses > 1) || presses == 2 && ramps == 0, "{events:?}");
    }
}

#[test]
fn nothing_is_allocated_between_the_first_tick_and_the_last() {
    static SPENT: AtomicU64 = AtomicU64::new(0);
    let case = Case::benchmark().with_step(1e-3);
    let (record, summary) = recorded(&case, 600, |sink| {
        // Slow once, so that bridging, its event and the trip are in it.
        let rig = Watched::new(Some((300, Duration::from_millis(50))), &SPENT);
        let hybrid = case.recorded(case.split_with(rig, None), ground(case.step_s, 600), sink);
        let driver = Driver::start(&plan(&case, 20)).unwrap();
        let finished = driver.run(hybrid, &StopHandle::default(), |_| {}).unwrap();
        assert!(finished.test.tripped().is_some());
        (finished.test.ticks(), None)
    });
    assert_eq!(SPENT.load(Ordering::Relaxed), 0);
    assert!(record.columns[0].len() > 100);
    assert!(summary.is_complete());
}
