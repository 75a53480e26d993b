//! From a run to its record and back: trips, kills, seeds, replays, exports.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Draft, Lab, python};
use runtime::record::{Options, Record, Recorder};

fn noisy(seed: u32) -> Draft {
    Draft::new()
        .top(&format!("duration = \"0.3 s\"\nseed = {seed}"))
        .with("sensors", "displacement_noise = \"10 um\"\nforce_noise = \"2 N\"")
}

#[test]
fn the_record_goes_out_and_comes_back() {
    let lab = Lab::new();
    lab.rehearse(&noisy(1)).exits(0);
    let record = Record::read(lab.path("out/record.arrow")).unwrap();
    assert_eq!(record.header.experiment, noisy(1).text());
    assert_eq!(record.summary.as_ref().unwrap().frames, 307);

    lab.twinrig(["export", "out", "--format", "csv"]).exits(0);
    let text = std::fs::read_to_string(lab.path("out/record.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let first =
        lines.iter().position(|line| line.split(',').next().unwrap().parse::<f64>().is_ok());
    let rows = &lines[first.unwrap()..];
    assert_eq!(rows.len(), 307);
    for (tick, row) in rows.iter().enumerate() {
        for (column, field) in record.columns.iter().zip(row.split(',')) {
            let value: f64 = field.parse().unwrap();
            assert!(value.to_bits() == column[tick].to_bits(), "tick {tick}: {field}");
        }
    }
    lab.twinrig(["export", "out", "--format", "mat"]).exits(0);
    let program = r#"
import h5py
with h5py.File("out/record.mat") as f:
    def count(group):
        return sum(count(x) if isinstance(x, h5py.Group) else (307 in x.shape) for x in group.values())
    print(count(f))
assert open("out/record.mat", "rb").read(19) == b"MATLAB 7.3 MAT-file"
"#;
    if let Some(printed) = python(program, &["h5py"], lab.folder()) {
        let columns: usize = printed.trim().parse().unwrap();
        assert_eq!(columns, record.channels.len(), "every channel, whole");
    }
    let program = r#"
import pyarrow as pa
with open("out/record.arrow", "rb") as f: table = pa.ipc.open_stream(f).read_all()
print(table.num_rows, table.num_columns, table.schema.field("force.1").metadata[b"unit"].decode())
"#;
    if let Some(printed) = python(program, &["pyarrow"], lab.folder()) {
        assert_eq!(printed.trim(), format!("307 {} N", record.channels.len()));
    }
    lab.twinrig(["replay", "out"]).exits(0);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let bytes = |draft: &Draft| {
        let lab = Lab::new();
        lab.rehearse(draft).exits(0);
        std::fs::read(lab.path("out/record.arrow")).unwrap()
    };
    let first = bytes(&noisy(1));
    assert!(first == bytes(&noisy(1)), "same file, same seed, same record");
    assert!(first != bytes(&noisy(2)));
    // Not only the text of the file: the streams differ.
    let lab = Lab::new();
    let column = |draft: &Draft| {
        lab.rehearse(draft).exits(0);
        let record = Record::read(lab.path("out/record.arrow")).unwrap();
        record.column("measured.1").unwrap().to_vec()
    };
    assert_ne!(column(&noisy(1)), column(&noisy(2)));
}

/// Asserts that a tripped record stands, then ramps to zero at `rate`.
fn leads_to_safe(record: &Record, hold_s: f64, rate_m_s: f64) {
    let column = |name: &str| record.column(name).unwrap();
    let (phase, command, time) = (column("phase"), column("command.1"), column("time"));
    let trip_s = record.summary.as_ref().unwrap().trip.as_ref().unwrap().time_s;
    let first = phase.iter().position(|&phase| phase == 1.0).unwrap();
    assert!((time[first] - trip_s).abs() < 1e-9);
    let ramp = phase.iter().position(|&phase| phase == 2.0).unwrap();
    assert!((time[ramp] - trip_s - hold_s).abs() < 0.005, "held for {}", time[ramp] - trip_s);
    assert!(command[first..ramp].iter().all(|&x| x == command[first]), "held");
    let stride = rate_m_s / record.header.rate_hz;
    for pair in command[ramp..].windows(2) {
        let move_m = pair[0].abs() - pair[1].abs();
        assert!(move_m >= 0.0 && move_m <= stride * (1.0 + 1e-9), "{pair:?}");
    }
    assert_eq!(command.last(), Some(&0.0));
    assert_eq!(phase.last(), Some(&3.0));
    let code = record.summary.as_ref().unwrap().trip.as_ref().unwrap().code;
    assert!(column("trip")[first..].iter().all(|&value| value == f64::from(code)));
}

#[test]
fn an_unstable_test_trips_on_its_warning() {
    let lab = Lab::new();
    let draft = Draft::new()
        .top("duration = \"20 s\"")
        .with("transfer_system", "kind = \"delay\"\nsamples = 12")
        .with("monitor", "stability_warning = { stop_at = \"100 %\", constant = \"1 J\" }")
        .with("limits", "command = \"1 m\"\nsafe = { hold = \"0.2 s\", rate = \"20 mm/s\" }");
    let ran = lab.rehearse(&draft).exits(4);
    assert!(ran.out.contains("Tripped") && ran.out.contains("tability warning"), "{}", ran.out);
    let record = Record::read(lab.path("out/record.arrow")).unwrap();
    let trip = record.summary.as_ref().unwrap().trip.as_ref().unwrap();
    assert!(trip.value >= 100.0 && trip.limit == 100.0, "{trip:?}");
    leads_to_safe(&record, 0.2, 0.02);
    // The record itself is whole, and replays through the trip.
    lab.twinrig(["report", "out"]).exits(0);
    lab.twinrig(["replay", "out"]).exits(0);
    let summary = lab.twinrig(["report", "out", "--json"]).exits(0).json();
    assert_eq!(summary["summary"]["status"], "tripped");
}

#[test]
fn a_command_beyond_its_limit_never_leaves() {
    let lab = Lab::new();
    let limits = "command = \"0.5 mm\"\nsafe = { hold = \"0.1 s\", rate = \"5 mm/s\" }";
    let draft = Draft::new().top("duration = \"3 s\"").with("limits", limits);
    lab.rehearse(&draft).exits(4);
    let record = Record::read(lab.path("out/record.arrow")).unwrap();
    assert!(record.column("command.1").unwrap().iter().all(|x| x.abs() <= 0.5e-3));
    leads_to_safe(&record, 0.1, 0.005);
    lab.twinrig(["run", "test.toml", "--out", "out", "--json"]).exits(4);
}

#[test]
fn a_killed_run_can_be_read_up_to_its_last_flush() {
    let lab = Lab::new();
    let draft = Draft::new()
        .top("duration = \"4000 s\"")
        .with("record", "displacements = \"interface\"\nflush = \"0.5 s\"");
    lab.write("test.toml", draft.text());
    let mut run = Command::new(env!("CARGO_BIN_EXE_twinrig"))
        .args(["run", "test.toml", "--out", "out"])
        .current_dir(lab.folder())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let record = lab.path("out/record.arrow");
    while !std::fs::metadata(&record).is_ok_and(|facts| facts.len() > 300_000) {
        assert!(run.try_wait().unwrap().is_none(), "the run ended before it could be killed");
        std::thread::sleep(Duration::from_millis(2));
    }
    run.kill().unwrap();
    assert!(!run.wait().unwrap().success(), "the run was over before it was killed");

    let exported = lab.twinrig(["export", "out", "--format", "csv", "--json"]).exits(5).json();
    assert!(exported["rows"].as_u64().unwrap() > 500, "{exported}");
    let said = lab.twinrig(["export", "out", "--format", "csv"]).exits(5);
    assert!(said.err.contains("cut off"), "{}", said.err);
    let said = lab.twinrig(["report", "out"]).exits(5);
    assert!(said.out.contains("Cut off"), "{}", said.out);
    assert!(lab.path("out/report.html").is_file());
    let said = lab.twinrig(["replay", "out"]).exits(5);
    assert!(said.out.contains("bit for bit") && said.err.contains("cut off"), "{}", said.out);
}

/// Writes a record again with its columns and version changed.
fn rewrite(lab: &Lab, change: impl FnOnce(&mut Record)) {
    let mut record = Record::read(lab.path("out/record.arrow")).unwrap();
    change(&mut record);
    let (path, options) = (lab.path("changed.arrow"), Options::rehearsal());
    let (mut sink, handle) =
        Recorder::create(path, &record.header, &record.channels, Vec::new(), &options).unwrap();
    let frames = record.columns[0].len();
    for tick in 0..frames {
        let frame: Vec<f64> = record.columns.iter().map(|column| column[tick]).collect();
        sink.wait_for_room();
        sink.push(&frame);
    }
    drop(sink);
    handle.finish(frames as u64, None).unwrap();
}

#[test]
fn a_replay_finds_a_changed_command() {
    let lab = Lab::new();
    lab.rehearse(&noisy(1)).exits(0);
    rewrite(&lab, |_| {});
    lab.twinrig(["replay", "changed.arrow"]).exits(0);
    rewrite(&lab, |record| {
        let command = record.channels.iter().position(|c| c.name == "command.1").unwrap();
        let value = &mut record.columns[command][200];
        *value = f64::from_bits(value.to_bits() + 1);
    });
    let ran = lab.twinrig(["replay", "changed.arrow"]).exits(6);
    assert!(ran.out.contains("tick 200"), "{}", ran.out);
    let ran = lab.twinrig(["replay", "changed.arrow", "--json"]).exits(6).json();
    assert_eq!(ran["first_difference"]["tick"], 200);
    assert_eq!(ran["identical"], false);
    // A changed measurement changes the commands after it.
    rewrite(&lab, |record| {
        let force = record.channels.iter().position(|c| c.name == "force.1").unwrap();
        record.columns[force][100] += 1.0;
    });
    let ran = lab.twinrig(["replay", "changed.arrow", "--json"]).exits(6).json();
    assert!(ran["first_difference"]["tick"].as_u64().unwrap() > 100);
}

#[test]
fn a_replay_says_what_it_cannot_do() {
    let lab = Lab::new();
    lab.rehearse(&noisy(1)).exits(0);
    rewrite(&lab, |record| record.header.version = "0.0.7".to_owned());
    let ran = lab.twinrig(["replay", "changed.arrow"]).exits(1);
    assert!(ran.err.contains("made by version 0.0.7"), "{}", ran.err);
    // Old records still give their numbers.
    lab.twinrig(["report", "changed.arrow"]).exits(0);
    lab.twinrig(["export", "changed.arrow", "--format", "csv"]).exits(0);

    lab.rehearse(&noisy(1).with("record", "every = 4")).exits(0);
    let ran = lab.twinrig(["replay", "out"]).exits(1);
    assert!(ran.err.contains("one tick in 4"), "{}", ran.err);
}

#[test]
fn a_record_without_a_frame_is_reported_as_such() {
    let lab = Lab::new();
    lab.rehearse(&noisy(1)).exits(0);
    rewrite(&lab, |record| record.columns.iter_mut().for_each(Vec::clear));
    lab.twinrig(["report", "changed.arrow"]).exits(0);
    let ran = lab.twinrig(["export", "changed.arrow", "--format", "csv"]).exits(0);
    assert!(ran.out.starts_with("0 frames"), "{}", ran.out);
}

#[test]
fn one_tick_is_a_test() {
    let lab = Lab::new();
    let draft = Draft::new().top("duration = \"1 ms\"");
    lab.rehearse(&draft.with("integrator", "method = \"rk4\"\nrate = \"1000 Hz\"")).exits(0);
    lab.twinrig(["replay", "out"]).exits(0);
    lab.twinrig(["export", "out", "--format", "mat"]).exits(0);
}
