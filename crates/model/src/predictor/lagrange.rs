//! The polynomial through the last displacements.

use nalgebra::DMatrix;

use super::polynomial::{Coefficients, History, Rule, evaluate};
use super::{Grid, HIGHEST_ORDER, PredictorError, Stages};

/// d(s) = Σ aᵢ(s) dᵢ with the Lagrange polynomials of the nodes 0, −1, … −N.
/// For N = 3:
///   a0 = 1 + s(11/6 + s + s²/6), a1 = −s(3 + 5/2 s + s²/2),
///   a2 = s(3/2 + 2s + s²/2),     a3 = −s(1/3 + s/2 + s²/6).
///
/// With two stages the instants are first carried over the task time, and the
/// points are then taken from the polynomial through *those*: the published
/// scheme, which amplifies noise twice.
///
/// Every further degree is more accurate for slow signals and amplifies noise
/// and jumps about twice as much (2.1, 3.9, 7.1, 13.1, 24.5 at s = 0.9).
///
/// Reference: Waldbjørn et al., multi-rate real-time hybrid simulation, Eq 4–8
/// (the printed Eq 5 lacks the leading 1).
#[derive(Debug, Clone)]
pub(super) struct Lagrange {
    /// Coefficients of s⁰ … from displacements, newest first.
    weights: DMatrix<f64>,
    /// s at the end of the task, where there are two stages.
    task: Option<f64>,
}

impl Lagrange {
    pub(super) fn new(order: usize, stages: Stages, grid: &Grid) -> Result<Self, PredictorError> {
        let task = (stages == Stages::Two).then_some(grid.task / grid.ratio as f64);
        Ok(Self { weights: weights(order)?, task })
    }
}

impl Rule for Lagrange {
    /// Known, and carried over the task time.
    type Memory = [History<{ HIGHEST_ORDER + 1 }>; 2];

    fn fit(&self, past: &mut Self::Memory, [x, ..]: [f64; 3], _period_s: f64) -> Coefficients {
        let [known, carried] = past;
        let polynomial = through(&self.weights, known.push(x));
        let Some(task) = self.task else { return polynomial };
        let [ahead, ..] = evaluate(&polynomial, task, 1.0);
        through(&self.weights, carried.push(ahead))
    }

    fn origin(&self) -> f64 {
        self.task.unwrap_or(0.0)
    }
}

/// The coefficients of the polynomial that `weights` makes of displacements.
#[inline]
pub(super) fn through(weights: &DMatrix<f64>, displacements: &[f64]) -> Coefficients {
    let mut polynomial = [0.0; HIGHEST_ORDER + 1];
    for (column, d) in weights.column_iter().zip(displacements) {
        for (c, w) in polynomial.iter_mut().zip(column.iter()) {
            *c += w * d;
        }
    }
    polynomial
}

/// Column i: the coefficients of the Lagrange polynomial that is 1 at s = −i
/// and 0 at the other nodes.
pub(super) fn weights(order: usize) -> Result<DMatrix<f64>, PredictorError> {
    if order == 0 || order > HIGHEST_ORDER {
        return Err(PredictorError::BadOrder(order));
    }
    let mut weights = DMatrix::zeros(order + 1, order + 1);
    for i in 0..=order {
        // Whole numbers up to the division at the end: exact.
        let mut polynomial = vec![1.0];
        let mut below = 1.0;
        for j in (0..=order).filter(|&j| j != i) {
            below *= j as f64 - i as f64;
            // Times (s + j).
            let mut longer = vec![0.0; polynomial.len() + 1];
            for (power, c) in polynomial.iter().enumerate() {
                longer[power] += c * j as f64;
                longer[power + 1] += c;
            }
            polynomial = longer;
        }
        for (power, c) in polynomial.iter().enumerate() {
            weights[(power, i)] = c / below;
        }
    }
    Ok(weights)
}
