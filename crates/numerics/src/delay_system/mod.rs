//! Linear systems with one delay, retarded or neutral:
//!
//!   M₀ q̈ + C₀ q̇ + K₀ q + (M_τ ÿ + C_τ ẏ + K_τ y)(t − τ) = 0,  y = E q.
//!
//! Only y, a few combinations of q, comes late. Three ways lead to the stability
//! of such a system, and tests hold them against each other: the crossings of
//! the imaginary axis ([`crossing`], one late signal, exact), the spectrum of the
//! discretised history ([`collocation`], any number of them), and the zero set
//! of the characteristic function ([`crate::multi_bisection`]). For short delays
//! there are equivalent matrices as well ([`DelaySystem::equivalent`]).

pub mod collocation;
pub mod crossing;

use thiserror::Error;

use crate::eigen::{self, EigenError};
use crate::second_order::SecondOrder;
use crate::solve::{self, is_finite};
use crate::{Complex, ComplexMatrix, Matrix};

/// Why a delay system cannot be judged.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DelayError {
    /// An entry of a matrix is NaN or infinite.
    #[error("a mass, damping or stiffness has an entry that is not a finite number")]
    NotFinite,
    /// M₀ has no inverse.
    #[error("the undelayed mass is singular: part of the motion has no inertia without delay")]
    SingularMass,
    /// This delay is not a length of time.
    #[error("a delay of {0} s cannot be judged: it must be finite and not negative")]
    BadDelay(f64),
    /// The history would need too many points.
    #[error(
        "a delay of {delay_s} s is {turns:.0} periods of the fastest motion that matters: more \
         than the history is resolved for"
    )]
    TooLong {
        /// The delay.
        delay_s: f64,
        /// Periods it covers.
        turns: f64,
    },
    /// The crossings are those of one late signal; there are so many.
    #[error("the crossings are found for one late signal; this system has {0}")]
    NotSingle(usize),
    /// Rounding hides whether the axis is touched or crossed.
    #[error("the crossings of the imaginary axis do not add up: a root touches it within rounding")]
    Touching,
    /// The eigenvalues cannot be found.
    #[error(transparent)]
    Eigen(#[from] EigenError),
}

/// Relative step of Newton's method below which a root is found, if not to the
/// last digit.
const SETTLED: f64 = 1e-8;

/// A linear system with one delay, whose length is given to each question.
#[derive(Debug, Clone, PartialEq)]
pub struct DelaySystem {
    /// M₀, C₀, K₀: n × n.
    now: SecondOrder,
    /// M_τ, C_τ, K_τ: n × c.
    late: SecondOrder,
    /// E: c × n.
    of: Matrix,
    /// M₀⁻¹.
    inverse: Matrix,
    /// Whether λ = 0 is a root at every delay: the stiffness without delay is
    /// singular, for want of support.
    floats: bool,
}

impl DelaySystem {
    /// From its matrices: those of q as it is, n × n, those of the late signal,
    /// n × c, and E, c × n.
    pub fn new(now: SecondOrder, late: SecondOrder, of: Matrix) -> Result<Self, DelayError> {
        let (count, n) = of.shape();
        assert!(now.each().iter().all(|m| m.shape() == (n, n)), "matrices of q");
        assert!(late.each().iter().all(|m| m.shape() == (n, count)), "matrices of late signals");
        if ![now.each(), late.each(), [&of; 3]].concat().into_iter().all(is_finite) {
            return Err(DelayError::NotFinite);
        }
        let inverse = solve::inverse(&now.mass).ok_or(DelayError::SingularMass)?;
        let mut system = Self { now, late, of, inverse, floats: false };
        system.floats = is_singular(&system.undelayed().stiffness);
        Ok(system)
    }

    /// Roots of a floating system below this size are roots at zero: a double one
    /// comes out of rounding as two that lie √ε apart, against the size of the
    /// matrix they were found with. 0 for a system with support.
    fn at_rest_1_s(&self, matrix: &Matrix) -> f64 {
        if !self.floats {
            return 0.0;
        }
        (1e-13 * matrix.amax() * self.bound()).sqrt().max(1e-7 * self.bound())
    }

