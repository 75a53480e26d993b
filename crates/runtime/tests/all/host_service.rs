//! The host link without sockets: its times are those of the clock it is given.

use crate::common;
use runtime::conduct::Conduct;
use runtime::host::protocol::{Refusal, Reply, Request, VERSION, Welcome, split};
use runtime::host::{HostParts, HostService, OperatorLost, Token, WhenLost};
use runtime::stop::StopHandle;
use runtime::streamed_load::{Feed, StreamPlan, StreamedLoad};
use runtime::tap::Tap;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

struct Bench {
    service: HostService,
    token: Token,
    stop: StopHandle,
    conduct: Conduct,
    _tap: Tap,
    _stream: StreamedLoad,
}

/// Samples for which the ring of the load has room.
const RING: usize = 64;

fn bench() -> Bench {
    bench_losing(WhenLost::GoOn)
}

/// A test that loses its operator after two seconds.
fn bench_losing(then: WhenLost) -> Bench {
    let channels = common::channels();
    let (tap, reader) = Tap::new(channels.len(), 64);
    let token = Token::new("a token of sixteen and more".replace(' ', "-").as_str()).unwrap();
    let (stop, conduct) = (StopHandle::default(), Conduct::waiting());
    let (feed, stream) = Feed::new(&StreamPlan {
        bounds: vec![1.0],
        ticks_per_sample: 1,
        buffer_samples: RING,
        prefill_samples: 1,
        bridge_ticks: 1,
        ease_ticks: 1,
        patience_ticks: 1,
    });
    let welcome = Welcome {
        version: VERSION,
        title: "Bench".into(),
        clock: 0,
        tick_hz: 1000.0,
        load_hz: 0.0,
        buffer: 0,
        signals: Vec::new(),
        channels: channels.into_iter().map(|channel| (channel.name, channel.unit)).collect(),
    };
    let parts = HostParts {
        token: token.clone(),
        welcome,
        feed: Some(feed),
        tap: reader,
        stop: stop.clone(),
        conduct: conduct.clone(),
        lost: OperatorLost { then, after_s: 2.0 },
    };
    Bench { service: HostService::new(parts), token, stop, conduct, _tap: tap, _stream: stream }
}

impl Bench {
    fn hello(&self) -> Vec<u8> {
        let token = self.token.text().as_bytes().to_vec();
        Request::Hello { version: VERSION, token }.bytes()
    }

    /// A client that is let in.
    fn client(&mut self, now: u64) -> u64 {
        let id = self.service.connect(now);
        let hello = self.hello();
        self.service.handle(now, id, &hello);
        assert!(matches!(self.replies(now, id)[..], [Reply::Welcome(_)]));
        id
    }

    /// Takes everything that is to be sent.
    fn replies(&mut self, now: u64, id: u64) -> Vec<Reply> {
        let mut replies = Vec::new();
        let mut bytes = self.service.pending(now, id).to_vec();
        self.service.note_sent(now, id, bytes.len());
        while let Some((kind, body, length)) = split(&bytes).unwrap() {
            replies.push(Reply::read(kind, body).unwrap());
            bytes.drain(..length);
        }
        replies
    }
}

#[test]
fn a_test_whose_operator_is_lost_does_what_is_declared_and_once() {
    for (then, presses, held) in
        [(WhenLost::GoOn, 0, false), (WhenLost::Hold, 0, true), (WhenLost::Stop, 1, false)]
    {
        let mut bench = bench_losing(then);
        let client = bench.client(0);
        // Nobody has said that an operator is there.
        bench.service.poll(10 * SECOND);
        assert_eq!((bench.stop.presses(), bench.conduct.is_held()), (0, false));
        let attend = Request::Attend { by: "Anna".into() }.bytes();
        bench.service.handle(10 * SECOND, client, &attend);
        bench.service.handle(11 * SECOND, client, &attend);
        // Who takes no answers would be let go.
        assert_eq!(bench.replies(11 * SECOND, client).len(), 2);
        bench.service.poll(13 * SECOND);
        assert_eq!((bench.stop.presses(), bench.conduct.is_held()), (0, false), "heard in time");
        bench.service.poll(13 * SECOND + 1);
        bench.service.poll(20 * SECOND);
        assert_eq!((bench.stop.presses(), bench.conduct.is_held()), (presses, held), "{then:?}");
        bench.service.handle(20 * SECOND, client, &Request::Situation.bytes());
        let replies = bench.replies(20 * SECOND, client);
        let Some(Reply::Situation(situation)) = replies.last() else { panic!("{replies:?}") };
        assert_eq!((situation.attended, situation.when_lost), (2, then as u8));
    }
}

