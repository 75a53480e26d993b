//! One client: bytes in, bytes out, and the frames that wait for it.

use std::collections::VecDeque;

use bytes::{Buf, BytesMut};

use super::protocol::{LONGEST, ProtocolError, Reply, Request, split};
use crate::streamed_load::Feed;

/// Most values that wait for one client.
pub(super) const MOST_WAITING: usize = 1 << 17;
/// Values in one message of frames.
const VALUES: usize = 8192;
/// While so many bytes wait to be sent, nothing more is asked of the test.
const MOST_UNSENT: usize = 1 << 16;
/// Bytes read ahead of what can be done now, so that a stop among them is found. Room for
/// a whole message behind one that waits.
const READ_AHEAD: usize = 2 * LONGEST;
/// Time for a greeting, ns.
const GREETING_NS: u64 = 5_000_000_000;
/// A client that says nothing for so long is let go, ns.
const SILENCE_NS: u64 = 30_000_000_000;

/// How far a connection has come.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has not greeted.
    #[default]
    Stranger,
    /// It is let in.
    Client,
    /// It is let in to stop the test and to ask where it stands.
    StopAndStatus,
    /// Nothing more is taken from it; what waits for it is sent.
    Leaving,
}

/// A connection, without its socket.
#[derive(Default)]
pub(super) struct Connection {
    pub(super) standing: Standing,
    /// What has come of messages that are not whole yet.
    inbox: BytesMut,
    /// Bytes of it in which stops have been looked for.
    searched: usize,
    outbox: BytesMut,
    /// Since when a whole message is waited for.
    pub(super) heard_ns: u64,
    /// Since when what waits to be sent has not moved.
    moved_ns: u64,
    /// The right to feed.
    pub(super) feed: Option<Feed>,
    /// Samples that wait for room in the ring; meanwhile nothing but a stop is obeyed.
    pub(super) rows: VecDeque<f64>,
    pub(super) frames: Option<FrameQueue>,
    /// An answer that is held back, and until when.
    pub(super) held_back: Option<(u64, Reply)>,
    /// Whether the client has hung up. What it had sent before is still done.
    pub(super) hung_up: bool,
}

impl Connection {
    pub(super) fn new(now_ns: u64) -> Self {
        Self { heard_ns: now_ns, moved_ns: now_ns, ..Self::default() }
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.standing == Standing::Leaving
    }

    /// Whether it is told to go, or will be.
    pub(super) fn is_refused(&self) -> bool {
        self.is_leaving() || self.held_back.is_some()
    }

    /// Whether it was let in, and has not been told to go.
    pub(super) fn is_client(&self) -> bool {
        matches!(self.standing, Standing::Client | Standing::StopAndStatus)
    }

    /// Whether a whole message was waited for in vain. Who only takes frames need not
    /// say anything.
    pub(super) fn has_fallen_silent(&self, now_ns: u64) -> bool {
        let patience_ns = match self.standing {
            Standing::Stranger => GREETING_NS,
            Standing::Client | Standing::StopAndStatus if self.frames.is_none() => SILENCE_NS,
            _ => u64::MAX,
        };
        !self.is_held_up() && now_ns.saturating_sub(self.heard_ns) > patience_ns
    }

    /// Whether what it asks for has to wait.
    fn is_held_up(&self) -> bool {
        !self.rows.is_empty() || self.held_back.is_some() || self.outbox.len() >= MOST_UNSENT
    }

    /// Whether bytes of it are taken now.
    pub(super) fn wants_bytes(&self) -> bool {
        !self.hung_up && self.held_back.is_none() && self.inbox.len() < READ_AHEAD
    }

    /// Whether it has hung up and nothing of it is left to be done.
    pub(super) fn is_done(&self) -> bool {
        self.hung_up && self.rows.is_empty()
    }

