//! How the loop runs against the clock, as declared.

use keys::Keys;
use keys::diagnostic::Diagnostic;
use keys::tree::Branch;
use runtime::realtime::Memory;

/// Highest priority: above it the kernel itself works.
const HIGHEST_PRIORITY: u64 = 98;

/// How the test runs against the clock, with `twinrig run --realtime`. A rehearsal ignores it. What
/// the system refuses (priority, locked memory) is said, and the run goes on without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
#[key(check = Self::check)]
pub struct RealtimeSpec {
    /// SCHED_FIFO priority of the loop.
    #[key(count = 2..=HIGHEST_PRIORITY, default = 80)]
    pub priority: u8,
    /// Processor the loop stays on. Absent: an isolated one if there is one, else the last, if the
    /// priority is granted.
    #[key(count = 0..=1023)]
    pub cpu: Option<usize>,
    /// SCHED_FIFO priority of the main loop of a test at two rates, below `priority`. Absent: ten
    /// below.
    #[key(count = 1..=HIGHEST_PRIORITY - 1)]
    main_priority: Option<u8>,
    /// Most periods in a row without a tick on time; the rig holds its command over them. One more
    /// trips the test.
    #[key(count = 0..=1_000_000, default = 10)]
    pub overrun_limit: u64,
    /// What becomes of the memory while the test runs.
    #[key(default = "locked")]
    pub memory: Memory,
}

impl RealtimeSpec {
    /// SCHED_FIFO priority of the main loop at two rates.
    pub fn main_priority(&self) -> u8 {
        self.main_priority.unwrap_or(self.priority.saturating_sub(10).max(1))
    }

    /// The tick comes before the main loop.
    fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let tick = self.priority;
        if let Some(main) = self.main_priority.filter(|&main| main >= tick) {
            let message = format!("the main loop has priority {main}, the tick {tick}");
            let remedy = "choose a `main_priority` below `priority`: the tick must never wait";
            found.push(branch.error(Self::MAIN_PRIORITY, message).remedy(remedy));
        }
    }
}
