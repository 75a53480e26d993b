//! `twinrig run`: rehearse in virtual time, or run against the clock.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use runtime::record::{Existing, Record};
use runtime::rig::NetworkRig;
use runtime::stop::StopHandle;
use runtime::world::World;
use serde_json::{Map, json};

use super::output::{Exit, Output, cannot_write, write_whole};
use super::signals::stop_on_signals;
use super::status_line::StatusLine;
use experiment::include::flattened;
use experiment::sweep::with_value;
use experiment::{Diagnostics, Experiment, Folder, Source};
use twinrig::assembly::{Assembly, CACHE, Reduced, SignalStore};
use twinrig::claim::{Claim, Side};
use twinrig::hosted::{Hosting, token_from};
use twinrig::rehearsal::{Outcome, rehearse};
use twinrig::remote::{self, Timing};
use twinrig::{machine, realtime, report};

/// An experiment with its models, or the exit that says what is wrong.
pub(super) struct Loaded {
    pub(super) experiment: Experiment,
    pub(super) assembly: Assembly,
    pub(super) folder: Folder,
    pub(super) warnings: serde_json::Value,
    /// What became of a large structure, for machines.
    pub(super) reduction: Option<serde_json::Value>,
}

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
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set: Vec<String>,
}

/// What a command needs of the text of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// As it was written, where nothing is set.
    AsWritten,
    /// One text with every included file in it: what varies may lie in any of them.
    Flat,
}

/// Reads an experiment with the values that were set, and what is warned of.
pub(super) fn read(
    file: &Path,
    set: &OtherValues,
    text: Text,
    output: Output,
) -> Result<(Experiment, Folder, Diagnostics), Exit> {
    let folder = Folder::new(file.parent().unwrap_or(Path::new("")));
    let refuse = |found: Diagnostics| output.refuse(&found);
    // What is wrong in the file itself is said with its place there.
    let (experiment, warnings) = Experiment::from_path(file).map_err(refuse)?;
    if set.set.is_empty() && text == Text::AsWritten {
        return Ok((experiment, folder, warnings));
    }
    let mut text = flattened(experiment.text(), &folder);
    for assignment in &set.set {
        text = assigned(&text, assignment).map_err(|error| {
            output.fail(error);
            Exit::Usage
        })?;
    }
    let name = file.display().to_string();
    let (experiment, warnings) = Experiment::from_text(&name, &text, &folder).map_err(refuse)?;
    Ok((experiment, folder, warnings))
}

/// Reads and builds an experiment, showing warnings on the way.
pub(super) fn load(file: &Path, set: &OtherValues, output: Output) -> Result<Loaded, Exit> {
    let (experiment, folder, mut warnings) = read(file, set, Text::AsWritten, output)?;
    let store = SignalStore::keeping(CACHE);
    let spinner = experiment.reduction.as_ref().map(|_| output.spinner());
    if let Some(spinner) = &spinner {
        spinner.set_message("reducing the structure");
    }
    let assembled = Assembly::sharing(&experiment, &folder, &store);
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    let (assembly, more) = assembled.map_err(|found| output.refuse(&found))?;
    warnings.extend(more.items().iter().cloned());
    output.warn(&warnings);
    let reduced = assembly.reduced.as_deref();
    if let (Some(reduced), Output::People) = (reduced, output) {
        eprintln!("{}", reduction_words(reduced, &store));
    }
    let reduction = reduced.map(|reduced| reduction_json(reduced, store.reused()));
    Ok(Loaded { experiment, assembly, folder, warnings: warnings.to_json(), reduction })
}

/// What became of a large structure.
fn reduction_words(reduced: &Reduced, store: &SignalStore) -> String {
    let (full, small) = (reduced.facts.full_size, reduced.model.size());
    let (stay, modes) = (reduced.model.boundary.len(), reduced.model.omega_rad_s.len());
    let how = if store.reused() {
        format!("taken from {CACHE}")
    } else if store.kept() {
        format!("in {:.2} s, kept in {CACHE}", reduced.seconds)
    } else {
        format!("in {:.2} s, and not kept: {CACHE} cannot be written to", reduced.seconds)
    };
    format!("reduced {full} DOFs to {small}: {stay} that stay and {modes} modes, {how}")
}

/// The same for machines.
fn reduction_json(reduced: &Reduced, reused: bool) -> serde_json::Value {
    json!({
        "dofs_before": reduced.facts.full_size,
        "dofs_after": reduced.model.size(),
        "retained": reduced.names,
        "modes": reduced.model.omega_rad_s.len(),
        "seconds": reduced.seconds,
        "from_cache": reused,
        "key": format!("{:032x}", reduced.key),
    })
}

