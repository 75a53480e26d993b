//! Eigenvalues of small complex matrices, such as a loop gain at one frequency.

use crate::eigen;
use crate::{Complex, ComplexMatrix};

/// All eigenvalues, in no particular order; NaN for a matrix that is not finite.
///
/// One and two rows have closed forms, which is what most loops need, ten
/// thousands of times each. Beyond, the QR iteration of [`eigen`] is as fast as
/// the characteristic polynomial and its roots from five rows on, and keeps two
/// more digits at eight.
pub fn eigenvalues(matrix: &ComplexMatrix) -> Vec<Complex> {
    match matrix.nrows() {
        0 => Vec::new(),
        1 => vec![matrix[(0, 0)]],
        2 => {
            let (a, b, c, d) = (matrix[(0, 0)], matrix[(0, 1)], matrix[(1, 0)], matrix[(1, 1)]);
            let (half, product) = (0.5 * (a + d), a * d - b * c);
            let root = ((0.5 * (a - d)) * (0.5 * (a - d)) + b * c).sqrt();
            // The larger one first, so that the smaller does not cancel.
            let sign = if (half.conj() * root).re < 0.0 { -1.0 } else { 1.0 };
            let large = half + sign * root;
            let small = if large == Complex::ZERO { large } else { product / large };
            vec![large, small]
        }
        n => eigen::complex_eigenvalues(matrix)
            .unwrap_or_else(|| vec![Complex::new(f64::NAN, f64::NAN); n]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn a_turned_diagonal_gives_its_diagonal() {
        let mut random = Stream::new(2, "complex_eigen");
        for n in 1..=12 {
            for _ in 0..20 {
                let mut number =
                    || Complex::new(random.uniform() - 0.5, random.uniform() - 0.5) * 4.0;
                let wanted: Vec<Complex> = (0..n).map(|_| number()).collect();
                let turn = ComplexMatrix::from_fn(n, n, |i, j| {
                    number() * 0.2 + if i == j { Complex::ONE } else { Complex::ZERO }
                });
                let inverse = turn.clone().try_inverse().unwrap();
                let diagonal =
                    ComplexMatrix::from_diagonal(&nalgebra::DVector::from_vec(wanted.clone()));
                let found = eigenvalues(&(turn * diagonal * inverse));
                assert_eq!(found.len(), n);
                for value in wanted {
                    let near = found.iter().map(|f| (f - value).norm()).fold(f64::MAX, f64::min);
                    assert!(near < 1e-10, "{n}: {value} {near:e}");
                }
            }
        }
    }

    #[test]
    fn rank_one_and_zero_and_not_a_number() {
        let ones = ComplexMatrix::from_element(4, 4, Complex::new(0.0, 2.0));
        let mut found = eigenvalues(&ones);
        found.sort_by(|a, b| b.norm().total_cmp(&a.norm()));
        assert!((found[0] - Complex::new(0.0, 8.0)).norm() < 1e-12, "{found:?}");
        assert!(found[1].norm() < 1e-12, "{found:?}");
        assert_eq!(eigenvalues(&ComplexMatrix::zeros(3, 3)), vec![Complex::ZERO; 3]);
        let nan = ComplexMatrix::from_element(3, 3, Complex::new(f64::NAN, 0.0));
        assert!(eigenvalues(&nan).iter().all(|x| x.re.is_nan()));
        let two = ComplexMatrix::from_row_slice(2, 2, &[1e8, 1.0, 0.0, 1e-8].map(Complex::from));
        assert!((eigenvalues(&two)[1] - 1e-8).norm() < 1e-22);
    }
}
