//! Commands against measurements, tick by tick.

use std::io;

use model::motion::Motion;

use crate::gate::TripKind;
use crate::interlock::Phase;
use crate::link::wire::{Datagram, Kind};
use crate::link::{Bridge, Endpoint, LinkPlan, Pace, Received, Seen, Window};
use crate::rig::{Measured, RigFault, Validity};

/// In lock-step, how long an answer may take before it is asked for again, ns.
const ASK_AGAIN_NS: u64 = 20_000_000;

/// The loop's end of a session: takes datagrams and the time, makes a datagram of
/// each command, and puts something in the place of answers that are missing.
/// Neither allocates nor does I/O.
pub(super) struct Exchange {
    pub(super) endpoint: Endpoint,
    pace: Pace,
    step_s: f64,
    /// The tick whose measurement is wanted next.
    tick: u64,
    newest: Answer,
    before: Answer,
    /// Ticks that have been answered: an answer may come twice under two numbers.
    answered: Window,
    command: Motion,
    in_a_row: u64,
    /// Set when the other side was given up: nobody waits for it any more.
    silent: bool,
}

/// A tick in lock-step that has no answer yet.
pub(super) struct Wait {
    begun_ns: u64,
    asked_ns: u64,
    timeout_ns: u64,
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

impl Exchange {
    pub(super) fn new(plan: &LinkPlan, session: u64) -> Self {
        let count = plan.count;
        Self {
            endpoint: Endpoint::new(session, count),
            pace: plan.pace,
            step_s: 1.0 / plan.rate_hz,
            tick: 0,
            newest: Answer::none(count),
            before: Answer::none(count),
            answered: Window::default(),
            command: Motion::rest(count),
            in_a_row: 0,
            silent: false,
        }
    }

    /// Takes a datagram; says whether it is the answer that this tick needs.
    pub(super) fn handle(&mut self, bytes: &[u8]) -> bool {
        let Received::Ours(datagram) = self.endpoint.receive(bytes) else { return false };
        let tick = datagram.header.tick;
        let counts = &mut self.endpoint.counts;
        match datagram.header.kind {
            // It cannot have answered what it was not asked.
            Kind::Measured if tick > self.tick => counts.foreign += 1,
            Kind::Measured => {
                // The window's numbers begin with one.
                if self.answered.see(tick.saturating_add(1)) == Seen::Again {
                    counts.duplicated += 1;
                    return false;
                }
                if tick < self.tick {
                    counts.late += 1;
                }
                if tick > self.newest.tick || tick == 0 {
                    std::mem::swap(&mut self.before, &mut self.newest);
                    self.newest.read(&datagram);
                }
                return tick == self.tick;
            }
            Kind::Stop => {
                self.newest.state = datagram.header.state.max(Phase::Holding as u8);
                self.newest.trip = datagram.header.trip;
            }
            _ => counts.foreign += 1,
        }
        false
    }

    /// Counts a datagram that the system did not take.
    pub(super) fn note(&mut self, sent: io::Result<()>) {
        self.endpoint.counts.unsent += u64::from(sent.is_err());
    }

    pub(super) fn is_answered(&self) -> bool {
        self.newest.tick == self.tick
    }

    /// Whether this tick waits for its answer, and from now on how long.
    pub(super) fn wait(&self, now_ns: u64) -> Option<Wait> {
        match self.pace {
            Pace::LockStep { timeout_s } if !self.silent && !self.is_answered() => Some(Wait {
                begun_ns: now_ns,
                asked_ns: now_ns,
                timeout_ns: (1e9 * timeout_s) as u64,
            }),
            _ => None,
        }
    }

    /// The command again, if its answer takes too long.
    pub(super) fn ask_again(&mut self, now_ns: u64, wait: &mut Wait) -> Option<&[u8]> {
        if now_ns < wait.next_timeout_ns() {
            return None;
        }
        wait.asked_ns = now_ns;
        self.endpoint.counts.resent += 1;
        Some(self.frame(now_ns, self.tick - 1))
    }

