//! The wire of the host link: messages as bytes, little-endian throughout.
//!
//! A message is its length (u32: type and body), its type (u8) and its body.
//! Nothing is believed of what arrives: a length out of range ends the
//! connection before anything is kept, and every body is read to its last byte
//! or refused.

use bytes::{Buf, BufMut, TryGetError};
use thiserror::Error;

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

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Refusal {
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

impl Refusal {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::BadGreeting,
        Self::WrongToken,
        Self::TooMany,
        Self::BadRequest,
        Self::NotStreamed,
        Self::FeedTaken,
        Self::BadSample,
        Self::Over,
    ];
}

/// Bytes that are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// No message is so long or so short.
    #[error("a message of {length} bytes: 1 to {LONGEST} are allowed")]
    BadLength {
        /// What was announced.
        length: usize,
    },
    /// An unknown type.
    #[error("a message of the unknown type {kind:#04x}")]
    UnknownType {
        /// What came.
        kind: u8,
    },
    /// A body that is too short, too long or not what it should be.
    #[error("the body of a message of type {kind:#04x} does not fit its type")]
    BadBody {
        /// Type of the message.
        kind: u8,
    },
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
        return Err(ProtocolError::BadLength { length });
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

    fn parse(kind: u8, body: &mut &[u8]) -> Result<Option<Self>, BadBody> {
        Ok(Some(match kind {
            kind::HELLO => {
                take(body, MAGIC.len())?;
                Self::Hello { version: body.try_get_u16_le()?, token: take_short(body)?.to_vec() }
            }
            kind::FEED => Self::Feed,
            kind::LOAD => Self::Load { first: body.try_get_u64_le()?, rows: take_numbers(body) },
            kind::END => Self::End { samples: body.try_get_u64_le()? },
            kind::WATCH => Self::Watch { every: body.try_get_u32_le()? },
            kind::STOP => Self::Stop,
            kind::STATUS => Self::Status,
            _ => return Ok(None),
        }))
    }

    /// As bytes for the wire.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Hello { version, token } => {
                message(kind::HELLO, &[&MAGIC, &version.to_le_bytes(), &short(token)])
            }
            Self::Feed => message(kind::FEED, &[]),
            Self::Load { first, rows } => {
                message(kind::LOAD, &[&first.to_le_bytes(), &numbers(rows)])
            }
            Self::End { samples } => message(kind::END, &[&samples.to_le_bytes()]),
            Self::Watch { every } => message(kind::WATCH, &[&every.to_le_bytes()]),
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

    fn parse(kind: u8, body: &mut &[u8]) -> Result<Option<Self>, BadBody> {
        Ok(Some(match kind {
            kind::WELCOME => Self::Welcome(Welcome::parse(body)?),
            kind::GRANTED => {
                Self::Granted { request: body.try_get_u8()?, value: body.try_get_u64_le()? }
            }
            kind::REFUSED => {
                let (request, code) = (body.try_get_u8()?, body.try_get_u16_le()?);
                let reason = Refusal::ALL.into_iter().find(|reason| *reason as u16 == code);
                let text = String::from_utf8_lossy(std::mem::take(body)).into_owned();
                Self::Refused { request, reason: reason.ok_or(BadBody)?, text }
            }
            kind::STATUS_REPLY => Self::Status(StatusBody {
                ticks: body.try_get_u64_le()?,
                phase: body.try_get_u8()?,
                trip: body.try_get_u8()?,
                feeding: body.try_get_u8()?,
                fed: body.try_get_u64_le()?,
                used: body.try_get_u64_le()?,
                starved: body.try_get_u64_le()?,
                dropped: body.try_get_u64_le()?,
            }),
            kind::FRAMES => {
                let (dropped, width) = (body.try_get_u64_le()?, body.try_get_u16_le()?);
                let values = take_numbers(body);
                if width == 0 || !values.len().is_multiple_of(usize::from(width)) {
                    return Err(BadBody);
                }
                Self::Event(Event::Frames { dropped, width, values })
            }
            kind::OVER => Self::Event(Event::Over {
                phase: body.try_get_u8()?,
                trip: body.try_get_u8()?,
                ticks: body.try_get_u64_le()?,
                dropped: body.try_get_u64_le()?,
            }),
            _ => return Ok(None),
        }))
    }

    /// As bytes for the wire.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Welcome(welcome) => message(kind::WELCOME, &[&welcome.body()]),
            Self::Granted { request, value } => {
                message(kind::GRANTED, &[&[*request], &value.to_le_bytes()])
            }
            Self::Refused { request, reason, text } => {
                let code = (*reason as u16).to_le_bytes();
                message(kind::REFUSED, &[&[*request], &code, text.as_bytes()])
            }
            Self::Status(StatusBody {
                ticks,
                phase,
                trip,
                feeding,
                fed,
                used,
                starved,
                dropped,
            }) => {
                let counts = [fed, used, starved, dropped].map(|count| count.to_le_bytes());
                let bytes = [*phase, *trip, *feeding];
                message(kind::STATUS_REPLY, &[&ticks.to_le_bytes(), &bytes, counts.as_flattened()])
            }
            Self::Event(Event::Frames { dropped, width, values }) => {
                let (dropped, width) = (dropped.to_le_bytes(), width.to_le_bytes());
                message(kind::FRAMES, &[&dropped, &width, &numbers(values)])
            }
            Self::Event(Event::Over { phase, trip, ticks, dropped }) => {
                let counts = [ticks, dropped].map(|count| count.to_le_bytes());
                message(kind::OVER, &[&[*phase, *trip], counts.as_flattened()])
            }
        }
    }
}

