//! The polynomial nearest to the last displacements.

use nalgebra::DMatrix;

use super::lagrange::through;
use super::polynomial::{Coefficients, History, Rule};
use super::{HIGHEST_ORDER, MOST_POINTS, PredictorError};

/// The polynomial of a degree that lies nearest to more displacements than it
/// could pass through. It averages noise, and is less accurate than one through
/// the newest of the points.
#[derive(Debug, Clone)]
pub(super) struct LeastSquares(DMatrix<f64>);

impl LeastSquares {
    pub(super) fn new(order: usize, points: usize) -> Result<Self, PredictorError> {
        weights(order, points).map(Self)
    }
}

impl Rule for LeastSquares {
    type Memory = History<MOST_POINTS>;

    fn fit(&self, past: &mut Self::Memory, [x, ..]: [f64; 3], _period_s: f64) -> Coefficients {
        through(&self.0, past.push(x))
    }
}

/// (VᵀV)⁻¹Vᵀ with V the powers of the nodes 0, −1, …, by an orthogonal
/// factorisation.
pub(super) fn weights(order: usize, points: usize) -> Result<DMatrix<f64>, PredictorError> {
    if order == 0 || order > HIGHEST_ORDER {
        return Err(PredictorError::BadOrder(order));
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
