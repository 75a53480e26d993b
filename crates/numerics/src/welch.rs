//! Spectra by Welch's method, and the frequency response they give.

use std::f64::consts::TAU;

use rustfft::FftPlanner;
use thiserror::Error;

use crate::Complex;

/// Fewest samples of a segment: below, a Hann window resolves nothing.
pub const SHORTEST_SEGMENT: usize = 16;

/// Why there are no spectra.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum WelchError {
    /// A segment of so many samples is too short.
    #[error("a segment of {0} samples is too short; use at least {SHORTEST_SEGMENT}")]
    ShortSegment(usize),
    /// Not one segment fits into the signals.
    #[error("{samples} samples do not fill one segment of {segment}")]
    TooShort {
        /// Samples there are.
        samples: usize,
        /// Samples of the segment.
        segment: usize,
    },
    /// The signals have different lengths.
    #[error("the input has {input} samples, the output {output}")]
    UnequalLengths {
        /// Samples of the input.
        input: usize,
        /// Samples of the output.
        output: usize,
    },
    /// The rate is not a positive number.
    #[error("the rate is {0} Hz; it must be greater than zero")]
    BadRate(f64),
    /// A sample is NaN or infinite.
    #[error("sample {index} of the {signal} is {value}, not a finite number")]
    NotFinite {
        /// `input` or `output`.
        signal: &'static str,
        /// Position from 1.
        index: usize,
        /// The value.
        value: f64,
    },
}

/// One-sided spectra of an input and an output, averaged over segments.
///
/// Each segment loses its mean and is weighted by a Hann window; neighbours
/// overlap by half. With X and Y the transforms of a segment,
///   S_xx = ⟨X* X⟩, S_yy = ⟨Y* Y⟩, S_xy = ⟨X* Y⟩
/// as densities per hertz.
///
/// Reference: Welch 1967, IEEE Trans. Audio Electroacoust. 15(2).
#[derive(Debug, Clone, PartialEq)]
pub struct Spectra {
    /// Of every line, from 0 to half the rate.
    pub frequency_hz: Vec<f64>,
    /// S_xx.
    pub input: Vec<f64>,
    /// S_yy.
    pub output: Vec<f64>,
    /// S_xy.
    pub cross: Vec<Complex>,
    /// Segments averaged.
    pub segments: usize,
    shared: Shared,
}

/// Lines on either side that the errors of a line's H1 still correlate with: a Hann window
/// leaks over two, and the overlap of segments a little further.
pub const REACH: usize = 3;

impl Spectra {
    /// Averages over segments of `segment` samples.
    pub fn new(
        input: &[f64],
        output: &[f64],
        segment: usize,
        rate_hz: f64,
    ) -> Result<Self, WelchError> {
        check(input, output, segment, rate_hz)?;
        let hann = |n: usize| 0.5 - 0.5 * (TAU * n as f64 / segment as f64).cos();
        let window: Vec<f64> = (0..segment).map(hann).collect();
        let (stride, lines) = (segment - segment / 2, segment / 2 + 1);
        let transform = FftPlanner::new().plan_fft_forward(segment);
        let mut scratch = vec![Complex::ZERO; transform.get_inplace_scratch_len()];
        let (mut x, mut y) = (vec![Complex::ZERO; segment], vec![Complex::ZERO; segment]);
        let (mut s_xx, mut s_yy) = (vec![0.0; lines], vec![0.0; lines]);
        let mut s_xy = vec![Complex::ZERO; lines];
        let mut segments = 0;
        let mut shared = Shared::new(&window, stride, lines);
        for start in (0..=input.len() - segment).step_by(stride) {
            for (signal, into) in [(input, &mut x), (output, &mut y)] {
                window_into(&signal[start..start + segment], &window, into);
                transform.process_with_scratch(into, &mut scratch);
            }
            for k in 0..lines {
                s_xx[k] += x[k].norm_sqr();
                s_yy[k] += y[k].norm_sqr();
                s_xy[k] += x[k].conj() * y[k];
            }
            shared.add(&x);
            segments += 1;
        }
        let power: f64 = window.iter().map(|w| w * w).sum();
        let density = 1.0 / (rate_hz * power * segments as f64);
        for k in 0..lines {
            // Both halves of the spectrum, except where there is only one line.
            let alone = k == 0 || 2 * k == segment;
            let factor = if alone { density } else { 2.0 * density };
            s_xx[k] *= factor;
            s_yy[k] *= factor;
            s_xy[k] *= factor;
        }
        Ok(Self {
            frequency_hz: (0..lines).map(|k| k as f64 * rate_hz / segment as f64).collect(),
            input: s_xx,
            output: s_yy,
            cross: s_xy,
            segments,
            shared,
        })
    }

