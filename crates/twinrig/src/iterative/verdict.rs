//! The verdict on a trace: how it ended, and how far its response can be trusted.

use analysis::iterative::jumped;
use experiment::VerdictSpec;
use experiment::trace::CourseSpec;
use numerics::continuation::End;

use super::{Ended, Outcome, Place, Setup};
use crate::page::text::{counted, label};
use crate::verdict::{Level, Reason, Verdict};
use crate::words::number;

/// Share of the points whose interval is below the one that is judged: around a fold the
/// interval at a fixed frequency says nothing.
const MOST_POINTS: f64 = 0.9;

/// All that speaks against the response.
pub(super) fn verdict(setup: &Setup<'_>, places: &[Place], found: &Outcome) -> Verdict {
    let ended = ending(setup, places, found).into_iter();
    if let Some(why) = &found.still {
        let remedy = "a larger load, or a smaller `trace.tolerance`";
        let still = Reason::new(Level::Doubtful, "nothing_moved", why.clone(), remedy);
        return ended.chain([still]).collect();
    }
    let thresholds = &setup.experiment().verdict;
    let accuracy = accuracy(found, thresholds).into_iter();
    let seen =
        unmatched(setup, found, thresholds).into_iter().chain(interval(places, found, thresholds));
    let branch = folds(found).into_iter().chain(peaks(setup, places, found, thresholds));
    ended.chain(accuracy).chain(seen).chain(branch).chain(unsettled(found)).collect()
}

/// A trace that has points is not begun anew.
const GO_ON: &str = "the same command goes on from here";

/// A trace that is not whole.
fn ending(setup: &Setup<'_>, places: &[Place], found: &Outcome) -> Option<Reason> {
    let reason =
        |level, id: &str, remedy: &str| Some(Reason::new(level, id, found.ended.words(), remedy));
    match found.ended {
        Ended::Tripped(_) => {
            reason(Level::Unsafe, "tripped", "find the cause before the rig is armed")
        }
        Ended::Stopped => reason(Level::Doubtful, "stopped", GO_ON),
        Ended::Gone => reason(Level::Doubtful, "ended_early", GO_ON),
        Ended::Course(End::NoStart) => reason(
            Level::Wrong,
            "no_start",
            "another first frequency, a larger `trace.target` or a larger `trace.tolerance`",
        ),
        Ended::Course(End::Stuck) => reason(
            Level::Doubtful,
            "ended_early",
            "another `trace.scale`, a larger `trace.tolerance` or a longer `trace.settling`",
        ),
        Ended::Course(End::MostPoints) => {
            reason(Level::Doubtful, "ended_early", "more `trace.points`, or longer `trace.steps`")
        }
        Ended::Course(End::Limit) => Some(at_limit(setup, places, found)),
        Ended::Course(End::Bound | End::Complete) => None,
    }
}

/// The rig's target, not always the response, is too large.
fn at_limit(setup: &Setup<'_>, places: &[Place], found: &Outcome) -> Reason {
    let limit_m = setup.spec().target_m;
    let last = found.points.last();
    let response_m = last.map_or(0.0, |point| {
        (0..point.fundamental.len()).map(|dof| point.amplitude_m(dof)).fold(0.0, f64::max)
    });
    let unit = places.first().map_or_else(String::new, Place::shown_unit);
    let text = format!(
        "{}: it is {} {unit}, the response there {} {unit}",
        found.ended.words(),
        number(1e3 * limit_m),
        number(1e3 * response_m)
    );
    let remedy = match response_m < 0.5 * limit_m {
        true => {
            "the rig follows its target poorly there: stiffen its control, or raise \
                 `trace.target` together with `limits.command`"
        }
        false => "raise `trace.target` together with `limits.command`, or lower the load",
    };
    Reason::new(Level::Doubtful, "ended_early", text, remedy)
}

