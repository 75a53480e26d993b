//! A recurrence learnt during the test by recursive least squares.

use numerics::small::dot;

use super::polynomial::{Coefficients, History, between, evaluate, lagrange};
use super::{Grid, HIGHEST_ORDER, MOST_TAPS, PredictorError};
use crate::check::require;
use crate::motion::Motion;

/// The next instant is a fixed combination of the last ones, x[k+1] = Σ wᵢ x[k−i],
/// for every sum of as many vibrations as half the taps. The same weights hold
/// for displacement and velocity, and both teach them.
///
/// They start as those of the polynomial through the taps. Two instants ahead
/// are predicted; between them runs the cubic through displacement and velocity
/// at both ends.
///
/// With forgetting λ the past fades as λᵏ; where the motion is too small to
/// teach anything the weights rest.
#[derive(Debug, Clone)]
pub(super) struct Adaptive {
    grid: Grid,
    taps: usize,
    forgetting: f64,
    of: Vec<Dof>,
}

/// Displacement noise against which the first weights are weighed, m.
const NOISE_M: f64 = 1e-6;

#[derive(Debug, Clone)]
struct Dof {
    /// Displacement, and velocity times the period.
    past: [History<MOST_TAPS>; 2],
    seen: usize,
    weights: [f64; MOST_TAPS],
    /// Covariance of the weights, over the square of the noise.
    covariance: [[f64; MOST_TAPS]; MOST_TAPS],
    /// Over the first period ahead, and over the one after it.
    polynomials: [Coefficients; 2],
}

impl Adaptive {
    /// At rest.
    pub(super) fn new(
        taps: usize,
        forgetting: f64,
        grid: Grid,
        count: usize,
    ) -> Result<Self, PredictorError> {
        require((2..=MOST_TAPS).contains(&taps), "taps", taps as f64, "from 2 to 8")?;
        let good = forgetting > 0.0 && forgetting <= 1.0;
        require(good, "forgetting", forgetting, "above 0 and at most 1")?;
        let polynomial = lagrange((taps - 1).min(HIGHEST_ORDER))?;
        let mut start = [0.0; MOST_TAPS];
        for (w, of_point) in start.iter_mut().zip(polynomial.column_iter()) {
            // The polynomial at s = 1.
            *w = of_point.sum();
        }
        let of = vec![Dof::new(taps, start); count];
        Ok(Self { grid, taps, forgetting, of })
    }

    pub(super) fn observe(&mut self, interface: &Motion) {
        let period_s = self.grid.period_s();
        for (i, dof) in self.of.iter_mut().enumerate() {
            let [x, v, _] = interface.of(i);
            dof.observe([x, v * period_s], self.taps, self.forgetting);
        }
    }

    pub(super) fn point(&self, index: usize, out: &mut Motion) {
        let (s, period_s) = (self.grid.s(index), self.grid.period_s());
        for (i, dof) in self.of.iter().enumerate() {
            let [first, second] = &dof.polynomials;
            let motion = if s <= 1.0 {
                evaluate(first, s, period_s)
            } else {
                evaluate(second, s - 1.0, period_s)
            };
            out.set(i, motion);
        }
    }
}

impl Dof {
    fn new(taps: usize, weights: [f64; MOST_TAPS]) -> Self {
        let mut covariance = [[0.0; MOST_TAPS]; MOST_TAPS];
        for (i, row) in covariance.iter_mut().enumerate().take(taps) {
            row[i] = 1.0 / (NOISE_M * NOISE_M);
        }
        let polynomials = [[0.0; HIGHEST_ORDER + 1]; 2];
        Self { past: Default::default(), seen: 0, weights, covariance, polynomials }
    }

    fn observe(&mut self, now: [f64; 2], taps: usize, forgetting: f64) {
        if self.seen >= taps {
            for (signal, value) in now.into_iter().enumerate() {
                let regressor = self.past[signal].values;
                self.learn(&regressor[..taps], value, forgetting);
            }
        }
        self.seen += 1;
        for (past, value) in self.past.iter_mut().zip(now) {
            past.push(value);
        }
        self.polynomials = self.ahead(taps);
    }

    /// One step of recursive least squares.
    fn learn(&mut self, regressor: &[f64], value: f64, forgetting: f64) {
        let taps = regressor.len();
        let mut gain = [0.0; MOST_TAPS];
        let mut size = 0.0;
        for i in 0..taps {
            gain[i] = dot(&self.covariance[i], regressor);
            size += gain[i] * regressor[i];
        }
        let error = value - dot(&self.weights, regressor);
        let below = forgetting + size;
        if !(below.is_finite() && below > 0.0 && error.is_finite()) {
            return;
        }
        // Without news the covariance must not grow for ever.
        let most = 1.0 / (NOISE_M * NOISE_M);
        for i in 0..taps {
            self.weights[i] += gain[i] / below * error;
        }
        for i in 0..taps {
            for j in 0..taps {
                self.covariance[i][j] -= gain[i] * gain[j] / below;
            }
        }
        let largest = (0..taps).map(|i| self.covariance[i][i]).fold(0.0, f64::max);
        if largest < forgetting * most {
            for row in &mut self.covariance[..taps] {
                row[..taps].iter_mut().for_each(|p| *p /= forgetting);
            }
        }
    }

    /// The polynomials over the two periods ahead.
    fn ahead(&self, taps: usize) -> [Coefficients; 2] {
        let mut ends = [[0.0; 2]; 3];
        for (signal, past) in self.past.iter().enumerate() {
            let mut last = [0.0; MOST_TAPS];
            last[..taps].copy_from_slice(&past.values[..taps]);
            ends[0][signal] = last[0];
            for end in &mut ends[1..] {
                let next = dot(&self.weights, &last[..taps]);
                last.copy_within(..taps - 1, 1);
                last[0] = next;
                end[signal] = next;
            }
        }
        [between(ends[0], ends[1]), between(ends[1], ends[2])]
    }
}
