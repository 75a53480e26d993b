//! The reduced model as files.

use std::f64::consts::TAU;
use std::path::Path;

use nalgebra::{DMatrix, DVector};

use super::found::{Found, Model};
use super::page;
use crate::assembly::{Examined, Synthesis, SynthesisModel, acceptance, ground};
use crate::error::Error;
use crate::run_folder::write_files;
use experiment::ReductionSpec;

/// Matrices with the names of their files, and what each row and column is.
pub(super) struct Written {
    matrices: Vec<(&'static str, DMatrix<f64>)>,
    coordinates: Vec<u8>,
}

/// M, C and K at DOFs and modes.
pub(super) fn of_matrices(examined: &Examined) -> Written {
    let reduced = &examined.reduced;
    let model = &reduced.model;
    let influence = model.influence();
    let influence = influence.unwrap_or_else(|| model.participation.map(|_| f64::NAN));
    let mut matrices = vec![
        ("mass.npy", model.matrices.mass.clone()),
        ("damping.npy", model.matrices.damping.clone()),
        ("stiffness.npy", model.matrices.stiffness.clone()),
        ("influence.npy", column(&influence)),
    ];
    if !model.monitored.is_empty() {
        matrices.push(("recovery.npy", model.recovery.clone()));
    }
    let dofs = reduced.names.iter().zip(&model.boundary);
    let dofs = dofs.map(|(name, dof)| [name.clone(), (dof + 1).to_string(), String::new()]);
    let modes = (1..).zip(&model.omega_rad_s);
    let modes = modes.map(|(number, omega)| {
        [format!("mode {number}"), String::new(), (omega / TAU).to_string()]
    });
    let coordinates = numbered(["name", "dof", "frequency_hz"], dofs.chain(modes));
    Written { matrices, coordinates }
}

/// States, or modes and forces.
pub(super) fn of_synthesis(made: &Synthesis, spec: &ReductionSpec) -> Written {
    let dofs = |what: &'static str| {
        let dofs = made.names.iter().zip(&made.boundary);
        dofs.map(move |(name, dof)| [what.to_owned(), name.clone(), (dof + 1).to_string()])
    };
    let amplitudes = |count: usize| {
        std::iter::repeat_n(["amplitude".to_owned(), String::new(), String::new()], count)
    };
    let head = ["what", "name", "dof"];
    match &made.model {
        SynthesisModel::States(reduction) => {
            let model = &reduction.model;
            let mut matrices =
                vec![("state_c.npy", model.c.clone()), ("state_d.npy", model.d.clone())];
            if let Ok((a, b)) = model.first_order(acceptance(spec)) {
                matrices.extend([("a.npy", a), ("b.npy", b)]);
            }
            matrices.push(("ground.npy", column(&ground(&made.component, reduction))));
            if !made.monitored.is_empty() {
                matrices.push(("recovery.npy", reduction.right.select_rows(&made.monitored)));
            }
            let rest = amplitudes(model.states() - 2 * made.boundary.len());
            let rows = dofs("displacement").chain(dofs("velocity")).chain(rest);
            Written { matrices, coordinates: numbered(head, rows) }
        }
        SynthesisModel::Dual(dual) => {
            let modes = amplitudes(dual.matrices.mass.nrows() - dual.forces);
            let matrices = vec![
                ("mass.npy", dual.matrices.mass.clone()),
                ("damping.npy", dual.matrices.damping.clone()),
                ("stiffness.npy", dual.matrices.stiffness.clone()),
            ];
            Written { matrices, coordinates: numbered(head, modes.chain(dofs("force"))) }
        }
    }
}

fn column(values: &DVector<f64>) -> DMatrix<f64> {
    DMatrix::from_column_slice(values.len(), 1, values.as_slice())
}

/// What each row and column of the matrices is, as comma-separated text.
fn numbered(head: [&str; 3], rows: impl Iterator<Item = [String; 3]>) -> Vec<u8> {
    let [a, b, c] = head.map(str::to_owned);
    let rows = (1..).zip(rows).map(|(at, [a, b, c])| [at.to_string(), a, b, c]);
    csv_text(std::iter::once(["coordinate".to_owned(), a, b, c]).chain(rows))
}

/// Comma-separated text of rows.
fn csv_text<R>(rows: impl IntoIterator<Item = R>) -> Vec<u8>
where
    R: IntoIterator<Item = String>,
{
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).expect("a vector takes every record");
    }
    writer.into_inner().expect("a vector can be flushed")
}

/// Writes everything into a folder, each file whole; gives the names.
pub(super) fn write(folder: &Path, found: &Found, written: Written) -> Result<Vec<String>, Error> {
    let summary = serde_json::to_string_pretty(found).expect("a summary has a JSON form");
    let mut files: Vec<(&str, Vec<u8>)> =
        written.matrices.iter().map(|(name, matrix)| (*name, npy(matrix))).collect();
    files.push(("coordinates.csv", written.coordinates));
    files.push(("summary.json", (summary + "\n").into_bytes()));
    files.push(("report.html", page::page(found).html().into_bytes()));
    if let Model::Matrices(matrices) = &found.model {
        files.extend(
            matrices.history.iter().map(|history| ("history.csv", csv_text(history.samples()))),
        );
    }
    write_files(folder, files)
}

/// NumPy's format 1.0: little-endian doubles, by columns.
fn npy(matrix: &DMatrix<f64>) -> Vec<u8> {
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
