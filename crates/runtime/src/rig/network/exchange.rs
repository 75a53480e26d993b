//! Commands against measurements, tick by tick.

use std::io;

use model::motion::Motion;

use crate::gate::TripKind;
use crate::interlock::Phase;
use crate::link::wire::{Datagram, Kind};
use crate::link::{Bridge, Endpoint, Key, LinkPlan, Pace, Seen, Window};
use crate::rig::{Measured, RigFault, Validity};

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
    /// The laboratory's trip, as it said it first. Nothing it says later takes a stop back.
    tripped: Option<u8>,
    /// Set when the other side was given up: nobody waits for it any more.
    silent: bool,
}

/// One measurement that came.
struct Answer {
    /// Of the loop; `None` before the first answer.
    tick: Option<u64>,
    time_ns: u64,
    measured: Measured,
    state: u8,
}

impl Answer {
    fn none(count: usize, auxiliary: usize) -> Self {
        let auxiliary = vec![f64::NAN; auxiliary];
        let measured = Measured { auxiliary, ..Measured::zeros(count) };
        Self { tick: None, time_ns: 0, measured, state: 0 }
    }

    fn read(&mut self, datagram: &Datagram<'_>) {
        let header = &datagram.header;
        (self.tick, self.time_ns, self.state) = (Some(header.tick), header.time_ns, header.state);
        datagram.block(0, &mut self.measured.displacement);
        datagram.block(1, &mut self.measured.force);
        datagram.block(2, &mut self.measured.achieved);
        datagram.auxiliary(&mut self.measured.auxiliary);
    }
}

impl Exchange {
    /// `auxiliary` values come with every measurement.
    pub(super) fn new(plan: &LinkPlan, session: u64, keys: [Key; 2], auxiliary: usize) -> Self {
        let count = plan.terms.dofs();
        Self {
            endpoint: Endpoint::new(session, count, keys),
            pace: plan.pace,
            step_s: 1.0 / plan.terms.rate_hz,
            tick: 0,
            newest: Answer::none(count, auxiliary),
            before: Answer::none(count, auxiliary),
            answered: Window::default(),
            command: Motion::rest(count),
            in_a_row: 0,
            tripped: None,
            silent: false,
        }
    }

    /// Takes a datagram; says whether it is the answer that this tick needs.
    pub(super) fn handle(&mut self, bytes: &[u8]) -> bool {
        let Some(datagram) = self.endpoint.receive(bytes) else { return false };
        let tick = datagram.header.tick;
        let counts = &mut self.endpoint.counts;
        match datagram.header.kind {
            // It cannot have answered what it was not asked.
            Kind::Measured if tick > self.tick => counts.foreign += 1,
            Kind::Measured => {
                if datagram.header.state != Phase::Running as u8 {
                    self.tripped.get_or_insert(datagram.header.trip);
                }
                // No samples: the tick is bridged, or asked for again.
                if datagram.header.validity != 0 {
                    return false;
                }
                // The window's numbers begin with one.
                if self.answered.see(tick.saturating_add(1)) == Seen::Again {
                    counts.duplicated += 1;
                    return false;
                }
                if tick < self.tick {
                    counts.late += 1;
                }
                if Some(tick) > self.newest.tick {
                    std::mem::swap(&mut self.before, &mut self.newest);
                    self.newest.read(&datagram);
                }
                return tick == self.tick;
            }
            Kind::Stop => {
                self.newest.state = datagram.header.state.max(Phase::Holding as u8);
                self.tripped.get_or_insert(datagram.header.trip);
            }
            _ => counts.foreign += 1,
        }
        false
    }

    /// Counts a datagram that the system did not take.
    pub(super) fn note(&mut self, sent: io::Result<()>) {
        self.endpoint.counts.unsent += u64::from(sent.is_err());
    }

    /// Whether the sensors have been read, or the laboratory says that it will not.
    pub(super) fn is_closed(&self) -> bool {
        self.newest.tick.is_some() || self.tripped.is_some()
    }

    /// Whether the measurement of this tick is there.
    pub(super) fn is_answered(&self) -> bool {
        self.newest.tick == Some(self.tick)
    }

    /// How long an answer is waited for, ns, where one was asked for and is waited for.
    pub(super) fn patience_ns(&self) -> Option<u64> {
        match self.pace {
            Pace::LockStep { timeout_s } if self.tick > 0 && !self.silent => {
                Some((1e9 * timeout_s) as u64)
            }
            _ => None,
        }
    }

