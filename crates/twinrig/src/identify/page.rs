//! The page of an identification.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use analysis::identification::{Caution, Identification};

use super::choice::{Advised, Choice};
use super::table::{BOUND, rows, title};
use crate::report::{BodePage, BodePoint, BodeSection, BodeTable, Verdict};

/// Coherence below which a line is not drawn.
const LEAST_COHERENCE: f64 = 0.5;

/// The HTML page; `facts` are names and values for its head.
pub fn html(name: &str, facts: Vec<(String, String)>, results: &[Advised]) -> String {
    let cautions: Vec<Caution> =
        results.iter().flat_map(|of| of.result.found.cautions.clone()).collect();
    let bad = |caution: &Caution| matches!(caution, Caution::Unstable | Caution::Reversed(_));
    let verdict = if cautions.iter().any(bad) {
        Verdict::Bad
    } else if cautions.is_empty() {
        Verdict::Good
    } else {
        Verdict::Doubtful
    };
    let words = if cautions.is_empty() {
        "The fitted function describes the measured response within its noise.".to_owned()
    } else {
        cautions.iter().map(|caution| caution.to_string()).collect::<Vec<_>>().join("; ")
    };
    let sections = results.iter().map(section).collect();
    BodePage { title: name.to_owned(), verdict: (verdict, words), facts, sections }.html()
}

fn section(advised: &Advised) -> BodeSection {
    let result = &advised.result;
    let found = &result.found;
    let head = ["Quantity", "Value", "± (95 %)", "Unit"].map(str::to_owned);
    let table = std::iter::once(head)
        .chain(rows(result).into_iter().map(|row| [row.name, row.value, row.bound, row.unit]))
        .collect();
    let mut notes = Vec::new();
    if !found.tried.is_empty() {
        let tried: Vec<String> = found
            .tried
            .iter()
            .map(|(o, c)| format!("{}/{}: {c:.0}", o.numerator, o.denominator))
            .collect();
        notes.push(format!(
            "Order chosen by Schwarz's criterion (zeros/poles: value, lower is better): {}.",
            tried.join(", ")
        ));
    }
    let mut below = None;
    match &advised.choice {
        Ok(choice) => below = Some(compensators(choice)),
        Err(why) => notes.push(format!("No compensator: {why}.")),
    }
    let heading = title(result);
    BodeSection { heading, table, below, notes, points: points(found), band_hz: found.band_hz }
}

/// The compensators, the advised one marked.
fn compensators(choice: &Choice) -> BodeTable {
    let head = ["Compensator", "Tracking error [%]", "Delay left [ms]", "Loop"].map(str::to_owned);
    let rows = choice.rows().into_iter();
    let rows = rows.map(|row| [row.name, row.error, row.delay_left, row.judgement]);
    BodeTable {
        heading: choice.title(),
        rows: std::iter::once(head).chain(rows).collect(),
        marked: choice.table.advice,
        note: format!("{}.", choice.reason()),
    }
}

/// Data and fit at every line; the phase of the data follows that of the fit.
fn points(found: &Identification) -> Vec<BodePoint> {
    let mut fit_phase = 0.0;
    let mut before = None;
    let decibels = |x: f64| 20.0 * x.log10();
    found
        .lines
        .iter()
        .map(|line| {
            let fit = found.fit.response(TAU * line.frequency_hz);
            fit_phase += before.map_or(fit, |before| fit / before).arg();
            before = Some(fit);
            // What does not follow the command is no response; NaN draws nothing.
            let known = if line.coherence >= LEAST_COHERENCE { 0.0 } else { f64::NAN };
            // Half of the variance is along, half across the response.
            let relative = BOUND * line.deviation * FRAC_1_SQRT_2 / line.h1.norm();
            BodePoint {
                frequency_hz: line.frequency_hz,
                magnitude_db: known + decibels(line.h1.norm()),
                phase_deg: known + (fit_phase + (line.h1 / fit).arg()).to_degrees(),
                magnitude_bound_db: decibels(1.0 + relative),
                phase_bound_deg: relative.to_degrees(),
                coherence: line.coherence,
                fit_db: decibels(fit.norm()),
                fit_deg: fit_phase.to_degrees(),
            }
        })
        .collect()
}
