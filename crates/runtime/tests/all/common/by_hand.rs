//! A loop written by hand from `docs/protocol.md`.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use runtime::link::wire::{Handshake, Header, Kind, LOCK_STEP, MOST_BYTES, Unverified, encode};
use runtime::link::{Key, Token};

use super::benchmark::Case;
use super::link::{TOKEN, terms};

const NONCE: u64 = 99;

pub(crate) struct Session<'a> {
    socket: &'a UdpSocket,
    session: u64,
    sequence: u64,
    keys: [Key; 2],
    pub(crate) state: u8,
    /// Every datagram that it has sent.
    pub(crate) sent: Vec<Vec<u8>>,
}

fn request(case: &Case) -> Handshake {
    let rate_hz = 1.0 / case.step_s;
    let (nonce, modes) = (NONCE, LOCK_STEP);
    Handshake { rate_hz, nonce, file: 0, watchdog_ns: 0, modes, reason: 0 }
}

fn hello(case: &Case, token: &str) -> Vec<u8> {
    let header = Header::outside(Kind::Hello, 1, 0);
    let limits = terms(case).limits;
    let (blocks, key) = (limits.each_ref().map(Vec::as_slice), Token::new(token).key());
    encode(&header, Some(&request(case)), blocks, &[], &key, &mut [0; MOST_BYTES]).to_vec()
}

/// A hello and what is answered.
pub(crate) fn greeting(case: &Case, socket: &UdpSocket, token: &str) -> (Vec<u8>, Vec<u8>) {
    let (hello, mut inbox) = (hello(case, token), [0; MOST_BYTES]);
    socket.send(&hello).unwrap();
    let bytes = socket.recv(&mut inbox).unwrap();
    (hello, inbox[..bytes].to_vec())
}

impl<'a> Session<'a> {
    pub(crate) fn open(case: &Case, socket: &'a UdpSocket) -> Self {
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let token = Token::new(TOKEN);
        let (hello, mut answer) = greeting(case, socket, TOKEN);
        // What strangers have asked before is answered first.
        let welcome = loop {
            if let Ok(found) = Unverified::read(&answer)
                && let Some(welcome) = found.verified(&token.key())
                && welcome.header.kind == Kind::Welcome
            {
                break welcome.header;
            }
            answer = greeting(case, socket, TOKEN).1;
        };
        let session = welcome.session;
        let keys = token.session_keys(NONCE, session);
        let sent = vec![hello];
        let mut new = Self { socket, session, sequence: 1, keys, state: 0, sent };
        let limits = terms(case).limits;
        new.put(Kind::Arm, 0, limits.each_ref().map(Vec::as_slice), Some(&request(case)));
        assert_eq!(new.answer(0), (0, 0));
        new
    }

    fn put(&mut self, kind: Kind, tick: u64, blocks: [&[f64]; 3], handshake: Option<&Handshake>) {
        let header = Header {
            session: self.session,
            sequence: self.sequence,
            tick,
            state: self.state,
            ..Header::outside(kind, 1, 0)
        };
        let mut out = [0; MOST_BYTES];
        let bytes = encode(&header, handshake, blocks, &[], &self.keys[0], &mut out);
        self.socket.send(bytes).unwrap();
        self.sent.push(bytes.to_vec());
    }

    pub(crate) fn send(&mut self, kind: Kind, tick: u64, value: f64) {
        self.sequence += 1;
        self.put(kind, tick, [&[value], &[0.0], &[0.0]], None);
    }

    pub(crate) fn command(&mut self, tick: u64, displacement: f64) {
        self.send(Kind::Command, tick, displacement);
    }

    /// State and trip code of the answer for `tick`.
    pub(crate) fn answer(&mut self, tick: u64) -> (u8, u8) {
        let until = Instant::now() + Duration::from_secs(20);
        let mut inbox = [0; MOST_BYTES];
        while Instant::now() < until {
            let bytes = self.socket.recv(&mut inbox).unwrap();
            let found = Unverified::read(&inbox[..bytes]).unwrap();
            if let Some(datagram) = found.verified(&self.keys[1])
                && (datagram.header.kind, datagram.header.tick) == (Kind::Measured, tick)
            {
                return (datagram.header.state, datagram.header.trip);
            }
        }
        panic!("no answer for tick {tick}");
    }
}
