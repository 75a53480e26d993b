//! Second-order inverse, fitted over a moving window.

use keys::Keys;
use nalgebra::{Matrix3, Vector3};

use super::derivatives::{DerivativeSource, Derivatives, filtered};
use super::design::{check_bounds, delay_series};
use super::estimator::Observer;
use super::{Adapts, Compensate, CompensatorError, Learning};
use crate::check::{check_each, check_positive};

/// Number of parameters.
const N: usize = 3;
/// Parts of the window: the oldest is dropped whole, so that no rounding adds
/// up as it does where samples are added and taken off one by one.
const BLOCKS: usize = 16;
/// Standard deviation of what is not known of the factors at the start.
const SPREAD: [f64; 3] = [0.05, 6e-3, 1e-4];

/// Keys of the adaptive time series.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct AdaptiveTimeSeriesDesign {
    /// Factor on displacement at first.
    #[key(number, positive, default = 1)]
    pub start_gain: f64,
    /// The delay compensated at first; too short is safe, much too long is not.
    #[key(time, not_negative, default = "10 ms")]
    pub start_delay_s: f64,
    /// Least factors on displacement, velocity and so on, SI.
    #[key(number, default = [0.5, 0, 0])]
    pub lower: [f64; 3],
    /// Greatest factors on displacement, velocity and so on, SI.
    #[key(number, default = [1.5, 0.1, 1e-3])]
    pub upper: [f64; 3],
    /// Nothing is learnt while the filtered measurement is below this.
    #[key(length, of_dof, not_negative, default = "0.1 mm")]
    pub threshold_m: f64,
    /// Root mean square of the filtered command about the fit; larger learns more slowly.
    #[key(length, of_dof, positive, default = "20.25 um")]
    pub noise_m: f64,
    /// Length of the window.
    #[key(time, positive, default = "1 s")]
    pub window_s: f64,
    /// Cut-off of the Butterworth filter of order 4 that the estimator sees command and measurement
    /// through.
    #[key(frequency, positive, default = "20 Hz")]
    pub filter_hz: f64,
    /// Standard deviation of what is not known of the factors at the start.
    #[key(skip = SPREAD)]
    pub spread: [f64; 3],
}

impl Adapts for AdaptiveTimeSeriesDesign {
    const FACTORS: usize = 3;

    fn learning(&self) -> Option<Learning<'_>> {
        let (start, derivatives) = (self.start().to_vec(), DerivativeSource::Motion);
        Some(Learning { start, lower: &self.lower, upper: &self.upper, derivatives })
    }
}

impl AdaptiveTimeSeriesDesign {
    /// The factors at the start: the series of the delay.
    pub fn start(&self) -> [f64; 3] {
        delay_series(self.start_gain, self.start_delay_s)
    }

    /// The values that served the benchmark, started from 10 ms.
    pub const GENERIC: Self = Self {
        start_gain: 1.0,
        start_delay_s: 0.010,
        spread: SPREAD,
        lower: [0.5, 0.0, 0.0],
        upper: [1.5, 0.1, 1e-3],
        window_s: 1.0,
        noise_m: 2.025e-5,
        threshold_m: 1e-4,
        filter_hz: 20.0,
    };
}

/// c = a0 x + a1 ẋ + a2 ẍ, with a0 … a2 by least squares of the command over
/// the derivatives of the measurement in a moving window.
///
/// In a narrow band displacement and acceleration are nearly proportional and
/// plain least squares is left without an answer. Here the start values count
/// as one more observation, with the spread that is declared for them, and the
/// fit always has one.
///
/// Reference: Chae et al. 2013, Earthq. Eng. Struct. Dyn. 42.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptiveTimeSeries {
    design: AdaptiveTimeSeriesDesign,
    /// R of one update.
    variance: f64,
    /// Updates in one block.
    per_block: u32,
    parameters: [f64; N],
    derivatives: Derivatives,
    observer: Observer,
    blocks: Vec<Sums>,
    current: usize,
    in_block: u32,
}

