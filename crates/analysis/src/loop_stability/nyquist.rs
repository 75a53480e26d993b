//! The loop gain along the frequency axis, and how often it goes round −1.

use std::f64::consts::{PI, TAU};

use numerics::Complex;
use numerics::complex_eigen;
use numerics::linear_system::Answer;

use super::open_loop::ClosedPole;
use super::{LoopError, OpenLoop};

/// Two neighbours on the curve differ by less than this angle, rad.
const TURN: f64 = 0.3;
/// Or by this factor in size.
const STRETCH: f64 = 1.8;
/// Below this size of every eigenvalue the curve cannot go round −1.
const SMALL: f64 = 0.9;
/// Frequencies after which the curve is given up.
const MOST_POINTS: usize = 200_000;
/// Points spread over the whole axis before any is added.
const SPREAD: usize = 400;
/// Growth below this share of a pole's size is rounding.
pub(super) const NEUTRAL: f64 = 1e-7;
/// How far a counted number of motions may lie from a whole one.
const OFF: f64 = 0.25;

/// The eigenvalues of L at one frequency.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The frequency.
    pub omega_rad_s: f64,
    /// Eigenvalues of L, each next to where it was at the point before.
    pub loci: Vec<Complex>,
    /// det(I + …) of what is closed within L.
    pub(super) inner: Complex,
}

impl Point {
    /// det(I + L) without what is closed within.
    fn difference(&self) -> Complex {
        self.loci.iter().map(|locus| locus + 1.0).product()
    }

    /// Size of the largest eigenvalue.
    pub fn largest(&self) -> f64 {
        self.loci.iter().map(|locus| locus.norm()).fold(0.0, f64::max)
    }
}

/// L from zero to the highest frequency, finely enough that it turns little from
/// point to point.
///
/// The axis is passed at a hair's breadth to its right, so that poles on it (a
/// structure without damping or without support, an integrator) are passed on a
/// side that is known; a motion counts as growing if it grows faster than that.
/// Poles at zero are passed on an arc that is wider, for so close to a double one
/// L would be nothing but rounding: a motion slower than the arc is not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// In rising order of frequency.
    pub points: Vec<Point>,
    /// The hair's breadth, 1/s.
    pub shift_1_s: f64,
    /// Radius of the arc around zero, rad/s; 0 without poles there.
    pub(super) arc_rad_s: f64,
    /// Growing motions of the open loop.
    unstable_open: usize,
    /// Every pole of the closed loop and the number of roots it stands for, where
    /// they could be found at once.
    pub(super) closed: Option<Vec<ClosedPole>>,
    /// Growing motions of the closed loop.
    pub growing: usize,
}

impl Curve {
    /// Follows L. Points are placed around every pole of L first, then wherever
    /// det(I + L) turns or an eigenvalue grows or shrinks too much.
    pub fn follow(open: &OpenLoop) -> Result<Self, LoopError> {
        Self::along(open, None)
    }

    /// L along the line Re s = `growth_1_s` to the right of the axis: what it counts
    /// are the motions that grow faster than that.
    pub(super) fn beyond(open: &OpenLoop, growth_1_s: f64) -> Result<Self, LoopError> {
        Self::along(open, Some(growth_1_s))
    }

    fn along(open: &OpenLoop, beyond: Option<f64>) -> Result<Self, LoopError> {
        let highest = open.highest_rad_s();
        let poles = open.poles();
        let sizes = || poles.iter().map(|pole| pole.norm());
        let zero = open.zero_rad_s();
        let slowest = sizes().filter(|size| *size > zero).fold(highest, f64::min);
        let shift_1_s = beyond.unwrap_or(1e-7 * slowest);
        let at_zero = beyond.is_none() && sizes().any(|size| size <= zero);
        let arc_rad_s =
            if at_zero { (1e-2 * slowest).max(2.0 * zero).min(0.3 * slowest) } else { 0.0 };
        let mut marks: Vec<f64> =
            (0..=SPREAD).map(|i| highest * (i as f64 / SPREAD as f64).powi(3)).collect();
        for pole in poles {
            let middle = pole.im;
            if middle > 0.0 && middle < highest {
                let width = pole.re.abs().clamp(1e-6 * middle, 0.5 * middle);
                marks.extend((-5..=5).map(|i| middle + f64::from(i) * 0.8 * width));
                marks.extend([0.7, 0.85, 1.15, 1.3].map(|factor| factor * middle));
            }
        }
        let along =
            [0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0, 1.01, 1.1, 1.3, 1.6, 2.0, 3.0, 5.0, 9.0];
        marks.extend(along.map(|share| share * arc_rad_s));
        marks.retain(|omega| (0.0..=highest).contains(omega));
        marks.sort_by(f64::total_cmp);
        marks.dedup();
        let grows = |pole: &&Complex| pole.re > shift_1_s && pole.norm() > arc_rad_s;
        let unstable_open = poles.iter().filter(grows).count();
        let closed = if beyond.is_none() { open.closed_poles()? } else { None };
        let points = Vec::with_capacity(2 * marks.len());
        let mut curve = Self { points, shift_1_s, arc_rad_s, unstable_open, closed, growing: 0 };
        curve.fill(open, &marks)?;
        curve.growing = match &curve.closed {
            Some(poles) => unstable_poles(open, poles),
            None => curve.turned()?,
        };
        Ok(curve)
    }

