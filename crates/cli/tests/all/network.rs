//! Loop and laboratory in two processes: the same bits as in one, and each safe
//! by itself when the other is killed, stopped or cut off. Nothing here judges
//! punctuality.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Draft, Lab};
use runtime::record::{EventKind, Record, Role};

const PROGRAM: &str = env!("CARGO_BIN_EXE_twinrig");

/// A machine of the tests' may be slow: nothing is impatient here.
fn draft() -> Draft {
    Draft::new()
        .top("duration = \"1 s\"\nseed = 42")
        .with("sensors", "force_noise = \"2 N\"\ndisplacement_noise = \"1 um\"")
        .with(
            "rig",
            "timeout = \"20 s\"\nwatchdog = \"20 s\"\nbridge = 100000\ntoken = \"bench 3\"",
        )
        .with("realtime", "overrun_limit = 1000000\npriority = 10")
}

fn long(rig: &str) -> Draft {
    draft()
        .top("duration = \"600 s\"")
        .with("limits", "command = \"1 m\"\nrate = \"100 m/s\"\nforce = \"100 MN\"\nsafe = { hold = \"0.1 s\", rate = \"100 mm/s\" }")
        .with("record", "flush = \"20 ms\"")
        .with("rig", rig)
}

/// A laboratory that listens, and where.
pub(crate) struct Rig {
    child: Child,
    pub(crate) address: String,
    err: BufReader<std::process::ChildStderr>,
}

fn start(lab: &Lab, words: &[&str]) -> Rig {
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .current_dir(lab.folder())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    let address = loop {
        line.clear();
        assert!(err.read_line(&mut line).unwrap() > 0, "the rig ended before it listened");
        if let Some(address) = line.strip_prefix("listening at ") {
            break address.trim().to_owned();
        }
    };
    Rig { child, address, err }
}

pub(crate) fn rig(lab: &Lab) -> Rig {
    let listen = ["--once", "--listen", "127.0.0.1:0", "--out", "rig", "--json"];
    start(lab, &[&[PROGRAM, "rig", "test.toml"], &listen[..]].concat())
}

pub(crate) fn ended(mut rig: Rig) -> (Output, serde_json::Value) {
    let mut said = String::new();
    rig.err.read_to_string(&mut said).unwrap();
    let output = rig.child.wait_with_output().unwrap();
    assert!(!said.contains("panicked"), "{said}");
    let json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, json)
}

