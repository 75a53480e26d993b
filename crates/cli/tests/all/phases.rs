//! Phases with the real program: record, report, replay, two rates, real time.

use crate::common::{Draft, Lab};
use runtime::record::Record;

const INITIATING: &str = "{ rate = \"20 mm/s\", reach = \"2 mm\", settle = \"0.2 s\", within = \
                          \"0.05 mm\", stands_at = \"1.5 mm\" }";

fn staged() -> Draft {
    let completing = "{ ring_down = \"8 s\", at_rest = \"0.02 mm\", home_rate = \"5 mm/s\" }";
    Draft::new()
        .top("duration = \"1 s\"")
        .with("phases", &format!("initiating = {INITIATING}\ncompleting = {completing}"))
}

fn record(lab: &Lab, folder: &str) -> Record {
    Record::read(lab.path(&format!("{folder}/record.arrow"))).unwrap()
}

fn running(record: &Record, name: &str) -> Vec<u64> {
    let phase = record.column("phase").unwrap();
    let column = record.column(name).unwrap();
    let rows = column.iter().zip(phase).filter(|(_, phase)| **phase == 0.0);
    rows.map(|(value, _)| value.to_bits()).collect()
}

#[test]
fn the_load_gives_the_numbers_of_a_test_without_phases() {
    let lab = Lab::new();
    for (rates, every) in [(None, 1), (None, 4), (Some("ratio = 8\nbridge = 100"), 1)] {
        let with = |mut draft: Draft| {
            if let Some(rates) = rates {
                draft = draft.with("main_loop", rates);
            }
            draft.with("record", &format!("every = {every}"))
        };
        lab.rehearse(&with(Draft::new().top("duration = \"1 s\""))).exits(0);
        let plain = record(&lab, "out");
        let criteria = |lab: &Lab| {
            let text = std::fs::read_to_string(lab.path("out/summary.json")).unwrap();
            let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
            (summary["criteria"].clone(), summary["nrmse"].clone())
        };
        let expected = criteria(&lab);
        // A rig that stands at zero leaves no trace of its fetching.
        let still = staged().text().replace("1.5 mm", "0 mm");
        lab.write("still.toml", with(staged()).text().replace("1.5 mm", "0 mm"));
        assert!(still.contains("0 mm"));
        lab.twinrig(["run", "still.toml", "--out", "out"]).exits(0);
        let phased = record(&lab, "out");
        for name in ["command.1", "measured.1", "force.1", "reference.1", "energy.input"] {
            assert_eq!(running(&plain, name), running(&phased, name), "{name}");
        }
        assert_eq!(criteria(&lab), expected, "criteria count the running phase alone");
        if every == 1 {
            lab.twinrig(["replay", "out"]).exits(0);
        }
    }
}

#[test]
fn phases_are_in_the_record_the_report_and_the_terminal() {
    let lab = Lab::new();
    let ran = lab.rehearse(&staged()).exits(0);
    for words in ["fetched to its start", "the load acts", "rings down", "at home"] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    let record = record(&lab, "out");
    let phase = record.column("phase").unwrap();
    let mut order = phase.to_vec();
    order.dedup();
    assert_eq!(order, [4.0, 0.0, 5.0, 6.0, 3.0]);
    assert!((record.column("measured.1").unwrap()[0] - 1.5e-3).abs() < 1e-9, "where it stands");
    assert_eq!(*record.column("command.1").unwrap().last().unwrap(), 0.0);
    let channel = record.channels.iter().find(|channel| channel.name == "phase").unwrap();
    assert!(channel.description.contains("initiating"), "{}", channel.description);
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    for word in ["initiating", "ringing down", "going home"] {
        assert!(page.contains(word), "{word}");
    }
    assert!(lab.twinrig(["replay", "out"]).exits(0).out.contains("bit for bit"));
}

#[test]
fn a_rig_too_far_away_trips_before_it_is_commanded() {
    let lab = Lab::new();
    lab.write("far.toml", staged().text().replace("1.5 mm", "2.5 mm"));
    let ran = lab.twinrig(["run", "far.toml", "--out", "out"]).exits(4);
    assert!(ran.out.contains("does not stand where it should"), "{}", ran.out);
    let record = record(&lab, "out");
    assert_eq!(record.columns[0].len(), 1);
}

#[test]
fn phases_need_a_rig_of_its_own() {
    let lab = Lab::new();
    lab.write("ideal.toml", staged().with("transfer_system", "kind = \"ideal\"").text());
    lab.write("staged.toml", staged().text());
    let ran = lab.twinrig(["check", "staged.toml"]).exits(0);
    assert!(ran.out.contains("rings down for up to"), "{}", ran.out);
    let ran = lab.twinrig(["check", "ideal.toml"]).exits(3);
    assert!(ran.err.contains("both are one system"), "{}", ran.err);
}

#[test]
fn phases_in_real_time_have_the_bits_of_the_rehearsal() {
    let lab = Lab::new();
    for rates in [None, Some("ratio = 8\ntask_ticks = 6\nbridge = 900")] {
        let patient = staged().with("realtime", "overrun_limit = 1000000\npriority = 10");
        let draft = match rates {
            None => patient,
            Some(rates) => patient.with("main_loop", rates),
        };
        lab.rehearse(&draft).exits(0);
        let folder = if rates.is_some() { "two" } else { "one" };
        let ran = lab.twinrig(["run", "test.toml", "--realtime", "--out", folder]).exits(0);
        assert!(ran.err.contains("initiating") && ran.err.contains("completing"), "{}", ran.err);
        let (rehearsed, lived) = (record(&lab, "out"), record(&lab, folder));
        let bridged = lived.column("main.bridged").unwrap_or_default();
        // Late batches, on a busy machine, make another test.
        let late = bridged.iter().position(|&ticks| ticks > 0.0);
        let rows = late.unwrap_or(rehearsed.columns[0].len());
        for (channel, (a, b)) in
            rehearsed.channels.iter().zip(rehearsed.columns.iter().zip(&lived.columns))
        {
            let bits = |column: &[f64]| -> Vec<u64> {
                column[..rows.min(column.len())].iter().map(|value| value.to_bits()).collect()
            };
            assert_eq!(bits(a), bits(b), "{}", channel.name);
        }
        assert!(lab.twinrig(["replay", folder]).exits(0).out.contains("bit for bit"));
    }
}
