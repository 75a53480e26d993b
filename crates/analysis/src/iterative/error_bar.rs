//! How far a point may be off: what the residual leaves open, and noise.
//!
//! Where both sides differ by Φ the measured response is off by about G Φ. Near
//! a resonance of the whole G is 7 to 10: a small residual is no small error. G
//! is read off the evaluations that were made anyway.

use nalgebra::{DMatrix, DVector};
use numerics::continuation::Evaluation;

use super::Trial;

/// G: change of the measured coefficients per change of the residual, at a fixed
/// frequency.
#[derive(Debug, Clone, PartialEq)]
pub struct Amplification {
    matrix: DMatrix<f64>,
}

impl Amplification {
    /// From evaluations close to each other: Δx = G ΔΦ + g Δω by least squares.
    /// `None` with fewer evaluations than unknowns.
    pub fn estimate(trials: &[Trial]) -> Option<Self> {
        let (last, others) = trials.split_last()?;
        let (n, m) = (last.residual.len(), response(last).len());
        let fits = |t: &&Trial| t.residual.iter().all(|r| r.is_finite());
        let others: Vec<&Trial> = others.iter().filter(fits).collect();
        if others.len() < n {
            return None;
        }
        let frequency = |t: &Trial| t.unknowns.last().copied().unwrap_or(f64::NAN);
        let moved = others.iter().any(|t| frequency(t) != frequency(last));
        let columns = n + usize::from(moved);
        if others.len() < columns {
            return None;
        }
        // Scaled columns: metres beside hertz.
        let hz = others.iter().map(|t| (frequency(t) - frequency(last)).abs()).fold(0.0, f64::max);
        let size = others
            .iter()
            .flat_map(|t| changes(&t.residual, &last.residual))
            .fold(0.0, |most: f64, change| most.max(change.abs()));
        if size == 0.0 {
            return None;
        }
        let left = DMatrix::from_fn(others.len(), columns, |i, j| {
            if j < n {
                (others[i].residual[j] - last.residual[j]) / size
            } else {
                (frequency(others[i]) - frequency(last)) / hz
            }
        });
        let base = response(last);
        let right = DMatrix::from_fn(others.len(), m, |i, j| response(others[i])[j] - base[j]);
        let solved = left.svd(true, true).solve(&right, 1e-6).ok()?;
        let matrix = solved.rows(0, n).transpose() / size;
        matrix.iter().all(|v| v.is_finite()).then_some(Self { matrix })
    }

    /// Its greatest stretch.
    pub fn norm(&self) -> f64 {
        self.matrix.singular_values().max()
    }
}

fn changes(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Fundamental cosine and sine of every DOF.
fn response(trial: &Trial) -> Vec<f64> {
    trial.orbit.measured.iter().flat_map(|c| [c.0[1], c.0[2]]).collect()
}

/// A point's fundamental as it is known.
pub(super) struct Known {
    /// Cosine and sine of every DOF, less what the residual leaves open, m.
    pub(super) fundamental: Vec<[f64; 2]>,
    /// Half-width of the interval of its amplitude, m.
    pub(super) interval_m: Vec<f64>,
}

/// Share of the amplitude up to which the residual's part is taken out. Beyond
/// it, as at a fold, G says too little.
const CORRECTED: f64 = 0.05;
/// Share of a correction that stays in doubt: G comes from noisy differences.
const DOUBT: f64 = 0.25;

/// What is known of a point whose residual is thought to be `left`: with both
/// sides alike the response would be x − G Φ.
pub(super) fn known(
    trial: &Trial,
    left: &Evaluation,
    amplification: Option<&Amplification>,
) -> Known {
    let orbit = &trial.orbit;
    let (n, scatter) = (left.residual.len(), &left.scatter);
    let (mut fundamental, mut interval_m) = (Vec::new(), Vec::new());
    for (dof, measured) in orbit.measured.iter().enumerate() {
        let own = orbit.measured_scatter[dof].amplitude(1);
        let mut x = [measured.0[1], measured.0[2]];
        let Some(Amplification { matrix }) = amplification else {
            fundamental.push(x);
            interval_m.push(f64::NAN);
            continue;
        };
        let rows = matrix.rows(2 * dof, 2);
        let left_open = rows * DVector::from_column_slice(&left.residual);
        let spread: f64 = (0..n).map(|j| (rows.column(j).norm() * scatter[j]).powi(2)).sum();
        let noise = 2.0 * (own * own + spread).sqrt();
        let size = left_open.norm();
        if size <= CORRECTED * x[0].hypot(x[1]) {
            x = [x[0] - left_open[0], x[1] - left_open[1]];
            interval_m.push(DOUBT * size + noise);
        } else {
            interval_m.push(size + noise);
        }
        fundamental.push(x);
    }
    Known { fundamental, interval_m }
}
