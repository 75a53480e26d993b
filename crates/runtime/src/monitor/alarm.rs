//! Levels of an indicator and what happens when it reaches them.

use keys::Keys;
use keys::diagnostic::Diagnostic;
use keys::tree::Branch;

use crate::event::{Event, EventLog, What};
use crate::gate::{Trip, TripKind};
use crate::interlock::{Response, Stop};

/// Levels of an indicator that rises and what happens there; absent ones do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
#[key(given, check = Self::check)]
pub struct Levels {
    /// Notes a warning when the indicator reaches this; the test goes on.
    #[key(given)]
    pub warn_at: Option<f64>,
    /// Trips when the indicator reaches this: the command is held as `[limits] safe` says, then
    /// ramps to zero.
    #[key(given)]
    pub hold_at: Option<f64>,
    /// Trips when the indicator reaches this: the command ramps to zero at once.
    #[key(given)]
    pub ramp_down_at: Option<f64>,
    /// Trips when the indicator reaches this: the test is over at once, and the command stays where
    /// it is.
    #[key(given)]
    pub abort_at: Option<f64>,
}

impl Levels {
    /// In another unit.
    pub(super) fn times(self, factor: f64) -> Self {
        let scaled = |level: Option<f64>| level.map(|level| factor * level);
        Self {
            warn_at: scaled(self.warn_at),
            hold_at: scaled(self.hold_at),
            ramp_down_at: scaled(self.ramp_down_at),
            abort_at: scaled(self.abort_at),
        }
    }

    /// Those that are there, in words.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let named = [
            ("warn", self.warn_at),
            ("hold", self.hold_at),
            ("ramp down", self.ramp_down_at),
            ("abort", self.abort_at),
        ];
        named.into_iter().filter_map(|(words, level)| Some((words, level?)))
    }

    /// A level that warns lies below those that stop the test.
    fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let Self { warn_at, hold_at, ramp_down_at, abort_at } = *self;
        let stops = [
            (Self::HOLD_AT, hold_at),
            (Self::RAMP_DOWN_AT, ramp_down_at),
            (Self::ABORT_AT, abort_at),
        ];
        found.extend(never_warns(branch, (Self::WARN_AT, warn_at), &stops, Sense::Rising));
    }
}

/// A warning of a level that warns, if one that stops the test comes first.
pub(super) fn never_warns(
    branch: &Branch,
    (key, warn): (&str, Option<f64>),
    stops: &[(&str, Option<f64>)],
    sense: Sense,
) -> Option<Diagnostic> {
    let warn = warn?;
    let (stop, _) =
        stops.iter().find(|(_, stop)| stop.is_some_and(|stop| sense.reached(warn, stop)))?;
    let wanted = if sense == Sense::Rising { "lower" } else { "higher" };
    let message = format!("`{key}` never comes before `{stop}` stops the test");
    Some(branch.warning(key, message).remedy(format!("choose a {wanted} `{key}`")))
}

/// Which way an indicator gets worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// At or above its level.
    Rising,
    /// At or below its level.
    Falling,
}

/// A warning ends when its indicator has stayed this far on the good side …
const CLEARANCE: f64 = 0.1;
/// … for this long: an indicator that swings with the motion warns once.
const SETTLED_S: f64 = 1.0;

impl Sense {
    /// What is not a number has reached every level: it may be anything.
    fn reached(self, value: f64, level: f64) -> bool {
        match self {
            _ if value.is_nan() => true,
            Self::Rising => value >= level,
            Self::Falling => value <= level,
        }
    }

    /// Whether a value is well on the good side; what is not a number is not.
    fn clear(self, value: f64, level: f64) -> bool {
        match self {
            Self::Rising => value < level - CLEARANCE * level.abs(),
            Self::Falling => value > level + CLEARANCE * level.abs(),
        }
    }
}

/// Compares an indicator with its levels: one event per warning, one per
/// recovery, and a stop.
#[derive(Debug, Clone)]
pub(super) struct Alarm {
    kind: TripKind,
    levels: Levels,
    sense: Sense,
    settled_ticks: u64,
    /// While warned: the tick at which it was last near or past its level.
    raised: Option<u64>,
}

