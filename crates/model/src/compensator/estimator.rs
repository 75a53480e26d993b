//! What adaptive kinds look at: command and measurement through the same filter.

use std::ops::{Add, Mul, Sub};

use numerics::filter::{Cascade, Pass, Section};
use numerics::filter_bank::FilterBank;

use super::CompensatorError;

/// A displacement beyond this is not believed: far more than any rig has, far
/// from overflow in squares and cubes.
pub(super) const MOST_M: f64 = 1e9;

/// The command as sent and the measurement, each through the same Butterworth
/// filter of order 4: whatever the filter does to one it does to the other, so
/// that the relation between them stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TwinFilter {
    bank: FilterBank<2, 2>,
}

impl TwinFilter {
    pub(super) fn new(cutoff_hz: f64, step_s: f64) -> Result<Self, CompensatorError> {
        let cascade = Cascade::butterworth(Pass::Low, 4, cutoff_hz, 1.0 / step_s)
            .map_err(|source| CompensatorError::Filter { key: "filter", source })?;
        let bank = FilterBank::new(&cascade).expect("order four has two sections");
        Ok(Self { bank })
    }

    /// Filtered command and measurement; `None` where one is not a number, and
    /// nothing is remembered then.
    #[inline]
    pub(super) fn step(&mut self, sent: f64, measured: f64) -> Option<[f64; 2]> {
        if !(sent.abs() < MOST_M && measured.abs() < MOST_M) {
            return None;
        }
        Some(self.bank.step([sent, measured]))
    }

    pub(super) fn reset(&mut self) {
        self.bank.reset();
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
pub(super) const HISTORY: usize = 5;

/// The last five filtered samples, newest last, and their central differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    command: [f64; HISTORY],
    measured: [f64; HISTORY],
    filled: u8,
}

impl Window {
    pub(super) const EMPTY: Self =
        Self { command: [0.0; HISTORY], measured: [0.0; HISTORY], filled: 0 };

    #[inline]
    pub(super) fn push(&mut self, [command, measured]: [f64; 2]) {
        for (series, newest) in [(&mut self.command, command), (&mut self.measured, measured)] {
            let [_, b, c, d, e] = *series;
            *series = [b, c, d, e, newest];
        }
        self.filled = self.filled.saturating_add(1);
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.filled >= 5
    }

    /// Filtered command two samples ago.
    #[inline]
    pub(super) fn command(&self) -> f64 {
        self.command[2]
    }

    /// Filtered measurement two samples ago.
    #[inline]
    pub(super) fn measured(&self) -> f64 {
        self.measured[2]
    }

    /// Derivatives 0 to 3 of the measurement two samples ago. Central, so that
    /// none is late against another.
    #[inline]
    pub(super) fn derivatives(&self, rate_hz: f64) -> [f64; 4] {
        central_differences(self.measured, rate_hz)
    }
}

/// Derivatives 0 to 3 at the middle one of samples, newest last; of one signal
/// or of several side by side.
#[inline(always)]
pub(super) fn central_differences<T>([a, b, c, d, e]: [T; HISTORY], rate_hz: f64) -> [T; 4]
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<f64, Output = T>,
{
    let half = 0.5 * rate_hz;
    [
        c,
        (d - b) * half,
        (d - c * 2.0 + b) * rate_hz * rate_hz,
        (e - (d - b) * 2.0 - a) * half * rate_hz * rate_hz,
    ]
}