    /// Size of q.
    pub fn size(&self) -> usize {
        self.of.ncols()
    }

    /// Number of late signals.
    pub fn late_count(&self) -> usize {
        self.of.nrows()
    }

    /// The system as it is without delay.
    pub fn undelayed(&self) -> SecondOrder {
        self.now.zip(&self.late, |now, late| now + late * &self.of)
    }

    /// ρ(M₀⁻¹ M_τ E): the accelerations a delay hands on from one pass to the next.
    ///
    /// At 1 or above the system is unstable for every delay above zero, however
    /// short, and infinitely many roots lie near the line Re λ = ln ρ/τ. This is
    /// the strong-stability test; no discretised spectrum converges there.
    pub fn neutral_radius(&self) -> Result<f64, DelayError> {
        let passed = &self.of * &self.inverse * &self.late.mass;
        // One late signal is the usual case, and its radius exact.
        if let [single] = passed.as_slice() {
            return Ok(single.abs());
        }
        Ok(eigen::spectral_radius(&passed)?)
    }

    /// ln ρ/τ: what the roots at high frequency grow with, 1/s.
    pub fn neutral_growth_1_s(&self, delay_s: f64) -> Result<f64, DelayError> {
        check_delay(delay_s)?;
        let radius = self.neutral_radius()?;
        // Without delay nothing is handed on, so nothing grows.
        Ok(if delay_s > 0.0 { radius.ln() / delay_s } else { f64::NEG_INFINITY })
    }

    /// The roots without delay, but for those at zero of a system that floats.
    pub fn undelayed_roots(&self) -> Result<Vec<Complex>, DelayError> {
        self.moving_roots(&self.undelayed())
    }

    /// The roots of these matrices, but for those at zero of a system that floats.
    fn moving_roots(&self, matrices: &SecondOrder) -> Result<Vec<Complex>, DelayError> {
        self.moving(&matrices.state_matrix().ok_or(DelayError::SingularMass)?)
    }

    /// The eigenvalues of a matrix, but for those at zero of a system that floats.
    fn moving(&self, matrix: &Matrix) -> Result<Vec<Complex>, DelayError> {
        let (mut values, rest) = (eigen::eigenvalues(matrix)?, self.at_rest_1_s(matrix));
        values.retain(|value| value.norm() >= rest);
        Ok(values)
    }

    /// λ²M₀ + λC₀ + K₀ + (λ²M_τ + λC_τ + K_τ) E e^{−λτ}, whose determinant D(λ)
    /// vanishes at the roots.
    pub fn characteristic(&self, root: Complex, delay_s: f64) -> ComplexMatrix {
        self.joined(self.now.at(root), &(self.late.at(root) * (-root * delay_s).exp()))
    }

    /// D(jω), divided by a positive number so that it is of the order of 1: with
    /// the late signals put to 1, −1 and nought, its largest size.
    pub fn characteristic_on_axis(&self, omega_rad_s: f64, delay_s: f64) -> Complex {
        let s = Complex::new(0.0, omega_rad_s);
        let value = self.characteristic(s, delay_s).determinant();
        let now = self.now.at(s).determinant();
        let whole = self.joined(self.now.at(s), &self.late.at(s)).determinant();
        value / (now.norm() + (whole - now).norm())
    }

    /// Newton's method on D from near a root: D/D' = 1/tr(A⁻¹A').
    ///
    /// `None` if it does not settle.
    pub fn polished(&self, start: Complex, delay_s: f64) -> Option<Complex> {
        let mut root = start;
        let mut last = f64::INFINITY;
        for _ in 0..40 {
            let turn = (-root * delay_s).exp();
            let matrix = self.characteristic(root, delay_s);
            let late = (self.late.slope(root) - self.late.at(root) * Complex::from(delay_s)) * turn;
            let slope = self.joined(self.now.slope(root), &late);
            let Some(solved) = matrix.lu().solve(&slope) else {
                // Singular to the last digit: this is a root.
                return Some(root);
            };
            let step = solved.trace().inv();
            if !step.is_finite() {
                return None;
            }
            root -= step;
            let size = step.norm() / root.norm();
            // Beside another root the last digits are noise: steps that are small
            // and no longer fall are as far as it goes.
            if size <= 4.0 * f64::EPSILON || (size < SETTLED && size > 0.3 * last) {
                return Some(root);
            }
            last = size;
        }
        (last < SETTLED).then_some(root)
    }

