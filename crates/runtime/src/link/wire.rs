//! The datagrams: bytes to numbers and back.
//!
//! Fixed places, little-endian, one size for each kind and number of DOFs, a
//! checksum at the end. Nothing here allocates, and no bytes whatever make it
//! panic.

use bytes::{Buf, BufMut};

use crate::codec::{Coded, coded, take};
use crate::codes::codes;

/// The first four bytes.
pub const MAGIC: [u8; 4] = *b"TWRG";
/// Version of the protocol.
pub const VERSION: u16 = 1;
/// Most interface DOFs: with them a datagram still fits into an Ethernet frame.
pub const MOST_DOFS: usize = 56;
/// The largest datagram.
pub const MOST_BYTES: usize = HANDSHAKE_VALUES + 24 * MOST_DOFS + CHECKSUM;
/// Room for it.
pub type Room = [u8; MOST_BYTES];

const VALUES: usize = 56;
const HANDSHAKE_VALUES: usize = 96;
/// Bytes of zero after the header.
const RESERVED: usize = 6;
const CHECKSUM: usize = 4;

codes! {
    /// What a datagram is for.
    pub enum Kind: u8 {
        /// Loop: who I am and what I want.
        Hello = 1,
        /// Laboratory: yes, and what I can.
        Welcome = 2,
        /// Laboratory: no, and why.
        Refuse = 3,
        /// Loop: close the loop.
        Arm = 4,
        /// Loop: the command of a tick.
        Command = 5,
        /// Laboratory: what the sensors say.
        Measured = 6,
        /// Either: go to safe by yourself, now.
        Stop = 7,
        /// Loop: the session is over.
        Bye = 8,
    }
}

impl Kind {
    /// Whether it carries a [`Handshake`].
    pub fn is_handshake(self) -> bool {
        matches!(self, Self::Hello | Self::Welcome | Self::Refuse | Self::Arm)
    }

    /// Where the values begin.
    fn values_at(self) -> usize {
        if self.is_handshake() { HANDSHAKE_VALUES } else { VALUES }
    }

    /// Bytes of a datagram of this kind.
    pub fn bytes(self, dofs: usize) -> usize {
        self.values_at() + 24 * dofs + CHECKSUM
    }
}

coded! {
    /// What every datagram begins with.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Header {
        /// What it is for.
        pub kind: Kind,
        /// Interface DOFs.
        pub dofs: u8,
        /// The session, chosen by the laboratory; 0 before there is one.
        pub session: u64,
        /// Number among all that its sender sent in this session, from 1.
        pub sequence: u64,
        /// The sender's clock, ns; it need not agree with the receiver's.
        pub time_ns: u64,
        /// Tick of the loop.
        pub tick: u64,
        /// The clock of the datagram that this one answers, 0 for none.
        pub echo_ns: u64,
        /// Where the sender stands, as in the channel `phase`.
        pub state: u8,
        /// Code of its trip, 0 for none.
        pub trip: u8,
    }
}

impl Header {
    /// Of a datagram outside a session.
    pub fn outside(kind: Kind, dofs: u8, time_ns: u64) -> Self {
        let (session, sequence, tick, echo_ns, state, trip) = (0, 0, 0, 0, 0, 0);
        Self { kind, dofs, session, sequence, time_ns, tick, echo_ns, state, trip }
    }

    /// Of the answer to this one outside a session, which refuses as long as nobody says
    /// more.
    pub fn answered(&self, now_ns: u64) -> Self {
        Self { echo_ns: self.time_ns, ..Self::outside(Kind::Refuse, self.dofs, now_ns) }
    }
}

coded! {
    /// What the handshake adds.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct Handshake {
        /// Ticks per second.
        pub rate_hz: f64,
        /// Chosen by the loop for this handshake.
        pub nonce: u64,
        /// Proof of knowing the token.
        pub tag: u64,
        /// The laboratory's watchdog, ns; 0 from a loop.
        pub watchdog_ns: u64,
        /// What is wanted or can be done: a sum of the constants below.
        pub modes: u32,
        /// Code of a [`Refusal`], 0 for none.
        pub reason: u32,
    }
}

/// Every tick waits for its answer.
pub const LOCK_STEP: u32 = 1;
/// Against the clock.
pub const PACED: u32 = 2;
/// The laboratory knows where its specimen truly is.
pub const KNOWS_ACHIEVED: u32 = 4;
/// Nothing in it is real.
pub const VIRTUAL: u32 = 8;

