//! The measures behind the criteria, each a pure function of two signals.
//!
//! Signals are compared sample by sample over their common length. A sample
//! that is not finite in either signal is left out, so a gap in one channel
//! does not spoil the result. A measure that has no meaning for its signals
//! (nothing to compare, a reference that never moves) is `None`, never infinite.

/// A reference whose standard deviation is below this share of its largest
/// value is a constant seen through rounding: nothing can be normalised by it.
const CONSTANT: f64 = 1e-13;

/// The longest lag the benchmark searches, in samples at its own rate.
const BENCHMARK_LAG: f64 = 49.0;
/// The rate of the benchmark.
const BENCHMARK_RATE_HZ: f64 = 4096.0;
/// No search is longer than this, whatever rate a file claims: the cost grows
/// with lags times samples.
const LONGEST_SEARCH: f64 = 2000.0;

/// A tracking delay found by correlation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lag {
    /// Samples by which the measured signal is late.
    pub samples: usize,
    /// Correlation coefficient at that lag.
    pub correlation: f64,
    /// Whether the best lag is the longest one searched: the true delay may be longer.
    pub at_limit: bool,
}

/// The largest excursion of a signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Sample at which it occurs first.
    pub index: usize,
    /// Its value, with sign.
    pub value: f64,
}

/// The benchmark's longest lag, 49 samples at 4096 Hz (11.96 ms), in samples at
/// `rate_hz`; at least one sample, and 0 for a rate that is not positive.
pub fn benchmark_lags(rate_hz: f64) -> usize {
    if !(rate_hz.is_finite() && rate_hz > 0.0) {
        return 0;
    }
    let lags = (BENCHMARK_LAG * rate_hz / BENCHMARK_RATE_HZ).round();
    lags.clamp(1.0, LONGEST_SEARCH) as usize
}

/// Delay of `measured` behind `desired`: the lag k in 0..=`longest` with the
/// largest correlation coefficient of measured\[i + k\] with desired\[i\].
///
/// The coefficient is taken over the overlap of the two signals only, so a pure
/// shift by k samples has correlation 1 at k and is found exactly; the plain sum
/// of products would favour short lags at the ends of a record. Only delays are
/// searched: a measured signal that leads reads 0. `None` if a signal does not
/// move or nothing correlates positively.
pub fn tracking_delay(desired: &[f64], measured: &[f64], longest: usize) -> Option<Lag> {
    let length = desired.len().min(measured.len());
    // Removing the mean first keeps the sums below free of cancellation.
    let (desired_mean, desired_scale) = centre(&desired[..length])?;
    let (measured_mean, measured_scale) = centre(&measured[..length])?;
    // Two samples always correlate perfectly: an overlap needs more than that.
    let longest = longest.min(length.checked_sub(3)?);
    let mut best: Option<Lag> = None;
    for samples in 0..=longest {
        let pairs = desired[..length - samples].iter().zip(&measured[samples..length]);
        let pairs = pairs.filter(|(x, y)| x.is_finite() && y.is_finite()).map(|(x, y)| {
            ((x - desired_mean) / desired_scale, (y - measured_mean) / measured_scale)
        });
        let Some(correlation) = correlation(pairs) else { continue };
        if correlation > best.map_or(0.0, |lag| lag.correlation) {
            best = Some(Lag { samples, correlation, at_limit: false });
        }
    }
    best.map(|lag| Lag { at_limit: longest > 0 && lag.samples == longest, ..lag })
}

/// std(signal − reference) / std(reference) · 100, in per cent.
///
/// The standard deviation removes the mean: a constant offset between the
/// signals does not count. Whether it divides by n or n − 1 cancels.
pub fn std_error(signal: &[f64], reference: &[f64]) -> Option<f64> {
    let scale = largest(paired(signal, reference).map(|(_, r)| r))?;
    let error = deviation(paired(signal, reference).map(|(s, r)| s / scale - r / scale))?;
    let size = deviation(paired(signal, reference).map(|(_, r)| r / scale))?;
    if size <= CONSTANT { None } else { percent(error, size) }
}

/// max |signal − reference| / max |reference| · 100, in per cent.
///
/// The two maxima need not occur at the same time.
pub fn peak_error(signal: &[f64], reference: &[f64]) -> Option<f64> {
    let size = largest(paired(signal, reference).map(|(_, r)| r))?;
    let error = paired(signal, reference).map(|(s, r)| (s - r).abs()).fold(0.0, f64::max);
    percent(error, size)
}

