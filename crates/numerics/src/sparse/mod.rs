//! Large matrices with few entries: storage, factors, modes.
//!
//! All calls into faer stay in this folder, behind concrete `f64` functions. Input that is not finite is an error, never a panic.

pub mod dense;
mod factor;
mod lu;
mod modes;
mod multifrontal;
mod ordering;
mod product;
mod supernodal_solve;
mod threads;
mod tree;

pub use factor::Cholesky;
pub use lu::{ComplexLu, Lu};
pub use modes::{LowestModes, Wanted, lowest_modes};
pub use threads::with_threads;

use nalgebra::DMatrix;
use thiserror::Error;

/// Why a sparse matrix cannot be made, factored or analysed. Rows and columns
/// are kept counted from 0 and shown counted from 1.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SparseError {
    /// An entry outside the matrix.
    #[error("the entry at row {}, column {} lies outside the {rows} × {columns} matrix",
        row + 1, column + 1)]
    OutOfRange {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
    },
    /// An entry is NaN or infinite.
    #[error("the entry at row {}, column {} is {value}", row + 1, column + 1)]
    NotFinite {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// So many rows or entries are more than are counted here.
    #[error("the matrix has {0} rows or entries; at most {most} are possible", most = u32::MAX)]
    TooLarge(usize),
    /// The matrix is not square.
    #[error("the matrix has {rows} rows and {columns} columns; it must be square")]
    NotSquare {
        /// Rows it has.
        rows: usize,
        /// Columns it has.
        columns: usize,
    },
    /// No Cholesky factor: the pivot of this row is not positive.
    #[error("the matrix is not positive definite (found at row {})", .0 + 1)]
    NotPositiveDefinite(usize),
    /// No LU factor.
    #[error("the matrix is singular")]
    Singular,
    /// The factor of a matrix with so many rows does not fit.
    #[error("the factor of the {0} × {0} matrix does not fit into memory")]
    OutOfMemory(usize),
    /// The iteration did not reach its tolerance.
    #[error("{found} of {wanted} modes converged within {vectors} vectors")]
    NoConvergence {
        /// Modes that did.
        found: usize,
        /// Modes asked for.
        wanted: usize,
        /// Vectors used.
        vectors: usize,
    },
}

/// A matrix stored by columns, rows ascending within a column, each place once.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseMatrix {
    rows: usize,
    /// Where each column starts; one more than columns.
    starts: Vec<u32>,
    row_of: Vec<u32>,
    values: Vec<f64>,
    /// Equal to its transpose, bit for bit: products may then read columns as rows.
    symmetric: bool,
}

impl SparseMatrix {
    /// From (row, column, value); entries given twice are added. The iterator is
    /// walked twice, so that the entries need not be kept.
    pub fn from_triplets<I>(rows: usize, columns: usize, entries: I) -> Result<Self, SparseError>
    where
        I: IntoIterator<Item = (usize, usize, f64)>,
        I::IntoIter: Clone,
    {
        for count in [rows, columns] {
            index(count)?;
        }
        let entries = entries.into_iter();
        let mut next = vec![0_usize; columns + 1];
        for (row, column, value) in entries.clone() {
            if row >= rows || column >= columns {
                return Err(SparseError::OutOfRange { row, column, rows, columns });
            }
            if !value.is_finite() {
                return Err(SparseError::NotFinite { row, column, value });
            }
            next[column + 1] += 1;
        }
        for column in 0..columns {
            next[column + 1] += next[column];
        }
        let count = next[columns];
        index(count)?;
        let (mut row_of, mut values) = (vec![0_u32; count], vec![0.0; count]);
        for (row, column, value) in entries {
            let place = &mut next[column];
            row_of[*place] = row as u32;
            values[*place] = value;
            *place += 1;
        }
        Ok(Self::merged(rows, columns, &next, row_of, values))
    }

