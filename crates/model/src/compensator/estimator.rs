//! What adaptive kinds look at: command and measurement through the same filter.

use std::ops::{Add, Mul, Sub};

use numerics::filter::{FilterBank, Section, low_pass};

use super::CompensatorError;
use super::design::positive;

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
        let sections = low_pass(cutoff_hz, 1.0 / step_s)
            .map_err(|source| CompensatorError::Filter { key: "filter", source })?;
        Ok(Self { bank: FilterBank::new(sections) })
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

    pub(super) fn sections(&self) -> [Section; 2] {
        *self.bank.sections()
    }
}

/// What an estimator sees of one DOF, and when it is to look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lookout {
    pub(super) filter: TwinFilter,
    pub(super) window: Window,
    /// Ticks between two updates: about 25 updates in a period of the filter's
    /// cut-off. The filtered signals hold nothing faster, so more would only cost
    /// time.
    pub(super) stride: u32,
    /// Ticks until the next.
    wait: u32,
}

impl Lookout {
    pub(super) fn new(filter_hz: f64, step_s: f64) -> Result<Self, CompensatorError> {
        let ticks = 1.0 / (25.0 * positive("filter", filter_hz)? * step_s);
        // `as` saturates; a tick is the least.
        let stride = (ticks.floor() as u32).max(1);
        let filter = TwinFilter::new(filter_hz, step_s)?;
        Ok(Self { filter, window: Window::EMPTY, stride, wait: stride })
    }

    /// Takes the command as sent and the measurement in; whether an update is due,
    /// from a motion above the threshold.
    #[inline]
    pub(super) fn is_due(&mut self, sent: f64, measured: f64, threshold: f64) -> bool {
        // A gap in the measurement is a gap in the window.
        let Some(filtered) = self.filter.step(sent, measured) else {
            self.window = Window::EMPTY;
            return false;
        };
        self.window.push(filtered);
        self.wait = self.wait.saturating_sub(1);
        if self.wait > 0 || !self.window.is_full() {
            return false;
        }
        self.wait = self.stride;
        self.window.measured().abs() > threshold
    }
}

/// The change of the acceleration from tick to tick, zero at first.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Jerk(Option<f64>);

impl Jerk {
    #[inline]
    pub(super) fn next(&mut self, a: f64, rate_hz: f64) -> f64 {
        self.0.replace(a).map_or(0.0, |last| (a - last) * rate_hz)
    }

    /// As if the acceleration before had been this one.
    pub(super) fn rejoin(&mut self, a: f64) {
        self.0 = self.0.map(|_| a);
    }
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
