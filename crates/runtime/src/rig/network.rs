//! A rig at the end of a wire, as the loop sees it.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use model::channel::Channel;
use model::motion::Motion;

use super::{Measured, Rig, RigFault, Validity};
use crate::gate::TripKind;
use crate::interlock::Phase;
use crate::link::wire::{
    Datagram, Handshake, Header, Kind, LOCK_STEP, MOST_BYTES, MOST_DOFS, PACED, Refusal, decode,
    encode,
};
use crate::link::{Bridge, End, Heard, LinkCounts, LinkError, LinkPlan, Pace, Ticks, unguessable};
use crate::system::{now_ns, received_at_ns, wall_ns};

/// Between two tries of the handshake.
const KNOCK: Duration = Duration::from_millis(100);
/// In lock-step, how long an answer may take before it is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// Datagrams read in one tick: a flood must not stop the clock.
const MOST_READ: usize = 64;

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

/// A rig at the end of a wire.
///
/// In lock-step each measurement waits for its answer and asks again; against
/// the clock it takes what is there and bridges what is not. Neither allocates.
pub struct NetworkRig {
    socket: UdpSocket,
    end: End,
    pace: Pace,
    step_s: f64,
    peer: Peer,
    inbox: Box<[u8; MOST_BYTES + 1]>,
    /// The tick whose measurement is wanted next.
    tick: u64,
    newest: Answer,
    before: Answer,
    /// Ticks that have been answered: an answer may come twice under two numbers.
    answered: Ticks,
    command: Motion,
    /// When the last command was sent, by the wall clock; receipts are stamped by it.
    sent_wall_ns: u64,
    round_trip_ns: Option<u64>,
    in_a_row: u64,
    /// Set when the other side was given up: nobody waits for it any more.
    silent: bool,
    /// Until it was told that the test is over.
    armed: bool,
}

/// One measurement that came.
struct Answer {
    tick: u64,
    time_ns: u64,
    measured: Measured,
    state: u8,
    trip: u8,
}

impl Answer {
    fn none(count: usize) -> Self {
        Self { tick: 0, time_ns: 0, measured: Measured::zeros(count), state: 0, trip: 0 }
    }

    fn read(&mut self, datagram: &Datagram<'_>) {
        let header = &datagram.header;
        (self.tick, self.time_ns) = (header.tick, header.time_ns);
        (self.state, self.trip) = (header.state, header.trip);
        datagram.block(0, &mut self.measured.displacement);
        datagram.block(1, &mut self.measured.force);
        datagram.block(2, &mut self.measured.achieved);
    }
}

impl NetworkRig {
    /// Finds the laboratory, agrees with it and closes the loop: its sensors
    /// have answered once when this returns.
    pub fn connect(plan: &LinkPlan) -> Result<Self, LinkError> {
        let (count, address) = (plan.count, plan.address);
        if count > MOST_DOFS {
            return Err(LinkError::TooManyDofs { count });
        }
        let socket = connected(address)?;
        let until = Instant::now() + Duration::from_secs_f64(plan.connect_s);
        let mut inbox = Box::new([0; MOST_BYTES + 1]);
        let (session, nonce, peer) = knock(plan, &socket, until, &mut inbox)?;
        let mut rig = Self {
            socket,
            end: End::new(session, count),
            pace: plan.pace,
            step_s: 1.0 / plan.rate_hz,
            peer,
            inbox,
            tick: 0,
            newest: Answer::none(count),
            before: Answer::none(count),
            answered: Ticks::default(),
            command: Motion::rest(count),
            sent_wall_ns: 0,
            round_trip_ns: None,
            in_a_row: 0,
            silent: false,
            armed: true,
        };
        rig.arm(plan, nonce, until)?;
        Ok(rig)
    }

    /// Asks who is there and whether it would play, without closing the loop.
    pub fn find(plan: &LinkPlan) -> Result<Peer, LinkError> {
        if plan.count > MOST_DOFS {
            return Err(LinkError::TooManyDofs { count: plan.count });
        }
        let socket = connected(plan.address)?;
        let until = Instant::now() + Duration::from_secs_f64(plan.connect_s);
        knock(plan, &socket, until, &mut [0; MOST_BYTES + 1]).map(|(_, _, peer)| peer)
    }

