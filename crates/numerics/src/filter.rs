//! Butterworth filters as second-order sections in series.

use std::f64::consts::PI;

use thiserror::Error;

use crate::lanes::Lane;

/// A filter cannot be designed: its cut-off is not between zero and half the rate.
#[derive(Debug, Clone, PartialEq, Error)]
#[error(
    "the filter's cut-off is {cutoff_hz} Hz; it must lie between 0 and half the rate of {rate_hz} Hz"
)]
pub struct FilterError {
    /// The cut-off asked for.
    pub cutoff_hz: f64,
    /// Samples per second.
    pub rate_hz: f64,
}

/// (b0 + b1 z⁻¹ + b2 z⁻²) / (1 + a1 z⁻¹ + a2 z⁻²).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Section {
    /// Numerator b0, b1, b2.
    pub b: [f64; 3],
    /// Denominator a1, a2.
    pub a: [f64; 2],
}

impl Section {
    /// The bilinear (Tustin) image of
    /// (b2 s² + b1 s + b0) / (a2 s² + a1 s + a0), coefficients given from s² down.
    pub fn bilinear(numerator: [f64; 3], denominator: [f64; 3], rate_hz: f64) -> Self {
        // s = 2 f_s (1 − z⁻¹)/(1 + z⁻¹)
        let c = 2.0 * rate_hz;
        let image = |[p2, p1, p0]: [f64; 3]| {
            let (p2, p1) = (p2 * c * c, p1 * c);
            [p2 + p1 + p0, 2.0 * (p0 - p2), p2 - p1 + p0]
        };
        let (b, a) = (image(numerator), image(denominator));
        Self { b: b.map(|value| value / a[0]), a: [a[1] / a[0], a[2] / a[0]] }
    }

    /// The next output for the next input, of one signal or of several side by
    /// side, in the transposed direct form II; `state` has its two delayed values.
    #[inline(always)]
    pub fn step<T: Lane>(&self, x: T, state: &mut [T; 2]) -> T {
        let Self { b, a } = self;
        let [s1, s2] = state;
        let y = x * b[0] + *s1;
        *s1 = x * b[1] - y * a[0] + *s2;
        *s2 = x * b[2] - y * a[1];
        y
    }
}

/// The sections of a Butterworth low-pass filter of order 2 `SECTIONS` by the
/// bilinear transform, prewarped so that the gain at the cut-off is exactly 1/√2:
/// the filter that `scipy.signal.butter(order, cutoff, output="sos", fs=rate)` gives.
///
/// With k = tan(π f_c / f_s) and 1/Q_i = 2 sin((2i − 1)π/2N) each pair of poles
/// becomes one section.
pub fn low_pass<const SECTIONS: usize>(
    cutoff_hz: f64,
    rate_hz: f64,
) -> Result<[Section; SECTIONS], FilterError> {
    if !(rate_hz.is_finite() && cutoff_hz > 0.0 && cutoff_hz < 0.5 * rate_hz) {
        return Err(FilterError { cutoff_hz, rate_hz });
    }
    let k = (PI * cutoff_hz / rate_hz).tan();
    Ok(std::array::from_fn(|pair| {
        let inverse_q = 2.0 * ((2 * pair + 1) as f64 * PI / (4 * SECTIONS) as f64).sin();
        let scale = 1.0 / (1.0 + k * inverse_q + k * k);
        Section {
            b: [k * k * scale, 2.0 * k * k * scale, k * k * scale],
            a: [2.0 * (k * k - 1.0) * scale, (1.0 - k * inverse_q + k * k) * scale],
        }
    }))
}

/// The same sections in series over `SIGNALS` signals, with their state.
///
/// The signals do not mix; they only share the sections. `step` runs inside the
/// tick: it does not allocate. A NaN at the input stays in the state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterBank<T: Lane, const SIGNALS: usize, const SECTIONS: usize> {
    sections: [Section; SECTIONS],
    state: [[[T; 2]; SIGNALS]; SECTIONS],
}

impl<T: Lane, const SIGNALS: usize, const SECTIONS: usize> FilterBank<T, SIGNALS, SECTIONS> {
    /// At rest.
    pub fn new(sections: [Section; SECTIONS]) -> Self {
        Self { sections, state: [[[T::ZERO; 2]; SIGNALS]; SECTIONS] }
    }

    /// The next outputs for the next inputs.
    #[inline(always)]
    pub fn step(&mut self, mut x: [T; SIGNALS]) -> [T; SIGNALS] {
        for (section, states) in self.sections.iter().zip(&mut self.state) {
            for (x, state) in x.iter_mut().zip(states) {
                *x = section.step(*x, state);
            }
        }
        x
    }

