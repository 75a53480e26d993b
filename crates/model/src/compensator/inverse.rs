//! The inverse of a fitted model.

use super::derivatives::{Derivatives, HIGHEST, filtered};
use super::design::{InverseDesign, finite};
use super::{Compensate, CompensatorError, Site};
use crate::motion::Motion;
use crate::sensor::Converter;
use nalgebra::DMatrix;
use numerics::linear_system::{LinearSystem, Time};

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
    derivatives: Vec<Derivatives>,
}

impl Inverse {
    /// At rest.
    pub fn new(design: &InverseDesign, site: &Site) -> Result<Self, CompensatorError> {
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
            *a = finite("coefficients", coefficient)?;
        }
        // The jerk serves the command's own derivatives even where the
        // displacement does not need it.
        let order = (coefficients.len() - 1).max(3);
        let one = Derivatives::new(design.derivatives, order, site.step_s);
        Ok(Self { a, derivatives: vec![one; site.count] })
    }
}

impl Inverse {
    /// One interface DOF as a linear system, found by asking the derivatives
    /// themselves: its states are their last differences. See
    /// [`Design::predicted_forms`](super::Design::predicted_forms) for the signals.
    pub(super) fn linear_form(
        design: &InverseDesign,
        step_s: f64,
        rejoins: bool,
    ) -> Result<LinearSystem, CompensatorError> {
        let converter = Converter { quantum: 0.0, saturation: f64::INFINITY };
        let own = Self::new(design, &Site { count: 1, step_s, converter })?;
        let states = own.derivatives[0].memory();
        let inputs = if rejoins { 5 } else { 4 };
        let mut all = DMatrix::zeros(states + 3, states + inputs);
        for column in 0..states + inputs {
            let mut unit = [0.0; HIGHEST + 5];
            unit[column] = 1.0;
            let (last, signals) = unit.split_at(states);
            let mut derivatives = own.derivatives[0];
            derivatives.recall(last);
            if rejoins {
                derivatives.rejoin(signals[4]);
            }
            let command = filtered(&own.a, &derivatives.take(signals[0], signals[1], signals[2]));
            let result = derivatives.remembered()[..states].iter().chain(&command);
            all.column_mut(column).iter_mut().zip(result).for_each(|(to, value)| *to = *value);
        }
        let part = |at, shape| all.view(at, shape).into_owned();
        Ok(LinearSystem::new(
            part((0, 0), (states, states)),
            part((0, states), (states, inputs)),
            part((states, 0), (3, states)),
            part((states, states), (3, inputs)),
            Time::Step(step_s),
        ))
    }
}

impl Compensate for Inverse {
    #[inline]
    fn command(&mut self, desired: &Motion, _measured: &[f64], command: &mut Motion) {
        for (i, derivatives) in self.derivatives.iter_mut().enumerate() {
            let [x, v, a] = desired.of(i);
            command.set(i, filtered(&self.a, &derivatives.take(x, v, a)));
        }
    }

    fn rejoin(&mut self, before: &Motion) {
        for (derivatives, &a) in self.derivatives.iter_mut().zip(&before.acceleration) {
            derivatives.rejoin(a);
        }
    }
}
