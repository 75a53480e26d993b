//! What adaptive kinds look at: command and measurement through the same filter.

use numerics::filter::FilterBank;
use numerics::lanes::{LANES, Lane, LaneMask, Lanes};

use super::CompensatorError;
use super::design::sections;
use crate::check::{check_not_negative, check_positive};

/// A displacement beyond this is not believed: far more than any rig has, far
/// from overflow in squares and cubes.
pub(super) const MOST_M: f64 = 1e9;

/// Where both the command and the measurement can be believed.
#[inline(always)]
pub(super) fn believed<T: Lane>(sent: T, measured: T) -> T::Mask {
    let most = T::all(MOST_M);
    sent.abs().below(most) & measured.abs().below(most)
}

/// The command as sent and the measurement, each through the same Butterworth
/// filter of order 4: whatever the filter does to one it does to the other, so
/// that the relation between them stays.
pub(super) type TwinFilter<T = f64> = FilterBank<T, 2, 2>;

/// At rest.
pub(super) fn twin_filter(cutoff_hz: f64, step_s: f64) -> Result<TwinFilter, CompensatorError> {
    sections("filter", cutoff_hz, step_s).map(TwinFilter::new)
}

/// Filtered command and measurement; `None` where no lane has numbers to
/// believe, and nothing is remembered then.
#[inline(always)]
pub(super) fn filtered<T: Lane>(
    filter: &mut TwinFilter<T>,
    sent: T,
    measured: T,
) -> Option<[T; 2]> {
    believed(sent, measured).any().then(|| filter.step([sent, measured]))
}

/// Filtered samples that are remembered.
const HISTORY: usize = 5;

/// What an estimator sees: the last five filtered commands and measurements, from
/// time to time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observer<T: Lane = f64> {
    filter: TwinFilter<T>,
    /// Nothing is to be learnt while the filtered measurement is below this.
    threshold: T,
    pub(super) rate_hz: f64,
    /// Ticks between two updates of the estimator: about 25 updates in a period of
    /// the filter's cut-off. The filtered signals hold nothing faster, so more
    /// would only cost time.
    pub(super) stride: u32,
    /// Ticks until the next update.
    wait: u32,
    /// Commands and measurements, a ring.
    samples: [[T; 2]; HISTORY],
    oldest: usize,
    filled: usize,
}

impl Observer {
    pub(super) fn new(
        filter_hz: f64,
        threshold_m: f64,
        step_s: f64,
    ) -> Result<Self, CompensatorError> {
        let ticks = 1.0 / (25.0 * check_positive("filter", filter_hz)? * step_s);
        // `as` saturates; a tick is the least.
        let stride = (ticks.floor() as u32).max(1);
        let threshold = check_not_negative("threshold", threshold_m)?;
        Ok(Self::at_rest(twin_filter(filter_hz, step_s)?, threshold, 1.0 / step_s, stride))
    }
}

impl Observer<Lanes> {
    /// At rest; `None` if they differ in more than the threshold.
    pub(super) fn side_by_side(each: [&Observer; LANES]) -> Option<Self> {
        let Observer { filter, rate_hz, stride, .. } = *each[0];
        let sections = *filter.sections();
        let alike = |one: &&Observer| {
            (one.stride, one.rate_hz, *one.filter.sections()) == (stride, rate_hz, sections)
        };
        let filter = TwinFilter::new(sections);
        let threshold = Lanes::each(|lane| each[lane].threshold);
        each.iter().all(alike).then(|| Self::at_rest(filter, threshold, rate_hz, stride))
    }
}

impl<T: Lane> Observer<T> {
    fn at_rest(filter: TwinFilter<T>, threshold: T, rate_hz: f64, stride: u32) -> Self {
        let samples = [[T::ZERO; 2]; HISTORY];
        Self { filter, threshold, rate_hz, stride, wait: stride, samples, oldest: 0, filled: 0 }
    }

    /// Takes in what left the converter and what was then measured. Gives in which
    /// lanes there is something to learn now, if in any.
    #[inline(always)]
    pub(super) fn take(&mut self, sent: T, measured: T) -> Option<T::Mask> {
        let Some(filtered) = filtered(&mut self.filter, sent, measured) else {
            // A gap in the measurement is a gap in the samples.
            self.filled = 0;
            return None;
        };
        self.samples[self.oldest] = filtered;
        self.oldest = if self.oldest + 1 == HISTORY { 0 } else { self.oldest + 1 };
        self.filled = (self.filled + 1).min(HISTORY);
        self.wait = self.wait.saturating_sub(1);
        if self.wait > 0 || self.filled < HISTORY {
            return None;
        }
        self.wait = self.stride;
        let [_, measured] = self.middle();
        let learns = self.threshold.below(measured.abs());
        learns.any().then_some(learns)
    }

    /// Filtered command and measurement two samples ago.
    #[inline(always)]
    pub(super) fn middle(&self) -> [T; 2] {
        self.samples[(self.oldest + HISTORY / 2) % HISTORY]
    }

    /// Derivatives 0 to 3 of the measurement two samples ago. Central, so that
    /// none is late against another.
    #[inline(always)]
    pub(super) fn derivatives(&self) -> [T; 4] {
        let measured = |age: usize| self.samples[(self.oldest + age) % HISTORY][1];
        let [a, b, c, d, e] = std::array::from_fn(measured);
        let rate_hz = self.rate_hz;
        let half = 0.5 * rate_hz;
        [
            c,
            (d - b) * half,
            (d - c * 2.0 + b) * rate_hz * rate_hz,
            (e - (d - b) * 2.0 - a) * half * rate_hz * rate_hz,
        ]
    }
}
