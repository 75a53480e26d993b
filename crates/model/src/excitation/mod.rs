//! What shakes the structure: signals sampled at the rate of the loop.
//!
//! Every source is a pure function of its fields: the same source at the same
//! rate gives the same samples. Outside its own time range a signal is zero.

mod earthquake;
mod noise;
mod samples;
mod waveform;

pub use earthquake::SyntheticEarthquake;
pub use noise::{Level, Multisine, Noise, Phases};
pub use samples::{Resampling, Samples, Scaling};
pub use waveform::{Chirp, Harmonic, Impulse};

use crate::check::{check_not_negative, check_positive, require};
use crate::error::ModelError;

/// Where a signal comes from. The unit of its values is the caller's.
#[derive(Debug, Clone, PartialEq)]
pub enum SignalSource {
    /// A sine of one frequency.
    Harmonic(Harmonic),
    /// A sine whose frequency changes linearly.
    Chirp(Chirp),
    /// Gaussian noise within a band.
    Noise(Noise),
    /// A periodic sum of sines.
    Multisine(Multisine),
    /// One half-sine.
    Impulse(Impulse),
    /// An artificial ground acceleration.
    Synthetic(SyntheticEarthquake),
    /// Recorded samples.
    Samples(Samples),
}

impl SignalSource {
    /// The signal at times k/rate for k = 0 … count − 1.
    ///
    /// A frequency at or above half the rate is an error, never an alias.
    pub fn sample(&self, rate_hz: f64, count: usize) -> Result<Vec<f64>, ModelError> {
        check_positive("rate", rate_hz)?;
        match self {
            Self::Harmonic(source) => source.sample(rate_hz, count),
            Self::Chirp(source) => source.sample(rate_hz, count),
            Self::Noise(source) => source.sample(rate_hz, count),
            Self::Multisine(source) => source.sample(rate_hz, count),
            Self::Impulse(source) => source.sample(rate_hz, count),
            Self::Synthetic(source) => source.sample(rate_hz, count),
            Self::Samples(source) => source.sample(rate_hz, count),
        }
    }
}

/// A band of frequencies, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Lower end, may be 0.
    pub from_hz: f64,
    /// Upper end.
    pub to_hz: f64,
}

impl Band {
    fn check(&self, rate_hz: f64) -> Result<(), ModelError> {
        check_not_negative("band", self.from_hz)?;
        let good = self.to_hz.is_finite() && self.to_hz > self.from_hz;
        require(good, "end of the band", self.to_hz, "greater than its beginning")?;
        check_nyquist("band", self.to_hz, rate_hz)
    }

    /// Multiples of `spacing_hz` in the band, without the constant.
    fn bins(&self, spacing_hz: f64) -> Result<std::ops::RangeInclusive<usize>, ModelError> {
        // An end of the band that lies on a line belongs to it despite rounding.
        const ROUNDING: f64 = 1e-9;
        let first = (self.from_hz / spacing_hz - ROUNDING).ceil().max(1.0);
        let last = (self.to_hz / spacing_hz + ROUNDING).floor();
        if first > last {
            let Self { from_hz, to_hz } = *self;
            return Err(ModelError::EmptyBand { spacing_hz, from_hz, to_hz });
        }
        Ok(first as usize..=last as usize)
    }
}

fn check_nyquist(name: &'static str, frequency_hz: f64, rate_hz: f64) -> Result<(), ModelError> {
    if frequency_hz < 0.5 * rate_hz {
        return Ok(());
    }
    Err(ModelError::Aliasing { name, frequency_hz, rate_hz })
}

/// Largest absolute value, 0 for none.
fn peak_of(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |peak, value| value.abs().max(peak))
}

fn scale_by(values: &mut [f64], factor: f64) {
    for value in values {
        *value *= factor;
    }
}
