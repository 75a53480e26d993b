//! Matrix–vector products for the loop: no allocation, same bits everywhere.

use nalgebra::DMatrix;

use crate::simd::for_avx2;

/// A matrix laid out for `y = A x` inside the tick.
///
/// Rows are cut into panels of fixed height and each panel is stored column by
/// column, so that the product keeps its accumulators in registers and reads
/// memory once, in order. The same code serves six states and six hundred.
///
/// Wider vector instructions are used where the processor has them. They never
/// fuse multiply and add, and every row is summed in one fixed order, so the
/// result has the same bits on every x86-64 machine.
#[derive(Debug, Clone)]
pub struct PanelMatrix {
    rows: usize,
    columns: usize,
    padded_rows: usize,
    data: Vec<f64>,
    kernel: Kernel,
}

type Kernel = fn(&[f64], &[f64], &mut [f64]);

impl PanelMatrix {
    /// Lays out `matrix`.
    pub fn new(matrix: &DMatrix<f64>) -> Self {
        let (rows, columns) = matrix.shape();
        let height = panel_height(rows);
        let padded_rows = rows.div_ceil(height) * height;
        let mut data = vec![0.0; padded_rows * columns];
        for row in 0..rows {
            let (panel, within) = (row / height, row % height);
            for column in 0..columns {
                data[(panel * columns + column) * height + within] = matrix[(row, column)];
            }
        }
        Self { rows, columns, padded_rows, data, kernel: kernel(height) }
    }

    /// Rows of the matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the matrix, the length of `x`.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One entry, for those who lay the matrix out in another way.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        let height = panel_height(self.rows);
        let (panel, within) = (row / height, row % height);
        self.data[(panel * self.columns + column) * height + within]
    }

    /// Length that `y` must have; entries past [`rows`](Self::rows) become zero.
    pub fn padded_rows(&self) -> usize {
        self.padded_rows
    }

    /// A zero vector long enough for `y`.
    pub fn output(&self) -> Vec<f64> {
        vec![0.0; self.padded_rows]
    }

    /// `y = A x`. Both lengths must fit; extra entries of `x` are an error of the caller.
    #[inline]
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        debug_assert_eq!(x.len(), self.columns);
        debug_assert_eq!(y.len(), self.padded_rows);
        if self.columns == 0 {
            y.fill(0.0);
        } else {
            (self.kernel)(&self.data, x, y);
        }
    }
}

impl PanelMatrix {
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
                let part: f64 = column.iter().zip(rows).map(|(a, x)| a * x).sum();
                sum += factor * part;
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

/// The least height of a panel.
const SMALL: usize = 4;

/// The height that wastes few rows and still fills the vector units.
fn panel_height(rows: usize) -> usize {
    match rows {
        0..=SMALL => SMALL,
        5..=8 => 8,
        9..=12 => 12,
        13..=16 => 16,
        17..=24 => 12,
        _ => 16,
    }
}

fn kernel(height: usize) -> Kernel {
    match height {
        4 => dispatch::<4>(),
        8 => dispatch::<8>(),
        12 => dispatch::<12>(),
        _ => dispatch::<16>(),
    }
}

fn dispatch<const H: usize>() -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return wide_product::<H>;
    }
    product::<H>
}

/// Even and odd columns are summed apart, so that an addition need not wait
/// for the one before; a small product is nothing but waiting otherwise.
#[inline(always)]
fn product<const H: usize>(data: &[f64], x: &[f64], y: &mut [f64]) {
    let columns = data.as_chunks::<H>().0;
    let (pairs, last) = x.as_chunks::<2>();
    for (panel, out) in columns.chunks_exact(x.len()).zip(y.as_chunks_mut::<H>().0) {
        let (mut even, mut odd) = ([0.0; H], [0.0; H]);
        let (panel_pairs, panel_last) = panel.as_chunks::<2>();
        for ([a, b], [p, q]) in panel_pairs.iter().zip(pairs) {
            for i in 0..H {
                even[i] += a[i] * p;
                odd[i] += b[i] * q;
            }
        }
        if let ([a], [p]) = (panel_last, last) {
            for i in 0..H {
                even[i] += a[i] * p;
            }
        }
        for i in 0..H {
            out[i] = even[i] + odd[i];
        }
    }
}

for_avx2!(wide_product<const H>, product(data: &[f64], x: &[f64], y: &mut [f64]));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;
    use nalgebra::DVector;

    #[test]
    fn every_size_agrees_with_a_plain_product() {
        let mut random = Stream::new(3, "panel");
        for (rows, columns) in
            [(1, 1), (3, 3), (6, 9), (11, 14), (16, 2), (23, 7), (40, 41), (130, 90), (5, 0)]
        {
            let a = DMatrix::from_fn(rows, columns, |_, _| random.normal());
            let x = DVector::from_fn(columns, |_, _| random.normal());
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
            let a = DMatrix::from_fn(n, n, |_, _| random.normal());
            let x = DVector::from_fn(n, |_, _| random.normal());
            let expected = x.dot(&(&a * &x));
            let found = PanelMatrix::new(&a).quadratic(x.as_slice());
            assert!((found - expected).abs() < 1e-12 * (n * n) as f64, "{n}");
        }
    }

    #[test]
    fn the_wide_kernel_gives_the_bits_of_the_narrow_one() {
        let mut random = Stream::new(4, "panel");
        let a = DMatrix::from_fn(70, 50, |_, _| random.normal());
        let x: Vec<f64> = (0..50).map(|_| random.normal()).collect();
        let panel = PanelMatrix::new(&a);
        let (mut dispatched, mut narrow) = (panel.output(), panel.output());
        panel.multiply(&x, &mut dispatched);
        product::<16>(&panel.data, &x, &mut narrow);
        assert_eq!(dispatched, narrow);
    }
}
