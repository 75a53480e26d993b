//! `Test::run`: a test with its record, its report and its summary.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use runtime::link::LinkCounts;
use runtime::record::{Purpose, Record, Role};
use runtime::stop::StopHandle;
use runtime::two_rate::Counts;
use runtime::verdict::{Level, Reason, Verdict};
use serde::Serialize;
use serde_json::{Value, json};

use crate::assembly::{Assembly, ReductionFacts};
use crate::check::{Patience, Rehearsal, reasons, rehearse};
use crate::error::Error;
use crate::estimate::Estimate;
use crate::forecast::{Forecast, Others};
use crate::hosted::{Beacon, HostOptions};
use crate::loop_record::{Ended, Prediction, record_run};
use crate::onlooker::{Event, Onlooker};
use crate::pace::Clock;
use crate::remote::Wire;
use crate::report;
use crate::run_folder::{RunFolder, TemporaryFolder, write_files, write_whole};
use crate::test::Test;
use crate::words::number;

/// What a test is joined to, and what sets its pace.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// What sets the pace.
    pub clock: Clock,
    /// The laboratory, instead of the one the file names.
    pub rig: Option<String>,
    /// A link for a host.
    pub host: Option<HostOptions>,
    /// What becomes of a real test whose loop is predicted to be unstable.
    pub unstable: Unstable,
}

/// What becomes of a real test whose loop is predicted to be unstable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unstable {
    /// It is not started.
    #[default]
    Refused,
    /// It is started all the same.
    Accepted,
}

/// A test that took place.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// How far the result can be trusted.
    pub verdict: Verdict,
    /// Where its files are; empty where nothing was kept.
    pub folder: String,
    /// C of the stability warning that was used, J.
    pub warning_constant_j: f64,
    /// What the engineer should know of the file.
    pub warnings: Value,
    /// What became of a large structure.
    pub reduction: Option<ReductionFacts>,
    /// What became of the main loop's batches, where there is one.
    pub main_loop: Option<Counts>,
    /// What came and went over the wire, where there is one.
    pub link: Option<LinkCounts>,
    /// Status, criteria and peaks.
    pub summary: report::Summary,
    /// How it ended.
    #[serde(skip)]
    pub ended: Ended,
    /// Every frame.
    #[serde(skip)]
    pub record: Record,
    /// The files in its folder.
    #[serde(skip)]
    pub files: Vec<String>,
}