#[test]
fn an_operator_begins_holds_and_goes_on_and_nothing_else_does() {
    let mut bench = bench();
    let stranger = bench.service.connect(0);
    let control = |action| Request::Control { action, by: "Anna".into() }.bytes();
    bench.service.handle(0, stranger, &control(1));
    assert!(bench.conduct.is_waiting(), "who has not greeted begins nothing");
    let client = bench.client(0);
    for (action, waiting, held) in [(2, true, true), (3, true, false), (1, false, false)] {
        bench.service.handle(0, client, &control(action));
        assert_eq!((bench.conduct.is_waiting(), bench.conduct.is_held()), (waiting, held));
        let replies = bench.replies(0, client);
        assert!(matches!(replies[..], [Reply::Granted { .. }]), "{replies:?}");
    }
    bench.service.handle(0, client, &control(4));
    let replies = bench.replies(0, client);
    assert!(matches!(replies[..], [Reply::Refused { reason: Refusal::BadRequest, .. }]));
}

#[test]
fn a_stranger_has_five_seconds_and_a_client_thirty() {
    let mut bench = bench();
    let client = bench.client(0);
    let stranger = bench.service.connect(0);
    // Half a greeting is none.
    let hello = bench.hello();
    bench.service.handle(SECOND, stranger, &hello[..7]);
    bench.service.poll(5 * SECOND);
    assert!(bench.replies(5 * SECOND, stranger).is_empty());
    bench.service.poll(5 * SECOND + 1);
    let replies = bench.replies(5 * SECOND + 1, stranger);
    assert!(matches!(replies[..], [Reply::Refused { reason: Refusal::BadRequest, .. }]));
    assert!(!bench.service.is_open(stranger) && bench.service.is_open(client));
    // A word begins the time anew.
    bench.service.handle(20 * SECOND, client, &Request::Status.bytes());
    assert!(matches!(bench.replies(20 * SECOND, client)[..], [Reply::Status(_)]));
    bench.service.poll(50 * SECOND);
    assert!(bench.service.is_open(client));
    bench.service.poll(50 * SECOND + 1);
    bench.replies(50 * SECOND + 1, client);
    assert!(!bench.service.is_open(client));
}

#[test]
fn a_wrong_token_is_answered_late_and_once() {
    let mut bench = bench();
    let id = bench.service.connect(0);
    let hello = |token: &[u8]| Request::Hello { version: VERSION, token: token.to_vec() }.bytes();
    bench.service.handle(0, id, &hello(b"not this one"));
    // Nothing more is taken from it meanwhile, not even the right one.
    assert!(!bench.service.wants_bytes(id));
    let right = bench.hello();
    bench.service.handle(MS, id, &right);
    bench.service.handle(MS, id, &Request::Stop.bytes());
    bench.service.poll(299 * MS);
    assert!(bench.replies(299 * MS, id).is_empty());
    bench.service.poll(300 * MS);
    let replies = bench.replies(300 * MS, id);
    assert!(matches!(replies[..], [Reply::Refused { reason: Refusal::WrongToken, .. }]));
    assert!(!bench.service.is_open(id));
    assert_eq!((bench.service.clients(), bench.stop.presses()), ((0, 0), 0));
}

#[test]
fn who_takes_nothing_for_five_seconds_is_let_go_and_asks_for_no_more() {
    let mut bench = bench();
    let id = bench.client(0);
    let mut asked = 0;
    while bench.service.wants_bytes(id) {
        bench.service.handle(0, id, &Request::Status.bytes());
        asked += 1;
        assert!(asked < 200_000, "what waits for a client is bounded");
    }
    bench.service.poll(5 * SECOND);
    assert!(bench.service.is_open(id));
    bench.service.poll(5 * SECOND + 1);
    assert!(!bench.service.is_open(id));
}

#[test]
fn a_stop_is_pressed_and_everybody_is_told_of_the_end() {
    let mut bench = bench();
    let (one, other) = (bench.client(0), bench.client(0));
    bench.service.handle(MS, one, &Request::Stop.bytes());
    let granted = bench.replies(MS, one);
    assert!(matches!(granted[..], [Reply::Granted { value: 1, .. }]));
    assert_eq!(bench.stop.presses(), 1);
    bench.service.end(2 * MS);
    for id in [one, other] {
        assert!(matches!(bench.replies(2 * MS, id)[..], [Reply::Over { .. }]));
    }
    assert!(bench.service.is_empty());
}

