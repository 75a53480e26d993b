//! Agreeing with a loop: who is welcomed, and why others are not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::link::wire::{
    Datagram, Flaw, Handshake, Header, Kind, LOCK_STEP, MOST_BYTES, PACED, Refusal, Room, decode,
    encode,
};
use crate::link::{Endpoint, Received, Token};
use crate::world::World;

/// How long a welcome waits for its arm.
const ARM_WITHIN: Duration = Duration::from_secs(2);

/// What a laboratory says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct LabProfile {
    /// Ticks per second.
    pub rate_hz: f64,
    /// What its gate lets through, per DOF: command in m, rate in m/s, force in N.
    pub limits: [Vec<f64>; 3],
    /// After this much silence of the loop it goes to safe by itself, s.
    pub watchdog_s: f64,
    /// The same in lock-step, where the loop may think for longer than a period, s.
    pub patience_s: f64,
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
    /// Ignored.
    Ignored,
    /// This is the answer.
    Answer(Transmit<'a>),
    /// A loop has been welcomed and has armed: the session begins.
    Accepted(AcceptedSession),
}

/// A loop that has been welcomed and has armed.
pub struct AcceptedSession {
    /// Who it is.
    pub peer: SocketAddr,
    /// Whether the session is in virtual time.
    pub lock_step: bool,
    /// After this much silence the rig goes to safe, s.
    pub watchdog_s: f64,
    pub(super) profile: Arc<LabProfile>,
    pub(super) nonce: u64,
    pub(super) endpoint: Endpoint,
    /// The clock of the arm, to be echoed.
    pub(super) arm_ns: u64,
}

/// Waits for loops: takes datagrams and the time, gives answers, and in the end a
/// session. It does no I/O and needs no timer.
pub struct Listener {
    profile: Arc<LabProfile>,
    world: Arc<dyn World>,
    /// Who was welcomed and has not armed, and how long it may take.
    welcomed: Option<(AcceptedSession, u64)>,
    out: Box<Room>,
}

impl Listener {
    /// Nobody has come yet.
    pub fn new(profile: LabProfile, world: Arc<dyn World>) -> Self {
        Self { profile: Arc::new(profile), world, welcomed: None, out: Box::new([0; MOST_BYTES]) }
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
            let tag = self.profile.token.tag(Kind::Arm, session.nonce, session.endpoint.session);
            let fits = arm.nonce == session.nonce && arm.tag == tag;
            session.arm_ns = datagram.header.time_ns;
            return match self.welcomed.take().filter(|_| fits) {
                Some((session, _)) => Reception::Accepted(session),
                None => Reception::Ignored,
            };
        }
        match decode(bytes) {
            Ok(datagram) if datagram.header.kind == Kind::Hello => {
                self.answer_hello(now_ns, &datagram, from)
            }
            Err(Flaw::Version(_)) => {
                let header = Header::outside(Kind::Refuse, 1, now_ns);
                let refused = self.profile.refuse(header, 0, Refusal::Version, &mut self.out);
                Reception::Answer(Transmit { to: from, bytes: refused })
            }
            _ => Reception::Ignored,
        }
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
        let is_again = |(session, _): &mut (AcceptedSession, u64)| {
            session.peer == from && session.nonce == hello.nonce
        };
        let header = datagram.header.answered(now_ns);
        let session = self.profile.judge(datagram, &hello).and_then(|()| {
            Ok(match self.welcomed.take_if(is_again) {
                Some((session, _)) => session,
                None => {
                    let number = self.world.secret_number().map_err(|_| Refusal::Other)?;
                    AcceptedSession::new(&self.profile, &hello, from, number)
                }
            })
        });
        let bytes = match session {
            Ok(session) => {
                let until_ns = now_ns + ARM_WITHIN.as_nanos() as u64;
                let (session, _) = self.welcomed.insert((session, until_ns));
                session.welcome(header, &mut self.out)
            }
            Err(reason) => self.profile.refuse(header, hello.nonce, reason, &mut self.out),
        };
        Reception::Answer(Transmit { to: from, bytes })
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
            // In lock-step a loop says how long it waits; no longer than the file allows.
            watchdog_s: if lock_step {
                profile.watchdog_s.max(patience_s).min(profile.patience_s)
            } else {
                profile.watchdog_s
            },
            arm_ns: 0,
            profile: Arc::clone(profile),
        }
    }

    /// Says welcome, for the first time or again.
    pub(super) fn welcome<'a>(&self, header: Header, out: &'a mut Room) -> &'a [u8] {
        let (profile, session) = (&self.profile, self.endpoint.session);
        let welcome = Handshake {
            rate_hz: profile.rate_hz,
            nonce: self.nonce,
            tag: profile.token.tag(Kind::Welcome, self.nonce, session),
            watchdog_ns: (1e9 * self.watchdog_s) as u64,
            modes: profile.modes,
            reason: 0,
        };
        profile.answer(Header { kind: Kind::Welcome, session, ..header }, &welcome, out)
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

    /// Says why somebody is not welcome.
    pub(super) fn refuse<'a>(
        &self,
        header: Header,
        nonce: u64,
        reason: Refusal,
        out: &'a mut Room,
    ) -> &'a [u8] {
        let reason = reason as u32;
        self.answer(header, &Handshake { nonce, reason, ..Handshake::default() }, out)
    }

    fn answer<'a>(&self, header: Header, handshake: &Handshake, out: &'a mut Room) -> &'a [u8] {
        encode(&header, Some(handshake), self.limits.each_ref().map(Vec::as_slice), out)
    }
}
