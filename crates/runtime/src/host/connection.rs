//! One client: its thread from greeting to end.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::protocol::{Refusal, Reply, Request, VERSION, kind, split};
use super::server::{MOST_CLIENTS, Place, Shared};
use crate::streamed_load::{Feed, FeedError};

/// Time for a greeting.
const GREETING: Duration = Duration::from_secs(5);
/// A client that says nothing for so long is let go.
const SILENCE: Duration = Duration::from_secs(30);
/// A client that takes nothing for so long is let go.
const STALL: Duration = Duration::from_secs(5);
/// How often a waiting thread looks around.
const LOOK: Duration = Duration::from_millis(50);
/// A wrong token costs so much time.
const PENALTY: Duration = Duration::from_millis(300);
/// While the ring of the load is full.
const FULL: Duration = Duration::from_micros(500);
/// Values in one message of frames.
const VALUES: usize = 8192;

/// Why a connection ends.
enum End {
    /// The client went away, stalled or fell silent.
    Gone,
    /// It is told, and the connection closed.
    Refused(u8, Refusal, String),
    /// The test is over.
    Over,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// Serves a client to its end.
pub(super) fn serve(stream: TcpStream, id: u64, shared: &Shared) {
    let _ = stream.set_nodelay(true);
    let timed = stream.set_read_timeout(Some(LOOK)).is_ok()
        && stream.set_write_timeout(Some(STALL)).is_ok();
    if !timed {
        return;
    }
    let mut client = Connection { stream, bytes: Vec::new(), feed: None };
    let end = client.greet(shared, id).and_then(|place| client.work(shared, place));
    if let Some(mut feed) = client.feed.take() {
        if !feed.state().is_ended() {
            shared.note_feed_left(match &end {
                Err(End::Refused(_, _, text)) => text.clone(),
                _ => "the host that fed it went away".to_owned(),
            });
        }
        feed.break_off();
        shared.give_back(feed);
    }
    let last = match end {
        Err(End::Refused(request, reason, text)) => Reply::Refused { request, reason, text },
        Err(End::Over) => shared.over(0),
        Ok(()) | Err(End::Gone) => return,
    };
    let _ = client.stream.write_all(&last.bytes());
}

fn too_many(request: u8) -> End {
    let text = format!(
        "{MOST_CLIENTS} clients are served already; one more can only stop the test or ask where \
         it stands"
    );
    End::Refused(request, Refusal::TooMany, text)
}

struct Connection {
    stream: TcpStream,
    /// What has come of messages that are not whole yet.
    bytes: Vec<u8>,
    /// The right to feed.
    feed: Option<Feed>,
}

impl Connection {
    /// Version and token, before anything else is answered.
    fn greet(&mut self, shared: &Shared, id: u64) -> Result<Place, End> {
        let refused = |reason, text: &str| End::Refused(kind::HELLO, reason, text.to_owned());
        match self.next(shared, GREETING)? {
            Request::Hello { version, .. } if version != VERSION => {
                let text = format!("version {version} of the protocol; this side has {VERSION}");
                Err(refused(Refusal::BadGreeting, &text))
            }
            Request::Hello { token, .. } if !shared.token.is(&token) => {
                thread::sleep(PENALTY);
                Err(refused(Refusal::WrongToken, "the token is wrong"))
            }
            Request::Hello { .. } => {
                let place = shared.let_in(id).ok_or_else(|| too_many(kind::HELLO))?;
                self.stream.write_all(&shared.welcome)?;
                Ok(place)
            }
            _ => Err(refused(Refusal::BadGreeting, "a client greets first")),
        }
    }

    fn work(&mut self, shared: &Shared, place: Place) -> Result<(), End> {
        let whole = place == Place::Whole;
        loop {
            match self.next(shared, SILENCE)? {
                Request::Feed if !whole => return Err(too_many(kind::FEED)),
                Request::Watch { .. } if !whole => return Err(too_many(kind::WATCH)),
                Request::Hello { .. } => {
                    let text = "a client greets once".to_owned();
                    return Err(End::Refused(kind::HELLO, Refusal::BadRequest, text));
                }
                Request::Feed => self.take_feed(shared)?,
                Request::Load { first, rows } => self.load(shared, first, &rows)?,
                Request::End { samples } => self.end_load(samples)?,
                Request::Watch { every } => return self.watch(shared, every),
                Request::Stop => {
                    shared.stop.press();
                    self.grant(kind::STOP, u64::from(shared.stop.presses()))?;
                }
                Request::Status => {
                    self.stream.write_all(&Reply::Status(shared.status()).bytes())?;
                }
            }
        }
    }

    fn grant(&mut self, request: u8, value: u64) -> Result<(), End> {
        Ok(self.stream.write_all(&Reply::Granted { request, value }.bytes())?)
    }

