//! Latency histograms: filled by the loop, read by people.

use hdrhistogram::Histogram;

use crate::record::LatencyNote;

/// The longest time told apart; anything longer counts as this.
const LONGEST_NS: u64 = 60_000_000_000;
/// Digits kept of every value.
const DIGITS: u8 = 3;
/// Bins of a note within a factor of ten.
const BINS_PER_DECADE: f64 = 20.0;

/// A histogram of times. All its memory is there from the start: `record`
/// allocates nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    histogram: Histogram<u64>,
}

impl Latency {
    /// Empty, to so many digits: with one a share is found within a microsecond.
    pub(super) fn with_digits(digits: u8) -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, digits);
        let mut histogram = histogram.expect("the bounds are constants that fit");
        // Its pages are touched here, not in the tick.
        histogram.saturating_record(LONGEST_NS);
        for exponent in 0..36 {
            histogram.saturating_record(1 << exponent);
        }
        histogram.reset();
        Self { histogram }
    }

    /// Counts one time.
    pub fn record(&mut self, nanoseconds: u64) {
        self.histogram.saturating_record(nanoseconds.clamp(1, LONGEST_NS));
    }

    /// Times counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The time that a share of all stays below, ns.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        self.histogram.value_at_quantile(share)
    }

    /// The longest, ns.
    pub fn max_ns(&self) -> u64 {
        self.histogram.max()
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Self) {
        // Both have the same bounds.
        let _ = self.histogram.add(&other.histogram);
    }

    /// What the record keeps of it.
    pub fn note(&self, name: &str) -> LatencyNote {
        let seconds = |nanoseconds: u64| 1e-9 * nanoseconds as f64;
        let at = |share: f64| seconds(self.quantile_ns(share));
        LatencyNote {
            name: name.to_owned(),
            count: self.count(),
            min_s: seconds(self.histogram.min()),
            mean_s: 1e-9 * self.histogram.mean(),
            p50_s: at(0.5),
            p90_s: at(0.9),
            p99_s: at(0.99),
            p999_s: at(0.999),
            max_s: seconds(self.histogram.max()),
            bins: self.bins(),
        }
    }

    /// Lower edge, upper edge (s) and count of every bin that is not empty.
    fn bins(&self) -> Vec<(f64, f64, u64)> {
        let edge = |index: i32| 1e-9 * 10f64.powf(f64::from(index) / BINS_PER_DECADE);
        let mut bins: Vec<(i32, u64)> = Vec::new();
        for found in self.histogram.iter_recorded() {
            let value = found.value_iterated_to().max(1) as f64;
            let index = (value.log10() * BINS_PER_DECADE).floor() as i32;
            match bins.last_mut() {
                Some((last, count)) if *last == index => *count += found.count_at_value(),
                _ => bins.push((index, found.count_at_value())),
            }
        }
        bins.into_iter().map(|(index, count)| (edge(index), edge(index + 1), count)).collect()
    }
}

impl Default for Latency {
    /// Empty.
    fn default() -> Self {
        Self::with_digits(DIGITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_values() {
        let (mut latency, mut coarse) = (Latency::default(), Latency::with_digits(1));
        assert_eq!(latency.count(), 0);
        latency.record(1500);
        assert_eq!((latency.note("").min_s, latency.note("").max_s), (1.5e-6, 1.5e-6));
        latency = Latency::default();
        for microseconds in 1..=1000 {
            latency.record(1000 * microseconds);
            coarse.record(1000 * microseconds);
        }
        for (share, expected) in [(0.5, 500e3), (0.99, 990e3), (1.0, 1000e3)] {
            let found = latency.quantile_ns(share) as f64;
            assert!((found / expected - 1.0).abs() < 2e-3, "{share}: {found}");
            let found = coarse.quantile_ns(share) as f64;
            assert!((0.99..1.1).contains(&(found / expected)), "{share}: {found}");
        }
        let note = latency.note("wake_up");
        assert_eq!(note.bins.iter().map(|bin| bin.2).sum::<u64>(), 1000);
        assert!(note.bins.windows(2).all(|pair| pair[0].1 <= pair[1].0 * (1.0 + 1e-12)));
        assert!((note.mean_s - 500.5e-6).abs() < 1e-6);
    }

    #[test]
    fn no_time_is_too_short_or_too_long() {
        for digits in [1, DIGITS] {
            let mut latency = Latency::with_digits(digits);
            for value in [0, 1, u64::MAX, LONGEST_NS] {
                latency.record(value);
            }
            assert_eq!(latency.count(), 4);
            assert!(latency.max_ns() >= LONGEST_NS);
            assert!(latency.quantile_ns(1.0) >= LONGEST_NS);
        }
    }
}
