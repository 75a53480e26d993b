//! A run along a branch, point by point.

use super::corrector::{Corrected, Corrector};
use super::jacobian::Jacobian;
use super::{Evaluation, Point, Problem, Space, dot, norm};

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
    space: Space,
    corrector: Corrector,
    course: Course,
    guess: Vec<f64>,
    points: Vec<Point>,
    step: f64,
    jacobian: Option<Jacobian>,
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
const FAR: f64 = 0.3;
/// Values of a sweep, or tries at the shortest step, that may fail in a row.
const MOST_FAILURES: usize = 4;

impl Continuation {
    /// A run from a guess, in the unknowns' own units.
    pub fn new(space: Space, corrector: Corrector, course: Course, guess: Vec<f64>) -> Self {
        Self::resumed(space, corrector, course, guess, Vec::new())
    }

    /// Takes up a run from its saved points.
    pub fn resumed(
        space: Space,
        corrector: Corrector,
        course: Course,
        guess: Vec<f64>,
        points: Vec<Point>,
    ) -> Self {
        let step = match &course {
            Course::Arclength { steps, .. } => match &points[..] {
                [.., a, b] => norm(&chord(&space, a, b)).clamp(steps.least, steps.most),
                _ => steps.first,
            },
            Course::Sweep { .. } => 0.0,
        };
        let next_value = match (&course, points.last()) {
            (Course::Sweep { values }, Some(last)) => {
                let done = last.parameter();
                let nearest = |k: &usize| {
                    let gap = |v: f64| (v - done).abs();
                    values.iter().all(|v| gap(values[*k]) <= gap(*v))
                };
                (0..values.len()).find(nearest).map_or(0, |k| k + 1)
            }
            _ => 0,
        };
        let jacobian = points.last().map(|p| Jacobian { rows: p.jacobian.clone() });
        Self {
            space,
            corrector,
            course,
            guess,
            points,
            step,
            jacobian,
            next_value,
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
        if steps.most_points == 0 || !self.space.allows(&self.guess) {
            return Ok(Advance::Ended(End::NoStart));
        }
        let mut found = self.corrector.correct(problem, &self.space, guess, &row, None)?;
        if !found.converged {
            return Ok(Advance::Ended(End::NoStart));
        }
        // The direction needs the parameter's own column too.
        let missing = if found.jacobian.is_some() { row.len() - 1 } else { 0 };
        let measured = Jacobian::measure(
            problem,
            &self.space,
            self.corrector.difference,
            &found.at,
            &found.evaluation,
            missing..row.len(),
            found.jacobian.as_ref(),
        )?;
        let Some((jacobian, evaluations)) = measured else {
            return Ok(Advance::Ended(End::NoStart));
        };
        found.evaluations += evaluations;
        let tangent = jacobian.tangent(&row).unwrap_or(row);
        found.jacobian = Some(jacobian);
        self.keep(found, tangent);
        Ok(Advance::Point)
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
        let found =
            self.corrector.correct(problem, &self.space, guess, &row, self.jacobian.clone())?;
        let moved: Vec<f64> = found.at.iter().zip(&from).map(|(b, a)| b - a).collect();
        let length = norm(&moved);
        let ahead = dot(&moved, &row);
        if !found.converged || ahead <= 0.0 {
            return Ok(self.shorter(steps, End::Stuck));
        }
        // A turn is judged only where the step is larger than the noise of a point.
        let turn = (ahead / length).clamp(-1.0, 1.0).acos();
        self.noise = found.jacobian.as_ref().map_or(self.noise, |j| unknown_noise(j, &row, &found));
        let can_shorten = self.step * steps.shrink >= self.shortest(steps);
        if turn > steps.most_turn_rad && can_shorten {
            return Ok(self.shorter(steps, End::Stuck));
        }
        self.failures = 0;
        let tangent = if self.cornered { unit(moved).0 } else { self.direction(&found, &moved) };
        self.cornered = false;
        self.keep(found, tangent);
        // A turn close to the limit would fail at the next longer step.
        if turn < 0.6 * steps.most_turn_rad {
            self.step = (self.step * steps.grow).min(steps.most);
        }
        Ok(Advance::Point)
    }

    /// The parabola through the last three points, or the tangent.
    fn predict(&self, from: &[f64]) -> Vec<f64> {
        let last = &self.points[self.points.len() - 1];
        let plain = |direction: &[f64]| {
            from.iter().zip(direction).map(|(w, t)| w + self.step * t).collect::<Vec<f64>>()
        };
        let [.., a, b, c] = &self.points[..] else { return plain(&last.tangent) };
        if self.cornered {
            return plain(&last.tangent);
        }
        let (d1, h1) = unit(chord(&self.space, a, b));
        let (d2, h2) = unit(chord(&self.space, b, c));
        // A sharp corner or a noisy stretch is no parabola.
        if dot(&d1, &d2) < 0.9 || self.step > 2.0 * h2 {
            return plain(&last.tangent);
        }
        let s = self.step;
        let bend = s * (s + h2) / (h1 + h2);
        (0..from.len()).map(|i| from[i] + s * d2[i] + bend * (d2[i] - d1[i])).collect()
    }

    /// Direction at a new point: from its Jacobian where that was measured
    /// there, else that of the parabola through the last three points.
    fn direction(&self, found: &Corrected, moved: &[f64]) -> Vec<f64> {
        let (d2, h2) = unit(moved.to_vec());
        let [.., a, b] = &self.points[..] else { return d2 };
        let (d1, h1) = unit(chord(&self.space, a, b));
        if dot(&d1, &d2) < 0.7 {
            // A sharp turn: the secant lags behind, the Jacobian may know better.
            let known = found.jacobian.as_ref().and_then(|j| j.tangent(&d2));
            return known.filter(|t| dot(t, &d2) > 0.7).unwrap_or(d2);
        }
        let share = h2 / (h1 + h2);
        unit(d2.iter().zip(&d1).map(|(b, a)| b + share * (b - a)).collect()).0
    }

    /// The bound of the parameter that `real` has passed.
    fn passed_bound(&self, real: &[f64]) -> Option<f64> {
        let at = real.len() - 1;
        if real[at] < self.space.low[at] {
            Some(self.space.low[at])
        } else if real[at] > self.space.high[at] {
            Some(self.space.high[at])
        } else {
            None
        }
    }

    /// The branch reaches a bound of the parameter: a point exactly there ends it.
    fn last_point<P: Problem>(
        &mut self,
        problem: &mut P,
        from: &[f64],
        guess: &[f64],
        bound: f64,
    ) -> Result<Advance, P::Error> {
        let at = from.len() - 1;
        let bound = bound / self.space.scale[at];
        let share = (bound - from[at]) / (guess[at] - from[at]);
        self.end = Some(End::Bound);
        if share.abs() < 1e-9 {
            return Ok(Advance::Ended(End::Bound));
        }
        let mut start: Vec<f64> =
            from.iter().zip(guess).map(|(a, b)| a + share * (b - a)).collect();
        start[at] = bound;
        if !self.space.allows(&self.space.real(&start)) {
            return Ok(Advance::Ended(End::Limit));
        }
        let row = along_parameter(from.len(), 1.0);
        let known = self.jacobian.clone();
        let found = self.corrector.correct(problem, &self.space, start, &row, known)?;
        if !found.converged {
            return Ok(Advance::Ended(End::Bound));
        }
        let moved: Vec<f64> = found.at.iter().zip(from).map(|(b, a)| b - a).collect();
        self.keep(found, unit(moved).0);
        Ok(Advance::Point)
    }

    /// Below a few times the noise of a point a shorter step helps nobody.
    fn shortest(&self, steps: Steps) -> f64 {
        steps.least.max(4.0 * self.noise)
    }

    fn shorter(&mut self, steps: Steps, end: End) -> Advance {
        // Broyden's updates of a failed try are not kept.
        self.jacobian = self.points.last().map(|p| Jacobian { rows: p.jacobian.clone() });
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
        if let Some(parameter) = self.points.last_mut().and_then(|p| p.tangent.last_mut()) {
            *parameter = -*parameter;
        }
    }

    fn sweep<P: Problem>(&mut self, problem: &mut P, values: &[f64]) -> Result<Advance, P::Error> {
        let Some(&value) = values.get(self.next_value) else {
            return Ok(Advance::Ended(End::Complete));
        };
        self.next_value += 1;
        let parameter = self.guess.len() - 1;
        let mut real = match &self.points[..] {
            [] => self.guess.clone(),
            [.., a, b] if a.parameter() != b.parameter() => {
                // Straight on, but no further than the last step was wide.
                let share = (value - b.parameter()) / (b.parameter() - a.parameter());
                let share = share.clamp(-1.0, 1.0);
                a.unknowns.iter().zip(&b.unknowns).map(|(a, b)| b + share * (b - a)).collect()
            }
            [.., b] => b.unknowns.clone(),
        };
        real[parameter] = value;
        if !self.space.allows(&real) {
            real = self.points.last().map_or(self.guess.clone(), |p| p.unknowns.clone());
            real[parameter] = value;
            if !self.space.allows(&real) {
                return Ok(Advance::Ended(End::Limit));
            }
        }
        let row = along_parameter(real.len(), 1.0);
        let guess = self.space.divided(&real);
        let known = self.jacobian.clone();
        let found = self.corrector.correct(problem, &self.space, guess, &row, known)?;
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

    fn keep(&mut self, found: Corrected, tangent: Vec<f64>) {
        if found.jacobian.is_some() {
            self.jacobian.clone_from(&found.jacobian);
        }
        self.points.push(Point {
            unknowns: self.space.real(&found.at),
            evaluation: found.evaluation,
            tangent,
            jacobian: self.jacobian.as_ref().map_or_else(Vec::new, |j| j.rows.clone()),
            iterations: found.iterations,
            evaluations: found.evaluations,
        });
    }

    /// Where the last point would be if `residual` were taken off it, in its
    /// unknowns' own units: for a residual that is known better than it was when
    /// the point was found. `None` if that leads far away or beyond a limit.
    pub fn polished(&self, residual: &[f64]) -> Option<Vec<f64>> {
        let last = self.points.last()?;
        let jacobian = Jacobian { rows: last.jacobian.clone() };
        let row = match self.course {
            Course::Arclength { .. } => last.tangent.clone(),
            Course::Sweep { .. } => along_parameter(last.unknowns.len(), 1.0),
        };
        let step = jacobian.solve(&row, residual, 0.0).filter(|step| norm(step) < FAR)?;
        let from = self.space.divided(&last.unknowns);
        let there: Vec<f64> = from.iter().zip(&step).map(|(w, s)| w + s).collect();
        let real = self.space.real(&there);
        self.space.allows(&real).then_some(real)
    }

    /// Puts the last point where it was found to be by better means.
    pub fn amend_last(&mut self, unknowns: Vec<f64>, evaluation: Evaluation) {
        if let Some(last) = self.points.last_mut() {
            last.unknowns = unknowns;
            last.evaluation = evaluation;
            last.evaluations += 1;
        }
    }

    /// Where the parameter turns back.
    #[cfg(test)]
    pub(crate) fn folds(&self) -> Vec<super::Fold> {
        super::folds(&self.space, &self.points)
    }

    /// The branch half way between two places on it, all in the unknowns' own
    /// units: the root in the plane that halves their chord. `None` if there is
    /// none nearby. For problems without noise.
    pub fn between<P: Problem>(
        &self,
        problem: &mut P,
        a: &[f64],
        b: &[f64],
    ) -> Result<Option<Vec<f64>>, P::Error> {
        let (from, to) = (self.space.divided(a), self.space.divided(b));
        let middle: Vec<f64> = from.iter().zip(&to).map(|(a, b)| 0.5 * (a + b)).collect();
        let (row, length) = unit(to.iter().zip(&from).map(|(b, a)| b - a).collect());
        if length == 0.0 || !self.space.allows(&self.space.real(&middle)) {
            return Ok(None);
        }
        let start = middle.clone();
        let found = self.corrector.correct(problem, &self.space, start, &row, None)?;
        let aside: Vec<f64> = found.at.iter().zip(&middle).map(|(b, a)| b - a).collect();
        let is_near = found.converged && norm(&aside) <= 0.5 * length;
        Ok(is_near.then(|| self.space.real(&found.at)))
    }
}

/// How far the noise of an evaluation moves the root, in scaled unknowns.
fn unknown_noise(jacobian: &Jacobian, row: &[f64], found: &Corrected) -> f64 {
    jacobian.solve(row, &found.evaluation.scatter, 0.0).map_or(0.0, |moved| norm(&moved))
}

fn along_parameter(unknowns: usize, sign: f64) -> Vec<f64> {
    let mut row = vec![0.0; unknowns];
    row[unknowns - 1] = sign;
    row
}

pub(super) fn chord(space: &Space, a: &Point, b: &Point) -> Vec<f64> {
    a.unknowns.iter().zip(&b.unknowns).zip(&space.scale).map(|((a, b), s)| (b - a) / s).collect()
}

fn unit(mut vector: Vec<f64>) -> (Vec<f64>, f64) {
    let length = norm(&vector);
    if length > 0.0 {
        vector.iter_mut().for_each(|v| *v /= length);
    }
    (vector, length)
}
