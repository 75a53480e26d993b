//! The main loop of a two-rate test, on a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use super::grant::{self, Granted, Wish};
use super::latency::Latency;
use crate::system;
use crate::two_rate::{MainLoop, MainState};
use crate::world::{Clock, System};

/// A step may use more of the stack than a tick: implicit models iterate.
const STACK_BYTES: usize = 1 << 20;
/// It is woken when its samples are there; this is for the end alone.
const NAP: Duration = Duration::from_millis(50);

/// A thread that has what the system would grant, and waits for its loop.
pub(super) struct MainThread {
    job: Sender<MainLoop>,
    thread: JoinHandle<Option<MainTiming>>,
    shared: Arc<Shared>,
}

/// How punctual the main loop was.
#[derive(Debug, Clone)]
pub struct MainTiming {
    /// From the end of the tick that completed its samples to the start of a step.
    pub wake_up: Latency,
    /// How long a step took.
    pub execution: Latency,
}

/// What the two threads share beside the rings.
struct Shared {
    /// When the last sample of a step was handed over.
    handed_ns: AtomicU64,
    over: AtomicBool,
}

/// The tick's side.
pub(super) struct Nudge {
    shared: Arc<Shared>,
    thread: Thread,
    ratio: u64,
}

impl Nudge {
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
    pub(super) fn start(wish: Wish) -> io::Result<(Self, Granted)> {
        let (tell, told) = channel();
        let (job, jobs) = channel();
        let shared =
            Arc::new(Shared { handed_ns: AtomicU64::new(0), over: AtomicBool::new(false) });
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("main loop".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let _ = tell.send(grant::for_thread("main loop", wish));
                work(&jobs, &of_thread)
            })?;
        let granted = told.recv().map_err(io::Error::other)?;
        Ok((Self { job, thread, shared }, granted))
    }

    /// Gives it its loop.
    pub(super) fn give(&self, main: MainLoop) -> Option<Nudge> {
        let ratio = main.ratio().max(1) as u64;
        let shared = Arc::clone(&self.shared);
        self.job.send(main).ok()?;
        Some(Nudge { shared, thread: self.thread.thread().clone(), ratio })
    }

    /// Ends it after the last tick; `None` if it had nothing to do.
    pub(super) fn end(self) -> Option<MainTiming> {
        drop(self.job);
        self.shared.over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().ok().flatten()
    }
}

/// The life of the thread: a step whenever its samples are there. Nothing here
/// allocates, locks or formats once it has its loop.
fn work(jobs: &Receiver<MainLoop>, shared: &Shared) -> Option<MainTiming> {
    let (mut wake_up, mut execution) = (Latency::new(), Latency::new());
    let mut main = jobs.recv().ok()?;
    system::touch_stack();
    let mut handed_ns = 0;
    loop {
        let begun_ns = System.now_ns();
        match main.poll() {
            MainState::Stepped => {
                execution.record(System.now_ns() - begun_ns);
                let handed = shared.handed_ns.load(Ordering::Relaxed);
                // A step that caught up was not woken for.
                if handed != handed_ns {
                    wake_up.record(begun_ns.saturating_sub(handed));
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
    Some(MainTiming { wake_up, execution })
}