    /// The sections.
    pub fn sections(&self) -> &[Section; SECTIONS] {
        &self.sections
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use crate::Complex;
    use proptest::prelude::*;

    use super::*;

    fn response(sections: &[Section], frequency_hz: f64, rate_hz: f64) -> Complex {
        let z = Complex::from_polar(1.0, -TAU * frequency_hz / rate_hz);
        let of = |Section { b, a }: &Section| {
            ((z * b[2] + b[1]) * z + b[0]) / ((z * a[1] + a[0]) * z + 1.0)
        };
        sections.iter().map(of).product()
    }

    #[test]
    fn output_is_that_of_scipy() {
        // scipy 1.17.1: sosfilt(butter(4, 20, output='sos', fs=4096), x), the input 1
        // at sample 0 and −0.5 at sample 3, and nothing beside it.
        let mut filter = FilterBank::<f64, 2, 2>::new(low_pass(20.0, 4096.0).unwrap());
        let input = |sample: usize| match sample {
            0 => 1.0,
            3 => -0.5,
            _ => 0.0,
        };
        let output: Vec<_> = (0..40).map(|sample| filter.step([input(sample), 0.0])).collect();
        for (sample, expected) in [
            (0, 5.321162457375037e-08),
            (1, 4.214271177984792e-07),
            (2, 1.6645509024911795e-06),
            (5, 1.698523833370072e-05),
            (10, 9.939219361220866e-05),
            (39, 0.002166345196880473),
        ] {
            let [found, beside] = output[sample];
            assert!((found - expected).abs() < 1e-9 * expected.abs() + 1e-15);
            assert_eq!(beside, 0.0);
        }
    }

    #[test]
    fn response_is_that_of_scipy() {
        // scipy 1.17.1: sosfreqz at 10 and 21 Hz of butter(4, 20, fs=4096).
        let filter = low_pass::<2>(20.0, 4096.0).unwrap();
        for (frequency, re, im) in [
            (10.0, 0.2082193548172031, -0.9760919390477253),
            (21.0, -0.6250874203672242, 0.1135349565885508),
        ] {
            let found = response(&filter, frequency, 4096.0);
            assert!((found.re - re).hypot(found.im - im) < 1e-11);
        }
    }

    #[test]
    fn response_is_what_a_sine_sees() {
        let mut filter = FilterBank::<f64, 1, 2>::new(low_pass(12.0, 500.0).unwrap());
        let h = response(filter.sections(), 17.0, 500.0);
        for sample in 0..4000 {
            let phase = TAU * 17.0 * f64::from(sample) / 500.0;
            let [output] = filter.step([phase.sin()]);
            if sample > 2000 {
                let (gain, lag) = h.to_polar();
                assert!((output - gain * (phase + lag).sin()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn bilinear_image_has_the_analogue_response_at_the_warped_frequency() {
        let (b, a) = ([0.3, 20.0, 900.0], [1.0, 12.0, 800.0]);
        let filter = [Section::bilinear(b, a, 250.0)];
        for frequency in [0.0, 3.0, 40.0, 110.0] {
            let warped = Complex::new(0.0, 500.0 * (PI * frequency / 250.0).tan());
            let value = |p: [f64; 3]| (warped * p[0] + p[1]) * warped + p[2];
            let found = response(&filter, frequency, 250.0);
            assert!((found - value(b) / value(a)).norm() < 1e-12);
        }
    }

    #[test]
    fn impossible_filters_are_errors() {
        for cutoff in [0.0, -1.0, 5.0, 6.0, f64::NAN, f64::INFINITY] {
            assert!(low_pass::<1>(cutoff, 10.0).is_err());
        }
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(low_pass::<1>(1.0, rate).is_err());
        }
    }

    fn gain_is_right<const SECTIONS: usize>(ratio: f64) -> bool {
        let filter = low_pass::<SECTIONS>(1000.0 * ratio, 1000.0).unwrap();
        let gain = |frequency_hz: f64| response(&filter, frequency_hz, 1000.0).norm();
        let decibels = 20.0 * gain(1000.0 * ratio).log10();
        (gain(0.0) - 1.0).abs() < 1e-10
            && gain(500.0) < 1e-10
            && (decibels + 3.010299956639812).abs() < 1e-9
    }

    proptest! {
        #[test]
        fn gain_is_one_where_it_passes_and_three_decibels_at_the_cutoff(ratio in 0.01..0.49_f64) {
            prop_assert!(gain_is_right::<1>(ratio));
            prop_assert!(gain_is_right::<2>(ratio));
            prop_assert!(gain_is_right::<4>(ratio));
        }
    }
}
