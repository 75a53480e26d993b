//! The loop around a compensated transfer system: stable or not, and by how much.

use std::f64::consts::{PI, TAU};

use model::equations::Equations;
use model::specimen::Specimen;
use nalgebra::{Complex, DMatrix};
use numerics::eigen;

use super::response::hold;

/// The loop without transfer system and compensator: one interface DOF, linear.
#[derive(Debug, Clone, Copy)]
pub struct LoopSide<'a> {
    /// What is simulated.
    pub numerical: &'a Equations,
    /// What stands in the laboratory.
    pub specimen: &'a Specimen,
    /// Whole samples by which the measured force comes late.
    pub force_delay_samples: usize,
}

/// What is expected of a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoopJudgement {
    /// It is stable; `None` where no delay ever makes it unstable.
    Stable {
        /// Delay it bears beside what it has, s, and the frequency at which it
        /// would then go, Hz.
        margin: Option<(f64, f64)>,
    },
    /// It is not.
    Unstable {
        /// Number of growing motions.
        growing: usize,
    },
}

impl LoopJudgement {
    /// Whether it is stable.
    pub fn is_stable(&self) -> bool {
        matches!(self, Self::Stable { .. })
    }

    /// The delay it bears beside what it has, s; infinite where none harms.
    pub fn margin_s(&self) -> Option<f64> {
        match self {
            Self::Stable { margin } => Some(margin.map_or(f64::INFINITY, |(margin_s, _)| margin_s)),
            Self::Unstable { .. } => None,
        }
    }
}

/// Larger models would make the table slow; they are to be rehearsed.
const MOST_DOFS: usize = 60;
/// Two neighbours on the curve differ by less than this angle, rad.
const TURN: f64 = 0.3;

impl LoopSide<'_> {
    /// The lowest natural frequency of the whole structure, Hz.
    pub fn first_mode_hz(&self) -> Option<f64> {
        let b = self.numerical.interface_matrix();
        let whole = |part: &DMatrix<f64>, taken: &DMatrix<f64>| part + &b * taken * b.transpose();
        let stiffness = whole(&self.numerical.stiffness, &self.specimen.stiffness);
        let mass = whole(&self.numerical.mass, &self.specimen.mass);
        let modes = eigen::symmetric_modes(&stiffness, &mass).ok()?;
        let lowest = modes.omega_rad_s.iter().copied().find(|omega| *omega > 0.0)?;
        Some(lowest / TAU)
    }

    /// Judges the loop closed by a tracking response T(s) (achieved over desired):
    ///   1 + bᵀ(s²M + sC + K)⁻¹b (s²m + sc + k) T(s) e^{−s d} hold(s) = 0
    /// by counting how often the left side goes round zero along the imaginary
    /// axis. `None` where the loop is nonlinear, has several interface DOFs or is
    /// large.
    pub(super) fn judge(
        &self,
        tracking: &dyn Fn(Complex<f64>) -> Complex<f64>,
        step_s: f64,
    ) -> Option<LoopJudgement> {
        let (numerical, specimen) = (self.numerical, self.specimen);
        let plain = numerical.elements.is_empty() && specimen.elements.is_empty();
        if !plain || numerical.interface.len() != 1 || numerical.size() > MOST_DOFS {
            return None;
        }
        let poles = open_poles(numerical)?;
        let fastest = poles.iter().map(|pole| pole.norm()).fold(0.0, f64::max);
        let slowest = poles.iter().map(|p| p.norm()).filter(|p| *p > 0.0).fold(fastest, f64::min);
        // Poles on the axis itself are passed on their right.
        let shift = 1e-7 * slowest;
        let b = numerical.interface_matrix().column(0).into_owned();
        let force_late_s = self.force_delay_samples as f64 * step_s;
        let open = |omega: f64| -> Option<Complex<f64>> {
            let s = Complex::new(shift, omega);
            let dynamic = |m: f64, c: f64, k: f64| s * s * m + s * c + k;
            let matrix = DMatrix::from_fn(b.len(), b.len(), |i, j| {
                dynamic(
                    numerical.mass[(i, j)],
                    numerical.damping[(i, j)],
                    numerical.stiffness[(i, j)],
                )
            });
            let right = b.map(Complex::from);
            let solved = matrix.lu().solve(&right)?;
            let receptance: Complex<f64> = right.iter().zip(&solved).map(|(b, x)| b * x).sum();
            let impedance = dynamic(
                specimen.mass[(0, 0)],
                specimen.damping[(0, 0)],
                specimen.stiffness[(0, 0)],
            );
            let late = (-s * force_late_s).exp() * hold(s, step_s);
            Some(receptance * impedance * tracking(s) * late)
        };
        let curve = follow(&open, &poles, PI / step_s)?;
        // Half the turns, the axis below zero being the mirror image.
        let turns: f64 = curve.windows(2).map(|w| ((w[1].1 + 1.0) / (w[0].1 + 1.0)).arg()).sum();
        let unstable_open = poles.iter().filter(|pole| pole.re > shift).count() as f64;
        let growing = (unstable_open - turns / PI).round();
        if growing >= 1.0 {
            return Some(LoopJudgement::Unstable { growing: growing as usize });
        }
        Some(LoopJudgement::Stable { margin: delay_margin(&open, &curve) })
    }
}

