//! A run along a branch, point by point.

use super::corrector::{Corrected, Corrector};
use super::{Evaluation, Point, Problem, Space, dot, jacobian, norm};
use crate::{Matrix, Vector};

/// Steps along the branch, in scaled unknowns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    /// Length of the first.
    pub first: f64,
    /// A shorter one ends the run.
    pub least: f64,
    /// Greatest length.
    pub most: f64,
    /// Factor after a success.
    pub grow: f64,
    /// Factor after a failure.
    pub shrink: f64,
    /// A step that turns the branch by more is repeated shorter.
    pub most_turn_rad: f64,
    /// Points after which the run ends.
    pub most_points: usize,
}

/// Where the run goes.
#[derive(Debug, Clone, PartialEq)]
pub enum Course {
    /// Along the branch through its folds, first with the parameter rising or
    /// falling.
    Arclength {
        /// Their lengths.
        steps: Steps,
        /// Whether the parameter falls at first.
        falling: bool,
    },
    /// The parameter takes these values in turn.
    Sweep {
        /// In the parameter's unit.
        values: Vec<f64>,
    },
}

/// Why a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The branch reaches a bound of the parameter.
    Bound,
    /// The branch leaves the limits of the other unknowns.
    Limit,
    /// All points are made.
    Complete,
    /// The greatest number of points is reached.
    MostPoints,
    /// No root was found from the first guess.
    NoStart,
    /// No further point was found, however short the step.
    Stuck,
}

/// What a call has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// One more point.
    Point,
    /// A try that failed: a shorter step or the next value follows.
    Failed,
    /// Nothing more to come.
    Ended(End),
}

/// A run with its points.
#[derive(Debug, Clone)]
pub struct Continuation {
    pub(super) space: Space,
    corrector: Corrector,
    course: Course,
    guess: Vec<f64>,
    points: Vec<Point>,
    step: f64,
    jacobian: Option<Matrix>,
    /// Next value of a sweep.
    next_value: usize,
    failures: usize,
    /// How far noise alone moves a point, in scaled unknowns.
    noise: f64,
    /// The last point is tried as a corner: see [`Continuation::turn_corner`].
    cornered: bool,
    end: Option<End>,
}

/// A correction of a point that was found is shorter than this, scaled.
pub(super) const FAR: f64 = 0.3;
/// Values of a sweep, or tries at the shortest step, that may fail in a row.
const MOST_FAILURES: usize = 4;

impl Continuation {
    /// A run from a guess, in the unknowns' own units.
    pub fn new(space: Space, corrector: Corrector, course: Course, guess: Vec<f64>) -> Self {
        let step = match &course {
            Course::Arclength { steps, .. } => steps.first,
            Course::Sweep { .. } => 0.0,
        };
        Self {
            jacobian: None,
            space,
            corrector,
            course,
            guess,
            points: Vec::new(),
            step,
            next_value: 0,
            failures: 0,
            noise: 0.0,
            cornered: false,
            end: None,
        }
    }

    /// The points so far.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Tries for one more point.
    pub fn advance<P: Problem>(&mut self, problem: &mut P) -> Result<Advance, P::Error> {
        if let Some(end) = self.end {
            return Ok(Advance::Ended(end));
        }
        let advance = match self.course.clone() {
            Course::Arclength { steps, falling } if self.points.is_empty() => {
                self.first_point(problem, if falling { -1.0 } else { 1.0 }, steps)?
            }
            Course::Arclength { steps, .. } => self.along(problem, steps)?,
            Course::Sweep { values } => self.sweep(problem, &values)?,
        };
        if let Advance::Ended(end) = advance {
            self.end = Some(end);
        }
        Ok(advance)
    }

    fn first_point<P: Problem>(
        &mut self,
        problem: &mut P,
        sign: f64,
        steps: Steps,
    ) -> Result<Advance, P::Error> {
        let guess = self.space.divided(&self.guess);
        let row = along_parameter(guess.len(), sign);
        let nothing = Ok(Advance::Ended(End::NoStart));
        if steps.most_points == 0 || !self.space.allows(&self.guess) {
            return nothing;
        }
        let mut found = self.correct(problem, guess, &row)?;
        // The direction needs the parameter's own column too.
        let missing = if found.jacobian.is_some() { row.len() - 1 } else { 0 };
        let difference = self.corrector.difference;
        if !found.converged
            || !difference.measure(problem, &self.space, &mut found, missing..row.len())?
        {
            return nothing;
        }
        let known = found.jacobian.as_ref().and_then(|known| jacobian::tangent(known, &row));
        self.keep(found, known.unwrap_or(row));
        Ok(Advance::Point)
    }

