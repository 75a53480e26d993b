//! The host link with the real program: feed, watch, stop, status, from the
//! command line and from Python, in virtual and in real time.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::common::{Draft, Lab, Ran, python};
use runtime::record::Record;

const TOKEN: &str = "a-token-for-tests-0123456789";

fn streamed() -> Draft {
    Draft::new()
        .top("duration = \"60 s\"\nseed = 3")
        .with(
            "excitation",
            "ground = { streamed = { bound = \"5 m/s^2\" } }\nstream = { rate = \"256 Hz\", buffer \
             = \"0.25 s\", prefill = \"0.1 s\", bridge = \"20 ms\" }",
        )
        .with("phases", "completing = { ring_down = \"0.5 s\", home_rate = \"50 mm/s\" }")
        .with("monitor", "stability_warning = { constant = \"1 J\" }")
        .with("limits", "command = \"1 m\"\nrate = \"100 m/s\"\nforce = \"100 MN\"\nsafe = { hold = \"0.1 s\", rate = \"1 m/s\" }")
        .with("realtime", "overrun_limit = 1000000\npriority = 10")
}

/// A test that runs, and where its link is.
struct Hosted {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
}

impl Hosted {
    fn start(lab: &Lab, more: &[&str]) -> Self {
        lab.write("token", TOKEN).write("test.toml", streamed().text());
        let mut child = Command::new(env!("CARGO_BIN_EXE_twinrig"))
            .args(["run", "test.toml", "--host=127.0.0.1:0", "--token-file", "token", "--json"])
            .args(more)
            .current_dir(lab.folder())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("host link on ").unwrap_or_else(|| {
            let mut rest = String::new();
            stderr.read_to_string(&mut rest).unwrap();
            panic!("{line}{rest}")
        });
        Self { child, address: address.to_owned(), stderr }
    }

    /// Waits for its end.
    fn end(mut self) -> Ran {
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.stderr.read_to_string(&mut err).unwrap();
        let code = self.child.wait().unwrap().code().expect("it ended by itself");
        assert!(!err.contains("panicked"), "{err}");
        Ran::new(code, out, err)
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        // Only where a test fails before its end.
        let _ = self.child.kill();
    }
}

fn host(lab: &Lab, words: &[&str]) -> Ran {
    let mut words = words.to_vec();
    words.extend(["--token-file", "token"]);
    lab.twinrig([&["host"], &words[..]].concat())
}

fn load(samples: usize) -> String {
    let mut text = "time [s],acceleration [m/s^2]\n".to_owned();
    for k in 0..samples {
        let time_s = k as f64 / 256.0;
        text += &format!("{time_s},{}\n", (12.0 * time_s).sin());
    }
    text
}

fn phases(lab: &Lab, folder: &str) -> (Record, Vec<f64>) {
    let record = Record::read(lab.path(&format!("{folder}/record.arrow"))).unwrap();
    let mut order = record.column("phase").unwrap().to_vec();
    order.dedup();
    (record, order)
}

#[test]
fn a_fed_test_completes_records_and_replays() {
    let lab = Lab::new();
    let test = Hosted::start(&lab, &["--out", "out"]);
    lab.write("load.csv", load(1024));
    let status = host(&lab, &["status", &test.address, "--json"]).exits(0).json();
    assert_eq!(status["load"]["state"], "nobody feeds");
    let fed = host(&lab, &["feed", "load.csv", &test.address]).exits(0);
    assert!(fed.out.contains("1024 samples"), "{}", fed.out);
    let ran = test.end().exits(0);
    assert_eq!(ran.json()["summary"]["status"], "completed");
    let (record, order) = phases(&lab, "out");
    // Virtual time does not pass while the load is waited for.
    assert_eq!(order, [0.0, 5.0, 6.0, 3.0]);
    let running = record.column("phase").unwrap().iter().filter(|&&phase| phase == 0.0).count();
    assert_eq!(running, 1023 * 4, "four ticks for each sample but the last");
    let ground = record.column("ground.acceleration").unwrap();
    let start = record.column("phase").unwrap().iter().position(|&phase| phase == 0.0).unwrap();
    assert_eq!(ground[start + 400], (12.0 * 100.0 / 256.0f64).sin());
    assert!(lab.twinrig(["replay", "out"]).exits(0).out.contains("bit for bit"));
    let events = ran.json()["summary"]["events"].to_string();
    assert!(events.contains("1024 samples used, 0 ticks bridged"), "{events}");
    assert!(events.contains("host link"), "{events}");
}

