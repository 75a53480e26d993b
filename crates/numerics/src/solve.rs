//! Dense solutions that are numbers, or none.

use nalgebra::{ComplexField, DMatrix};

/// Whether every entry is a finite number.
pub fn is_finite<T: ComplexField>(matrix: &DMatrix<T>) -> bool {
    matrix.iter().all(ComplexField::is_finite)
}

/// A⁻¹ B by LU; `None` where A is singular or the answer holds what is not a
/// finite number.
pub fn solved<T: ComplexField>(a: DMatrix<T>, b: &DMatrix<T>) -> Option<DMatrix<T>> {
    a.lu().solve(b).filter(is_finite)
}

/// A⁻¹ by LU; `None` where A is singular or the answer holds what is not a finite
/// number.
pub fn inverse<T: ComplexField>(a: &DMatrix<T>) -> Option<DMatrix<T>> {
    a.clone().try_inverse().filter(is_finite)
}

#[cfg(test)]
mod tests {
    use crate::Complex;

    use super::*;
    use crate::Matrix;

    #[test]
    fn nothing_that_is_not_a_number_passes() {
        let matrix = |d: f64| Matrix::from_row_slice(2, 2, &[1.0, 2.0, 2.0, d]);
        let right = Matrix::from_row_slice(2, 1, &[1.0, 3.0]);
        let x = solved(matrix(3.0), &right).unwrap();
        assert!((matrix(3.0) * x - &right).amax() < 1e-15);
        assert_eq!(solved(matrix(4.0), &right), None);
        assert_eq!(solved(matrix(f64::NAN), &right), None);
        assert_eq!((inverse(&matrix(f64::NAN)), inverse(&matrix(4.0))), (None, None));
        assert!((matrix(3.0) * inverse(&matrix(3.0)).unwrap()).is_identity(1e-14));
        assert_eq!(solved(matrix(3.0), &right.map(|_| f64::NAN)), None);
        let complex = matrix(f64::INFINITY).map(|value| Complex::new(0.0, value));
        assert_eq!(solved(complex, &right.map(Complex::from)), None);
    }
}
