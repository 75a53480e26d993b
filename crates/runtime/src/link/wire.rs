//! The datagrams: bytes to numbers and back.
//!
//! Fixed places, little-endian, one size for each kind and number of channels, the
//! sender's code at the end. Nothing here allocates, and no bytes whatever make it
//! panic. What a datagram says is read only once its code has been verified.

use bytes::{Buf, BufMut};

use super::key::{CODE, Key};
use crate::codec::{Coded, coded, take};
use crate::codes::codes;

/// The first four bytes.
pub const MAGIC: [u8; 4] = *b"TWRG";
/// Version of the protocol.
pub const VERSION: u16 = 2;
/// Most interface DOFs: with them a datagram still fits into an Ethernet frame.
pub const MOST_DOFS: usize = 55;
/// The largest datagram.
pub const MOST_BYTES: usize = HANDSHAKE_VALUES + 24 * MOST_DOFS + CODE;
/// Room for it.
pub type Room = [u8; MOST_BYTES];

const VALUES: usize = 56;
const HANDSHAKE_VALUES: usize = 96;
/// Bytes of zero after the header.
const RESERVED: usize = 4;

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

    /// Bytes of a datagram of this kind. A refusal has no values, and no answer to a greeting is
    /// longer than it: nobody shall multiply what strangers send.
    pub fn bytes(self, dofs: usize, auxiliary: usize) -> usize {
        let values = 24 * dofs;
        CODE + match self {
            Self::Refuse => HANDSHAKE_VALUES,
            kind if kind.is_handshake() => HANDSHAKE_VALUES + values,
            _ => VALUES + values + 8 * auxiliary,
        }
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
        /// Of a measurement: 0 if its values were sampled at this tick. Otherwise they stand in
        /// for samples that are missing.
        pub validity: u8,
        /// Values of auxiliary channels behind the three blocks; in a handshake, how many its
        /// sender's datagrams of the session will have.
        pub auxiliary: u8,
    }
}

impl Header {
    /// Of a datagram outside a session.
    pub fn outside(kind: Kind, dofs: u8, time_ns: u64) -> Self {
        let (session, sequence, tick, echo_ns, state, trip) = (0, 0, 0, 0, 0, 0);
        let (validity, auxiliary) = (0, 0);
        Self {
            kind,
            dofs,
            session,
            sequence,
            time_ns,
            tick,
            echo_ns,
            state,
            trip,
            validity,
            auxiliary,
        }
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
        /// Hash of the sender's experiment file.
        pub file: u64,
        /// Silence of the loop after which the laboratory takes over, ns: that which applies, or
        /// that which a loop asks for, 0 for none.
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
    /// Of an unknown kind, or of a size that does not fit the kind.
    Malformed,
}

/// A datagram as somebody sent it: what it says is a claim.
#[derive(Debug, Clone, Copy)]
pub struct Unverified<'a> {
    signed: &'a [u8],
    code: &'a [u8],
    datagram: Datagram<'a>,
}

impl<'a> Unverified<'a> {
    /// Reads bytes, or says why they are no datagram.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Flaw> {
        if bytes.len() < VALUES + CODE || bytes[..4] != MAGIC {
            return Err(Flaw::NotOurs);
        }
        let (signed, code) = bytes.split_at(bytes.len() - CODE);
        let mut rest = &signed[MAGIC.len()..];
        let version = rest.get_u16_le();
        if version != VERSION {
            return Err(Flaw::Version(version));
        }
        let header: Header = take(&mut rest).ok_or(Flaw::Malformed)?;
        let (kind, dofs) = (header.kind, usize::from(header.dofs));
        let expected = kind.bytes(dofs, header.auxiliary.into());
        if !(1..=MOST_DOFS).contains(&dofs) || bytes.len() != expected || expected > MOST_BYTES {
            return Err(Flaw::Malformed);
        }
        // All that is read below is there: the size fits the kind.
        rest.advance(RESERVED);
        let handshake = if kind.is_handshake() { take(&mut rest) } else { None };
        Ok(Self { signed, code, datagram: Datagram { header, handshake, values: rest } })
    }

    /// What it begins with, if it is true.
    pub fn header(&self) -> &Header {
        &self.datagram.header
    }

    /// The handshake that it carries, if it is true.
    pub fn handshake(&self) -> Option<&Handshake> {
        self.datagram.handshake.as_ref()
    }

    /// The datagram, if who has this key has sent it.
    pub fn verified(&self, key: &Key) -> Option<Datagram<'a>> {
        key.fits(self.signed, self.code).then_some(self.datagram)
    }
}

/// A datagram whose sender is known.
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
        let blocks = self.values.get(..3 * bytes).unwrap_or(&[]);
        let block = blocks.get(index * bytes..(index + 1) * bytes).unwrap_or(&[]);
        for (value, bytes) in out.iter_mut().zip(block.chunks_exact(8)) {
            *value = f64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
    }

    /// Copies the auxiliary values; what the datagram does not have is no number.
    pub fn auxiliary(&self, out: &mut [f64]) {
        out.fill(f64::NAN);
        let auxiliary = self.values.get(24 * usize::from(self.header.dofs)..).unwrap_or(&[]);
        for (value, bytes) in out.iter_mut().zip(auxiliary.chunks_exact(8)) {
            *value = f64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
    }
}

/// Most auxiliary values beside so many interface DOFs.
pub fn most_auxiliary(dofs: usize) -> usize {
    (3 * MOST_DOFS.saturating_sub(dofs)).min(u8::MAX.into())
}

/// Writes a datagram with its code and returns its bytes. A handshake's kind needs the
/// [`Handshake`]; the others ignore it. A block that is shorter than the number
/// of DOFs is filled up with zeros. The number of auxiliary values is the header's; a handshake
/// has none of them.
pub fn encode<'a>(
    header: &Header,
    handshake: Option<&Handshake>,
    blocks: [&[f64]; 3],
    auxiliary: &[f64],
    key: &Key,
    out: &'a mut Room,
) -> &'a [u8] {
    let kind = header.kind;
    let dofs = usize::from(header.dofs).min(MOST_DOFS);
    let values = usize::from(header.auxiliary).min(most_auxiliary(dofs));
    let end = kind.bytes(dofs, values) - CODE;
    let mut rest = &mut out[..end];
    rest.put_slice(&MAGIC);
    rest.put_u16_le(VERSION);
    Header { dofs: dofs as u8, auxiliary: values as u8, ..*header }.put(&mut rest);
    rest.put_bytes(0, RESERVED);
    if kind.is_handshake() {
        handshake.copied().unwrap_or_default().put(&mut rest);
    }
    for block in blocks.iter().filter(|_| kind != Kind::Refuse) {
        for dof in 0..dofs {
            rest.put_f64_le(block.get(dof).copied().unwrap_or(0.0));
        }
    }
    for index in 0..if kind.is_handshake() { 0 } else { values } {
        rest.put_f64_le(auxiliary.get(index).copied().unwrap_or(f64::NAN));
    }
    let code = key.code(&out[..end]);
    out[end..end + CODE].copy_from_slice(&code);
    &out[..end + CODE]
}

#[cfg(test)]
mod tests;