/// Normalised root mean square error, rms(signal − reference) / rms(reference) · 100,
/// in per cent. Unlike [`std_error`], a constant offset counts.
///
/// Gálmez & Fermandois name the measure without a formula; normalised like this, the
/// benchmark with 29 samples of delay gives their 144 %, by the range 9 %.
pub fn nrmse(signal: &[f64], reference: &[f64]) -> Option<f64> {
    let scale = largest(paired(signal, reference).map(|(_, r)| r))?;
    let error: f64 = paired(signal, reference).map(|(s, r)| (s / scale - r / scale).powi(2)).sum();
    let size: f64 = paired(signal, reference).map(|(_, r)| (r / scale).powi(2)).sum();
    percent(error.sqrt(), size.sqrt())
}

/// The sample of largest magnitude; `None` if no sample is finite.
pub fn peak(signal: &[f64]) -> Option<Peak> {
    let mut best: Option<Peak> = None;
    for (index, &value) in signal.iter().enumerate() {
        if value.is_finite() && best.is_none_or(|peak| value.abs() > peak.value.abs()) {
            best = Some(Peak { index, value });
        }
    }
    best
}

fn paired<'a>(
    signal: &'a [f64],
    reference: &'a [f64],
) -> impl Iterator<Item = (f64, f64)> + Clone + use<'a> {
    let pairs = signal.iter().copied().zip(reference.iter().copied());
    pairs.filter(|(s, r)| s.is_finite() && r.is_finite())
}

/// Largest magnitude, if there is any sample and it moves at all.
fn largest(values: impl Iterator<Item = f64>) -> Option<f64> {
    let largest = values.map(f64::abs).fold(0.0, f64::max);
    (largest > 0.0).then_some(largest)
}

/// Standard deviation in two passes.
fn deviation(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let (count, sum) = values.clone().fold((0usize, 0.0), |(n, sum), value| (n + 1, sum + value));
    if count == 0 {
        return None;
    }
    let mean = sum / count as f64;
    let square: f64 = values.map(|value| (value - mean).powi(2)).sum();
    Some((square / count as f64).sqrt())
}

/// Mean and scale of the finite samples; `None` for a signal that does not move.
fn centre(signal: &[f64]) -> Option<(f64, f64)> {
    let finite = signal.iter().copied().filter(|value| value.is_finite());
    let scale = largest(finite.clone())?;
    let count = finite.clone().count() as f64;
    let mean = finite.clone().map(|value| value / scale).sum::<f64>() / count;
    let size = deviation(finite.map(|value| value / scale))?;
    (size > CONSTANT).then_some((mean * scale, size * scale))
}

fn correlation(pairs: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (mut n, mut sx, mut sy, mut sxx, mut syy, mut sxy) = (0usize, 0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y) in pairs {
        n += 1;
        sx += x;
        sy += y;
        sxx += x * x;
        syy += y * y;
        sxy += x * y;
    }
    let n = n as f64;
    let (vx, vy) = (sxx - sx * sx / n, syy - sy * sy / n);
    // Both signals were scaled to unit deviation; less than this is rounding.
    let floor = CONSTANT * n;
    if n < 3.0 || !(vx > floor && vy > floor) {
        return None;
    }
    Some((sxy - sx * sy / n) / (vx * vy).sqrt()).filter(|value| value.is_finite())
}

