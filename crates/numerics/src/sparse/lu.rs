//! Factors of general and of complex matrices.

use faer::sparse::linalg::LuError;
use faer::sparse::linalg::solvers::{Lu as FaerLu, SymbolicLu};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, c64};
use nalgebra::{Complex, DMatrix};

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
        use faer::linalg::solvers::SolveCore;
        let (rows, columns) = x.shape();
        assert_eq!(rows, self.size, "rows of the right side");
        let x = MatMut::from_column_major_slice_mut(x.as_mut_slice(), rows, columns);
        self.factor.solve_in_place_with_conj(Conj::No, x);
    }

    /// X ← A⁻ᵀ X.
    pub fn solve_transposed(&self, x: &mut DMatrix<f64>) {
        use faer::linalg::solvers::SolveCore;
        let (rows, columns) = x.shape();
        assert_eq!(rows, self.size, "rows of the right side");
        let x = MatMut::from_column_major_slice_mut(x.as_mut_slice(), rows, columns);
        self.factor.solve_transpose_in_place_with_conj(Conj::No, x);
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
        use faer::linalg::solvers::SolveCore;
        let mut values = vec![c64::new(0.0, 0.0); self.row_of.len()];
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
        let (rows, columns) = x.shape();
        assert_eq!(rows, self.size, "rows of the right side");
        let mut right: Vec<c64> = x.iter().map(|value| c64::new(value.re, value.im)).collect();
        factor.solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(&mut right, rows, columns),
        );
        for (to, from) in x.iter_mut().zip(right) {
            *to = Complex::new(from.re, from.im);
        }
        if x.iter().all(|value| value.re.is_finite() && value.im.is_finite()) {
            return Ok(());
        }
        Err(SparseError::Singular)
    }
}

fn lu_error(error: LuError, size: usize) -> SparseError {
    match error {
        LuError::SymbolicSingular { .. } => SparseError::Singular,
        LuError::Generic(_) => SparseError::OutOfMemory(size),
    }
}
