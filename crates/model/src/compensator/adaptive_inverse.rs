//! The third-order adaptive inverse, the default.

use super::derivatives::DerivativeSource;
use super::design::{check_bounds, delay_series};
use super::estimator::{Observer, believed};
use super::{Adapts, Compensate, Compensator, CompensatorError, Kind, Learning};
use crate::check::{check_each, check_not_negative, check_positive};
use keys::Keys;
use numerics::lanes::{LANES, Lane, Lanes, Mask};

/// Number of parameters.
const N: usize = 4;
/// Least that is added to the diagonal of P, whose entries are at most about 1,
/// in an update: more than its rounding takes away.
const ROUNDING: f64 = 1e-14;
/// Standard deviation of what is not known of the factors at the start.
const SPREAD: [f64; N] = [0.05, 6e-3, 1e-4, 9.33e-7];

/// Keys of the adaptive inverse.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct AdaptiveInverseDesign {
    /// Factor on displacement at first.
    #[key(number, positive, default = 1)]
    pub start_gain: f64,
    /// The delay compensated at first; too short is safe, much too long is not.
    #[key(time, not_negative, default = "20 ms")]
    pub start_delay_s: f64,
    /// Least factors on displacement, velocity and so on, SI.
    #[key(number, default = [0.5, 0, 0, 0])]
    pub lower: [f64; 4],
    /// Greatest factors on displacement, velocity and so on, SI.
    #[key(number, default = [1.5, 0.1, 1e-3, 1e-5])]
    pub upper: [f64; 4],
    /// Nothing is learnt while the filtered measurement is below this.
    #[key(length, of_dof, not_negative, default = "0.1 mm")]
    pub threshold_m: f64,
    /// Root mean square of the filtered command about the fit; larger learns more slowly.
    #[key(length, of_dof, positive, default = "20.25 um")]
    pub noise_m: f64,
    /// Random walk of the factors in one second, in parts of what is not known of them at the start;
    /// 0 never forgets.
    #[key(number, not_negative, default = 0.1)]
    pub forgetting: f64,
    /// Lead over the loop's own latency, in steps: half a step for a held force and one for each
    /// step it comes late.
    #[key(number, within = 0.0..=1000.0, default = 0, name = "latency")]
    pub latency_samples: f64,
    /// Cut-off of the Butterworth filter of order 4 that the estimator sees command and measurement
    /// through.
    #[key(frequency, positive, default = "20 Hz")]
    pub filter_hz: f64,
    /// Standard deviation of what is not known of the factors at the start.
    #[key(skip = SPREAD)]
    pub spread: [f64; 4],
}

impl Adapts for AdaptiveInverseDesign {
    const FACTORS: usize = 4;

    fn learning(&self) -> Option<Learning<'_>> {
        let (start, derivatives) = (self.start().to_vec(), DerivativeSource::Motion);
        Some(Learning { start, lower: &self.lower, upper: &self.upper, derivatives })
    }
}

impl AdaptiveInverseDesign {
    /// The factors at the start: the series of the delay.
    pub fn start(&self) -> [f64; 4] {
        delay_series(self.start_gain, self.start_delay_s)
    }

    /// The values that served the benchmark, started from a generic delay of 20 ms.
    pub const GENERIC: Self = Self {
        start_gain: 1.0,
        start_delay_s: 0.020,
        spread: SPREAD,
        lower: [0.5, 0.0, 0.0, 0.0],
        upper: [1.5, 0.1, 1e-3, 1e-5],
        forgetting: 0.1,
        noise_m: 2.025e-5,
        threshold_m: 1e-4,
        latency_samples: 0.0,
        filter_hz: 20.0,
    };
}

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
    spread: [T; N],
    /// In scaled parameters.
    lower: [T; N],
    upper: [T; N],
    /// R and Q of one update.
    variance: T,
    walk: T,
    latency_s: f64,
    /// a0 … a3.
    parameters: [T; N],
    /// The same in parts of the spread.
    scaled: [T; N],
    /// P, in scaled parameters.
    pub(super) covariance: [[T; N]; N],
    observer: Observer<T>,
    last_acceleration: Option<T>,
}

