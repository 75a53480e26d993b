//! A loop and its laboratory at two ends of a wire: the same bits as in one
//! process, through every mischief; each side safe by itself when the other goes.
//! Nothing here judges punctuality.

use std::net::UdpSocket;
use std::time::Duration;

use crate::common::benchmark::{Case, Trace, ground, quick};
use crate::common::by_hand;
use crate::common::link::{laboratory, laboratory_of, left, plan};
use crate::common::proxy::{Mischief, Proxy};
use model::channel::Channel;
use model::motion::Motion;
use runtime::gate::TripKind;
use runtime::hybrid_loop::HybridLoop;
use runtime::interlock::Phase;
use runtime::link::wire::{self, Header, Kind, MOST_BYTES};
use runtime::link::{Bridge, LinkCounts, LinkError, LinkPlan, Pace, Terms, Token};
use runtime::numerical::Plant;
use runtime::rig::{Measured, NetworkRig, ReplayRig, Rig, RigFault, RigSlot, Validity};
use runtime::stop::StopHandle;
use runtime::world;

const PATIENT: Pace = Pace::LockStep { timeout_s: 20.0 };
/// A machine of the tests' may stand still for long.
const WATCHDOG_S: f64 = 20.0;

fn over_the_wire(case: &Case, rig: NetworkRig) -> Plant {
    case.split_with(Box::new(rig), None)
}

fn cases() -> Vec<(&'static str, Case)> {
    let noisy = Case::benchmark().with_transfer(quick()).with_noise(3);
    let mut tripping = noisy.clone();
    tripping.limits.command[0] = 1e-3;
    tripping.safe_path.rate_m_s = 0.05;
    vec![
        ("dynamics and noise", noisy),
        ("a delay", Case::benchmark().with_delay(2.0)),
        ("a trip", tripping),
    ]
}

fn assert_same(name: &str, here: &Trace, there: &Trace) {
    let bits =
        |rows: &[Vec<f64>]| -> Vec<u64> { rows.iter().flatten().map(|x| x.to_bits()).collect() };
    assert_eq!(bits(&here.command), bits(&there.command), "{name}: commands");
    assert_eq!(bits(&here.measured), bits(&there.measured), "{name}: displacements");
    assert_eq!(bits(&here.force), bits(&there.force), "{name}: forces");
    assert_eq!((here.end, here.trip), (there.end, there.trip), "{name}");
}

#[test]
fn in_lock_step_the_wire_does_not_change_a_bit() {
    for (name, case) in cases() {
        let here = case.run(case.split(), 2000);
        let elsewhere = laboratory(&case, WATCHDOG_S, 0);
        let rig = NetworkRig::connect(
            &world::system(),
            &StopHandle::default(),
            &plan(&case, elsewhere.address, PATIENT),
        )
        .unwrap();
        assert_eq!(rig.peer.watchdog_s, WATCHDOG_S);
        let there = case.run(over_the_wire(&case, rig), 2000);
        assert_same(name, &here, &there);
        let left = left(elsewhere);
        assert_eq!(left.end.counts.bridged, 0, "{name}");
        assert_eq!(left.trip.unwrap().0.kind, TripKind::PeerLeft, "{name}");
        assert_eq!(left.phase, Phase::Safe);
        // A loop that ended without a trip leaves a rig that goes home by itself.
        assert_eq!(left.command[0], 0.0, "{name}");
        assert!(left.ticks >= there.command.len() as u64);
    }
}

#[test]
fn two_rates_over_the_wire() {
    let case = Case::benchmark().with_transfer(quick()).with_noise(3).with_ratio(8);
    let here = case.run(case.two_rate(), 2000);
    let elsewhere = laboratory(&case, WATCHDOG_S, 0);
    let rig = NetworkRig::connect(
        &world::system(),
        &StopHandle::default(),
        &plan(&case, elsewhere.address, PATIENT),
    )
    .unwrap();
    let plant = case.two_rate_with(RigSlot::Other(Box::new(rig)));
    assert_same("two rates", &here, &case.run(plant, 2000));
    left(elsewhere);
}

