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
use super::supernodal_solve::{Factor, Row, WIDE, side_by_side};
use super::tree::{Parts, Tree};
use super::{SparseError, SparseMatrix};

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
        let size = check_square(matrix)?;
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
        let tree = match symbolic.raw() {
            SymbolicCholeskyRaw::Supernodal(supernodal) => Tree::of(supernodal),
            SymbolicCholeskyRaw::Simplicial(_) => None,
        };
        fill(&symbolic, tree.as_ref(), matrix, &mut values).map_err(|failure| match failure {
            Failure::Pivot(place) => SparseError::NotPositiveDefinite(original(&symbolic, place)),
            Failure::NoRoom => no_room(),
        })?;
        let weakest = weakest_pivot(&symbolic, &values, &matrix.diagonal());
        let parts = match (symbolic.raw(), &tree) {
            (SymbolicCholeskyRaw::Supernodal(supernodal), Some(tree)) if length >= LARGE_FACTOR => {
                Some(Parts::of(tree, supernodal, PART))
            }
            _ => None,
        };
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
    pub fn solve(&self, x: &mut DMatrix<f64>) {
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
        if let (SymbolicCholeskyRaw::Supernodal(symbolic), Some(order)) =
            (self.symbolic.raw(), self.symbolic.perm())
        {
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

/// Why there is no factor.
enum Failure {
    /// The pivot at this place is not positive.
    Pivot(usize),
    NoRoom,
}

/// The numbers of L: by panels where there are any, by faer otherwise.
fn fill(
    symbolic: &SymbolicCholesky<u32>,
    tree: Option<&Tree>,
    matrix: &SparseMatrix,
    values: &mut [f64],
) -> Result<(), Failure> {
    if let (SymbolicCholeskyRaw::Supernodal(supernodal), Some(order), Some(tree)) =
        (symbolic.raw(), symbolic.perm(), tree)
        && matrix.is_symmetric()
    {
        let fronts = Fronts::new(supernodal, tree, order.arrays(), matrix);
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
