//! The operator's stop, from a key, a signal or another thread.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::system::{ENDING_SIGNALS, Handler, on_signal};

/// A button to stop the test. The first press stops it (hold, then ramp to
/// zero), the second ends the hold. Further ones change nothing: there is no
/// press that leaves the rig in motion.
#[derive(Debug, Default)]
pub struct StopButton {
    presses: AtomicU32,
}

impl StopButton {
    /// Not pressed.
    pub const fn new() -> Self {
        Self { presses: AtomicU32::new(0) }
    }

    /// Presses it. Safe in a signal handler.
    pub fn press(&self) {
        self.presses.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it was pressed.
    #[inline]
    pub fn presses(&self) -> u32 {
        self.presses.load(Ordering::Relaxed)
    }

    fn clear(&self) {
        self.presses.store(0, Ordering::Relaxed);
    }
}

static OF_SIGNALS: StopButton = StopButton::new();

extern "C" fn pressed(_signal: libc::c_int) {
    OF_SIGNALS.press();
}

/// While it lives, Ctrl-C and the other signals that ask a program to end press
/// a button instead. Dropped, it leaves them as they were.
pub struct SignalStop {
    _handlers: Vec<Handler>,
}

impl SignalStop {
    /// Takes the signals.
    pub fn install() -> io::Result<Self> {
        OF_SIGNALS.clear();
        let handlers = ENDING_SIGNALS.iter().map(|&signal| on_signal(signal, pressed));
        Ok(Self { _handlers: handlers.collect::<io::Result<_>>()? })
    }

    /// The button they press.
    pub fn button(&self) -> &'static StopButton {
        &OF_SIGNALS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_presses_the_button_and_nothing_else() {
        let stop = SignalStop::install().unwrap();
        assert_eq!(stop.button().presses(), 0);
        for press in 1..=3 {
            // SAFETY: the signal has a handler.
            unsafe { libc::raise(libc::SIGTERM) };
            assert_eq!(stop.button().presses(), press);
        }
    }
}