    /// Independent averages that give H1 the same variance: overlapping segments share samples of
    /// the noise, the more the more alike their inputs are. NaN without input.
    pub fn averages(&self, line: usize) -> f64 {
        self.segments as f64 * self.shared.input[line] / self.shared.errors[0][line].re
    }

    /// How the error of H1 on a line correlates with that on a line `beyond` it, as complex
    /// numbers: E[δH* δH′] over the product of the deviations, for noise that is white over those
    /// lines.
    pub fn correlation(&self, line: usize, beyond: usize) -> Complex {
        let errors = &self.shared.errors;
        let Some(found) = errors.get(beyond).and_then(|errors| errors.get(line)) else {
            return Complex::ZERO;
        };
        let correlation = found / (errors[0][line].re * errors[0][line + beyond].re).sqrt();
        if correlation.norm_sqr().is_finite() { correlation } else { Complex::ZERO }
    }

    /// S_xy/S_xx: the response where noise is on the output. NaN without input.
    pub fn h1(&self, line: usize) -> Complex {
        self.cross[line] / self.input[line]
    }

    /// S_yy/S_yx: the response where noise is on the input. NaN without relation.
    pub fn h2(&self, line: usize) -> Complex {
        Complex::from(self.output[line]) / self.cross[line].conj()
    }

    /// γ² = |S_xy|²/(S_xx S_yy), from 0 (unrelated) to 1 (one determines the
    /// other). NaN where a signal has no power. One segment alone gives 1.
    pub fn coherence(&self, line: usize) -> f64 {
        let all = self.input[line] * self.output[line];
        let coherence = self.cross[line].norm_sqr() / all;
        // Not `min`, which would make a number of NaN.
        if coherence > 1.0 { 1.0 } else { coherence }
    }

    /// Standard deviation of H1 as a complex number, E|δH|² = deviation²:
    /// |H| √((1 − γ²)/(γ² (n − 1))), by n independent averages, of which the
    /// response itself takes one. Half of the variance is in the magnitude and
    /// half in the phase. Infinite for a single segment.
    ///
    /// Reference: Bendat & Piersol, Random Data, section 9.2.
    pub fn deviation(&self, line: usize) -> f64 {
        let coherence = self.coherence(line);
        if self.segments < 2 {
            return f64::INFINITY;
        }
        let noise = ((1.0 - coherence) / (coherence * (self.averages(line) - 1.0))).max(0.0);
        self.h1(line).norm() * noise.sqrt()
    }
}

fn check(input: &[f64], output: &[f64], segment: usize, rate_hz: f64) -> Result<(), WelchError> {
    if input.len() != output.len() {
        let (input, output) = (input.len(), output.len());
        return Err(WelchError::UnequalLengths { input, output });
    }
    if segment < SHORTEST_SEGMENT {
        return Err(WelchError::ShortSegment(segment));
    }
    if input.len() < segment {
        return Err(WelchError::TooShort { samples: input.len(), segment });
    }
    if !(rate_hz.is_finite() && rate_hz > 0.0) {
        return Err(WelchError::BadRate(rate_hz));
    }
    for (signal, values) in [("input", input), ("output", output)] {
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(WelchError::NotFinite { signal, index: at + 1, value: values[at] });
        }
    }
    Ok(())
}

fn window_into(samples: &[f64], window: &[f64], into: &mut [Complex]) {
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    for ((value, sample), weight) in into.iter_mut().zip(samples).zip(window) {
        *value = Complex::from((sample - mean) * weight);
    }
}

/// What the errors of H1 have in common. With N the noise, the error on line k is
/// Σ_i X_ik* N_ik/Σ_i |X_ik|²; segments i and j share samples, and the window leaks into
/// neighbouring lines, so that E[N_ik* N_jl] is not zero. For white noise both are known, and the
/// input is what was applied: noise or the same period again.
#[derive(Debug, Clone, PartialEq)]
struct Shared {
    /// Σ_i |X_ik|².
    input: Vec<f64>,
    /// Σ_ij X_ik X_jl* E[N_ik* N_jl] for l = k, k + 1, … of noise of unit power.
    errors: [Vec<Complex>; REACH + 1],
    /// E[N_ik* N_il] by the distance of the lines.
    within: [Complex; REACH + 1],
    /// The same of a segment and the next, without the turn between their beginnings.
    across: [Complex; REACH + 1],
    /// Turn of a line over a stride.
    turn: Vec<Complex>,
    before: Vec<Complex>,
}

