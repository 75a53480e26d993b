//! The real-time driver: a loop in a thread of its own, each tick at its deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::grant::{Granted, PreparedThread, ProcessGrant, ThreadPlan};
use super::latency::Latency;
use super::main_thread::{MainThread, MainTiming, Waker};
use super::status::{Glance, Status};
use super::{RealtimeError, RealtimePlan};
use crate::clock::{self, Began, Overruns, Schedule, Ticked, drive};
use crate::hybrid_loop::{ClosedLoop, HybridLoop};
use crate::interlock::Response;
use crate::operator;
use crate::record::TimingNote;
use crate::source::Source;
use crate::stop::StopHandle;
use crate::tick::Loop;
use crate::world::{Clock, System};

/// How often who looks on is called.
const LOOK: Duration = Duration::from_millis(100);
/// Ticks between two looks at the recorder's ring.
const RING_LOOK: u64 = 256;

/// A thread that has what the system would grant, and waits for its loop.
pub struct Driver {
    plan: RealtimePlan,
    /// What the system granted.
    pub granted: Granted,
    thread: PreparedThread<Job, ()>,
    main: Option<MainThread>,
    process: ProcessGrant,
}

/// What the thread is given to do.
type Job = Box<dyn FnOnce() + Send>;

/// A loop that ticks in its thread. Dropped, it stops the test and waits until the
/// rig is safe: no owner leaves a rig in motion.
pub struct Running<S: Source> {
    finished: Receiver<Finished<S>>,
    status: Arc<Status>,
    abandoned: Arc<AtomicBool>,
    thread: Option<PreparedThread<Job, ()>>,
    main: Option<MainThread>,
    /// What the system granted.
    pub granted: Granted,
    _process: ProcessGrant,
}

/// A run that is over.
pub struct Finished<S: Source> {
    /// The loop after its last tick.
    pub test: Box<Loop<S>>,
    /// How punctual it was.
    pub timing: Timing,
}

/// How punctual a run was.
#[derive(Debug, Clone, Default)]
pub struct Timing {
    /// How late after its deadline each tick began.
    pub wake_up: Latency,
    /// How long each tick took.
    pub execution: Latency,
    /// How long the rig took to answer, where it tells.
    pub round_trip: Latency,
    /// Ticks that began too late, and periods without a tick.
    pub overruns: Overruns,
    /// The main loop's own, where it has a thread.
    pub main_loop: Option<MainTiming>,
}

impl Driver {
    /// Starts the loop's thread and asks for what it needs. What is refused is
    /// noted, never an error.
    pub fn start(plan: &RealtimePlan) -> Result<Self, RealtimeError> {
        let mut of_process = Granted::default();
        let process = ProcessGrant::ask(plan, &mut of_process);
        let of_loop = ThreadPlan { priority: plan.priority, cpu: plan.cpu };
        let (thread, mut granted) =
            PreparedThread::start("tick", "loop", of_loop, |job: Job| job())?;
        let main = match plan.main_loop {
            None => None,
            Some(of_main) => {
                let (main, of_main) = MainThread::start(of_main)?;
                granted.append(of_main);
                Some(main)
            }
        };
        granted.append(of_process);
        Ok(Self { plan: *plan, granted, thread, main, process })
    }

    /// Runs a hybrid test to its end. The calling thread only looks on: `look` is
    /// called ten times a second.
    pub fn run(
        self,
        mut hybrid: HybridLoop,
        stop: &StopHandle,
        look: impl FnMut(&Status),
    ) -> Result<Finished<ClosedLoop>, RealtimeError> {
        // Without a thread for it, or without time for its task, the main loop
        // stays inside the tick.
        let waker = match &self.main {
            Some(thread) => hybrid.detach_main().and_then(|main| thread.give(main)),
            None => None,
        };
        self.launch(hybrid, stop, waker)?.watched_by(look)
    }

    /// Starts a loop that needs no main loop beside it.
    pub fn begin<S: Source + 'static>(
        self,
        test: Loop<S>,
        stop: &StopHandle,
    ) -> Result<Running<S>, RealtimeError> {
        self.launch(test, stop, None)
    }

    fn launch<S: Source + 'static>(
        self,
        test: Loop<S>,
        stop: &StopHandle,
        waker: Option<Waker>,
    ) -> Result<Running<S>, RealtimeError> {
        let Self { plan, granted, thread, main, process } = self;
        let status = Arc::new(Status::new());
        let (tell, finished) = channel();
        let stop = stop.clone();
        let abandoned = Arc::new(AtomicBool::new(false));
        let (of_thread, left) = (Arc::clone(&status), Arc::clone(&abandoned));
        status.say(&Glance { phase: test.phase() as u8, ..Glance::default() });
        let mut test = Box::new(test);
        let work: Job = Box::new(move || {
            let timing =
                tick_on_time(&System, &mut test, &plan, &stop, &left, waker.as_ref(), &of_thread);
            let _ = tell.send(Finished { test, timing });
            of_thread.end();
        });
        thread.give(work)?;
        let thread = Some(thread);
        Ok(Running { finished, status, abandoned, thread, main, granted, _process: process })
    }

    /// What the record keeps of how punctual a run was.
    pub fn note(plan: &RealtimePlan, granted: &Granted, timing: &Timing) -> TimingNote {
        let mut named = vec![
            ("wake_up", &timing.wake_up),
            ("execution", &timing.execution),
            ("round_trip", &timing.round_trip),
        ];
        if let Some(main) = &timing.main_loop {
            named.push(("main.wake_up", &main.wake_up));
            named.push(("main.execution", &main.execution));
        }
        let known = named.into_iter().filter(|(_, latency)| latency.count() > 0);
        TimingNote {
            period_s: plan.period_s,
            overruns: timing.overruns.count,
            missed: timing.overruns.missed,
            most_in_a_row: timing.overruns.most_in_a_row,
            overrun_limit: plan.overrun_limit,
            facts: granted.facts.clone(),
            notices: granted.notices.clone(),
            latencies: known.map(|(name, latency)| latency.note(name)).collect(),
        }
    }
}