/// Σ φφᵀ and Σ φ r, in scaled parameters; r is what the start values leave.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    normal: Matrix3<f64>,
    right: Vector3<f64>,
}

impl AdaptiveTimeSeries {
    /// At rest.
    pub fn new(design: &AdaptiveTimeSeriesDesign, step_s: f64) -> Result<Self, CompensatorError> {
        check_bounds(&design.start(), &design.lower, &design.upper)?;
        check_each(check_positive, "spread", &design.spread)?;
        let noise = check_positive("noise", design.noise_m)?;
        let observer = Observer::new(design.filter_hz, design.threshold_m, step_s)?;
        let stride = f64::from(observer.stride);
        let updates = check_positive("window", design.window_s)? / (step_s * stride);
        Ok(Self {
            design: *design,
            variance: noise * noise / stride,
            per_block: ((updates / BLOCKS as f64).round() as u32).max(1),
            parameters: design.start(),
            // Derivatives beyond the jerk are noise.
            derivatives: Derivatives::new(DerivativeSource::Motion, 3, step_s),
            observer,
            blocks: vec![Sums::default(); BLOCKS],
            current: 0,
            in_block: 0,
        })
    }
}

impl Sums {
    /// The solution by Cholesky's factors; `None` where rounding has eaten them.
    #[inline]
    fn solve(&self) -> Option<Vector3<f64>> {
        let mut factor = self.normal;
        for i in 0..N {
            for j in 0..=i {
                let known: f64 = (0..j).map(|k| factor[(i, k)] * factor[(j, k)]).sum();
                let rest = factor[(i, j)] - known;
                if i == j {
                    if !(rest > 0.0 && rest.is_finite()) {
                        return None;
                    }
                    factor[(i, i)] = rest.sqrt();
                } else {
                    factor[(i, j)] = rest / factor[(j, j)];
                }
            }
        }
        let mut x = self.right;
        for i in 0..N {
            let known: f64 = (0..i).map(|k| factor[(i, k)] * x[k]).sum();
            x[i] = (x[i] - known) / factor[(i, i)];
        }
        for i in (0..N).rev() {
            let known: f64 = (i + 1..N).map(|k| factor[(k, i)] * x[k]).sum();
            x[i] = (x[i] - known) / factor[(i, i)];
        }
        x.iter().all(|x| x.is_finite()).then_some(x)
    }
}

impl Compensate for AdaptiveTimeSeries {
    fn command(&mut self, desired: [f64; 3], _measured: f64) -> [f64; 3] {
        filtered(&self.parameters, &self.derivatives.take(desired))
    }

    fn learn(&mut self, sent: f64, measured: f64) {
        if self.observer.take(sent, measured).is_none() {
            return;
        }
        let AdaptiveTimeSeriesDesign { spread, lower, upper, .. } = &self.design;
        let start = self.design.start();
        let derivatives = self.observer.derivatives();
        let phi = Vector3::from_fn(|i, _| derivatives[i] * spread[i]);
        let left: f64 = start.iter().zip(&derivatives).map(|(a, x)| a * x).sum();
        let [command, _] = self.observer.middle();
        if self.in_block == self.per_block {
            self.in_block = 0;
            self.current = (self.current + 1) % BLOCKS;
            self.blocks[self.current] = Sums::default();
        }
        self.in_block += 1;
        let block = &mut self.blocks[self.current];
        block.normal += phi * phi.transpose();
        block.right += phi * (command - left);
        // The start values, as an observation of their own.
        let normal = Matrix3::from_diagonal_element(self.variance);
        let mut sums = Sums { normal, ..Sums::default() };
        for block in &self.blocks {
            sums.normal += block.normal;
            sums.right += block.right;
        }
        let Some(change) = sums.solve() else { return };
        for i in 0..N {
            let learnt = start[i] + change[i] * spread[i];
            self.parameters[i] = learnt.clamp(lower[i], upper[i]);
        }
    }

    fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    fn rejoin(&mut self, acceleration: f64) {
        self.derivatives.rejoin(acceleration);
    }
}
