//! The operator's side of the interlock. There is no way back from a trip inside
//! a loop: who arms again builds a new one.

use thiserror::Error;

use crate::event::{Event, What};
use crate::gate::{Trip, TripKind};
use crate::hybrid_loop::HybridLoop;
use crate::interlock::{Phase, Response, Stop};
use crate::stop::StopHandle;

/// A person, or what acts for one. Its calls come between two ticks, never from
/// inside one, and everything it does is in the log of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operator {
    _private: (),
}

/// Why the operator's wish is not granted.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum OperatorError {
    /// The loop is closed: there is nothing to take down.
    #[error("the test is running: stop it first")]
    Running,
}

impl Operator {
    /// The operator. Whoever drives a loop has one; the tick does not.
    #[expect(clippy::new_without_default, reason = "nothing that acts on a rig comes by default")]
    pub fn new() -> Self {
        Self { _private: () }
    }

    /// Stops a running test before its next tick. A test that has tripped
    /// already stays as it is.
    pub fn stop(&self, hybrid: &mut HybridLoop, response: Response) {
        if hybrid.tripped().is_none() && !hybrid.is_over() {
            let trip = Trip { kind: TripKind::Operator, dof: 0, value: f64::NAN, limit: f64::NAN };
            hybrid.stop(Stop { trip, response });
        }
    }

    /// Ends a hold, or takes a rig down that an abort left standing: the ramp
    /// to zero begins with the next tick.
    pub fn ramp_down(&self, hybrid: &mut HybridLoop) -> Result<(), OperatorError> {
        let Some((cause, _)) = hybrid.tripped() else { return Err(OperatorError::Running) };
        let tick = hybrid.ticks();
        let (interlock, log) = hybrid.operated();
        interlock.ramp_down();
        log.note(Event { tick, what: What::OperatorRampDown, cause });
        Ok(())
    }
}

/// Does what the presses beyond those `seen` ask for; gives those seen now.
#[inline]
pub(crate) fn obey(stop: &StopHandle, hybrid: &mut HybridLoop, seen: u32) -> u32 {
    let presses = stop.presses();
    if presses == seen {
        return seen;
    }
    let operator = Operator::new();
    if hybrid.tripped().is_none() {
        operator.stop(hybrid, Response::Hold);
        // A second press that came within the same period counts too.
        if presses.wrapping_sub(seen) > 1 {
            let _ = operator.ramp_down(hybrid);
        }
    } else if hybrid.phase() == Phase::Holding {
        // The rig is on its way: the hold ends.
        let _ = operator.ramp_down(hybrid);
    }
    presses
}
