//! What the file leaves out means what its reference says: the documentation of a key against what
//! the assembled test does.

use experiment::reference::reference_markdown;
use experiment::{Experiment, Folder};
use twinrig::assembly::Assembly;

/// A small test with this ground motion and seed.
fn assembled(ground: &str, seed: u64, folder: &Folder) -> Result<Assembly, String> {
    let text = format!(
        r#"title = "Defaults"
duration = "20 s"
seed = {seed}
[structure]
mass = ["1 t"]
stiffness = ["1 MN/m"]
[partition]
interface = [1]
stiffness = ["0.1 MN/m"]
[excitation]
ground = {ground}
[integrator]
method = "exact"
rate = "200 Hz"
[limits]
command = "1 m"
"#
    );
    let read = Experiment::from_text("defaults.toml", &text, folder);
    let (experiment, _) = read.map_err(|found| found.to_string())?;
    let assembled = Assembly::new(&experiment, folder);
    assembled.map(|(assembly, _)| assembly).map_err(|found| found.to_string())
}

fn ground(declared: &str, seed: u64) -> Vec<f64> {
    assembled(declared, seed, &Folder::new("")).unwrap().loads[0].samples.to_vec()
}

/// The line of the reference about a key of `[excitation.ground]`.
fn documented(section: &str, key: &str) -> String {
    let reference = reference_markdown();
    let from = reference.find(&format!("### `excitation.ground{section}`\n")).unwrap();
    let row = format!("| `{key}` |");
    reference[from..].lines().find(|line| line.starts_with(&row)).unwrap().to_owned()
}

#[test]
fn a_multisine_without_a_period_repeats_after_ten_seconds() {
    assert!(documented(".multisine", "period").contains("default `\"10 s\"`"));
    let declared = r#"{ multisine = { rms = "1 m/s^2", band = ["1 Hz", "5 Hz"] } }"#;
    let samples = ground(declared, 1);
    let largest = samples.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let shifted = |by: usize| {
        let pairs = samples.iter().zip(&samples[by..]);
        pairs.fold(0.0_f64, |off, (a, b)| off.max((a - b).abs())) / largest
    };
    assert!(shifted(2000) < 1e-9, "10 s later: {}", shifted(2000));
    assert!(shifted(1000) > 0.1, "5 s later: {}", shifted(1000));
}

#[test]
fn a_multisine_without_a_seed_has_schroeders_phases_and_noise_that_of_the_experiment() {
    assert!(documented(".multisine", "seed").contains("Schroeder"));
    for (section, declared) in [
        (".noise", r#"{ noise = { rms = "1 m/s^2", band = ["1 Hz", "5 Hz"] } }"#),
        (".synthetic", r#"{ synthetic = { peak = "1 m/s^2" } }"#),
    ] {
        assert!(documented(section, "seed").contains("Absent: that of the experiment."));
        let own = declared.replace(" } }", ", seed = 7 } }");
        assert_eq!(ground(declared, 7), ground(&own, 1), "{declared}");
        assert_ne!(ground(declared, 7), ground(declared, 8), "{declared}");
    }
    let multisine = r#"{ multisine = { rms = "1 m/s^2", band = ["1 Hz", "5 Hz"] } }"#;
    assert_eq!(ground(multisine, 7), ground(multisine, 8));
    let drawn = multisine.replace(" } }", ", seed = 7 } }");
    let peak = |text: &str| ground(text, 1).iter().fold(0.0_f64, |peak, x| peak.max(x.abs()));
    assert!(peak(multisine) < peak(&drawn), "{} against {}", peak(multisine), peak(&drawn));
}

#[test]
fn the_amplitude_of_a_multisine_is_the_largest_value_of_the_sum() {
    assert!(documented(".multisine", "amplitude").contains("Largest value of the sum"));
    let samples =
        ground(r#"{ multisine = { amplitude = "2 m/s^2", band = ["1 Hz", "5 Hz"] } }"#, 1);
    let peak = samples.iter().fold(0.0_f64, |peak, value| peak.max(value.abs()));
    assert!((peak - 2.0).abs() < 1e-12, "{peak}");
}

#[test]
fn an_earthquake_rises_for_a_sixteenth_of_its_length_and_decays_with_0_0875_of_it() {
    assert!(documented(".synthetic", "rise").contains("a sixteenth of the length"));
    assert!(documented(".synthetic", "decay").contains("0.0875 of the length"));
    let usual = ground(r#"{ synthetic = { peak = "1 m/s^2" } }"#, 1);
    let said = r#"{ synthetic = { peak = "1 m/s^2", rise = "1.25 s", decay = "1.75 s" } }"#;
    assert_eq!(usual, ground(said, 1), "20 s / 16 and 0.0875 × 20 s");
    // The check of the envelope goes by the same numbers.
    let long = r#"{ synthetic = { peak = "1 m/s^2", rise = "18 s" } }"#;
    assert!(assembled(long, 1, &Folder::new("")).is_ok());
    let error = assembled(&long.replace("18", "19"), 1, &Folder::new("")).unwrap_err();
    assert!(error.contains("rise 19 s and decay 1.75 s do not fit into 20 s"), "{error}");
}

#[test]
fn a_ground_motion_without_a_unit_is_refused_and_a_force_is_in_newtons() {
    let sentence =
        "for the ground as the file's header says, which must then say it; for a force SI";
    assert!(documented("", "unit").contains(sentence));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bare.csv"), "0,1\n10,2\n20,3\n").unwrap();
    std::fs::write(folder.path().join("named.csv"), "t [s],a [g]\n0,1\n10,2\n20,3\n").unwrap();
    let folder = Folder::new(folder.path());
    let last = |declared: &str| {
        assembled(declared, 1, &folder).map(|assembly| *assembly.loads[0].samples.last().unwrap())
    };
    assert!(last(r#"{ file = "bare.csv" }"#).unwrap_err().contains("unit"));
    assert_eq!(last(r#"{ file = "bare.csv", unit = "m/s^2" }"#), Ok(3.0));
    assert_eq!(last(r#"{ file = "named.csv" }"#), Ok(3.0 * 9.80665));
    let force = "{ harmonic = { amplitude = \"0 g\", frequency = \"1 Hz\" } }\n\
                 [[excitation.force]]\ndof = 1\nfile = \"bare.csv\"";
    let assembly = assembled(force, 1, &folder).unwrap();
    assert_eq!(assembly.loads[1].samples.last(), Some(&3.0));
}
