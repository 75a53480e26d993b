//! The real-time driver: a loop in a thread of its own, each tick at its deadline; the
//! main loop of a two-rate test in another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, Thread};
use std::time::Duration;

use super::grant::{Granted, PreparedThread, ProcessGrant, ThreadPlan};
use super::latency::Latency;
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
use crate::two_rate::{MainLoop, MainState};
use crate::world::{Clock, System};

/// How often who looks on is called.
const LOOK: Duration = Duration::from_millis(100);
/// Ticks between two looks at the recorder's ring, and at how late ticks begin.
const RING_LOOK: u64 = 256;

/// It is woken when its samples are there; this is for the end alone.
const NAP: Duration = Duration::from_millis(50);

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
#[derive(Debug, Clone, PartialEq, Default)]
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
        let status = Arc::<Status>::default();
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
    tick_on_time(clock, test, plan, stop, &AtomicBool::new(false), None, &Status::default())
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
    let (mut timing, mut coarse) = (Timing::default(), Latency::with_digits(1));
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
        coarse.record(ticked.began.late_ns());
        timing.execution.record(ticked.ended_ns - ticked.began.at_ns);
        if let Some(nanoseconds) = test.measured().round_trip_ns {
            timing.round_trip.record(nanoseconds);
        }
        look_at(test, ticked, &coarse, &mut now);
        status.say(&now);
    });
    timing
}

fn look_at<S: Source>(test: &mut Loop<S>, ticked: &Ticked, late: &Latency, now: &mut Glance) {
    if let Some(link) = test.link() {
        (now.unanswered, now.late_answers) = (link.bridged, link.late);
    }
    (now.ticks, now.phase) = (test.ticks(), test.phase() as u8);
    (now.overruns, now.missed) = (ticked.overruns.count, ticked.overruns.missed);
    now.stability_warning = test.stability_warning();
    now.bridged = test.source().bridged();
    if test.ticks().is_multiple_of(RING_LOOK) {
        now.wake_up_p99_ns = late.quantile_ns(0.99);
        if let Some(sink) = test.sink_mut() {
            (now.ring, now.frames_lost) = (sink.fill(), sink.frames_lost());
        }
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
    fn wait<S: Source>(&mut self, _test: &mut Loop<S>) -> Option<Began> {
        self.clock.sleep_until_ns(self.schedule.next_ns());
        Some(self.schedule.begin(self.clock.now_ns()))
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}

/// The thread of the main loop.
struct MainThread {
    thread: PreparedThread<MainLoop, MainTiming>,
    shared: Arc<Handover>,
}

/// How punctual the main loop was.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MainTiming {
    /// From the end of the tick that completed its samples to the start of a step.
    pub wake_up: Latency,
    /// How long a step took.
    pub execution: Latency,
}

/// What the two threads share beside the rings.
#[derive(Default)]
struct Handover {
    /// When the last sample of a step was handed over.
    handed_ns: AtomicU64,
    over: AtomicBool,
}

/// The tick's side.
struct Waker {
    shared: Arc<Handover>,
    thread: Thread,
    ratio: u64,
}

impl Waker {
    /// Wakes the main loop if this tick completed its samples. The call of the
    /// system never waits.
    fn after_tick(&self, tick: u64, now_ns: u64) {
        if tick.is_multiple_of(self.ratio) {
            self.shared.handed_ns.store(now_ns, Ordering::Relaxed);
            self.thread.unpark();
        }
    }
}

impl MainThread {
    /// Starts the thread and asks for what it needs.
    fn start(plan: ThreadPlan) -> Result<(Self, Granted), RealtimeError> {
        let shared = Arc::<Handover>::default();
        let (of_thread, timing) = (Arc::clone(&shared), MainTiming::default());
        let work = move |main| step_when_due(main, &of_thread, timing);
        let (thread, granted) = PreparedThread::start("main loop", "main loop", plan, work)?;
        Ok((Self { thread, shared }, granted))
    }

    /// Gives it its loop.
    fn give(&self, main: MainLoop) -> Option<Waker> {
        let ratio = main.rates.ratio.max(1) as u64;
        let (shared, thread) = (Arc::clone(&self.shared), self.thread.handle.thread().clone());
        self.thread.give(main).ok()?;
        Some(Waker { shared, thread, ratio })
    }

    /// Ends it after the last tick; `None` if it had nothing to do.
    fn end(self) -> Option<MainTiming> {
        self.shared.over.store(true, Ordering::Release);
        self.thread.handle.thread().unpark();
        self.thread.join().ok().flatten()
    }
}

/// The life of the thread: a step whenever its samples are there. Nothing here
/// allocates, locks or formats.
fn step_when_due(mut main: MainLoop, shared: &Handover, mut timing: MainTiming) -> MainTiming {
    let mut handed_ns = 0;
    loop {
        let begun_ns = System.now_ns();
        match main.poll() {
            MainState::Stepped => {
                timing.execution.record(System.now_ns() - begun_ns);
                let handed = shared.handed_ns.load(Ordering::Relaxed);
                // A step that caught up was not woken for.
                if handed != handed_ns {
                    timing.wake_up.record(begun_ns.saturating_sub(handed));
                    handed_ns = handed;
                }
            }
            MainState::Waiting => {
                if shared.over.load(Ordering::Acquire) {
                    break;
                }
                thread::park_timeout(NAP);
            }
            MainState::Ended => break,
        }
    }
    timing
}
