//! Factors of sparse matrices.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::solvers::LltError;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering,
    factorize_symbolic_cholesky, supernodal::SupernodalLltRef,
};
use faer::sparse::linalg::solvers::{Lu as FaerLu, SymbolicLu};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, c64};
use nalgebra::{Complex, DMatrix};

use super::{SparseError, SparseMatrix};

/// Columns solved for together.
const GROUP: usize = 8;

/// Entries of a factor from which on several threads pay.
const LARGE_FACTOR: usize = 1_000_000;

/// A = L Lᵀ of a symmetric positive definite matrix, rows reordered for little fill.
#[derive(Debug)]
pub struct Cholesky {
    symbolic: SymbolicCholesky<u32>,
    values: Vec<f64>,
    /// Smallest pivot over the diagonal entry it comes from, and its row.
    weakest: (usize, f64),
}

impl Cholesky {
    /// Factors a symmetric matrix; only its lower triangle is read.
    pub fn new(matrix: &SparseMatrix) -> Result<Self, SparseError> {
        let size = check_square(matrix)?;
        let (pattern, numbers) = (symbolic(matrix), numeric(matrix));
        let order = SymmetricOrdering::Amd;
        let params = CholeskySymbolicParams::default();
        let symbolic = factorize_symbolic_cholesky(pattern, Side::Lower, order, params)
            .map_err(|_| SparseError::OutOfMemory { size })?;
        let mut values = Vec::new();
        let length = symbolic.len_val();
        values.try_reserve_exact(length).map_err(|_| SparseError::OutOfMemory { size })?;
        values.resize(length, 0.0);
        let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        let mut buffer =
            MemBuffer::try_new(scratch).map_err(|_| SparseError::OutOfMemory { size })?;
        symbolic
            .factorize_numeric_llt(
                &mut values,
                numbers,
                Side::Lower,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut buffer),
                Default::default(),
            )
            .map_err(|LltError::NonPositivePivot { index }| SparseError::NotPositiveDefinite {
                row: original(&symbolic, index),
            })?;
        let weakest = weakest_pivot(&symbolic, &values, &matrix.diagonal());
        Ok(Self { symbolic, values, weakest })
    }

    /// Rows of the matrix.
    pub fn size(&self) -> usize {
        self.symbolic.nrows()
    }

    /// Entries of L, zeros inside its dense blocks included.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Memory of L.
    pub fn bytes(&self) -> usize {
        8 * self.values.len()
    }

    /// The smallest pivot over the diagonal entry it comes from, and its row:
    /// within rounding of zero the matrix is singular, although it has a factor.
    pub fn weakest_pivot(&self) -> (usize, f64) {
        self.weakest
    }

    /// X ← A⁻¹ X.
    ///
    /// Columns go in fixed groups, which share the reading of L, and on a large
    /// factor groups go to as many threads as there are cores. The groups do not
    /// depend on the cores, so neither does the result.
    ///
    /// # Panics
    /// If the rows do not fit.
    pub fn solve(&self, x: &mut DMatrix<f64>) {
        let (rows, columns) = x.shape();
        assert_eq!(rows, self.size(), "rows of the right side");
        if rows == 0 || columns == 0 {
            return;
        }
        let threads = if self.values.len() < LARGE_FACTOR { 1 } else { threads() };
        let mut groups: Vec<&mut [f64]> = x.as_mut_slice().chunks_mut(GROUP * rows).collect();
        if threads == 1 || groups.len() == 1 {
            groups.iter_mut().for_each(|group| self.solve_columns(group));
            return;
        }
        let share = groups.len().div_ceil(threads);
        std::thread::scope(|scope| {
            for some in groups.chunks_mut(share) {
                scope.spawn(move || some.iter_mut().for_each(|group| self.solve_columns(group)));
            }
        });
    }

    /// The same for columns one behind the other.
    fn solve_columns(&self, x: &mut [f64]) {
        let (rows, columns) = (self.size(), x.len() / self.size());
        let scratch = self.symbolic.solve_in_place_scratch::<f64>(columns, Par::Seq);
        LltRef::new(&self.symbolic, &self.values).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(x, rows, columns),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
        );
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn original(symbolic: &SymbolicCholesky<u32>, place: usize) -> usize {
    match symbolic.perm() {
        Some(order) => order.arrays().0.get(place).map_or(place, |&row| row as usize),
        None => place,
    }
}

fn weakest_pivot(
    symbolic: &SymbolicCholesky<u32>,
    values: &[f64],
    diagonal: &[f64],
) -> (usize, f64) {
    let mut weakest = (0, f64::INFINITY);
    let mut meet = |place: usize, factor: f64| {
        let row = original(symbolic, place);
        let ratio = factor * factor / diagonal[row];
        if ratio < weakest.1 {
            weakest = (row, ratio);
        }
    };
    match symbolic.raw() {
        SymbolicCholeskyRaw::Simplicial(simplicial) => {
            let starts = simplicial.col_ptr();
            for place in 0..symbolic.nrows() {
                meet(place, values[starts[place] as usize]);
            }
        }
        SymbolicCholeskyRaw::Supernodal(supernodal) => {
            let factor = SupernodalLltRef::new(supernodal, values);
            let begins = supernodal.supernode_begin();
            let ends = supernodal.supernode_end();
            for node in 0..supernodal.n_supernodes() {
                let block = factor.supernode(node).val();
                for k in 0..(ends[node] - begins[node]) as usize {
                    meet(begins[node] as usize + k, block[(k, k)]);
                }
            }
        }
    }
    weakest
}

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
            SymbolicLu::try_new(symbolic(matrix)).map_err(|_| SparseError::OutOfMemory { size })?;
        let factor = FaerLu::try_new_with_symbolic(order, numeric(matrix))
            .map_err(|error| lu_error(error, size))?;
        Ok(Self { factor, size })
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
        let order = SymbolicLu::try_new(symbolic(pattern))
            .map_err(|_| SparseError::OutOfMemory { size })?;
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
        LuError::Generic(_) => SparseError::OutOfMemory { size },
    }
}

fn check_square(matrix: &SparseMatrix) -> Result<usize, SparseError> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    if rows == columns { Ok(rows) } else { Err(SparseError::NotSquare { rows, columns }) }
}

fn symbolic(matrix: &SparseMatrix) -> SymbolicSparseColMatRef<'_, u32> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    SymbolicSparseColMatRef::new_checked(rows, columns, &matrix.starts, None, &matrix.row_of)
}

fn numeric(matrix: &SparseMatrix) -> SparseColMatRef<'_, u32, f64> {
    SparseColMatRef::new(symbolic(matrix), &matrix.values)
}
