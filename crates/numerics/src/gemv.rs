//! Matrix–vector products for the loop: no allocation, same bits everywhere.

use std::ops::Range;

use crate::Matrix;
use crate::lanes::{LANES, Lane, Lanes};
use crate::simd::for_avx2;
use crate::small::copy;

/// A matrix, or one for each lane, laid out for `y = A x` inside the tick.
///
/// Rows are cut into panels of fixed height and each panel is stored column by
/// column, so that the product keeps its accumulators in registers and reads
/// memory once, in order. The same code serves six states and six hundred.
///
/// Wider vector instructions are used where the processor has them. They never
/// fuse multiply and add, and every row is summed in one fixed order, so the
/// result has the same bits on every x86-64 machine.
#[derive(Debug, Clone)]
pub struct PanelMatrix<T: Lane = f64> {
    rows: usize,
    columns: usize,
    padded_rows: usize,
    data: Vec<T>,
    kernel: Kernel<T>,
}

type Kernel<T> = fn(&[T], &[T], &mut [T]);

impl PanelMatrix {
    /// Lays out `matrix`.
    pub fn new(matrix: &Matrix) -> Self {
        let height = panel_height(matrix.nrows());
        Self::laid_out(matrix.shape(), height, kernel(height), |row, column| matrix[(row, column)])
    }

    /// Some of its columns, for those who lay the matrix out in another way.
    pub fn columns_of(&self, columns: Range<usize>) -> Matrix {
        Matrix::from_fn(self.rows, columns.len(), |i, j| self.entry(i, columns.start + j))
    }

    /// One entry, for the same.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        let height = panel_height(self.rows);
        let (panel, within) = (row / height, row % height);
        self.data[(panel * self.columns + column) * height + within]
    }
}

impl PanelMatrix<Lanes> {
    /// A matrix for each lane; `None` if they differ in shape. The product reads
    /// no columns at the end that are zero in all of them.
    pub fn side_by_side(matrices: [&PanelMatrix; LANES]) -> Option<Self> {
        let (rows, all) = (matrices[0].rows, matrices[0].columns);
        if matrices.iter().any(|one| (one.rows, one.columns) != (rows, all)) {
            return None;
        }
        let entry = |row, column| Lanes::each(|lane| matrices[lane].entry(row, column));
        let is_zero = |column: &usize| (0..rows).all(|row| entry(row, *column) == Lanes::ZERO);
        let columns = (0..all).rev().find(|column| !is_zero(column)).map_or(0, |last| last + 1);
        Some(Self::laid_out((rows, columns), SMALL, product::<Lanes, SMALL>, entry))
    }
}

impl<T: Lane> PanelMatrix<T> {
    fn laid_out(
        (rows, columns): (usize, usize),
        height: usize,
        kernel: Kernel<T>,
        entry: impl Fn(usize, usize) -> T,
    ) -> Self {
        let padded_rows = rows.div_ceil(height) * height;
        let mut data = vec![T::ZERO; padded_rows * columns];
        for row in 0..rows {
            let (panel, within) = (row / height, row % height);
            for column in 0..columns {
                data[(panel * columns + column) * height + within] = entry(row, column);
            }
        }
        Self { rows, columns, padded_rows, data, kernel }
    }

    /// Rows of the matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the matrix, the length of `x`.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Length that `y` must have; entries past [`rows`](Self::rows) become zero.
    pub fn padded_rows(&self) -> usize {
        self.padded_rows
    }

    /// A zero vector long enough for `y`.
    pub fn output(&self) -> Vec<T> {
        vec![T::ZERO; self.padded_rows]
    }

    /// `y = A x`. Both lengths must fit; extra entries of `x` are an error of the caller.
    #[inline(always)]
    pub fn multiply(&self, x: &[T], y: &mut [T]) {
        debug_assert_eq!(x.len(), self.columns);
        debug_assert_eq!(y.len(), self.padded_rows);
        if self.columns == 0 {
            y.fill(T::ZERO);
        } else if T::COUNT == 1 {
            (self.kernel)(&self.data, x, y);
        } else {
            // In the registers of whoever steps several tests side by side.
            product::<T, SMALL>(&self.data, x, y);
        }
    }
}

impl PanelMatrix {
    /// `Y = A X` for as many vectors as `x` holds, entry by entry beside each other, as
    /// `y` will: with the bits of one product each. A panel is read once for all of them.
    #[inline]
    pub fn multiply_side_by_side(&self, x: &[f64], y: &mut [f64]) {
        if x.len() == self.columns {
            return self.multiply(x, y);
        }
        let count = x.len() / self.columns;
        let height = panel_height(self.rows);
        let each: Vec<Vec<f64>> =
            (0..count).map(|one| x[one..].iter().step_by(count).copied().collect()).collect();
        let mut out = [0.0; LARGE];
        let panels = self.data.chunks_exact(height * self.columns);
        for (panel, rows) in panels.zip(y.chunks_mut(height * count)) {
            for (one, x) in each.iter().enumerate() {
                (self.kernel)(panel, x, &mut out[..height]);
                for (row, value) in rows.chunks_exact_mut(count).zip(out) {
                    row[one] = value;
                }
            }
        }
    }

