//! The cubic through displacement and velocity of the last two instants.

use super::polynomial::{Coefficients, evaluate};
use super::{Grid, HIGHEST_ORDER, Instant, Predict};
use crate::motion::Motion;

/// With V = v ΔT, r1 = d1 − d0 + V0, r2 = V1 − V0, c3 = r2 + 2 r1, c2 = r1 + c3:
///   d = d0 + V0 s + c2 s² + c3 s³.
///
/// Six to seven times more accurate than the cubic through four displacements,
/// from half the time span; the integrator gives the velocity for nothing.
#[derive(Debug, Clone)]
pub struct Hermite {
    grid: Grid,
    /// d1, V1 and the polynomial, per interface DOF.
    of: Vec<([f64; 2], Coefficients)>,
    started: bool,
}

impl Hermite {
    /// At rest.
    pub fn new(grid: Grid, count: usize) -> Self {
        let of = vec![([0.0; 2], [0.0; HIGHEST_ORDER + 1]); count];
        Self { grid, of, started: false }
    }
}

impl Predict for Hermite {
    fn observe(&mut self, now: &Instant) {
        let period_s = self.grid.period_s();
        for (i, (last, polynomial)) in self.of.iter_mut().enumerate() {
            let [d0, v, _] = now.interface.of(i);
            let v0 = v * period_s;
            if !self.started {
                // As if it had come here straight.
                *last = [d0 - v0, v0];
            }
            let r1 = last[0] - d0 + v0;
            let r2 = last[1] - v0;
            let c3 = r2 + 2.0 * r1;
            *polynomial = [d0, v0, r1 + c3, c3, 0.0, 0.0];
            *last = [d0, v0];
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
        self.of.fill(([0.0; 2], [0.0; HIGHEST_ORDER + 1]));
        self.started = false;
    }
}
