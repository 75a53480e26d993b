//! Delay by correlation, of one test or of several side by side, and peaks. What is
//! not finite is left out, as in [`compare`](super::compare).

use numerics::correlate::{BLOCK, Lagged, add_lagged, correlated};
use numerics::lanes::{Lane, Work, widely};

use super::compare::{CONSTANT, Centre, Running, Sums as SignalSums};

/// Lags up to this, s, are searched first; 49 samples at 4096 Hz, the range of the benchmark.
const NEAR_S: f64 = 49.0 / 4096.0;
/// No near search is longer than this, whatever rate a file claims: its cost grows with lags
/// times samples.
const MOST_NEAR: f64 = 2000.0;
/// The longest delay searched, s, where the near lags do not tell it.
const FAR_S: f64 = 5.0;
/// Coefficients that differ by less than this share are alike: a motion that repeats itself
/// correlates again after every period, and the first of the delays is meant.
const ALIKE: f64 = 0.01;

/// A tracking delay found by correlation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lag {
    /// Samples by which the measured signal is late, and the fraction of one.
    pub samples: f64,
    /// Correlation coefficient at that lag.
    pub correlation: f64,
    /// Whether the best lag is the longest one searched: the true delay may be longer.
    pub at_limit: bool,
    /// A longer lag that fits as well.
    pub again: Option<usize>,
}

/// The largest excursion of a signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Sample at which it occurs first.
    pub index: usize,
    /// Its value, with sign.
    pub value: f64,
}

/// Lags of so many seconds in samples; at least one, and 0 for a rate that is not positive.
fn lags_within(span_s: f64, rate_hz: f64, most: f64) -> usize {
    if !(rate_hz.is_finite() && rate_hz > 0.0) {
        return 0;
    }
    (span_s * rate_hz).round().clamp(1.0, most) as usize
}

/// Delay of `measured` behind `desired`: the lag k with the largest correlation coefficient
/// of measured\[i + k\] with desired\[i\], and the vertex of the parabola through it and its
/// neighbours.
///
/// The coefficient is taken over the overlap of the two signals only, so a pure
/// shift by k samples has correlation 1 at k; the plain sum of products would favour short
/// lags at the ends of a record. Lags up to 12 ms are searched first. Where none of them
/// correlates clearly, the search goes on to 5 s or half the record. Only delays are
/// searched: a measured signal that leads reads 0. `None` if a signal does not
/// move or nothing correlates positively.
pub fn tracking_delay(desired: &[f64], measured: &[f64], rate_hz: f64) -> Option<Lag> {
    let length = desired.len().min(measured.len());
    let signals = [&desired[..length], &measured[..length]];
    let [desired, measured] = signals.map(Centre::of);
    let centres = [desired?, measured?];
    let near = correlations(signals[0], signals[1], &[Some(centres)], rate_hz);
    decided(near.into_iter().flatten().next().as_deref(), centres, rate_hz, || signals)
}

/// The lag, from the coefficients at near lags, where they were computed, and the signals.
pub(super) fn decided<S: AsRef<[f64]>>(
    near: Option<&[Option<f64>]>,
    centres: [Centre; 2],
    rate_hz: f64,
    signals: impl FnOnce() -> [S; 2],
) -> Option<Lag> {
    let is_clear = |lag: &Lag| !lag.at_limit && lag.correlation >= 1.0 - ALIKE;
    let near = near.filter(|near| best(near).as_ref().is_some_and(is_clear));
    if let Some(lag) = near.and_then(best).filter(|lag| lag.samples > 0.0) {
        return Some(lag);
    }
    let [desired, measured] = signals();
    let (x, y) = (normal(desired.as_ref(), centres[0]), normal(measured.as_ref(), centres[1]));
    let longest = lags_within(FAR_S, rate_hz, (x.len() / 2).max(1) as f64);
    let far = match near {
        Some(near) => near.to_vec(),
        None => far_correlations(&x, &y, searched(longest, x.len())?),
    };
    let lag = best(&far)?;
    if lag.samples > 0.0 {
        return Some(lag);
    }
    // Less than half a sample: the coefficient at a lead of one tells the fraction.
    let mut lead = Sums::default();
    x.iter().skip(1).zip(&y).for_each(|(x, y)| lead.add(*x, *y));
    let fraction = vertex([lead.coefficient(), far[0], far.get(1).copied().flatten()]).max(0.0);
    Some(Lag { samples: fraction, ..lag })
}

