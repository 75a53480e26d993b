//! Agreeing with a loop: who is welcomed, and why others are not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::link::wire::{
    Datagram, Flaw, Handshake, Header, Kind, LOCK_STEP, MOST_BYTES, PACED, Refusal, decode, encode,
};
use crate::link::{Endpoint, LinkCounts, Received, Token};
use crate::world::Entropy;

/// How long a welcome waits for its arm.
const ARM_WITHIN: Duration = Duration::from_secs(2);
/// In lock-step the loop says how patient it is; nobody is patient for longer.
const MOST_PATIENCE_S: f64 = 60.0;

/// What a laboratory says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct LabProfile {
    /// Ticks per second.
    pub rate_hz: f64,
    /// What its gate lets through, per DOF: command in m, rate in m/s, force in N.
    pub limits: [Vec<f64>; 3],
    /// After this much silence of the loop it goes to safe by itself, s.
    pub watchdog_s: f64,
    /// What both sides know.
    pub token: Token,
    /// What it can: a sum of the constants in [`crate::link::wire`].
    pub modes: u32,
}

/// A datagram to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit<'a> {
    /// To whom.
    pub to: SocketAddr,
    /// The datagram.
    pub bytes: &'a [u8],
}

/// What becomes of a datagram between sessions.
pub enum Reception<'a> {
    /// Counted and ignored.
    Ignored,
    /// This is the answer.
    Answer(Transmit<'a>),
    /// A loop has been welcomed and has armed: the session begins.
    Accepted(AcceptedSession),
}

/// A loop that has been welcomed and has armed.
pub struct AcceptedSession {
    pub(super) profile: Arc<LabProfile>,
    pub(super) peer: SocketAddr,
    pub(super) nonce: u64,
    pub(super) endpoint: Endpoint,
    pub(super) lock_step: bool,
    /// After this much silence the rig goes to safe.
    pub(super) watchdog_s: f64,
    /// The clock of the arm, to be echoed.
    pub(super) arm_ns: u64,
}

impl AcceptedSession {
    /// Who it is.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Its number.
    pub fn session(&self) -> u64 {
        self.endpoint.session()
    }

    /// Whether the session is in virtual time.
    pub fn is_lock_step(&self) -> bool {
        self.lock_step
    }

    /// After this much silence the rig goes to safe, s.
    pub fn watchdog_s(&self) -> f64 {
        self.watchdog_s
    }
}

/// Waits for loops: takes datagrams and the time, gives answers, and in the end a
/// session. It does no I/O and needs no timer.
pub struct Listener {
    profile: Arc<LabProfile>,
    entropy: Arc<dyn Entropy>,
    /// Who was welcomed and has not armed, and how long it may take.
    welcomed: Option<(AcceptedSession, u64)>,
    /// What came between sessions.
    pub(super) counts: LinkCounts,
    out: Box<[u8; MOST_BYTES]>,
}

impl Listener {
    /// Nobody has come yet.
    pub fn new(profile: LabProfile, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            profile: Arc::new(profile),
            entropy,
            welcomed: None,
            counts: LinkCounts::default(),
            out: Box::new([0; MOST_BYTES]),
        }
    }

    /// What reached it between sessions.
    pub fn counts(&self) -> &LinkCounts {
        &self.counts
    }

    /// Takes a datagram.
    pub fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &[u8]) -> Reception<'_> {
        self.welcomed.take_if(|(_, until_ns)| now_ns >= *until_ns);
        if let Some((session, _)) = &mut self.welcomed
            && session.peer == from
            && let Received::Ours(datagram) = session.endpoint.receive(bytes)
            && datagram.header.kind == Kind::Arm
            && let Some(arm) = datagram.handshake
        {
            let tag = self.profile.token.tag(Kind::Arm, session.nonce, session.session());
            let fits = arm.nonce == session.nonce && arm.tag == tag;
            session.arm_ns = datagram.header.time_ns;
            return match self.welcomed.take().filter(|_| fits) {
                Some((session, _)) => Reception::Accepted(session),
                None => {
                    self.counts.foreign += 1;
                    Reception::Ignored
                }
            };
        }
        match decode(bytes) {
            Ok(datagram) if datagram.header.kind == Kind::Hello => {
                return self.answer_hello(now_ns, &datagram, from);
            }
            Ok(_) | Err(Flaw::NotOurs | Flaw::Malformed) => self.counts.foreign += 1,
            Err(Flaw::Damaged) => self.counts.corrupt += 1,
            Err(Flaw::Version(_)) => {
                self.counts.foreign += 1;
                let question = Question { now_ns, to: from, dofs: 1, echo_ns: 0 };
                let refused = refusal(Refusal::Version, 0);
                return Reception::Answer(self.profile.answer(
                    &question,
                    0,
                    refused,
                    &mut self.out,
                ));
            }
        }
        Reception::Ignored
    }

    /// Welcomes who fits, or says why not. A hello that came twice means the same
    /// session.
    fn answer_hello(
        &mut self,
        now_ns: u64,
        datagram: &Datagram<'_>,
        from: SocketAddr,
    ) -> Reception<'_> {
        let Some(hello) = datagram.handshake else { return Reception::Ignored };
        let again =
            |session: &AcceptedSession| session.peer == from && session.nonce == hello.nonce;
        let known = self.welcomed.as_ref().is_some_and(|(session, _)| again(session));
        let judged = self.profile.judge(datagram, &hello);
        let session = judged.and_then(|()| match known {
            true => Ok(0),
            false => self.entropy.number().map_err(|_| Refusal::Other),
        });
        let session = match session {
            Ok(session) => session,
            Err(reason) => {
                self.counts.foreign += 1;
                let question = Question::of(now_ns, datagram, from);
                let refused = refusal(reason, hello.nonce);
                return Reception::Answer(self.profile.answer(
                    &question,
                    0,
                    refused,
                    &mut self.out,
                ));
            }
        };
        let until_ns = now_ns + ARM_WITHIN.as_nanos() as u64;
        let session = match self.welcomed.take().filter(|_| known) {
            Some((session, _)) => session,
            None => AcceptedSession::new(&self.profile, &hello, from, session),
        };
        let (session, _) = self.welcomed.insert((session, until_ns));
        Reception::Answer(session.welcome(now_ns, datagram.header.time_ns, &mut self.out))
    }
}

