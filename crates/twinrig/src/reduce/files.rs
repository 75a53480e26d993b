//! The reduced model as files.

use std::fmt::Write as _;
use std::path::Path;

use nalgebra::DMatrix;

use super::{Found, page};
use crate::error::Error;
use crate::run_folder::write_files;

/// Writes everything into a folder, each file whole; gives the names.
pub(super) fn write(folder: &Path, found: &Found) -> Result<Vec<String>, Error> {
    let model = &found.examined.reduced.model;
    let influence = model.influence();
    let influence = influence.unwrap_or_else(|| model.participation.map(|_| f64::NAN));
    let influence = DMatrix::from_column_slice(influence.len(), 1, influence.as_slice());
    let mut files = vec![
        ("mass.npy", npy(&model.matrices.mass)),
        ("damping.npy", npy(&model.matrices.damping)),
        ("stiffness.npy", npy(&model.matrices.stiffness)),
        ("influence.npy", npy(&influence)),
        ("coordinates.csv", coordinates(found).into_bytes()),
        ("summary.json", format!("{:#}\n", found.document()).into_bytes()),
        ("report.html", page::html(found).into_bytes()),
    ];
    files.extend(found.history.iter().map(|history| ("history.csv", history.csv().into_bytes())));
    if !model.monitored.is_empty() {
        files.push(("recovery.npy", npy(&model.recovery)));
    }
    write_files(folder, files)
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
