//! `Test::identify`: the transfer system from a test, a record or a table, with its
//! files.

use std::fs;
use std::path::Path;

use analysis::identification::Settings;
use experiment::input::Column;
use experiment::{Embedded, Experiment};
use model::transfer::TransferSystem;
use runtime::record::Record;
use runtime::stop::StopHandle;
use runtime::verdict::Verdict;
use serde::Serialize;
use serde_json::Value;

use super::choice::Advised;
use super::drive::{DrivePlan, Kind, Size};
use super::files::{TextFile, includes, is_include, response_csv, test_csv};
use super::measured::{TableColumns, from_record, from_table, interface_dofs};
use super::{RigTest, identify, page, run_test, verdict};
use crate::assembly::Assembly;
use crate::error::{Driven, Error};
use crate::estimate::Estimate;
use crate::onlooker::Onlooker;
use crate::pace::Clock;
use crate::remote::Wire;
use crate::run::record_path;
use crate::run_folder::write_files;
use crate::test::Test;

/// Widest band of a test that is not asked for otherwise.
const DEFAULT_BAND_HZ: f64 = 25.0;

/// How a transfer system is identified.
#[derive(Debug, Clone)]
pub struct IdentifyOptions {
    /// Signal of a test.
    pub signal: Kind,
    /// Where a test has power: from 0 to 25 Hz or a tenth of the rate unless given.
    pub band_hz: Option<(f64, f64)>,
    /// How large its command is.
    pub size: Size,
    /// How long it lasts, s.
    pub duration_s: f64,
    /// Seed of its signal.
    pub seed: u64,
    /// How the samples are fitted; their band where none is given for the test.
    pub settings: Settings,
    /// Interface DOF, from 1; each on its own where none is given.
    pub dof: Option<usize>,
    /// What sets the pace of a test.
    pub clock: Clock,
    /// The laboratory, instead of the one the file names.
    pub rig: Option<String>,
}

/// What was identified.
#[derive(Debug, Serialize)]
pub struct IdentifyResult {
    /// How far the results can be trusted.
    pub verdict: Verdict,
    /// The tests on the rig, where there were some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Vec<Driven>>,
    /// What the engineer should know of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Value>,
    /// One for each interface DOF.
    pub results: Vec<Advised>,
    /// Where its files are.
    pub folder: String,
    /// Their names, without that of this document.
    pub files: Vec<String>,
}

/// A test in numbers.
fn driven(test: &RigTest) -> Driven {
    Driven {
        dof: test.dof + 1,
        rate_hz: test.record.header.rate_hz,
        samples: test.signal.samples,
        rms_m: test.signal.rms_m,
        peak_m: test.signal.peak_m,
        rate_m_s: test.signal.rate_m_s,
        trip: test.trip().cloned(),
    }
}

impl Test {
    /// Drives the rig, one interface DOF after the other, identifies it and judges the
    /// compensators; everything goes into a folder.
    pub fn identify(
        &self,
        folder: &Path,
        options: &IdentifyOptions,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<IdentifyResult, Error> {
        let (experiment, rig) = (self.experiment(), options.rig.as_deref());
        let assembly = self.reach(options.clock, Wire::Open, rig, stop, onlooker)?;
        let system = &assembly.transfer_system;
        let still = matches!(system, TransferSystem::Ideal | TransferSystem::Delay { .. });
        if still && assembly.remote.is_none() {
            return Err(Error::NoDynamics.of_file(experiment.name()));
        }
        let dofs = chosen_dofs(options.dof, assembly.count())?;
        let highest_hz = DEFAULT_BAND_HZ.min(0.1 / assembly.limits.step_s);
        let wanted = Estimate::identify(experiment, dofs.len(), options.duration_s, options.clock);
        self.afford(&wanted, onlooker)?;
        let plan = DrivePlan {
            kind: options.signal,
            band_hz: options.band_hz.unwrap_or((0.0, highest_hz)),
            size: options.size,
            duration_s: options.duration_s,
            seed: options.seed,
        };
        let settings = Settings { band_hz: Some(plan.band_hz), ..options.settings };
        let mut files = Files::new(folder);
        let (mut results, mut tests) = (Vec::new(), Vec::new());
        // A signal is a stop until everything is written.
        let _attended = stop.attend();
        for &dof in &dofs {
            let suffix = suffix(&dofs, dof);
            let record = format!("test{suffix}.arrow");
            let path = folder.join(&record);
            files.records.push(record);
            let (source, clock) = (self.source(), options.clock);
            let drive = (&plan, dof);
            let test =
                run_test(experiment, source, &assembly, drive, &path, clock, stop, onlooker)?;
            files.texts.push((format!("test{suffix}.csv"), test_csv(&test)));
            tests.push(driven(&test));
            if let Some(trip) = test.trip().cloned() {
                files.write()?;
                return Err(Error::DriveTripped { dof: dof + 1, trip: Box::new(trip), tests });
            }
            results.push(Advised::new(test.identify(&settings)?, suffix, Some(&assembly)));
        }
        let file = file_name(Path::new(experiment.name()));
        let facts = vec![
            ("Experiment".to_owned(), file.clone()),
            ("Signal".to_owned(), format!("{:?}", plan.kind).to_lowercase()),
            ("Duration".to_owned(), format!("{} s", plan.duration_s)),
            ("Seed".to_owned(), plan.seed.to_string()),
        ];
        let origin = format!("a test on the rig of {file}");
        let source = Origin { name: &experiment.title, words: &origin, facts };
        conclude(files, source, results, Some((tests, self.warnings().to_json())))
    }
}

/// Identifies from the record of a hybrid test.
pub fn identify_record(
    path: &Path,
    folder: &Path,
    options: &IdentifyOptions,
) -> Result<IdentifyResult, Error> {
    let path = record_path(path);
    let record = Record::read(&path)?;
    let dofs = chosen_dofs(options.dof, interface_dofs(&record))?;
    let assembly = embedded(&record);
    let results = dofs.iter().map(|&dof| {
        let result = identify(&from_record(&record, dof)?, &options.settings)?;
        Ok(Advised::new(result, suffix(&dofs, dof), assembly.as_ref()))
    });
    let results = results.collect::<Result<Vec<_>, Error>>()?;
    let facts = vec![
        ("Record".to_owned(), path.display().to_string()),
        ("Experiment".to_owned(), record.header.experiment_name.clone()),
    ];
    let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
    let origin = format!("the record {}/{}", parent.to_string_lossy(), file_name(&path));
    let source = Origin { name: &record.header.title, words: &origin, facts };
    conclude(Files::new(folder), source, results, None)
}

/// Identifies from a table of text.
pub fn identify_table(
    path: &Path,
    columns: &TableColumns,
    folder: &Path,
    options: &IdentifyOptions,
) -> Result<IdentifyResult, Error> {
    let result = identify(&from_table(path, columns)?, &options.settings)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let facts = vec![
        ("Table".to_owned(), path.display().to_string()),
        ("Command".to_owned(), column_name(&columns.command)),
        ("Measured".to_owned(), column_name(&columns.measured)),
    ];
    let origin = format!("the table {}", file_name(path));
    let name = format!("Identification from {stem}");
    let results = vec![Advised::new(result, String::new(), None)];
    conclude(Files::new(folder), Origin { name: &name, words: &origin, facts }, results, None)
}

/// The models of the experiment inside a record; `None` where this version does
/// not read it any more, which costs the judgement of the loop only.
fn embedded(record: &Record) -> Option<Assembly> {
    let header = &record.header;
    let source = Embedded::new(&header.inputs);
    let (experiment, _) =
        Experiment::from_text(&header.experiment_name, &header.experiment, &source).ok()?;
    Some(Assembly::new(&experiment, &source).ok()?.0)
}

/// The name of the document among the files.
pub const DOCUMENT: &str = "identification.json";

/// Where the samples came from.
struct Origin<'a> {
    name: &'a str,
    words: &'a str,
    facts: Vec<(String, String)>,
}

