//! Rigs: what the loop measures and moves.

mod changing;
mod fault;
mod late_force;
mod network;
mod replay;
mod shaken;
mod virtual_rig;

pub use crate::measured::Measured;
pub use changing::ChangingRig;
pub use fault::{Fault, FaultKind, FaultyRig, FaultySensor};
pub use late_force::LateForce;
pub use network::{NetworkRig, Peer};
pub use replay::ReplayRig;
pub use shaken::{ShakenRig, ShakenSensors};
pub(crate) use virtual_rig::LanePart;
pub use virtual_rig::{VirtualRig, VirtualRigParts};

use model::motion::Motion;

use crate::event::EventLog;
use crate::gate::{Trip, TripKind};
use crate::link::LinkCounts;

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

    /// Acceleration of every interface DOF in the last measurement, m/s², from a
    /// rig that measures it.
    fn acceleration(&self) -> Option<&[f64]> {
        None
    }

    /// Nanoseconds from a command to the answer to it, if one came in this
    /// tick and the rig measures it.
    fn round_trip_ns(&self) -> Option<u64> {
        None
    }

    /// Notes what the rig has to say of this tick, after its measurement, and
    /// trips where it cannot go on.
    fn attend(&mut self, _tick: u64, _log: &mut EventLog) -> Result<(), Trip> {
        Ok(())
    }

    /// Values of the rig's own channels, appended to a frame.
    fn write(&self, _frame: &mut Vec<f64>) {}

    /// What a rig behind a link has counted.
    fn link(&self) -> Option<&LinkCounts> {
        None
    }

    /// The test has tripped, and why: from here on the rig is led to safe.
    fn release(&mut self, _cause: TripKind) {}
}

/// The rig of a loop. The virtual one is met in every rehearsal and every
/// variant of a sweep, so it is spared the virtual call.
pub enum RigSlot {
    /// A laboratory in virtual time.
    Virtual(Box<VirtualRig>),
    /// A specimen on shakers, in virtual time.
    Shaken(Box<ShakenRig>),
    /// One whose force comes late.
    Late(Box<LateForce>),
    /// Any other.
    Other(Box<dyn Rig>),
}

impl Rig for RigSlot {
    #[inline(always)]
    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) {
        match self {
            Self::Virtual(rig) => rig.measure(ahead, measured),
            Self::Shaken(rig) => rig.measure(ahead, measured),
            Self::Late(rig) => rig.measure(ahead, measured),
            Self::Other(rig) => rig.measure(ahead, measured),
        }
    }

    #[inline(always)]
    fn actuate(&mut self, command: &Motion) {
        match self {
            Self::Virtual(rig) => rig.actuate(command),
            Self::Shaken(rig) => rig.actuate(command),
            Self::Late(rig) => rig.actuate(command),
            Self::Other(rig) => rig.actuate(command),
        }
    }

    #[inline]
    fn acceleration(&self) -> Option<&[f64]> {
        match self {
            Self::Virtual(_) => None,
            Self::Shaken(rig) => rig.acceleration(),
            Self::Late(rig) => rig.acceleration(),
            Self::Other(rig) => rig.acceleration(),
        }
    }

    #[inline]
    fn round_trip_ns(&self) -> Option<u64> {
        match self {
            Self::Virtual(_) | Self::Shaken(_) => None,
            Self::Late(rig) => rig.round_trip_ns(),
            Self::Other(rig) => rig.round_trip_ns(),
        }
    }

    #[inline(always)]
    fn attend(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Trip> {
        match self {
            Self::Virtual(_) | Self::Shaken(_) | Self::Late(_) => Ok(()),
            Self::Other(rig) => rig.attend(tick, log),
        }
    }

    #[inline(always)]
    fn write(&self, frame: &mut Vec<f64>) {
        if let Self::Other(rig) = self {
            rig.write(frame);
        }
    }

    fn link(&self) -> Option<&LinkCounts> {
        match self {
            Self::Virtual(_) | Self::Shaken(_) | Self::Late(_) => None,
            Self::Other(rig) => rig.link(),
        }
    }

    fn release(&mut self, cause: TripKind) {
        if let Self::Other(rig) = self {
            rig.release(cause);
        }
    }
}

impl<R: Rig + 'static> From<Box<R>> for RigSlot {
    fn from(rig: Box<R>) -> Self {
        Self::Other(rig)
    }
}

impl From<Box<dyn Rig>> for RigSlot {
    fn from(rig: Box<dyn Rig>) -> Self {
        Self::Other(rig)
    }
}

impl RigSlot {
    /// The pieces of a plain virtual rig of one interface DOF.
    pub(crate) fn lane_part(&self) -> Option<LanePart> {
        match self {
            Self::Virtual(rig) => rig.lane_part(),
            Self::Late(late) => {
                let (rig, forces) = late.parts();
                let Self::Virtual(rig) = rig else { return None };
                Some(LanePart { late: forces, ..rig.lane_part()? })
            }
            Self::Shaken(_) | Self::Other(_) => None,
        }
    }
}

impl From<VirtualRig> for RigSlot {
    fn from(rig: VirtualRig) -> Self {
        Self::Virtual(Box::new(rig))
    }
}

impl From<ShakenRig> for RigSlot {
    fn from(rig: ShakenRig) -> Self {
        Self::Shaken(Box::new(rig))
    }
}