    /// A root near `guess`, in the plane through it whose normal is `row`.
    fn correct<P: Problem>(
        &self,
        problem: &mut P,
        guess: Vector,
        row: &Vector,
    ) -> Result<Corrected, P::Error> {
        self.corrector.correct(problem, &self.space, guess, row, self.jacobian.clone())
    }

    fn along<P: Problem>(&mut self, problem: &mut P, steps: Steps) -> Result<Advance, P::Error> {
        if self.points.len() >= steps.most_points {
            return Ok(Advance::Ended(End::MostPoints));
        }
        let last = &self.points[self.points.len() - 1];
        let from = self.space.divided(&last.unknowns);
        let row = last.tangent.clone();
        let guess = self.predict(&from);
        let real = self.space.real(&guess);
        if let Some(bound) = self.passed_bound(&real) {
            return self.last_point(problem, &from, &guess, bound);
        }
        if !self.space.allows(&real) {
            return Ok(self.shorter(steps, End::Limit));
        }
        let found = self.correct(problem, guess, &row)?;
        let moved = &found.at - &from;
        let ahead = dot(&moved, &row);
        if !found.converged || ahead <= 0.0 {
            return Ok(self.shorter(steps, End::Stuck));
        }
        // A turn is judged only where the step is larger than the noise of a point.
        let turn = (ahead / norm(&moved)).clamp(-1.0, 1.0).acos();
        if let Some(known) = &found.jacobian {
            let by_noise = jacobian::solve(known, &row, &found.evaluation.scatter, 0.0);
            self.noise = by_noise.map_or(0.0, |moved| norm(&moved));
        }
        let can_shorten = self.step * steps.shrink >= self.shortest(steps);
        if turn > steps.most_turn_rad && can_shorten {
            return Ok(self.shorter(steps, End::Stuck));
        }
        self.failures = 0;
        let tangent = if self.cornered { unit(moved).0 } else { self.direction(&found, moved) };
        self.cornered = false;
        self.keep(found, tangent);
        // A turn close to the limit would fail at the next longer step.
        if turn < 0.6 * steps.most_turn_rad {
            self.step = (self.step * steps.grow).min(steps.most);
        }
        Ok(Advance::Point)
    }

    /// The parabola through the last three points, or the tangent.
    fn predict(&self, from: &Vector) -> Vector {
        let s = self.step;
        if let [.., a, b, c] = &self.points[..]
            && !self.cornered
        {
            let (d1, h1) = unit(chord(&self.space, a, b));
            let (d2, h2) = unit(chord(&self.space, b, c));
            // A sharp corner or a noisy stretch is no parabola.
            if dot(&d1, &d2) >= 0.9 && s <= 2.0 * h2 {
                let bend = s * (s + h2) / (h1 + h2);
                return from + s * &d2 + bend * (&d2 - d1);
            }
        }
        from + s * &self.points[self.points.len() - 1].tangent
    }

    /// Direction at a new point: from its Jacobian where that was measured
    /// there, else that of the parabola through the last three points.
    fn direction(&self, found: &Corrected, moved: Vector) -> Vector {
        let (d2, h2) = unit(moved);
        let [.., a, b] = &self.points[..] else { return d2 };
        let (d1, h1) = unit(chord(&self.space, a, b));
        if dot(&d1, &d2) < 0.7 {
            // A sharp turn: the secant lags behind, the Jacobian may know better.
            let known = found.jacobian.as_ref().and_then(|known| jacobian::tangent(known, &d2));
            return known.filter(|t| dot(t, &d2) > 0.7).unwrap_or(d2);
        }
        unit(&d2 + h2 / (h1 + h2) * (&d2 - d1)).0
    }

    /// The bound of the parameter that `real` has passed.
    fn passed_bound(&self, real: &[f64]) -> Option<f64> {
        let at = real.len() - 1;
        let (low, high) = (self.space.low[at], self.space.high[at]);
        (real[at] < low).then_some(low).or((real[at] > high).then_some(high))
    }