#[test]
fn in_lock_step_mischief_does_not_change_a_bit_either() {
    for seed in 0..3 {
        let case = Case::benchmark().with_transfer(quick()).with_noise(seed);
        let here = case.run(case.split(), 400);
        let elsewhere = laboratory(&case, WATCHDOG_S, 0);
        let proxy = Proxy::new(elsewhere.address, Mischief::ALL, seed);
        let rig = NetworkRig::connect(
            &world::system(),
            &StopHandle::default(),
            &plan(&case, proxy.address(), PATIENT),
        )
        .unwrap();
        let (there, counts) = run_counted(&case, over_the_wire(&case, rig), 400);
        assert_same("mischief", &here, &there);
        assert!(counts.resent > 0 && counts.corrupt > 0 && counts.duplicated > 0, "{counts:?}");
        assert_eq!((counts.bridged, counts.lost()), (0, 0), "seed {seed}: {counts:?}");
        let left = left(elsewhere);
        assert!(left.end.counts.corrupt > 0 && left.end.counts.duplicated > 0);
    }
}

/// A line through the last two answers stands in for the next ones, but no
/// further than may be bridged: beyond, the last answer is held.
#[test]
fn a_rig_extrapolates_no_further_than_its_bridge() {
    const BRIDGE: u64 = 3;
    let case = Case::benchmark().with_delay(1.0);
    let elsewhere = laboratory(&case, WATCHDOG_S, 100_000);
    let proxy = Proxy::new(elsewhere.address, Mischief::default(), 1);
    let pace = Pace::Paced { bridge: BRIDGE, bridge_by: Bridge::Line };
    let mut rig = NetworkRig::connect(
        &world::system(),
        &StopHandle::default(),
        &plan(&case, proxy.address(), pace),
    )
    .unwrap();
    let (mut command, mut measured) =
        (Motion::rest(1), Measured { auxiliary: vec![0.0; 2], ..Measured::zeros(1) });
    let mut answers = Vec::new();
    for tick in 0..12 {
        // However slow the machine is, each tick gets its answer.
        loop {
            rig.measure(&command, &mut measured).unwrap();
            if measured.validity == Validity::Fresh {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        answers.push(measured.displacement[0]);
        command.displacement[0] = 1e-5 * f64::from(tick);
        rig.actuate(&command);
    }
    loop {
        rig.measure(&command, &mut measured).unwrap();
        if measured.validity == Validity::Fresh {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let (last, stride) = (measured.displacement[0], measured.displacement[0] - answers[11]);
    assert!((stride - 1e-5).abs() < 1e-12, "it moves steadily: {stride}");
    proxy.cut();
    for missing in 1..=2 * BRIDGE {
        command.displacement[0] += 1e-5;
        rig.actuate(&command);
        let health = rig.measure(&command, &mut measured);
        assert_eq!(measured.auxiliary[0], missing as f64);
        let line = if missing <= BRIDGE { missing as f64 } else { 0.0 };
        let expected = last + line * stride;
        let found = measured.displacement[0];
        assert!((found - expected).abs() < 1e-15, "{missing}: {found}, not {expected}");
        assert_eq!(health.is_err(), missing > BRIDGE, "{missing}");
    }
    drop(rig);
    elsewhere.stop.press();
    drop(proxy);
}

/// Runs as `Case::run` does, and keeps what the link counted.
fn run_counted(case: &Case, plant: Plant, ticks: usize) -> (Trace, LinkCounts) {
    let mut hybrid = case.hybrid(plant, ground(case.step_s, ticks));
    let mut trace = Trace::default();
    while !hybrid.is_over() {
        tick(&mut hybrid, &mut trace);
    }
    trace.end = Some(hybrid.phase());
    trace.trip = hybrid.tripped();
    (trace, *hybrid.link().unwrap())
}

fn tick(hybrid: &mut HybridLoop, trace: &mut Trace) {
    hybrid.tick();
    trace.command.push(hybrid.command().displacement.clone());
    trace.measured.push(hybrid.measured().displacement.clone());
    trace.force.push(hybrid.measured().force.clone());
}

/// Against the clock, more or less: the record must replay, whatever was lost.
#[test]
fn against_the_clock_what_is_missing_is_bridged_counted_and_replayed() {
    for bridge_by in [Bridge::Hold, Bridge::Line] {
        let case = Case::benchmark().with_delay(1.0).with_noise(5);
        let elsewhere = laboratory(&case, WATCHDOG_S, 100_000);
        let proxy = Proxy::new(elsewhere.address, Mischief::ALL, 7);
        let pace = Pace::Paced { bridge: 100_000, bridge_by };
        let rig = NetworkRig::connect(
            &world::system(),
            &StopHandle::default(),
            &plan(&case, proxy.address(), pace),
        )
        .unwrap();
        let mut hybrid = case.hybrid(over_the_wire(&case, rig), ground(case.step_s, 1000));
        let mut trace = Trace::default();
        let mut bridged = 0;
        while !hybrid.is_over() {
            tick(&mut hybrid, &mut trace);
            bridged += u64::from(hybrid.measured().auxiliary[0] > 0.0);
            std::thread::sleep(Duration::from_micros(500));
        }
        assert_eq!(hybrid.tripped(), None);
        let counts = *hybrid.link().unwrap();
        assert_eq!(counts.bridged, bridged);
        assert!(counts.bridged >= counts.late && counts.bridged > 20, "{counts:?}");
        for (name, count) in counts.named() {
            let quiet = matches!(name, "resent" | "unsent" | "foreign");
            assert!(quiet || count > 0, "{name}: {counts:?}");
        }
        drop(hybrid);
        let left = left(elsewhere);
        assert!(left.end.counts.bridged > 0, "{:?}", left.end.counts);
        // What the loop saw, bridged or not, gives its commands again.
        let column = |rows: &[Vec<f64>]| vec![rows.iter().map(|row| row[0]).collect::<Vec<_>>()];
        let replay = ReplayRig::new(column(&trace.measured), column(&trace.force));
        let again = case.run(case.split_with(replay, None), 1000);
        assert_eq!(again.command, trace.command);
    }
}

#[test]
fn a_laboratory_that_dies_trips_the_loop() {
    // A second and more: a busy machine must not trip the loop before the cut.
    for pace in
        [Pace::LockStep { timeout_s: 1.0 }, Pace::Paced { bridge: 3000, bridge_by: Bridge::Hold }]
    {
        let mut case = Case::benchmark().with_delay(1.0);
        case.safe_path.rate_m_s = 0.5;
        let elsewhere = laboratory(&case, 3.0, 1000);
        let proxy = Proxy::new(elsewhere.address, Mischief::default(), 1);
        let rig = NetworkRig::connect(
            &world::system(),
            &StopHandle::default(),
            &plan(&case, proxy.address(), pace),
        )
        .unwrap();
        let mut hybrid = case.hybrid(over_the_wire(&case, rig), ground(case.step_s, 100_000));
        let mut last = 0.0;
        while !hybrid.is_over() {
            if hybrid.ticks() == 500 {
                proxy.cut();
            }
            hybrid.tick();
            if hybrid.tripped().is_some() {
                let now = hybrid.command().displacement[0];
                assert!(now.abs() <= f64::abs(last) + 1e-15, "only towards zero");
            }
            last = hybrid.command().displacement[0];
            if matches!(pace, Pace::Paced { .. }) && hybrid.tripped().is_none() {
                std::thread::sleep(Duration::from_micros(300));
            }
        }
        let (trip, _) = hybrid.tripped().unwrap();
        assert_eq!(trip.kind, TripKind::PeerSilent);
        assert!(trip.text().contains("no reply from the laboratory for"), "{}", trip.text());
        assert_eq!((hybrid.phase(), last), (Phase::Safe, 0.0));
        drop(hybrid);
        drop(proxy);
        let left = left(elsewhere);
        assert_eq!(left.command, [0.0], "the laboratory took itself to zero as well");
        assert_eq!(left.trip.unwrap().0.kind, TripKind::PeerSilent);
    }
}

#[test]
fn a_loop_that_dies_leaves_a_laboratory_that_goes_to_safe() {
    let mut case = Case::benchmark().with_delay(1.0);
    case.safe_path.rate_m_s = 0.5;
    for pace in [
        Pace::LockStep { timeout_s: 0.1 },
        Pace::Paced { bridge: 100_000, bridge_by: Bridge::Hold },
    ] {
        let elsewhere = laboratory(&case, 1.5, 100_000);
        let rig = NetworkRig::connect(
            &world::system(),
            &StopHandle::default(),
            &plan(&case, elsewhere.address, pace),
        )
        .unwrap();
        let mut hybrid = case.hybrid(over_the_wire(&case, rig), ground(case.step_s, 100_000));
        while hybrid.command().displacement[0].abs() < 1e-3 {
            assert_eq!(hybrid.tripped(), None, "the machine stood still for longer than 1.5 s");
            hybrid.tick();
            if pace != (Pace::LockStep { timeout_s: 0.1 }) {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        // Dies without a goodbye.
        std::mem::forget(hybrid);
        let left = left(elsewhere);
        let (trip, _) = left.trip.unwrap();
        assert_eq!((trip.kind, trip.limit), (TripKind::PeerSilent, 1.5));
        assert!(left.end.silent_s.unwrap() > 1.5);
        assert!(left.end.safe_after_s.unwrap() > 0.0);
        assert_eq!((left.phase, left.command), (Phase::Safe, vec![0.0]));
    }
}

/// Shows a force of its own from some tick on.
struct Overloaded {
    rig: RigSlot,
    ticks_left: u32,
}

impl Rig for Overloaded {
    runtime::hands_on_to!(rig);

    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        let health = self.rig.measure(ahead, measured);
        self.ticks_left = self.ticks_left.saturating_sub(1);
        if self.ticks_left == 0 {
            measured.force[0] = 1e6;
        }
        health
    }

    fn actuate(&mut self, command: &Motion) {
        self.rig.actuate(command);
    }
}

#[test]
fn a_laboratory_that_trips_takes_the_loop_along() {
    let mut case = Case::benchmark().with_delay(1.0);
    case.safe_path.rate_m_s = 0.5;
    // Narrower limits in the laboratory than in the loop.
    let mut strict = case.clone();
    strict.limits.force[0] = 9e5;
    let rig = Overloaded { rig: case.rig().into(), ticks_left: 300 };
    let elsewhere = laboratory_of(RigSlot::Other(Box::new(rig)), &strict, WATCHDOG_S, 10);
    let rig = NetworkRig::connect(
        &world::system(),
        &StopHandle::default(),
        &plan(&case, elsewhere.address, PATIENT),
    )
    .unwrap();
    assert_eq!(rig.peer.terms.limits[2], [9e5], "it said so");
    let (trace, _) = run_counted(&case, over_the_wire(&case, rig), 100_000);
    let (trip, _) = trace.trip.unwrap();
    assert_eq!((trip.kind, trip.value), (TripKind::PeerTripped, 3.0));
    assert!(trip.text().ends_with("force beyond its limit"), "{}", trip.text());
    let left = left(elsewhere);
    assert_eq!(left.trip.unwrap().0.kind, TripKind::Force);
    assert_eq!(left.command, [0.0]);
}

fn why(result: Result<NetworkRig, LinkError>) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok(_) => panic!("welcomed"),
    }
}

#[test]
fn who_does_not_fit_is_told_why_and_nothing_moves() {
    let case = Case::benchmark().with_delay(1.0);
    let elsewhere = laboratory(&case, WATCHDOG_S, 10);
    let good = plan(&case, elsewhere.address, PATIENT);
    let connect =
        |plan: &LinkPlan| NetworkRig::connect(&world::system(), &StopHandle::default(), plan);
    let token = Token::new("bench 4");
    let wrong = connect(&LinkPlan { token, connect_s: 0.3, ..good.clone() });
    assert!(matches!(wrong, Err(LinkError::OtherToken(_))));
    let terms = Terms { rate_hz: 1000.0, ..good.terms.clone() };
    let wrong = why(connect(&LinkPlan { terms, ..good.clone() }));
    assert!(wrong.contains("1000 Hz here") && wrong.contains("Hz there"), "{wrong}");
    let terms = Terms { limits: [1.0; 3].map(|limit| vec![limit; 2]), ..good.terms.clone() };
    let wrong = why(connect(&LinkPlan { terms, ..good.clone() }));
    assert!(wrong.ends_with("DOFs is another one: 2 here, 1 there"), "{wrong}");
    let rig = connect(&good).unwrap();
    let second = LinkPlan { connect_s: 0.3, ..good };
    assert!(why(connect(&second)).contains("it has another session"));
    drop(rig);
    let left = left(elsewhere);
    assert_eq!((left.ticks, left.phase), (0, Phase::Safe), "no command, no motion");
    let nobody = LinkPlan { address: "127.0.0.1:9".parse().unwrap(), ..second };
    assert!(why(connect(&nobody)).contains("twinrig rig FILE"));
}

/// A rig that tells more than displacement and force.
struct Heated(RigSlot, f64);

impl Rig for Heated {
    fn channels(&self) -> Vec<Channel> {
        vec![Channel::new("oil", "°C", "Temperature of the oil")]
    }

    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        measured.auxiliary[0] = self.1;
        self.1 += 0.5;
        self.0.measure(ahead, measured)
    }

    fn actuate(&mut self, command: &Motion) {
        self.0.actuate(command);
    }

    fn on_trip(&mut self, cause: TripKind) {
        self.0.on_trip(cause);
    }

    fn disarm(&mut self, left: Phase) {
        self.0.disarm(left);
    }

    fn link(&self) -> Option<&LinkCounts> {
        None
    }
}

#[test]
fn what_a_laboratory_measures_beside_comes_over_the_wire() {
    let case = Case::benchmark().with_delay(1.0);
    let heated = RigSlot::Other(Box::new(Heated(RigSlot::from(case.rig()), 40.0)));
    let elsewhere = laboratory_of(heated, &case, WATCHDOG_S, 10);
    let link = plan(&case, elsewhere.address, PATIENT);
    let mut rig = NetworkRig::connect(&world::system(), &StopHandle::default(), &link).unwrap();
    let names: Vec<String> = rig.channels().into_iter().map(|channel| channel.name).collect();
    assert_eq!(names, ["rig.bridged", "rig.phase", "rig.auxiliary.1"]);
    let mut measured = Measured { auxiliary: vec![0.0; 3], ..Measured::zeros(1) };
    for tick in 0..20 {
        rig.measure(&Motion::rest(1), &mut measured).unwrap();
        assert_eq!(measured.auxiliary, [0.0, 0.0, 40.0 + 0.5 * f64::from(tick)]);
        rig.actuate(&Motion::rest(1));
    }
    drop(rig);
    left(elsewhere);
}

#[test]
fn a_stop_ends_the_wait_for_a_laboratory_that_does_not_answer() {
    let case = Case::benchmark().with_delay(1.0);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let asked = LinkPlan { connect_s: 600.0, ..plan(&case, silent.local_addr().unwrap(), PATIENT) };
    let stop = StopHandle::default();
    let pressed = stop.clone();
    let operator = std::thread::spawn(move || {
        // The loop is at work: its first hello is there.
        silent.recv(&mut [0; MOST_BYTES]).unwrap();
        pressed.press();
    });
    let ended = NetworkRig::connect(&world::system(), &stop, &asked);
    assert!(matches!(ended, Err(LinkError::Stopped(_))));
    operator.join().unwrap();
}

/// Everything a stranger, or the peer gone mad, may throw at a laboratory.
#[test]
fn a_hostile_sender_is_counted_and_ignored() {
    let case = Case::benchmark().with_transfer(quick()).with_noise(3);
    let here = case.run(case.split(), 600);
    let elsewhere = laboratory(&case, WATCHDOG_S, 10);
    let address = elsewhere.address;
    let rig = NetworkRig::connect(
        &world::system(),
        &StopHandle::default(),
        &plan(&case, address, PATIENT),
    )
    .unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut hybrid = case.hybrid(over_the_wire(&case, rig), ground(case.step_s, 600));
    let mut trace = Trace::default();
    let mut random = numerics::random::Stream::new(1, "hostile");
    let (mut thrown, key) = (0, Token::new("bench 4").key());
    while !hybrid.is_over() {
        for _ in 0..3 {
            let mut out = [0; MOST_BYTES];
            let kind = [Kind::Command, Kind::Stop, Kind::Bye, Kind::Arm, Kind::Measured]
                [(random.uniform() * 5.0) as usize];
            let header = Header {
                kind,
                dofs: 1,
                session: (random.uniform() * 1e18) as u64,
                sequence: 1_000_000,
                time_ns: 0,
                tick: hybrid.ticks() + 1,
                echo_ns: 0,
                state: 0,
                trip: 0,
                validity: 0,
                auxiliary: 0,
            };
            let blocks: [&[f64]; 3] = [&[0.5], &[f64::NAN], &[1.0]];
            let mut bytes = wire::encode(&header, None, blocks, &[], &key, &mut out).to_vec();
            if random.uniform() < 0.3 {
                let place = (random.uniform() * bytes.len() as f64) as usize;
                bytes[place] ^= 1;
            } else if random.uniform() < 0.3 {
                bytes = (0..(random.uniform() * 1600.0) as usize).map(|k| k as u8).collect();
            }
            stranger.send_to(&bytes, address).unwrap();
            thrown += 1;
        }
        tick(&mut hybrid, &mut trace);
    }
    (trace.end, trace.trip) = (Some(hybrid.phase()), hybrid.tripped());
    assert_same("hostile", &here, &trace);
    drop(hybrid);
    let left = left(elsewhere);
    assert!(left.end.counts.foreign > thrown / 2, "{:?} of {thrown}", left.end.counts);
    assert_eq!(left.trip.unwrap().0.kind, TripKind::PeerLeft);
}

#[test]
fn a_stop_stops() {
    let case = Case::benchmark().with_delay(1.0);
    let elsewhere = laboratory(&case, 0.2, 10);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(elsewhere.address).unwrap();
    let mut session = by_hand::Session::open(&case, &socket);
    session.command(0, 0.0);
    session.answer(1);
    session.send(Kind::Stop, 1, 0.0);
    session.command(1, 0.0);
    let (state, trip) = session.answer(2);
    assert_eq!((state, trip), (1, 23));
    assert_eq!(left(elsewhere).trip.unwrap().0.kind, TripKind::PeerTripped);
}

/// A loop that has tripped leaves in the middle of its way, at its end with the last
/// command lost, or where a second stop has frozen it.
#[test]
fn a_goodbye_says_how_the_rig_was_left_and_the_laboratory_goes_the_rest() {
    let mut case = Case::benchmark().with_delay(1.0);
    case.safe_path.rate_m_s = 0.5;
    for (state, phase, stands_m) in [
        (Phase::Running, Phase::Safe, 0.0),
        (Phase::Holding, Phase::Safe, 0.0),
        (Phase::Ramping, Phase::Safe, 0.0),
        (Phase::Safe, Phase::Safe, 0.0),
        (Phase::Frozen, Phase::Frozen, 2e-3),
    ] {
        let elsewhere = laboratory(&case, WATCHDOG_S, 10);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(elsewhere.address).unwrap();
        let mut session = by_hand::Session::open(&case, &socket);
        for tick in 0..20 {
            session.command(tick, 1e-4 * (tick + 1) as f64);
            session.answer(tick + 1);
        }
        session.state = state as u8;
        session.send(Kind::Bye, 20, 0.0);
        let left = left(elsewhere);
        assert_eq!((left.phase, left.command), (phase, vec![stands_m]), "{state:?}");
    }
}
