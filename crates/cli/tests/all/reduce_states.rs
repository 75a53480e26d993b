//! Models without symmetric M, C and K: de Kraker's in state space and
//! non-symmetric ones, which are stepped as they are, and dual Craig–Bampton,
//! which is judged and written only.

use std::fmt::Write as _;

use crate::common::Lab;
use crate::common::chain::{CHAIN, damper, write_chain};
use runtime::record::Record;
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
    assert!(number(&found["error_off_antiresonances"]) < 0.01, "{found:#}");
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
    let expected = ["coordinate,what,name,dof", "1,displacement,40,40", "2,velocity,40,40"];
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

/// Damping with gyroscopic coupling of neighbours.
fn gyroscopic() -> String {
    let mut text = "%%MatrixMarket matrix coordinate real general\n40 40 118\n".to_owned();
    for i in 1..=40 {
        let _ = writeln!(text, "{i} {i} 30");
        if i < 40 {
            let _ = writeln!(text, "{i} {} 100\n{} {i} -100", i + 1, i + 1);
        }
    }
    text
}

/// Gyroscopic coupling: no second-order method of ours, but left and right modes.
#[test]
fn matrices_need_not_be_symmetric() {
    let lab = lab(&gyroscopic());
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
    // An antiresonance is the worst place: nowhere else is it off by more than 1 %.
    assert!(number(&found["response_error"]["max"]) < 0.1, "{}", found["response_error"]);
    assert!(number(&found["error_off_antiresonances"]) < 0.01, "{found:#}");
    assert!(number(&found["response_error"]["median"]) < 2e-4, "{}", found["response_error"]);
    assert!(lab.path("out/stiffness.npy").exists());
}

