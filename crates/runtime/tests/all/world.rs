//! Loop, laboratory, link and both recorders in one thread, on simulated time,
//! with a wire that loses, delays, repeats and spoils datagrams, all from a seed.

use crate::common;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::benchmark::{Case, ground, quick};
use crate::common::link::{parts, plan, profile};
use crate::common::simulated::{Faults, Simulated};
use model::motion::Motion;
use runtime::clock::run_virtual;
use runtime::gate::{Trip, TripKind};
use runtime::hybrid_loop::HybridLoop;
use runtime::interlock::Phase;
use runtime::laboratory::{LabServer, Laboratory, Session, SessionEnd};
use runtime::link::{Bridge, LinkCounts, LinkPlan, Pace};
use runtime::realtime::{Cpu, Memory, RealtimePlan, Timing, run_by};
use runtime::record::{Options, Record, Recorder, RecorderHandle};
use runtime::rig::{Measured, NetworkRig, ReplayRig, Rig, RigFault, RigSlot};
use runtime::stop::StopHandle;
use runtime::world::{Clock, World};

const LOOP: &str = "loop/record.arrow";
const LABORATORY: &str = "laboratory/record.arrow";
const TICKS: usize = 1500;
pub(crate) const WATCHDOG_S: f64 = 0.5;
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

pub(crate) const CALM: Faults =
    Faults { loss: 0.0, duplicate: 0.0, corrupt: 0.0, delay_ns: 30_000, most_delay_ns: 60_000 };
/// One in ten is lost, and some come after the next one.
pub(crate) const STORM: Faults =
    Faults { loss: 0.1, duplicate: 0.05, corrupt: 0.03, delay_ns: 30_000, most_delay_ns: 700_000 };
const CUT: Faults = Faults { loss: 1.0, ..CALM };

pub(crate) const PACED: Pace = Pace::Paced { bridge: 200, bridge_by: Bridge::Line };

/// What the laboratory leaves behind.
pub(crate) struct Left {
    end: SessionEnd,
    pub(crate) trip: Option<(Trip, f64)>,
    pub(crate) phase: Phase,
    pub(crate) command: Vec<f64>,
    pub(crate) ticks: u64,
}

/// A rig that keeps when it was given which command.
pub(crate) struct Timed {
    pub(crate) rig: RigSlot,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) path: History,
}

pub(crate) type History = Arc<Mutex<Vec<(u64, f64)>>>;

impl Rig for Timed {
    runtime::hands_on_to!(rig);

    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        self.rig.measure(ahead, measured)
    }

    fn actuate(&mut self, command: &Motion) {
        self.path.lock().unwrap().push((self.clock.now_ns(), command.displacement[0]));
        self.rig.actuate(command);
    }
}

/// The laboratory's side: what its thread does in the real world.
pub(crate) struct Bench {
    /// Its machine stands still then, and datagrams pile up.
    pub(crate) stall: Arc<Mutex<Range<u64>>>,
    pub(crate) server: LabServer,
    pub(crate) laboratory: Option<Laboratory>,
    pub(crate) session: Option<Session>,
    pub(crate) stop: StopHandle,
    pub(crate) left: Arc<Mutex<Option<Left>>>,
}

impl Bench {
    /// Does what is due; says when it wants to be asked again, unless it is over.
    pub(crate) fn poll(&mut self, now_ns: u64) -> Option<u64> {
        self.do_what_is_due(now_ns);
        let is_over = self.laboratory.is_none() && self.session.is_none();
        let next_ns = || self.session.as_ref().map_or(u64::MAX, Session::next_timeout_ns);
        (!is_over).then(next_ns)
    }

    fn do_what_is_due(&mut self, now_ns: u64) {
        if self.stall.lock().unwrap().contains(&now_ns) {
            return;
        }
        if let Some(session) = &mut self.session {
            self.server.serve_now(session);
        } else if let Some(accepted) = self.server.accept_now(&mut |_| {})
            && let Some(laboratory) = self.laboratory.take()
        {
            self.session = Some(self.server.begin(accepted, laboratory, &self.stop));
        }
        if let Some(session) = self.session.take_if(|session| session.is_over()) {
            let (laboratory, end) = session.finish();
            *self.left.lock().unwrap() = Some(Left {
                end,
                trip: laboratory.tripped(),
                phase: laboratory.phase(),
                command: laboratory.command().displacement.clone(),
                ticks: laboratory.ticks(),
            });
        }
    }
}

/// A test over a simulated wire.
struct Test {
    case: Case,
    pace: Pace,
    simulated: Simulated,
    world: Arc<dyn World>,
    hybrid: HybridLoop,
    records: [RecorderHandle; 2],
    stop: StopHandle,
    stall: Arc<Mutex<Range<u64>>>,
    history: History,
    left: Arc<Mutex<Option<Left>>>,
}

