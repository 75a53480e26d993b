//! The page of a reduction: the interface response of both models, their error, their motion.

use std::f64::consts::TAU;

use model::reduction::response::Response;

use super::found::{Found, Model};
use super::history::History;
use crate::page::{Axis, Block, Figure, KeyNumber, Page, Pane, Point, Role, Section, Series};
use crate::page::{Symbol, Table, Verdict};
use crate::words::number;

/// Interface DOFs that are drawn.
const DRAWN: usize = 4;

/// The page.
pub(super) fn page(found: &Found) -> Page {
    let rows = found.rows().into_iter().map(|(name, value)| [name, value]);
    let table = Table::new(&["Quantity", "Value"]).filled(rows);
    let responses = (0..found.interface_dofs.min(DRAWN)).map(|dof| response(found, dof).into());
    let histories = match &found.model {
        Model::Matrices(matrices) => {
            matrices.history.as_ref().map_or_else(Vec::new, History::figures)
        }
        Model::States(_) => Vec::new(),
    };
    Page {
        kind: "Component mode synthesis",
        title: found.title.clone(),
        verdict: banner(found),
        facts: facts(found),
        sections: vec![
            Section::new("Reduction", vec![table.into()]),
            Section::new(
                "Response at the interface",
                responses.chain([error(found).into()]).collect(),
            ),
            Section::new("Motion in time", histories.into_iter().map(Block::from).collect()),
        ],
    }
}

fn banner(found: &Found) -> Verdict {
    let percent = |share: f64| format!("{} %", number(100.0 * share));
    let largest = percent(found.response_error.max);
    let statement = format!("The interface response is off by at most {largest}.");
    let allowed = format!("doubtful above {}", percent(found.thresholds.reduction_error[0]));
    let band = format!("0 to {} Hz", number(found.band_hz));
    let numbers = vec![
        KeyNumber::new("Largest error at the interface", largest, allowed),
        KeyNumber::new("Band", band, ""),
    ];
    Verdict::of(&found.verdict, &found.stability, &[statement], numbers)
}

/// Names and values for the head of the page.
fn facts(found: &Found) -> Vec<(String, String)> {
    let change = |of: usize| format!("{} → {}", found.states_before / of, found.states_after / of);
    let mut facts = match &found.model {
        Model::Matrices(matrices) => vec![
            ("DOFs", change(2)),
            ("Modes kept", matrices.modes_hz.len().to_string()),
            ("Band", format!("{:.1} Hz", found.band_hz)),
        ],
        Model::States(_) => vec![("States", change(1))],
    };
    facts.push(("Largest error", format!("{} %", number(100.0 * found.response_error.max))));
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Receptance of one interface DOF, full as dots and reduced as a line.
fn response(found: &Found, dof: usize) -> Figure {
    let curve = |response: &Response| -> Vec<(f64, f64)> {
        let sizes = response.receptances.iter().map(|h| h[(dof, dof)].norm());
        response.omegas_rad_s.iter().map(|omega| omega / TAU).zip(sizes).collect()
    };
    let points = curve(&found.compared.full).into_iter().map(Point::from).collect();
    let (role, name) = (Role::Reference, "full model".to_owned());
    let y = Axis::new("Receptance [m/N]").log();
    let pane = Pane::new(frequency(found), y)
        .line(Role::Other(0), "reduced model", curve(&found.compared.fine))
        .with(Series::Points { role, name, symbol: Symbol::Circle, points });
    let caption = "Displacement over force at the interface DOF itself. The full model is shown at \
                   the frequencies where it was computed.";
    Figure::new(format!("Interface DOF {}", dof + 1), caption, vec![pane])
}

/// The error over frequency.
fn error(found: &Found) -> Figure {
    let hertz = found.compared.full.omegas_rad_s.iter().map(|omega| omega / TAU);
    let percent = hertz.zip(found.compared.errors.iter().map(|error| 100.0 * error));
    let pane = Pane::new(frequency(found), Axis::new("Relative error [%]").log())
        .high(200.0)
        .line(Role::Error, "reduced against full", percent)
        .limit(100.0 * found.thresholds.reduction_error[0], "doubtful above");
    let caption = "Relative to the full model, over all interface DOFs together.";
    Figure::new("Error of the interface response", caption, vec![pane])
}

fn frequency(found: &Found) -> Axis {
    Axis::frequency().range(0.0, found.band_hz)
}
