//! Predictors: from the motion at the instants of a slow loop to the motion at
//! the ticks of a fast one, ahead of what is known.
//!
//! A [`Design`] declares one with its numbers; [`Predictor::new`] builds it for
//! the [`Grid`] of points it will be asked for.
//!
//! Time is counted in s = t/ΔT from the newest instant, ΔT being the period of
//! the slow loop. Velocity and acceleration are derivatives of the very
//! function that gives the displacement, never differences of its points.

mod adaptive;
mod model_based;
mod polynomial;
#[cfg(test)]
mod tests;

pub use model_based::Surroundings;

use keys::Keys;
use nalgebra::DMatrix;
use thiserror::Error;

use crate::error::BadNumber;
use crate::motion::Motion;
use adaptive::Adaptive;
use model_based::ModelBased;
use polynomial::{Polynomial, Rule, lagrange, least_squares};

/// How the motion ahead is predicted from what the main loop knows.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(tag = "kind", tag_doc = "The kind of prediction.", absent = "hermite")]
pub enum Design {
    /// Cubic through displacement and velocity of two instants.
    Hermite,
    /// Polynomial through the last displacements.
    Lagrange {
        /// Degree of the polynomial; each further one doubles the amplification of noise.
        #[key(count = 1..=5, default = 3)]
        order: usize,
        /// Whether the task time is bridged on its own.
        #[key(default = "one")]
        stages: Stages,
    },
    /// Polynomial nearest to the last displacements.
    LeastSquares {
        /// Degree of the polynomial; each further one doubles the amplification of noise.
        #[key(count = 1..=5, default = 3)]
        order: usize,
        /// Displacements it is fitted to, more than the degree.
        #[key(count = 2..=MOST_POINTS as u64, default = 5)]
        points: usize,
    },
    /// Acceleration that goes on changing at its last rate.
    PredictedAcceleration,
    /// The linear structure itself, specimen included, under the load ahead.
    ///
    /// Exact where the specimen is what it was declared to be.
    ModelBased,
    /// A recurrence learnt by recursive least squares.
    Adaptive {
        /// Instants it looks back on: two for each vibration.
        #[key(count = 2..=MOST_TAPS as u64, default = 4)]
        taps: usize,
        /// Weight of the past, per step.
        #[key(number, within = 0.9..=1.0, default = 0.999)]
        forgetting: f64,
    },
    /// One period late: interpolated once the next instant is known.
    ///
    /// At tick j after an instant the signal is where it should have been at
    /// s = j/R − 1. From the end of the task time to the next instant that lies
    /// between two known displacements; while the task runs it lies ahead of the
    /// last one.
    ///
    /// Nothing is extrapolated further than the task time, and the price is a delay
    /// of a whole period ΔT, which the compensator must lead by.
    ///
    /// Reference: Nakashima & Masaoka 1999, Earthq. Eng. Struct. Dyn. 28(4).
    Combined {
        /// Degree of the polynomial; each further one doubles the amplification of noise.
        #[key(count = 1..=5, default = 3)]
        order: usize,
    },
}

/// Most instants a least-squares fit looks back on.
pub const MOST_POINTS: usize = 16;
/// Most instants a learnt recurrence looks back on.
pub const MOST_TAPS: usize = 8;
/// Greatest degree of a polynomial.
pub const HIGHEST_ORDER: usize = 5;

/// How a predictor bridges the task time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Stages {
    /// Task time and ticks in one prediction.
    One,
    /// First over the task time, then over the ticks.
    ///
    /// The second starts from predicted instants: the published scheme.
    Two,
}

impl Design {
    /// The name used in the experiment file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lagrange { .. } => "lagrange",
            Self::Hermite => "hermite",
            Self::LeastSquares { .. } => "least_squares",
            Self::PredictedAcceleration => "predicted_acceleration",
            Self::ModelBased => "model_based",
            Self::Adaptive { .. } => "adaptive",
            Self::Combined { .. } => "combined",
        }
    }
}

