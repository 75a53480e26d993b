//! Grammar of `[realtime]`: how a loop runs against the clock.

use super::{Shape, Table, default, optional, word};

/// Highest priority: above it the kernel itself works.
pub(crate) const HIGHEST_PRIORITY: u64 = 98;
/// Highest number of a processor.
const HIGHEST_CPU: u64 = 1023;

pub(crate) static REALTIME: Table = Table::plain(
    "How the test runs against the clock, with `twinrig run --realtime`. A rehearsal ignores it. \
     What the system refuses (priority, locked memory) is said, and the run goes on without it.",
    &[
        default(
            "priority",
            Shape::Count { min: 2, max: HIGHEST_PRIORITY },
            "80",
            "SCHED_FIFO priority of the loop.",
        ),
        optional(
            "cpu",
            Shape::Count { min: 0, max: HIGHEST_CPU },
            "Processor the loop stays on. Absent: an isolated one if there is one, else the last, \
             if the priority is granted.",
        ),
        optional(
            "main_priority",
            Shape::Count { min: 1, max: HIGHEST_PRIORITY - 1 },
            "SCHED_FIFO priority of the main loop of a test at two rates, below `priority`. \
             Absent: ten below.",
        ),
        default(
            "overrun_limit",
            Shape::Count { min: 0, max: 1_000_000 },
            "10",
            "Most periods in a row without a tick on time; the rig holds its command over them. \
             One more trips the test.",
        ),
        default(
            "memory",
            Shape::Word(&[
                word("locked", "all of it stays in place, so that no tick waits for a page"),
                word("unlocked", "left to the system"),
            ]),
            "\"locked\"",
            "What becomes of the memory while the test runs.",
        ),
    ],
);
