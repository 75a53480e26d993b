//! Tests of the whole report.

use runtime::record::{EventKind, EventNote, Role};
use serde_json::{Value, json as value};

use super::*;
use crate::page::text::number;

pub(super) mod sample;

/// The summary as machines read it.
pub(super) fn json(record: &Record) -> Value {
    serde_json::to_value(summary(record).unwrap()).unwrap()
}

/// And as people do.
pub(super) fn text(record: &Record) -> String {
    summary_words(record).to_string()
}

/// Writes the reports to look at into the folder that `TWINRIG_REPORT_SAMPLES`
/// names; without it they are made and only checked for size.
#[test]
fn samples_of_every_kind_can_be_made() {
    let mut cut_off = sample::benchmark().rows(9000).record();
    cut_off.summary = None;
    let mut lost = sample::benchmark().rows(9000).without_reference().record();
    lost.summary.as_mut().unwrap().frames_lost = 12;
    let records = [
        ("benchmark", sample::benchmark().record()),
        ("tripped", sample::tripped().record()),
        ("interfaces", sample::benchmark().dofs(40, 3).rows(20_000).record()),
        ("cut_off", cut_off),
        ("lost", lost),
        ("empty", sample::benchmark().rows(0).record()),
        ("one_row", sample::benchmark().rows(1).record()),
    ];
    let folder = std::env::var_os("TWINRIG_REPORT_SAMPLES").map(std::path::PathBuf::from);
    for (name, record) in records {
        let page = html(&record).unwrap();
        assert!(page.len() < 5_000_000, "{name} has {} bytes", page.len());
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
            std::fs::write(folder.join(format!("{name}.txt")), text(&record)).unwrap();
            let json = format!("{:#}", json(&record));
            std::fs::write(folder.join(format!("{name}.json")), json).unwrap();
        }
    }
}