    /// What the laboratory told of itself.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Asks the laboratory to close the loop, until its sensors answer.
    fn arm(&mut self, plan: &LinkPlan, nonce: u64, until: Instant) -> Result<(), LinkError> {
        let address = plan.address;
        let tag = plan.token.tag(Kind::Arm, nonce, self.end.session());
        let handshake = handshake(plan, nonce, tag);
        let blocks = [&plan.limits[0][..], &plan.limits[1], &plan.limits[2]];
        while self.end.counts.received == 0 {
            if Instant::now() >= until {
                return Err(LinkError::NoAnswer { address, waited_s: plan.connect_s });
            }
            let bytes = self.end.frame(Kind::Arm, 0, 0, Some(&handshake), blocks);
            let _ = self.socket.send(bytes);
            let again = Instant::now() + KNOCK;
            while self.end.counts.received == 0 && Instant::now() < again {
                if let Ok(bytes) = self.socket.recv(&mut self.inbox[..]) {
                    self.take(bytes);
                }
            }
        }
        let ready = match self.pace {
            Pace::LockStep { .. } => self.socket.set_read_timeout(Some(ASK_AGAIN)),
            Pace::Paced { .. } => self.socket.set_nonblocking(true),
        };
        ready.map_err(|source| LinkError::Socket { what: "prepare the socket to", address, source })
    }

    /// Takes what stands in the inbox.
    fn take(&mut self, bytes: usize) {
        let Heard::Ours(datagram) = self.end.hear(&self.inbox[..bytes]) else { return };
        let tick = datagram.header.tick;
        match datagram.header.kind {
            // It cannot have answered what it was not asked.
            Kind::Measured if tick > self.tick => self.end.counts.foreign += 1,
            Kind::Measured => {
                if !self.answered.see(tick) {
                    self.end.counts.duplicated += 1;
                    return;
                }
                if tick < self.tick {
                    self.end.counts.late += 1;
                } else {
                    let stamp = received_at_ns(&self.socket);
                    self.round_trip_ns = stamp.map(|at| at.saturating_sub(self.sent_wall_ns));
                }
                if tick > self.newest.tick || tick == 0 {
                    std::mem::swap(&mut self.before, &mut self.newest);
                    self.newest.read(&datagram);
                }
            }
            Kind::Stop => {
                self.newest.state = datagram.header.state.max(Phase::Holding as u8);
                self.newest.trip = datagram.header.trip;
            }
            _ => self.end.counts.foreign += 1,
        }
    }

