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

    /// Number of states.
    pub fn states(&self) -> usize {
        self.rows.len()
    }

    /// C (zI − A)⁻¹ B; `None` where z is a pole.
    pub fn at(&self, z: Complex<f64>) -> Option<DMatrix<Complex<f64>>> {
        let (n, columns) = (self.rows.len(), self.input.ncols());
        // Elimination from the top: one entry below the diagonal per column, and
        // the larger of two rows as pivot. `upper[i]` begins at column i.
        let row = |i: usize| -> Vec<Complex<f64>> {
            let before = i.saturating_sub(1);
            let place = |(k, &h): (usize, &f64)| {
                let unit = if before + k == i { z } else { Complex::ZERO };
                unit - h
            };
            self.rows[i].iter().enumerate().map(place).collect()
        };
        let right = |i: usize| -> Vec<Complex<f64>> {
            self.input.row(i).iter().map(|&b| Complex::from(b)).collect()
        };
        let mut upper: Vec<Vec<Complex<f64>>> = Vec::with_capacity(n);
        let mut solved: Vec<Vec<Complex<f64>>> = Vec::with_capacity(n);
        if n == 0 {
            return Some(DMatrix::zeros(self.output.nrows(), columns));
        }
        let (mut current, mut b) = (row(0), right(0));
        for i in 1..n {
            let (mut next, mut c) = (row(i), right(i));
            if next[0].norm_sqr() > current[0].norm_sqr() {
                std::mem::swap(&mut next, &mut current);
                std::mem::swap(&mut c, &mut b);
            }
            if current[0] == Complex::ZERO {
                return None;
            }
            let factor = next[0] / current[0];
            for (x, y) in next.iter_mut().zip(&current).skip(1) {
                *x -= factor * y;
            }
            for (x, y) in c.iter_mut().zip(&b) {
                *x -= factor * y;
            }
            next.remove(0);
            upper.push(current);
            solved.push(b);
            (current, b) = (next, c);
        }
        upper.push(current);
        solved.push(b);
        for i in (0..n).rev() {
            let (head, tail) = solved.split_at_mut(i + 1);
            let own = &mut head[i];
            for (u, later) in upper[i][1..].iter().zip(tail.iter()) {
                for (x, y) in own.iter_mut().zip(later) {
                    *x -= u * y;
                }
            }
            let pivot = upper[i][0];
            if pivot == Complex::ZERO {
                return None;
            }
            own.iter_mut().for_each(|x| *x /= pivot);
        }
        let mut answer: DMatrix<Complex<f64>> = DMatrix::zeros(self.output.nrows(), columns);
        for (k, x) in solved.iter().enumerate() {
            for (column, value) in x.iter().enumerate() {
                for line in 0..self.output.nrows() {
                    answer[(line, column)] += value * self.output[(line, k)];
                }
            }
        }
        answer.iter().all(|x| x.re.is_finite() && x.im.is_finite()).then_some(answer)
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
