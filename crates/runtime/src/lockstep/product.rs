//! A matrix–vector product in every lane.

use numerics::gemv::PanelMatrix;
use numerics::lanes::Lanes;

/// The same product in every lane, with a matrix for each.
pub(super) struct Product {
    pub(super) rows: usize,
    /// Columns without those at the end that are zero in every lane.
    columns: usize,
    /// Rows in fours, column by column; rows of zeros fill the last four.
    entries: Vec<Lanes>,
}

/// Rows summed side by side, so that an addition need not wait for the last.
const ROWS: usize = 4;

impl Product {
    pub(super) fn new(matrices: &[&PanelMatrix]) -> Option<Self> {
        let first = matrices.first()?;
        let (rows, all) = (first.rows(), first.columns());
        if matrices.iter().any(|m| (m.rows(), m.columns()) != (rows, all)) {
            return None;
        }
        let entry = |row, column| -> Lanes {
            if row >= rows {
                return Lanes::ZERO;
            }
            Lanes::each(|lane| matrices[lane].entry(row, column))
        };
        let zero = |column: usize| (0..rows).all(|row| entry(row, column) == Lanes::ZERO);
        let columns = (0..all).rev().find(|column| !zero(*column)).map_or(0, |last| last + 1);
        let mut entries = Vec::with_capacity(rows.next_multiple_of(ROWS) * columns);
        for block in (0..rows).step_by(ROWS) {
            for column in 0..columns {
                entries.extend((block..block + ROWS).map(|row| entry(row, column)));
            }
        }
        Some(Self { rows, columns, entries })
    }

    /// Length that `y` must have at least; what lies behind the rows becomes zero.
    pub(super) fn padded_rows(&self) -> usize {
        self.rows.next_multiple_of(ROWS)
    }

    /// y = A x, every row summed as [`PanelMatrix`] sums it: even and odd
    /// columns apart.
    #[inline(always)]
    pub(super) fn multiply(&self, x: &[Lanes], y: &mut [Lanes]) {
        let (pairs, last) = x[..self.columns].as_chunks::<2>();
        let blocks = self.entries.chunks_exact((ROWS * self.columns).max(1));
        for (block, out) in blocks.zip(y.as_chunks_mut::<ROWS>().0) {
            let (mut even, mut odd) = ([Lanes::ZERO; ROWS], [Lanes::ZERO; ROWS]);
            let (column_pairs, column_last) = block.as_chunks::<ROWS>().0.as_chunks::<2>();
            for ([a, b], [p, q]) in column_pairs.iter().zip(pairs) {
                for row in 0..ROWS {
                    even[row] += a[row] * *p;
                    odd[row] += b[row] * *q;
                }
            }
            if let ([a], [p]) = (column_last, last) {
                for row in 0..ROWS {
                    even[row] += a[row] * *p;
                }
            }
            for row in 0..ROWS {
                out[row] = even[row] + odd[row];
            }
        }
    }
}
