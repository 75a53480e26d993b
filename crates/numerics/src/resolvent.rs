//! C (zI − A)⁻¹ B at many points z.

use nalgebra::linalg::Hessenberg;

use crate::solve::is_finite;
use crate::{Complex, ComplexMatrix, Matrix};

/// A system prepared for its response: A is brought to Hessenberg form once by
/// reflections, so that a point costs n² instead of n³.
///
/// Eigenvectors would make it n, and lose every digit for a matrix that has
/// nearly parallel ones, as a step matrix with a double pole does.
#[derive(Debug, Clone)]
pub struct Resolvent {
    /// −Hᵀ: its columns are the rows that are eliminated.
    rows: ComplexMatrix,
    input: ComplexMatrix,
    output: ComplexMatrix,
}

impl Resolvent {
    /// For the system A, B, C. A is square; B and C fit it.
    pub fn new(a: &Matrix, b: &Matrix, c: &Matrix) -> Self {
        let n = a.nrows();
        let (turn, hessenberg) = if n > 1 {
            Hessenberg::new(a.clone()).unpack()
        } else {
            (Matrix::identity(n, n), a.clone())
        };
        let rows = -hessenberg.transpose().map(Complex::from);
        let (input, output) = (turn.transpose() * b, c * turn);
        Self { rows, input: input.map(Complex::from), output: output.map(Complex::from) }
    }

    /// C (zI − A)⁻¹ B; `None` where z is a pole.
    pub fn at(&self, z: Complex) -> Option<ComplexMatrix> {
        Some(&self.output * self.solve(z, self.input.clone())?)
    }

    /// The same and its derivative −C (zI − A)⁻² B.
    pub fn with_slope(&self, z: Complex) -> Option<[ComplexMatrix; 2]> {
        let once = self.solve(z, self.input.clone())?;
        let twice = self.solve(z, once.clone())?;
        Some([&self.output * once, -(&self.output * twice)])
    }

    /// (zI − H)⁻¹ times the columns of `right`.
    fn solve(&self, z: Complex, mut right: ComplexMatrix) -> Option<ComplexMatrix> {
        let n = right.nrows();
        let mut rows = self.rows.clone();
        for i in 0..n {
            rows[(i, i)] += z;
        }
        // From the top: one entry below the diagonal per column, and the larger
        // of two rows as pivot.
        for i in 1..n {
            if rows[(i - 1, i)].norm_sqr() > rows[(i - 1, i - 1)].norm_sqr() {
                rows.swap_columns(i - 1, i);
                right.swap_rows(i - 1, i);
            }
            if rows[(i - 1, i - 1)] == Complex::ZERO {
                return None;
            }
            let factor = rows[(i - 1, i)] / rows[(i - 1, i - 1)];
            let (above, mut below) = rows.columns_range_pair_mut(i - 1, i);
            below.rows_mut(i, n - i).axpy(-factor, &above.rows(i, n - i), Complex::ONE);
            let (above, mut below) = right.rows_range_pair_mut(i - 1, i);
            below.zip_apply(&above, |x, y| *x -= factor * y);
        }
        rows.tr_solve_lower_triangular(&right).filter(is_finite)
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
            let mut matrix = |r, c| Matrix::from_fn(r, c, |_, _| random.uniform() - 0.5);
            let (a, b, c) = (matrix(n, n), matrix(n, 3), matrix(2, n));
            let resolvent = Resolvent::new(&a, &b, &c);
            for z in [Complex::new(0.3, 1.0), Complex::new(1.0, 0.0), Complex::new(-2.0, 0.1)] {
                let full = ComplexMatrix::from_fn(n, n, |i, j| {
                    (if i == j { z } else { Complex::ZERO }) - a[(i, j)]
                });
                let direct = if n == 0 {
                    ComplexMatrix::zeros(2, 3)
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
        let a = Matrix::from_diagonal_element(1, 1, 2.0);
        let resolvent = Resolvent::new(&a, &Matrix::identity(1, 1), &Matrix::identity(1, 1));
        assert!(resolvent.at(Complex::new(2.0, 0.0)).is_none());
        assert!(resolvent.at(Complex::new(f64::NAN, 0.0)).is_none());
    }
}
