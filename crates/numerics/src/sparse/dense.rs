//! Products and small decompositions of tall dense matrices, by faer's kernels.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::threads::{parallel_for, threads, with_threads};
use crate::Matrix;

/// Sums from here on are long: their products have few rows.
const LONG_SUM: usize = 4096;

/// Rows of one piece of a product, with long sums and otherwise.
const FEW_ROWS: usize = 32;
const MANY_ROWS: usize = 4096;

/// Multiplications from which on several threads pay.
const LARGE_PRODUCT: usize = 4_000_000;

/// A B.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.nrows(), b.ncols());
    accumulate(&mut out, view(a), view(b), 1.0);
    out
}

/// Aᵀ B.
pub fn transposed_product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.ncols(), b.ncols());
    accumulate(&mut out, view(a).transpose(), view(b), 1.0);
    out
}

/// C ← C + factor · A B.
pub fn add_product(c: &mut Matrix, a: &Matrix, b: &Matrix, factor: f64) {
    accumulate(c, view(a), view(b), factor);
}

/// Aᵀ B for A given as columns one behind the other.
pub(crate) fn columns_transposed_product(a: &[f64], b: &Matrix) -> Matrix {
    let (n, count) = (b.nrows(), a.len().checked_div(b.nrows()).unwrap_or(0));
    let mut out = Matrix::zeros(count, b.ncols());
    accumulate(&mut out, MatRef::from_column_major_slice(a, n, count).transpose(), view(b), 1.0);
    out
}

/// C ← C + factor · A B for A given as columns one behind the other.
pub(crate) fn add_columns_product(c: &mut Matrix, a: &[f64], b: &Matrix, factor: f64) {
    let a = MatRef::from_column_major_slice(a, c.nrows(), b.nrows());
    accumulate(c, a, view(b), factor);
}

/// C ← C + factor · A B, the rows of C in pieces of a fixed size, which threads
/// share: those of a tall C, or the few of one that a long sum leads to.
fn accumulate(c: &mut Matrix, a: MatRef<'_, f64>, b: MatRef<'_, f64>, factor: f64) {
    if c.is_empty() || a.ncols() == 0 {
        return;
    }
    let (rows, columns) = c.shape();
    let mut rest = MatMut::from_column_major_slice_mut(c.as_mut_slice(), rows, columns);
    let height = if a.ncols() > LONG_SUM { FEW_ROWS } else { MANY_ROWS };
    let mut pieces = Vec::new();
    for from in (0..rows).step_by(height) {
        let here = height.min(rows - from);
        let (piece, after) = rest.split_at_row_mut(here);
        pieces.push((piece, a.subrows(from, here)));
        rest = after;
    }
    let large = rows * columns * a.ncols() > LARGE_PRODUCT;
    with_threads(if large { threads() } else { 1 }, || {
        parallel_for(pieces, |(c, a)| matmul(c, Accum::Add, a, b, factor, Par::Seq));
    });
}

fn view(matrix: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(matrix.as_slice(), matrix.nrows(), matrix.ncols())
}