fn stop_is_granted(replies: &[Reply]) -> bool {
    let is_grant =
        |reply: &&Reply| matches!(reply, Reply::Granted { request: Request::STOP, value: 1 });
    replies.iter().filter(is_grant).count() == 1
}

#[test]
fn a_stop_finds_a_place_beside_any_number_of_idle_clients() {
    let mut bench = bench();
    let idle: Vec<u64> = (0..20).map(|at| bench.client(at)).collect();
    for now in 20..40 {
        let one_more = bench.client(now);
        bench.service.handle(now, one_more, &Request::Status.bytes());
        assert!(matches!(bench.replies(now, one_more)[..], [Reply::Status(_)]));
    }
    let stopper = bench.client(40);
    bench.service.handle(40, stopper, &Request::Stop.bytes());
    assert!(stop_is_granted(&bench.replies(40, stopper)));
    assert_eq!(bench.stop.presses(), 1);
    // Clients keep their places; of those who only stand by the newest four do.
    assert!(idle[..16].iter().all(|&id| bench.service.is_open(id)));
    for &id in &idle[16..] {
        let told = bench.replies(41, id);
        assert!(matches!(told[..], [Reply::Refused { reason: Refusal::TooMany, .. }]), "{told:?}");
        assert!(!bench.service.is_open(id));
    }
}

#[test]
fn a_stop_overtakes_samples_that_find_the_ring_full() {
    let mut bench = bench();
    let feeder = bench.client(0);
    bench.service.handle(0, feeder, &Request::Feed.bytes());
    bench.replies(0, feeder);
    let load = |first: u64, count| Request::Load { first, rows: vec![0.5; count] }.bytes();
    let bytes = [load(0, 10 * RING), load(10 * RING as u64, 1000), Request::Stop.bytes()].concat();
    // As the network may cut it.
    bytes.chunks(777).for_each(|piece| bench.service.handle(MS, feeder, piece));
    assert!(stop_is_granted(&bench.replies(MS, feeder)));
    assert_eq!(bench.stop.presses(), 1);
    // It counts once, however long the samples before it wait.
    (0..100).for_each(|at| bench.service.poll(2 * MS + at));
    assert_eq!((bench.stop.presses(), bench.replies(3 * MS, feeder).len()), (1, 0));
    // What is read ahead is bounded.
    let mut first = 10 * RING as u64 + 1000;
    while bench.service.wants_bytes(feeder) {
        bench.service.handle(3 * MS, feeder, &load(first, 1000));
        first += 1000;
        assert!(first < 100_000);
    }
}

#[test]
fn a_stop_is_obeyed_on_a_connection_that_watches() {
    let mut bench = bench();
    let watcher = bench.client(0);
    bench.service.handle(0, watcher, &Request::Watch { every: 1 }.bytes());
    bench.replies(0, watcher);
    let bytes = [Request::Status.bytes(), Request::Stop.bytes()].concat();
    bench.service.handle(2000, watcher, &bytes);
    assert_eq!(bench.stop.presses(), 1);
    let replies = bench.replies(2000, watcher);
    assert!(stop_is_granted(&replies));
    assert!(!replies.iter().any(|reply| matches!(reply, Reply::Status(_))), "frames only");
}

/// The token holder's greeting takes as long as 200 strangers take to come.
#[test]
fn a_stop_passes_a_flood_of_wrong_tokens_and_of_silence() {
    let mut bench = bench();
    let wrong = Request::Hello { version: VERSION, token: vec![b'x'; 20] }.bytes();
    let (hello, stop) = (bench.hello(), Request::Stop.bytes());
    for flood in 0..20 {
        let stopper = bench.service.connect(flood);
        for number in 0..200 {
            let stranger = bench.service.connect(flood);
            if number % 2 == flood % 2 {
                bench.service.handle(flood, stranger, &wrong);
            }
        }
        bench.service.handle(flood, stopper, &hello);
        bench.service.handle(flood, stopper, &stop);
        assert!(bench.replies(flood, stopper).len() == 2, "flood {flood}");
    }
    assert_eq!(bench.stop.presses(), 20);
}

#[test]
fn what_a_feeder_sent_before_it_hung_up_is_done() {
    let mut bench = bench();
    let feeder = bench.client(0);
    bench.service.handle(0, feeder, &Request::Feed.bytes());
    let load = Request::Load { first: 0, rows: vec![0.5; RING + 10] }.bytes();
    bench.service.handle(0, feeder, &load);
    bench.service.hang_up(feeder);
    bench.service.poll(1);
    assert!(bench.service.is_open(feeder), "ten samples wait for room");
    let idle = bench.client(1);
    bench.service.hang_up(idle);
    assert!(!bench.service.is_open(idle));
}