    /// Keeps bytes that have come.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        if !self.is_leaving() {
            self.inbox.extend_from_slice(bytes);
        }
    }

    /// How many stops have come since the last look. A stop overtakes whatever the client
    /// sent before it and waits.
    pub(super) fn stops(&mut self) -> usize {
        let mut stops = 0;
        while let Ok(Some((kind, body, length))) = split(&self.inbox[self.searched..]) {
            stops += usize::from(Request::read(kind, body) == Ok(Request::Stop));
            self.searched += length;
        }
        stops
    }

    /// The next whole message, if it can be taken now, and its type, 0 if it has none.
    pub(super) fn next(&mut self, now_ns: u64) -> Option<(u8, Result<Request, ProtocolError>)> {
        while !self.is_held_up() && !self.is_leaving() {
            let (kind, request, length) = match split(&self.inbox) {
                Err(error) => return Some((0, Err(error))),
                Ok(None) => return None,
                Ok(Some((kind, body, length))) => (kind, Request::read(kind, body), length),
            };
            self.inbox.advance(length);
            self.searched = self.searched.saturating_sub(length);
            self.heard_ns = now_ns;
            // A client's stop was obeyed when it came; who watches asks for nothing else.
            let is_done = request == Ok(Request::Stop) || self.frames.is_some();
            if !(self.is_client() && is_done) {
                return Some((kind, request));
            }
        }
        None
    }

    pub(super) fn say(&mut self, now_ns: u64, bytes: &[u8]) {
        if self.outbox.is_empty() {
            self.moved_ns = now_ns;
        }
        self.outbox.extend_from_slice(bytes);
    }

    /// What is to be sent; frames that wait, once nothing else does.
    pub(super) fn pending(&mut self, now_ns: u64) -> &[u8] {
        if self.outbox.is_empty()
            && let Some(message) = self.frames.as_mut().and_then(FrameQueue::message)
        {
            self.say(now_ns, &message.bytes());
        }
        &self.outbox
    }

    /// The last words, behind all frames that wait.
    pub(super) fn say_last(&mut self, now_ns: u64, last: impl Fn(u64) -> Reply) {
        while let Some(message) = self.frames.as_mut().and_then(FrameQueue::message) {
            self.say(now_ns, &message.bytes());
        }
        let dropped = self.frames.as_ref().map_or(0, |frames| frames.dropped);
        self.say(now_ns, &last(dropped).bytes());
        self.standing = Standing::Leaving;
    }

    /// So many bytes of it were sent; says whether it was told to go and has been told
    /// everything.
    pub(super) fn note_sent(&mut self, now_ns: u64, count: usize) -> bool {
        self.moved_ns = now_ns;
        self.outbox.advance(count);
        self.is_leaving() && self.outbox.is_empty()
    }

    /// Whether something waits to be sent.
    pub(super) fn has_unsent(&self) -> bool {
        !self.outbox.is_empty()
            || self.frames.as_ref().is_some_and(|frames| !frames.values.is_empty())
    }

    /// For how long what waits to be sent has not moved, ns.
    pub(super) fn stalled_ns(&self, now_ns: u64) -> u64 {
        if self.outbox.is_empty() { 0 } else { now_ns.saturating_sub(self.moved_ns) }
    }
}

/// Frames that wait for one client.
pub(super) struct FrameQueue {
    values: VecDeque<f64>,
    /// Values of a frame.
    width: u16,
    every: u32,
    until: u32,
    pub(super) dropped: u64,
}

impl FrameQueue {
    /// Of one frame in `every`.
    pub(super) fn new(width: u16, every: u32) -> Self {
        Self { values: VecDeque::new(), width, every: every.max(1), until: 1, dropped: 0 }
    }

    pub(super) fn offer(&mut self, frame: &[f64]) {
        self.until -= 1;
        if self.until > 0 {
            return;
        }
        self.until = self.every;
        if self.values.len() + frame.len() > MOST_WAITING.max(frame.len()) {
            self.dropped += 1;
        } else {
            self.values.extend(frame);
        }
    }

    /// Counts those of `frames` frames that never came this far and would have
    /// been shown.
    pub(super) fn skip(&mut self, frames: u64) {
        let (every, until) = (u64::from(self.every), u64::from(self.until));
        if frames < until {
            self.until -= frames as u32;
            return;
        }
        let beyond = frames - until;
        self.dropped += 1 + beyond / every;
        self.until = self.every - (beyond % every) as u32;
    }

    /// The next message of whole frames.
    fn message(&mut self) -> Option<Reply> {
        let width = usize::from(self.width);
        let most = (VALUES / width).max(1) * width;
        let count = self.values.len().min(most);
        let values: Vec<f64> = self.values.drain(..count).collect();
        (count > 0).then_some(Reply::Frames { dropped: self.dropped, width: self.width, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(queue: &mut FrameQueue) -> Vec<f64> {
        let mut all = Vec::new();
        while let Some(Reply::Frames { values, .. }) = queue.message() {
            all.extend(values);
        }
        all
    }

    /// Shown and skipped frames are one in three, wherever the gaps are.
    #[test]
    fn frames_that_never_came_are_counted_as_they_would_have_been_shown() {
        let mut third = FrameQueue::new(1, 3);
        let mut number = 0u64;
        for gap in [0, 1, 2, 3, 4, 10, 0, 7] {
            third.skip(gap);
            number += gap;
            for _ in 0..5 {
                third.offer(&[number as f64]);
                number += 1;
            }
        }
        let shown = taken(&mut third);
        assert!(shown.iter().all(|frame| frame % 3.0 == 0.0), "{shown:?}");
        assert_eq!(shown.len() as u64 + third.dropped, number.div_ceil(3));
    }

    #[test]
    fn who_does_not_take_loses_frames_and_is_told_how_many() {
        let (mut slow, mut thin) = (FrameQueue::new(64, 1), FrameQueue::new(64, 10));
        let frames = 3 * MOST_WAITING / 64;
        for _ in 0..frames {
            slow.offer(&[1.0; 64]);
            thin.offer(&[1.0; 64]);
        }
        assert_eq!((taken(&mut thin).len() / 64, thin.dropped), (frames.div_ceil(10), 0));
        assert_eq!(slow.dropped, (frames - MOST_WAITING / 64) as u64);
        let Some(Reply::Frames { dropped, values, .. }) = slow.message() else { panic!() };
        assert_eq!((values.len(), dropped), (VALUES, slow.dropped));
    }
}
