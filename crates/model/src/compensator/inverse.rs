//! The inverse of a fitted model.

use super::derivatives::{Derivatives, HIGHEST, filtered};
use super::design::{InverseDesign, finite};
use super::{Compensate, CompensatorError, Site};
use crate::motion::Motion;

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

    fn reset(&mut self) {
        self.derivatives.iter_mut().for_each(Derivatives::reset);
    }
}