#[test]
fn a_token_goes_to_another_machine_only_through_tls() {
    let lab = Lab::new();
    let mut test = Hosted::start(&lab, &["--out", "out", "--tls"]);
    let mut line = String::new();
    test.stderr.read_line(&mut line).unwrap();
    let shown = line.trim().strip_prefix("fingerprint ").expect("a fingerprint").to_owned();
    let other = "0".repeat(64);
    let asked = |more: &[&str]| host(&lab, &[&["status", &test.address][..], more].concat());
    asked(&["--fingerprint", &shown]).exits(0);
    let refused = |ran: Ran, why: &str| assert!(ran.exits(1).err.contains(why), "{why}");
    refused(asked(&["--fingerprint", &other]), "no trusted end of TLS answers");
    refused(asked(&[]), "the link is encrypted");
    host(&lab, &["stop", &test.address, "--fingerprint", &shown]).exits(0);
    test.end().exits(8);
    // Nothing listens there, and nothing is sent: TEST-NET-1.
    let beyond = host(&lab, &["status", "192.0.2.1:7420"]);
    refused(beyond, "192.0.2.1:7420 is another machine: give --fingerprint");
    let bad =
        lab.twinrig(["run", "test.toml", "--host", "--certificate", "token", "--key", "token"]);
    refused(bad, "no certificate in PEM");
}

#[test]
fn in_real_time_a_test_is_fed_watched_and_completed() {
    let lab = Lab::new();
    let test = Hosted::start(&lab, &["--realtime", "--out", "out"]);
    let mut watcher = Command::new(env!("CARGO_BIN_EXE_twinrig"))
        .args(["host", "watch", &test.address, "--token-file", "token", "--channels", "time,phase"])
        .current_dir(lab.folder())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(watcher.stdout.take().unwrap());
    let mut text = String::new();
    // Nothing is fed before it looks on.
    shown.read_line(&mut text).unwrap();
    assert_eq!(text, "time [s],phase\n");
    lab.write("load.csv", load(256));
    host(&lab, &["feed", "load.csv", &test.address]).exits(0);
    let ran = test.end();
    // On a busy machine the load may starve.
    let broke = ran.json()["summary"]["status"] == "load_broke_off";
    ran.exits(if broke { 9 } else { 0 });
    shown.read_to_string(&mut text).unwrap();
    assert!(watcher.wait().unwrap().success());
    let rows = text.lines().count() - 1;
    let (record, order) = phases(&lab, "out");
    // On a busy machine the load may be bridged, and ends all the same.
    assert!(order.ends_with(&[0.0, 5.0, 6.0, 3.0]), "{order:?}");
    assert!(rows > 0 && rows <= record.columns[0].len(), "{rows}");
    assert!(text.trim_end().ends_with(",3"), "the last frame is shown");
    assert!(lab.twinrig(["replay", "out"]).exits(0).out.contains("bit for bit"));
}

#[test]
fn a_stop_from_the_host_is_the_operators_in_both_clocks() {
    for clock in [&["--out", "out"][..], &["--realtime", "--out", "out"]] {
        let lab = Lab::new();
        let test = Hosted::start(&lab, clock);
        // It waits for its load.
        let stopped = host(&lab, &["stop", &test.address]).exits(0);
        assert!(stopped.out.contains("stop requested"), "{}", stopped.out);
        let ran = test.end().exits(8);
        assert_eq!(ran.json()["summary"]["trip"]["code"], 14);
        let (record, order) = phases(&lab, "out");
        assert_eq!(*order.last().unwrap(), 3.0);
        assert_eq!(*record.column("command.1").unwrap().last().unwrap(), 0.0);
    }
}

