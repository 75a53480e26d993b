//! Samples of a test that took place before: a record or a CSV.

use std::path::{Path, PathBuf};

use runtime::record::{Record, RecordError};
use thiserror::Error;

use crate::experiment::{Folder, Source as _};
use crate::input::{Column, CsvOptions, InputError, TimeColumn, csv_series};

/// Command and measurement of one interface DOF.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// From 0.
    pub dof: usize,
    /// Command.
    pub command: Vec<f64>,
    /// Measured motion.
    pub measured: Vec<f64>,
    /// Samples per second.
    pub rate_hz: f64,
}

/// Why the samples cannot be used.
#[derive(Debug, Error)]
pub enum MeasuredError {
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The table is not what was asked for.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: InputError,
    },
    /// A channel is missing.
    #[error("the record has no channel \"{channel}\"; it has {there} interface DOFs")]
    NoChannel {
        /// The channel.
        channel: String,
        /// Interface DOFs it has.
        there: usize,
    },
    /// Not every tick was recorded.
    #[error(
        "the record keeps one tick in {0}: the hold of the command cannot be divided out; record \
         with [record] every = 1"
    )]
    NotEveryTick(u64),
    /// Frames were lost on the way.
    #[error("{0} frames of the record were lost: its time has holes")]
    FramesLost(u64),
    /// Times are not evenly spaced.
    #[error(
        "{}: the time step is {step_s:.6e} s at {time_s} s and {mean_s:.6e} s on average; resample \
         the table to one rate", path.display()
    )]
    Uneven {
        /// The file.
        path: PathBuf,
        /// Where.
        time_s: f64,
        /// The step there.
        step_s: f64,
        /// The mean step.
        mean_s: f64,
    },
}

/// Number of interface DOFs of a record.
pub fn interface_dofs(record: &Record) -> usize {
    (1..).take_while(|i| record.column(&format!("command.{i}")).is_some()).count()
}

/// One interface DOF of a record, as far as the loop was closed.
pub fn from_record(record: &Record, dof: usize) -> Result<Measured, MeasuredError> {
    if record.header.every > 1 {
        return Err(MeasuredError::NotEveryTick(record.header.every));
    }
    if let Some(lost) = record.summary.as_ref().map(|s| s.frames_lost).filter(|&lost| lost > 0) {
        return Err(MeasuredError::FramesLost(lost));
    }
    let column = |name: &str| {
        let channel = format!("{name}.{}", dof + 1);
        record.column(&channel).ok_or_else(|| MeasuredError::NoChannel {
            channel: channel.clone(),
            there: interface_dofs(record),
        })
    };
    let (command, measured) = (column("command")?, column("measured")?);
    let running = record.column("phase").map_or(command.len(), |phase| {
        phase.iter().position(|&phase| phase != 0.0).unwrap_or(phase.len())
    });
    Ok(Measured {
        dof,
        command: command[..running].to_vec(),
        measured: measured[..running].to_vec(),
        rate_hz: record.header.rate_hz,
    })
}

/// Which columns of a table to read.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumns {
    /// Times, or their rate.
    pub time: TimeColumn,
    /// Command.
    pub command: Column,
    /// Measured motion.
    pub measured: Column,
}

/// Two columns of a table of text.
pub fn from_table(path: &Path, columns: &TableColumns) -> Result<Measured, MeasuredError> {
    let folder = Folder::new(path.parent().unwrap_or(Path::new("")));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bytes = folder
        .read(&name)
        .map_err(|source| MeasuredError::Read { path: path.to_path_buf(), source })?;
    let read = |value: &Column| {
        let options = CsvOptions { time: columns.time.clone(), value: value.clone() };
        csv_series(&bytes, &options)
            .map_err(|source| MeasuredError::Table { path: path.to_path_buf(), source })
    };
    let (command, measured) = (read(&columns.command)?.series, read(&columns.measured)?.series);
    let rate_hz = rate(path, command.times_s())?;
    Ok(Measured {
        dof: 0,
        command: command.values().to_vec(),
        measured: measured.values().to_vec(),
        rate_hz,
    })
}

/// The rate of evenly spaced times.
fn rate(path: &Path, times_s: &[f64]) -> Result<f64, MeasuredError> {
    let (Some(first), Some(last)) = (times_s.first(), times_s.last()) else { return Ok(1.0) };
    let mean_s = (last - first) / (times_s.len().max(2) - 1) as f64;
    for pair in times_s.windows(2) {
        let step_s = pair[1] - pair[0];
        // A table of times with few digits wobbles a little.
        if (step_s - mean_s).abs() > 0.05 * mean_s {
            let (path, time_s) = (path.to_path_buf(), pair[0]);
            return Err(MeasuredError::Uneven { path, time_s, step_s, mean_s });
        }
    }
    Ok(1.0 / mean_s)
}
