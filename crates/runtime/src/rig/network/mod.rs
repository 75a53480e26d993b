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
use crate::link::wire::MOST_BYTES;
use crate::link::{LinkCounts, LinkError, LinkPlan};
use crate::world::{Clock, DatagramSocket, World};

use connecting::{Connecting, Next};
use exchange::{Exchange, Wait};

/// Datagrams read in one tick: a flood must not stop the clock.
const MOST_READ: usize = 64;

/// A rig at the end of a wire: a shell around its side of the session.
///
/// In lock-step each measurement waits for its answer and asks again; against
/// the clock it takes what is there and bridges what is not. Neither allocates.
pub struct NetworkRig {
    clock: Arc<dyn Clock>,
    socket: Box<dyn DatagramSocket>,
    exchange: Exchange,
    /// What the laboratory told of itself.
    pub peer: Peer,
    inbox: Inbox,
    /// When the last command was sent, by the wall clock; receipts are stamped by it.
    sent_wall_ns: u64,
    round_trip_ns: Option<u64>,
    /// Until it was told that the test is over.
    armed: bool,
}

type Inbox = Box<[u8; MOST_BYTES + 1]>;

impl NetworkRig {
    /// Finds the laboratory, agrees with it and closes the loop: its sensors
    /// have answered once when this returns.
    pub fn connect(world: &World, plan: &LinkPlan) -> Result<Self, LinkError> {
        let (socket, connecting, inbox) = call(world, plan, Connecting::is_closed)?;
        let (peer, exchange) = *connecting.welcomed.ok_or(plan.no_answer())?;
        let clock = Arc::clone(&world.clock);
        Ok(Self {
            clock,
            socket,
            exchange,
            peer,
            inbox,
            sent_wall_ns: 0,
            round_trip_ns: None,
            armed: true,
        })
    }

    /// Asks who is there and whether it would agree, without closing the loop.
    pub fn find(world: &World, plan: &LinkPlan) -> Result<Peer, LinkError> {
        let (_, connecting, _) = call(world, plan, |connecting| connecting.welcomed.is_some())?;
        connecting.welcomed.map(|session| session.0).ok_or(plan.no_answer())
    }

    /// Takes a datagram that is there; says whether there was one.
    fn take(&mut self) -> bool {
        match self.socket.receive(&mut self.inbox[..]) {
            Ok(Some((bytes, _))) => {
                if self.exchange.handle(&self.inbox[..bytes]) {
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

    /// Waits for the answer, asking again now and then.
    fn wait_for_answer(&mut self, mut wait: Wait) {
        let mut now_ns = self.clock.now_ns();
        while !self.exchange.is_answered() && !wait.is_over(now_ns) {
            if let Some(bytes) = self.exchange.ask_again(now_ns, &mut wait) {
                self.sent_wall_ns = self.clock.wall_ns();
                let sent = self.socket.send(self.peer.address, bytes);
                self.exchange.note(sent);
            }
            self.socket.wait_until_ns(wait.next_timeout_ns());
            while !self.exchange.is_answered() && self.take() {}
            now_ns = self.clock.now_ns();
        }
    }
}

impl Rig for NetworkRig {
    fn channels(&self) -> Vec<Channel> {
        LinkPlan::channels()
    }

    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        self.round_trip_ns = None;
        if !self.exchange.is_answered() {
            match self.exchange.wait(self.clock.now_ns()) {
                Some(wait) => self.wait_for_answer(wait),
                None => {
                    let mut left = MOST_READ;
                    while left > 0 && self.take() {
                        left -= 1;
                    }
                }
            }
        }
        measured.round_trip_ns = self.round_trip_ns;
        self.exchange.measure(measured)
    }

    fn actuate(&mut self, command: &Motion) {
        let bytes = self.exchange.send(self.clock.now_ns(), command);
        self.sent_wall_ns = self.clock.wall_ns();
        let sent = self.socket.send(self.peer.address, bytes);
        self.exchange.note(sent);
    }

    fn on_trip(&mut self, cause: TripKind) {
        self.exchange.on_trip(cause);
    }

    fn disarm(&mut self, left: Phase) {
        if std::mem::take(&mut self.armed) {
            for _ in 0..3 {
                let bytes = self.exchange.goodbye(self.clock.now_ns(), left);
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

/// A socket, and the handshake over it until `is_done`.
fn call<'a>(
    world: &World,
    plan: &'a LinkPlan,
    is_done: impl Fn(&Connecting<'a>) -> bool,
) -> Result<(Box<dyn DatagramSocket>, Connecting<'a>, Inbox), LinkError> {
    let address = plan.address;
    let failed = |what| move |source| LinkError::Socket { what, address, source };
    let nonce = world.entropy.number().map_err(failed("draw a random number for"))?;
    let mut connecting = Connecting::new(world.clock.now_ns(), plan, nonce)?;
    let mut socket = world.network.connect(address).map_err(failed("open a socket to"))?;
    let mut inbox: Inbox = Box::new([0; MOST_BYTES + 1]);
    while !is_done(&connecting) {
        match connecting.poll(world.clock.now_ns())? {
            // Whether it gets there is seen by the answer.
            Next::Send(bytes) => drop(socket.send(address, bytes)),
            Next::WaitUntil(instant_ns) => socket.wait_until_ns(instant_ns),
        }
        while !is_done(&connecting)
            && let Ok(Some((bytes, _))) = socket.receive(&mut inbox[..])
        {
            connecting.handle(&inbox[..bytes])?;
        }
    }
    Ok((socket, connecting, inbox))
}
