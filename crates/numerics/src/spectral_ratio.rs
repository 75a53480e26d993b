//! The ratio of two signals over all their frequencies, in one amplitude and one delay.

use std::f64::consts::TAU;

use rustfft::FftPlanner;

use crate::Complex;

/// Sums over the lines of two spectra X and Y, for their mean ratio with the weights |X|²,
///
///   R = Σ |X|² (Y/X) / Σ |X|² = Σ Y X* / Σ |X|²,
///   amplitude |R|,  delay −arg R / (2π f),  f = Σ f_j |X_j|² / Σ |X|².
///
/// For Y that is X, A times as large and τ late, |R| is A but for the spread of the phases (second
/// order in τ times the spread of the frequencies) and the delay is τ. It is known but for whole
/// periods of f. With the weights |X|ˡ, l = 2, this is the frequency evaluation index.
///
/// Reference: Guo, Chen, Xu & Chen 2014, Earthq. Eng. Struct. Dyn. 43, frequency evaluation index.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpectralRatio {
    cross: Complex,
    input: f64,
    output: f64,
    moment: f64,
    lines: f64,
}

impl SpectralRatio {
    /// Of two whole signals, without their means. Instants at which either is no number are left
    /// out of both.
    pub fn of_signals(x: &[f64], y: &[f64], rate_hz: f64) -> Self {
        let count = x.len().min(y.len());
        let fourier = FftPlanner::new().plan_fft_forward(count);
        let known: Vec<bool> = x.iter().zip(y).map(|(x, y)| (x + y).is_finite()).collect();
        let spectrum = |signal: &[f64]| {
            let given = || signal.iter().zip(&known);
            let sum: f64 = given().filter(|(_, known)| **known).map(|(value, _)| value).sum();
            let mean = sum / known.iter().filter(|known| **known).count() as f64;
            let cell = |(value, known): (&f64, &bool)| if *known { value - mean } else { 0.0 };
            let mut cells: Vec<_> = given().map(|it| Complex::from(cell(it))).collect();
            fourier.process(&mut cells);
            cells
        };
        let (x, y) = (spectrum(x), spectrum(y));
        let mut sums = Self::default();
        for line in 1..count.div_ceil(2) {
            sums.add(line as f64 * rate_hz / count as f64, x[line], y[line]);
        }
        sums
    }

    /// Takes one line in.
    pub fn add(&mut self, frequency_hz: f64, x: Complex, y: Complex) {
        let weight = x.norm_sqr();
        self.cross += y * x.conj();
        self.input += weight;
        self.output += y.norm_sqr();
        self.moment += weight * frequency_hz;
        self.lines += 1.0;
    }

    /// |R|; not a number where X is nothing.
    pub fn amplitude(&self) -> f64 {
        self.cross.norm() / self.input
    }

    /// f: the mean frequency of X.
    pub fn frequency_hz(&self) -> f64 {
        self.moment / self.input
    }

    /// How far Y is behind X; negative where it leads.
    pub fn delay_s(&self) -> f64 {
        -self.cross.arg() / (TAU * self.frequency_hz())
    }

    /// Standard error of the amplitude, if what R does not explain of Y is the same at all lines.
    pub fn deviation(&self) -> f64 {
        let unexplained = (self.output - self.cross.norm_sqr() / self.input).max(0.0);
        (unexplained / (self.lines - 1.0) / self.input).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_amplitude_and_delay_of_a_whole_signal_are_found() {
        let rate_hz = 1024.0;
        let burst = |t: f64| {
            let envelope = (-(t - 4.0) * (t - 4.0)).exp();
            envelope * ((TAU * 3.4 * t).sin() + 0.3 * (TAU * 5.1 * t + 1.0).sin())
        };
        for (amplitude, delay_s) in [(1.0, 0.0), (0.9, 4e-3), (1.2, -7e-3), (0.5, 20e-3)] {
            let sample = |late: f64, scale: f64| -> Vec<f64> {
                (0..8192).map(|k| scale * burst(f64::from(k) / rate_hz - late) + 0.2).collect()
            };
            let ratio =
                SpectralRatio::of_signals(&sample(0.0, 1.0), &sample(delay_s, amplitude), rate_hz);
            // The phases spread with the frequencies: second order in the delay.
            let spread = (TAU * 0.6 * delay_s).powi(2);
            let error = ratio.amplitude() / amplitude - 1.0;
            assert!(error.abs() < 1e-9 + spread, "{amplitude} {delay_s}: {error}");
            assert!((ratio.delay_s() - delay_s).abs() < 1e-9 + 1e-3 * delay_s.abs(), "{ratio:?}");
            assert!((3.4..3.7).contains(&ratio.frequency_hz()));
            assert!(ratio.deviation() < 0.02);
        }
    }

    #[test]
    fn a_gap_in_one_signal_is_one_in_both() {
        let sine = |t: f64| (TAU * t / 64.0).sin();
        let x: Vec<f64> = (0..1024).map(|k| sine(f64::from(k))).collect();
        let mut y: Vec<f64> = (0..1024).map(|k| 0.9 * sine(f64::from(k) - 2.0)).collect();
        y[200..230].fill(f64::NAN);
        let ratio = SpectralRatio::of_signals(&x, &y, 1.0);
        assert!((ratio.amplitude() - 0.9).abs() < 5e-3 && (ratio.delay_s() - 2.0).abs() < 0.1);
    }

    #[test]
    fn nothing_has_no_ratio() {
        let nothing = SpectralRatio::of_signals(&[], &[], 1.0);
        assert!(nothing.amplitude().is_nan() && nothing.delay_s().is_nan());
        let still = SpectralRatio::of_signals(&[1.0; 16], &[2.0; 16], 1.0);
        assert!(still.amplitude().is_nan());
    }
}
