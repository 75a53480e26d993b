//! Displacement and velocity under an acceleration that goes on changing.

use super::polynomial::{Coefficients, evaluate};
use super::{Grid, HIGHEST_ORDER, Instant, Predict};
use crate::motion::Motion;

/// With A = a ΔT²: d = d0 + V0 s + A0 s²/2 + (A0 − A1) s³/6.
///
/// A little more accurate than the cubic through (d, v) at two instants where
/// the acceleration is clean. In a test it holds the newest measured force, and
/// with it the sensor's noise.
#[derive(Debug, Clone)]
pub struct PredictedAcceleration {
    grid: Grid,
    /// A1 and the polynomial, per interface DOF.
    of: Vec<(f64, Coefficients)>,
    started: bool,
}

impl PredictedAcceleration {
    /// At rest.
    pub fn new(grid: Grid, count: usize) -> Self {
        Self { grid, of: vec![(0.0, [0.0; HIGHEST_ORDER + 1]); count], started: false }
    }
}

impl Predict for PredictedAcceleration {
    fn observe(&mut self, now: &Instant) {
        let period_s = self.grid.period_s();
        for (i, (last, polynomial)) in self.of.iter_mut().enumerate() {
            let [d, v, a] = now.interface.of(i);
            let a0 = a * period_s * period_s;
            let change = if self.started { a0 - *last } else { 0.0 };
            *polynomial = [d, v * period_s, 0.5 * a0, change / 6.0, 0.0, 0.0];
            *last = a0;
        }
        self.started = true;
    }

    fn point(&self, index: usize, out: &mut Motion) {
        let (s, period_s) = (self.grid.s(index), self.grid.period_s());
        for (i, (_, polynomial)) in self.of.iter().enumerate() {
            out.set(i, evaluate(polynomial, s, period_s));
        }
    }

    fn reset(&mut self) {
        self.of.fill((0.0, [0.0; HIGHEST_ORDER + 1]));
        self.started = false;
    }
}
