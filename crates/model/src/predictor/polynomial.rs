//! A polynomial in s per interface DOF, with its derivatives.

use nalgebra::DMatrix;

use super::{Grid, HIGHEST_ORDER, MOST_POINTS, PredictorError, Stages};
use crate::check::require;
use crate::error::BadNumber;
use crate::motion::Motion;

/// c0 + c1 s + … + c5 s⁵.
pub(super) type Coefficients = [f64; HIGHEST_ORDER + 1];

/// How the polynomial follows from the instants so far; V = v ΔT, A = a ΔT².
#[derive(Debug, Clone)]
pub(super) enum Rule {
    /// A fixed combination of the last displacements.
    Displacements {
        /// Coefficients of s⁰ … from displacements, newest first.
        weights: DMatrix<f64>,
        /// The s, counted from the newest instant, at which the polynomial has its
        /// own zero.
        origin: f64,
        /// With two the instants are first carried over the task time, to `origin`,
        /// and the points are then taken from the polynomial through *those*: the
        /// published scheme, which amplifies noise twice.
        stages: Stages,
    },
    /// The cubic through displacement and velocity of the last two instants: with
    /// r1 = d1 − d0 + V0, r2 = V1 − V0, c3 = r2 + 2 r1, c2 = r1 + c3:
    ///   d = d0 + V0 s + c2 s² + c3 s³.
    ///
    /// Six to seven times more accurate than the cubic through four displacements,
    /// from half the time span; the integrator gives the velocity for nothing.
    Hermite,
    /// Displacement and velocity under an acceleration that goes on changing:
    ///   d = d0 + V0 s + A0 s²/2 + (A0 − A1) s³/6.
    ///
    /// A little more accurate than the cubic through (d, v) at two instants where
    /// the acceleration is clean. In a test it holds the newest measured force, and
    /// with it the sensor's noise.
    PredictedAcceleration,
}

/// A predictor that follows one polynomial from instant to instant.
#[derive(Debug, Clone)]
pub(super) struct Polynomial {
    grid: Grid,
    rule: Rule,
    of: Vec<Dof>,
}

/// What is remembered of one interface DOF.
#[derive(Debug, Clone, Copy, Default)]
struct Dof {
    /// Displacements as known, and carried over the task time.
    known: History<MOST_POINTS>,
    carried: History<MOST_POINTS>,
    /// d, V and A of the last instant.
    last: Option<[f64; 3]>,
    polynomial: Coefficients,
}

impl Polynomial {
    /// At rest.
    pub(super) fn new(rule: Rule, grid: Grid, count: usize) -> Self {
        Self { grid, rule, of: vec![Dof::default(); count] }
    }

    pub(super) fn observe(&mut self, interface: &Motion) {
        let period_s = self.grid.period_s();
        for (i, dof) in self.of.iter_mut().enumerate() {
            let [x, v, a] = interface.of(i);
            dof.polynomial = self.rule.fit(dof, [x, v * period_s, a * period_s * period_s]);
        }
    }

    pub(super) fn point(&self, index: usize, out: &mut Motion) {
        let origin = match self.rule {
            Rule::Displacements { origin, .. } => origin,
            Rule::Hermite | Rule::PredictedAcceleration => 0.0,
        };
        let (s, period_s) = (self.grid.s(index) - origin, self.grid.period_s());
        for (i, dof) in self.of.iter().enumerate() {
            out.set(i, evaluate(&dof.polynomial, s, period_s));
        }
    }
}

impl Rule {
    /// The polynomial seen from a new instant: d, V and A of one interface DOF.
    fn fit(&self, past: &mut Dof, now: [f64; 3]) -> Coefficients {
        let [d0, v0, a0] = now;
        let last = past.last.replace(now);
        match self {
            Self::Displacements { weights, origin, stages } => {
                let polynomial = through(weights, past.known.push(d0));
                match stages {
                    Stages::One => polynomial,
                    Stages::Two => {
                        let [ahead, ..] = evaluate(&polynomial, *origin, 1.0);
                        through(weights, past.carried.push(ahead))
                    }
                }
            }
            Self::Hermite => {
                // At first as if it had come here straight.
                let [d1, v1, _] = last.unwrap_or([d0 - v0, v0, a0]);
                let r1 = d1 - d0 + v0;
                let r2 = v1 - v0;
                let c3 = r2 + 2.0 * r1;
                [d0, v0, r1 + c3, c3, 0.0, 0.0]
            }
            Self::PredictedAcceleration => {
                let change = last.map_or(0.0, |[.., a1]| a0 - a1);
                [d0, v0, 0.5 * a0, change / 6.0, 0.0, 0.0]
            }
        }
    }
}

/// Displacement, velocity and acceleration at `s`, ΔT being `period_s`.
#[inline]
pub(super) fn evaluate(c: &Coefficients, s: f64, period_s: f64) -> [f64; 3] {
    let [mut x, mut v, mut a] = [0.0; 3];
    // Horner's rule for the polynomial and, alongside, its derivatives.
    for &c in c.iter().rev() {
        a = a * s + v;
        v = v * s + x;
        x = x * s + c;
    }
    [x, v / period_s, 2.0 * a / (period_s * period_s)]
}