impl<S: Source> Running<S> {
    /// Whether the last tick is done.
    pub fn is_over(&self) -> bool {
        self.status.is_over()
            || self.thread.as_ref().is_none_or(|thread| thread.handle.is_finished())
    }

    /// Waits for the end; `look` is called ten times a second.
    pub fn watched_by(self, mut look: impl FnMut(&Status)) -> Result<Finished<S>, RealtimeError> {
        while !self.is_over() {
            look(&self.status);
            thread::park_timeout(LOOK);
        }
        look(&self.status);
        self.finish()
    }

    /// Waits for the end.
    pub fn finish(mut self) -> Result<Finished<S>, RealtimeError> {
        let thread = self.thread.take().ok_or(RealtimeError::Panicked)?;
        thread.join()?;
        let mut finished = self.finished.recv().map_err(|_| RealtimeError::Panicked)?;
        finished.timing.main_loop = self.main.take().and_then(MainThread::end);
        Ok(finished)
    }
}

impl<S: Source> Drop for Running<S> {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs a loop to its end in the calling thread, each tick at its deadline by a
/// clock that is handed in.
pub fn run_by<S: Source>(
    clock: &dyn Clock,
    test: &mut Loop<S>,
    plan: &RealtimePlan,
    stop: &StopHandle,
) -> Timing {
    tick_on_time(clock, test, plan, stop, &AtomicBool::new(false), None, &Status::new())
}

/// The same tick as in virtual time, each at its deadline, with a look at the watch.
/// A test whose owner has left is stopped; one that is on its way to safe goes on.
fn tick_on_time<S: Source>(
    clock: &dyn Clock,
    test: &mut Loop<S>,
    plan: &RealtimePlan,
    stop: &StopHandle,
    left: &AtomicBool,
    waker: Option<&Waker>,
    status: &Status,
) -> Timing {
    let mut timing = Timing::default();
    let mut clock = Deadlines::from_now(clock, plan.period_s);
    let presses = || stop.presses();
    let mut now = Glance::default();
    timing.overruns = drive(test, &mut clock, presses, plan.overrun_limit, |test, ticked| {
        if left.load(Ordering::Relaxed) {
            operator::stop(test, Response::Hold);
        }
        if let (Some(waker), Some(tick)) = (waker, test.source().closed_tick(test.ticks())) {
            waker.after_tick(tick, ticked.ended_ns);
        }
        timing.wake_up.record(ticked.began.late_ns());
        status.wake_up.record(ticked.began.late_ns());
        timing.execution.record(ticked.ended_ns - ticked.began.at_ns);
        if let Some(nanoseconds) = test.measured().round_trip_ns {
            timing.round_trip.record(nanoseconds);
        }
        look_at(test, ticked, &mut now);
        status.say(&now);
    });
    timing
}

#[inline]
fn look_at<S: Source>(test: &mut Loop<S>, ticked: &Ticked, now: &mut Glance) {
    if let Some(link) = test.link() {
        (now.unanswered, now.late_answers) = (link.bridged, link.late);
    }
    (now.ticks, now.phase) = (test.ticks(), test.phase() as u8);
    (now.overruns, now.missed) = (ticked.overruns.count, ticked.overruns.missed);
    now.stability_warning = test.stability_warning();
    now.bridged = test.source().bridged();
    if test.ticks().is_multiple_of(RING_LOOK)
        && let Some(sink) = test.sink_mut()
    {
        (now.ring, now.frames_lost) = (sink.fill(), sink.frames_lost());
    }
}

/// The clock of a test in real time: a [`Schedule`] that is slept for.
struct Deadlines<'a> {
    clock: &'a dyn Clock,
    schedule: Schedule,
}

impl<'a> Deadlines<'a> {
    /// The first instant is a little after now.
    fn from_now(clock: &'a dyn Clock, period_s: f64) -> Self {
        let lead_ns = (2e9 * period_s).clamp(1e6, 1e8) as u64;
        Self { clock, schedule: Schedule::new(clock.now_ns() + lead_ns, period_s) }
    }
}

impl clock::Clock for Deadlines<'_> {
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