/// Writes the motion of the monitored DOFs of a reduced structure, recovered from
/// that of its coordinates. Gives the name of the file, if there is one.
fn write_monitored(assembly: &Assembly, claim: &Claim) -> Result<Option<&'static str>, String> {
    const NAME: &str = "monitored.csv";
    let Some(reduced) = &assembly.reduced else { return Ok(None) };
    if reduced.monitored.is_empty() {
        return Ok(None);
    }
    let record = Record::read(claim.record()).map_err(|error| error.to_string())?;
    let column = |name: &str| {
        let missing = "the monitored DOFs need every displacement: set displacements = \"all\" in \
                       [record]";
        record.column(name).ok_or_else(|| missing.to_owned())
    };
    let time = column("time")?;
    let coordinates = assembly.structure.names.iter();
    let coordinates = coordinates.map(|name| column(&format!("numerical.{name}")));
    let coordinates = coordinates.collect::<Result<Vec<&[f64]>, String>>()?;
    let mut text = String::from("time [s]");
    for name in &reduced.monitored {
        let _ = write!(text, ",\"{}\"", name.replace('"', "\"\""));
    }
    let mut now = vec![0.0; coordinates.len()];
    for (frame, time) in time.iter().enumerate() {
        let _ = write!(text, "\n{time}");
        for (value, column) in now.iter_mut().zip(&coordinates) {
            *value = column[frame];
        }
        for value in reduced.model.recover(&now).iter() {
            let _ = write!(text, ",{value:e}");
        }
    }
    text.push('\n');
    let path = claim.folder().join(NAME);
    write_whole(&path, &text).map_err(|error| cannot_write(&path, &error))?;
    Ok(Some(NAME))
}

/// The text with one value replaced.
fn assigned(text: &str, assignment: &str) -> Result<String, String> {
    let Some((path, value)) = assignment.split_once('=') else {
        return Err(format!("--set {assignment}: write PATH=VALUE, such as duration=\"10 s\""));
    };
    with_value(text, path.trim(), value.trim())
        .map_err(|error| format!("--set {assignment}: {error}"))
}

/// Said instead of an address for a rig in this process.
const IN_PROCESS: &str = "virtual";

/// What sets the pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// As fast as the machine goes.
    Virtual,
    /// Each tick at its deadline.
    Real,
}

/// What the test is joined to.
pub(super) struct Links {
    /// The laboratory, instead of the one the file names.
    pub(super) rig: Option<String>,
    /// A host.
    pub(super) host: Option<HostWish>,
}

/// The link that is asked for.
pub(super) struct HostWish {
    pub(super) address: String,
    pub(super) token_file: Option<PathBuf>,
}

impl HostWish {
    /// Takes the address, and says where the link is.
    fn open(&self, output: Output) -> Result<Hosting, Exit> {
        let drawn = self.token_file.is_none();
        let token = self.token_file.as_deref().map(token_from).transpose();
        let hosting = token.and_then(|token| Hosting::new(&self.address, token));
        let hosting = hosting.map_err(|error| output.fail(error))?;
        let mut said = hosting.address().map_or(String::new(), |address| {
            let open = if address.ip().is_loopback() {
                ""
            } else {
                "\nnotice: the link is not encrypted, and can be reached from other machines"
            };
            format!("host link on {address}{open}\n")
        });
        if drawn {
            said += &format!("token {}\n", hosting.token().text());
        }
        // To people beside the tables, to machines beside the document. Who cannot
        // be told does not stop the test.
        let _ = std::io::stderr().write_all(said.as_bytes());
        Ok(hosting)
    }
}

pub(super) fn run(
    experiment: &ExperimentFile,
    out: Option<PathBuf>,
    clock: Clock,
    links: Links,
    output: Output,
) -> Exit {
    let Links { rig, host } = links;
    let ExperimentFile { file, set } = experiment;
    let mut loaded = match load(file, set, output) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    if let Err(exit) = reach(&mut loaded, clock, Wire::ClosedLoop, rig, output) {
        return exit;
    }
    let folder = out.unwrap_or_else(|| Path::new("runs").join(folder_name(file, clock)));
    let Loaded { experiment, assembly, folder: source, .. } = &loaded;
    let existing = match clock {
        Clock::Virtual => Existing::Replace,
        Clock::Real => Existing::Keep,
    };
    // Ours until the report is written.
    let claim = match Claim::take(&folder, Side::Loop, existing) {
        Ok(claim) => claim,
        Err(error) => return output.fail(error),
    };
    let host = match host.map(|wish| wish.open(output)).transpose() {
        Ok(host) => host,
        Err(exit) => return exit,
    };
    let stop = match stop_on_signals(output) {
        Ok(stop) => stop,
        Err(exit) => return exit,
    };
    let written = match clock {
        Clock::Virtual => {
            write_rehearsal(experiment, source, assembly, &claim, host, &stop, output)
        }
        Clock::Real => write_run(experiment, source, assembly, &claim, host, &stop, output),
    };
    let rehearsed = match written {
        Ok(rehearsed) => rehearsed,
        Err(exit) => return exit,
    };
    let Rehearsed { outcome, summary, text } = rehearsed;
    let monitored = match write_monitored(assembly, &claim) {
        Ok(name) => name.map_or(String::new(), |name| format!(", {name}")),
        // The test itself is safe in its record.
        Err(error) => return output.fail(error),
    };
    let shown = match output {
        Output::Json => output.document(&json!({
            "folder": folder.display().to_string(),
            "warning_constant_j": outcome.constant_j,
            "warnings": loaded.warnings,
            "reduction": loaded.reduction,
            "main_loop": outcome.main_loop.map(|counts| json!({
                "batches": counts.batches,
                "late": counts.late,
                "missing": counts.missing,
                "erased": counts.erased,
                "longest_bridge": counts.longest_bridge,
                "most_iterations": counts.most_iterations,
            })),
            "link": outcome.link.map(|counts| {
                let named = counts.named();
                named.iter().map(|&(name, n)| (name.to_owned(), n.into())).collect::<Map<_, _>>()
            }),
            "summary": summary,
        })),
        Output::People => super::output::print(&format!(
            "{text}\nwritten to {}: record.arrow, report.html, summary.json{monitored}\n",
            folder.display()
        )),
    };
    Exit::of(&outcome.summary, shown)
}

