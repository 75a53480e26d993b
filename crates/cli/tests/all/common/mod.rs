//! A folder, an experiment file in it, and the real program.

pub mod chain;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// What a call of the program gave.
pub struct Ran {
    /// The exit code. A verdict on a test that ran to its end (10, 11) is 0 here: most tests are
    /// about loops that are wrong on purpose, and `verdict` is about the verdict.
    pub code: i32,
    /// The exit code as it was.
    pub verdict: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Of a call that ended.
    pub fn new(verdict: i32, out: String, err: String) -> Self {
        let code = if matches!(verdict, 10 | 11) { 0 } else { verdict };
        Self { code, verdict, out, err }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| {
            panic!("not one JSON document: {error}\n{}\n{}", self.out, self.err)
        })
    }

    /// Asserts the exit code, showing what was printed if it is another.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }
}

/// A folder of its own, gone after the test.
pub struct Lab {
    folder: TempDir,
}

impl Lab {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), bytes).unwrap();
        self
    }

    /// Runs the program in this folder.
    pub fn twinrig<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        let output: Output = Command::new(env!("CARGO_BIN_EXE_twinrig"))
            .args(arguments)
            .current_dir(self.folder())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().expect("the program ended by itself");
        let ran = Ran::new(code, text(output.stdout), text(output.stderr));
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }

    /// Writes an experiment and rehearses it into the folder `out`.
    pub fn rehearse(&self, file: &Draft) -> Ran {
        self.write("test.toml", file.text());
        self.twinrig(["run", "test.toml", "--out", "out"])
    }
}

/// An experiment file of which tests replace whole tables.
#[derive(Clone)]
pub struct Draft {
    top: String,
    tables: Vec<(&'static str, String)>,
}

impl Draft {
    /// Two storeys, the lower one's spring in the laboratory, 0.3 s.
    pub fn new() -> Self {
        Self { top: "title = \"Draft\"\nduration = \"0.3 s\"\n".to_owned(), tables: Vec::new() }
            .with(
                "structure",
                "mass = [\"1000 kg\", \"1000 kg\"]\n\
                 stiffness = { unit = \"N/m\", rows = [[2e6, -1e6], [-1e6, 1e6]] }\n\
                 damping = { modal = \"3 %\" }",
            )
            .with(
                "partition",
                "interface = [1]\nmass = [\"30 kg\"]\ndamping = [\"100 N s/m\"]\n\
                 stiffness = [\"0.5 MN/m\"]",
            )
            .with(
                "excitation",
                "ground = { harmonic = { amplitude = \"1 m/s^2\", frequency = \"2 Hz\" } }",
            )
            .with("integrator", "method = \"rk4\"\nrate = \"1024 Hz\"")
            .with("transfer_system", "kind = \"delay\"\nsamples = 2")
            .with("limits", "command = \"1 m\"\nrate = \"100 m/s\"\nforce = \"100 MN\"")
    }

    pub fn top(mut self, top: &str) -> Self {
        self.top = format!("title = \"Draft\"\n{top}\n");
        self
    }

    /// Replaces or adds a table; what follows it may be tables of its own.
    pub fn with(mut self, table: &'static str, text: &str) -> Self {
        self.tables.retain(|(name, _)| *name != table);
        self.tables.push((table, text.to_owned()));
        self
    }

    pub fn text(&self) -> String {
        let mut text = self.top.clone();
        for (name, body) in &self.tables {
            text.push_str(&format!("[{name}]\n{body}\n"));
        }
        text
    }
}

/// Runs a Python program in `folder`; `None`, said aloud, where Python or one of
/// `modules` is missing.
pub fn python(program: &str, modules: &[&str], folder: &Path) -> Option<String> {
    let probe = format!("import {}", modules.join(", "));
    let there = Command::new("python3").args(["-c", &probe]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        println!("skipped: no python3 with {}", modules.join(", "));
        return None;
    }
    let output =
        Command::new("python3").args(["-B", "-c", program]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}
