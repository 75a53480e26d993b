//! Specimens with degrees of freedom of their own: rehearsed, predicted, refused.

use std::f64::consts::{PI, TAU};
use std::path::Path;

use crate::common::Lab;
use experiment::sweep::with_value;
use experiment::{Experiment, Folder};
use twinrig::assembly::Assembly;
use twinrig::forecast::{Forecast, Others, Stability};
use twinrig::trace::trace;

const BUILDING: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/08-stability-chart/experiment.toml");

/// The example with other values.
fn text(values: &[(&str, &str)]) -> String {
    let text = std::fs::read_to_string(BUILDING).unwrap();
    values.iter().fold(text, |text, (path, value)| with_value(&text, path, value).unwrap())
}

fn assembly(values: &[(&str, &str)]) -> Assembly {
    let folder = Folder::new(Path::new(""));
    let (experiment, _) =
        Experiment::from_text("test", &text(values), &folder).map_err(|e| e.to_string()).unwrap();
    Assembly::new(&experiment, &folder).map_err(|e| e.to_string()).unwrap().0
}

#[test]
fn the_rehearsal_nears_the_whole_building_as_the_delay_falls() {
    // Late by the delay, half a step of hold, and half of 33/67 of a step because
    // the specimen's mass gets an acceleration that is not held.
    let error = |delay: &str| {
        let assembly = assembly(&[("transfer_system.delay", delay), ("duration", "0.6 s")]);
        let reference = assembly.reference(&assembly.load()).unwrap();
        let trace = trace(&assembly).unwrap();
        // Storeys 3 and 4 are simulated, and nothing else is shown.
        assert_eq!((trace.displacement.len(), reference.displacement.len()), (2, 2));
        let rms = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
        let (ours, whole) = (&trace.displacement[1], &reference.displacement[1]);
        rms(&mut ours.iter().zip(whole).map(|(a, b)| a - b)) / rms(&mut whole.iter().copied())
    };
    let (long, short) = (error("0.02 ms"), error("0.01 ms"));
    assert!(short < 0.01, "{short}");
    let hold = 0.5 * (1.0 + 33.0 / 67.0);
    let expected = (2.0 + hold) / (1.0 + hold);
    assert!((long / short - expected).abs() < 0.01, "{long} {short} {expected}");
}

#[test]
fn a_late_loop_grows_as_predicted() {
    let assembly = assembly(&[
        ("integrator.rate", "10 kHz"),
        ("transfer_system.delay", "1 ms"),
        ("duration", "40 s"),
        ("limits.command", "1 km"),
        ("limits.rate", "1e6 m/s"),
        ("limits.force", "1 GN"),
    ]);
    let forecast = Forecast::new(&assembly, Others::Tried).unwrap();
    let Stability::Linear(dominant) = forecast.stability else { panic!("{forecast:?}") };
    assert!(forecast.is_unstable() && dominant.growth_1_s > 0.1, "{dominant:?}");
    let trace = trace(&assembly).unwrap();
    // Other modes grow as well: the amplitude of the predicted one, over whole
    // periods and in a window that leaves little of the others.
    let omega = TAU * dominant.frequency_hz;
    let length = (40.0 / dominant.frequency_hz * 1e4).round() as usize;
    let amplitude = |from_s: f64| {
        let from = (from_s * 1e4) as usize;
        let (mut re, mut im) = (0.0, 0.0);
        for (index, x) in trace.displacement[0][from..from + length].iter().enumerate() {
            let (sin, cos) = (omega * (from_s + index as f64 * 1e-4)).sin_cos();
            let x = x * (PI * index as f64 / length as f64).sin().powi(2);
            (re, im) = (re + x * cos, im + x * sin);
        }
        f64::hypot(re, im)
    };
    let growth = (amplitude(30.0) / amplitude(10.0)).ln() / 20.0;
    assert!((growth / dominant.growth_1_s - 1.0).abs() < 0.005, "{growth} {dominant:?}");
}

#[test]
fn check_run_and_replay_take_the_building() {
    let lab = Lab::new();
    lab.write("b.toml", text(&[("duration", "0.1 s")]));
    let check = lab.twinrig(["check", "b.toml"]).exits(0);
    assert!(check.out.contains("critical delay 0.122 ms"), "{}", check.out);
    lab.twinrig(["run", "b.toml", "--out", "out"]).exits(0);
    lab.twinrig(["replay", "out"]).exits(0);
    lab.write("late.toml", text(&[("transfer_system.delay", "0.2 ms")]));
    lab.twinrig(["check", "late.toml"]).exits(7);
    // Half of the mass in the laboratory: every delay is too long.
    lab.write("heavy.toml", text(&[("partition.mass", "[\"51 %\"]")]));
    let heavy = lab.twinrig(["check", "heavy.toml"]).exits(7);
    assert!(heavy.out.contains("any delay makes this loop unstable"), "{}", heavy.out);
}

#[test]
fn what_cannot_be_is_refused() {
    let lab = Lab::new();
    let refuse_text = |text: &str, words: &str| {
        lab.write("b.toml", text);
        let ran = lab.twinrig(["check", "b.toml"]).exits(3);
        assert!(ran.err.contains(words), "{words}\n{}", ran.err);
    };
    let refuse = |values: &[(&str, &str)], words: &str| refuse_text(&text(values), words);
    let instead = |old: &str, new: &str, words: &str| {
        let text = text(&[]);
        assert!(text.contains(old), "{old}");
        refuse_text(&text.replace(old, new), words);
    };
    refuse(&[("partition.inside", "[\"storey 1\"]")], "put DOF 2 inside");
    refuse(&[("partition.inside", "[\"storey 3\"]")], "only one of them");
    refuse(&[("partition.inside", "[\"storey 9\"]")], "no degree of freedom is called");
    let delay = "kind  = \"delay\"\ndelay = \"0.1 ms\"\n";
    instead(delay, "kind = \"ideal\"\n", "at least one step late");
    instead(delay, "kind = \"servo_hydraulic\"\n", "cannot stand behind servo_hydraulic");
    instead(delay, "kind = \"delay\"\nsamples = 0.5\n", "at least one step late");
    let modal = ("structure.damping", "{ modal = \"1 %\" }");
    refuse(&[modal], "joins DOF 1, inside the specimen, with DOF 4");
    let force = "[[excitation.force]]\ndof      = \"storey 4\"\nharmonic = { amplitude = \"1 N\"";
    let ground = "[excitation.ground]\nharmonic = { amplitude = \"1 m/s^2\"";
    instead(force, ground, "where no actuator can apply it");
    instead("\"storey 4\"\nharmonic", "\"storey 1\"\nharmonic", "where no actuator can apply it");
}
