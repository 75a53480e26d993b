//! Extrapolation until the next instant is known, interpolation from then on.

use super::lagrange::{through, weights};
use super::polynomial::{Coefficients, History, evaluate};
use super::{Grid, HIGHEST_ORDER, Instant, Predict, PredictorError};
use crate::motion::Motion;
use nalgebra::DMatrix;

/// The signal runs one period late: at tick j after an instant it is where it
/// should have been at s = j/R − 1. From the end of the task time to the next
/// instant that lies between two known displacements; while the task runs it
/// lies ahead of the last one.
///
/// Nothing is extrapolated further than the task time, and the price is a delay
/// of a whole period ΔT, which the compensator must lead by.
///
/// Reference: Nakashima & Masaoka 1999, Earthq. Eng. Struct. Dyn. 28(4).
#[derive(Debug, Clone)]
pub struct Combined {
    grid: Grid,
    weights: DMatrix<f64>,
    of: Vec<(History<{ HIGHEST_ORDER + 1 }>, Coefficients)>,
}

impl Combined {
    /// At rest.
    pub fn new(order: usize, grid: Grid, count: usize) -> Result<Self, PredictorError> {
        let of = vec![(History::new(), [0.0; HIGHEST_ORDER + 1]); count];
        Ok(Self { grid, weights: weights(order)?, of })
    }
}

impl Predict for Combined {
    fn observe(&mut self, now: &Instant) {
        for ((history, polynomial), &x) in self.of.iter_mut().zip(&now.interface.displacement) {
            history.push(x);
            *polynomial = through(&self.weights, history.values());
        }
    }

    fn point(&self, index: usize, out: &mut Motion) {
        let (s, period_s) = (self.grid.s(index) - 1.0, self.grid.period_s());
        for (i, (_, polynomial)) in self.of.iter().enumerate() {
            out.set(i, evaluate(polynomial, s, period_s));
        }
    }

    fn reset(&mut self) {
        self.of.fill((History::new(), [0.0; HIGHEST_ORDER + 1]));
    }
}