/// What a test leaves behind.
struct Ran {
    counts: LinkCounts,
    trip: Option<(Trip, f64)>,
    ticks: u64,
    timing: Timing,
    left: Left,
    simulated: Simulated,
}

impl Test {
    fn new(case: Case, seed: u64, faults: Faults, pace: Pace) -> Self {
        println!("seed {seed}");
        let simulated = Simulated::new(seed, faults);
        let world = simulated.world();
        let create = |path: &str, channels: &[_]| {
            let options = Options::rehearsal();
            Recorder::create_in(&world, path, &common::header(), channels, vec![], &options)
                .unwrap()
        };
        let (sink, of_laboratory) = create(LABORATORY, &Laboratory::channels(1));
        let address: SocketAddr = "10.0.0.2:7420".parse().unwrap();
        let (stop, left) = (StopHandle::default(), Arc::default());
        let (history, stall) = (History::default(), Arc::new(Mutex::new(0..0)));
        let rig =
            Timed { rig: case.rig().into(), clock: world.clone(), path: Arc::clone(&history) };
        let rig = RigSlot::Other(Box::new(rig));
        let laboratory = Laboratory::new(parts(rig, &case, 200), Some(sink));
        let mut bench = Bench {
            stall: Arc::clone(&stall),
            server: LabServer::bind(&world, address, profile(&case, WATCHDOG_S)).unwrap(),
            laboratory: Some(laboratory),
            session: None,
            stop: stop.clone(),
            left: Arc::clone(&left),
        };
        world.spawn("laboratory", Box::new(move |now_ns| bench.poll(now_ns))).unwrap();
        let rig = NetworkRig::connect(&world, &StopHandle::default(), &plan(&case, address, pace))
            .unwrap();
        let mut channels = case.channels();
        channels.extend(LinkPlan::channels(0));
        let (sink, of_loop) = create(LOOP, &channels);
        let plant = case.split_with(rig, None);
        let hybrid = case.recorded(plant, ground(case.step_s, TICKS), sink);
        let records = [of_loop, of_laboratory];
        Self { case, pace, simulated, world, hybrid, records, stop, stall, history, left }
    }

    /// Does something after so many periods.
    fn after(&self, periods: u64, act: impl FnOnce() + Send + 'static) {
        let at_ns = self.world.now_ns() + periods * self.period_ns();
        let mut act = Some(act);
        let then = move |now_ns| {
            if now_ns < at_ns {
                return Some(at_ns);
            }
            if let Some(act) = act.take() {
                act();
            }
            None
        };
        self.world.spawn("then", Box::new(then)).unwrap();
    }

    fn period_ns(&self) -> u64 {
        (1e9 * self.case.step_s).round() as u64
    }

    /// Runs to its end: against the clock by the driver of real tests, in lock-step
    /// as fast as the answers come.
    fn run(mut self) -> Ran {
        let (clock, stop) = (Arc::clone(&self.world), StopHandle::default());
        if matches!(self.pace, Pace::LockStep { .. }) {
            run_virtual(&mut self.hybrid, &stop, |_| {});
        }
        let plan = RealtimePlan {
            period_s: self.case.step_s,
            priority: 1,
            cpu: Cpu::Any,
            memory: Memory::Unlocked,
            overrun_limit: 10,
            main_loop: None,
        };
        let timing = run_by(&*clock, &mut self.hybrid, &plan, &stop);
        let Self { hybrid, records, simulated, left, .. } = self;
        let (trip, ticks) = (hybrid.tripped(), hybrid.ticks());
        let counts = *hybrid.link().unwrap();
        drop(hybrid);
        // Time for the laboratory to go to safe by itself.
        clock.sleep_until_ns(clock.now_ns() + 20 * SECOND_NS);
        let left = left.lock().unwrap().take().expect("the session is over");
        for (record, ticks) in records.into_iter().zip([ticks, left.ticks]) {
            record.finish(ticks, None).unwrap();
        }
        Ran { counts, trip, ticks, timing, left, simulated }
    }
}

impl Ran {
    fn bytes(&self, path: &str) -> Vec<u8> {
        self.simulated.file(Path::new(path)).unwrap()
    }

    /// A record of the test: whole, and every frame in it.
    fn record(&self, path: &str) -> Record {
        let world = self.simulated.world();
        let record = Record::read_in(&*world, Path::new(path)).unwrap();
        let summary = record.summary.as_ref().unwrap();
        assert_eq!((summary.frames_lost, summary.frames), (0, record.columns[0].len() as u64));
        record
    }
}

