//! Monitors, actions and rehearsed faults from the file to the report.

use crate::common::{Draft, Lab};
use runtime::record::Record;
use serde_json::Value;

/// Five seconds and a half in which the actuator becomes too late at three.
fn failing(monitor: &str) -> Draft {
    Draft::new()
        .top("duration = \"5.5 s\"\nseed = 4")
        .with("sensors", "displacement_noise = \"5 um\"\nforce_noise = \"2 N\"")
        .with("monitor", monitor)
        .with("limits", "command = \"0.5 m\"\nsafe = { hold = \"0.1 s\", rate = \"0.2 m/s\" }")
        .with("[fault]", "kind = \"delay\"\nat = \"3 s\"\nby = \"30 ms\"")
}

const EVERYTHING: &str = "stability_warning = { warn_at = \"40 %\" }\n\
                          windowed_warning = { window = \"2 s\", warn_at = \"60 %\" }\n\
                          energy_error = { warn_at = \"20 %\" }\n\
                          forecast = { window = \"1 s\", warn_below = \"1 s\" }\n\
                          tracking = { delay = { warn_at = \"5 ms\" } }\n\
                          limits_used = { warn_at = \"90 %\" }";

fn events(json: &Value) -> Vec<(String, String)> {
    let events = json["summary"]["events"].as_array().unwrap();
    let text = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
    events.iter().map(|event| (text(event, "what"), text(event, "text"))).collect()
}

#[test]
fn each_action_of_each_indicator_does_what_the_file_says() {
    for (indicator, code) in [
        ("stability_warning = { ACTION_at = \"60 %\" }", 6),
        ("windowed_warning = { window = \"2 s\", ACTION_at = \"60 %\" }", 8),
        ("energy_error = { ACTION_at = \"30 %\" }", 9),
        ("forecast = { window = \"1 s\", ACTION_below = \"1 s\" }", 10),
        ("tracking = { delay = { ACTION_at = \"5 ms\" } }", 11),
        ("tracking = { amplitude = { ACTION_at = \"1 %\" } }", 12),
        ("limits_used = { ACTION_at = \"5 %\" }", 13),
    ] {
        let lab = Lab::new();
        let run = |action: &str| {
            lab.write("test.toml", failing(&indicator.replace("ACTION", action)).text());
            lab.twinrig(["run", "test.toml", "--out", "out", "--json"])
        };
        let warned = run("warn").exits(0).json();
        assert!(events(&warned).iter().any(|(what, _)| what == "warning"), "{indicator}");
        for (action, phases) in [
            ("hold", [0.0, 1.0, 2.0, 3.0].as_slice()),
            ("ramp_down", &[0.0, 2.0, 3.0]),
            ("abort", &[0.0, 3.0]),
        ] {
            let json = run(action).exits(4).json();
            assert_eq!(json["summary"]["trip"]["code"], code, "{indicator} {action}");
            assert!(events(&json).iter().any(|(what, _)| what.starts_with("trip")));
            let record = Record::read(lab.path("out/record.arrow")).unwrap();
            let mut seen = record.column("phase").unwrap().to_vec();
            seen.dedup();
            assert_eq!(seen, phases, "{indicator} {action}");
            lab.twinrig(["replay", "out"]).exits(0);
        }
    }
}

#[test]
fn events_stand_in_record_output_json_and_report() {
    let lab = Lab::new();
    let draft = failing(EVERYTHING);
    lab.write("test.toml", draft.text());
    let json = lab.twinrig(["run", "test.toml", "--out", "out", "--json"]).exits(0).json();
    let checked = lab.twinrig(["check", "test.toml"]).exits(0).out;
    assert!(checked.contains("not included: 1 rehearsed fault"), "{checked}");
    let events = events(&json);
    let begins = ("fault".to_owned(), "rehearsed fault begins: commands arrive later".to_owned());
    assert!(events.contains(&begins), "{events:?}");
    for kind in ["stability warning at", "windowed", "energy error", "tracking delay"] {
        let told = |(what, text): &(String, String)| what == "warning" && text.starts_with(kind);
        assert!(events.iter().any(told), "{kind}: {events:?}");
    }
    let record = Record::read(lab.path("out/record.arrow")).unwrap();
    assert_eq!(record.summary.as_ref().unwrap().events.len(), events.len());
    for name in [
        "stability_warning.windowed",
        "energy_error",
        "forecast",
        "tracking.delay.1",
        "tracking.amplitude.1",
        "tracking.valid.1",
        "limits_used.position",
    ] {
        let column = record.column(name).unwrap_or_else(|| panic!("no {name}"));
        assert!(column.iter().all(|value| !value.is_nan()), "{name}");
    }
    let said = lab.twinrig(["report", "out"]).exits(0).out;
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    for (_, text) in &events {
        let start: String = text.chars().take(40).collect();
        assert!(said.contains(&start), "{start}\n{said}");
        assert!(page.contains(&start), "{start}");
    }
    assert!(page.contains("Use of the limits") && page.contains("Tracking while the test ran"));
    // Without the keys there are neither channels nor events.
    lab.rehearse(&Draft::new()).exits(0);
    let plain = Record::read(lab.path("out/record.arrow")).unwrap();
    assert!(plain.column("forecast").is_none() && plain.summary.unwrap().events.is_empty());
}