/// What goes over the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// A closed loop: the rig must answer at least a step late.
    ClosedLoop,
    /// Commands that do not depend on the answer within the tick.
    Open,
}

/// Finds the laboratory of a test over a wire, before any file is written.
pub(super) fn reach(
    loaded: &mut Loaded,
    clock: Clock,
    wire: Wire,
    rig: Option<String>,
    output: Output,
) -> Result<(), Exit> {
    let address = rig.or_else(|| loaded.experiment.rig.address.clone());
    let Some(address) = address.filter(|address| address != IN_PROCESS) else { return Ok(()) };
    let timing = match clock {
        Clock::Virtual => Timing::LockStep,
        Clock::Real => Timing::Paced,
    };
    let Loaded { experiment, assembly, .. } = &*loaded;
    let plan = remote::resolve(&address)
        .and_then(|at| match wire {
            Wire::ClosedLoop => remote::link_plan(experiment, assembly, at, timing),
            Wire::Open => Ok(remote::open_link_plan(experiment, assembly, at, timing)),
        })
        .map_err(|error| output.fail(error))?;
    let peer = NetworkRig::find(&World::system(), &plan).map_err(|error| output.fail(error))?;
    if output == Output::People {
        eprintln!("{}", remote::told(&peer));
    }
    loaded.assembly.remote = Some(plan);
    Ok(())
}

/// A rehearsal whose files are written.
pub(super) struct Rehearsed {
    pub(super) outcome: Outcome,
    /// For machines.
    pub(super) summary: serde_json::Value,
    /// For people.
    pub(super) text: String,
}

/// Rehearses into a folder: record, report and summary.
pub(super) fn write_rehearsal(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    claim: &Claim,
    host: Option<Hosting>,
    stop: &StopHandle,
    output: Output,
) -> Result<Rehearsed, Exit> {
    let path = claim.record();
    let bar = output.progress(assembly.most_ticks(), "rehearsing");
    let outcome =
        rehearse(experiment, source, assembly, &path, host, stop, |ticks| bar.set_position(ticks));
    bar.finish_and_clear();
    let outcome =
        outcome.map_err(|error| output.fail_to_keep(&error, error.unrecorded(), &path))?;
    write_report(outcome, claim, output)
}

/// Runs against the clock into a folder: record, report and summary.
fn write_run(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    claim: &Claim,
    host: Option<Hosting>,
    stop: &StopHandle,
    output: Output,
) -> Result<Rehearsed, Exit> {
    let path = claim.record();
    let step_s = assembly.integrator.step_s;
    let duration_s = match assembly.course {
        Some(_) => assembly.most_ticks() as f64 * step_s,
        None => experiment.duration_s,
    };
    let mut line = StatusLine::new(output, step_s, duration_s);
    let outcome = realtime::run(experiment, source, assembly, &path, host, stop, &mut line);
    line.end();
    let outcome =
        outcome.map_err(|error| output.fail_to_keep(&error, error.unrecorded(), &path))?;
    write_report(outcome, claim, output)
}

/// Report and summary of a record that is there.
fn write_report(outcome: Outcome, claim: &Claim, output: Output) -> Result<Rehearsed, Exit> {
    let record = Record::read(claim.record()).map_err(|error| output.fail(error))?;
    let summary = write_pages(&record, claim, output)?;
    Ok(Rehearsed { outcome, summary, text: report::summary_text(&record) })
}

/// The report and the summary of a record, beside it.
pub(super) fn write_pages(
    record: &Record,
    claim: &Claim,
    output: Output,
) -> Result<serde_json::Value, Exit> {
    let summary = report::summary_json(record);
    let html = report::html(record).map_err(|error| output.fail(error))?;
    for (name, text) in [("report.html", html), ("summary.json", format!("{summary:#}\n"))] {
        let file = claim.folder().join(name);
        write_whole(&file, &text).map_err(|error| {
            let error = cannot_write(&file, &error);
            output.fail_to_keep(error, record.summary.as_ref(), &claim.record())
        })?;
    }
    Ok(summary)
}

/// A rehearsal replaces the one before; a real test is never overwritten.
pub(super) fn folder_name(file: &Path, clock: Clock) -> OsString {
    let mut name = test_name(file).to_owned();
    if clock == Clock::Real {
        name.push(format!("-{}", machine::utc_now().replace([':', '-'], "")));
    }
    name
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