#[test]
fn the_loop_refuses_what_it_cannot_step() {
    let lab = lab(&damper(500.0));
    for more in ["", "unstable = \"accept\"\n"] {
        let text = format!("{CHAIN}{REDUCTION}method = \"dual_craig_bampton\"\n{more}");
        lab.write("a.toml", text);
        for command in ["run", "check"] {
            let err = lab.twinrig([command, "a.toml"]).exits(3).err;
            let known = ["dual_craig_bampton", "grow", "twinrig reduce", "rubin"];
            assert!(known.iter().all(|word| err.contains(word)), "{command}: {err}");
        }
    }
    let stepped = format!("{CHAIN}{REDUCTION}method = \"state_space\"\n");
    for (old, new, words) in [
        ("\"newmark\"", "\"cr\"", &["cr integrates second-order", "exact"][..]),
        (
            "[limits]",
            "[monitor.stability_warning]\nstop_at = \"100 %\"\n[limits]",
            &["stability_warning", "first-order"],
        ),
        (
            "[partition]",
            "[[structure.element]]\nbetween = [\"ground\", 40]\nkind = \"elastic_plastic\"\n\
             stiffness = \"1 kN/m\"\nyield_force = \"1 N\"\n[partition]",
            &["nonlinear element", "rk4"],
        ),
    ] {
        lab.write("a.toml", stepped.replace(old, new));
        let err = lab.twinrig(["run", "a.toml"]).exits(3).err;
        assert!(words.iter().all(|word| err.contains(word)), "{words:?}: {err}");
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

/// Displacement of the interface in a record.
fn interface(lab: &Lab, folder: &str) -> Vec<f64> {
    let record = Record::read(lab.path(folder).join("record.arrow")).unwrap();
    record.column("desired.1").unwrap().to_vec()
}

/// RMS of the difference over that of `b`.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
    let off = square(&mut a.iter().zip(b).map(|(a, b)| a - b));
    (off / square(&mut b.iter().copied())).sqrt()
}

const DELAY: &str = "[transfer_system]\nkind = \"delay\"\nsamples = 1\n";

#[test]
fn first_order_and_non_symmetric_models_run_as_the_full_structure_does() {
    for (damping, energies) in
        [(damper(2000.0), "of first order"), (gyroscopic(), "of first order")]
    {
        let lab = lab(&damping);
        let reduced = format!("{CHAIN}{DELAY}{REDUCTION}method = \"state_space\"\n");
        let of = |name: &str, text: &str| {
            lab.write("a.toml", text);
            let ran = lab.twinrig(["run", "a.toml", "--out", name]).exits(0);
            (interface(&lab, name), ran.err)
        };
        let (full, told) = of("full", &format!("{CHAIN}{DELAY}"));
        // The user's own gyroscopic matrix is told and taken.
        assert_eq!(told.contains("damping matrix is not symmetric"), damping == gyroscopic());
        let (small, told) = of("small", &reduced);
        assert!(told.contains(energies), "{told}");
        assert!(apart(&small, &full) < 0.02, "{}", apart(&small, &full));
        let exact = reduced.replace("\"newmark\"", "\"exact\"");
        assert!(apart(&of("exact", &exact).0, &full) < 0.02);
        lab.twinrig(["replay", "small"]).exits(0);
        // Behind an ideal rig both sides are put together again.
        let (whole, _) = of("whole", &reduced.replace(DELAY, ""));
        assert!(apart(&whole, &of("whole-full", CHAIN).0) < 0.02);
        let sweep = "[sweep]\nruns = 3\n[[sweep.vary]]\nparameter = \"partition.stiffness[1]\"\n\
            uniform = [\"5 kN/m\", \"20 kN/m\"]\n";
        lab.write("sweep.toml", format!("{reduced}{sweep}"));
        let ran = lab.twinrig(["--json", "sweep", "sweep.toml", "--out", "swept"]).exits(0).json();
        assert_eq!(ran["summary"]["completed"], 3, "{}", ran["summary"]);
    }
}

#[test]
fn first_order_and_non_symmetric_models_are_judged_as_the_full_structure_is() {
    const TRACE: &str = "[[excitation.force]]\ndof = 40\n\
        harmonic = { amplitude = \"5 N\", frequency = \"8 Hz\" }\n\
        [trace]\ntarget = \"20 mm\"\nfrequency = [\"4 Hz\", \"5 Hz\"]\n\
        tolerance = \"100 um\"\ninertia_compensation = \"0.8 kg\"\n\
        control = { stiffness = \"4 kN/m\", damping = \"60 N s/m\" }\n\
        [trace.shaker]\nstiffness = \"4 kN/m\"\ndamping = \"80 N s/m\"\n";
    for damping in [damper(2000.0), gyroscopic()] {
        let lab = lab(&damping);
        let reduced = format!("{CHAIN}{DELAY}{REDUCTION}method = \"state_space\"\n");
        let judged = |text: &str| {
            lab.write("a.toml", text);
            // A mode far above those that are kept grows in the loop of one of them.
            lab.twinrig(["--json", "check", "a.toml"]).json()
        };
        let [full, small] = [format!("{CHAIN}{DELAY}"), reduced.clone()].map(|text| judged(&text));
        for (full, small) in
            [0, 1, 2].map(|k| (&full["loop"]["modes"][k], &small["loop"]["modes"][k]))
        {
            for of in ["truth", "in_loop"] {
                for what in ["frequency_hz", "damping_ratio"] {
                    let [full, small] = [full, small].map(|mode| number(&mode[of][what]));
                    assert!((small / full - 1.0).abs() < 0.01, "{of} {what}: {small} {full}");
                }
            }
        }
        let axes =
            ["--x", "transfer_system.samples=1..3", "--y", "partition.stiffness[1]=5..20 kN/m"];
        let call = ["chart", "a.toml", "--grid", "3x3", "--full", "--out", "chart"];
        lab.twinrig(call.iter().chain(&axes)).exits(0);
        let ground = "ground = { synthetic = { peak = \"1 g\", seed = 7 } }\n";
        lab.write("t.toml", format!("{reduced}{TRACE}").replace(DELAY, "").replace(ground, ""));
        lab.twinrig(["trace", "t.toml", "--out", "traced"]).exits(0);
    }
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

/// A free beam with a damper to the ground in its middle: rigid modes whose double zeros rounding
/// parts.
#[test]
fn what_floats_neither_grows_nor_errs_by_its_rigid_modes() {
    let lab = Lab::new();
    lab.write(
        "beam.toml",
        r#"
title    = "Free beam"
duration = "1 s"
[structure]
beam = { elements = 8, length = "0.4 m", young = "210 GPa", density = "7850 kg/m^3", width = "0.01 m", height = "0.009 m", ends = "free-free" }
[[structure.link]]
between = ["ground", 9]
damping = "1000 N s/m"
[reduction]
method  = "state_space"
cut_off = "50000 rad/s"
retain  = [1, 2, 17, 18]
[partition]
interface = [17]
mass      = ["1 g"]
[[excitation.force]]
dof      = 17
harmonic = { amplitude = "1 N", frequency = "100 Hz" }
[integrator]
method = "exact"
rate   = "20 kHz"
[limits]
command = "20 mm"
"#,
    );
    let found = lab.twinrig(["--json", "reduce", "beam.toml", "--out", "out"]);
    let json = found.json();
    assert_eq!(json["stable"], true, "{}", json["stability"]);
    assert!(number(&json["eigenvalue_error"]["max"]) < 1e-3, "{}", json["eigenvalue_error"]);
    assert_ne!(found.verdict, 3, "refused: {}", json["diagnostics"]);
}
