//! The clock of a test in real time.

use crate::clock::{Began, Clock, Schedule};
use crate::source::Source;
use crate::tick::Loop;
use crate::world;

/// A [`Schedule`] that is slept for.
pub(super) struct Deadlines<'a> {
    clock: &'a dyn world::Clock,
    schedule: Schedule,
}

impl<'a> Deadlines<'a> {
    /// The first instant is a little after now.
    pub(super) fn from_now(clock: &'a dyn world::Clock, period_s: f64) -> Self {
        let lead_ns = (2e9 * period_s).clamp(1e6, 1e8) as u64;
        Self { clock, schedule: Schedule::new(clock.now_ns() + lead_ns, period_s) }
    }
}

impl Clock for Deadlines<'_> {
    const REAL: bool = true;

    /// Sleeps until the next deadline. Never busy: a thread of high priority
    /// that waits by turning would take the processor from all others.
    #[inline]
    fn wait<S: Source>(&mut self, _test: &mut Loop<S>) -> Option<Began> {
        self.clock.sleep_until_ns(self.schedule.next_ns());
        Some(self.schedule.begin(self.clock.now_ns()))
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}
