//! The other side of the link, for programs that feed, watch or stop a test.

use std::fmt::Display;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use thiserror::Error;

use super::protocol::{
    Action, ProtocolError, Refusal, Reply, Request, Rest, Situation, Status, VERSION, Welcome,
    split,
};
use super::tls::{ClientStream, Trust};
use super::token::Token;

/// Time to reach the test.
const GREETING: Duration = Duration::from_secs(5);
/// Time to be welcomed: the test may still be preparing.
const WELCOME: Duration = Duration::from_secs(60);
/// How often a greeting that is cut off is tried.
const TRIES: usize = 10;
/// What TLS answers to who does not speak it: an alert of two bytes.
const ALERT: [u8; 5] = [21, 3, 3, 0, 2];
/// Values in one message of samples.
const VALUES: usize = 4096;

/// Why a client cannot go on.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The network.
    #[error("the link to the test failed: {0}")]
    Io(#[from] io::Error),
    /// The other side is no test.
    #[error("the other side does not speak this protocol: {0}")]
    Protocol(#[from] ProtocolError),
    /// The test says no.
    #[error("the test refuses: {text}")]
    Refused {
        /// Why.
        reason: Refusal,
        /// In words.
        text: String,
    },
    /// It is over.
    #[error("the test is over")]
    Over,
    /// It wants TLS, and was asked without.
    #[error("the link is encrypted: give the fingerprint that the test shows, or a CA file")]
    Encrypted,
    /// Who answers is not who is trusted, or does not speak TLS.
    #[error(
        "no trusted end of TLS answers ({0}): compare the fingerprint with the one that the test \
         shows; a link on loopback has TLS only where the test was started with --tls"
    )]
    Untrusted(String),
    /// Another answer than the one asked for.
    #[error("the test gave another answer than the one asked for")]
    Unexpected,
}

/// A client that was let in.
pub struct Client {
    /// The connection itself.
    pub stream: ClientStream,
    /// What has come of messages that are not whole yet.
    bytes: Vec<u8>,
    /// What the test is like.
    pub welcome: Welcome,
}

impl Client {
    /// Reaches a test that is trusted, and is let in.
    pub fn connect(
        address: impl ToSocketAddrs + Display,
        token: &Token,
        trust: &Trust,
    ) -> Result<Self, ClientError> {
        let name = address.to_string();
        let mut last = ClientError::Io(io::ErrorKind::AddrNotAvailable.into());
        for address in address.to_socket_addrs()? {
            for _ in 0..TRIES {
                let stream = match TcpStream::connect_timeout(&address, GREETING) {
                    Ok(stream) => stream,
                    Err(error) => {
                        last = error.into();
                        break;
                    }
                };
                match Self::greet(stream, token, trust, (&name, address)) {
                    // Pushed out of the crowd at the door before it had greeted.
                    Err(ClientError::Io(error)) if is_cut_off(error.kind()) => last = error.into(),
                    greeted => return greeted,
                }
            }
        }
        Err(last)
    }

