//! The wire of the host link: messages as bytes, little-endian throughout.
//!
//! A message is its length (u32: type and body), its type (u8) and its body.
//! Nothing is believed of what arrives: a length out of range ends the
//! connection before anything is kept, and every body is read to its last byte
//! or refused.

use thiserror::Error;

use crate::codec::{Coded, coded, take};
use crate::codes::codes;

/// First bytes of a greeting.
pub const MAGIC: [u8; 4] = *b"TWRG";
/// Of this protocol.
pub const VERSION: u16 = 1;
/// Longest message, type and body.
pub const LONGEST: usize = 1 << 18;

/// What a client says.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// First of all: version and token.
    Hello {
        /// Of the protocol.
        version: u16,
        /// What lets it in.
        token: Vec<u8>,
    },
    /// Asks for the right to send the load.
    Feed,
    /// Samples of the load.
    Load {
        /// Number of the first, from 0.
        first: u64,
        /// Row after row, one value for each signal.
        rows: Vec<f64>,
    },
    /// No sample follows.
    End {
        /// Samples of the whole load.
        samples: u64,
    },
    /// Asks for frames.
    Watch {
        /// One in so many.
        every: u32,
    },
    /// The operator's stop.
    Stop,
    /// Asks where the test stands.
    Status,
}

/// What the test says.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// To a greeting.
    Welcome(Welcome),
    /// A request is granted.
    Granted {
        /// Type of the request.
        request: u8,
        /// Depends on it.
        value: u64,
    },
    /// A request is refused.
    Refused {
        /// Type of the request.
        request: u8,
        /// Why.
        reason: Refusal,
        /// The same for people.
        text: String,
    },
    /// Where the test stands.
    Status(StatusBody),
    /// To who watches; and the end, to everybody.
    Event(Event),
}

/// What comes while watching.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Frames.
    Frames {
        /// Frames that this client did not get so far.
        dropped: u64,
        /// Values of a frame.
        width: u16,
        /// Frame after frame.
        values: Vec<f64>,
    },
    /// The test is over; nothing follows.
    Over {
        /// As in the last frame.
        phase: u8,
        /// Code of the trip, 0 for none.
        trip: u8,
        /// Ticks done.
        ticks: u64,
        /// Frames that this client did not get.
        dropped: u64,
    },
}

coded! {
    /// What the test is like.
    #[derive(Debug, Clone, PartialEq)]
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
    pub struct StatusBody {
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

/// Types of messages.
pub mod kind {
    /// A greeting.
    pub const HELLO: u8 = 0x01;
    /// Asks to feed.
    pub const FEED: u8 = 0x02;
    /// Samples.
    pub const LOAD: u8 = 0x03;
    /// End of the load.
    pub const END: u8 = 0x04;
    /// Asks for frames.
    pub const WATCH: u8 = 0x05;
    /// The operator's stop.
    pub const STOP: u8 = 0x06;
    /// Asks for the status.
    pub const STATUS: u8 = 0x07;
    /// What the test is like.
    pub const WELCOME: u8 = 0x81;
    /// Granted.
    pub const GRANTED: u8 = 0x82;
    /// Refused.
    pub const REFUSED: u8 = 0x83;
    /// The status.
    pub const STATUS_REPLY: u8 = 0x84;
    /// Frames.
    pub const FRAMES: u8 = 0x85;
    /// The end.
    pub const OVER: u8 = 0x86;
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
        if kind == kind::HELLO && body.len() >= MAGIC.len() && !body.starts_with(&MAGIC) {
            return Err(ProtocolError::BadMagic);
        }
        read_whole(kind, body, Self::parse)
    }

    fn parse(kind: u8, body: &mut &[u8]) -> Option<Self> {
        Some(match kind {
            kind::HELLO => {
                body.split_off(..MAGIC.len())?;
                Self::Hello { version: take(body)?, token: take(body)? }
            }
            kind::FEED => Self::Feed,
            kind::LOAD => Self::Load { first: take(body)?, rows: take(body)? },
            kind::END => Self::End { samples: take(body)? },
            kind::WATCH => Self::Watch { every: take(body)? },
            kind::STOP => Self::Stop,
            kind::STATUS => Self::Status,
            _ => return None,
        })
    }

    /// As bytes for the wire.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Hello { version, token } => {
                let [a, b, c, d] = &MAGIC;
                message(kind::HELLO, &[a, b, c, d, version, token])
            }
            Self::Feed => message(kind::FEED, &[]),
            Self::Load { first, rows } => message(kind::LOAD, &[first, rows]),
            Self::End { samples } => message(kind::END, &[samples]),
            Self::Watch { every } => message(kind::WATCH, &[every]),
            Self::Stop => message(kind::STOP, &[]),
            Self::Status => message(kind::STATUS, &[]),
        }
    }
}

impl Reply {
    /// From type and body.
    pub fn read(kind: u8, body: &[u8]) -> Result<Self, ProtocolError> {
        read_whole(kind, body, Self::parse)
    }

    fn parse(kind: u8, body: &mut &[u8]) -> Option<Self> {
        Some(match kind {
            kind::WELCOME => Self::Welcome(take(body)?),
            kind::GRANTED => Self::Granted { request: take(body)?, value: take(body)? },
            kind::REFUSED => {
                let (request, reason) = (take(body)?, Refusal::from_code(take(body)?)?);
                let text = String::from_utf8_lossy(std::mem::take(body)).into_owned();
                Self::Refused { request, reason, text }
            }
            kind::STATUS_REPLY => Self::Status(take(body)?),
            kind::FRAMES => {
                let (dropped, width, values) = (take(body)?, take(body)?, take::<Vec<f64>>(body)?);
                if width == 0 || !values.len().is_multiple_of(usize::from(width)) {
                    return None;
                }
                Self::Event(Event::Frames { dropped, width, values })
            }
            kind::OVER => {
                let (phase, trip) = (take(body)?, take(body)?);
                Self::Event(Event::Over { phase, trip, ticks: take(body)?, dropped: take(body)? })
            }
            _ => return None,
        })
    }

    /// As bytes for the wire.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Welcome(welcome) => message(kind::WELCOME, &[welcome]),
            Self::Granted { request, value } => message(kind::GRANTED, &[request, value]),
            Self::Refused { request, reason, text } => {
                // Behind the code all the rest is text.
                let mut body = vec![*request];
                (*reason as u16).put(&mut body);
                body.extend_from_slice(text.as_bytes());
                framed(kind::REFUSED, &body)
            }
            Self::Status(status) => message(kind::STATUS_REPLY, &[status]),
            Self::Event(Event::Frames { dropped, width, values }) => {
                message(kind::FRAMES, &[dropped, width, values])
            }
            Self::Event(Event::Over { phase, trip, ticks, dropped }) => {
                message(kind::OVER, &[phase, trip, ticks, dropped])
            }
        }
    }
}

/// A message of these parts.
fn message(kind: u8, parts: &[&dyn Coded]) -> Vec<u8> {
    let mut body = Vec::new();
    parts.iter().for_each(|part| part.put(&mut body));
    framed(kind, &body)
}

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    [&(1 + body.len() as u32).to_le_bytes(), &[kind][..], body].concat()
}

/// Reads a body to its last byte, or refuses it.
fn read_whole<T>(
    kind: u8,
    mut body: &[u8],
    parse: fn(u8, &mut &[u8]) -> Option<T>,
) -> Result<T, ProtocolError> {
    parse(kind, &mut body).filter(|_| body.is_empty()).ok_or(ProtocolError::BadBody(kind))
}