impl Welcome {
    fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.put_u16_le(self.version);
        body.put_u8(self.clock);
        body.put_f64_le(self.tick_hz);
        body.put_f64_le(self.load_hz);
        body.put_u64_le(self.buffer);
        body.extend(short(self.title.as_bytes()));
        body.put_u16_le(self.signals.len() as u16);
        for (name, unit, bound) in &self.signals {
            body.extend([short(name.as_bytes()), short(unit.as_bytes())].concat());
            body.put_f64_le(*bound);
        }
        body.put_u16_le(self.channels.len() as u16);
        for (name, unit) in &self.channels {
            body.extend([short(name.as_bytes()), short(unit.as_bytes())].concat());
        }
        body
    }

    fn parse(body: &mut &[u8]) -> Result<Self, BadBody> {
        let text = |body: &mut &[u8]| -> Result<String, BadBody> {
            Ok(String::from_utf8_lossy(take_short(body)?).into_owned())
        };
        Ok(Self {
            version: body.try_get_u16_le()?,
            clock: body.try_get_u8()?,
            tick_hz: body.try_get_f64_le()?,
            load_hz: body.try_get_f64_le()?,
            buffer: body.try_get_u64_le()?,
            title: text(body)?,
            // Entries are read one by one: a count alone reserves no memory.
            signals: (0..body.try_get_u16_le()?)
                .map(|_| Ok((text(body)?, text(body)?, body.try_get_f64_le()?)))
                .collect::<Result<_, BadBody>>()?,
            channels: (0..body.try_get_u16_le()?)
                .map(|_| Ok((text(body)?, text(body)?)))
                .collect::<Result<_, BadBody>>()?,
        })
    }
}

/// A message of these parts.
fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let mut bytes = Vec::with_capacity(5 + body.len());
    bytes.put_u32_le(1 + body.len() as u32);
    bytes.put_u8(kind);
    bytes.extend(body);
    bytes
}

/// A text of up to 255 bytes behind its length; a longer one is cut.
fn short(text: &[u8]) -> Vec<u8> {
    let text = &text[..text.len().min(255)];
    [&[text.len() as u8], text].concat()
}

fn numbers(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A body that is too short or not what it should be.
struct BadBody;

impl From<TryGetError> for BadBody {
    fn from(_: TryGetError) -> Self {
        Self
    }
}

/// Reads a body to its last byte, or refuses it. The parser gives none for a type that
/// it does not know.
fn read_whole<T>(
    kind: u8,
    mut body: &[u8],
    parse: fn(u8, &mut &[u8]) -> Result<Option<T>, BadBody>,
) -> Result<T, ProtocolError> {
    match parse(kind, &mut body) {
        Ok(None) => Err(ProtocolError::UnknownType { kind }),
        Ok(Some(message)) if body.is_empty() => Ok(message),
        _ => Err(ProtocolError::BadBody { kind }),
    }
}

fn take<'a>(body: &mut &'a [u8], count: usize) -> Result<&'a [u8], BadBody> {
    body.split_off(..count).ok_or(BadBody)
}

fn take_short<'a>(body: &mut &'a [u8]) -> Result<&'a [u8], BadBody> {
    let length = body.try_get_u8()?;
    take(body, length.into())
}

/// All numbers that are left; what is too short for one stays.
fn take_numbers(body: &mut &[u8]) -> Vec<f64> {
    let (values, rest) = body.as_chunks();
    *body = rest;
    values.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
}
