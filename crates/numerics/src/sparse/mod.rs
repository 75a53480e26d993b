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
pub use threads::{parallel_for, with_threads};

use std::ops::Range;

use thiserror::Error;

use crate::Matrix;
use crate::eigen::Asymmetry;

/// Why a sparse matrix cannot be made, factored or analysed. Rows and columns
/// are kept counted from 0 and shown counted from 1.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SparseError {
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
    ///
    /// # Panics
    /// If an entry lies outside the matrix.
    pub fn from_triplets<I>(rows: usize, columns: usize, entries: I) -> Result<Self, SparseError>
    where
        I: IntoIterator<Item = (usize, usize, f64)>,
        I::IntoIter: Clone,
    {
        let matrix = Self::assembled(rows, columns, entries.into_iter())?;
        let bad = matrix.triplets().find(|(.., value)| !value.is_finite());
        match bad {
            Some((row, column, value)) => Err(SparseError::NotFinite { row, column, value }),
            None => Ok(matrix.judged()),
        }
    }

    /// The same whatever the values are, not yet judged.
    fn assembled(
        rows: usize,
        columns: usize,
        entries: impl Iterator<Item = (usize, usize, f64)> + Clone,
    ) -> Result<Self, SparseError> {
        for count in [rows, columns] {
            index(count)?;
        }
        let mut next = vec![0_usize; columns + 1];
        for (row, column, _) in entries.clone() {
            assert!(row < rows && column < columns, "an entry outside the matrix");
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
        // Each column is sorted and what is there twice added; `next` is where it ends.
        let (mut starts, mut from, mut kept) = (vec![0], 0, 0);
        let mut sorted: Vec<(u32, f64)> = Vec::new();
        for &end in &next[..columns] {
            sorted.clear();
            sorted.extend((from..end).map(|k| (row_of[k], values[k])));
            // Stable, so that mirrored sums are formed in the same order.
            sorted.sort_by_key(|entry| entry.0);
            let first = kept;
            for &(row, value) in &sorted {
                if kept > first && row_of[kept - 1] == row {
                    values[kept - 1] += value;
                } else {
                    (row_of[kept], values[kept]) = (row, value);
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
        Ok(Self { rows, starts, row_of, values, symmetric: false })
    }

    /// The entries of a dense matrix that are not zero.
    pub fn from_dense(matrix: &Matrix) -> Result<Self, SparseError> {
        let (rows, columns) = matrix.shape();
        let entries = (0..columns).flat_map(move |j| (0..rows).map(move |i| (i, j)));
        let entries = entries.filter(|&place| matrix[place] != 0.0);
        Self::from_triplets(rows, columns, entries.map(|(i, j)| (i, j, matrix[(i, j)])))
    }

    /// A matrix without entries.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        let (starts, row_of, values) = (vec![0; columns + 1], Vec::new(), Vec::new());
        Self { rows, starts, row_of, values, symmetric: rows == columns }
    }

    fn judged(self) -> Self {
        Self { symmetric: self == self.transposed(), ..self }
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

    /// Where the entries of a column are.
    fn range(&self, column: usize) -> Range<usize> {
        self.starts[column] as usize..self.starts[column + 1] as usize
    }

    /// Rows and values of one column.
    pub fn column(&self, column: usize) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
        let range = self.range(column);
        let values = self.values[range.clone()].iter();
        self.row_of[range].iter().zip(values).map(|(&row, &value)| (row as usize, value))
    }

    /// All entries as (row, column, value), column by column.
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, f64)> + Clone + '_ {
        (0..self.columns()).flat_map(move |column| {
            self.column(column).map(move |(row, value)| (row, column, value))
        })
    }

    /// The entry at one place, 0 where none is stored.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        self.place(row, column).map_or(0.0, |place| self.values[place])
    }

    fn place(&self, row: usize, column: usize) -> Option<usize> {
        let range = self.range(column);
        let within = self.row_of[range.clone()].binary_search(&(row as u32));
        within.ok().map(|place| range.start + place)
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
        let entries = self.triplets().map(|(row, column, value)| (column, row, value));
        let mirror = Self::assembled(self.columns(), self.rows, entries).expect("as many entries");
        Self { symmetric: self.symmetric, ..mirror }
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

    /// The mirrored pair that differs most, if any differs beyond the rounding of the
    /// largest entry and the matrix is square.
    pub fn worst_asymmetry(&self) -> Option<Asymmetry> {
        if self.symmetric || self.rows != self.columns() {
            return None;
        }
        let mirror = self.transposed();
        let pairs = self.triplets().map(|(i, j, value)| (i, j, value, mirror.get(i, j)));
        Asymmetry::worst(pairs, &self.diagonal(), self.amax())
    }

    /// Σ factor · matrix over matrices of one size.
    ///
    /// # Panics
    /// If the sizes differ or there is none.
    pub fn sum(terms: &[(f64, &Self)]) -> Self {
        let (rows, columns) = (terms[0].1.rows, terms[0].1.columns());
        assert!(terms.iter().all(|(_, m)| m.rows == rows && m.columns() == columns));
        let entries = terms.iter().flat_map(|&(factor, matrix)| {
            matrix.triplets().map(move |(row, column, value)| (row, column, factor * value))
        });
        let sum = Self::assembled(rows, columns, entries).expect("entries of matrices of one size");
        let symmetric = terms.iter().all(|(_, m)| m.symmetric);
        if symmetric { Self { symmetric, ..sum } } else { sum.judged() }
    }

    /// The rows and columns listed, in that order.
    pub fn selected(&self, rows: &[usize], columns: &[usize]) -> Self {
        let mut place = vec![usize::MAX; self.rows];
        for (new, &old) in rows.iter().enumerate() {
            place[old] = new;
        }
        let entries = columns.iter().enumerate().flat_map(|(new, &old)| {
            let place = &place;
            let moved = self.column(old).map(move |(row, value)| (place[row], new, value));
            moved.filter(|entry| entry.0 != usize::MAX)
        });
        Self::from_triplets(rows.len(), columns.len(), entries)
            .expect("a part of a matrix is a matrix")
    }

    /// The dense matrix.
    pub fn to_dense(&self) -> Matrix {
        let mut dense = Matrix::zeros(self.rows, self.columns());
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