    /// xᵀA x, for a square matrix, without a place for A x.
    #[inline]
    pub fn quadratic(&self, x: &[f64]) -> f64 {
        debug_assert_eq!((x.len(), self.rows), (self.columns, self.columns));
        let height = panel_height(self.rows);
        if height == SMALL {
            return self.small_quadratic(x);
        }
        let mut sum = 0.0;
        let panels = self.data.chunks_exact((height * self.columns).max(1));
        for (panel, rows) in panels.zip(x.chunks(height)) {
            for (column, factor) in panel.chunks_exact(height).zip(x) {
                sum += factor * column.iter().zip(rows).map(|(a, x)| a * x).sum::<f64>();
            }
        }
        sum
    }

    /// One panel of the least height: no inner loop.
    #[inline]
    fn small_quadratic(&self, x: &[f64]) -> f64 {
        let mut padded = [0.0; SMALL];
        padded.iter_mut().zip(x).for_each(|(to, from)| *to = *from);
        let [p, q, r, s] = padded;
        let columns = self.data.as_chunks::<SMALL>().0;
        let parts = columns.iter().zip(x);
        parts.map(|([a, b, c, d], factor)| factor * ((a * p + b * q) + (c * r + d * s))).sum()
    }
}

/// A product with room for its vectors; `x` is given in parts, one after the other.
#[derive(Debug, Clone)]
pub struct Product {
    matrix: PanelMatrix,
    input: Vec<f64>,
    output: Vec<f64>,
    /// Length of the output without its padding.
    rows: usize,
}

impl Product {
    /// Of this matrix.
    pub fn new(matrix: &Matrix) -> Self {
        let (rows, columns) = matrix.shape();
        let matrix = PanelMatrix::new(matrix);
        Self { input: vec![0.0; columns], output: matrix.output(), rows, matrix }
    }

    /// The matrix.
    pub fn matrix(&self) -> &PanelMatrix {
        &self.matrix
    }

    /// `x` as it was taken last.
    pub fn input(&self) -> &[f64] {
        &self.input
    }

    /// Takes the first parts of `x`; the rest of it is left to the caller. Parts of several
    /// vectors, entry by entry beside each other, make it a product of as many from then
    /// on; see [`PanelMatrix::multiply_side_by_side`].
    #[inline]
    pub fn take<const N: usize>(&mut self, parts: [&[f64]; N]) -> &mut [f64] {
        let given: usize = parts.iter().map(|part| part.len()).sum();
        if given > self.input.len() {
            self.widen(given / self.input.len());
        }
        let mut rest = &mut self.input[..];
        for part in parts {
            let (to, behind) = rest.split_at_mut(part.len());
            copy(to, part);
            rest = behind;
        }
        rest
    }

    #[cold]
    fn widen(&mut self, width: usize) {
        self.input.resize(width * self.input.len(), 0.0);
        self.output.resize(width * self.output.len(), 0.0);
        self.rows *= width;
    }

    /// A x, with `x` as it was taken last.
    #[inline]
    pub fn multiply(&mut self) -> &[f64] {
        self.matrix.multiply_side_by_side(&self.input, &mut self.output);
        &self.output[..self.rows]
    }

    /// A x.
    #[inline]
    pub fn of<const N: usize>(&mut self, parts: [&[f64]; N]) -> &[f64] {
        self.take(parts);
        self.multiply()
    }
}

/// The least height of a panel, and the greatest.
const SMALL: usize = 4;
const LARGE: usize = 16;

/// The height that wastes few rows and still fills the vector units.
fn panel_height(rows: usize) -> usize {
    match rows {
        0..=SMALL => SMALL,
        5..=8 => 8,
        9..=12 => 12,
        13..=16 => LARGE,
        17..=24 => 12,
        _ => LARGE,
    }
}

fn kernel(height: usize) -> Kernel<f64> {
    match height {
        4 => wide_product::<4>,
        8 => wide_product::<8>,
        12 => wide_product::<12>,
        _ => wide_product::<LARGE>,
    }
}

for_avx2!(fn wide_product<const H> = product(data: &[f64], x: &[f64], y: &mut [f64]));

