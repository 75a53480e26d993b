//! The real-time driver: the clock in front of the tick.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::deadlines::{Deadlines, Overruns};
use super::grant::{self, Granted, ProcessGrant, Wish};
use super::latency::Latency;
use super::main_thread::{MainThread, MainTiming, Nudge};
use super::status::{Said, Status};
use super::{MainPlan, RealtimeError, RealtimePlan};
use crate::hybrid_loop::HybridLoop;
use crate::operator::obey;
use crate::plant::Plant;
use crate::record::TimingNote;
use crate::stop::StopHandle;
use crate::system;

/// Stack of the loop's thread; all of it is touched before the first tick.
const STACK_BYTES: usize = 1 << 20;
/// How often who looks on is called.
const LOOK: Duration = Duration::from_millis(100);
/// Ticks between two looks at the recorder's ring.
const RING_LOOK: u64 = 256;
/// Rows of overruns that are noted as events; the others are counted.
const MOST_NOTED: u64 = 8;

/// A thread that has what the system would grant, and waits for its loop.
pub struct Driver {
    plan: RealtimePlan,
    granted: Granted,
    status: Arc<Status>,
    job: Sender<Job>,
    thread: JoinHandle<Option<Finished>>,
    main: Option<MainThread>,
    _process: ProcessGrant,
}

/// What the thread is given to do.
struct Job {
    hybrid: Box<HybridLoop>,
    stop: StopHandle,
    /// Wakes the main loop of a two-rate test.
    nudge: Option<Nudge>,
}

/// A run that is over.
pub struct Finished {
    /// The loop after its last tick.
    pub hybrid: Box<HybridLoop>,
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
    /// Ticks that began a period late, or after one that ended too late.
    pub overruns: u64,
    /// Periods without a tick.
    pub missed: u64,
    /// Most periods in a row that had to be bridged.
    pub most_in_a_row: u64,
    /// The main loop's own, where it has a thread.
    pub main_loop: Option<MainTiming>,
}

impl Driver {
    /// Starts the loop's thread and asks for what it needs. What is refused is
    /// noted, never an error.
    pub fn start(plan: &RealtimePlan) -> Result<Self, RealtimeError> {
        let mut process = Granted::default();
        let grant = ProcessGrant::ask(plan, &mut process);
        let (tell, told) = channel();
        let (job, jobs) = channel();
        let status = Arc::new(Status::new());
        let wish = Wish { priority: plan.priority, cpu: plan.cpu };
        let (of_thread, plan) = (Arc::clone(&status), *plan);
        let thread = thread::Builder::new()
            .name("tick".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let _ = tell.send(grant::for_thread("loop", wish));
                work(&jobs, &plan, &of_thread)
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
        granted.facts.append(&mut process.facts);
        granted.notices.append(&mut process.notices);
        Ok(Self { plan, granted, status, job, thread, main, _process: grant })
    }

    /// What the system granted.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Runs the loop to its end. The calling thread only looks on: `look` is
    /// called ten times a second.
    pub fn run(
        self,
        mut hybrid: HybridLoop,
        stop: &StopHandle,
        mut look: impl FnMut(&Status),
    ) -> Result<Finished, RealtimeError> {
        // Without a thread for it, or without time for its task, the main loop
        // stays inside the tick.
        let nudge = match &self.main {
            Some(thread) => hybrid.detach_main().and_then(|main| thread.give(main)),
            None => None,
        };
        self.status.begin(hybrid.phase() as u8);
        let job = Job { hybrid: Box::new(hybrid), stop: stop.clone(), nudge };
        self.job.send(job).map_err(|_| RealtimeError::Panicked)?;
        while !self.thread.is_finished() {
            look(&self.status);
            thread::park_timeout(LOOK);
        }
        look(&self.status);
        let mut finished = self.thread.join().ok().flatten().ok_or(RealtimeError::Panicked)?;
        finished.timing.main_loop = self.main.and_then(MainThread::end);
        Ok(finished)
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
            overruns: timing.overruns,
            missed: timing.missed,
            most_in_a_row: timing.most_in_a_row,
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

/// The life of the loop's thread.
fn work(jobs: &Receiver<Job>, plan: &RealtimePlan, status: &Status) -> Option<Finished> {
    let Job { mut hybrid, stop, nudge } = jobs.recv().ok()?;
    system::touch_stack();
    let timing = drive(&mut hybrid, plan, &stop, nudge.as_ref(), status);
    status.end();
    Some(Finished { hybrid, timing })
}

/// The same tick as in virtual time, each at its deadline. Nothing here
/// allocates, locks or formats once the first deadline is set.
fn drive(
    hybrid: &mut HybridLoop,
    plan: &RealtimePlan,
    stop: &StopHandle,
    nudge: Option<&Nudge>,
    status: &Status,
) -> Timing {
    let (mut wake_up, mut execution, mut round_trip) =
        (Latency::new(), Latency::new(), Latency::new());
    let mut overruns = Overruns::default();
    let (mut ended_ns, mut presses, mut rows) = (0, 0, 0);
    let mut deadlines = Deadlines::from_now(plan.period_s);
    while !hybrid.is_over() {
        let deadline_ns = deadlines.next_ns();
        let begun = deadlines.wait();
        if overruns.count(begun.missed, ended_ns > deadline_ns) {
            rows += 1;
            if rows <= MOST_NOTED {
                hybrid.note_overrun(overruns.in_a_row, plan.overrun_limit);
            }
        }
        if overruns.in_a_row > plan.overrun_limit {
            hybrid.trip_overrun(overruns.in_a_row, plan.overrun_limit);
        }
        presses = obey(stop, hybrid, presses);
        hybrid.tick();
        ended_ns = system::now_ns();
        if let (Some(nudge), Some(tick)) = (nudge, hybrid.closed_tick()) {
            nudge.after_tick(tick, ended_ns);
        }
        wake_up.record(begun.late_ns);
        execution.record(ended_ns - begun.at_ns);
        if let Some(nanoseconds) = hybrid.measured().round_trip_ns {
            round_trip.record(nanoseconds);
        }
        tell(status, hybrid, &overruns, begun.late_ns);
    }
    Timing {
        wake_up,
        execution,
        round_trip,
        overruns: overruns.count,
        missed: overruns.missed,
        most_in_a_row: overruns.most_in_a_row,
        main_loop: None,
    }
}

#[inline]
fn tell(status: &Status, hybrid: &mut HybridLoop, overruns: &Overruns, late_ns: u64) {
    let link = hybrid.plant().link();
    status.say(&Said {
        unanswered: link.map_or(0, |counts| counts.bridged),
        late_answers: link.map_or(0, |counts| counts.late),
        ticks: hybrid.ticks(),
        phase: hybrid.phase() as u8,
        overruns: overruns.count,
        missed: overruns.missed,
        stability_warning: hybrid.monitor().stability_warning(),
        bridged: match hybrid.plant() {
            Plant::TwoRate(plant) => plant.counts().missing,
            _ => 0,
        },
        wake_up_ns: late_ns,
    });
    if hybrid.ticks().is_multiple_of(RING_LOOK)
        && let Some(sink) = hybrid.sink_mut()
    {
        status.say_ring(sink.fill(), sink.frames_lost());
    }
}