    /// Sorts each column, adds what is there twice and drops the room left over.
    /// `ends[column]` is where the column's entries end.
    fn merged(
        rows: usize,
        columns: usize,
        ends: &[usize],
        mut row_of: Vec<u32>,
        mut values: Vec<f64>,
    ) -> Self {
        let mut starts = Vec::with_capacity(columns + 1);
        starts.push(0);
        let (mut from, mut kept) = (0, 0);
        let mut column_entries: Vec<(u32, f64)> = Vec::new();
        for &end in &ends[..columns] {
            let pairs = row_of[from..end].iter().copied().zip(values[from..end].iter().copied());
            column_entries.clear();
            column_entries.extend(pairs);
            // Stable, so that mirrored sums are formed in the same order.
            column_entries.sort_by_key(|entry| entry.0);
            let first = kept;
            for &(row, value) in &column_entries {
                if kept > first && row_of[kept - 1] == row {
                    values[kept - 1] += value;
                } else {
                    row_of[kept] = row;
                    values[kept] = value;
                    kept += 1;
                }
            }
            starts.push(kept as u32);
            from = end;
        }
        row_of.truncate(kept);
        values.truncate(kept);
        row_of.shrink_to_fit();
        values.shrink_to_fit();
        Self { rows, starts, row_of, values, symmetric: false }.judged()
    }

    /// The entries of a dense matrix that are not zero.
    pub fn from_dense(matrix: &DMatrix<f64>) -> Result<Self, SparseError> {
        let (rows, columns) = matrix.shape();
        let entries = (0..columns).flat_map(move |j| (0..rows).map(move |i| (i, j)));
        let entries = entries.filter(|&place| matrix[place] != 0.0);
        Self::from_triplets(rows, columns, entries.map(|(i, j)| (i, j, matrix[(i, j)])))
    }

