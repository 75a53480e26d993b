//! Signals made of many lines: band-limited noise and multisines.

use std::f64::consts::{PI, TAU};

use keys::Keys;
use numerics::fourier::{Line, sum_of_lines};
use numerics::random::Stream;

use super::{Band, peak_of, scale_by};
use crate::check::{check_positive, require};
use crate::error::ModelError;

/// A period longer than this and than the test would only cost memory.
const MOST_PERIOD_SAMPLES: usize = 1 << 22;

/// Gaussian noise, white within its band and nothing outside.
///
/// Made of all Fourier lines of the record that lie in the band, with
/// independent Gaussian sines and cosines, and scaled so that the record has
/// exactly the rms asked for. The record therefore changes with its length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Root mean square over the record.
    pub rms: f64,
    /// Where it has power; a constant is never part of it.
    pub band: Band,
    /// How long it lasts; `None` for the whole test.
    pub duration_s: Option<f64>,
    /// Seed of its stream.
    pub seed: u64,
}

impl Noise {
    pub(super) fn sample(&self, rate_hz: f64, count: usize) -> Result<Vec<f64>, ModelError> {
        check_positive("rms", self.rms)?;
        self.band.check(rate_hz)?;
        let duration_s = check_positive("duration", self.duration_s.unwrap_or(f64::MAX))?;
        // `as` saturates: a duration beyond the test is the whole test.
        let length = count.min((duration_s * rate_hz).round() as usize);
        if length == 0 {
            return Ok(vec![0.0; count]);
        }
        let mut stream = Stream::new(self.seed, "excitation.noise");
        let lines: Vec<Line> = self
            .band
            .bins(rate_hz / length as f64)?
            .map(|bin| {
                let (cosine, sine) = (stream.normal(), stream.normal());
                Line { bin, amplitude: cosine.hypot(sine), phase_rad: sine.atan2(cosine) }
            })
            .collect();
        let mut values = sum_of_lines(&lines, length);
        let rms = (values.iter().map(|value| value * value).sum::<f64>() / length as f64).sqrt();
        scale_by(&mut values, self.rms / rms);
        values.resize(count, 0.0);
        Ok(values)
    }
}

/// What of a multisine is prescribed.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given, one_of)]
pub enum Level {
    /// Root mean square of the sum.
    #[key(given, positive)]
    Rms(f64),
    /// Largest value of the sum, either way.
    #[key(given, positive)]
    Amplitude(f64),
}

/// How the lines of a multisine are phased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phases {
    /// φ_i = −π i (i − 1)/n (Schroeder 1970): a swept sine of low crest factor.
    Schroeder,
    /// Uniform: Gaussian in the limit, another realisation with every seed.
    Random {
        /// Seed of the stream.
        seed: u64,
    },
}

/// A sum of sines of equal amplitude on the lines of a period.
///
/// The period is rounded to whole samples, so that a transform over one period
/// has no leakage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Multisine {
    /// Its size.
    pub level: Level,
    /// Where its lines lie.
    pub band: Band,
    /// Number of lines, spread evenly over the band; `None` for every multiple
    /// of 1/period.
    pub lines: Option<usize>,
    /// The period.
    pub period_s: f64,
    /// The phases.
    pub phases: Phases,
}

impl Multisine {
    pub(super) fn sample(&self, rate_hz: f64, count: usize) -> Result<Vec<f64>, ModelError> {
        let (name, wanted) = match self.level {
            Level::Rms(value) => ("rms", value),
            Level::Amplitude(value) => ("amplitude", value),
        };
        check_positive(name, wanted)?;
        self.band.check(rate_hz)?;
        let length = self.period_samples(rate_hz, count)?;
        let bins = self.bins(rate_hz / length as f64)?;
        let n = bins.len();
        let mut stream = match self.phases {
            Phases::Random { seed } => Some(Stream::new(seed, "excitation.multisine")),
            Phases::Schroeder => None,
        };
        let lines: Vec<Line> = bins
            .into_iter()
            .enumerate()
            .map(|(i, bin)| {
                let phase_rad = match &mut stream {
                    Some(stream) => TAU * stream.uniform(),
                    None => -PI * (i as f64 * (i as f64 + 1.0) / n as f64),
                };
                Line { bin, amplitude: (2.0 / n as f64).sqrt(), phase_rad }
            })
            .collect();
        let mut period = sum_of_lines(&lines, length);
        let unit = match self.level {
            Level::Rms(_) => 1.0,
            Level::Amplitude(_) => peak_of(&period),
        };
        scale_by(&mut period, wanted / unit);
        Ok(period.into_iter().cycle().take(count).collect())
    }