    /// The branch reaches a bound of the parameter: a point exactly there ends it.
    fn last_point<P: Problem>(
        &mut self,
        problem: &mut P,
        from: &Vector,
        guess: &Vector,
        bound: f64,
    ) -> Result<Advance, P::Error> {
        let at = from.len() - 1;
        let bound = bound / self.space.scale[at];
        let share = (bound - from[at]) / (guess[at] - from[at]);
        self.end = Some(End::Bound);
        if share.abs() < 1e-9 {
            return Ok(Advance::Ended(End::Bound));
        }
        let mut start = from + share * (guess - from);
        start[at] = bound;
        if !self.space.allows_scaled(&start) {
            return Ok(Advance::Ended(End::Limit));
        }
        let found = self.correct(problem, start, &along_parameter(from.len(), 1.0))?;
        if !found.converged {
            return Ok(Advance::Ended(End::Bound));
        }
        let tangent = unit(&found.at - from).0;
        self.keep(found, tangent);
        Ok(Advance::Point)
    }

    /// Below a few times the noise of a point a shorter step helps nobody.
    fn shortest(&self, steps: Steps) -> f64 {
        steps.least.max(4.0 * self.noise)
    }

    fn shorter(&mut self, steps: Steps, end: End) -> Advance {
        // Broyden's updates of a failed try are not kept.
        self.jacobian = known_jacobian(&self.points);
        if self.step * steps.shrink >= self.shortest(steps) {
            self.step *= steps.shrink;
            return Advance::Failed;
        }
        // An exact problem fails the same way again; a noisy one may not.
        self.failures += 1;
        let tries = if self.noise > 0.0 { MOST_FAILURES } else { 1 };
        if self.failures < tries {
            return Advance::Failed;
        }
        if self.cornered || end == End::Limit {
            return Advance::Ended(end);
        }
        self.turn_corner(steps);
        Advance::Failed
    }

    /// Where something touches or lets go, a branch has a corner, and often a fold
    /// in it: straight on there is nothing, however short the step. The branch is
    /// looked for with the parameter turned back and everything else going on.
    fn turn_corner(&mut self, steps: Steps) {
        self.cornered = true;
        self.failures = 0;
        self.step = 0.5 * steps.first;
        if let Some(parameter) = self.points.last_mut().and_then(|p| p.tangent.iter_mut().last()) {
            *parameter = -*parameter;
        }
    }

    fn sweep<P: Problem>(&mut self, problem: &mut P, values: &[f64]) -> Result<Advance, P::Error> {
        let Some(&value) = values.get(self.next_value) else {
            return Ok(Advance::Ended(End::Complete));
        };
        self.next_value += 1;
        let last = self.points.last().map_or(&self.guess, |point| &point.unknowns);
        let straight = match &self.points[..] {
            [.., a, b] if a.parameter() != b.parameter() => {
                // Straight on, but no further than the last step was wide.
                let share = (value - b.parameter()) / (b.parameter() - a.parameter());
                let share = share.clamp(-1.0, 1.0);
                a.unknowns.iter().zip(&b.unknowns).map(|(a, b)| b + share * (b - a)).collect()
            }
            _ => last.clone(),
        };
        let at_value = |guess: Vec<f64>| [&guess[..guess.len() - 1], &[value]].concat();
        let mut guesses = [straight, last.clone()].into_iter().map(at_value);
        let Some(real) = guesses.find(|guess| self.space.allows(guess)) else {
            return Ok(Advance::Ended(End::Limit));
        };
        let row = along_parameter(real.len(), 1.0);
        let found = self.correct(problem, self.space.divided(&real), &row)?;
        if !found.converged {
            self.failures += 1;
            self.jacobian = None;
            let end = if self.points.is_empty() { End::NoStart } else { End::Stuck };
            let over = self.failures >= MOST_FAILURES;
            return Ok(if over { Advance::Ended(end) } else { Advance::Failed });
        }
        self.failures = 0;
        self.keep(found, row);
        // Dividing and multiplying by the scale may cost the last bit.
        if let Some(parameter) = self.points.last_mut().and_then(|p| p.unknowns.last_mut()) {
            *parameter = value;
        }
        Ok(Advance::Point)
    }

    fn keep(&mut self, found: Corrected, tangent: Vector) {
        if found.jacobian.is_some() {
            self.jacobian.clone_from(&found.jacobian);
        }
        self.points.push(Point {
            unknowns: self.space.real(&found.at),
            evaluation: found.evaluation,
            tangent,
            jacobian: self.jacobian.clone().unwrap_or_else(|| Matrix::zeros(0, 0)),
            iterations: found.iterations,
            evaluations: found.evaluations,
        });
    }

