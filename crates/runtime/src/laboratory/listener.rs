//! Agreeing with a loop: who is welcomed, and why others are not.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::link::wire::{
    Flaw, Handshake, Header, Kind, LOCK_STEP, MOST_BYTES, PACED, Refusal, Room, Unverified, encode,
    most_auxiliary,
};
use crate::link::{Endpoint, Key, Terms, Token};
use crate::world::World;

/// What a laboratory says of itself.
#[derive(Debug, Clone)]
pub struct LabProfile {
    /// What its file says of the test.
    pub terms: Terms,
    /// After this much silence of the loop it goes to safe by itself, s.
    pub watchdog_s: f64,
    /// The same in lock-step, where the loop may think for longer than a period, s.
    pub patience_s: f64,
    /// What both sides know.
    pub token: Token,
    /// What it can: a sum of the constants in [`crate::link::wire`].
    pub modes: u32,
    /// How many values of channels of its own it sends with every measurement.
    pub auxiliary: usize,
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
    /// Ignored.
    Ignored,
    /// This is the answer.
    Answer(Transmit<'a>),
    /// Somebody is not welcome, and is told so where that takes no more bytes than were sent.
    Refused(Refused, Option<Transmit<'a>>),
    /// A loop has been welcomed and has armed: the session begins.
    Accepted(Box<AcceptedSession>),
}

/// Who was refused, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Who it was.
    pub peer: SocketAddr,
    /// Why.
    pub reason: Refusal,
    /// The same in words, with what differs.
    pub words: String,
}

/// A loop that has been welcomed and has armed.
pub struct AcceptedSession {
    /// Who it is.
    pub peer: SocketAddr,
    /// Whether the session is in virtual time.
    pub lock_step: bool,
    /// After this much silence the rig goes to safe, s.
    pub watchdog_s: f64,
    /// What the loop's file says of the test.
    pub terms: Terms,
    pub(super) profile: Arc<LabProfile>,
    pub(super) nonce: u64,
    pub(super) endpoint: Endpoint,
    /// The clock of the arm, to be echoed.
    pub(super) arm_ns: u64,
}

/// Waits for loops: takes datagrams and the time, gives answers, and in the end a
/// session. It does no I/O and needs no timer.
///
/// Nothing is kept of who asks. Everybody who has the token is offered the same session, whose
/// number nobody could foresee; the first to arm with the keys that follow from it has it. So
/// whoever repeats what a loop once said neither keeps others out nor opens a session.
pub struct Listener {
    profile: Arc<LabProfile>,
    key: Key,
    world: Arc<dyn World>,
    /// The number of the session that is offered.
    offered: Option<u64>,
    out: Box<Room>,
}

impl Listener {
    /// Nobody has come yet.
    pub fn new(profile: LabProfile, world: Arc<dyn World>) -> Self {
        let (key, out) = (profile.token.key(), Box::new([0; MOST_BYTES]));
        Self { profile: Arc::new(profile), key, world, offered: None, out }
    }