impl AdaptiveInverse {
    /// At rest.
    pub fn new(design: &AdaptiveInverseDesign, step_s: f64) -> Result<Self, CompensatorError> {
        check_bounds(&design.start(), &design.lower, &design.upper)?;
        check_each(check_positive, "spread", &design.spread)?;
        let observer = Observer::new(design.filter_hz, design.threshold_m, step_s)?;
        let noise = check_positive("noise", design.noise_m)?;
        let forgetting = check_not_negative("forgetting", design.forgetting)?;
        let scaled = |values: [f64; N]| std::array::from_fn(|i| values[i] / design.spread[i]);
        // One update stands for `stride` samples.
        let updates = f64::from(observer.stride);
        Ok(Self {
            spread: design.spread,
            lower: scaled(design.lower),
            upper: scaled(design.upper),
            variance: noise * noise / updates,
            walk: (forgetting * forgetting * step_s * updates).max(ROUNDING),
            latency_s: check_not_negative("latency", design.latency_samples)? * step_s,
            parameters: design.start(),
            scaled: scaled(design.start()),
            covariance: unit(),
            observer,
            last_acceleration: None,
        })
    }
}

impl AdaptiveInverse<Lanes> {
    /// Those of four loops with one interface DOF each, at rest; `None` if one is of
    /// another kind, is shaped, or differs in more than what it learns and from where.
    pub fn side_by_side(compensators: [&Compensator; LANES]) -> Option<Self> {
        let each: Vec<&AdaptiveInverse> =
            compensators.into_iter().map(single).collect::<Option<_>>()?;
        let latency_s = each[0].latency_s;
        if each.iter().any(|one| one.latency_s != latency_s) {
            return None;
        }
        let number = |of: fn(&AdaptiveInverse) -> f64| Lanes::each(|lane| of(each[lane]));
        let four = |of: fn(&AdaptiveInverse) -> &[f64; N]| -> [Lanes; N] {
            std::array::from_fn(|i| Lanes::each(|lane| of(each[lane])[i]))
        };
        Some(Self {
            spread: four(|one| &one.spread),
            lower: four(|one| &one.lower),
            upper: four(|one| &one.upper),
            variance: number(|one| one.variance),
            walk: number(|one| one.walk),
            latency_s,
            parameters: four(|one| &one.parameters),
            scaled: four(|one| &one.scaled),
            covariance: unit(),
            observer: Observer::side_by_side(std::array::from_fn(|lane| &each[lane].observer))?,
            last_acceleration: None,
        })
    }

    /// Learns from what left the converters and what was then measured. Gives which
    /// loops it can follow: a number out of all bounds opens a gap in the history of
    /// a single one, which has no place here.
    #[inline(always)]
    pub fn step_learning(&mut self, sent: Lanes, measured: Lanes) -> Mask {
        self.learn(sent, measured);
        believed(sent, measured)
    }
}

/// The adaptive inverse of one DOF that a compensator is, if it is nothing more.
fn single(compensator: &Compensator) -> Option<&AdaptiveInverse> {
    match (&compensator.kinds[..], &compensator.shaping) {
        ([Kind::AdaptiveInverse(one)], None) => Some(one),
        _ => None,
    }
}

impl<T: Lane> Compensate<T> for AdaptiveInverse<T> {
    #[inline(always)]
    fn command(&mut self, [x, v, a]: [T; 3], _measured: T) -> [T; 3] {
        let jerk = match self.last_acceleration {
            None => T::ZERO,
            Some(last) => (a - last) * self.observer.rate_hz,
        };
        self.last_acceleration = Some(a);
        let late_s = self.latency_s;
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

    /// One update of the Kalman filter in those lanes that learn.
    #[inline(always)]
    fn learn(&mut self, sent: T, measured: T) {
        let Self { parameters, scaled, covariance, observer, .. } = self;
        let Some(learns) = observer.take(sent, measured) else { return };
        let derivatives = observer.derivatives();
        let phi: [T; N] = std::array::from_fn(|i| derivatives[i] * self.spread[i]);
        let mut gain = [T::ZERO; N];
        for (row, phi) in covariance.iter().zip(phi) {
            for (gain, covariance) in gain.iter_mut().zip(row) {
                *gain += *covariance * phi;
            }
        }
        let inverse = T::all(1.0) / (self.variance + dot(&phi, &gain));
        let [command, _] = observer.middle();
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

    fn parameters(&self) -> &[T] {
        &self.parameters
    }

    fn rejoin(&mut self, acceleration: T) {
        self.last_acceleration = self.last_acceleration.map(|_| acceleration);
    }
}

fn unit<T: Lane>() -> [[T; N]; N] {
    std::array::from_fn(|i| std::array::from_fn(|j| T::all(if i == j { 1.0 } else { 0.0 })))
}

#[inline(always)]
fn dot<T: Lane>(a: &[T; N], b: &[T; N]) -> T {
    (a[0] * b[0] + a[2] * b[2]) + (a[1] * b[1] + a[3] * b[3])
}
