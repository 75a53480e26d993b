//! Iterative hybrid testing: frequency responses where feedback cannot work.
//!
//! The loop is cut. The rig follows a periodic target, the measured force drives
//! the simulated side, and the target's Fourier coefficients are corrected until
//! both sides of the interface move alike: a root of Φ = measured − simulated,
//! followed over the frequency.
//!
//! Reference: Beregi et al., iterative hybrid testing with continuation.

mod bias;
mod error_bar;
mod finer;
mod marks;
mod reference;
mod refine;

pub use bias::{bias_m, unmatched_share};
pub use error_bar::Amplification;
pub use marks::{FoldMark, Mark, Peak, PeakFrom, peak};
pub use reference::{Branch, ReferencePoint, WholeStructure};
pub use refine::jumped;

use model::periodic::{Coefficients, Orbit};
use numerics::continuation::{
    self, Advance, Continuation, Corrector, Course, End, Evaluation, Point, Problem, Space,
    Surrogate, SurrogateRule,
};

/// A rig and a simulated side that can be brought to a periodic motion. Its one
/// duty: apply the target at the frequency, wait until both sides have settled,
/// and return their coefficients with their scatter.
pub trait PeriodicExperiment {
    /// Why the test must end.
    type Error;

    /// One target per interface DOF; its mean counts where the rig holds a place.
    fn apply(&mut self, frequency_hz: f64, target: &[Coefficients]) -> Result<Orbit, Self::Error>;

    /// Averages on at the target that was applied last, because its point is kept;
    /// `None` if nothing is to be gained. The orbit is that of the whole time.
    fn refine(&mut self) -> Result<Option<Orbit>, Self::Error> {
        Ok(None)
    }
}

/// What is to be traced.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSettings {
    /// Interface DOFs.
    pub dofs: usize,
    /// Whether the mean is matched, too.
    pub mean: bool,
    /// Harmonics that are matched.
    pub harmonics: usize,
    /// Least and greatest frequency, Hz; none beyond is ever tried.
    pub band_hz: (f64, f64),
    /// Greatest size of the target, mean and harmonics taken together, per DOF, m.
    pub target_limit_m: f64,
    /// Size of the target by which it is scaled, m.
    pub scale_m: f64,
    /// Frequency by which it is scaled, Hz.
    pub scale_hz: f64,
    /// How a point is corrected.
    pub corrector: Corrector,
    /// Whether the evaluations near a point are joined by a Gaussian process, for
    /// rigs whose noise hides differences.
    pub surrogate: bool,
    /// Where the run goes.
    pub course: Course,
    /// The first guess: coefficients, then frequency in Hz.
    pub guess: Vec<f64>,
}

impl TraceSettings {
    /// Target and frequency as unknowns: mean (if matched) and harmonics 1, 2, … of
    /// the first DOF, then of the next, then the frequency.
    pub fn unknowns(&self) -> usize {
        self.width() * self.dofs + 1
    }

    /// Unknowns of one DOF.
    fn width(&self) -> usize {
        2 * self.harmonics + usize::from(self.mean)
    }

    fn space(&self) -> Space {
        let n = self.unknowns();
        let mut scale = vec![self.scale_m; n];
        scale[n - 1] = self.scale_hz;
        let mut space = Space::scaled(scale);
        (space.low[n - 1], space.high[n - 1]) = self.band_hz;
        let width = self.width();
        space.radii = (0..self.dofs).map(|d| (d * width, width, self.target_limit_m)).collect();
        space
    }

    /// The target of every DOF.
    pub fn target(&self, unknowns: &[f64]) -> Vec<Coefficients> {
        let width = self.width();
        let mean: &[f64] = if self.mean { &[] } else { &[0.0] };
        let of = |part: &[f64]| Coefficients([mean, part].concat());
        unknowns[..width * self.dofs].chunks(width).map(of).collect()
    }
}

/// One evaluation: what was asked and what came.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Target and frequency.
    pub unknowns: Vec<f64>,
    /// Measured − simulated, matched harmonics only.
    pub residual: Vec<f64>,
    /// Both sides.
    pub orbit: Orbit,
}

/// A point of the response with its error bar.
#[derive(Debug, Clone, PartialEq)]
pub struct TracePoint {
    /// Hz.
    pub frequency_hz: f64,
    /// The point as the continuation keeps it.
    pub point: Point,
    /// Both sides at the last evaluation.
    pub orbit: Orbit,
    /// Cosine and sine of each DOF's fundamental, m: measured, less what the
    /// residual leaves open, as far as that is known.
    pub fundamental: Vec<[f64; 2]>,
    /// Half-width of the interval of its amplitude, m: what is still open, and
    /// twice the standard deviation of noise.
    pub interval_m: Vec<f64>,
    /// Time on the rig for this point, failed tries before it included, s.
    pub rig_time_s: f64,
    /// Failed tries before it.
    pub failures: usize,
}

