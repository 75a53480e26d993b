//! Large structures made small: `reduce`, `run` and `check` with a [reduction].

use std::fmt::Write as _;

use crate::common::Lab;
use crate::common::chain::{CHAIN, damper, write_chain};
use runtime::record::Record;
use serde_json::Value;

/// A block of 324 DOFs, pushed at its end; `{…}` are filled in.
const BRICK: &str = r#"
title    = "Block"
duration = "0.25 s"

[structure.brick]
size     = ["1 m", "0.1 m", "0.1 m"]
elements = [12, 2, 2]
young    = "210 GPa"
density  = "7850 kg/m^3"

[structure]
damping = { rayleigh = { mass = "4 1/s", stiffness = "20 us" } }

[[structure.point]]
name      = "tip"
at        = ["1 m", "0.05 m", "0.05 m"]
direction = "y"

[[structure.point]]
name      = "middle"
at        = ["0.5 m", "0.05 m", "0.05 m"]
direction = "y"

[[structure.link]]
between   = ["ground", "tip"]
stiffness = "200 kN/m"
mass      = "2 kg"

[partition]
interface = ["tip"]
stiffness = ["200 kN/m"]
mass      = ["1 kg"]

[[excitation.force]]
dof   = "n50y"
noise = { rms = "400 N", band = ["1 Hz", "300 Hz"], duration = "0.2 s", seed = 3 }

[excitation]
ground = { harmonic = { amplitude = "1 g", frequency = "20 Hz" } }

[integrator]
method = "newmark"
rate   = "4 kHz"

[limits]
command = "50 mm"
"#;

