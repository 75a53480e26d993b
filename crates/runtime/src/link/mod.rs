//! The wire between a loop and its laboratory: datagrams over UDP.
//!
//! [`wire`] is what stands in them, `docs/protocol.md` what they mean. The
//! loop's end is [`NetworkRig`](crate::rig::NetworkRig), the laboratory's
//! [`Laboratory`](crate::laboratory::Laboratory). Both count what reaches them
//! and what does not, and neither ever trusts the wire: what is not of this session,
//! not from its other end or not new is counted and ignored.

mod endpoint;
mod key;
mod terms;
mod window;
pub mod wire;

pub(crate) use endpoint::Endpoint;
pub use endpoint::LinkCounts;
pub use key::{Key, Token};
pub use terms::Terms;
pub(crate) use window::{Seen, Window};

use std::io;
use std::net::SocketAddr;

use keys::Keys;
use model::channel::Channel;
use thiserror::Error;

use wire::{MOST_DOFS, VERSION};

/// How the two ends keep step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// In virtual time: every tick waits for its answer. What is lost is asked
    /// for again, so that the record does not depend on the wire.
    LockStep {
        /// Longest wait for an answer, s.
        timeout_s: f64,
    },
    /// Against the clock: an answer that is not there when its tick begins is
    /// bridged.
    Paced {
        /// Most ticks in a row that are bridged; one more trips.
        bridge: u64,
        /// What stands in for an answer that is missing.
        bridge_by: Bridge,
    },
}

/// What stands in for a measurement that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Bridge {
    /// The last measurement stands for the missing one.
    Hold,
    /// The straight line through the last two does.
    Line,
}

/// What a loop asks of a laboratory at the end of a wire.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkPlan {
    /// Where it listens.
    pub address: SocketAddr,
    /// What the file says of the test. The limits are what the gate of the loop lets through; the
    /// laboratory keeps them too, where they are stricter than its own.
    pub terms: Terms,
    /// How the two keep step.
    pub pace: Pace,
    /// Against the clock: the longest silence of the loop that it wants to be allowed, s.
    pub watchdog_s: f64,
    /// What both know.
    pub token: Token,
    /// Longest wait for the laboratory to answer at all, s.
    pub connect_s: f64,
}

impl LinkPlan {
    /// What is said when nobody is there.
    pub(crate) fn no_answer(&self) -> LinkError {
        LinkError::NoAnswer(self.address, self.connect_s)
    }

    /// The channels of a rig at the end of a wire, which sends so many values of its own.
    pub fn channels(auxiliary: usize) -> Vec<Channel> {
        let bridged = "Ticks in a row without an answer of the rig; 0 when it came in time";
        let phase = "Where the rig said it stands: 0 running, 1 holding, 2 ramping to safe, 3 safe";
        let own =
            "Auxiliary value of the laboratory, as it came over the wire; NaN before the first";
        let own = (1..=auxiliary).map(|k| Channel::new(format!("rig.auxiliary.{k}"), "", own));
        let known =
            [Channel::new("rig.bridged", "", bridged), Channel::new("rig.phase", "", phase)];
        known.into_iter().chain(own).collect()
    }
}

/// Why there is no link.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The system refused.
    #[error("cannot {what} {address}: {source}")]
    Socket {
        /// What was tried.
        what: &'static str,
        /// With which address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody answers there within these seconds.
    #[error(
        "no laboratory answers at {0} within {1} s: start `twinrig rig FILE` there \
         (with --listen if it is another machine), or check address, cable and firewall"
    )]
    NoAnswer(SocketAddr, f64),
    /// It does not want to.
    #[error("the laboratory at {address} refuses the test: {reason}")]
    Refused {
        /// Where it is.
        address: SocketAddr,
        /// Why, in words.
        reason: String,
    },
    /// Who answers does not have the token.
    #[error(
        "the token is wrong: who answers at {0} has another one; give both sides the same \
         [rig] token, or check the address"
    )]
    OtherToken(SocketAddr),
    /// Who answers speaks another version.
    #[error(
        "who answers at {0} speaks version {1} of the protocol, this program {VERSION}: \
         install the same version of twinrig on both sides"
    )]
    OtherVersion(SocketAddr, u16),
    /// Who asked for it has stopped it.
    #[error("stopped before the laboratory at {0} was armed")]
    Stopped(SocketAddr),
    /// Too many for a datagram.
    #[error("{0} interface DOFs do not fit into a datagram, at most {MOST_DOFS} do")]
    TooManyDofs(usize),
}
