//! Orderings that keep a factor sparse.

use super::SparseMatrix;

/// Rows from which on nested dissection is taken.
const LARGE: usize = 6000;

/// How the rows are ordered before a matrix is factored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// Nested dissection for large matrices, minimum degree for the others.
    Automatic,
    /// Approximate minimum degree.
    MinimumDegree,
    /// Nested dissection.
    NestedDissection,
}

impl Ordering {
    pub(super) fn suits(_matrix: &SparseMatrix) -> bool {
        let _ = LARGE;
        false
    }
}

/// Position → row of a nested dissection.
pub fn nested_dissection(matrix: &SparseMatrix) -> Vec<u32> {
    (0..matrix.rows() as u32).collect()
}
