//! Identifying a transfer system: by a test on the rig, from a record or a CSV.

pub mod choice;
mod compensator_files;
pub mod drive;
pub mod files;
pub mod measured;
pub mod page;
mod results;
pub mod table;
mod verdict;

use std::path::Path;

use analysis::identification::{Identification, Samples, Settings, identify as identify_samples};
use runtime::clock::run_virtual;
use runtime::open_loop::OpenLoop;
use runtime::realtime::Driver;
use runtime::record::{Options, Record, Recorder, Role, TripNote};
use runtime::rig::RigSlot;
use runtime::stop::StopHandle;

use crate::assembly::Assembly;
use crate::error::Error;
use crate::loop_record::finish_frames;
use crate::notes::header;
use crate::onlooker::Onlooker;
use crate::pace::{Clock, Pacer, recording};
use drive::DrivePlan;
use experiment::{Experiment, Source};
use measured::{Measured, from_record};
pub use results::{DOCUMENT, IdentifyOptions, IdentifyResult, identify_record, identify_table};

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

/// Drives one interface DOF of the experiment's rig, behind its gate, to the end or
/// until the operator's stop has taken the rig to safe. Every tick is recorded.
pub fn run_test(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    (plan, dof): (&DrivePlan, usize),
    record: &Path,
    clock: Clock,
    stop: &StopHandle,
    onlooker: &mut dyn Onlooker,
) -> Result<RigTest, Error> {
    let (drive, signal) = drive::drive(plan, assembly, dof)?;
    let folder = record.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).map_err(Error::write(folder))?;
    let mut header = header(experiment, source, assembly)?;
    header.every = 1;
    header.role = Role::Drive;
    // Before the record, so that whatever is allocated below is kept in place too.
    let pacer = Pacer::start(clock, experiment, onlooker)?;
    pacer.describe(&mut header);
    let options = match clock {
        Clock::Virtual => Options::rehearsal(),
        Clock::Real => recording(experiment, clock),
    };
    let rig: RigSlot = match &assembly.remote {
        None => assembly.virtual_rig()?.into(),
        Some(laboratory) => laboratory.arm(stop)?.into(),
    };
    let channels = OpenLoop::channels(assembly.count(), &rig);
    let (sink, handle) = Recorder::create(record, &header, &channels, vec![], &options)?;
    let (limits, safe_path) = (assembly.limits.clone(), assembly.safe_path);
    let mut open = OpenLoop::new(rig, drive, limits, safe_path, Some(sink));
    let mut timing = None;
    match pacer {
        Pacer::Virtual => run_virtual(&mut open, stop, |_| {}),
        Pacer::Real { driver, plan } => {
            let granted = driver.granted.clone();
            let finished = driver.begin(open, stop)?.watched_by(|status| onlooker.live(status))?;
            timing = Some(Driver::note(&plan, &granted, &finished.timing));
            open = *finished.test;
        }
    }
    finish_frames(handle, open, timing)?;
    Ok(RigTest { dof, signal, record: Record::read(record)? })
}

impl RigTest {
    /// The trip, if one ended the test.
    pub fn trip(&self) -> Option<&TripNote> {
        self.record.summary.as_ref().and_then(|summary| summary.trip.as_ref())
    }

    /// Rms of the other DOFs' motion over that of the driven one.
    fn coupling(&self) -> Result<Option<f64>, Error> {
        let rms = |dof: usize| -> Result<f64, Error> {
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
    pub fn identify(&self, settings: &Settings) -> Result<Identified, Error> {
        let mut found = identify(&from_record(&self.record, self.dof)?, settings)?;
        found.coupling = self.coupling()?;
        Ok(found)
    }
}

/// Identifies one DOF from its samples.
pub fn identify(measured: &Measured, settings: &Settings) -> Result<Identified, Error> {
    let samples = Samples {
        command: &measured.command,
        measured: &measured.measured,
        rate_hz: measured.rate_hz,
    };
    let dof = measured.dof;
    let found = identify_samples(samples, settings)
        .map_err(|source| Error::Identification { dof: dof + 1, source })?;
    Ok(Identified { dof, found, coupling: None })
}