    /// Reads what is there, without waiting.
    fn drain(&mut self) {
        for _ in 0..MOST_READ {
            match self.socket.recv(&mut self.inbox[..]) {
                Ok(bytes) => self.take(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Nobody listens there, or no way to it: the silence will tell.
                Err(_) => self.end.counts.unsent += 1,
            }
        }
    }

    fn is_answered(&self) -> bool {
        self.newest.tick == self.tick
    }

    /// Waits for the answer, asking again now and then.
    fn wait(&mut self, timeout_s: f64) {
        let begun = Instant::now();
        let mut asked = begun;
        while !self.is_answered() {
            match self.socket.recv(&mut self.inbox[..]) {
                Ok(bytes) => self.take(bytes),
                Err(error) if is_patience(error.kind()) => {}
                Err(_) => self.end.counts.unsent += 1,
            }
            if !self.is_answered() && asked.elapsed() >= ASK_AGAIN {
                if begun.elapsed().as_secs_f64() >= timeout_s {
                    return;
                }
                asked = Instant::now();
                self.end.counts.resent += 1;
                self.send_command(self.tick - 1);
            }
        }
    }

    fn send_command(&mut self, tick: u64) {
        let command = &self.command;
        let blocks = [&command.displacement[..], &command.velocity, &command.acceleration];
        let bytes = self.end.frame(Kind::Command, tick, self.newest.time_ns, None, blocks);
        self.sent_wall_ns = wall_ns();
        if self.socket.send(bytes).is_err() {
            self.end.counts.unsent += 1;
        }
    }

    /// Puts something in the place of an answer that is missing.
    fn bridge(&self, by: Bridge, measured: &mut Measured) {
        let (newest, before) = (&self.newest, &self.before);
        let ahead = (self.tick - newest.tick) as f64;
        let share = match by {
            Bridge::Line if newest.tick > before.tick => ahead / (newest.tick - before.tick) as f64,
            _ => 0.0,
        };
        let line = |out: &mut [f64], last: &[f64], earlier: &[f64]| {
            for ((out, last), earlier) in out.iter_mut().zip(last).zip(earlier) {
                // Not a product with zero: the one before may not be a number.
                *out = if share == 0.0 { *last } else { last + share * (last - earlier) };
            }
        };
        let (now, then) = (&newest.measured, &before.measured);
        line(&mut measured.displacement, &now.displacement, &then.displacement);
        line(&mut measured.force, &now.force, &then.force);
        measured.achieved.fill(f64::NAN);
    }
}

impl Rig for NetworkRig {
    fn channels(&self) -> Vec<Channel> {
        LinkPlan::channels()
    }

    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        self.round_trip_ns = None;
        match self.pace {
            _ if self.is_answered() => {}
            Pace::LockStep { timeout_s } if !self.silent => self.wait(timeout_s),
            _ => self.drain(),
        }
        if self.is_answered() {
            self.in_a_row = 0;
            measured.validity = Validity::Fresh;
            measured.displacement.copy_from_slice(&self.newest.measured.displacement);
            measured.force.copy_from_slice(&self.newest.measured.force);
            measured.achieved.copy_from_slice(&self.newest.measured.achieved);
        } else {
            self.in_a_row += 1;
            self.end.counts.bridge(self.in_a_row);
            let by = match self.pace {
                Pace::LockStep { .. } => Bridge::Hold,
                // Beyond what is bridged, and on the way to safe, nothing is made up.
                Pace::Paced { bridge, .. }
                    if self.in_a_row > bridge || self.end.state != Phase::Running as u8 =>
                {
                    Bridge::Hold
                }
                Pace::Paced { bridge_by, .. } => bridge_by,
            };
            self.bridge(by, measured);
        }
        measured.round_trip_ns = self.round_trip_ns;
        if let [bridged, phase] = &mut measured.auxiliary[..] {
            *bridged = self.in_a_row as f64;
            *phase = f64::from(self.newest.state);
        }
        self.health(measured)
    }

    fn actuate(&mut self, command: &Motion) {
        self.command.copy_from(command);
        self.send_command(self.tick);
        self.tick += 1;
    }

    fn on_trip(&mut self, cause: TripKind) {
        self.end.state = Phase::Holding as u8;
        self.end.trip = cause.code();
    }

    /// Ends the session. After a trip the loop has led the rig to safe; before
    /// one the laboratory does it by itself. It also would if this were lost.
    fn disarm(&mut self) {
        if std::mem::take(&mut self.armed) {
            for _ in 0..3 {
                let bytes = self.end.frame(Kind::Bye, self.tick, 0, None, [&[]; 3]);
                let _ = self.socket.send(bytes);
            }
        }
    }

    fn link(&self) -> Option<&LinkCounts> {
        Some(&self.end.counts)
    }
}

impl NetworkRig {
    /// Whether the other end is there and has not tripped.
    fn health(&mut self, measured: &mut Measured) -> Result<(), RigFault> {
        let (allowed, for_s, allowed_s) = match self.pace {
            Pace::LockStep { timeout_s } => (0, timeout_s, timeout_s),
            Pace::Paced { bridge, .. } => {
                (bridge, self.in_a_row as f64 * self.step_s, bridge as f64 * self.step_s)
            }
        };
        if self.in_a_row > 0 {
            measured.validity = Validity::Bridged { ticks: self.in_a_row, for_s, allowed_s };
        }
        if self.in_a_row > allowed && !self.silent {
            self.silent = true;
            // Its answers are still read on the way to safe, but not waited for.
            let _ = self.socket.set_nonblocking(true);
        }
        if self.newest.state != Phase::Running as u8 {
            return Err(RigFault::tripped(self.newest.trip));
        }
        if self.in_a_row > allowed {
            return Err(RigFault::silent(for_s, allowed_s));
        }
        Ok(())
    }
}

