//! The residuals of a fit and their derivatives.

use super::{Orders, PureDelay, ResponseData};
use crate::levenberg_marquardt::LeastSquares;
use crate::{Complex, Matrix, Vector};

/// Σ |e^{−sτ} b/a − H|²/σ², with real and imaginary parts as residuals of unit
/// variance.
///
/// The parameters are b₀ … b_m, a₁ … a_n, and the delay if it is free. a₀ is 1: the
/// function has no pole at zero. Powers are of s over the scale.
pub(super) struct Problem<'a> {
    pub(super) data: &'a ResponseData,
    pub(super) orders: Orders,
    /// Unit of the scaled frequency: the highest of the data.
    pub(super) scale_rad_s: f64,
    /// The delay times the scale; `None` if it is free.
    pub(super) fixed_delay: Option<f64>,
}

impl<'a> Problem<'a> {
    pub(super) fn new(data: &'a ResponseData, orders: Orders, delay: PureDelay) -> Self {
        let scale_rad_s = data.omega_rad_s.iter().copied().fold(0.0, f64::max);
        let fixed_delay = match delay {
            PureDelay::Fixed(delay_s) => Some(delay_s * scale_rad_s),
            PureDelay::Free => None,
        };
        Self { data, orders, scale_rad_s, fixed_delay }
    }

    pub(super) fn parameters(&self) -> usize {
        let Orders { numerator, denominator } = self.orders;
        numerator + 1 + denominator + usize::from(self.fixed_delay.is_none())
    }

    /// Position of a_k, k ≥ 1.
    pub(super) fn denominator_at(&self, k: usize) -> usize {
        self.orders.numerator + k
    }

    /// b and a in ascending powers.
    pub(super) fn polynomials(&self, p: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let Orders { numerator: m, denominator: n } = self.orders;
        (p[..=m].to_vec(), [&[1.0], &p[m + 1..m + 1 + n]].concat())
    }

    /// The delay times the scale.
    pub(super) fn delay(&self, p: &[f64]) -> f64 {
        self.fixed_delay.unwrap_or_else(|| p[p.len() - 1])
    }

    pub(super) fn lines(&self) -> usize {
        self.data.omega_rad_s.len()
    }

    /// Scaled frequency, response and the weight that makes real and imaginary
    /// part of unit variance.
    pub(super) fn line(&self, line: usize) -> (f64, Complex, f64) {
        let weight = std::f64::consts::SQRT_2 / self.data.deviation[line];
        (self.data.omega_rad_s[line] / self.scale_rad_s, self.data.response[line], weight)
    }

    fn visit(&self, p: &[f64], mut see: impl FnMut(usize, f64, Complex, Complex, Complex)) {
        let (b, a) = self.polynomials(p);
        let delay = self.delay(p);
        for line in 0..self.lines() {
            let (omega, response, weight) = self.line(line);
            let s = Complex::new(0.0, omega);
            let below = ascending(&a, s);
            let turn = Complex::from_polar(1.0, -omega * delay);
            see(line, weight, turn * ascending(&b, s) / below, response, turn / below);
        }
    }
}

impl LeastSquares for Problem<'_> {
    fn count(&self) -> usize {
        2 * self.lines()
    }

    fn residuals(&self, p: &[f64], r: &mut Vector) {
        self.visit(p, |line, weight, model, response, _| {
            let error = (model - response) * weight;
            (r[2 * line], r[2 * line + 1]) = (error.re, error.im);
        });
    }

    fn jacobian(&self, p: &[f64], jacobian: &mut Matrix) {
        let Orders { numerator: m, denominator: n } = self.orders;
        self.visit(p, |line, weight, model, _, over| {
            let s = Complex::new(0.0, self.line(line).0);
            let mut put = |column: usize, slope: Complex| {
                jacobian[(2 * line, column)] = weight * slope.re;
                jacobian[(2 * line + 1, column)] = weight * slope.im;
            };
            let mut power = Complex::ONE;
            for k in 0..=n {
                if k <= m {
                    put(k, over * power);
                }
                if k > 0 {
                    // `over` has the delay's turn, which `model` has as well.
                    let turn = Complex::from_polar(1.0, -s.im * self.delay(p));
                    put(m + k, -model * power * over / turn);
                }
                power *= s;
            }
            if self.fixed_delay.is_none() {
                put(m + n + 1, -s * model);
            }
        });
    }
}

/// A polynomial in ascending powers.
pub(super) fn ascending(coefficients: &[f64], s: Complex) -> Complex {
    coefficients.iter().rev().fold(Complex::ZERO, |sum, &c| sum * s + c)
}
