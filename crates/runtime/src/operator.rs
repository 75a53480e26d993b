//! The operator's side of the interlock. There is no way back from a trip inside
//! a loop: who arms again builds a new one.

use thiserror::Error;

use crate::event::{Event, What};
use crate::gate::{Trip, TripKind};
use crate::interlock::{Phase, Response, Stop};
use crate::source::Source;
use crate::tick::Loop;

/// What the operator's stop is noted as.
const OPERATOR: Trip = Trip { kind: TripKind::Operator, dof: 0, value: f64::NAN, limit: f64::NAN };

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
    pub fn stop<S: Source>(&self, test: &mut Loop<S>, response: Response) {
        if test.tripped().is_none() && !test.is_over() {
            test.stop(Stop { trip: OPERATOR, response });
        }
    }

    /// Stops a second time: the way to safe ends where it is, and the command
    /// stands still. Before a trip this is a first stop.
    pub fn freeze<S: Source>(&self, test: &mut Loop<S>) {
        if !test.is_over() {
            test.stop(OPERATOR.into());
        }
    }

    /// Ends a hold, or takes a rig down that an abort left standing: the ramp
    /// to zero begins with the next tick.
    pub fn ramp_down<S: Source>(&self, test: &mut Loop<S>) -> Result<(), OperatorError> {
        let Some((cause, _)) = test.tripped() else { return Err(OperatorError::Running) };
        test.ramp_down();
        test.log.note(Event { tick: test.tick, what: What::OperatorRampDown, cause });
        Ok(())
    }
}

/// Does what the presses beyond those `seen` ask for; gives those seen now. The
/// first stops the test (hold, then ramp to zero), one during the hold ends the
/// hold, one during the ramp freezes it.
#[inline]
pub(crate) fn obey<S: Source>(presses: u32, test: &mut Loop<S>, seen: u32) -> u32 {
    if presses != seen {
        let operator = Operator::new();
        // Presses that came within one period all count.
        for _ in 0..presses.wrapping_sub(seen).min(3) {
            match test.phase() {
                Phase::Holding => {
                    // It has tripped, so there is something to take down.
                    let _ = operator.ramp_down(test);
                }
                _ if test.tripped().is_none() => operator.stop(test, Response::Hold),
                _ => operator.freeze(test),
            }
        }
    }
    presses
}
