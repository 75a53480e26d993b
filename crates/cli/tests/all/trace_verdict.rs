//! `twinrig trace` says how far its response can be trusted, and refuses what is absurd.

use crate::common::Lab;
use crate::trace::{FORCE, STOP, file, linear};
use serde_json::Value;

fn traced(lab: &Lab, text: &str, code: i32) -> Value {
    lab.write("t.toml", text);
    let ran = lab.twinrig(["--json", "trace", "t.toml", "--out", "out", "--restart"]);
    assert_eq!(ran.verdict, code, "{} {}", ran.out, ran.err);
    ran.json()
}

fn ids(ran: &Value) -> Vec<&str> {
    let reasons = ran["verdict"]["reasons"].as_array().unwrap();
    reasons.iter().map(|reason| reason["id"].as_str().unwrap()).collect()
}

#[test]
fn the_exact_method_is_right_by_default_and_a_held_force_is_wrong() {
    let lab = Lab::new();
    let exact = linear().replace("method = \"newmark\"", "method = \"exact\"");
    let ran = traced(&lab, &exact, 0);
    assert_eq!((&ran["verdict"]["level"], ids(&ran)), (&"sound".into(), vec![]), "{ran}");
    assert!(ran["summary"]["largest_difference_percent"].as_f64().unwrap() < 0.3, "{ran}");
    let held = exact.replace("\"exact\"", "\"exact\"\nhold = \"zero\"").replace("4 kHz", "1 kHz");
    let ran = traced(&lab, &held, 10);
    assert_eq!((&ran["verdict"]["level"], ids(&ran)[0]), (&"wrong".into(), "bias"), "{ran}");
    let reason = &ran["verdict"]["reasons"][0];
    assert!(reason["text"].as_str().unwrap().contains("10.00 % allowed"), "{reason}");
    assert!(reason["remedy"].as_str().unwrap().contains("hold = \"first\""), "{reason}");
    // The same in words, in the summary and on the page.
    let told = lab.twinrig(["trace", "t.toml", "--out", "out"]).out;
    assert!(told.contains("Verdict: wrong\n  wrong: the simulation changes"), "{told}");
    let summary = std::fs::read_to_string(lab.path("out/summary.json")).unwrap();
    assert!(summary.starts_with("{\n  \"verdict\": {\n    \"level\": \"wrong\""), "{summary}");
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("class=\"banner bad\"") && page.contains("Wrong: complete"));
}

#[test]
fn harmonics_that_are_not_matched_are_told_by_their_power_and_widen_the_interval() {
    let lab = Lab::new();
    let one = STOP.replace("harmonics = 3", "harmonics = 1");
    let ran = traced(&lab, &one, 10);
    assert_eq!((&ran["verdict"]["level"], ids(&ran)[0]), (&"wrong".into(), "unmatched_harmonics"));
    // The peak is 28 % too low with one harmonic; two leave next to nothing out.
    let ran = traced(&lab, &STOP.replace("harmonics = 3", "harmonics = 2"), 0);
    assert_eq!(ran["verdict"]["level"], "sound", "{ran}");
    let folds = ran["summary"]["folds"].as_array().unwrap();
    assert_eq!(folds.len(), 2, "{ran}");
    for (fold, hz) in folds.iter().zip([6.888_565, 6.844_966]) {
        let off = (fold["frequency_hz"].as_f64().unwrap() - hz).abs();
        assert!(off < fold["frequency_interval_hz"].as_f64().unwrap(), "{fold} {hz}");
    }
}

#[test]
fn a_trace_that_ends_early_says_what_has_reached_its_limit() {
    let lab = Lab::new();
    let ran = traced(&lab, &linear().replace("target = \"20 mm\"", "target = \"6 mm\""), 5);
    assert_eq!((&ran["verdict"]["level"], ids(&ran)[0]), (&"doubtful".into(), "ended_early"));
    let text = ran["verdict"]["reasons"][0]["text"].as_str().unwrap();
    assert!(text.contains("the rig would need a target beyond the limit `trace.target`"), "{text}");
    assert!(text.contains("it is 6.000 mm, the response there"), "{text}");
}

/// ζ = 0.1 % at 5.3876 Hz: the peak is 1.00 mm, a hundred times what stands beside it.
const NARROW: &str = "title = \"Narrow\"\nduration = \"2 s\"\n[structure]\n\
    shear_building = { mass = [\"10 kg\", \"10 kg\"], stiffness = [\"30 kN/m\", \"30 kN/m\"], \
    damping = [\"1.7724674 N s/m\", \"1.7724674 N s/m\"] }\n\
    [partition]\ninterface = [1]\nmass = [\"7 kg\"]\nstiffness = [\"30 kN/m\"]\n\
    damping = [\"1.7724674 N s/m\"]\n\
    [[excitation.force]]\ndof = 2\n\
    harmonic = { amplitude = \"0.051246146 N\", frequency = \"10 Hz\" }\n\
    [integrator]\nmethod = \"newmark\"\nrate = \"10 kHz\"\n[limits]\ncommand = \"30 mm\"\n\
    [trace]\nfrequency = [\"3.2325434 Hz\", \"7.5426013 Hz\"]\ntarget = \"3 mm\"\n\
    [trace.shaker]\nstiffness = \"5 kN/m\"\ndamping = \"500 N s/m\"\n";

