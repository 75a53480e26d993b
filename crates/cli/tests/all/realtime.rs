//! Tests against the clock with the real program: the same bits as rehearsed,
//! signals, kills, a full disk, no privileges. Nothing here judges punctuality.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Draft, Lab};
use runtime::record::Record;

/// On a busy machine a tick may be very late; that is not what is tested here.
fn patient(draft: Draft) -> Draft {
    draft
        .with("realtime", "overrun_limit = 1000000\npriority = 10")
        .with("sensors", "force_noise = \"2 N\"\ndisplacement_noise = \"1 um\"")
}

fn long() -> Draft {
    patient(Draft::new().top("duration = \"60 s\""))
        .with("limits", "command = \"1 m\"\nrate = \"100 m/s\"\nforce = \"100 MN\"\nsafe = { hold = \"0.2 s\", rate = \"100 mm/s\" }")
        .with("record", "flush = \"50 ms\"")
}

fn columns(path: &Path) -> (Record, Vec<Vec<u64>>) {
    let record = Record::read(path).unwrap();
    let bits = record.columns.iter();
    let bits = bits.map(|column| column.iter().map(|value| value.to_bits()).collect()).collect();
    (record, bits)
}

fn start(lab: &Lab, wrapper: &[&str]) -> Child {
    let program = env!("CARGO_BIN_EXE_twinrig");
    let mut words = wrapper.to_vec();
    words.extend([program, "run", "test.toml", "--realtime", "--out", "out"]);
    Command::new(words[0])
        .args(&words[1..])
        .current_dir(lab.folder())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the record has grown to this size.
fn wait_for_bytes(lab: &Lab, bytes: u64) {
    let start = Instant::now();
    let size = || std::fs::metadata(lab.path("out/record.arrow")).map_or(0, |file| file.len());
    while size() < bytes {
        assert!(start.elapsed() < Duration::from_secs(60), "no record after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn the_record_of_a_real_run_has_the_bits_of_its_rehearsal() {
    let lab = Lab::new();
    let draft = patient(Draft::new().top("duration = \"1 s\"\nseed = 42"));
    lab.rehearse(&draft).exits(0);
    let ran = lab.twinrig(["run", "test.toml", "--realtime", "--out", "real"]).exits(0);
    assert!(ran.out.contains("wake-up") && ran.out.contains("execution"), "{}", ran.out);
    assert!(ran.err.contains("1.0 s of 1.0 s"), "{}", ran.err);
    let (rehearsed, expected) = columns(&lab.path("out/record.arrow"));
    let (lived, found) = columns(&lab.path("real/record.arrow"));
    assert_eq!(expected.len(), found.len());
    for ((channel, expected), found) in rehearsed.channels.iter().zip(&expected).zip(&found) {
        assert_eq!(expected, found, "{}", channel.name);
    }
    assert!(rehearsed.header.started.is_empty() && lived.header.started.ends_with('Z'));
    let fact = |name: &str| lived.header.machine.iter().any(|(fact, _)| fact == name);
    for name in ["loop scheduling", "loop processor", "memory", "processor sleep", "preemption"] {
        assert!(fact(name), "{name}: {:?}", lived.header.machine);
    }
    let summary = std::fs::read_to_string(lab.path("real/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["timing"]["latencies"][0]["name"], "wake_up");
    assert_eq!(summary["timing"]["latencies"][0]["count"], 1024);
    let page = std::fs::read_to_string(lab.path("real/report.html")).unwrap();
    assert!(page.contains("Latency histograms") && page.contains("SCHED_"));
    assert!(lab.twinrig(["replay", "real"]).exits(0).out.contains("bit for bit"));
    // A real test is never overwritten.
    let again = lab.twinrig(["run", "test.toml", "--realtime", "--out", "real"]).exits(1);
    assert!(again.err.contains("exists and is not replaced"), "{}", again.err);
    assert_eq!(columns(&lab.path("real/record.arrow")).1, found);
}

#[test]
fn two_rates_run_on_two_threads_and_replay() {
    let lab = Lab::new();
    let draft = patient(Draft::new().top("duration = \"1 s\"\nseed = 3"))
        .with("integrator", "method = \"exact\"\nrate = \"1 kHz\"")
        .with("main_loop", "ratio = 10\ntask_ticks = 8\nbridge = 900");
    lab.rehearse(&draft).exits(0);
    let ran = lab.twinrig(["run", "test.toml", "--realtime", "--out", "real", "--json"]).exits(0);
    let (rehearsed, expected) = columns(&lab.path("out/record.arrow"));
    let (lived, found) = columns(&lab.path("real/record.arrow"));
    let bridged = lived.column("main.bridged").unwrap();
    let punctual = bridged.iter().position(|&ticks| ticks > 0.0).unwrap_or(bridged.len());
    println!("{punctual} of {} ticks compared", bridged.len());
    for ((channel, expected), found) in rehearsed.channels.iter().zip(&expected).zip(&found) {
        assert_eq!(expected[..punctual], found[..punctual], "{}", channel.name);
    }
    let timing = &ran.json()["summary"]["timing"];
    let names: Vec<&str> = timing["latencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|latency| latency["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["wake_up", "execution", "main.wake_up", "main.execution"]);
    assert!(lived.header.machine.iter().any(|(name, _)| name == "main loop scheduling"));
    // Late batches or not: which one each tick used is in the record.
    lab.twinrig(["replay", "real"]).exits(0);
    let said = lab.twinrig(["check", "test.toml"]).out;
    assert!(said.contains("a step of the main loop (1:10) takes"), "{said}");
    lab.write("bad.toml", draft.with("realtime", "priority = 20\nmain_priority = 20").text());
    let refused = lab.twinrig(["check", "bad.toml"]).exits(3);
    assert!(refused.err.contains("the main loop has priority 20, the tick 20"), "{}", refused.err);
}

#[test]
fn a_signal_stops_the_test_and_the_rig_is_at_zero() {
    for (name, presses) in [("-INT", 1), ("-TERM", 2), ("-HUP", 3)] {
        let lab = Lab::new();
        lab.write("test.toml", long().text());
        // Whatever started this test may ignore hang-ups, as `nohup` does.
        let wrapper = ["env", "--default-signal=HUP"];
        if !Command::new(wrapper[0]).args([wrapper[1], "true"]).status().unwrap().success() {
            println!("skipped: `env` cannot reset signals");
            return;
        }
        let child = start(&lab, &wrapper);
        wait_for_bytes(&lab, 100_000);
        for _ in 0..presses {
            signal(&child, name);
            std::thread::sleep(Duration::from_millis(30));
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(8), "{said}");
        assert!(said.contains("topped by the operator"), "{said}");
        let record = Record::read(lab.path("out/record.arrow")).unwrap();
        assert!(record.summary.as_ref().unwrap().is_complete());
        let last = |name: &str| *record.column(name).unwrap().last().unwrap();
        assert_eq!(last("trip"), 14.0);
        // A third press that finds the ramp under way freezes it; else the rig is at zero.
        if presses < 3 || last("phase") != 7.0 {
            assert_eq!((last("command.1"), last("phase")), (0.0, 3.0));
        }
        let moved = record.column("command.1").unwrap().iter().any(|x| x.abs() > 1e-4);
        assert!(moved, "there was something to ramp down");
        // The record tells how the operator stopped it, so it replays.
        lab.twinrig(["replay", "out"]).exits(0);
        assert!(lab.path("out/report.html").is_file());
    }
}

#[test]
fn a_killed_run_keeps_what_was_flushed() {
    let lab = Lab::new();
    lab.write("test.toml", long().text());
    let mut child = start(&lab, &[]);
    wait_for_bytes(&lab, 100_000);
    child.kill().unwrap();
    child.wait().unwrap();
    let record = Record::read(lab.path("out/record.arrow")).unwrap();
    assert_eq!(record.summary, None);
    let time = record.column("time").unwrap();
    assert!(time.len() > 100, "{} frames", time.len());
    for (tick, &time) in time.iter().enumerate() {
        assert_eq!(time, tick as f64 / 1024.0, "no frame is missing before the cut");
    }
    // What made the machine punctual is known even so.
    assert!(record.header.machine.iter().any(|(name, _)| name == "loop scheduling"));
    let said = lab.twinrig(["report", "out"]);
    assert!(said.out.contains("without a summary"), "{}", said.out);
}

#[test]
fn a_full_disk_never_reaches_the_tick() {
    let lab = Lab::new();
    // Files end at 128 blocks of 1 KiB; the signal for it is ignored, as a full disk
    // gives an error too.
    let wrapper = ["bash", "-c", "trap '' XFSZ; ulimit -f 128; exec \"$@\"", "bash"];
    if !Command::new("bash").arg("-c").arg("true").status().is_ok_and(|status| status.success()) {
        println!("skipped: no bash to set a limit of file sizes");
        return;
    }
    lab.write("test.toml", long().top("duration = \"3 s\"").text());
    let output = start(&lab, &wrapper).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("Incomplete: ") && told.contains("Peak of"), "{told}");
    assert!(said.contains("writing the record") && said.contains("frames are safe"), "{said}");
    assert!(said.contains("FRAMES LOST"), "the operator was told while it ran: {said}");
    assert!(said.contains("3.0 s of 3.0 s"), "the loop went on to its end: {said}");
    let record = Record::read(lab.path("out/record.arrow")).unwrap();
    assert_eq!(record.summary, None);
    let time = record.column("time").unwrap();
    assert!(!time.is_empty() && time.len() < 3000, "{}", time.len());
    assert!(time.iter().enumerate().all(|(tick, &time)| time == tick as f64 / 1024.0));
    // A trip after the last frame that found room is known from nowhere else.
    let lab = Lab::new();
    let fault = "kind = \"stuck_actuator\"\nat = \"2.5 s\"";
    let limits =
        "command = \"1 m\"\nrate = \"100 m/s\"\nforce = \"100 MN\"\ntracking_error = \"0.2 mm\"";
    let text =
        long().top("duration = \"60 s\"").with("limits", limits).with("[fault]", fault).text();
    lab.write("test.toml", text);
    let output = start(&lab, &wrapper).wait_with_output().unwrap();
    let (told, said) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(4), "{told}{said}");
    assert!(told.contains("Tripped: Tracking error beyond its limit"), "{told}");
    assert!(told.contains("rehearsed fault begins"), "{told}");
    assert!(said.contains("writing the record"), "{said}");
}

#[test]
fn without_the_privilege_a_run_says_so_and_goes_on() {
    let lab = Lab::new();
    lab.write("test.toml", patient(Draft::new()).text());
    // Whoever runs this test gets no real-time priority and locks no memory.
    let limits = "ulimit -r 0; ulimit -l 64; exec \"$@\"";
    let wrapper =
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "bash", "-c", limits, "bash"];
    if !Command::new(wrapper[0])
        .args(&wrapper[1..5])
        .arg("true")
        .status()
        .is_ok_and(|s| s.success())
    {
        println!("skipped: no setpriv to give up privileges");
        return;
    }
    let output = start(&lab, &wrapper).wait_with_output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // A busy machine is late, and the verdict says so.
    assert!(matches!(output.status.code(), Some(0 | 10)), "{out}{err}");
    assert!(err.contains("notice: no real-time priority for the loop"), "{err}");
    assert!(err.contains("docs/real-time.md"), "{err}");
    assert!(out.contains("SCHED_OTHER (SCHED_FIFO refused)"), "{out}");
    let record = Record::read(lab.path("out/record.arrow")).unwrap();
    let timing = record.summary.unwrap().timing.unwrap();
    assert!(!timing.notices.is_empty());
    assert_eq!(timing.latency("wake_up").unwrap().count, 307);
}

#[test]
fn check_says_whether_the_loop_fits() {
    let lab = Lab::new();
    lab.write("good.toml", Draft::new().text());
    // What this machine can do decides; the words must say what was measured.
    let said = lab.twinrig(["check", "good.toml", "--json"]).exits(0).json();
    let share = said["tick_share"].as_f64().unwrap();
    assert_eq!(said["fits"].as_bool().unwrap(), share <= 1.0, "{said}");
    let said = lab.twinrig(["check", "good.toml"]).exits(0).out;
    assert!(said.contains("fits real time") || said.contains("does NOT fit real time"), "{said}");
    // A tick far below what any machine can do.
    let fast = Draft::new()
        .top("duration = \"1 ms\"")
        .with("integrator", "method = \"exact\"\nrate = \"20 MHz\"");
    lab.write("fast.toml", fast.with("transfer_system", "kind = \"delay\"\nsamples = 200").text());
    let said = lab.twinrig(["check", "fast.toml", "--json"]).json();
    assert_eq!(said["fits"], false, "{said}");
    assert_eq!(said["margin"], 2.0);
    assert!(said["ratio"].is_null(), "the outer tick alone takes longer: {said}");
}

#[test]
fn bench_measures_and_says_where_cyclictest_is_missing() {
    let lab = Lab::new();
    let program = env!("CARGO_BIN_EXE_twinrig");
    let output = Command::new(program)
        .args(["bench", "--realtime", "--seconds", "1", "--json"])
        .env("PATH", lab.folder())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["rates"][0]["rate_hz"], 1000.0);
    assert_eq!(said["rates"][1]["frames"], 4096);
    assert_eq!(said["rates"][1]["frames_lost"], 0);
    assert_eq!(said["large"]["frames"], 10_000);
    let error = said["rates"][0]["cyclictest_error"].as_str().unwrap();
    assert!(error.contains("not installed"), "{error}");
}
