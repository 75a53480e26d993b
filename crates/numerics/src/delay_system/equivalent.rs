//! A short delay as changed matrices: no delay system, but near one.
//!
//! The late signals are replaced by their first-order series, and the third
//! derivative it brings in by that of the undamped system without delay:
//!   M = M_r − τ C_τE,  C = C_r + τ (M_τE M_r⁻¹K_r − K_τE),  K = K_r.
//! Good while τ is a small part of every period; it knows nothing of neutral
//! instability.
//!
//! Reference: Gao & You 2019, Mech. Syst. Signal Process. 133, 106261.

use super::{DelayError, DelaySystem, check_delay};
use crate::second_order::SecondOrder;
use crate::solve;

impl DelaySystem {
    /// The equivalent matrices at this delay.
    pub fn equivalent(&self, delay_s: f64) -> Result<SecondOrder, DelayError> {
        check_delay(delay_s)?;
        let whole = self.undelayed();
        let inverse = solve::inverse(&whole.mass).ok_or(DelayError::SingularMass)?;
        let late = &self.late;
        let turned =
            &late.mass * &self.of * inverse * &whole.stiffness - &late.stiffness * &self.of;
        Ok(SecondOrder {
            mass: &whole.mass - &late.damping * &self.of * delay_s,
            damping: &whole.damping + turned * delay_s,
            stiffness: whole.stiffness,
        })
    }

    /// Growth of their slowest-decaying motion, 1/s.
    pub fn equivalent_growth_1_s(&self, delay_s: f64) -> Result<f64, DelayError> {
        let roots = self.moving_roots(&self.equivalent(delay_s)?)?;
        Ok(roots.iter().map(|root| root.re).fold(f64::NEG_INFINITY, f64::max))
    }
}
