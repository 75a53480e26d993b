//! What the operator asks of a test that goes well: begin, hold, go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The operator's wishes, handed to the test that follows them. Its clones are the same one.
///
/// A test that is held keeps its last command, and its load stands still; going on, it continues
/// where it was. A hold is no trip: the gate watches, and a stop ends it.
#[derive(Debug, Clone, Default)]
pub struct Conduct(Arc<Wishes>);

#[derive(Debug, Default)]
struct Wishes {
    /// The load waits for the operator.
    waits: AtomicBool,
    held: AtomicBool,
    /// Numerical part and rig are one system: there is nothing to hold.
    inseparable: AtomicBool,
}

impl Conduct {
    /// Of a test whose load begins when the operator says so.
    pub fn waiting() -> Self {
        let conduct = Self::default();
        conduct.0.waits.store(true, Ordering::Relaxed);
        conduct
    }

    /// The load may begin.
    pub fn start(&self) {
        self.0.waits.store(false, Ordering::Relaxed);
    }

    /// Whether the load waits for the operator.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.0.waits.load(Ordering::Relaxed)
    }

    /// Whether the test can stand still.
    pub fn can_hold(&self) -> bool {
        !self.0.inseparable.load(Ordering::Relaxed)
    }

    /// The test is to stand still; `false` where it cannot.
    pub fn hold(&self) -> bool {
        let can = self.can_hold();
        self.0.held.store(can, Ordering::Relaxed);
        can
    }

    /// The test is to go on.
    pub fn resume(&self) {
        self.0.held.store(false, Ordering::Relaxed);
    }

    /// Whether the test is to stand still.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.0.held.load(Ordering::Relaxed)
    }

    /// Says that the test cannot be held.
    pub(crate) fn is_inseparable(&self) {
        self.0.inseparable.store(true, Ordering::Relaxed);
    }
}