impl AcceptedSession {
    fn new(profile: &Arc<LabProfile>, hello: &Handshake, peer: SocketAddr, session: u64) -> Self {
        let lock_step = hello.modes & LOCK_STEP != 0;
        let patience_s = 1e-9 * hello.watchdog_ns as f64;
        Self {
            peer,
            nonce: hello.nonce,
            endpoint: Endpoint::new(session, profile.dofs()),
            lock_step,
            watchdog_s: if lock_step {
                // Virtual time may stand still for as long as the loop would wait.
                profile.watchdog_s.max(patience_s.min(MOST_PATIENCE_S))
            } else {
                profile.watchdog_s
            },
            arm_ns: 0,
            profile: Arc::clone(profile),
        }
    }

    /// Says welcome, for the first time or again.
    pub(super) fn welcome<'a>(
        &self,
        now_ns: u64,
        echo_ns: u64,
        out: &'a mut [u8; MOST_BYTES],
    ) -> Transmit<'a> {
        let profile = &self.profile;
        let session = self.session();
        let welcome = Handshake {
            rate_hz: profile.rate_hz,
            nonce: self.nonce,
            tag: profile.token.tag(Kind::Welcome, self.nonce, session),
            watchdog_ns: (1e9 * self.watchdog_s) as u64,
            modes: profile.modes,
            reason: 0,
        };
        let question = Question { now_ns, to: self.peer, dofs: profile.dofs(), echo_ns };
        profile.answer(&question, session, welcome, out)
    }
}

/// What an answer answers.
struct Question {
    now_ns: u64,
    to: SocketAddr,
    dofs: usize,
    echo_ns: u64,
}

impl Question {
    fn of(now_ns: u64, datagram: &Datagram<'_>, to: SocketAddr) -> Self {
        let dofs = usize::from(datagram.header.dofs);
        Self { now_ns, to, dofs, echo_ns: datagram.header.time_ns }
    }
}

impl LabProfile {
    fn dofs(&self) -> usize {
        self.limits[0].len()
    }

    fn judge(&self, datagram: &Datagram<'_>, hello: &Handshake) -> Result<(), Refusal> {
        let modes = hello.modes & (LOCK_STEP | PACED);
        if hello.tag != self.token.tag(Kind::Hello, hello.nonce, 0) {
            Err(Refusal::Token)
        } else if usize::from(datagram.header.dofs) != self.dofs() {
            Err(Refusal::Dofs)
        } else if hello.rate_hz.to_bits() != self.rate_hz.to_bits() {
            Err(Refusal::Rate)
        } else if !modes.is_power_of_two() || modes & self.modes == 0 {
            Err(Refusal::Mode)
        } else {
            Ok(())
        }
    }

    /// Tells who asks during a session that there is one.
    pub(super) fn refuse_busy<'a>(
        &self,
        now_ns: u64,
        datagram: &Datagram<'_>,
        from: SocketAddr,
        out: &'a mut [u8; MOST_BYTES],
    ) -> Option<Transmit<'a>> {
        let refused = refusal(Refusal::Busy, datagram.handshake?.nonce);
        Some(self.answer(&Question::of(now_ns, datagram, from), 0, refused, out))
    }

    fn answer<'a>(
        &self,
        question: &Question,
        session: u64,
        handshake: Handshake,
        out: &'a mut [u8; MOST_BYTES],
    ) -> Transmit<'a> {
        let header = Header {
            kind: if handshake.reason == 0 { Kind::Welcome } else { Kind::Refuse },
            dofs: question.dofs as u8,
            session,
            sequence: 0,
            time_ns: question.now_ns,
            tick: 0,
            echo_ns: question.echo_ns,
            state: 0,
            trip: 0,
        };
        let blocks = [&self.limits[0][..], &self.limits[1], &self.limits[2]];
        Transmit { to: question.to, bytes: encode(&header, Some(&handshake), blocks, out) }
    }
}

fn refusal(reason: Refusal, nonce: u64) -> Handshake {
    Handshake { rate_hz: 0.0, nonce, tag: 0, watchdog_ns: 0, modes: 0, reason: reason as u32 }
}
