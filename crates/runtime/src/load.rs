//! The external load, sampled at the loop's rate before the test.

/// Load signals side by side: one row per tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    signals: usize,
    ticks: usize,
    values: Vec<f64>,
}

impl Load {
    /// From one series per signal, all of one length: `ticks + 1` samples for a
    /// test of `ticks` steps. Without a signal the load is empty but lasts.
    pub fn new(series: &[Vec<f64>], ticks: usize) -> Self {
        let signals = series.len();
        let mut values = vec![0.0; signals * (ticks + 1)];
        for (column, series) in series.iter().enumerate() {
            for (row, &value) in series.iter().take(ticks + 1).enumerate() {
                values[row * signals + column] = value;
            }
        }
        Self { signals, ticks, values }
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
