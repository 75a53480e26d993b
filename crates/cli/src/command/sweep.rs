//! `twinrig sweep`: many variants, in parallel.

use std::path::PathBuf;

use clap::Args;
use twinrig::StopHandle;
use twinrig::page::text::{label, quantity};
use twinrig::sweep::{Columns, Metric, Row, Summary, Sweep, SweepOptions, VariantStatus};
use twinrig::table::Table;
use twinrig::words::{Words, number, titled};

use super::error::CliError;
use super::file::{OtherValues, folder, read};
use super::onlooker::Looker;
use super::output::{Exit, Output, written};

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

pub(super) fn sweep(arguments: &SweepArguments, output: Output) -> Result<Exit, CliError> {
    let test = read(&arguments.file, &arguments.set, output)?;
    let options = SweepOptions {
        runs: arguments.runs,
        seed: arguments.seed.map(u64::from),
        threads: arguments.threads.map(usize::from),
        restart: arguments.restart,
        called_with: options(arguments),
    };
    let stop = StopHandle::default();
    if let Some(index) = arguments.only {
        let (record, mut looker) = (arguments.record.as_deref(), Looker::new(output, "rehearsing"));
        let variant = test.sweep_variant(index, &options, record, &stop, &mut looker)?;
        drop(looker);
        let (columns, folder) = (variant.study.columns(), variant.folder.as_deref());
        let shown = output.show(&variant, || row_words(columns, &variant.row, folder));
        return Ok(match variant.row.outcome {
            VariantStatus::Failed => Exit::Failed,
            VariantStatus::Tripped => Exit::Tripped,
            VariantStatus::Completed => Exit::of_verdict(&variant.verdict, shown),
        });
    }
    let folder = folder(arguments.out.as_ref(), &arguments.file, "-sweep");
    let mut looker = Looker::new(output, "variants");
    let done = test.sweep(&folder, &options, &stop, &mut looker)?;
    drop(looker);
    let shown = output.show(&done, || words(&done));
    let failed = done.summary.count(VariantStatus::Failed);
    Ok(match failed == done.summary.rows.len() {
        true => Exit::Failed,
        false => Exit::of_verdict(&done.verdict, shown),
    })
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
    for (path, value) in &arguments.set.set {
        options += &format!(" --set '{path}={value}'");
    }
    options
}

fn words(done: &Sweep) -> Words {
    let Sweep { study, summary, .. } = done;
    let mut words = Words::default();
    words.line(label(&study.experiment().title));
    words.line(counts(summary));
    words.verdict(&done.verdict);
    words.line("");
    let rows = summary.statistics.iter().map(|statistics| {
        let (unit, cells) = statistics.cells();
        [titled(&statistics.metric.id, &unit)].into_iter().chain(cells).collect::<Vec<_>>()
    });
    let head = ["completed", "mean", "SD", "min", "median", "95 %", "max", "max in"];
    words.table(Table::new(&head).filled(rows));
    summary.notes().iter().for_each(|note| words.line(format!("note: {}", label(note))));
    if let Some(worst) = summary.worst() {
        let (index, seed) = (worst.variant.index, worst.variant.seed);
        words.line(format!("\nworst: variant {index} (seed {seed}), {}", ending(worst)));
        for ((path, unit), value) in summary.columns.parameters.iter().zip(&worst.variant.values) {
            words.line(format!("  {path} = {}", quantity(*value, unit)));
        }
        words.line(format!("  look at it alone: {}", study.hint(index)));
    }
    let failed = summary.rows.iter().find(|row| row.outcome == VariantStatus::Failed);
    if let Some(row) = failed {
        words.line(format!("first failure: variant {}: {}", row.variant.index, row.reason));
    }
    if let Some(rate) = done.tests_per_s {
        words.line(format!(
            "{} tests in {} s: {} per second, {} per second and thread",
            summary.rows.len() - done.resumed_variants,
            number(done.elapsed_s),
            number(rate),
            number(rate / done.busy_threads as f64)
        ));
    }
    words.line(written(&done.folder, &done.files));
    words
}

fn counts(summary: &Summary) -> String {
    format!(
        "{} variants: {} completed, {} tripped, {} failed; {} unstable",
        summary.rows.len(),
        summary.count(VariantStatus::Completed),
        summary.count(VariantStatus::Tripped),
        summary.count(VariantStatus::Failed),
        summary.unstable()
    )
}

fn ending(row: &Row) -> String {
    let stable = if row.stable == Some(false) { "unstable, " } else { "" };
    match &row.trip {
        Some(trip) => format!("{stable}tripped at {} s: {}", number(trip.time_s), row.reason),
        None if row.reason.is_empty() => format!("{stable}{}", row.outcome.word()),
        None => format!("{stable}{}: {}", row.outcome.word(), row.reason),
    }
}

fn row_words(columns: &Columns, row: &Row, folder: Option<&str>) -> Words {
    let mut words = Words::default();
    words.line(format!(
        "variant {} (draw {}, seed {}): {}",
        row.variant.index,
        row.variant.draw,
        row.variant.seed,
        ending(row)
    ));
    words.verdict(&row.verdict);
    let mut table = Table::new(&["", "value"]);
    for ((path, unit), drawn) in columns.parameters.iter().zip(&row.variant.values) {
        table.row([path, &quantity(*drawn, unit)]);
    }
    for (Metric { id, quantity: what, unit }, found) in columns.metrics.iter().zip(&row.metrics) {
        let name = if what.contains(id.as_str()) { what.clone() } else { format!("{id} {what}") };
        table.row([&name, &quantity(*found, unit)]);
    }
    words.table(table);
    if !row.notes.is_empty() {
        words.line(format!("note: {}", label(&row.notes)));
    }
    if let Some(folder) = folder {
        words.line(format!(
            "written to {folder}: experiment.toml, record.arrow, report.html, summary.json"
        ));
    }
    words
}