    /// A matrix without entries.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            starts: vec![0; columns + 1],
            row_of: Vec::new(),
            values: Vec::new(),
            symmetric: rows == columns,
        }
    }

    fn judged(mut self) -> Self {
        self.symmetric = self.rows == self.columns() && {
            let mirror = self.transposed();
            mirror.starts == self.starts
                && mirror.row_of == self.row_of
                && mirror.values == self.values
        };
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of stored entries.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Memory of the entries.
    pub fn bytes(&self) -> usize {
        12 * self.values.len() + 4 * self.starts.len()
    }

    /// Whether it equals its transpose bit for bit.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// Rows and values of one column.
    pub fn column(&self, column: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[column] as usize..self.starts[column + 1] as usize;
        self.row_of[range.clone()]
            .iter()
            .map(|&row| row as usize)
            .zip(self.values[range].iter().copied())
    }

    /// All entries as (row, column, value), column by column.
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, f64)> + Clone + '_ {
        (0..self.columns()).flat_map(move |column| {
            let range = self.starts[column] as usize..self.starts[column + 1] as usize;
            range.map(move |k| (self.row_of[k] as usize, column, self.values[k]))
        })
    }

    /// The entry at one place, 0 where none is stored.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        let range = self.starts[column] as usize..self.starts[column + 1] as usize;
        match self.row_of[range.clone()].binary_search(&(row as u32)) {
            Ok(place) => self.values[range.start + place],
            Err(_) => 0.0,
        }
    }

    /// The diagonal.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.rows.min(self.columns())).map(|i| self.get(i, i)).collect()
    }

    /// Greatest absolute value; 0 without entries.
    pub fn amax(&self) -> f64 {
        self.values.iter().fold(0.0, |most, value| value.abs().max(most))
    }

    /// The transpose.
    pub fn transposed(&self) -> Self {
        let columns = self.rows;
        let mut starts = vec![0_u32; columns + 1];
        for &row in &self.row_of {
            starts[row as usize + 1] += 1;
        }
        for i in 0..columns {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let (mut row_of, mut values) = (vec![0; self.entries()], vec![0.0; self.entries()]);
        for (row, column, value) in self.triplets() {
            let place = &mut next[row];
            row_of[*place as usize] = column as u32;
            values[*place as usize] = value;
            *place += 1;
        }
        Self { rows: self.columns(), starts, row_of, values, symmetric: self.symmetric }
    }

    /// The same pattern with the sizes of the entries.
    pub fn abs(&self) -> Self {
        Self { values: self.values.iter().map(|value| value.abs()).collect(), ..self.clone() }
    }

    /// (A + Aᵀ)/2, equal to its transpose bit for bit.
    pub fn symmetric_part(&self) -> Self {
        if self.symmetric {
            return self.clone();
        }
        Self::sum(&[(0.5, self), (0.5, &self.transposed())])
    }

    /// Greatest |a_ij − a_ji| over max(|a_ij|, |a_ji|, √|a_ii a_jj|), and where.
    pub fn worst_asymmetry(&self) -> Option<(usize, usize, f64)> {
        if self.symmetric || self.rows != self.columns() {
            return None;
        }
        let (mirror, diagonal) = (self.transposed(), self.diagonal());
        let floor = self.rows as f64 * f64::EPSILON * self.amax();
        let mut worst: Option<(usize, usize, f64)> = None;
        for (row, column, value) in self.triplets() {
            let other = mirror.get(row, column);
            let difference = (value - other).abs();
            if difference <= floor {
                continue;
            }
            let size = (diagonal[row].abs().sqrt() * diagonal[column].abs().sqrt())
                .max(value.abs())
                .max(other.abs());
            if worst.is_none_or(|(_, _, most)| difference / size > most) {
                worst = Some((row, column, difference / size));
            }
        }
        worst
    }

    /// Σ factor · matrix over matrices of one size.
    ///
    /// # Panics
    /// If the sizes differ or there is none.
    pub fn sum(terms: &[(f64, &Self)]) -> Self {
        let (rows, columns) = (terms[0].1.rows, terms[0].1.columns());
        assert!(terms.iter().all(|(_, m)| m.rows == rows && m.columns() == columns));
        let mut starts = Vec::with_capacity(columns + 1);
        starts.push(0_u32);
        let (mut row_of, mut values) = (Vec::new(), Vec::new());
        let mut place = vec![usize::MAX; rows];
        for column in 0..columns {
            let first: usize = row_of.len();
            for (factor, matrix) in terms {
                for (row, value) in matrix.column(column) {
                    if place[row] == usize::MAX || place[row] < first {
                        place[row] = row_of.len();
                        row_of.push(row as u32);
                        values.push(0.0);
                    }
                    values[place[row]] += factor * value;
                }
            }
            let mut sorted: Vec<(u32, f64)> =
                row_of[first..].iter().copied().zip(values[first..].iter().copied()).collect();
            sorted.sort_unstable_by_key(|entry| entry.0);
            for (k, (row, value)) in sorted.into_iter().enumerate() {
                row_of[first + k] = row;
                values[first + k] = value;
                place[row as usize] = usize::MAX;
            }
            starts.push(row_of.len() as u32);
        }
        let symmetric = terms.iter().all(|(_, m)| m.symmetric);
        let sum = Self { rows, starts, row_of, values, symmetric };
        if symmetric { sum } else { sum.judged() }
    }

    /// The rows and columns listed, in that order.
    pub fn selected(&self, rows: &[usize], columns: &[usize]) -> Self {
        let mut place = vec![usize::MAX; self.rows];
        for (new, &old) in rows.iter().enumerate() {
            place[old] = new;
        }
        let entries = columns.iter().enumerate().flat_map(|(new, &old)| {
            let range = self.starts[old] as usize..self.starts[old + 1] as usize;
            let place = &place;
            range
                .map(move |k| (place[self.row_of[k] as usize], new, self.values[k]))
                .filter(|entry| entry.0 != usize::MAX)
        });
        Self::from_triplets(rows.len(), columns.len(), entries)
            .expect("a part of a matrix is a matrix")
    }

    /// The dense matrix.
    pub fn to_dense(&self) -> DMatrix<f64> {
        let mut dense = DMatrix::zeros(self.rows, self.columns());
        for (row, column, value) in self.triplets() {
            dense[(row, column)] = value;
        }
        dense
    }
}

fn index(count: usize) -> Result<u32, SparseError> {
    u32::try_from(count).map_err(|_| SparseError::TooLarge(count))
}

#[cfg(test)]
mod tests;
