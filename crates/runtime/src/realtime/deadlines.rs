//! Absolute deadlines, and what becomes of those that are missed.

use crate::system;

/// Instants one period apart.
///
/// A tick that is late by less than a period is followed by the next one at its
/// own deadline, so that jitter does not add up. A tick that is late by whole
/// periods does not bring the missed ones after it in a burst: a rig would take
/// them as one violent motion. The test's time stands still over them instead
/// (the rig holds its last command), and each counts as missed.
#[derive(Debug)]
pub(super) struct Deadlines {
    start_ns: u64,
    period_ns: f64,
    slot: u64,
}

/// When a tick began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) at_ns: u64,
    /// After its deadline.
    pub(super) late_ns: u64,
    /// Whole periods that passed without a tick.
    pub(super) missed: u64,
}

impl Deadlines {
    /// The first instant is a little after now.
    pub(super) fn from_now(period_s: f64) -> Self {
        let period_ns = 1e9 * period_s;
        let lead_ns = (2.0 * period_ns).clamp(1e6, 1e8) as u64;
        Self { start_ns: system::now_ns() + lead_ns, period_ns, slot: 0 }
    }

    /// The deadline of the next tick, ns.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        // From the slot's number, so that no rounding adds up; exact to a
        // nanosecond for months.
        self.start_ns + (self.slot as f64 * self.period_ns).round() as u64
    }

    /// Sleeps until the next deadline. Never busy: a thread of high priority
    /// that waits by turning would take the processor from all others.
    #[inline]
    pub(super) fn wait(&mut self) -> Begun {
        let deadline_ns = self.next_ns();
        system::sleep_until_ns(deadline_ns);
        self.begin(system::now_ns())
    }

    /// The tick of the next deadline begins now.
    #[inline]
    fn begin(&mut self, at_ns: u64) -> Begun {
        let late_ns = at_ns.saturating_sub(self.next_ns());
        let missed = (late_ns as f64 / self.period_ns) as u64;
        self.slot += missed + 1;
        Begun { at_ns, late_ns, missed }
    }
}

/// Counts overruns, and says when there were too many in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Overruns {
    /// Ticks that began a period late, or after one that ended too late.
    pub(super) count: u64,
    /// Periods without a tick.
    pub(super) missed: u64,
    /// Periods bridged without a tick on time between them.
    pub(super) in_a_row: u64,
    pub(super) most_in_a_row: u64,
}

impl Overruns {
    /// Counts a tick. `spilled`: the one before ended after this one's deadline.
    /// Gives true for the first of a row.
    #[inline]
    pub(super) fn count(&mut self, missed: u64, spilled: bool) -> bool {
        let bridged = missed.max(u64::from(spilled));
        if bridged == 0 {
            self.in_a_row = 0;
            return false;
        }
        let first = self.in_a_row == 0;
        self.count += 1;
        self.missed += missed;
        self.in_a_row += bridged;
        self.most_in_a_row = self.most_in_a_row.max(self.in_a_row);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_do_not_drift() {
        let mut deadlines = Deadlines { start_ns: 7, period_ns: 1e9 / 4096.0, slot: 0 };
        for second in 1..=3 {
            deadlines.slot = 4096 * second * 86_400;
            assert_eq!(deadlines.next_ns(), 7 + second * 86_400 * 1_000_000_000);
        }
    }

    #[test]
    fn jitter_is_caught_up_and_whole_periods_are_not() {
        let mut deadlines = Deadlines { start_ns: 1000, period_ns: 100.0, slot: 0 };
        assert_eq!(deadlines.begin(1000), Begun { at_ns: 1000, late_ns: 0, missed: 0 });
        // 99 late: the next deadline stays where it is.
        assert_eq!(deadlines.begin(1199), Begun { at_ns: 1199, late_ns: 99, missed: 0 });
        assert_eq!(deadlines.next_ns(), 1200);
        // 350 late: three periods are gone for good.
        assert_eq!(deadlines.begin(1550), Begun { at_ns: 1550, late_ns: 350, missed: 3 });
        assert_eq!(deadlines.next_ns(), 1600);
        // Early does not happen, and would be no harm.
        assert_eq!(deadlines.begin(1590).late_ns, 0);
    }

    #[test]
    fn a_tick_on_time_ends_a_row() {
        let mut overruns = Overruns::default();
        assert!(overruns.count(3, false));
        assert!(!overruns.count(0, true));
        assert_eq!(overruns.in_a_row, 4);
        assert!(!overruns.count(0, false));
        assert!(overruns.count(0, true));
        let expected = Overruns { count: 3, missed: 3, in_a_row: 1, most_in_a_row: 4 };
        assert_eq!(overruns, expected);
    }
}
