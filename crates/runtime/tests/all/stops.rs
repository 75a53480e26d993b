//! A stop at any instant, from anybody, over a simulated wire: the rig keeps its limits in time,
//! and where it stands at the end is what is told.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::common;
use crate::common::benchmark::{Case, ground, quick};
use crate::common::link::{parts, plan, profile};
use crate::common::simulated::Simulated;
use crate::world::{Bench, CALM, History, Left, PACED, SECOND_NS, STORM, Timed, WATCHDOG_S};
use model::motion::Motion;
use numerics::random::Stream;
use runtime::hybrid_loop::course::{Completing, CoursePlan, Initiating};
use runtime::interlock::Phase;
use runtime::laboratory::{LabServer, Laboratory, Start};
use runtime::realtime::{Cpu, Memory, RealtimePlan, run_by};
use runtime::record::{Options, Record, Recorder};
use runtime::rig::{NetworkRig, Rig, RigSlot};
use runtime::stop::StopHandle;
use runtime::world::World;

const RECORD: &str = "laboratory/record.arrow";
const TICKS: usize = 600;
const RATE_M_S: f64 = 0.02;
/// A datagram has come by then, or is lost.
const HEARD_NS: u64 = 2_000_000;
/// Where the rig stands at first, with phases.
const STANDS_AT_M: f64 = -2e-3;
/// When a test is over about, without phases and with them.
const LATEST_S: [f64; 2] = [0.32, 1.0];

/// Who presses. Operator, host and signal press the loop's stop, each its own clone of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Operator,
    Host,
    Signal,
    Laboratory,
}

/// One test with its stops, all from a seed.
struct Drawn {
    seed: u64,
    /// When, from before the laboratory is called, and who.
    presses: Vec<(u64, Who)>,
    /// Whether the rig is fetched before the load and taken home after it.
    phases: bool,
    storm: bool,
}

impl Drawn {
    fn new(seed: u64) -> Self {
        let mut stream = Stream::new(seed, "stops");
        let phases = stream.uniform() < 0.5;
        let mut at_s = LATEST_S[usize::from(phases)] * stream.uniform();
        // One in eight comes while the loop is prepared, before the laboratory has answered.
        if stream.uniform() < 0.125 {
            at_s *= 1e-4;
        }
        let count = 1 + (3.0 * stream.uniform()) as usize;
        let mut press = || {
            let who = [Who::Operator, Who::Host, Who::Signal, Who::Laboratory];
            let pressed = ((1e9 * at_s) as u64, who[(4.0 * stream.uniform()) as usize]);
            at_s += 0.15 * stream.uniform();
            pressed
        };
        let presses = (0..count).map(|_| press()).collect();
        Self { seed, presses, phases, storm: stream.uniform() < 0.5 }
    }
}

/// What became of it.
struct Ended {
    /// When the rig was given which command.
    history: Vec<(u64, f64)>,
    /// The loop's end: phase, and whether it tripped; none if no laboratory answered.
    of_loop: Option<(Phase, bool)>,
    over_ns: u64,
    left: Option<Left>,
    simulated: Simulated,
}

fn case() -> Case {
    let mut case = Case::benchmark().with_transfer(quick()).with_step(1.0 / 2048.0);
    let free = case.run(case.split(), TICKS);
    let moves = free.command.windows(2).map(|pair| (pair[1][0] - pair[0][0]).abs());
    case.limits.command[0] = 1.2 * free.peak().max(STANDS_AT_M.abs());
    case.limits.overshoot = 0.5;
    case.limits.rate[0] = 1.1 * moves.fold(RATE_M_S * case.step_s, f64::max) / case.step_s;
    case.safe_path.rate_m_s = RATE_M_S;
    case
}

fn course(step_s: f64) -> CoursePlan {
    let ticks = |time_s: f64| (time_s / step_s) as u64;
    CoursePlan {
        initiating: Some(Initiating {
            rate_m_s: RATE_M_S,
            reach_m: 1.5 * STANDS_AT_M.abs(),
            fetch_ticks: ticks(0.15) + 1,
            settle_ticks: ticks(0.1),
            within_m: 2e-4,
        }),
        completing: Some(Completing {
            ring_down_ticks: ticks(0.2),
            rest: None,
            home_rate_m_s: RATE_M_S,
        }),
    }
}

