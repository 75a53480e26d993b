//! Periodic signals and orbits by their Fourier coefficients.

use std::f64::consts::PI;
use std::num::ParseFloatError;

use serde::{Deserialize, Serialize};

/// Fourier coefficients of a periodic signal: mean, then cosine and sine of
/// harmonic 1, 2, … Saved as one text, in which what is not finite stays so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Coefficients(pub Vec<f64>);

impl Coefficients {
    /// Zeros up to this harmonic.
    pub fn zeros(harmonics: usize) -> Self {
        Self(vec![0.0; 2 * harmonics + 1])
    }

    /// The highest harmonic.
    pub fn harmonics(&self) -> usize {
        self.0.len() / 2
    }

    /// √(A² + B²) of a harmonic.
    pub fn amplitude(&self, harmonic: usize) -> f64 {
        self.0[2 * harmonic - 1].hypot(self.0[2 * harmonic])
    }

    /// As if the signal had come `cycles` of the fundamental earlier.
    pub fn advance(&mut self, cycles: f64) {
        for (k, pair) in self.0[1..].chunks_exact_mut(2).enumerate() {
            let (sin, cos) = (2.0 * PI * (k + 1) as f64 * cycles).sin_cos();
            let (a, b) = (pair[0], pair[1]);
            pair[0] = a * cos + b * sin;
            pair[1] = b * cos - a * sin;
        }
    }
}

impl From<Coefficients> for String {
    fn from(coefficients: Coefficients) -> Self {
        let texts: Vec<String> = coefficients.0.iter().map(|value| format!("{value:e}")).collect();
        texts.join(" ")
    }
}

impl TryFrom<String> for Coefficients {
    type Error = ParseFloatError;

    fn try_from(text: String) -> Result<Self, ParseFloatError> {
        text.split_whitespace().map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

/// What a rig and the simulated side do under a periodic target, once settled.
/// One entry per interface DOF in every list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Orbit {
    /// Of the rig, m; the phase is that of the load.
    pub measured: Vec<Coefficients>,
    /// Standard deviation of every coefficient of the rig.
    pub measured_scatter: Vec<Coefficients>,
    /// Of the simulated side, m.
    pub simulated: Vec<Coefficients>,
    /// Standard deviation of measured − simulated, whose noise is shared.
    pub difference_scatter: Vec<Coefficients>,
    /// Of the measured force, N.
    pub force: Vec<Coefficients>,
    /// Time on the rig, s.
    pub time_s: f64,
    /// Estimates averaged.
    pub estimates: usize,
    /// Whether it settled within its time.
    pub settled: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_advanced_signal_came_earlier() {
        let signal = Coefficients(vec![0.5, 1.0, 2.0, -0.3, 0.4]);
        let value = |c: &Coefficients, cycles: f64| {
            let mut sum = c.0[0];
            for k in 1..=2 {
                let (sin, cos) = (2.0 * PI * k as f64 * cycles).sin_cos();
                sum += c.0[2 * k - 1] * cos + c.0[2 * k] * sin;
            }
            sum
        };
        let mut early = signal.clone();
        early.advance(0.13);
        for t in [0.0, 0.2, 0.71] {
            assert!((value(&early, t) - value(&signal, t + 0.13)).abs() < 1e-12);
        }
        assert!((early.amplitude(1) - signal.amplitude(1)).abs() < 1e-12);
    }
}