    fn greet(
        stream: TcpStream,
        token: &Token,
        trust: &Trust,
        (name, address): (&str, SocketAddr),
    ) -> Result<Self, ClientError> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(WELCOME))?;
        let untrusted = |error: &dyn Display| ClientError::Untrusted(error.to_string());
        let stream = trust.secure(stream, name, address).map_err(|error| untrusted(&error))?;
        let mut client = Self { stream, bytes: Vec::new(), welcome: Welcome::default() };
        let token = token.text().as_bytes().to_vec();
        let answer = client.say(&Request::Hello { version: VERSION, token });
        let answer = answer.and_then(|()| client.hear()).map_err(|error| match error {
            // What TLS has to say comes as bad data.
            ClientError::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                untrusted(&error)
            }
            ClientError::Io(_) if client.bytes.starts_with(&ALERT) => ClientError::Encrypted,
            error => error,
        });
        let Reply::Welcome(welcome) = answer? else {
            return Err(ClientError::Unexpected);
        };
        // From here on the test may take its time.
        client.stream.tcp().set_read_timeout(None)?;
        Ok(Self { welcome, ..client })
    }

    /// Asks for something of type `asked` that is granted with a number. Another request's
    /// grant is no answer: a stop counts as pressed only when the stop is granted.
    fn ask(&mut self, asked: u8, request: &Request) -> Result<u64, ClientError> {
        match self.answer_to(request)? {
            Reply::Granted { request, value } if request == asked => Ok(value),
            _ => Err(ClientError::Unexpected),
        }
    }

    fn answer_to(&mut self, request: &Request) -> Result<Reply, ClientError> {
        self.say(request)?;
        match self.hear()? {
            Reply::Over { .. } => Err(ClientError::Over),
            reply => Ok(reply),
        }
    }

    /// Asks for the right to feed; gives the number of the sample that is next.
    pub fn feed(&mut self) -> Result<u64, ClientError> {
        self.ask(Request::FEED, &Request::Feed)
    }

    /// Sends rows of samples, the first of them with number `first`. Waits while
    /// the test has no room for them.
    pub fn load(&mut self, first: u64, rows: &[f64]) -> Result<(), ClientError> {
        let signals = self.welcome.signals.len().max(1);
        let most = (VALUES / signals).max(1) * signals;
        let mut first = first;
        for rows in rows.chunks(most) {
            self.say(&Request::Load { first, rows: rows.to_vec() })?;
            first += (rows.len() / signals) as u64;
        }
        Ok(())
    }

    /// Ends the load after so many samples.
    pub fn end(&mut self, samples: u64) -> Result<(), ClientError> {
        self.ask(Request::END, &Request::End { samples }).map(|_| ())
    }

    /// Presses the operator's stop; gives how often it has been pressed.
    pub fn stop(&mut self) -> Result<u64, ClientError> {
        self.ask(Request::STOP, &Request::Stop)
    }

    /// Begins the load, holds the test or lets it go on, in an operator's name.
    pub fn control(&mut self, action: Action, by: &str) -> Result<(), ClientError> {
        let request = Request::Control { action: action as u8, by: by.to_owned() };
        self.ask(Request::CONTROL, &request).map(|_| ())
    }

    /// Says that an operator is there.
    pub fn attend(&mut self, by: &str) -> Result<(), ClientError> {
        self.ask(Request::ATTEND, &Request::Attend { by: by.to_owned() }).map(|_| ())
    }

    /// Says something for the record.
    pub fn note(&mut self, text: &str) -> Result<(), ClientError> {
        self.ask(Request::NOTE, &Request::Note { text: text.to_owned() }).map(|_| ())
    }

    /// What the operator may do.
    pub fn situation(&mut self) -> Result<Situation, ClientError> {
        match self.answer_to(&Request::Situation)? {
            Reply::Situation(situation) => Ok(situation),
            _ => Err(ClientError::Unexpected),
        }
    }

    /// Where the test stands.
    pub fn status(&mut self) -> Result<Status, ClientError> {
        match self.answer_to(&Request::Status)? {
            Reply::Status(status) => Ok(status),
            _ => Err(ClientError::Unexpected),
        }
    }

    /// Asks for one frame in `every`; then only [`next`](Self::next) may be called.
    pub fn watch(&mut self, every: u32) -> Result<(), ClientError> {
        self.ask(Request::WATCH, &Request::Watch { every }).map(|_| ())
    }

    /// What comes next while watching: frames, or that the test is over.
    #[expect(clippy::should_implement_trait, reason = "it has a fallible answer")]
    pub fn next(&mut self) -> Result<Reply, ClientError> {
        match self.hear()? {
            event @ (Reply::Frames { .. } | Reply::Over { .. }) => Ok(event),
            _ => Err(ClientError::Unexpected),
        }
    }

    fn say(&mut self, request: &Request) -> Result<(), ClientError> {
        match self.stream.write_all(&request.bytes()) {
            Ok(()) => Ok(()),
            // What the test said before it closed is the better reason.
            Err(error) => match self.hear() {
                Err(told @ (ClientError::Refused { .. } | ClientError::Over)) => Err(told),
                _ => Err(error.into()),
            },
        }
    }

    /// The next answer; a refusal and the end are errors.
    fn hear(&mut self) -> Result<Reply, ClientError> {
        let mut piece = [0; 16_384];
        loop {
            if let Some((kind, body, length)) = split(&self.bytes)? {
                let reply = Reply::read(kind, body)?;
                self.bytes.drain(..length);
                return match reply {
                    Reply::Refused { reason, text: Rest(text), .. } => {
                        Err(ClientError::Refused { reason, text })
                    }
                    reply => Ok(reply),
                };
            }
            match self.stream.read(&mut piece)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                count => self.bytes.extend_from_slice(&piece[..count]),
            }
        }
    }
}

fn is_cut_off(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
    )
}
