//! Fourier coefficients while the rig moves, one estimate per period.
//!
//! A window spans two periods and is weighted by 1 − cos(πθ), θ in periods: it
//! vanishes with its slope at both ends, so a period that is no whole number of
//! samples costs (h/T)³ instead of h/T, and it is blind to every other harmonic.
//! A second window lies one period later, so every period gives an estimate.
//!
//! Both windows need the same two sums over a period, Σ s b and Σ cos(πφ) s b
//! with b the harmonics: in its first period a window is their difference, in its
//! second, where θ = φ + 1, their sum.

use model::periodic::Coefficients;
use numerics::harmonics::{self, PACK, Pack};

use super::generator::{Phase, packs};
use super::stretch::Stretch;

/// Two overlapping windows over several signals.
pub(super) struct Windows {
    /// Values of an estimate of one signal: 1, cos, sin, …
    width: usize,
    /// Signal by signal, in the order of the phase's basis: Σ s b, then
    /// Σ cos(πφ) s b, of this period.
    sums: Vec<Pack>,
    /// The same of the weight itself.
    weights: [f64; 2],
    /// What the window in its second period has from its first, signal by signal.
    first: Vec<f64>,
    first_weight: f64,
    /// Windows to come that have not begun at their own start.
    broken: usize,
}

impl Windows {
    pub(super) fn new(signals: usize, harmonics: usize) -> Self {
        let width = 2 * harmonics + 1;
        Self {
            width,
            sums: vec![[0.0; PACK]; 4 * packs(harmonics) * signals],
            weights: [0.0; 2],
            first: vec![0.0; width * signals],
            first_weight: 0.0,
            broken: 2,
        }
    }

    /// Begins anew: what was seen so far belongs to another target.
    pub(super) fn restart(&mut self) {
        self.broken = 2;
    }

    /// Takes the signals of a stretch: of each kind, all DOFs tick by tick.
    pub(super) fn add(&mut self, phase: &Phase, stretch: &Stretch) {
        let ticks = stretch.ticks;
        for half_cosine in &phase.half_cosines[..ticks] {
            self.weights[0] += 1.0;
            self.weights[1] += half_cosine;
        }
        let width = 4 * packs(self.width / 2);
        let rows = &phase.basis[..ticks * width];
        let mut sums = self.sums.chunks_exact_mut(width);
        for signal in stretch.signals() {
            for (dof, sums) in (&mut sums).take(stretch.dofs).enumerate() {
                harmonics::add_rows(sums, rows, &signal[dof..], stretch.dofs);
            }
        }
    }

    /// A period has ended: gives the estimates of the window that is complete.
    pub(super) fn wrap(&mut self, out: &mut [Coefficients]) -> bool {
        let [plain, curved] = self.weights;
        let scale = 2.0 / (self.first_weight + plain + curved);
        self.first_weight = plain - curved;
        self.weights = [0.0; 2];
        let quarter = packs(self.width / 2);
        let signals = self.sums.chunks_exact_mut(4 * quarter);
        for ((sums, first), out) in
            signals.zip(self.first.chunks_exact_mut(self.width)).zip(&mut *out)
        {
            let (plain, curved) = sums.as_flattened().split_at(2 * PACK * quarter);
            for (i, (first, out)) in first.iter_mut().zip(&mut out.0).enumerate() {
                // Mean, cos, sin, cos, sin, … from all cosines, then all sines.
                let sine = if i > 0 && i % 2 == 0 { PACK * quarter } else { 0 };
                let at = i.div_ceil(2) + sine;
                *out = scale * (*first + (plain[at] + curved[at]));
                *first = plain[at] - curved[at];
            }
            out.0[0] *= 0.5;
            sums.fill([0.0; PACK]);
        }
        let complete = self.broken == 0;
        self.broken = self.broken.saturating_sub(1);
        complete
    }
}
