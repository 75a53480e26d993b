//! Declared compensators, as numbers in SI.

use numerics::filter::FilterError;
use thiserror::Error;

use super::derivatives::DerivativeSource;
use crate::channel::Channel;

/// A compensator as declared.
#[derive(Debug, Clone, PartialEq)]
pub enum Design {
    /// The command is the desired motion.
    None,
    /// A first-order lead with a gain.
    FirstOrder(FirstOrderDesign),
    /// The inverse of a model, as a polynomial in derivatives.
    Inverse(InverseDesign),
    /// Polynomial extrapolation over the delay.
    ForwardPrediction(ForwardPredictionDesign),
    /// First-order inverse, adapted by a gradient.
    AdaptiveModelBased(AdaptiveModelBasedDesign),
    /// Third-order inverse, adapted by a Kalman filter.
    AdaptiveInverse(AdaptiveInverseDesign),
    /// Second-order inverse, fitted over a moving window.
    AdaptiveTimeSeries(AdaptiveTimeSeriesDesign),
    /// Proportional and integral feedback behind a lead.
    PiLead(PiLeadDesign),
}

impl Design {
    /// Whether its parameters change during the test.
    pub fn is_adaptive(&self) -> bool {
        !self.parameters(1).is_empty()
    }

    /// The channels of its adapted parameters for `count` interface DOFs, in
    /// the order of `Compensator::parameters`.
    pub fn parameters(&self, count: usize) -> Vec<Channel> {
        let units: &[&str] = match self {
            Self::AdaptiveModelBased(_) => &["", "s"],
            Self::AdaptiveTimeSeries(_) => &["", "s", "s²"],
            Self::AdaptiveInverse(_) => &["", "s", "s²", "s³"],
            Self::None
            | Self::FirstOrder(_)
            | Self::Inverse(_)
            | Self::ForwardPrediction(_)
            | Self::PiLead(_) => &[],
        };
        let of_dof = |dof: usize| {
            units.iter().enumerate().map(move |(order, unit)| {
                Channel::new(
                    format!("compensator.{dof}.a{order}"),
                    *unit,
                    format!("Adapted factor on derivative {order} of the desired motion"),
                )
            })
        };
        (1..=count).flat_map(of_dof).collect()
    }
}

/// Keys of a first-order lead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstOrderDesign {
    /// Factor on the whole.
    pub gain: f64,
    /// (α − 1) periods.
    pub lead_s: f64,
}

/// Keys of a fixed inverse.
#[derive(Debug, Clone, PartialEq)]
pub struct InverseDesign {
    /// a0 … an, n up to 5, in powers of seconds.
    pub coefficients: Vec<f64>,
    /// Where derivatives come from.
    pub derivatives: DerivativeSource,
}

/// Keys of a polynomial forward prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForwardPredictionDesign {
    /// Degree of the polynomial, 1 to 4.
    pub order: usize,
    /// How far ahead.
    pub delay_s: f64,
    /// Factor on the whole.
    pub gain: f64,
}

/// Keys of the adaptive model-based compensator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptiveModelBasedDesign {
    /// Γ0, Γ1: they hold in metres and seconds.
    pub adaptation: [f64; 2],
    /// a0, a1 at the start.
    pub start: [f64; 2],
    /// Least a0, a1.
    pub lower: [f64; 2],
    /// Greatest a0, a1.
    pub upper: [f64; 2],
    /// No adaptation while the filtered measurement is below this, m.
    pub threshold_m: f64,
    /// Cut-off of the filters of the estimator.
    pub filter_hz: f64,
    /// Where the derivatives of the desired motion come from.
    pub derivatives: DerivativeSource,
}

impl AdaptiveModelBasedDesign {
    /// The paper's: largest gains (Γd), started from 10 ms, always learning.
    pub const PUBLISHED: Self = Self {
        adaptation: [2.4e6, 1.1e5],
        start: [1.0, 0.010],
        lower: [0.5, 0.0],
        upper: [1.5, 0.1],
        threshold_m: 0.0,
        filter_hz: 20.0,
        derivatives: DerivativeSource::Motion,
    };
}

/// Keys of the adaptive inverse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptiveInverseDesign {
    /// a0 … a3 at the start.
    pub start: [f64; 4],
    /// Standard deviation of what is not known of them at the start.
    pub spread: [f64; 4],
    /// Least a0 … a3.
    pub lower: [f64; 4],
    /// Greatest a0 … a3.
    pub upper: [f64; 4],
    /// Random walk of the parameters in one second, in parts of `spread`.
    pub forgetting: f64,
    /// Standard deviation of the filtered command about the fit, m.
    pub noise_m: f64,
    /// No adaptation while the filtered measurement is below this, m.
    pub threshold_m: f64,
    /// Lead over the loop's own latency, in periods.
    pub latency_samples: f64,
    /// Cut-off of the filters of the estimator.
    pub filter_hz: f64,
}

impl AdaptiveInverseDesign {
    /// The values that served the benchmark, started from a generic delay of 20 ms.
    pub const GENERIC: Self = Self {
        start: [1.0, 0.020, 2e-4, 8e-6 / 6.0],
        spread: [0.05, 6e-3, 1e-4, 9.33e-7],
        lower: [0.5, 0.0, 0.0, 0.0],
        upper: [1.5, 0.1, 1e-3, 1e-5],
        forgetting: 0.1,
        noise_m: 2.025e-5,
        threshold_m: 1e-4,
        latency_samples: 0.0,
        filter_hz: 20.0,
    };
}