/// Corrections of a point that is kept, once it is known better.
const MOST_POLISHED: usize = 2;
/// Evaluations that a surrogate goes through.
const SURROGATE_EVALUATIONS: usize = 60;

impl TracePoint {
    /// Amplitude of a DOF's fundamental, m.
    pub fn amplitude_m(&self, dof: usize) -> f64 {
        self.fundamental[dof][0].hypot(self.fundamental[dof][1])
    }

    /// Its phase against the load, degrees; negative when it lags.
    pub fn phase_deg(&self, dof: usize) -> f64 {
        let [cosine, sine] = self.fundamental[dof];
        (-sine).atan2(cosine).to_degrees()
    }
}

/// A trace on the way.
pub struct Trace<X: PeriodicExperiment> {
    problem: Surrogate<Matching<X>>,
    run: Continuation,
    points: Vec<TracePoint>,
    amplification: Option<Amplification>,
    /// All evaluations, where a surrogate makes few for each point.
    pool: Vec<Trial>,
    failures: usize,
    /// Index of the point that was made last.
    newest: usize,
    /// Points that may still be put in at the last fold.
    halvings: usize,
}

/// The experiment as equations.
struct Matching<X> {
    experiment: X,
    settings: TraceSettings,
    /// Since the last point.
    trials: Vec<Trial>,
    /// Since they were last taken.
    log: Vec<Trial>,
}

impl<X: PeriodicExperiment> Problem for Matching<X> {
    type Error = X::Error;

    fn evaluate(&mut self, unknowns: &[f64]) -> Result<Evaluation, X::Error> {
        let orbit = self.applied(unknowns)?;
        let (evaluation, trial) = self.matched(unknowns, orbit);
        self.log.push(trial.clone());
        self.trials.push(trial);
        Ok(evaluation)
    }
}

impl<X: PeriodicExperiment> Matching<X> {
    /// What the experiment answers to these unknowns.
    fn applied(&mut self, unknowns: &[f64]) -> Result<Orbit, X::Error> {
        let frequency_hz = unknowns[unknowns.len() - 1];
        self.experiment.apply(frequency_hz, &self.settings.target(unknowns))
    }

    /// An evaluation of a point that is kept, averaged as long as it pays.
    fn carefully(&mut self, unknowns: &[f64]) -> Result<(Evaluation, Trial), X::Error> {
        let orbit = self.applied(unknowns)?;
        let orbit = self.experiment.refine()?.unwrap_or(orbit);
        let (evaluation, trial) = self.matched(unknowns, orbit);
        self.log.push(trial.clone());
        Ok((evaluation, trial))
    }

    /// What is left between both sides of an orbit.
    fn matched(&self, unknowns: &[f64], orbit: Orbit) -> (Evaluation, Trial) {
        let first = usize::from(!self.settings.mean);
        let matched = first..2 * self.settings.harmonics + 1;
        let matched = |all: &[Coefficients]| -> Vec<f64> {
            all.iter().flat_map(|one| one.0[matched.clone()].to_vec()).collect()
        };
        let pairs = matched(&orbit.measured).into_iter().zip(matched(&orbit.simulated));
        let residual: Vec<f64> = pairs.map(|(x, xi)| x - xi).collect();
        let scatter = matched(&orbit.difference_scatter);
        let trial = Trial { unknowns: unknowns.to_vec(), residual: residual.clone(), orbit };
        (Evaluation { residual, scatter }, trial)
    }
}

impl<X: PeriodicExperiment> Trace<X> {
    /// Begins.
    pub fn new(experiment: X, settings: TraceSettings) -> Self {
        let (course, guess) = (settings.course.clone(), settings.guess.clone());
        let run = Continuation::new(settings.space(), settings.corrector, course, guess);
        let rule = settings
            .surrogate
            .then(|| SurrogateRule { scale: settings.space().scale, most: SURROGATE_EVALUATIONS });
        let matching = Matching { experiment, settings, trials: Vec::new(), log: Vec::new() };
        let problem = Surrogate::new(matching, rule);
        Self {
            problem,
            run,
            points: Vec::new(),
            amplification: None,
            pool: Vec::new(),
            failures: 0,
            newest: 0,
            halvings: 0,
        }
    }