    /// The command of this tick as a datagram; the next one begins.
    pub(super) fn send(&mut self, now_ns: u64, command: &Motion) -> &[u8] {
        self.command.copy_from(command);
        self.tick += 1;
        self.frame(now_ns, self.tick - 1)
    }

    fn frame(&mut self, now_ns: u64, tick: u64) -> &[u8] {
        let command = &self.command;
        let blocks = [&command.displacement[..], &command.velocity, &command.acceleration];
        self.endpoint.frame(now_ns, Kind::Command, tick, self.newest.time_ns, None, blocks)
    }

    /// The session is over. The laboratory goes the rest of the way to zero by
    /// itself, as it also would if this were lost; but a rig that an abort or a
    /// second stop left standing shall stand.
    pub(super) fn goodbye(&mut self, now_ns: u64, left: Phase) -> &[u8] {
        let stands = self.command.displacement.iter().any(|x| *x != 0.0);
        self.endpoint.state = match left {
            Phase::Safe if stands => Phase::Frozen,
            Phase::Holding | Phase::Ramping | Phase::Safe | Phase::Frozen => left,
            Phase::Running | Phase::Initiating | Phase::Completing | Phase::Homing => {
                Phase::Running
            }
        } as u8;
        self.endpoint.frame(now_ns, Kind::Bye, self.tick, 0, None, [&[]; 3])
    }

    /// The measurement of this tick, or what stands in for it; says whether the
    /// other end is there and has not tripped.
    pub(super) fn measure(&mut self, measured: &mut Measured) -> Result<(), RigFault> {
        if self.is_answered() {
            self.in_a_row = 0;
            let newest = &self.newest.measured;
            measured.validity = Validity::Fresh;
            measured.displacement.copy_from_slice(&newest.displacement);
            measured.force.copy_from_slice(&newest.force);
            measured.achieved.copy_from_slice(&newest.achieved);
        } else {
            self.in_a_row += 1;
            self.endpoint.counts.bridge(1, self.in_a_row);
            self.bridge(measured);
        }
        if let [bridged, phase] = &mut measured.auxiliary[..] {
            *bridged = self.in_a_row as f64;
            *phase = f64::from(self.newest.state);
        }
        self.health(measured)
    }

    /// Puts something in the place of an answer that is missing.
    fn bridge(&self, measured: &mut Measured) {
        let (newest, before) = (&self.newest, &self.before);
        // Beyond what is bridged, and on the way to safe, nothing is made up.
        let goes_on = match self.pace {
            Pace::Paced { bridge, bridge_by: Bridge::Line } => {
                self.in_a_row <= bridge && self.endpoint.state == Phase::Running as u8
            }
            _ => false,
        };
        let share = if goes_on && newest.tick > before.tick {
            (self.tick - newest.tick) as f64 / (newest.tick - before.tick) as f64
        } else {
            0.0
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
        // Its answers are still read on the way to safe, but not waited for.
        self.silent |= self.in_a_row > allowed;
        if self.newest.state != Phase::Running as u8 {
            return Err(RigFault::tripped(self.newest.trip));
        }
        if self.in_a_row > allowed {
            return Err(RigFault::silent(for_s, allowed_s));
        }
        Ok(())
    }

    /// The loop has tripped.
    pub(super) fn on_trip(&mut self, cause: TripKind) {
        self.endpoint.state = Phase::Holding as u8;
        self.endpoint.trip = cause.code();
    }
}

impl Wait {
    /// When the command is sent again.
    pub(super) fn next_timeout_ns(&self) -> u64 {
        self.asked_ns + ASK_AGAIN_NS
    }

    /// Whether nobody waits any longer.
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.next_timeout_ns() && now_ns - self.begun_ns >= self.timeout_ns
    }
}
