//! How the loop runs against the clock, as declared.

use super::tree::Branch;

/// How the loop runs against the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RealtimeSpec {
    /// SCHED_FIFO priority.
    pub priority: u8,
    /// The same of the main loop at two rates.
    pub main_priority: u8,
    /// Processor to stay on; `None` to choose one.
    pub cpu: Option<usize>,
    /// Most periods in a row that are bridged.
    pub overrun_limit: u64,
    /// Whether the memory is kept in place.
    pub memory: MemorySpec,
}

/// What becomes of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemorySpec {
    /// Kept in place.
    Locked,
    /// Left to the system.
    Unlocked,
}

impl RealtimeSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        // The grammar keeps priorities below a hundred.
        let narrow = |priority: u64| u8::try_from(priority).unwrap_or(u8::MAX);
        let priority = branch.must_count("priority");
        let main_priority = branch.count("main_priority");
        Self {
            priority: narrow(priority),
            main_priority: narrow(main_priority.unwrap_or(priority.saturating_sub(10).max(1))),
            cpu: branch.count("cpu").map(|cpu| cpu as usize),
            overrun_limit: branch.must_count("overrun_limit"),
            memory: match branch.must_word("memory") {
                "locked" => MemorySpec::Locked,
                "unlocked" => MemorySpec::Unlocked,
                word => unreachable!("the grammar has no memory {word}"),
            },
        }
    }
}
