//! Jacobians by differences that stand out of the noise, and Broyden's update.

use super::{Evaluation, Problem, Space, dot, norm};

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
}

/// ∂residual/∂(scaled unknowns): n rows of n + 1 entries.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Jacobian {
    pub(super) rows: Vec<Vec<f64>>,
}

impl Jacobian {
    /// By one-sided differences around `at`, where the residual is `here`; away
    /// from a limit where one is in the way. `columns` says which unknowns to
    /// move, `earlier` what is known of the others and of the sizes.
    pub(super) fn measure<P: Problem>(
        problem: &mut P,
        space: &Space,
        rule: Difference,
        at: &[f64],
        here: &Evaluation,
        columns: std::ops::Range<usize>,
        earlier: Option<&Self>,
    ) -> Result<Option<(Self, usize)>, P::Error> {
        let n = here.residual.len();
        if let Some(rows) = problem.jacobian(&space.real(at), columns.clone()) {
            let scaled =
                rows.iter().map(|row| row.iter().zip(&space.scale).map(|(j, s)| j * s).collect());
            return Ok(Some((Self { rows: scaled.collect() }, 0)));
        }
        let mut jacobian =
            earlier.cloned().unwrap_or_else(|| Self { rows: vec![vec![0.0; at.len()]; n] });
        let mut evaluations = 0;
        for column in columns {
            let known = norm(&jacobian.column(column));
            let mut size = rule.size(known, here.noise());
            let (moved, there) = loop {
                let Some(moved) = allowed_move(space, at, column, size) else { return Ok(None) };
                let there = problem.evaluate(&space.real(&moved))?;
                evaluations += 1;
                if !there.is_finite() {
                    return Ok(None);
                }
                // Nothing was known of this column, or it has shrunk: a change
                // lost in the noise says nothing.
                if distance(&there, here) >= 0.5 * rule.over_noise * here.noise()
                    || size >= rule.most
                {
                    break (moved, there);
                }
                size = (8.0 * size).min(rule.most);
            };
            let change = moved[column] - at[column];
            for (row, (b, a)) in
                jacobian.rows.iter_mut().zip(there.residual.iter().zip(&here.residual))
            {
                row[column] = (b - a) / change;
            }
        }
        Ok(Some((jacobian, evaluations)))
    }

    pub(super) fn column(&self, column: usize) -> Vec<f64> {
        self.rows.iter().map(|row| row[column]).collect()
    }

    /// Broyden's rank-one update: the smallest change that explains the last
    /// step. `least` is the change of the residual below which the step says
    /// nothing but noise.
    pub(super) fn update(&mut self, step: &[f64], change: &[f64], least: f64) {
        let square = dot(step, step);
        if square == 0.0 || norm(change) <= least {
            return;
        }
        for (row, change) in self.rows.iter_mut().zip(change) {
            let miss = (change - dot(row, step)) / square;
            for (entry, s) in row.iter_mut().zip(step) {
                *entry += miss * s;
            }
        }
    }

    /// The step that cancels `residual` and moves by `along` in the direction of
    /// `row`, which is exact and never updated. `None` if the system is singular.
    pub(super) fn solve(&self, row: &[f64], residual: &[f64], along: f64) -> Option<Vec<f64>> {
        let size = row.len();
        let mut matrix = nalgebra::DMatrix::zeros(size, size);
        let mut right = nalgebra::DVector::zeros(size);
        for (i, (entries, r)) in self.rows.iter().zip(residual).enumerate() {
            // Rows in one size: the arclength row has length one.
            let weight = 1.0 / norm(entries).max(f64::MIN_POSITIVE);
            for (j, entry) in entries.iter().enumerate() {
                matrix[(i, j)] = entry * weight;
            }
            right[i] = -r * weight;
        }
        for (j, entry) in row.iter().enumerate() {
            matrix[(size - 1, j)] = *entry;
        }
        right[size - 1] = along;
        let step = matrix.lu().solve(&right)?;
        step.iter().all(|v| v.is_finite()).then(|| step.iter().copied().collect())
    }

    /// Unit vector along which the residual does not change, on the side of
    /// `forward`.
    pub(super) fn tangent(&self, forward: &[f64]) -> Option<Vec<f64>> {
        let zeros = vec![0.0; self.rows.len()];
        let step = self.solve(forward, &zeros, 1.0)?;
        let length = norm(&step);
        (length > 0.0).then(|| step.iter().map(|v| v / length).collect())
    }
}

fn distance(a: &Evaluation, b: &Evaluation) -> f64 {
    let change: Vec<f64> = a.residual.iter().zip(&b.residual).map(|(a, b)| a - b).collect();
    norm(&change)
}

/// `at` with one unknown moved by `size`, to the side that is allowed.
fn allowed_move(space: &Space, at: &[f64], column: usize, size: f64) -> Option<Vec<f64>> {
    // Outward first: there the motion is larger and the noise relatively smaller.
    let outward = if at[column] < 0.0 { -size } else { size };
    [outward, -outward].into_iter().find_map(|change| {
        let mut moved = at.to_vec();
        moved[column] += change;
        space.allows(&space.real(&moved)).then_some(moved)
    })
}
