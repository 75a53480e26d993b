//! What passes between the loops, as rows of numbers.

use model::integrator::{ElementEnergy, NotConverged, StepWork};
use model::motion::Motion;

use super::Rates;

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
    pub(super) fn new(dofs: usize, loads: usize, count: usize, rates: &Rates) -> Self {
        Self { dofs, loads, count, points: rates.points(), ticks: rates.ratio, whole: 0 }
    }

    /// Length of a sample: tick, load, force.
    pub(super) fn sample(&self) -> usize {
        1 + self.loads + self.count
    }

    /// Length of a batch.
    pub(super) fn batch(&self) -> usize {
        HEAD + 2 * self.dofs + 3 * self.count * self.points + self.ticks * self.whole
    }
}

/// Numbers before displacements and velocities.
const HEAD: usize = 11;

/// One step's result: a row of numbers with names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    pub(super) row: Vec<f64>,
    shape: Shape,
}

/// What a batch says beside motion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Head {
    /// k; exact up to 2⁵³.
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
        Self { row: vec![0.0; shape.batch()], shape }
    }

    pub(super) fn set_head(&mut self, head: &Head) {
        let failure = head.failure.unwrap_or(NotConverged { correction_m: 0.0, tolerance_m: 0.0 });
        self.row[..HEAD].copy_from_slice(&[
            head.number as f64,
            head.ready as f64,
            head.iterations as f64,
            f64::from(u8::from(head.failure.is_some())),
            failure.correction_m,
            failure.tolerance_m,
            head.work.dissipated,
            head.work.input,
            head.work.feedback_held,
            head.elements.work,
            head.elements.stored,
        ]);
    }

    pub(super) fn head(&self) -> Head {
        let row = &self.row;
        let failure =
            (row[3] != 0.0).then(|| NotConverged { correction_m: row[4], tolerance_m: row[5] });
        Head {
            number: row[0] as u64,
            ready: row[1] as u64,
            iterations: row[2] as usize,
            failure,
            work: StepWork {
                dissipated: row[6],
                input: row[7],
                feedback_held: row[8],
                feedback_straight: row[8],
            },
            elements: ElementEnergy { work: row[9], stored: row[10] },
        }
    }

    pub(super) fn displacement(&self) -> &[f64] {
        &self.row[HEAD..HEAD + self.shape.dofs]
    }

    pub(super) fn velocity(&self) -> &[f64] {
        &self.row[HEAD + self.shape.dofs..HEAD + 2 * self.shape.dofs]
    }

    pub(super) fn set_state(&mut self, displacement: &[f64], velocity: &[f64]) {
        let state = &mut self.row[HEAD..HEAD + 2 * self.shape.dofs];
        let (x, v) = state.split_at_mut(self.shape.dofs);
        x.copy_from_slice(displacement);
        v.copy_from_slice(velocity);
    }

    /// Where a point begins; the last one from there on.
    fn at(&self, point: usize) -> usize {
        let point = point.min(self.shape.points - 1);
        HEAD + 2 * self.shape.dofs + 3 * self.shape.count * point
    }

    fn whole_at(&self, tick: usize) -> usize {
        let shape = &self.shape;
        HEAD + 2 * shape.dofs + 3 * shape.count * shape.points + tick * shape.whole
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

    pub(super) fn set_point(&mut self, point: usize, motion: &Motion) {
        let (at, n) = (self.at(point), self.shape.count);
        self.row[at..at + n].copy_from_slice(&motion.displacement);
        self.row[at + n..at + 2 * n].copy_from_slice(&motion.velocity);
        self.row[at + 2 * n..at + 3 * n].copy_from_slice(&motion.acceleration);
    }

    pub(super) fn point(&self, point: usize, motion: &mut Motion) {
        let (at, n) = (self.at(point), self.shape.count);
        motion.displacement.copy_from_slice(&self.row[at..at + n]);
        motion.velocity.copy_from_slice(&self.row[at + n..at + 2 * n]);
        motion.acceleration.copy_from_slice(&self.row[at + 2 * n..at + 3 * n]);
    }
}
