//! What a loop with several interface DOFs bears if each differs on its own.
//!
//! The eigenvalues of L tell of DOFs that are all amplified, turned or delayed
//! together. A loop whose DOFs work against each other may bear much of that and
//! hardly any difference between them.

use std::f64::consts::TAU;

use numerics::solve;
use numerics::{Complex, ComplexMatrix};

use super::{Curve, OpenLoop};

/// Sweeps of the scaling, and of the search for the worst frequency.
const SWEEPS: usize = 12;
const NARROWED: usize = 30;

/// The disk margin of a stable loop.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskMargin {
    /// α: the least of σ_min(D (I + L) D⁻¹) over all frequencies, D the diagonal
    /// scaling that makes it largest. Any factors 1/(1 + δ) on the forces, one for
    /// each DOF, leave the loop stable as long as every |δ| < α.
    pub alpha: f64,
    /// Where it is least.
    pub frequency_hz: f64,
    /// The direction in which the loop is weakest, one entry per interface DOF, the
    /// largest 1; those that move against it are negative.
    pub direction: Vec<f64>,
}

impl DiskMargin {
    /// Factors between which every force may lie on its own.
    pub fn gain(&self) -> (f64, f64) {
        let above = if self.alpha < 1.0 { 1.0 / (1.0 - self.alpha) } else { f64::INFINITY };
        (1.0 / (1.0 + self.alpha), above)
    }

    /// Angle by which every force may be turned on its own, rad.
    pub fn phase_rad(&self) -> f64 {
        2.0 * (0.5 * self.alpha).min(1.0).asin()
    }
}

/// The margin of a stable loop with several interface DOFs; `None` with one, where
/// the distance from −1 says the same.
pub(super) fn disk_margin(open: &OpenLoop, curve: &Curve) -> Option<DiskMargin> {
    if curve.growing > 0 || curve.points.first().is_none_or(|point| point.loci.len() < 2) {
        return None;
    }
    let at = |omega: f64| {
        let inverse = sensitivity(open, Complex::new(curve.shift_1_s, omega))?;
        Some((scaled(inverse).singular_values().max(), omega))
    };
    let all: Vec<(f64, f64)> =
        curve.points.iter().filter_map(|point| at(point.omega_rad_s)).collect();
    let worst = (0..all.len()).max_by(|&a, &b| all[a].0.total_cmp(&all[b].0))?;
    let mut best = all[worst];
    // Between the neighbours of the worst point, by thirds.
    let mut low = all[worst.saturating_sub(1)].1;
    let mut high = all[(worst + 1).min(all.len() - 1)].1;
    for _ in 0..NARROWED {
        let third = (high - low) / 3.0;
        let (Some(first), Some(second)) = (at(low + third), at(high - third)) else { break };
        if first.0 > second.0 {
            high -= third
        } else {
            low += third
        }
        best = [best, first, second].into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    }
    let (stretch, omega) = best;
    let direction = direction(&sensitivity(open, Complex::new(curve.shift_1_s, omega))?);
    Some(DiskMargin { alpha: 1.0 / stretch, frequency_hz: omega / TAU, direction })
}

/// (I + L)⁻¹.
fn sensitivity(open: &OpenLoop, s: Complex) -> Option<ComplexMatrix> {
    let gain = open.at(s)?.matrix;
    solve::inverse(&(ComplexMatrix::identity(gain.nrows(), gain.nrows()) + gain))
}

/// D S D⁻¹ with rows and columns of one size (Osborne): forces and moments, metres
/// and radians then weigh alike.
fn scaled(mut matrix: ComplexMatrix) -> ComplexMatrix {
    let n = matrix.nrows();
    for _ in 0..SWEEPS {
        for i in 0..n {
            let others = || (0..n).filter(|&j| j != i);
            let row: f64 = others().map(|j| matrix[(i, j)].norm_sqr()).sum();
            let column: f64 = others().map(|j| matrix[(j, i)].norm_sqr()).sum();
            let scale = (column / row).powf(0.25);
            if scale.is_finite() && scale > 0.0 {
                matrix.row_mut(i).scale_mut(scale);
                matrix.column_mut(i).scale_mut(1.0 / scale);
            }
        }
    }
    matrix
}

/// The forces that are amplified most, in the file's own units.
fn direction(matrix: &ComplexMatrix) -> Vec<f64> {
    let vectors = matrix.clone().svd(true, false).u.unwrap_or_else(|| matrix.clone());
    let first = vectors.column(0);
    let largest = first.iter().copied().max_by(|a, b| a.norm().total_cmp(&b.norm()));
    let largest = largest.unwrap_or(Complex::ONE);
    first.iter().map(|x| (x / largest).norm().copysign((x / largest).re)).collect()
}
