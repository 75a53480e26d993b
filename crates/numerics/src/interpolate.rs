//! Time series brought onto a regular grid.
//!
//! A series is zero outside its own time range.

use std::f64::consts::PI;

use thiserror::Error;

use crate::Complex;

/// Zero crossings of the sinc kernel on each side. With the Blackman–Harris
/// window its transition is 1/6 of the Nyquist frequency wide: a series is
/// carried faithfully up to 11/12 of it.
const HALF_WIDTH: f64 = 48.0;

/// Part of a step by which a printed time may miss the regular grid.
const UNIFORM_TOLERANCE: f64 = 0.02;

/// Part of a step by which a grid point may lie outside the series and still
/// meet its end: rounding of k/rate.
const END_TOLERANCE: f64 = 1e-6;

/// Why a series cannot be brought onto a grid. Indices count from 0.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum InterpolateError {
    /// So many samples are fewer than two.
    #[error("the series has {0} samples; at least two are needed")]
    TooShort(usize),
    /// A time or value is NaN or infinite.
    #[error("sample {} of the series is {value} at time {time_s} s; it must be finite", index + 1)]
    NotFinite {
        /// Sample.
        index: usize,
        /// Its time.
        time_s: f64,
        /// Its value.
        value: f64,
    },
    /// The times do not increase.
    #[error(
        "the times must increase: sample {} is at {time_s} s after one at {before_s} s",
        index + 1
    )]
    NotIncreasing {
        /// Sample.
        index: usize,
        /// Time before it.
        before_s: f64,
        /// Its time.
        time_s: f64,
    },
    /// Band-limited resampling needs a constant step.
    #[error(
        "the times are not regular: sample {} is at {time_s} s where a constant step gives \
         {expected_s} s; use linear resampling", index + 1
    )]
    NotRegular {
        /// First sample off the grid.
        index: usize,
        /// Its time.
        time_s: f64,
        /// Where a constant step would put it.
        expected_s: f64,
    },
    /// The grid is not a grid.
    #[error(
        "the grid starts at {start_s} s with {rate_hz} Hz; both must be finite, the rate positive"
    )]
    BadGrid {
        /// Time of the first grid point.
        start_s: f64,
        /// Points per second.
        rate_hz: f64,
    },
}

/// Points `start_s + k/rate_hz` for k = 0 … count − 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// Time of the first point, on the clock of the series.
    pub start_s: f64,
    /// Points per second.
    pub rate_hz: f64,
    /// Number of points.
    pub count: usize,
}

impl Grid {
    fn check(&self) -> Result<(), InterpolateError> {
        let Self { start_s, rate_hz, .. } = *self;
        let sound = start_s.is_finite() && rate_hz.is_finite() && rate_hz > 0.0;
        if sound { Ok(()) } else { Err(InterpolateError::BadGrid { start_s, rate_hz }) }
    }

    fn times(&self) -> impl Iterator<Item = f64> {
        let Self { start_s, rate_hz, count } = *self;
        (0..count).map(move |k| start_s + k as f64 / rate_hz)
    }
}

/// A checked series: finite values at strictly increasing times.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    times_s: Vec<f64>,
    values: Vec<f64>,
}

impl Series {
    /// A series from its samples, as many times as values.
    pub fn new(times_s: Vec<f64>, values: Vec<f64>) -> Result<Self, InterpolateError> {
        assert_eq!(times_s.len(), values.len(), "a time for each value");
        if values.len() < 2 {
            return Err(InterpolateError::TooShort(values.len()));
        }
        for (index, (&time_s, &value)) in times_s.iter().zip(&values).enumerate() {
            if !(time_s.is_finite() && value.is_finite()) {
                return Err(InterpolateError::NotFinite { index, time_s, value });
            }
            if index > 0 && time_s <= times_s[index - 1] {
                let before_s = times_s[index - 1];
                return Err(InterpolateError::NotIncreasing { index, before_s, time_s });
            }
        }
        let index = values.len() - 1;
        if !(times_s[index] - times_s[0]).is_finite() {
            let (time_s, value) = (times_s[index], values[index]);
            return Err(InterpolateError::NotFinite { index, time_s, value });
        }
        Ok(Self { times_s, values })
    }

    /// A series of constant step that starts at time 0.
    pub fn regular(step_s: f64, values: Vec<f64>) -> Result<Self, InterpolateError> {
        let times_s = (0..values.len()).map(|k| k as f64 * step_s).collect();
        Self::new(times_s, values)
    }

    /// Times of the samples.
    pub fn times_s(&self) -> &[f64] {
        &self.times_s
    }

    /// Values of the samples.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Time of the first sample.
    pub fn start_s(&self) -> f64 {
        self.times_s[0]
    }