    fn take_feed(&mut self, shared: &Shared) -> Result<(), End> {
        let refused = |reason, text: &str| End::Refused(kind::FEED, reason, text.to_owned());
        if shared.state.is_none() {
            return Err(refused(Refusal::NotStreamed, "the load of this test is not streamed"));
        }
        if self.feed.is_none() {
            self.feed = shared.take_feed();
        }
        match &self.feed {
            Some(feed) if !feed.state().is_ended() => {
                let next = feed.fed();
                self.grant(kind::FEED, next)
            }
            Some(_) => Err(refused(Refusal::FeedTaken, "the load has been ended")),
            None => Err(refused(Refusal::FeedTaken, "another client feeds the load")),
        }
    }

    /// Puts samples into the ring; while it is full nothing more is read from
    /// this client, and the client finds it cannot send.
    fn load(&mut self, shared: &Shared, first: u64, rows: &[f64]) -> Result<(), End> {
        let refused = |error: FeedError| {
            let reason = match error {
                FeedError::Over => Refusal::Over,
                _ => Refusal::BadSample,
            };
            End::Refused(kind::LOAD, reason, error.to_string())
        };
        let Some(feed) = &mut self.feed else {
            let text = "ask for the right to feed first".to_owned();
            return Err(End::Refused(kind::LOAD, Refusal::BadRequest, text));
        };
        if first != feed.fed() {
            let text = format!("sample {first} came, {} is the next", feed.fed());
            return Err(End::Refused(kind::LOAD, Refusal::BadSample, text));
        }
        feed.check(rows).map_err(refused)?;
        let (signals, mut rows) = (feed.signals(), rows);
        while !rows.is_empty() {
            let taken = feed.offer(rows).map_err(refused)?;
            rows = &rows[taken * signals..];
            if taken == 0 {
                if shared.is_over() || feed.is_abandoned() {
                    return Err(End::Over);
                }
                thread::sleep(FULL);
            }
        }
        Ok(())
    }

    fn end_load(&mut self, samples: u64) -> Result<(), End> {
        let refused = |reason, text: String| End::Refused(kind::END, reason, text);
        let Some(feed) = &mut self.feed else {
            let text = "ask for the right to feed first".to_owned();
            return Err(refused(Refusal::BadRequest, text));
        };
        if samples != feed.fed() {
            let text = format!("{samples} samples were sent and {} came", feed.fed());
            return Err(refused(Refusal::BadSample, text));
        }
        if feed.state().is_over() {
            return Err(refused(Refusal::Over, FeedError::Over.to_string()));
        }
        feed.end();
        self.grant(kind::END, samples)
    }

    /// From here on the client only takes frames.
    fn watch(&mut self, shared: &Shared, every: u32) -> Result<(), End> {
        let Some(width) = shared.width.filter(|_| every > 0) else {
            let text = "one frame in 1 or more can be had".to_owned();
            return Err(End::Refused(kind::WATCH, Refusal::BadRequest, text));
        };
        self.grant(kind::WATCH, u64::from(every))?;
        let watcher = shared.watchers.join(every);
        let most = (VALUES / usize::from(width)).max(1) * usize::from(width);
        let result = loop {
            let batch = watcher.take(most, LOOK);
            if !batch.values.is_empty() {
                let (dropped, values) = (batch.dropped, batch.values);
                let sent = self.stream.write_all(&Reply::Frames { dropped, width, values }.bytes());
                if let Err(error) = sent {
                    break Err(error.into());
                }
            }
            if batch.last {
                break Ok(self.stream.write_all(&shared.over(batch.dropped).bytes())?);
            }
            if self.has_left() {
                break Err(End::Gone);
            }
        };
        shared.watchers.leave(&watcher);
        result
    }

    /// Whether a client that only takes has closed its side.
    fn has_left(&self) -> bool {
        let mut byte = [0];
        let _ = self.stream.set_nonblocking(true);
        let peeked = self.stream.peek(&mut byte);
        let _ = self.stream.set_nonblocking(false);
        matches!(peeked, Ok(0))
    }

    /// The next message of the client.
    fn next(&mut self, shared: &Shared, patience: Duration) -> Result<Request, End> {
        let begun = Instant::now();
        let mut piece = [0; 16_384];
        loop {
            let bad = |request: u8, text: String| End::Refused(request, Refusal::BadRequest, text);
            match split(&self.bytes) {
                Err(error) => return Err(bad(0, error.to_string())),
                Ok(Some((kind, body, length))) => {
                    let request = Request::read(kind, body);
                    self.bytes.drain(..length);
                    return request.map_err(|error| bad(kind, error.to_string()));
                }
                Ok(None) => {}
            }
            if shared.over.load(Ordering::Acquire) {
                return Err(End::Over);
            }
            if begun.elapsed() > patience {
                return Err(bad(0, "nothing whole came for too long".to_owned()));
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(End::Gone),
                Ok(count) => self.bytes.extend_from_slice(&piece[..count]),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::TimedOut
                            | io::ErrorKind::Interrupted
                    ) => {}
                Err(_) => return Err(End::Gone),
            }
        }
    }
}
