//! Places where the parameter of a branch turns back, and how well its points
//! tell them.
//!
//! Around the point that lies furthest the parameter is a polynomial of the
//! length along the branch, through three, four (either side) or five points. No
//! choice is always good: few points miss how the branch bends, many swing where
//! it has a corner. The estimate is the mean of the two in the middle; how far they
//! all lie apart says what the choice matters.

use std::ops::Range;

use super::jacobian;
use super::run::chord;
use super::{Point, Space, norm};

/// A place where the parameter turns back.
#[derive(Debug, Clone, PartialEq)]
pub struct Fold {
    /// All unknowns there.
    pub unknowns: Vec<f64>,
    /// Index of the point next to it.
    pub near: usize,
    /// Half-width of the parameter's interval, in its unit: what the spacing of
    /// the points leaves open, and what their residuals and noise do.
    pub interval: f64,
    /// How the points around it are taken together.
    pub best: Estimate,
    /// The ways to do so from which it was chosen.
    pub others: Vec<Estimate>,
}

/// Shares of neighbouring points in a place between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Index of the first point.
    pub first: usize,
    /// Share of that point, the next, …; they add up to one.
    pub shares: Vec<f64>,
}

impl Estimate {
    /// What is `value` at the points, at the place.
    pub fn of(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.shares.iter().enumerate().map(|(i, share)| share * value(self.first + i)).sum()
    }
}

impl Fold {
    /// What is `value` at the points, at the fold, and the half-width that their
    /// spacing leaves open: the whole spread of all ways to take them together, or
    /// part of the way from the point next to it.
    pub fn of(&self, value: impl Fn(usize) -> f64) -> (f64, f64) {
        let best = self.best.of(&value);
        let all = self.others.iter().map(|other| other.of(&value));
        let (least, most) = all.fold((best, best), |(least, most), v| (least.min(v), most.max(v)));
        (best, (most - least).max(DOUBT * (best - value(self.near)).abs()))
    }
}

/// Part of the way from the nearest point to the fold that stays in doubt, even
/// where all estimates agree.
const DOUBT: f64 = 0.5;

/// The folds of a branch.
pub fn folds(space: &Space, points: &[Point]) -> Vec<Fold> {
    (1..points.len().saturating_sub(1)).filter_map(|near| fold(space, points, near)).collect()
}

fn fold(space: &Space, points: &[Point], near: usize) -> Option<Fold> {
    let parameter = |k: usize| points[k].parameter();
    let before = parameter(near) - parameter(near - 1);
    let after = parameter(near + 1) - parameter(near);
    if before * after >= 0.0 {
        return None;
    }
    let (low, high) = (near.saturating_sub(2), (near + 2).min(points.len() - 1));
    // Length along the branch from the first of them.
    let mut along = vec![0.0];
    for pair in points[low..=high].windows(2) {
        along.push(along[along.len() - 1] + norm(&chord(space, &pair[0], &pair[1])));
    }
    let estimate = |first: usize, last: usize| {
        let lengths = &along[first - low..=last - low];
        let ends = (along[near - 1 - low], along[near + 1 - low]);
        let values: Vec<f64> = (first..=last).map(|k| before.signum() * parameter(k)).collect();
        let shares = shares(lengths, highest(lengths, &values, ends));
        Estimate { first, shares }
    };
    let ranges = [(near - 1, near + 1), (low, near + 1), (near - 1, high), (low, high)];
    let mut others = ranges.map(|(first, last)| estimate(first, last)).to_vec();
    others.sort_by(|a, b| a.of(parameter).total_cmp(&b.of(parameter)));
    let best = mean([&others[1], &others[2]], low..high + 1);
    let unknowns: Vec<f64> =
        (0..space.scale.len()).map(|i| best.of(|k| points[k].unknowns[i])).collect();
    let scale = space.scale[space.scale.len() - 1];
    let unsure = best.shares.iter().zip(&points[best.first..]);
    let unsure = unsure.map(|(share, point)| share * parameter_doubt(point) * scale);
    let unsure = norm(&unsure.collect::<Vec<_>>());
    let mut found = Fold { unknowns, near, interval: 0.0, best, others };
    found.interval = found.of(parameter).1 + unsure;
    found.interval.is_finite().then_some(found)
}

/// The mean of two estimates, from a range of points that holds both.
fn mean(two: [&Estimate; 2], range: Range<usize>) -> Estimate {
    let share = |estimate: &Estimate, k: usize| {
        k.checked_sub(estimate.first).and_then(|i| estimate.shares.get(i)).copied().unwrap_or(0.0)
    };
    let first = range.start;
    Estimate { first, shares: range.map(|k| 0.5 * (share(two[0], k) + share(two[1], k))).collect() }
}

/// Shares of the points at `along` in the polynomial through them, at `at`.
fn shares(along: &[f64], at: f64) -> Vec<f64> {
    let share = |i: usize| {
        let others = (0..along.len()).filter(|&k| k != i);
        others.map(|k| (at - along[k]) / (along[i] - along[k])).product()
    };
    (0..along.len()).map(share).collect()
}

/// Where the polynomial through the points is highest between both ends.
fn highest(along: &[f64], values: &[f64], (mut low, mut high): (f64, f64)) -> f64 {
    const PARTS: usize = 64;
    let height = |at: f64| -> f64 {
        shares(along, at).iter().zip(values).map(|(share, value)| share * value).sum()
    };
    let (least, most) = (low, high);
    let mut top = low;
    for _ in 0..6 {
        let width = (high - low) / PARTS as f64;
        let at = |k: usize| low + width * k as f64;
        let best = (0..=PARTS).max_by(|&a, &b| height(at(a)).total_cmp(&height(at(b))));
        top = best.map_or(low, at);
        (low, high) = ((top - width).max(least), (top + width).min(most));
    }
    top
}

/// How far a point may lie off the branch along the (scaled) parameter: by its
/// residual and twice its noise.
fn parameter_doubt(point: &Point) -> f64 {
    let moved = |residual: &[f64]| -> f64 {
        let step = jacobian::solve(&point.jacobian, &point.tangent, residual, 0.0);
        step.map_or(0.0, |step| step[step.len() - 1])
    };
    let scatter = &point.evaluation.scatter;
    let alone = |i: usize| {
        let mut alone = vec![0.0; point.evaluation.residual.len()];
        alone[i] = scatter[i];
        moved(&alone)
    };
    let noise: Vec<f64> = (0..scatter.len()).filter(|&i| scatter[i] > 0.0).map(alone).collect();
    moved(&point.evaluation.residual).abs() + 2.0 * norm(&noise)
}
