//! A chain of 40 masses in Matrix Market files, shaken at its foot.

use std::fmt::Write as _;

use super::Lab;

/// Of a symmetric matrix.
pub const HEAD: &str = "%%MatrixMarket matrix coordinate real symmetric\n";
/// Masses of the chain.
pub const N: usize = 40;

/// So many equal entries.
pub fn diagonal(n: usize, value: f64) -> String {
    let mut text = format!("{HEAD}{n} {n} {n}\n");
    for i in 1..=n {
        let _ = writeln!(text, "{i} {i} {value}");
    }
    text
}

/// A chain of springs from the ground, lower triangle.
pub fn springs(n: usize) -> String {
    let mut text = format!("{HEAD}{n} {n} {}\n", 2 * n - 1);
    for i in 1..=n {
        let _ = writeln!(text, "{i} {i} {}", if i < n { 2.0 } else { 1.0 });
        if i > 1 {
            let _ = writeln!(text, "{i} {} -1.0", i - 1);
        }
    }
    text
}

/// One damper, at DOF 7.
pub fn damper(value: f64) -> String {
    format!("{HEAD}{N} {N} 1\n7 7 {value}\n")
}

/// The files of [`CHAIN`].
pub fn write_chain(lab: &Lab, damping: &str) {
    lab.write("m.mtx", diagonal(N, 2.0)).write("k.mtx", springs(N)).write("c.mtx", damping);
}

/// The chain as a hybrid test, its last mass in the laboratory.
pub const CHAIN: &str = r#"
title    = "Chain"
duration = "0.5 s"

[structure]
mass      = { file = "m.mtx", unit = "kg" }
stiffness = { file = "k.mtx", unit = "MN/m" }
damping   = { file = "c.mtx", unit = "N s/m" }

[partition]
interface = [40]
stiffness = ["10 kN/m"]

[excitation]
ground = { synthetic = { peak = "1 g", seed = 7 } }

[integrator]
method = "newmark"
rate   = "2 kHz"

[limits]
command = "1 m"
"#;
