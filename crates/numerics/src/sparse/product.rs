//! Products of sparse matrices with dense ones.

use super::SparseMatrix;
use super::supernodal_solve::{Row, WIDE, side_by_side};
use super::threads::{parallel_for, threads, with_threads};
use crate::Matrix;
use crate::simd::for_avx2;

/// Columns of the matrix that one thread takes at a time.
const PIECE: usize = 2048;

/// Entries from which on several threads pay.
const LARGE_MATRIX: usize = 200_000;

impl SparseMatrix {
    /// A X.
    pub fn times(&self, x: &Matrix) -> Matrix {
        if self.symmetric {
            return self.gathered(x);
        }
        let mut product = Matrix::zeros(self.rows, x.ncols());
        for (from, mut to) in x.column_iter().zip(product.column_iter_mut()) {
            for column in 0..self.columns() {
                let factor = from[column];
                if factor != 0.0 {
                    for (row, value) in self.column(column) {
                        to[row] += value * factor;
                    }
                }
            }
        }
        product
    }

    /// Aᵀ X.
    pub fn transposed_times(&self, x: &Matrix) -> Matrix {
        self.gathered(x)
    }

    /// Each column against each column of X: eight of X at a time, so that the
    /// matrix is read once for them and a row of X is one cache line.
    fn gathered(&self, x: &Matrix) -> Matrix {
        let (n, m) = (self.rows, self.columns());
        let mut product = Matrix::zeros(m, x.ncols());
        if n == 0 || m == 0 {
            return product;
        }
        let most = if self.entries() < LARGE_MATRIX { 1 } else { threads() };
        let mut sums: Vec<Row> = vec![[0.0; WIDE]; m];
        let targets = product.as_mut_slice().chunks_mut(WIDE * m);
        for (from, to) in x.as_slice().chunks(WIDE * n).zip(targets) {
            if from.len() == n {
                for (column, out) in to.iter_mut().enumerate() {
                    *out = self.column(column).map(|(row, value)| value * from[row]).sum();
                }
                continue;
            }
            let rows = side_by_side(from, n, |row| row);
            let pieces = sums.chunks_mut(PIECE).enumerate();
            with_threads(most, || {
                parallel_for(pieces, |(piece, sums)| gather(self, &rows, piece * PIECE, sums));
            });
            for (column, sums) in sums.iter().enumerate() {
                to[column..].iter_mut().step_by(m).zip(sums).for_each(|(to, sum)| *to = *sum);
            }
        }
        product
    }
}

for_avx2!(
    /// sums ← the columns of the matrix from `first` on, times X.
    fn gather = gather_rows(matrix: &SparseMatrix, x: &[Row], first: usize, sums: &mut [Row])
);

#[inline(always)]
fn gather_rows(matrix: &SparseMatrix, x: &[Row], first: usize, sums: &mut [Row]) {
    for (column, out) in (first..).zip(sums) {
        let range = matrix.range(column);
        let mut sum = [0.0; WIDE];
        for (&row, &value) in matrix.row_of[range.clone()].iter().zip(&matrix.values[range]) {
            let from = &x[row as usize];
            for l in 0..WIDE {
                sum[l] += value * from[l];
            }
        }
        *out = sum;
    }
}
