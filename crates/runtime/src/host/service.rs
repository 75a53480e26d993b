//! The side of the test, without sockets: who is let in, and what is handed to whom.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::channel::Channel;

use super::connection::{Connection, FrameQueue, Place, Standing};
use super::protocol::{Refusal, Reply, Request, StatusBody, VERSION, Welcome, kind};
use super::token::Token;
use crate::stop::StopHandle;
use crate::streamed_load::{Feed, FeedError, FeedState};
use crate::tap::{Seen, TapReader};

/// Most clients at a time that have greeted and were let in.
const MOST_CLIENTS: usize = 16;
/// Places beyond these for clients that only stop the test or ask where it
/// stands: a stop must find one however many look on.
const STANDING: usize = 4;
/// Most connections at a time that have not greeted yet. One more, and the
/// oldest of them goes: who keeps silent takes no place from who has a token.
const MOST_STRANGERS: usize = 16;
/// Most connections, whatever they are.
const MOST_CONNECTIONS: usize = 2 * MOST_STRANGERS + MOST_CLIENTS + STANDING;

const SECOND_NS: u64 = 1_000_000_000;
/// Time for a greeting.
const GREETING_NS: u64 = 5 * SECOND_NS;
/// A client that says nothing for so long is let go.
const SILENCE_NS: u64 = 30 * SECOND_NS;
/// A client that takes nothing for so long is let go.
const STALL_NS: u64 = 5 * SECOND_NS;
/// A wrong token costs so much time.
const PENALTY_NS: u64 = 300_000_000;
/// How often the ring of the frames is looked at: the tick wakes nobody.
const LOOK_NS: u64 = 5_000_000;
/// How often that of the load, while it is full.
const FULL_NS: u64 = 500_000;

/// What clients are told of the test.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Title of the test.
    pub title: String,
    /// Whether a clock sets the pace, or the machine.
    pub real_time: RealTime,
    /// Ticks per second.
    pub tick_hz: f64,
    /// Samples of the load per second; 0 if it is not streamed.
    pub load_hz: f64,
    /// Samples of the load kept ahead.
    pub buffer: u64,
    /// Signals of a streamed load.
    pub signals: Vec<LoadSignal>,
    /// Channels of a frame; as many as a tap takes.
    pub channels: Vec<Channel>,
}

/// What sets the pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RealTime {
    /// The machine.
    No = 0,
    /// The clock.
    Yes = 1,
}

/// A signal of a streamed load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSignal {
    /// Name and unit.
    pub channel: Channel,
    /// Largest value, either way.
    pub bound: f64,
}

/// What a link joins.
pub struct HostParts {
    /// What clients must know.
    pub token: Token,
    /// What they are told.
    pub description: Description,
    /// The way in for a streamed load.
    pub feed: Option<Feed>,
    /// The way out for frames, and where the test stands.
    pub tap: TapReader,
    /// The same.
    pub seen: Arc<Seen>,
    /// What a stop presses.
    pub stop: StopHandle,
}

/// Why a client is let go: what it is told.
struct Refused {
    request: u8,
    reason: Refusal,
    text: String,
}

impl Refused {
    fn new(request: u8, reason: Refusal, text: impl Into<String>) -> Self {
        Self { request, reason, text: text.into() }
    }

    fn too_many(request: u8) -> Self {
        let text = format!(
            "{MOST_CLIENTS} clients are served already; one more can only stop the test or ask \
             where it stands"
        );
        Self::new(request, Refusal::TooMany, text)
    }

    fn feed(request: u8, error: FeedError) -> Self {
        let reason = match error {
            FeedError::Over => Refusal::Over,
            _ => Refusal::BadSample,
        };
        Self::new(request, reason, error.to_string())
    }
}

/// All connections of a test: takes their bytes and the time, gives theirs, and
/// says when it wants to be asked again. It does no I/O.
pub struct HostService {
    token: Token,
    welcome: Vec<u8>,
    width: Option<u16>,
    stop: StopHandle,
    seen: Arc<Seen>,
    tap: TapReader,
    frame: Vec<f64>,
    /// Frames that found no room in the ring, as far as clients were told.
    skipped: u64,
    state: Option<Arc<FeedState>>,
    /// The right to feed, while nobody has it.
    feed: Option<Feed>,
    /// Why the last client that fed the load did not go on with it.
    feed_left: Option<String>,
    /// By number, the oldest first.
    connections: BTreeMap<u64, Connection>,
    last: u64,
    served: u64,
    turned_away: u64,
}