fn run(lab: &Lab, address: &str, more: &[&str]) -> Child {
    let words = ["run", "test.toml", "--rig", address, "--out", "far"];
    Command::new(PROGRAM)
        .args(words.iter().chain(more))
        .current_dir(lab.folder())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_for_bytes(path: &Path, bytes: u64) {
    let start = Instant::now();
    while std::fs::metadata(path).map_or(0, |file| file.len()) < bytes {
        assert!(start.elapsed() < Duration::from_secs(120), "no record after two minutes");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn bits(record: &Record, name: &str) -> Vec<u64> {
    let column = record.column(name).unwrap_or_else(|| panic!("no channel {name}"));
    column.iter().map(|value| value.to_bits()).collect()
}

fn last(record: &Record, name: &str) -> f64 {
    *record.column(name).unwrap().last().unwrap()
}

/// The rig of a laboratory is identified as one in this process is, and what it was
/// told and did is recorded, in either clock.
#[test]
fn a_laboratory_is_identified_over_the_wire() {
    let lab = Lab::new();
    let function = "kind = \"transfer_function\"\nnumerator = [5.163e6]\n\
                    denominator = [1, 530.8, 8.899e4, 5.44e6]";
    let limits = "command = \"10 mm\"\nrate = \"2 m/s\"\nforce = \"100 MN\"";
    let text = draft().with("transfer_system", function).with("limits", limits);
    lab.write("test.toml", text.text());
    let words = ["identify", "test.toml", "--duration", "8 s", "--order", "3", "--out"];
    let identify = |more: &[&str]| lab.twinrig(words.iter().chain(more));
    identify(&["near"]).exits(0);
    let laboratory = rig(&lab);
    let told = identify(&["far", "--rig", &laboratory.address]).exits(0);
    assert!(told.err.contains("a virtual rig at"), "{}", told.err);
    assert!(told.out.contains("written to far: test.arrow, test.csv"), "{}", told.out);
    assert_eq!(ended(laboratory).0.status.code(), Some(0));
    let read = |folder: &str| Record::read(lab.path(folder).join("test.arrow")).unwrap();
    let (near, far) = (read("near"), read("far"));
    for channel in ["command.1", "measured.1", "force.1"] {
        assert_eq!(bits(&near, channel), bits(&far, channel), "{channel}");
    }
    let fitted = |folder: &str| {
        let text = std::fs::read_to_string(lab.path(folder).join("transfer_system.toml")).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).collect::<String>()
    };
    assert_eq!(fitted("near"), fitted("far"));
    lab.twinrig(["replay", "far/test.arrow"]).exits(1);

    // By the clock: nobody judges here what a busy machine makes of the samples.
    let laboratory = rig(&lab);
    identify(&["real", "--realtime", "--rig", &laboratory.address]);
    ended(laboratory);
    let real = read("real");
    let summary = real.summary.as_ref().unwrap();
    assert!(summary.is_complete() && summary.timing.is_some() && summary.ticks > 1000);
    assert_eq!(last(&real, "command.1"), 0.0);
    // What a rig did cannot be had again: the record stays.
    let refused = identify(&["real", "--realtime", "--rig", "virtual"]).exits(1);
    assert!(refused.err.contains("test.arrow"), "{}", refused.err);
}

#[test]
fn in_virtual_time_a_test_over_the_wire_has_the_bits_of_one_process() {
    let lab = Lab::new();
    lab.write("test.toml", draft().text());
    lab.twinrig(["run", "test.toml", "--out", "near"]).exits(0);
    let rig = rig(&lab);
    let ran = lab.twinrig(["run", "test.toml", "--rig", &rig.address, "--out", "far", "--json"]);
    let said = ran.exits(0).json();
    assert_eq!(said["link"]["bridged"], 0, "{said}");
    // One for each tick, the arm, and what was asked for again on a busy machine.
    let sent = said["link"]["sent"].as_u64().unwrap();
    assert_eq!(sent, 1024 + 1 + said["link"]["resent"].as_u64().unwrap(), "{said}");
    let near = Record::read(lab.path("near/record.arrow")).unwrap();
    let far = Record::read(lab.path("far/record.arrow")).unwrap();
    for channel in &near.channels {
        assert_eq!(bits(&near, &channel.name), bits(&far, &channel.name), "{}", channel.name);
    }
    assert_eq!(last(&far, "rig.bridged"), 0.0);
    let events = &far.summary.as_ref().unwrap().events;
    assert!(events.iter().any(|event| event.what == EventKind::Link), "{events:?}");
    assert!(
        far.header.machine.iter().any(|(name, value)| name == "rig" && value.contains("lock-step"))
    );
    lab.twinrig(["replay", "far"]).exits(0);
    // The laboratory's own record has the same, and its way home.
    let (output, json) = ended(rig);
    assert_eq!(output.status.code(), Some(0), "{json}");
    let there = Record::read(lab.path("rig/record.arrow")).unwrap();
    for name in ["command.1", "measured.1", "force.1", "achieved.1"] {
        assert_eq!(bits(&near, name), bits(&there, name)[..1024], "{name}");
    }
    assert_eq!((last(&there, "phase"), last(&there, "command.1")), (3.0, 0.0));
    assert_eq!(json["sessions"][0]["summary"]["trip"], serde_json::Value::Null, "{json}");
    assert!(json["sessions"][0]["safe_after_s"].as_f64().unwrap() > 0.0);
    assert!(lab.path("rig/report.html").is_file() && lab.path("rig/summary.json").is_file());
    let refused = lab.twinrig(["replay", "rig"]).exits(1);
    assert!(refused.err.contains("a laboratory's record"), "{}", refused.err);
    lab.twinrig(["export", "rig", "--format", "csv"]).exits(0);
}

#[test]
fn a_rig_is_fetched_and_taken_home_over_the_wire() {
    let lab = Lab::new();
    let phases = "initiating = { rate = \"5 mm/s\", reach = \"5 mm\", settle = \"0.2 s\", within = \
                  \"0.1 mm\", stands_at = \"2 mm\" }\n\
                  completing = { ring_down = \"1 s\", at_rest = \"0.1 mm\", home_rate = \"5 mm/s\" }";
    let limits = "command = \"100 mm\"\nrate = \"1 m/s\"\nforce = \"100 MN\"";
    lab.write("test.toml", draft().with("phases", phases).with("limits", limits).text());
    lab.twinrig(["run", "test.toml", "--out", "near"]).exits(0);
    let rig = rig(&lab);
    lab.twinrig(["run", "test.toml", "--rig", &rig.address, "--out", "far"]).exits(0);
    ended(rig);
    let near = Record::read(lab.path("near/record.arrow")).unwrap();
    let far = Record::read(lab.path("far/record.arrow")).unwrap();
    assert!(near.column("measured.1").unwrap()[0] > 1e-3, "it stands elsewhere at first");
    for channel in &near.channels {
        assert_eq!(bits(&near, &channel.name), bits(&far, &channel.name), "{}", channel.name);
    }
    lab.twinrig(["replay", "far"]).exits(0);
}

#[test]
fn against_the_clock_over_the_wire() {
    let lab = Lab::new();
    lab.write("test.toml", draft().text());
    let rig = rig(&lab);
    let output = run(&lab, &rig.address, &["--realtime"]).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    // A busy machine is late, and the verdict says so.
    assert!(matches!(output.status.code(), Some(0 | 10)), "{said}");
    assert!(said.contains("round trip") && said.contains("link"), "{said}");
    lab.twinrig(["replay", "far"]).exits(0);
    let far = Record::read(lab.path("far/record.arrow")).unwrap();
    let bridged = far.column("rig.bridged").unwrap().iter().filter(|&&ticks| ticks > 0.0).count();
    println!("{bridged} of {} ticks bridged", far.columns[0].len());
    let (output, json) = ended(rig);
    assert_eq!(output.status.code(), Some(0), "{json}");
}

#[test]
fn a_killed_laboratory_trips_the_loop_and_both_records_are_readable() {
    let lab = Lab::new();
    lab.write("test.toml", long("timeout = \"2 s\"\nwatchdog = \"20 s\"").text());
    let mut rig = rig(&lab);
    let child = run(&lab, &rig.address, &[]);
    wait_for_bytes(&lab.path("far/record.arrow"), 100_000);
    wait_for_bytes(&lab.path("rig/record.arrow"), 100_000);
    rig.child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("o reply from the laboratory for 2 s"), "{said}");
    let far = Record::read(lab.path("far/record.arrow")).unwrap();
    assert!(far.summary.as_ref().unwrap().is_complete());
    assert_eq!(
        (last(&far, "command.1"), last(&far, "phase"), last(&far, "trip")),
        (0.0, 3.0, 22.0)
    );
    lab.twinrig(["replay", "far"]).exits(0);
    ended(rig);
    let there = Record::read(lab.path("rig/record.arrow")).unwrap();
    assert_eq!(there.summary, None, "it was cut off");
    assert!(there.columns[0].len() > 100);
    let said = lab.twinrig(["report", "rig"]);
    assert!(said.out.contains("without a summary"), "{}", said.out);
}

#[test]
fn a_killed_loop_leaves_a_rig_that_is_safe_within_its_watchdog() {
    for more in [&[][..], &["--realtime"]] {
        let lab = Lab::new();
        let rig_table = "timeout = \"1 s\"\nwatchdog = \"3 s\"\nbridge = 100000";
        lab.write("test.toml", long(rig_table).text());
        let rig = rig(&lab);
        let mut child = run(&lab, &rig.address, more);
        wait_for_bytes(&lab.path("far/record.arrow"), 100_000);
        child.kill().unwrap();
        child.wait().unwrap();
        let (output, json) = ended(rig);
        assert_eq!(output.status.code(), Some(4), "{json}");
        let session = &json["sessions"][0];
        assert_eq!(session["summary"]["trip"]["code"], 22, "{session}");
        assert!(session["silent_s"].as_f64().unwrap() > 3.0, "{session}");
        let there = Record::read(lab.path("rig/record.arrow")).unwrap();
        assert!(there.summary.as_ref().unwrap().is_complete());
        let end = (last(&there, "command.1"), last(&there, "phase"), last(&there, "trip"));
        assert_eq!(end, (0.0, 3.0, 22.0));
        let moved = there.column("command.1").unwrap().iter().any(|x| x.abs() > 1e-4);
        assert!(moved, "there was something to ramp down");
        let far = Record::read(lab.path("far/record.arrow")).unwrap();
        assert_eq!(far.summary, None, "it was cut off");
        assert!(far.columns[0].len() > 100);
    }
}

#[test]
fn the_operator_of_the_laboratory_stops_both() {
    let lab = Lab::new();
    lab.write("test.toml", long("timeout = \"20 s\"\nwatchdog = \"20 s\"").text());
    let rig = rig(&lab);
    let child = run(&lab, &rig.address, &[]);
    wait_for_bytes(&lab.path("far/record.arrow"), 100_000);
    let sent = Command::new("kill").args(["-INT", &rig.child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(8), "{said}");
    assert!(said.contains("the link tripped: stopped by the operator"), "{said}");
    lab.twinrig(["replay", "far"]).exits(0);
    let (output, json) = ended(rig);
    assert_eq!(output.status.code(), Some(8), "{json}");
    let there = Record::read(lab.path("rig/record.arrow")).unwrap();
    assert_eq!((last(&there, "command.1"), last(&there, "trip")), (0.0, 14.0));
}

/// A signal to the loop is its operator's stop in either clock, and the
/// laboratory hears of it.
#[test]
fn the_operator_of_the_loop_stops_both() {
    for (signal, more) in [("-INT", &[][..]), ("-TERM", &[][..]), ("-INT", &["--realtime"])] {
        let lab = Lab::new();
        lab.write(
            "test.toml",
            long("timeout = \"20 s\"\nwatchdog = \"20 s\"\nbridge = 100000").text(),
        );
        let rig = rig(&lab);
        let child = run(&lab, &rig.address, more);
        wait_for_bytes(&lab.path("far/record.arrow"), 100_000);
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(8), "{said}");
        assert!(said.contains("Stopped by the operator"), "{said}");
        let far = Record::read(lab.path("far/record.arrow")).unwrap();
        assert!(far.summary.as_ref().unwrap().is_complete());
        assert_eq!((last(&far, "command.1"), last(&far, "trip")), (0.0, 14.0));
        lab.twinrig(["replay", "far"]).exits(0);
        let (output, json) = ended(rig);
        assert_eq!(output.status.code(), Some(8), "{json}");
        let session = &json["sessions"][0];
        assert_eq!(session["silent_s"], serde_json::Value::Null, "it heard the goodbye: {session}");
        assert_eq!(session["summary"]["status"], "tripped");
        assert_eq!(session["summary"]["trip"]["code"], 23);
        let text = session["summary"]["statements"][0].as_str().unwrap();
        assert!(text.starts_with("The operator of the loop stopped the test at"), "{text}");
        let there = Record::read(lab.path("rig/record.arrow")).unwrap();
        assert_eq!((last(&there, "command.1"), last(&there, "phase")), (0.0, 3.0));
        let report = std::fs::read_to_string(lab.path("rig/report.html")).unwrap();
        assert!(report.contains("The operator of the loop stopped the test"));
    }
}

#[test]
fn a_laboratory_tells_of_a_trip_of_the_loop_and_counts_no_peak_after_it() {
    let lab = Lab::new();
    let limits = "command = \"0.2 mm\"\nrate = \"100 m/s\"\nforce = \"100 MN\"\nsafe = { hold = \"0.1 s\", rate = \"100 mm/s\" }";
    lab.write("test.toml", draft().with("limits", limits).text());
    let rig = rig(&lab);
    let ran = lab.twinrig(["run", "test.toml", "--rig", &rig.address, "--out", "far"]).exits(4);
    assert!(ran.out.contains("Command beyond its limit"), "{}", ran.out);
    let (output, json) = ended(rig);
    assert_eq!(output.status.code(), Some(4), "{json}");
    let summary = &json["sessions"][0]["summary"];
    assert_eq!((&summary["status"], &summary["trip"]["code"]), (&"tripped".into(), &23.into()));
    let text = summary["statements"][0].as_str().unwrap();
    assert!(text.starts_with("The loop tripped: command beyond its limit at"), "{text}");
    let far = Record::read(lab.path("far/record.arrow")).unwrap();
    let running = far.column("phase").unwrap().iter().filter(|&&phase| phase == 0.0).count();
    assert_eq!(summary["running_rows"], running, "what the loop led after its trip is no test");
    let told = (summary["trip"]["time_s"].as_f64(), far.summary.unwrap().trip.unwrap().time_s);
    assert_eq!(told.0, Some(told.1), "the same tick");
}

#[test]
fn a_laboratory_that_cannot_record_says_so_before_it_listens() {
    let lab = Lab::new();
    lab.write("test.toml", draft().top("duration = \"0.1 s\"").text());
    lab.twinrig(["run", "test.toml", "--realtime", "--out", "rig"]).exits(0);
    let words = ["rig", "test.toml", "--once", "--listen", "127.0.0.1:0", "--out"];
    let said = lab.twinrig(words.iter().chain(&["rig"])).exits(1);
    assert!(said.err.contains("exists and is not replaced"), "{}", said.err);
    assert!(!said.err.contains("listening"), "{}", said.err);
    lab.write("file", "in the way");
    let said = lab.twinrig(words.iter().chain(&["file/rig"])).exits(1);
    assert!(said.err.contains("--out") && !said.err.contains("listening"), "{}", said.err);
    // Nor is the rehearsal of a loop replaced by a laboratory's.
    lab.twinrig(["run", "test.toml", "--out", "near"]).exits(0);
    let said = lab.twinrig(words.iter().chain(&["near"])).exits(1);
    assert!(said.err.contains("the record of a loop"), "{}", said.err);
}

#[test]
fn a_loop_and_its_laboratory_never_write_into_one_folder() {
    let lab = Lab::new();
    lab.write("test.toml", draft().top("duration = \"0.1 s\"").text());
    let listen = ["--listen", "127.0.0.1:0", "--out", "rig", "--json"];
    let rig = start(&lab, &[&[PROGRAM, "rig", "test.toml"], &listen[..]].concat());
    let run = |more: &[&str]| {
        let words = ["run", "test.toml", "--rig", &rig.address, "--out"];
        lab.twinrig(words.iter().chain(more))
    };
    let said = run(&["rig"]).exits(1);
    assert!(said.err.contains("another test or laboratory is writing"), "{}", said.err);
    run(&["far"]).exits(0);
    // The session is over; its record is the laboratory's still.
    let said = run(&["rig"]).exits(1);
    assert!(said.err.contains("the record of a laboratory"), "{}", said.err);
    // Three more sessions, each in a folder of its own; a real one replaces nothing.
    run(&["far"]).exits(0);
    let real = run(&["real", "--realtime"]);
    assert_eq!(real.code, 0, "{}", real.err);
    let sent = Command::new("kill").args(["-INT", &rig.child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let (output, json) = ended(rig);
    assert_eq!(output.status.code(), Some(0), "{json}");
    let folders: Vec<&str> = json["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["folder"].as_str().unwrap())
        .collect();
    assert_eq!(folders, ["rig", "rig-2", "rig-3"]);
    for folder in folders {
        let record = Record::read(lab.path(folder).join("record.arrow")).unwrap();
        assert_eq!(record.header.role, Role::Laboratory, "{folder}");
    }
    assert!(!lab.path("rig-4").exists(), "a folder that was not used is gone");
}

#[test]
fn what_cannot_be_is_said_before_anything_is_written() {
    let lab = Lab::new();
    lab.write("test.toml", draft().with("rig", "connect = \"0.3 s\"").text());
    let said = lab.twinrig(["run", "test.toml", "--rig", "127.0.0.1:9", "--out", "far"]).exits(1);
    assert!(said.err.contains("start `twinrig rig FILE` there"), "{}", said.err);
    let said = lab.twinrig(["run", "test.toml", "--rig", "nonsense", "--out", "far"]).exits(1);
    assert!(said.err.contains("give host and port"), "{}", said.err);
    lab.write("test.toml", draft().text());
    let mut rig = rig(&lab);
    let other = draft().with("rig", "token = \"bench 4\"\nconnect = \"0.3 s\"");
    lab.write("test.toml", other.text());
    let said = lab.twinrig(["run", "test.toml", "--rig", &rig.address, "--out", "far"]).exits(1);
    assert!(said.err.contains("the token is wrong"), "{}", said.err);
    let other = draft().with("integrator", "method = \"rk4\"\nrate = \"1000 Hz\"");
    lab.write("test.toml", other.text());
    let said = lab.twinrig(["run", "test.toml", "--rig", &rig.address, "--out", "far"]).exits(1);
    assert!(said.err.contains("its rate is another one"), "{}", said.err);
    assert!(said.err.contains("1000 Hz here, 1024 Hz there"), "{}", said.err);
    assert!(!lab.path("far").exists());
    rig.child.kill().unwrap();
    ended(rig);
    // An address, a token and a rig that cannot be.
    for (rig, words) in
        [("address = \"192.168.7.2\"", "no host with a port"), ("token = \"\"", "`token` is empty")]
    {
        lab.write("bad.toml", draft().with("rig", rig).text());
        let said = lab.twinrig(["check", "bad.toml"]).exits(3);
        assert!(said.err.contains(words), "{}", said.err);
    }
    lab.write("at_once.toml", draft().with("transfer_system", "kind = \"ideal\"").text());
    let said = lab.twinrig(["rig", "at_once.toml"]).exits(1);
    assert!(said.err.contains("at least one step late"), "{}", said.err);
    let said = lab.twinrig(["run", "at_once.toml", "--rig", "127.0.0.1:9"]).exits(1);
    assert!(said.err.contains("one system"), "{}", said.err);
}

/// Everybody knows the token of a file that names none.
#[test]
fn the_preset_token_is_refused_where_other_machines_can_reach_the_wire() {
    let lab = Lab::new();
    lab.write("test.toml", draft().with("rig", "address = \"192.0.2.1:47071\"").text());
    let said = lab.twinrig(["check", "test.toml"]);
    assert!(
        said.err.contains("the pre-set token is refused at \"192.0.2.1:47071\""),
        "{}",
        said.err
    );
    for words in [
        ["run", "test.toml", "--out", "far"],
        ["run", "test.toml", "--rig", "[2001:db8::1]:47071"],
        ["rig", "test.toml", "--listen", "0.0.0.0:0"],
    ] {
        let said = lab.twinrig(words).exits(1);
        assert!(said.err.contains("known to everybody"), "{}", said.err);
    }
    assert!(!lab.path("far").exists());
    lab.write("test.toml", draft().with("rig", "address = \"127.0.0.1:47071\"").text());
    let said = lab.twinrig(["check", "test.toml"]);
    assert!(!said.err.contains("token"), "{}", said.err);
}

/// Both operators are told how the two files differ; the laboratory keeps the stricter limits;
/// a record holds no token.
#[test]
fn files_that_differ_are_told_to_both_and_no_record_has_the_token() {
    let lab = Lab::new();
    let with_force = |force: &str| {
        let limits = format!("command = \"1 m\"\nrate = \"100 m/s\"\nforce = \"{force}\"");
        draft().with("limits", &limits).text()
    };
    lab.write("test.toml", with_force("300 kN"));
    let mut rig = rig(&lab);
    lab.write("test.toml", with_force("400 kN"));
    let words = ["run", "test.toml", "--rig", &rig.address, "--out", "far"];
    let ran = lab.twinrig(words).exits(0);
    let differs = |here: &str, there: &str| {
        format!("`limits.force` of interface DOF 1 is {here} here and {there} at the other end")
    };
    assert!(ran.err.contains(&differs("400.0 kN", "300.0 kN")), "{}", ran.err);
    assert!(ran.err.contains("the experiment files of the two ends differ"), "{}", ran.err);
    let mut said = String::new();
    rig.err.read_to_string(&mut said).unwrap();
    assert!(said.contains(&differs("300.0 kN", "400.0 kN")), "{said}");
    assert!(rig.child.wait().unwrap().success());
    let hash = runtime::link::Token::new("bench 3").hash();
    for folder in ["far", "rig"] {
        let bytes = std::fs::read(lab.path(folder).join("record.arrow")).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"bench 3"), "{folder}");
        let header = Record::read(lab.path(folder).join("record.arrow")).unwrap().header;
        assert!(header.experiment.contains(&format!("token = \"hash {hash}\"")), "{folder}");
        assert!(header.machine.contains(&("token hash".into(), hash.clone())), "{folder}");
    }
    let report = std::fs::read_to_string(lab.path("far/report.html")).unwrap();
    assert!(!report.contains("bench 3"));
    lab.twinrig(["replay", "far"]).exits(0);
}

#[test]
fn a_target_in_python_plays_the_same_spring() {
    let there = Command::new("python3").arg("-V").output();
    if !there.is_ok_and(|output| output.status.success()) {
        println!("skipped: no python3");
        return;
    }
    let lab = Lab::new();
    let spring = draft()
        .top("duration = \"0.3 s\"")
        .with("sensors", "")
        .with("partition", "interface = [1]\nstiffness = [\"0.5 MN/m\"]")
        .with("transfer_system", "kind = \"delay\"\nsamples = 1");
    lab.write("test.toml", spring.text());
    lab.twinrig(["run", "test.toml", "--out", "near"]).exits(0);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/twinrig_target.py");
    let script = target.display().to_string();
    // It says where it listens on its standard output.
    let swap = format!(
        "exec python3 -B '{script}' --rate 1024 --stiffness 0.5e6 --token 'bench 3' --once \
         --listen 127.0.0.1:0 1>&2"
    );
    let rig = start(&lab, &["sh", "-c", &swap]);
    let ran = lab.twinrig(["run", "test.toml", "--rig", &rig.address, "--out", "far", "--json"]);
    ran.exits(0);
    let near = Record::read(lab.path("near/record.arrow")).unwrap();
    let far = Record::read(lab.path("far/record.arrow")).unwrap();
    for name in ["command.1", "measured.1", "force.1"] {
        assert_eq!(bits(&near, name), bits(&far, name), "{name}");
    }
    let (output, _) = ended(rig);
    assert_eq!(output.status.code(), Some(0));
}

/// Two machines, as far as the network goes; the link between them is cut.
#[test]
fn in_two_network_namespaces_a_pulled_link_makes_both_sides_safe() {
    let name = format!("tw{}", std::process::id() % 100_000);
    let (here, there) = (format!("{name}a"), format!("{name}b"));
    let ip = |words: &str| {
        let status = Command::new("ip").args(words.split_whitespace()).output();
        status.is_ok_and(|output| output.status.success())
    };
    let up = ip(&format!("netns add {here}"))
        && ip(&format!("netns add {there}"))
        && ip(&format!("link add {here} netns {here} type veth peer name {there} netns {there}"))
        && ip(&format!("-n {here} addr add 10.77.7.1/24 dev {here}"))
        && ip(&format!("-n {there} addr add 10.77.7.2/24 dev {there}"))
        && ip(&format!("-n {here} link set {here} up"))
        && ip(&format!("-n {there} link set {there} up"));
    if up {
        pull_the_link(&here, &there, &ip);
    } else {
        println!("skipped: no privilege (or no `ip`) to make two network namespaces");
    }
    ip(&format!("netns del {here}"));
    ip(&format!("netns del {there}"));
}

fn pull_the_link(here: &str, there: &str, ip: &dyn Fn(&str) -> bool) {
    let lab = Lab::new();
    let rig_table = "timeout = \"2 s\"\nwatchdog = \"3 s\"\ntoken = \"bench 3\"";
    lab.write("test.toml", long(rig_table).text());
    let listen = ["--once", "--listen", "0.0.0.0:47071", "--out", "rig", "--json"];
    let words = ["ip", "netns", "exec", there, PROGRAM, "rig", "test.toml"];
    let rig = start(&lab, &[&words[..], &listen[..]].concat());
    let child = Command::new("ip")
        .args(["netns", "exec", here, PROGRAM, "run", "test.toml"])
        .args(["--rig", "10.77.7.2:47071", "--out", "far"])
        .current_dir(lab.folder())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_bytes(&lab.path("far/record.arrow"), 100_000);
    assert!(ip(&format!("-n {here} link set {here} down")));
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{said}");
    let (output, json) = ended(rig);
    assert_eq!(output.status.code(), Some(4), "{json}");
    for record in ["far", "rig"] {
        let record = Record::read(lab.path(record).join("record.arrow")).unwrap();
        assert_eq!((last(&record, "command.1"), last(&record, "trip")), (0.0, 22.0));
        assert!(record.summary.unwrap().is_complete());
    }
}
