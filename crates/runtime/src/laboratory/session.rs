//! One session: the laboratory plays, until the loop leaves or falls silent and
//! the rig is safe.

use std::io;
use std::net::SocketAddr;

use model::motion::Motion;

use super::listener::SLICE;
use super::{Laboratory, ListenError, Listener, Visit};
use crate::gate::{Trip, TripKind};
use crate::interlock::{Phase, Response, Stop};
use crate::link::wire::{Datagram, Kind, MOST_BYTES};
use crate::link::{Heard, LinkCounts};
use crate::stop::StopButton;
use crate::system::{now_ns, sleep_until_ns};

/// Datagrams read between two ticks of the way to safe.
const MOST_READ: usize = 64;

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

struct Session<'a> {
    listener: &'a mut Listener,
    visit: Visit,
    laboratory: &'a mut Laboratory,
    command: Motion,
    talking: Loop,
    heard_ns: u64,
    /// Presses of the operator's button that were obeyed.
    presses: u32,
    tripped_ns: Option<u64>,
    silent_s: Option<f64>,
}

impl Listener {
    /// Plays the laboratory for a loop, until the session is over and the rig is
    /// safe. The operator's button trips; a second press changes nothing.
    pub fn play(
        &mut self,
        visit: Visit,
        laboratory: &mut Laboratory,
        stop: &StopButton,
    ) -> Result<SessionEnd, ListenError> {
        let count = laboratory.command().count();
        let mut session = Session {
            listener: self,
            visit,
            laboratory,
            command: Motion::rest(count),
            talking: Loop::Talking,
            heard_ns: now_ns(),
            presses: stop.presses(),
            tripped_ns: None,
            silent_s: None,
        };
        session.run(stop).map_err(|source| ListenError::Socket { source })
    }
}