fn percent(error: f64, size: f64) -> Option<f64> {
    let ratio = 100.0 * (error / size);
    (size > 0.0 && ratio.is_finite()).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A decaying 3.6 Hz oscillation sampled at 4096 Hz; not periodic, so every shift shows.
    fn burst(samples: usize, late: usize) -> Vec<f64> {
        let value = |t: f64| {
            if t < 0.0 { 0.0 } else { t * (-0.7 * t).exp() * (22.7 * t).sin() }
        };
        (0..samples).map(|i| value((i as f64 - late as f64) / 4096.0)).collect()
    }

    fn close(ours: Option<f64>, exact: f64) {
        let ours = ours.expect("a value");
        assert!((ours - exact).abs() <= 1e-10 * exact.abs().max(1.0), "{ours} is not {exact}");
    }

    #[test]
    fn a_pure_shift_is_found_exactly() {
        for late in [0, 1, 7, 19, 48] {
            let lag = tracking_delay(&burst(8000, 0), &burst(8000, late), 49).expect("a lag");
            assert_eq!((lag.samples, lag.at_limit), (late, false));
            assert!((lag.correlation - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn gain_and_offset_do_not_move_the_lag() {
        let measured: Vec<f64> = burst(8000, 19).iter().map(|x| 0.3 + 0.2 * x).collect();
        assert_eq!(tracking_delay(&burst(8000, 0), &measured, 49).expect("a lag").samples, 19);
    }

    #[test]
    fn a_delay_beyond_the_search_says_so() {
        let lag = tracking_delay(&burst(8000, 0), &burst(8000, 80), 49).expect("a lag");
        assert_eq!((lag.samples, lag.at_limit), (49, true));
    }

    #[test]
    fn a_leading_signal_reads_zero() {
        let lag = tracking_delay(&burst(8000, 30), &burst(8000, 0), 49).expect("a lag");
        assert_eq!(lag.samples, 0);
    }

    #[test]
    fn gaps_do_not_move_the_lag() {
        let (mut desired, mut measured) = (burst(8000, 0), burst(8000, 12));
        desired[400..450].fill(f64::NAN);
        measured[1000] = f64::INFINITY;
        assert_eq!(tracking_delay(&desired, &measured, 49).expect("a lag").samples, 12);
    }

    #[test]
    fn the_search_scales_with_the_rate() {
        assert_eq!(benchmark_lags(4096.0), 49);
        assert_eq!(benchmark_lags(1024.0), 12);
        assert_eq!(benchmark_lags(10.0), 1);
        assert_eq!(benchmark_lags(f64::MAX), 2000);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(benchmark_lags(rate), 0);
        }
    }

    #[test]
    fn a_scaled_signal_errs_by_its_scale() {
        let reference = burst(4000, 0);
        let signal: Vec<f64> = reference.iter().map(|x| 1.25 * x).collect();
        close(std_error(&signal, &reference), 25.0);
        close(peak_error(&signal, &reference), 25.0);
        close(nrmse(&signal, &reference), 25.0);
    }

    #[test]
    fn an_offset_counts_for_the_rms_and_not_for_the_deviation() {
        // Whole periods of a sine have mean 0 and rms 1/√2.
        let reference: Vec<f64> =
            (0..1000).map(|i| (i as f64 * std::f64::consts::TAU / 100.0).sin()).collect();
        let signal: Vec<f64> = reference.iter().map(|x| x + 0.5).collect();
        assert!(std_error(&signal, &reference).expect("a value") < 1e-10);
        close(nrmse(&signal, &reference), 100.0 * 0.5 * 2f64.sqrt());
        close(peak_error(&signal, &reference), 50.0);
    }

    #[test]
    fn quadrature_errs_by_the_square_root_of_two() {
        let angle = |i: usize| i as f64 * std::f64::consts::TAU / 100.0;
        let reference: Vec<f64> = (0..1000).map(|i| angle(i).sin()).collect();
        let signal: Vec<f64> = (0..1000).map(|i| angle(i).cos()).collect();
        close(std_error(&signal, &reference), 100.0 * 2f64.sqrt());
    }

    #[test]
    fn meaningless_is_none() {
        let (zeros, constant, moving) = (vec![0.0; 99], vec![0.1; 99], burst(99, 0));
        let gone = vec![f64::NAN; 99];
        for reference in [&zeros, &gone, &Vec::new()] {
            assert_eq!(std_error(&moving, reference), None);
            assert_eq!(peak_error(&moving, reference), None);
            assert_eq!(nrmse(&moving, reference), None);
            assert_eq!(tracking_delay(reference, &moving, 9), None);
            assert_eq!(tracking_delay(&moving, reference, 9), None);
        }
        assert_eq!(std_error(&moving, &constant), None);
        assert_eq!(tracking_delay(&moving, &constant, 9), None);
        let opposite: Vec<f64> = moving.iter().map(|x| -x).collect();
        assert_eq!(tracking_delay(&moving, &opposite, 0), None);
        assert_eq!(tracking_delay(&moving[..2], &moving[..2], 9), None);
        assert_eq!(peak(&gone), None);
    }

    #[test]
    fn a_peak_keeps_its_sign_and_first_time() {
        let signal = [0.0, f64::NAN, -3.0, 3.0, f64::INFINITY];
        assert_eq!(peak(&signal), Some(Peak { index: 2, value: -3.0 }));
    }

    #[test]
    fn an_unstable_run_near_the_largest_number_still_gives_numbers() {
        let reference: Vec<f64> = burst(2000, 0).iter().map(|x| x * 1e200).collect();
        let signal: Vec<f64> = reference.iter().map(|x| 1.5 * x).collect();
        close(std_error(&signal, &reference), 50.0);
        close(nrmse(&signal, &reference), 50.0);
        assert_eq!(tracking_delay(&reference, &signal, 9).expect("a lag").samples, 0);
    }

    proptest! {
        #[test]
        fn never_infinite(
            pairs in proptest::collection::vec(
                (proptest::num::f64::ANY, proptest::num::f64::ANY), 0..60),
            longest in 0usize..80,
        ) {
            let (signal, reference): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            for value in [
                std_error(&signal, &reference),
                peak_error(&signal, &reference),
                nrmse(&signal, &reference),
                tracking_delay(&reference, &signal, longest).map(|lag| lag.correlation),
            ]
            .into_iter()
            .flatten()
            {
                prop_assert!(value.is_finite() && value >= 0.0);
            }
        }
    }
}
