//! Signals made of many lines: band-limited noise and multisines.

use std::f64::consts::{PI, TAU};

use keys::Keys;
use keys::diagnostic::Diagnostic;
use keys::tree::Branch;
use numerics::fourier::{Line, sum_of_lines};
use numerics::random::Stream;

use super::{Band, Generate, Sampling, begin, empty_band, peak_of, scale_by};
use crate::check::{check_positive, require};
use crate::error::ModelError;

/// A period longer than this and than the test would only cost memory.
const MOST_PERIOD_SAMPLES: usize = 1 << 22;
/// Most sines in a multisine.
const MOST_LINES: f64 = 1e5;

/// Gaussian noise with a flat spectrum between two frequencies.
///
/// Made of all Fourier lines of the record that lie in the band, without the constant, with
/// independent Gaussian sines and cosines, and scaled so that the record has
/// exactly the rms asked for. The record therefore changes with its length.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given, check = Self::check)]
pub struct Noise {
    /// Root mean square.
    #[key(given, positive)]
    pub rms: f64,
    /// Lowest and highest frequency.
    #[key(frequency, not_negative)]
    pub band_hz: [f64; 2],
    /// Time at which the signal begins.
    #[key(time, not_negative, default = "0 s")]
    pub start_s: f64,
    /// How long the signal lasts. Absent: to the end of the test.
    #[key(time, positive)]
    pub duration_s: Option<f64>,
    /// Seed of this signal. Absent: that of the experiment.
    #[key(count = 0..=i64::MAX as u64)]
    pub seed: Option<u64>,
}

impl Noise {
    /// Over the whole test, with a seed of its own.
    pub fn steady(rms: f64, band_hz: [f64; 2], seed: u64) -> Self {
        Self { rms, band_hz, start_s: 0.0, duration_s: None, seed: Some(seed) }
    }

    fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        found.extend(empty_band(self.band_hz, Self::BAND_HZ, branch));
    }
}

impl Generate for Noise {
    fn sample(&self, at: &Sampling) -> Result<Vec<f64>, ModelError> {
        let (band, rate_hz, count) = (Band::of(self.band_hz), at.rate_hz, at.count);
        check_positive("rms", self.rms)?;
        band.check(rate_hz)?;
        let duration_s = check_positive("duration", self.duration_s.unwrap_or(f64::MAX))?;
        // `as` saturates: a duration beyond the test is the whole test.
        let length = count.min((duration_s * rate_hz).round() as usize);
        if length == 0 {
            return Ok(vec![0.0; count]);
        }
        let mut stream = Stream::new(self.seed.unwrap_or(at.seed), "excitation.noise");
        let lines: Vec<Line> = band
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
        begin(&mut values, self.start_s, rate_hz);
        Ok(values)
    }

    fn start_s(&self) -> f64 {
        self.start_s
    }