/// The first `N` coefficients of the series of e^{sτ}, times a gain: the
/// inverse of a pure delay τ behind 1 / `gain`.
pub fn delay_series<const N: usize>(gain: f64, delay_s: f64) -> [f64; N] {
    let mut term = gain;
    std::array::from_fn(|order| {
        if order > 0 {
            term *= delay_s / order as f64;
        }
        term
    })
}

/// Keys of the adaptive time series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptiveTimeSeriesDesign {
    /// a0, a1, a2 at the start.
    pub start: [f64; 3],
    /// Standard deviation of what is not known of them at the start.
    pub spread: [f64; 3],
    /// Least a0, a1, a2.
    pub lower: [f64; 3],
    /// Greatest a0, a1, a2.
    pub upper: [f64; 3],
    /// Length of the window, s.
    pub window_s: f64,
    /// Standard deviation of the filtered command about the fit, m.
    pub noise_m: f64,
    /// No adaptation while the filtered measurement is below this, m.
    pub threshold_m: f64,
    /// Cut-off of the filters of the estimator.
    pub filter_hz: f64,
}

impl AdaptiveTimeSeriesDesign {
    /// The values that served the benchmark, started from 10 ms.
    pub const GENERIC: Self = Self {
        start: [1.0, 0.010, 5e-5],
        spread: [0.05, 6e-3, 1e-4],
        lower: [0.5, 0.0, 0.0],
        upper: [1.5, 0.1, 1e-3],
        window_s: 1.0,
        noise_m: 2.025e-5,
        threshold_m: 1e-4,
        filter_hz: 20.0,
    };
}

/// Keys of proportional and integral feedback behind a lead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PiLeadDesign {
    /// K_p.
    pub proportional: f64,
    /// K_i, 1/s.
    pub integral_1_s: f64,
    /// b of the lead (b s + p) / (s + p).
    pub lead_gain: f64,
    /// p, 1/s.
    pub lead_pole_1_s: f64,
}

impl PiLeadDesign {
    /// The baseline of the virtual benchmark.
    pub const BENCHMARK: Self = Self {
        proportional: 2.0,
        integral_1_s: 95.0,
        lead_gain: 50.8316336,
        lead_pole_1_s: 8570.39734,
    };
}

/// Why a compensator cannot be built.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CompensatorError {
    /// A number is out of range.
    #[error("`{key}` of the compensator is {value}; it must be {requirement}")]
    BadNumber {
        /// The key in the file.
        key: &'static str,
        /// What it is.
        value: f64,
        /// What it must be.
        requirement: &'static str,
    },
    /// A list has the wrong length.
    #[error("`{key}` of the compensator has {count} entries; it must have {requirement}")]
    BadCount {
        /// The key in the file.
        key: &'static str,
        /// What it has.
        count: usize,
        /// What it must have.
        requirement: &'static str,
    },
    /// A start value lies outside its bounds.
    #[error(
        "the start value of a{order} is {start}, outside its bounds {lower} to {upper}; widen them \
         or start elsewhere"
    )]
    StartOutside {
        /// Which parameter, from 0.
        order: usize,
        /// Its start.
        start: f64,
        /// Its least value.
        lower: f64,
        /// Its greatest value.
        upper: f64,
    },
    /// A prediction reaches too far for its memory.
    #[error("a history of {samples} samples is needed, at most {most} are kept; shorten `{key}`")]
    LongHistory {
        /// The key in the file.
        key: &'static str,
        /// Samples needed.
        samples: f64,
        /// The most.
        most: usize,
    },
    /// A filter cannot be designed.
    #[error("`{key}` of the compensator: {source}")]
    Filter {
        /// The key in the file.
        key: &'static str,
        /// The reason.
        source: FilterError,
    },
}

impl CompensatorError {
    /// The key that should change.
    pub fn key(&self) -> &'static str {
        match self {
            Self::BadNumber { key, .. }
            | Self::BadCount { key, .. }
            | Self::LongHistory { key, .. }
            | Self::Filter { key, .. } => key,
            Self::StartOutside { .. } => "start_delay",
        }
    }
}

pub(super) fn finite(key: &'static str, value: f64) -> Result<f64, CompensatorError> {
    check(key, value, value.is_finite(), "a finite number")
}

pub(super) fn positive(key: &'static str, value: f64) -> Result<f64, CompensatorError> {
    check(key, value, value.is_finite() && value > 0.0, "greater than zero")
}

pub(super) fn not_negative(key: &'static str, value: f64) -> Result<f64, CompensatorError> {
    check(key, value, value.is_finite() && value >= 0.0, "zero or more")
}

fn check(
    key: &'static str,
    value: f64,
    good: bool,
    requirement: &'static str,
) -> Result<f64, CompensatorError> {
    if good { Ok(value) } else { Err(CompensatorError::BadNumber { key, value, requirement }) }
}

/// Refuses start values outside their bounds, and bounds that are none.
pub(super) fn check_bounds(
    start: &[f64],
    lower: &[f64],
    upper: &[f64],
) -> Result<(), CompensatorError> {
    for (order, ((&start, &lower), &upper)) in start.iter().zip(lower).zip(upper).enumerate() {
        finite("lower", lower)?;
        finite("upper", upper)?;
        // NaN is not inside either.
        if !(lower <= start && start <= upper) {
            return Err(CompensatorError::StartOutside { order, start, lower, upper });
        }
    }
    Ok(())
}
