//! How far a point may be off: what the residual leaves open, and noise.
//!
//! Where both sides differ by Φ the measured response is off by about G Φ. Near
//! a resonance of the whole G is 7 to 10: a small residual is no small error. G
//! is read off the evaluations that were made anyway.

use numerics::continuation::Evaluation;
use numerics::{Matrix, Vector};

use super::Trial;

/// G: change of the measured coefficients per change of the residual, at a fixed
/// frequency.
#[derive(Debug, Clone, PartialEq)]
pub struct Amplification {
    matrix: Matrix,
    /// Share of what it says that stays in doubt.
    doubt: f64,
}

/// Evaluations that a pooled amplification is read off, for each of its terms.
const POOLED: usize = 4;

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
        let left = Matrix::from_fn(others.len(), columns, |i, j| {
            if j < n {
                (others[i].residual[j] - last.residual[j]) / size
            } else {
                (frequency(others[i]) - frequency(last)) / hz
            }
        });
        let base = response(last);
        let right = Matrix::from_fn(others.len(), m, |i, j| response(others[i])[j] - base[j]);
        let solved = left.svd(true, true).solve(&right, 1e-6).ok()?;
        let matrix = solved.rows(0, n).transpose() / size;
        matrix.iter().all(|v| v.is_finite()).then_some(Self { matrix, doubt: DOUBT })
    }

    /// From the evaluations nearest to `at`, of other points, too: where few are
    /// made for a point, those say little of it. At a fixed frequency Φ depends on
    /// the measured motion x alone, and its slope changes with the frequency:
    ///
    ///   ΔΦ = B Δx + C Δω Δx + c Δω + d Δω²,  G = B⁻¹
    ///
    /// by least squares, each evaluation by its noise. `scale` divides the unknowns
    /// to tell what is near. `None` with too few evaluations.
    pub(super) fn pooled(trials: &[Trial], at: &Trial, scale: &[f64]) -> Option<Self> {
        let n = at.residual.len();
        let columns = 2 * n + 2;
        let far = |t: &Trial| {
            let apart = t.unknowns.iter().zip(&at.unknowns).zip(scale);
            apart.map(|((a, b), s)| ((a - b) / s).abs()).fold(0.0, f64::max)
        };
        let finite = |t: &&Trial| t.residual.iter().all(|r| r.is_finite());
        let mut near: Vec<&Trial> = trials.iter().filter(finite).collect();
        near.sort_by(|a, b| far(a).total_cmp(&far(b)));
        near.truncate(POOLED * columns);
        if near.len() < 2 * columns {
            return None;
        }
        let (motion, hz) = (matched_motion(at), |t: &Trial| t.unknowns[n]);
        let weights = weights(&near);
        let terms = |t: &Trial| -> Vec<f64> {
            let (moved, shift) = (changes(&matched_motion(t), &motion), hz(t) - hz(at));
            let turned = moved.iter().map(|x| x * shift).collect::<Vec<_>>();
            [moved, turned, vec![shift, shift * shift]].concat()
        };
        let mut left = Matrix::from_fn(near.len(), columns, |i, j| terms(near[i])[j]);
        // Columns in one size: metres beside hertz.
        let sizes: Vec<f64> = left.column_iter().map(|c| c.amax().max(f64::MIN_POSITIVE)).collect();
        left.row_iter_mut().zip(&weights).for_each(|(mut row, weight)| row *= *weight);
        left.column_iter_mut().zip(&sizes).for_each(|(mut column, size)| column /= *size);
        let right = Matrix::from_fn(near.len(), n, |i, j| {
            weights[i] * (near[i].residual[j] - at.residual[j])
        });
        let solved = left.clone().svd(true, true).solve(&right, 1e-9).ok()?;
        let slopes = Matrix::from_fn(n, n, |i, j| solved[(j, i)] / sizes[j]);
        // What the fit leaves says how well its slopes are known.
        let misfit = (&left * &solved - &right).norm_squared();
        let variance = misfit / (n * (near.len() - columns)) as f64;
        let inverse = (left.transpose() * &left).pseudo_inverse(1e-18).ok()?;
        let deviation = (0..n).map(|j| (variance * inverse[(j, j)]).max(0.0).sqrt() / sizes[j]);
        let deviation = deviation.fold(0.0, f64::max);
        let whole = slopes.try_inverse()?;
        // Of the matched motion the fundamentals.
        let (width, first) = matched_width(at);
        let rows: Vec<usize> = (0..n / width)
            .flat_map(|dof| [dof * width + 1 - first, dof * width + 2 - first])
            .collect();
        let matrix = whole.select_rows(&rows);
        let found = Self { doubt: DOUBT.max(deviation * whole.singular_values().max()), matrix };
        let usable = found.doubt.is_finite() && found.matrix.iter().all(|v| v.is_finite());
        usable.then_some(found)
    }
}

fn changes(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Matched coefficients of a DOF, and the first of them: 0 if the mean is one.
fn matched_width(trial: &Trial) -> (usize, usize) {
    let width = trial.residual.len() / trial.orbit.measured.len().max(1);
    (width.max(1), usize::from(width.is_multiple_of(2)))
}

/// The measured motion of all DOFs, as far as it is matched.
fn matched_motion(trial: &Trial) -> Vec<f64> {
    let (width, first) = matched_width(trial);
    trial.orbit.measured.iter().flat_map(|c| c.0[first..first + width].to_vec()).collect()
}

/// One over the deviation of each evaluation, those without noise alike.
fn weights(trials: &[&Trial]) -> Vec<f64> {
    let of = |t: &Trial| {
        let (width, first) = matched_width(t);
        let all = t.orbit.difference_scatter.iter().flat_map(|s| &s.0[first..first + width]);
        all.map(|s| s * s).sum::<f64>().sqrt()
    };
    let noise: Vec<f64> = trials.iter().map(|t| of(t)).collect();
    let mean = noise.iter().sum::<f64>() / noise.len().max(1) as f64;
    noise.iter().map(|s| if mean > 0.0 { mean / s.max(0.1 * mean) } else { 1.0 }).collect()
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
        let Some(Amplification { matrix, doubt }) = amplification else {
            fundamental.push(x);
            interval_m.push(f64::NAN);
            continue;
        };
        let rows = matrix.rows(2 * dof, 2);
        let left_open = rows * Vector::from_column_slice(&left.residual);
        let spread: f64 = (0..n).map(|j| (rows.column(j).norm() * scatter[j]).powi(2)).sum();
        let noise = 2.0 * (own * own + spread).sqrt();
        let size = left_open.norm();
        if size <= CORRECTED * x[0].hypot(x[1]) {
            x = [x[0] - left_open[0], x[1] - left_open[1]];
            interval_m.push(doubt * size + noise);
        } else {
            interval_m.push(size + noise);
        }
        fundamental.push(x);
    }
    Known { fundamental, interval_m }
}
