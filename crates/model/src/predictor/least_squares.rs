//! The polynomial nearest to the last displacements.

use nalgebra::DMatrix;

use super::lagrange::through;
use super::polynomial::{Coefficients, History, evaluate};
use super::{Grid, HIGHEST_ORDER, Instant, MOST_POINTS, Predict, PredictorError};
use crate::motion::Motion;

/// The polynomial of a degree that lies nearest to more displacements than it
/// could pass through. It averages noise, and is less accurate than one through
/// the newest of the points.
#[derive(Debug, Clone)]
pub struct LeastSquares {
    grid: Grid,
    weights: DMatrix<f64>,
    of: Vec<(History<MOST_POINTS>, Coefficients)>,
}

impl LeastSquares {
    /// At rest.
    pub fn new(
        order: usize,
        points: usize,
        grid: Grid,
        count: usize,
    ) -> Result<Self, PredictorError> {
        let weights = weights(order, points)?;
        Ok(Self { grid, weights, of: vec![(History::new(), [0.0; HIGHEST_ORDER + 1]); count] })
    }
}

impl Predict for LeastSquares {
    fn observe(&mut self, now: &Instant) {
        for ((history, polynomial), &x) in self.of.iter_mut().zip(&now.interface.displacement) {
            history.push(x);
            *polynomial = through(&self.weights, history.values());
        }
    }

    fn point(&self, index: usize, out: &mut Motion) {
        let (s, period_s) = (self.grid.s(index), self.grid.period_s());
        for (i, (_, polynomial)) in self.of.iter().enumerate() {
            out.set(i, evaluate(polynomial, s, period_s));
        }
    }

    fn reset(&mut self) {
        self.of.fill((History::new(), [0.0; HIGHEST_ORDER + 1]));
    }
}

/// (VᵀV)⁻¹Vᵀ with V the powers of the nodes 0, −1, …, by an orthogonal
/// factorisation.
pub(super) fn weights(order: usize, points: usize) -> Result<DMatrix<f64>, PredictorError> {
    if order == 0 || order > HIGHEST_ORDER {
        return Err(PredictorError::BadOrder { order });
    }
    let bad = PredictorError::BadPoints { points, order };
    if points <= order || points > MOST_POINTS {
        return Err(bad);
    }
    // Nodes within one unit keep the columns of a size.
    let scale = points as f64;
    let powers =
        DMatrix::from_fn(points, order + 1, |i, power| (-(i as f64) / scale).powi(power as i32));
    let qr = powers.qr();
    let inverse = qr.r().try_inverse().ok_or(bad)?;
    let mut weights = inverse * qr.q().transpose();
    for (power, mut row) in weights.row_iter_mut().enumerate() {
        row /= scale.powi(power as i32);
    }
    Ok(weights)
}