impl Shared {
    fn new(window: &[f64], stride: usize, lines: usize) -> Self {
        let segment = window.len();
        let power: f64 = window.iter().map(|w| w * w).sum();
        let turn = |cycles: usize| {
            Complex::from_polar(1.0, TAU * (cycles % segment) as f64 / segment as f64)
        };
        let sum = |beyond: usize, late: usize| -> Complex {
            let shared = window[late..].iter().zip(window).enumerate();
            shared.map(|(n, (a, b))| turn(beyond * (n + late)).conj() * (a * b)).sum::<Complex>()
                / power
        };
        Self {
            input: vec![0.0; lines],
            errors: std::array::from_fn(|beyond| vec![Complex::ZERO; lines.saturating_sub(beyond)]),
            within: std::array::from_fn(|beyond| sum(beyond, 0)),
            across: std::array::from_fn(|beyond| sum(beyond, stride)),
            turn: (0..lines).map(|line| turn(line * stride)).collect(),
            before: Vec::new(),
        }
    }

    /// The transform of the input's next segment.
    fn add(&mut self, x: &[Complex]) {
        for (sum, x) in self.input.iter_mut().zip(x) {
            *sum += x.norm_sqr();
        }
        for (beyond, errors) in self.errors.iter_mut().enumerate() {
            let (within, across) = (self.within[beyond], self.across[beyond]);
            for (k, sum) in errors.iter_mut().enumerate() {
                let l = k + beyond;
                *sum += x[k] * x[l].conj() * within;
                if let (Some(&before_k), Some(&before_l)) = (self.before.get(k), self.before.get(l))
                {
                    *sum += before_k * x[l].conj() * self.turn[l] * across;
                    *sum += x[k] * before_l.conj() * self.turn[k].conj() * across;
                }
            }
        }
        self.before.clear();
        self.before.extend_from_slice(&x[..self.input.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// Two signals of 64 samples that any language can make again.
    fn signals() -> (Vec<f64>, Vec<f64>) {
        (0..64)
            .map(|n| {
                let n = f64::from(n);
                ((0.7 * n).sin() + 0.3 * (0.11 * n * n).cos(), (0.7 * n - 0.4).sin() + 0.05 * n)
            })
            .unzip()
    }

    /// scipy 1.17.1: f, Pxx = welch(x, 10, 'hann', 16), csd(x, y, …), coherence(x, y, …)
    /// with x = sin 0.7n + 0.3 cos 0.11n², y = sin(0.7n − 0.4) + 0.05n, n = 0 … 63.
    #[test]
    fn the_spectra_are_those_of_scipy() {
        let (x, y) = signals();
        let found = Spectra::new(&x, &y, 16, 10.0).unwrap();
        assert_eq!(found.segments, 7);
        SCIPY.with(|line, pxx, pyy, pxy, coherence| {
            let close = |a: f64, b: f64| (a - b).abs() < 1e-12 * b.abs().max(1e-3);
            assert!(close(found.input[line], pxx), "{line}: {} {pxx}", found.input[line]);
            assert!(close(found.output[line], pyy), "{line}: {} {pyy}", found.output[line]);
            assert!((found.cross[line] - pxy).norm() < 1e-12 * pxy.norm().max(1e-3), "{line}");
            assert!(close(found.coherence(line), coherence), "{line}");
        });
    }

    /// Line, Pxx, Pyy, Pxy and coherence.
    type Row = (usize, f64, f64, (f64, f64), f64);

    struct Table(&'static [Row]);

    impl Table {
        fn with(&self, mut see: impl FnMut(usize, f64, f64, Complex, f64)) {
            for &(line, pxx, pyy, (re, im), coherence) in self.0 {
                see(line, pxx, pyy, Complex::new(re, im), coherence);
            }
        }
    }

    const SCIPY: Table = Table(&[
        (
            1,
            0.30123100894509636,
            0.2628199026980125,
            (0.25331689071433244, -0.1015039320010167),
            0.9406714850657004,
        ),
        (
            2,
            0.49811713494596116,
            0.4908602717677538,
            (0.4524943946067538, -0.19313699206883206),
            0.9899681878714828,
        ),
        (
            3,
            0.04252199718246515,
            0.06350444201829865,
            (0.04415537265979541, -0.01896386122537561),
            0.8551992122265467,
        ),
        (
            5,
            0.009136300167980962,
            2.896035613615374e-05,
            (-8.087256250136189e-05, 0.00011357492279609185),
            0.07347064224321037,
        ),
        (
            8,
            0.008169749111849258,
            2.754951274978431e-07,
            (-3.292932034440351e-05, 0.0),
            0.48177348245911483,
        ),
    ]);

    #[test]
    fn a_gain_and_a_late_sample_come_out() {
        let mut stream = Stream::new(3, "welch");
        let x: Vec<f64> = (0..40_000).map(|_| stream.normal()).collect();
        let y: Vec<f64> = (0..x.len()).map(|n| if n == 0 { 0.0 } else { 0.5 * x[n - 1] }).collect();
        let rate = 100.0;
        let found = Spectra::new(&x, &y, 1000, rate).unwrap();
        for line in (10..490).step_by(40) {
            let angle = TAU * found.frequency_hz[line] / rate;
            let exact = Complex::from_polar(0.5, -angle);
            assert!((found.h1(line) - exact).norm() < 2e-3, "{line}");
            assert!((found.h2(line) - exact).norm() < 2e-3, "{line}");
            assert!(found.coherence(line) > 0.999);
        }
    }

    /// The deviation predicted from the coherence is the one that repetition shows.
    #[test]
    fn the_deviation_of_h1_is_what_repetition_shows() {
        let (segment, repetitions) = (256, 60);
        let (mut predicted, mut found, mut count) = (0.0, 0.0, 0.0);
        for seed in 0..repetitions {
            let mut stream = Stream::new(seed, "deviation");
            let x: Vec<f64> = (0..8192).map(|_| stream.normal()).collect();
            let y: Vec<f64> = x.iter().map(|x| 2.0 * x + 1.5 * stream.normal()).collect();
            let spectra = Spectra::new(&x, &y, segment, 1.0).unwrap();
            for line in (4..124).step_by(4) {
                predicted += spectra.deviation(line).powi(2);
                found += (spectra.h1(line) - Complex::from(2.0)).norm_sqr();
                count += 1.0;
            }
        }
        let ratio = (found / predicted).sqrt();
        // 1800 complex errors: their rms is known to about 1.7 %.
        assert!((ratio - 1.0).abs() < 0.06, "{ratio} over {count}");
    }

    /// Errors of neighbouring lines hang together: how much shows in their means over 20 lines, of
    /// noise and of a period that comes again and again.
    #[test]
    fn errors_of_neighbouring_lines_correlate_as_repetition_shows() {
        const LINES: std::ops::Range<usize> = 0..20;
        let segment = 256;
        for repeated in [false, true] {
            let (mut predicted, mut found) = (0.0, 0.0);
            for seed in 0..60 {
                let mut stream = Stream::new(seed, "correlation");
                let period: Vec<f64> = (0..8192).map(|_| stream.normal()).collect();
                let length = if repeated { segment } else { period.len() };
                let x: Vec<f64> = (0..8192).map(|n| period[n % length]).collect();
                let y: Vec<f64> = x.iter().map(|x| 2.0 * x + 1.5 * stream.normal()).collect();
                let spectra = Spectra::new(&x, &y, segment, 1.0).unwrap();
                for first in (4..104).step_by(20) {
                    let line = |i: usize| first + i;
                    // Each by its deviation, as a fit weighs them.
                    let error = |i| (spectra.h1(line(i)) - 2.0) / spectra.deviation(line(i));
                    found += LINES.map(error).sum::<Complex>().norm_sqr();
                    let pair = |i| {
                        let next = (1..=REACH).filter(move |beyond| i + beyond < LINES.end);
                        next.map(|beyond| spectra.correlation(line(i), beyond).re).sum::<f64>()
                    };
                    predicted += 20.0 + 2.0 * LINES.map(pair).sum::<f64>();
                }
            }
            let ratio = (found / predicted).sqrt();
            println!("{repeated}: {ratio}, {}", predicted / 6000.0);
            // 300 complex errors: their rms is known to about 4 %.
            assert!((ratio - 1.0).abs() < 0.12, "{repeated}: {ratio}");
        }
    }

    #[test]
    fn what_cannot_be_averaged_is_refused() {
        let x = vec![1.0; 32];
        assert!(matches!(
            Spectra::new(&x, &x[1..], 16, 1.0),
            Err(WelchError::UnequalLengths { .. })
        ));
        assert!(matches!(Spectra::new(&x, &x, 64, 1.0), Err(WelchError::TooShort { .. })));
        assert!(matches!(Spectra::new(&x, &x, 8, 1.0), Err(WelchError::ShortSegment(..))));
        assert!(matches!(Spectra::new(&x, &x, 16, 0.0), Err(WelchError::BadRate(_))));
        let mut bad = x.clone();
        bad[7] = f64::NAN;
        let error = Spectra::new(&x, &bad, 16, 1.0).unwrap_err();
        assert!(
            matches!(error, WelchError::NotFinite { signal: "output", index: 8, .. }),
            "{error}"
        );
        // A constant has no power: no answer, and no panic.
        let still = Spectra::new(&x, &x, 16, 1.0).unwrap();
        assert!(still.coherence(3).is_nan() && still.h1(3).re.is_nan());
    }
}
