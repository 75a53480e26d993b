//! The operator's side of the interlock: the only one that arms.

use thiserror::Error;

use crate::event::{Event, What};
use crate::gate::{Trip, TripKind};
use crate::hybrid_loop::{HybridLoop, LoopParts};
use crate::interlock::{Phase, Response, Stop};
use crate::plant::Plant;
use crate::record::FrameSink;
use crate::stop::StopButton;

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
    /// The rig is on its way, or the test never tripped.
    #[error("the rig is not in its safe state (phase {phase:?}): wait until it is")]
    NotSafe {
        /// Where it stands.
        phase: Phase,
    },
    /// An abort left the rig somewhere.
    #[error(
        "the rig stands at {displacement_m} m at interface DOF {}, where the abort left it: ramp it \
         down before arming", .dof + 1
    )]
    NotAtZero {
        /// Interface DOF, from 0.
        dof: usize,
        /// The command it holds.
        displacement_m: f64,
    },
}

/// A loop that may not be armed again yet, given back with the reason.
pub struct Refused {
    /// Why.
    pub reason: OperatorError,
    /// The loop as it was.
    pub hybrid: Box<HybridLoop>,
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

    /// Arms again after a trip: a new loop around the same plant, from rest.
    ///
    /// `prepare` gets the plant and gives the parts of the new loop. The old one
    /// must have tripped and be safe, with every command at zero: the new one
    /// starts there, and anything else would be a jump. The first event of the
    /// new loop says after which trip it was armed.
    pub fn rearm(
        &self,
        tripped: HybridLoop,
        prepare: impl FnOnce(Plant) -> LoopParts,
        sink: Option<FrameSink>,
    ) -> Result<HybridLoop, Refused> {
        if let Some(reason) = obstacle(&tripped) {
            return Err(Refused { reason, hybrid: Box::new(tripped) });
        }
        let cause = tripped.tripped().map(|(trip, _)| trip);
        let mut hybrid = HybridLoop::new(prepare(tripped.into_plant()), sink);
        if let Some(cause) = cause {
            hybrid.operated().1.note(Event { tick: 0, what: What::Rearmed, cause });
        }
        Ok(hybrid)
    }
}

fn obstacle(hybrid: &HybridLoop) -> Option<OperatorError> {
    let phase = hybrid.phase();
    if phase != Phase::Safe {
        return Some(OperatorError::NotSafe { phase });
    }
    let command = &hybrid.command().displacement;
    let dof = command.iter().position(|&x| x != 0.0)?;
    Some(OperatorError::NotAtZero { dof, displacement_m: command[dof] })
}

/// Does what the presses beyond those `seen` ask for; gives those seen now.
#[inline]
pub(crate) fn obey(stop: &StopButton, hybrid: &mut HybridLoop, seen: u32) -> u32 {
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