#[test]
fn the_delay_that_was_rehearsed_is_the_one_that_is_found() {
    let lab = Lab::new();
    let draft = failing("tracking = { window = \"1 s\" }")
        .with("[fault]", "kind = \"delay\"\nat = \"3 s\"\nby = \"4 ms\"");
    lab.rehearse(&draft).exits(0);
    let record = Record::read(lab.path("out/record.arrow")).unwrap();
    let (time, delay) =
        (record.column("time").unwrap(), record.column("tracking.delay.1").unwrap());
    let at = |t: f64| delay[time.iter().position(|&time| time >= t).unwrap()];
    assert!((at(2.9) - 2.0 / 1024.0).abs() < 1e-4, "{}", at(2.9));
    assert!((at(5.0) - 6.0 / 1024.0).abs() < 2e-4, "{}", at(5.0));
}

#[test]
fn every_fault_runs_and_repeats_to_the_bit() {
    for fault in [
        "kind = \"delay_jitter\"\nmost = \"5 ms\"",
        "kind = \"dropped_commands\"\nprobability = \"30 %\"",
        "kind = \"repeated_samples\"\nprobability = \"30 %\"",
        "kind = \"sensor_nan\"\nat = \"1 s\"",
        "kind = \"frozen_displacement\"\nat = \"1 s\"",
        "kind = \"stuck_actuator\"\nat = \"1 s\"",
        "kind = \"saturated_actuator\"\nposition = \"1 mm\"",
        "kind = \"load_cell_drift\"\ndrift = \"100 N\"",
        "kind = \"wrong_sign\"\nat = \"1 s\"",
        "kind = \"specimen_failure\"\nat = \"1 s\"\nremaining = \"50 %\"",
    ] {
        let lab = Lab::new();
        let draft = Draft::new()
            .top("duration = \"2 s\"")
            .with("limits", "command = \"50 mm\"\ntracking_error = \"5 mm\"")
            .with("[fault]", fault);
        let first = lab.rehearse(&draft);
        assert!([0, 4].contains(&first.code), "{fault}: {}", first.err);
        let bytes = std::fs::read(lab.path("out/record.arrow")).unwrap();
        assert_eq!(lab.rehearse(&draft).code, first.code);
        assert!(bytes == std::fs::read(lab.path("out/record.arrow")).unwrap(), "{fault}");
        lab.twinrig(["replay", "out"]).exits(0);
    }
}

