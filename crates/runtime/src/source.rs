//! Sources: what proposes the motion of the rig, tick by tick.
//!
//! The closed loop of a hybrid test, a prepared drive, the periodic target of an
//! iterative test and commands from a wire are all sources of the same
//! [loop](crate::tick::Loop). After a trip the way to safe takes the source's place.

use model::integrator::NotConverged;
use model::motion::Motion;

use crate::event::EventLog;
use crate::gate::{Trip, TripKind};
use crate::interlock::{Phase, Ramped, Stop, ramp};
use crate::monitor::Observation;
use crate::rig::{Measured, RigSlot};

/// What a source may see and use of its loop before it proposes.
pub struct Scene<'a> {
    /// The tick.
    pub tick: u64,
    /// What is moved and measured.
    pub rig: &'a mut RigSlot,
    /// The command the rig has.
    pub held: &'a mut Motion,
    /// What the sensors say.
    pub measured: &'a mut Measured,
    /// Where warnings are noted.
    pub log: &'a mut EventLog,
}

/// What a source proposes for a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proposal {
    /// Its desired motion, which the compensator turns into a command.
    Desired,
    /// A command, as it stands in the place for it.
    Command,
}

/// What proposes the motion of the rig. All of it runs inside the tick: nothing
/// may allocate, lock, block or panic.
pub trait Source: Send {
    /// Whether somebody waits for what the sensors say to a command: a tick then
    /// begins with its command and ends with the measurement of the next.
    const ANSWERS: bool = false;

    /// Goes to the instant of this tick, samples the rig and takes in what it
    /// says. Gives why the test cannot go on.
    fn measure(&mut self, scene: &mut Scene<'_>) -> Result<(), Stop>;

    /// Proposes the motion of this tick; a command is written to `command`.
    fn propose(&mut self, scene: &mut Scene<'_>, command: &mut Motion) -> Result<Proposal, Stop>;

    /// The desired motion, as it is recorded and compared with what is measured.
    fn desired(&self) -> &Motion;

    /// Where a new prediction begins with this tick: what it would have desired a
    /// tick earlier.
    fn new_prediction(&self) -> Option<&Motion> {
        None
    }

    /// What the energy monitor is told of this instant, where there is one.
    fn observation<'a>(&'a self, _measured: &'a Measured) -> Option<Observation<'a>> {
        None
    }

    /// Most ticks that the instant of an observation may lie back.
    fn most_age(&self) -> usize {
        0
    }

    /// Gives the rig its command.
    fn actuate(&mut self, rig: &mut RigSlot, command: &Motion) {
        rig.actuate(command);
    }

    /// Goes one period on.
    fn advance(&mut self, _measured: &Measured) -> Result<(), Trip> {
        Ok(())
    }

    /// The test has tripped: from here on the rig is led by others.
    fn release(&mut self, _rig: &mut RigSlot, _held: &Motion, _cause: Trip) {}

    /// Whether the rig may stand anywhere before the first command, so that a stop
    /// before it must not command anything.
    fn stands_anywhere(&self) -> bool {
        false
    }

    /// Whether there is nothing left to propose.
    fn is_over(&self, tick: u64) -> bool;

    /// What the channel `phase` shows before a trip.
    fn phase(&self) -> Phase {
        Phase::Running
    }

    /// For how many periods the next tick may be put off, if it would miss something
    /// that may still come. For a clock that can wait.
    fn waits(&self, _tick: u64) -> Option<u64> {
        None
    }

    /// Whether the time of the load stands still in this tick because the operator wants it:
    /// what is known of the load beforehand waits as well.
    fn stands_still(&self) -> bool {
        false
    }

    /// A tick that was done, counted from the start of the load, if a loop was
    /// closed in it: what wakes the main loop of a two-rate test.
    fn closed_tick(&self, _ticks: u64) -> Option<u64> {
        None
    }

    /// Ticks of a two-rate test that were bridged because its main loop was late.
    fn bridged(&self) -> u64 {
        0
    }

    /// Load signals of this tick, as a frame shows them.
    fn load(&self, _tick: u64) -> &[f64] {
        &[]
    }

    /// Appends displacement (order 0), velocity (1) or acceleration (2) of every
    /// simulated DOF to a frame that has room.
    fn show(&mut self, _order: usize, _tick: u64, _measured: &Measured, _frame: &mut Vec<f64>) {}

    /// Appends the values of the source's own channels to a frame.
    fn write(&self, _frame: &mut Vec<f64>) {}
}

/// Writes the next command of a ramp from `held` to zero.
pub(crate) fn ramp_from(held: &Motion, rate_m_s: f64, step_s: f64, command: &mut Motion) -> Ramped {
    command.copy_from(held);
    command.velocity.fill(0.0);
    ramp(command, rate_m_s * step_s, rate_m_s)
}

/// The trip of a step that did not settle.
pub(crate) fn not_converged(failure: NotConverged) -> Trip {
    TripKind::NotConverged.trip(failure.correction_m, failure.tolerance_m)
}
