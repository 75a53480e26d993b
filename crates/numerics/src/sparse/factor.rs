//! Cholesky factors of sparse matrices.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::solvers::LltError;
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering,
    factorize_symbolic_cholesky, supernodal::SupernodalLltRef,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};
use nalgebra::DMatrix;

use super::multifrontal::Fronts;
use super::ordering::Order;
use super::panels::{self, Row, WIDE, side_by_side};
use super::threads::{share, threads, with_threads};
use super::{SparseError, SparseMatrix};

/// Entries of a factor from which on several threads pay.
const LARGE_FACTOR: usize = 1_000_000;

/// Groups of right sides that one thread reads the factor for together.
const MOST_GROUPS: usize = 4;

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
        let no_room = || SparseError::OutOfMemory { size };
        let order = Order::of(matrix);
        let ordering = match &order {
            None => SymmetricOrdering::Amd,
            Some(Order { forward, inverse }) => {
                SymmetricOrdering::Custom(PermRef::new_checked(forward, inverse, size))
            }
        };
        let params = CholeskySymbolicParams::default();
        let symbolic = factorize_symbolic_cholesky(symbolic(matrix), Side::Lower, ordering, params)
            .map_err(|_| no_room())?;
        let length = symbolic.len_val();
        let mut values: Vec<f64> = Vec::new();
        values.try_reserve_exact(length).map_err(|_| no_room())?;
        values.resize(length, 0.0);
        fill(&symbolic, matrix, &mut values).map_err(|failure| match failure {
            Failure::Pivot(place) => {
                SparseError::NotPositiveDefinite { row: original(&symbolic, place) }
            }
            Failure::NoRoom => no_room(),
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
    /// On a large factor the columns go to as many threads as there are cores, in
    /// groups of eight. What becomes of a column does not depend on the threads.
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
        let groups = columns.div_ceil(WIDE);
        let together = groups.div_ceil(threads).min(MOST_GROUPS);
        let parts = x.as_mut_slice().chunks_mut(together * WIDE * rows);
        with_threads(threads, || share(parts, |part| self.solve_columns(part)));
    }

    /// The same for columns one behind the other.
    fn solve_columns(&self, x: &mut [f64]) {
        let (rows, columns) = (self.size(), x.len() / self.size());
        if let (SymbolicCholeskyRaw::Supernodal(supernodal), Some(order)) =
            (self.symbolic.raw(), self.symbolic.perm())
        {
            let forward = order.arrays().0;
            let mut groups: Vec<Vec<Row>> = x
                .chunks(WIDE * rows)
                .map(|columns| side_by_side(columns, rows, |place| forward[place] as usize))
                .collect();
            panels::solve(supernodal, &self.values, &mut groups);
            for (columns, group) in x.chunks_mut(WIDE * rows).zip(&groups) {
                for (place, row) in group.iter().enumerate() {
                    let at = forward[place] as usize;
                    let column = columns[at..].iter_mut().step_by(rows);
                    column.zip(row).for_each(|(to, from)| *to = *from);
                }
            }
            return;
        }
        let scratch = self.symbolic.solve_in_place_scratch::<f64>(columns, Par::Seq);
        LltRef::new(&self.symbolic, &self.values).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(x, rows, columns),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
        );
    }
}

/// Why there is no factor.
enum Failure {
    /// The pivot at this place is not positive.
    Pivot(usize),
    NoRoom,
}

/// The numbers of L: by panels where there are any, by faer otherwise.
fn fill(
    symbolic: &SymbolicCholesky<u32>,
    matrix: &SparseMatrix,
    values: &mut [f64],
) -> Result<(), Failure> {
    if let (SymbolicCholeskyRaw::Supernodal(supernodal), Some(order)) =
        (symbolic.raw(), symbolic.perm())
        && matrix.is_symmetric()
        && let Some(fronts) = Fronts::new(supernodal, order.arrays(), matrix)
    {
        return fronts.factor(values).map_err(Failure::Pivot);
    }
    let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
    let mut buffer = MemBuffer::try_new(scratch).map_err(|_| Failure::NoRoom)?;
    symbolic
        .factorize_numeric_llt(
            values,
            numeric(matrix),
            Side::Lower,
            Default::default(),
            Par::Seq,
            MemStack::new(&mut buffer),
            Default::default(),
        )
        .map(drop)
        .map_err(|LltError::NonPositivePivot { index }| Failure::Pivot(index))
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

pub(super) fn check_square(matrix: &SparseMatrix) -> Result<usize, SparseError> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    if rows == columns { Ok(rows) } else { Err(SparseError::NotSquare { rows, columns }) }
}

pub(super) fn symbolic(matrix: &SparseMatrix) -> SymbolicSparseColMatRef<'_, u32> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    SymbolicSparseColMatRef::new_checked(rows, columns, &matrix.starts, None, &matrix.row_of)
}

pub(super) fn numeric(matrix: &SparseMatrix) -> SparseColMatRef<'_, u32, f64> {
    SparseColMatRef::new(symbolic(matrix), &matrix.values)
}
