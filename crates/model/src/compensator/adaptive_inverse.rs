//! The third-order adaptive inverse, the default.

use super::design::{AdaptiveInverseDesign, check_bounds, not_negative, positive};
use super::estimator::{TwinFilter, Window, believed, stride};
use super::{Active, Compensate, Compensator, CompensatorError, Kind, Site};
use crate::motion::Motion;
use crate::sensor::Converter;
use numerics::lanes::{LANES, Lane, LaneMask, Lanes, Mask};

/// Number of parameters.
const N: usize = 4;
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
///
/// The loops of a batch have one side by side, `AdaptiveInverse<Lanes>`.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptiveInverse<T: Lane = f64> {
    scaled_start: [T; N],
    spread: [T; N],
    /// In scaled parameters.
    lower: [T; N],
    upper: [T; N],
    /// R and Q of one update.
    variance: T,
    walk: T,
    threshold: T,
    latency_s: f64,
    rate_hz: f64,
    stride: u32,
    converter: Converter,
    states: Vec<State<T>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct State<T: Lane> {
    /// a0 … a3.
    parameters: [T; N],
    /// The same in parts of the spread.
    scaled: [T; N],
    covariance: [[T; N]; N],
    filter: TwinFilter<T>,
    window: Window<T>,
    last_acceleration: Option<T>,
    /// Ticks until the next update.
    wait: u32,
}

impl AdaptiveInverse {
    /// At rest.
    pub fn new(design: &AdaptiveInverseDesign, site: &Site) -> Result<Self, CompensatorError> {
        check_bounds(&design.start, &design.lower, &design.upper)?;
        for spread in design.spread {
            positive("spread", spread)?;
        }
        let stride = stride(positive("filter", design.filter_hz)?, site.step_s);
        let noise = positive("noise", design.noise_m)?;
        let forgetting = not_negative("forgetting", design.forgetting)?;
        let scaled = |values: [f64; N]| std::array::from_fn(|i| values[i] / design.spread[i]);
        let updates = f64::from(stride);
        let state = State {
            parameters: design.start,
            scaled: scaled(design.start),
            covariance: unit(),
            filter: TwinFilter::new(design.filter_hz, site.step_s)?,
            window: Window::EMPTY,
            last_acceleration: None,
            wait: stride,
        };
        Ok(Self {
            scaled_start: state.scaled,
            spread: design.spread,
            lower: scaled(design.lower),
            upper: scaled(design.upper),
            // One update stands for `stride` samples.
            variance: noise * noise / updates,
            walk: (forgetting * forgetting * site.step_s * updates).max(ROUNDING),
            threshold: not_negative("threshold", design.threshold_m)?,
            latency_s: not_negative("latency", design.latency_samples)? * site.step_s,
            rate_hz: 1.0 / site.step_s,
            stride,
            converter: site.converter,
            states: vec![state; site.count],
        })
    }

    /// P of one DOF, in scaled parameters.
    #[cfg(test)]
    pub(super) fn covariance(&self, dof: usize) -> [[f64; N]; N] {
        self.states[dof].covariance
    }
}

impl AdaptiveInverse<Lanes> {
    /// Those of four loops with one interface DOF each, at rest; `None` if one is of
    /// another kind, is shaped, or differs in more than what it learns and from where.
    pub fn side_by_side(compensators: [&Compensator; LANES]) -> Option<Self> {
        let each: Vec<&AdaptiveInverse> =
            compensators.into_iter().map(single).collect::<Option<_>>()?;
        let first = each[0];
        let sections = first.states[0].filter.sections();
        let alike = |one: &&AdaptiveInverse| {
            (one.stride, one.latency_s, one.rate_hz)
                == (first.stride, first.latency_s, first.rate_hz)
                && one.states[0].filter.sections() == sections
        };
        if !each.iter().all(alike) {
            return None;
        }
        let number = |of: fn(&AdaptiveInverse) -> f64| Lanes::each(|lane| of(each[lane]));
        let four = |of: fn(&AdaptiveInverse) -> &[f64; N]| -> [Lanes; N] {
            std::array::from_fn(|i| Lanes::each(|lane| of(each[lane])[i]))
        };
        let mut all = Self {
            scaled_start: four(|one| &one.scaled_start),
            spread: four(|one| &one.spread),
            lower: four(|one| &one.lower),
            upper: four(|one| &one.upper),
            variance: number(|one| one.variance),
            walk: number(|one| one.walk),
            threshold: number(|one| one.threshold),
            latency_s: first.latency_s,
            rate_hz: first.rate_hz,
            stride: first.stride,
            converter: first.converter,
            states: Vec::new(),
        };
        let state = State {
            parameters: four(|one| &one.states[0].parameters),
            ..all.at_rest(TwinFilter::from_sections(sections))
        };
        all.states.push(state);
        Some(all)
    }

    /// The commands of the loops for their desired motions (displacement, velocity,
    /// acceleration).
    #[inline(always)]
    pub fn step_command(&mut self, desired: [Lanes; 3]) -> [Lanes; 3] {
        self.states[0].command(desired, self.latency_s, self.rate_hz)
    }

    /// Learns from what left the converters and what was then measured. Gives which
    /// loops it can follow: a number out of all bounds opens a gap in the history of
    /// a single one, which has no place here.
    #[inline(always)]
    pub fn step_learning(&mut self, sent: Lanes, measured: Lanes) -> Mask {
        self.learn_from(0, sent, measured);
        believed(sent, measured)
    }
}

