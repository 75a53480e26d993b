//! A matrix–vector product in every lane.

use numerics::panel::PanelMatrix;

use super::{LANES, Lanes};

/// The same product in every lane, with a matrix for each.
pub(super) struct Product {
    pub(super) rows: usize,
    /// Columns without those at the end that are zero in every lane.
    columns: usize,
    /// Rows in fours, column by column, then the rest row by row.
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
            std::array::from_fn(|lane| matrices[lane].entry(row, column))
        };
        let zero = |column: usize| (0..rows).all(|row| entry(row, column) == [0.0; LANES]);
        let columns = (0..all).rev().find(|column| !zero(*column)).map_or(0, |last| last + 1);
        let mut entries = Vec::with_capacity(rows * columns);
        let whole = rows - rows % ROWS;
        for block in (0..whole).step_by(ROWS) {
            for column in 0..columns {
                entries.extend((block..block + ROWS).map(|row| entry(row, column)));
            }
        }
        for row in whole..rows {
            entries.extend((0..columns).map(|column| entry(row, column)));
        }
        Some(Self { rows, columns, entries })
    }

    /// y = A x, every row summed as [`PanelMatrix`] sums it: even and odd
    /// columns apart.
    #[inline(always)]
    pub(super) fn multiply(&self, x: &[Lanes], y: &mut [Lanes]) {
        let x = &x[..self.columns];
        let whole = self.rows - self.rows % ROWS;
        let (blocks, rest) = self.entries.split_at(whole * self.columns);
        let (fours, single) = y[..self.rows].split_at_mut(whole);
        let fours = fours.as_chunks_mut::<ROWS>().0;
        let (pairs, last) = x.as_chunks::<2>();
        for (block, out) in blocks.chunks_exact((ROWS * self.columns).max(1)).zip(fours) {
            let (mut even, mut odd) = ([[0.0; LANES]; ROWS], [[0.0; LANES]; ROWS]);
            let columns = block.as_chunks::<ROWS>().0;
            let (column_pairs, column_last) = columns.as_chunks::<2>();
            for ([a, b], [p, q]) in column_pairs.iter().zip(pairs) {
                for row in 0..ROWS {
                    even[row] = add(even[row], mul(a[row], *p));
                    odd[row] = add(odd[row], mul(b[row], *q));
                }
            }
            if let ([a], [p]) = (column_last, last) {
                for row in 0..ROWS {
                    even[row] = add(even[row], mul(a[row], *p));
                }
            }
            for row in 0..ROWS {
                out[row] = add(even[row], odd[row]);
            }
        }
        for (row, out) in rest.chunks_exact(self.columns.max(1)).zip(single) {
            let (row_pairs, row_last) = row.as_chunks::<2>();
            let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
            for ([a, b], [p, q]) in row_pairs.iter().zip(pairs) {
                even = add(even, mul(*a, *p));
                odd = add(odd, mul(*b, *q));
            }
            if let ([a], [p]) = (row_last, last) {
                even = add(even, mul(*a, *p));
            }
            *out = add(even, odd);
        }
    }
}

#[inline(always)]
pub(super) fn add(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] + b[lane])
}

#[inline(always)]
pub(super) fn sub(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] - b[lane])
}

#[inline(always)]
pub(super) fn mul(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] * b[lane])
}