/// A signal with zero mean and unit deviation.
fn normal(signal: &[f64], Centre { mean, deviation }: Centre) -> Vec<f64> {
    let factor = deviation.recip();
    if factor.is_normal() {
        return signal.iter().map(|value| (value - mean) * factor).collect();
    }
    signal.iter().map(|value| (value - mean) / deviation).collect()
}

/// The coefficients at near lags of every lane, from the centres of its desired and measured
/// motion; `None` for a lane whose signals have gaps or extreme sizes.
pub(super) fn correlations<T: Lagged>(
    desired: &[T],
    measured: &[T],
    centres: &[Option<[Centre; 2]>],
    rate_hz: f64,
) -> Vec<Option<Vec<Option<f64>>>> {
    let longest = lags_within(NEAR_S, rate_hz, MOST_NEAR);
    let Some(longest) = searched(longest, desired.len()) else { return vec![None; T::COUNT] };
    let [x, y] = [0, 1].map(|which| {
        let of = |lane: usize| centres[lane].map(|both| both[which]);
        Normal {
            mean: T::each(|lane| of(lane).map_or(0.0, |centre| centre.mean)),
            // Removing the mean first keeps the sums below free of cancellation.
            factor: T::each(|lane| of(lane).map_or(0.0, |centre| centre.deviation.recip())),
        }
    });
    let mut products = vec![T::ZERO; longest + 1];
    let out = &mut products[..];
    let sums = widely(Correlation { desired, measured, x: &x, y: &y, out });
    let of_lane = |lane: usize| {
        let sums = sums.map(|sums| sums.lane(lane));
        // A sum is finite only if every sample was.
        let whole = sums.iter().all(|sums| sums.sum.is_finite());
        let known = [&x, &y].iter().all(|normal| normal.factor.lane(lane).is_normal());
        if !(whole && known) {
            return None;
        }
        let products: Vec<f64> = products.iter().map(|sum| sum.lane(lane)).collect();
        let ends = |lag: usize| {
            let (last, first) = (desired[desired.len() - 1 - lag], measured[lag]);
            (x.applied(last).lane(lane), y.applied(first).lane(lane))
        };
        Some(coefficients(&sums, &products, ends))
    };
    (0..T::COUNT).map(of_lane).collect()
}

/// What takes a signal of every lane to zero mean and unit deviation.
struct Normal<T> {
    mean: T,
    factor: T,
}

impl<T: Lane> Normal<T> {
    #[inline(always)]
    fn applied(&self, value: T) -> T {
        (value - self.mean) * self.factor
    }
}

/// Adds the products at every lag to `out`, and gives the sums of both signals;
/// block by block, so that nothing but the block is kept in its normal form.
struct Correlation<'a, T> {
    desired: &'a [T],
    measured: &'a [T],
    x: &'a Normal<T>,
    y: &'a Normal<T>,
    out: &'a mut [T],
}

impl<T: Lagged> Work for Correlation<'_, T> {
    type Output = [Running<T>; 2];

    #[inline(always)]
    fn run(self) -> [Running<T>; 2] {
        let Self { desired, measured, x, y, out } = self;
        let mut sums = [Running::default(); 2];
        let mut block = [T::ZERO; BLOCK];
        // The measured motion of the block and of the longest lag behind it.
        let mut late: Vec<T> = Vec::with_capacity(BLOCK + out.len());
        for (start, desired) in (0..).step_by(BLOCK).zip(desired.chunks(BLOCK)) {
            let block = &mut block[..desired.len()];
            for (to, from) in block.iter_mut().zip(desired) {
                *to = x.applied(*from);
            }
            let known = start + late.len();
            let end = (start + BLOCK + out.len() - 1).min(measured.len());
            late.extend(measured[known..end].iter().map(|value| y.applied(*value)));
            add_lagged(block, &late, out);
            sums[0].add(block.iter().copied());
            sums[1].add(late[..block.len()].iter().copied());
            late.drain(..block.len());
        }
        sums
    }
}

/// The longest lag that is searched; `None` if the signals are too short for any.
fn searched(longest: usize, length: usize) -> Option<usize> {
    // Two samples always correlate perfectly: an overlap needs more than that.
    Some(longest.min(length.checked_sub(3)?))
}

