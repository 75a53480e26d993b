//! Which loops may go in a batch. Nowhere else is that decided.

use model::compensator::Compensator;
use model::integrator::StepMap;

use crate::gate::Limits;
use crate::hybrid_loop::HybridLoop;
use crate::load::Load;
use crate::monitor::EnergyMonitor;
use crate::numerical::Numerical;
use crate::rig::LanePart;
use crate::tick::Bare;

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
        let Bare { source, compensator, limits, rig, monitor } = one.bare()?;
        let (numerical, load) = source.bare()?;
        let integrator = match numerical {
            Numerical::Partitioned { integrator, .. } => integrator,
            Numerical::Monolithic(_) | Numerical::Continuous(_) | Numerical::TwoRate(_) => {
                return None;
            }
        };
        let step = integrator.step_map()?;
        // All of the work is asked of the step itself.
        let dofs = step.shape().work_dofs.filter(|dofs| *dofs > 0)?;
        let (compensator, monitor) = (compensator?, monitor?);
        let (velocity_lag_s, rig) = (integrator.velocity_lag_s(), rig.lane_part()?);
        let plain = step.shape().forces == 1;
        plain.then_some(Self {
            load,
            compensator,
            limits,
            monitor,
            step,
            dofs,
            velocity_lag_s,
            rig,
        })
    }
}
