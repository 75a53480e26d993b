//! One session: the laboratory is moved, until the loop leaves or falls silent
//! and the rig is safe.

use std::net::SocketAddr;

use model::motion::Motion;

use super::Laboratory;
use super::listener::{AcceptedSession, Transmit};
use crate::gate::{Trip, TripKind};
use crate::interlock::{Phase, Response, Stop};
use crate::link::wire::{Datagram, Kind, MOST_BYTES, decode};
use crate::link::{LinkCounts, Received};
use crate::stop::StopHandle;

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionEnd {
    /// What came and went.
    pub counts: LinkCounts,
    /// Seconds of silence when the watchdog took over, if it did.
    pub silent_s: Option<f64>,
    /// Seconds from the laboratory's own trip to its safe state, by the clock.
    pub safe_after_s: Option<f64>,
}

/// Whether the loop is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loop {
    Talking,
    /// Silent for too long, or it said goodbye.
    Gone,
}

/// A session of a laboratory with a loop: takes datagrams and the time, gives
/// answers, and says when it wants to be asked again. It does no I/O of its own.
pub struct Session {
    accepted: AcceptedSession,
    laboratory: Laboratory,
    stop: StopHandle,
    command: Motion,
    talking: Loop,
    heard_ns: u64,
    /// Presses of the operator's stop that were obeyed.
    presses: u32,
    tripped_ns: Option<u64>,
    /// When the rig was given its last command.
    commanded_ns: u64,
    safe_ns: Option<u64>,
    silent_s: Option<f64>,
    /// The next tick of the way to safe, while no loop sets the pace.
    due_ns: Option<u64>,
    out: Box<[u8; MOST_BYTES]>,
}

impl Session {
    /// Begins now. The operator's stop trips; a second press freezes the ramp.
    pub fn new(
        now_ns: u64,
        accepted: AcceptedSession,
        laboratory: Laboratory,
        stop: &StopHandle,
    ) -> Self {
        Self {
            command: Motion::rest(laboratory.command().count()),
            accepted,
            laboratory,
            talking: Loop::Talking,
            heard_ns: now_ns,
            presses: stop.presses(),
            stop: stop.clone(),
            tripped_ns: None,
            commanded_ns: 0,
            safe_ns: None,
            silent_s: None,
            due_ns: None,
            out: Box::new([0; MOST_BYTES]),
        }
    }

