//! `twinrig sweep`: many variants, in parallel.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::ProgressStyle;
use runtime::record::Existing;
use runtime::stop::StopHandle;
use serde_json::{Value, json};

use super::output::{Exit, Output, cannot_write, number, print, table, write_whole};
use super::rehearse::{OtherValues, Rehearsed, Text, read, test_name, write_rehearsal};
use twinrig::claim::{Claim, Side};
use twinrig::page::text::label;
use twinrig::sweep::{
    Columns, Journal, Opening, Outcome, Row, Study, StudyError, Summary, Workspace, run_all,
};

/// What `twinrig sweep` is told.
#[derive(Debug, Args)]
pub(super) struct SweepArguments {
    /// Experiment file (TOML) with a [sweep].
    file: PathBuf,
    /// Draws of the random parameters [default: as the file says].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    runs: Option<u64>,
    /// Seed of the draws [default: as the file says].
    #[arg(long, value_name = "S")]
    seed: Option<u32>,
    /// Threads [default: one per core]. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Folder for results.csv, summary.json, report.html and the journal [default: runs/NAME-sweep].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    set: OtherValues,
    /// Throw away what an earlier sweep has left in the folder.
    #[arg(long)]
    restart: bool,
    /// Run this variant alone and print its row.
    #[arg(long, value_name = "VARIANT")]
    only: Option<u64>,
    /// With --only: folder for the variant's experiment file, full record and report.
    #[arg(long, value_name = "DIR", requires = "only")]
    record: Option<PathBuf>,
}

pub(super) fn sweep(arguments: &SweepArguments, output: Output) -> Exit {
    let study = match study(arguments, output) {
        Ok(study) => study,
        Err(exit) => return exit,
    };
    match arguments.only {
        Some(index) => only(&study, index, arguments.record.as_deref(), output),
        None => all(&study, arguments, output),
    }
}

fn study(arguments: &SweepArguments, output: Output) -> Result<Study, Exit> {
    let file = &arguments.file;
    let (experiment, folder, warnings) = read(file, &arguments.set, Text::Flat, output)?;
    output.warn(&warnings);
    let Some(mut spec) = experiment.sweep.clone() else {
        let error = StudyError::NoSweep { file: file.display().to_string() };
        output.fail(error);
        return Err(Exit::BadExperiment);
    };
    spec.runs = arguments.runs.unwrap_or(spec.runs);
    spec.seed = arguments.seed.map_or(spec.seed, u64::from);
    let study = Study::new(experiment, spec, &folder).map_err(|error| match error {
        StudyError::Experiment(found) => output.refuse(&found),
        error => output.fail(error),
    })?;
    Ok(study.called_with(options(arguments)))
}

/// What of the command line decides what a variant is.
fn options(arguments: &SweepArguments) -> String {
    let mut options = String::new();
    if let Some(runs) = arguments.runs {
        options += &format!(" --runs {runs}");
    }
    if let Some(seed) = arguments.seed {
        options += &format!(" --seed {seed}");
    }
    for assignment in &arguments.set.set {
        options += &format!(" --set '{assignment}'");
    }
    options
}

fn all(study: &Study, arguments: &SweepArguments, output: Output) -> Exit {
    let folder = arguments.out.clone().unwrap_or_else(|| {
        let mut name = test_name(&arguments.file).to_owned();
        name.push("-sweep");
        Path::new("runs").join(name)
    });
    if let Err(error) = fs::create_dir_all(&folder) {
        return output.fail(cannot_write(&folder, &error));
    }
    let opening = if arguments.restart { Opening::Restart } else { Opening::Resume };
    let path = folder.join("sweep.journal");
    let opened = Journal::open(&path, study.columns(), study.fingerprint(), opening);
    let (mut journal, mut rows) = match opened {
        Ok(opened) => opened,
        Err(error) => return output.fail(error),
    };
    // An earlier sweep may have had more runs.
    rows.retain(|index, _| *index <= study.spec().variants());
    let found = rows.len();
    if let Some(damage) = journal.damage() {
        eprintln!("warning: {damage}; these variants are run again");
    }
    if found > 0 && output == Output::People {
        eprintln!("going on behind {found} variants that are done");
    }
    let threads = arguments.threads.map_or_else(cores, usize::from);
    let pace = match run_with_progress(study, threads, &mut journal, &mut rows, output) {
        Ok(pace) => pace,
        Err(exit) => return exit,
    };
    let summary = Summary::new(study.columns(), rows.into_values().collect());
    let document = summary.json(study);
    let files = [
        ("results.csv", summary.csv()),
        ("summary.json", format!("{document:#}\n")),
        ("report.html", twinrig::sweep::page::page(study, &summary).html()),
    ];
    for (name, text) in files {
        if let Err(error) = write_whole(&folder.join(name), &text) {
            return output.fail(cannot_write(&folder.join(name), &error));
        }
    }
    let shown = match output {
        Output::Json => output.document(&json!({
            "folder": folder.display().to_string(),
            "resumed_variants": found,
            "threads": threads,
            "elapsed_s": pace.elapsed.as_secs_f64(),
            "tests_per_s": pace.per_second(),
            "summary": document,
        })),
        Output::People => print(&words(study, &summary, &folder, &pace)),
    };
    if summary.count(Outcome::Failed) == summary.rows.len() { Exit::Failed } else { shown }
}

