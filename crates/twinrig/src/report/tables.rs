//! What page and terminal both show as tables.

use analysis::criteria::Note;
use experiment::PerDof;

use super::findings::{Findings, difference};
use super::summary::PeakRow;
use crate::page::text::{label, number, number_or_dash, prefixed, seconds};
use crate::table::Table;

/// What happened.
pub(super) fn events(findings: &Findings<'_>) -> Table {
    let rows = findings.events().iter().map(|event| {
        [format!("{:.3}", event.time_s), label(&event.what.to_string()), label(&event.text)]
    });
    Table::new(&["Time [s]", "Event", "Cause"]).aligned("><<").filled(rows)
}

/// The criteria of what is shown to people.
pub(super) fn criteria(findings: &Findings<'_>) -> Table {
    let mut table = Table::new(&["", "Criterion", "Value", "Unit"]).aligned("<<><");
    for criterion in findings.criteria.iter().filter(|one| findings.is_shown(one.subject)) {
        let mut quantity = label(&criterion.quantity);
        // What lacks a reference is said once, below.
        if let Some(note) = criterion.note.filter(|note| *note != Note::NoReference) {
            quantity += &format!(" ({note})");
        }
        let value = number_or_dash(criterion.value);
        table.row([&label(&criterion.id), &quantity, &value, criterion.unit]);
    }
    if !table.rows.is_empty() {
        let words = "normalised rms error of the measured motion against the reference";
        for &index in &findings.shown_interfaces {
            let name = findings.view.told_apart(index);
            let id = name.map_or("NRMSE".to_owned(), |name| format!("NRMSE.{name}"));
            let quantity = findings.view.named(words, index);
            table.row([&id, &quantity, &number_or_dash(findings.nrmse[index]), "%"]);
        }
    }
    table
}

/// The peaks of what is shown to people.
pub(super) fn peaks(findings: &Findings<'_>) -> Table {
    let mut table = Table::new(&["Peak of", "Value", "Unit", "Time [s]"]).aligned("<><>");
    let shown = |row: &&PeakRow| row.subject.is_none_or(|subject| findings.is_shown(subject));
    for row in findings.peaks.iter().filter(shown) {
        let (scale, unit) = match row.unit {
            "m" => (1e3, "mm"),
            "N" if row.value.is_some_and(|value| value.abs() >= 1e3) => (1e-3, "kN"),
            unit => (1.0, unit),
        };
        let value = number_or_dash(row.value.map(|value| scale * value));
        table.row([&label(&row.quantity), &value, unit, &number_or_dash(row.time_s)]);
    }
    if findings.peaks.iter().all(|row| row.value.is_none()) {
        table.rows.clear();
    }
    table
}

/// A quantity, its limit, its course and its unit.
type Limited<'a> = (&'a str, &'a Option<PerDof>, &'a [f64], &'a str);

/// What the gate allows, and what was used of it.
pub(super) fn limits(findings: &Findings<'_>) -> Table {
    let mut table = Table::new(&["Limit", "Allowed", "Peak", "Unit", "Share [%]", "At"]);
    let Some(limits) = findings.experiment.as_ref().map(|experiment| &experiment.limits) else {
        return table;
    };
    let view = &findings.view;
    for (index, interface) in view.interfaces.iter().enumerate() {
        let error = difference(interface.command, &interface.measured);
        let rows: [Limited<'_>; 3] = [
            ("command", &limits.command, interface.command, "m"),
            ("force", &limits.force, &interface.force, "N"),
            ("tracking error", &limits.tracking_error, &error, "m"),
        ];
        for (name, limit, column, unit) in rows {
            let Some(limit) = limit.as_ref().and_then(|limit| limit.get(index)) else { continue };
            let (unit, scale) = prefixed(unit, limit);
            let found = analysis::criteria::peak(column);
            let value = found.map_or(f64::NAN, |found| found.value.abs());
            let time = found.map_or("–".to_owned(), |found| seconds(view.time[found.index]));
            table.row([
                &view.named(name, index),
                &number(scale * limit),
                &number(scale * value),
                &unit,
                &number(100.0 * value / limit),
                &time,
            ]);
        }
    }
    table
}
