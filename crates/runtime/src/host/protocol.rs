//! The wire of the host link: messages as bytes, little-endian throughout.
//!
//! A message is its length (u32: type and body), its type (u8) and its body.
//! Nothing is believed of what arrives: a length out of range ends the
//! connection before anything is kept, and every body is read to its last byte
//! or refused.

use bytes::BufMut;
use thiserror::Error;

use crate::codec::{Coded, coded, take};
use crate::codes::codes;

/// First bytes of a greeting.
pub const MAGIC: [u8; 4] = *b"TWRG";
/// Of this protocol.
pub const VERSION: u16 = 1;
/// Longest message, type and body.
pub const LONGEST: usize = 1 << 18;

/// One list gives the messages of one side: their types on the wire, and the way there
/// and back.
macro_rules! messages {
    ($(#[$about:meta])* pub enum $name:ident {
        $(
            $(#[$words:meta])*
            $message:ident $(($one:ident: $whole:ty))? $({
                $($(#[$of:meta])* $field:ident: $type:ty,)*
            })? = $kind:ident $code:literal,
        )*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $($(#[$words])* $message $(($whole))? $({ $($(#[$of])* $field: $type,)* })?,)*
        }

        impl $name {
            $($(#[$words])* pub const $kind: u8 = $code;)*

            fn parse(kind: u8, body: &mut &[u8]) -> Option<Self> {
                Some(match kind {
                    $(Self::$kind => {
                        Self::$message $((take::<$whole>(body)?))? $({ $($field: take(body)?,)* })?
                    })*
                    _ => return None,
                })
            }

            /// As bytes for the wire.
            pub fn bytes(&self) -> Vec<u8> {
                match self {
                    $(Self::$message $(($one))? $({ $($field,)* })? => {
                        message(Self::$kind, &[$($one)? $($($field,)*)?])
                    })*
                }
            }
        }
    };
}

messages! {
    /// What a client says.
    pub enum Request {
        /// First of all: version and token.
        Hello {
            /// Of the protocol.
            version: u16,
            /// What lets it in.
            token: Vec<u8>,
        } = HELLO 0x01,
        /// Asks for the right to send the load.
        Feed = FEED 0x02,
        /// Samples of the load.
        Load {
            /// Number of the first, from 0.
            first: u64,
            /// Row after row, one value for each signal.
            rows: Vec<f64>,
        } = LOAD 0x03,
        /// No sample follows.
        End {
            /// Samples of the whole load.
            samples: u64,
        } = END 0x04,
        /// Asks for frames.
        Watch {
            /// One in so many.
            every: u32,
        } = WATCH 0x05,
        /// The operator's stop.
        Stop = STOP 0x06,
        /// Asks where the test stands.
        Status = STATUS 0x07,
        /// The load begins, the test is held, or goes on.
        Control {
            /// Number of the [`Action`].
            action: u8,
            /// The operator's name, for the record.
            by: String,
        } = CONTROL 0x08,
        /// An operator is there. Once one was, the test knows when none is any more.
        Attend {
            /// The operator's name.
            by: String,
        } = ATTEND 0x09,
        /// Something for the record.
        Note {
            /// What.
            text: String,
        } = NOTE 0x0a,
        /// Asks what the operator may do.
        Situation = SITUATION 0x0b,
    }
}

messages! {
    /// What the test says.
    pub enum Reply {
        /// To a greeting.
        Welcome(welcome: Welcome) = WELCOME 0x81,
        /// A request is granted.
        Granted {
            /// Type of the request.
            request: u8,
            /// Depends on it.
            value: u64,
        } = GRANTED 0x82,
        /// A request is refused.
        Refused {
            /// Type of the request.
            request: u8,
            /// Why.
            reason: Refusal,
            /// The same for people.
            text: Rest,
        } = REFUSED 0x83,
        /// Where the test stands.
        Status(status: Status) = STATUS 0x84,
        /// Frames, to who watches.
        Frames {
            /// Frames that this client did not get so far.
            dropped: u64,
            /// Values of a frame.
            width: u16,
            /// Frame after frame.
            values: Vec<f64>,
        } = FRAMES 0x85,
        /// To everybody: the test is over, and nothing follows.
        Over {
            /// As in the last frame.
            phase: u8,
            /// Code of the trip, 0 for none.
            trip: u8,
            /// Ticks done.
            ticks: u64,
            /// Frames that this client did not get.
            dropped: u64,
        } = OVER 0x86,
        /// What the operator may do.
        Situation(situation: Situation) = SITUATION 0x87,
    }
}

/// Text that is all the rest of a message; what is no text in it is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rest(pub String);

impl Coded for Rest {
    fn put(&self, to: &mut dyn BufMut) {
        to.put_slice(self.0.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(Self(String::from_utf8_lossy(std::mem::take(from)).into_owned()))
    }
}

coded! {
    /// What the test is like.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct Welcome {
        /// Of the protocol.
        pub version: u16,
        /// What sets the pace: 0 the machine, 1 the clock.
        pub clock: u8,
        /// Ticks per second.
        pub tick_hz: f64,
        /// Samples of the load per second; 0 if it is not streamed.
        pub load_hz: f64,
        /// Samples of the load kept ahead.
        pub buffer: u64,
        /// Title of the test.
        pub title: String,
        /// Name, unit and bound of every signal of a streamed load.
        pub signals: Vec<(String, String, f64)>,
        /// Name and unit of every value of a frame.
        pub channels: Vec<(String, String)>,
    }
}

coded! {
    /// Where the test stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Status {
        /// Ticks done.
        pub ticks: u64,
        /// Number of the phase.
        pub phase: u8,
        /// Code of the trip, 0 for none.
        pub trip: u8,
        /// 1 while a client feeds, 2 once the load is ended.
        pub feeding: u8,
        /// Samples of the load received.
        pub fed: u64,
        /// Samples used.
        pub used: u64,
        /// Ticks without a sample that was due.
        pub starved: u64,
        /// Frames that found no room on their way out of the loop.
        pub dropped: u64,
    }
}

coded! {
    /// What the operator may do with a test, and what becomes of it without one.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct Situation {
        /// 1 while the load waits for the operator.
        pub waiting: u8,
        /// 1 while the test is to be held.
        pub held: u8,
        /// 1 if it can be held.
        pub can_hold: u8,
        /// 1 while an operator is there, 2 once one was and is lost.
        pub attended: u8,
        /// What then happens: number of a [`WhenLost`].
        pub when_lost: u8,
        /// After so long, s.
        pub lost_after_s: f64,
    }
}

codes! {
    /// What an operator asks for.
    pub enum Action: u8 {
        /// The load begins.
        Start = 1,
        /// The test stands still.
        Hold = 2,
        /// It goes on.
        Resume = 3,
    }
}

codes! {
    /// What becomes of a test whose operator is lost.
    pub enum WhenLost: u8 {
        /// It goes on.
        GoOn = 0,
        /// It is held.
        Hold = 1,
        /// It is stopped.
        Stop = 2,
    }
}

codes! {
    /// Why a request is refused.
    pub enum Refusal: u16 {
        /// The greeting is none, or of another version.
        BadGreeting = 1,
        /// The token is wrong.
        WrongToken = 2,
        /// No more clients are served.
        TooMany = 3,
        /// The message makes no sense here.
        BadRequest = 4,
        /// The load of this test is not streamed.
        NotStreamed = 5,
        /// Another client feeds, or has ended the load.
        FeedTaken = 6,
        /// A sample is not allowed, or not the next.
        BadSample = 7,
        /// The test is over.
        Over = 8,
    }
}

/// Bytes that are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// No message is so long or so short.
    #[error("a message of {0} bytes: 1 to {LONGEST} are allowed")]
    BadLength(usize),
    /// An unknown type, or a body that is too short, too long or not what it should be.
    #[error("the type {0:#04x} of a message is unknown, or its body does not fit its type")]
    BadBody(u8),
    /// Not the first bytes of a greeting.
    #[error("this is no client of twinrig")]
    BadMagic,
}

/// Type, body and length on the wire of a message.
pub type Whole<'a> = (u8, &'a [u8], usize);

/// Finds the next whole message at the start of `bytes`. `None` if more bytes
/// are needed.
pub fn split(bytes: &[u8]) -> Result<Option<Whole<'_>>, ProtocolError> {
    let Some(head) = bytes.first_chunk() else { return Ok(None) };
    let length = u32::from_le_bytes(*head) as usize;
    if length == 0 || length > LONGEST {
        return Err(ProtocolError::BadLength(length));
    }
    match bytes.get(4..4 + length) {
        Some([kind, body @ ..]) => Ok(Some((*kind, body, 4 + length))),
        _ => Ok(None),
    }
}

impl Request {
    /// From type and body.
    pub fn read(kind: u8, body: &[u8]) -> Result<Self, ProtocolError> {
        let body = match kind {
            Self::HELLO => body.strip_prefix(&MAGIC).ok_or(ProtocolError::BadMagic)?,
            _ => body,
        };
        read_whole(kind, body, Self::parse)
    }
}

impl Reply {
    /// From type and body.
    pub fn read(kind: u8, body: &[u8]) -> Result<Self, ProtocolError> {
        match read_whole(kind, body, Self::parse)? {
            Self::Frames { width, values, .. }
                if width == 0 || !values.len().is_multiple_of(usize::from(width)) =>
            {
                Err(ProtocolError::BadBody(kind))
            }
            reply => Ok(reply),
        }
    }
}

/// A message of these parts; a greeting has the first bytes before them.
fn message(kind: u8, parts: &[&dyn Coded]) -> Vec<u8> {
    let mut body = if kind == Request::HELLO { MAGIC.to_vec() } else { Vec::new() };
    parts.iter().for_each(|part| part.put(&mut body));
    [&(1 + body.len() as u32).to_le_bytes(), &[kind][..], &body].concat()
}

/// Reads a body to its last byte, or refuses it.
fn read_whole<T>(
    kind: u8,
    mut body: &[u8],
    parse: fn(u8, &mut &[u8]) -> Option<T>,
) -> Result<T, ProtocolError> {
    parse(kind, &mut body).filter(|_| body.is_empty()).ok_or(ProtocolError::BadBody(kind))
}
