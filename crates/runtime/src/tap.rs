//! Frames on their way from the tick to those who look on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use rtrb::{Consumer, Producer, RingBuffer};

use crate::interlock::Phase;

/// The tick's end: takes a frame if there is room, and counts it if not.
pub struct Tap {
    ring: Producer<f64>,
    width: usize,
    seen: Arc<Seen>,
}

/// The other end.
pub struct TapReader {
    ring: Consumer<f64>,
    width: usize,
}

/// Where the test stands, for any thread to see.
#[derive(Debug)]
pub struct Seen {
    ticks: AtomicU64,
    phase: AtomicU8,
    trip: AtomicU8,
    dropped: AtomicU64,
}

impl Tap {
    /// Both ends, for `frames` frames of `width` values.
    pub fn new(width: usize, frames: usize) -> (Self, TapReader) {
        let (mut ring, mut taken) = RingBuffer::new(width * frames.max(1));
        // Touched, so that the tick meets no page fault in it.
        if let Ok(chunk) = ring.write_chunk(ring.slots()) {
            chunk.commit_all();
        }
        if let Ok(chunk) = taken.read_chunk(taken.slots()) {
            chunk.commit_all();
        }
        let seen = Arc::new(Seen {
            ticks: AtomicU64::new(0),
            phase: AtomicU8::new(Phase::Initiating as u8),
            trip: AtomicU8::new(0),
            dropped: AtomicU64::new(0),
        });
        (Self { ring, width, seen }, TapReader { ring: taken, width })
    }

    /// Where the test stands.
    pub fn seen(&self) -> &Arc<Seen> {
        &self.seen
    }

    /// Takes the first values of a frame. Neither allocates nor waits; no room is
    /// no trouble.
    #[inline]
    pub(crate) fn push(&mut self, frame: &[f64]) {
        let pushed = frame.get(..self.width).map(|frame| self.ring.push_entire_slice(frame));
        if !matches!(pushed, Some(Ok(()))) {
            self.seen.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the next frame would find no room although somebody takes them
    /// out. For a clock that can wait.
    pub(crate) fn is_full(&self) -> bool {
        self.ring.slots() < self.width && !self.ring.is_abandoned()
    }

    /// Says where the test stands.
    #[inline]
    pub(crate) fn tell(&self, ticks: u64, phase: Phase, trip: u8) {
        self.seen.ticks.store(ticks, Ordering::Relaxed);
        self.seen.phase.store(phase as u8, Ordering::Relaxed);
        self.seen.trip.store(trip, Ordering::Relaxed);
    }
}

impl TapReader {
    /// Values of a frame.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Takes the next frame out, if there is one.
    pub fn pop(&mut self, frame: &mut [f64]) -> bool {
        frame.len() == self.width && self.ring.pop_entire_slice(frame).is_ok()
    }
}

impl Seen {
    /// Ticks done.
    pub fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::Relaxed)
    }

    /// Number of the phase.
    pub fn phase(&self) -> u8 {
        self.phase.load(Ordering::Relaxed)
    }

    /// Code of the trip, 0 for none.
    pub fn trip(&self) -> u8 {
        self.trip.load(Ordering::Relaxed)
    }

    /// Frames that found no room on their way to those who look on.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}
