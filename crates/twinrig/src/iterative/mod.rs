//! Iterative tests from an experiment file: setup, bench, journal, results.

mod bench;
mod outcome;
pub mod page;
mod resumed;
mod saved;
mod setup;
mod study;
mod verdict;

pub use crate::interface_dof::{Place, common_unit};
pub use bench::{Bench, Pace, Rested};
pub use outcome::{Outcome, record_trials};
pub use resumed::{Answer, Request, ResumedBench, Return};
pub use saved::{Line, from_line, to_line};
pub use setup::Setup;
pub use study::{TraceOptions, Traced};

use analysis::iterative::{Trace, TracePoint, Trial};
use numerics::continuation::{Advance, End};
use runtime::gate::{Trip, TripKind};
use runtime::periodic::PeriodicError;
use serde::{Serialize, Serializer};

/// How a trace ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ended {
    /// By itself.
    Course(End),
    /// The rig tripped.
    Tripped(Trip),
    /// The operator stopped it.
    Stopped,
    /// The loop's thread is gone.
    Gone,
}

impl Ended {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Course(End::Bound) => "the response is followed to the end of the band".into(),
            Self::Course(End::Limit) => "the rig would need a target beyond the limit \
                 `trace.target`; nothing there was tried"
                .into(),
            Self::Course(End::Complete) => "all frequencies are done".into(),
            Self::Course(End::MostPoints) => "the greatest number of points is reached".into(),
            Self::Course(End::NoStart) => "no first point was found: both sides did not come \
                 together at the first frequency"
                .into(),
            Self::Course(End::Stuck) => "no further point was found, however short the step".into(),
            Self::Tripped(trip) => format!("the rig tripped: {}", trip.text()),
            Self::Stopped => "stopped by the operator; the same command goes on from here".into(),
            Self::Gone => "the thread of the loop ended".into(),
        }
    }

    /// One word, for machines.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Course(End::Bound) => "band_end",
            Self::Course(End::Limit) => "limit",
            Self::Course(End::Complete) => "complete",
            Self::Course(End::MostPoints) => "most_points",
            Self::Course(End::NoStart) => "no_start",
            Self::Course(End::Stuck) => "stuck",
            Self::Tripped(_) => "tripped",
            Self::Stopped => "stopped",
            Self::Gone => "gone",
        }
    }

    /// Whether all that was asked for was traced.
    pub fn is_complete(&self) -> bool {
        matches!(self, Self::Course(End::Bound | End::Complete))
    }

    /// Whether nothing is left to try: the same command would end at once.
    pub fn is_final(&self) -> bool {
        self.is_complete() || matches!(self, Self::Course(End::Limit | End::MostPoints))
    }
}

impl Serialize for Ended {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.word().serialize(serializer)
    }
}

/// Follows the trace to its end. `kept` is told of every answer, evaluation and
/// point as soon as it is there, and may end the trace by an error.
pub fn follow<E>(
    trace: &mut Trace<ResumedBench<'_>>,
    mut kept: impl FnMut(News<'_>) -> Result<(), E>,
) -> Result<Ended, E> {
    loop {
        let advance = trace.advance();
        for answer in trace.experiment_mut().take_answers() {
            kept(News::Answer(answer))?;
        }
        for trial in trace.take_trials() {
            kept(News::Trial(trial))?;
        }
        match advance {
            Ok(Advance::Point) => {
                let known = trace.experiment_mut().is_replaying();
                if let Some(point) = trace.newest() {
                    kept(if known { News::KnownPoint } else { News::Point(point) })?;
                }
            }
            Ok(Advance::Failed) => {}
            Ok(Advance::Ended(end)) => return Ok(Ended::Course(end)),
            Err(PeriodicError::Tripped(trip)) if trip.kind == TripKind::Operator => {
                return Ok(Ended::Stopped);
            }
            Err(PeriodicError::Tripped(trip)) => return Ok(Ended::Tripped(trip)),
            Err(PeriodicError::Gone) => return Ok(Ended::Gone),
        }
    }
}

/// What has come.
pub enum News<'a> {
    /// What the bench answered.
    Answer(Answer),
    /// An evaluation.
    Trial(Trial),
    /// A point of the response.
    Point(&'a TracePoint),
    /// A point that follows from what was known before.
    KnownPoint,
}
