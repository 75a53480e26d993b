//! Which loops may go in a batch. Nowhere else is that decided.

use model::compensator::Compensator;
use model::integrator::StepMap;

use crate::gate::Limits;
use crate::hybrid_loop::HybridLoop;
use crate::load::Load;
use crate::monitor::EnergyMonitor;
use crate::rig::LanePart;

/// A loop that may go in a batch: the load and nothing before or after it, no
/// record, no indicators beyond the energies, one rate, one interface DOF, a small
/// linear numerical part, a virtual rig with dynamics, a linear specimen without
/// DOFs of its own, no change and no fault.
pub(super) struct Member<'a> {
    pub(super) load: &'a Load,
    pub(super) compensator: &'a Compensator,
    pub(super) limits: &'a Limits,
    pub(super) monitor: &'a EnergyMonitor,
    /// The numerical part.
    pub(super) step: &'a StepMap,
    /// Number of its DOFs.
    pub(super) dofs: usize,
    pub(super) velocity_lag_s: f64,
    pub(super) rig: LanePart,
}

impl<'a> Member<'a> {
    /// `None` for a loop that the ordinary tick must run.
    pub(super) fn new(one: &'a HybridLoop) -> Option<Self> {
        if !one.is_bare() {
            return None;
        }
        let (numerical, load) = one.source.bare()?;
        let integrator = numerical.partitioned()?;
        let step = integrator.step_map()?;
        // All of the work is asked of the step itself.
        let dofs = step.shape.work_dofs.filter(|dofs| *dofs > 0)?;
        (step.shape.forces == 1).then_some(Self {
            load,
            compensator: one.compensator.as_ref()?,
            limits: &one.limits,
            monitor: one.observers.monitor.as_ref()?,
            step,
            dofs,
            velocity_lag_s: integrator.velocity_lag_s(),
            rig: one.rig.lane_part()?,
        })
    }
}
