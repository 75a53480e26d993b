//! Cholesky factors of sparse matrices.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::solvers::LltError;
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering,
    factorize_symbolic_cholesky, supernodal::SymbolicSupernodalCholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};

use super::multifrontal::Fronts;
use super::ordering::Order;
use super::supernodal_solve::{Factor, Row, WIDE, side_by_side};
use super::tree::{Parts, Tree, shape};
use super::{SparseError, SparseMatrix};
use crate::Matrix;

/// Entries of a factor from which on several threads pay.
const LARGE_FACTOR: usize = 1_000_000;

/// Groups of right sides that the factor is read for together.
const MOST_GROUPS: usize = 4;

/// Subtrees with at most this part of a factor's entries are solved side by side:
/// four of a slender body, so that little is left above them.
const PART: f64 = 0.3;

/// A = L Lᵀ of a symmetric positive definite matrix, rows reordered for little fill.
#[derive(Debug)]
pub struct Cholesky {
    symbolic: SymbolicCholesky<u32>,
    values: Vec<f64>,
    /// How threads share a large factor.
    parts: Option<Parts>,
    /// Smallest pivot over the diagonal entry it comes from, and its row.
    weakest: (usize, f64),
}

impl Cholesky {
    /// Factors a symmetric matrix; only its lower triangle is read.
    pub fn new(matrix: &SparseMatrix) -> Result<Self, SparseError> {
        let size = square_size(matrix);
        let no_room = || SparseError::OutOfMemory(size);
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
        let panels = supernodal(&symbolic).and_then(|panels| Some((panels, Tree::of(panels)?)));
        fill(&symbolic, panels.as_ref(), matrix, &mut values)?;
        let weakest = weakest_pivot(&symbolic, &values, &matrix.diagonal());
        let large = panels.as_ref().filter(|_| length >= LARGE_FACTOR);
        let parts = large.map(|(panels, tree)| Parts::of(tree, panels, PART));
        Ok(Self { symbolic, values, parts, weakest })
    }

    /// Rows of the matrix.
    pub fn size(&self) -> usize {
        self.symbolic.nrows()
    }

    /// Entries of L, zeros inside its dense blocks included.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> usize {
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
    /// Parts of a large factor go to as many threads as there are cores; the
    /// result does not depend on them.
    ///
    /// # Panics
    /// If the rows do not fit.
    pub fn solve(&self, x: &mut Matrix) {
        let (rows, columns) = x.shape();
        assert_eq!(rows, self.size(), "rows of the right side");
        if rows == 0 || columns == 0 {
            return;
        }
        for some in x.as_mut_slice().chunks_mut(MOST_GROUPS * WIDE * rows) {
            self.solve_columns(some);
        }
    }

    /// The same for columns one behind the other.
    fn solve_columns(&self, x: &mut [f64]) {
        let (rows, columns) = (self.size(), x.len() / self.size());
        if let (Some(symbolic), Some(order)) = (supernodal(&self.symbolic), self.symbolic.perm()) {
            let forward = order.arrays().0;
            let mut groups: Vec<Vec<Row>> = x
                .chunks(WIDE * rows)
                .map(|columns| side_by_side(columns, rows, |place| forward[place] as usize))
                .collect();
            let factor = Factor { symbolic, values: &self.values };
            match &self.parts {
                None => factor.solve(&mut groups),
                Some(parts) => factor.solve_parts(parts, &mut groups),
            }
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

/// The panels of columns with one pattern, if there are any.
fn supernodal(symbolic: &SymbolicCholesky<u32>) -> Option<&SymbolicSupernodalCholesky<u32>> {
    match symbolic.raw() {
        SymbolicCholeskyRaw::Supernodal(panels) => Some(panels),
        SymbolicCholeskyRaw::Simplicial(_) => None,
    }
}

/// The numbers of L: by panels where there are any, by faer otherwise.
fn fill(
    symbolic: &SymbolicCholesky<u32>,
    panels: Option<&(&SymbolicSupernodalCholesky<u32>, Tree)>,
    matrix: &SparseMatrix,
    values: &mut [f64],
) -> Result<(), SparseError> {
    let no_pivot = |place| SparseError::NotPositiveDefinite(original(symbolic, place));
    if let (Some((symbolic, tree)), Some(order)) = (panels, symbolic.perm())
        && matrix.is_symmetric()
    {
        let fronts = Fronts { symbolic, tree, order: order.arrays(), matrix };
        return fronts.factor(values).map_err(no_pivot);
    }
    let (regularisation, spec) = (Default::default(), Default::default());
    let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, spec);
    let mut buffer =
        MemBuffer::try_new(scratch).map_err(|_| SparseError::OutOfMemory(symbolic.nrows()))?;
    let (matrix, stack) = (numeric(matrix), MemStack::new(&mut buffer));
    let made = symbolic.factorize_numeric_llt(
        values,
        matrix,
        Side::Lower,
        regularisation,
        Par::Seq,
        stack,
        spec,
    );
    made.map(drop).map_err(|LltError::NonPositivePivot { index }| no_pivot(index))
}

fn original(symbolic: &SymbolicCholesky<u32>, place: usize) -> usize {
    let row = symbolic.perm().and_then(|order| order.arrays().0.get(place).copied());
    row.map_or(place, |row| row as usize)
}

fn weakest_pivot(
    symbolic: &SymbolicCholesky<u32>,
    values: &[f64],
    diagonal: &[f64],
) -> (usize, f64) {
    // Where the diagonal of L lies.
    let places: Vec<usize> = match symbolic.raw() {
        SymbolicCholeskyRaw::Simplicial(simplicial) => {
            simplicial.col_ptr().iter().map(|&start| start as usize).collect()
        }
        SymbolicCholeskyRaw::Supernodal(panels) => (0..panels.n_supernodes())
            .flat_map(|panel| {
                let (columns, below) = shape(panels, panel);
                let start = panels.col_ptr_for_val()[panel] as usize;
                (0..columns).map(move |k| start + k * (columns + below + 1))
            })
            .collect(),
    };
    let pivots = places[..symbolic.nrows()].iter().enumerate().map(|(place, &at)| {
        let row = original(symbolic, place);
        (row, values[at] * values[at] / diagonal[row])
    });
    pivots.fold(
        (0, f64::INFINITY),
        |weakest, pivot| {
            if pivot.1 < weakest.1 { pivot } else { weakest }
        },
    )
}

pub(super) fn square_size(matrix: &SparseMatrix) -> usize {
    assert_eq!(matrix.rows(), matrix.columns(), "a square matrix");
    matrix.rows()
}

pub(super) fn symbolic(matrix: &SparseMatrix) -> SymbolicSparseColMatRef<'_, u32> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    SymbolicSparseColMatRef::new_checked(rows, columns, &matrix.starts, None, &matrix.row_of)
}

pub(super) fn numeric(matrix: &SparseMatrix) -> SparseColMatRef<'_, u32, f64> {
    SparseColMatRef::new(symbolic(matrix), &matrix.values)
}
