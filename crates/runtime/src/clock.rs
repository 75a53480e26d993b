//! Clocks, and the one driver: a loop, ticked at their pace to its end.
//!
//! Clocks differ in how they wait and in nothing else. The [`VirtualClock`] goes as
//! fast as the machine, the real one sleeps until each deadline
//! (`crate::realtime`), and a [`DeviceClock`] is told by the rig itself.

use crate::operator::obey;
use crate::source::Source;
use crate::stop::StopHandle;
use crate::tap::Tap;
use crate::tick::Loop;
use crate::world;

/// Ticks between two calls of the progress function.
const STRIDE: u64 = 8192;
/// Rows of overruns that are noted as events; the others are counted.
const MOST_NOTED: u64 = 8;
/// Share of what a schedule is off that is mended at once: jitter averages out.
const DRAW: f64 = 0.125;

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

/// Instants one period apart.
///
/// A tick that is late by less than a period is followed by the next one at its
/// own deadline, so that jitter does not add up. A tick that is late by whole
/// periods does not bring the missed ones after it in a burst: a rig would take
/// them as one violent motion. The test's time stands still over them instead
/// (the rig holds its last command), and each counts as missed.
pub(crate) struct Schedule {
    start_ns: u64,
    period_ns: f64,
    slot: u64,
}

impl Schedule {
    /// The first instant, and the time between two.
    pub(crate) fn new(start_ns: u64, period_s: f64) -> Self {
        Self { start_ns, period_ns: 1e9 * period_s, slot: 0 }
    }

    /// The deadline of the next tick, ns.
    pub(crate) fn next_ns(&self) -> u64 {
        // From the slot's number, so that no rounding adds up; exact to a
        // nanosecond for months.
        self.start_ns + (self.slot as f64 * self.period_ns).round() as u64
    }

    /// The tick of the next deadline begins now.
    pub(crate) fn begin(&mut self, at_ns: u64) -> Began {
        let deadline_ns = self.next_ns();
        let missed = (at_ns.saturating_sub(deadline_ns) as f64 / self.period_ns) as u64;
        self.slot += missed + 1;
        Began { at_ns, deadline_ns, missed }
    }

    /// Draws all deadlines a little towards those that have `instant_ns` among them,
    /// by the shorter way and by at most `most` of a period.
    pub(crate) fn draw_towards(&mut self, instant_ns: u64, most: f64) {
        let periods = (instant_ns as f64 - self.next_ns() as f64) / self.period_ns;
        let off = periods - periods.round();
        let by_ns = self.period_ns * (DRAW * off).clamp(-most, most);
        self.start_ns = self.start_ns.saturating_add_signed(by_ns as i64);
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

/// What drives a loop, between its ticks: counts overruns and obeys the operator.
/// It does not wait itself, so whoever is asked at the right time can drive.
#[derive(Debug, Clone)]
pub struct Driving {
    pub(crate) overruns: Overruns,
    /// How many periods in a row may be bridged.
    overrun_limit: u64,
    /// Presses of the operator's stop that were obeyed.
    seen: u32,
    /// Rows of overruns that were noted.
    rows: u64,
    /// When the last tick ended, ns.
    ended_ns: u64,
}

impl Driving {
    /// Nothing was missed, and no stop was pressed.
    pub fn new(overrun_limit: u64) -> Self {
        Self { overruns: Overruns::default(), overrun_limit, seen: 0, rows: 0, ended_ns: 0 }
    }

    /// Counts what was missed before a tick; too much in a row stops the test.
    pub fn count<S: Source>(&mut self, test: &mut Loop<S>, began: &Began) {
        if self.overruns.count(began.missed, self.ended_ns > began.deadline_ns) {
            self.rows += 1;
            if self.rows <= MOST_NOTED {
                test.note_overrun(self.overruns.in_a_row, self.overrun_limit);
            }
        }
        if self.overruns.in_a_row > self.overrun_limit {
            test.trip_overrun(self.overruns.in_a_row, self.overrun_limit);
        }
    }

    /// Does what the operator's presses ask for.
    pub fn obey<S: Source>(&mut self, test: &mut Loop<S>, presses: u32) {
        if presses != self.seen {
            self.seen = obey(presses, test, self.seen);
        }
    }
}

/// Drives a loop to its end: the same tick at the pace of any clock. `presses` says
/// how often the operator has pressed the stop, `overrun_limit` how many periods in
/// a row may be bridged, and `after` is called after every tick. Nothing here
/// allocates, locks or formats.
pub fn drive<S: Source, C: Clock>(
    test: &mut Loop<S>,
    clock: &mut C,
    presses: impl Fn() -> u32,
    overrun_limit: u64,
    mut after: impl FnMut(&mut Loop<S>, &Ticked),
) -> Overruns {
    let mut driving = Driving::new(overrun_limit);
    while !test.is_over() {
        let began = clock.wait(test);
        if let Some(began) = began.filter(|_| C::REAL) {
            driving.count(test, &began);
        }
        driving.obey(test, presses());
        let began = match began {
            Some(began) => began,
            // A test that was ended while it waited for its load has a last tick, which
            // records where the rig is.
            None if test.is_over() => Began::ON_TIME,
            None => continue,
        };
        test.tick();
        if C::REAL {
            driving.ended_ns = clock.now_ns();
        }
        let Driving { ended_ns, overruns, .. } = driving;
        after(test, &Ticked { began, ended_ns, overruns });
    }
    driving.overruns
}

/// Runs the loop to its end in virtual time. `progress` is told the ticks done now
/// and then.
pub fn run_virtual<S: Source>(
    test: &mut Loop<S>,
    stop: &StopHandle,
    mut progress: impl FnMut(u64),
) {
    let (mut clock, presses) = (VirtualClock::new(&world::System), || stop.presses());
    drive(test, &mut clock, presses, u64::MAX, |test, _| {
        if test.ticks().is_multiple_of(STRIDE) {
            progress(test.ticks());
        }
    });
    progress(test.ticks());
}

/// As fast as the machine goes, always the same. It waits for the recorder, so that
/// no frame is lost, for samples of a streamed load as long as they may come, and a
/// moment for room for the frames that go out: those who look on then miss only what
/// they are too slow for themselves.
pub struct VirtualClock<'a> {
    /// By which it waits.
    clock: &'a dyn world::Clock,
    /// Frames that go out are not handed on: nobody waits for them any more.
    given_up: bool,
    /// Since when the test waits for its load, ns.
    waiting_ns: Option<u64>,
}

/// How often a clock that waits for its load looks for it, ns.
const AWAIT_NS: u64 = 200_000;
/// Longest wait for room on the way out, ns. Who hands the frames on never waits
/// for a client, so this is for a defect.
const LONGEST_AWAIT_NS: u64 = 10_000_000_000;

impl<'a> VirtualClock<'a> {
    /// Waits, where it has to, by this clock.
    pub fn new(clock: &'a dyn world::Clock) -> Self {
        Self { clock, given_up: false, waiting_ns: None }
    }