/// The first lag whose coefficient is a maximum and [alike](ALIKE) the largest, if one is
/// positive.
fn best(correlations: &[Option<f64>]) -> Option<Lag> {
    let most =
        correlations.iter().flatten().copied().reduce(f64::max).filter(|most| *most > 0.0)?;
    let is_high = |value: &Option<f64>| value.is_some_and(|value| value >= (1.0 - ALIKE) * most);
    let lobe = |from: usize| {
        let start = from + correlations.get(from..)?.iter().position(is_high)?;
        let end = start + correlations[start..].iter().take_while(|value| is_high(value)).count();
        let place = |at: &usize| correlations[*at].unwrap_or(f64::NEG_INFINITY);
        // Of equals the first.
        let at = (start..end).rev().max_by(|a, b| place(a).total_cmp(&place(b)))?;
        Some((at, place(&at), end))
    };
    let (at, correlation, end) = lobe(0)?;
    let around = |at: usize| correlations.get(at).copied().flatten();
    let inside = at > 0 && at + 1 < correlations.len();
    let fraction = match inside {
        true => vertex([around(at - 1), around(at), around(at + 1)]),
        false => 0.0,
    };
    Some(Lag {
        samples: at as f64 + fraction,
        correlation,
        at_limit: at > 0 && !inside,
        again: lobe(end).map(|(at, ..)| at),
    })
}

/// Where the parabola through three values at −1, 0 and 1 has its vertex, at most half a step
/// from the middle; 0 where there is none.
fn vertex(values: [Option<f64>; 3]) -> f64 {
    let [Some(before), Some(at), Some(after)] = values else { return 0.0 };
    let bend = before - 2.0 * at + after;
    let place = 0.5 * (before - after) / bend;
    if bend < 0.0 && place.is_finite() { place.clamp(-0.5, 0.5) } else { 0.0 }
}

/// Whether a sample lies further from zero than `limit`, or is no number.
pub fn exceeds(signal: &[f64], limit: f64) -> bool {
    // Without a way out of the inner loop it runs in vectors.
    let inside = |part: &[f64]| part.iter().fold(true, |all, value| all & (value.abs() <= limit));
    !signal.chunks(64).all(inside)
}

/// The sample of largest magnitude; `None` if no sample is finite.
pub fn peak(signal: &[f64]) -> Option<Peak> {
    let samples = signal.iter().enumerate().filter(|(_, value)| value.is_finite());
    let peaks = samples.map(|(index, &value)| Peak { index, value });
    peaks.reduce(|best, peak| if peak.value.abs() > best.value.abs() { peak } else { best })
}

/// The sums over an overlap that a correlation coefficient is made of.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: usize,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Sums {
    /// Adds a pair, if it has no gap.
    fn add(&mut self, x: f64, y: f64) {
        if x.is_finite() && y.is_finite() {
            self.n += 1;
            self.x += x;
            self.y += y;
            self.xx += x * x;
            self.yy += y * y;
            self.xy += x * y;
        }
    }

    fn coefficient(&self) -> Option<f64> {
        let n = self.n as f64;
        let (vx, vy) = (self.xx - self.x * self.x / n, self.yy - self.y * self.y / n);
        // Both signals were scaled to unit deviation; less than this is rounding.
        let floor = CONSTANT * n;
        if self.n < 3 || !(vx > floor && vy > floor) {
            return None;
        }
        Some((self.xy - self.x * self.y / n) / (vx * vy).sqrt()).filter(|value| value.is_finite())
    }
}

/// The coefficients of signals without gaps, from the sums over both and over the
/// products at every lag: only the latter need a pass for each lag, the others lose
/// one sample per lag. `ends` gives what a lag's overlap has and the next one's has not:
/// the last sample of the one and the first of the other.
fn coefficients(
    [of_x, of_y]: &[SignalSums; 2],
    products: &[f64],
    ends: impl Fn(usize) -> (f64, f64),
) -> Vec<Option<f64>> {
    let (n, x, y) = (of_x.count as usize, of_x.sum, of_y.sum);
    let mut sums = Sums { n, x, y, xx: of_x.squares, yy: of_y.squares, xy: 0.0 };
    let of_lag = |(lag, &xy): (usize, &f64)| {
        let coefficient = Sums { xy, ..sums }.coefficient();
        let (last, first) = ends(lag);
        sums.n -= 1;
        sums.x -= last;
        sums.y -= first;
        sums.xx -= last * last;
        sums.yy -= first * first;
        coefficient
    };
    products.iter().enumerate().map(of_lag).collect()
}