#[test]
fn a_fault_needs_a_rig_to_strike() {
    let lab = Lab::new();
    for (system, says) in [
        ("kind = \"ideal\"", "which are one system here"),
        ("kind = \"delay\"\nsamples = 0.5", "at least one step late"),
    ] {
        let draft =
            Draft::new().with("transfer_system", system).with("[fault]", "kind = \"wrong_sign\"");
        let ran = lab.rehearse(&draft).exits(3);
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

/// In real time and over a wire a rig has limits of command, rate and force, or somebody says
/// that it needs none.
#[test]
fn no_rig_is_moved_without_limits() {
    let lab = Lab::new();
    // What no rig can reach bounds nothing.
    let open = "command = \"1 m\"\nforce = \"1e15 N\"";
    lab.write("test.toml", Draft::new().with("limits", open).text());
    let missing = "[limits] bounds no `rate` and no `force`";
    let check = lab.twinrig(["check", "test.toml"]).exits(0);
    assert!(check.err.contains(missing), "{}", check.err);
    lab.twinrig(["run", "test.toml", "--out", "rehearsal"]).exits(0);
    for call in [
        &["run", "test.toml", "--realtime"][..],
        &["run", "test.toml", "--rig", "127.0.0.1:9"],
        &["rig", "test.toml", "--listen", "127.0.0.1:0"],
        &["identify", "test.toml", "--realtime"],
        &["trace", "test.toml", "--realtime"],
    ] {
        let refused = lab.twinrig(call.iter().chain(&["--out", "out"])).exits(3);
        assert!(refused.err.contains(missing), "{call:?}: {}", refused.err);
        assert!(refused.err.contains("--without-limits"), "{call:?}: {}", refused.err);
        assert!(!lab.path("out").exists(), "{call:?} leaves nothing behind");
    }
    let call = ["--json", "run", "test.toml", "--realtime", "--without-limits", "--out", "out"];
    let bench = lab.twinrig(call).exits(0).json();
    let reasons = bench["summary"]["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason["id"] == "no_limits"), "{reasons:?}");
    let header = Record::read_header(lab.path("out/record.arrow")).unwrap();
    let said = ("limits".to_owned(), "none of rate, force".to_owned());
    assert!(header.machine.contains(&said), "{:?}", header.machine);
}

/// A way to safe that nobody would wait for is a mistake in the file, and so is a number that no
/// rig and no sensor has.
#[test]
fn an_absurd_way_to_safe_is_refused() {
    let lab = Lab::new();
    let limits = |more: &str| format!("command = \"10 mm\"\nforce = \"1 kN\"\n{more}");
    for (more, said) in [
        ("safe = { hold = \"1e9 s\" }", "`hold` is 1e9 s; it must be from 0 to 3600 s"),
        ("rate = \"1e-300 m/s\"", "`rate` is 1e-300 m/s; it must be from 1e-6"),
        ("safe = { rate = \"1e-300 m/s\" }", "it must be from 1e-6"),
        ("safe = { rate = \"1 um/s\" }", "takes 1.000e4 s, at most an hour is waited for"),
        ("rate = \"2 um/s\"", "takes 5.000e3 s, at most an hour is waited for"),
    ] {
        lab.write("test.toml", Draft::new().with("limits", &limits(more)).text());
        let refused = lab.twinrig(["check", "test.toml"]).exits(3);
        assert!(refused.err.contains(said), "{more}: {}", refused.err);
    }
    lab.write("test.toml", Draft::new().with("sensors", "displacement_noise = \"1e300 m\"").text());
    let refused = lab.twinrig(["check", "test.toml"]).exits(3);
    assert!(refused.err.contains("it must be from 0 to 1 m"), "{}", refused.err);
}

/// What would end at the end of the memory, or never, is refused before it is begun, by a limit
/// that can be raised.
#[test]
fn a_study_that_would_not_end_is_refused_beforehand() {
    let lab = Lab::new();
    lab.write("test.toml", Draft::new().text());
    let storeys = "shear_building = { storeys = 20000, mass = \"1 t\", stiffness = \"1 MN/m\" }";
    lab.write("tall.toml", Draft::new().with("structure", storeys).text());
    let (tall, same) = ("tall.toml", "duration=\"0.3 s\"");
    let long = "duration=\"1e6 s\"";
    for (call, file, set, said) in [
        (&["check"][..], tall, same, "matrices of 20000 DOFs"),
        (&["run", "--out", "out"], tall, same, "matrices of 20000 DOFs"),
        (&["run", "--out", "out"], "test.toml", "duration=\"9e5 s\"", "921600000 steps"),
        (&["run", "--realtime", "--out", "out"], "test.toml", "duration=\"9e5 s\"", "steps"),
        (&["check"], "test.toml", "integrator.rate=\"1e9 Hz\"", "loads of 300000000 steps"),
        (&["run", "--out", "out"], "test.toml", long, "at most 1e9 are run"),
    ] {
        let words = [file, "--set", set];
        let refused = lab.twinrig(call.iter().chain(&words)).exits(3);
        assert!(refused.err.contains(said), "{call:?} {set}: {}", refused.err);
        assert!(!lab.path("out").exists());
    }
    let small = ["run", "test.toml", "--out", "out", "--budget", "0.01 MB"];
    let refused = lab.twinrig(small).exits(3);
    assert!(refused.err.contains("--budget \"16 GB\""), "{}", refused.err);
    let enough = ["run", "test.toml", "--out", "out", "--budget", "1 GB", "--budget", "1 h"];
    lab.twinrig(enough).exits(0);
    let odd = lab.twinrig(["run", "test.toml", "--budget", "3 apples"]).exits(2);
    assert!(odd.err.contains("write it like"), "{}", odd.err);
}