fn run(case: &Case, drawn: &Drawn) -> Ended {
    let simulated = Simulated::new(drawn.seed, if drawn.storm { STORM } else { CALM });
    let world = simulated.world();
    let options = Options::rehearsal();
    let channels = Laboratory::channels(1);
    let (sink, recorder) =
        Recorder::create_in(&world, RECORD, &common::header(), &channels, vec![], &options)
            .unwrap();
    let mut rig = case.rig();
    let mut standing = Motion::rest(1);
    standing.displacement[0] = if drawn.phases { STANDS_AT_M } else { 0.0 };
    (0..4000).for_each(|_| rig.actuate(&standing));
    let history = History::default();
    let timed = Timed { rig: rig.into(), clock: world.clone(), path: Arc::clone(&history) };
    let mut parts = parts(RigSlot::Other(Box::new(timed)), case, 200);
    parts.start = if drawn.phases { Start::WhereItStands } else { Start::Zero };
    let address: SocketAddr = "10.0.0.2:7420".parse().unwrap();
    let (of_loop, of_laboratory) = (StopHandle::default(), StopHandle::default());
    let left = Arc::<Mutex<Option<Left>>>::default();
    let mut bench = Bench {
        stall: Arc::new(Mutex::new(0..0)),
        server: LabServer::bind(&world, address, profile(case, WATCHDOG_S)).unwrap(),
        laboratory: Some(Laboratory::new(parts, Some(sink))),
        session: None,
        stop: of_laboratory.clone(),
        left: Arc::clone(&left),
    };
    world.spawn("laboratory", Box::new(move |now_ns| bench.poll(now_ns))).unwrap();
    for &(after_ns, who) in &drawn.presses {
        let stop = if who == Who::Laboratory { of_laboratory.clone() } else { of_loop.clone() };
        let mut at_ns = Some(world.now_ns() + after_ns);
        let press = move |now_ns| {
            if at_ns.is_some_and(|at_ns| now_ns >= at_ns) {
                at_ns = None;
                stop.press();
            }
            at_ns
        };
        world.spawn("press", Box::new(press)).unwrap();
    }
    let plan = plan(case, address, PACED);
    let connected = NetworkRig::connect(&world, &of_loop, &plan).ok();
    let of_loop = connected.map(|rig| drive(case, drawn, &world, rig, &of_loop));
    let over_ns = world.now_ns();
    // Time for the laboratory to go to safe by itself.
    world.sleep_until_ns(over_ns + 20 * SECOND_NS);
    let left = left.lock().unwrap().take();
    recorder.finish(left.as_ref().map_or(0, |left| left.ticks), None).unwrap();
    let history = history.lock().unwrap().clone();
    Ended { history, of_loop, over_ns, left, simulated }
}

/// The loop's end, by the driver of real tests.
fn drive(
    case: &Case,
    drawn: &Drawn,
    world: &Arc<dyn World>,
    rig: NetworkRig,
    stop: &StopHandle,
) -> (Phase, bool) {
    let load = ground(case.step_s, TICKS);
    let mut hybrid = case.hybrid(case.split_with(rig, None), load);
    if drawn.phases {
        hybrid = hybrid.along(course(case.step_s), None);
    }
    let plan = RealtimePlan {
        period_s: case.step_s,
        priority: 1,
        cpu: Cpu::Any,
        memory: Memory::Unlocked,
        overrun_limit: 10,
        main_loop: None,
    };
    run_by(&**world, &mut hybrid, &plan, stop);
    (hybrid.phase(), hybrid.tripped().is_some())
}

