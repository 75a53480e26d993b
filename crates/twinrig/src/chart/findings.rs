//! The verdict on a chart: on the declared experiment, and on how far the chart can be trusted.

use runtime::verdict::{Level, Reason, Verdict};

use super::{Chart, CrossCheck, End, judge};
use crate::page::text::counted;
use crate::words::number;

/// Distance between a bisected and an exact crossing, as a share of the delay's axis.
const BISECTED: f64 = 0.01;

/// All that speaks against the declared experiment, or against the chart.
pub(super) fn verdict(chart: &Chart, check: Option<&CrossCheck>) -> Verdict {
    let of_check = check.into_iter().flat_map(disagreements);
    declared(chart).into_iter().chain(not_judged(chart)).chain(of_check).collect()
}

fn declared(chart: &Chart) -> Option<Reason> {
    let reason =
        |level, id: &str, text: String, remedy: &str| Some(Reason::new(level, id, text, remedy));
    let room = || {
        let numbers = chart.numbers();
        let told = numbers
            .iter()
            .map(|number| format!("{} {} ({})", number.name, number.value, number.limit));
        told.collect::<Vec<_>>().join(", ")
    };
    let Some((place, judged)) = chart.declared else {
        let text = "the declared experiment does not lie on this chart".to_owned();
        return reason(Level::Doubtful, "not_on_chart", text, "widen --x or --y");
    };
    match judged.verdict {
        judge::Verdict::Unstable => {
            let text = format!("the declared experiment is unstable: {}", room());
            let remedy = "move it into the stable region, or compensate the rig";
            reason(Level::Unsafe, "unstable", text, remedy)
        }
        judge::Verdict::Unknown => {
            let why = chart.judge.trouble().unwrap_or_default();
            let text = format!("the declared experiment could not be judged: {why}");
            reason(Level::Doubtful, "stability_not_predicted", text, "rehearse it")
        }
        judge::Verdict::Stable => {
            let axis = chart.judge.delay_axis()?;
            let margin = chart.room(axis)[1].and_then(End::change)? - place[axis];
            let share = chart.judge.experiment().verdict.delay_margin;
            if margin >= share * place[axis] {
                return None;
            }
            let text = format!(
                "near the boundary: {}; doubtful where the delay may grow by less than {} %",
                room(),
                number(100.0 * share)
            );
            let remedy = "compensate the rig, or put less of the structure into it";
            reason(Level::Doubtful, "delay_margin", text, remedy)
        }
    }
}

fn not_judged(chart: &Chart) -> Option<Reason> {
    let unknown = chart.grid.count(judge::Verdict::Unknown);
    let why = chart.judge.trouble().unwrap_or_default();
    let text = format!(
        "{} of {} could not be judged, the first because: {}",
        counted(unknown as u64, "point"),
        chart.grid.points.len(),
        why.lines().next().unwrap_or_default()
    );
    let remedy = "narrow --x and --y to values that make a test";
    (unknown > 0).then(|| Reason::new(Level::Doubtful, "points_not_judged", text, remedy))
}

/// Where the methods disagree by more than an approximation may.
fn disagreements(check: &CrossCheck) -> Vec<Reason> {
    let doubt = |text, remedy: &str| Reason::new(Level::Doubtful, "cross_check", text, remedy);
    let history = (check.history_differs > 0).then(|| {
        let text = format!(
            "crossings and discretised history differ at {} of {} points, with a growth of at most \
             {:.2e} 1/s",
            check.history_differs, check.history_points, check.history_worst_1_s
        );
        doubt(text, "rehearse where that growth matters")
    });
    let bisected = (check.bisection_worst > BISECTED).then(|| {
        let share = number(100.0 * check.bisection_worst);
        doubt(
            format!("a bisected root lies {share} % of the axis off its crossing"),
            "use a finer --grid",
        )
    });
    let sampled = (check.loop_differs > 0).then(|| {
        let text = format!(
            "the loop as it runs, sampled and with its force held, has another verdict at {} of {} \
             points",
            check.loop_differs, check.loop_points
        );
        doubt(text, "--sampled charts the loop as it runs")
    });
    history.into_iter().chain(bisected).chain(sampled).collect()
}
