//! Cyclictest, the measure of wake-up latency on Linux, run beside ours.

use std::io;
use std::process::Command;

use thiserror::Error;

use super::Latencies;

/// Latencies above this are only counted by cyclictest, µs.
const HISTOGRAM_US: usize = 20_000;

/// What cyclictest found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cyclictest {
    /// Its period, whole microseconds as it takes them.
    pub(super) interval_us: u64,
    /// Counts of 0 µs, 1 µs …, each rounded down.
    counts: Vec<u64>,
    /// Beyond the histogram.
    beyond: u64,
    /// The longest, µs.
    max_us: u64,
}

/// Why there is nothing to compare with.
#[derive(Debug, Error)]
pub(super) enum CyclictestError {
    /// Not installed.
    #[error("cyclictest is not installed (Debian and Ubuntu: rt-tests): nothing to compare with")]
    Missing,
    /// It could not be started.
    #[error("cyclictest cannot be started: {0}")]
    Start(io::Error),
    /// It ended with an error.
    #[error("cyclictest failed: {0}")]
    Failed(String),
    /// It said something else than expected.
    #[error("cyclictest's answer is not understood")]
    Unreadable,
    /// There was no slice.
    #[error("cyclictest was not run")]
    NotRun,
}

impl Cyclictest {
    /// Runs it with the same period, priority and processor as ours.
    pub(super) fn run(
        rate_hz: f64,
        seconds: f64,
        priority: Option<u8>,
        cpu: Option<usize>,
    ) -> Result<Self, CyclictestError> {
        let interval_us = (1e6 / rate_hz).round().max(1.0) as u64;
        let loops = (seconds * rate_hz).ceil().max(1.0) as u64;
        let mut command = Command::new("cyclictest");
        command.args(["--quiet", "--mlockall", "--threads=1"]);
        command.arg(format!("--interval={interval_us}")).arg(format!("--loops={loops}"));
        command.arg(format!("--histogram={HISTOGRAM_US}"));
        match priority {
            Some(priority) => {
                command.arg("--policy=fifo").arg(format!("--priority={priority}"));
            }
            None => {
                command.arg("--policy=other");
            }
        }
        if let Some(cpu) = cpu {
            command.arg(format!("--affinity={cpu}"));
        }
        let output = command.output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CyclictestError::Missing,
            _ => CyclictestError::Start(error),
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let line = said.lines().next().unwrap_or("no reason given").to_owned();
            return Err(CyclictestError::Failed(line));
        }
        Self::parse(&String::from_utf8_lossy(&output.stdout), interval_us)
    }

    /// Reads the histogram it prints.
    fn parse(text: &str, interval_us: u64) -> Result<Self, CyclictestError> {
        let mut found = Self { interval_us, counts: Vec::new(), beyond: 0, max_us: 0 };
        let mut max = None;
        for line in text.lines() {
            let tail = |prefix: &str| {
                line.strip_prefix(prefix)?.split_whitespace().next()?.parse::<u64>().ok()
            };
            if let Some(most) = tail("# Max Latencies:") {
                max = Some(most);
            } else if let Some(beyond) = tail("# Histogram Overflows:") {
                found.beyond = beyond;
            } else if !line.starts_with('#') {
                let mut words = line.split_whitespace().map(str::parse::<u64>);
                if let (Some(Ok(at)), Some(Ok(count))) = (words.next(), words.next()) {
                    let at = usize::try_from(at).unwrap_or(usize::MAX);
                    if at > HISTOGRAM_US {
                        return Err(CyclictestError::Unreadable);
                    }
                    if found.counts.len() <= at {
                        found.counts.resize(at + 1, 0);
                    }
                    found.counts[at] += count;
                }
            }
        }
        found.max_us = max.ok_or(CyclictestError::Unreadable)?;
        if found.count() == 0 { Err(CyclictestError::Unreadable) } else { Ok(found) }
    }

    /// Both together.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
        self.beyond += other.beyond;
        self.max_us = self.max_us.max(other.max_us);
        self
    }

    /// In numbers.
    pub(super) fn latencies(&self) -> Latencies {
        let (p50_s, p99_s) = (self.quantile_s(0.5), self.quantile_s(0.99));
        Latencies { p50_s, p99_s, max_s: 1e-6 * self.max_us as f64 }
    }

    /// Latencies counted.
    fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }

    /// The time that a share of all stays below, s. It counts whole microseconds
    /// rounded down, so the middle of the one in which the share lies; beyond
    /// its histogram it knows the longest alone.
    fn quantile_s(&self, share: f64) -> f64 {
        let wanted = (share * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let place = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        place.map_or(1e-6 * self.max_us as f64, |at| 1e-6 * (at as f64 + 0.5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000000 000000\n\
                        000001 000002\n000002 000006\n000009 000001\n# Min Latencies: 00001\n\
                        # Avg Latencies: 00002\n# Max Latencies: 20500\n\
                        # Histogram Overflows: 00001\n# Histogram Overflow at cycle number:\n\
                        # Thread 0: 00042\n";

    #[test]
    fn its_histogram_is_read_and_summed() {
        let found = Cyclictest::parse(SAID, 1000).unwrap();
        assert_eq!((found.count(), found.max_us, found.beyond), (10, 20_500, 1));
        assert!((found.quantile_s(0.5) - 2.5e-6).abs() < 1e-15);
        assert!((found.quantile_s(0.9) - 9.5e-6).abs() < 1e-15);
        assert!((found.quantile_s(1.0) - 20_500e-6).abs() < 1e-15);
        let both = found.clone().plus(&found);
        assert_eq!(both.count(), 20);
        assert_eq!(both.quantile_s(0.5), found.quantile_s(0.5));
    }

    #[test]
    fn other_answers_are_refused() {
        for said in ["", "# Max Latencies: 5\n", "0001 0002\n", "# Max Latencies: x\n1 2\n"] {
            assert!(Cyclictest::parse(said, 1000).is_err(), "{said}");
        }
        let huge = "99999999999 1\n# Max Latencies: 5\n";
        assert!(Cyclictest::parse(huge, 1000).is_err(), "a hostile index takes no memory");
    }
}