/// The points a predictor is asked for: `first`, `first` + 1, … ticks after the
/// newest instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// δt, s.
    pub tick_s: f64,
    /// ΔT/δt.
    pub ratio: usize,
    /// Ticks from the newest instant to the first point; may be fractional.
    pub first: f64,
    /// Number of points.
    pub points: usize,
    /// Ticks that the slow loop takes for its task.
    pub task: f64,
}

impl Grid {
    /// ΔT, s.
    pub fn period_s(&self) -> f64 {
        self.ratio as f64 * self.tick_s
    }

    /// s of a point.
    #[inline]
    pub fn s(&self, point: usize) -> f64 {
        (self.first + point as f64) / self.ratio as f64
    }
}

/// What is known at an instant of the slow loop.
#[derive(Debug, Clone, Copy)]
pub struct Instant<'a> {
    /// Motion of the interface.
    pub interface: &'a Motion,
    /// Displacement of every DOF.
    pub displacement: &'a [f64],
    /// Velocity of every DOF.
    pub velocity: &'a [f64],
    /// The force measured now.
    pub force: &'a [f64],
    /// The load now and at the ticks ahead, one row after the other: as many
    /// rows as [`Predictor::rows_ahead`] says.
    pub load: &'a [f64],
}

/// Why a predictor cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum PredictorError {
    /// A number out of its range.
    #[error(transparent)]
    BadNumber(#[from] BadNumber),
    /// Too few or too many points for a fit.
    #[error(
        "{points} points do not fit a polynomial of degree {order}: give more points than the \
         degree and at most {MOST_POINTS}"
    )]
    BadPoints {
        /// What was asked for.
        points: usize,
        /// Degree of the polynomial.
        order: usize,
    },
    /// A model with so many nonlinear elements does not follow from its state alone.
    #[error(
        "a model-based predictor needs a linear numerical part, and this one has {0} \
         nonlinear element(s): use hermite"
    )]
    NotLinear(usize),
    /// The masses cannot be inverted.
    #[error("the mass matrix of the predicting model is singular")]
    SingularMass,
}

/// Gives the interface motion ahead. A closed set, chosen by the file.
///
/// [`observe`](Self::observe) and [`point`](Self::point) run inside a loop: no
/// allocation, no blocking, no panic.
#[derive(Debug, Clone)]
pub struct Predictor(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Polynomial(Polynomial),
    ModelBased(Box<ModelBased>),
    Adaptive(Box<Adaptive>),
}

impl Predictor {
    /// Builds a declared predictor, at rest, for `count` interface DOFs.
    /// `surroundings` are what the model-based kind predicts with.
    pub fn new(
        design: &Design,
        grid: Grid,
        count: usize,
        surroundings: &Surroundings,
    ) -> Result<Self, PredictorError> {
        let polynomial = |rule| Kind::Polynomial(Polynomial::new(rule, grid, count));
        let one_stage = |weights, origin| {
            polynomial(Rule::Displacements { weights, origin, stages: Stages::One })
        };
        Ok(Self(match *design {
            Design::Lagrange { order, stages: Stages::One } => one_stage(lagrange(order)?, 0.0),
            Design::Lagrange { order, stages } => {
                let origin = grid.task / grid.ratio as f64;
                polynomial(Rule::Displacements { weights: lagrange(order)?, origin, stages })
            }
            Design::Hermite => polynomial(Rule::Hermite),
            Design::LeastSquares { order, points } => one_stage(least_squares(order, points)?, 0.0),
            Design::PredictedAcceleration => polynomial(Rule::PredictedAcceleration),
            Design::ModelBased => Kind::ModelBased(Box::new(ModelBased::new(surroundings, grid)?)),
            Design::Adaptive { taps, forgetting } => {
                Kind::Adaptive(Box::new(Adaptive::new(taps, forgetting, grid, count)?))
            }
            Design::Combined { order } => one_stage(lagrange(order)?, 1.0),
        }))
    }