/// Even and odd columns are summed apart, so that an addition need not wait
/// for the one before; a small product is nothing but waiting otherwise.
#[inline(always)]
fn product<T: Lane, const H: usize>(data: &[T], x: &[T], y: &mut [T]) {
    let columns = data.as_chunks::<H>().0;
    let (pairs, last) = x.as_chunks::<2>();
    for (panel, out) in columns.chunks_exact(x.len()).zip(y.as_chunks_mut::<H>().0) {
        let (mut even, mut odd) = ([T::ZERO; H], [T::ZERO; H]);
        let (panel_pairs, panel_last) = panel.as_chunks::<2>();
        for ([a, b], [p, q]) in panel_pairs.iter().zip(pairs) {
            for i in 0..H {
                even[i] += a[i] * *p;
                odd[i] += b[i] * *q;
            }
        }
        if let ([a], [p]) = (panel_last, last) {
            for i in 0..H {
                even[i] += a[i] * *p;
            }
        }
        for i in 0..H {
            out[i] = even[i] + odd[i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vector;
    use crate::random::Stream;

    #[test]
    fn every_size_agrees_with_a_plain_product() {
        let mut random = Stream::new(3, "panel");
        for (rows, columns) in
            [(1, 1), (3, 3), (6, 9), (11, 14), (16, 2), (23, 7), (40, 41), (130, 90), (5, 0)]
        {
            let a = Matrix::from_fn(rows, columns, |_, _| random.normal());
            let x = Vector::from_fn(columns, |_, _| random.normal());
            let panel = PanelMatrix::new(&a);
            let mut y = panel.output();
            panel.multiply(x.as_slice(), &mut y);
            let expected = &a * &x;
            for i in 0..rows {
                assert!((0..columns).all(|j| panel.entry(i, j) == a[(i, j)]));
                assert!((y[i] - expected[i]).abs() < 1e-13 * (columns as f64 + 1.0));
            }
            assert!(y[rows..].iter().all(|&v| v == 0.0), "padding stays zero");
        }
    }

    #[test]
    fn the_quadratic_form_is_the_product_with_itself() {
        let mut random = Stream::new(5, "panel");
        for n in [1, 3, 7, 20, 70] {
            let a = Matrix::from_fn(n, n, |_, _| random.normal());
            let x = Vector::from_fn(n, |_, _| random.normal());
            let expected = x.dot(&(&a * &x));
            let found = PanelMatrix::new(&a).quadratic(x.as_slice());
            assert!((found - expected).abs() < 1e-12 * (n * n) as f64, "{n}");
        }
    }

    #[test]
    fn the_wide_kernel_gives_the_bits_of_the_narrow_one() {
        let mut random = Stream::new(4, "panel");
        let a = Matrix::from_fn(70, 50, |_, _| random.normal());
        let x: Vec<f64> = (0..50).map(|_| random.normal()).collect();
        let panel = PanelMatrix::new(&a);
        let (mut dispatched, mut narrow) = (panel.output(), panel.output());
        panel.multiply(&x, &mut dispatched);
        product::<f64, 16>(&panel.data, &x, &mut narrow);
        assert_eq!(dispatched, narrow);
    }

    #[test]
    fn vectors_side_by_side_have_the_bits_of_one_each() {
        let mut random = Stream::new(7, "panel");
        for (rows, columns, count) in [(3, 5, 1), (3, 5, 4), (21, 8, 7), (70, 33, 16), (6, 0, 0)] {
            let panel = PanelMatrix::new(&Matrix::from_fn(rows, columns, |_, _| random.normal()));
            let x: Vec<f64> = (0..columns * count).map(|_| random.normal()).collect();
            let mut y = vec![0.0; panel.padded_rows() * count.max(1)];
            panel.multiply_side_by_side(&x, &mut y);
            for one in 0..count {
                let own: Vec<f64> = x[one..].iter().step_by(count).copied().collect();
                let mut alone = panel.output();
                panel.multiply(&own, &mut alone);
                let ours: Vec<f64> = y[one..].iter().step_by(count).copied().collect();
                assert_eq!(ours[..rows], alone[..rows]);
            }
        }
    }

    #[test]
    fn every_lane_has_the_bits_of_its_own_product() {
        let mut random = Stream::new(6, "panel");
        for (rows, columns, zeros) in [(1, 1, 0), (7, 9, 2), (18, 5, 5), (33, 20, 1)] {
            let matrices: [PanelMatrix; LANES] = std::array::from_fn(|_| {
                let kept = columns - zeros;
                let mut entry = |_, column| if column < kept { random.normal() } else { 0.0 };
                PanelMatrix::new(&Matrix::from_fn(rows, columns, &mut entry))
            });
            let x: Vec<Lanes> = (0..columns).map(|_| Lanes::each(|_| random.normal())).collect();
            let four = PanelMatrix::side_by_side(matrices.each_ref()).unwrap();
            assert_eq!(four.columns(), columns - zeros);
            let mut y = four.output();
            four.multiply(&x[..four.columns()], &mut y);
            for (lane, matrix) in matrices.iter().enumerate() {
                let of_lane: Vec<f64> = x.iter().map(|x| x[lane]).collect();
                let mut alone = matrix.output();
                matrix.multiply(&of_lane, &mut alone);
                let ours: Vec<f64> = y[..rows].iter().map(|y| y[lane]).collect();
                assert_eq!(ours, alone[..rows]);
            }
        }
        let [small, large] = [2, 3].map(|n| PanelMatrix::new(&Matrix::identity(n, n)));
        assert!(PanelMatrix::side_by_side([&small, &small, &large, &small]).is_none());
    }
}
