//! Two rates: the numerical part in a slow main loop, the rig in the fast tick.
//!
//! The tick (period δt) takes one point per tick from the newest batch, and
//! sends every measured force back. The [`MainLoop`] (period ΔT = R δt)
//! integrates the numerical part over all of those and predicts the next batch.
//! Two rings join them; what passes carries the tick it belongs to.
//!
//! Batch k is made of all samples up to tick k R, and its points are for the
//! ticks from k R + P on, P being the task time in ticks. The tick never takes
//! a batch before that, however early it came: a run in which every batch comes
//! in time is the same, bit for bit, whether the main loop is called inside the
//! tick ([virtual time](TwoRateModel)) or sits on a thread of its own
//! ([`TwoRateModel::detach_main`]).
//!
//! A batch that comes late is bridged by further points of the one before it,
//! which were made with it; those of its own points that are past by then are
//! dropped. More bridged ticks in a row than declared trip the loop.

mod batch;
mod fast_side;
mod main_loop;
mod numerical;
mod period;

pub use fast_side::{Counts, TwoRateModel};
pub use main_loop::{MainLoop, MainState};
pub use model::rates::{ForceUse, Lead, Rates, StepTime};

use model::equations::Equations;
use model::integrator::{IntegratorError, Options};
use model::predictor::PredictorError;
use model::specimen::Specimen;
use thiserror::Error;

use crate::frame::MotionDetail;
use crate::load::Load;

/// What a two-rate model is made of.
pub struct TwoRateParts<'a> {
    /// How the two loops go together.
    pub rates: Rates,
    /// The numerical part.
    pub numerical: &'a Equations,
    /// Algorithm and period δt of the tick.
    pub integrator: &'a Options,
    /// What is believed of the specimen, for the model-based predictor.
    pub specimen: &'a Specimen,
    /// The load ahead, where it is known beforehand, for the same.
    pub preview: Option<Load>,
    /// The part of the force that follows the present acceleration; see
    /// [`Options::direct_inertia`].
    pub direct_inertia: Option<nalgebra::DMatrix<f64>>,
    /// Seed of the rehearsed step times.
    pub seed: u64,
    /// What will be shown of the motion of every DOF between two instants.
    pub detail: MotionDetail,
}

/// Why there is no two-rate model.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TwoRateError {
    /// The integrator cannot be made.
    #[error(transparent)]
    Integrator(#[from] IntegratorError),
    /// The predictor cannot be made.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
    /// A ratio out of range.
    #[error("a ratio of {0} cannot be used: give 1 to {MOST_TICKS}")]
    BadRatio(usize),
    /// A task that takes longer than there is.
    #[error(
        "the main loop has {ratio} tick(s) for a step, and its task is said to take {task_ticks}: \
         raise the ratio, or shorten the task time"
    )]
    TaskTooLong {
        /// Ticks of the task.
        task_ticks: usize,
        /// Ticks of a step.
        ratio: usize,
    },
    /// Bridging without end.
    #[error("{0} ticks are too many to bridge: give at most {MOST_TICKS}")]
    BadBridge(usize),
    /// A rig that answers within the tick needs a point that is known before it.
    #[error(
        "the rig answers within the tick, and a main loop without task time would have to know \
         its force before: give a task time of one tick or more"
    )]
    AnswersAtOnce,
    /// The velocity of these methods is that of a moment ago.
    #[error(
        "a model-based predictor needs the velocity of the instant, and {0} keeps that of a \
         moment ago: use the method exact, rk4 or newmark, or another predictor"
    )]
    ModelBasedMethod(&'static str),
    /// More to keep than is reasonable.
    #[error(
        "the points of the main loop would need {0:.1e} numbers in memory, at most \
         {MOST_NUMBERS:.0e} are kept: lower the ratio or the number of bridged ticks, or use \
         another predictor than model_based"
    )]
    TooLarge(f64),
    /// Step times that are none.
    #[error("the step time of a rehearsal must be made of finite times that are not negative")]
    BadStepTime,
}

/// Most numbers in rings and tables of a main loop: 400 MB.
const MOST_NUMBERS: f64 = 5e7;

/// Most numbers in the table by which a model-based main loop shows every DOF at
/// every tick: about half a millisecond for each step. Beyond, a cubic does.
const MOST_SHOWN: f64 = 1e6;

/// Largest ratio, and most ticks that can be bridged.
pub const MOST_TICKS: usize = 1000;
