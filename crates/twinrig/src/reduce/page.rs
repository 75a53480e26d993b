//! The page of a reduction: the interface response, and its error.

use model::reduction::response::Response;

use super::Found;
use super::history::History;
use crate::report::{Curve, Look, Pane, Picture, Span, Square, Table, Verdict};
use crate::words::number;

/// Interface DOFs that are drawn.
pub(super) const DRAWN: usize = 4;
/// Points of the reduced model's curve.
const FINE: usize = 800;
/// An error above this is doubtful.
pub(super) const DOUBTFUL: f64 = 0.01;

pub(super) fn html(found: &Found) -> String {
    let comparison = &found.comparison;
    let verdict = if !comparison.verdict.is_stable() {
        (Verdict::Bad, "Unstable", found.verdict())
    } else if comparison.response.max > DOUBTFUL || !comparison.verdict.is_passive() {
        let text = format!(
            "{}; the interface response is off by up to {:.2} %",
            found.verdict(),
            100.0 * comparison.response.max
        );
        (Verdict::Doubtful, "Look at the error", text)
    } else {
        let text = format!(
            "{}; the interface response is off by at most {} %",
            found.verdict(),
            number(100.0 * comparison.response.max)
        );
        (Verdict::Good, "True at the interface", text)
    };
    let rows = found.rows().into_iter().map(|(name, value)| vec![name, value]).collect();
    let facts = [
        ("DOFs", format!("{} → {}", comparison.states_before / 2, comparison.states_after / 2)),
        ("modes kept", found.elastic().len().to_string()),
        ("band", format!("{:.1} Hz", found.band_hz())),
        ("worst error", format!("{} %", number(100.0 * comparison.response.max))),
    ];
    let shown = found.examined.reduced.model.interface.min(DRAWN);
    let mut panes: Vec<Pane> = (0..shown).map(|dof| both(found, dof)).collect();
    let errors = (0..found.errors.len()).map(|k| (found.hertz(k), found.errors[k]));
    panes.push(error(found.band_hz(), errors));
    panes.extend(found.history.iter().flat_map(History::panes));
    let picture = Picture {
        title: found.title.clone(),
        verdict,
        facts: facts.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        tables: vec![Table { title: "Reduction", header: vec!["Quantity", "Value"], rows }],
        panes,
    };
    picture.html("Component mode synthesis")
}

pub(super) fn decibel(value: f64) -> f64 {
    20.0 * value.log10()
}

/// A span around these, with some room.
fn around(title: &'static str, values: impl Iterator<Item = f64> + Clone) -> Span {
    let finite = values.filter(|value| value.is_finite());
    let low = finite.clone().fold(f64::INFINITY, f64::min);
    let high = finite.fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return Span { title, low: 0.0, high: 1.0 };
    }
    let room = 0.06 * (high - low).max(1.0);
    Span { title, low: low - room, high: high + room }
}

fn frequency(band_hz: f64) -> Span {
    Span { title: "frequency [Hz]", low: 0.0, high: band_hz }
}

/// The full and the reduced response at one interface DOF.
fn both(found: &Found, dof: usize) -> Pane {
    let reduced = &found.examined.reduced;
    let level = |response: &Response, k: usize| decibel(response.receptances[k][(dof, dof)].norm());
    let full = (0..found.errors.len()).map(|k| (found.hertz(k), level(&found.full, k))).collect();
    let mut omegas = found.full.omegas_rad_s.clone();
    let end = found.comparison.band_rad_s;
    omegas.extend((1..=FINE).map(|k| end * k as f64 / FINE as f64));
    omegas.sort_by(f64::total_cmp);
    let fine = Response::of_model(&reduced.model, &omegas);
    let fine: Vec<(f64, f64)> = fine.map_or_else(
        |_| Vec::new(),
        |fine| {
            let at = |k: usize| omegas[k] / std::f64::consts::TAU;
            (0..omegas.len()).map(|k| (at(k), level(&fine, k))).collect()
        },
    );
    response(dof, found.band_hz(), full, fine)
}

/// |H| of one interface DOF, full as dots and reduced as a line.
pub(super) fn response(
    dof: usize,
    band_hz: f64,
    full: Vec<(f64, f64)>,
    reduced: Vec<(f64, f64)>,
) -> Pane {
    let levels = reduced.iter().chain(&full).map(|point| point.1);
    let y = around("|displacement / force| [dB re 1 m/N]", levels);
    Pane {
        title: format!("Response at interface DOF {}", dof + 1),
        caption:
            "Receptance at the interface DOF itself. Dots: the full model, at the frequencies \
                  where it was computed. Line: the reduced model."
                .to_owned(),
        x: frequency(band_hz),
        y,
        square: Square::No,
        curves: vec![Curve { name: "reduced".to_owned(), look: Look::Number(1), points: reduced }],
        marks: full.into_iter().map(|(x, y)| (x, y, String::new())).collect(),
        walls: Vec::new(),
    }
}

/// The error over frequency.
pub(super) fn error(band_hz: f64, errors: impl Iterator<Item = (f64, f64)>) -> Pane {
    let points: Vec<(f64, f64)> = errors.map(|(hertz, error)| (hertz, error.log10())).collect();
    let y = around("log10 of the relative error", points.iter().map(|point| point.1));
    Pane {
        title: "Error of the interface response".to_owned(),
        caption: "Relative to the full model, over all interface DOFs together. −2 is one percent."
            .to_owned(),
        x: frequency(band_hz),
        y,
        square: Square::No,
        curves: vec![Curve { name: "error".to_owned(), look: Look::Number(0), points }],
        marks: Vec::new(),
        walls: Vec::new(),
    }
}