    /// The command again: its answer takes too long.
    pub(super) fn ask_again(&mut self, now_ns: u64) -> &[u8] {
        self.endpoint.counts.resent += 1;
        self.frame(now_ns, self.tick - 1)
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
            Phase::Running
            | Phase::Initiating
            | Phase::Completing
            | Phase::Homing
            | Phase::Held => Phase::Running,
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
        if let [bridged, phase, values @ ..] = &mut measured.auxiliary[..] {
            *bridged = self.in_a_row as f64;
            *phase = f64::from(self.newest.state);
            // The newest there are.
            values.iter_mut().zip(&self.newest.measured.auxiliary).for_each(|(to, of)| *to = *of);
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
        let share = match (newest.tick, before.tick) {
            (Some(last), Some(earlier)) if goes_on && last > earlier => {
                (self.tick - last) as f64 / (last - earlier) as f64
            }
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
        if let Some(trip) = self.tripped {
            let frozen = self.newest.state == Phase::Frozen as u8;
            return Err(if frozen { RigFault::frozen(trip) } else { RigFault::tripped(trip) });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Terms, Token};

    const SESSION: u64 = 7;

    fn both() -> (Exchange, Endpoint) {
        let limits = [vec![1.0], vec![1.0], vec![1.0]];
        let plan = LinkPlan {
            address: ([127, 0, 0, 1], 1).into(),
            terms: Terms { rate_hz: 1000.0, limits, file: 0 },
            pace: Pace::Paced { bridge: 2, bridge_by: Bridge::Hold },
            watchdog_s: 1.0,
            token: Token::new("bench 3"),
            connect_s: 1.0,
        };
        let keys = plan.token.session_keys(1, SESSION);
        let [of_loop, of_laboratory] = keys.clone();
        let laboratory = Endpoint::new(SESSION, 1, [of_laboratory, of_loop]);
        (Exchange::new(&plan, SESSION, keys, 0), laboratory)
    }

    fn say(laboratory: &mut Endpoint, exchange: &mut Exchange, kind: Kind, tick: u64) {
        let bytes = laboratory.frame(0, kind, tick, 0, None, [&[3e-3], &[0.0], &[3e-3]]);
        exchange.handle(bytes);
    }

    #[test]
    fn only_the_measurement_of_the_first_tick_closes_the_loop() {
        let (mut exchange, mut laboratory) = both();
        assert!(!exchange.is_closed() && !exchange.is_answered());
        say(&mut laboratory, &mut exchange, Kind::Measured, 1);
        assert!(!exchange.is_closed() && !exchange.is_answered());
        say(&mut laboratory, &mut exchange, Kind::Measured, 0);
        assert!(exchange.is_closed());
        let mut measured = Measured::zeros(1);
        assert_eq!(exchange.measure(&mut measured), Ok(()));
        assert_eq!(measured.displacement, [3e-3]);
    }

    #[test]
    fn values_that_are_no_samples_do_not_answer_a_tick() {
        let (mut exchange, mut laboratory) = both();
        laboratory.validity = 1;
        say(&mut laboratory, &mut exchange, Kind::Measured, 0);
        assert!(!exchange.is_answered());
        laboratory.validity = 0;
        say(&mut laboratory, &mut exchange, Kind::Measured, 0);
        assert!(exchange.is_answered());
    }

    #[test]
    fn a_stop_of_the_laboratory_stays_whatever_it_says_behind_it() {
        let (mut exchange, mut laboratory) = both();
        let trip = TripKind::Force.code();
        (laboratory.state, laboratory.trip) = (Phase::Holding as u8, trip);
        say(&mut laboratory, &mut exchange, Kind::Stop, 0);
        (laboratory.state, laboratory.trip) = (Phase::Running as u8, 0);
        say(&mut laboratory, &mut exchange, Kind::Measured, 0);
        let stopped = Err(RigFault::tripped(trip));
        assert_eq!(exchange.measure(&mut Measured::zeros(1)), stopped);
        // A later reason does not take the place of the first.
        laboratory.trip = TripKind::Operator.code();
        say(&mut laboratory, &mut exchange, Kind::Stop, 0);
        assert_eq!(exchange.measure(&mut Measured::zeros(1)), stopped);
    }
}
