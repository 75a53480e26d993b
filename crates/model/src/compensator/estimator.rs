//! What adaptive kinds look at: command and measurement through the same filter.

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

/// The last five filtered samples, newest last, and their central differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    command: [f64; 5],
    measured: [f64; 5],
    filled: u8,
}

impl Window {
    pub(super) const EMPTY: Self = Self { command: [0.0; 5], measured: [0.0; 5], filled: 0 };

    /// A full one from pairs of command and measurement, newest last.
    pub(super) fn of(pairs: [[f64; 2]; 5]) -> Self {
        Self { command: pairs.map(|[c, _]| c), measured: pairs.map(|[_, m]| m), filled: 5 }
    }

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
        let [a, b, c, d, e] = self.measured;
        let half = 0.5 * rate_hz;
        [
            c,
            (d - b) * half,
            (d - 2.0 * c + b) * rate_hz * rate_hz,
            (e - 2.0 * (d - b) - a) * half * rate_hz * rate_hz,
        ]
    }
}
