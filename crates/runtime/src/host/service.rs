//! The side of the test, without sockets: who is let in, and what is handed to whom.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::connection::{Connection, FrameQueue, Standing};
use super::protocol::{
    Action, Refusal, Reply, Request, Rest, Situation, Status, VERSION, Welcome, WhenLost,
};
use super::token::Token;
use crate::conduct::Conduct;
use crate::stop::StopHandle;
use crate::streamed_load::{Feed, FeedError, FeedState};
use crate::tap::TapReader;

/// Most clients at a time that have greeted and were let in.
const MOST_CLIENTS: usize = 16;
/// Places beyond these for clients that only stop the test or ask where it
/// stands. One more, and the one that has said nothing for longest goes: a stop finds a
/// place however many look on.
const STANDING: usize = 4;
/// Most connections at a time that are no clients. One more, and one of them goes: who
/// keeps silent or has a wrong token takes no place from who has the right one. Many, so
/// that a client has time to greet beside thousands of others a second.
pub(super) const MOST_STRANGERS: usize = 256;

/// A client that takes nothing for so long is let go.
const STALL_NS: u64 = 5_000_000_000;
/// A wrong token costs so much time.
const PENALTY_NS: u64 = 300_000_000;
/// How often the ring of the frames is looked at: the tick wakes nobody.
const LOOK_NS: u64 = 5_000_000;
/// How often that of the load, while it is full.
const FULL_NS: u64 = 500_000;

/// Most notes kept for the record.
const MOST_NOTES: usize = 512;

/// What becomes of a test whose operator is lost, and after what time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperatorLost {
    /// What happens.
    pub then: WhenLost,
    /// After so long without a word, s.
    pub after_s: f64,
}

/// What a link joins.
pub struct HostParts {
    /// What clients must know.
    pub token: Token,
    /// What they are told. Channels as many as the tap takes.
    pub welcome: Welcome,
    /// The way in for a streamed load, while no client has it.
    pub feed: Option<Feed>,
    /// The way out for frames, and where the test stands.
    pub tap: TapReader,
    /// What a stop presses.
    pub stop: StopHandle,
    /// What the operator's wishes reach.
    pub conduct: Conduct,
    /// What becomes of a test whose operator is lost.
    pub lost: OperatorLost,
}

/// What a request leads to: an answer, or why the client is let go.
type Outcome = Result<Option<Reply>, Refused>;

/// Why a client is let go: what it is told.
type Refused = (Refusal, String);

fn refused<T>(reason: Refusal, text: impl Into<String>) -> Result<T, Refused> {
    Err((reason, text.into()))
}

fn too_many<T>() -> Result<T, Refused> {
    let text = format!(
        "{MOST_CLIENTS} clients are served already; others can only stop the test or ask where it \
         stands, the newest {STANDING} of them"
    );
    refused(Refusal::TooMany, text)
}

impl From<FeedError> for Refused {
    fn from(error: FeedError) -> Self {
        let reason = match error {
            FeedError::Over => Refusal::Over,
            _ => Refusal::BadSample,
        };
        (reason, error.to_string())
    }
}

/// All connections of a test: takes their bytes and the time, gives theirs, and
/// says when it wants to be asked again. It does no I/O.
pub struct HostService {
    pub(super) test: Test,
    frame: Vec<f64>,
    /// Frames that found no room in the ring, as far as clients were told.
    skipped: u64,
    /// By number, the oldest first.
    connections: BTreeMap<u64, Connection>,
    last: u64,
}

impl HostService {
    /// Nobody has come yet.
    pub fn new(parts: HostParts) -> Self {
        let state = parts.feed.as_ref().map(|feed| Arc::clone(&feed.state));
        Self {
            frame: vec![0.0; parts.tap.width],
            test: Test {
                parts,
                state,
                feed_left: None,
                notes: Vec::new(),
                attended: Attended::Never,
                served: 0,
                turned_away: 0,
            },
            skipped: 0,
            connections: BTreeMap::new(),
            last: 0,
        }
    }

    /// Clients that were let in, and those that were not or kept silent.
    pub fn clients(&self) -> (u64, u64) {
        (self.test.served, self.test.turned_away)
    }

    /// Whether a connection is to be kept open.
    pub fn is_open(&self, id: u64) -> bool {
        self.connections.contains_key(&id)
    }