    /// Time of the last sample.
    pub fn end_s(&self) -> f64 {
        self.times_s[self.times_s.len() - 1]
    }

    /// Mean step, `(end − start)/(samples − 1)`.
    pub fn mean_step_s(&self) -> f64 {
        (self.end_s() - self.start_s()) / (self.times_s.len() - 1) as f64
    }

    /// The constant step, or the first sample that breaks it by more than the
    /// rounding of printed times.
    pub fn regular_step_s(&self) -> Result<f64, InterpolateError> {
        let (start, step) = (self.start_s(), self.mean_step_s());
        for (index, &time_s) in self.times_s.iter().enumerate() {
            let expected_s = start + index as f64 * step;
            if (time_s - expected_s).abs() > UNIFORM_TOLERANCE * step {
                return Err(InterpolateError::NotRegular { index, time_s, expected_s });
            }
        }
        Ok(step)
    }

    /// Straight lines between the samples, read on a grid.
    pub fn linear(&self, grid: &Grid) -> Result<Vec<f64>, InterpolateError> {
        grid.check()?;
        let (times, values) = (&self.times_s, &self.values);
        let slack = END_TOLERANCE * self.mean_step_s();
        let mut right = 1;
        let value = |time: f64| {
            if time < times[0] - slack || time > self.end_s() + slack {
                return 0.0;
            }
            while right + 1 < times.len() && times[right] < time {
                right += 1;
            }
            let left = right - 1;
            let part = (time - times[left]) / (times[right] - times[left]);
            let part = part.clamp(0.0, 1.0);
            values[left] * (1.0 - part) + values[right] * part
        };
        Ok(grid.times().map(value).collect())
    }

    /// Band-limited resampling of a regular series by a windowed sinc.
    ///
    /// Onto a finer grid no frequency is added, and grid points that meet a
    /// sample reproduce it exactly; onto a coarser grid everything above the
    /// new Nyquist frequency is removed first. A straight line, by contrast,
    /// damps the upper half of the band and adds images above it. A series
    /// that jumps at its ends rings there.
    pub fn band_limited(&self, grid: &Grid) -> Result<Vec<f64>, InterpolateError> {
        grid.check()?;
        let step = self.regular_step_s()?;
        let ratio = grid.rate_hz * step;
        // On a coarser grid the transition must end, not lie, at its Nyquist.
        let bandwidth = if ratio >= 1.0 - 1e-9 { 1.0 } else { ratio * (1.0 - 4.0 / HALF_WIDTH) };
        let last = (self.values.len() - 1) as f64;
        let value = |time: f64| {
            let position = (time - self.start_s()) / step;
            if position < -END_TOLERANCE || position > last + END_TOLERANCE {
                return 0.0;
            }
            windowed_sinc(&self.values, position.clamp(0.0, last), bandwidth)
        };
        Ok(grid.times().map(value).collect())
    }
}