    /// Tries for one more point.
    pub fn advance(&mut self) -> Result<Advance, X::Error> {
        if let Some(at) = self.coarse_chord() {
            self.halvings -= 1;
            if !self.run.insert(&mut self.problem, at)? {
                self.halvings = 0;
                self.failures += 1;
                return Ok(Advance::Failed);
            }
            self.keep(at + 1)?;
            return Ok(Advance::Point);
        }
        let advance = self.run.advance(&mut self.problem)?;
        match advance {
            Advance::Point if self.has_jumped() && self.run.retreat() => {
                self.failures += 1;
                return Ok(Advance::Failed);
            }
            Advance::Point => {
                self.keep(self.points.len())?;
                self.halvings = refine::MOST_HALVINGS;
            }
            Advance::Failed => self.failures += 1,
            Advance::Ended(_) => {}
        }
        Ok(advance)
    }

    /// To the end.
    pub fn run(&mut self) -> Result<End, X::Error> {
        loop {
            if let Advance::Ended(end) = self.advance()? {
                return Ok(end);
            }
        }
    }

    /// Keeps the point of the run with this index, averaged as long as it pays.
    fn keep(&mut self, at: usize) -> Result<(), X::Error> {
        let Some(mut point) = self.run.points().get(at).cloned() else { return Ok(()) };
        let matching = &mut self.problem.inner;
        let mut trials = std::mem::take(&mut matching.trials);
        let far = |t: &Trial| -> f64 {
            t.unknowns.iter().zip(&point.unknowns).map(|(a, b)| (a - b).abs()).sum()
        };
        let nearest = |&a: &usize, &b: &usize| far(&trials[a]).total_cmp(&far(&trials[b]));
        let Some(mut index) = (0..trials.len()).rev().min_by(nearest) else { return Ok(()) };
        // The rig still follows the last target: that of the point, but for the first.
        let is_last = index + 1 == trials.len();
        if is_last && let Some(orbit) = matching.experiment.refine()? {
            let (mut left, trial) = matching.matched(&point.unknowns, orbit);
            trials[index] = trial.clone();
            // The last evaluation was averaged on.
            matching.log.last_mut().into_iter().for_each(|last| *last = trial.clone());
            // Known better, the residual may stand out again.
            let corrector = matching.settings.corrector;
            for _ in 0..MOST_POLISHED {
                if left.norm() <= corrector.accepted(&left) {
                    break;
                }
                let Some(unknowns) = self.run.polished(at, &left.residual) else { break };
                let (there, trial) = matching.carefully(&unknowns)?;
                trials.push(trial);
                if there.norm() >= left.norm() {
                    break;
                }
                index = trials.len() - 1;
                left = there;
                self.run.amend(at, unknowns, left.clone());
            }
            point = self.run.points().get(at).cloned().unwrap_or(point);
            point.evaluation = left;
        }
        let trial = &trials[index];
        // A surrogate's own idea of the residual is smooth and too sure of itself:
        // what is taken off the measured motion is what was measured with it.
        point.evaluation = matching.matched(&trial.unknowns, trial.orbit.clone()).0;
        let mut pooled = None;
        if matching.settings.surrogate {
            self.pool.extend(trials.iter().cloned());
            pooled = Amplification::pooled(&self.pool, trial, &matching.settings.space().scale);
        }
        if let Some(found) = pooled.or_else(|| Amplification::estimate(&trials)) {
            self.amplification = Some(found);
        }
        let known = error_bar::known(trial, &point.evaluation, self.amplification.as_ref());
        self.newest = at;
        let kept = TracePoint {
            frequency_hz: point.parameter(),
            orbit: trial.orbit.clone(),
            fundamental: known.fundamental,
            interval_m: known.interval_m,
            rig_time_s: trials.iter().map(|t| t.orbit.time_s).sum(),
            failures: std::mem::take(&mut self.failures),
            point,
        };
        self.points.insert(at, kept);
        Ok(())
    }

    /// The points so far, in the order of the branch.
    pub fn points(&self) -> &[TracePoint] {
        &self.points
    }

    /// The point that was made last: not the last of the branch if it is one more at a fold.
    pub fn newest(&self) -> Option<&TracePoint> {
        self.points.get(self.newest)
    }

    /// Where the frequency turns back: from the points as they are known at last.
    pub fn folds(&self) -> Vec<FoldMark> {
        let space = self.problem.inner.settings.space();
        let points: Vec<Point> = self.points.iter().map(|p| p.point.clone()).collect();
        let folds = continuation::folds(&space, &points);
        folds.iter().map(|fold| marks::fold(&self.points, fold)).collect()
    }

    /// Every evaluation since this was last asked.
    pub fn take_trials(&mut self) -> Vec<Trial> {
        std::mem::take(&mut self.problem.inner.log)
    }

    /// The experiment.
    pub fn experiment_mut(&mut self) -> &mut X {
        &mut self.problem.inner.experiment
    }

    /// The experiment, when there is nothing more to trace.
    pub fn into_experiment(self) -> X {
        self.problem.inner.experiment
    }
}
