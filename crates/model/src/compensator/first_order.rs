//! A first-order lead with a gain.

use super::{Adapts, Compensate, CompensatorError};
use crate::check::{check_finite, check_not_negative};
use keys::Keys;
/// Keys of a first-order lead.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct FirstOrderDesign {
    /// Factor on the whole command.
    #[key(number, positive, default = 1)]
    pub gain: f64,
    /// The lead at low frequency, (α − 1) steps.
    #[key(time, not_negative)]
    pub lead_s: f64,
}

impl Adapts for FirstOrderDesign {}

/// K(z) = g (α z − (α − 1)) / z, the inverse of a first-order lag with unit
/// gain, times a gain:
///   c[k] = g (α x[k] − (α − 1) x[k−1]),  α = 1 + lead / Δt.
///
/// The lead at low frequency is (α − 1) Δt; it falls with frequency while the
/// amplitude grows. Unit gain at rest cannot correct a transfer system whose
/// own is not one: `gain` does. Velocity and acceleration pass the same filter.
///
/// Reference: Waldbjørn et al., multi-rate real-time hybrid simulation, Eq 2.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstOrder {
    gain: f64,
    alpha: f64,
    /// x, v, a at the tick before.
    last: Option<[f64; 3]>,
}

impl FirstOrder {
    /// At rest.
    pub fn new(design: &FirstOrderDesign, step_s: f64) -> Result<Self, CompensatorError> {
        let alpha = 1.0 + check_not_negative("lead", design.lead_s)? / step_s;
        Ok(Self { gain: check_finite("gain", design.gain)?, alpha, last: None })
    }
}

impl Compensate for FirstOrder {
    fn command(&mut self, desired: [f64; 3], _measured: f64) -> [f64; 3] {
        let (now, before) = (self.gain * self.alpha, self.gain * (self.alpha - 1.0));
        let past = self.last.replace(desired).unwrap_or(desired);
        std::array::from_fn(|s| now * desired[s] - before * past[s])
    }

    fn memory(&self) -> Option<usize> {
        Some(1)
    }
}
