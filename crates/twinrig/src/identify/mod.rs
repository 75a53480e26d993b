//! Identifying a transfer system: by a test on the rig, from a record or a CSV.

pub mod choice;
mod compensator_files;
pub mod drive;
pub mod files;
pub mod measured;
pub mod page;
pub mod table;

use analysis::identification::{
    Identification, IdentificationError, Samples, Settings, identify as identify_samples,
};
use runtime::clock::{self, VirtualClock};
use runtime::open_loop::OpenLoop;
use runtime::record::TripNote;
use runtime::stop::StopHandle;
use thiserror::Error;

use crate::assembly::Assembly;
use crate::rehearsal::trip_note;
use drive::{DriveError, DrivePlan};
use measured::Measured;

/// Why nothing was identified.
#[derive(Debug, Error)]
pub enum IdentifyError {
    /// The test cannot be run as asked.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The rig cannot be built.
    #[error(transparent)]
    Rig(#[from] model::transfer::TransferError),
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

/// The samples of a test on the rig.
#[derive(Debug, Clone, PartialEq)]
pub struct RigTest {
    /// The interface DOF that was driven, from 0.
    pub dof: usize,
    /// What was driven.
    pub signal: drive::Figures,
    /// Samples per second.
    pub rate_hz: f64,
    /// Command per interface DOF, the way to safe included.
    pub command: Vec<Vec<f64>>,
    /// Measured displacement per interface DOF.
    pub measured: Vec<Vec<f64>>,
    /// Measured force per interface DOF.
    pub force: Vec<Vec<f64>>,
    /// Samples before a trip.
    pub running: usize,
    /// The trip, if one ended the test.
    pub trip: Option<TripNote>,
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
/// until the operator's stop has taken the rig to safe.
pub fn run_test(
    assembly: &Assembly,
    plan: &DrivePlan,
    dof: usize,
    stop: &StopHandle,
) -> Result<RigTest, IdentifyError> {
    let (drive, signal) = drive::drive(plan, assembly, dof)?;
    let rig = assembly.virtual_rig()?;
    let ticks = drive.displacement.len();
    let mut open = OpenLoop::new(rig, drive, assembly.limits.clone(), assembly.safe_path, None);
    let columns = || vec![Vec::with_capacity(ticks); assembly.count()];
    let mut test = RigTest {
        dof,
        signal,
        rate_hz: 1.0 / assembly.limits.step_s,
        command: columns(),
        measured: columns(),
        force: columns(),
        running: 0,
        trip: None,
    };
    let mut clock = VirtualClock::default();
    clock::drive(
        &mut open,
        &mut clock,
        || stop.presses(),
        u64::MAX,
        |open, _| {
            let (command, measured) = (&open.command().displacement, open.measured());
            for i in 0..assembly.count() {
                test.command[i].push(command[i]);
                test.measured[i].push(measured.displacement[i]);
                test.force[i].push(measured.force[i]);
            }
            if open.tripped().is_none() {
                test.running += 1;
            }
        },
    );
    test.trip = open.tripped().map(|(trip, time_s)| trip_note(&trip, time_s));
    Ok(test)
}

impl RigTest {
    /// The driven DOF, as far as the test ran.
    pub fn samples(&self) -> Measured {
        let of = |columns: &[Vec<f64>]| columns[self.dof][..self.running].to_vec();
        Measured {
            dof: self.dof,
            command: of(&self.command),
            measured: of(&self.measured),
            rate_hz: self.rate_hz,
        }
    }

    /// Rms of the other DOFs' motion over that of the driven one.
    fn coupling(&self) -> Option<f64> {
        let rms = |column: &[f64]| {
            let column = &column[..self.running];
            (column.iter().map(|x| x * x).sum::<f64>() / column.len().max(1) as f64).sqrt()
        };
        let others = self.measured.iter().enumerate().filter(|(i, _)| *i != self.dof);
        let largest = others.map(|(_, column)| rms(column)).reduce(f64::max)?;
        Some(largest / rms(&self.measured[self.dof])).filter(|share| share.is_finite())
    }

    /// Identifies the driven DOF.
    pub fn identify(&self, settings: &Settings) -> Result<Identified, IdentifyError> {
        let mut found = identify(&self.samples(), settings)?;
        found.coupling = self.coupling();
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