codes! {
    /// Why a laboratory does not want to, in words.
    pub enum Refusal: u32 => &'static str {
        /// It has another session, or is not at rest yet.
        Busy = 1 => "it has another session, or is still on its way to safe",
        /// It speaks another version.
        Version = 2 => "it speaks another version of the protocol",
        /// Its rate is another.
        Rate = 3 => "its rate is another one ([integrator] rate differs)",
        /// Its number of DOFs is another.
        Dofs = 4 => "its number of interface DOFs is another one",
        /// The token is wrong.
        Token = 5 => "the token is wrong ([rig] token)",
        /// It cannot keep step in this way.
        Mode = 6 => "it cannot keep step in this way (lock-step, or against the clock)",
        /// Something else.
        Other = 7 => "for a reason of its own; its screen may say more",
    }
}

/// Why bytes are no datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// They do not begin as ours do.
    NotOurs,
    /// They are of another version.
    Version(u16),
    /// The checksum is wrong: damaged on the way, or cut off.
    Damaged,
    /// Whole, but of an unknown kind, or of a size that does not fit the kind.
    Malformed,
}

/// A datagram as it was received.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Datagram<'a> {
    /// What it begins with.
    pub header: Header,
    /// In the handshake only.
    pub handshake: Option<Handshake>,
    values: &'a [u8],
}

impl Datagram<'_> {
    /// Copies block `index` of three: displacement, velocity, acceleration of a
    /// command; displacement, force, achieved of a measurement; command, rate and
    /// force limits in the handshake. As many as both sides have.
    pub fn block(&self, index: usize, out: &mut [f64]) {
        let bytes = 8 * usize::from(self.header.dofs);
        let block = self.values.get(index * bytes..(index + 1) * bytes).unwrap_or(&[]);
        for (value, bytes) in out.iter_mut().zip(block.chunks_exact(8)) {
            *value = f64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
    }
}

/// Reads a datagram, or says why it is none.
pub fn decode(bytes: &[u8]) -> Result<Datagram<'_>, Flaw> {
    if bytes.len() < VALUES + CHECKSUM || bytes[..4] != MAGIC {
        return Err(Flaw::NotOurs);
    }
    let (whole, mut checksum) = bytes.split_at(bytes.len() - CHECKSUM);
    if crc32fast::hash(whole) != checksum.get_u32_le() {
        return Err(Flaw::Damaged);
    }
    let mut rest = &whole[MAGIC.len()..];
    let version = rest.get_u16_le();
    if version != VERSION {
        return Err(Flaw::Version(version));
    }
    let header: Header = take(&mut rest).ok_or(Flaw::Malformed)?;
    let (kind, dofs) = (header.kind, usize::from(header.dofs));
    if !(1..=MOST_DOFS).contains(&dofs) || bytes.len() != kind.bytes(dofs) {
        return Err(Flaw::Malformed);
    }
    // All that is read below is there: the size fits the kind.
    rest.advance(RESERVED);
    let handshake = if kind.is_handshake() { take(&mut rest) } else { None };
    Ok(Datagram { header, handshake, values: rest })
}

/// Writes a datagram and returns its bytes. A handshake's kind needs the
/// [`Handshake`]; the others ignore it. A block that is shorter than the number
/// of DOFs is filled up with zeros.
pub fn encode<'a>(
    header: &Header,
    handshake: Option<&Handshake>,
    blocks: [&[f64]; 3],
    out: &'a mut Room,
) -> &'a [u8] {
    let dofs = usize::from(header.dofs).min(MOST_DOFS);
    let end = header.kind.bytes(dofs) - CHECKSUM;
    let mut rest = &mut out[..end];
    rest.put_slice(&MAGIC);
    rest.put_u16_le(VERSION);
    Header { dofs: dofs as u8, ..*header }.put(&mut rest);
    rest.put_bytes(0, RESERVED);
    if header.kind.is_handshake() {
        handshake.copied().unwrap_or_default().put(&mut rest);
    }
    for block in blocks {
        for dof in 0..dofs {
            rest.put_f64_le(block.get(dof).copied().unwrap_or(0.0));
        }
    }
    let checksum = crc32fast::hash(&out[..end]);
    out[end..end + CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    &out[..end + CHECKSUM]
}

#[cfg(test)]
mod tests;
