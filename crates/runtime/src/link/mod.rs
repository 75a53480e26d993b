//! The wire between a loop and its laboratory: datagrams over UDP.
//!
//! [`wire`] is what stands in them, `docs/protocol.md` what they mean. The
//! loop's end is [`NetworkRig`](crate::rig::NetworkRig), the laboratory's
//! [`Laboratory`](crate::laboratory::Laboratory). Both count what reaches them
//! and what does not, and neither ever trusts the wire: what is not whole, not
//! of this session or not new is counted and ignored.

mod endpoint;
mod window;
pub mod wire;

pub use endpoint::LinkCounts;
pub(crate) use endpoint::{Endpoint, Received};
pub(crate) use window::{Seen, Window};

use std::io;
use std::net::SocketAddr;

use keys::Keys;
use model::channel::Channel;
use siphasher::sip::SipHasher24;
use thiserror::Error;

use wire::{Kind, MOST_DOFS, Refusal};

/// What both ends must know, so that no loop drives the wrong bench by mistake:
/// up to sixteen bytes of text. It is a lock against mix-ups and strangers, not
/// encryption: who can read the wire can also forge on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Token([u8; 16]);

impl Token {
    /// From text of at most sixteen bytes; `None` if it is longer.
    pub fn new(text: &str) -> Option<Self> {
        let mut key = [0; 16];
        key.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self(key))
    }

    /// Proof of knowing it, for one datagram of the handshake.
    ///
    /// SipHash-2-4 (Aumasson & Bernstein 2012): a tag of 64 bits that cannot be
    /// made without the key, and small enough for any microcontroller at the
    /// laboratory's end, which is why it was preferred to an HMAC.
    pub fn tag(&self, kind: Kind, nonce: u64, session: u64) -> u64 {
        let mut message = [0; 17];
        message[0] = kind as u8;
        message[1..9].copy_from_slice(&nonce.to_le_bytes());
        message[9..].copy_from_slice(&session.to_le_bytes());
        SipHasher24::new_with_key(&self.0).hash(&message)
    }
}

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
    /// Interface DOFs.
    pub count: usize,
    /// Ticks per second.
    pub rate_hz: f64,
    /// How the two keep step.
    pub pace: Pace,
    /// What both know.
    pub token: Token,
    /// Longest wait for the laboratory to answer at all, s.
    pub connect_s: f64,
    /// What the gate of the loop lets through, told to the laboratory: command
    /// in m, rate in m/s, force in N.
    pub limits: [Vec<f64>; 3],
}

impl LinkPlan {
    /// What is said when nobody is there.
    pub(crate) fn no_answer(&self) -> LinkError {
        LinkError::NoAnswer(self.address, self.connect_s)
    }

    /// The channels of a rig at the end of a wire, known before it is there.
    pub fn channels() -> Vec<Channel> {
        let bridged = "Ticks in a row without an answer of the rig; 0 when it came in time";
        let phase = "Where the rig said it stands: 0 running, 1 holding, 2 ramping to safe, 3 safe";
        vec![Channel::new("rig.bridged", "", bridged), Channel::new("rig.phase", "", phase)]
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
    #[error("the laboratory at {address} refuses the test: {}", reason.description())]
    Refused {
        /// Where it is.
        address: SocketAddr,
        /// Why.
        reason: Refusal,
    },
    /// Who answers does not know the token.
    #[error(
        "who answers at {0} does not know the token: give both sides the same [rig] token, \
         or check the address"
    )]
    Impostor(SocketAddr),
    /// Too many for a datagram.
    #[error("{0} interface DOFs do not fit into a datagram, at most {MOST_DOFS} do")]
    TooManyDofs(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_depends_on_all_it_stands_for() {
        let token = Token::new("bench 3").unwrap();
        let tag = token.tag(Kind::Arm, 1, 2);
        assert_eq!(tag, token.tag(Kind::Arm, 1, 2));
        assert_ne!(tag, token.tag(Kind::Welcome, 1, 2));
        assert_ne!(tag, token.tag(Kind::Arm, 2, 1));
        assert_ne!(tag, Token::new("bench 4").unwrap().tag(Kind::Arm, 1, 2));
        assert_ne!(tag, Token::default().tag(Kind::Arm, 1, 2));
        assert_eq!(Token::new("seventeen bytes !"), None);
        assert_eq!(Token::new(""), Some(Token::default()));
    }

    #[test]
    fn the_tag_is_that_of_the_paper() {
        let (key, message): ([u8; 16], [u8; 15]) =
            (std::array::from_fn(|i| i as u8), std::array::from_fn(|i| i as u8));
        assert_eq!(SipHasher24::new_with_key(&key).hash(&message), 0xa129_ca61_49be_45e5);
    }
}
