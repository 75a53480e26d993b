//! A signal against another: the errors that the criteria are made of.
//!
//! Signals are compared sample by sample over their common length. A sample
//! that is not finite in either signal is left out, so a gap in one channel
//! does not spoil the result. A measure that has no meaning for its signals
//! (nothing to compare, a reference that never moves) is `None`, never infinite.

use numerics::lanes::Lane;

/// A reference whose standard deviation is below this share of its largest
/// value is a constant seen through rounding: nothing can be normalised by it.
pub(super) const CONSTANT: f64 = 1e-13;

/// Between these the squares of a long signal neither overflow nor vanish.
const ORDINARY: std::ops::Range<f64> = 1e-100..1e100;
/// A variance below this share of the squared mean has lost too many digits in
/// one pass, and takes two.
const CANCELLED: f64 = 1e-6;
/// Sums that run side by side, so that an addition need not wait for the last.
const PHASES: usize = 4;
/// Samples that are summed in one go; whole phases.
pub(super) const PART: usize = 64;

/// How far a signal is from a reference, in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Comparison {
    /// std(signal − reference) / std(reference) · 100.
    ///
    /// The standard deviation removes the mean: a constant offset between the
    /// signals does not count. Whether it divides by n or n − 1 cancels.
    pub std_error: Option<f64>,
    /// max |signal − reference| / max |reference| · 100.
    ///
    /// The two maxima need not occur at the same time.
    pub peak_error: Option<f64>,
    /// Normalised root mean square error, rms(signal − reference) / rms(reference) · 100.
    /// Unlike `std_error`, a constant offset counts.
    ///
    /// Gálmez & Fermandois name the measure without a formula; normalised like this, the
    /// benchmark with 29 samples of delay gives their 144 %, by the range 9 %.
    pub nrmse: Option<f64>,
}

/// All errors of `signal` against `reference`, as a rule in one pass over them.
pub fn compare(signal: &[f64], reference: &[f64]) -> Comparison {
    quick(signal, reference).unwrap_or_else(|| careful(signal, reference))
}

/// [`Comparison::nrmse`] alone.
pub fn nrmse(signal: &[f64], reference: &[f64]) -> Option<f64> {
    compare(signal, reference).nrmse
}

/// Mean and deviation of a signal that moves.
#[derive(Clone, Copy)]
pub(super) struct Centre {
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Centre {
    /// That of the finite samples; `None` for a signal that does not move.
    pub(super) fn of(signal: &[f64]) -> Option<Self> {
        if let Some(found) = Sums::of(signal).shares() {
            return Self::from_shares(found);
        }
        let finite = signal.iter().copied().filter(|value| value.is_finite());
        let scale = largest(finite.clone())?;
        let count = finite.clone().count() as f64;
        let mean = finite.clone().map(|value| value / scale).sum::<f64>() / count;
        let deviation = deviation(finite.map(|value| value / scale))?;
        Self::from_shares((scale, mean, deviation))
    }

    /// From one pass; `None` also where that does not tell it.
    pub(super) fn from_sums(sums: &Sums) -> Option<Self> {
        Self::from_shares(sums.shares()?)
    }

    /// From the size, and mean and deviation as shares of it.
    fn from_shares((scale, mean, deviation): (f64, f64, f64)) -> Option<Self> {
        (deviation > CONSTANT).then_some(Self { mean: mean * scale, deviation: deviation * scale })
    }
}

/// What one pass over a signal gives; that over a reference serves many tests.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    pub(super) count: f64,
    pub(super) sum: f64,
    pub(super) squares: f64,
    pub(super) largest: f64,
}

impl Sums {
    /// Those of a whole signal.
    pub fn of(signal: &[f64]) -> Self {
        let mut running = Running::default();
        running.add(signal.iter().copied());
        running.lane(0)
    }

    /// Mean and deviation; `None` where one pass does not tell them.
    fn moments(&self) -> Option<(f64, f64)> {
        if self.count == 0.0 || !(self.largest < ORDINARY.end && self.sum.is_finite()) {
            return None;
        }
        let mean = self.sum / self.count;
        let variance = self.squares / self.count - mean * mean;
        // A signal that is zero throughout has lost nothing.
        let sound = variance >= CANCELLED * mean * mean;
        sound.then(|| (mean, variance.sqrt()))
    }

    /// Size, and mean and deviation as shares of it; `None` where one pass does not tell.
    fn shares(&self) -> Option<(f64, f64, f64)> {
        let (mean, deviation) = self.moments().filter(|_| ORDINARY.contains(&self.largest))?;
        let scale = self.largest;
        Some((scale, mean / scale, deviation / scale))
    }
}

/// The sums while a signal passes: of one signal, or of several side by side.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Running<T: Lane> {
    count: usize,
    sum: [T; PHASES],
    squares: [T; PHASES],
    largest: [T; PHASES],
}