    /// Whether nobody is left.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// A new connection; gives its number. If there are too many that are no clients, the
    /// oldest goes that has been refused, or else the oldest that has not greeted.
    pub fn connect(&mut self, now_ns: u64) -> u64 {
        let others = || self.connections.iter().filter(|(_, it)| !it.is_client());
        if others().count() >= MOST_STRANGERS
            && let Some((&id, _)) =
                others().find(|(_, it)| it.is_refused()).or_else(|| others().next())
        {
            self.test.turned_away += 1;
            self.connections.remove(&id);
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

    /// The client has hung up: it goes once what it had sent is done.
    pub fn hang_up(&mut self, id: u64) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.hung_up = true;
            if connection.is_done() {
                self.leave(id);
            }
        }
    }

    /// The client has gone.
    pub fn leave(&mut self, id: u64) {
        if let Some(mut connection) = self.connections.remove(&id) {
            self.test.take_back(&mut connection, None);
        }
    }

    /// What is to be sent.
    pub fn pending(&mut self, now_ns: u64, id: u64) -> &[u8] {
        self.connections.get_mut(&id).map_or(&[], |it| it.pending(now_ns))
    }

    /// Whether something is to be sent.
    pub fn has_unsent(&self, id: u64) -> bool {
        self.connections.get(&id).is_some_and(Connection::has_unsent)
    }

    /// So many bytes of it were sent.
    pub fn note_sent(&mut self, now_ns: u64, id: u64, count: usize) {
        let connection = self.connections.get_mut(&id);
        if connection.is_some_and(|it| it.note_sent(now_ns, count)) {
            self.leave(id);
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
        self.test.look_for_operator(now_ns);
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
                let outcome = go_on_feeding(now_ns, connection);
                self.test.conclude(now_ns, connection, Request::LOAD, outcome);
            } else if connection.has_fallen_silent(now_ns) {
                let outcome = refused(Refusal::BadRequest, "nothing whole came for too long");
                self.test.conclude(now_ns, connection, 0, outcome);
            }
            // What could not be answered before.
            self.answer(now_ns, id);
            if self.connections.get(&id).is_some_and(Connection::is_done) {
                self.leave(id);
            }
        }
    }

    /// The last tick is done: everybody is told, after the frames that wait.
    pub fn end(&mut self, now_ns: u64) {
        self.distribute();
        let Status { phase, trip, ticks, .. } = self.test.status();
        for connection in self.connections.values_mut() {
            self.test.take_back(connection, None);
            if !connection.is_leaving() {
                let over = |dropped| Reply::Over { phase, trip, ticks, dropped };
                connection.say_last(now_ns, over);
            }
        }
    }

    /// Hands out what the ring holds.
    fn distribute(&mut self) {
        let lost = self.test.parts.tap.state.dropped();
        let mut queues: Vec<&mut FrameQueue> =
            self.connections.values_mut().filter_map(|it| it.frames.as_mut()).collect();
        while self.test.parts.tap.pop(&mut self.frame) {
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
        let clients = self.count(Standing::Client);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let greets = !connection.is_client();
        loop {
            if connection.is_client() {
                self.test.obey_stops(now_ns, connection);
            }
            let Some((kind, request)) = connection.next(now_ns) else { break };
            let outcome = match request {
                Ok(request) => self.test.obey(now_ns, connection, clients, kind, request),
                Err(error) => refused(Refusal::BadRequest, error.to_string()),
            };
            self.test.conclude(now_ns, connection, kind, outcome);
        }
        if greets && self.count(Standing::StopAndStatus) > STANDING {
            self.make_room(now_ns, id);
        }
    }

    fn count(&self, standing: Standing) -> usize {
        self.connections.values().filter(|it| it.standing == standing).count()
    }

    /// Lets the client go that only stands by and has said nothing for longest, but for the
    /// one that has just come.
    fn make_room(&mut self, now_ns: u64, newest: u64) {
        let standing_by = self
            .connections
            .iter_mut()
            .filter(|(id, it)| **id != newest && it.standing == Standing::StopAndStatus);
        if let Some((_, longest)) = standing_by.min_by_key(|(_, it)| it.heard_ns) {
            self.test.turned_away += 1;
            self.test.conclude(now_ns, longest, 0, too_many());
        }
    }
}

/// Whether an operator is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attended {
    /// None has said so yet: whoever started the test looks after it.
    Never,
    /// One has, at this time.
    Since(u64),
    /// None is any more.
    Lost,
}

/// What clients reach of the test.
pub(super) struct Test {
    parts: HostParts,
    state: Option<Arc<FeedState>>,
    /// Why the last client that fed the load did not go on with it.
    pub(super) feed_left: Option<String>,
    /// What is to be in the record: ticks that were done, and what happened.
    pub(super) notes: Vec<(u64, String)>,
    attended: Attended,
    served: u64,
    turned_away: u64,
}

