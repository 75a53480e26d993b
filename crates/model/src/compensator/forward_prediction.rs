//! Polynomial forward prediction.

use super::{Adapts, Compensate, CompensatorError};
use crate::check::{check_finite, check_not_negative, require};
use keys::Keys;

/// Highest degree.
const MOST_ORDER: usize = 4;
/// Longest history per interface DOF, in samples.
const MOST_SAMPLES: usize = 1 << 17;
/// Keys of a polynomial forward prediction.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct ForwardPredictionDesign {
    /// Degree.
    #[key(count = 1..=4, default = 3)]
    pub order: usize,
    /// How far ahead.
    #[key(time, not_negative)]
    pub delay_s: f64,
    /// Factor on the whole command.
    #[key(number, positive, default = 1)]
    pub gain: f64,
}

impl Adapts for ForwardPredictionDesign {}

/// The polynomial of degree n through the desired motion now and n multiples of
/// the delay δ ago, evaluated δ ahead:
///   c = g Σ wᵢ x(t − i δ),  wᵢ = (−1)ⁱ (n+1 choose i+1).
///
/// Points lie on samples: their spacing is δ rounded to whole periods, and the
/// weights are those of the exact δ (Lagrange). Velocity and acceleration are
/// predicted from their own past with the same weights. Motions fast against
/// the delay grow: degree 3 is usable up to ω δ ≈ 1.6.
///
/// Reference: Horiuchi et al. 1999, Earthq. Eng. Struct. Dyn. 28.
#[derive(Debug, Clone, PartialEq)]
pub struct ForwardPrediction {
    /// Gain included; zero beyond the order.
    weights: [f64; MOST_ORDER + 1],
    order: usize,
    spacing: usize,
    /// x, v, a of the past: a ring.
    past: Vec<[f64; 3]>,
    newest: usize,
    started: bool,
}

impl ForwardPrediction {
    /// At rest.
    pub fn new(design: &ForwardPredictionDesign, step_s: f64) -> Result<Self, CompensatorError> {
        let order = design.order;
        let good = (1..=MOST_ORDER).contains(&order);
        require(good, "order", order as f64, "from 1 to 4")?;
        let ahead = check_not_negative("delay", design.delay_s)? / step_s;
        let length = ahead.round().max(1.0) * order as f64 + 1.0;
        if length > MOST_SAMPLES as f64 {
            let (key, samples, most) = ("delay", length, MOST_SAMPLES);
            return Err(CompensatorError::LongHistory { key, samples, most });
        }
        let spacing = (ahead.round() as usize).max(1);
        let gain = check_finite("gain", design.gain)?;
        let weights = lagrange(order, ahead / spacing as f64).map(|weight| gain * weight);
        let past = vec![[0.0; 3]; order * spacing + 1];
        Ok(Self { weights, order, spacing, past, newest: 0, started: false })
    }
}

/// Weights of the points 0, −1, …, −`order` for the value at `s`; zero beyond.
fn lagrange(order: usize, s: f64) -> [f64; MOST_ORDER + 1] {
    std::array::from_fn(|i| {
        if i > order {
            return 0.0;
        }
        let others = (0..=order).filter(|&j| j != i);
        others.map(|j| (s + j as f64) / (j as f64 - i as f64)).product()
    })
}

impl Compensate for ForwardPrediction {
    fn command(&mut self, desired: [f64; 3], _measured: f64) -> [f64; 3] {
        let length = self.past.len();
        if !self.started {
            // As if the motion had always been what it is: no jump at the start.
            self.past.fill(desired);
            self.started = true;
        }
        self.newest = if self.newest + 1 == length { 0 } else { self.newest + 1 };
        self.past[self.newest] = desired;
        let mut sum = [0.0; 3];
        let mut index = self.newest;
        for weight in &self.weights[..=self.order] {
            for (sum, x) in sum.iter_mut().zip(self.past[index]) {
                *sum += weight * x;
            }
            index = if index >= self.spacing {
                index - self.spacing
            } else {
                index + length - self.spacing
            };
        }
        sum
    }

    fn memory(&self) -> Option<usize> {
        Some(self.order * self.spacing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_are_those_of_horiuchi() {
        assert_eq!(lagrange(1, 1.0)[..2], [2.0, -1.0]);
        assert_eq!(lagrange(2, 1.0)[..3], [3.0, -3.0, 1.0]);
        assert_eq!(lagrange(3, 1.0)[..4], [4.0, -6.0, 4.0, -1.0]);
        assert_eq!(lagrange(4, 1.0), [5.0, -10.0, 10.0, -5.0, 1.0]);
    }
}
