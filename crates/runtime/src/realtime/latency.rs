//! Latency histograms: filled by the loop, read by people.

use std::sync::atomic::{AtomicU32, Ordering};

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
#[derive(Debug, Clone)]
pub struct Latency {
    histogram: Histogram<u64>,
}

impl Latency {
    /// Counts one time.
    #[inline]
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
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        let mut histogram = histogram.expect("the bounds are constants that fit");
        // Its pages are touched here, not in the tick.
        histogram.saturating_record(LONGEST_NS);
        for exponent in 0..36 {
            histogram.saturating_record(1 << exponent);
        }
        histogram.reset();
        Self { histogram }
    }
}

/// Bins of a live histogram: eight to an octave, up to 2⁴⁰ ns.
const LIVE_BINS: usize = 8 * 41;

/// A coarse histogram that another thread may read while the loop fills it.
/// One thread writes, so a count needs no locked instruction.
#[derive(Debug)]
pub(super) struct LiveLatency {
    bins: Box<[AtomicU32]>,
}

impl LiveLatency {
    pub(super) fn new() -> Self {
        Self { bins: (0..LIVE_BINS).map(|_| AtomicU32::new(0)).collect() }
    }

    #[inline]
    pub(super) fn record(&self, nanoseconds: u64) {
        if let Some(bin) = self.bins.get(live_bin(nanoseconds)) {
            bin.store(bin.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Upper edge of the bin in which the share lies, ns; to an eighth of its size.
    pub(super) fn quantile_ns(&self, share: f64) -> Option<f64> {
        let counts: Vec<u64> =
            self.bins.iter().map(|bin| u64::from(bin.load(Ordering::Relaxed))).collect();
        let all: u64 = counts.iter().sum();
        let wanted = (share * all as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let place = counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        let (octave, part) = (place / 8, place % 8);
        Some(2f64.powi(octave as i32) * (1.0 + (part + 1) as f64 / 8.0))
    }
}

/// The octave of a time and the three bits below its leading one.
#[inline]
fn live_bin(nanoseconds: u64) -> usize {
    let value = nanoseconds.max(1);
    let octave = 63 - value.leading_zeros() as usize;
    let part = if octave >= 3 { value >> (octave - 3) & 7 } else { value << (3 - octave) & 7 };
    (8 * octave + part as usize).min(LIVE_BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_values() {
        let (mut latency, live) = (Latency::default(), LiveLatency::new());
        assert_eq!(latency.count(), 0);
        assert_eq!(live.quantile_ns(0.5), None);
        latency.record(1500);
        assert_eq!((latency.note("").min_s, latency.note("").max_s), (1.5e-6, 1.5e-6));
        latency = Latency::default();
        for microseconds in 1..=1000 {
            latency.record(1000 * microseconds);
            live.record(1000 * microseconds);
        }
        for (share, expected) in [(0.5, 500e3), (0.99, 990e3), (1.0, 1000e3)] {
            let found = latency.quantile_ns(share) as f64;
            assert!((found / expected - 1.0).abs() < 2e-3, "{share}: {found}");
            let found = live.quantile_ns(share).unwrap();
            assert!((0.99..1.126).contains(&(found / expected)), "{share}: {found}");
        }
        let note = latency.note("wake_up");
        assert_eq!(note.bins.iter().map(|bin| bin.2).sum::<u64>(), 1000);
        assert!(note.bins.windows(2).all(|pair| pair[0].1 <= pair[1].0 * (1.0 + 1e-12)));
        assert!((note.mean_s - 500.5e-6).abs() < 1e-6);
    }

    #[test]
    fn no_time_is_too_short_or_too_long() {
        let (mut latency, live) = (Latency::default(), LiveLatency::new());
        for value in [0, 1, u64::MAX, LONGEST_NS] {
            latency.record(value);
            live.record(value);
        }
        assert_eq!(latency.count(), 4);
        assert!(latency.max_ns() >= LONGEST_NS);
        assert!(live.quantile_ns(1.0).unwrap() > 1e12);
    }

    #[test]
    fn live_bins_rise_with_the_value() {
        let mut last = 0;
        for value in 1..100_000u64 {
            let bin = live_bin(value);
            assert!(bin >= last);
            last = bin;
        }
    }
}
