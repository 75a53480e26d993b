//! Factors of general and of complex matrices.

use faer::linalg::solvers::SolveCore;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::solvers::{Lu as FaerLu, SymbolicLu};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut};
use nalgebra::{Complex, ComplexField, DMatrix, Scalar};

use super::factor::{check_square, numeric, symbolic};
use super::{SparseError, SparseMatrix};

/// A = P L U of a general square matrix.
#[derive(Debug, Clone)]
pub struct Lu {
    factor: FaerLu<u32, f64>,
    size: usize,
}

impl Lu {
    /// Factors a square matrix.
    pub fn new(matrix: &SparseMatrix) -> Result<Self, SparseError> {
        let size = check_square(matrix)?;
        let order =
            SymbolicLu::try_new(symbolic(matrix)).map_err(|_| SparseError::OutOfMemory(size))?;
        let factor = FaerLu::try_new_with_symbolic(order, numeric(matrix))
            .map_err(|error| lu_error(error, size))?;
        let factor = Self { factor, size };
        // A pivot of zero, or of NaN, spoils every answer: one tells of all.
        let mut answer = DMatrix::from_element(size, 1, 1.0);
        factor.solve(&mut answer);
        let sound = answer.iter().all(|value| value.is_finite());
        if sound { Ok(factor) } else { Err(SparseError::Singular) }
    }

    /// X ← A⁻¹ X.
    pub fn solve(&self, x: &mut DMatrix<f64>) {
        self.factor.solve_in_place_with_conj(Conj::No, columns_of(x, self.size));
    }

    /// X ← A⁻ᵀ X.
    pub fn solve_transposed(&self, x: &mut DMatrix<f64>) {
        self.factor.solve_transpose_in_place_with_conj(Conj::No, columns_of(x, self.size));
    }
}

/// Responses (K + jωB − ω²M)⁻¹ F of a large system: the pattern is analysed
/// once, each frequency costs one complex factor.
#[derive(Debug, Clone)]
pub struct ComplexLu {
    order: SymbolicLu<u32>,
    size: usize,
    starts: Vec<u32>,
    row_of: Vec<u32>,
}

impl ComplexLu {
    /// For matrices with the pattern of `pattern`, or less.
    pub fn new(pattern: &SparseMatrix) -> Result<Self, SparseError> {
        let size = check_square(pattern)?;
        let order =
            SymbolicLu::try_new(symbolic(pattern)).map_err(|_| SparseError::OutOfMemory(size))?;
        Ok(Self { order, size, starts: pattern.starts.clone(), row_of: pattern.row_of.clone() })
    }

    /// X ← (Σ factor · matrix)⁻¹ X.
    pub fn solve(
        &self,
        terms: &[(Complex<f64>, &SparseMatrix)],
        x: &mut DMatrix<Complex<f64>>,
    ) -> Result<(), SparseError> {
        let mut values = vec![Complex::new(0.0, 0.0); self.row_of.len()];
        for column in 0..self.size {
            let range = self.starts[column] as usize..self.starts[column + 1] as usize;
            let rows = &self.row_of[range.clone()];
            for (factor, matrix) in terms {
                for (row, value) in matrix.column(column) {
                    let Ok(place) = rows.binary_search(&(row as u32)) else {
                        return Err(SparseError::OutOfRange {
                            row,
                            column,
                            rows: self.size,
                            columns: self.size,
                        });
                    };
                    let entry = &mut values[range.start + place];
                    entry.re += factor.re * value;
                    entry.im += factor.im * value;
                }
            }
        }
        let pattern = SymbolicSparseColMatRef::new_checked(
            self.size,
            self.size,
            &self.starts,
            None,
            &self.row_of,
        );
        let matrix = SparseColMatRef::new(pattern, values.as_slice());
        let factor = FaerLu::try_new_with_symbolic(self.order.clone(), matrix)
            .map_err(|error| lu_error(error, self.size))?;
        factor.solve_in_place_with_conj(Conj::No, columns_of(x, self.size));
        let sound = x.iter().all(ComplexField::is_finite);
        if sound { Ok(()) } else { Err(SparseError::Singular) }
    }
}

/// The columns of a right side of this size.
fn columns_of<T: Scalar>(x: &mut DMatrix<T>, size: usize) -> MatMut<'_, T> {
    let (rows, columns) = x.shape();
    assert_eq!(rows, size, "rows of the right side");
    MatMut::from_column_major_slice_mut(x.as_mut_slice(), rows, columns)
}

fn lu_error(error: LuError, size: usize) -> SparseError {
    match error {
        LuError::SymbolicSingular { .. } => SparseError::Singular,
        LuError::Generic(_) => SparseError::OutOfMemory(size),
    }
}
