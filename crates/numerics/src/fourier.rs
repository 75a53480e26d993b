//! Periodic signals from their Fourier lines.

use std::f64::consts::TAU;

use rustfft::FftPlanner;

use crate::Complex;

/// One line of a periodic signal: amplitude · cos(2π bin n/N + phase).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Periods within the N samples; below N/2, or the line aliases.
    pub bin: usize,
    /// Peak amplitude.
    pub amplitude: f64,
    /// Phase at the first sample.
    pub phase_rad: f64,
}

/// The sum of `lines` at samples 0 … `length` − 1, by one inverse transform.
///
/// # Panics
/// If a line's bin is not below `length`.
pub fn sum_of_lines(lines: &[Line], length: usize) -> Vec<f64> {
    let mut spectrum = vec![Complex::new(0.0, 0.0); length];
    for line in lines {
        spectrum[line.bin] += Complex::from_polar(line.amplitude, line.phase_rad % TAU);
    }
    // The real part of a one-sided spectrum's transform is the sum of cosines.
    FftPlanner::new().plan_fft_inverse(length).process(&mut spectrum);
    spectrum.into_iter().map(|value| value.re).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_as_cosines() {
        let lines = [
            Line { bin: 0, amplitude: 0.25, phase_rad: 0.0 },
            Line { bin: 3, amplitude: 2.0, phase_rad: 0.7 },
            Line { bin: 14, amplitude: 0.5, phase_rad: -2.0 },
        ];
        for length in [30, 37] {
            let found = sum_of_lines(&lines, length);
            for (n, value) in found.iter().enumerate() {
                let exact: f64 = lines
                    .iter()
                    .map(|line| {
                        let turns = (line.bin * n) as f64 / length as f64;
                        line.amplitude * (TAU * turns + line.phase_rad).cos()
                    })
                    .sum();
                assert!((value - exact).abs() < 1e-13);
            }
        }
        assert!(sum_of_lines(&[], 0).is_empty());
    }
}
