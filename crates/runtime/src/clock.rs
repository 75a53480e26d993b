//! Clocks, and the one driver: a loop, ticked at their pace to its end.
//!
//! Clocks differ in how they wait and in nothing else. The [`VirtualClock`] goes as
//! fast as the machine, the real one sleeps until each deadline
//! (`crate::realtime`), and a [`DeviceClock`] is told by the rig itself.

use std::thread;
use std::time::{Duration, Instant};

use crate::operator::obey;
use crate::source::Source;
use crate::stop::StopHandle;
use crate::tap::Tap;
use crate::tick::Loop;
use crate::world::{self, System};

/// Ticks between two calls of the progress function.
const STRIDE: u64 = 8192;
/// Rows of overruns that are noted as events; the others are counted.
const MOST_NOTED: u64 = 8;

/// What sets the pace of a loop.
pub trait Clock {
    /// Whether it goes by a time that does not wait for the loop.
    const REAL: bool;

    /// Waits for the next tick. `None` asks to be called again: the stop is looked
    /// at in between.
    fn wait<S: Source>(&mut self, test: &mut Loop<S>) -> Option<Began>;

    /// Now, ns; asked of real clocks only.
    fn now_ns(&self) -> u64;
}

/// When a tick began, by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Began {
    /// When, ns.
    pub at_ns: u64,
    /// Its deadline, ns.
    pub deadline_ns: u64,
    /// Whole periods that passed without a tick.
    pub missed: u64,
}

impl Began {
    /// In virtual time nothing is late.
    const ON_TIME: Self = Self { at_ns: 0, deadline_ns: 0, missed: 0 };

    /// How late it began, ns.
    pub fn late_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.deadline_ns)
    }
}

/// A tick that was done.
#[derive(Debug, Clone, Copy)]
pub struct Ticked {
    /// When it began.
    pub began: Began,
    /// When it ended, ns; in virtual time nobody asks.
    pub ended_ns: u64,
    /// Overruns so far.
    pub overruns: Overruns,
}

/// Counts overruns, and says when there were too many in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overruns {
    /// Ticks that began a period late, or after one that ended too late.
    pub count: u64,
    /// Periods without a tick.
    pub missed: u64,
    /// Periods bridged without a tick on time between them.
    pub in_a_row: u64,
    /// Most of them.
    pub most_in_a_row: u64,
}

impl Overruns {
    /// Counts a tick. `spilled`: the one before ended after this one's deadline.
    /// Gives true for the first of a row.
    #[inline]
    fn count(&mut self, missed: u64, spilled: bool) -> bool {
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

/// Drives a loop to its end: the same tick at the pace of any clock. `presses` says
/// how often the operator has pressed the stop, `overrun_limit` how many periods in
/// a row may be bridged, and `after` is called after every tick. Nothing here
/// allocates, locks or formats.
#[inline]
pub fn drive<S: Source, C: Clock>(
    test: &mut Loop<S>,
    clock: &mut C,
    presses: impl Fn() -> u32,
    overrun_limit: u64,
    mut after: impl FnMut(&mut Loop<S>, &Ticked),
) -> Overruns {
    let mut overruns = Overruns::default();
    let (mut seen, mut ended_ns, mut rows) = (0, 0, 0);
    while !test.is_over() {
        let began = clock.wait(test);
        if let Some(began) = began.filter(|_| C::REAL) {
            if overruns.count(began.missed, ended_ns > began.deadline_ns) {
                rows += 1;
                if rows <= MOST_NOTED {
                    test.note_overrun(overruns.in_a_row, overrun_limit);
                }
            }
            if overruns.in_a_row > overrun_limit {
                test.trip_overrun(overruns.in_a_row, overrun_limit);
            }
        }
        let now = presses();
        if now != seen {
            seen = obey(now, test, seen);
        }
        let began = match began {
            Some(began) => began,
            // A test that was ended while it waited for its load has a last tick, which
            // records where the rig is.
            None if test.is_over() => Began::ON_TIME,
            None => continue,
        };
        test.tick();
        if C::REAL {
            ended_ns = clock.now_ns();
        }
        after(test, &Ticked { began, ended_ns, overruns });
    }
    overruns
}

/// Runs the loop to its end in virtual time. `progress` is told the ticks done now
/// and then.
pub fn run_virtual<S: Source>(
    test: &mut Loop<S>,
    stop: &StopHandle,
    mut progress: impl FnMut(u64),
) {
    let mut clock = VirtualClock::default();
    drive(
        test,
        &mut clock,
        || stop.presses(),
        u64::MAX,
        |test, _| {
            if test.ticks().is_multiple_of(STRIDE) {
                progress(test.ticks());
            }
        },
    );
    progress(test.ticks());
}

/// As fast as the machine goes, always the same. It waits for the recorder, so that
/// no frame is lost, for samples of a streamed load as long as they may come, and a
/// moment for room for the frames that go out: those who look on then miss only what
/// they are too slow for themselves.
#[derive(Debug, Default)]
pub struct VirtualClock {
    /// Frames that go out are not handed on: nobody waits for them any more.
    given_up: bool,
}

/// How often a clock that waits for its load looks for it.
const AWAIT: Duration = Duration::from_micros(200);
/// Longest wait for room on the way out. Who hands the frames on never waits
/// for a client, so this is for a defect.
const LONGEST_AWAIT: Duration = Duration::from_secs(10);

impl Clock for VirtualClock {
    const REAL: bool = false;

    #[inline(always)]
    fn wait<S: Source>(&mut self, test: &mut Loop<S>) -> Option<Began> {
        if test.is_waiting() {
            thread::sleep(AWAIT);
            return None;
        }
        if let Some(sink) = test.sink_mut() {
            sink.wait_for_room();
        }
        if !self.given_up && test.tap().is_some_and(Tap::is_full) {
            self.given_up = !waits_for_room(test);
        }
        Some(Began::ON_TIME)
    }

    fn now_ns(&self) -> u64 {
        0
    }
}

/// Waits for room for the frames that go out; says whether there is some.
#[cold]
fn waits_for_room<S: Source>(test: &Loop<S>) -> bool {
    let begun = Instant::now();
    while test.tap().is_some_and(Tap::is_full) {
        if begun.elapsed() > LONGEST_AWAIT {
            return false;
        }
        thread::sleep(AWAIT);
    }
    true
}

/// A device that sets the pace: `wait` sleeps until it has its next sample and gives
/// the periods since the last one, 1 if none was missed.
pub struct DeviceClock<W> {
    wait: W,
}

impl<W: FnMut() -> u64> DeviceClock<W> {
    /// A clock that waits like this.
    pub fn new(wait: W) -> Self {
        Self { wait }
    }
}

impl<W: FnMut() -> u64> Clock for DeviceClock<W> {
    const REAL: bool = true;

    fn wait<S: Source>(&mut self, _test: &mut Loop<S>) -> Option<Began> {
        let periods = (self.wait)();
        let at_ns = self.now_ns();
        Some(Began { at_ns, deadline_ns: at_ns, missed: periods.saturating_sub(1) })
    }

    fn now_ns(&self) -> u64 {
        world::Clock::now_ns(&System)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