/// Σ values[k] · bandwidth · sinc(x) · window(x) with x = (position − k) bandwidth
/// under a four-term Blackman–Harris window of [`HALF_WIDTH`].
///
/// `position` lies within the values, in samples. The angles of sinc and window
/// grow by a constant per sample, so they are turned, not computed afresh.
fn windowed_sinc(values: &[f64], position: f64, bandwidth: f64) -> f64 {
    let nearest = position.round();
    if bandwidth == 1.0 && (position - nearest).abs() < END_TOLERANCE {
        return values[nearest as usize];
    }
    let reach = HALF_WIDTH / bandwidth;
    let first = (position - reach).ceil().max(0.0) as usize;
    let end = (position + reach).floor().min((values.len() - 1) as f64) as usize;

    let start = (position - first as f64) * bandwidth;
    let unit = |angle: f64| Complex::from_polar(1.0, angle);
    let (mut sinc_angle, sinc_turn) = (unit(PI * start), unit(-PI * bandwidth));
    let (mut window_angle, window_turn) =
        (unit(PI * start / HALF_WIDTH), unit(-PI * bandwidth / HALF_WIDTH));
    let mut sum = 0.0;
    for (k, value) in values[first..=end].iter().enumerate() {
        let x = start - k as f64 * bandwidth;
        let sinc = if x.abs() < 1e-9 { 1.0 } else { sinc_angle.im / (PI * x) };
        let c = window_angle.re;
        // cos 2φ and cos 3φ from cos φ.
        let window = 0.35875
            + 0.48829 * c
            + 0.14128 * (2.0 * c * c - 1.0)
            + 0.01168 * (4.0 * c * c * c - 3.0 * c);
        sum += value * sinc * window;
        sinc_angle *= sinc_turn;
        window_angle *= window_turn;
    }
    sum * bandwidth
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::TAU;

    fn grid(start_s: f64, rate_hz: f64, count: usize) -> Grid {
        Grid { start_s, rate_hz, count }
    }

    #[test]
    fn a_line_on_irregular_times_is_exact_and_outside_is_zero() {
        let times = vec![0.5, 0.6, 1.1, 1.15, 2.0];
        let values = times.iter().map(|t| 3.0 - 2.0 * t).collect();
        let series = Series::new(times, values).unwrap();
        let found = series.linear(&grid(0.0, 100.0, 300)).unwrap();
        for (k, value) in found.iter().enumerate() {
            let time = k as f64 / 100.0;
            let expected = if (50..=200).contains(&k) { 3.0 - 2.0 * time } else { 0.0 };
            assert!((value - expected).abs() < 1e-13, "{time}: {value}");
        }
    }

    #[test]
    fn band_limited_keeps_a_tone_where_linear_does_not() {
        let tone = |time: f64| (TAU * 37.0 * time + 0.3).sin();
        let values = (0..1001).map(|k| tone(f64::from(k) / 100.0)).collect();
        let series = Series::regular(0.01, values).unwrap();
        let fine = grid(0.0, 4096.0, 40960);
        let sinc = series.band_limited(&fine).unwrap();
        let linear = series.linear(&fine).unwrap();
        let worst = |found: &[f64]| {
            (8192..32768).map(|k| (found[k] - tone(k as f64 / 4096.0)).abs()).fold(0.0, f64::max)
        };
        assert!(worst(&sinc) < 1e-4, "{:e}", worst(&sinc));
        assert!(worst(&linear) > 0.3);
    }

    #[test]
    fn a_coarser_grid_has_no_alias() {
        // 37 Hz onto 50 Hz would fold to 13 Hz; 5 Hz passes.
        let sample = |frequency: f64| {
            let wave = |k: u32| (TAU * frequency * f64::from(k) / 200.0).cos();
            let series = Series::regular(0.005, (0..4001).map(wave).collect()).unwrap();
            series.band_limited(&grid(5.0, 50.0, 500)).unwrap()
        };
        assert!(sample(37.0).iter().all(|value| value.abs() < 1e-4));
        for (k, value) in sample(5.0).iter().enumerate() {
            assert!((value - (TAU * 5.0 * k as f64 / 50.0).cos()).abs() < 1e-4);
        }
    }

    #[test]
    fn constants_come_through() {
        let series = Series::regular(0.01, vec![2.0; 2000]).unwrap();
        for rate in [4096.0, 100.0, 37.0] {
            let found = series.band_limited(&grid(5.0, rate, 100)).unwrap();
            assert!(found.iter().all(|value| (value - 2.0).abs() < 1e-4), "{rate}");
        }
    }

    #[test]
    fn bad_series_name_the_sample() {
        let new = |times: &[f64], values: &[f64]| Series::new(times.to_vec(), values.to_vec());
        assert_eq!(
            new(&[0.0, 1.0, 1.0], &[0.0; 3]),
            Err(InterpolateError::NotIncreasing { index: 2, before_s: 1.0, time_s: 1.0 })
        );
        let error = new(&[0.0, 1.0], &[0.0, f64::NAN]).unwrap_err();
        assert!(matches!(error, InterpolateError::NotFinite { index: 1, .. }));
        assert!(new(&[0.0, f64::INFINITY], &[0.0; 2]).is_err());
        assert_eq!(new(&[0.0], &[0.0]), Err(InterpolateError::TooShort(1)));
        let irregular = new(&[0.0, 1.0, 2.5], &[0.0; 3]).unwrap();
        let error = irregular.band_limited(&grid(0.0, 1.0, 3)).unwrap_err();
        assert!(matches!(error, InterpolateError::NotRegular { index: 1, .. }));
        assert!(irregular.linear(&grid(0.0, 0.0, 3)).is_err());
        assert!(irregular.linear(&grid(f64::NAN, 1.0, 3)).is_err());
    }

    proptest! {
        #[test]
        fn both_methods_reproduce_the_samples(
            values in prop::collection::vec(-1.0..1.0_f64, 2..200),
            finer in 1_usize..6,
        ) {
            let series = Series::regular(0.02, values.clone()).unwrap();
            let fine = grid(0.0, 50.0 * finer as f64, values.len() * finer);
            let (linear, sinc) = (series.linear(&fine).unwrap(), series.band_limited(&fine).unwrap());
            for (k, value) in values.iter().enumerate() {
                prop_assert!((linear[k * finer] - value).abs() < 1e-9);
                prop_assert!((sinc[k * finer] - value).abs() < 1e-9);
            }
        }
    }
}