impl Alarm {
    pub(super) fn new(kind: TripKind, levels: Levels, sense: Sense, step_s: f64) -> Self {
        // A float-to-integer cast saturates.
        let settled_ticks = (SETTLED_S / step_s).ceil() as u64;
        Self { kind, levels, sense, settled_ticks, raised: None }
    }

    /// Judges the value of this tick. The gravest level wins.
    pub(super) fn judge(
        &mut self,
        tick: u64,
        dof: usize,
        value: f64,
        log: &mut EventLog,
    ) -> Result<(), Stop> {
        let Levels { warn_at, hold_at, ramp_down_at, abort_at } = self.levels;
        for (level, response) in [
            (abort_at, Response::Abort),
            (ramp_down_at, Response::RampDown),
            (hold_at, Response::Hold),
        ] {
            if let Some(limit) = level
                && self.sense.reached(value, limit)
            {
                let trip = Trip { kind: self.kind, dof, value, limit };
                return Err(Stop { trip, response });
            }
        }
        if let Some(level) = warn_at {
            self.warn(tick, dof, value, level, log);
        }
        Ok(())
    }

    fn warn(&mut self, tick: u64, dof: usize, value: f64, limit: f64, log: &mut EventLog) {
        let cause = Trip { kind: self.kind, dof, value, limit };
        match self.raised {
            None if self.sense.reached(value, limit) => {
                self.raised = Some(tick);
                log.note(Event { tick, what: What::Warning, cause });
            }
            None => {}
            Some(_) if !self.sense.clear(value, limit) => self.raised = Some(tick),
            Some(last) if tick - last >= self.settled_ticks => {
                self.raised = None;
                log.note(Event { tick, what: What::Recovered, cause });
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_S: f64 = 1e-2;

    fn alarm(levels: Levels, sense: Sense) -> Alarm {
        Alarm::new(TripKind::StabilityWarning, levels, sense, STEP_S)
    }

    #[test]
    fn the_gravest_level_reached_decides() {
        let levels = Levels {
            warn_at: Some(50.0),
            hold_at: Some(80.0),
            ramp_down_at: Some(90.0),
            abort_at: Some(99.0),
        };
        let respond = |value: f64| {
            let mut log = EventLog::default();
            let said = alarm(levels, Sense::Rising).judge(3, 0, value, &mut log);
            (said.err().map(|stop| (stop.response, stop.trip.limit)), log.events.len())
        };
        assert_eq!(respond(49.9), (None, 0));
        assert_eq!(respond(50.0), (None, 1));
        assert_eq!(respond(80.0), (Some((Response::Hold, 80.0)), 0));
        assert_eq!(respond(95.0), (Some((Response::RampDown, 90.0)), 0));
        assert_eq!(respond(f64::INFINITY), (Some((Response::Abort, 99.0)), 0));
        assert_eq!(respond(f64::NAN), (Some((Response::Abort, 99.0)), 0));
    }

    #[test]
    fn a_swinging_indicator_warns_once_and_recovers_when_it_has_settled() {
        let mut alarm = alarm(Levels { warn_at: Some(50.0), ..Levels::default() }, Sense::Rising);
        let mut log = EventLog::default();
        for tick in 0..400 {
            // Swings between 30 and 60 for two seconds, then stays at 46, then at 44.
            let value = match tick {
                0..200 => 45.0 + 15.0 * (0.3 * tick as f64).sin(),
                200..250 => 46.0,
                _ => 44.0,
            };
            alarm.judge(tick, 0, value, &mut log).unwrap();
        }
        let seen: Vec<_> = log.events.iter().map(|event| (event.what, event.tick)).collect();
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert_eq!(seen[0].0, What::Warning);
        // 46 is within a tenth of 50: settled one second after the last of it.
        assert_eq!(seen[1], (What::Recovered, 349));
    }

    #[test]
    fn a_falling_indicator_is_reached_from_above() {
        let mut alarm = alarm(
            Levels { warn_at: Some(3.0), hold_at: Some(1.0), ..Levels::default() },
            Sense::Falling,
        );
        let mut log = EventLog::default();
        alarm.judge(0, 0, f64::INFINITY, &mut log).unwrap();
        assert!(log.events.is_empty());
        alarm.judge(1, 0, 2.9, &mut log).unwrap();
        assert_eq!(log.events.len(), 1);
        assert!(alarm.judge(2, 0, 0.0, &mut log).is_err());
    }
}
