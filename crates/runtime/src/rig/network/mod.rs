//! A rig at the end of a wire, as the loop sees it.

mod connecting;
mod exchange;

pub use connecting::Peer;

use std::sync::Arc;

use model::channel::Channel;
use model::motion::Motion;

use super::{Measured, Rig, RigFault};
use crate::gate::TripKind;
use crate::interlock::Phase;
use crate::link::{LinkCounts, LinkError, LinkPlan};
use crate::stop::StopHandle;
use crate::world::{DatagramSocket, World};

use connecting::Connecting;
use exchange::Exchange;

/// Datagrams read in one tick: a flood must not stop the clock.
const MOST_READ: usize = 64;
/// How long the socket waits before the operator's stop is looked at, ns.
const SLICE_NS: u64 = 5_000_000;
/// In lock-step, how long an answer may take before it is asked for again, ns.
const ASK_AGAIN_NS: u64 = 20_000_000;

/// A rig at the end of a wire: a shell around its side of the session.
///
/// In lock-step each measurement waits for its answer and asks again; against
/// the clock it takes what is there and bridges what is not. Neither allocates.
pub struct NetworkRig {
    world: Arc<dyn World>,
    socket: Box<dyn DatagramSocket>,
    exchange: Exchange,
    /// What the laboratory told of itself.
    pub peer: Peer,
    /// When the last command was sent, by the wall clock; receipts are stamped by it.
    sent_wall_ns: u64,
    round_trip_ns: Option<u64>,
    /// Until it was told that the test is over.
    armed: bool,
}

impl NetworkRig {
    /// Finds the laboratory, agrees with it and closes the loop: its sensors
    /// have answered once when this returns. A press of the stop ends the wait.
    pub fn connect(
        world: &Arc<dyn World>,
        stop: &StopHandle,
        plan: &LinkPlan,
    ) -> Result<Self, LinkError> {
        let (socket, connecting) = call(&**world, stop, plan, Connecting::is_closed)?;
        let (peer, exchange) = *connecting.welcomed.ok_or(plan.no_answer())?;
        let (world, sent_wall_ns, round_trip_ns) = (Arc::clone(world), 0, None);
        Ok(Self { world, socket, exchange, peer, sent_wall_ns, round_trip_ns, armed: true })
    }

    /// Asks who is there and whether it would agree, without closing the loop.
    pub fn find(
        world: &Arc<dyn World>,
        stop: &StopHandle,
        plan: &LinkPlan,
    ) -> Result<Peer, LinkError> {
        let welcomed = |connecting: &Connecting<'_>| connecting.welcomed.is_some();
        let (_, connecting) = call(&**world, stop, plan, welcomed)?;
        connecting.welcomed.map(|session| session.0).ok_or(plan.no_answer())
    }

    /// Takes a datagram that is there; says whether there was one.
    fn take(&mut self) -> bool {
        match self.socket.receive() {
            Ok(Some((bytes, _))) => {
                if self.exchange.handle(bytes) {
                    let stamp = self.socket.received_at_ns();
                    self.round_trip_ns = stamp.map(|at| at.saturating_sub(self.sent_wall_ns));
                }
            }
            Ok(None) => return false,
            // Nobody listens there, or no way to it: the silence will tell.
            Err(error) => self.exchange.note(Err(error)),
        }
        true
    }

    /// Waits for the answer, asking again now and then. The last question is waited for
    /// as long as the others.
    fn wait_for_answer(&mut self, timeout_ns: u64) {
        let begun_ns = self.world.now_ns();
        let mut asked_ns = begun_ns;
        while !self.exchange.is_answered() {
            self.socket.wait_until_ns(asked_ns + ASK_AGAIN_NS);
            while !self.exchange.is_answered() && self.take() {}
            let now_ns = self.world.now_ns();
            if now_ns >= asked_ns + ASK_AGAIN_NS && !self.exchange.is_answered() {
                if now_ns - begun_ns >= timeout_ns {
                    return;
                }
                asked_ns = now_ns;
                self.sent_wall_ns = self.world.wall_ns();
                let sent = self.socket.send(self.peer.address, self.exchange.ask_again(now_ns));
                self.exchange.note(sent);
            }
        }
    }
}