#[test]
fn a_step_that_went_over_a_resonance_is_taken_back() {
    let lab = Lab::new();
    let ran = traced(&lab, NARROW, 0);
    let peak = &ran["summary"]["peaks"][0];
    assert!((peak["amplitude_m"].as_f64().unwrap() - 1.0e-3).abs() < 5e-5, "{ran}");
    assert!((peak["frequency_hz"].as_f64().unwrap() - 5.3876).abs() < 1e-3, "{ran}");
    assert!(!ids(&ran).contains(&"resonance_not_seen"), "{ran}");
    // Given frequencies cannot be refined: it is said.
    let sweep =
        NARROW.replace("target = \"3 mm\"", "target = \"3 mm\"\ncourse = \"sweep\"\npoints = 12");
    let ran = traced(&lab, &sweep, 0);
    assert_eq!(ran["verdict"]["level"], "doubtful");
    assert!(ids(&ran).contains(&"resonance_not_seen"), "{ran}");
    lab.twinrig(["--strict", "trace", "t.toml", "--out", "out"]).exits(12);
}

/// A stop on one side, traced in steps so short that each point's residual is a tenth of
/// them. Two folds, at 9.4077 and 9.4929 Hz.
const SHORT_STEPS: &str = "title = \"Short steps\"\nduration = \"2 s\"\n[structure]\n\
    [structure.shear_building]\nmass = [\"7.4343 kg\", \"8.7535 kg\"]\n\
    stiffness = [\"76808 N/m\", \"71899 N/m\"]\ndamping = [\"14.657 N s/m\", \"13.720 N s/m\"]\n\
    [partition]\ninterface = [1]\nmass = [\"5.1432 kg\"]\nstiffness = [\"76808 N/m\"]\n\
    damping = [\"14.657 N s/m\"]\n\
    [[partition.element]]\nat = 1\nkind = \"gap\"\nstiffness = \"25042 N/m\"\n\
    opening = \"0.6 mm\"\nside = \"positive\"\n\
    [[excitation.force]]\ndof = 2\nharmonic = { amplitude = \"0.94426 N\", frequency = \"10 Hz\" }\n\
    [integrator]\nmethod = \"newmark\"\nrate = \"10 kHz\"\n[limits]\ncommand = \"60 mm\"\n\
    [trace]\nfrequency = [\"9.35 Hz\", \"9.6 Hz\"]\ndirection = \"falling\"\nharmonics = 5\n\
    steps = { first = 0.05, least = 0.002, most = 0.08 }\npoints = 1500\ntarget = \"6 mm\"\n\
    scale = { frequency = \"0.58 Hz\" }\ntolerance = \"500 nm\"\n\
    [trace.shaker]\nstiffness = \"5 kN/m\"\ndamping = \"500 N s/m\"\n";

#[test]
fn short_steps_make_no_folds() {
    let lab = Lab::new();
    let ran = traced(&lab, SHORT_STEPS, 0);
    let folds = ran["summary"]["folds"].as_array().unwrap();
    let clear: Vec<&Value> = folds.iter().filter(|fold| fold["doubtful"] == false).collect();
    assert_eq!(clear.len(), 2, "{ran}");
    for (fold, hz) in clear.iter().zip([9.4077, 9.4929]) {
        let off = (fold["frequency_hz"].as_f64().unwrap() - hz).abs();
        assert!(off < fold["frequency_interval_hz"].as_f64().unwrap(), "{fold} {hz}");
    }
    assert_eq!(folds.len() > 2, ids(&ran).contains(&"doubtful_folds"), "{ran}");
}