const REDUCTION: &str = "
[reduction]
cut_off = \"2 kHz\"
monitor = [\"middle\"]
";

fn run(lab: &Lab, name: &str, text: &str) -> Record {
    lab.write(&format!("{name}.toml"), text);
    lab.twinrig(["run", &format!("{name}.toml"), "--out", name]).exits(0);
    Record::read(lab.path(name).join("record.arrow")).unwrap()
}

/// Root of the mean square of a difference, over that of the second.
fn difference(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
    let off = square(&mut ours.iter().zip(theirs).map(|(a, b)| a - b));
    (off / square(&mut theirs.iter().copied())).sqrt()
}

#[test]
fn a_reduced_block_moves_like_the_full_one() {
    let lab = Lab::new();
    let full = run(&lab, "full", BRICK);
    let small = run(&lab, "small", &format!("{BRICK}{REDUCTION}"));
    let column = |record: &Record, name: &str| record.column(name).unwrap().to_vec();
    for name in ["numerical.tip", "numerical.n50y", "desired.1"] {
        let off = difference(&column(&small, name), &column(&full, name));
        assert!(off < 5e-4, "{name} {off}");
    }
    // What did not stay is recovered.
    let text = std::fs::read_to_string(lab.path("small").join("monitored.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time [s],\"middle\""));
    let middle = lines.map(|line| line.split(',').nth(1).unwrap().parse().unwrap());
    let off = difference(&middle.collect::<Vec<f64>>(), &column(&full, "numerical.middle"));
    assert!(off < 5e-4, "middle {off}");
    // Modes are no DOFs that anybody could look at: criteria and peaks leave them out.
    let shown = lab.twinrig(["report", "small"]).exits(0);
    let text = format!("{}{}", shown.out, shown.err);
    assert!(!text.contains("mode 1"), "{text}");
    let shown = lab.twinrig(["--json", "run", "small.toml", "--out", "again"]).exits(0).out;
    assert!(!shown.contains("mode 1") && shown.contains("n50y"), "{shown}");
    // The replay reduces again, to the same bits.
    lab.twinrig(["replay", "small"]).exits(0);
}

#[test]
fn nonlinear_elements_keep_working_at_the_dofs_that_stay() {
    let element = r#"
[[structure.element]]
between     = ["ground", "n50y"]
kind        = "bilinear"
stiffness   = "1 MN/m"
yield_force = "300 N"
hardening   = "10 %"
"#;
    let lab = Lab::new();
    let full = run(&lab, "full", &format!("{BRICK}{element}"));
    let small = run(&lab, "small", &format!("{BRICK}{element}{REDUCTION}"));
    let linear = run(&lab, "linear", &format!("{BRICK}{REDUCTION}"));
    let column = |record: &Record| record.column("numerical.tip").unwrap().to_vec();
    assert!(difference(&column(&small), &column(&full)) < 5e-4);
    assert!(difference(&column(&linear), &column(&full)) > 0.05, "the element does nothing");
}

#[test]
fn the_second_time_the_cache_answers_unless_it_is_damaged() {
    let lab = Lab::new();
    let text = format!("{BRICK}{REDUCTION}");
    lab.write("a.toml", &text);
    let check = |name: &str| -> Value {
        lab.twinrig(["--json", "check", name]).exits(0).json()["reduction"].clone()
    };
    let first = check("a.toml");
    assert_eq!(first["from_cache"], false);
    assert_eq!((&first["dofs_before"], &first["retained"][0]), (&324.into(), &"tip".into()));
    let again = check("a.toml");
    assert_eq!((&again["from_cache"], &again["key"]), (&true.into(), &first["key"]));
    // What only the loop needs is no part of the key; what the model needs is.
    lab.write("b.toml", text.replace("50 mm", "40 mm"));
    assert_eq!(check("b.toml")["from_cache"], true);
    lab.write("c.toml", text.replace("7850", "7851"));
    assert_eq!(check("c.toml")["from_cache"], false);
    for entry in std::fs::read_dir(lab.path("runs/cache")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(check("a.toml")["from_cache"], false);
    assert_eq!(check("a.toml")["from_cache"], true, "written anew");
}

#[test]
fn reduce_says_how_far_the_model_can_be_trusted_and_writes_it() {
    let lab = Lab::new();
    lab.write("few.toml", format!("{BRICK}[reduction]\nmodes = 4\nband = \"2 kHz\"\n"));
    lab.write("many.toml", format!("{BRICK}[reduction]\nmodes = 24\nband = \"2 kHz\"\n"));
    let of = |name: &str| lab.twinrig(["--json", "reduce", name]).exits(0).json();
    let (few, many) = (of("few.toml"), of("many.toml"));
    let error = |found: &Value| found["response_error"]["max"].as_f64().unwrap();
    assert!(error(&many) < 0.02 * error(&few), "{} {}", error(&many), error(&few));
    assert_eq!(many["states_before"], 648);
    assert_eq!(many["states_after"], 2 * (2 + 24));
    assert_eq!((&many["stable"], &many["passive"]), (&true.into(), &true.into()));
    assert!(many["effective_mass"].as_f64().unwrap() > 0.9, "{}", many["effective_mass"]);
    assert!(many["eigenvalue_error"]["max"].as_f64().unwrap() < 1e-3);
    assert!(many["step_p50_s"].as_f64().unwrap() > 0.0);
    let text = lab.twinrig(["reduce", "many.toml", "--out", "out"]).exits(0).out;
    assert!(text.contains("648 → 52") && text.contains("stable and passive"), "{text}");
    for name in ["mass.npy", "damping.npy", "stiffness.npy", "influence.npy", "summary.json"] {
        assert!(lab.path("out").join(name).exists(), "{name}");
    }
    let page = std::fs::read_to_string(lab.path("out").join("report.html")).unwrap();
    assert!(page.contains("Error of the interface response"));
    // The matrices are a structure like any other.
    let again = "title = \"Again\"\nduration = \"1 s\"\n\
        structure.mass = { file = \"out/mass.npy\", unit = \"kg\" }\n\
        structure.stiffness = { file = \"out/stiffness.npy\", unit = \"N/m\" }\n\
        structure.damping = { file = \"out/damping.npy\", unit = \"N s/m\" }\n\
        partition = { interface = [1], stiffness = [\"1 kN/m\"] }\n\
        excitation.ground = { synthetic = { peak = \"1 g\" } }\n\
        integrator = { method = \"newmark\", rate = \"4 kHz\" }\nlimits.command = \"1 m\"\n";
    lab.write("again.toml", again);
    lab.twinrig(["check", "again.toml"]).exits(0);
}

#[test]
fn matrix_files_are_reduced_and_dampers_stay() {
    let lab = Lab::new();
    write_chain(&lab, &damper(500.0));
    let full = run(&lab, "full", CHAIN);
    let small = run(&lab, "small", &format!("{CHAIN}[reduction]\nmodes = 15\n"));
    let column = |record: &Record| record.column("numerical.40").unwrap().to_vec();
    let off = difference(&column(&small), &column(&full));
    assert!(off < 2e-4, "{off}");
    let found = lab.twinrig(["--json", "reduce", "small.toml"]).exits(0).json();
    assert_eq!(found["damper_dofs"][0], 7);
    assert_eq!(found["dofs_after"], 17);
    lab.write("error.toml", format!("{CHAIN}[reduction]\nerror = \"1 %\"\nband = \"60 Hz\"\n"));
    let found = lab.twinrig(["--json", "reduce", "error.toml"]).exits(0).json();
    // Held at resonances, too, that no grid would meet.
    let held = &found["held"];
    assert!(held["factors"].as_u64().unwrap() <= 120, "{held}");
    let ran = ["--json", "reduce", "error.toml", "--points", "2000"];
    let dense = lab.twinrig(ran).exits(0).json();
    assert!(dense["response_error"]["max"].as_f64().unwrap() <= 0.01, "{held}");
    assert!(found["dofs_after"].as_u64().unwrap() < 20, "{held}");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let lab = Lab::new();
    write_chain(&lab, &damper(500.0));
    let refused = |command: &str, text: &str, words: &[&str]| {
        lab.write("bad.toml", text);
        let err = lab.twinrig([command, "bad.toml"]).exits(3).err;
        assert!(words.iter().all(|word| err.contains(word)), "{words:?}\n{err}");
    };
    let chain = format!("{CHAIN}[reduction]\nmodes = 5\n");
    refused("reduce", CHAIN, &["no [reduction]", "cut_off"]);
    refused("check", &chain.replace("k.mtx", "absent.mtx"), &["absent.mtx"]);
    let head = "%%MatrixMarket matrix coordinate real general\n";
    lab.write("oblong.mtx", format!("{head}40 41 1\n1 1 1.0\n"));
    refused("check", &chain.replace("k.mtx", "oblong.mtx"), &["40 × 41", "not square"]);
    lab.write("small.mtx", format!("{head}3 3 1\n1 1 1.0\n"));
    refused("check", &chain.replace("k.mtx", "small.mtx"), &["3 × 3", "40"]);
    let mut skewed = format!("{head}40 40 41\n");
    for i in 1..=40 {
        let _ = writeln!(skewed, "{i} {i} 2.0");
    }
    skewed.push_str("3 2 -1.0\n");
    lab.write("skewed.mtx", skewed);
    refused("check", &chain.replace("k.mtx", "skewed.mtx"), &["not symmetric"]);
    refused("check", &chain.replace("[40]", "[41]"), &["no degree of freedom 41"]);
    refused("check", &format!("{chain}retain = [\"roof\"]\n"), &["roof"]);
    refused("check", &format!("{chain}cut_off = \"3 Hz\"\n"), &["cut_off", "modes"]);
    refused("check", &format!("{CHAIN}[reduction]\nerror = \"1 %\"\n"), &["band"]);
    let block = format!("{BRICK}{REDUCTION}");
    refused("check", &block.replace("\"tip\"]\nstiff", "\"top\"]\nstiff"), &["tip"]);
    refused("check", &block.replace("n50y", "n1y"), &["n1y", "held"]);
    refused("check", &block.replace("n50y", "n5000y"), &["117", "nodes"]);
    refused("check", &block.replace("[\"1 kg\"]", "[\"33 %\"]"), &["share", "in kg"]);
    refused("check", &BRICK.replace("[12, 2, 2]", "[60, 10, 10]"), &["21780", "[reduction]"]);
}

#[test]
fn an_unstable_model_is_refused_unless_told() {
    let lab = Lab::new();
    write_chain(&lab, &damper(-20.0));
    let text = format!("{CHAIN}[reduction]\nmodes = 10\n");
    lab.write("bad.toml", &text);
    let err = lab.twinrig(["run", "bad.toml"]).exits(3).err;
    assert!(
        err.contains("unstable") && err.contains("Hz grows") && err.contains("accept"),
        "{err}"
    );
    let ran = lab.twinrig(["reduce", "bad.toml"]).exits(3);
    assert!(ran.out.contains("UNSTABLE") && ran.err.contains("accept"), "{}{}", ran.out, ran.err);
    lab.write("told.toml", format!("{text}unstable = \"accept\"\n"));
    let ran = lab.twinrig(["reduce", "told.toml"]).exits(0);
    assert!(ran.out.contains("UNSTABLE"), "{}", ran.out);
    lab.twinrig(["run", "told.toml"]).exits(0);
}

/// What rounding leaves of the stiffness of a floating beam's rigid-body modes is no growth.
#[test]
fn a_floating_beam_of_many_elements_is_stable() {
    let lab = Lab::new();
    let beam = "title = \"Floating\"\nduration = \"1 s\"\n\
        integrator = { method = \"exact\", rate = \"1024 Hz\" }\n\
        structure = { beam = { elements = 1000, length = \"10 m\", young = \"210 GPa\", \
        density = \"7850 kg/m^3\", width = \"20 mm\", height = \"20 mm\", ends = \"free-free\" }, \
        damping = { rayleigh = { mass = \"0.1 1/s\", stiffness = \"0 s\" } } }\n\
        reduction = { modes = 4, band = \"5 Hz\" }\n\
        partition = { interface = [21], stiffness = [\"1 N/m\"] }\n\
        excitation = { ground = { impulse = { amplitude = \"1 m/s^2\", width = \"0.1 s\" } } }\n\
        limits = { command = \"1 m\" }\n";
    lab.write("beam.toml", beam);
    let found = lab.twinrig(["--json", "reduce", "beam.toml", "--out", "out"]).exits(0).json();
    let reasons = found["verdict"]["reasons"].to_string();
    assert!(found["stable"] == true && !reasons.contains("unstable"), "{reasons}");
}

/// Full and reduced structure in time, over the whole record; the loop beside them.
#[test]
fn compare_steps_the_full_model_beside_the_reduced_one() {
    let lab = Lab::new();
    let found = |name: &str, text: &str, span: &str| {
        lab.write(&format!("{name}.toml"), text);
        let file = format!("{name}.toml");
        lab.twinrig(["--json", "reduce", &file, span, "--out", name]).exits(0).json()
    };
    let of = |name: &str, reduction: &str, span: &str| {
        found(name, &format!("{BRICK}{reduction}"), span)["history"].clone()
    };
    let true_ = of("true", REDUCTION, "--compare");
    assert_eq!((&true_["steps"], &true_["method"]), (&1000.into(), &"newmark".into()));
    let places = true_["places"].as_array().unwrap();
    let names: Vec<&str> = places.iter().map(|place| place["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tip", "middle"]);
    let off = |place: &Value, what: &str, key: &str| place[what][key].as_f64().unwrap();
    for (place, most) in places.iter().zip([1e-4, 4e-4]) {
        assert!(off(place, "reduced", "rms") < most, "{place}");
        assert!(off(place, "reduced", "peak") < most, "{place}");
    }
    // An ideal rig leaves the reduction's error and no more.
    assert!(off(&places[0], "hybrid", "rms") < 1e-4, "{}", places[0]);
    // Both models are in the files, sample by sample.
    let csv = std::fs::read_to_string(lab.path("true").join("history.csv")).unwrap();
    let head = "time [s],tip full,tip reduced,tip hybrid,middle full";
    assert!(csv.starts_with(head) && csv.lines().count() == 1001, "{}", &csv[..200]);
    let page = std::fs::read_to_string(lab.path("true").join("report.html")).unwrap();
    assert!(page.contains("Motion in time: tip") && page.contains("Motion in time: middle"));
    // A bad reduction shows: modes alone, and few.
    let poor = of("poor", "[reduction]\nmethod = \"modes_only\"\nmodes = 3\n", "--compare=0.1s");
    assert_eq!(poor["steps"], 400);
    assert!(off(&poor["places"][0], "reduced", "rms") > 1e-3, "{poor}");
    // And counts, by thresholds of the file.
    let strict = "[verdict]\nmotion_error = [\"0.01 %\", \"0.05 %\"]\n";
    let few = "[reduction]\nmethod = \"modes_only\"\nmodes = 3\n";
    for (name, text, counts) in [
        ("lenient", format!("{BRICK}{REDUCTION}"), false),
        ("strict", format!("{BRICK}{few}{strict}"), true),
    ] {
        let found = found(name, &text, "--compare=0.1s");
        let reasons = found["verdict"]["reasons"].as_array().unwrap();
        let said = reasons.iter().find(|reason| reason["id"] == "motion_error");
        assert_eq!(said.is_some(), counts, "{}", found["verdict"]);
        if let Some(said) = said {
            let text = said["text"].as_str().unwrap();
            assert!(said["level"] == "wrong" && text.contains("0.05000 % allowed"), "{said}");
        }
    }
}

#[test]
fn compare_refuses_what_it_cannot_step() {
    let lab = Lab::new();
    let element = "[[structure.element]]\nbetween = [\"ground\", \"n50y\"]\nkind = \"bilinear\"\n\
        stiffness = \"1 MN/m\"\nyield_force = \"300 N\"\nhardening = \"10 %\"\n";
    lab.write("bad.toml", format!("{BRICK}{element}{REDUCTION}"));
    let err = lab.twinrig(["reduce", "bad.toml", "--compare"]).exits(1).err;
    assert!(err.contains("1 nonlinear element") && err.contains("linear structure"), "{err}");
    let err = lab.twinrig(["reduce", "bad.toml", "--compare=2"]).exits(2).err;
    assert!(err.contains("--compare") && err.contains("unit"), "{err}");
}
