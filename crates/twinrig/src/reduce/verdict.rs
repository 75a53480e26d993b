//! The verdict on a reduced model.

use experiment::Diagnostics;
use runtime::verdict::{Level, Reason, Verdict};

use super::found::{Found, Model};
use crate::words::number;

/// What helps against every error of a reduced model.
pub(super) const MORE: &str = "keep more modes, or narrow the band";

/// All that speaks against the model.
pub(super) fn verdict(found: &Found, refused: Option<&Diagnostics>) -> Verdict {
    let thresholds = found.thresholds.reduction_error;
    let [doubtful, wrong] = thresholds;
    // Wrong is what is wrong beside antiresonances, too.
    let graver = if found.error_off_antiresonances < wrong { f64::INFINITY } else { wrong };
    let largest = found.response_error.max;
    let response = Reason::beyond([doubtful, graver], largest, "response_error", |threshold| {
        error("the response at the interface", largest, threshold)
    });
    let modes = found.mode_error().and_then(|largest| {
        Reason::beyond(thresholds, largest, "mode_error", |threshold| {
            error("a mode in the band", largest, threshold)
        })
    });
    let lacking = found.lacking().map(|lacking| {
        let text = format!("modes in the band that the reduced model lacks: {lacking}");
        Reason::new(Level::Doubtful, "modes_lacking", text, MORE)
    });
    let refused = refused.and_then(|found| found.items().first()).map(|first| {
        let remedy = first.remedy.clone().unwrap_or_default();
        Reason::new(
            Level::Wrong,
            "refused",
            format!("no test can use it: {}", first.message),
            remedy,
        )
    });
    [unstable(found), refused, response, modes, lacking, not_passive(found), too_slow(found)]
        .into_iter()
        .flatten()
        .chain(in_time(found))
        .collect()
}

/// What both models say of the motion in time, where that was asked for.
fn in_time(found: &Found) -> Vec<Reason> {
    let Model::Matrices(matrices) = &found.model else { return Vec::new() };
    matrices.history.as_ref().map_or_else(Vec::new, |history| history.reasons(&found.thresholds))
}

fn error(what: &str, largest: f64, threshold: f64) -> (String, String) {
    let [largest, threshold] = [largest, threshold].map(|share| number(100.0 * share));
    (format!("{what} is off by up to {largest} %; {threshold} % allowed"), MORE.to_owned())
}

fn unstable(found: &Found) -> Option<Reason> {
    let remedy = "take method = \"rubin\": it keeps a passive structure passive";
    let reason = || Reason::new(Level::Wrong, "unstable", found.stability.clone(), remedy);
    (!found.stable).then(reason)
}

fn not_passive(found: &Found) -> Option<Reason> {
    let passive = match &found.model {
        Model::Matrices(matrices) => matrices.passive,
        Model::States(states) => !states.active(),
    };
    let remedy = "take method = \"rubin\", or look where the loop is near its boundary";
    let reason = || Reason::new(Level::Doubtful, "not_passive", found.stability.clone(), remedy);
    (found.stable && !passive).then(reason)
}

/// A step that does not fit the period on this machine.
fn too_slow(found: &Found) -> Option<Reason> {
    let Model::Matrices(matrices) = &found.model else { return None };
    let step_s = matrices.step_p99_s.filter(|step_s| *step_s > matrices.period_s)?;
    let [step, period] = [step_s, matrices.period_s].map(|time| number(1e6 * time));
    let text = format!("a step takes {step} µs (99 %) of a period of {period} µs");
    Some(Reason::new(Level::Doubtful, "does_not_fit", text, "keep fewer modes, or lower the rate"))
}
