//! A rig driven by a prepared command, without a numerical part.

use model::motion::Motion;

use crate::gate::{Limits, Trip, gate};
use crate::interlock::{Interlock, Phase, SafePath};
use crate::rig::{Measured, Rig};

/// A command known beforehand, for one interface DOF; the others stand still.
#[derive(Debug, Clone, PartialEq)]
pub struct Drive {
    /// Which interface DOF, from 0.
    pub dof: usize,
    /// Displacement per tick, m.
    pub displacement: Vec<f64>,
    /// Its derivative, m/s.
    pub velocity: Vec<f64>,
    /// Its second derivative, m/s².
    pub acceleration: Vec<f64>,
}

/// A rig behind the same gate and with the same way to safe as in a hybrid
/// test, following a [`Drive`]: measure, gate, actuate.
pub struct OpenLoop {
    rig: Box<dyn Rig>,
    drive: Drive,
    limits: Limits,
    interlock: Interlock,
    measured: Measured,
    command: Motion,
    /// The command the rig has.
    held: Motion,
    step_s: f64,
    tick: u64,
}

impl OpenLoop {
    /// Arms the loop. `limits` tell the number of interface DOFs and the period.
    pub fn new(rig: Box<dyn Rig>, drive: Drive, limits: Limits, safe_path: SafePath) -> Self {
        let count = limits.command.len();
        let step_s = limits.step_s;
        Self {
            drive,
            interlock: Interlock::new(safe_path, step_s),
            limits,
            measured: Measured::with_auxiliary(count, rig.channels().len()),
            command: Motion::rest(count),
            held: Motion::rest(count),
            step_s,
            tick: 0,
            rig,
        }
    }

    /// One tick. Allocates, locks, formats and blocks nowhere.
    pub fn tick(&mut self) {
        if self.interlock.phase() == Phase::Running {
            self.follow();
            let health = self.rig.measure(&self.command, &mut self.measured);
            let passed = health.map_err(Trip::from).and_then(|()| {
                gate(&self.limits, &self.held, &self.command, &self.measured, &self.command)
            });
            if let Err(trip) = passed {
                self.interlock.latch(trip, self.tick);
                self.rig.on_trip(trip.kind);
                // Held means at rest: a rig must not go on with the last velocity.
                self.held.velocity.fill(0.0);
                self.held.acceleration.fill(0.0);
                self.command.copy_from(&self.held);
            }
        } else {
            // What ails the rig now cannot stop it twice.
            let _ = self.rig.measure(&self.held, &mut self.measured);
            self.interlock.lead(&mut self.command);
        }
        self.rig.actuate(&self.command);
        self.held.copy_from(&self.command);
        self.tick += 1;
    }

    /// The command of this tick; zero where the drive has ended.
    fn follow(&mut self) {
        let (at, dof) = (self.tick as usize, self.drive.dof);
        let value = |list: &[f64]| list.get(at).copied().unwrap_or(0.0);
        let Some(displacement) = self.command.displacement.get_mut(dof) else { return };
        *displacement = value(&self.drive.displacement);
        self.command.velocity[dof] = value(&self.drive.velocity);
        self.command.acceleration[dof] = value(&self.drive.acceleration);
    }

    /// Whether there is nothing left to do.
    pub fn is_over(&self) -> bool {
        match self.interlock.phase() {
            Phase::Running => self.tick >= self.drive.displacement.len() as u64,
            Phase::Safe | Phase::Initiating | Phase::Completing | Phase::Homing => true,
            Phase::Holding | Phase::Ramping => self.interlock.is_out_of_reach(&self.held),
        }
    }

    /// Ticks done.
    pub fn ticks(&self) -> u64 {
        self.tick
    }

    /// Where the test stands.
    pub fn phase(&self) -> Phase {
        self.interlock.phase()
    }

