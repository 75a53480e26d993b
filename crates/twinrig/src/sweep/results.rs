//! `Test::sweep`: every variant into a folder, or one of them alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use runtime::record::{Purpose, Role};
use runtime::stop::StopHandle;
use runtime::verdict::Verdict;
use serde::Serialize;
use serde_json::Value;

use super::{BATCH, Journal, Opening, Row, Study, Summary, VariantStatus, Workspace};
use crate::error::Error;
use crate::estimate::Estimate;
use crate::onlooker::{Event, Onlooker};
use crate::run::{Run, RunOptions};
use crate::run_folder::{RunFolder, write_files, write_whole};
use crate::test::Test;

/// How a sweep is run.
#[derive(Debug, Clone, Default)]
pub struct SweepOptions {
    /// Draws, instead of those the file says.
    pub runs: Option<u64>,
    /// Seed of the draws, instead of the file's.
    pub seed: Option<u64>,
    /// Threads; one per core where there is none given. The results do not depend on it.
    pub threads: Option<usize>,
    /// Throw away what an earlier sweep has left in the folder.
    pub restart: bool,
    /// How the sweep was called, for hints that repeat it.
    pub called_with: String,
}

/// A sweep that is done.
#[derive(Serialize)]
pub struct Sweep {
    /// How far the results can be trusted.
    pub verdict: Verdict,
    /// Where its files are.
    pub folder: String,
    /// Variants that an earlier call had done.
    pub resumed_variants: usize,
    /// Threads asked for.
    pub threads: usize,
    /// What the others took, s.
    pub elapsed_s: f64,
    /// How fast they ran.
    pub tests_per_s: Option<f64>,
    /// For machines.
    #[serde(rename = "summary")]
    pub document: Value,
    /// The study.
    #[serde(skip)]
    pub study: Study,
    /// Every variant.
    #[serde(skip)]
    pub summary: Summary,
    /// Threads that had something to do.
    #[serde(skip)]
    pub busy_threads: usize,
    /// The files in the folder.
    #[serde(skip)]
    pub files: Vec<String>,
}

/// One variant alone.
#[derive(Serialize)]
pub struct RecordedVariant {
    /// How far its result can be trusted.
    pub verdict: Verdict,
    /// For machines.
    pub variant: Value,
    /// Where its files are, if they were asked for.
    pub folder: Option<String>,
    /// The summary of its record.
    pub summary: Option<crate::report::Summary>,
    /// The study.
    #[serde(skip)]
    pub study: Study,
    /// Its row.
    #[serde(skip)]
    pub row: Row,
}

impl Test {
    /// What the file's `[sweep]` varies.
    pub fn study(&self, options: &SweepOptions) -> Result<Study, Error> {
        let experiment = self.flat()?;
        let Some(mut spec) = experiment.sweep.clone() else {
            return Err(Error::NoSweep { file: experiment.name().to_owned() });
        };
        spec.runs = options.runs.unwrap_or(spec.runs);
        spec.seed = options.seed.unwrap_or(spec.seed);
        Estimate::run(&experiment).within(&self.budget())?;
        let study = Study::new(experiment, spec, self.source(), self.store().clone())?;
        let study = study.within(self.budget());
        Ok(study.called_with(options.called_with.clone()))
    }