    fn fill(&mut self, open: &OpenLoop, marks: &[f64]) -> Result<(), LoopError> {
        let highest = open.highest_rad_s();
        let inner = open.has_inner();
        for &mark in marks {
            // Newest on top; split where the curve turns too much.
            let mut ahead = vec![self.point(open, mark)?];
            while let Some(mut point) = ahead.pop() {
                let Some(before) = self.points.last() else {
                    self.points.push(point);
                    continue;
                };
                match_loci(&before.loci, &mut point.loci);
                let gap = point.omega_rad_s - before.omega_rad_s;
                if gap > 1e-13 * highest && is_coarse(before, &point, inner) {
                    let middle = before.omega_rad_s + 0.5 * gap;
                    if self.points.len() + ahead.len() > MOST_POINTS {
                        return Err(LoopError::TooFine(MOST_POINTS));
                    }
                    ahead.push(point);
                    ahead.push(self.point(open, middle)?);
                } else {
                    self.points.push(point);
                }
            }
        }
        Ok(())
    }

    fn point(&self, open: &OpenLoop, omega: f64) -> Result<Point, LoopError> {
        evaluate(open, self.place(omega).re, omega)
    }

    /// Where the curve is at this frequency: poles at zero are passed on an arc.
    pub fn place(&self, omega: f64) -> Complex {
        let arc = (self.arc_rad_s * self.arc_rad_s - omega * omega).max(0.0).sqrt();
        Complex::new(self.shift_1_s.max(arc), omega)
    }

    /// The same points and, between any two that lie within `reach` of zero and
    /// further apart than `step`, as many more as a smooth picture needs.
    pub fn smooth(&self, open: &OpenLoop, step: f64, reach: f64) -> Vec<Point> {
        const MOST: f64 = 24.0;
        let mut points: Vec<Point> = self.points.first().cloned().into_iter().collect();
        for pair in self.points.windows(2) {
            let (before, point) = (&pair[0], &pair[1]);
            let (first, last) = (before.omega_rad_s, point.omega_rad_s);
            let seen = before.largest().min(point.largest()) < reach;
            let pairs = before.loci.iter().zip(&point.loci);
            let apart = pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
            let parts = if seen { (apart / step).ceil().clamp(1.0, MOST) } else { 1.0 };
            for part in 1..parts as usize {
                let omega = first + (last - first) * part as f64 / parts;
                if let Ok(mut between) = self.point(open, omega) {
                    match_loci(&points[points.len() - 1].loci, &mut between.loci);
                    points.push(between);
                }
            }
            points.push(point.clone());
        }
        points
    }

    /// Growing motions of the closed loop by the curve alone.
    ///
    /// Along the whole axis det(I + L) turns once for every growing motion of the
    /// open loop that is none of the closed one; the half below zero mirrors the
    /// half above.
    pub(super) fn turned(&self) -> Result<usize, LoopError> {
        // No curve can go round a part of a time, or a negative number of times.
        let count = self.counted();
        if !(count > -OFF && (count - count.round()).abs() < OFF) {
            return Err(LoopError::NotCounted(count));
        }
        Ok(count.round().max(0.0) as usize)
    }

    fn counted(&self) -> f64 {
        let mut turned = 0.0;
        for pair in self.points.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            turned += if a.largest() < 1.0 && b.largest() < 1.0 {
                // Every factor stays to the right of zero: its angle is plain.
                let angle = |p: &Point| p.loci.iter().map(|l| (l + 1.0).arg()).sum::<f64>();
                angle(b) - angle(a)
            } else {
                (b.difference() / a.difference()).arg()
            };
            turned += (b.inner / a.inner).arg();
        }
        self.unstable_open as f64 - turned / PI
    }
}

/// Growing roots among the poles of a closed loop: those that grow by more than
/// rounding, and are no rigid motion that rounding took from zero.
pub(super) fn unstable_poles(open: &OpenLoop, poles: &[ClosedPole]) -> usize {
    let zero = open.zero_rad_s();
    let grows = |s: &Complex| s.re > NEUTRAL * s.norm() && s.norm() > zero;
    poles.iter().filter(|(s, _)| grows(s)).map(|(_, roots)| roots).sum()
}

/// The eigenvalues at one frequency.
pub(super) fn evaluate(open: &OpenLoop, shift: f64, omega: f64) -> Result<Point, LoopError> {
    // On a pole to the last digit it is passed a little further off.
    let gain = [shift, 2.0 * shift].into_iter().find_map(|re| open.at(Complex::new(re, omega)));
    let Answer { matrix, inner } = gain.ok_or(LoopError::NotANumber(omega / TAU))?;
    Ok(Point { omega_rad_s: omega, loci: complex_eigen::eigenvalues(&matrix), inner })
}

/// Whether there must be a point between these two.
fn is_coarse(a: &Point, b: &Point, inner: bool) -> bool {
    if inner && (b.inner / a.inner).arg().abs() > TURN {
        return true;
    }
    let pairs = || a.loci.iter().zip(&b.loci);
    let stretched = pairs().any(|(a, b)| {
        let (a, b) = (a.norm(), b.norm());
        // What is far below one need not be known well.
        a.max(b) > 0.2 && (a > STRETCH * b || b > STRETCH * a)
    });
    if a.largest() < SMALL && b.largest() < SMALL {
        return stretched;
    }
    let turned = (b.difference() / a.difference()).arg().abs() > TURN;
    // Far from −1 a large eigenvalue may turn unseen by the sum of angles.
    stretched
        || turned
        || pairs().any(|(a, b)| a.norm().max(b.norm()) > 0.5 && (b / a).arg().abs() > 2.0 * TURN)
}

/// Puts every eigenvalue where its nearest was; greedy, for few of them.
fn match_loci(before: &[Complex], loci: &mut [Complex]) {
    for i in 0..loci.len().min(before.len()) {
        let distance = |k: usize| (loci[k] - before[i]).norm();
        let nearest = (i..loci.len()).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        if let Some(nearest) = nearest {
            loci.swap(i, nearest);
        }
    }
}