impl Test {
    /// Sends a request's answer; who is refused is let go.
    fn conclude(
        &mut self,
        now_ns: u64,
        connection: &mut Connection,
        request: u8,
        outcome: Outcome,
    ) {
        match outcome {
            Ok(None) => {}
            Ok(Some(reply)) => connection.say(now_ns, &reply.bytes()),
            Err((reason, text)) => {
                self.take_back(connection, Some(&text));
                let reply = Reply::Refused { request, reason, text: Rest(text) };
                if reason == Refusal::WrongToken {
                    connection.held_back = Some((now_ns + PENALTY_NS, reply));
                } else {
                    connection.say(now_ns, &reply.bytes());
                    connection.standing = Standing::Leaving;
                }
            }
        }
    }

    /// The right to feed, from a client that does not go on.
    fn take_back(&mut self, connection: &mut Connection, why: Option<&str>) {
        connection.rows.clear();
        if let Some(mut feed) = connection.feed.take() {
            if !feed.state.is_ended() {
                self.feed_left = Some(why.unwrap_or("the host that fed it went away").to_owned());
            }
            feed.break_off();
            self.parts.feed = Some(feed);
        }
    }

    /// Does what a request asks for; so many clients have been let in.
    fn obey(
        &mut self,
        now_ns: u64,
        connection: &mut Connection,
        clients: usize,
        kind: u8,
        request: Request,
    ) -> Outcome {
        let granted = |value| Ok(Some(Reply::Granted { request: kind, value }));
        if !connection.is_client() {
            let Request::Hello { version, token } = request else {
                return refused(Refusal::BadGreeting, "a client greets first");
            };
            connection.standing = self.greet(clients, version, &token)?;
            connection.say(now_ns, &Reply::Welcome(self.parts.welcome.clone()).bytes());
            return Ok(None);
        }
        match (request, &mut connection.feed) {
            (Request::Hello { .. }, _) => refused(Refusal::BadRequest, "a client greets once"),
            (Request::Feed | Request::Watch { .. }, _)
                if connection.standing == Standing::StopAndStatus =>
            {
                too_many()
            }
            (Request::Feed, feed) => granted(self.grant_feed(feed)?),
            (Request::Load { .. } | Request::End { .. }, None) => {
                refused(Refusal::BadRequest, "ask for the right to feed first")
            }
            (Request::Load { first, rows }, Some(feed)) => {
                if first != feed.state.fed() {
                    let text = format!("sample {first} came, {} is the next", feed.state.fed());
                    return refused(Refusal::BadSample, text);
                }
                feed.check(&rows)?;
                connection.rows = rows.into();
                go_on_feeding(now_ns, connection)
            }
            (Request::End { samples }, Some(feed)) => {
                if samples != feed.state.fed() {
                    let text = format!("{samples} samples were sent and {} came", feed.state.fed());
                    return refused(Refusal::BadSample, text);
                }
                if feed.state.is_over() {
                    return Err(FeedError::Over.into());
                }
                feed.end();
                granted(samples)
            }
            (Request::Watch { every }, _) => match u16::try_from(self.parts.tap.width) {
                Ok(width) if width > 0 && every > 0 => {
                    connection.frames = Some(FrameQueue::new(width, every));
                    granted(u64::from(every))
                }
                _ => refused(Refusal::BadRequest, "one frame in 1 or more can be had"),
            },
            // Obeyed as it came.
            (Request::Stop, _) => Ok(None),
            (Request::Status, _) => Ok(Some(Reply::Status(self.status()))),
            (Request::Control { action, by }, _) => granted(self.control(action, &by)?),
            (Request::Attend { by }, _) => {
                if !matches!(self.attended, Attended::Since(_)) {
                    self.note(format!("operator: {by}"));
                }
                self.attended = Attended::Since(now_ns);
                granted(0)
            }
            (Request::Note { text }, _) => {
                self.note(text);
                granted(self.notes.len() as u64)
            }
            (Request::Situation, _) => Ok(Some(Reply::Situation(self.situation()))),
        }
    }

    /// Keeps something for the record; a client that never ends fills no memory.
    fn note(&mut self, text: String) {
        if self.notes.len() < MOST_NOTES {
            let text = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            self.notes.push((self.status().ticks, text));
        }
    }