impl Session<'_> {
    fn run(&mut self, stop: &StopButton) -> io::Result<SessionEnd> {
        let mut inbox = [0; MOST_BYTES + 1];
        let mut next_ns = None;
        let period_ns = (1e9 * self.laboratory.step_s()) as u64;
        let mut safe_ns = None;
        self.listener.socket.set_nonblocking(false)?;
        self.listener.socket.set_read_timeout(Some(SLICE))?;
        self.report(0, self.visit.arm_ns);
        while !(self.talking == Loop::Gone && self.laboratory.is_safe()) {
            if self.goes_alone() {
                let due_ns = match next_ns {
                    Some(due_ns) => due_ns,
                    None => {
                        self.listener.socket.set_nonblocking(true)?;
                        now_ns()
                    }
                };
                sleep_until_ns(due_ns);
                next_ns = Some(due_ns + period_ns);
                for _ in 0..MOST_READ {
                    let Ok((bytes, from)) = self.listener.socket.recv_from(&mut inbox) else {
                        break;
                    };
                    self.hear(&inbox[..bytes], from);
                }
                self.wait_for_room();
                self.laboratory.lead();
            } else if let Ok((bytes, from)) = self.listener.socket.recv_from(&mut inbox) {
                self.hear(&inbox[..bytes], from);
            }
            self.watch(stop);
            if safe_ns.is_none() && self.laboratory.is_safe() {
                safe_ns = Some(now_ns());
            }
        }
        self.laboratory.finish();
        let way = self.tripped_ns.zip(safe_ns);
        Ok(SessionEnd {
            counts: self.visit.end.counts,
            silent_s: self.silent_s,
            safe_after_s: way.map(|(from, to)| 1e-9 * to.saturating_sub(from) as f64),
        })
    }

    /// Whether the rig moves by the laboratory's own clock: it has tripped, and
    /// no loop sets the pace.
    fn goes_alone(&self) -> bool {
        let paced = !self.visit.lock_step || self.talking == Loop::Gone;
        paced && self.laboratory.tripped().is_some()
    }

    fn hear(&mut self, bytes: &[u8], from: SocketAddr) {
        if from != self.visit.peer {
            self.visit.end.counts.foreign += 1;
            if let Ok(datagram) = crate::link::wire::decode(bytes)
                && datagram.header.kind == Kind::Hello
            {
                self.listener.turn_away(&datagram, from);
            }
            return;
        }
        match self.visit.end.hear(bytes) {
            Heard::Nothing => {}
            Heard::Hello(datagram) => {
                let nonce = datagram.handshake.map(|hello| hello.nonce);
                if nonce == Some(self.visit.nonce) {
                    self.listener.welcome(&self.visit, datagram.header.time_ns);
                } else {
                    self.visit.end.counts.foreign += 1;
                    self.listener.turn_away(&datagram, from);
                }
            }
            Heard::Ours(datagram) => {
                self.heard_ns = now_ns();
                self.do_as_told(&datagram);
            }
        }
    }

    fn do_as_told(&mut self, datagram: &Datagram<'_>) {
        let header = &datagram.header;
        // Not where the laboratory itself tripped first: that is why the loop did.
        if header.state != 0 && self.laboratory.tripped().is_none() {
            self.laboratory.note_loop_trip(header.trip);
        }
        match header.kind {
            Kind::Command => self.take_command(datagram),
            // The first answer was lost.
            Kind::Arm if self.laboratory.tick() == 0 => self.report(0, header.time_ns),
            Kind::Arm => {}
            Kind::Stop => {
                let value = f64::from(header.trip);
                self.trip(TripKind::PeerTripped, value, 0.0, Response::Hold);
            }
            Kind::Bye => {
                self.talking = Loop::Gone;
                // A loop that has tripped has led the rig to where it shall stay,
                // and one that never sent a command has not moved it.
                let stays = header.state != 0 || self.laboratory.tick() == 0;
                let response = if stays { Response::Abort } else { Response::Hold };
                self.trip(TripKind::PeerLeft, 0.0, 0.0, response);
            }
            _ => self.visit.end.counts.foreign += 1,
        }
    }

    fn take_command(&mut self, datagram: &Datagram<'_>) {
        let header = &datagram.header;
        let (tick, next) = (header.tick, self.laboratory.tick());
        if self.laboratory.tripped().is_some() {
            // It goes its own way, at the loop's pace in virtual time.
            if !self.goes_alone() && tick >= next {
                self.wait_for_room();
                self.laboratory.lead();
            }
            self.report(tick.saturating_add(1), header.time_ns);
            return;
        }
        if tick < next {
            // Asked again: its answer was lost. Otherwise later than a later one.
            if tick + 1 == next && self.visit.lock_step {
                self.visit.end.counts.resent += 1;
                self.report(next, header.time_ns);
            } else {
                self.visit.end.counts.late += 1;
            }
            return;
        }
        self.visit.end.counts.bridge_row(tick - next);
        datagram.block(0, &mut self.command.displacement);
        datagram.block(1, &mut self.command.velocity);
        datagram.block(2, &mut self.command.acceleration);
        self.wait_for_room();
        self.laboratory.obey(tick, &self.command, header.state);
        self.note_trip();
        self.report(tick.saturating_add(1), header.time_ns);
    }

    /// Tells the loop what the sensors say.
    fn report(&mut self, tick: u64, echo_ns: u64) {
        let end = &mut self.visit.end;
        end.state = self.laboratory.phase() as u8;
        end.trip = self.laboratory.tripped().map_or(0, |(trip, _)| trip.kind.code());
        let measured = self.laboratory.measured();
        let blocks = [&measured.displacement[..], &measured.force, &measured.achieved];
        let bytes = end.frame(Kind::Measured, tick, echo_ns, None, blocks);
        if self.listener.socket.send_to(bytes, self.visit.peer).is_err() {
            self.visit.end.counts.unsent += 1;
        }
    }

    /// The operator's button and the watchdog.
    fn watch(&mut self, stop: &StopButton) {
        if stop.presses() != self.presses {
            self.presses = stop.presses();
            self.trip(TripKind::Operator, 0.0, 0.0, Response::Hold);
        }
        let silent_s = 1e-9 * now_ns().saturating_sub(self.heard_ns) as f64;
        if self.talking == Loop::Talking && silent_s > self.visit.watchdog_s {
            self.talking = Loop::Gone;
            if self.laboratory.tripped().is_none() {
                self.silent_s = Some(silent_s);
                let limit = self.visit.watchdog_s;
                self.trip(TripKind::PeerSilent, silent_s, limit, Response::Hold);
            }
        }
    }

    fn trip(&mut self, kind: TripKind, value: f64, limit: f64, response: Response) {
        self.laboratory.trip(Stop { trip: Trip { kind, dof: 0, value, limit }, response });
        self.note_trip();
    }

    fn note_trip(&mut self) {
        if self.tripped_ns.is_none() && self.laboratory.phase() != Phase::Running {
            self.tripped_ns = Some(now_ns());
        }
    }

    /// In virtual time no frame is lost; against the clock the tick never waits.
    fn wait_for_room(&mut self) {
        if self.visit.lock_step
            && let Some(sink) = self.laboratory.sink_mut()
        {
            sink.wait_for_room();
        }
    }
}
