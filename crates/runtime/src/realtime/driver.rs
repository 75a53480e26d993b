//! The real-time driver: a loop in a thread of its own, each tick at its deadline.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::deadlines::Deadlines;
use super::grant::{self, Granted, ProcessGrant, Wish};
use super::latency::Latency;
use super::main_thread::{MainThread, MainTiming, Nudge};
use super::status::{Said, Status};
use super::{MainPlan, RealtimeError, RealtimePlan};
use crate::clock::{Overruns, Ticked, drive};
use crate::hybrid_loop::{ClosedLoop, HybridLoop};
use crate::interlock::Response;
use crate::operator::Operator;
use crate::record::TimingNote;
use crate::source::Source;
use crate::stop::StopHandle;
use crate::system;
use crate::tick::Loop;
use crate::world::{Clock, System};

/// Stack of the loop's thread; all of it is touched before the first tick.
const STACK_BYTES: usize = 1 << 20;
/// How often who looks on is called.
const LOOK: Duration = Duration::from_millis(100);
/// Ticks between two looks at the recorder's ring.
const RING_LOOK: u64 = 256;

/// A thread that has what the system would grant, and waits for its loop.
pub struct Driver {
    plan: RealtimePlan,
    granted: Granted,
    status: Arc<Status>,
    job: Sender<Job>,
    thread: JoinHandle<()>,
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
    thread: Option<JoinHandle<()>>,
    main: Option<MainThread>,
    granted: Granted,
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
#[derive(Debug, Clone)]
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
        let (tell, told) = channel();
        let (job, jobs) = channel::<Job>();
        let status = Arc::new(Status::new());
        let wish = Wish { priority: plan.priority, cpu: plan.cpu };
        let thread = thread::Builder::new()
            .name("tick".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let _ = tell.send(grant::for_thread("loop", wish));
                if let Ok(job) = jobs.recv() {
                    system::touch_stack();
                    job();
                }
            })
            .map_err(|source: io::Error| RealtimeError::Thread { source })?;
        let mut granted = told.recv().map_err(|_| RealtimeError::Panicked)?;
        let main = match plan.main_loop {
            None => None,
            Some(MainPlan { priority, cpu }) => {
                let (main, mut of_main) = MainThread::start(Wish { priority, cpu })
                    .map_err(|source| RealtimeError::Thread { source })?;
                granted.facts.append(&mut of_main.facts);
                granted.notices.append(&mut of_main.notices);
                Some(main)
            }
        };
        granted.facts.append(&mut of_process.facts);
        granted.notices.append(&mut of_process.notices);
        Ok(Self { plan: *plan, granted, status, job, thread, main, process })
    }

    /// What the system granted.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Runs a hybrid test to its end. The calling thread only looks on: `look` is
    /// called ten times a second.
    pub fn run(
        self,
        mut hybrid: HybridLoop,
        stop: &StopHandle,
        mut look: impl FnMut(&Status),
    ) -> Result<Finished<ClosedLoop>, RealtimeError> {
        // Without a thread for it, or without time for its task, the main loop
        // stays inside the tick.
        let nudge = match &self.main {
            Some(thread) => hybrid.detach_main().and_then(|main| thread.give(main)),
            None => None,
        };
        let running = self.launch(hybrid, stop, nudge)?;
        while !running.is_over() {
            look(&running.status);
            thread::park_timeout(LOOK);
        }
        look(&running.status);
        running.finish()
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
        nudge: Option<Nudge>,
    ) -> Result<Running<S>, RealtimeError> {
        let Self { plan, granted, status, job, thread, main, process } = self;
        let (tell, finished) = channel();
        let stop = stop.clone();
        let abandoned = Arc::new(AtomicBool::new(false));
        let (of_thread, left) = (Arc::clone(&status), Arc::clone(&abandoned));
        status.begin(test.phase() as u8);
        let mut test = Box::new(test);
        let work: Job = Box::new(move || {
            let timing =
                tick_on_time(&System, &mut test, &plan, &stop, &left, nudge.as_ref(), &of_thread);
            let _ = tell.send(Finished { test, timing });
            of_thread.end();
        });
        job.send(work).map_err(|_| RealtimeError::Panicked)?;
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

    /// What it was started with.
    pub fn plan(&self) -> &RealtimePlan {
        &self.plan
    }
}

impl<S: Source> Running<S> {
    /// What the system granted.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Whether the last tick is done.
    pub fn is_over(&self) -> bool {
        self.status.is_over() || self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end.
    pub fn finish(mut self) -> Result<Finished<S>, RealtimeError> {
        let thread = self.thread.take().ok_or(RealtimeError::Panicked)?;
        thread.join().map_err(|_| RealtimeError::Panicked)?;
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
    nudge: Option<&Nudge>,
    status: &Status,
) -> Timing {
    let (mut wake_up, mut execution, mut round_trip) =
        (Latency::new(), Latency::new(), Latency::new());
    let mut clock = Deadlines::from_now(clock, plan.period_s);
    let presses = || stop.presses();
    let overruns = drive(test, &mut clock, presses, plan.overrun_limit, |test, ticked| {
        if left.load(Ordering::Relaxed) {
            Operator::new().stop(test, Response::Hold);
        }
        if let (Some(nudge), Some(tick)) = (nudge, test.source().closed_tick(test.ticks())) {
            nudge.after_tick(tick, ticked.ended_ns);
        }
        wake_up.record(ticked.began.late_ns());
        execution.record(ticked.ended_ns - ticked.began.at_ns);
        if let Some(nanoseconds) = test.measured().round_trip_ns {
            round_trip.record(nanoseconds);
        }
        tell(status, test, ticked);
    });
    Timing { wake_up, execution, round_trip, overruns, main_loop: None }
}

#[inline]
fn tell<S: Source>(status: &Status, test: &mut Loop<S>, ticked: &Ticked) {
    let link = test.link();
    status.say(&Said {
        unanswered: link.map_or(0, |counts| counts.bridged),
        late_answers: link.map_or(0, |counts| counts.late),
        ticks: test.ticks(),
        phase: test.phase() as u8,
        overruns: ticked.overruns.count,
        missed: ticked.overruns.missed,
        stability_warning: test.stability_warning(),
        bridged: test.source().bridged(),
        wake_up_ns: ticked.began.late_ns(),
    });
    if test.ticks().is_multiple_of(RING_LOOK)
        && let Some(sink) = test.sink_mut()
    {
        status.say_ring(sink.fill(), sink.frames_lost());
    }
}