impl Drop for NetworkRig {
    fn drop(&mut self) {
        self.disarm();
    }
}

fn is_patience(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// A socket that hears nobody but this address.
fn connected(address: SocketAddr) -> Result<UdpSocket, LinkError> {
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let failed = |what, source| LinkError::Socket { what, address, source };
    let socket = UdpSocket::bind(any).map_err(|error| failed("open a socket to", error))?;
    socket.connect(address).map_err(|error| failed("reach", error))?;
    socket
        .set_read_timeout(Some(KNOCK / 4))
        .map_err(|error| failed("prepare the socket to", error))?;
    Ok(socket)
}

fn handshake(plan: &LinkPlan, nonce: u64, tag: u64) -> Handshake {
    let (modes, patience_s) = match plan.pace {
        Pace::LockStep { timeout_s } => (LOCK_STEP, timeout_s),
        Pace::Paced { .. } => (PACED, 0.0),
    };
    let watchdog_ns = (1e9 * patience_s) as u64;
    Handshake { rate_hz: plan.rate_hz, nonce, tag, watchdog_ns, modes, reason: 0 }
}

/// Says hello until someone answers. Gives session, nonce and who it is.
fn knock(
    plan: &LinkPlan,
    socket: &UdpSocket,
    until: Instant,
    inbox: &mut [u8; MOST_BYTES + 1],
) -> Result<(u64, u64, Peer), LinkError> {
    let (address, nonce) = (plan.address, unguessable());
    let hello = handshake(plan, nonce, plan.token.tag(Kind::Hello, nonce, 0));
    let blocks = [&plan.limits[0][..], &plan.limits[1], &plan.limits[2]];
    let mut out = [0; MOST_BYTES];
    let mut busy = None;
    while Instant::now() < until {
        let header = Header {
            kind: Kind::Hello,
            dofs: plan.count as u8,
            session: 0,
            sequence: 0,
            time_ns: now_ns(),
            tick: 0,
            echo_ns: 0,
            state: 0,
            trip: 0,
        };
        let _ = socket.send(encode(&header, Some(&hello), blocks, &mut out));
        let again = Instant::now() + KNOCK;
        while Instant::now() < again {
            let Ok(bytes) = socket.recv(&mut inbox[..]) else { continue };
            let Ok(datagram) = decode(&inbox[..bytes]) else { continue };
            let Some(answer) = datagram.handshake.filter(|answer| answer.nonce == nonce) else {
                continue;
            };
            match (datagram.header.kind, Refusal::from_code(answer.reason)) {
                // It may be free in a moment.
                (Kind::Refuse, reason @ Refusal::Busy) => busy = Some(reason),
                (Kind::Refuse, reason) => return Err(LinkError::Refused { address, reason }),
                (Kind::Welcome, _) => return welcomed(plan, &datagram, &answer),
                _ => {}
            }
        }
    }
    Err(match busy {
        Some(reason) => LinkError::Refused { address, reason },
        None => LinkError::NoAnswer { address, waited_s: plan.connect_s },
    })
}

/// Checks a welcome: it comes from who knows the token and fits the test.
fn welcomed(
    plan: &LinkPlan,
    datagram: &Datagram<'_>,
    answer: &Handshake,
) -> Result<(u64, u64, Peer), LinkError> {
    let (address, session) = (plan.address, datagram.header.session);
    if answer.tag != plan.token.tag(Kind::Welcome, answer.nonce, session) {
        return Err(LinkError::Impostor { address });
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
    let peer = Peer { address, watchdog_s, limits, modes: answer.modes };
    Ok((session, answer.nonce, peer))
}