/// What the simulation does to the response, and how far it is from the model.
fn accuracy(found: &Outcome, thresholds: &VerdictSpec) -> Vec<Reason> {
    let Outcome { largest_bias_percent, largest_difference_percent, .. } = found;
    let judged = |percent: Option<f64>, pair, id, what: &str, remedy: &str| {
        Reason::beyond(pair, percent? / 100.0, id, |threshold| {
            let (percent, threshold) =
                (number(percent.unwrap_or(f64::NAN)), number(100.0 * threshold));
            (format!("{what} {percent} % of its peak; {threshold} % allowed"), remedy.to_owned())
        })
    };
    let bias = judged(
        *largest_bias_percent,
        thresholds.bias,
        "bias",
        "the simulation changes the response by",
        "a higher [integrator] rate, or a method without damping and hold of its own: newmark, rk4, \
         exact with hold = \"first\"",
    );
    let difference = judged(
        *largest_difference_percent,
        thresholds.reference_error,
        "reference_error",
        "the response deviates from the whole structure's by",
        "look where on the page; the model of the specimen, or the trace, is not right there",
    );
    let neither = largest_bias_percent.is_none() && largest_difference_percent.is_none();
    let unknown = (neither && !found.points.is_empty()).then(|| {
        let text = "neither the bias of the simulation nor a model says how right the response is";
        let remedy = "trace again at twice the [integrator] rate; the response must not change";
        Reason::new(Level::Doubtful, "accuracy_not_known", text, remedy)
    });
    bias.into_iter().chain(difference).chain(unknown).collect()
}

/// Harmonics in which both sides do not move alike.
fn unmatched(setup: &Setup<'_>, found: &Outcome, thresholds: &VerdictSpec) -> Option<Reason> {
    const ID: &str = "unmatched_harmonics";
    let remedy = "more `trace.harmonics`";
    let (matched, seen) = (setup.spec().harmonics, setup.spec().seen());
    let is_linear = setup.assembly().substructures.whole.elements.is_empty();
    let share = found.largest_unmatched_percent.filter(|_| seen > matched).map(|it| it / 100.0);
    let Some(share) = share else {
        let text = format!("what harmonics above {matched} do to the response is not known");
        let remedy = "compare with a trace that matches two more, and records them (`trace.seen`)";
        return (!is_linear).then(|| Reason::new(Level::Doubtful, ID, text, remedy));
    };
    Reason::beyond(thresholds.unmatched_harmonics, share, ID, |threshold| {
        let text = format!(
            "in harmonics {} to {seen}, which are not matched, the rig moves up to {} % of the \
             load's power; {} % allowed",
            matched + 1,
            number(100.0 * share),
            number(100.0 * threshold)
        );
        (text, remedy.to_owned())
    })
}

/// How well the response is known.
fn interval(places: &[Place], found: &Outcome, thresholds: &VerdictSpec) -> Option<Reason> {
    let share = |dof: usize| {
        let mut all: Vec<f64> = found.points.iter().map(|point| point.interval_m[dof]).collect();
        all.sort_unstable_by(f64::total_cmp);
        let last = all.len().checked_sub(1)?;
        let most = all.get((MOST_POINTS * last as f64) as usize)?;
        Some((most / found.peaks.get(dof)?.mark.amplitude_m, dof))
    };
    let worst = (0..places.len()).filter_map(share).max_by(|(a, _), (b, _)| a.total_cmp(b));
    let (share, dof) = worst?;
    Reason::beyond(thresholds.interval, share, "interval", |threshold| {
        let text = format!(
            "the intervals of {} reach ± {} % of its peak; {} % allowed",
            label(&places[dof].name),
            number(100.0 * share),
            number(100.0 * threshold)
        );
        let remedy = "more `trace.harmonics`, a smaller `trace.tolerance`, or against noise a larger \
                      `trace.settling.refined`";
        (text, remedy.to_owned())
    })
}

