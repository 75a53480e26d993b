//! Finding a laboratory and agreeing with it.

use std::net::SocketAddr;

use super::exchange::Exchange;
use crate::link::wire::{
    Datagram, Flaw, Handshake, Header, Kind, LOCK_STEP, MOST_BYTES, MOST_DOFS, PACED, Refusal,
    Unverified, encode,
};
use crate::link::{Key, LinkError, LinkPlan, Pace, Terms};

/// Between two tries, ns.
const TRY_AGAIN_NS: u64 = 100_000_000;
/// Of so many tries one is a hello, though the loop was welcomed: another may have been quicker.
const ASK_ANEW: u64 = 5;

/// What the laboratory told of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// Where it is.
    pub address: SocketAddr,
    /// After this much silence it goes to safe by itself, s.
    pub watchdog_s: f64,
    /// What its file says of the test.
    pub terms: Terms,
    /// What it can: a sum of the constants in [`crate::link::wire`].
    pub modes: u32,
    /// How many values of channels of its own it sends with every measurement.
    pub auxiliary: usize,
}

/// The loop's side of the handshake: says hello until it is welcomed, then arms
/// until the sensors answer. Takes datagrams and the time, and does no I/O.
pub(super) struct Connecting<'a> {
    pub(super) plan: &'a LinkPlan,
    key: Key,
    nonce: u64,
    until_ns: u64,
    again_ns: u64,
    tries: u64,
    /// Why it would fail now. Nobody's word ends it but that of who has the token.
    obstacle: LinkError,
    /// Who has welcomed it, and the session with that.
    pub(super) welcomed: Option<Box<(Peer, Exchange)>>,
    out: Box<[u8; MOST_BYTES]>,
}

impl<'a> Connecting<'a> {
    /// Begins now, with a number nobody can guess.
    pub(super) fn new(now_ns: u64, plan: &'a LinkPlan, nonce: u64) -> Result<Self, LinkError> {
        if plan.terms.dofs() > MOST_DOFS {
            return Err(LinkError::TooManyDofs(plan.terms.dofs()));
        }
        Ok(Self {
            plan,
            key: plan.token.key(),
            nonce,
            until_ns: now_ns.saturating_add((1e9 * plan.connect_s) as u64),
            again_ns: now_ns,
            tries: 0,
            obstacle: plan.no_answer(),
            welcomed: None,
            out: Box::new([0; MOST_BYTES]),
        })
    }

    /// Whether the sensors have answered for the first tick: the loop is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.welcomed.as_ref().is_some_and(|session| session.1.is_closed())
    }

    /// When it wants to be asked again, though nothing comes.
    pub(super) fn next_timeout_ns(&self) -> u64 {
        self.again_ns.min(self.until_ns)
    }

    /// What is to be sent now.
    pub(super) fn poll(&mut self, now_ns: u64) -> Result<Option<&[u8]>, LinkError> {
        if now_ns >= self.until_ns {
            return Err(std::mem::replace(&mut self.obstacle, self.plan.no_answer()));
        }
        if now_ns < self.again_ns {
            return Ok(None);
        }
        self.again_ns = now_ns + TRY_AGAIN_NS;
        self.tries += 1;
        let request = request(self.plan, self.nonce);
        let blocks = self.plan.terms.limits.each_ref().map(Vec::as_slice);
        Ok(Some(match &mut self.welcomed {
            Some(session) if !self.tries.is_multiple_of(ASK_ANEW) => {
                session.1.endpoint.frame(now_ns, Kind::Arm, 0, 0, Some(&request), blocks)
            }
            _ => {
                let header = Header::outside(Kind::Hello, self.plan.terms.dofs() as u8, now_ns);
                encode(&header, Some(&request), blocks, &[], &self.key, &mut self.out)
            }
        }))
    }

    /// Takes a datagram.
    pub(super) fn handle(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        let unverified = match Unverified::read(bytes) {
            Ok(unverified) => unverified,
            Err(Flaw::Version(version)) => {
                self.obstacle = LinkError::OtherVersion(self.plan.address, version);
                return Ok(());
            }
            Err(Flaw::NotOurs | Flaw::Malformed) => return Ok(()),
        };
        let kind = unverified.header().kind;
        if !matches!(kind, Kind::Welcome | Kind::Refuse) {
            if let Some(session) = &mut self.welcomed {
                session.1.handle(bytes);
            }
            return Ok(());
        }
        if unverified.handshake().is_none_or(|answer| answer.nonce != self.nonce) {
            return Ok(());
        }
        let Some(datagram) = unverified.verified(&self.key) else {
            self.obstacle = LinkError::OtherToken(self.plan.address);
            return Ok(());
        };
        match datagram.handshake {
            Some(answer) if kind == Kind::Refuse => self.refused(&datagram.header, &answer),
            Some(answer) => self.welcome(&datagram, &answer),
            None => Ok(()),
        }
    }

    fn refused(&mut self, header: &Header, answer: &Handshake) -> Result<(), LinkError> {
        let reason = Refusal::from_code(answer.reason).unwrap_or(Refusal::Other);
        let refused = self.refusal(reason, header, answer);
        if reason != Refusal::Busy {
            return Err(refused);
        }
        // It may be free in a moment.
        (self.obstacle, self.welcomed) = (refused, None);
        Ok(())
    }

    /// Takes the session that is offered, unless it has it already, if the laboratory fits.
    fn welcome(&mut self, datagram: &Datagram<'_>, answer: &Handshake) -> Result<(), LinkError> {
        let (plan, header) = (self.plan, &datagram.header);
        let known = self.welcomed.as_ref().map(|session| session.1.endpoint.session);
        if known == Some(header.session) {
            return Ok(());
        }
        if usize::from(header.dofs) != plan.terms.dofs() {
            return Err(self.refusal(Refusal::Dofs, header, answer));
        }
        if answer.rate_hz.to_bits() != plan.terms.rate_hz.to_bits() {
            return Err(self.refusal(Refusal::Rate, header, answer));
        }
        let peer = Peer {
            address: plan.address,
            watchdog_s: 1e-9 * answer.watchdog_ns as f64,
            terms: Terms::of(datagram, answer),
            modes: answer.modes,
            auxiliary: header.auxiliary.into(),
        };
        let keys = plan.token.session_keys(self.nonce, header.session);
        let exchange = Exchange::new(plan, header.session, keys, peer.auxiliary);
        self.welcomed = Some(Box::new((peer, exchange)));
        (self.again_ns, self.tries) = (0, 0);
        Ok(())
    }

    fn refusal(&self, reason: Refusal, header: &Header, answer: &Handshake) -> LinkError {
        let (dofs, rate_hz) = (header.dofs.into(), answer.rate_hz);
        let reason = self.plan.terms.mismatch(reason, dofs, rate_hz);
        LinkError::Refused { address: self.plan.address, reason }
    }
}

/// What the loop asks for.
fn request(plan: &LinkPlan, nonce: u64) -> Handshake {
    let (modes, watchdog_s) = match plan.pace {
        Pace::LockStep { timeout_s } => (LOCK_STEP, timeout_s),
        Pace::Paced { .. } => (PACED, plan.watchdog_s),
    };
    let watchdog_ns = (1e9 * watchdog_s) as u64;
    let Terms { rate_hz, file, .. } = plan.terms;
    Handshake { rate_hz, nonce, file, watchdog_ns, modes, reason: 0 }
}