/// What is to be written, and where.
struct Files<'a> {
    folder: &'a Path,
    /// Records that are there already.
    records: Vec<String>,
    texts: Vec<TextFile>,
}

impl<'a> Files<'a> {
    fn new(folder: &'a Path) -> Self {
        Self { folder, records: Vec::new(), texts: Vec::new() }
    }

    /// Writes every file whole. What an earlier identification left to be included
    /// must not be taken for this one's.
    fn write(&self) -> Result<(), Error> {
        let failed = || Error::write(self.folder);
        fs::create_dir_all(self.folder).map_err(failed())?;
        let entries = fs::read_dir(self.folder).map_err(failed())?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let ours = path.extension().is_some_and(|extension| extension == "toml")
                && fs::read_to_string(&path).is_ok_and(|text| is_include(&text));
            if ours {
                fs::remove_file(&path).map_err(Error::write(&path))?;
            }
        }
        write_files(self.folder, self.texts.iter().map(|(name, text)| (name, text)))?;
        Ok(())
    }
}

/// Writes the results.
fn conclude(
    mut files: Files<'_>,
    origin: Origin<'_>,
    results: Vec<Advised>,
    test: Option<(Vec<Driven>, Value)>,
) -> Result<IdentifyResult, Error> {
    for advised in &results {
        let response = response_csv(&advised.result);
        files.texts.push((format!("response{}.csv", advised.suffix), response));
        files.texts.extend(includes(advised, origin.words));
    }
    let verdict = verdict::verdict(&results);
    let html = page::page(origin.name, origin.facts, &results, &verdict).html();
    files.texts.push(("identification.html".to_owned(), html));
    let (tests, warnings) = test.unzip();
    let folder = files.folder.display().to_string();
    let names = files.texts.iter().map(|(name, _)| name);
    let names = files.records.iter().chain(names).cloned().collect();
    let found = IdentifyResult { verdict, tests, warnings, results, folder, files: names };
    let document = serde_json::to_value(&found).unwrap_or_default();
    files.texts.push((DOCUMENT.to_owned(), format!("{document:#}\n")));
    files.write()?;
    Ok(found)
}

/// A file's own name: what is written must not depend on where it was called.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn column_name(column: &Column) -> String {
    match column {
        Column::Number(number) => number.to_string(),
        Column::Name(name) => name.clone(),
    }
}

/// The DOFs to identify, from 0.
fn chosen_dofs(asked: Option<usize>, count: usize) -> Result<Vec<usize>, Error> {
    match asked {
        None if count == 0 => Err(Error::NoCommand),
        None => Ok((0..count).collect()),
        Some(dof) if (1..=count).contains(&dof) => Ok(vec![dof - 1]),
        Some(dof) => Err(Error::NoInterfaceDof { dof, count }),
    }
}

/// Tells the files of several DOFs apart.
fn suffix(dofs: &[usize], dof: usize) -> String {
    if dofs.len() == 1 { String::new() } else { format!("_{}", dof + 1) }
}