    /// Waits for room for the frames that go out, as long as that may take.
    #[cold]
    fn wait_for_room<S: Source>(&mut self, test: &Loop<S>) {
        let until_ns = self.clock.now_ns() + LONGEST_AWAIT_NS;
        while !self.given_up && test.tap().is_some_and(Tap::is_full) {
            let now_ns = self.clock.now_ns();
            self.given_up = now_ns > until_ns;
            self.clock.sleep_until_ns(now_ns + AWAIT_NS);
        }
    }
}

impl Clock for VirtualClock<'_> {
    const REAL: bool = false;

    fn wait<S: Source>(&mut self, test: &mut Loop<S>) -> Option<Began> {
        if let Some(patience_ticks) = test.waits() {
            let now_ns = self.clock.now_ns();
            let since_ns = *self.waiting_ns.get_or_insert(now_ns);
            let waited_s = 1e-9 * now_ns.saturating_sub(since_ns) as f64;
            // The test's own time stands still while it waits: patience is that of people.
            if waited_s < patience_ticks as f64 * test.step_s() {
                self.clock.sleep_until_ns(now_ns + AWAIT_NS);
                return None;
            }
            test.trip_no_load(patience_ticks);
        }
        self.waiting_ns = None;
        if let Some(sink) = test.sink_mut() {
            sink.wait_for_room();
        }
        if !self.given_up && test.tap().is_some_and(Tap::is_full) {
            self.wait_for_room(test);
        }
        Some(Began::ON_TIME)
    }

    fn now_ns(&self) -> u64 {
        0
    }
}

/// A device that sets the pace: `wait` sleeps until it has its next sample and gives
/// the periods since the last one, 1 if none was missed. How long ticks take is told by
/// the clock beside it.
pub struct DeviceClock<'a, W> {
    /// Sleeps until the next sample.
    pub wait: W,
    /// The time of the world.
    pub clock: &'a dyn world::Clock,
}

impl<W: FnMut() -> u64> Clock for DeviceClock<'_, W> {
    const REAL: bool = true;

    fn wait<S: Source>(&mut self, _test: &mut Loop<S>) -> Option<Began> {
        let periods = (self.wait)();
        let at_ns = self.now_ns();
        Some(Began { at_ns, deadline_ns: at_ns, missed: periods.saturating_sub(1) })
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_late_by_what_lies_behind_its_deadline() {
        let began = |at_ns| Began { at_ns, deadline_ns: 1000, missed: 0 }.late_ns();
        assert_eq!([began(900), began(1000), began(1250)], [0, 0, 250]);
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

    #[test]
    fn deadlines_do_not_drift() {
        let mut schedule = Schedule::new(7, 1.0 / 4096.0);
        for second in 1..=3 {
            schedule.slot = 4096 * second * 86_400;
            assert_eq!(schedule.next_ns(), 7 + second * 86_400 * 1_000_000_000);
        }
    }

    #[test]
    fn jitter_is_caught_up_and_whole_periods_are_not() {
        let mut schedule = Schedule::new(1000, 100e-9);
        assert_eq!(schedule.begin(1000), Began { at_ns: 1000, deadline_ns: 1000, missed: 0 });
        // 99 late: the next deadline stays where it is.
        assert_eq!(schedule.begin(1199), Began { at_ns: 1199, deadline_ns: 1100, missed: 0 });
        assert_eq!(schedule.next_ns(), 1200);
        // 350 late: three periods are gone for good.
        assert_eq!(schedule.begin(1550), Began { at_ns: 1550, deadline_ns: 1200, missed: 3 });
        assert_eq!(schedule.next_ns(), 1600);
        // Early does not happen, and would be no harm.
        assert_eq!(schedule.begin(1590).late_ns(), 0);
    }

    #[test]
    fn a_schedule_is_drawn_by_the_shorter_way_and_never_far_at_once() {
        let drawn = |instant_ns| {
            // No whole number of periods from zero.
            let mut schedule = Schedule::new(100_300, 1e-6);
            schedule.draw_towards(instant_ns, 0.02);
            schedule.next_ns() as i64 - 100_300
        };
        assert_eq!([drawn(100_380), drawn(100_220)], [10, -10]);
        // 600 ns later is 400 ns earlier of the next one, and 20 ns are the most.
        assert_eq!([drawn(100_900), drawn(100_700), drawn(107_700)], [-20, 20, 20]);
    }
}