    /// Begins the load, holds the test or lets it go on.
    fn control(&mut self, action: u8, by: &str) -> Result<u64, Refused> {
        let conduct = &self.parts.conduct;
        let Some(action) = Action::from_code(action) else {
            return refused(Refusal::BadRequest, format!("there is no action {action}"));
        };
        let words = match action {
            Action::Start => {
                conduct.start();
                "the load is let begin"
            }
            Action::Hold if !conduct.hold() => {
                let text = "numerical part and rig are one system here, which cannot be held";
                return refused(Refusal::BadRequest, text);
            }
            Action::Hold => "hold",
            Action::Resume => {
                conduct.resume();
                "the test goes on after a hold"
            }
        };
        self.note(format!("{words}, by {by}"));
        Ok(action as u64)
    }

    /// Does what is declared once an operator who was there is not any more.
    fn look_for_operator(&mut self, now_ns: u64) {
        let OperatorLost { then, after_s } = self.parts.lost;
        let Attended::Since(heard_ns) = self.attended else { return };
        if now_ns.saturating_sub(heard_ns) as f64 <= 1e9 * after_s {
            return;
        }
        self.attended = Attended::Lost;
        let words = match then {
            WhenLost::Hold if self.parts.conduct.hold() => "the test is held",
            // What cannot be held is not left to itself either.
            WhenLost::Hold | WhenLost::Stop => {
                self.parts.stop.press();
                "the test is stopped"
            }
            WhenLost::GoOn => "the test goes on",
        };
        self.note(format!("no word of an operator for {after_s} s: {words}"));
    }

    fn situation(&self) -> Situation {
        let Self { parts, attended, .. } = self;
        Situation {
            waiting: u8::from(parts.conduct.is_waiting()),
            held: u8::from(parts.conduct.is_held()),
            can_hold: u8::from(parts.conduct.can_hold()),
            attended: match attended {
                Attended::Never => 0,
                Attended::Since(_) => 1,
                Attended::Lost => 2,
            },
            when_lost: parts.lost.then as u8,
            lost_after_s: parts.lost.after_s,
        }
    }

    /// Presses the stop as often as a client has asked, before anything else it has sent.
    fn obey_stops(&mut self, now_ns: u64, connection: &mut Connection) {
        for _ in 0..connection.stops() {
            self.parts.stop.press();
            let (request, value) = (Request::STOP, u64::from(self.parts.stop.presses()));
            connection.say(now_ns, &Reply::Granted { request, value }.bytes());
        }
    }

    /// Version and token, before anything else is answered.
    fn greet(&mut self, clients: usize, version: u16, token: &[u8]) -> Result<Standing, Refused> {
        if version != VERSION {
            let text = format!("version {version} of the protocol; this side has {VERSION}");
            return refused(Refusal::BadGreeting, text);
        }
        if !self.parts.token.is(token) {
            return refused(Refusal::WrongToken, "the token is wrong");
        }
        self.served += 1;
        Ok(if clients < MOST_CLIENTS { Standing::Client } else { Standing::StopAndStatus })
    }

    /// The right to feed, if nobody has it; gives the sample that is next.
    fn grant_feed(&mut self, feed: &mut Option<Feed>) -> Result<u64, Refused> {
        if self.state.is_none() {
            return refused(Refusal::NotStreamed, "the load of this test is not streamed");
        }
        if feed.is_none() && self.parts.feed.is_some() {
            // Whatever became of the one before, the load goes on.
            *feed = self.parts.feed.take();
            self.feed_left = None;
        }
        match feed {
            Some(feed) if !feed.state.is_ended() => Ok(feed.state.fed()),
            Some(_) => refused(Refusal::FeedTaken, "the load has been ended"),
            None => refused(Refusal::FeedTaken, "another client feeds the load"),
        }
    }

    fn status(&self) -> Status {
        let test = &self.parts.tap.state;
        let mut status = Status {
            ticks: test.ticks.load(Ordering::Relaxed),
            phase: test.phase.load(Ordering::Relaxed),
            trip: test.trip.load(Ordering::Relaxed),
            dropped: test.dropped(),
            ..Status::default()
        };
        if let Some(state) = &self.state {
            (status.fed, status.used) = (state.fed(), state.used());
            status.starved = state.starved();
            status.feeding = if state.is_ended() { 2 } else { u8::from(self.parts.feed.is_none()) };
        }
        status
    }
}

/// Puts samples that wait into the ring, as far as there is room.
fn go_on_feeding(now_ns: u64, connection: &mut Connection) -> Outcome {
    if let Some(feed) = &mut connection.feed {
        let taken = feed.offer(connection.rows.make_contiguous())?;
        connection.rows.drain(..taken * feed.bounds.len());
        connection.heard_ns = now_ns;
    }
    Ok(None)
}