fn case(seed: u64) -> Case {
    let mut case = Case::benchmark().with_transfer(quick()).with_noise(seed);
    case.safe_path.rate_m_s = 0.05;
    case
}

#[test]
fn a_whole_test_through_a_storm_reads_back_and_the_same_seed_gives_the_same_bytes() {
    let storm = |seed| Test::new(case(1), seed, STORM, PACED).run();
    for seed in [1, 2, 3] {
        let (ran, again) = (storm(seed), storm(seed));
        for path in [LOOP, LABORATORY] {
            assert_eq!(ran.bytes(path), again.bytes(path), "{path}");
            assert_ne!(ran.bytes(path), storm(seed + 100).bytes(path), "{path}");
        }
        assert_eq!((ran.trip, ran.counts), (None, again.counts));
        for (name, count) in ran.counts.named() {
            let quiet = matches!(name, "resent" | "unsent" | "foreign");
            assert!(quiet || count > 0, "{name}: {:?}", ran.counts);
        }
        let record = ran.record(LOOP);
        assert_eq!(ran.ticks, record.columns[0].len() as u64);
        let bridged = record.column("rig.bridged").unwrap();
        let ticks_bridged = bridged.iter().filter(|&&in_a_row| in_a_row > 0.0).count() as u64;
        assert_eq!(ticks_bridged, ran.counts.bridged);
        // What the loop saw, bridged or not, gives its commands again.
        let column = |name: &str| vec![record.column(name).unwrap().to_vec()];
        let replay = ReplayRig::new(column("measured.1"), column("force.1"));
        let case = case(1);
        let replayed = case.run(case.split_with(replay, None), TICKS);
        let commands: Vec<f64> = replayed.command.iter().map(|row| row[0]).collect();
        assert_eq!(commands, record.column("command.1").unwrap());
        // The laboratory went home when the loop had said goodbye.
        let laboratory = ran.record(LABORATORY);
        assert_eq!((ran.left.phase, &ran.left.command[..]), (Phase::Safe, &[0.0][..]));
        assert_eq!(ran.left.trip.unwrap().0.kind, TripKind::PeerLeft);
        assert_eq!(*laboratory.column("command.1").unwrap().last().unwrap(), 0.0);
        // A goodbye is how a session should end: no frame calls it a trip.
        assert!(laboratory.column("trip").unwrap().iter().all(|code| *code == 0.0));
        assert!(ran.left.end.counts.bridged > 0, "{:?}", ran.left.end.counts);
    }
}

#[test]
fn in_lock_step_no_storm_changes_a_bit() {
    let here = case(2).run(case(2).split(), TICKS);
    let commands: Vec<f64> = here.command.iter().map(|row| row[0]).collect();
    for seed in [4, 5] {
        let pace = Pace::LockStep { timeout_s: 5.0 };
        let ran = Test::new(case(2), seed, STORM, pace).run();
        assert!(ran.counts.resent > 0 && ran.counts.corrupt > 0, "{:?}", ran.counts);
        assert_eq!(ran.record(LOOP).column("command.1").unwrap(), commands);
        ran.record(LABORATORY);
    }
}

#[test]
fn a_wire_that_is_cut_leaves_both_sides_safe_the_laboratory_by_its_watchdog() {
    let test = Test::new(case(3), 6, CALM, PACED);
    let wire = test.simulated.clone();
    test.after(700, move || wire.set_faults(CUT));
    let ran = test.run();
    let (trip, _) = ran.trip.unwrap();
    assert_eq!(trip.kind, TripKind::PeerSilent);
    let commands = ran.record(LOOP).column("command.1").unwrap().to_vec();
    assert_eq!(*commands.last().unwrap(), 0.0);
    let left = &ran.left;
    assert_eq!(left.trip.unwrap().0.kind, TripKind::PeerSilent);
    // Simulated time is exact: the watchdog bites at its time.
    let silent_s = left.end.silent_s.unwrap();
    assert!((silent_s - WATCHDOG_S).abs() < 1e-6, "{silent_s}");
    assert_eq!((left.phase, &left.command[..]), (Phase::Safe, &[0.0][..]));
    // Its own way to safe, at its own pace: never faster than its rate.
    let record = ran.record(LABORATORY);
    let held = record.column("command.1").unwrap();
    let phase = record.column("phase").unwrap();
    let most = 0.05 * case(3).step_s * (1.0 + 1e-9);
    for (pair, phase) in held.windows(2).zip(&phase[1..]) {
        assert!(*phase == 0.0 || (pair[1] - pair[0]).abs() <= most, "{pair:?}");
    }
}

