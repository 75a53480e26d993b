//! Tests of the experiment file as a whole.

mod bad;
mod component;
mod declarations;
mod generated;
mod good;
mod guard;
mod hostile;
mod include;
mod phases;

use std::io;

use super::source::Source;
use super::{Diagnostic, Diagnostics, Experiment};

/// A source that has a few files, empty ones.
struct Shelf;

const FILES: &[&str] =
    &["kobe.csv", "elcentro.AT2", "m.mtx", "k.npy", "c.csv", "kobe.dat", "force.txt", "part.toml"];

impl Source for Shelf {
    fn size(&self, name: &str) -> io::Result<u64> {
        if FILES.contains(&name) { Ok(0) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.size(name).map(|_| Vec::new())
    }
}

fn read(text: &str) -> Result<(Experiment, Diagnostics), Diagnostics> {
    Experiment::from_text("test.toml", text, &Shelf)
}

fn good(text: &str) -> Experiment {
    match read(text) {
        Ok((experiment, _)) => experiment,
        Err(errors) => panic!("{errors}\n{text}"),
    }
}

/// A small good file, in which tests replace a part.
const BASE: &str = r#"title = "Base"
duration = "40 s"
[structure]
names = ["a", "b", "c"]
mass = ["1000 kg", "1000 kg", "1000 kg"]
stiffness = { unit = "N/m", rows = [[3, -1, 0], [-1, 2, -1], [0, -1, 1]] }
damping = { modal = "3 %" }
[partition]
interface = [1]
mass = ["29.1 kg"]
stiffness = ["1.19 MN/m"]
[excitation]
ground = { file = "kobe.csv", scale = 0.4 }
[integrator]
method = "rk4"
rate = "4096 Hz"
[transfer_system]
kind = "ideal"
[limits]
command = "20 mm"
"#;

/// `BASE` with `old` replaced by `new`; `old` must be there.
fn changed(old: &str, new: &str) -> String {
    assert!(BASE.contains(old), "the base file has no {old}");
    BASE.replacen(old, new, 1)
}
