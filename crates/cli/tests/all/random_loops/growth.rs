//! Growth and frequency of what is left of a motion at its end, from its samples
//! alone.
//!
//! A linear loop after a push moves as Σ cᵢ zᵢᵏ, one with two rates likewise from
//! period to period of its main loop. What decays slowest or grows fastest remains.
//! The late part of the samples, its own growth taken out, makes a Hankel matrix;
//! the shift of its column space (ESPRIT, Roy & Kailath 1989) has the zᵢ as
//! eigenvalues. Close motions, real ones and those at half the sampling rate are
//! all the same to it. Stride and length follow the record's length, so the longer
//! the loop ran the finer the answer.

use std::f64::consts::TAU;

use nalgebra::{Complex, ComplexField, DMatrix, DVector};

/// Samples of several signals, row by row.
#[derive(Debug, Default)]
pub struct Samples {
    /// Signals in a row.
    pub width: usize,
    /// The rows, one a tick.
    pub values: Vec<f64>,
    /// Time from row to row, s.
    pub step_s: f64,
    /// Rows after which the loop repeats itself; 1 for a loop of one rate.
    pub period: usize,
}

/// A motion that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    pub growth_1_s: f64,
    pub frequency_hz: f64,
}

impl Motion {
    pub fn damping_ratio(&self) -> f64 {
        -self.growth_1_s / (TAU * self.frequency_hz).hypot(self.growth_1_s)
    }
}

/// How many motions can be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// Samples of a window at most.
    samples: usize,
    /// Rows of the Hankel matrix, about.
    rows: usize,
}

impl Detail {
    /// Enough for most loops.
    pub const COARSE: Self = Self { samples: 220, rows: 60 };
    /// Enough for long delays with a large gain, whose many motions grow alike.
    pub const FINE: Self = Self { samples: 600, rows: 200 };
}

/// Combinations of the signals that are looked at.
const MIXED: usize = 4;
/// Singular values below this part of the largest are rounding.
const ROUNDING: f64 = 1e-8;
/// A motion below this part of the largest at the window's end is not seen.
const UNSEEN: f64 = 1e-5;

impl Samples {
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    pub fn push(&mut self, row: &[f64]) {
        self.width = row.len();
        self.values.extend_from_slice(row);
    }

    fn row(&self, index: usize) -> &[f64] {
        &self.values[index * self.width..(index + 1) * self.width]
    }

    /// The natural logarithm of the size of a row.
    pub fn log_size(&self, index: usize) -> f64 {
        let row = self.row(index);
        let most = row.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        if most == 0.0 { f64::NEG_INFINITY } else { most.ln() }
    }

    /// The motion that remains, where two windows, the second behind the first,
    /// agree about it.
    pub fn slowest(&self, detail: Detail) -> Option<Motion> {
        let end = self.rows();
        let last = self.remaining(end / 2, end, detail)?;
        let before = self.remaining(end / 4, end / 2, detail)?;
        let size = (TAU * last.frequency_hz).hypot(last.growth_1_s);
        let allowed = (0.004 * last.growth_1_s.abs()).max(2e-5 * size);
        ((last.growth_1_s - before.growth_1_s).abs() <= allowed).then_some(last)
    }