/// No step is larger than what the rate allows for the time since the one before, and no
/// command than its limit.
fn keeps_its_limits(case: &Case, drawn: &Drawn, history: &[(u64, f64)]) {
    let (rate_m_s, period_s) = (case.limits.rate[0], case.step_s);
    let stood_m = if drawn.phases { STANDS_AT_M } else { 0.0 };
    let first = history.first().map(|&(at_ns, _)| (at_ns - (1e9 * period_s) as u64, stood_m));
    let all: Vec<(u64, f64)> = first.into_iter().chain(history.iter().copied()).collect();
    for pair in all.windows(2) {
        let ((then_ns, before), (now_ns, after)) = (pair[0], pair[1]);
        let elapsed_s = (1e-9 * (now_ns - then_ns) as f64).min(period_s);
        let most_m = rate_m_s * elapsed_s * (1.0 + 1e-6) + 1e-9;
        let moved_m = (after - before).abs();
        assert!(moved_m <= most_m, "seed {}: {before} to {after} m in {elapsed_s} s", drawn.seed);
        assert!(after.abs() <= case.limits.command[0], "seed {}: {after} m", drawn.seed);
    }
}

/// Where the rig stands is what record and phase tell.
fn tells_its_last_state(drawn: &Drawn, ended: &Ended) -> Option<Phase> {
    let seed = drawn.seed;
    let Some(left) = &ended.left else {
        // No session began: nobody has moved anything.
        assert!(ended.history.is_empty(), "seed {seed}");
        return None;
    };
    let world = ended.simulated.world();
    let record = Record::read_in(&*world, RECORD.as_ref()).unwrap();
    let last = |name: &str| record.column(name).unwrap().last().copied();
    assert_eq!(last("phase"), Some(f64::from(left.phase as u8)), "seed {seed}");
    let Some(&(_, stands_m)) = ended.history.last() else {
        // What was never commanded stands where it was found.
        let found_m = if drawn.phases { STANDS_AT_M } else { 0.0 };
        assert!((left.command[0] - found_m).abs() < 1e-5, "seed {seed}: {:?}", left.command);
        return Some(left.phase);
    };
    assert_eq!((left.command[0], last("command.1")), (stands_m, Some(stands_m)), "seed {seed}");
    assert!(matches!(left.phase, Phase::Safe | Phase::Frozen), "seed {seed}: {:?}", left.phase);
    assert!(left.phase == Phase::Frozen || stands_m == 0.0, "seed {seed}: safe at {stands_m} m");
    if let Some((Phase::Safe, _)) = ended.of_loop {
        let Left { phase, trip, .. } = left;
        // What the laboratory's operator does once the loop has left, the loop cannot know.
        let behind = |&(after_ns, who)| {
            who == Who::Laboratory && SECOND_NS + after_ns + HEARD_NS >= ended.over_ns
        };
        let alone = drawn.presses.iter().any(behind);
        let told = format!("{phase:?} {trip:?}, presses {:?}", drawn.presses);
        assert!(
            alone || stands_m == 0.0,
            "seed {seed}: the loop calls it safe at {stands_m} m: {told}"
        );
    }
    Some(left.phase)
}

/// Ten times the number by `TWINRIG_STOPS=2000`.
#[test]
fn a_stop_at_any_instant_keeps_the_limits_and_tells_where_the_rig_stands() {
    let asked = std::env::var("TWINRIG_STOPS").ok().and_then(|count| count.parse().ok());
    let count: u64 = asked.unwrap_or(200);
    let case = case();
    let (mut early, mut safe, mut frozen, mut whole) = (0, 0, 0, 0);
    for seed in 0..count {
        let drawn = Drawn::new(seed);
        let ended = run(&case, &drawn);
        keeps_its_limits(&case, &drawn, &ended.history);
        match tells_its_last_state(&drawn, &ended) {
            None => early += 1,
            Some(_) if ended.history.is_empty() => early += 1,
            Some(Phase::Frozen) => frozen += 1,
            Some(_) => safe += 1,
        }
        // A stop that comes while the test runs has stopped it.
        let tripped = ended.of_loop.is_some_and(|(_, tripped)| tripped)
            || ended.left.as_ref().is_some_and(|left| left.trip.is_some());
        let begun_ns = SECOND_NS + drawn.presses[0].0;
        assert!(tripped || begun_ns >= ended.over_ns || ended.left.is_none(), "seed {seed}");
        whole += u64::from(begun_ns >= ended.over_ns);
    }
    println!(
        "{count} stops: {early} before anything moved, {safe} safe, {frozen} frozen, {whole} behind the end"
    );
    assert!(early > 0 && safe > count / 4 && frozen > 0 && whole < count / 2, "they are spread");
}
