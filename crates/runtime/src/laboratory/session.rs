//! One session: the laboratory is moved, until the loop leaves or falls silent
//! and the rig is safe.

use std::io;
use std::net::SocketAddr;

use model::motion::Motion;

use super::Laboratory;
use super::listener::{AcceptedSession, Transmit};
use crate::clock::{Driving, Schedule};
use crate::gate::TripKind;
use crate::interlock::{Phase, Response, Stop};
use crate::link::LinkCounts;
use crate::link::wire::{Datagram, Kind, MOST_BYTES, Refusal, Room, Unverified};
use crate::measured::Validity;
use crate::realtime::Timing;
use crate::stop::StopHandle;

/// How a session ended.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEnd {
    /// What came and went.
    pub counts: LinkCounts,
    /// Seconds of silence when the watchdog took over, if it did.
    pub silent_s: Option<f64>,
    /// Seconds from the laboratory's own trip to its safe state, by the clock.
    pub safe_after_s: Option<f64>,
    /// How punctual its ticks were, where its own clock was the pace.
    pub timing: Timing,
}

/// How long after a command the laboratory ticks, in periods: one that is that much
/// later than usual is still in time, and so is an answer that takes the rest.
const COMMAND_LEAD: f64 = 0.25;
/// Most of a period by which a tick is drawn towards the loop's.
const MOST_DRAWN: f64 = 1.0 / 64.0;

/// A session of a laboratory with a loop: takes datagrams and the time, gives
/// answers, and says when it wants to be asked again. It does no I/O of its own.
///
/// Against the clock it drives the laboratory by a schedule of its own, which the
/// first command begins and later ones draw into step, a little at a time. A
/// command waits for the next tick and the newest one wins, so neither a stall nor a
/// burst makes the rig's time go faster. In virtual time the loop's commands are the
/// clock.
pub struct Session {
    accepted: AcceptedSession,
    laboratory: Laboratory,
    stop: StopHandle,
    driving: Driving,
    /// The laboratory's own ticks, once there are any.
    schedule: Option<Schedule>,
    timing: Timing,
    /// Whether a command has drawn the schedule since the last tick.
    drawn: bool,
    /// When the last tick was.
    ticked_ns: u64,
    /// What the next tick answers: the tick of the loop, and its clock.
    asked: Option<(u64, u64)>,
    command: Motion,
    /// The loop has been silent for too long, or has said goodbye.
    loop_is_gone: bool,
    heard_ns: u64,
    tripped_ns: Option<u64>,
    safe_ns: Option<u64>,
    silent_s: Option<f64>,
    out: Box<Room>,
}

impl Session {
    /// Begins now. The operator's stop trips, and was not pressed before the loop was
    /// accepted; a second press ends the hold, one during the ramp freezes it.
    pub fn new(
        now_ns: u64,
        accepted: AcceptedSession,
        mut laboratory: Laboratory,
        stop: &StopHandle,
    ) -> Self {
        laboratory.restrict(&accepted.terms.limits);
        Self {
            command: Motion::rest(laboratory.command().count()),
            driving: Driving::new(laboratory.source().bridge),
            accepted,
            laboratory,
            stop: stop.clone(),
            schedule: None,
            timing: Timing::default(),
            drawn: false,
            ticked_ns: now_ns,
            asked: None,
            loop_is_gone: false,
            heard_ns: now_ns,
            tripped_ns: None,
            safe_ns: None,
            silent_s: None,
            out: Box::new([0; MOST_BYTES]),
        }
    }

