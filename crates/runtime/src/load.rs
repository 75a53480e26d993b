//! The external load, sampled at the loop's rate before the test.

use std::sync::Arc;

/// Load signals side by side: one row per tick. Clones share the samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Number of signals.
    pub(crate) signals: usize,
    ticks: usize,
    /// The last row; what follows it is like it.
    last: usize,
    values: Arc<[f64]>,
}

impl Load {
    /// From one series per signal, all of one length: `ticks + 1` samples for a
    /// test of `ticks` steps. Without a signal the load is empty but lasts.
    pub fn new(series: &[impl AsRef<[f64]>], ticks: usize) -> Self {
        let signals = series.len();
        let mut values = vec![0.0; signals * (ticks + 1)];
        for (column, series) in series.iter().enumerate() {
            for (row, &value) in series.as_ref().iter().take(ticks + 1).enumerate() {
                values[row * signals + column] = value;
            }
        }
        Self { signals, ticks, last: ticks, values: values.into() }
    }

    /// Zero, for a load that arrives while the test runs: `ticks` is its
    /// longest time, and takes no memory.
    pub fn unknown(signals: usize, ticks: usize) -> Self {
        Self { signals, ticks, last: 0, values: vec![0.0; signals].into() }
    }

    /// The same load, which goes straight to zero in `ticks` ticks after its
    /// end instead of staying as it is.
    pub fn easing(&self, ticks: usize) -> Self {
        let step = 1.0 / ticks.max(1) as f64;
        let mut values = self.values.to_vec();
        let (end, mut gain) = (self.at(self.ticks).to_vec(), 1.0);
        for _ in 0..ticks.max(1) {
            // Summed up as a streamed load does it.
            gain = f64::max(gain - step, 0.0);
            values.extend(end.iter().map(|value| gain * value));
        }
        // Sums of a fraction miss zero by a hair.
        values.extend(std::iter::repeat_n(0.0, self.signals));
        let last = self.ticks + ticks.max(1) + 1;
        Self { last, values: values.into(), ..*self }
    }

    /// The same samples with an earlier end, after which they go on as they are.
    pub fn ending(self, ticks: usize) -> Self {
        Self { ticks: ticks.min(self.ticks), ..self }
    }

    /// Whether the other shares these very samples.
    pub fn is_same(&self, other: &Self) -> bool {
        self.ticks == other.ticks && Arc::ptr_eq(&self.values, &other.values)
    }

    /// Number of ticks.
    pub fn ticks(&self) -> usize {
        self.ticks
    }

    /// The signals at tick `tick`; after the last row, those of it.
    #[inline]
    pub fn at(&self, tick: usize) -> &[f64] {
        let row = tick.min(self.last) * self.signals;
        &self.values[row..row + self.signals]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_stays_at_its_end_or_eases_to_zero() {
        let load = Load::new(&[vec![0.0, 1.0, 8.0], vec![0.0, 0.0, -4.0]], 2);
        assert_eq!((load.at(2), load.at(9)), (&[8.0, -4.0][..], &[8.0, -4.0][..]));
        let eased = load.easing(4);
        assert_eq!((eased.ticks(), eased.at(1), eased.at(2)), (2, load.at(1), load.at(2)));
        let first: Vec<f64> = (3..9).map(|tick| eased.at(tick)[0]).collect();
        assert_eq!(first, [6.0, 4.0, 2.0, 0.0, 0.0, 0.0]);
        assert_eq!(eased.at(4)[1], -2.0);
        assert_eq!(load.easing(0).at(3), [0.0, 0.0]);
    }
}
