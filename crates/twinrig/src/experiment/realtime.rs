//! How the loop runs against the clock, as declared.

use super::tree::Branch;

/// How the loop runs against the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RealtimeSpec {
    /// SCHED_FIFO priority.
    pub priority: u8,
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
        Self {
            // The grammar keeps it below a hundred.
            priority: u8::try_from(branch.must_count("priority")).unwrap_or(u8::MAX),
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
