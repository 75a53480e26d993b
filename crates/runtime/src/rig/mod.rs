//! Rigs: what the loop measures and moves.

mod fault;
mod replay;
mod virtual_rig;

pub use fault::{Fault, FaultKind, FaultyRig, FaultySensor};
pub use replay::ReplayRig;
pub use virtual_rig::{VirtualRig, VirtualRigParts};

use model::motion::Motion;

/// What the sensors say in one tick, one entry per interface DOF.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Displacement, m.
    pub displacement: Vec<f64>,
    /// Restoring force, N.
    pub force: Vec<f64>,
    /// Where the specimen truly is, m: known to virtual rigs only, NaN elsewhere.
    pub achieved: Vec<f64>,
}

impl Measured {
    /// Zeros for `count` interface DOFs.
    pub fn zeros(count: usize) -> Self {
        let zeros = vec![0.0; count];
        Self { displacement: zeros.clone(), force: zeros.clone(), achieved: zeros }
    }
}

/// A rig behind the tick. Both calls run inside the tick: they must not
/// allocate, block or panic.
pub trait Rig: Send {
    /// Samples the sensors, before the command of this tick acts.
    ///
    /// `ahead` is the desired motion of this tick. Only a rig without delay
    /// answers to it, with its acceleration left out: the integrator adds that
    /// part (see `Options::direct_inertia`).
    fn measure(&mut self, ahead: &Motion, measured: &mut Measured);

    /// Takes the command, held until the next tick.
    fn actuate(&mut self, command: &Motion);
}
