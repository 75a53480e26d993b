//! Signals with a formula: harmonic, chirp and impulse.

use std::f64::consts::{PI, TAU};

use keys::Keys;

use super::{Generate, Sampling, begin, check_nyquist};
use crate::check::{check_finite, check_not_negative, check_positive, require};
use crate::error::ModelError;

/// A sine.
///
/// amplitude · sin(2π f (t − start) + phase), zero outside its time.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given)]
pub struct Harmonic {
    /// Half the height of the sine.
    #[key(given)]
    pub amplitude: f64,
    /// Frequency.
    #[key(frequency, positive)]
    pub frequency_hz: f64,
    /// Phase at the start.
    #[key(angle, default = "0 deg")]
    pub phase_rad: f64,
    /// Time at which the signal begins.
    #[key(time, not_negative, default = "0 s")]
    pub start_s: f64,
    /// How long it lasts.
    #[key(flatten)]
    pub length: Option<HarmonicLength>,
    /// Time of a smooth rise at the beginning and fall at the end.
    ///
    /// A half-cosine; at the end only if there is one.
    #[key(time, not_negative, default = "0 s")]
    pub ramp_s: f64,
}

/// How long a sine lasts, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(one_of)]
pub enum HarmonicLength {
    /// How many cycles. Absent: to the end of the test.
    #[key(number, positive)]
    Cycles(f64),
    /// How long the signal lasts. Absent: to the end of the test.
    #[key(time, positive)]
    Duration(f64),
}

impl Harmonic {
    /// How long it lasts; `None` to the end of the test.
    fn duration_s(&self) -> Option<f64> {
        self.length.map(|length| match length {
            HarmonicLength::Cycles(cycles) => (cycles / self.frequency_hz).min(f64::MAX),
            HarmonicLength::Duration(duration_s) => duration_s,
        })
    }
}

impl Generate for Harmonic {
    fn sample(&self, at: &Sampling) -> Result<Vec<f64>, ModelError> {
        check_finite("amplitude", self.amplitude)?;
        check_positive("frequency", self.frequency_hz)?;
        check_nyquist("frequency", self.frequency_hz, at.rate_hz)?;
        check_finite("phase", self.phase_rad)?;
        check_not_negative("start", self.start_s)?;
        let duration_s = self.duration_s();
        if let Some(duration_s) = duration_s {
            check_positive("duration", duration_s)?;
        }
        let fade = Fade::new(duration_s, self.ramp_s, at.rate_hz)?;
        Ok(sampled(at, |time| {
            let local = time - self.start_s;
            let angle = TAU * self.frequency_hz * local + self.phase_rad;
            fade.at(local) * self.amplitude * angle.sin()
        }))
    }

    fn start_s(&self) -> f64 {
        self.start_s
    }
}

/// A sine whose frequency runs linearly from one value to another.
///
/// amplitude · sin 2π(f₀ t + (f₁ − f₀) t²/2T), the phase being the exact
/// integral of the frequency.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given)]
pub struct Chirp {
    /// Half the height of the sine.
    #[key(given)]
    pub amplitude: f64,
    /// First frequency.
    #[key(frequency, not_negative)]
    pub from_hz: f64,
    /// Last frequency.
    #[key(frequency, not_negative)]
    pub to_hz: f64,
    /// Time from the first to the last frequency.
    #[key(time, positive)]
    pub duration_s: f64,
    /// Time at which the signal begins.
    #[key(time, not_negative, default = "0 s")]
    pub start_s: f64,
    /// Time of a smooth rise at the beginning and fall at the end.
    #[key(time, not_negative, default = "0 s")]
    pub ramp_s: f64,
}

impl Generate for Chirp {
    fn sample(&self, at: &Sampling) -> Result<Vec<f64>, ModelError> {
        check_finite("amplitude", self.amplitude)?;
        for (name, frequency_hz) in [("from", self.from_hz), ("to", self.to_hz)] {
            check_not_negative(name, frequency_hz)?;
            check_nyquist(name, frequency_hz, at.rate_hz)?;
        }
        check_positive("duration", self.duration_s)?;
        let fade = Fade::new(Some(self.duration_s), self.ramp_s, at.rate_hz)?;
        let slope = (self.to_hz - self.from_hz) / self.duration_s;
        let mut values = sampled(at, |time| {
            let turns = (self.from_hz + 0.5 * slope * time) * time;
            fade.at(time) * self.amplitude * (TAU * turns).sin()
        });
        begin(&mut values, self.start_s, at.rate_hz);
        Ok(values)
    }

