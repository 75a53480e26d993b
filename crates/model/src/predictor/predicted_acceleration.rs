//! Displacement and velocity under an acceleration that goes on changing.

use super::polynomial::{Coefficients, Rule};

/// With A = a ΔT²: d = d0 + V0 s + A0 s²/2 + (A0 − A1) s³/6.
///
/// A little more accurate than the cubic through (d, v) at two instants where
/// the acceleration is clean. In a test it holds the newest measured force, and
/// with it the sensor's noise.
#[derive(Debug, Clone)]
pub(super) struct PredictedAcceleration;

impl Rule for PredictedAcceleration {
    /// A1.
    type Memory = Option<f64>;

    fn fit(&self, past: &mut Self::Memory, now: [f64; 3], period_s: f64) -> Coefficients {
        let [d, v, a] = now;
        let a0 = a * period_s * period_s;
        let change = past.replace(a0).map_or(0.0, |last| a0 - last);
        [d, v * period_s, 0.5 * a0, change / 6.0, 0.0, 0.0]
    }
}