impl Test {
    /// Runs the test and keeps its record in memory.
    pub fn run(
        &self,
        clock: Clock,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Run, Error> {
        self.run_with(RunOptions { clock, ..RunOptions::default() }, stop, onlooker)
    }

    /// The same, with a laboratory or a host.
    pub fn run_with(
        &self,
        options: RunOptions,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Run, Error> {
        self.afford(&Estimate::run(self.experiment()), onlooker)?;
        let rig = options.rig.as_deref();
        let assembly = self.reach(options.clock, Wire::ClosedLoop, rig, stop, onlooker)?;
        let prediction = self.prediction(&assembly, &options, onlooker)?;
        let _attended = stop.attend();
        let folder = TemporaryFolder::new()?;
        let path = folder.path().join(crate::run_folder::RECORD);
        let run = self.recorded(&assembly, &path, prediction, options, stop, onlooker)?;
        Ok(Run { folder: String::new(), ..run })
    }

    /// Runs the test into a folder: record, report and summary. A rehearsal replaces
    /// the one before; a real test is never overwritten.
    pub fn run_into(
        &self,
        folder: &Path,
        options: RunOptions,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Run, Error> {
        self.afford(&Estimate::run(self.experiment()), onlooker)?;
        // The laboratory is found before any file is written.
        let rig = options.rig.as_deref();
        let assembly = self.reach(options.clock, Wire::ClosedLoop, rig, stop, onlooker)?;
        let prediction = self.prediction(&assembly, &options, onlooker)?;
        // From here on a signal is a stop, until everything is written: nothing is left half done.
        let _attended = stop.attend();
        let purpose = match options.clock {
            Clock::Virtual => Purpose::Rehearsal,
            Clock::Real => Purpose::RealTest,
        };
        // Ours until the report is written.
        let folder = RunFolder::take(folder, Role::Loop, purpose)?;
        self.run_in(&assembly, &folder, prediction, options, stop, onlooker)
    }

    pub(crate) fn run_in(
        &self,
        assembly: &Assembly,
        folder: &RunFolder,
        prediction: Prediction,
        options: RunOptions,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Run, Error> {
        let record = folder.record();
        let mut run = self.recorded(assembly, &record, prediction, options, stop, onlooker)?;
        run.folder = folder.folder().display().to_string();
        write_pages(&run.record, folder)?;
        run.files = ["record.arrow", "report.html", "summary.json"].map(str::to_owned).to_vec();
        run.files.extend(write_monitored(assembly, folder, &run.record)?);
        Ok(run)
    }

    fn recorded(
        &self,
        assembly: &Assembly,
        path: &Path,
        prediction: Prediction,
        options: RunOptions,
        stop: &StopHandle,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Run, Error> {
        let host = options.host.map(|host| host.open(onlooker)).transpose()?;
        // Until the record is whole.
        let _beacon = host.as_ref().and_then(|host| {
            let known = prediction.reasons.iter().cloned().collect();
            let found = host.found(self.experiment(), assembly, options.clock, known);
            Beacon::light(path, &found)
        });
        let pace = (options.clock, host);
        let (experiment, source) = (self.experiment(), self.source());
        let ended =
            record_run(experiment, source, assembly, path, prediction, pace, stop, onlooker)
                .map_err(|error| error.not_kept(None, path))?;
        let record = Record::read(path)?;
        let summary = report::summary(&record)?;
        Ok(Run {
            verdict: summary.verdict.clone(),
            folder: String::new(),
            warning_constant_j: ended.constant_j,
            warnings: self.warnings().to_json(),
            reduction: self.reduction(),
            main_loop: ended.main_loop,
            link: ended.link,
            summary,
            ended,
            record,
            files: Vec::new(),
        })
    }
}

impl Test {
    /// What is known against the loop before it runs. A real test that is predicted to be
    /// unstable is refused unless that is accepted.
    pub(crate) fn prediction(
        &self,
        assembly: &Assembly,
        &RunOptions { clock, unstable, .. }: &RunOptions,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Prediction, Error> {
        let forecast = Forecast::new(assembly, Others::Left)?;
        let mut reasons = reasons(&forecast, &self.experiment().verdict);
        let is_real = clock == Clock::Real || assembly.remote.is_some();
        if is_real {
            let missing = self.experiment().missing_limits().into_iter();
            reasons.extend(missing.map(|found| {
                let remedy = found.remedy.unwrap_or_default();
                Reason::new(Level::Doubtful, "no_limits", found.message, remedy)
            }));
        }
        let grave = reasons.iter().find(|reason| reason.level == Level::Unsafe);
        if let Some(reason) = grave
            && clock == Clock::Real
            && unstable == Unstable::Refused
        {
            return Err(Error::PredictedUnstable { text: reason.text.clone() });
        }
        // In virtual time the test itself is the rehearsal.
        let rehearsal = match is_real {
            true => self.rehearsed(assembly, &forecast, onlooker),
            false => None,
        };
        reasons.extend(rehearsal.as_ref().and_then(Rehearsal::reason));
        Ok(Prediction { reasons, rehearsed: rehearsal.map(|rehearsal| rehearsal.words()) })
    }

    /// Rehearses before a real test what its prediction assumes, and says so.
    fn rehearsed(
        &self,
        assembly: &Assembly,
        forecast: &Forecast,
        onlooker: &mut dyn Onlooker,
    ) -> Option<Rehearsal> {
        let begun = Instant::now();
        let rehearsal = rehearse(self, assembly, forecast, Patience::Short)?;
        let words =
            format!("{}; it took {} s", rehearsal.words(), number(begun.elapsed().as_secs_f64()));
        onlooker.event(&Event::Notice(&words));
        Some(rehearsal)
    }
}

impl Run {
    /// How it ended.
    pub fn status(&self) -> report::Status {
        self.summary.status
    }

    /// The evaluation criterion of this name, such as `J2`.
    pub fn criterion(&self, id: &str) -> Option<f64> {
        self.summary.criterion(id)
    }

    /// Writes report and summary into a folder; gives their names.
    pub fn report(&self, folder: impl AsRef<Path>) -> Result<Vec<String>, Error> {
        write_files(folder.as_ref(), pages(&self.record)?)
    }
}

fn pages(record: &Record) -> Result<[(&'static str, String); 2], Error> {
    let summary = json!(report::summary(record)?);
    Ok([("report.html", report::html(record)?), ("summary.json", format!("{summary:#}\n"))])
}

/// The report and the summary of a record, beside it.
pub(crate) fn write_pages(record: &Record, folder: &RunFolder) -> Result<(), Error> {
    let written = write_files(folder.folder(), pages(record)?);
    written.map_err(|error| error.not_kept(record.summary.as_ref(), &folder.record()))?;
    Ok(())
}

/// Writes the motion of the monitored DOFs of a reduced structure, recovered from
/// that of its coordinates. Gives the name of the file, if there is one.
fn write_monitored(
    assembly: &Assembly,
    folder: &RunFolder,
    record: &Record,
) -> Result<Option<String>, Error> {
    const NAME: &str = "monitored.csv";
    let Some(reduced) = assembly.reduced.as_ref().filter(|one| !one.monitored.is_empty()) else {
        return Ok(None);
    };
    let column = |name: &str| record.column(name).ok_or(Error::NotRecorded);
    let time = column("time")?;
    let coordinates = assembly.structure.names.iter();
    let coordinates = coordinates.map(|name| column(&format!("numerical.{name}")));
    let coordinates = coordinates.collect::<Result<Vec<&[f64]>, Error>>()?;
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
    write_whole(&folder.folder().join(NAME), text)?;
    Ok(Some(NAME.to_owned()))
}

/// The record at `path`, or in the folder `path`.
pub fn record_path(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(crate::run_folder::RECORD) } else { path.to_path_buf() }
}

/// Reads a record at a path, or in a folder.
pub fn read_record(path: &Path) -> Result<(PathBuf, Record), Error> {
    let path = record_path(path);
    let record = Record::read(&path)?;
    Ok((path, record))
}

/// Refuses an output that would destroy the record it is made from.
pub fn refuse_overwriting(out: &Path, record: &Path) -> Result<(), Error> {
    let same = match (out.canonicalize(), record.canonicalize()) {
        (Ok(out), Ok(record)) => out == record,
        _ => out == record,
    };
    if same { Err(Error::OverRecord { path: out.to_path_buf() }) } else { Ok(()) }
}

/// Makes the report of the record at `path` again.
pub fn write_report(record: &Record, path: &Path, out: &Path) -> Result<(), Error> {
    if record.header.role == Role::Evaluations {
        return Err(Error::IterativeReport);
    }
    refuse_overwriting(out, path)?;
    write_whole(out, report::html(record)?)
}