    fn start_s(&self) -> f64 {
        self.start_s
    }
}

/// A single half-sine pulse.
///
/// From `at` to `at + width`.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given)]
pub struct Impulse {
    /// Height of the pulse.
    #[key(given)]
    pub amplitude: f64,
    /// Time at which the pulse begins.
    #[key(time, not_negative, default = "0 s")]
    pub at_s: f64,
    /// Length of the pulse.
    #[key(time, positive)]
    pub width_s: f64,
}

impl Generate for Impulse {
    fn sample(&self, at: &Sampling) -> Result<Vec<f64>, ModelError> {
        check_finite("amplitude", self.amplitude)?;
        check_not_negative("at", self.at_s)?;
        check_positive("width", self.width_s)?;
        // A half-sine of width w is half a period of 1/2w.
        check_nyquist("width's frequency 1/(2 width)", 0.5 / self.width_s, at.rate_hz)?;
        Ok(sampled(at, |time| {
            let part = (time - self.at_s) / self.width_s;
            if (0.0..1.0).contains(&part) { self.amplitude * (PI * part).sin() } else { 0.0 }
        }))
    }

    fn start_s(&self) -> f64 {
        self.at_s
    }
}

/// The window of a signal: 0 outside, 1 inside, half-cosines in between.
struct Fade {
    end_s: f64,
    ramp_s: f64,
    /// A sample this little outside is one that rounding moved.
    slack_s: f64,
}

impl Fade {
    fn new(duration_s: Option<f64>, ramp_s: f64, rate_hz: f64) -> Result<Self, ModelError> {
        check_not_negative("ramp", ramp_s)?;
        let end_s = duration_s.unwrap_or(f64::INFINITY);
        require(2.0 * ramp_s <= end_s, "ramp", ramp_s, "at most half the duration")?;
        Ok(Self { end_s, ramp_s, slack_s: 1e-6 / rate_hz })
    }

    fn at(&self, local_s: f64) -> f64 {
        if local_s < -self.slack_s || local_s > self.end_s - self.slack_s {
            return 0.0;
        }
        let nearest_end = local_s.min(self.end_s - local_s);
        if nearest_end >= self.ramp_s {
            return 1.0;
        }
        0.5 - 0.5 * (PI * nearest_end / self.ramp_s).cos()
    }
}

