//! The wire of the host link: messages as bytes, little-endian throughout.
//!
//! A message is its length (u32: type and body), its type (u8) and its body.
//! Nothing is believed of what arrives: a length out of range ends the
//! connection before anything is kept, and every body is read to its last byte
//! or refused.

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
        let mut body = Body { kind, rest: body };
        let request = match kind {
            kind::HELLO => {
                if body.take::<4>()? != MAGIC {
                    return Err(ProtocolError::BadMagic);
                }
                let version = body.u16()?;
                let length = usize::from(body.u8()?);
                Self::Hello { version, token: body.bytes(length)?.to_vec() }
            }
            kind::FEED => Self::Feed,
            kind::LOAD => Self::Load { first: body.u64()?, rows: body.numbers()? },
            kind::END => Self::End { samples: body.u64()? },
            kind::WATCH => Self::Watch { every: body.u32()? },
            kind::STOP => Self::Stop,
            kind::STATUS => Self::Status,
            _ => return Err(ProtocolError::UnknownType { kind }),
        };
        body.end()?;
        Ok(request)
    }

    /// As bytes for the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Out::new(self.kind());
        match self {
            Self::Hello { version, token } => {
                out.put(&MAGIC);
                out.put(&version.to_le_bytes());
                out.short(token);
            }
            Self::Load { first, rows } => {
                out.put(&first.to_le_bytes());
                out.numbers(rows);
            }
            Self::End { samples } => out.put(&samples.to_le_bytes()),
            Self::Watch { every } => out.put(&every.to_le_bytes()),
            Self::Feed | Self::Stop | Self::Status => {}
        }
        out.finish()
    }

    /// Its type.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => kind::HELLO,
            Self::Feed => kind::FEED,
            Self::Load { .. } => kind::LOAD,
            Self::End { .. } => kind::END,
            Self::Watch { .. } => kind::WATCH,
            Self::Stop => kind::STOP,
            Self::Status => kind::STATUS,
        }
    }
}

impl Reply {
    /// From type and body.
    pub fn read(kind: u8, body: &[u8]) -> Result<Self, ProtocolError> {
        let mut body = Body { kind, rest: body };
        let reply = match kind {
            kind::WELCOME => Self::Welcome(body.welcome()?),
            kind::GRANTED => Self::Granted { request: body.u8()?, value: body.u64()? },
            kind::REFUSED => {
                let (request, code) = (body.u8()?, body.u16()?);
                let reason = Refusal::ALL.into_iter().find(|reason| *reason as u16 == code);
                let text = String::from_utf8_lossy(std::mem::take(&mut body.rest)).into_owned();
                let reason = reason.ok_or(ProtocolError::BadBody { kind })?;
                Self::Refused { request, reason, text }
            }
            kind::STATUS_REPLY => Self::Status(StatusBody {
                ticks: body.u64()?,
                phase: body.u8()?,
                trip: body.u8()?,
                feeding: body.u8()?,
                fed: body.u64()?,
                used: body.u64()?,
                starved: body.u64()?,
                dropped: body.u64()?,
            }),
            kind::FRAMES => {
                let (dropped, width) = (body.u64()?, body.u16()?);
                let values = body.numbers()?;
                if width == 0 || !values.len().is_multiple_of(usize::from(width)) {
                    return Err(ProtocolError::BadBody { kind });
                }
                Self::Frames { dropped, width, values }
            }
            kind::OVER => Self::Over {
                phase: body.u8()?,
                trip: body.u8()?,
                ticks: body.u64()?,
                dropped: body.u64()?,
            },
            _ => return Err(ProtocolError::UnknownType { kind }),
        };
        body.end()?;
        Ok(reply)
    }