#[test]
fn a_machine_that_stands_still_misses_ticks_and_makes_up_for_none() {
    let stalled = |periods: u64| {
        let test = Test::new(case(6), 8, CALM, PACED);
        let (clock, period_ns) = (Arc::clone(&test.world), test.period_ns());
        // Just before a tick, for a little more than so many periods.
        test.after(500, move || {
            clock.sleep_until_ns(clock.now_ns() + periods * period_ns + period_ns / 4);
        });
        test.run()
    };
    let ran = stalled(5);
    assert_eq!((ran.trip, ran.ticks), (None, TICKS as u64));
    assert!((4..=6).contains(&ran.timing.overruns.missed), "{}", ran.timing.overruns.missed);
    assert_eq!(ran.timing.overruns.count, 1);
    let ran = stalled(20);
    assert_eq!(ran.trip.unwrap().0.kind, TripKind::Overrun);
    assert_eq!(ran.left.phase, Phase::Safe);
    // The loop leads it to zero, and the laboratory goes what its goodbye overtook.
    assert_eq!(ran.left.command, [0.0]);
}

#[test]
fn neither_a_stall_nor_a_burst_moves_a_rig_faster_than_its_limit_in_time() {
    // Without noise, so that the motion is fast for some ticks and not for one.
    let smooth = || Case::benchmark().with_transfer(quick());
    let free = smooth().run(smooth().split(), TICKS);
    let moves: Vec<f64> =
        free.command.windows(2).map(|pair| (pair[1][0] - pair[0][0]).abs()).collect();
    let peak_m = moves.iter().copied().fold(0.0, f64::max);
    // Early enough to come after the loop before its end.
    let fastest = (0..TICKS - 200).max_by(|&a, &b| moves[a].total_cmp(&moves[b])).unwrap();
    for periods in [4, 8] {
        let mut case = smooth();
        // A tenth more than the test needs: what is missed cannot be made up at once.
        case.limits.rate[0] = 1.1 * peak_m / case.step_s;
        let rate_m_s = case.limits.rate[0];
        case.safe_path.rate_m_s = 0.5 * rate_m_s;
        let test = Test::new(case, 9, CALM, PACED);
        let (history, period_ns) = (Arc::clone(&test.history), test.period_ns());
        // The laboratory's machine stands still where the motion is fastest; the first tick
        // is some periods from now.
        let from_ns = test.world.now_ns() + (fastest as u64 + 4 - periods / 2) * period_ns;
        *test.stall.lock().unwrap() = from_ns..from_ns + periods * period_ns;
        let ran = test.run();
        assert_eq!(ran.trip, None);
        let missed = ran.left.end.timing.overruns.missed;
        assert!((periods - 2..=periods).contains(&missed), "{missed}");
        let history = history.lock().unwrap();
        let mut longest_m: f64 = 0.0;
        for pair in history.windows(2) {
            let ((then_ns, before), (now_ns, after)) = (pair[0], pair[1]);
            let (moved_m, elapsed_ns) = ((after - before).abs(), now_ns - then_ns);
            let most_m = 1e-9 * rate_m_s * elapsed_ns.min(period_ns) as f64 * (1.0 + 1e-6);
            assert!(moved_m <= most_m, "{before} to {after} m within {elapsed_ns} ns");
            longest_m = longest_m.max(moved_m);
        }
        assert!(
            longest_m > 1.05 * peak_m,
            "it came after the loop at its limit: {longest_m}, {peak_m}"
        );
    }
}

#[test]
fn the_laboratorys_stop_stops_its_own_test_and_no_other() {
    let test = Test::new(case(4), 7, CALM, PACED);
    let stop = test.stop.clone();
    test.after(300, move || stop.press());
    let ran = test.run();
    assert_eq!(ran.trip.unwrap().0.kind, TripKind::PeerTripped);
    assert_eq!(ran.left.trip.unwrap().0.kind, TripKind::Operator);
    // Another test in the same process, with a stop of its own, runs to its end.
    let other = Test::new(case(4), 7, CALM, PACED).run();
    assert_eq!((other.trip, other.ticks), (None, TICKS as u64));
}

#[test]
fn two_loops_in_one_process_do_not_share_a_stop() {
    let stops = [StopHandle::default(), StopHandle::default()];
    stops[0].press();
    let trips = stops.map(|stop| {
        let mut hybrid = case(5).hybrid(case(5).split(), ground(case(5).step_s, 200));
        run_virtual(&mut hybrid, &stop, |_| {});
        hybrid.tripped().map(|(trip, _)| trip.kind)
    });
    assert_eq!(trips, [Some(TripKind::Operator), None]);
}
