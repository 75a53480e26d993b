//! A first-order lead with a gain.

use super::design::{FirstOrderDesign, finite, not_negative};
use super::{Compensate, CompensatorError, Site};
use crate::motion::Motion;

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
    /// x, v, a at the tick before, per DOF.
    last: Vec<[f64; 3]>,
    started: bool,
}

impl FirstOrder {
    /// At rest.
    pub fn new(design: &FirstOrderDesign, site: &Site) -> Result<Self, CompensatorError> {
        let alpha = 1.0 + not_negative("lead", design.lead_s)? / site.step_s;
        let gain = finite("gain", design.gain)?;
        Ok(Self { gain, alpha, last: vec![[0.0; 3]; site.count], started: false })
    }
}

impl Compensate for FirstOrder {
    #[inline]
    fn command(&mut self, desired: &Motion, _measured: &[f64], command: &mut Motion) {
        let (now, before) = (self.gain * self.alpha, self.gain * (self.alpha - 1.0));
        for (i, last) in self.last.iter_mut().enumerate() {
            let x = desired.of(i);
            let past = if self.started { *last } else { x };
            command.set(i, std::array::from_fn(|s| now * x[s] - before * past[s]));
            *last = x;
        }
        self.started = true;
    }
}