fn sampled(at: &Sampling, value: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..at.count).map(|k| value(k as f64 / at.rate_hz)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;
    use proptest::prelude::*;

    const HARMONIC: Harmonic = Harmonic {
        amplitude: 2.0,
        frequency_hz: 5.0,
        phase_rad: 0.0,
        start_s: 0.5,
        length: Some(HarmonicLength::Duration(0.6)),
        ramp_s: 0.0,
    };

    #[test]
    fn harmonic_is_a_sine_of_three_cycles() {
        let found = sample(&HARMONIC, 1000.0, 2000).unwrap();
        for (k, value) in found.iter().enumerate() {
            let exact = if (500..1100).contains(&k) {
                2.0 * (TAU * 5.0 * (k as f64 - 500.0) / 1000.0).sin()
            } else {
                0.0
            };
            assert!((value - exact).abs() < 1e-11, "{k}: {value} {exact}");
        }
    }

    #[test]
    fn ramps_are_smooth_and_need_room() {
        let cosine = Harmonic { phase_rad: PI / 2.0, start_s: 0.0, ramp_s: 0.1, ..HARMONIC };
        let found = sample(&cosine, 1000.0, 700).unwrap();
        assert_eq!(found[0], 0.0);
        assert!((found[50] - 0.5 * 2.0 * (TAU * 0.25).cos()).abs() < 1e-12);
        assert!((found[200] - 2.0).abs() < 1e-12);
        let jumps = found.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        let steepest = 2.0 * (TAU * 5.0 + 0.5 * PI / 0.1) / 1000.0;
        assert!(jumps.fold(0.0, f64::max) <= steepest);
        let endless = sample(&Harmonic { length: None, ..cosine }, 1000.0, 701).unwrap();
        assert!((endless[600] - 2.0).abs() < 1e-12, "an endless sine has no fade at its end");
        let error = sample(&Harmonic { ramp_s: 0.4, ..cosine }, 1000.0, 10).unwrap_err();
        assert!(error.to_string().contains("at most half the duration"));
    }

    #[test]
    fn chirp_has_the_analytic_phase() {
        let chirp = Chirp {
            amplitude: 1.5,
            from_hz: 0.0,
            to_hz: 10.0,
            duration_s: 10.0,
            start_s: 0.0,
            ramp_s: 0.0,
        };
        let rate = 1000.0;
        let found = sample(&chirp, rate, 10_500).unwrap();
        for (k, value) in found.iter().enumerate() {
            let time = k as f64 / rate;
            // φ = 2π · t²/2, so the frequency is t Hz.
            let exact = if k < 10_000 { 1.5 * (PI * time * time).sin() } else { 0.0 };
            assert!((value - exact).abs() < 1e-9);
        }
        let late = sample(&Chirp { start_s: 0.25, ..chirp }, rate, 10_500).unwrap();
        assert!(late[..250].iter().all(|&value| value == 0.0));
        assert_eq!(late[250..], found[..10_250]);
        let falling = Chirp { from_hz: 10.0, to_hz: 0.0, ..chirp };
        let falling = sample(&falling, rate, 10_000).unwrap();
        let time = 2.345_f64;
        let exact = 1.5 * (TAU * (10.0 * time - 0.5 * time * time)).sin();
        assert!((falling[2345] - exact).abs() < 1e-9);
    }

    #[test]
    fn impulse_has_the_area_of_a_half_sine() {
        let impulse = Impulse { amplitude: 3.0, at_s: 0.1, width_s: 0.02 };
        let rate = 50_000.0;
        let found = sample(&impulse, rate, 10_000).unwrap();
        let area: f64 = found.iter().sum::<f64>() / rate;
        assert!((area / (3.0 * 0.02 * 2.0 / PI) - 1.0).abs() < 1e-5);
        assert!((found[5500] - 3.0).abs() < 1e-12);
        assert!(found[..5000].iter().chain(&found[6001..]).all(|&value| value == 0.0));
    }

    #[test]
    fn aliases_and_nonsense_are_errors() {
        let fast = Harmonic { frequency_hz: 500.0, ..HARMONIC };
        let error = sample(&fast, 1000.0, 1).unwrap_err();
        assert!(error.to_string().contains("raise the rate above 1000 Hz"), "{error}");
        let chirp = Chirp {
            amplitude: 1.0,
            from_hz: 1.0,
            to_hz: 60.0,
            duration_s: 1.0,
            start_s: 0.0,
            ramp_s: 0.0,
        };
        assert!(matches!(sample(&chirp, 100.0, 1), Err(ModelError::Aliasing { name: "to", .. })));
        assert!(sample(&Chirp { duration_s: 0.0, ..chirp }, 1000.0, 1).is_err());
        let pulse = Impulse { amplitude: 1.0, at_s: 0.0, width_s: 0.01 };
        assert!(sample(&pulse, 100.0, 1).is_err());
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(sample(&Harmonic { amplitude: bad, ..HARMONIC }, 1000.0, 1).is_err());
            assert!(sample(&Harmonic { start_s: bad, ..HARMONIC }, 1000.0, 1).is_err());
        }
        let length = Some(HarmonicLength::Duration(-1.0));
        assert!(sample(&Harmonic { length, ..HARMONIC }, 1000.0, 1).is_err());
    }

    #[test]
    fn cycles_are_a_duration() {
        let cycles = Harmonic { length: Some(HarmonicLength::Cycles(3.0)), ..HARMONIC };
        assert_eq!(sample(&cycles, 1000.0, 2000), sample(&HARMONIC, 1000.0, 2000));
    }

    proptest! {
        #[test]
        fn any_harmonic_stays_within_its_amplitude(
            amplitude in -10.0..10.0_f64,
            frequency_hz in 0.1..400.0_f64,
            phase_rad in -7.0..7.0_f64,
            start_s in 0.0..1.0_f64,
            duration in 0.01..2.0_f64,
        ) {
            let ramp_s = 0.4 * duration;
            let length = Some(HarmonicLength::Duration(duration));
            let source = Harmonic { amplitude, frequency_hz, phase_rad, start_s, length, ramp_s };
            for value in sample(&source, 1000.0, 500).unwrap() {
                prop_assert!(value.abs() <= amplitude.abs());
            }
        }
    }
}
