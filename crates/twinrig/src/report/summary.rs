//! The report in short: for people, and for a machine.

use serde_json::{Value, json};

use super::findings::{Findings, PeakRow};
use super::timing;
use crate::table::Table;
use crate::words::Words;

use crate::page::text::{count, counted, label, number, number_or_dash};

/// More events than this are not listed.
const SHOWN_EVENTS: usize = 40;

/// The findings in words.
pub(super) fn words(findings: &Findings<'_>) -> Words {
    let header = &findings.view.record.header;
    let (outcome, mut words) = (&findings.outcome, Words::default());
    words.line(label(&header.title));
    words.line(format!("{}: {}", outcome.status.word(), outcome.statements.join(" ")));
    words.line(format!("{}\n", facts_line(findings)));
    events(findings, &mut words);
    timing::words(findings, &mut words);
    if !findings.criteria.is_empty() {
        let mut table = Table::new(&["", "criterion", "value", "unit"]).aligned("<<><");
        let mut notes: Vec<String> = Vec::new();
        for criterion in findings.shown_criteria() {
            let (id, quantity) = (label(&criterion.id), label(&criterion.quantity));
            table.row([&id, &quantity, &number_or_dash(criterion.value), criterion.unit]);
            notes.extend(criterion.note.map(|note| note.to_string()));
        }
        for (id, quantity, value) in nrmse_rows(findings) {
            table.row([&id, &quantity, &number_or_dash(value), "%"]);
        }
        words.table(table);
        notes.sort();
        notes.dedup();
        notes.iter().for_each(|note| words.line(format!("note: {note}")));
        words.line("");
    }
    if findings.peaks.iter().any(|row| row.peak.is_some()) {
        let mut table = Table::new(&["peak of", "value", "unit", "at [s]"]).aligned("<><>");
        for row in findings.shown_peaks() {
            let (value, unit) = shown_peak(row);
            let time = number_or_dash(row.peak.map(|(_, time)| time));
            table.row([&label(&row.quantity), &value, unit, &time]);
        }
        words.table(table);
    }
    for remark in remarks(findings) {
        words.line(format!("note: {remark}"));
    }
    words
}

/// What happened, as a table; nothing if nothing did.
fn events(findings: &Findings<'_>, words: &mut Words) {
    let events = findings.events();
    if events.is_empty() {
        return;
    }
    let mut table = Table::new(&["at [s]", "event", "cause"]).aligned("><<");
    for event in events.iter().take(SHOWN_EVENTS) {
        table.row([
            &format!("{:.3}", event.time_s),
            &label(&event.what.to_string()),
            &label(&event.text),
        ]);
    }
    words.table(table);
    let more = events.len().saturating_sub(SHOWN_EVENTS);
    if more > 0 {
        words.line(format!("and {}", counted(more as u64, "further event")));
    }
    words.line("");
}

/// The findings as JSON, everything in SI units.
pub(super) fn json(findings: &Findings<'_>) -> Value {
    let view = &findings.view;
    let header = &view.record.header;
    let summary = view.record.summary.as_ref();
    let criteria: Vec<Value> = findings
        .criteria
        .iter()
        .map(|criterion| {
            json!({
                "id": criterion.id,
                "quantity": criterion.quantity,
                "value": criterion.value,
                "unit": criterion.unit,
                "note": criterion.note.map(|note| note.to_string()),
            })
        })
        .collect();
    let nrmse: Vec<Value> = view
        .interfaces
        .iter()
        .zip(&findings.nrmse)
        .map(|(interface, value)| json!({ "interface": interface.name, "value": value, "unit": "%" }))
        .collect();
    let peaks: Vec<Value> = findings
        .peaks
        .iter()
        .map(|row| {
            json!({
                "channel": row.channel,
                "quantity": row.quantity,
                "value": row.peak.map(|(value, _)| value),
                "unit": row.unit,
                "time_s": row.peak.map(|(_, time)| time),
            })
        })
        .collect();
    let trip = findings.outcome.trip.as_ref().map(|trip| {
        json!({
            "code": trip.code,
            "text": trip.text,
            "time_s": trip.time_s,
            "value": trip.value,
            "limit": trip.limit,
        })
    });
    let events: Vec<Value> = findings
        .events()
        .iter()
        .map(|event| {
            json!({
                "time_s": event.time_s,
                "what": event.what,
                "text": event.text,
                "value": event.value,
                "limit": event.limit,
            })
        })
        .collect();
    json!({
        "events": events,
        "title": header.title,
        "experiment": header.experiment_name,
        "version": header.version,
        "seed": header.seed,
        "started": header.started,
        "rate_hz": header.rate_hz,
        "every": header.every,
        "status": findings.outcome.status.id(),
        "statements": findings.outcome.statements,
        "trip": trip,
        "duration_s": duration_s(findings),
        "rows": view.rows(),
        "running_rows": view.running_rows(),
        "bridged_frames": view.bridged,
        "ticks": summary.map(|summary| summary.ticks),
        "frames": summary.map(|summary| summary.frames),
        "frames_lost": summary.map(|summary| summary.frames_lost),
        "timing": timing::note(findings),
        "dofs": view.dofs,
        "interface_dofs": view.interfaces.len(),
        "criteria": criteria,
        "nrmse": nrmse,
        "peaks": peaks,
        "stability_warning_reached_s": findings.warning_reached_s,
        "not_finite": findings.gaps.iter()
            .map(|(channel, samples)| json!({ "channel": channel, "samples": samples }))
            .collect::<Vec<_>>(),
    })
}

