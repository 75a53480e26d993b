//! Whether the rehearsed steps of a main loop can come in time at all.

use super::super::Experiment;
use super::super::closed_loop::TransferKind;
use super::super::diagnostic::Diagnostic;
use super::super::main_loop::MainLoopSpec;
use super::File;

/// Mean size of a normal number of unit deviation, √(2/π).
const MEAN_SIZE: f64 = 0.797_884_560_802_865_4;

/// Says of a `step_time` that leaves no hope. A warning: a rehearsal may be
/// meant to show just that.
pub(super) fn check(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let Some(main) = file.section(Experiment::MAIN_LOOP) else { return };
    let Some((spec, pace)) = file.read::<MainLoopSpec>(Experiment::MAIN_LOOP).zip(file.pace) else {
        return;
    };
    let step_s = pace.step_s();
    let rates = spec.rates(&TransferKind::Ideal, step_s);
    let Some(time) = rates.step_time else { return };
    let [ratio, task, bridge] =
        [rates.ratio, rates.task_ticks, rates.bridge].map(|ticks| ticks as f64);
    let base = time.base_s / step_s;
    let mean = base + MEAN_SIZE * time.jitter_s / step_s;
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
    found.push(main.warning(MainLoopSpec::STEP_TIME, message).remedy(remedy));
}