    fn follows_seed(&self) -> bool {
        self.seed.is_none()
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

/// A periodic sum of sines.
///
/// Of equal amplitude, on the lines of a period, which is rounded to whole samples, so that a
/// transform over one period has no leakage. Schroeder's phases, φ_i = −π i (i − 1)/n (1970), are
/// a swept sine of low crest factor; random ones are Gaussian in the limit.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given, check = Self::check)]
pub struct Multisine {
    /// How strong it is.
    #[key(flatten)]
    pub level: Level,
    /// Lowest and highest frequency.
    #[key(frequency, not_negative)]
    pub band_hz: [f64; 2],
    /// Number of sines, evenly spaced in the band. Absent: every line of the period.
    #[key(count = 1..=MOST_LINES as u64)]
    pub lines: Option<usize>,
    /// Time after which the signal repeats.
    #[key(time, positive, default = "10 s")]
    pub period_s: f64,
    /// Seed of random phases. Absent: Schroeder's phases, which keep the peaks low.
    #[key(count = 0..=i64::MAX as u64)]
    pub seed: Option<u64>,
}

impl Generate for Multisine {
    fn sample(&self, at: &Sampling) -> Result<Vec<f64>, ModelError> {
        let (rate_hz, count) = (at.rate_hz, at.count);
        let (name, wanted) = match self.level {
            Level::Rms(value) => ("rms", value),
            Level::Amplitude(value) => ("amplitude", value),
        };
        check_positive(name, wanted)?;
        Band::of(self.band_hz).check(rate_hz)?;
        let length = self.period_samples(rate_hz, count)?;
        let bins = self.bins(rate_hz / length as f64)?;
        let n = bins.len();
        let mut stream = self.seed.map(|seed| Stream::new(seed, "excitation.multisine"));
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
}

impl Multisine {
    /// Its band holds lines, and as many as are asked for.
    fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let ([low, high], period) = (self.band_hz, self.period_s);
        if let Some(error) = empty_band(self.band_hz, Self::BAND_HZ, branch) {
            found.push(error);
            return;
        }
        let available = (high * period).floor() - (low * period).ceil().max(1.0) + 1.0;
        let (key, message, remedy) = if available < 1.0 {
            let message = format!("no multiple of 1/{period} Hz lies in the band");
            (Self::BAND_HZ, message, "choose a longer period or a wider band")
        } else if self.lines.is_some_and(|lines| lines as f64 > available) {
            let message = format!("the band has only {available} lines");
            (Self::LINES, message, "choose fewer lines or a longer period")
        } else if self.lines.is_none() && available > MOST_LINES {
            let message = format!("the band has {available:.3e} lines, at most 1e5 are summed");
            (Self::BAND_HZ, message, "add `lines`, or choose a shorter period")
        } else {
            return;
        };
        found.push(branch.error(key, message).remedy(remedy));
    }

    fn period_samples(&self, rate_hz: f64, count: usize) -> Result<usize, ModelError> {
        check_positive("period", self.period_s)?;
        let length = (self.period_s * rate_hz).round();
        let fits = length <= count.max(MOST_PERIOD_SAMPLES) as f64;
        require(fits, "period", self.period_s, "no longer than the test")?;
        Ok((length as usize).max(2))
    }

    fn bins(&self, spacing_hz: f64) -> Result<Vec<usize>, ModelError> {
        let all = Band::of(self.band_hz).bins(spacing_hz)?;
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
    use super::super::tests::sample;
    use super::*;
    use crate::error::BadNumber;

    const BAND_HZ: [f64; 2] = [1.0, 15.0];
    const NOISE: Noise =
        Noise { rms: 0.3, band_hz: BAND_HZ, start_s: 0.0, duration_s: None, seed: None };
    const MULTISINE: Multisine = Multisine {
        level: Level::Rms(0.5),
        band_hz: BAND_HZ,
        lines: None,
        period_s: 4.0,
        seed: None,
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
        let values = sample(&NOISE, 200.0, 2000).unwrap();
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
        let values = sample(&NOISE, 100.0, 100_000).unwrap();
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
        let other = Noise { seed: Some(6), ..NOISE };
        let own = Noise { seed: Some(5), ..NOISE };
        let values = sample(&NOISE, 200.0, 999).unwrap();
        assert_eq!(values, sample(&NOISE, 200.0, 999).unwrap());
        assert_eq!(values, sample(&own, 200.0, 999).unwrap(), "the seed of the test is 5");
        assert_ne!(values, sample(&other, 200.0, 999).unwrap());
        assert!(NOISE.follows_seed() && !own.follows_seed());
        let short = Noise { duration_s: Some(2.0), ..NOISE };
        let short = sample(&short, 200.0, 1000).unwrap();
        assert!((rms(&short[..400]) / 0.3 - 1.0).abs() < 1e-12);
        assert!(short[400..].iter().all(|&value| value == 0.0));
        let late = Noise { start_s: 1.0, duration_s: Some(2.0), ..NOISE };
        let late = sample(&late, 200.0, 1000).unwrap();
        assert_eq!((&late[200..600], &late[..200]), (&short[..400], &[0.0; 200][..]));
        let long = Noise { duration_s: Some(1e300), ..NOISE };
        assert_eq!(sample(&long, 200.0, 999).unwrap(), values);
    }

    #[test]
    fn multisine_repeats_and_has_equal_lines() {
        for seed in [None, Some(3)] {
            let values = sample(&Multisine { seed, ..MULTISINE }, 256.0, 2500).unwrap();
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
        let crest = |seed| {
            let values = sample(&Multisine { seed, ..MULTISINE }, 1024.0, 4096).unwrap();
            peak_of(&values) / 0.5
        };
        assert!(crest(None) < 1.9, "{}", crest(None));
        assert!(crest(Some(1)) > crest(None));
        let level = Level::Amplitude(2.5);
        let values = sample(&Multisine { level, ..MULTISINE }, 1024.0, 5000).unwrap();
        assert!((peak_of(&values) / 2.5 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn lines_can_be_thinned_out() {
        let thinned = |lines| Multisine { lines: Some(lines), ..MULTISINE };
        let values = sample(&thinned(3), 256.0, 1024).unwrap();
        let present: Vec<usize> = (0..128).filter(|&bin| amplitude(&values, bin) > 1e-6).collect();
        assert_eq!(present, [4, 32, 60]);
        let error = sample(&thinned(58), 256.0, 10).unwrap_err();
        assert!(matches!(error, ModelError::WrongCount { given: 58, expected: 57, .. }));
        assert!(sample(&thinned(0), 256.0, 10).is_err());
        assert!(sample(&thinned(1), 256.0, 10).is_ok());
    }

    #[test]
    fn aliases_empty_bands_and_endless_periods_are_errors() {
        assert!(matches!(sample(&NOISE, 30.0, 100), Err(ModelError::Aliasing { .. })));
        assert!(matches!(sample(&NOISE, 100.0, 3), Err(ModelError::EmptyBand { .. })));
        assert_eq!(sample(&NOISE, 100.0, 0), Ok(vec![]));
        assert!(sample(&Noise { band_hz: [5.0, 4.0], ..NOISE }, 100.0, 100).is_err());
        assert!(sample(&Noise { rms: f64::NAN, ..NOISE }, 100.0, 100).is_err());
        let endless = Multisine { period_s: 1e12, ..MULTISINE };
        let error = sample(&endless, 256.0, 10).unwrap_err();
        assert!(matches!(error, ModelError::BadParameter(BadNumber { name: "period", .. })));
        let short = Multisine { period_s: 0.01, ..MULTISINE };
        assert!(matches!(sample(&short, 256.0, 10), Err(ModelError::EmptyBand { .. })));
    }
}