    /// As bytes for the wire.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Welcome(welcome) => welcome.bytes(),
            Self::Granted { request, value } => {
                let mut out = Out::new(kind::GRANTED);
                out.put(&[*request]);
                out.put(&value.to_le_bytes());
                out.finish()
            }
            Self::Refused { request, reason, text } => {
                let mut out = Out::new(kind::REFUSED);
                out.put(&[*request]);
                out.put(&(*reason as u16).to_le_bytes());
                out.put(text.as_bytes());
                out.finish()
            }
            Self::Status(status) => {
                let mut out = Out::new(kind::STATUS_REPLY);
                out.put(&status.ticks.to_le_bytes());
                out.put(&[status.phase, status.trip, status.feeding]);
                for count in [status.fed, status.used, status.starved, status.dropped] {
                    out.put(&count.to_le_bytes());
                }
                out.finish()
            }
            Self::Frames { dropped, width, values } => {
                let mut out = Out::new(kind::FRAMES);
                out.put(&dropped.to_le_bytes());
                out.put(&width.to_le_bytes());
                out.numbers(values);
                out.finish()
            }
            Self::Over { phase, trip, ticks, dropped } => {
                let mut out = Out::new(kind::OVER);
                out.put(&[*phase, *trip]);
                out.put(&ticks.to_le_bytes());
                out.put(&dropped.to_le_bytes());
                out.finish()
            }
        }
    }
}

impl Welcome {
    fn bytes(&self) -> Vec<u8> {
        let mut out = Out::new(kind::WELCOME);
        out.put(&self.version.to_le_bytes());
        out.put(&[self.clock]);
        out.put(&self.tick_hz.to_le_bytes());
        out.put(&self.load_hz.to_le_bytes());
        out.put(&self.buffer.to_le_bytes());
        out.short(self.title.as_bytes());
        out.put(&(self.signals.len() as u16).to_le_bytes());
        for (name, unit, bound) in &self.signals {
            out.short(name.as_bytes());
            out.short(unit.as_bytes());
            out.put(&bound.to_le_bytes());
        }
        out.put(&(self.channels.len() as u16).to_le_bytes());
        for (name, unit) in &self.channels {
            out.short(name.as_bytes());
            out.short(unit.as_bytes());
        }
        out.finish()
    }
}

/// A message in the making.
struct Out {
    bytes: Vec<u8>,
}

impl Out {
    fn new(kind: u8) -> Self {
        Self { bytes: vec![0, 0, 0, 0, kind] }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A text of up to 255 bytes; a longer one is cut.
    fn short(&mut self, text: &[u8]) {
        let text = &text[..text.len().min(255)];
        self.bytes.push(text.len() as u8);
        self.put(text);
    }

    fn numbers(&mut self, values: &[f64]) {
        for value in values {
            self.put(&value.to_le_bytes());
        }
    }

    fn finish(mut self) -> Vec<u8> {
        let length = (self.bytes.len() - 4) as u32;
        self.bytes[..4].copy_from_slice(&length.to_le_bytes());
        self.bytes
    }
}

/// A body that is being read.
struct Body<'a> {
    kind: u8,
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    fn bad(&self) -> ProtocolError {
        ProtocolError::BadBody { kind: self.kind }
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(self.bad())?;
        self.rest = rest;
        Ok(taken)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(self.bad())?;
        self.rest = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.take::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16, ProtocolError> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, ProtocolError> {
        self.take().map(u64::from_le_bytes)
    }

    fn f64(&mut self) -> Result<f64, ProtocolError> {
        self.take().map(f64::from_le_bytes)
    }

    fn short(&mut self) -> Result<String, ProtocolError> {
        let length = usize::from(self.u8()?);
        Ok(String::from_utf8_lossy(self.bytes(length)?).into_owned())
    }

    /// All that is left, as numbers.
    fn numbers(&mut self) -> Result<Vec<f64>, ProtocolError> {
        let (values, rest) = self.rest.as_chunks();
        if !rest.is_empty() {
            return Err(self.bad());
        }
        self.rest = rest;
        Ok(values.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    fn welcome(&mut self) -> Result<Welcome, ProtocolError> {
        let (version, clock) = (self.u16()?, self.u8()?);
        let (tick_hz, load_hz, buffer) = (self.f64()?, self.f64()?, self.u64()?);
        let title = self.short()?;
        // Entries are read one by one: a count alone reserves no memory.
        let count = self.u16()?;
        let signals = (0..count)
            .map(|_| Ok((self.short()?, self.short()?, self.f64()?)))
            .collect::<Result<_, ProtocolError>>()?;
        let count = self.u16()?;
        let channels = (0..count)
            .map(|_| Ok((self.short()?, self.short()?)))
            .collect::<Result<_, ProtocolError>>()?;
        Ok(Welcome { version, clock, tick_hz, load_hz, buffer, title, signals, channels })
    }

    fn end(&self) -> Result<(), ProtocolError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.bad()) }
    }
}
