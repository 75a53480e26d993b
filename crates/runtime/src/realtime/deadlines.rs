//! Absolute deadlines, and what becomes of those that are missed.

use crate::clock::{Began, Clock};
use crate::source::Source;
use crate::tick::Loop;
use crate::world;

/// Instants one period apart.
///
/// A tick that is late by less than a period is followed by the next one at its
/// own deadline, so that jitter does not add up. A tick that is late by whole
/// periods does not bring the missed ones after it in a burst: a rig would take
/// them as one violent motion. The test's time stands still over them instead
/// (the rig holds its last command), and each counts as missed.
pub(super) struct Deadlines<'a> {
    clock: &'a dyn world::Clock,
    start_ns: u64,
    period_ns: f64,
    slot: u64,
}

impl<'a> Deadlines<'a> {
    /// The first instant is a little after now.
    pub(super) fn from_now(clock: &'a dyn world::Clock, period_s: f64) -> Self {
        let period_ns = 1e9 * period_s;
        let lead_ns = (2.0 * period_ns).clamp(1e6, 1e8) as u64;
        Self { clock, start_ns: clock.now_ns() + lead_ns, period_ns, slot: 0 }
    }

    /// The deadline of the next tick, ns.
    #[inline]
    fn next_ns(&self) -> u64 {
        // From the slot's number, so that no rounding adds up; exact to a
        // nanosecond for months.
        self.start_ns + (self.slot as f64 * self.period_ns).round() as u64
    }

    /// The tick of the next deadline begins now.
    #[inline]
    fn begin(&mut self, at_ns: u64) -> Began {
        let deadline_ns = self.next_ns();
        let missed = (at_ns.saturating_sub(deadline_ns) as f64 / self.period_ns) as u64;
        self.slot += missed + 1;
        Began { at_ns, deadline_ns, missed }
    }
}

impl Clock for Deadlines<'_> {
    const REAL: bool = true;

    /// Sleeps until the next deadline. Never busy: a thread of high priority
    /// that waits by turning would take the processor from all others.
    #[inline]
    fn wait<S: Source>(&mut self, _test: &mut Loop<S>) -> Option<Began> {
        self.clock.sleep_until_ns(self.next_ns());
        Some(self.begin(self.clock.now_ns()))
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_do_not_drift() {
        let mut deadlines =
            Deadlines { clock: &world::System, start_ns: 7, period_ns: 1e9 / 4096.0, slot: 0 };
        for second in 1..=3 {
            deadlines.slot = 4096 * second * 86_400;
            assert_eq!(deadlines.next_ns(), 7 + second * 86_400 * 1_000_000_000);
        }
    }

    #[test]
    fn jitter_is_caught_up_and_whole_periods_are_not() {
        let mut deadlines =
            Deadlines { clock: &world::System, start_ns: 1000, period_ns: 100.0, slot: 0 };
        assert_eq!(deadlines.begin(1000), Began { at_ns: 1000, deadline_ns: 1000, missed: 0 });
        // 99 late: the next deadline stays where it is.
        assert_eq!(deadlines.begin(1199), Began { at_ns: 1199, deadline_ns: 1100, missed: 0 });
        assert_eq!(deadlines.next_ns(), 1200);
        // 350 late: three periods are gone for good.
        assert_eq!(deadlines.begin(1550), Began { at_ns: 1550, deadline_ns: 1200, missed: 3 });
        assert_eq!(deadlines.next_ns(), 1600);
        // Early does not happen, and would be no harm.
        assert_eq!(deadlines.begin(1590).late_ns(), 0);
    }
}
