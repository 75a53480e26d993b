//! The virtual clock: as fast as the machine goes, always the same.

use crate::hybrid_loop::HybridLoop;

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
