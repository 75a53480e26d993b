//! The virtual clock: as fast as the machine goes, always the same.

use crate::hybrid_loop::HybridLoop;

/// Ticks between two calls of the progress function.
const STRIDE: u64 = 8192;

/// Longest way to safe that a rehearsal follows. Without a command limit an
/// unstable loop can end anywhere, and the ramp from there would take for ever.
const LONGEST_WAY_S: f64 = 600.0;

/// Runs the loop to its end, or for ten minutes after a trip if the rig is not
/// safe by then: the record's last phase says so. Between ticks the clock waits for the recorder, so
/// that no frame is lost; the tick itself never does. `progress` is told the
/// ticks done now and then.
pub fn run_virtual(hybrid: &mut HybridLoop, mut progress: impl FnMut(u64)) {
    let over = |hybrid: &HybridLoop| {
        let lost =
            hybrid.tripped().is_some_and(|(_, time_s)| hybrid.time_s() - time_s > LONGEST_WAY_S);
        hybrid.is_over() || lost
    };
    while !over(hybrid) {
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
