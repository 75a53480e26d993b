//! Places where the parameter of a branch turns back, and how well its points
//! tell them.
//!
//! Around the point that lies furthest the parameter is a polynomial of the
//! length along the branch, through three, four (either side) or five points. No
//! choice is always good: few points miss how the branch bends, many swing where
//! it has a corner. The estimate is the mean of the two in the middle; how far they
//! all lie apart, and from where straight lines from both sides meet, says what the
//! choice matters.

use std::ops::Range;

use super::jacobian;
use super::run::FAR;
use super::{Evaluation, Point, Space, norm};
use crate::Vector;

/// A place where the parameter turns back.
#[derive(Debug, Clone, PartialEq)]
pub struct Fold {
    /// All unknowns there.
    pub unknowns: Vec<f64>,
    /// Index of the point next to it.
    pub near: usize,
    /// Whether the parameter goes back so little that the points' doubt may explain it.
    pub doubtful: bool,
    /// Half-width of the parameter's interval, in its unit: what the spacing of
    /// the points leaves open, and what their residuals and noise do.
    pub interval: f64,
    /// What of it the spacing of the points leaves open.
    pub spacing: f64,
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

/// The parameter turns back at a fold by more than this many times the points' doubt, at
/// a clear one by more than the second.
const LEAST: f64 = 0.5;
const CLEAR: f64 = 2.0;

/// The folds of a branch.
pub fn folds(space: &Space, points: &[Point]) -> Vec<Fold> {
    let placed: Vec<Placed> = points.iter().map(|point| Placed::new(space, point)).collect();
    let clear = turns(&placed, CLEAR);
    let all = turns(&placed, LEAST).into_iter();
    all.filter_map(|near| fold(space, &placed, near, !clear.contains(&near))).collect()
}

/// A point put on the branch, as far as its residual tells.
struct Placed {
    at: Vector,
    /// How far that moved it along the (scaled) parameter, and twice its noise.
    doubt: f64,
}

impl Placed {
    fn new(space: &Space, point: &Point) -> Self {
        let at = space.divided(&point.unknowns);
        let moved = |residual: &[f64]| {
            jacobian::solve(&point.jacobian, &point.tangent, residual, 0.0)
                .filter(|step| norm(step) < FAR)
        };
        let Evaluation { residual, scatter } = &point.evaluation;
        let along = |step: Vector| step[step.len() - 1];
        let alone = |i: usize| {
            let mut alone = vec![0.0; residual.len()];
            alone[i] = scatter[i];
            moved(&alone).map_or(0.0, along)
        };
        let noise: Vec<f64> = (0..scatter.len()).filter(|&i| scatter[i] > 0.0).map(alone).collect();
        let step = moved(residual).unwrap_or_else(|| Vector::zeros(at.len()));
        let doubt = step[step.len() - 1].abs() + 2.0 * norm(&noise);
        Self { at: at + step, doubt }
    }

    fn parameter(&self) -> f64 {
        self.at[self.at.len() - 1]
    }
}

/// The points next to the places where the parameter turns back by more than so many
/// times what is in doubt.
fn turns(points: &[Placed], times: f64) -> Vec<usize> {
    let ahead = |a: usize, b: usize| points[b].parameter() - points[a].parameter();
    let differ =
        |a: usize, b: usize| ahead(a, b).abs() > times * (points[a].doubt + points[b].doubt);
    let mut turns = Vec::new();
    let Some(first) = (1..points.len()).find(|&k| differ(0, k)) else { return turns };
    let (mut side, mut top) = (ahead(0, first).signum(), first);
    for k in first + 1..points.len() {
        if side * ahead(top, k) >= 0.0 {
            top = k;
        } else if differ(top, k) {
            turns.push(top);
            (side, top) = (-side, k);
        }
    }
    turns
}

fn fold(space: &Space, points: &[Placed], near: usize, doubtful: bool) -> Option<Fold> {
    let scale = space.scale[space.scale.len() - 1];
    let parameter = |k: usize| points[k].parameter() * scale;
    let before = parameter(near) - parameter(near.checked_sub(1)?);
    let (low, high) = (near.saturating_sub(2), (near + 2).min(points.len() - 1));
    // Length along the branch from the first of them.
    let mut along = vec![0.0];
    for pair in points[low..=high].windows(2) {
        along.push(along[along.len() - 1] + norm(&(&pair[1].at - &pair[0].at)));
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
    // Or it has a corner there, on either side of the point next to it.
    for first in [near.checked_sub(2), Some(near - 1)].into_iter().flatten() {
        if first >= low && first + 3 <= high {
            others.extend(corner(first, &along[first - low..], &|k| parameter(first + k)));
        }
    }
    let unknowns: Vec<f64> =
        (0..space.scale.len()).map(|i| best.of(|k| points[k].at[i]) * space.scale[i]).collect();
    let unsure = best.shares.iter().zip(&points[best.first..]);
    let unsure: Vec<f64> = unsure.map(|(share, point)| share * point.doubt * scale).collect();
    let mut found = Fold { unknowns, near, doubtful, interval: 0.0, spacing: 0.0, best, others };
    found.spacing = found.of(parameter).1;
    found.interval = found.spacing + norm(&unsure);
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

/// Where the straight line through the first two of four points meets that through the
/// other two, if that is between them.
fn corner(first: usize, along: &[f64], value: &dyn Fn(usize) -> f64) -> Option<Estimate> {
    let slope = |a: usize, b: usize| (value(b) - value(a)) / (along[b] - along[a]);
    let (left, right) = (slope(0, 1), slope(2, 3));
    let at = along[1] + (value(2) - value(1) - right * (along[2] - along[1])) / (left - right);
    let shares = [shares(&along[..2], at), shares(&along[2..4], at)].concat();
    let is_between = along[1] <= at && at <= along[2];
    is_between.then(|| Estimate { first, shares: shares.iter().map(|share| 0.5 * share).collect() })
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
