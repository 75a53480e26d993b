//! Signals as the operator's stop.

use std::fs;

use runtime::stop::StopHandle;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{exit, register};

use super::error::CliError;
use super::output::Exit;

/// A stop that Ctrl-C and the other signals by which people and systems ask a
/// program to end press while somebody attends to it. Otherwise, while a test is
/// prepared and nothing is armed or half written, they end the program at once with
/// the exit code of a stop. For the rest of the process: a command takes them once.
pub(super) fn stop_on_signals() -> Result<StopHandle, CliError> {
    let stop = StopHandle::default();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Who said `nohup` means it. An ignored SIGINT is only a background job's
        // lot, and a stop that does nothing is worse than one too many.
        if signal == SIGHUP && is_ignored(SIGHUP) {
            continue;
        }
        let pressed = stop.clone();
        let action = move || {
            if pressed.is_attended() {
                pressed.press();
            } else {
                exit(i32::from(Exit::Stopped as u8));
            }
        };
        // SAFETY: the action loads and stores atomics, and the exit is made for signal
        // handlers; neither allocates, locks or panics.
        unsafe { register(signal, action) }.map_err(CliError::Signals)?;
    }
    Ok(stop)
}

/// Whether the process was started with this signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use signal_hook::low_level::raise;

    use super::*;

    #[test]
    fn a_signal_presses_the_stop_that_is_attended_to() {
        let stop = stop_on_signals().unwrap();
        let _attended = stop.attend();
        assert_eq!(stop.presses(), 0);
        for press in 1..=3 {
            raise(SIGTERM).unwrap();
            assert_eq!(stop.presses(), press);
        }
    }
}