#[test]
fn a_long_record_stays_small() {
    let page = html(&sample::benchmark().rows(163_840).record()).unwrap();
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

#[test]
fn the_page_loads_nothing() {
    let page = html(&sample::benchmark().rows(2000).record()).unwrap();
    for outside in ["<script src", "<link", "<img", "<iframe", "@import", "url(http"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn hostile_text_is_shown_not_run() {
    const ATTACK: &str = "</script><script>alert('x')</script><img src=x onerror=\"alert(1)\">";
    let mut record = sample::benchmark().rows(3000).dofs(3, 2).record();
    let attack = || ATTACK.to_owned();
    record.header.title = attack();
    record.header.experiment_name = attack();
    record.header.experiment = attack();
    record.header.version = attack();
    record.header.started = attack();
    record.header.machine = vec![(attack(), attack())];
    record.header.inputs[0].name = attack();
    for channel in &mut record.channels {
        channel.unit = attack();
        channel.description = attack();
        if let Some((role, _)) = channel.name.rsplit_once(".2") {
            channel.name = format!("{role}.{ATTACK}");
        }
    }
    record.header.interface[1].name = attack();
    record.header.interface[1].dof = Some(attack());
    record.summary.as_mut().unwrap().trip = Some(runtime::record::TripNote {
        code: 9,
        text: attack(),
        time_s: f64::NAN,
        value: f64::INFINITY,
        limit: f64::NAN,
    });
    let page = html(&record).unwrap();
    assert!(!page.contains("<img src=x") && !page.contains("<script>alert"));
    assert!(page.contains("&lt;img src=x"));
    // Every script element that opens also closes: none was ended from inside.
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    let text = text(&record);
    assert!(!text.contains('\u{1b}'));
    assert_eq!(json(&record)["status"], "tripped");
}

#[test]
fn a_terminal_is_not_driven_by_a_title() {
    let mut record = sample::benchmark().rows(50).record();
    record.header.title = "\u{1b}]0;owned\u{7}\u{1b}[2Jtitle".to_owned();
    let text = text(&record);
    assert!(!text.contains(['\u{1b}', '\u{7}']) && text.contains("title"));
}

#[test]
fn the_three_forms_agree() {
    let record = sample::benchmark().rows(8192).record();
    let (page, text, json) = (html(&record).unwrap(), text(&record), json(&record));
    assert_eq!(json["criteria"].as_array().unwrap().len(), 9);
    for criterion in json["criteria"].as_array().unwrap() {
        let shown = number(criterion["value"].as_f64().unwrap());
        assert!(text.contains(&shown) && page.contains(&shown), "{criterion}");
    }
    assert_eq!(json["status"], "completed");
    assert_eq!(json["rows"], 8192);
    assert_eq!(json["trip"], Value::Null);
    assert!(json["nrmse"][0]["value"].as_f64().unwrap() > 1.0);
}

#[test]
fn peaks_are_those_of_the_record() {
    let record = sample::benchmark().rows(8192).record();
    let measured = record.column("measured.1").unwrap();
    let largest = measured.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    let json = json(&record);
    let peaks = json["peaks"].as_array().unwrap();
    let peak = peaks.iter().find(|peak| peak["channel"] == "measured.1").unwrap();
    assert_eq!(peak["value"].as_f64().unwrap().abs(), largest);
    let row = (peak["time_s"].as_f64().unwrap() * 1024.0).round() as usize;
    assert_eq!(measured[row].abs(), largest);
}

/// Written by version 0.1.0 before records named their role and the DOFs at the interface: a
/// frame whose second storey is in a laboratory in another process.
fn old_record(name: &str) -> Record {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/records/");
    Record::read(format!("{folder}{name}-0.1.0.arrow")).unwrap()
}

#[test]
fn an_old_record_is_read_by_the_file_inside_it() {
    let record = old_record("loop");
    assert_eq!((record.header.role, record.header.interface.len()), (Role::Loop, 0));
    let json = json(&record);
    let of = |id: &str| {
        let criteria = json["criteria"].as_array().unwrap();
        criteria.iter().find(|criterion| criterion["id"] == id).unwrap().clone()
    };
    // Its own version found the second storey at the interface by its motion.
    assert_eq!(json["criteria"].as_array().unwrap().len(), 9);
    assert_eq!(of("J6")["quantity"], "error of DOF low against the reference");
    assert_eq!(number(of("J6")["value"].as_f64().unwrap()), "0.2884");
    assert_eq!(number(of("J7")["value"].as_f64().unwrap()), "0.006001");
    assert_eq!((&json["status"], json["running_rows"].as_u64()), (&value!("tripped"), Some(5)));
    let kinds = record.summary.as_ref().unwrap().events.iter().map(|event| event.what.clone());
    let known = [EventKind::Warning, EventKind::Trip, EventKind::Fault, EventKind::Link];
    assert_eq!(kinds.collect::<Vec<_>>(), known);
    let page = html(&record).unwrap();
    assert!(page.contains("<h3>Displacement of DOF roof</h3>"));
    assert!(!page.contains("<h3>Displacement of DOF middle</h3>"));
}

#[test]
fn an_old_record_of_a_laboratory_is_known_by_a_fact() {
    let record = old_record("laboratory");
    assert_eq!(record.header.role, Role::Laboratory);
    let json = json(&record);
    assert_eq!((&json["criteria"], &json["status"]), (&value!([]), &value!("tripped")));
    assert_eq!(json["events"][0]["what"], "trip of the loop");
    assert_eq!(json["running_rows"], 5);
}

#[test]
fn an_event_of_another_version_keeps_its_word() {
    let mut record = sample::benchmark().rows(50).record();
    let noted = EventNote::new(0.01, EventKind::Other("lights out".to_owned()), "in the hall");
    record.summary.as_mut().unwrap().events.push(noted);
    assert_eq!(json(&record)["events"][0]["what"], "lights out");
    assert!(html(&record).unwrap().contains("lights out"));
}

#[test]
fn a_broken_record_is_told_in_every_form() {
    let mut record = sample::benchmark().rows(10).record();
    record.columns.pop();
    assert!(html(&record).is_err());
    assert!(text(&record).contains("channels but holds"));
    assert!(summary(&record).is_err());
}

#[test]
fn records_full_of_nothing_finite_are_reported() {
    let mut record = sample::benchmark().rows(300).record();
    for (index, column) in record.columns.iter_mut().enumerate() {
        column.fill([f64::NAN, f64::INFINITY, f64::MAX, -f64::MAX][index % 4]);
    }
    record.header.rate_hz = f64::NAN;
    record.header.every = 0;
    assert!(html(&record).is_ok());
    assert!(!text(&record).is_empty());
    assert!(json(&record)["criteria"].is_array());
}
