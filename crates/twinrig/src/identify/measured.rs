//! Samples of a test that took place before: a record or a CSV.

use crate::error::Error;
use std::path::Path;

use runtime::record::Record;

use experiment::input::{Column, CsvOptions, TimeColumn, csv_series};
use experiment::quantity::{Kind, Motion, parse_unit};
use experiment::{Folder, Source as _};

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

/// Number of interface DOFs of a record.
pub fn interface_dofs(record: &Record) -> usize {
    (1..).take_while(|i| record.column(&format!("command.{i}")).is_some()).count()
}

/// One interface DOF of a record, as far as the loop was closed.
pub fn from_record(record: &Record, dof: usize) -> Result<Measured, Error> {
    if record.header.every > 1 {
        return Err(Error::NotEveryTick {
            every: record.header.every,
            why: "the hold of the command cannot be divided out; record with",
        });
    }
    if let Some(lost) = record.summary.as_ref().map(|s| s.frames_lost).filter(|&lost| lost > 0) {
        return Err(Error::FramesLost { lost, why: "the record's time has holes" });
    }
    let column = |name: &str| {
        let channel = format!("{name}.{}", dof + 1);
        record.column(&channel).ok_or_else(|| Error::NoChannel(channel.clone()))
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
pub fn from_table(path: &Path, columns: &TableColumns) -> Result<Measured, Error> {
    let folder = Folder::new(path.parent().unwrap_or(Path::new("")));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bytes =
        folder.read(&name).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    let read = |value: &Column| {
        let options = CsvOptions { time: columns.time.clone(), value: value.clone() };
        csv_series(&bytes, &options)
            .map_err(|source| Error::Table { path: path.to_path_buf(), source })
    };
    let (command, measured) = (read(&columns.command)?.series, read(&columns.measured)?.series);
    // Without a unit: seconds, and one unit for both motions.
    let scale = |column: &Column, kind: Kind| match header_unit(&bytes, column) {
        None => Ok(None),
        Some(unit) => parse_unit(&unit, kind, Motion::Translation).map(Some).map_err(|source| {
            Error::TableUnit { path: path.to_path_buf(), unit, source: Box::new(source) }
        }),
    };
    let time = match &columns.time {
        TimeColumn::Column(column) => scale(column, Kind::Time)?.unwrap_or(1.0),
        TimeColumn::Step(_) => 1.0,
    };
    let factors = (scale(&columns.command, Kind::Length)?, scale(&columns.measured, Kind::Length)?);
    let (first, second) = match factors {
        (Some(first), Some(second)) => (first, second),
        (None, None) => (1.0, 1.0),
        _ => return Err(Error::OneUnit { path: path.to_path_buf() }),
    };
    let rate_hz = rate(path, command.times_s())? / time;
    let scaled = |values: &[f64], factor: f64| values.iter().map(|value| value * factor).collect();
    Ok(Measured {
        dof: 0,
        command: scaled(command.values(), first),
        measured: scaled(measured.values(), second),
        rate_hz,
    })
}

/// The unit in brackets behind the name of a column: `u [mm]`, `u (mm)`.
fn header_unit(bytes: &[u8], column: &Column) -> Option<String> {
    let text = String::from_utf8_lossy(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes));
    let header = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'))?;
    let separator = [';', '\t', ','].into_iter().find(|c| header.contains(*c))?;
    let cell = |cell: &str| -> (String, Option<String>) {
        let cell = cell.trim().trim_matches('"');
        let Some(open) = cell.find(['[', '(']) else { return (cell.to_lowercase(), None) };
        let unit = cell[open + 1..].trim_end_matches([']', ')']).trim();
        (cell[..open].trim().to_lowercase(), Some(unit.to_owned()))
    };
    let mut cells = header.split(separator).map(cell);
    let (_, unit) = match column {
        Column::Number(number) => cells.nth(number.checked_sub(1)?)?,
        Column::Name(name) => {
            let (name, _) = cell(name);
            cells.find(|(known, _)| *known == name)?
        }
    };
    unit.filter(|unit| !unit.is_empty())
}

/// The rate of evenly spaced times.
fn rate(path: &Path, times_s: &[f64]) -> Result<f64, Error> {
    let (Some(first), Some(last)) = (times_s.first(), times_s.last()) else { return Ok(1.0) };
    let mean_s = (last - first) / (times_s.len().max(2) - 1) as f64;
    for pair in times_s.windows(2) {
        let step_s = pair[1] - pair[0];
        // A table of times with few digits wobbles a little.
        if (step_s - mean_s).abs() > 0.05 * mean_s {
            let (path, time_s) = (path.to_path_buf(), pair[0]);
            return Err(Error::Uneven { path, time_s, step_s, mean_s });
        }
    }
    Ok(1.0 / mean_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_a_header_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.csv");
        let columns = TableColumns {
            time: TimeColumn::Column(Column::Name("time".into())),
            command: Column::Name("u".into()),
            measured: Column::Name("x".into()),
        };
        let rows: String = (0..50).map(|k| format!("{k},{},{}\n", k % 7, k % 5)).collect();
        let read = |header: &str| {
            std::fs::write(&path, format!("{header}\n{rows}")).expect("written");
            from_table(&path, &columns)
        };
        let plain = read("time,u,x").expect("no units");
        assert_eq!((plain.rate_hz, plain.command[6], plain.measured[4]), (1.0, 6.0, 4.0));
        let scaled = read("time [ms],u [mm],x (in)").expect("units");
        assert!((scaled.rate_hz - 1000.0).abs() < 1e-9, "{}", scaled.rate_hz);
        assert!((scaled.command[6] - 0.006).abs() < 1e-15);
        assert!((scaled.measured[4] - 4.0 * 0.0254).abs() < 1e-15);
        assert!(matches!(read("time,u [kN],x [mm]"), Err(Error::TableUnit { .. })));
        assert!(matches!(read("time,u [mm],x"), Err(Error::OneUnit { .. })));
    }
}
