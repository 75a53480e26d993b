//! The main loop of a two-rate test, on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use super::RealtimeError;
use super::grant::{Granted, PreparedThread, ThreadPlan};
use super::latency::Latency;
use crate::two_rate::{MainLoop, MainState};
use crate::world::{Clock, System};

/// It is woken when its samples are there; this is for the end alone.
const NAP: Duration = Duration::from_millis(50);

/// A thread that has what the system would grant, and waits for its loop.
pub(super) struct MainThread {
    thread: PreparedThread<MainLoop, MainTiming>,
    shared: Arc<Shared>,
}

/// How punctual the main loop was.
#[derive(Debug, Clone, Default)]
pub struct MainTiming {
    /// From the end of the tick that completed its samples to the start of a step.
    pub wake_up: Latency,
    /// How long a step took.
    pub execution: Latency,
}

/// What the two threads share beside the rings.
#[derive(Default)]
struct Shared {
    /// When the last sample of a step was handed over.
    handed_ns: AtomicU64,
    over: AtomicBool,
}

/// The tick's side.
pub(super) struct Waker {
    shared: Arc<Shared>,
    thread: Thread,
    ratio: u64,
}

impl Waker {
    /// Wakes the main loop if this tick completed its samples. The call of the
    /// system never waits.
    #[inline]
    pub(super) fn after_tick(&self, tick: u64, now_ns: u64) {
        if tick.is_multiple_of(self.ratio) {
            self.shared.handed_ns.store(now_ns, Ordering::Relaxed);
            self.thread.unpark();
        }
    }
}

impl MainThread {
    /// Starts the thread and asks for what it needs.
    pub(super) fn start(plan: ThreadPlan) -> Result<(Self, Granted), RealtimeError> {
        let shared = Arc::<Shared>::default();
        let (of_thread, timing) = (Arc::clone(&shared), MainTiming::default());
        let work = move |main| work(main, &of_thread, timing);
        let (thread, granted) = PreparedThread::start("main loop", "main loop", plan, work)?;
        Ok((Self { thread, shared }, granted))
    }

    /// Gives it its loop.
    pub(super) fn give(&self, main: MainLoop) -> Option<Waker> {
        let ratio = main.rates.ratio.max(1) as u64;
        let (shared, thread) = (Arc::clone(&self.shared), self.thread.handle.thread().clone());
        self.thread.give(main).ok()?;
        Some(Waker { shared, thread, ratio })
    }

    /// Ends it after the last tick; `None` if it had nothing to do.
    pub(super) fn end(self) -> Option<MainTiming> {
        self.shared.over.store(true, Ordering::Release);
        self.thread.handle.thread().unpark();
        self.thread.join().ok().flatten()
    }
}

/// The life of the thread: a step whenever its samples are there. Nothing here
/// allocates, locks or formats.
fn work(mut main: MainLoop, shared: &Shared, mut timing: MainTiming) -> MainTiming {
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
