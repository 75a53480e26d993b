//! A short delay as changed matrices: no delay system, but near one.
//!
//! The late signals are replaced by their first-order series, and the third
//! derivative it brings in by that of the undamped system without delay:
//!   M = M_r − τ C_τE,  C = C_r + τ (M_τE M_r⁻¹K_r − K_τE),  K = K_r.
//! Good while τ is a small part of every period; it knows nothing of neutral
//! instability.
//!
//! Reference: Gao & You 2019, Mech. Syst. Signal Process. 133, 106261.

use super::{Coefficients, DelayError, DelaySystem, check_delay, companion};
use crate::eigen;

impl DelaySystem {
    /// The equivalent matrices at this delay.
    pub fn equivalent(&self, delay_s: f64) -> Result<Coefficients, DelayError> {
        check_delay(delay_s)?;
        let whole = self.undelayed();
        let inverse = whole.second.clone().try_inverse().ok_or(DelayError::SingularMass)?;
        let late = &self.late;
        let turned = &late.second * &self.of * inverse * &whole.zeroth - &late.zeroth * &self.of;
        Ok(Coefficients {
            second: &whole.second - &late.first * &self.of * delay_s,
            first: &whole.first + turned * delay_s,
            zeroth: whole.zeroth,
        })
    }

    /// Growth of their slowest-decaying motion, 1/s.
    pub fn equivalent_growth_1_s(&self, delay_s: f64) -> Result<f64, DelayError> {
        let Coefficients { second, first, zeroth } = self.equivalent(delay_s)?;
        let inverse = second.try_inverse().ok_or(DelayError::SingularMass)?;
        let matrix = companion(&inverse, &first, &zeroth);
        let (values, rest) = (eigen::eigenvalues(&matrix)?, self.at_rest_1_s(&matrix));
        let moving = values.iter().filter(|value| value.norm() >= rest);
        Ok(moving.map(|value| value.re).fold(f64::NEG_INFINITY, f64::max))
    }
}