impl HostService {
    /// Nobody has come yet.
    pub fn new(parts: HostParts) -> Self {
        let HostParts { token, description, feed, tap, seen, stop } = parts;
        Self {
            token,
            welcome: welcome(&description).bytes(),
            width: u16::try_from(tap.width()).ok().filter(|width| *width > 0),
            stop,
            seen,
            frame: vec![0.0; tap.width()],
            tap,
            skipped: 0,
            state: feed.as_ref().map(|feed| Arc::clone(feed.state())),
            feed,
            feed_left: None,
            connections: BTreeMap::new(),
            last: 0,
            served: 0,
            turned_away: 0,
        }
    }

    /// Clients that were let in, and those that were not or kept silent.
    pub fn clients(&self) -> (u64, u64) {
        (self.served, self.turned_away)
    }

    /// Why the last client that fed the load did not go on with it.
    pub fn feed_left(&self) -> Option<&str> {
        self.feed_left.as_deref()
    }

    /// Whether one more connection is taken in now.
    pub fn has_room(&self) -> bool {
        self.connections.len() < MOST_CONNECTIONS
    }

    /// Whether a connection is to be kept open.
    pub fn is_open(&self, id: u64) -> bool {
        self.connections.contains_key(&id)
    }

    /// Whether nobody is left.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// A new connection; gives its number. The oldest that has not greeted goes
    /// if there are too many.
    pub fn connect(&mut self, now_ns: u64) -> u64 {
        let is_stranger = |&(_, it): &(&u64, &Connection)| it.standing == Standing::Stranger;
        let mut strangers = self.connections.iter().filter(is_stranger).map(|(&id, _)| id);
        let oldest = strangers.next();
        if let Some(oldest) = oldest.filter(|_| strangers.count() + 1 >= MOST_STRANGERS) {
            self.turned_away += 1;
            self.connections.remove(&oldest);
        }
        self.last += 1;
        self.connections.insert(self.last, Connection::new(now_ns));
        self.last
    }

    /// Whether bytes of a connection are taken now. What is not taken waits with
    /// the client.
    pub fn wants_bytes(&self, id: u64) -> bool {
        self.connections.get(&id).is_some_and(Connection::wants_bytes)
    }

