//! First-order adaptive inverse, adapted by a gradient.

use super::derivatives::{DerivativeSource, Derivatives, filtered};
use super::design::{check_bounds, delay_series};
use super::estimator::{self, TwinFilter, twin_filter};
use super::{Adapts, Compensate, CompensatorError, Learning};
use crate::check::{check_each, check_not_negative};
use keys::Keys;

/// Keys of the adaptive model-based compensator.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct AdaptiveModelBasedDesign {
    /// Gains Γ0, Γ1 of the adaptation; they hold in metres and seconds.
    #[key(number, not_negative, default = [2.4e6, 1.1e5])]
    pub adaptation: [f64; 2],
    /// Factor on displacement at first.
    #[key(number, positive, default = 1)]
    pub start_gain: f64,
    /// The delay compensated at first; too short is safe, much too long is not.
    #[key(time, not_negative, default = "10 ms")]
    pub start_delay_s: f64,
    /// Least factors on displacement, velocity and so on, SI.
    #[key(number, default = [0.5, 0])]
    pub lower: [f64; 2],
    /// Greatest factors on displacement, velocity and so on, SI.
    #[key(number, default = [1.5, 0.1])]
    pub upper: [f64; 2],
    /// Nothing is learnt while the filtered measurement is below this.
    #[key(length, of_dof, not_negative, default = "0 mm")]
    pub threshold_m: f64,
    /// Cut-off of the Butterworth filter of order 4 that the estimator sees command and measurement
    /// through.
    #[key(frequency, positive, default = "20 Hz")]
    pub filter_hz: f64,
    /// Where derivatives of the desired motion come from.
    #[key(default = "motion")]
    pub derivatives: DerivativeSource,
}

impl Adapts for AdaptiveModelBasedDesign {
    const FACTORS: usize = 2;

    fn learning(&self) -> Option<Learning<'_>> {
        let (start, derivatives) = (self.start().to_vec(), self.derivatives);
        Some(Learning { start, lower: &self.lower, upper: &self.upper, derivatives })
    }
}

impl AdaptiveModelBasedDesign {
    /// The factors at the start: the series of the delay.
    pub fn start(&self) -> [f64; 2] {
        delay_series(self.start_gain, self.start_delay_s)
    }

    /// The paper's: largest gains (Γd), started from 10 ms, always learning.
    pub const PUBLISHED: Self = Self {
        adaptation: [2.4e6, 1.1e5],
        start_gain: 1.0,
        start_delay_s: 0.010,
        lower: [0.5, 0.0],
        upper: [1.5, 0.1],
        threshold_m: 0.0,
        filter_hz: 20.0,
        derivatives: DerivativeSource::Motion,
    };
}

/// c = a0 x + a1 ẋ, with ȧ = Γ φ e, φ = (x_m, ẋ_m),
///   e = (c_f − φᵀa) / (1 + φᵀφ).
///
/// Over a period in which φ and c_f are held this has a closed solution: with
/// λ = φᵀΓφ/(1 + φᵀφ),
///   a += Γ φ e (1 − e^{−λΔt})/λ.
/// Explicit integration diverges in strong motion, where λΔt exceeds 2; the
/// closed form does not. The 1 + φᵀφ mixes units, so the gains hold in metres
/// and seconds only, and for motions of the size they were found with.
///
/// References: Chen et al. 2015, Bull. Earthq. Eng. 13; Gálmez & Fermandois
/// 2020, Front. Built Environ. 6.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptiveModelBased {
    design: AdaptiveModelBasedDesign,
    step_s: f64,
    parameters: [f64; 2],
    derivatives: Derivatives,
    filter: TwinFilter,
    /// Filtered measurement at the tick before, if it was a number.
    last: Option<f64>,
}

impl AdaptiveModelBased {
    /// At rest.
    pub fn new(design: &AdaptiveModelBasedDesign, step_s: f64) -> Result<Self, CompensatorError> {
        check_bounds(&design.start(), &design.lower, &design.upper)?;
        check_each(check_not_negative, "adaptation", &design.adaptation)?;
        check_not_negative("threshold", design.threshold_m)?;
        Ok(Self {
            design: *design,
            step_s,
            parameters: design.start(),
            // The jerk serves the acceleration of the command.
            derivatives: Derivatives::new(design.derivatives, 3, step_s),
            filter: twin_filter(design.filter_hz, step_s)?,
            last: Some(0.0),
        })
    }
}

impl Compensate for AdaptiveModelBased {
    fn command(&mut self, desired: [f64; 3], _measured: f64) -> [f64; 3] {
        filtered(&self.parameters, &self.derivatives.take(desired))
    }

    fn learn(&mut self, sent: f64, measured: f64) {
        let AdaptiveModelBasedDesign { adaptation, lower, upper, threshold_m, .. } = &self.design;
        let Some([command, x]) = estimator::filtered(&mut self.filter, sent, measured) else {
            self.last = None;
            return;
        };
        let Some(last) = self.last.replace(x) else { return };
        if x.abs() < *threshold_m {
            return;
        }
        let v = (x - last) / self.step_s;
        let pull = [adaptation[0] * x, adaptation[1] * v];
        let size = 1.0 + x * x + v * v;
        let error = (command - self.parameters[0] * x - self.parameters[1] * v) / size;
        let lambda = (pull[0] * x + pull[1] * v) / size;
        // (1 − e^{−λΔt})/λ, whose limit at λ = 0 is Δt.
        let decay = lambda * self.step_s;
        let time = if decay > 1e-12 { -(-decay).exp_m1() / lambda } else { self.step_s };
        for i in 0..2 {
            let learnt = self.parameters[i] + pull[i] * error * time;
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