/// The cubic through displacement and velocity (times ΔT) at both ends of one
/// period, in s from its start.
#[inline]
pub(super) fn between(start: [f64; 2], end: [f64; 2]) -> Coefficients {
    let ([d0, v0], [d1, v1]) = (start, end);
    let way = d1 - d0;
    [d0, v0, 3.0 * way - 2.0 * v0 - v1, v0 + v1 - 2.0 * way, 0.0, 0.0]
}

/// The coefficients of the polynomial that `weights` makes of displacements.
#[inline]
fn through(weights: &DMatrix<f64>, displacements: &[f64]) -> Coefficients {
    let mut polynomial = [0.0; HIGHEST_ORDER + 1];
    for (column, d) in weights.column_iter().zip(displacements) {
        for (c, w) in polynomial.iter_mut().zip(column.iter()) {
            *c += w * d;
        }
    }
    polynomial
}

/// The weights of d(s) = Σ aᵢ(s) dᵢ with the Lagrange polynomials of the nodes
/// 0, −1, … −N: column i is 1 at s = −i and 0 at the other nodes. For N = 3:
///   a0 = 1 + s(11/6 + s + s²/6), a1 = −s(3 + 5/2 s + s²/2),
///   a2 = s(3/2 + 2s + s²/2),     a3 = −s(1/3 + s/2 + s²/6).
///
/// Every further degree is more accurate for slow signals and amplifies noise
/// and jumps about twice as much (2.1, 3.9, 7.1, 13.1, 24.5 at s = 0.9).
///
/// Reference: Waldbjørn et al., multi-rate real-time hybrid simulation, Eq 4–8
/// (the printed Eq 5 lacks the leading 1).
pub(super) fn lagrange(order: usize) -> Result<DMatrix<f64>, BadNumber> {
    check_order(order)?;
    let mut weights = DMatrix::zeros(order + 1, order + 1);
    for (i, mut polynomial) in weights.column_iter_mut().enumerate() {
        // Whole numbers up to the division at the end: exact.
        polynomial[0] = 1.0;
        let mut below = 1.0;
        for j in (0..=order).filter(|&j| j != i) {
            below *= j as f64 - i as f64;
            // Times (s + j), from the highest power down.
            for power in (1..=order).rev() {
                polynomial[power] = polynomial[power] * j as f64 + polynomial[power - 1];
            }
            polynomial[0] *= j as f64;
        }
        polynomial /= below;
    }
    Ok(weights)
}

/// The weights of the polynomial that lies nearest to more displacements than it
/// could pass through: (VᵀV)⁻¹Vᵀ with V the powers of the nodes 0, −1, …, by an
/// orthogonal factorisation. It averages noise, and is less accurate than one
/// through the newest of the points.
pub(super) fn least_squares(order: usize, points: usize) -> Result<DMatrix<f64>, PredictorError> {
    check_order(order)?;
    if points <= order || points > MOST_POINTS {
        return Err(PredictorError::BadPoints { points, order });
    }
    // Nodes within one unit keep the columns of a size.
    let scale = points as f64;
    let powers =
        DMatrix::from_fn(points, order + 1, |i, power| (-(i as f64) / scale).powi(power as i32));
    let qr = powers.qr();
    let inverse = qr.r().try_inverse().expect("distinct nodes, no more powers than nodes");
    let mut weights = inverse * qr.q().transpose();
    for (power, mut row) in weights.row_iter_mut().enumerate() {
        row /= scale.powi(power as i32);
    }
    Ok(weights)
}

fn check_order(order: usize) -> Result<(), BadNumber> {
    let good = (1..=HIGHEST_ORDER).contains(&order);
    require(good, "order", order as f64, "from 1 to 5").map(drop)
}

/// The last values of a signal, newest first. Before the first one the signal
/// counts as having always been what it then is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct History<const N: usize> {
    pub(super) values: [f64; N],
    started: bool,
}

impl<const N: usize> Default for History<N> {
    fn default() -> Self {
        Self { values: [0.0; N], started: false }
    }
}

impl<const N: usize> History<N> {
    /// The values with a new one in front.
    #[inline]
    pub(super) fn push(&mut self, value: f64) -> &[f64; N] {
        if self.started {
            self.values.copy_within(..N - 1, 1);
            self.values[0] = value;
        } else {
            self.values = [value; N];
            self.started = true;
        }
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_polynomial() {
        let c = [1.0, -2.0, 3.0, 0.5, -0.25, 0.125];
        let (s, h) = (1.7, 0.01);
        let x: f64 = c.iter().enumerate().map(|(j, c)| c * f64::powi(s, j as i32)).sum();
        let v: f64 = (1..6).map(|j| c[j] * j as f64 * s.powi(j as i32 - 1)).sum();
        let a: f64 = (2..6).map(|j| c[j] * (j * (j - 1)) as f64 * s.powi(j as i32 - 2)).sum();
        let found = evaluate(&c, s, h);
        for (found, exact) in found.iter().zip([x, v / h, a / (h * h)]) {
            assert!((found - exact).abs() < 1e-13 * exact.abs(), "{found} {exact}");
        }
    }

    #[test]
    fn a_cubic_between_its_ends_is_itself() {
        let c = [1.0, -2.0, 3.0, 0.5, 0.0, 0.0];
        let [start, end] = [0.0, 1.0].map(|s| {
            let [x, v, _] = evaluate(&c, s, 1.0);
            [x, v]
        });
        for (found, exact) in between(start, end).iter().zip(c) {
            assert!((found - exact).abs() < 1e-14);
        }
    }
}
