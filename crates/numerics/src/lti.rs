//! Transfer functions and their state-space form.

use thiserror::Error;

use crate::linear_system::{LinearSystem, Time};
use crate::{Complex, Matrix};

/// What is wrong with a transfer function.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TransferFunctionError {
    /// A list is empty or all zero.
    #[error("the {0} of the transfer function has no coefficient other than zero")]
    Empty(&'static str),
    /// A coefficient is not a number.
    #[error("coefficient {index} of the {list} is {value}, not a finite number")]
    NotFinite {
        /// `numerator` or `denominator`.
        list: &'static str,
        /// Position from 1.
        index: usize,
        /// The coefficient.
        value: f64,
    },
    /// The numerator's degree is above the denominator's.
    #[error("the numerator has degree {numerator}, the denominator {denominator}: not proper")]
    Improper {
        /// Degree of the numerator.
        numerator: usize,
        /// Degree of the denominator.
        denominator: usize,
    },
}

/// A proper rational transfer function, coefficients in descending powers of s.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferFunction {
    numerator: Vec<f64>,
    denominator: Vec<f64>,
}

impl TransferFunction {
    /// Checks and stores the coefficients; leading zeros are dropped.
    pub fn new(numerator: &[f64], denominator: &[f64]) -> Result<Self, TransferFunctionError> {
        let numerator = trimmed("numerator", numerator)?;
        let denominator = trimmed("denominator", denominator)?;
        if numerator.len() > denominator.len() {
            return Err(TransferFunctionError::Improper {
                numerator: numerator.len() - 1,
                denominator: denominator.len() - 1,
            });
        }
        Ok(Self { numerator, denominator })
    }

    /// Coefficients of the numerator, descending powers of s.
    pub fn numerator(&self) -> &[f64] {
        &self.numerator
    }

    /// Coefficients of the denominator, descending powers of s.
    pub fn denominator(&self) -> &[f64] {
        &self.denominator
    }

    /// Number of poles.
    pub fn order(&self) -> usize {
        self.denominator.len() - 1
    }

    /// The value at s = jω.
    pub fn response(&self, omega_rad_s: f64) -> Complex {
        let s = Complex::new(0.0, omega_rad_s);
        polynomial(&self.numerator, s) / polynomial(&self.denominator, s)
    }

    /// Phase delay at a frequency, the time by which a sine comes late, for a
    /// phase between −π and π.
    pub fn phase_delay_s(&self, omega_rad_s: f64) -> f64 {
        -self.response(omega_rad_s).arg() / omega_rad_s
    }

    /// Controllable form ẋ = A x + B u, y = C x + D u.
    ///
    /// Time is scaled by the geometric mean of the poles, so that the entries
    /// stay within a few decades even for a fifth-order actuator whose
    /// coefficients span ten.
    pub fn state_space(&self) -> LinearSystem {
        let n = self.order();
        let lead = self.denominator[0];
        let a: Vec<f64> = self.denominator[1..].iter().map(|c| c / lead).collect();
        let mut b = vec![0.0; n + 1 - self.numerator.len()];
        b.extend(self.numerator.iter().map(|c| c / lead));
        let d = b[0];
        let scale = time_scale(&a);

        let mut matrix = Matrix::zeros(n, n);
        let mut output = Matrix::zeros(1, n);
        for i in 0..n {
            // State i is scale^(n−1−i) times the i-th derivative of the core signal.
            if i + 1 < n {
                matrix[(i, i + 1)] = scale;
            }
            let power = scale.powi((n - 1 - i) as i32);
            matrix[(n - 1, i)] = -a[n - 1 - i] / power;
            output[(0, i)] = (b[n - i] - a[n - 1 - i] * d) / power;
        }
        let mut input = Matrix::zeros(n, 1);
        if n > 0 {
            input[(n - 1, 0)] = 1.0;
        }
        LinearSystem::new(matrix, input, output, Matrix::from_element(1, 1, d), Time::Continuous)
    }
}

fn trimmed(list: &'static str, values: &[f64]) -> Result<Vec<f64>, TransferFunctionError> {
    if let Some(index) = values.iter().position(|v| !v.is_finite()) {
        let value = values[index];
        return Err(TransferFunctionError::NotFinite { list, index: index + 1, value });
    }
    let first = values.iter().position(|&v| v != 0.0);
    first.map(|i| values[i..].to_vec()).ok_or(TransferFunctionError::Empty(list))
}

fn polynomial(descending: &[f64], s: Complex) -> Complex {
    descending.iter().fold(Complex::new(0.0, 0.0), |sum, &c| sum * s + c)
}

fn time_scale(monic_tail: &[f64]) -> f64 {
    // Poles at zero leave the last coefficients zero; the others set the scale.
    let last = monic_tail.iter().rposition(|&c| c != 0.0);
    last.map_or(1.0, |i| monic_tail[i].abs().powf(1.0 / (i + 1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The actuator and specimen of the virtual RTHS benchmark (Silva et al. 2020).
    fn benchmark() -> TransferFunction {
        TransferFunction::new(&[2.19e13], &[29.1, 1.26e4, 8.42e6, 2.33e9, 5.44e11, 2.17e13])
            .unwrap()
    }

    #[test]
    fn benchmark_gain_and_delay() {
        let plant = benchmark();
        assert!((plant.response(0.0).re - 1.0092).abs() < 1e-4);
        let delay_ms = 1e3 * plant.phase_delay_s(3.61 * std::f64::consts::TAU);
        assert!((delay_ms - 23.7).abs() < 0.05, "{delay_ms}");
    }

    #[test]
    fn state_space_has_the_same_response() {
        let cases = [
            benchmark(),
            TransferFunction::new(&[1.0, 3.0], &[2.0, 1.0, 5.0, 0.0]).unwrap(),
            TransferFunction::new(&[2.0, 1.0], &[1.0, 4.0]).unwrap(),
            TransferFunction::new(&[3.0], &[2.0]).unwrap(),
        ];
        for tf in cases {
            let ss = tf.state_space();
            let n = tf.order();
            for omega in [0.3, 10.0, 90.0] {
                let s = Complex::new(0.0, omega);
                let resolvent = crate::ComplexMatrix::from_fn(n, n, |i, j| {
                    Complex::from(-ss.a[(i, j)]) + if i == j { s } else { Complex::from(0.0) }
                });
                let mut y = Complex::from(ss.d[(0, 0)]);
                if n > 0 {
                    let x = resolvent.lu().solve(&ss.b.map(Complex::from)).expect("no pole");
                    y += (ss.c.map(Complex::from) * x)[(0, 0)];
                }
                let expected = tf.response(omega);
                assert!((y - expected).norm() < 1e-11 * expected.norm(), "{y} {expected}");
            }
        }
    }

    #[test]
    fn bad_coefficients_are_refused() {
        assert!(matches!(
            TransferFunction::new(&[1.0, 0.0], &[1.0]),
            Err(TransferFunctionError::Improper { numerator: 1, denominator: 0 })
        ));
        assert!(TransferFunction::new(&[0.0], &[1.0]).is_err());
        assert!(TransferFunction::new(&[1.0], &[f64::NAN, 1.0]).is_err());
    }
}
