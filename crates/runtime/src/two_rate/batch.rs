//! What passes from the main loop to the tick.

use model::integrator::{ElementEnergy, NotConverged, StepWork};
use model::motion::Motion;

/// Numbers of DOFs, load signals and interface DOFs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) dofs: usize,
    pub(super) loads: usize,
    pub(super) count: usize,
    /// Points of a batch.
    pub(super) points: usize,
    /// Ticks of which the motion of every DOF is in a batch, to be shown.
    pub(super) ticks: usize,
    /// Numbers of each: displacements, or these with velocities and accelerations.
    pub(super) whole: usize,
}

impl Shape {
    /// Length of a sample: tick, load, force.
    pub(super) fn sample(&self) -> usize {
        1 + self.loads + self.count
    }

    /// Length of a batch's row: state, points, motion of every DOF.
    pub(super) fn batch(&self) -> usize {
        2 * self.dofs + 3 * self.count * self.points + self.ticks * self.whole
    }
}

/// One step's result: its motion is a row of numbers, which goes through a ring of
/// its own before its head.
pub(super) struct Batch {
    /// `None` before the first.
    pub(super) head: Option<Head>,
    pub(super) row: Vec<f64>,
    shape: Shape,
}

/// What a batch says beside motion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Head {
    /// k.
    pub(super) number: u64,
    /// The first tick that may see it in virtual time.
    pub(super) ready: u64,
    /// Iterations of the step.
    pub(super) iterations: usize,
    /// Why the step is none.
    pub(super) failure: Option<NotConverged>,
    /// Work over the step; the feedback as the force was integrated.
    pub(super) work: StepWork,
    /// Of the nonlinear elements.
    pub(super) elements: ElementEnergy,
}

impl Batch {
    pub(super) fn new(shape: Shape) -> Self {
        Self { head: None, row: vec![0.0; shape.batch()], shape }
    }

    pub(super) fn displacement(&self) -> &[f64] {
        &self.row[..self.shape.dofs]
    }

    pub(super) fn velocity(&self) -> &[f64] {
        &self.row[self.shape.dofs..2 * self.shape.dofs]
    }

    pub(super) fn set_state(&mut self, displacement: &[f64], velocity: &[f64]) {
        let (x, v) = self.row[..2 * self.shape.dofs].split_at_mut(self.shape.dofs);
        x.copy_from_slice(displacement);
        v.copy_from_slice(velocity);
    }

    /// Where displacement, velocity and acceleration of a point begin; the last one
    /// from there on.
    fn at(&self, point: usize) -> [usize; 3] {
        let Shape { dofs, count, points, .. } = self.shape;
        let at = 2 * dofs + 3 * count * point.min(points - 1);
        [at, at + count, at + 2 * count]
    }

    pub(super) fn set_point(&mut self, point: usize, motion: &Motion) {
        let signals = [&motion.displacement, &motion.velocity, &motion.acceleration];
        for (at, signal) in self.at(point).into_iter().zip(signals) {
            self.row[at..at + signal.len()].copy_from_slice(signal);
        }
    }

    pub(super) fn point(&self, point: usize, motion: &mut Motion) {
        let Motion { displacement, velocity, acceleration } = motion;
        let signals = [displacement, velocity, acceleration];
        for (at, signal) in self.at(point).into_iter().zip(signals) {
            let end = at + signal.len();
            signal.copy_from_slice(&self.row[at..end]);
        }
    }

    fn whole_at(&self, tick: usize) -> usize {
        let Shape { dofs, count, points, whole, .. } = self.shape;
        2 * dofs + 3 * count * points + tick * whole
    }

    /// Where the motion of every DOF at a tick goes.
    pub(super) fn whole_mut(&mut self, tick: usize) -> &mut [f64] {
        let at = self.whole_at(tick);
        &mut self.row[at..at + self.shape.whole]
    }

    /// Displacement (order 0), velocity or acceleration of every DOF at a tick
    /// of the batch, if it is there.
    pub(super) fn whole(&self, tick: u64, order: usize) -> Option<&[f64]> {
        let Shape { dofs, ticks, whole, .. } = self.shape;
        if tick >= ticks as u64 || (order + 1) * dofs > whole {
            return None;
        }
        let at = self.whole_at(tick as usize) + order * dofs;
        self.row.get(at..at + dofs)
    }
}
