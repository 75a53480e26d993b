//! What `check` asks of a chain of 250 and of 1000 DOFs, and of a block of 216: `cargo
//! bench -p twinrig --bench check`, or with the names of some. The whole forecast, a
//! tick timed included, three times each; reading the file is not counted.

use std::fmt::Write as _;
use std::time::Instant;

use experiment::{Experiment, Folder};
use twinrig::assembly::Assembly;
use twinrig::forecast::{Forecast, Others};

const REST: &str = r#"
[excitation]
ground = { synthetic = { seed = 7, peak = "0.35 g" } }
[integrator]
method = "rk4"
rate   = "1024 Hz"
[transfer_system]
kind  = "delay"
delay = "4 ms"
[limits]
command = "1 m"
"#;

const BRICK: &str = r#"
title    = "Block"
duration = "1 s"
[structure.brick]
size     = ["1 m", "0.1 m", "0.1 m"]
elements = [8, 2, 2]
young    = "210 GPa"
density  = "7850 kg/m^3"
[structure]
damping = { modal = 0.01 }
[[structure.point]]
name      = "tip"
at        = ["1 m", "0.05 m", "0.05 m"]
direction = "y"
[[structure.link]]
between   = ["ground", "tip"]
stiffness = "200 kN/m"
[partition]
interface = ["tip"]
stiffness = ["200 kN/m"]
"#;

/// Equal masses in a row with 3 % of critical damping in every mode, which is not that
/// of the part that is simulated.
fn chain(n: usize) -> String {
    let list = |item: &str| vec![format!("{item:?}"); n].join(", ");
    let mut text = "title = \"Chain\"\nduration = \"1 s\"\n[structure]\n".to_owned();
    let _ = writeln!(text, "damping = {{ modal = 0.03 }}\n[structure.chain]");
    let _ = writeln!(text, "mass = [{}]\nstiffness = [{}]", list("1000 kg"), list("4 MN/m"));
    text + "ends = \"fixed-free\"\n[partition]\ninterface = [1]\nstiffness = [\"2 MN/m\"]\n" + REST
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let newmark = REST.replace("rk4", "newmark").replace("1024 Hz", "4096 Hz");
    for (name, text) in [
        ("chain-250", chain(250)),
        ("brick-216", BRICK.to_owned() + &newmark.replace("4 ms", "0.5 ms")),
        ("chain-1000", chain(1000)),
    ] {
        if !(wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()))) {
            continue;
        }
        for _ in 0..3 {
            let folder = Folder::new(".");
            let (experiment, _) =
                Experiment::from_text(name, &text, &folder).expect("the file can be read");
            let begun = Instant::now();
            let (assembly, _) = Assembly::new(&experiment, &folder).expect("it can be assembled");
            let assembled_s = begun.elapsed().as_secs_f64();
            let forecast = Forecast::new(&assembly, Others::Tried).expect("it can be judged");
            println!(
                "{name}: {:.2} s, {assembled_s:.2} s of them for its assembly; {} compensators, {}",
                begun.elapsed().as_secs_f64(),
                forecast.examined.as_ref().map_or(0, |examined| examined.trials.len()),
                if forecast.is_unstable() { "unstable" } else { "not unstable" }
            );
        }
    }
}
