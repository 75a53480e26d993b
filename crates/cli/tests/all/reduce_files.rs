//! Reduced structures as a user brings them: matrix files of any size and kind,
//! good and bad, frames, sweeps and charts.

use std::fmt::Write as _;

use crate::common::Lab;
use crate::common::chain::{HEAD, N, diagonal, springs};
use runtime::record::Record;

const CHAIN: &str = r#"
title    = "Chain"
duration = "0.5 s"

[structure]
mass      = { file = "m.mtx", unit = "kg" }
stiffness = { file = "k.mtx", unit = "MN/m" }
damping   = { rayleigh = { mass = "1 1/s", stiffness = "50 us" } }

[partition]
interface = [40]
stiffness = ["10 kN/m"]

[excitation]
ground = { synthetic = { peak = "1 g", seed = 7 } }

[integrator]
method = "newmark"
rate   = "2 kHz"

[transfer_system]
kind    = "delay"
samples = 1

[limits]
command = "1 m"
"#;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("m.mtx", diagonal(N, 2.0)).write("k.mtx", springs(N));
    lab
}

/// NumPy's format 1.0 with this header and these numbers.
fn npy(shape: &str, numbers: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = length - 1).into_bytes());
    bytes.extend(numbers.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[test]
fn bad_matrices_are_refused_with_file_and_place() {
    let lab = lab();
    let k = springs(N);
    let bad: &[(&str, String, &[&str])] = &[
        ("nan", k.replace("5 5 2", "5 5 nan"), &["line 10", "NaN"]),
        ("infinite", k.replace("5 5 2", "5 5 1e999"), &["line 10", "inf"]),
        ("oblong", k.replace("symmetric\n40 40", "general\n40 41"), &["40 × 41", "square"]),
        ("empty", String::new(), &["%%MatrixMarket"]),
        ("headless", HEAD.to_owned(), &["three whole numbers"]),
        ("blank", format!("{HEAD}40 40 0\n"), &["0 entries", "40 DOFs"]),
        ("fewer", k.replace("40 40 79", "40 40 100"), &["promises 100", "holds 79"]),
        ("more", k.replace("40 40 79", "40 40 10"), &["promises 10", "holds 79"]),
        ("outside", k.replace("7 7 2", "41 7 2"), &["(41, 7)", "40 × 40"]),
        ("from zero", k.replace("7 7 2", "0 7 2"), &["(0, 7)"]),
        ("negative", k.replace("7 7 2", "-7 7 2"), &["row, column and value"]),
        ("many entries", format!("{HEAD}40 40 99999999999\n1 1 1\n"), &["99999999999", "holds 1"]),
        ("many rows", format!("{HEAD}400000000 400000000 1\n1 1 1\n"), &["400000000 rows"]),
        ("beyond numbers", format!("{HEAD}99999999999999999999 1 1\n1 1 1\n"), &["whole numbers"]),
        ("hollow", format!("{HEAD}9000000 9000000 1\n1 1 1\n"), &["1 entries", "9000000"]),
        ("complex", k.replace("real", "complex"), &["complex", "not supported"]),
        ("pattern", k.replace("real", "pattern"), &["pattern", "not supported"]),
        ("prose", "hello\n".to_owned(), &["hello"]),
        ("skewed", k.replace("symmetric", "general"), &["not symmetric", "row"]),
        ("indefinite", k.replace("7 7 2", "7 7 -2"), &["not positive semidefinite"]),
        ("of another size", springs(7), &["7 × 7", "40"]),
    ];
    for (what, text, words) in bad {
        lab.write("k.mtx", text);
        for command in ["check", "reduce"] {
            lab.write("bad.toml", format!("{CHAIN}[reduction]\nmodes = 5\n"));
            let err = lab.twinrig([command, "bad.toml"]).exits(3).err;
            assert!(words.iter().all(|word| err.contains(word)), "{what}: {words:?}\n{err}");
            // The place in the file.
            assert!(err.contains("bad.toml:7:"), "{what}\n{err}");
            assert!(!err.contains("panicked"), "{what}\n{err}");
        }
    }
}

#[test]
fn bad_masses_and_arrays_are_refused() {
    let lab = lab();
    let refused = |text: &str, words: &[&str]| {
        lab.write("bad.toml", format!("{text}[reduction]\nmodes = 5\n"));
        for command in ["check", "reduce"] {
            let err = lab.twinrig([command, "bad.toml"]).exits(3).err;
            let known = words.iter().all(|word| err.contains(word));
            assert!(known && !err.contains("panicked"), "{words:?}\n{err}");
        }
    };
    let mass = |name: &str| CHAIN.replace("m.mtx", name);
    let m = diagonal(N, 2.0);
    lab.write("none.mtx", format!("{HEAD}40 40 0\n"));
    refused(&mass("none.mtx"), &["none.mtx", "0 entries", "bad.toml:6:"]);
    lab.write("negative.mtx", m.replace("7 7 2", "7 7 -2"));
    refused(&mass("negative.mtx"), &["mass", "not positive definite", "DOF 7", "bad.toml:6:"]);
    lab.write("weightless.mtx", m.replace(" 2\n", " 0\n"));
    refused(&mass("weightless.mtx"), &["mass", "not positive definite"]);
    let array = |shape: &str, numbers: &[f64], words: &[&str]| {
        std::fs::write(lab.path("k.npy"), npy(shape, numbers)).unwrap();
        refused(&CHAIN.replace("k.mtx", "k.npy"), words);
    };
    array("(40, 40)", &[1.0; 10], &["k.npy", "1600 numbers", "holds 10"]);
    array("(40, 41)", &[1.0; 40 * 41], &["40 × 41", "square"]);
    array("(40, 40)", &[f64::NAN; 1600], &["k.npy", "NaN"]);
    array("(4000000000, 4000000000)", &[], &["k.npy"]);
    array("(90000, 90000)", &[], &["k.npy", "90000"]);
    array("(40, 40, 1)", &[1.0; 1600], &["k.npy"]);
}

#[test]
fn bad_wishes_are_refused_and_odd_ones_granted() {
    let lab = lab();
    let refused = |text: &str, words: &[&str]| {
        lab.write("bad.toml", text);
        let err = lab.twinrig(["reduce", "bad.toml"]).exits(3).err;
        let known = words.iter().all(|word| err.contains(word));
        assert!(known && !err.contains("panicked"), "{words:?}\n{err}");
    };
    let five = format!("{CHAIN}[reduction]\nmodes = 5\n");
    refused(&format!("{CHAIN}[reduction]\nmodes = 0\n"), &["`modes` is 0", "from 1"]);
    refused(&format!("{CHAIN}[reduction]\ncut_off = \"-3 Hz\"\n"), &["cut_off", "greater than"]);
    refused(&format!("{five}method = \"guyan\"\n"), &["guyan", "rubin"]);
    refused(&five.replace("[40]", "[41]"), &["no degree of freedom 41"]);
    refused(&five.replace("[40]", "[0]"), &["interface", "from 1"]);
    refused(&format!("{five}retain = [99]\n"), &["no degree of freedom 99"]);
    // Known before any reduction, with the rows of the file.
    let rayleigh = "{ rayleigh = { mass = \"1 1/s\", stiffness = \"50 us\" } }";
    let lopsided = format!("{}40 40 2\n5 5 3\n5 9 2\n", HEAD.replace("symmetric", "general"));
    lab.write("c.mtx", lopsided);
    let damped = five.replace(rayleigh, "{ file = \"c.mtx\", unit = \"N s/m\" }");
    refused(&damped, &["damping", "not symmetric", "row 5", "column 9"]);
    assert!(!lab.path("runs/bad-reduced").exists());
    lab.write("five.toml", &five);
    lab.twinrig(["reduce", "five.toml", "--compare=0 s"]).exits(2);
    // Nothing to recover the monitored DOFs from.
    let monitored = format!("{five}monitor = [20]\n[record]\ndisplacements = \"interface\"\n");
    lab.write("unrecovered.toml", monitored);
    for command in ["check", "run"] {
        let err = lab.twinrig([command, "unrecovered.toml"]).exits(3).err;
        assert!(err.contains("monitored DOFs") && err.contains("\"all\""), "{err}");
    }
    // A cache that is none is no reason to stop, and none to praise it.
    std::fs::remove_dir_all(lab.path("runs/cache")).unwrap();
    lab.write("runs/cache", "not a folder").write("five.toml", &five);
    let err = lab.twinrig(["run", "five.toml"]).err;
    assert!(err.contains("not kept"), "{err}");
    std::fs::remove_file(lab.path("runs/cache")).unwrap();
    let of = |text: &str| {
        lab.write("odd.toml", text);
        let ran = lab.twinrig(["--json", "reduce", "odd.toml"]).exits(0);
        (ran.json(), ran.err)
    };
    // More modes than there are: the structure itself.
    let (found, _) = of(&format!("{CHAIN}[reduction]\nmodes = 500\nband = \"100 Hz\"\n"));
    assert_eq!(found["dofs_after"], 40);
    assert!(found["response_error"]["max"].as_f64().unwrap() < 1e-6, "{found}");
    // A cut-off below the first mode: only a static shape, and a warning.
    lab.write("low.toml", format!("{CHAIN}[reduction]\ncut_off = \"0.01 Hz\"\n"));
    let ran = lab.twinrig(["reduce", "low.toml"]).exits(0);
    assert!(ran.err.contains("no mode lies below the cut-off"), "{}", ran.err);
    let ran = lab.twinrig(["check", "low.toml"]);
    assert!(ran.err.contains("no mode lies below the cut-off"), "{}", ran.err);
    // All DOFs at the interface: nothing is left to reduce.
    let all: Vec<String> = (1..=N).map(|dof| dof.to_string()).collect();
    let each = vec!["\"10 N/m\""; N].join(", ");
    let text = CHAIN
        .replace("[40]", &format!("[{}]", all.join(", ")))
        .replace("[\"10 kN/m\"]", &format!("[{each}]"));
    let (found, _) = of(&format!("{text}[reduction]\nmodes = 5\nband = \"10 Hz\"\n"));
    assert_eq!((&found["dofs_after"], &found["interface_dofs"]), (&40.into(), &40.into()));
    // Dense arrays are as good as sparse files.
    let entry = |i: usize, j: usize| match i.abs_diff(j) {
        0 => {
            if i + 1 < N {
                2.0
            } else {
                1.0
            }
        }
        1 => -1.0,
        _ => 0.0,
    };
    let numbers: Vec<f64> = (0..N * N).map(|at| entry(at / N, at % N)).collect();
    std::fs::write(lab.path("k.npy"), npy("(40, 40)", &numbers)).unwrap();
    let (sparse, _) = of(&five);
    let (dense, _) = of(&five.replace("k.mtx", "k.npy"));
    assert_eq!(sparse["modes_hz"], dense["modes_hz"]);
    assert_eq!(sparse["damping"], "αM + βK: no discrete dampers");
}

/// 60 000 DOFs, whose dense matrices would take 27 GiB each, within an address
/// space of 2 GiB.
#[cfg(target_os = "linux")]
#[test]
fn large_sparse_files_are_never_made_dense() {
    let (wide, deep): (usize, usize) = (300, 200);
    let n = wide * deep;
    let mut stiffness = String::new();
    let mut entries = 0;
    for i in 0..wide {
        for j in 0..deep {
            let here = i * deep + j + 1;
            let _ = writeln!(stiffness, "{here} {here} 4.01");
            entries += 1;
            for (near, there) in [(i > 0, here.wrapping_sub(deep)), (j > 0, here - 1)] {
                if near {
                    let _ = writeln!(stiffness, "{here} {there} -1");
                    entries += 1;
                }
            }
        }
    }
    let lab = Lab::new();
    lab.write("m.mtx", diagonal(n, 1.0));
    lab.write("k.mtx", format!("{HEAD}{n} {n} {entries}\n{stiffness}"));
    let text =
        CHAIN.replace("MN/m", "kN/m").replace("[40]", "[30100]").replace("10 kN/m", "10 N/m");
    lab.write("large.toml", format!("{text}[reduction]\nmodes = 6\nmonitor = [17]\n"));
    let program = env!("CARGO_BIN_EXE_twinrig");
    let script = format!("ulimit -v 2097152 && exec {program} --json run large.toml --out out");
    let ran = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(lab.path(""))
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["reduction"]["dofs_before"], n);
    assert_eq!(found["reduction"]["dofs_after"], 7);
    let monitored = std::fs::read_to_string(lab.path("out").join("monitored.csv")).unwrap();
    assert_eq!(monitored.lines().count(), 1001);
}