    /// The trip and the time of its tick, if one occurred.
    pub fn tripped(&self) -> Option<(Trip, f64)> {
        self.interlock.trip().map(|(trip, tick)| (trip, tick as f64 * self.step_s))
    }

    /// The last command.
    #[expect(clippy::misnamed_getters, reason = "`command` is the one being made")]
    pub fn command(&self) -> &Motion {
        &self.held
    }

    /// The last measurement.
    pub fn measured(&self) -> &Measured {
        &self.measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::TripKind;
    use crate::link::LinkCounts;
    use crate::rig::RigFault;
    use model::channel::Channel;

    /// A rig that shows its last command, and a force of a spring.
    struct Late {
        command: Vec<f64>,
        stiffness: f64,
    }

    impl Rig for Late {
        fn channels(&self) -> Vec<Channel> {
            Vec::new()
        }

        fn measure(&mut self, _: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
            measured.displacement.copy_from_slice(&self.command);
            measured.achieved.copy_from_slice(&self.command);
            for (force, x) in measured.force.iter_mut().zip(&self.command) {
                *force = self.stiffness * x;
            }
            Ok(())
        }

        fn actuate(&mut self, command: &Motion) {
            self.command.copy_from_slice(&command.displacement);
        }

        fn on_trip(&mut self, _cause: TripKind) {}

        fn disarm(&mut self) {}

        fn link(&self) -> Option<&LinkCounts> {
            None
        }
    }

    fn open_loop(displacement: Vec<f64>, stiffness: f64) -> OpenLoop {
        let zeros = vec![0.0; displacement.len()];
        let drive = Drive { dof: 1, displacement, velocity: zeros.clone(), acceleration: zeros };
        let limits = Limits {
            command: vec![0.02; 2],
            rate: vec![1.5; 2],
            force: vec![100.0; 2],
            tracking_error: vec![f64::INFINITY; 2],
            step_s: 1e-3,
        };
        let rig = Late { command: vec![0.0; 2], stiffness };
        OpenLoop::new(Box::new(rig), drive, limits, SafePath { hold_s: 0.01, rate_m_s: 0.5 })
    }

    #[test]
    fn one_dof_is_driven_and_measured_before_it_moves() {
        let mut open = open_loop(vec![1e-3, 2e-3, 1e-3], 0.0);
        let mut seen = Vec::new();
        while !open.is_over() {
            open.tick();
            seen.push((open.command().displacement[1], open.measured().displacement[1]));
            assert_eq!(open.command().displacement[0], 0.0);
        }
        assert_eq!(seen, [(1e-3, 0.0), (2e-3, 1e-3), (1e-3, 2e-3)]);
        assert_eq!(open.tripped(), None);
    }

    #[test]
    fn every_limit_ends_the_test_safely() {
        for (displacement, stiffness, kind, at) in [
            (vec![1e-3, 2e-3, 4e-3], 0.0, TripKind::Rate, 2),
            ((1..60).map(|k| 1e-3 * f64::from(k)).collect(), 0.0, TripKind::Command, 20),
            ((1..60).map(|k| 1e-3 * f64::from(k)).collect(), 2e4, TripKind::Force, 6),
            (vec![0.0, f64::NAN], 0.0, TripKind::NotFinite, 1),
        ] {
            let mut open = open_loop(displacement, stiffness);
            let mut before = 0.0;
            while !open.is_over() {
                open.tick();
                let now = open.command().displacement[1];
                assert!(now.abs() <= 0.02 && (now - before).abs() <= 1.5e-3 + 1e-15);
                before = now;
                assert!(open.ticks() < 1000);
            }
            let (trip, time_s) = open.tripped().unwrap();
            assert_eq!((trip.kind, trip.dof), (kind, 1));
            assert!((time_s - 1e-3 * f64::from(at)).abs() < 1e-12, "{time_s}");
            assert_eq!(open.phase(), Phase::Safe);
            assert_eq!(open.command().displacement, [0.0, 0.0]);
        }
    }
}