    /// Bytes have come.
    pub fn handle(&mut self, now_ns: u64, id: u64, bytes: &[u8]) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.take(bytes);
            self.answer(now_ns, id);
        }
    }

    /// The client has gone.
    pub fn leave(&mut self, id: u64) {
        if let Some(mut connection) = self.connections.remove(&id) {
            self.take_back(&mut connection, None);
        }
    }

    /// What is to be sent.
    pub fn pending(&mut self, now_ns: u64, id: u64) -> &[u8] {
        let width = self.width.unwrap_or(1);
        self.connections.get_mut(&id).map_or(&[], |it| it.pending(now_ns, width))
    }

    /// Whether something is to be sent.
    pub fn has_unsent(&self, id: u64) -> bool {
        self.connections.get(&id).is_some_and(Connection::has_unsent)
    }

    /// So many bytes of it were sent.
    pub fn note_sent(&mut self, now_ns: u64, id: u64, count: usize) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.note_sent(now_ns, count);
            if connection.has_left() {
                self.leave(id);
            }
        }
    }

    /// When it wants to be asked again.
    pub fn next_timeout_ns(&self, now_ns: u64) -> u64 {
        let full = self.connections.values().any(|connection| !connection.rows.is_empty());
        now_ns + if full { FULL_NS } else { LOOK_NS }
    }

    /// Does what is due: hands frames out, goes on with the load, and lets those
    /// go that take too long.
    pub fn poll(&mut self, now_ns: u64) {
        self.distribute();
        let all: Vec<u64> = self.connections.keys().copied().collect();
        for id in all {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            if let Some((_, reply)) = connection.held_back.take_if(|(at_ns, _)| now_ns >= *at_ns) {
                connection.say(now_ns, &reply.bytes());
                connection.standing = Standing::Leaving;
            }
            if connection.stalled_ns(now_ns) > STALL_NS {
                self.leave(id);
                continue;
            }
            if !connection.rows.is_empty() {
                let outcome = self.go_on_feeding(now_ns, id);
                self.conclude(now_ns, id, outcome);
                self.answer(now_ns, id);
            } else if !connection.is_leaving()
                && connection.frames.is_none()
                && connection.wants_bytes()
            {
                let patience_ns = match connection.standing {
                    Standing::Stranger => GREETING_NS,
                    _ => SILENCE_NS,
                };
                if now_ns.saturating_sub(connection.heard_ns) > patience_ns {
                    let text = "nothing whole came for too long";
                    let refused = Refused::new(0, Refusal::BadRequest, text);
                    self.conclude(now_ns, id, Err(refused));
                } else {
                    // What could not be answered before.
                    self.answer(now_ns, id);
                }
            }
        }
    }

    /// The last tick is done: everybody is told, after the frames that wait.
    pub fn end(&mut self, now_ns: u64) {
        self.distribute();
        let (phase, trip, ticks) = (self.seen.phase(), self.seen.trip(), self.seen.ticks());
        let all: Vec<u64> = self.connections.keys().copied().collect();
        let width = self.width.unwrap_or(1);
        for id in all {
            let Some(mut connection) = self.connections.remove(&id) else { continue };
            self.take_back(&mut connection, None);
            if !connection.is_leaving() {
                let over = |dropped| Reply::Over { phase, trip, ticks, dropped };
                connection.say_last(now_ns, width, over);
            }
            self.connections.insert(id, connection);
        }
    }

    /// Hands out what the ring holds.
    fn distribute(&mut self) {
        let lost = self.seen.dropped();
        let mut queues: Vec<&mut FrameQueue> =
            self.connections.values_mut().filter_map(|it| it.frames.as_mut()).collect();
        while self.tap.pop(&mut self.frame) {
            queues.iter_mut().for_each(|queue| queue.offer(&self.frame));
        }
        // What found no room in the ring is missing behind what was in it.
        if lost > self.skipped {
            queues.iter_mut().for_each(|queue| queue.skip(lost - self.skipped));
            self.skipped = lost;
        }
    }

    /// Answers what has come whole.
    fn answer(&mut self, now_ns: u64, id: u64) {
        while let Some(request) = self.connections.get_mut(&id).and_then(|it| it.next(now_ns)) {
            let outcome = match request {
                Ok(request) => self.obey(now_ns, id, request),
                Err((request, error)) => {
                    Err(Refused::new(request, Refusal::BadRequest, error.to_string()))
                }
            };
            self.conclude(now_ns, id, outcome);
        }
    }

    /// Sends a request's answer; who is refused is let go.
    fn conclude(&mut self, now_ns: u64, id: u64, outcome: Result<Option<Reply>, Refused>) {
        let Some(mut connection) = self.connections.remove(&id) else { return };
        match outcome {
            Ok(reply) => {
                if let Some(reply) = reply {
                    connection.say(now_ns, &reply.bytes());
                }
            }
            Err(Refused { request, reason, text }) => {
                self.take_back(&mut connection, Some(&text));
                let reply = Reply::Refused { request, reason, text };
                if reason == Refusal::WrongToken {
                    connection.held_back = Some((now_ns + PENALTY_NS, reply));
                } else {
                    connection.say(now_ns, &reply.bytes());
                    connection.standing = Standing::Leaving;
                }
            }
        }
        self.connections.insert(id, connection);
    }

    /// The right to feed, from a client that does not go on.
    fn take_back(&mut self, connection: &mut Connection, why: Option<&str>) {
        connection.rows.clear();
        if let Some(mut feed) = connection.feed.take() {
            if !feed.state().is_ended() {
                self.feed_left = Some(why.unwrap_or("the host that fed it went away").to_owned());
            }
            feed.break_off();
            self.feed = Some(feed);
        }
    }

    fn obey(&mut self, now_ns: u64, id: u64, request: Request) -> Result<Option<Reply>, Refused> {
        let kind = request.kind();
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(None) };
        let refused = |reason, text: &str| Err(Refused::new(kind, reason, text));
        let granted = |value| Ok(Some(Reply::Granted { request: kind, value }));
        let place = match (connection.standing, &request) {
            (Standing::Greeted(place), _) => place,
            (_, Request::Hello { version, token }) => {
                return self.greet(now_ns, id, *version, token).map(|()| None);
            }
            _ => return refused(Refusal::BadGreeting, "a client greets first"),
        };
        match request {
            Request::Hello { .. } => refused(Refusal::BadRequest, "a client greets once"),
            Request::Feed | Request::Watch { .. } if place != Place::Whole => {
                Err(Refused::too_many(kind))
            }
            Request::Feed => self.grant_feed(id).and_then(granted),
            Request::Load { first, rows } => {
                let Some(feed) = &connection.feed else {
                    return refused(Refusal::BadRequest, "ask for the right to feed first");
                };
                if first != feed.fed() {
                    let text = format!("sample {first} came, {} is the next", feed.fed());
                    return refused(Refusal::BadSample, &text);
                }
                feed.check(&rows).map_err(|error| Refused::feed(kind, error))?;
                connection.rows = rows.into();
                self.go_on_feeding(now_ns, id)
            }
            Request::End { samples } => {
                let Some(feed) = &mut connection.feed else {
                    return refused(Refusal::BadRequest, "ask for the right to feed first");
                };
                if samples != feed.fed() {
                    let text = format!("{samples} samples were sent and {} came", feed.fed());
                    return refused(Refusal::BadSample, &text);
                }
                if feed.state().is_over() {
                    return Err(Refused::feed(kind, FeedError::Over));
                }
                feed.end();
                granted(samples)
            }
            Request::Watch { every } => {
                if self.width.is_none() || every == 0 {
                    return refused(Refusal::BadRequest, "one frame in 1 or more can be had");
                }
                connection.frames = Some(FrameQueue::new(every));
                granted(u64::from(every))
            }
            Request::Stop => {
                self.stop.press();
                granted(u64::from(self.stop.presses()))
            }
            Request::Status => Ok(Some(Reply::Status(self.status()))),
        }
    }

    /// Version and token, before anything else is answered.
    fn greet(&mut self, now_ns: u64, id: u64, version: u16, token: &[u8]) -> Result<(), Refused> {
        if version != VERSION {
            let text = format!("version {version} of the protocol; this side has {VERSION}");
            return Err(Refused::new(kind::HELLO, Refusal::BadGreeting, text));
        }
        if !self.token.is(token) {
            return Err(Refused::new(kind::HELLO, Refusal::WrongToken, "the token is wrong"));
        }
        let inside = |it: &&Connection| matches!(it.standing, Standing::Greeted(_));
        let place = match self.connections.values().filter(inside).count() {
            0..MOST_CLIENTS => Place::Whole,
            inside if inside < MOST_CLIENTS + STANDING => Place::StopAndStatus,
            _ => {
                self.turned_away += 1;
                return Err(Refused::too_many(kind::HELLO));
            }
        };
        self.served += 1;
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.standing = Standing::Greeted(place);
            connection.say(now_ns, &self.welcome);
        }
        Ok(())
    }

    /// The right to feed, if nobody has it; gives the sample that is next.
    fn grant_feed(&mut self, id: u64) -> Result<u64, Refused> {
        let refused = |reason, text: &str| Err(Refused::new(kind::FEED, reason, text));
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(0) };
        if self.state.is_none() {
            return refused(Refusal::NotStreamed, "the load of this test is not streamed");
        }
        if connection.feed.is_none() && self.feed.is_some() {
            // Whatever became of the one before, the load goes on.
            connection.feed = self.feed.take();
            self.feed_left = None;
        }
        match &connection.feed {
            Some(feed) if !feed.state().is_ended() => Ok(feed.fed()),
            Some(_) => refused(Refusal::FeedTaken, "the load has been ended"),
            None => refused(Refusal::FeedTaken, "another client feeds the load"),
        }
    }

    /// Puts samples that wait into the ring, as far as there is room.
    fn go_on_feeding(&mut self, now_ns: u64, id: u64) -> Result<Option<Reply>, Refused> {
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(None) };
        let Some(feed) = &mut connection.feed else { return Ok(None) };
        let rows = connection.rows.make_contiguous();
        let taken = feed.offer(rows).map_err(|error| Refused::feed(kind::LOAD, error))?;
        connection.rows.drain(..taken * feed.signals());
        connection.heard_ns = now_ns;
        Ok(None)
    }

    fn status(&self) -> StatusBody {
        let mut status = StatusBody {
            ticks: self.seen.ticks(),
            phase: self.seen.phase(),
            trip: self.seen.trip(),
            dropped: self.seen.dropped(),
            ..StatusBody::default()
        };
        if let Some(state) = &self.state {
            (status.fed, status.used, status.starved) =
                (state.fed(), state.used(), state.starved());
            status.feeding = match state.is_ended() {
                true => 2,
                false => u8::from(self.feed.is_none()),
            };
        }
        status
    }
}

fn welcome(description: &Description) -> Reply {
    let name = |channel: &Channel| (channel.name.clone(), channel.unit.clone());
    Reply::Welcome(Welcome {
        version: VERSION,
        clock: description.real_time as u8,
        tick_hz: description.tick_hz,
        load_hz: description.load_hz,
        buffer: description.buffer,
        title: description.title.clone(),
        signals: description
            .signals
            .iter()
            .map(|signal| (signal.channel.name.clone(), signal.channel.unit.clone(), signal.bound))
            .collect(),
        channels: description.channels.iter().map(name).collect(),
    })
}
