//! Equations of second order, M ẍ + C ẋ + K x = f, symmetric or not.

use crate::block::{hstack, vstack};
use crate::eigen;
use crate::solve::is_finite;
use crate::{Complex, ComplexMatrix, Matrix};

/// The matrices in front of the second, first and zeroth derivative, dense or sparse.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondOrder<M = Matrix> {
    /// M.
    pub mass: M,
    /// C.
    pub damping: M,
    /// K.
    pub stiffness: M,
}

impl<M> SecondOrder<M> {
    /// M, C and K.
    pub fn each(&self) -> [&M; 3] {
        [&self.mass, &self.damping, &self.stiffness]
    }

    /// The same made of all three.
    pub fn map<T>(&self, mut make: impl FnMut(&M) -> T) -> SecondOrder<T> {
        let [mass, damping, stiffness] = self.each().map(&mut make);
        SecondOrder { mass, damping, stiffness }
    }

    /// The same made of both of each.
    pub fn zip<T>(&self, other: &Self, make: impl Fn(&M, &M) -> T) -> SecondOrder<T> {
        SecondOrder {
            mass: make(&self.mass, &other.mass),
            damping: make(&self.damping, &other.damping),
            stiffness: make(&self.stiffness, &other.stiffness),
        }
    }
}

impl SecondOrder {
    /// λ²M + λC + K.
    pub fn at(&self, s: Complex) -> ComplexMatrix {
        let square = s * s;
        ComplexMatrix::from_fn(self.mass.nrows(), self.mass.ncols(), |i, j| {
            let at = (i, j);
            square * self.mass[at] + s * self.damping[at] + self.stiffness[at]
        })
    }

    /// 2λM + C.
    pub fn slope(&self, s: Complex) -> ComplexMatrix {
        ComplexMatrix::from_fn(self.mass.nrows(), self.mass.ncols(), |i, j| {
            2.0 * s * self.mass[(i, j)] + self.damping[(i, j)]
        })
    }

    /// [0 I; −M⁻¹K −M⁻¹C]; `None` where M has no inverse in numbers.
    pub fn state_matrix(&self) -> Option<Matrix> {
        let factor = self.mass.clone().lu();
        let matrix = joined(-factor.solve(&self.stiffness)?, -factor.solve(&self.damping)?);
        is_finite(&matrix).then_some(matrix)
    }

    /// Whether all three are symmetric but for rounding.
    pub fn is_symmetric(&self) -> bool {
        self.each().into_iter().all(is_symmetric)
    }
}

/// Whether mirrored entries differ by rounding at most.
pub fn is_symmetric(matrix: &Matrix) -> bool {
    eigen::is_symmetric(matrix, 1e-9)
}

/// [0 I; −M⁻¹K −M⁻¹C] from the inverse of M.
pub fn companion(mass_inverse: &Matrix, damping: &Matrix, stiffness: &Matrix) -> Matrix {
    joined(-mass_inverse * stiffness, -mass_inverse * damping)
}

/// [0 I; A B].
fn joined(a: Matrix, b: Matrix) -> Matrix {
    let n = a.nrows();
    let velocity = hstack(&[&Matrix::zeros(n, n), &Matrix::identity(n, n)]);
    vstack(&[&velocity, &hstack(&[&a, &b])])
}

/// The inverse, by Cholesky where the matrix is symmetric and positive definite;
/// `None` where it has none in numbers. NaN never passes.
pub fn inverted(matrix: &Matrix) -> Option<Matrix> {
    let definite = is_symmetric(matrix).then(|| matrix.clone().cholesky()).flatten();
    let inverse = match definite {
        Some(factor) => factor.inverse(),
        None => matrix.clone().try_inverse()?,
    };
    is_finite(&inverse).then_some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(a: f64, b: f64, c: f64, d: f64) -> Matrix {
        Matrix::from_row_slice(2, 2, &[a, b, c, d])
    }

    #[test]
    fn a_rotor_splits_its_frequency_and_circulation_makes_it_grow() {
        // A unit mass on unit springs in a plane: ω² ∓ gω − 1 = 0 with gyroscopic g.
        let rotor = |gyroscopic: f64, circulatory: f64| SecondOrder {
            mass: Matrix::identity(2, 2),
            damping: pair(0.0, gyroscopic, -gyroscopic, 0.0),
            stiffness: pair(1.0, circulatory, -circulatory, 1.0),
        };
        let roots =
            |rotor: SecondOrder| eigen::eigenvalues(&rotor.state_matrix().unwrap()).unwrap();
        let mut found = roots(rotor(0.6, 0.0));
        found.sort_by(|a, b| a.im.total_cmp(&b.im));
        let root = (1.0f64 + 0.09).sqrt();
        for (value, omega) in found.iter().zip([-root - 0.3, -root + 0.3, root - 0.3, root + 0.3]) {
            assert!((value - Complex::new(0.0, omega)).norm() < 1e-12, "{value}");
        }
        // λ² = −1 ± jk: forward whirl grows, however small k is.
        let growth = |k: f64| {
            let values = roots(rotor(0.0, k));
            values.iter().map(|value| value.re).fold(f64::NEG_INFINITY, f64::max)
        };
        let exact = Complex::new(-1.0, 0.01).sqrt().re;
        assert!((growth(0.01) - exact).abs() < 1e-12);
        assert!(!rotor(0.1, 0.0).is_symmetric() && rotor(0.0, 0.0).is_symmetric());
    }

    #[test]
    fn a_matrix_that_is_definite_in_its_lower_half_alone_is_inverted_whole() {
        // Cholesky would read the lower half and answer for another matrix.
        let matrix = pair(2.0, 1.5, 0.1, 1.0);
        let inverse = inverted(&matrix).unwrap();
        assert!((matrix * inverse - Matrix::identity(2, 2)).amax() < 1e-14);
    }

    #[test]
    fn no_inverse_holds_what_is_not_a_number() {
        assert!(inverted(&pair(1.0, 0.0, 0.0, f64::NAN)).is_none());
        assert!(inverted(&pair(1.0, f64::NAN, 0.0, 1.0)).is_none());
        assert!(inverted(&pair(1.0, 1.0, 1.0, 1.0)).is_none());
        assert!(inverted(&pair(1e-320, 0.0, 0.0, 1.0)).is_none());
    }
}