/// Long steps around the lower fold of a hardening response, at 4.6863 Hz.
const LONG_STEPS: &str = "title = \"Long steps\"\nduration = \"2 s\"\n[structure]\n\
    [structure.shear_building]\nmass = [\"11.7298 kg\", \"9.12861 kg\", \"7.61471 kg\"]\n\
    stiffness = [\"53503.24 N/m\", \"21937.36 N/m\", \"62500.89 N/m\"]\n\
    damping = [\"46.52673 N s/m\", \"19.07686 N s/m\", \"54.35114 N s/m\"]\n\
    [partition]\ninterface = [1]\nmass = [\"6.04168 kg\"]\nstiffness = [\"53503.24 N/m\"]\n\
    damping = [\"46.52673 N s/m\"]\n\
    [[partition.element]]\nat = 1\nkind = \"gap\"\nstiffness = \"32849.95 N/m\"\n\
    opening = \"0.6 mm\"\nside = \"both\"\n\
    [[excitation.force]]\ndof = 3\nharmonic = { amplitude = \"1.355285 N\", frequency = \"10 Hz\" }\n\
    [integrator]\nmethod = \"newmark\"\nrate = \"10 kHz\"\n[limits]\ncommand = \"60 mm\"\n\
    [trace]\nfrequency = [\"4.5 Hz\", \"5.2 Hz\"]\ndirection = \"falling\"\nharmonics = 5\n\
    scale = { frequency = \"0.287 Hz\" }\ntarget = \"6 mm\"\ntolerance = \"500 nm\"\n\
    [trace.shaker]\nstiffness = \"5 kN/m\"\ndamping = \"500 N s/m\"\n";

#[test]
fn a_fold_between_long_steps_is_looked_for_until_its_interval_holds_it() {
    let lab = Lab::new();
    let ran = traced(&lab, LONG_STEPS, 0);
    let folds = ran["summary"]["folds"].as_array().unwrap();
    assert_eq!(folds.len(), 2, "{ran}");
    let off = (folds[0]["frequency_hz"].as_f64().unwrap() - 4.6863).abs();
    let interval = folds[0]["frequency_interval_hz"].as_f64().unwrap();
    assert!(off < interval && interval < 6e-3, "{ran}");
}

/// Linear: its mean is zero. A mean that the target follows at once runs away from 18 Hz on.
const MEAN: &str = "title = \"Mean\"\nduration = \"2 s\"\n[structure]\nnames = [\"s1\", \"s2\", \"s3\"]\n\
    [structure.shear_building]\nmass = [\"12.3795 kg\", \"15.0017 kg\", \"2.64603 kg\"]\n\
    stiffness = [\"84896.4 N/m\", \"54026.2 N/m\", \"44085.4 N/m\"]\n\
    damping = [\"12.5972 N s/m\", \"8.01661 N s/m\", \"6.54156 N s/m\"]\n\
    [partition]\ninterface = [\"s2\"]\ninside = [\"s1\"]\nmass = [\"10.8844 kg\"]\n\
    [[excitation.force]]\ndof = \"s3\"\nharmonic = { amplitude = \"0.18506 N\", frequency = \"10 Hz\" }\n\
    [integrator]\nmethod = \"newmark\"\nrate = \"10 kHz\"\n[limits]\ncommand = \"30 mm\"\n\
    [trace]\nfrequency = [\"15 Hz\", \"20.167 Hz\"]\ntarget = \"3 mm\"\n\
    [trace.shaker]\nstiffness = \"20 kN/m\"\ndamping = \"200 N s/m\"\n";

#[test]
fn the_mean_of_a_shaker_does_not_run_away() {
    let lab = Lab::new();
    for mean in ["followed", "zero"] {
        let set = format!("target = \"3 mm\"\nmean = \"{mean}\"");
        let ran = traced(&lab, &MEAN.replace("target = \"3 mm\"", &set), 0);
        assert_eq!(ran["summary"]["ended"], "band_end", "{ran}");
        assert!(ran["summary"]["largest_difference_percent"].as_f64().unwrap() < 1.0, "{ran}");
    }
}

#[test]
fn absurd_settings_are_refused_with_the_value_that_fits() {
    let lab = Lab::new();
    let cases = [
        (
            linear().replace("100 nm", "30 mm"),
            "a tolerance of 30 mm, where no target is beyond 20 mm",
        ),
        (
            linear().replace("\"0.8 kg\"", "\"100 kg\""),
            "trace.inertia_compensation is 100 kg at low, where 0.8000 kg are simulated",
        ),
    ];
    for (text, expected) in cases {
        lab.write("t.toml", text);
        for command in ["check", "trace"] {
            let ran = lab.twinrig([command, "t.toml"]).exits(3);
            assert!(ran.err.contains(expected), "{command}: {}", ran.err);
        }
    }
}

#[test]
fn a_trace_without_a_point_does_not_block_the_corrected_file() {
    let lab = Lab::new();
    // Nothing settles in a hundredth of a period, and nothing agrees.
    let trace = "frequency = [\"4 Hz\", \"14 Hz\"]\ntolerance = \"1e-15 m\"\n\
                 settling = { longest = \"1 ms\" }";
    lab.write("t.toml", file(FORCE, trace));
    let ran = lab.twinrig(["--json", "trace", "t.toml", "--out", "out"]).exits(1).json();
    assert_eq!((ids(&ran)[0], &ran["summary"]["points"]), ("no_start", &0.into()), "{ran}");
    lab.write("t.toml", linear());
    lab.twinrig(["trace", "t.toml", "--out", "out"]).exits(0);
}
