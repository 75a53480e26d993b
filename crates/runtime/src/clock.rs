//! The virtual clock: as fast as the machine goes, always the same.

use std::thread;
use std::time::{Duration, Instant};

use crate::hybrid_loop::HybridLoop;
use crate::operator::obey;
use crate::stop::StopHandle;
use crate::tap::Tap;

/// Ticks between two calls of the progress function.
const STRIDE: u64 = 8192;

/// Runs the loop to its end. Between ticks the clock waits for the recorder, so
/// that no frame is lost; the tick itself never does. `progress` is told the
/// ticks done now and then.
pub fn run_virtual(hybrid: &mut HybridLoop, mut progress: impl FnMut(u64)) {
    while !hybrid.is_over() {
        let until = hybrid.ticks() + STRIDE;
        while hybrid.ticks() < until && !hybrid.is_over() {
            if let Some(sink) = hybrid.sink_mut() {
                sink.wait_for_room();
            }
            hybrid.tick();
        }
        progress(hybrid.ticks());
    }
}

/// How often a clock that waits for its load looks for it.
const AWAIT: Duration = Duration::from_micros(200);
/// Longest wait for room on the way out. Who hands the frames on never waits
/// for a client, so this is for a defect.
const LONGEST_AWAIT: Duration = Duration::from_secs(10);

/// The same for a test that others take part in, a host or a laboratory: the
/// clock obeys the operator's stop, waits for samples of a streamed load as
/// long as they may come, and a moment for room for the frames that go out: those
/// who look on then miss only what they are too slow for themselves.
pub fn run_virtual_stoppable(
    hybrid: &mut HybridLoop,
    stop: &StopHandle,
    mut progress: impl FnMut(u64),
) {
    let mut presses = 0;
    // Whether frames that go out are handed on at all.
    let mut hands_on = true;
    while !hybrid.is_over() {
        presses = obey(stop, hybrid, presses);
        if hybrid.awaits_load() {
            thread::sleep(AWAIT);
            continue;
        }
        if let Some(sink) = hybrid.sink_mut() {
            sink.wait_for_room();
        }
        if hands_on && hybrid.tap().is_some_and(Tap::is_full) {
            hands_on = waits_for_room(hybrid);
        }
        hybrid.tick();
        if hybrid.ticks().is_multiple_of(STRIDE) {
            progress(hybrid.ticks());
        }
    }
}

/// Waits for room for the frames that go out; says whether there is some.
fn waits_for_room(hybrid: &HybridLoop) -> bool {
    let begun = Instant::now();
    while hybrid.tap().is_some_and(Tap::is_full) {
        if begun.elapsed() > LONGEST_AWAIT {
            return false;
        }
        thread::sleep(AWAIT);
    }
    true
}
