//! Identifying a transfer system: by a test on the rig, from a record or a CSV.

pub mod choice;
mod compensator_files;
pub mod drive;
pub mod files;
pub mod measured;
pub mod page;
pub mod table;

use std::path::{Path, PathBuf};

use analysis::identification::{
    Identification, IdentificationError, Samples, Settings, identify as identify_samples,
};
use runtime::clock::run_virtual;
use runtime::open_loop::OpenLoop;
use runtime::realtime::{Driver, RealtimeError, machine_facts};
use runtime::record::{Options, Record, RecordError, Recorder, TripNote};
use runtime::rig::{NetworkRig, RigSlot};
use runtime::stop::StopHandle;
use runtime::world::World;
use thiserror::Error;

use crate::assembly::Assembly;
use crate::realtime::{self, Onlooker};
use crate::rehearsal::{RehearsalError, header};
use crate::trace_frames::finish_frames;
use crate::{machine, remote};
use drive::{DriveError, DrivePlan};
use experiment::{Experiment, Source};
use measured::{Measured, from_record};

/// Why nothing was identified.
#[derive(Debug, Error)]
pub enum IdentifyError {
    /// The test cannot be run as asked.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The rig cannot be built.
    #[error(transparent)]
    Rig(#[from] model::transfer::TransferError),
    /// There is no record, or no laboratory.
    #[error(transparent)]
    Test(#[from] RehearsalError),
    /// The folder of the record cannot be made.
    #[error("{} cannot be written: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The threads of the loop.
    #[error(transparent)]
    Realtime(#[from] RealtimeError),
    /// The samples cannot be read.
    #[error(transparent)]
    Measured(#[from] measured::MeasuredError),
    /// The samples do not give a transfer system.
    #[error("interface DOF {dof}: {source}")]
    Identification {
        /// From 1.
        dof: usize,
        /// Why.
        source: IdentificationError,
    },
}

impl From<RecordError> for IdentifyError {
    fn from(error: RecordError) -> Self {
        Self::Test(error.into())
    }
}

/// What sets the pace of a test on the rig.
pub enum Pace<'a> {
    /// As fast as the machine goes.
    Virtual,
    /// The clock; somebody looks on.
    Real(&'a mut dyn Onlooker),
}

/// A test on the rig that took place.
#[derive(Debug, Clone, PartialEq)]
pub struct RigTest {
    /// The interface DOF that was driven, from 0.
    pub dof: usize,
    /// What was driven.
    pub signal: drive::Figures,
    /// Every tick of it, the way to safe included.
    pub record: Record,
}

/// An interface DOF identified.
#[derive(Debug, Clone, PartialEq)]
pub struct Identified {
    /// From 0.
    pub dof: usize,
    /// What was found.
    pub found: Identification,
    /// Rms of the other DOFs' motion over that of this one, while it alone was
    /// driven; `None` where there is none or it is not known.
    pub coupling: Option<f64>,
}

/// Value of the role of a record in its header: a test on the rig, without a
/// numerical part.
pub const DRIVE: &str = "drive";

/// Drives one interface DOF of the experiment's rig, behind its gate, to the end or
/// until the operator's stop has taken the rig to safe. Every tick is recorded.
pub fn run_test(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    plan: &DrivePlan,
    dof: usize,
    record: &Path,
    pace: Pace<'_>,
    stop: &StopHandle,
) -> Result<RigTest, IdentifyError> {
    let (drive, signal) = drive::drive(plan, assembly, dof)?;
    let folder = record.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder)
        .map_err(|source| IdentifyError::Folder { path: folder.to_path_buf(), source })?;
    let mut header = header(experiment, source, assembly)?;
    header.every = 1;
    header.machine.push((remote::ROLE.into(), DRIVE.into()));
    // Before the record, so that whatever is allocated below is kept in place too.
    let driver = match &pace {
        Pace::Virtual => None,
        Pace::Real(_) => Some(Driver::start(&realtime::plan(experiment))?),
    };
    let options = match &driver {
        None => Options::rehearsal(),
        Some(driver) => {
            header.started = machine::utc_now();
            header.machine.extend(machine_facts());
            header.machine.extend(driver.granted.facts.iter().cloned());
            realtime::options(experiment)
        }
    };
    let rig: RigSlot = match &assembly.remote {
        None => assembly.virtual_rig()?.into(),
        Some(plan) => {
            NetworkRig::connect(&World::system(), plan).map_err(RehearsalError::from)?.into()
        }
    };
    let channels = OpenLoop::channels(assembly.count(), &rig);
    let (sink, handle) = Recorder::create(record, &header, &channels, vec![], &options)?;
    let (limits, safe_path) = (assembly.limits.clone(), assembly.safe_path);
    let mut open = Box::new(OpenLoop::new(rig, drive, limits, safe_path, Some(sink)));
    let mut timing = None;
    if let (Some(driver), Pace::Real(onlooker)) = (driver, pace) {
        let granted = driver.granted.clone();
        granted.notices.iter().for_each(|notice| onlooker.notice(notice));
        let finished = driver.begin(*open, stop)?.watched_by(|status| onlooker.look(status))?;
        timing = Some(Driver::note(&realtime::plan(experiment), &granted, &finished.timing));
        open = finished.test;
    } else {
        run_virtual(&mut open, stop, |_| {});
    }
    finish_frames(handle, *open, timing)?;
    Ok(RigTest { dof, signal, record: Record::read(record)? })
}

impl RigTest {
    /// The trip, if one ended the test.
    pub fn trip(&self) -> Option<&TripNote> {
        self.record.summary.as_ref().and_then(|summary| summary.trip.as_ref())
    }

    /// Rms of the other DOFs' motion over that of the driven one.
    fn coupling(&self) -> Result<Option<f64>, IdentifyError> {
        let rms = |dof: usize| -> Result<f64, IdentifyError> {
            let motion = from_record(&self.record, dof)?.measured;
            Ok((motion.iter().map(|x| x * x).sum::<f64>() / motion.len().max(1) as f64).sqrt())
        };
        let mut largest: Option<f64> = None;
        for other in (0..measured::interface_dofs(&self.record)).filter(|i| *i != self.dof) {
            let other = rms(other)?;
            largest = Some(largest.map_or(other, |most| most.max(other)));
        }
        let Some(largest) = largest else { return Ok(None) };
        Ok(Some(largest / rms(self.dof)?).filter(|share| share.is_finite()))
    }

    /// Identifies the driven DOF.
    pub fn identify(&self, settings: &Settings) -> Result<Identified, IdentifyError> {
        let mut found = identify(&from_record(&self.record, self.dof)?, settings)?;
        found.coupling = self.coupling()?;
        Ok(found)
    }
}

/// Identifies one DOF from its samples.
pub fn identify(measured: &Measured, settings: &Settings) -> Result<Identified, IdentifyError> {
    let samples = Samples {
        command: &measured.command,
        measured: &measured.measured,
        rate_hz: measured.rate_hz,
    };
    let dof = measured.dof;
    let found = identify_samples(samples, settings)
        .map_err(|source| IdentifyError::Identification { dof: dof + 1, source })?;
    Ok(Identified { dof, found, coupling: None })
}
