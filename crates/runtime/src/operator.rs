//! The operator's side of the interlock. There is no way back from a trip inside
//! a loop: who arms again builds a new one.

use crate::event::{Event, What};
use crate::gate::{Trip, TripKind};
use crate::interlock::{Phase, Response, Stop};
use crate::source::Source;
use crate::tick::Loop;

/// What the operator's stop is noted as.
const OPERATOR: Trip = TripKind::Operator.trip(f64::NAN, f64::NAN);

/// Stops a running test before its next tick. A test that has tripped already stays
/// as it is.
///
/// This and what follows is for a person, or what acts for one: it comes between two
/// ticks, never from inside one, and is in the log of the loop.
pub fn stop<S: Source>(test: &mut Loop<S>, response: Response) {
    if test.tripped().is_none() && !test.is_over() {
        test.stop(Stop { trip: OPERATOR, response });
    }
}

/// Stops a second time: the way to safe ends where it is, and the command stands
/// still. Before a trip this is a first stop.
pub fn freeze<S: Source>(test: &mut Loop<S>) {
    if !test.is_over() {
        test.stop(OPERATOR.into());
    }
}

/// Ends a hold, or takes a rig down that an abort left standing: the ramp to zero
/// begins with the next tick. While the loop is closed there is nothing to take down.
pub fn ramp_down<S: Source>(test: &mut Loop<S>) {
    if let Some((cause, _)) = test.tripped() {
        test.ramp_down();
        test.log.note(Event { tick: test.tick, what: What::OperatorRampDown, cause });
    }
}

/// Does what the presses beyond those `seen` ask for; gives those seen now. The
/// first stops the test (hold, then ramp to zero), one during the hold ends the
/// hold, one during the ramp freezes it.
pub(crate) fn obey<S: Source>(presses: u32, test: &mut Loop<S>, seen: u32) -> u32 {
    // Presses that came within one period all count.
    for _ in 0..presses.wrapping_sub(seen).min(3) {
        match test.phase() {
            Phase::Holding => ramp_down(test),
            _ if test.tripped().is_none() => stop(test, Response::Hold),
            _ => freeze(test),
        }
    }
    presses
}
