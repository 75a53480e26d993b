//! Real time: the same tick as in virtual time, each at its deadline.
//!
//! [`Driver::start`] prepares a thread (priority, processor, memory) and says
//! what the system granted; [`Driver::run`] gives it an armed loop. Deadlines
//! are absolute instants of the monotonic clock, waited for by sleeping.
//!
//! The main loop of a two-rate test has a second thread, below the tick in
//! priority, woken when the samples of a step are there. One ring each way joins
//! the two; neither ever waits for the other.
//!
//! The processor's flush-to-zero modes are left alone, here as in virtual time:
//! with them a record would differ in its bits from its rehearsal, from a
//! replay and from a sweep, and the language gives no meaning to arithmetic in
//! another floating-point environment than the default one. A state decays to
//! subnormal numbers only after some 700 time constants without any load.

mod driver;
mod grant;
mod latency;
mod periodic;
mod status;

pub use driver::{Driver, Finished, MainTiming, Running, Timing, run_by};
pub use grant::{Cpu, Granted, Memory, ThreadPlan, machine_facts};
pub use latency::Latency;
pub use periodic::PeriodicDriver;
pub use status::{Glance, Status};

use std::io;

use thiserror::Error;

/// Asks for a real-time priority for the calling thread.
pub fn prepare_thread(priority: u8) -> Granted {
    grant::for_thread("rig", ThreadPlan { priority, cpu: Cpu::Any })
}

/// How a loop runs in real time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RealtimePlan {
    /// Period of the tick, s.
    pub period_s: f64,
    /// SCHED_FIFO priority of the tick, 1 to 98.
    pub priority: u8,
    /// Where it runs.
    pub cpu: Cpu,
    /// Whether the memory is kept in place.
    pub memory: Memory,
    /// Most periods in a row that may be bridged; one more trips.
    pub overrun_limit: u64,
    /// The thread of the main loop, for a test at two rates; its priority is below that
    /// of the tick.
    pub main_loop: Option<ThreadPlan>,
}

/// Why a real-time run did not take place, or did not end.
#[derive(Debug, Error)]
pub enum RealtimeError {
    /// No thread.
    #[error(
        "cannot start the thread of the loop: {0}; end other programs or raise the limit of \
         processes or of locked memory"
    )]
    Thread(#[source] io::Error),
    /// A defect of twinrig.
    #[error(
        "the thread of the loop failed: the rig holds its last command; make it safe by hand, and \
         please report this defect"
    )]
    Panicked,
}