/// Id, words and value of the normalised rms error of each shown interface DOF.
pub(super) fn nrmse_rows(findings: &Findings<'_>) -> Vec<(String, String, Option<f64>)> {
    let several = findings.view.interfaces.len() > 1;
    let words = "normalised rms error of the measured motion against the reference";
    let rows = findings.shown_interfaces.iter().map(|&index| {
        let name = label(&findings.view.interfaces[index].name);
        let value = findings.nrmse[index];
        if several {
            (format!("NRMSE.{name}"), format!("{words}, interface {name}"), value)
        } else {
            ("NRMSE".to_owned(), words.to_owned(), value)
        }
    });
    rows.collect()
}

/// A peak in the unit people read: millimetres rather than metres.
pub(super) fn shown_peak(row: &PeakRow) -> (String, &'static str) {
    let value = row.peak.map(|(value, _)| value);
    match row.unit {
        "m" => (number_or_dash(value.map(|value| 1e3 * value)), "mm"),
        "N" if value.is_some_and(|value| value.abs() >= 1e3) => {
            (number_or_dash(value.map(|value| 1e-3 * value)), "kN")
        }
        unit => (number_or_dash(value), unit),
    }
}

/// What else a reader must know.
pub(super) fn remarks(findings: &Findings<'_>) -> Vec<String> {
    const NAMED: usize = 5;
    let mut remarks: Vec<String> = findings.left_out().into_iter().collect();
    if !findings.gaps.is_empty() {
        let named = findings.gaps.iter().take(NAMED).map(|(channel, samples)| {
            format!("{} ({})", label(channel), counted(*samples as u64, "sample"))
        });
        let named: Vec<String> = named.collect();
        let more = findings.gaps.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} further channels") } else { String::new() };
        remarks
            .push(format!("Not finite, and left out of every number: {}{more}.", named.join(", ")));
    }
    if findings.view.bridged > 0 {
        remarks.push(format!(
            "{} hold{} a measurement that stands in for an answer of the rig that did not come in \
             time (channel rig.bridged). The loop went on with it; it is left out of every curve \
             and number.",
            counted(findings.view.bridged as u64, "frame"),
            if findings.view.bridged == 1 { "s" } else { "" },
        ));
    }
    let (running, rows) = (findings.view.running_rows(), findings.view.rows());
    if running < rows {
        remarks.push(format!(
            "Criteria and peaks count the {} in which the test was running, not the {} {}.",
            counted(running as u64, "frame"),
            count((rows - running) as u64),
            if findings.view.first() > 0 { "before and after it" } else { "after it" },
        ));
    }
    remarks
}

/// Time of the last frame.
pub(super) fn duration_s(findings: &Findings<'_>) -> Option<f64> {
    findings.view.time.iter().rev().copied().find(|time| time.is_finite())
}

fn facts_line(findings: &Findings<'_>) -> String {
    let (view, header) = (&findings.view, &findings.view.record.header);
    // A laboratory knows nothing of the structure.
    let of_structure = match view.dofs {
        0 => String::new(),
        dofs => format!("{} of the structure, ", counted(dofs as u64, "DOF")),
    };
    format!(
        "{} at {} Hz, {}, {of_structure}{} at the interface, seed {}, twinrig {}",
        duration_s(findings)
            .map_or_else(|| "no time".to_owned(), |time| format!("{} s", number(time))),
        number(header.rate_hz),
        counted(view.rows() as u64, "frame"),
        match view.dofs {
            0 => counted(view.interfaces.len() as u64, "DOF"),
            _ => view.interfaces.len().to_string(),
        },
        header.seed,
        label(&header.version),
    )
}