    /// A matrix of q with one of the late signals, which are combinations of q.
    fn joined(&self, mut now: ComplexMatrix, late: &ComplexMatrix) -> ComplexMatrix {
        for (j, mut column) in now.column_iter_mut().enumerate() {
            for (share, late) in self.of.column(j).iter().zip(late.column_iter()) {
                if *share != 0.0 {
                    column.axpy(Complex::from(*share), &late, Complex::ONE);
                }
            }
        }
        now
    }

    /// A short delay as changed matrices: no delay system, but near one.
    ///
    /// The late signals are replaced by their first-order series, and the third
    /// derivative it brings in by that of the undamped system without delay:
    ///   M = M_r − τ C_τE,  C = C_r + τ (M_τE M_r⁻¹K_r − K_τE),  K = K_r.
    /// Good while τ is a small part of every period; it knows nothing of neutral
    /// instability.
    ///
    /// Reference: Gao & You 2019, Mech. Syst. Signal Process. 133, 106261.
    pub fn equivalent(&self, delay_s: f64) -> Result<SecondOrder, DelayError> {
        check_delay(delay_s)?;
        let SecondOrder { mass, damping, stiffness } = self.undelayed();
        let late = self.late.map(|late| late * &self.of);
        let inverse = solve::inverse(&mass).ok_or(DelayError::SingularMass)?;
        let turned = late.mass * inverse * &stiffness - late.stiffness;
        let (mass, damping) = (mass - late.damping * delay_s, damping + turned * delay_s);
        Ok(SecondOrder { mass, damping, stiffness })
    }

    /// Growth of their slowest-decaying motion, 1/s.
    pub fn equivalent_growth_1_s(&self, delay_s: f64) -> Result<f64, DelayError> {
        let roots = self.moving_roots(&self.equivalent(delay_s)?)?;
        Ok(roots.iter().map(|root| root.re).fold(f64::NEG_INFINITY, f64::max))
    }

    /// The shortest delay, up to this one, with which a motion of theirs grows; matrices
    /// that cannot be judged count as such.
    pub fn equivalent_critical_s(&self, longest_s: f64) -> Option<f64> {
        const STEPS: u32 = 400;
        let grows = |delay_s: f64| self.equivalent_growth_1_s(delay_s).map_or(true, |g| g > 0.0);
        let at = |step: u32| longest_s * f64::from(step) / f64::from(STEPS);
        let first = (1..=STEPS).find(|step| grows(at(*step)))?;
        let (mut low, mut high) = (at(first - 1), at(first));
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            *(if grows(middle) { &mut high } else { &mut low }) = middle;
        }
        Some(high)
    }
}

/// Whether a stiffness has no inverse but for rounding, whatever its units.
fn is_singular(matrix: &Matrix) -> bool {
    if matrix.is_empty() {
        return false;
    }
    let scale: Vec<f64> = matrix.diagonal().iter().map(|x| x.abs().sqrt()).collect();
    if scale.contains(&0.0) {
        return matrix.clone().try_inverse().is_none();
    }
    let scaled = Matrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| {
        matrix[(i, j)] / (scale[i] * scale[j])
    });
    let values = scaled.singular_values();
    values.min() < 1e-13 * values.max()
}

fn check_delay(delay_s: f64) -> Result<(), DelayError> {
    let is_length = delay_s.is_finite() && delay_s >= 0.0;
    if is_length { Ok(()) } else { Err(DelayError::BadDelay(delay_s)) }
}

#[cfg(test)]
mod tests;
