//! `twinrig run`: rehearse in virtual time.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use runtime::record::Record;
use serde_json::json;

use super::output::{Exit, Output, cannot_write, write_whole};
use crate::assembly::Assembly;
use crate::experiment::{Experiment, Folder, Source};
use crate::rehearsal::{Outcome, rehearse};
use crate::report;

/// An experiment with its models, or the exit that says what is wrong.
pub(super) struct Loaded {
    pub(super) experiment: Experiment,
    pub(super) assembly: Assembly,
    pub(super) folder: Folder,
    pub(super) warnings: serde_json::Value,
}

/// Reads and builds an experiment, showing warnings on the way.
pub(super) fn load(file: &Path, output: Output) -> Result<Loaded, Exit> {
    let (experiment, mut warnings) =
        Experiment::from_path(file).map_err(|found| output.refuse(&found))?;
    let folder = Folder::new(file.parent().unwrap_or(Path::new("")));
    let (assembly, more) =
        Assembly::new(&experiment, &folder).map_err(|found| output.refuse(&found))?;
    warnings.extend(more.items().iter().cloned());
    output.warn(&warnings);
    Ok(Loaded { experiment, assembly, folder, warnings: warnings.to_json() })
}

pub(super) fn run(file: &Path, out: Option<PathBuf>, output: Output) -> Exit {
    let loaded = match load(file, output) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let folder = out.unwrap_or_else(|| Path::new("runs").join(test_name(file)));
    let Loaded { experiment, assembly, folder: source, .. } = &loaded;
    let rehearsed = match write_rehearsal(experiment, source, assembly, &folder, output) {
        Ok(rehearsed) => rehearsed,
        Err(exit) => return exit,
    };
    let Rehearsed { outcome, summary, text } = rehearsed;
    let shown = match output {
        Output::Json => output.document(&json!({
            "folder": folder.display().to_string(),
            "warning_constant_j": outcome.constant_j,
            "warnings": loaded.warnings,
            "main_loop": outcome.main_loop.map(|counts| json!({
                "batches": counts.batches,
                "late": counts.late,
                "missing": counts.missing,
                "erased": counts.erased,
                "longest_bridge": counts.longest_bridge,
                "most_iterations": counts.most_iterations,
            })),
            "summary": summary,
        })),
        Output::People => super::output::print(&format!(
            "{text}\nwritten to {}: record.arrow, report.html, summary.json\n",
            folder.display()
        )),
    };
    match &outcome.summary {
        summary if summary.trip.is_some() => Exit::Tripped,
        summary if !summary.is_complete() => Exit::Incomplete,
        _ => shown,
    }
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
    folder: &Path,
    output: Output,
) -> Result<Rehearsed, Exit> {
    fs::create_dir_all(folder).map_err(|error| output.fail(cannot_write(folder, &error)))?;
    let path = folder.join("record.arrow");
    let bar = output.progress(experiment.ticks(), "rehearsing");
    let outcome = rehearse(experiment, source, assembly, &path, |ticks| bar.set_position(ticks));
    bar.finish_and_clear();
    let outcome = outcome.map_err(|error| output.fail(error))?;
    let record = Record::read(&path).map_err(|error| output.fail(error))?;
    let summary = report::summary_json(&record);
    let html = report::html(&record).map_err(|error| output.fail(error))?;
    for (name, text) in [("report.html", html), ("summary.json", format!("{summary:#}\n"))] {
        let file = folder.join(name);
        write_whole(&file, &text).map_err(|error| output.fail(cannot_write(&file, &error)))?;
    }
    Ok(Rehearsed { outcome, summary, text: report::summary_text(&record) })
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
