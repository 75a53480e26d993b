//! A stretch of ticks: one, or many of a shaken virtual rig at once.
//!
//! Within a period the target depends on nothing that is measured; only its mean
//! follows the rig, when a period ends. So in virtual time a stretch of ticks that
//! crosses no such end may be gone through stage by stage: all targets, then the
//! rig, then the simulated side, then the sums. Every number is made from the same
//! numbers in the same order as in stretches of one tick, so the bits are the same; what is
//! gained is that each stage is a short loop. The gate still stands before every
//! command.

use model::motion::Motion;
use numerics::small::copy;

use super::PeriodicLoop;
use crate::gate::{GateInput, Trip, TripKind, gate};
use crate::rig::{Measured, RigSlot};

/// Most ticks of a stretch: all rows stay in the nearest cache.
pub(super) const STRETCH: usize = 32;

/// Room for a stretch, tick by tick, all DOFs of a tick behind each other.
pub(super) struct Stretch {
    pub(super) dofs: usize,
    /// Ticks in it.
    pub(super) ticks: usize,
    /// The load's wave.
    pub(super) waves: Vec<f64>,
    /// Displacement, velocity and acceleration.
    pub(super) commands: Vec<[f64; 3]>,
    pub(super) displacement: Vec<f64>,
    pub(super) force: Vec<f64>,
    pub(super) acceleration: Vec<f64>,
    /// Whether the rig measures that.
    pub(super) has_acceleration: bool,
    /// Forces on the simulated side.
    pub(super) compensated: Vec<f64>,
    pub(super) simulated: Vec<f64>,
}

impl Stretch {
    pub(super) fn new(dofs: usize) -> Self {
        let rows = || vec![0.0; STRETCH * dofs];
        Self {
            dofs,
            ticks: 0,
            waves: vec![0.0; STRETCH],
            commands: vec![[0.0; 3]; STRETCH * dofs],
            displacement: rows(),
            force: rows(),
            acceleration: rows(),
            has_acceleration: true,
            compensated: rows(),
            simulated: rows(),
        }
    }

    /// What is measured in its only tick.
    pub(super) fn take(&mut self, measured: &Measured) {
        copy(&mut self.displacement[..self.dofs], &measured.displacement);
        copy(&mut self.force[..self.dofs], &measured.force);
        copy(&mut self.acceleration[..self.dofs], &measured.acceleration);
        self.has_acceleration = measured.has_acceleration;
    }

    /// The command of its first tick.
    pub(super) fn first_command(&self, command: &mut Motion) {
        set(command, &self.commands[..self.dofs]);
    }

    /// What the windows sum, in their order.
    pub(super) fn signals(&self) -> [&[f64]; 3] {
        [&self.displacement, &self.simulated, &self.force]
    }
}

impl PeriodicLoop {
    /// Goes on in virtual time: by one tick, or by some at once where that is the
    /// same. Allocates nowhere.
    pub fn go_on(&mut self) {
        let plain = self.tripped().is_none() && self.observers.frames.is_none();
        let virtual_rig = matches!(self.rig, RigSlot::Shaken(_));
        if plain && virtual_rig && self.source.numerical.is_linear() {
            self.go_through_stretch();
        } else {
            self.tick();
        }
    }

    fn go_through_stretch(&mut self) {
        let source = &mut self.source;
        let left = source.most_ticks.saturating_sub(source.ticks_of_point).max(1);
        source.begin_stretch(usize::try_from(left).unwrap_or(STRETCH));
        let passed = self.move_rig();
        let outcome = self.source.simulate().and(passed);
        self.tick += self.source.stretch.ticks as u64 - 1;
        match outcome {
            Ok(()) => self.source.end_stretch(),
            Err(trip) => {
                // As the tick of any trip ends. The generator may stand some ticks
                // ahead, but after a trip nobody asks it.
                self.stop_at(trip.into(), self.tick);
                self.rig.actuate(&self.command);
            }
        }
        self.tick += 1;
    }

    /// Measures and actuates, tick by tick. A command that may not go out ends the
    /// stretch with its tick.
    fn move_rig(&mut self) -> Result<(), Trip> {
        let RigSlot::Shaken(rig) = &mut self.rig else { return Ok(()) };
        let (limits, fed) = (&self.limits, &mut self.fed);
        let Stretch { dofs, ticks, commands, displacement, force, acceleration, .. } =
            &mut self.source.stretch;
        let dofs = *dofs;
        let held = &mut self.held.displacement[..dofs];
        let commands = &commands[..*ticks * dofs];
        let displacement = &mut displacement[..commands.len()];
        let force = &mut force[..commands.len()];
        let acceleration = &mut acceleration[..commands.len()];
        let done = rig.run(*ticks, |tick, readings, target, velocity| {
            let at = tick * dofs;
            let commands = &commands[at..at + dofs];
            let mut passes = true;
            for dof in 0..dofs {
                let (command, reading) = (commands[dof], readings[dof]);
                [displacement[at + dof], force[at + dof], acceleration[at + dof]] = reading;
                let [position, force, _] = reading;
                let desired = command[0];
                let seen = GateInput { held: held[dof], desired, position, force, command };
                passes &= seen.passes(&limits.of(dof)) && fed.leads(dof, command, limits).is_ok();
            }
            if passes {
                for dof in 0..dofs {
                    [target[dof], velocity[dof], _] = commands[dof];
                    held[dof] = target[dof];
                    fed.take(dof, commands[dof], limits.step_s);
                }
            }
            passes
        });
        let refused = done < *ticks;
        let at = if refused { done * dofs } else { commands.len() - dofs };
        set(&mut self.command, &commands[at..at + dofs]);
        if !refused {
            self.held.copy_from(&self.command);
            return Ok(());
        }
        *ticks = done + 1;
        self.measured.displacement.copy_from_slice(&displacement[at..at + dofs]);
        self.measured.force.copy_from_slice(&force[at..at + dofs]);
        let verdict = gate(limits, &self.held, &self.command, &self.measured, &self.command);
        let verdict = verdict.and_then(|()| fed.pass(limits, &self.command));
        // Refused above, so refused here; a trip it is in any case.
        let unknown = TripKind::Command.trip(f64::NAN, f64::NAN);
        Err(verdict.err().unwrap_or(unknown))
    }
}

fn set(motion: &mut Motion, commands: &[[f64; 3]]) {
    for (dof, &command) in commands.iter().enumerate() {
        motion.set(dof, command);
    }
}
