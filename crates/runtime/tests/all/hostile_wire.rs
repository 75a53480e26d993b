//! Who must not move a rig: strangers, repeated and forged datagrams, and a peer that asks for
//! more than the laboratory's own file allows.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::benchmark::Case;
use crate::common::by_hand::{self, greeting};
use crate::common::link::{TOKEN, laboratory, left, plan};
use runtime::gate::TripKind;
use runtime::interlock::Phase;
use runtime::link::wire::Kind;
use runtime::link::{Bridge, LinkPlan, Pace};
use runtime::rig::NetworkRig;
use runtime::stop::StopHandle;
use runtime::world;

const PATIENT: Pace = Pace::LockStep { timeout_s: 20.0 };
/// A machine of the tests' may stand still for long.
const WATCHDOG_S: f64 = 20.0;

/// Old and forged greetings neither take the session from who has the token nor open one, and
/// no answer is larger than its question.
#[test]
fn a_flood_of_old_and_forged_greetings_keeps_nobody_out() {
    let case = Case::benchmark().with_delay(1.0);
    let elsewhere = laboratory(&case, WATCHDOG_S, 10);
    // What a loop once said, to be repeated.
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.connect(elsewhere.address).unwrap();
    stranger.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (old, welcome) = greeting(&case, &stranger, TOKEN);
    assert_eq!(old.len(), welcome.len());
    let (forged, refusal) = greeting(&case, &stranger, "bench 4");
    assert!(refusal.len() < forged.len());
    let mut version_1 = old.clone();
    version_1[4] = 1;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for bytes in [&old, &forged, &version_1, &old[..112].to_vec()] {
                    let _ = stranger.send(bytes);
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        for _ in 0..3 {
            NetworkRig::find(
                &world::system(),
                &StopHandle::default(),
                &plan(&case, elsewhere.address, PATIENT),
            )
            .unwrap();
        }
        drop(NetworkRig::connect(
            &world::system(),
            &StopHandle::default(),
            &plan(&case, elsewhere.address, PATIENT),
        ));
        over.store(true, Ordering::Relaxed);
    });
    let left = left(elsewhere);
    assert_eq!((left.ticks, left.phase), (0, Phase::Safe));
    assert_eq!(left.trip.unwrap().0.kind, TripKind::PeerLeft, "the loop with the token was there");
}

/// Whatever a peer asks for, the laboratory keeps its own file's limits and watchdog, or
/// stricter ones.
#[test]
fn a_peer_may_ask_for_stricter_and_never_for_laxer() {
    let mut case = Case::benchmark().with_delay(1.0);
    case.limits.command[0] = 5e-3;
    for (asked_m, paced_s, watchdog_s, moved_m) in
        [(2e-3, 0.5, 0.5, 2e-3), (1.0, 3600.0, 2.0, 5e-3), (f64::NAN, 0.0, 2.0, 5e-3)]
    {
        let elsewhere = laboratory(&case, 2.0, 10);
        let mut asks = case.clone();
        asks.limits.command[0] = asked_m;
        let pace = Pace::Paced { bridge: 10, bridge_by: Bridge::Hold };
        let paced = LinkPlan { watchdog_s: paced_s, ..plan(&asks, elsewhere.address, pace) };
        let peer = NetworkRig::find(&world::system(), &StopHandle::default(), &paced).unwrap();
        assert_eq!((peer.watchdog_s, &peer.terms.limits[0][..]), (watchdog_s, &[5e-3][..]));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(elsewhere.address).unwrap();
        let mut session = by_hand::Session::open(&asks, &socket);
        let mut furthest_m: f64 = 0.0;
        for tick in 0..8 {
            session.command(tick, 1e-3 * (tick + 1) as f64);
            if session.answer(tick + 1) == (0, 0) {
                furthest_m = 1e-3 * (tick + 1) as f64;
            }
        }
        assert_eq!(furthest_m, moved_m, "{asked_m}");
        drop(socket);
        assert_eq!(left(elsewhere).trip.unwrap().0.kind, TripKind::Command);
    }
}

/// A session that was listened to, and all its datagrams sent again to the next one.
#[test]
fn an_old_session_cannot_be_played_again() {
    let case = Case::benchmark().with_delay(1.0);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut heard: Vec<Vec<u8>> = Vec::new();
    for _ in 0..2 {
        let elsewhere = laboratory(&case, 1.0, 10);
        socket.connect(elsewhere.address).unwrap();
        for bytes in &heard {
            socket.send(bytes).unwrap();
        }
        let mut session = by_hand::Session::open(&case, &socket);
        session.command(0, 1e-4);
        session.answer(1);
        // Also from the loop's own address, in the middle of a session.
        for bytes in &heard {
            socket.send(bytes).unwrap();
        }
        session.command(1, 2e-4);
        assert_eq!(session.answer(2), (0, 0));
        session.send(Kind::Bye, 2, 0.0);
        heard.extend(session.sent);
        let left = left(elsewhere);
        assert_eq!(left.trip.unwrap().0.kind, TripKind::PeerLeft);
        assert!(left.ticks < 100_000);
    }
    assert_eq!(heard.len(), 2 * 5);
}

/// The loop's own socket gone mad: right session, senseless contents.
#[test]
fn senseless_commands_of_the_right_session_never_move_the_rig_too_far() {
    let mut case = Case::benchmark().with_delay(1.0);
    case.limits.command[0] = 5e-3;
    case.limits.rate[0] = 1.0;
    for (displacement, tick) in
        [(f64::NAN, 0), (1.0, 0), (1e-3, u64::MAX), (f64::INFINITY, 3), (-4e-3, 1 << 40)]
    {
        let elsewhere = laboratory(&case, 0.3, 10);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(elsewhere.address).unwrap();
        let mut session = by_hand::Session::open(&case, &socket);
        session.command(tick, displacement);
        let (state, trip) = session.answer(tick.saturating_add(1));
        assert!(state > 0 && trip > 0, "{displacement} at {tick}: {state} {trip}");
        // More of it changes nothing.
        for tick in [0, 1, u64::MAX] {
            session.command(tick, 0.5);
        }
        let left = left(elsewhere);
        assert_eq!((left.phase, left.command), (Phase::Safe, vec![0.0]));
    }
}