    /// The motion that remains of those between two rows.
    fn remaining(&self, start: usize, end: usize, detail: Detail) -> Option<Motion> {
        let stride = ((end - start) / detail.samples / self.period).max(1) * self.period;
        let count = (end - start) / stride;
        if count < 8 {
            return None;
        }
        let at = |k: usize| start + k * stride;
        let apart_s = stride as f64 * self.step_s;
        // Its mean growth, taken out, so that the end counts as much as the start.
        let sizes: Vec<f64> = (0..count).map(|k| self.log_size(at(k))).collect();
        if sizes.iter().any(|size| !size.is_finite()) {
            return None;
        }
        let slope = slope(&sizes);
        let level =
            sizes.iter().enumerate().map(|(k, s)| s - slope * k as f64).sum::<f64>() / count as f64;
        let mut seen = DMatrix::from_fn(count, self.width, |k, channel| {
            // In two steps: either alone is within the numbers.
            let growth = level + slope * k as f64;
            self.row(at(k))[channel] * (-0.5 * growth).exp() * (-0.5 * growth).exp()
        });
        let sizes: Vec<f64> = seen.column_iter().map(|column| column.norm()).collect();
        let most = sizes.iter().copied().fold(0.0, f64::max);
        for (mut column, size) in seen.column_iter_mut().zip(sizes) {
            if size < 1e-9 * most { column.fill(0.0) } else { column /= size }
        }
        let mixed = &seen * mixture(self.width);
        let (values, shares) = motions(&mixed, detail.rows)?;
        let most = shares.iter().copied().fold(0.0, f64::max);
        let (value, _) = values
            .iter()
            .zip(&shares)
            .filter(|(_, share)| **share > UNSEEN * most)
            .max_by(|a, b| a.0.norm().total_cmp(&b.0.norm()))?;
        let growth_1_s = (slope + value.norm().ln()) / apart_s;
        let frequency_hz =
            self.frequency(start, end, growth_1_s, value.argument() / apart_s, stride);
        Some(Motion { growth_1_s, frequency_hz })
    }

    /// Of all frequencies that look alike from stride to stride, the one that is
    /// strongest between.
    fn frequency(
        &self,
        start: usize,
        end: usize,
        growth_1_s: f64,
        omega_rad_s: f64,
        stride: usize,
    ) -> f64 {
        let rows = (end - start).min(4 * stride.max(64));
        let start = end - rows;
        let level = self.log_size(start);
        let signals: Vec<usize> = (0..self.width).collect();
        let scaled: Vec<Vec<f64>> = (0..rows)
            .map(|k| {
                let growth = level + growth_1_s * k as f64 * self.step_s;
                let row = self.row(start + k);
                signals
                    .iter()
                    .map(|&c| row[c] * (-0.5 * growth).exp() * (-0.5 * growth).exp())
                    .collect()
            })
            .collect();
        let round = TAU / (stride as f64 * self.step_s);
        let mut best = (0.0, omega_rad_s.abs());
        for turn in 0..stride {
            let omega = omega_rad_s + turn as f64 * round;
            let step = Complex::new(0.0, -omega * self.step_s).exp();
            let mut power = 0.0;
            for &c in &signals {
                let (mut sum, mut turned) = (Complex::new(0.0, 0.0), Complex::new(1.0, 0.0));
                for row in &scaled {
                    sum += turned * row[c];
                    turned *= step;
                }
                power += sum.norm_sqr();
            }
            if power > best.0 * (1.0 + 1e-9) {
                // Beyond half the sampling rate it is seen as its mirror image.
                let half = std::f64::consts::PI / self.step_s;
                best = (power, if omega > half { 2.0 * half - omega } else { omega });
            }
        }
        best.1.abs() / TAU
    }
}

/// Slope of the straight line through equally spaced values.
fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let (mut above, mut below) = (0.0, 0.0);
    for (k, value) in values.iter().enumerate() {
        let x = k as f64 - 0.5 * (n - 1.0);
        above += x * (value - mean);
        below += x * x;
    }
    above / below
}

/// A few fixed combinations of many signals, none of which is left out.
fn mixture(width: usize) -> DMatrix<f64> {
    let mixed = width.min(MIXED);
    if width <= MIXED {
        return DMatrix::identity(width, mixed);
    }
    DMatrix::from_fn(width, mixed, |i, j| {
        (1.0 + 1.7 * i as f64 + 2.9 * (i * j) as f64 + j as f64).sin()
    })
}

/// The multipliers of equally spaced samples (one a row), and how large each
/// motion is at the end.
fn motions(seen: &DMatrix<f64>, rows: usize) -> Option<(Vec<Complex<f64>>, Vec<f64>)> {
    let (count, width) = seen.shape();
    let blocks = (rows / width).min(count / 2).max(2);
    let columns = count - blocks + 1;
    let hankel = DMatrix::from_fn(blocks * width, columns, |i, j| seen[(i / width + j, i % width)]);
    let decomposed = hankel.try_svd(true, false, 1e-14, 10_000)?;
    let (u, singular) = (decomposed.u?, decomposed.singular_values);
    let order = {
        let mut order: Vec<usize> = (0..singular.len()).collect();
        order.sort_by(|&a, &b| singular[b].total_cmp(&singular[a]));
        order
    };
    let largest = singular[order[0]];
    let most = (blocks - 1) * width;
    let rank = order.iter().filter(|&&i| singular[i] > ROUNDING * largest).count().min(most);
    let space = DMatrix::from_fn(u.nrows(), rank, |i, j| u[(i, order[j])]);
    let above = space.rows(0, most).into_owned();
    let below = space.rows(width, most).into_owned();
    let shift = above.svd(true, true).solve(&below, 1e-13).ok()?;
    // A motion that is over at once is not the one that remains.
    let values = shift.complex_eigenvalues().iter().copied().filter(|z| z.norm() > 0.0).collect();
    shares(seen, values)
}

