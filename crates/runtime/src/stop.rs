//! The operator's stop, from a key, a signal or another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A stop that is handed to the test it stops. Its clones press the same one,
/// and two tests have two.
///
/// The first press stops the test (hold, then ramp to zero), the second ends
/// the hold, and one during the ramp freezes it. There is no press that leaves
/// the rig in motion.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    presses: AtomicU32,
    attended: AtomicU32,
}

impl StopHandle {
    /// Presses it. Safe in a signal handler.
    pub fn press(&self) {
        self.0.presses.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it was pressed.
    #[inline]
    pub fn presses(&self) -> u32 {
        self.0.presses.load(Ordering::Relaxed)
    }

    /// Says that presses are obeyed while the answer lives.
    #[must_use]
    pub fn attend(&self) -> Attended {
        self.0.attended.fetch_add(1, Ordering::Relaxed);
        Attended(self.clone())
    }

    /// Whether somebody obeys a press. Safe in a signal handler, which otherwise
    /// ends the program as if there were no test.
    pub fn is_attended(&self) -> bool {
        self.0.attended.load(Ordering::Relaxed) > 0
    }
}

/// While it lives, presses of a stop are obeyed.
#[derive(Debug)]
pub struct Attended(StopHandle);

impl Drop for Attended {
    fn drop(&mut self) {
        self.0.0.attended.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tests_do_not_share_a_stop() {
        let (one, other) = (StopHandle::default(), StopHandle::default());
        let attended = one.attend();
        one.clone().press();
        assert_eq!((one.presses(), other.presses()), (1, 0));
        assert_eq!((one.is_attended(), other.is_attended()), (true, false));
        drop(attended);
        assert!(!one.is_attended());
    }
}