    /// The answer to the arm: what the sensors say.
    pub fn open(&mut self, now_ns: u64) -> Transmit<'_> {
        self.report(now_ns, 0, self.accepted.arm_ns)
    }

    /// Takes a datagram.
    pub fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &[u8]) -> Option<Transmit<'_>> {
        let AcceptedSession { profile, peer, nonce, endpoint, .. } = &mut self.accepted;
        if from != *peer {
            endpoint.counts.foreign += 1;
            let datagram = decode(bytes).ok().filter(|it| it.header.kind == Kind::Hello)?;
            return profile.refuse_busy(now_ns, &datagram, from, &mut self.out);
        }
        match endpoint.receive(bytes) {
            Received::Nothing => None,
            Received::Hello(datagram) => {
                if datagram.handshake.map(|hello| hello.nonce) == Some(*nonce) {
                    let echo_ns = datagram.header.time_ns;
                    return Some(self.accepted.welcome(now_ns, echo_ns, &mut self.out));
                }
                endpoint.counts.foreign += 1;
                profile.refuse_busy(now_ns, &datagram, from, &mut self.out)
            }
            Received::Ours(datagram) => {
                self.heard_ns = now_ns;
                self.do_as_told(now_ns, &datagram)
            }
        }
    }

    /// Does what is due without a datagram: the operator's stop, the watchdog,
    /// and a tick of the way to safe.
    pub fn poll(&mut self, now_ns: u64) {
        if self.stop.presses() != self.presses {
            self.presses = self.stop.presses();
            self.trip(now_ns, TripKind::Operator, [0.0; 2], Response::Hold);
        }
        let silent_s = 1e-9 * now_ns.saturating_sub(self.heard_ns) as f64;
        let limit_s = self.accepted.watchdog_s;
        if self.talking == Loop::Talking && silent_s > limit_s {
            self.talking = Loop::Gone;
            if self.laboratory.tripped().is_none() {
                self.silent_s = Some(silent_s);
                self.trip(now_ns, TripKind::PeerSilent, [silent_s, limit_s], Response::Hold);
            }
        }
        if self.goes_alone() && !self.is_over() {
            let due_ns = *self.due_ns.get_or_insert(now_ns);
            if now_ns >= due_ns {
                self.laboratory.lead();
                // Whole periods that were missed are gone for good: the rig never
                // makes up for them.
                let period_ns = (1e9 * self.laboratory.step_s()) as u64;
                let missed = (now_ns - due_ns) / period_ns.max(1);
                self.due_ns = Some(due_ns + (missed + 1) * period_ns);
            }
        }
        if self.safe_ns.is_none() && self.laboratory.is_safe() {
            self.safe_ns = Some(now_ns);
        }
    }

    /// When it wants to be asked again, though nothing comes.
    pub fn next_timeout_ns(&self) -> u64 {
        // The watchdog bites after its time, not at it.
        let watchdog_ns = self.heard_ns + (1e9 * self.accepted.watchdog_s) as u64 + 1;
        match self.due_ns {
            Some(due_ns) => due_ns,
            None if self.goes_alone() => 0,
            None if self.talking == Loop::Gone => u64::MAX,
            None => watchdog_ns,
        }
    }

    /// Whether the loop has left and the rig is safe.
    pub fn is_over(&self) -> bool {
        self.talking == Loop::Gone && self.laboratory.is_safe()
    }

    /// Ends it.
    pub fn finish(mut self) -> (Laboratory, SessionEnd) {
        self.laboratory.finish();
        let way = self.tripped_ns.zip(self.safe_ns);
        let end = SessionEnd {
            counts: self.accepted.endpoint.counts,
            silent_s: self.silent_s,
            safe_after_s: way.map(|(from, to)| 1e-9 * to.saturating_sub(from) as f64),
        };
        (self.laboratory, end)
    }

    /// An answer could not be sent.
    pub(super) fn note_unsent(&mut self) {
        self.accepted.endpoint.counts.unsent += 1;
    }

    /// In virtual time no frame is lost: the shell waits before the next datagram.
    /// Against the clock the tick never waits.
    pub(super) fn wait_for_room(&mut self) {
        if self.accepted.lock_step
            && let Some(sink) = self.laboratory.sink_mut()
        {
            sink.wait_for_room();
        }
    }

    /// Whether the rig moves by the laboratory's own clock: it has tripped, and
    /// no loop sets the pace.
    fn goes_alone(&self) -> bool {
        let paced = !self.accepted.lock_step || self.talking == Loop::Gone;
        paced && self.laboratory.tripped().is_some()
    }

    fn do_as_told(&mut self, now_ns: u64, datagram: &Datagram<'_>) -> Option<Transmit<'_>> {
        let header = &datagram.header;
        // Not where the laboratory itself tripped first: that is why the loop did.
        if header.state != 0 && self.laboratory.tripped().is_none() {
            self.laboratory.note_loop_trip(header.trip);
        }
        match header.kind {
            Kind::Command => {
                let tick = self.take_command(now_ns, datagram)?;
                return Some(self.report(now_ns, tick, header.time_ns));
            }
            // The first answer was lost.
            Kind::Arm if self.laboratory.tick() == 0 => {
                return Some(self.report(now_ns, 0, header.time_ns));
            }
            Kind::Arm => {}
            Kind::Stop => {
                let value = f64::from(header.trip);
                self.trip(now_ns, TripKind::PeerTripped, [value, 0.0], Response::Hold);
            }
            Kind::Bye => {
                self.talking = Loop::Gone;
                // A loop that has tripped has led the rig to where it shall stay,
                // and one that never sent a command has not moved it.
                let stays = header.state != 0 || self.laboratory.tick() == 0;
                let response = if stays { Response::Abort } else { Response::Hold };
                self.trip(now_ns, TripKind::PeerLeft, [0.0; 2], response);
            }
            _ => self.accepted.endpoint.counts.foreign += 1,
        }
        None
    }

    /// Takes a command; gives the tick that is reported, if any is.
    fn take_command(&mut self, now_ns: u64, datagram: &Datagram<'_>) -> Option<u64> {
        let header = &datagram.header;
        let (tick, next) = (header.tick, self.laboratory.tick());
        if self.laboratory.tripped().is_some() {
            // It goes its own way, at the loop's pace in virtual time.
            if !self.goes_alone() && tick >= next {
                self.laboratory.lead();
            }
            return Some(tick.saturating_add(1));
        }
        let counts = &mut self.accepted.endpoint.counts;
        if tick < next {
            // Asked again: its answer was lost. Otherwise later than a later one.
            if tick + 1 == next && self.accepted.lock_step {
                counts.resent += 1;
                return Some(next);
            }
            counts.late += 1;
            return None;
        }
        counts.bridge_row(tick - next);
        datagram.block(0, &mut self.command.displacement);
        datagram.block(1, &mut self.command.velocity);
        datagram.block(2, &mut self.command.acceleration);
        // In virtual time a tick is a period; else the laboratory's own clock tells.
        let elapsed_s = if self.accepted.lock_step {
            self.laboratory.step_s()
        } else {
            1e-9 * now_ns.saturating_sub(self.commanded_ns) as f64
        };
        self.commanded_ns = now_ns;
        self.laboratory.obey(tick, &self.command, header.state, elapsed_s);
        self.note_trip(now_ns);
        Some(tick.saturating_add(1))
    }

    /// Tells the loop what the sensors say.
    fn report(&mut self, now_ns: u64, tick: u64, echo_ns: u64) -> Transmit<'_> {
        let AcceptedSession { peer, endpoint, .. } = &mut self.accepted;
        endpoint.state = self.laboratory.phase() as u8;
        endpoint.trip = self.laboratory.tripped().map_or(0, |(trip, _)| trip.kind.code());
        let measured = self.laboratory.measured();
        let blocks = [&measured.displacement[..], &measured.force, &measured.achieved];
        let bytes = endpoint.frame(now_ns, Kind::Measured, tick, echo_ns, None, blocks);
        Transmit { to: *peer, bytes }
    }

    fn trip(&mut self, now_ns: u64, kind: TripKind, [value, limit]: [f64; 2], response: Response) {
        self.laboratory.trip(Stop { trip: Trip { kind, dof: 0, value, limit }, response });
        self.note_trip(now_ns);
    }

    fn note_trip(&mut self, now_ns: u64) {
        if self.tripped_ns.is_none() && self.laboratory.phase() != Phase::Running {
            self.tripped_ns = Some(now_ns);
        }
    }
}
