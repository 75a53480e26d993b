//! C (zI − A)⁻¹ B at many points z.

use nalgebra::linalg::Hessenberg;
use nalgebra::{Complex, DMatrix};

/// A system prepared for its response: A is brought to Hessenberg form once by
/// reflections, so that a point costs n² instead of n³.
///
/// Eigenvectors would make it n, and lose every digit for a matrix that has
/// nearly parallel ones, as a step matrix with a double pole does.
#[derive(Debug, Clone)]
pub struct Resolvent {
    /// Rows of H, from the entry before the diagonal on.
    rows: Vec<Vec<f64>>,
    input: DMatrix<f64>,
    output: DMatrix<f64>,
}

impl Resolvent {
    /// For the system A, B, C. A is square; B and C fit it.
    pub fn new(a: &DMatrix<f64>, b: &DMatrix<f64>, c: &DMatrix<f64>) -> Self {
        let n = a.nrows();
        let (turn, hessenberg) = if n > 1 {
            Hessenberg::new(a.clone()).unpack()
        } else {
            (DMatrix::identity(n, n), a.clone())
        };
        let rows = (0..n)
            .map(|i| (i.saturating_sub(1)..n).map(|j| hessenberg[(i, j)]).collect())
            .collect();
        Self { rows, input: turn.transpose() * b, output: c * turn }
    }

    /// C (zI − A)⁻¹ B; `None` where z is a pole.
    pub fn at(&self, z: Complex<f64>) -> Option<DMatrix<Complex<f64>>> {
        let solved = self.solve(z, self.input.map(Complex::from))?;
        Some(self.seen(&solved))
    }

    /// The same and its derivative −C (zI − A)⁻² B.
    pub fn with_slope(&self, z: Complex<f64>) -> Option<[DMatrix<Complex<f64>>; 2]> {
        let once = self.solve(z, self.input.map(Complex::from))?;
        let twice = self.solve(z, once.clone())?;
        Some([self.seen(&once), -self.seen(&twice)])
    }

    fn seen(&self, states: &DMatrix<Complex<f64>>) -> DMatrix<Complex<f64>> {
        DMatrix::from_fn(self.output.nrows(), states.ncols(), |i, j| {
            self.output.row(i).iter().zip(states.column(j).iter()).map(|(c, x)| x * *c).sum()
        })
    }

    /// (zI − H)⁻¹ times the columns of `right`.
    fn solve(
        &self,
        z: Complex<f64>,
        right: DMatrix<Complex<f64>>,
    ) -> Option<DMatrix<Complex<f64>>> {
        let (n, columns) = right.shape();
        // Rows of zI − H with the right side behind them.
        let width = n + columns;
        let mut work = vec![Complex::new(0.0, 0.0); n * width];
        for (i, row) in work.chunks_exact_mut(width.max(1)).enumerate() {
            let first = i.saturating_sub(1);
            for (entry, h) in row[first..n].iter_mut().zip(&self.rows[i]) {
                entry.re = -h;
            }
            row[i] += z;
            for (entry, b) in row[n..].iter_mut().zip(right.row(i).iter()) {
                *entry = *b;
            }
        }
        // From the top: one entry below the diagonal per column, and the larger
        // of two rows as pivot.
        for i in 1..n {
            let (above, below) = work.split_at_mut(i * width);
            let (above, below) = (&mut above[(i - 1) * width..], &mut below[..width]);
            let (above, below) = (&mut above[i - 1..], &mut below[i - 1..]);
            if below[0].norm_sqr() > above[0].norm_sqr() {
                above.swap_with_slice(below);
            }
            if above[0].norm_sqr() == 0.0 {
                return None;
            }
            let factor = below[0] / above[0];
            for (x, y) in below[1..].iter_mut().zip(&above[1..]) {
                *x -= factor * y;
            }
        }
        for i in (0..n).rev() {
            let (above, below) = work.split_at_mut((i + 1) * width);
            let own = &mut above[i * width..];
            let (left, right) = own.split_at_mut(n);
            for (k, u) in left[i + 1..].iter().enumerate() {
                let later = &below[k * width + n..(k + 1) * width];
                for (x, y) in right.iter_mut().zip(later) {
                    *x -= u * y;
                }
            }
            let pivot = left[i].inv();
            right.iter_mut().for_each(|x| *x *= pivot);
        }
        let solved = DMatrix::from_fn(n, columns, |i, j| work[i * width + n + j]);
        solved.iter().all(|x| x.re.is_finite() && x.im.is_finite()).then_some(solved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn it_is_the_inverse_of_any_size() {
        let mut random = Stream::new(1, "resolvent");
        for n in [0, 1, 2, 3, 8, 40] {
            let mut matrix = |r, c| DMatrix::from_fn(r, c, |_, _| random.uniform() - 0.5);
            let (a, b, c) = (matrix(n, n), matrix(n, 3), matrix(2, n));
            let resolvent = Resolvent::new(&a, &b, &c);
            for z in [Complex::new(0.3, 1.0), Complex::new(1.0, 0.0), Complex::new(-2.0, 0.1)] {
                let full = DMatrix::from_fn(n, n, |i, j| {
                    (if i == j { z } else { Complex::ZERO }) - a[(i, j)]
                });
                let direct = if n == 0 {
                    DMatrix::zeros(2, 3)
                } else {
                    c.map(Complex::from) * full.lu().solve(&b.map(Complex::from)).unwrap()
                };
                let found = resolvent.at(z).unwrap();
                let apart = (&found - &direct).map(Complex::norm).amax();
                assert!(apart < 1e-11 * (1.0 + direct.map(Complex::norm).amax()), "{n} {apart}");
            }
        }
    }

    #[test]
    fn a_pole_has_no_response() {
        let a = DMatrix::from_diagonal_element(1, 1, 2.0);
        let resolvent = Resolvent::new(&a, &DMatrix::identity(1, 1), &DMatrix::identity(1, 1));
        assert!(resolvent.at(Complex::new(2.0, 0.0)).is_none());
        assert!(resolvent.at(Complex::new(f64::NAN, 0.0)).is_none());
    }
}
