//! Rigs: what the loop measures and moves.
//!
//! A new kind is a file with a type that implements [`Rig`], and a line in the
//! list of kinds below.

/// The rest of the contract, for a rig around another: all of it is handed on.
#[macro_export]
macro_rules! hands_on_to {
    ($rig:tt) => {
        fn channels(&self) -> Vec<model::channel::Channel> {
            self.$rig.channels()
        }

        fn on_trip(&mut self, cause: $crate::gate::TripKind) {
            self.$rig.on_trip(cause);
        }

        fn disarm(&mut self, left: $crate::interlock::Phase) {
            self.$rig.disarm(left);
        }

        fn link(&self) -> Option<&$crate::link::LinkCounts> {
            self.$rig.link()
        }
    };
}

/// The rest of the contract, for a rig without a device, a link or channels of its own.
#[macro_export]
macro_rules! nothing_behind_it {
    () => {
        fn channels(&self) -> Vec<model::channel::Channel> {
            Vec::new()
        }

        fn on_trip(&mut self, _cause: $crate::gate::TripKind) {}

        fn disarm(&mut self, _left: $crate::interlock::Phase) {}

        fn link(&self) -> Option<&$crate::link::LinkCounts> {
            None
        }
    };
}

mod fault;
mod late_force;
mod network;
mod replay;
mod shaken;
#[cfg(test)]
mod tests;
mod virtual_rig;

pub use crate::measured::{Measured, Validity};
pub use fault::{Fault, FaultKind, FaultyRig, FaultySensor};
pub use late_force::LateForce;
pub use network::{NetworkRig, Peer};
pub use replay::ReplayRig;
pub use shaken::{ShakenRig, ShakenSensors};
pub(crate) use virtual_rig::LanePart;
pub use virtual_rig::{VirtualRig, VirtualRigParts};

use std::ops::{Deref, DerefMut};

use model::channel::Channel;
use model::motion::Motion;

use crate::gate::{Trip, TripKind};
use crate::interlock::{Phase, Stop};
use crate::link::LinkCounts;

/// A rig behind the tick. Nothing has a default: a wrapper that forgets to hand
/// on what safety needs does not compile.
///
/// `measure`, `actuate` and `on_trip` run inside the tick: they must not
/// allocate, block or panic.
pub trait Rig: Send {
    /// The rig's own channels, in the order of [`Measured::auxiliary`].
    fn channels(&self) -> Vec<Channel>;

    /// Samples the sensors, before the command of this tick acts, and says if
    /// the rig cannot go on. What could be measured is there in either case.
    ///
    /// `ahead` is the desired motion of this tick. Only a rig without delay
    /// answers to it, with its acceleration left out: the integrator adds that
    /// part (see `Options::direct_inertia`).
    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault>;

    /// Takes the command, held until the next tick.
    fn actuate(&mut self, command: &Motion);

    /// The test has tripped, and why: from here on the rig is led to safe.
    fn on_trip(&mut self, cause: TripKind);

    /// The test is over, and how the rig is left: no command follows. Called once.
    fn disarm(&mut self, left: Phase);

    /// What a rig behind a link has counted.
    fn link(&self) -> Option<&LinkCounts>;
}

/// Why a rig cannot go on: numbers only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RigFault {
    pub(crate) trip: Trip,
    /// Whether it stands still by itself and follows nobody any more.
    pub(crate) frozen: bool,
}

impl RigFault {
    fn of(trip: Trip) -> Self {
        Self { trip, frozen: false }
    }

    /// Nothing is heard from it.
    pub fn silent(for_s: f64, allowed_s: f64) -> Self {
        Self::of(TripKind::PeerSilent.trip(for_s, allowed_s))
    }

    /// It has tripped by itself, for the reason with this code.
    pub fn tripped(code: u8) -> Self {
        Self::of(TripKind::PeerTripped.trip(f64::from(code), 0.0))
    }

    /// The same, and its way to safe was ended where it stands.
    pub fn frozen(code: u8) -> Self {
        Self { frozen: true, ..Self::tripped(code) }
    }

    /// It reports a fault of its own, by the number its manual gives.
    pub fn device(code: u32) -> Self {
        Self::of(TripKind::Device.trip(f64::from(code), 0.0))
    }

    /// The fault that a record tells of; which of the numbers it had does not
    /// change what followed.
    pub fn recorded(kind: TripKind) -> Option<Self> {
        let of_rig =
            matches!(kind, TripKind::PeerSilent | TripKind::PeerTripped | TripKind::Device);
        of_rig.then_some(Self::of(kind.trip(0.0, 0.0)))
    }
}

impl From<RigFault> for Stop {
    fn from(fault: RigFault) -> Self {
        fault.trip.into()
    }
}

/// The list of kinds gives the enum, its dispatch and the conversions: the
/// kinds met in every rehearsal are spared the virtual call.
macro_rules! kinds {
    ($($(#[$words:meta])* $kind:ident($rig:ty),)*) => {
        /// The rig of a loop.
        pub enum RigSlot {
            $($(#[$words])* $kind(Box<$rig>),)*
            /// Any other.
            Other(Box<dyn Rig>),
        }

        impl Deref for RigSlot {
            type Target = dyn Rig;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$kind(rig) => &**rig,)*
                    Self::Other(rig) => &**rig,
                }
            }
        }

        impl DerefMut for RigSlot {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Self::$kind(rig) => &mut **rig,)*
                    Self::Other(rig) => &mut **rig,
                }
            }
        }

        impl RigSlot {
            /// [`Rig::measure`].
            #[inline(always)]
            pub fn measure(
                &mut self,
                ahead: &Motion,
                measured: &mut Measured,
            ) -> Result<(), RigFault> {
                match self {
                    $(Self::$kind(rig) => rig.measure(ahead, measured),)*
                    Self::Other(rig) => rig.measure(ahead, measured),
                }
            }

            /// [`Rig::actuate`].
            #[inline(always)]
            pub fn actuate(&mut self, command: &Motion) {
                match self {
                    $(Self::$kind(rig) => rig.actuate(command),)*
                    Self::Other(rig) => rig.actuate(command),
                }
            }
        }

        $(impl From<$rig> for RigSlot {
            fn from(rig: $rig) -> Self {
                Self::$kind(Box::new(rig))
            }
        })*
    };
}

kinds! {
    /// A laboratory in virtual time.
    Virtual(VirtualRig),
    /// A specimen on shakers, in virtual time.
    Shaken(ShakenRig),
    /// One whose force comes late.
    Late(LateForce),
    /// One that fails on purpose.
    Faulty(FaultyRig),
    /// One at the end of a wire.
    Network(NetworkRig),
    /// One that says again what it once said.
    Replay(ReplayRig),
}

impl<R: Rig + 'static> From<Box<R>> for RigSlot {
    fn from(rig: Box<R>) -> Self {
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
            _ => None,
        }
    }
}
