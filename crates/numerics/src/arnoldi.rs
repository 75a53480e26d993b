//! The largest eigenvalues of a map that is known by what it does to a vector.

use crate::eigen::{ComplexPairs, EigenError, general_pairs};
use crate::random::Stream;
use crate::{Complex, ComplexMatrix, Matrix, Vector};

/// Residuals below this part of the largest eigenvalue are none.
const SETTLED: f64 = 1e-10;
/// Directions that are tried first; twice as many where they do not settle, and so on.
const DIRECTIONS: usize = 100;

/// Eigenvalues outside the circle of radius `beyond`, or the largest alone, largest
/// first, with their eigenvectors: Arnoldi's method without restart. `None` where they
/// do not settle in `most` directions.
pub fn largest(
    size: usize,
    beyond: f64,
    most: usize,
    mut apply: impl FnMut(&Vector) -> Vector,
) -> Result<Option<ComplexPairs>, EigenError> {
    let mut stream = Stream::new(1, "arnoldi");
    let first = Vector::from_fn(size, |_, _| stream.normal());
    let mut basis = vec![first.normalize()];
    let mut projected: Vec<Vector> = Vec::new();
    let most = most.min(size);
    let mut directions = DIRECTIONS.min(most);
    loop {
        while projected.len() < directions {
            let mut next = apply(&basis[projected.len()]);
            let mut column = Vector::zeros(basis.len() + 1);
            // Twice: what rounding leaves of the earlier directions goes in the second round.
            for _ in 0..2 {
                for (earlier, part) in basis.iter().zip(column.iter_mut()) {
                    let along = earlier.dot(&next);
                    next.axpy(-along, earlier, 1.0);
                    *part += along;
                }
            }
            let left = next.norm();
            column[basis.len()] = left;
            let whole = column.norm();
            projected.push(column);
            basis.push(if left > 1e-14 * whole { next / left } else { Vector::zeros(size) });
        }
        let n = projected.len();
        let square = Matrix::from_fn(n, n, |i, j| projected[j].get(i).copied().unwrap_or(0.0));
        let left = projected[n - 1][n];
        let (values, vectors) = general_pairs(&square)?;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| values[*b].norm().total_cmp(&values[*a].norm()));
        let wanted = 1.max(order.iter().filter(|k| values[**k].norm() > beyond).count());
        let settled = |k: &usize| {
            let column = vectors.column(*k);
            left * column[n - 1].norm() <= SETTLED * values[*k].norm() * column.norm()
        };
        if order[..wanted].iter().all(settled) {
            let mut found = ComplexMatrix::zeros(size, wanted);
            for (mut to, k) in found.column_iter_mut().zip(&order) {
                for (direction, part) in basis.iter().zip(vectors.column(*k).iter()) {
                    to += direction.map(Complex::from) * *part;
                }
            }
            return Ok(Some((order[..wanted].iter().map(|k| values[*k]).collect(), found)));
        }
        if directions == most {
            return Ok(None);
        }
        directions = (2 * directions).min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_eigenvalues_are_those_of_the_matrix() {
        let mut stream = Stream::new(7, "arnoldi test");
        let n = 130;
        let mut matrix = Matrix::from_fn(n, n, |_, _| 0.03 * stream.normal());
        // Two pairs that stand out.
        for (at, [re, im]) in [(0, [0.9, 0.7]), (2, [-0.4, 1.0])] {
            let pair = Matrix::from_row_slice(2, 2, &[re, im, -im, re]);
            matrix.view_mut((at, at), (2, 2)).copy_from(&pair);
        }
        let all = crate::eigen::eigenvalues(&matrix).unwrap();
        let outside = all.iter().filter(|value| value.norm() > 0.9).count();
        let (found, vectors) = largest(n, 0.9, 400, |x| &matrix * x).unwrap().unwrap();
        assert_eq!((found.len(), outside), (4, 4));
        for value in &found {
            let near = all.iter().map(|other| (other - value).norm()).fold(f64::MAX, f64::min);
            assert!(near < 1e-9, "{value}: {near}");
        }
        let error = matrix.map(Complex::from) * vectors.column(1) - vectors.column(1) * found[1];
        assert!(error.norm() < 1e-8);
    }
}
