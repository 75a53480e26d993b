//! Distributions of one number, drawn from a seeded stream.

use crate::random::Stream;

/// How a number is distributed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Normal, cut off outside a range.
    Normal {
        /// Mean before the cut.
        mean: f64,
        /// Standard deviation before the cut.
        deviation: f64,
        /// What is kept.
        range: Truncation,
    },
    /// The logarithm is normal, cut off outside a range.
    LogNormal {
        /// Median before the cut.
        median: f64,
        /// Standard deviation of the natural logarithm.
        dispersion: f64,
        /// What is kept.
        range: Truncation,
    },
    /// Equally likely from `low` to `high`.
    Uniform {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// Rising straight from `low` to `mode`, falling straight to `high`.
    Triangular {
        /// Lowest value.
        low: f64,
        /// Most likely value.
        mode: f64,
        /// Highest value.
        high: f64,
    },
}

/// The draws that are kept, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Truncation {
    /// Lowest, −∞ for none.
    pub min: f64,
    /// Highest, ∞ for none.
    pub max: f64,
}

/// Draws before a truncated distribution is given up.
const TRIES: usize = 10_000;

impl Truncation {
    fn contains(self, value: f64) -> bool {
        (self.min..=self.max).contains(&value)
    }
}

impl Distribution {
    /// The next number; `None` if hardly any falls into the range that is kept.
    pub fn draw(&self, stream: &mut Stream) -> Option<f64> {
        match *self {
            Self::Normal { mean, deviation, range } => {
                kept(range, || mean + deviation * stream.normal())
            }
            Self::LogNormal { median, dispersion, range } => {
                kept(range, || median * (dispersion * stream.normal()).exp())
            }
            Self::Uniform { low, high } => Some(low + (high - low) * stream.uniform()),
            Self::Triangular { low, mode, high } => {
                // The inverse of the distribution function, a parabola on either side.
                let (p, width) = (stream.uniform(), high - low);
                let (rise, fall) = (mode - low, high - mode);
                Some(if width == 0.0 {
                    low
                } else if p * width < rise {
                    low + (p * width * rise).sqrt()
                } else {
                    high - ((1.0 - p) * width * fall).sqrt()
                })
            }
        }
    }
}

fn kept(range: Truncation, mut draw: impl FnMut() -> f64) -> Option<f64> {
    (0..TRIES).map(|_| draw()).find(|&value| range.contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of many draws.
    fn moments(distribution: Distribution) -> (f64, f64) {
        let mut stream = Stream::new(11, "moments");
        let n = 40_000;
        let draws: Vec<f64> =
            (0..n).map(|_| distribution.draw(&mut stream).expect("a draw")).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        (mean, variance.sqrt())
    }

    #[test]
    fn every_distribution_has_its_mean_and_deviation() {
        let none = Truncation { min: f64::NEG_INFINITY, max: f64::INFINITY };
        // Half a normal distribution: mean √(2/π), variance 1 − 2/π.
        let half = Truncation { min: 0.0, ..none };
        let pi = std::f64::consts::PI;
        let (s, t) = (0.2f64, 0.04f64);
        for (distribution, mean, deviation) in [
            (Distribution::Normal { mean: 3.0, deviation: 0.5, range: none }, 3.0, 0.5),
            (
                Distribution::Normal { mean: 0.0, deviation: 1.0, range: half },
                (2.0 / pi).sqrt(),
                (1.0 - 2.0 / pi).sqrt(),
            ),
            (
                Distribution::LogNormal { median: 2.0, dispersion: s, range: none },
                2.0 * (t / 2.0).exp(),
                2.0 * (t / 2.0).exp() * (t.exp() - 1.0).sqrt(),
            ),
            (Distribution::Uniform { low: -1.0, high: 2.0 }, 0.5, 3.0 / 12f64.sqrt()),
            (
                Distribution::Triangular { low: 0.0, mode: 1.0, high: 4.0 },
                5.0 / 3.0,
                (13.0f64 / 18.0).sqrt(),
            ),
            (Distribution::Triangular { low: 2.0, mode: 2.0, high: 2.0 }, 2.0, 0.0),
        ] {
            let (found_mean, found_deviation) = moments(distribution);
            // Four standard errors of 40 000 draws.
            let tolerance = 0.02 * deviation;
            assert!((found_mean - mean).abs() <= tolerance, "{distribution:?}: {found_mean}");
            assert!((found_deviation - deviation).abs() <= tolerance, "{distribution:?}");
        }
    }

    #[test]
    fn draws_stay_in_their_range_or_say_that_none_does() {
        let range = Truncation { min: 1.0, max: 1.2 };
        let cut = Distribution::Normal { mean: 0.0, deviation: 1.0, range };
        let mut stream = Stream::new(1, "cut");
        assert!((0..500).all(|_| range.contains(cut.draw(&mut stream).expect("a draw"))));
        let range = Truncation { min: 40.0, max: 41.0 };
        let nothing = Distribution::Normal { mean: 0.0, deviation: 1.0, range };
        assert_eq!(nothing.draw(&mut stream), None);
    }
}
