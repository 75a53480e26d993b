//! The third-order adaptive inverse, the default.

use super::design::{AdaptiveInverseDesign, check_bounds, not_negative, positive};
use super::estimator::{Jerk, Lookout};
use super::{Compensate, CompensatorError, Site};
use crate::motion::Motion;
use crate::sensor::Converter;
use numerics::filter::Section;

/// Number of parameters.
pub(super) const N: usize = 4;
/// Least that is added to the diagonal of P, whose entries are at most about 1,
/// in an update: more than its rounding takes away.
const ROUNDING: f64 = 1e-14;

/// c = a0 x + a1 ẋ + a2 ẍ + a3 x⃛, with a0 … a3 tracked by a Kalman filter.
///
/// The inverse of the transfer system is linear in its parameters: what was
/// sent is a0 x_m + a1 ẋ_m + …, x_m being what was then measured. With φ the
/// derivatives of the filtered measurement (central differences, two samples
/// ago), y the filtered command there, and parameters in a random walk:
///   r = y − φᵀa;  S = R + φᵀPφ;  a += Pφ r/S;  P += Q − Pφφᵀ P/S.
///
/// Nothing is learnt while the measurement is below a threshold, and every
/// parameter keeps within its bounds. Parameters are scaled by what is not
/// known of them at the start, so that P starts as the unit matrix instead of
/// spanning ten decades; it stays symmetric by construction, and what is added
/// to its diagonal outweighs the rounding of what is taken off.
///
/// Starting from too short a delay is safe; from one much too long it is not:
/// the loop may leave the linear range before the filter has learnt.
///
/// `latency_samples` leads further by the latency of the loop itself (held and
/// delayed force), which no tracking error shows.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptiveInverse {
    pub(super) spread: [f64; N],
    /// In scaled parameters.
    pub(super) lower: [f64; N],
    pub(super) upper: [f64; N],
    /// R and Q of one update.
    pub(super) variance: f64,
    pub(super) walk: f64,
    pub(super) threshold: f64,
    pub(super) latency_s: f64,
    pub(super) rate_hz: f64,
    pub(super) stride: u32,
    converter: Converter,
    states: Vec<State>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct State {
    /// a0 … a3.
    pub(super) parameters: [f64; N],
    /// The same in parts of the spread.
    pub(super) scaled: [f64; N],
    pub(super) covariance: [[f64; N]; N],
    lookout: Lookout,
    jerk: Jerk,
}

impl AdaptiveInverse {
    /// At rest.
    pub fn new(design: &AdaptiveInverseDesign, site: &Site) -> Result<Self, CompensatorError> {
        check_bounds(&design.start, &design.lower, &design.upper)?;
        for spread in design.spread {
            positive("spread", spread)?;
        }
        let lookout = Lookout::new(design.filter_hz, site.step_s)?;
        let noise = positive("noise", design.noise_m)?;
        let forgetting = not_negative("forgetting", design.forgetting)?;
        let scaled = |values: [f64; N]| std::array::from_fn(|i| values[i] / design.spread[i]);
        let updates = f64::from(lookout.stride);
        let state = State {
            parameters: design.start,
            scaled: scaled(design.start),
            covariance: UNIT,
            lookout,
            jerk: Jerk::default(),
        };
        Ok(Self {
            spread: design.spread,
            lower: scaled(design.lower),
            upper: scaled(design.upper),
            // One update stands for `stride` samples.
            variance: noise * noise / updates,
            walk: (forgetting * forgetting * site.step_s * updates).max(ROUNDING),
            threshold: not_negative("threshold", design.threshold_m)?,
            latency_s: not_negative("latency", design.latency_samples)? * site.step_s,
            rate_hz: 1.0 / site.step_s,
            stride: lookout.stride,
            converter: site.converter,
            states: vec![state; site.count],
        })
    }

    #[inline]
    fn update(&mut self, dof: usize) {
        let state = &mut self.states[dof];
        let derivatives = state.lookout.window.derivatives(self.rate_hz);
        let phi: [f64; N] = std::array::from_fn(|i| derivatives[i] * self.spread[i]);
        let mut gain = [0.0; N];
        for (row, &phi) in state.covariance.iter().zip(&phi) {
            for (gain, covariance) in gain.iter_mut().zip(row) {
                *gain += covariance * phi;
            }
        }
        let inverse = 1.0 / (self.variance + dot(&phi, &gain));
        let residual = (state.lookout.window.command() - dot(&phi, &state.scaled)) * inverse;
        for i in 0..N {
            let learnt = state.scaled[i] + gain[i] * residual;
            state.scaled[i] = learnt.clamp(self.lower[i], self.upper[i]);
            state.parameters[i] = state.scaled[i] * self.spread[i];
        }
        for (i, row) in state.covariance.iter_mut().enumerate() {
            for j in 0..N {
                // The product first: then both halves are the same, bit for bit.
                row[j] -= (gain[i] * gain[j]) * inverse;
            }
            // Never less certain than at the start.
            if row[i] < 1.0 {
                row[i] += self.walk;
            }
        }
    }

    /// Whether another differs in what it starts from and learns alone.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        (self.stride, self.latency_s, self.rate_hz)
            == (other.stride, other.latency_s, other.rate_hz)
            && self.sections() == other.sections()
    }

    /// Sections of the estimator's filter.
    pub(super) fn sections(&self) -> [Section; 2] {
        self.states[0].lookout.filter.sections()
    }

    /// What the first DOF has learnt.
    pub(super) fn first_state(&self) -> &State {
        &self.states[0]
    }

    /// P of one DOF, in scaled parameters.
    #[cfg(test)]
    pub(super) fn covariance(&self, dof: usize) -> [[f64; N]; N] {
        self.states[dof].covariance
    }
}

impl Compensate for AdaptiveInverse {
    #[inline]
    fn command(&mut self, desired: &Motion, _measured: &[f64], command: &mut Motion) {
        let late = self.latency_s;
        for (i, state) in self.states.iter_mut().enumerate() {
            let [x, v, a] = desired.of(i);
            let jerk = state.jerk.next(a, self.rate_hz);
            let x = x + late * (v + 0.5 * late * a);
            let v = v + late * a;
            let [a0, a1, a2, a3] = state.parameters;
            command.set(
                i,
                [
                    a0 * x + a1 * v + a2 * a + a3 * jerk,
                    // Derivatives beyond the jerk are noise.
                    a0 * v + a1 * a + a2 * jerk,
                    a0 * a + a1 * jerk,
                ],
            );
        }
    }

    #[inline]
    fn learn(&mut self, sent: &Motion, measured: &[f64]) {
        for dof in 0..self.states.len() {
            let sent = self.converter.convert(sent.displacement[dof]);
            if self.states[dof].lookout.is_due(sent, measured[dof], self.threshold) {
                self.update(dof);
            }
        }
    }

    #[inline]
    fn parameters(&self, dof: usize) -> &[f64] {
        self.states.get(dof).map_or(&[], |state| &state.parameters)
    }

    fn rejoin(&mut self, before: &Motion) {
        for (state, &a) in self.states.iter_mut().zip(&before.acceleration) {
            state.jerk.rejoin(a);
        }
    }
}

const UNIT: [[f64; N]; N] =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

#[inline]
fn dot(a: &[f64; N], b: &[f64; N]) -> f64 {
    (a[0] * b[0] + a[2] * b[2]) + (a[1] * b[1] + a[3] * b[3])
}
