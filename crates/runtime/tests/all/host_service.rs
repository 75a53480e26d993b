//! The host link without sockets: its times are those of the clock it is given.

use crate::common;
use runtime::host::protocol::{Event, Refusal, Reply, Request, VERSION, Welcome, split};
use runtime::host::{HostParts, HostService, RealTime, Token};
use runtime::stop::StopHandle;
use runtime::tap::Tap;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

struct Bench {
    service: HostService,
    token: Token,
    stop: StopHandle,
    _tap: Tap,
}

fn bench() -> Bench {
    let channels = common::channels();
    let (tap, reader) = Tap::new(channels.len(), 64);
    let token = Token::new("a token of sixteen and more".replace(' ', "-").as_str()).unwrap();
    let stop = StopHandle::default();
    let welcome = Welcome {
        version: VERSION,
        title: "Bench".into(),
        clock: RealTime::No as u8,
        tick_hz: 1000.0,
        load_hz: 0.0,
        buffer: 0,
        signals: Vec::new(),
        channels: channels.into_iter().map(|channel| (channel.name, channel.unit)).collect(),
    };
    let parts =
        HostParts { token: token.clone(), welcome, feed: None, tap: reader, stop: stop.clone() };
    Bench { service: HostService::new(parts), token, stop, _tap: tap }
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
        assert!(asked < 100_000, "what waits for a client is bounded");
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
        assert!(matches!(bench.replies(2 * MS, id)[..], [Reply::Event(Event::Over { .. })]));
    }
    assert!(bench.service.is_empty());
}