impl Rig for NetworkRig {
    fn channels(&self) -> Vec<Channel> {
        LinkPlan::channels(self.peer.auxiliary)
    }

    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        self.round_trip_ns = None;
        if !self.exchange.is_answered() {
            match self.exchange.patience_ns() {
                Some(timeout_ns) => self.wait_for_answer(timeout_ns),
                None => {
                    let _ = (0..MOST_READ).all(|_| self.take());
                }
            }
        }
        measured.round_trip_ns = self.round_trip_ns;
        self.exchange.measure(measured)
    }

    fn actuate(&mut self, command: &Motion) {
        let bytes = self.exchange.send(self.world.now_ns(), command);
        self.sent_wall_ns = self.world.wall_ns();
        let sent = self.socket.send(self.peer.address, bytes);
        self.exchange.note(sent);
    }

    fn on_trip(&mut self, cause: TripKind) {
        self.exchange.on_trip(cause);
    }

    fn disarm(&mut self, left: Phase) {
        if std::mem::take(&mut self.armed) {
            for _ in 0..3 {
                let bytes = self.exchange.goodbye(self.world.now_ns(), left);
                let _ = self.socket.send(self.peer.address, bytes);
            }
        }
    }

    fn link(&self) -> Option<&LinkCounts> {
        Some(&self.exchange.endpoint.counts)
    }
}

impl Drop for NetworkRig {
    fn drop(&mut self) {
        self.disarm(Phase::Running);
    }
}

/// A socket, and the handshake over it until `is_done`. A laboratory that may have been armed
/// and is not waited for any more is told goodbye.
fn call<'a>(
    world: &dyn World,
    stop: &StopHandle,
    plan: &'a LinkPlan,
    is_done: impl Fn(&Connecting<'a>) -> bool,
) -> Result<(Box<dyn DatagramSocket>, Connecting<'a>), LinkError> {
    let address = plan.address;
    let failed = |what| move |source| LinkError::Socket { what, address, source };
    let nonce = world.secret_number().map_err(failed("draw a random number for"))?;
    let mut connecting = Connecting::new(world.now_ns(), plan, nonce)?;
    let mut socket = world.connect(address).map_err(failed("open a socket to"))?;
    match agree(world, stop, &mut *socket, &mut connecting, is_done) {
        Ok(()) => Ok((socket, connecting)),
        Err(error) => {
            if let Some(session) = &mut connecting.welcomed {
                for _ in 0..3 {
                    let bytes = session.1.goodbye(world.now_ns(), Phase::Safe);
                    let _ = socket.send(address, bytes);
                }
            }
            Err(error)
        }
    }
}

fn agree<'a>(
    world: &dyn World,
    stop: &StopHandle,
    socket: &mut dyn DatagramSocket,
    connecting: &mut Connecting<'a>,
    is_done: impl Fn(&Connecting<'a>) -> bool,
) -> Result<(), LinkError> {
    let address = connecting.plan.address;
    while !is_done(connecting) {
        if stop.presses() > 0 {
            return Err(LinkError::Stopped(address));
        }
        if let Some(bytes) = connecting.poll(world.now_ns())? {
            // Whether it gets there is seen by the answer.
            let _ = socket.send(address, bytes);
        }
        let look_ns = world.now_ns() + SLICE_NS;
        socket.wait_until_ns(connecting.next_timeout_ns().min(look_ns));
        while !is_done(connecting)
            && let Ok(Some((bytes, _))) = socket.receive()
        {
            connecting.handle(bytes)?;
        }
    }
    Ok(())
}
