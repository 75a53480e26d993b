//! The external load, sampled at the loop's rate before the test.

use std::sync::Arc;

/// Load signals side by side: one row per tick. Clones share the samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    signals: usize,
    ticks: usize,
    values: Arc<[f64]>,
}

impl Load {
    /// From one series per signal, all of one length: `ticks + 1` samples for a
    /// test of `ticks` steps. Without a signal the load is empty but lasts.
    pub fn new(series: &[Vec<f64>], ticks: usize) -> Self {
        let series: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
        Self::side_by_side(&series, ticks)
    }

    /// The same from borrowed series.
    pub fn side_by_side(series: &[&[f64]], ticks: usize) -> Self {
        let signals = series.len();
        let mut values = vec![0.0; signals * (ticks + 1)];
        for (column, series) in series.iter().enumerate() {
            for (row, &value) in series.iter().take(ticks + 1).enumerate() {
                values[row * signals + column] = value;
            }
        }
        Self { signals, ticks, values: values.into() }
    }

    /// Whether the other shares these very samples.
    pub fn is_same(&self, other: &Self) -> bool {
        self.ticks == other.ticks && Arc::ptr_eq(&self.values, &other.values)
    }

    /// Number of ticks.
    pub fn ticks(&self) -> usize {
        self.ticks
    }

    /// The signals at tick `tick`; after the end, those of the end.
    #[inline]
    pub fn at(&self, tick: usize) -> &[f64] {
        let row = tick.min(self.ticks) * self.signals;
        &self.values[row..row + self.signals]
    }
}
