//! Jacobians by differences that stand out of the noise, and Broyden's update.

use std::ops::Range;

use super::corrector::Corrected;
use super::{Problem, Space, dot, norm};
use crate::{Matrix, Vector};

/// How far an unknown is moved to see what it does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Least move, in scaled unknowns.
    pub least: f64,
    /// Greatest move, in scaled unknowns.
    pub most: f64,
    /// The residual must change by this many standard deviations.
    pub over_noise: f64,
}

impl Difference {
    /// The move for a column that is thought to be `column`.
    ///
    /// The error of a difference is noise/move + curvature·move: the move is the
    /// smallest that stands out.
    fn size(&self, column: f64, noise: f64) -> f64 {
        let needed = if column > 0.0 { self.over_noise * noise / column } else { 0.0 };
        needed.clamp(self.least, self.most)
    }

    /// Measures ∂residual/∂(scaled unknowns), n rows of n + 1 entries, by one-sided
    /// differences around `now`; away from a limit where one is in the way. `columns`
    /// says which unknowns to move; the others stay as they are known. Whether it is
    /// measured.
    pub(super) fn measure<P: Problem>(
        &self,
        problem: &mut P,
        space: &Space,
        now: &mut Corrected,
        columns: Range<usize>,
    ) -> Result<bool, P::Error> {
        let (at, here) = (&now.at, &now.evaluation);
        let shape = (here.residual.len(), at.len());
        if let Some(known) = problem.jacobian(&space.real(at), columns.clone()) {
            let scaled = |i, j| known[(i, j)] * space.scale[j];
            now.jacobian = Some(Matrix::from_fn(shape.0, shape.1, scaled));
            return Ok(true);
        }
        let mut jacobian = now.jacobian.clone().unwrap_or_else(|| Matrix::zeros(shape.0, shape.1));
        for column in columns {
            let mut size = self.size(norm(jacobian.column(column).iter()), here.noise());
            let (moved, change) = loop {
                let Some(moved) = allowed_move(space, at, column, size) else { return Ok(false) };
                let there = problem.evaluate(&space.real(&moved))?;
                now.evaluations += 1;
                if !there.is_finite() {
                    return Ok(false);
                }
                // Nothing was known of this column, or it has shrunk: a change
                // lost in the noise says nothing.
                let change = there.change_since(here);
                if norm(&change) >= 0.5 * self.over_noise * here.noise() || size >= self.most {
                    break (moved, change);
                }
                size = (8.0 * size).min(self.most);
            };
            let move_by = moved[column] - at[column];
            for (entry, change) in jacobian.column_mut(column).iter_mut().zip(change) {
                *entry = change / move_by;
            }
        }
        now.jacobian = Some(jacobian);
        Ok(true)
    }
}

/// Broyden's rank-one update: the smallest change that explains the last
/// step. `least` is the change of the residual below which the step says
/// nothing but noise.
pub(super) fn update(jacobian: &mut Matrix, step: &Vector, change: &[f64], least: f64) {
    let square = dot(step, step);
    if square == 0.0 || norm(change) <= least {
        return;
    }
    for (mut row, change) in jacobian.row_iter_mut().zip(change) {
        let miss = (change - dot(&row, step)) / square;
        row += step.transpose() * miss;
    }
}

/// The step that cancels `residual` and moves by `along` in the direction of
/// `row`, which is exact and never updated. `None` if the system is singular.
pub(super) fn solve(
    jacobian: &Matrix,
    row: &Vector,
    residual: &[f64],
    along: f64,
) -> Option<Vector> {
    let (size, last) = (row.len(), row.len() - 1);
    if jacobian.shape() != (last, size) {
        return None;
    }
    // Rows in one size: the arclength row has length one.
    let weights: Vec<f64> =
        jacobian.row_iter().map(|row| 1.0 / norm(row.iter()).max(f64::MIN_POSITIVE)).collect();
    let matrix =
        Matrix::from_fn(
            size,
            size,
            |i, j| {
                if i == last { row[j] } else { jacobian[(i, j)] * weights[i] }
            },
        );
    let right =
        Vector::from_fn(size, |i, _| if i == last { along } else { -residual[i] * weights[i] });
    matrix.lu().solve(&right).filter(|step| step.iter().all(|v| v.is_finite()))
}

/// Unit vector along which the residual does not change, on the side of
/// `forward`.
pub(super) fn tangent(jacobian: &Matrix, forward: &Vector) -> Option<Vector> {
    let step = solve(jacobian, forward, &vec![0.0; jacobian.nrows()], 1.0)?;
    let length = norm(&step);
    (length > 0.0).then(|| step / length)
}

/// `at` with one unknown moved by `size`, to the side that is allowed.
fn allowed_move(space: &Space, at: &Vector, column: usize, size: f64) -> Option<Vector> {
    // Outward first: there the motion is larger and the noise relatively smaller.
    let outward = if at[column] < 0.0 { -size } else { size };
    [outward, -outward].into_iter().find_map(|change| {
        let mut moved = at.clone();
        moved[column] += change;
        space.allows_scaled(&moved).then_some(moved)
    })
}
