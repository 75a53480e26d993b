//! The inverse of a fitted model.

use super::derivatives::{DerivativeSource, Derivatives, HIGHEST, filtered};
use super::{Adapts, Compensate, CompensatorError};
use crate::check::check_finite;
use keys::Keys;
use nalgebra::DMatrix;
use numerics::linear_system::{LinearSystem, Time};
/// Keys of a fixed inverse.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct InverseDesign {
    /// a0, a1, … up to a5, in powers of seconds.
    #[key(number, entries = 1..=6)]
    pub coefficients: Vec<f64>,
    /// Where derivatives of the desired motion come from.
    #[key(default = "motion")]
    pub derivatives: DerivativeSource,
}

impl Adapts for InverseDesign {}

/// c = a0 x + a1 ẋ + … + an x⁽ⁿ⁾: the inverse of 1 / (a0 + a1 s + … + an sⁿ).
///
/// Displacement, velocity and acceleration are the integrator's (or the
/// predictor's) own; only what lies beyond comes from differences of the
/// acceleration. The paper differences displacements throughout
/// ([`DerivativeSource::Differences`](super::DerivativeSource)): each
/// difference is half a sample late and multiplies noise and jumps by the rate.
///
/// Reference: Waldbjørn et al., multi-rate real-time hybrid simulation, Eq 3.
#[derive(Debug, Clone, PartialEq)]
pub struct Inverse {
    a: [f64; HIGHEST + 1],
    derivatives: Derivatives,
}

impl Inverse {
    /// At rest.
    pub fn new(design: &InverseDesign, step_s: f64) -> Result<Self, CompensatorError> {
        let coefficients = &design.coefficients;
        if coefficients.is_empty() || coefficients.len() > HIGHEST + 1 {
            return Err(CompensatorError::BadCount {
                key: "coefficients",
                count: coefficients.len(),
                requirement: "one to six, a0 to a5",
            });
        }
        let mut a = [0.0; HIGHEST + 1];
        for (a, &coefficient) in a.iter_mut().zip(coefficients) {
            *a = check_finite("coefficients", coefficient)?;
        }
        // The jerk serves the command's own derivatives even where the
        // displacement does not need it.
        let order = (coefficients.len() - 1).max(3);
        Ok(Self { a, derivatives: Derivatives::new(design.derivatives, order, step_s) })
    }
}

impl Compensate for Inverse {
    fn command(&mut self, desired: [f64; 3], _measured: f64) -> [f64; 3] {
        filtered(&self.a, &self.derivatives.take(desired))
    }

    fn rejoin(&mut self, acceleration: f64) {
        self.derivatives.rejoin(acceleration);
    }

    fn memory(&self) -> Option<usize> {
        Some(HIGHEST)
    }

    /// Found by asking the derivatives themselves: the states are their last differences.
    fn predicted_forms(&self, time: Time) -> Option<[LinearSystem; 2]> {
        let states = self.derivatives.memory();
        Some([4, 5].map(|inputs| {
            let mut all = DMatrix::zeros(states + 3, states + inputs);
            for (column, mut result) in all.column_iter_mut().enumerate() {
                let mut unit = [0.0; HIGHEST + 5];
                unit[column] = 1.0;
                let (last, signals) = unit.split_at(states);
                let mut derivatives = self.derivatives;
                derivatives.recall(last);
                if inputs == 5 {
                    derivatives.rejoin(signals[4]);
                }
                let desired = [signals[0], signals[1], signals[2]];
                let command = filtered(&self.a, &derivatives.take(desired));
                let values = derivatives.last[..states].iter().chain(&command);
                result.iter_mut().zip(values).for_each(|(to, value)| *to = *value);
            }
            let part = |at, shape| all.view(at, shape).into_owned();
            LinearSystem::new(
                part((0, 0), (states, states)),
                part((0, states), (states, inputs)),
                part((states, 0), (3, states)),
                part((states, states), (3, inputs)),
                time,
            )
        }))
    }
}