    /// The answer to the arm: what the sensors say.
    pub fn open(&mut self, now_ns: u64) -> Transmit<'_> {
        self.report(now_ns, 0, self.accepted.arm_ns)
    }

    /// Takes a datagram.
    pub fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &[u8]) -> Option<Transmit<'_>> {
        let asks = Unverified::read(bytes).ok().filter(|found| found.header().kind == Kind::Hello);
        if let Some(hello) = asks {
            return self.answer_hello(now_ns, from, &hello);
        }
        let AcceptedSession { peer, endpoint, .. } = &mut self.accepted;
        if from != *peer {
            endpoint.counts.foreign += 1;
            return None;
        }
        let datagram = endpoint.receive(bytes)?;
        self.heard_ns = now_ns;
        self.do_as_told(now_ns, &datagram)
    }

    /// Tells who has the token that the laboratory is busy. A copy of the loop's own hello needs
    /// no answer.
    fn answer_hello(
        &mut self,
        now_ns: u64,
        from: SocketAddr,
        hello: &Unverified<'_>,
    ) -> Option<Transmit<'_>> {
        let AcceptedSession { profile, nonce, endpoint, .. } = &mut self.accepted;
        let (key, echo_ns) = (profile.token.key(), hello.header().time_ns);
        let asked = hello.verified(&key).and_then(|hello| hello.handshake);
        if asked.is_some_and(|hello| hello.nonce == *nonce) {
            return None;
        }
        endpoint.counts.foreign += 1;
        let answer = [now_ns, echo_ns, asked?.nonce];
        let bytes = profile.refusal(answer, Refusal::Busy, &key, &mut self.out);
        Some(Transmit { to: from, bytes })
    }

    /// Does what is due: the operator's stop, the watchdog, and a tick of the
    /// laboratory with the answer that belongs to it.
    pub fn poll(&mut self, now_ns: u64) -> Option<Transmit<'_>> {
        self.driving.obey(&mut self.laboratory, self.stop.presses());
        let silent_s = 1e-9 * now_ns.saturating_sub(self.heard_ns) as f64;
        let limit_s = self.accepted.watchdog_s;
        if !self.loop_is_gone && silent_s > limit_s {
            self.loop_is_gone = true;
            if self.laboratory.tripped().is_none() {
                self.silent_s = Some(silent_s);
                self.laboratory.trip(TripKind::PeerSilent.trip(silent_s, limit_s).into());
            }
        }
        if self.loop_is_gone && self.schedule.is_none() {
            self.schedule = Some(Schedule::new(now_ns, self.laboratory.step_s()));
        }
        let is_due = self.schedule.as_ref().is_some_and(|schedule| now_ns >= schedule.next_ns());
        let ticks = is_due && !self.is_over();
        if ticks {
            self.tick(now_ns);
        }
        self.note_phase(now_ns);
        let (tick, echo_ns) = self.asked.take_if(|_| ticks)?;
        Some(self.report(now_ns, tick, echo_ns))
    }

    /// A tick of the laboratory by its own clock.
    fn tick(&mut self, now_ns: u64) {
        let Some(schedule) = &mut self.schedule else { return };
        let began = schedule.begin(now_ns);
        self.driving.count(&mut self.laboratory, &began);
        self.timing.wake_up.record(began.late_ns());
        let elapsed_s = 1e-9 * now_ns.saturating_sub(self.ticked_ns) as f64;
        (self.ticked_ns, self.drawn) = (now_ns, false);
        self.laboratory.tick_after(elapsed_s);
    }

    /// When it wants to be asked again, though nothing comes.
    pub fn next_timeout_ns(&self) -> u64 {
        let tick_ns = self.schedule.as_ref().map(Schedule::next_ns);
        if self.loop_is_gone {
            return tick_ns.unwrap_or(0);
        }
        // The watchdog bites after its time, not at it.
        let watchdog_ns = self.heard_ns + (1e9 * self.accepted.watchdog_s) as u64 + 1;
        watchdog_ns.min(tick_ns.unwrap_or(u64::MAX))
    }

    /// Whether the loop has left and the rig is safe.
    pub fn is_over(&self) -> bool {
        self.loop_is_gone && self.laboratory.is_safe()
    }

    /// Ends it.
    pub fn finish(mut self) -> (Laboratory, SessionEnd) {
        self.laboratory.record_end();
        let way = self.tripped_ns.zip(self.safe_ns);
        let end = SessionEnd {
            counts: self.accepted.endpoint.counts,
            silent_s: self.silent_s,
            safe_after_s: way.map(|(from, to)| 1e-9 * to.saturating_sub(from) as f64),
            timing: Timing { overruns: self.driving.overruns, ..self.timing },
        };
        (self.laboratory, end)
    }

    /// Counts an answer that could not be sent.
    pub(super) fn note(&mut self, sent: io::Result<()>) {
        self.accepted.endpoint.counts.unsent += u64::from(sent.is_err());
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

    fn do_as_told(&mut self, now_ns: u64, datagram: &Datagram<'_>) -> Option<Transmit<'_>> {
        let header = &datagram.header;
        // Not where the laboratory itself tripped first: that is why the loop did.
        if header.state != 0 && self.laboratory.tripped().is_none() {
            let tick = self.laboratory.ticks();
            self.laboratory.source.loop_trip.get_or_insert((header.trip, tick));
        }
        match header.kind {
            Kind::Command => {
                let tick = self.take_command(now_ns, datagram)?;
                return Some(self.report(now_ns, tick, header.time_ns));
            }
            // The first answer was lost.
            Kind::Arm if self.laboratory.source.next == 0 => {
                return Some(self.report(now_ns, 0, header.time_ns));
            }
            Kind::Arm => {}
            Kind::Stop => {
                let cause = TripKind::PeerTripped.trip(f64::from(header.trip), 0.0);
                self.laboratory.trip(cause.into());
            }
            Kind::Bye => {
                self.loop_is_gone = true;
                let cause = TripKind::PeerLeft.trip(0.0, 0.0);
                if header.state == Phase::Frozen as u8 {
                    self.laboratory.freeze(cause);
                } else if header.state == Phase::Running as u8 {
                    self.laboratory.trip(cause.into());
                } else {
                    // The loop had begun its way to safe: the laboratory ramps what is
                    // left of it at once, without a hold.
                    self.laboratory.trip(Stop { trip: cause, response: Response::RampDown });
                }
            }
            _ => self.accepted.endpoint.counts.foreign += 1,
        }
        self.note_phase(now_ns);
        None
    }

    /// Takes a command; gives the tick that is reported at once, if any is.
    fn take_command(&mut self, now_ns: u64, datagram: &Datagram<'_>) -> Option<u64> {
        let header = &datagram.header;
        let (tick, next) = (header.tick, self.laboratory.source.next);
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
        counts.bridge(tick - next, tick - next);
        datagram.block(0, &mut self.command.displacement);
        datagram.block(1, &mut self.command.velocity);
        datagram.block(2, &mut self.command.acceleration);
        let answered = tick.saturating_add(1);
        if self.accepted.lock_step && !self.loop_is_gone {
            self.laboratory.obey(tick, &self.command, header.state);
            self.note_phase(now_ns);
            return Some(answered);
        }
        self.laboratory.take(tick, &self.command, header.state);
        self.asked = Some((answered, header.time_ns));
        let step_s = self.laboratory.step_s();
        let tick_ns = now_ns + (1e9 * COMMAND_LEAD * step_s) as u64;
        let schedule = self.schedule.get_or_insert_with(|| Schedule::new(tick_ns, step_s));
        if !std::mem::replace(&mut self.drawn, true) && self.laboratory.tripped().is_none() {
            schedule.draw_towards(tick_ns, MOST_DRAWN);
        }
        None
    }

    /// Tells the loop what the sensors say.
    fn report(&mut self, now_ns: u64, tick: u64, echo_ns: u64) -> Transmit<'_> {
        let AcceptedSession { peer, endpoint, .. } = &mut self.accepted;
        endpoint.state = self.laboratory.phase() as u8;
        endpoint.trip = self.laboratory.tripped().map_or(0, |(trip, _)| trip.kind.code());
        let measured = self.laboratory.measured();
        endpoint.validity = u8::from(measured.validity != Validity::Fresh);
        for (value, own) in endpoint.auxiliary.iter_mut().zip(&measured.auxiliary) {
            *value = *own;
        }
        let blocks = [&measured.displacement[..], &measured.force, &measured.achieved];
        let bytes = endpoint.frame(now_ns, Kind::Measured, tick, echo_ns, None, blocks);
        Transmit { to: *peer, bytes }
    }

    /// Notes when the laboratory tripped, and when it was safe.
    fn note_phase(&mut self, now_ns: u64) {
        if self.tripped_ns.is_none() && self.laboratory.phase() != Phase::Running {
            self.tripped_ns = Some(now_ns);
        }
        if self.safe_ns.is_none() && self.laboratory.is_safe() {
            self.safe_ns = Some(now_ns);
        }
    }
}