/// Folds that may be none, or that are not in pairs.
fn folds(found: &Outcome) -> Vec<Reason> {
    let doubtful = found.folds.iter().filter(|fold| fold.doubtful).count();
    let count = found.folds.len();
    let may_be_none = (doubtful > 0).then(|| {
        let text = format!(
            "{doubtful} of {}: the frequency turns back so little that residuals and noise may \
             explain it",
            counted(count as u64, "fold")
        );
        let remedy = "a smaller `trace.tolerance`, or longer `trace.steps`";
        Reason::new(Level::Doubtful, "doubtful_folds", text, remedy)
    });
    let [Some(first), Some(last)] = [found.points.first(), found.points.last()] else {
        return may_be_none.into_iter().collect();
    };
    // From one end of the band to the other a branch turns back as often as it turns on.
    let bands = found.band_hz.1 - found.band_hz.0;
    let crosses = (first.frequency_hz - last.frequency_hz).abs() > 0.99 * bands;
    let odd = (found.ended == Ended::Course(End::Bound) && crosses && count % 2 == 1).then(|| {
        let text = format!(
            "{} between both ends of the band: folds come in pairs",
            counted(count as u64, "fold")
        );
        Reason::new(Level::Doubtful, "fold_missed", text, "shorter `trace.steps`")
    });
    let clear = count - doubtful;
    let model = found.reference.as_ref().map(|branch| branch.folds.len());
    let others = model.filter(|&model| found.ended.is_complete() && model != clear).map(|model| {
        let text = format!("{}, where the model has {model}", counted(clear as u64, "fold"));
        let remedy = "more `trace.harmonics`, shorter `trace.steps`, or a look at the model";
        Reason::new(Level::Doubtful, "folds_differ", text, remedy)
    });
    may_be_none.into_iter().chain(odd).chain(others).collect()
}

/// Peaks that no point has seen.
fn peaks(
    setup: &Setup<'_>,
    places: &[Place],
    found: &Outcome,
    thresholds: &VerdictSpec,
) -> Vec<Reason> {
    let finer = match setup.spec().course {
        CourseSpec::Arclength => {
            "a shorter `trace.steps.most`, or a smaller `trace.scale.frequency`"
        }
        CourseSpec::Sweep => "more `trace.points`, or course = \"arclength\"",
    };
    let over = jumped(&found.points, setup.spec().tolerance_m()).first().map(|&k| {
        let text = format!(
            "a step from {} to {} Hz went over a resonance: its peak was not seen",
            number(found.points[k - 1].frequency_hz),
            number(found.points[k].frequency_hz)
        );
        Reason::new(Level::Doubtful, "resonance_not_seen", text, finer)
    });
    // Where the points themselves are off, that is said.
    let agrees = found.largest_difference_percent < Some(100.0 * thresholds.reference_error[0]);
    let peaks = found.peaks.iter().enumerate().filter(|_| agrees && found.ended.is_complete());
    let lower = peaks.into_iter().find_map(|(dof, peak)| {
        let points = &found.reference.as_ref()?.points;
        let size = |at: usize| points[at].fundamental[dof].norm();
        let top = (0..points.len()).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
        let least = (1.0 - thresholds.reference_error[0]) * size(top);
        (peak.mark.amplitude_m < least).then(|| {
            let text = format!(
                "the model of {} peaks at {} Hz with {} {unit}; the largest measured is {} {unit}",
                label(&places[dof].name),
                number(points[top].frequency_hz),
                number(1e3 * size(top)),
                number(1e3 * peak.mark.amplitude_m),
                unit = places[dof].shown_unit(),
            );
            Reason::new(Level::Doubtful, "peak_not_seen", text, finer)
        })
    });
    over.into_iter().chain(lower).collect()
}

/// Points that were taken as they were.
fn unsettled(found: &Outcome) -> Option<Reason> {
    (found.unsettled_points > 0).then(|| {
        let text = format!(
            "{} of {} had not settled in time",
            found.unsettled_points,
            counted(found.points.len() as u64, "point")
        );
        let remedy = "a larger `trace.settling.longest`, or a larger `trace.settling.tolerance`";
        Reason::new(Level::Doubtful, "not_settled", text, remedy)
    })
}
