//! `Test::sweep`: every variant into a folder, or one of them alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};
use std::time::{Duration, Instant};

use runtime::record::{Existing, Role};
use runtime::stop::StopHandle;
use serde::Serialize;
use serde_json::Value;

use super::{Journal, Opening, Row, Study, Summary, VariantStatus, Workspace, run_all};
use crate::error::Error;
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
    /// How fast the variants ran.
    #[serde(skip)]
    pub pace: Pace,
    /// The files in the folder.
    #[serde(skip)]
    pub files: Vec<String>,
}

/// How fast the variants ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Variants that were run.
    pub variants: usize,
    /// Threads that ran them.
    pub threads: usize,
    /// What it took.
    pub elapsed: Duration,
}

impl Pace {
    /// Tests per second.
    pub fn per_second(&self) -> Option<f64> {
        let rate = self.variants as f64 / self.elapsed.as_secs_f64();
        (self.variants > 0 && rate.is_finite()).then_some(rate)
    }
}

/// One variant alone.
#[derive(Serialize)]
pub struct RecordedVariant {
    /// For machines.
    pub variant: Value,
    /// Where its files are, if they were asked for.
    pub folder: Option<String>,
    /// The summary of its record.
    pub summary: Value,
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
        let study = Study::new(experiment, spec, self.source(), self.store().clone())?;
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
        let threads = options.threads.unwrap_or_else(crate::machine::cores);
        let pace = run_open(&study, threads, &mut journal, &mut rows, stop, onlooker)?;
        let summary = Summary::new(study.columns(), rows.into_values().collect());
        let document = summary.json(&study);
        let files = [
            ("results.csv", summary.csv()),
            ("summary.json", format!("{document:#}\n")),
            ("report.html", super::page::page(&study, &summary).html()),
        ];
        Ok(Sweep {
            files: write_files(folder, files)?,
            folder: folder.display().to_string(),
            resumed_variants,
            threads,
            elapsed_s: pace.elapsed.as_secs_f64(),
            tests_per_s: pace.per_second(),
            document,
            study,
            summary,
            pace,
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
            variant: summary.row_json(&row),
            folder: run.as_ref().map(|run| run.folder.clone()),
            summary: run.map_or(Value::Null, |run| run.summary),
            study,
            row,
        })
    }
}

/// Runs what has no row yet.
fn run_open(
    study: &Study,
    threads: usize,
    journal: &mut Journal,
    rows: &mut BTreeMap<u64, Row>,
    stop: &StopHandle,
    onlooker: &mut dyn Onlooker,
) -> Result<Pace, Error> {
    let (start, before, all) = (Instant::now(), rows.len(), study.spec().variants());
    let mut done = before as u64;
    onlooker.progress(done, all);
    run_all(study, threads, journal, rows, stop, |row| {
        done += 1;
        let (status, unstable) = (row.outcome, row.stable == Some(false));
        onlooker.event(&Event::Variant { status, unstable });
        onlooker.progress(done, all);
    })?;
    journal.sync()?;
    let variants = rows.len() - before;
    Ok(Pace { variants, threads: threads.min(variants).max(1), elapsed: start.elapsed() })
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
    let taken = RunFolder::take(folder, Role::Loop, Existing::Replace)?;
    let run = test.run_in(assembly, &taken, RunOptions::default(), stop, onlooker)?;
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