    /// Takes a datagram.
    pub fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &[u8]) -> Reception<'_> {
        let unverified = match Unverified::read(bytes) {
            Ok(unverified) => unverified,
            Err(Flaw::Version(version)) => {
                let words = format!("it speaks version {version} of the protocol");
                let refused = Refused { peer: from, reason: Refusal::Version, words };
                return self.refuse(now_ns, refused, 0, 0, bytes.len());
            }
            Err(Flaw::NotOurs | Flaw::Malformed) => return Reception::Ignored,
        };
        match unverified.header().kind {
            Kind::Hello => self.answer_hello(now_ns, from, bytes.len(), &unverified),
            Kind::Arm => match self.accept(from, bytes, &unverified) {
                Some(session) => {
                    self.offered = None;
                    Reception::Accepted(Box::new(session))
                }
                None => Reception::Ignored,
            },
            _ => Reception::Ignored,
        }
    }

    /// Welcomes who fits, or says why not.
    fn answer_hello(
        &mut self,
        now_ns: u64,
        from: SocketAddr,
        length: usize,
        unverified: &Unverified<'_>,
    ) -> Reception<'_> {
        let (header, Some(hello)) = (unverified.header(), unverified.handshake()) else {
            return Reception::Ignored;
        };
        let judged = match unverified.verified(&self.key) {
            None => Err(Refusal::Token),
            Some(datagram) => self.profile.judge(&datagram.header, hello),
        };
        match judged.and_then(|()| self.offer().map_err(|_| Refusal::Other)) {
            Ok(session) => {
                let profile = &self.profile;
                let lock_step = hello.modes & LOCK_STEP != 0;
                let welcome = Handshake {
                    watchdog_ns: (1e9 * profile.watchdog_s(lock_step, hello)) as u64,
                    ..profile.handshake(hello.nonce, 0)
                };
                let answer = Header::outside(Kind::Welcome, profile.terms.dofs() as u8, now_ns);
                let auxiliary = profile.auxiliary() as u8;
                let answer = Header { session, echo_ns: header.time_ns, auxiliary, ..answer };
                let limits = profile.terms.limits.each_ref().map(Vec::as_slice);
                let bytes = encode(&answer, Some(&welcome), limits, &[], &self.key, &mut self.out);
                Reception::Answer(Transmit { to: from, bytes })
            }
            Err(reason) => {
                let (dofs, rate_hz) = (header.dofs.into(), hello.rate_hz);
                let words = self.profile.terms.mismatch(reason, dofs, rate_hz);
                let refused = Refused { peer: from, reason, words };
                self.refuse(now_ns, refused, header.time_ns, hello.nonce, length)
            }
        }
    }

    /// The session that `arm` opens, if it comes from who was offered it.
    fn accept(
        &self,
        from: SocketAddr,
        bytes: &[u8],
        unverified: &Unverified<'_>,
    ) -> Option<AcceptedSession> {
        let profile = &self.profile;
        let (claim, session) = (unverified.handshake()?, self.offered?);
        let [of_loop, own] = profile.token.session_keys(claim.nonce, session);
        let mut endpoint = Endpoint::new(session, profile.terms.dofs(), [own, of_loop]);
        endpoint.auxiliary = vec![f64::NAN; profile.auxiliary()];
        let datagram = endpoint.receive(bytes)?;
        let arm = datagram.handshake?;
        profile.judge(&datagram.header, &arm).ok()?;
        let lock_step = arm.modes & LOCK_STEP != 0;
        Some(AcceptedSession {
            peer: from,
            lock_step,
            watchdog_s: profile.watchdog_s(lock_step, &arm),
            terms: Terms::of(&datagram, &arm),
            profile: Arc::clone(profile),
            nonce: arm.nonce,
            endpoint,
            arm_ns: datagram.header.time_ns,
        })
    }

    fn offer(&mut self) -> io::Result<u64> {
        let session = self.offered.map_or_else(|| self.world.secret_number(), Ok)?;
        self.offered = Some(session);
        Ok(session)
    }

    fn refuse(
        &mut self,
        now_ns: u64,
        refused: Refused,
        echo_ns: u64,
        nonce: u64,
        length: usize,
    ) -> Reception<'_> {
        let answer = [now_ns, echo_ns, nonce];
        let bytes = self.profile.refusal(answer, refused.reason, &self.key, &mut self.out);
        let to = refused.peer;
        let answer = (bytes.len() <= length).then_some(Transmit { to, bytes });
        Reception::Refused(refused, answer)
    }
}

impl LabProfile {
    /// As many of its own values as a datagram has room for.
    fn auxiliary(&self) -> usize {
        self.auxiliary.min(most_auxiliary(self.terms.dofs()))
    }

    fn judge(&self, header: &Header, hello: &Handshake) -> Result<(), Refusal> {
        let modes = hello.modes & (LOCK_STEP | PACED);
        if usize::from(header.dofs) != self.terms.dofs() {
            Err(Refusal::Dofs)
        } else if hello.rate_hz.to_bits() != self.terms.rate_hz.to_bits() {
            Err(Refusal::Rate)
        } else if !modes.is_power_of_two() || modes & self.modes == 0 {
            Err(Refusal::Mode)
        } else {
            Ok(())
        }
    }

    /// The silence after which it takes over. A loop by the clock may ask for less, never for
    /// more; in lock-step it says how long it waits itself, no longer than the file allows.
    fn watchdog_s(&self, lock_step: bool, asked: &Handshake) -> f64 {
        let asked_s = 1e-9 * asked.watchdog_ns as f64;
        if lock_step {
            self.watchdog_s.max(asked_s).min(self.patience_s)
        } else if asked_s > 0.0 {
            self.watchdog_s.min(asked_s)
        } else {
            self.watchdog_s
        }
    }

    fn handshake(&self, nonce: u64, reason: u32) -> Handshake {
        let Terms { rate_hz, file, .. } = self.terms;
        Handshake { rate_hz, nonce, file, watchdog_ns: 0, modes: self.modes, reason }
    }

    /// Says why somebody is not welcome: the time, the clock that is echoed, the nonce.
    pub(super) fn refusal<'a>(
        &self,
        [now_ns, echo_ns, nonce]: [u64; 3],
        reason: Refusal,
        key: &Key,
        out: &'a mut Room,
    ) -> &'a [u8] {
        let header = Header::outside(Kind::Refuse, self.terms.dofs() as u8, now_ns);
        let refusal = self.handshake(nonce, reason as u32);
        encode(&Header { echo_ns, ..header }, Some(&refusal), [&[]; 3], &[], key, out)
    }
}
