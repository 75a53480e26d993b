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

    /// Numbers of a batch: state, points, motion of every DOF.
    pub(super) fn batch(&self) -> usize {
        2 * self.dofs + 3 * self.count * self.points + self.ticks * self.whole
    }
}

/// One step's result. It travels to the tick and back, box and all, so that nothing is
/// allocated or freed on the way.
pub(crate) struct Batch {
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
    pub(crate) elements: ElementEnergy,
    /// Of every DOF.
    pub(crate) displacement: Vec<f64>,
    pub(crate) velocity: Vec<f64>,
    /// Desired motion, tick by tick.
    pub(super) points: Vec<Motion>,
    /// Motion of every DOF, tick by tick: displacements, velocities, accelerations.
    pub(super) whole: Vec<Vec<f64>>,
}

impl Batch {
    /// At rest.
    pub(super) fn new(shape: Shape) -> Box<Self> {
        Box::new(Self {
            number: 0,
            ready: 0,
            iterations: 0,
            failure: None,
            work: StepWork::default(),
            elements: ElementEnergy { work: 0.0, stored: 0.0 },
            displacement: vec![0.0; shape.dofs],
            velocity: vec![0.0; shape.dofs],
            points: vec![Motion::rest(shape.count); shape.points],
            whole: vec![vec![0.0; shape.whole]; shape.ticks],
        })
    }

    /// The last point from there on.
    pub(super) fn point(&self, point: usize) -> &Motion {
        &self.points[point.min(self.points.len() - 1)]
    }

    /// Displacement (order 0), velocity or acceleration of every DOF at a tick
    /// of the batch, if it is there.
    pub(super) fn whole(&self, tick: u64, order: usize) -> Option<&[f64]> {
        let dofs = self.displacement.len();
        let motion = self.whole.get(usize::try_from(tick).ok()?)?;
        motion.get(order * dofs..(order + 1) * dofs)
    }
}
