//! The reduced model as files.

use std::fmt::Write as _;
use std::path::Path;

use nalgebra::DMatrix;

use super::{Found, page};
use crate::command::output::{cannot_write, write_bytes};

/// What is written, always.
pub(super) const NAMES: [&str; 7] = [
    "mass.npy",
    "damping.npy",
    "stiffness.npy",
    "influence.npy",
    "coordinates.csv",
    "summary.json",
    "report.html",
];

/// Writes everything into a folder, each file whole.
pub(super) fn write(folder: &Path, found: &Found) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    let model = &found.examined.reduced.model;
    let influence = model.influence();
    let influence = influence.unwrap_or_else(|| model.participation.map(|_| f64::NAN));
    let influence = DMatrix::from_column_slice(influence.len(), 1, influence.as_slice());
    let contents = [
        npy(&model.matrices.mass),
        npy(&model.matrices.damping),
        npy(&model.matrices.stiffness),
        npy(&influence),
        coordinates(found).into_bytes(),
        format!("{:#}\n", found.document()).into_bytes(),
        page::html(found).into_bytes(),
    ];
    for (name, bytes) in NAMES.iter().zip(contents) {
        let path = folder.join(name);
        write_bytes(&path, &bytes).map_err(|error| cannot_write(&path, &error))?;
    }
    if let Some(history) = &found.history {
        let path = folder.join("history.csv");
        let text = history.csv();
        write_bytes(&path, text.as_bytes()).map_err(|error| cannot_write(&path, &error))?;
    }
    if !model.monitored.is_empty() {
        let path = folder.join("recovery.npy");
        write_bytes(&path, &npy(&model.recovery)).map_err(|error| cannot_write(&path, &error))?;
    }
    Ok(())
}

/// What each row and column of the matrices is.
fn coordinates(found: &Found) -> String {
    let reduced = &found.examined.reduced;
    let mut text = "coordinate,name,dof,frequency_hz\n".to_owned();
    for (at, (name, dof)) in reduced.names.iter().zip(&reduced.model.boundary).enumerate() {
        // A name may hold a comma or a quote.
        let name = name.replace('"', "\"\"");
        let _ = writeln!(text, "{},\"{name}\",{},", at + 1, dof + 1);
    }
    let first = reduced.names.len() + 1;
    for (mode, omega) in reduced.model.omega_rad_s.iter().enumerate() {
        let hertz = omega / std::f64::consts::TAU;
        let _ = writeln!(text, "{},mode {},,{hertz}", first + mode, mode + 1);
    }
    text
}

/// NumPy's format 1.0: little-endian doubles, by columns.
pub(super) fn npy(matrix: &DMatrix<f64>) -> Vec<u8> {
    let (rows, columns) = matrix.shape();
    let header =
        format!("{{'descr': '<f8', 'fortran_order': True, 'shape': ({rows}, {columns}), }}");
    // The numbers start at a multiple of 64 bytes.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = length - 1).into_bytes());
    for value in matrix.iter() {
        bytes.extend(value.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let matrix = DMatrix::from_fn(3, 2, |i, j| (10 * i + j) as f64 / 7.0);
        assert_eq!(experiment::input::npy(&npy(&matrix)).expect("read"), matrix);
    }
}
