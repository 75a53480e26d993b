//! What declared compensators have in common: parameters, and why one cannot be built.

use numerics::filter::{FilterError, Section, low_pass};
use thiserror::Error;

use super::Design;
use crate::channel::Channel;
use crate::check::check_finite;
use crate::error::BadNumber;

impl Design {
    /// Whether its parameters change during the test.
    pub fn is_adaptive(&self) -> bool {
        self.learning().is_some()
    }

    /// The kinds that learn, and the factors of each.
    pub fn adaptive() -> impl Iterator<Item = (&'static str, usize)> {
        let kinds = Self::WORDS.iter().copied().zip(Self::FACTORS.iter().copied());
        kinds.filter(|(_, factors)| *factors > 0)
    }

    /// The channels of its adapted parameters for `count` interface DOFs, in
    /// the order of `Compensator::parameters`.
    pub fn parameters(&self, count: usize) -> Vec<Channel> {
        const UNITS: [&str; 6] = ["", "s", "s²", "s³", "s⁴", "s⁵"];
        let factors = self.learning().map_or(0, |learning| learning.start.len());
        let of_dof = |dof: usize| {
            UNITS[..factors].iter().enumerate().map(move |(order, unit)| {
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

/// Why a compensator cannot be built.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CompensatorError {
    /// A number is out of range.
    #[error("`{}` of the compensator is {}; it must be {}", .0.name, .0.value, .0.requirement)]
    BadNumber(#[from] BadNumber),
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
            Self::BadNumber(error) => error.name,
            Self::BadCount { key, .. }
            | Self::LongHistory { key, .. }
            | Self::Filter { key, .. } => key,
            Self::StartOutside { .. } => "start_delay",
        }
    }
}

/// The sections of a Butterworth filter.
pub(super) fn sections<const N: usize>(
    key: &'static str,
    cutoff_hz: f64,
    step_s: f64,
) -> Result<[Section; N], CompensatorError> {
    let sections = low_pass(cutoff_hz, 1.0 / step_s);
    sections.map_err(|source| CompensatorError::Filter { key, source })
}

/// Refuses start values outside their bounds, and bounds that are none.
pub(super) fn check_bounds(
    start: &[f64],
    lower: &[f64],
    upper: &[f64],
) -> Result<(), CompensatorError> {
    for (order, ((&start, &lower), &upper)) in start.iter().zip(lower).zip(upper).enumerate() {
        check_finite("lower", lower)?;
        check_finite("upper", upper)?;
        // NaN is not inside either.
        if !(lower <= start && start <= upper) {
            return Err(CompensatorError::StartOutside { order, start, lower, upper });
        }
    }
    Ok(())
}