impl<T: Lane> Running<T> {
    /// Adds samples; all parts but the last are whole multiples of [`PHASES`] long.
    #[inline(always)]
    pub(super) fn add(&mut self, mut samples: impl ExactSizeIterator<Item = T>) {
        debug_assert!(self.count.is_multiple_of(PHASES));
        self.count += samples.len();
        // In registers until the end.
        let Self { mut sum, mut squares, mut largest, .. } = *self;
        for _ in 0..samples.len() / PHASES {
            for phase in 0..PHASES {
                let value = samples.next().unwrap_or_default();
                sum[phase] += value;
                squares[phase] += value * value;
                // What is no number is not the largest; the sum tells of it.
                largest[phase] = largest[phase].raised_to(value.abs());
            }
        }
        for (phase, value) in samples.enumerate() {
            sum[phase] += value;
            squares[phase] += value * value;
            largest[phase] = largest[phase].raised_to(value.abs());
        }
        (self.sum, self.squares, self.largest) = (sum, squares, largest);
    }

    /// Those of one lane so far.
    pub(super) fn lane(&self, lane: usize) -> Sums {
        let of = |values: [T; PHASES]| values.map(|value| value.lane(lane));
        Sums {
            count: self.count as f64,
            sum: of(self.sum).iter().sum(),
            squares: of(self.squares).iter().sum(),
            largest: of(self.largest).into_iter().fold(0.0, f64::max),
        }
    }
}

/// The comparison from one pass; `None` where it would be inexact or has gaps.
fn quick(signal: &[f64], reference: &[f64]) -> Option<Comparison> {
    let length = signal.len().min(reference.len());
    let (signal, reference) = (&signal[..length], &reference[..length]);
    let (mut error, mut size) = (Running::default(), Running::default());
    // Part by part, so that both sums find the samples in the nearest cache.
    for (signal, reference) in signal.chunks(PART).zip(reference.chunks(PART)) {
        error.add(signal.iter().zip(reference).map(|(s, r)| s - r));
        size.add(reference.iter().copied());
    }
    from_sums(&error.lane(0), &size.lane(0))
}

/// The comparison from the sums of the error and of the reference; `None` where
/// they do not tell it.
pub(super) fn from_sums(error: &Sums, size: &Sums) -> Option<Comparison> {
    let ((_, error_std), (_, size_std)) = (error.moments()?, size.moments()?);
    if !ORDINARY.contains(&size.largest) {
        return None;
    }
    let moves = size_std > CONSTANT * size.largest;
    Some(Comparison {
        std_error: percent(error_std, size_std).filter(|_| moves),
        peak_error: percent(error.largest, size.largest),
        nrmse: percent(error.squares.sqrt(), size.squares.sqrt()),
    })
}

/// The comparison in several passes, for signals with gaps, of extreme size or
/// whose mean is far larger than their motion.
fn careful(signal: &[f64], reference: &[f64]) -> Comparison {
    let pairs = || paired(signal, reference);
    let Some(scale) = largest(pairs().map(|(_, r)| r)) else { return Comparison::default() };
    let error = || pairs().map(|(s, r)| s / scale - r / scale);
    let size = || pairs().map(|(_, r)| r / scale);
    let std_error = || match (deviation(error())?, deviation(size())?) {
        (_, size) if size <= CONSTANT => None,
        (error, size) => percent(error, size),
    };
    let rms = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let largest_error = pairs().map(|(s, r)| (s - r).abs()).fold(0.0, f64::max);
    Comparison {
        std_error: std_error(),
        peak_error: percent(largest_error, scale),
        nrmse: percent(rms(&mut error()), rms(&mut size())),
    }
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

fn percent(error: f64, size: f64) -> Option<f64> {
    let ratio = 100.0 * (error / size);
    (size > 0.0 && ratio.is_finite()).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Where one pass speaks at all, it says what several say.
        #[test]
        fn the_quick_way_agrees_with_the_careful_one(
            pairs in prop::collection::vec((-1e3..1e3f64, -1e3..1e3f64), 1..200),
            offset in -1e4..1e4f64,
        ) {
            let (signal, reference): (Vec<f64>, Vec<f64>) =
                pairs.into_iter().map(|(s, r)| (s + offset, r + 0.5 * offset)).unzip();
            let exact = careful(&signal, &reference);
            let Some(quick) = quick(&signal, &reference) else { return Ok(()) };
            for (quick, exact) in [
                (quick.std_error, exact.std_error),
                (quick.peak_error, exact.peak_error),
                (quick.nrmse, exact.nrmse),
            ] {
                let (quick, exact) = (quick.unwrap_or(-1.0), exact.unwrap_or(-1.0));
                prop_assert!((quick - exact).abs() <= 1e-8 * exact.abs(), "{quick} {exact}");
            }
        }
    }

    #[test]
    fn the_quick_way_leaves_gaps_and_extremes_to_the_careful_one() {
        let moving: Vec<f64> = (0..100).map(|i| (0.3 * f64::from(i)).sin()).collect();
        assert!(quick(&moving, &moving).is_some());
        let mut gap = moving.clone();
        gap[50] = f64::NAN;
        let huge: Vec<f64> = moving.iter().map(|x| x * 1e200).collect();
        let offset: Vec<f64> = moving.iter().map(|x| x + 1e6).collect();
        for other in [&gap, &huge, &offset] {
            assert_eq!(quick(&moving, other), None);
            assert_eq!(quick(other, &moving), None);
        }
        assert_eq!(quick(&[], &[]), None);
    }
}