/// The coefficients at many lags, by Fourier transforms. Where samples are missing every lag
/// has its own pairs.
fn far_correlations(x: &[f64], y: &[f64], longest: usize) -> Vec<Option<f64>> {
    if x.iter().chain(y).all(|value| value.is_finite()) {
        let ends = |lag: usize| (x[x.len() - 1 - lag], y[lag]);
        let sums = [SignalSums::of(x), SignalSums::of(y)];
        return coefficients(&sums, &correlated(x, y, longest), ends);
    }
    let powers = |signal: &[f64]| {
        let known = |value: &f64, power| if value.is_finite() { value.powi(power) } else { 0.0 };
        [0, 1, 2].map(|power| signal.iter().map(|value| known(value, power)).collect::<Vec<_>>())
    };
    let ([one_x, x, xx], [one_y, y, yy]) = (powers(x), powers(y));
    let pairs = [(&one_x, &one_y), (&x, &one_y), (&one_x, &y), (&xx, &one_y), (&one_x, &yy)];
    let [n, of_x, of_y, of_xx, of_yy] = pairs.map(|(a, b)| correlated(a, b, longest));
    let of_xy = correlated(&x, &y, longest);
    let at = |lag: usize| Sums {
        n: n[lag].round() as usize,
        x: of_x[lag],
        y: of_y[lag],
        xx: of_xx[lag],
        yy: of_yy[lag],
        xy: of_xy[lag],
    };
    (0..=longest).map(|lag| at(lag).coefficient()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::compare::{compare, nrmse};
    use super::*;
    use numerics::lanes::Lanes;
    use numerics::random::Stream;
    use proptest::prelude::*;

    fn std_error(signal: &[f64], reference: &[f64]) -> Option<f64> {
        compare(signal, reference).std_error
    }

    fn peak_error(signal: &[f64], reference: &[f64]) -> Option<f64> {
        compare(signal, reference).peak_error
    }

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

    /// The delay in samples.
    fn found(desired: &[f64], measured: &[f64]) -> f64 {
        let lag = tracking_delay(desired, measured, 4096.0).expect("a lag");
        assert!(!lag.at_limit);
        lag.samples
    }

    #[test]
    fn a_pure_shift_is_found_however_long() {
        for late in [0, 1, 7, 19, 48, 80, 164, 1000] {
            let lag = tracking_delay(&burst(8000, 0), &burst(8000, late), 4096.0).expect("a lag");
            let samples = lag.samples;
            assert!((samples - late as f64).abs() < 0.01 && !lag.at_limit, "{late}: {samples}");
            assert!((lag.correlation - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_fraction_of_a_sample_is_found() {
        // The same motion at four times the rate, of which every fourth sample is taken.
        let fine = |late: usize| -> Vec<f64> {
            let at = |i: usize| (4.0 * i as f64 - late as f64) / 16384.0;
            let value =
                |t: f64| if t < 0.0 { 0.0 } else { t * (-0.7 * t).exp() * (22.7 * t).sin() };
            (0..8000).map(|i| value(at(i))).collect()
        };
        for late in [1, 2, 5, 30, 77, 163, 1001] {
            let samples = found(&fine(0), &fine(late));
            assert!((samples - 0.25 * late as f64).abs() < 0.02, "{late}: {samples}");
        }
    }

    #[test]
    fn gain_offset_and_distortion_do_not_move_the_lag() {
        let measured: Vec<f64> = burst(8000, 19).iter().map(|x| 0.3 + 0.2 * x).collect();
        assert!((found(&burst(8000, 0), &measured) - 19.0).abs() < 0.01);
        // Too much noise for a clear correlation: the far search agrees.
        let mut noise = Stream::new(7, "sensor");
        let measured: Vec<f64> = burst(8000, 19).iter().map(|x| x + 0.1 * noise.normal()).collect();
        assert!((found(&burst(8000, 0), &measured) - 19.0).abs() < 3.0);
    }

    #[test]
    fn of_the_delays_that_a_repeating_motion_allows_the_first_is_meant() {
        // 50 Hz: 82 samples a period.
        let wave = |late: f64| -> Vec<f64> {
            let turn = std::f64::consts::TAU * 50.0 / 4096.0;
            (0..8000).map(|i| (turn * (f64::from(i) - late)).sin()).collect()
        };
        let lag = tracking_delay(&wave(0.0), &wave(60.25), 4096.0).expect("a lag");
        assert!((lag.samples - 60.25).abs() < 0.01, "{lag:?}");
        assert!(lag.again.is_some_and(|again| again.abs_diff(142) < 2), "{lag:?}");
    }

    #[test]
    fn a_delay_beyond_the_search_says_so() {
        let pulse = |late: f64| -> Vec<f64> {
            (0..12_000).map(|i| (-((f64::from(i) - 2000.0 - late) / 900.0).powi(2)).exp()).collect()
        };
        let lag = tracking_delay(&pulse(0.0), &pulse(6500.0), 4096.0).expect("a lag");
        assert_eq!((lag.samples, lag.at_limit), (6000.0, true));
    }

    #[test]
    fn a_leading_signal_reads_zero() {
        assert_eq!(found(&burst(8000, 30), &burst(8000, 0)), 0.0);
    }

    #[test]
    fn gaps_do_not_move_the_lag() {
        let (mut desired, mut measured) = (burst(8000, 0), burst(8000, 12));
        desired[400..450].fill(f64::NAN);
        measured[1000] = f64::INFINITY;
        assert!((found(&desired, &measured) - 12.0).abs() < 0.05);
    }

    #[test]
    fn the_search_scales_with_the_rate() {
        assert_eq!(lags_within(NEAR_S, 4096.0, MOST_NEAR), 49);
        assert_eq!(lags_within(NEAR_S, 1024.0, MOST_NEAR), 12);
        assert_eq!(lags_within(NEAR_S, 10.0, MOST_NEAR), 1);
        assert_eq!(lags_within(NEAR_S, f64::MAX, MOST_NEAR), 2000);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(lags_within(NEAR_S, rate, MOST_NEAR), 0);
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
            assert_eq!(tracking_delay(reference, &moving, 768.0), None);
            assert_eq!(tracking_delay(&moving, reference, 768.0), None);
        }
        assert_eq!(std_error(&moving, &constant), None);
        assert_eq!(tracking_delay(&moving, &constant, 768.0), None);
        let opposite: Vec<f64> = moving.iter().map(|x| -x).collect();
        assert_eq!(tracking_delay(&moving, &opposite, 768.0), None);
        assert_eq!(tracking_delay(&moving[..2], &moving[..2], 768.0), None);
        assert_eq!(peak(&gone), None);
    }

    #[test]
    fn one_sample_beyond_the_limit_is_enough() {
        let mut signal = vec![0.5; 1000];
        signal[700] = -1.0;
        assert!(!exceeds(&signal, 1.0) && exceeds(&signal, 0.9) && !exceeds(&[], 0.0));
        signal[999] = f64::NAN;
        assert!(exceeds(&signal, 1.0));
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
        assert_eq!(found(&reference, &signal), 0.0);
    }

    #[test]
    fn wide_and_narrow_instructions_give_the_same_bits() {
        let mut noise = Stream::new(3, "lanes");
        let [x, y] = [0, 1].map(|_| -> Vec<Lanes> {
            (0..1000).map(|_| Lanes::each(|_| noise.normal())).collect()
        });
        let [to_x, to_y] = [0.1, -0.2]
            .map(|mean| Normal { mean: Lanes::all(mean), factor: Lanes([1.0, 0.9, 1.1, 3.0]) });
        let [mut wide, mut narrow] = [vec![Lanes::ZERO; 50], vec![Lanes::ZERO; 50]];
        let of = |out| Correlation { desired: &x, measured: &y, x: &to_x, y: &to_y, out };
        let sums = [widely(of(&mut wide[..])), of(&mut narrow[..]).run()];
        assert_eq!(wide, narrow);
        assert_eq!(sums[0], sums[1]);
    }

    proptest! {
        #[test]
        fn never_infinite(
            pairs in proptest::collection::vec(
                (proptest::num::f64::ANY, proptest::num::f64::ANY), 0..60),
            rate_hz in 1.0..8000.0,
        ) {
            let (signal, reference): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            for value in [
                std_error(&signal, &reference),
                peak_error(&signal, &reference),
                nrmse(&signal, &reference),
                tracking_delay(&reference, &signal, rate_hz).map(|lag| lag.correlation),
            ]
            .into_iter()
            .flatten()
            {
                prop_assert!(value.is_finite() && value >= 0.0);
            }
        }
    }
}
