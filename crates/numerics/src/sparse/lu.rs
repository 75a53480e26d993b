//! Factors of general and of complex matrices.

use faer::linalg::solvers::SolveCore;
use faer::sparse::SparseColMatRef;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::solvers::{Lu as FaerLu, SymbolicLu};
use faer::{Conj, MatMut};
use nalgebra::{DMatrix, Scalar};

use super::factor::{numeric, square_size, symbolic};
use super::{SparseError, SparseMatrix};
use crate::solve::is_finite;
use crate::{Complex, ComplexMatrix, Matrix};

/// A = P L U of a general square matrix.
#[derive(Debug, Clone)]
pub struct Lu {
    factor: FaerLu<u32, f64>,
    size: usize,
}

impl Lu {
    /// Factors a square matrix.
    pub fn new(matrix: &SparseMatrix) -> Result<Self, SparseError> {
        let size = matrix.rows();
        let factor = FaerLu::try_new_with_symbolic(analysed(matrix)?, numeric(matrix))
            .map_err(|error| lu_error(error, size))?;
        let factor = Self { factor, size };
        // A pivot of zero, or of NaN, spoils every answer: one tells of all.
        let mut answer = Matrix::from_element(size, 1, 1.0);
        factor.solve(&mut answer);
        if is_finite(&answer) { Ok(factor) } else { Err(SparseError::Singular) }
    }

    /// X ← A⁻¹ X.
    pub fn solve(&self, x: &mut Matrix) {
        self.factor.solve_in_place_with_conj(Conj::No, columns_of(x, self.size));
    }

    /// X ← A⁻ᵀ X.
    pub fn solve_transposed(&self, x: &mut Matrix) {
        self.factor.solve_transpose_in_place_with_conj(Conj::No, columns_of(x, self.size));
    }
}

/// Responses (K + jωB − ω²M)⁻¹ F of a large system: the pattern is analysed
/// once, each frequency costs one complex factor.
#[derive(Debug, Clone)]
pub struct ComplexLu {
    order: SymbolicLu<u32>,
    pattern: SparseMatrix,
}

impl ComplexLu {
    /// For matrices with the pattern of `pattern`, or less.
    pub fn new(pattern: SparseMatrix) -> Result<Self, SparseError> {
        Ok(Self { order: analysed(&pattern)?, pattern })
    }

    /// X ← (Σ factor · matrix)⁻¹ X.
    ///
    /// # Panics
    /// If a matrix has an entry that the pattern has not.
    pub fn solve(
        &self,
        terms: &[(Complex, &SparseMatrix)],
        x: &mut ComplexMatrix,
    ) -> Result<(), SparseError> {
        let (pattern, size) = (&self.pattern, self.pattern.rows());
        let mut values = vec![Complex::ZERO; pattern.entries()];
        for (factor, matrix) in terms {
            for (row, column, value) in matrix.triplets() {
                let place = pattern.place(row, column).expect("an entry of the pattern");
                values[place].re += factor.re * value;
                values[place].im += factor.im * value;
            }
        }
        let matrix = SparseColMatRef::new(symbolic(pattern), values.as_slice());
        let factor = FaerLu::try_new_with_symbolic(self.order.clone(), matrix)
            .map_err(|error| lu_error(error, size))?;
        factor.solve_in_place_with_conj(Conj::No, columns_of(x, size));
        if is_finite(x) { Ok(()) } else { Err(SparseError::Singular) }
    }
}

/// The order of elimination of a square matrix.
fn analysed(matrix: &SparseMatrix) -> Result<SymbolicLu<u32>, SparseError> {
    let size = square_size(matrix);
    SymbolicLu::try_new(symbolic(matrix)).map_err(|_| SparseError::OutOfMemory(size))
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