/// Eigenvalues of the numerical part alone.
fn open_poles(numerical: &Equations) -> Option<Vec<Complex<f64>>> {
    let n = numerical.size();
    let inverse = numerical.mass.clone().try_inverse()?;
    let mut system = DMatrix::zeros(2 * n, 2 * n);
    system.view_mut((0, n), (n, n)).fill_with_identity();
    system.view_mut((n, 0), (n, n)).copy_from(&(-&inverse * &numerical.stiffness));
    system.view_mut((n, n), (n, n)).copy_from(&(-&inverse * &numerical.damping));
    let values = eigen::eigenvalues(&system).ok()?;
    Some(values.iter().map(|value| Complex::new(value.re, value.im)).collect())
}

/// The open loop from zero to the highest frequency, finely enough that it
/// turns little from point to point.
fn follow(
    open: &dyn Fn(f64) -> Option<Complex<f64>>,
    poles: &[Complex<f64>],
    highest: f64,
) -> Option<Vec<(f64, Complex<f64>)>> {
    let mut marks: Vec<f64> = (0..=400).map(|i| highest * (f64::from(i) / 400.0).powi(3)).collect();
    for pole in poles.iter().filter(|pole| pole.im > 0.0 && pole.im < highest) {
        let width = pole.re.abs().max(1e-6 * pole.im);
        marks.extend((-6..=6).map(|i| pole.im + f64::from(i) * 0.5 * width));
    }
    marks.retain(|omega| (0.0..=highest).contains(omega));
    marks.sort_by(f64::total_cmp);
    let mut curve = vec![(0.0, open(0.0)?)];
    for mark in marks.into_iter().skip(1) {
        // Newest on top; split where the curve turns too much.
        let mut ahead = vec![(mark, open(mark)?)];
        while let Some(&(omega, value)) = ahead.last() {
            let (from, before) = *curve.last()?;
            let turn = ((value + 1.0) / (before + 1.0)).arg().abs();
            if turn > TURN && omega - from > 1e-12 * highest && ahead.len() < 60 {
                let middle = 0.5 * (from + omega);
                ahead.push((middle, open(middle)?));
            } else {
                curve.push((omega, value));
                ahead.pop();
            }
        }
    }
    Some(curve)
}

/// The smallest delay that brings the curve to −1: at every |L| = 1 a delay τ
/// turns L by ωτ, and π + arg L is what is left to −1.
fn delay_margin(
    open: &dyn Fn(f64) -> Option<Complex<f64>>,
    curve: &[(f64, Complex<f64>)],
) -> Option<(f64, f64)> {
    let mut smallest: Option<(f64, f64)> = None;
    for pair in curve.windows(2) {
        let [(mut low, below), (mut high, above)] = [pair[0], pair[1]];
        if (below.norm() > 1.0) == (above.norm() > 1.0) {
            continue;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if (open(middle)?.norm() > 1.0) == (below.norm() > 1.0) {
                low = middle;
            } else {
                high = middle;
            }
        }
        let left = (PI + open(high)?.arg()).rem_euclid(TAU) / high;
        if high > 0.0 && smallest.is_none_or(|(margin, _)| left < margin) {
            smallest = Some((left, high / TAU));
        }
    }
    smallest
}
