//! Extrapolation until the next instant is known, interpolation from then on.

use nalgebra::DMatrix;

use super::lagrange::{through, weights};
use super::polynomial::{Coefficients, History, Rule};
use super::{HIGHEST_ORDER, PredictorError};

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
pub(super) struct Combined(DMatrix<f64>);

impl Combined {
    pub(super) fn new(order: usize) -> Result<Self, PredictorError> {
        weights(order).map(Self)
    }
}

impl Rule for Combined {
    type Memory = History<{ HIGHEST_ORDER + 1 }>;

    fn fit(&self, past: &mut Self::Memory, [x, ..]: [f64; 3], _period_s: f64) -> Coefficients {
        through(&self.0, past.push(x))
    }

    fn origin(&self) -> f64 {
        1.0
    }
}
