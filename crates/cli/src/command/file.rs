//! The experiment that a command is about.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use twinrig::estimate::Budget;
use twinrig::words::{counted, unquoted};
use twinrig::{Clock, Test, machine};

use super::error::CliError;
use super::onlooker::Looker;
use super::output::Output;
use twinrig::Onlooker as _;

/// Where the commands keep reduced models, beside the runs.
const CACHE: &str = "runs/cache";

/// The experiment that a command is about.
#[derive(Debug, Args)]
pub(super) struct ExperimentFile {
    /// Experiment file (TOML).
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) set: OtherValues,
}

/// Values that take the place of those in the file.
#[derive(Debug, Args)]
pub(super) struct OtherValues {
    /// Another value in the file, such as integrator.rate="2 kHz"; may be repeated.
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment)]
    pub(super) set: Vec<(String, String)>,
    /// Memory or computing time that a study may take, such as "16 GB" or "2 days"; may be
    /// repeated [default: 4 GB and 1 day].
    #[arg(long, value_name = "SIZE", value_parser = allowance)]
    budget: Vec<Allowance>,
}

/// One of the two things that a study takes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Allowance {
    Memory(f64),
    Time(f64),
}

impl OtherValues {
    fn budget(&self) -> Budget {
        self.budget.iter().fold(Budget::default(), |budget, allowed| match *allowed {
            Allowance::Memory(memory_bytes) => Budget { memory_bytes, ..budget },
            Allowance::Time(time_s) => Budget { time_s, ..budget },
        })
    }
}

fn allowance(text: &str) -> Result<Allowance, String> {
    let text = unquoted(text).trim();
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == ' ');
    let size = digits.parse::<f64>().ok().filter(|size| size.is_finite() && *size > 0.0);
    let allowed = match text[digits.len()..].trim() {
        "MB" => size.map(|size| Allowance::Memory(1e6 * size)),
        "GB" => size.map(|size| Allowance::Memory(1e9 * size)),
        "TB" => size.map(|size| Allowance::Memory(1e12 * size)),
        "min" => size.map(|size| Allowance::Time(60.0 * size)),
        "h" => size.map(|size| Allowance::Time(3600.0 * size)),
        "day" | "days" => size.map(|size| Allowance::Time(86_400.0 * size)),
        _ => None,
    };
    allowed.ok_or_else(|| "write it like \"16 GB\" or \"2 days\" (MB, GB, TB, min, h, days)".into())
}

/// An argument that is one of a few words: each with its help and its value.
pub(super) fn one_of<T: Clone + Send + Sync + 'static, const N: usize>(
    words: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = words.each_ref().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).map(move |name| {
        let chosen = words.iter().find(|(known, ..)| *known == name);
        chosen.expect("clap lets only these words through").2.clone()
    })
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (path, value) =
        text.split_once('=').ok_or("write PATH=VALUE, such as duration=\"10 s\"")?;
    Ok((path.trim().to_owned(), value.trim().to_owned()))
}

/// A laboratory to drive, and the clock.
#[derive(Debug, Args)]
pub(super) struct Pacing {
    /// Run against the clock, each tick at its deadline. Ctrl-C stops the test: hold, then
    /// ramp to zero.
    #[arg(long)]
    realtime: bool,
    /// Laboratory to drive, host and port, instead of [rig] address; `virtual` for a rig in
    /// this process.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) rig: Option<String>,
    #[command(flatten)]
    pub(super) bench: Bench,
}

/// Whether the rig is one that nothing can harm.
#[derive(Debug, Args)]
pub(super) struct Bench {
    /// Move a rig for which [limits] lacks command, rate or force: for benches where nothing
    /// can be harmed. The record says so.
    #[arg(long)]
    without_limits: bool,
}

impl Bench {
    /// The test as it may move a rig.
    pub(super) fn test(&self, test: Test) -> Test {
        if self.without_limits { test.without_limits() } else { test }
    }
}

impl Pacing {
    pub(super) fn clock(&self) -> Clock {
        if self.realtime { Clock::Real } else { Clock::Virtual }
    }
}

/// Reads an experiment with the values that are set.
fn test(file: &Path, values: &OtherValues) -> Result<Test, CliError> {
    let test = Test::load(file)?.keeping(CACHE).within(values.budget());
    let set = &values.set;
    Ok(if set.is_empty() { test } else { test.with_values(set.iter().cloned())? })
}

/// Reads an experiment with the values that are set, and shows its warnings.
pub(super) fn read(file: &Path, set: &OtherValues, output: Output) -> Result<Test, CliError> {
    let test = test(file, set)?;
    output.warn(&test.warnings());
    Ok(test)
}

/// Reads an experiment and builds its models.
pub(super) fn load(file: &Path, set: &OtherValues, output: Output) -> Result<Test, CliError> {
    let test = test(file, set)?;
    let mut looker = Looker::new(output, "");
    if test.experiment().reduction.is_some() {
        looker.stage("reducing the structure");
    }
    test.assembly()?;
    drop(looker);
    output.warn(&test.warnings());
    if let Some(facts) = test.reduction() {
        let how = match (facts.from_cache, facts.kept) {
            (true, _) => format!("from {CACHE}"),
            (false, true) => format!("in {:.2} s, kept in {CACHE}", facts.seconds),
            (false, false) => {
                format!("in {:.2} s, and not kept: {CACHE} cannot be written to", facts.seconds)
            }
        };
        let (before, after) = (facts.dofs_before, facts.dofs_after);
        let (kept, modes) = (counted(facts.retained.len(), "DOF"), counted(facts.modes, "mode"));
        output.note(&format!("reduced {before} DOFs to {after}: {kept} retained, {modes}; {how}"));
    }
    Ok(test)
}

/// The folder that is asked for, or `runs/NAME` with a word behind it.
pub(super) fn folder(out: Option<&PathBuf>, file: &Path, behind: &str) -> PathBuf {
    out.cloned().unwrap_or_else(|| {
        let mut name = test_name(file).to_owned();
        name.push(behind);
        Path::new("runs").join(name)
    })
}

/// What stands behind the name of a test: a rehearsal replaces the one before; a
/// real test is never overwritten.
pub(super) fn started(clock: Clock) -> String {
    match clock {
        Clock::Virtual => String::new(),
        Clock::Real => format!("-{}", machine::utc_now().replace([':', '-'], "")),
    }
}

/// What a test is called: by its file, or by its folder where the file is just
/// called `experiment.toml`.
pub(super) fn test_name(file: &Path) -> &OsStr {
    let stem = file.file_stem().unwrap_or_else(|| "test".as_ref());
    let folder = file.parent().and_then(Path::file_name);
    match folder {
        Some(folder) if stem == "experiment" => folder,
        _ => stem,
    }
}