#[test]
fn a_killed_feeder_leaves_a_test_that_completes() {
    for clock in [&["--out", "out"][..], &["--realtime", "--out", "out"]] {
        let lab = Lab::new();
        let test = Hosted::start(&lab, clock);
        let mut feeder = Command::new(env!("CARGO_BIN_EXE_twinrig"))
            .args(["host", "feed", "-", &test.address, "--token-file", "token"])
            .current_dir(lab.folder())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = feeder.stdin.take().unwrap();
        input.write_all(load(128).as_bytes()).unwrap();
        input.flush().unwrap();
        // Live: it is sent although more is to come.
        loop {
            let status = host(&lab, &["status", &test.address, "--json"]);
            if status.code != 0 || status.json()["load"]["used"].as_u64() == Some(128) {
                break;
            }
        }
        feeder.kill().unwrap();
        feeder.wait().unwrap();
        let ran = test.end().exits(9);
        let summary = &ran.json()["summary"];
        let events = summary["events"].to_string();
        assert!(events.contains("no load came from the host any more"), "{events}");
        assert_eq!(summary["status"], "load_broke_off", "{summary}");
        let said = summary["statements"].to_string();
        assert!(said.contains("the host that fed it went away; 128 samples had acted"), "{said}");
        let report = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
        assert!(report.contains("load broke off"));
        let order = phases(&lab, "out").1;
        assert!(order.ends_with(&[0.0, 5.0, 6.0, 3.0]), "{order:?}");
    }
}

#[test]
fn a_load_that_turns_bad_breaks_off_and_the_record_says_why() {
    let lab = Lab::new();
    let test = Hosted::start(&lab, &["--out", "out"]);
    let mut rows: Vec<String> = load(400).lines().map(str::to_owned).collect();
    rows[301] = "1.171875,nan".to_owned();
    lab.write("bad.csv", rows.join("\n"));
    // What comes first is taken; the message with the bad sample is not.
    let mut feeder = Command::new(env!("CARGO_BIN_EXE_twinrig"))
        .args(["host", "feed", "-", &test.address, "--token-file", "token"])
        .current_dir(lab.folder())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = feeder.stdin.take().unwrap();
    input.write_all(format!("{}\n", rows[..301].join("\n")).as_bytes()).unwrap();
    input.flush().unwrap();
    loop {
        let status = host(&lab, &["status", &test.address, "--json"]).exits(0).json();
        if status["load"]["samples"].as_u64() == Some(300) {
            break;
        }
    }
    input.write_all(rows[301..].join("\n").as_bytes()).unwrap();
    drop(input);
    let fed = feeder.wait_with_output().unwrap();
    assert_eq!(fed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&fed.stderr).contains("not a finite number"));
    let ran = test.end().exits(9);
    let said = ran.json()["summary"]["statements"].to_string();
    assert!(said.contains("sample 300 of load signal 1 is not a finite number"), "{said}");
    assert!(phases(&lab, "out").1.ends_with(&[0.0, 5.0, 6.0, 3.0]));
}

