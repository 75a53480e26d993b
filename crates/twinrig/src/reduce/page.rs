//! What a reduction has to show on its page.

use std::f64::consts::TAU;

use model::reduction::response::Response;

use super::Found;
use super::history::History;
use crate::page::Grade;
use crate::reduction_page::{DOUBTFUL, DRAWN, ReductionPage};
use crate::words::number;

/// Points of the reduced model's curve.
const FINE: usize = 800;

pub(super) fn html(found: &Found) -> String {
    let comparison = &found.comparison;
    let largest_error = comparison.response.max;
    let percent = number(100.0 * largest_error);
    let verdict = if !comparison.verdict.is_stable() {
        (Grade::Bad, "Unstable", found.verdict())
    } else if largest_error > DOUBTFUL || !comparison.verdict.is_passive() {
        let text =
            format!("{}; the interface response is off by up to {percent} %", found.verdict());
        (Grade::Doubtful, "Look at the error", text)
    } else {
        let text =
            format!("{}; the interface response is off by at most {percent} %", found.verdict());
        (Grade::Good, "True at the interface", text)
    };
    let facts = [
        ("DOFs", format!("{} → {}", comparison.states_before / 2, comparison.states_after / 2)),
        ("Modes kept", found.elastic().len().to_string()),
        ("Band", format!("{:.1} Hz", found.band_hz())),
        ("Largest error", format!("{percent} %")),
    ];
    let model = &found.examined.reduced.model;
    let mut omegas = found.full.omegas_rad_s.clone();
    let end = comparison.band_rad_s;
    omegas.extend((1..=FINE).map(|k| end * k as f64 / FINE as f64));
    omegas.sort_by(f64::total_cmp);
    let fine = Response::of_model(model, &omegas).ok();
    let shown = 0..model.interface.min(DRAWN);
    let responses = shown.map(|dof| {
        [curve(&found.full, dof), fine.as_ref().map_or_else(Vec::new, |fine| curve(fine, dof))]
    });
    let page = ReductionPage {
        title: found.title.clone(),
        verdict,
        facts: facts.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        rows: found.rows(),
        band_hz: found.band_hz(),
        largest_error,
        responses: responses.collect(),
        errors: (0..found.errors.len()).map(|k| (found.hertz(k), found.errors[k])).collect(),
        histories: found.history.as_ref().map_or_else(Vec::new, History::figures),
    };
    page.page().html()
}

/// The receptance at one interface DOF over the frequency.
pub(super) fn curve(response: &Response, dof: usize) -> Vec<(f64, f64)> {
    let sizes = response.receptances.iter().map(|h| h[(dof, dof)].norm());
    response.omegas_rad_s.iter().map(|omega| omega / TAU).zip(sizes).collect()
}
