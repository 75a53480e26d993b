//! Whether the rehearsed steps of a main loop can come in time at all.

use super::super::closed_loop::rate_and_step;
use super::super::diagnostic::{Diagnostic, Diagnostics};
use super::super::tree::Branch;

/// Mean size of a normal number of unit deviation, √(2/π).
const MEAN_SIZE: f64 = 0.797_884_560_802_865_4;

/// Says of a `step_time` that leaves no hope. A warning: a rehearsal may be
/// meant to show just that.
pub(super) fn check(root: &Branch, out: &mut Diagnostics) {
    let Some(main) = root.table("main_loop") else { return };
    let Some((_, step_s)) = root.table("integrator").and_then(rate_and_step) else { return };
    let (Some(ratio), Some(time)) = (main.count("ratio"), main.table("step_time")) else { return };
    let Some(node) = main.node("step_time") else { return };
    let ratio = ratio as f64;
    let task = match (main.count("task_ticks"), main.number("task_time")) {
        (Some(ticks), _) => ticks as f64,
        (None, Some(time_s)) => (time_s / step_s - 1e-6).ceil().max(0.0),
        (None, None) => 1.0,
    };
    let bridge = main.count("bridge").map_or(ratio, |ticks| ticks as f64);
    let base = time.number("base").unwrap_or(0.0) / step_s;
    let mean = base + MEAN_SIZE * time.number("jitter").unwrap_or(0.0) / step_s;
    let ms = |ticks: f64| format!("{:.4} ms", 1e3 * ticks * step_s);
    // A hair beyond a tick is rounding.
    let hair = 1e-6;
    let (message, remedy) = if mean > ratio + hair {
        (
            format!(
                "a step of the main loop takes {} on average and there are {} for it: each is \
                 later than the one before, until the test trips",
                ms(mean),
                ms(ratio)
            ),
            format!("shorten the step time, or raise `ratio` to {:.0} or more", mean.ceil()),
        )
    } else if base > task + bridge + hair {
        (
            format!(
                "every step of the main loop takes {} or more, its task time is {} and {} are \
                 bridged: the first one trips the test",
                ms(base),
                ms(task),
                ms(bridge)
            ),
            format!("shorten the step time, or set `task_ticks = {:.0}`", base.ceil()),
        )
    } else if base > task + hair {
        (
            format!(
                "every step of the main loop takes {} or more and its task time is {}: every \
                 batch comes late and is bridged",
                ms(base),
                ms(task)
            ),
            format!("set `task_ticks = {:.0}`, or shorten the step time", base.ceil()),
        )
    } else {
        return;
    };
    out.push(Diagnostic::warning(message).at(node.span.clone()).remedy(remedy));
}