    /// Runs every variant of the file's `[sweep]` that has not been run into this
    /// folder before: table, summary and page.
    pub fn sweep(
        &self,
        folder: &Path,
        options: &SweepOptions,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Sweep, Error> {
        let study = self.study(options)?;
        let threads = options.threads.unwrap_or_else(crate::machine::cores);
        let all = Estimate::run(self.experiment()).times(study.spec().variants() as f64, threads);
        self.afford(&all, onlooker)?;
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
        let opening = if options.restart { Opening::Restart } else { Opening::Resume };
        let path = folder.join("sweep.journal");
        let (mut journal, mut rows) =
            Journal::open(&path, study.columns(), study.fingerprint(), opening)?;
        // An earlier sweep may have had more runs.
        rows.retain(|index, _| *index <= study.spec().variants());
        let resumed_variants = rows.len();
        if let Some(damage) = journal.damage() {
            onlooker.event(&Event::Damaged(&format!("{damage}; these variants are run again")));
        }
        if resumed_variants > 0 {
            onlooker.event(&Event::Resumed { count: resumed_variants, what: "variants" });
        }
        let start = Instant::now();
        run_all(&study, threads, &mut journal, &mut rows, stop, onlooker)?;
        let (elapsed_s, ran) = (start.elapsed().as_secs_f64(), rows.len() - resumed_variants);
        let summary = Summary::new(study.columns(), rows.into_values().collect());
        let document = summary.json(&study);
        let files = [
            ("results.csv", summary.csv()),
            ("summary.json", format!("{document:#}\n")),
            ("report.html", super::page::page(&study, &summary).html()),
        ];
        Ok(Sweep {
            verdict: summary.verdict(),
            files: write_files(folder, files)?,
            folder: folder.display().to_string(),
            resumed_variants,
            threads,
            busy_threads: threads.min(ran).max(1),
            elapsed_s,
            tests_per_s: Some(ran as f64 / elapsed_s).filter(|rate| ran > 0 && rate.is_finite()),
            document,
            study,
            summary,
        })
    }

    /// Runs one variant alone; into a folder, if one is given, as if its file had been
    /// run by itself.
    pub fn sweep_variant(
        &self,
        index: u64,
        options: &SweepOptions,
        record: Option<&Path>,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<RecordedVariant, Error> {
        let study = self.study(options)?;
        let row = study.run(index, &mut Workspace::default())?;
        let summary = Summary::new(study.columns(), vec![row.clone()]);
        let folder = record.filter(|_| row.outcome != VariantStatus::Failed);
        let run = folder.map(|folder| record_variant(&study, &row, folder, stop, onlooker));
        let run = run.transpose()?;
        Ok(RecordedVariant {
            verdict: row.verdict.clone(),
            variant: summary.row_json(&row),
            folder: run.as_ref().map(|run| run.folder.clone()),
            summary: run.map(|run| run.summary),
            study,
            row,
        })
    }
}

/// Runs every variant that has no row yet and appends its row to the journal.
/// Every thread takes a few variants at a time, so that none waits long for
/// a slow one.
/// Pressing `stop` ends it behind the variants that are under way.
fn run_all(
    study: &Study,
    threads: usize,
    journal: &mut Journal,
    rows: &mut BTreeMap<u64, Row>,
    stop: &StopHandle,
    onlooker: &mut dyn Onlooker,
) -> Result<(), Error> {
    let all = study.spec().variants();
    onlooker.progress(rows.len() as u64, all);
    let open: Vec<u64> = (1..=all).filter(|index| !rows.contains_key(index)).collect();
    let next = AtomicUsize::new(0);
    let threads = threads.clamp(1, open.len().max(1));
    // Small enough that no thread stands idle while others have more than one left.
    let batch = open.len().div_ceil(threads).clamp(1, BATCH);
    let open: Vec<&[u64]> = open.chunks(batch).collect();
    // A few rows may wait for the disk; more would only fill the memory.
    let (sender, receiver) = mpsc::sync_channel(4 * threads);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, open) = (sender.clone(), &next, &open);
            scope.spawn(move || {
                let mut workspace = Workspace::default();
                while let Some(some) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if stop.presses() > 0 {
                        return;
                    }
                    for row in study.run_some(some, &mut workspace) {
                        if sender.send(row).is_err() {
                            // Nobody takes rows any more.
                            return;
                        }
                    }
                }
            });
        }
        // The threads hold the only senders: when they end, so does the loop.
        drop(sender);
        let gather = || {
            for row in receiver {
                let row = row?;
                journal.append(&row)?;
                let (status, unstable) = (row.outcome, row.stable == Some(false));
                rows.insert(row.variant.index, row);
                onlooker.event(&Event::Variant { status, unstable });
                onlooker.progress(rows.len() as u64, all);
            }
            journal.sync()?;
            if stop.presses() > 0 { Err(Error::Stopped) } else { Ok(()) }
        };
        gather()
    })
}

/// Writes everything about one variant.
fn record_variant(
    study: &Study,
    row: &Row,
    folder: &Path,
    stop: &StopHandle,
    onlooker: &mut dyn Onlooker,
) -> Result<Run, Error> {
    let text = study.text(&row.variant).unwrap_or_default();
    let (name, files) = (study.variant_name(&row.variant), study.files().to_vec());
    let test = Test::of_variant(&name, &text, files)?;
    let assembly = test.assembly()?;
    let taken = RunFolder::take(folder, Role::Loop, Purpose::Rehearsal)?;
    let options = RunOptions::default();
    let prediction = test.prediction(assembly, &options, onlooker)?;
    let run = test.run_in(assembly, &taken, prediction, options, stop, onlooker)?;
    write_whole(&folder.join("experiment.toml"), &text)?;
    // The files that it names beside it, so that it can be run there; those outside
    // its own folder are left where they are.
    let plain =
        |name: &str| Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    for file in study.files().iter().filter(|file| plain(&file.name)) {
        let path = folder.join(&file.name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(Error::write(parent))?;
        fs::write(&path, &file.bytes).map_err(Error::write(&path))?;
    }
    Ok(run)
}
