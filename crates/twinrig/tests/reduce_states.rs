//! Reductions that are judged and written, and not stepped: de Kraker's in state
//! space, and dual Craig–Bampton.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fmt::Write as _;

use common::Lab;
use common::chain::{CHAIN, damper, write_chain};
use serde_json::Value;

/// A chain with this damping matrix.
fn lab(damping: &str) -> Lab {
    let lab = Lab::new();
    write_chain(&lab, damping);
    lab
}

const REDUCTION: &str = r#"
[reduction]
cut_off = "120 Hz"
band    = "60 Hz"
"#;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Rows and columns of a matrix that was written.
fn shape(lab: &Lab, name: &str) -> String {
    let bytes = std::fs::read(lab.path(name)).unwrap();
    let head = String::from_utf8_lossy(&bytes[..128]).into_owned();
    head.split("'shape': ").nth(1).unwrap().split(')').next().unwrap().to_owned() + ")"
}

#[test]
fn a_state_space_model_is_judged_and_written() {
    let lab = lab(&damper(2000.0));
    let of = |name: &str, more: &str| {
        lab.write("a.toml", format!("{CHAIN}{REDUCTION}method = \"state_space\"\n{more}"));
        lab.twinrig(["--json", "reduce", "a.toml", "--out", name]).exits(0).json()
    };
    let found = of("out", "monitor = [3]\n");
    let states = found["states_after"].as_u64().unwrap();
    assert!((20..70).contains(&states), "{states}");
    assert_eq!((&found["states_before"], &found["stable"]), (&80.into(), &true.into()));
    // An antiresonance is the worst place.
    assert!(number(&found["response_error"]["max"]) < 0.06, "{}", found["response_error"]);
    assert!(number(&found["response_error"]["median"]) < 2e-4, "{}", found["response_error"]);
    assert!(number(&found["eigenvalue_error"]["max"]) < 1e-4, "{}", found["eigenvalue_error"]);
    assert_eq!(found["eigenvalues"].as_array().unwrap().len() as u64, states);
    for (name, expected) in [
        ("state_c.npy", format!("({states}, {states})")),
        ("state_d.npy", format!("({states}, {states})")),
        ("a.npy", format!("({states}, {states})")),
        ("b.npy", format!("({states}, 1)")),
        ("ground.npy", format!("({states}, 1)")),
        ("recovery.npy", format!("(1, {states})")),
    ] {
        assert_eq!(shape(&lab, &format!("out/{name}")), expected, "{name}");
    }
    let coordinates = std::fs::read_to_string(lab.path("out/coordinates.csv")).unwrap();
    let lines: Vec<&str> = coordinates.lines().take(4).collect();
    let expected = ["coordinate,what,name,dof", "1,displacement,\"40\",40", "2,velocity,\"40\",40"];
    assert_eq!(lines[..3], expected);
    assert!(lines[3].starts_with("3,amplitude"), "{}", lines[3]);
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("Error of the interface response"));
    // The span of residual flexibility modes is the same; without any, it is worse.
    let residual = of("residual", "completion = \"residual\"\n");
    let bare = of("bare", "completion = \"none\"\n");
    let error = |found: &Value| number(&found["response_error"]["median"]);
    assert!((error(&residual) / error(&found) - 1.0).abs() < 0.01, "{residual}");
    assert!(error(&bare) > 20.0 * error(&found), "{} {}", error(&bare), error(&found));
}

/// Gyroscopic coupling: no second-order method of ours, but left and right modes.
#[test]
fn matrices_need_not_be_symmetric() {
    let mut gyroscopic = "%%MatrixMarket matrix coordinate real general\n40 40 118\n".to_owned();
    for i in 1..=40 {
        let _ = writeln!(gyroscopic, "{i} {i} 30");
        if i < 40 {
            let _ = writeln!(gyroscopic, "{i} {} 100\n{} {i} -100", i + 1, i + 1);
        }
    }
    let lab = lab(&gyroscopic);
    lab.write("a.toml", format!("{CHAIN}{REDUCTION}method = \"state_space\"\n"));
    let found = lab.twinrig(["--json", "reduce", "a.toml"]).exits(0).json();
    assert!(number(&found["response_error"]["max"]) < 0.01, "{}", found["response_error"]);
    assert!(number(&found["eigenvalue_error"]["max"]) < 1e-4, "{}", found["eigenvalue_error"]);
}