/// How much of each motion is in the samples at their end: least squares, each
/// motion normed where it is largest.
fn shares(seen: &DMatrix<f64>, values: Vec<Complex<f64>>) -> Option<(Vec<Complex<f64>>, Vec<f64>)> {
    let (count, width) = seen.shape();
    let last = (count - 1) as i32;
    let motions = DMatrix::from_fn(count, values.len(), |k, i| {
        let power = if values[i].norm() > 1.0 { k as i32 - last } else { k as i32 };
        values[i].powi(power)
    });
    let solver = motions.svd(true, true);
    let mut shares = vec![0.0; values.len()];
    for channel in 0..width {
        let samples = DVector::from_fn(count, |k, _| Complex::new(seen[(k, channel)], 0.0));
        let amplitudes = solver.solve(&samples, 1e-13).ok()?;
        for (i, amplitude) in amplitudes.iter().enumerate() {
            let decayed = if values[i].norm() > 1.0 { 1.0 } else { values[i].norm().powi(last) };
            shares[i] += (amplitude.norm() * decayed).powi(2);
        }
    }
    Some((values, shares.into_iter().map(f64::sqrt).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(motions: &[(f64, f64, f64)], step_s: f64, rows: usize) -> Samples {
        let mut samples = Samples { step_s, period: 1, ..Samples::default() };
        for k in 0..rows {
            let t = k as f64 * step_s;
            let sum = |phase: f64| -> f64 {
                motions
                    .iter()
                    .map(|(size, growth, hertz)| {
                        size * (growth * t).exp() * (TAU * hertz * t + phase * (1.0 + hertz)).cos()
                    })
                    .sum()
            };
            samples.push(&[1e-120 * sum(0.3), 1e-120 * sum(1.1), 1e-121 * sum(2.0)]);
        }
        samples
    }

    #[track_caller]
    fn assert_slowest(motions: &[(f64, f64, f64)], step_s: f64, rows: usize) {
        let found = made(motions, step_s, rows).slowest(Detail::COARSE).expect("it is found");
        let (_, growth, hertz) = motions[0];
        assert!((found.growth_1_s - growth).abs() <= 1e-3 * growth.abs(), "{found:?} {motions:?}");
        assert!((found.frequency_hz - hertz).abs() <= 1e-3 * hertz + 1e-3, "{found:?} {motions:?}");
    }

    #[test]
    fn the_slowest_of_several_motions_is_found() {
        assert_slowest(&[(1.0, -0.5, 3.0), (2.0, -0.52, 3.04), (5.0, -3.0, 11.0)], 1e-3, 16_384);
        assert_slowest(&[(1.0, 2.0, 3.0), (2.0, -0.5, 1.0)], 1e-3, 16_384);
        // One that is hardly pushed takes over.
        assert_slowest(&[(1e-9, 4.0, 40.0), (1.0, 0.5, 1.0)], 1e-3, 16_384);
    }

    #[test]
    fn real_roots_and_chatter_are_motions_as_well() {
        assert_slowest(&[(1.0, -0.02, 0.0), (1.0, -0.5, 2.0)], 1e-3, 16_384);
        assert_slowest(&[(1.0, -1.0, 500.0), (1.0, -3.0, 2.0)], 1e-3, 16_384);
        // As fast as 2.5 per sample.
        assert_slowest(&[(1.0, 2500.0, 100.0), (3.0, 1900.0, 0.0), (1.0, -9.0, 2.0)], 1e-3, 100);
    }
}