    /// Takes a new instant in, one period after the last.
    pub fn observe(&mut self, now: &Instant) {
        match &mut self.0 {
            Kind::Polynomial(polynomial) => polynomial.observe(now.interface),
            Kind::ModelBased(model) => model.observe(now),
            Kind::Adaptive(adaptive) => adaptive.observe(now.interface),
        }
    }

    /// The motion of the interface at a point of the grid, as seen from the
    /// newest instant.
    pub fn point(&self, index: usize, out: &mut Motion) {
        match &self.0 {
            Kind::Polynomial(polynomial) => polynomial.point(index, out),
            Kind::ModelBased(model) => model.point(index, out),
            Kind::Adaptive(adaptive) => adaptive.point(index, out),
        }
    }

    /// Prepares the motion of every DOF at the points of a second grid, where the
    /// kind knows it: the model-based one.
    pub fn tabulate(
        &mut self,
        surroundings: &Surroundings,
        grid: Grid,
        orders: usize,
    ) -> Result<(), PredictorError> {
        match &mut self.0 {
            Kind::ModelBased(model) => model.tabulate(surroundings, grid, orders),
            _ => Ok(()),
        }
    }

    /// The motion of every DOF at a point of that grid, where it was prepared.
    pub fn whole(&self, index: usize, out: &mut [f64]) {
        if let Kind::ModelBased(model) = &self.0 {
            model.whole(index, out);
        }
    }

    /// The points as fixed combinations of the last instants, newest first: one
    /// matrix per instant, found by asking the predictor itself, at rest. Its rows are
    /// displacement, velocity and acceleration of each point, its columns those of
    /// the interface, displacement and velocity of every DOF, and the force. `None`
    /// for the kind that learns.
    pub fn weights(&self, dofs: usize, count: usize, points: usize) -> Option<Vec<DMatrix<f64>>> {
        let columns = match &self.0 {
            Kind::Adaptive(_) => return None,
            Kind::ModelBased(_) => 4 * count + 2 * dofs,
            _ => 3 * count,
        };
        let rows = 3 * count * points;
        // No kind but the one that learns looks back on more.
        let mut weights = vec![DMatrix::zeros(rows, 4 * count + 2 * dofs); MOST_POINTS];
        let (mut signals, mut point) = (vec![0.0; 4 * count + 2 * dofs], Motion::rest(count));
        let observe = |asked: &mut Self, signals: &[f64]| {
            let mut interface = Motion::rest(count);
            interface.copy_from_slice(&signals[..3 * count]);
            let (state, force) = signals[3 * count..].split_at(2 * dofs);
            let (displacement, velocity) = state.split_at(dofs);
            let interface = &interface;
            asked.observe(&Instant { interface, displacement, velocity, force, load: &[] });
        };
        for column in 0..columns {
            let mut asked = self.clone();
            // From rest: what comes first is not taken for the past.
            observe(&mut asked, &signals);
            signals[column] = 1.0;
            for weight in &mut weights {
                observe(&mut asked, &signals);
                signals[column] = 0.0;
                for index in 0..points {
                    asked.point(index, &mut point);
                    let all = [&point.displacement, &point.velocity, &point.acceleration];
                    for (row, value) in all.into_iter().flatten().enumerate() {
                        weight[(3 * count * index + row, column)] = *value;
                    }
                }
            }
        }
        let last = weights.iter().rposition(|weight| weight.iter().any(|value| *value != 0.0));
        weights.truncate(last.map_or(1, |last| last + 1));
        Some(weights)
    }

    /// Rows of [`Instant::load`] that are looked at: none but for the model-based kind.
    pub fn rows_ahead(&self) -> usize {
        match &self.0 {
            Kind::ModelBased(model) => model.rows_ahead,
            _ => 0,
        }
    }
}
