//! Finding a laboratory and agreeing with it.

use std::net::SocketAddr;

use super::exchange::Exchange;
use crate::link::wire::{
    Datagram, Handshake, Header, Kind, LOCK_STEP, MOST_BYTES, MOST_DOFS, PACED, Refusal, decode,
    encode,
};
use crate::link::{LinkError, LinkPlan, Pace};

/// Between two tries, ns.
const TRY_AGAIN_NS: u64 = 100_000_000;

/// What the laboratory told of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// Where it is.
    pub address: SocketAddr,
    /// After this much silence it goes to safe by itself, s.
    pub watchdog_s: f64,
    /// What it lets through, per DOF: command in m, rate in m/s, force in N.
    pub limits: [Vec<f64>; 3],
    /// What it can: a sum of the constants in [`crate::link::wire`].
    pub modes: u32,
}

/// The loop's side of the handshake: says hello until it is welcomed, then arms
/// until the sensors answer. Takes datagrams and the time, and does no I/O.
pub(super) struct Connecting<'a> {
    plan: &'a LinkPlan,
    nonce: u64,
    until_ns: u64,
    again_ns: u64,
    /// Whether somebody was busy.
    busy: bool,
    /// Who has welcomed it, and the session with that.
    pub(super) welcomed: Option<Box<(Peer, Exchange)>>,
    out: Box<[u8; MOST_BYTES]>,
}

impl<'a> Connecting<'a> {
    /// Begins now, with a number nobody can guess.
    pub(super) fn new(now_ns: u64, plan: &'a LinkPlan, nonce: u64) -> Result<Self, LinkError> {
        if plan.count > MOST_DOFS {
            return Err(LinkError::TooManyDofs(plan.count));
        }
        Ok(Self {
            plan,
            nonce,
            until_ns: now_ns.saturating_add((1e9 * plan.connect_s) as u64),
            again_ns: now_ns,
            busy: false,
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
        let LinkPlan { limits, token, .. } = self.plan;
        if now_ns >= self.until_ns {
            return Err(match self.welcomed {
                None if self.busy => self.refused(Refusal::Busy),
                _ => self.plan.no_answer(),
            });
        }
        if now_ns < self.again_ns {
            return Ok(None);
        }
        self.again_ns = now_ns + TRY_AGAIN_NS;
        let blocks = limits.each_ref().map(Vec::as_slice);
        Ok(Some(match &mut self.welcomed {
            None => {
                let tag = token.tag(Kind::Hello, self.nonce, 0);
                let header = Header::outside(Kind::Hello, self.plan.count as u8, now_ns);
                let hello = handshake(self.plan, self.nonce, tag);
                encode(&header, Some(&hello), blocks, &mut self.out)
            }
            Some(session) => {
                let endpoint = &mut session.1.endpoint;
                let tag = token.tag(Kind::Arm, self.nonce, endpoint.session);
                let arm = handshake(self.plan, self.nonce, tag);
                endpoint.frame(now_ns, Kind::Arm, 0, 0, Some(&arm), blocks)
            }
        }))
    }

    /// Takes a datagram.
    pub(super) fn handle(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        if let Some(session) = &mut self.welcomed {
            session.1.handle(bytes);
            return Ok(());
        }
        let Ok(datagram) = decode(bytes) else { return Ok(()) };
        let Some(answer) = datagram.handshake.filter(|answer| answer.nonce == self.nonce) else {
            return Ok(());
        };
        match (datagram.header.kind, Refusal::from_code(answer.reason).unwrap_or(Refusal::Other)) {
            // It may be free in a moment.
            (Kind::Refuse, Refusal::Busy) => self.busy = true,
            (Kind::Refuse, reason) => return Err(self.refused(reason)),
            (Kind::Welcome, _) => {
                let peer = welcomed(self.plan, &datagram, &answer)?;
                let exchange = Exchange::new(self.plan, datagram.header.session);
                self.welcomed = Some(Box::new((peer, exchange)));
                self.again_ns = 0;
            }
            _ => {}
        }
        Ok(())
    }

    fn refused(&self, reason: Refusal) -> LinkError {
        LinkError::Refused { address: self.plan.address, reason }
    }
}

fn handshake(plan: &LinkPlan, nonce: u64, tag: u64) -> Handshake {
    let (modes, patience_s) = match plan.pace {
        Pace::LockStep { timeout_s } => (LOCK_STEP, timeout_s),
        Pace::Paced { .. } => (PACED, 0.0),
    };
    let watchdog_ns = (1e9 * patience_s) as u64;
    Handshake { rate_hz: plan.rate_hz, nonce, tag, watchdog_ns, modes, reason: 0 }
}

/// Checks a welcome: it comes from who knows the token and fits the test.
fn welcomed(
    plan: &LinkPlan,
    datagram: &Datagram<'_>,
    answer: &Handshake,
) -> Result<Peer, LinkError> {
    let (address, session) = (plan.address, datagram.header.session);
    if answer.tag != plan.token.tag(Kind::Welcome, answer.nonce, session) {
        return Err(LinkError::Impostor(address));
    }
    let refused = |reason| Err(LinkError::Refused { address, reason });
    if usize::from(datagram.header.dofs) != plan.count {
        return refused(Refusal::Dofs);
    }
    if answer.rate_hz.to_bits() != plan.rate_hz.to_bits() {
        return refused(Refusal::Rate);
    }
    let limits = [0, 1, 2].map(|index| {
        let mut values = vec![f64::INFINITY; plan.count];
        datagram.block(index, &mut values);
        values
    });
    let watchdog_s = 1e-9 * answer.watchdog_ns as f64;
    Ok(Peer { address, watchdog_s, limits, modes: answer.modes })
}