impl<T: Lane> AdaptiveInverse<T> {
    /// The state before the first tick.
    fn at_rest(&self, filter: TwinFilter<T>) -> State<T> {
        State {
            parameters: std::array::from_fn(|i| self.scaled_start[i] * self.spread[i]),
            scaled: self.scaled_start,
            covariance: unit(),
            filter,
            window: Window::EMPTY,
            last_acceleration: None,
            wait: self.stride,
        }
    }

    /// Learns from what left the converter and what was then measured.
    #[inline(always)]
    fn learn_from(&mut self, dof: usize, sent: T, measured: T) {
        let state = &mut self.states[dof];
        // A gap in the measurement is a gap in the window.
        let Some(filtered) = state.filter.step(sent, measured) else {
            state.window = Window::EMPTY;
            return;
        };
        state.window.push(filtered);
        state.wait = state.wait.saturating_sub(1);
        if state.wait == 0 && state.window.is_full() {
            state.wait = self.stride;
            let [_, measured] = state.window.middle();
            let learns = self.threshold.below(measured.abs());
            if learns.any() {
                self.update(dof, learns);
            }
        }
    }

    /// One update of the Kalman filter in those lanes that learn.
    #[inline(always)]
    fn update(&mut self, dof: usize, learns: T::Mask) {
        let State { parameters, scaled, covariance, window, .. } = &mut self.states[dof];
        let derivatives = window.derivatives(self.rate_hz);
        let phi: [T; N] = std::array::from_fn(|i| derivatives[i] * self.spread[i]);
        let mut gain = [T::ZERO; N];
        for (row, phi) in covariance.iter().zip(phi) {
            for (gain, covariance) in gain.iter_mut().zip(row) {
                *gain += *covariance * phi;
            }
        }
        let inverse = T::all(1.0) / (self.variance + dot(&phi, &gain));
        let [command, _] = window.middle();
        let residual = (command - dot(&phi, scaled)) * inverse;
        for i in 0..N {
            let learnt = (scaled[i] + gain[i] * residual).within(self.lower[i], self.upper[i]);
            scaled[i] = learnt.where_set(learns, scaled[i]);
            parameters[i] = (scaled[i] * self.spread[i]).where_set(learns, parameters[i]);
        }
        for (i, row) in covariance.iter_mut().enumerate() {
            for j in 0..N {
                // The product first: then both halves are the same, bit for bit.
                let mut entry = row[j] - (gain[i] * gain[j]) * inverse;
                if i == j {
                    // Never less certain than at the start.
                    entry = (entry + self.walk).where_set(entry.below(T::all(1.0)), entry);
                }
                row[j] = entry.where_set(learns, row[j]);
            }
        }
    }
}

impl<T: Lane> State<T> {
    #[inline(always)]
    fn command(&mut self, [x, v, a]: [T; 3], late_s: f64, rate_hz: f64) -> [T; 3] {
        let jerk = match self.last_acceleration {
            None => T::ZERO,
            Some(last) => (a - last) * rate_hz,
        };
        self.last_acceleration = Some(a);
        let x = x + (v + a * (0.5 * late_s)) * late_s;
        let v = v + a * late_s;
        let [a0, a1, a2, a3] = self.parameters;
        [
            a0 * x + a1 * v + a2 * a + a3 * jerk,
            // Derivatives beyond the jerk are noise.
            a0 * v + a1 * a + a2 * jerk,
            a0 * a + a1 * jerk,
        ]
    }
}

/// The adaptive inverse of one DOF that a compensator is, if it is nothing more.
fn single(compensator: &Compensator) -> Option<&AdaptiveInverse> {
    let Compensator::Active(active) = compensator else { return None };
    match &**active {
        Active { kind: Kind::AdaptiveInverse(one), shaping: None, count: 1 } => Some(one),
        _ => None,
    }
}

impl Compensate for AdaptiveInverse {
    #[inline]
    fn command(&mut self, desired: &Motion, _measured: &[f64], command: &mut Motion) {
        for (i, state) in self.states.iter_mut().enumerate() {
            command.set(i, state.command(desired.of(i), self.latency_s, self.rate_hz));
        }
    }

    #[inline]
    fn learn(&mut self, sent: &Motion, measured: &[f64]) {
        for dof in 0..self.states.len() {
            let sent = self.converter.convert(sent.displacement[dof]);
            self.learn_from(dof, sent, measured[dof]);
        }
    }

    #[inline]
    fn parameters(&self, dof: usize) -> &[f64] {
        self.states.get(dof).map_or(&[], |state| &state.parameters)
    }

    fn rejoin(&mut self, before: &Motion) {
        for (state, &a) in self.states.iter_mut().zip(&before.acceleration) {
            state.last_acceleration = state.last_acceleration.map(|_| a);
        }
    }
}

fn unit<T: Lane>() -> [[T; N]; N] {
    std::array::from_fn(|i| std::array::from_fn(|j| T::all(if i == j { 1.0 } else { 0.0 })))
}

#[inline(always)]
fn dot<T: Lane>(a: &[T; N], b: &[T; N]) -> T {
    (a[0] * b[0] + a[2] * b[2]) + (a[1] * b[1] + a[3] * b[3])
}