    fn period_samples(&self, rate_hz: f64, count: usize) -> Result<usize, ModelError> {
        check_positive("period", self.period_s)?;
        let length = (self.period_s * rate_hz).round();
        let fits = length <= count.max(MOST_PERIOD_SAMPLES) as f64;
        require(fits, "period", self.period_s, "no longer than the test")?;
        Ok((length as usize).max(2))
    }

    fn bins(&self, spacing_hz: f64) -> Result<Vec<usize>, ModelError> {
        let all = self.band.bins(spacing_hz)?;
        let available = all.end() - all.start() + 1;
        let Some(lines) = self.lines else { return Ok(all.collect()) };
        if !(1..=available).contains(&lines) {
            let what = "lines of the multisine (its band and period hold fewer)";
            return Err(ModelError::WrongCount { what, given: lines, expected: available });
        }
        let last = (available - 1) as f64;
        let gaps = (lines.max(2) - 1) as f64;
        Ok((0..lines).map(|i| all.start() + (i as f64 * last / gaps).round() as usize).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::SignalSource;
    use super::*;
    use crate::error::BadNumber;

    const BAND: Band = Band { from_hz: 1.0, to_hz: 15.0 };
    const NOISE: Noise = Noise { rms: 0.3, band: BAND, duration_s: None, seed: 5 };
    const MULTISINE: Multisine = Multisine {
        level: Level::Rms(0.5),
        band: BAND,
        lines: None,
        period_s: 4.0,
        phases: Phases::Schroeder,
    };

    fn rms(values: &[f64]) -> f64 {
        (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
    }

    /// |Σ x e^{−j2πkn/N}| · 2/N, the amplitude of a line, term by term.
    fn amplitude(values: &[f64], bin: usize) -> f64 {
        let n = values.len();
        let (mut re, mut im) = (0.0, 0.0);
        for (k, value) in values.iter().enumerate() {
            let angle = TAU * ((k * bin) % n) as f64 / n as f64;
            re += value * angle.cos();
            im += value * angle.sin();
        }
        2.0 * re.hypot(im) / n as f64
    }

    #[test]
    fn noise_has_its_rms_and_no_power_outside_its_band() {
        let values = SignalSource::Noise(NOISE).sample(200.0, 2000).unwrap();
        assert!((rms(&values) / 0.3 - 1.0).abs() < 1e-12);
        for bin in [0, 1, 5, 9, 151, 155, 400, 900] {
            assert!(amplitude(&values, bin) < 1e-13, "line {bin}");
        }
        for bin in [10, 11, 80, 149, 150] {
            assert!(amplitude(&values, bin) > 1e-6, "line {bin}");
        }
    }

    #[test]
    fn noise_is_gaussian_and_flat() {
        let values = NOISE.sample(100.0, 100_000).unwrap();
        let fourth: f64 = values.iter().map(|v| (v / 0.3).powi(4)).sum::<f64>() / 1e5;
        assert!((fourth - 3.0).abs() < 0.1, "kurtosis {fourth}");
        let power = |bins: std::ops::Range<usize>| {
            let n = bins.len() as f64;
            bins.map(|bin| amplitude(&values, bin).powi(2)).sum::<f64>() / n
        };
        let ratio = power(1100..1250) / power(14_800..14_950);
        assert!((0.7..1.4).contains(&ratio), "{ratio}");
    }

    #[test]
    fn noise_repeats_with_its_seed_and_ends_with_its_duration() {
        let other = Noise { seed: 6, ..NOISE };
        assert_eq!(NOISE.sample(200.0, 999).unwrap(), NOISE.sample(200.0, 999).unwrap());
        assert_ne!(NOISE.sample(200.0, 999).unwrap(), other.sample(200.0, 999).unwrap());
        let short = Noise { duration_s: Some(2.0), ..NOISE }.sample(200.0, 1000).unwrap();
        assert!((rms(&short[..400]) / 0.3 - 1.0).abs() < 1e-12);
        assert!(short[400..].iter().all(|&value| value == 0.0));
        let long = Noise { duration_s: Some(1e300), ..NOISE };
        assert_eq!(long.sample(200.0, 999).unwrap(), NOISE.sample(200.0, 999).unwrap());
    }

    #[test]
    fn multisine_repeats_and_has_equal_lines() {
        for phases in [Phases::Schroeder, Phases::Random { seed: 3 }] {
            let source = Multisine { phases, ..MULTISINE };
            let values = SignalSource::Multisine(source).sample(256.0, 2500).unwrap();
            assert_eq!(values[..1024], values[1024..2048]);
            assert!((rms(&values[..1024]) / 0.5 - 1.0).abs() < 1e-12);
            // 1 to 15 Hz at 0.25 Hz: lines 4 to 60.
            let each = 0.5 * (2.0_f64 / 57.0).sqrt();
            for bin in 0..128 {
                let expected = if (4..=60).contains(&bin) { each } else { 0.0 };
                assert!((amplitude(&values[..1024], bin) - expected).abs() < 1e-12, "{bin}");
            }
        }
    }

    #[test]
    fn schroeder_phases_keep_the_crest_low() {
        let crest = |phases| {
            let values = Multisine { phases, ..MULTISINE }.sample(1024.0, 4096).unwrap();
            peak_of(&values) / 0.5
        };
        assert!(crest(Phases::Schroeder) < 1.9, "{}", crest(Phases::Schroeder));
        assert!(crest(Phases::Random { seed: 1 }) > crest(Phases::Schroeder));
        let level = Level::Amplitude(2.5);
        let values = Multisine { level, ..MULTISINE }.sample(1024.0, 5000).unwrap();
        assert!((peak_of(&values) / 2.5 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn lines_can_be_thinned_out() {
        let values = Multisine { lines: Some(3), ..MULTISINE }.sample(256.0, 1024).unwrap();
        let present: Vec<usize> = (0..128).filter(|&bin| amplitude(&values, bin) > 1e-6).collect();
        assert_eq!(present, [4, 32, 60]);
        let error = Multisine { lines: Some(58), ..MULTISINE }.sample(256.0, 10).unwrap_err();
        assert!(matches!(error, ModelError::WrongCount { given: 58, expected: 57, .. }));
        assert!(Multisine { lines: Some(0), ..MULTISINE }.sample(256.0, 10).is_err());
        assert!(Multisine { lines: Some(1), ..MULTISINE }.sample(256.0, 10).is_ok());
    }

    #[test]
    fn aliases_empty_bands_and_endless_periods_are_errors() {
        assert!(matches!(NOISE.sample(30.0, 100), Err(ModelError::Aliasing { .. })));
        assert!(matches!(NOISE.sample(100.0, 3), Err(ModelError::EmptyBand { .. })));
        assert_eq!(NOISE.sample(100.0, 0), Ok(vec![]));
        let band = Band { from_hz: 5.0, to_hz: 4.0 };
        assert!(Noise { band, ..NOISE }.sample(100.0, 100).is_err());
        assert!(Noise { rms: f64::NAN, ..NOISE }.sample(100.0, 100).is_err());
        let error = Multisine { period_s: 1e12, ..MULTISINE }.sample(256.0, 10).unwrap_err();
        assert!(matches!(error, ModelError::BadParameter(BadNumber { name: "period", .. })));
        let short = Multisine { period_s: 0.01, ..MULTISINE };
        assert!(matches!(short.sample(256.0, 10), Err(ModelError::EmptyBand { .. })));
    }
}