    /// Where a point would be if `residual` were taken off it, in its unknowns' own
    /// units: for a residual that is known better than it was when the point was found.
    /// `None` if that leads far away or beyond a limit.
    pub fn polished(&self, at: usize, residual: &[f64]) -> Option<Vec<f64>> {
        let point = self.points.get(at)?;
        let row = match self.course {
            Course::Arclength { .. } => point.tangent.clone(),
            Course::Sweep { .. } => along_parameter(point.unknowns.len(), 1.0),
        };
        let step = jacobian::solve(&point.jacobian, &row, residual, 0.0);
        let step = step.filter(|step| norm(step) < FAR)?;
        let real = self.space.real(&(self.space.divided(&point.unknowns) + step));
        self.space.allows(&real).then_some(real)
    }

    /// Puts a point where it was found to be by better means.
    pub fn amend(&mut self, at: usize, unknowns: Vec<f64>, evaluation: Evaluation) {
        if let Some(point) = self.points.get_mut(at) {
            point.unknowns = unknowns;
            point.evaluation = evaluation;
            point.evaluations += 1;
        }
    }

    /// Takes the last point back, for a step of half its length. Whether one as short
    /// may be tried.
    pub fn retreat(&mut self) -> bool {
        let (Course::Arclength { steps, .. }, [.., a, b]) = (&self.course, &self.points[..]) else {
            return false;
        };
        let step = steps.shrink * norm(&chord(&self.space, a, b));
        if step < self.shortest(*steps) {
            return false;
        }
        self.points.pop();
        (self.end, self.step, self.jacobian) = (None, step, known_jacobian(&self.points));
        true
    }

    /// Makes a point half way between one and the next. Whether there was one.
    pub fn insert<P: Problem>(&mut self, problem: &mut P, at: usize) -> Result<bool, P::Error> {
        let [a, b] = [at, at + 1].map(|k| self.space.divided(&self.points[k].unknowns));
        let known = known_jacobian(&self.points[..=at]);
        let Some((found, tangent)) = self.halved(problem, a, b, known)? else { return Ok(false) };
        let jacobian = found.jacobian.unwrap_or_else(|| self.points[at].jacobian.clone());
        let point = Point {
            unknowns: self.space.real(&found.at),
            evaluation: found.evaluation,
            tangent,
            jacobian,
            iterations: found.iterations,
            evaluations: found.evaluations,
        };
        self.points.insert(at + 1, point);
        Ok(true)
    }

    /// The branch half way between two places on it, all in the unknowns' own units.
    /// `None` if there is none nearby. For problems without noise.
    pub fn between<P: Problem>(
        &self,
        problem: &mut P,
        a: &[f64],
        b: &[f64],
    ) -> Result<Option<Vec<f64>>, P::Error> {
        let found = self.halved(problem, self.space.divided(a), self.space.divided(b), None)?;
        Ok(found.map(|(found, _)| self.space.real(&found.at)))
    }

    /// The root in the plane that halves the chord of two scaled places, with the chord's
    /// direction; `None` if there is none nearby.
    fn halved<P: Problem>(
        &self,
        problem: &mut P,
        from: Vector,
        to: Vector,
        jacobian: Option<Matrix>,
    ) -> Result<Option<(Corrected, Vector)>, P::Error> {
        let middle = 0.5 * (&from + &to);
        let (row, length) = unit(to - from);
        if length == 0.0 || !self.space.allows_scaled(&middle) {
            return Ok(None);
        }
        let start = middle.clone();
        let found = self.corrector.correct(problem, &self.space, start, &row, jacobian)?;
        let is_near = found.converged && norm(&(&found.at - middle)) <= 0.5 * length;
        Ok(is_near.then_some((found, row)))
    }
}

/// The Jacobian that the last point was kept with.
fn known_jacobian(points: &[Point]) -> Option<Matrix> {
    points.last().map(|point| point.jacobian.clone()).filter(|known| !known.is_empty())
}

fn along_parameter(unknowns: usize, sign: f64) -> Vector {
    Vector::from_fn(unknowns, |i, _| if i + 1 == unknowns { sign } else { 0.0 })
}

fn chord(space: &Space, a: &Point, b: &Point) -> Vector {
    Vector::from_fn(a.unknowns.len(), |i, _| (b.unknowns[i] - a.unknowns[i]) / space.scale[i])
}

fn unit(vector: Vector) -> (Vector, f64) {
    let length = norm(&vector);
    (if length > 0.0 { vector / length } else { vector }, length)
}
