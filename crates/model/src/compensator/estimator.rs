//! What adaptive kinds look at: command and measurement through the same filter.

use numerics::filter::{FilterBank, Section, low_pass};
use numerics::lanes::{Lane, LaneMask};

use super::CompensatorError;

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
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TwinFilter<T: Lane = f64> {
    bank: FilterBank<T, 2, 2>,
}

impl TwinFilter {
    pub(super) fn new(cutoff_hz: f64, step_s: f64) -> Result<Self, CompensatorError> {
        let sections = low_pass(cutoff_hz, 1.0 / step_s)
            .map_err(|source| CompensatorError::Filter { key: "filter", source })?;
        Ok(Self::from_sections(sections))
    }
}

impl<T: Lane> TwinFilter<T> {
    pub(super) fn from_sections(sections: [Section; 2]) -> Self {
        Self { bank: FilterBank::new(sections) }
    }

    /// Filtered command and measurement; `None` where no lane has numbers to
    /// believe, and nothing is remembered then.
    #[inline(always)]
    pub(super) fn step(&mut self, sent: T, measured: T) -> Option<[T; 2]> {
        if !believed(sent, measured).any() {
            return None;
        }
        Some(self.bank.step([sent, measured]))
    }

    pub(super) fn sections(&self) -> [Section; 2] {
        *self.bank.sections()
    }
}

/// Ticks between two updates of an estimator: about 25 updates in a period of
/// the filter's cut-off. The filtered signals hold nothing faster, so more
/// would only cost time.
pub(super) fn stride(filter_hz: f64, step_s: f64) -> u32 {
    let ticks = 1.0 / (25.0 * filter_hz * step_s);
    // `as` saturates; a tick is the least.
    (ticks.floor() as u32).max(1)
}

/// Filtered samples that are remembered.
const HISTORY: usize = 5;

/// The last five filtered samples, newest last, and their central differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window<T: Lane = f64> {
    /// Commands and measurements, a ring.
    samples: [[T; 2]; HISTORY],
    oldest: usize,
    filled: usize,
}

impl<T: Lane> Window<T> {
    pub(super) const EMPTY: Self = Self { samples: [[T::ZERO; 2]; HISTORY], oldest: 0, filled: 0 };

    /// Takes the next filtered command and measurement.
    #[inline(always)]
    pub(super) fn push(&mut self, sample: [T; 2]) {
        self.samples[self.oldest] = sample;
        self.oldest = if self.oldest + 1 == HISTORY { 0 } else { self.oldest + 1 };
        self.filled = (self.filled + 1).min(HISTORY);
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.filled == HISTORY
    }

    /// Filtered command and measurement two samples ago.
    #[inline(always)]
    pub(super) fn middle(&self) -> [T; 2] {
        self.samples[(self.oldest + HISTORY / 2) % HISTORY]
    }

    /// Derivatives 0 to 3 of the measurement two samples ago. Central, so that
    /// none is late against another.
    #[inline(always)]
    pub(super) fn derivatives(&self, rate_hz: f64) -> [T; 4] {
        let measured = |age: usize| self.samples[(self.oldest + age) % HISTORY][1];
        let [a, b, c, d, e] = std::array::from_fn(measured);
        let half = 0.5 * rate_hz;
        [
            c,
            (d - b) * half,
            (d - c * 2.0 + b) * rate_hz * rate_hz,
            (e - (d - b) * 2.0 - a) * half * rate_hz * rate_hz,
        ]
    }
}