const FRAME: &str = r#"
title    = "Frame"
duration = "1 s"

[structure.frame]
bays     = [2, 1]
storeys  = 3
bay      = ["5 m", "4 m"]
storey   = "3 m"
column   = ["0.3 m", "0.3 m"]
beam     = ["0.2 m", "0.4 m"]
elements = 2
young    = "30 GPa"
density  = "2500 kg/m^3"

[structure]
damping = { rayleigh = { ratios = ["3 %", "3 %"], modes = [1, 4] } }

[[structure.point]]
name      = "roof"
at        = ["10 m", "0 m", "9 m"]
direction = "x"

[[structure.point]]
name      = "turn"
at        = ["10 m", "0 m", "9 m"]
direction = "ry"

[[structure.link]]
between   = ["ground", "roof"]
stiffness = "3 MN/m"

[partition]
interface = ["roof"]
stiffness = ["3 MN/m"]
mass      = ["100 kg"]

[excitation]
ground = { synthetic = { peak = "0.3 g", seed = 3 } }

[integrator]
method = "newmark"
rate   = "1 kHz"

[transfer_system]
kind    = "delay"
samples = 2

[limits]
command = "1 m"
"#;

#[test]
fn a_frame_is_reduced_and_run() {
    let lab = Lab::new();
    let reduction = "[reduction]\ncut_off = \"60 Hz\"\nmonitor = [\"turn\"]\n";
    lab.write("frame.toml", format!("{FRAME}{reduction}"));
    let found = lab.twinrig(["--json", "reduce", "frame.toml", "--compare"]).exits(0).json();
    assert!(found["dofs_before"].as_u64().unwrap() > 200, "{}", found["dofs_before"]);
    assert!(found["dofs_after"].as_u64().unwrap() < 60, "{}", found["dofs_after"]);
    assert_eq!(found["passive"], true);
    let places = found["history"]["places"].as_array().unwrap();
    let of =
        |key: &str| places.iter().map(|place| place[key].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!((of("name"), of("unit")), (vec!["roof", "turn"], vec!["m", "rad"]));
    // A joint turns with modes far beyond the cut-off.
    for (place, most) in places.iter().zip([1e-4, 0.01]) {
        assert!(place["reduced"]["rms"].as_f64().unwrap() < most, "{place}");
    }
    // The structure in full is small enough for the loop, and moves alike there.
    lab.write("full.toml", FRAME);
    for name in ["frame", "full"] {
        lab.twinrig(["run", &format!("{name}.toml"), "--out", name]).exits(0);
    }
    let column = |name: &str| {
        let record = Record::read(lab.path(name).join("record.arrow")).unwrap();
        record.column("desired.1").unwrap().to_vec()
    };
    let (small, full) = (column("frame"), column("full"));
    let square = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>();
    let apart: Vec<f64> = small.iter().zip(&full).map(|(a, b)| a - b).collect();
    // The held force also stirs what lies beyond the cut-off: with 400 Hz a twentieth of this.
    assert!(square(&apart) < 4e-6 * square(&full), "{} {}", square(&apart), square(&full));
    lab.twinrig(["replay", "frame"]).exits(0);
    // What is wrong with a frame is said, too.
    lab.write("bad.toml", format!("{FRAME}{reduction}").replace("\"turn\"]", "\"n1x\"]"));
    let err = lab.twinrig(["check", "bad.toml"]).exits(3).err;
    assert!(err.contains("n1x") && err.contains("held"), "{err}");
}

#[test]
fn reduced_files_are_swept_and_charted_like_full_ones() {
    let lab = lab();
    let sweep = "[sweep]\nruns = 4\n[[sweep.vary]]\nparameter = \"partition.stiffness[1]\"\n\
        uniform = [\"5 kN/m\", \"20 kN/m\"]\n";
    let reduction = "[reduction]\nmodes = 12\n";
    // J4: the measured motion against the reference.
    let swept = |name: &str, reduction: &str| -> Vec<f64> {
        lab.write("sweep.toml", format!("{CHAIN}{reduction}{sweep}"));
        let ran = lab.twinrig(["--json", "sweep", "sweep.toml", "--out", name]).exits(0).json();
        assert_eq!(ran["summary"]["completed"], 4, "{}", ran["summary"]);
        let mut table = csv::Reader::from_path(lab.path(name).join("results.csv")).unwrap();
        let head = table.headers().unwrap().clone();
        let column = |name: &str| head.iter().position(|title| title == name);
        // A DOF that did not stay has no criteria, and a mode has none either.
        assert_eq!(column("J6 [%]").is_none(), !reduction.is_empty(), "{head:?}");
        let j4 = column("J4 [%]").unwrap();
        table.records().map(|row| row.unwrap()[j4].parse().unwrap()).collect()
    };
    let (small, full) = (swept("small", reduction), swept("full", ""));
    assert_eq!(small.len(), 4);
    for (ours, theirs) in small.iter().zip(&full) {
        assert!((ours / theirs - 1.0).abs() < 5e-3, "{small:?} {full:?}");
    }
    // A chart takes many eigenvalues: ten masses will do.
    lab.write("m.mtx", diagonal(10, 8.0)).write("k.mtx", springs(10));
    let reduction = "[reduction]\nmodes = 5\n";
    let charted = |name: &str, reduction: &str| -> f64 {
        lab.write("chart.toml", format!("{CHAIN}{reduction}").replace("[40]", "[10]"));
        let axes =
            ["--x", "transfer_system.samples=0..12", "--y", "partition.stiffness[1]=2..30 kN/m"];
        let mut words = vec!["--json", "chart", "chart.toml", "--grid", "13x5", "--out", name];
        words.extend(axes);
        let found = lab.twinrig(words).exits(0).json();
        assert!(found["unstable"].as_u64().unwrap() > 0, "{found}");
        assert_eq!(found["unknown"], 0, "{found}");
        found["x"]["verdict_changes_above"].as_f64().unwrap()
    };
    let (small, full) = (charted("small-chart", reduction), charted("full-chart", ""));
    assert!((small / full - 1.0).abs() < 1e-3, "{small} {full}");
}
