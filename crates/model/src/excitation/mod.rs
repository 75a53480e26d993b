//! What shakes the structure: signals sampled at the rate of the loop.
//!
//! Every source is a pure function of its fields: the same source at the same
//! rate gives the same samples. Outside its own time range a signal is zero.

mod earthquake;
mod noise;
mod samples;
mod waveform;

pub use earthquake::{Synthetic, SyntheticEarthquake};
pub use noise::{Level, Multisine, Noise};
pub use samples::{Resampling, Samples, Scaling};
pub use waveform::{Chirp, Harmonic, HarmonicLength, Impulse};

use keys::Keys;
use keys::diagnostic::Diagnostic;
use keys::tree::Branch;

use crate::check::{check_not_negative, check_positive, require};
use crate::error::ModelError;

/// Where and how long a signal is sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Samples per second.
    pub rate_hz: f64,
    /// How many, the first at time 0.
    pub count: usize,
    /// How long the test runs.
    pub test_s: f64,
    /// Seed of the test, for signals without one of their own.
    pub seed: u64,
}

/// A signal that follows from the numbers of its table, which the type declares. The unit of its
/// values is the caller's.
pub trait Generate {
    /// The signal at times k/rate.
    ///
    /// A frequency at or above half the rate is an error, never an alias.
    fn sample(&self, at: &Sampling) -> Result<Vec<f64>, ModelError>;

    /// When it begins.
    fn start_s(&self) -> f64 {
        0.0
    }

    /// Whether it draws from the seed of the test.
    fn follows_seed(&self) -> bool {
        false
    }
}

/// Makes the table in which the key that is there chooses the signal.
macro_rules! kinds {
    ($($(#[$about:meta])* $key:literal = $kind:ident;)*) => {
        /// A signal that is generated.
        #[derive(Debug, Clone, Copy, PartialEq, Keys)]
        #[key(one_of)]
        pub enum Generated {
            $($(#[$about])* #[key(word = $key)] $kind($kind),)*
        }

        impl Generated {
            /// The key that chooses it.
            pub fn key(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $key,)*
                }
            }
        }

        impl Generate for Generated {
            fn sample(&self, at: &Sampling) -> Result<Vec<f64>, ModelError> {
                check_positive("rate", at.rate_hz)?;
                match self {
                    $(Self::$kind(signal) => signal.sample(at),)*
                }
            }

            fn start_s(&self) -> f64 {
                match self {
                    $(Self::$kind(signal) => signal.start_s(),)*
                }
            }

            fn follows_seed(&self) -> bool {
                match self {
                    $(Self::$kind(signal) => signal.follows_seed(),)*
                }
            }
        }
    };
}

// A new excitation is its file and its line here.
kinds! {
    /// A sine.
    #[key(given)]
    "harmonic" = Harmonic;
    /// A sine of running frequency.
    #[key(given)]
    "chirp" = Chirp;
    /// Random noise in a band.
    #[key(given)]
    "noise" = Noise;
    /// A periodic sum of sines.
    #[key(given)]
    "multisine" = Multisine;
    /// A synthetic earthquake.
    "synthetic" = Synthetic;
    /// A single pulse.
    #[key(given)]
    "impulse" = Impulse;
}

/// A band of frequencies, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Band {
    /// Lower end, may be 0.
    from_hz: f64,
    /// Upper end.
    to_hz: f64,
}

impl Band {
    fn of([from_hz, to_hz]: [f64; 2]) -> Self {
        Self { from_hz, to_hz }
    }

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

/// A band that is written from the higher to the lower frequency, or is none.
fn empty_band([low, high]: [f64; 2], key: &str, branch: &Branch) -> Option<Diagnostic> {
    let error = || branch.error(key, format!("the band from {low} Hz to {high} Hz is empty"));
    (low >= high).then(|| error().remedy("write the lower frequency first"))
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

/// Moves a signal without a start of its own to where it begins.
fn begin(values: &mut [f64], start_s: f64, rate_hz: f64) {
    let late = ((start_s * rate_hz).round() as usize).min(values.len());
    values.rotate_right(late);
    values[..late].fill(0.0);
}

fn scale_by(values: &mut [f64], factor: f64) {
    for value in values {
        *value *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many samples of a signal, of a test that is as long and has seed 5.
    pub(super) fn sample(
        signal: &impl Generate,
        rate_hz: f64,
        count: usize,
    ) -> Result<Vec<f64>, ModelError> {
        signal.sample(&Sampling { rate_hz, count, test_s: count as f64 / rate_hz, seed: 5 })
    }

    #[test]
    fn a_rate_that_is_none_is_told() {
        let pulse = Generated::Impulse(Impulse { amplitude: 1.0, at_s: 0.0, width_s: 1.0 });
        for rate_hz in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(sample(&pulse, rate_hz, 1).is_err());
        }
        assert_eq!(pulse.key(), "impulse");
    }
}