#[test]
fn strangers_bad_loads_and_bad_addresses_are_told() {
    let lab = Lab::new();
    lab.write("test.toml", streamed().text());
    let ran = lab.twinrig(["run", "test.toml", "--out", "out"]).exits(1);
    assert!(ran.err.contains("--host"), "{}", ran.err);
    let ran = lab.twinrig(["run", "test.toml", "--host=nowhere.invalid:1"]).exits(1);
    assert!(ran.err.contains("cannot listen"), "{}", ran.err);
    lab.write("short", "abc");
    let ran = lab.twinrig(["run", "test.toml", "--host", "--token-file", "short"]).exits(1);
    assert!(ran.err.contains("16 to 128"), "{}", ran.err);
    let test = Hosted::start(&lab, &["--out", "out"]);
    lab.write("other", "another-token-0123456789");
    let words = ["host", "status", &test.address, "--token-file", "other"];
    let ran = lab.twinrig(words).exits(1);
    assert!(ran.err.contains("the token is wrong"), "{}", ran.err);
    let ran = lab.twinrig(["host", "status", &test.address]).exits(1);
    assert!(ran.err.contains("TWINRIG_TOKEN"), "{}", ran.err);
    for (text, words) in [
        ("1\n2\nx\n", "line 3"),
        ("1 2 3\n", "3 columns"),
        ("0 1\n0.5 1\n", "resample"),
        ("1\n9\n", "beyond its bound"),
        ("1\nnan\n", "not a finite number"),
    ] {
        lab.write("bad.csv", text);
        let ran = host(&lab, &["feed", "bad.csv", &test.address]);
        let both = format!("{}{}", ran.out, ran.err);
        assert!(ran.code == 1 && both.contains(words), "{words}: {both}");
        break_is_over(&lab, &test.address);
    }
    host(&lab, &["stop", &test.address]).exits(0);
    test.end().exits(8);
}

/// Waits until the right to feed is free again.
fn break_is_over(lab: &Lab, address: &str) {
    loop {
        let status = host(lab, &["status", address, "--json"]).exits(0).json();
        if status["load"]["state"] == "nobody feeds" {
            return;
        }
    }
}

#[test]
fn python_feeds_watches_and_asks() {
    let lab = Lab::new();
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/twinrig_host.py");
    lab.write("twinrig_host.py", std::fs::read(module).unwrap());
    let mut test = Hosted::start(&lab, &["--out", "out", "--tls"]);
    let mut line = String::new();
    test.stderr.read_line(&mut line).unwrap();
    let fingerprint = line.trim().trim_start_matches("fingerprint ").to_owned();
    let program = format!(
        r#"
import math, threading
from functools import partial
from twinrig_host import Host, HostError, Refused
address, token = "{}", open("token").read()
try:
    Host(address, token, fingerprint="0" * 64)
    raise SystemExit("another test was trusted")
except HostError as error:
    assert "another fingerprint" in str(error), error
Host = partial(Host, fingerprint="{fingerprint}")
try:
    Host(address, "not-the-token-0123456789")
    raise SystemExit("a wrong token was let in")
except Refused as refused:
    assert refused.code == 2, refused
seen = []
watching = Host(address, token)
def watch():
    for frame in watching.watch():
        seen.append(frame["time"])
thread = threading.Thread(target=watch)
thread.start()
with Host(address, token) as host:
    assert host.signals == [("ground.acceleration", "m/s²", 5.0)], host.signals
    assert host.tick_hz == 1024.0 and host.load_hz == 256.0 and not host.real_time
    assert host.status()["phase"] == "initiating"
    rows = [[math.sin(0.05 * k)] for k in range(700)]
    host.feed(*rows[:300])
    host.feed(*rows[300:])
    assert host.end() == 700
thread.join()
assert watching.over.trip == 0 and watching.over.phase == 3
assert seen and seen == sorted(seen)
print(len(seen), watching.dropped, watching.over.ticks)
"#,
        test.address
    );
    let Some(printed) = python(&program, &["struct"], lab.folder()) else {
        host(&lab, &["stop", &test.address, "--fingerprint", &fingerprint]).exits(0);
        test.end();
        return;
    };
    let ran = test.end().exits(0);
    let numbers: Vec<u64> = printed.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!(ran.json()["summary"]["ticks"], numbers[2]);
    assert!(numbers[0] + numbers[1] <= numbers[2], "{printed}");
}