/// How fast the variants ran.
struct Pace {
    variants: usize,
    threads: usize,
    elapsed: Duration,
}

impl Pace {
    fn per_second(&self) -> Option<f64> {
        let rate = self.variants as f64 / self.elapsed.as_secs_f64();
        (self.variants > 0 && rate.is_finite()).then_some(rate)
    }
}

fn run_with_progress(
    study: &Study,
    threads: usize,
    journal: &mut Journal,
    rows: &mut BTreeMap<u64, Row>,
    output: Output,
) -> Result<Pace, Exit> {
    let (start, before) = (Instant::now(), rows.len());
    let bar = output.progress(study.spec().variants(), "variants");
    let style = "{bar:36} {pos}/{len}  {per_sec}  {eta} left  {msg}";
    bar.set_style(
        ProgressStyle::with_template(style)
            .expect("the template is a constant")
            .progress_chars("━╸ "),
    );
    bar.set_message("");
    bar.set_position(before as u64);
    bar.reset_eta();
    let (mut tripped, mut unstable, mut failed) = (0, 0, 0);
    let outcome = run_all(study, threads, journal, rows, |row| {
        tripped += u64::from(row.outcome == Outcome::Tripped);
        failed += u64::from(row.outcome == Outcome::Failed);
        unstable += u64::from(row.stable == Some(false));
        if tripped + unstable + failed > 0 {
            bar.set_message(format!("{tripped} tripped, {unstable} unstable, {failed} failed"));
        }
        bar.inc(1);
    });
    bar.finish_and_clear();
    outcome.map_err(|error| output.fail(error))?;
    journal.sync().map_err(|error| output.fail(error))?;
    let threads = threads.min(rows.len() - before).max(1);
    Ok(Pace { variants: rows.len() - before, threads, elapsed: start.elapsed() })
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn words(study: &Study, summary: &Summary, folder: &Path, pace: &Pace) -> String {
    let mut text = format!("{}\n{}\n\n", label(&study.experiment().title), counts(summary));
    let rows: Vec<Vec<String>> = summary
        .statistics
        .iter()
        .map(|statistics| {
            let mut row = vec![format!("{} [{}]", statistics.metric.id, statistics.metric.unit)];
            match &statistics.numbers {
                Some(n) => {
                    row.extend([n.mean, n.sd, n.min, n.median, n.p95, n.max].map(number));
                    row.push(n.largest_in.to_string());
                }
                None => row.extend(std::iter::repeat_n("–".to_owned(), 7)),
            }
            row
        })
        .collect();
    let head = ["completed", "mean", "sd", "min", "median", "95 %", "max", "in variant"];
    text.push_str(&table(&head, &rows));
    if let Some(worst) = summary.worst.map(|at| &summary.rows[at]) {
        text.push_str(&format!(
            "\nworst: variant {} (seed {}), {}\n",
            worst.variant.index,
            worst.variant.seed,
            verdict(worst)
        ));
        for ((path, unit), value) in summary.columns.parameters.iter().zip(&worst.variant.values) {
            let value = value.map_or_else(|| "–".to_owned(), number);
            text.push_str(format!("  {path} = {value} {unit}").trim_end());
            text.push('\n');
        }
        text.push_str(&format!("  look at it alone: {}\n", study.hint(worst.variant.index)));
    }
    let failed = summary.rows.iter().find(|row| row.outcome == Outcome::Failed);
    if let Some(row) = failed {
        text.push_str(&format!("first failure: variant {}: {}\n", row.variant.index, row.reason));
    }
    if let Some(rate) = pace.per_second() {
        text.push_str(&format!(
            "{} tests in {} s: {} per second, {} per second and thread\n",
            pace.variants,
            number(pace.elapsed.as_secs_f64()),
            number(rate),
            number(rate / pace.threads as f64)
        ));
    }
    text.push_str(&format!(
        "written to {}: results.csv, summary.json, report.html\n",
        folder.display()
    ));
    text
}

fn counts(summary: &Summary) -> String {
    format!(
        "{} variants: {} completed, {} tripped, {} failed; {} unstable",
        summary.rows.len(),
        summary.count(Outcome::Completed),
        summary.count(Outcome::Tripped),
        summary.count(Outcome::Failed),
        summary.unstable()
    )
}

fn verdict(row: &Row) -> String {
    let stable = if row.stable == Some(false) { "unstable, " } else { "" };
    match &row.trip {
        Some(trip) => format!("{stable}tripped at {} s: {}", number(trip.time_s), row.reason),
        None if row.reason.is_empty() => format!("{stable}{}", row.outcome.word()),
        None => format!("{stable}{}: {}", row.outcome.word(), row.reason),
    }
}

fn only(study: &Study, index: u64, record: Option<&Path>, output: Output) -> Exit {
    let row = match study.run(index, &mut Workspace::default()) {
        Ok(row) => row,
        Err(error) => return output.fail(error),
    };
    let columns = study.columns();
    let summary = Summary::new(columns, vec![row.clone()]);
    let recorded = match record {
        Some(folder) if row.outcome != Outcome::Failed => {
            match record_variant(study, &row, folder, output) {
                Ok(recorded) => Some(recorded),
                Err(exit) => return exit,
            }
        }
        _ => None,
    };
    let shown = match output {
        Output::Json => output.document(&json!({
            "variant": summary.row_json(&row),
            "folder": recorded.as_ref().map(|(folder, _)| folder.display().to_string()),
            "summary": recorded.as_ref().map_or(Value::Null, |(_, ran)| ran.summary.clone()),
        })),
        Output::People => print(&row_words(columns, &row, recorded.as_ref().map(|(f, _)| f))),
    };
    match row.outcome {
        Outcome::Failed => Exit::Failed,
        Outcome::Tripped => Exit::Tripped,
        Outcome::Completed => shown,
    }
}

/// Writes everything about one variant, as if its file had been run by itself.
fn record_variant(
    study: &Study,
    row: &Row,
    folder: &Path,
    output: Output,
) -> Result<(PathBuf, Rehearsed), Exit> {
    let (experiment, assembly) = study.assemble(&row.variant).map_err(|error| match error {
        StudyError::Experiment(found) => output.refuse(&found),
        error => output.fail(error),
    })?;
    let claim =
        Claim::take(folder, Side::Loop, Existing::Replace).map_err(|error| output.fail(error))?;
    let rehearsed = write_rehearsal(
        &experiment,
        &study.source(),
        &assembly,
        &claim,
        None,
        &StopHandle::default(),
        output,
    )?;
    let file = folder.join("experiment.toml");
    write_whole(&file, experiment.text())
        .map_err(|error| output.fail(cannot_write(&file, &error)))?;
    copy_inputs(study, folder).map_err(|message| output.fail(message))?;
    Ok((folder.to_owned(), rehearsed))
}

/// Puts the files that the experiment names beside it, so that it can be run
/// there. Those outside its own folder are left where they are.
fn copy_inputs(study: &Study, folder: &Path) -> Result<(), String> {
    for file in study.files() {
        let name = Path::new(&file.name);
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            continue;
        }
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|error| cannot_write(parent, &error))?;
        fs::write(&path, &file.bytes).map_err(|error| cannot_write(&path, &error))?;
    }
    Ok(())
}

fn row_words(columns: &Columns, row: &Row, folder: Option<&PathBuf>) -> String {
    let mut text = format!(
        "variant {} (draw {}, seed {}): {}\n",
        row.variant.index,
        row.variant.draw,
        row.variant.seed,
        verdict(row)
    );
    let value = |value: &Option<f64>| value.map_or_else(|| "–".to_owned(), number);
    let parameters = columns.parameters.iter().zip(&row.variant.values);
    let mut rows: Vec<Vec<String>> = parameters
        .map(|((path, unit), drawn)| vec![path.clone(), value(drawn), (*unit).to_owned()])
        .collect();
    rows.extend(columns.metrics.iter().zip(&row.metrics).map(|(metric, found)| {
        vec![format!("{} {}", metric.id, metric.quantity), value(found), metric.unit.clone()]
    }));
    text.push_str(&table(&["", "value", ""], &rows));
    if let Some(folder) = folder {
        text.push_str(&format!(
            "written to {}: experiment.toml, record.arrow, report.html, summary.json\n",
            folder.display()
        ));
    }
    text
}
