//! Fourier coefficients while the rig moves, one estimate per period.
//!
//! A window spans two periods and is weighted by 1 − cos(πθ), θ in periods: it
//! vanishes with its slope at both ends, so a period that is no whole number of
//! samples costs (h/T)³ instead of h/T, and it is blind to every other harmonic.
//! A second window lies one period later, so every period gives an estimate.

use model::periodic::Coefficients;

use super::generator::Phase;

#[derive(Debug, Clone)]
struct Window {
    weight: f64,
    /// Per signal: sums with 1, cos, sin, …
    sums: Vec<Vec<f64>>,
    /// Whether it has begun at its own start.
    whole: bool,
}

/// Two overlapping windows over several signals.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    windows: [Window; 2],
    /// Which of the two is in its second period.
    older: usize,
}

impl Windows {
    pub(super) fn new(signals: usize, harmonics: usize) -> Self {
        let window =
            Window { weight: 0.0, sums: vec![vec![0.0; 2 * harmonics + 1]; signals], whole: false };
        Self { windows: [window.clone(), window], older: 0 }
    }

    /// Begins anew: what was seen so far belongs to another target.
    pub(super) fn restart(&mut self) {
        for window in &mut self.windows {
            window.whole = false;
        }
    }

    /// Takes the signals of one tick.
    #[inline]
    pub(super) fn add(&mut self, phase: &Phase, signals: &[f64]) {
        // θ = φ in the younger window and φ + 1 in the older.
        let cosine = phase.half_cosine;
        for (index, window) in self.windows.iter_mut().enumerate() {
            let weight = if index == self.older { 1.0 + cosine } else { 1.0 - cosine };
            window.weight += weight;
            for (sums, &signal) in window.sums.iter_mut().zip(signals) {
                let weighted = weight * signal;
                sums[0] += weighted;
                for (pair, (cos, sin)) in sums[1..].chunks_exact_mut(2).zip(&phase.harmonics) {
                    pair[0] += weighted * cos;
                    pair[1] += weighted * sin;
                }
            }
        }
    }

    /// A period has ended: gives the estimates of the window that is complete.
    pub(super) fn wrap(&mut self, out: &mut [Coefficients]) -> bool {
        let done = &mut self.windows[self.older];
        let complete = done.whole;
        for (sums, out) in done.sums.iter_mut().zip(out) {
            let scale = 2.0 / done.weight;
            for (sum, out) in sums.iter_mut().zip(&mut out.0) {
                *out = scale * *sum;
                *sum = 0.0;
            }
            out.0[0] *= 0.5;
        }
        done.weight = 0.0;
        done.whole = true;
        self.older = 1 - self.older;
        complete
    }
}
