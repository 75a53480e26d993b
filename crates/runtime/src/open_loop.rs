//! A rig driven by a prepared command, without a numerical part.

use model::channel::Channel;
use model::motion::Motion;

use crate::frame::{Block, FramePlan};
use crate::gate::Limits;
use crate::interlock::{SafePath, Stop};
use crate::record::FrameSink;
use crate::rig::RigSlot;
use crate::source::{Proposal, Scene, Source};
use crate::tick::{Frames, Loop, Observers};

/// A rig behind the same gate and with the same way to safe as in a hybrid
/// test, following a [`Drive`].
pub type OpenLoop = Loop<DriveSource>;

impl OpenLoop {
    /// Arms the loop. `limits` tell the number of interface DOFs and the period;
    /// `sink` takes a frame of every tick, if that is wanted.
    pub fn new(
        rig: impl Into<RigSlot>,
        drive: Drive,
        limits: Limits,
        safe_path: SafePath,
        sink: Option<FrameSink>,
    ) -> Self {
        let source = DriveSource::new(drive, limits.command.len());
        let frames = sink.map(|sink| Frames::new(sink, Block::DRIVEN, 1));
        let observers = Observers { frames, ..Observers::default() };
        Self::arm(source, None, limits, safe_path, rig.into(), observers)
    }

    /// The channels of its frames.
    pub fn channels(interface: usize, rig: &RigSlot) -> Vec<Channel> {
        let plan = FramePlan { interface, auxiliary: rig.channels(), ..FramePlan::default() };
        plan.channels(Block::DRIVEN)
    }
}

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

/// A [`Drive`] as a source.
#[derive(Debug, Clone)]
pub struct DriveSource {
    drive: Drive,
    desired: Motion,
}

impl DriveSource {
    /// For a rig of `count` interface DOFs.
    pub fn new(drive: Drive, count: usize) -> Self {
        Self { drive, desired: Motion::rest(count) }
    }
}

impl Source for DriveSource {
    fn measure(&mut self, scene: &mut Scene<'_>) -> Result<(), Stop> {
        let (at, dof) = (scene.tick as usize, self.drive.dof);
        // Zero where the drive has ended.
        let value = |list: &[f64]| list.get(at).copied().unwrap_or(0.0);
        let motion = [&self.drive.displacement, &self.drive.velocity, &self.drive.acceleration];
        if dof < self.desired.count() {
            self.desired.set(dof, motion.map(|list| value(list)));
        }
        Ok(scene.rig.measure(&self.desired, scene.measured)?)
    }

    fn propose(&mut self, _scene: &mut Scene<'_>, command: &mut Motion) -> Result<Proposal, Stop> {
        command.copy_from(&self.desired);
        Ok(Proposal::Command)
    }

    fn desired(&self) -> &Motion {
        &self.desired
    }

    fn is_over(&self, tick: u64) -> bool {
        tick >= self.drive.displacement.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::TripKind;
    use crate::interlock::Phase;
    use crate::rig::{Measured, Rig, RigFault};
    use model::motion::Motion;

    /// A rig that shows its last command, and a force of a spring.
    struct Late {
        command: Vec<f64>,
        stiffness: f64,
    }

    impl Rig for Late {
        crate::nothing_behind_it!();

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
    }

    fn open_loop(displacement: Vec<f64>, stiffness: f64) -> OpenLoop {
        let zeros = vec![0.0; displacement.len()];
        let drive = Drive { dof: 1, displacement, velocity: zeros.clone(), acceleration: zeros };
        let limits = Limits {
            command: vec![0.02; 2],
            rate: vec![1.5; 2],
            force: vec![100.0; 2],
            ..Limits::unlimited(2, 1e-3)
        };
        let rig = Late { command: vec![0.0; 2], stiffness };
        OpenLoop::new(Box::new(rig), drive, limits, SafePath { hold_s: 0.01, rate_m_s: 0.5 }, None)
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