#[test]
fn an_unstable_state_space_model_is_named_and_refused_unless_told() {
    let lab = lab(&damper(-20.0));
    let text = format!("{CHAIN}{REDUCTION}method = \"state_space\"\n");
    lab.write("bad.toml", &text);
    let ran = lab.twinrig(["reduce", "bad.toml", "--out", "bad"]).exits(3);
    assert!(
        ran.out.contains("UNSTABLE: the mode at") && ran.out.contains("Hz grows by"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("accept") && ran.err.contains("bad.toml"), "{}", ran.err);
    assert!(!lab.path("bad/a.npy").exists(), "a model that is refused is not given to be stepped");
    let found = lab.twinrig(["--json", "reduce", "bad.toml"]).exits(3).json();
    assert_eq!(found["stable"], false);
    assert!(!found["growing"].as_array().unwrap().is_empty());
    lab.write("told.toml", format!("{text}unstable = \"accept\"\n"));
    lab.twinrig(["reduce", "told.toml", "--out", "told"]).exits(0);
    assert!(lab.path("told/a.npy").exists());
}

#[test]
fn dual_craig_bampton_is_true_at_the_interface_and_always_grows() {
    let lab = lab(&damper(20.0));
    let text = format!("{CHAIN}{REDUCTION}method = \"dual_craig_bampton\"\n");
    lab.write("a.toml", &text);
    let ran = lab.twinrig(["reduce", "a.toml"]).exits(3);
    assert!(ran.out.contains("UNSTABLE: a motion that grows"), "{}", ran.out);
    lab.write("told.toml", format!("{text}unstable = \"accept\"\n"));
    let found = lab.twinrig(["--json", "reduce", "told.toml", "--out", "out"]).exits(0).json();
    // One growing motion for the one force.
    assert_eq!(found["growing"].as_array().unwrap().len(), 1, "{}", found["growing"]);
    assert!(number(&found["response_error"]["max"]) < 0.06, "{}", found["response_error"]);
    assert!(number(&found["response_error"]["median"]) < 2e-4, "{}", found["response_error"]);
    assert!(lab.path("out/stiffness.npy").exists());
}

#[test]
fn the_loop_refuses_what_it_cannot_step() {
    let lab = lab(&damper(500.0));
    for (method, word) in [("state_space", "first-order"), ("dual_craig_bampton", "grow")] {
        for more in ["", "unstable = \"accept\"\n"] {
            lab.write("a.toml", format!("{CHAIN}{REDUCTION}method = \"{method}\"\n{more}"));
            for command in ["run", "check"] {
                let err = lab.twinrig([command, "a.toml"]).exits(3).err;
                let known = [method, word, "twinrig reduce", "rubin"];
                assert!(known.iter().all(|word| err.contains(word)), "{command}: {err}");
            }
        }
    }
    let refused = |text: &str, words: &[&str]| {
        lab.write("bad.toml", text);
        let err = lab.twinrig(["reduce", "bad.toml"]).exits(3).err;
        assert!(words.iter().all(|word| err.contains(word)), "{words:?}\n{err}");
    };
    let states = format!("{CHAIN}{REDUCTION}method = \"state_space\"\n");
    let by_error = states.replace("cut_off = \"120 Hz\"", "error = \"1 %\"");
    refused(&by_error, &["`error`", "state_space", "cut_off"]);
    refused(&format!("{CHAIN}{REDUCTION}completion = \"none\"\n"), &["`completion`", "rubin"]);
    lab.write("a.toml", &states);
    let err = lab.twinrig(["reduce", "a.toml", "--compare"]).exits(1).err;
    assert!(err.contains("--compare") && err.contains("rubin"), "{err}");
}

#[test]
fn no_mode_and_all_modes_are_said_and_survived() {
    let lab = lab(&damper(20.0));
    let of = |more: &str| {
        let text = format!("{CHAIN}[reduction]\n");
        lab.write("a.toml", format!("{text}{more}unstable = \"accept\"\n"));
        lab.twinrig(["reduce", "a.toml", "--out", "out"]).exits(0)
    };
    for method in ["state_space", "dual_craig_bampton"] {
        let ran = of(&format!("method = \"{method}\"\ncut_off = \"0.1 Hz\"\n"));
        assert!(ran.err.contains("no mode lies below the cut-off"), "{method}: {}", ran.err);
        let ran = of(&format!("method = \"{method}\"\ncut_off = \"5 kHz\"\n"));
        assert!(ran.out.contains("80 → 80"), "{method}: {}", ran.out);
        assert!(!ran.err.contains("no mode"), "{}", ran.err);
        if method == "state_space" {
            assert!(!ran.out.contains("UNSTABLE"), "{}", ran.out);
        }
    }
    // All DOFs stay, so that no mode does, and no band is given.
    let every: Vec<String> = (1..=40).map(|dof| dof.to_string()).collect();
    of(&format!("modes = 3\nretain = [{}]\n", every.join(", ")));
}
