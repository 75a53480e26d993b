//! The verdict: what is known of a test stands above it, in words, JSON, record and exit code.

use crate::common::{Draft, Lab};

/// The level and the names of the reasons, as the JSON says them.
fn told(json: &serde_json::Value) -> (String, Vec<String>) {
    let verdict = &json["verdict"];
    let reasons = verdict["reasons"].as_array().unwrap();
    let ids = reasons.iter().map(|reason| reason["id"].as_str().unwrap().to_owned());
    (verdict["level"].as_str().unwrap().to_owned(), ids.collect())
}

/// A loop that is late by so many milliseconds.
fn late(delay_ms: f64) -> Draft {
    let rig = format!("kind = \"delay\"\ndelay = \"{delay_ms} ms\"");
    Draft::new().with("transfer_system", &rig)
}

#[test]
fn a_loop_that_is_predicted_to_be_unstable_never_ends_sound() {
    let lab = Lab::new();
    lab.write("test.toml", late(20.0).text());
    let check = lab.twinrig(["--json", "check", "test.toml"]);
    assert_eq!((check.verdict, check.json()["stability"].as_str()), (7, Some("unstable")));
    assert_eq!(told(&check.json()).0, "unsafe");
    // The rehearsal is short: nothing has to have happened yet.
    let run = lab.twinrig(["--json", "run", "test.toml", "--out", "out"]);
    let (level, ids) = told(&run.json());
    assert_eq!((run.verdict, level.as_str()), (11, "unsafe"));
    assert_eq!(told(&run.json()["summary"]), (level, ids.clone()));
    assert!(ids.contains(&"unstable".to_owned()), "{ids:?}");
    // The record remembers the prediction: its report says the same.
    let again = lab.twinrig(["--json", "report", "out"]);
    assert_eq!(again.code, 0, "{}", again.err);
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("Unsafe: completed"), "the headline");
}

#[test]
fn an_unstable_loop_is_started_in_real_time_only_where_that_is_accepted() {
    let lab = Lab::new();
    lab.write("test.toml", late(20.0).text());
    let call = ["run", "test.toml", "--realtime", "--out", "out"];
    let refused = lab.twinrig(call);
    assert_eq!(refused.verdict, 7, "{}", refused.err);
    assert!(refused.err.contains("not started: unstable"), "{}", refused.err);
    assert!(!lab.path("out/record.arrow").exists());
    let accepted = lab.twinrig(call.into_iter().chain(["--accept-unstable"]));
    assert_ne!(accepted.verdict, 7, "{}", accepted.err);
    assert!(lab.path("out/record.arrow").exists());
}

#[test]
fn doubt_ends_the_program_only_where_that_is_asked_for() {
    let lab = Lab::new();
    // As wrong as it may be, by thresholds that the file declares.
    let lenient =
        "tracking_error = [\"0.01 %\", \"1000 %\"]\nreference_error = [\"0.01 %\", \"1000 %\"]";
    lab.write("test.toml", late(2.0).with("verdict", lenient).text());
    let call = ["run", "test.toml", "--out", "out"];
    let run = lab.twinrig(call);
    assert_eq!(run.verdict, 0, "{}", run.out);
    assert!(run.out.contains("Verdict: doubtful"), "{}", run.out);
    assert_eq!(lab.twinrig(call.into_iter().chain(["--strict"])).verdict, 12);
    // The same test by stricter thresholds is wrong.
    let strict = "tracking_error = [\"0.001 %\", \"0.01 %\"]";
    lab.write("test.toml", late(2.0).with("verdict", strict).text());
    let run = lab.twinrig(call);
    assert_eq!(run.verdict, 10, "{}", run.out);
    assert!(run.out.contains("wrong: tracking error of"), "{}", run.out);
}

#[test]
fn a_command_at_its_limit_and_noise_above_the_motion_count() {
    let lab = Lab::new();
    let run = |draft: Draft| {
        lab.write("test.toml", draft.text());
        lab.twinrig(["--json", "run", "test.toml", "--out", "out"]).json()
    };
    let (_, ids) = told(&run(late(2.0)));
    assert!(!ids.iter().any(|id| id == "limited" || id == "noise"), "{ids:?}");
    // The motion is about a millimetre.
    let stops = "kind = \"delay\"\ndelay = \"2 ms\"\nsaturation = \"0.1 mm\"";
    let cut = run(Draft::new().with("transfer_system", stops));
    let (level, ids) = told(&cut);
    assert!(level == "wrong" && ids.contains(&"limited".to_owned()), "{cut}");
    let slow = run(late(2.0).with("compensator", "kind = \"none\"\nrate = \"1 mm/s\""));
    assert!(told(&slow).1.contains(&"limited".to_owned()), "{slow}");
    let loud = run(late(2.0).with("sensors", "displacement_noise = \"5 mm\""));
    let (level, ids) = told(&loud);
    assert!(level != "sound" && ids.contains(&"noise".to_owned()), "{loud}");
    let coarse = "kind = \"delay\"\ndelay = \"2 ms\"\nquantum = \"5 mm\"";
    let coarse = run(Draft::new().with("transfer_system", coarse));
    assert!(told(&coarse).1.contains(&"noise".to_owned()), "{coarse}");
}

/// Bouc–Wen elements behind two servo-hydraulic actuators: the loop holds a motion at 46.5 Hz that
/// wanders with the yielding, and the warning stays at 0.02 %.
#[test]
fn a_limit_cycle_that_wanders_is_found_in_the_run() {
    let lab = Lab::new();
    lab.write("test.toml", include_str!("known_cases/limit-cycle.toml"));
    let run = lab.twinrig(["--json", "run", "test.toml", "--out", "out"]).json();
    let reasons = run["verdict"]["reasons"].as_array().unwrap();
    let found = reasons.iter().find(|reason| reason["id"] == "self_excited");
    assert!(found.is_some(), "{}", run["verdict"]);
}
