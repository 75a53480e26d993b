//! Frames on their way from the tick to those who look on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use rtrb::{Consumer, Producer};

use crate::interlock::Phase;
use crate::ring::touched_ring;

/// The tick's end: takes a frame if there is room, and counts it if not.
pub struct Tap {
    ring: Producer<f64>,
    width: usize,
    /// Where the test stands.
    pub state: Arc<LiveState>,
}

/// The other end.
pub struct TapReader {
    ring: Consumer<f64>,
    /// Values of a frame.
    pub(crate) width: usize,
    /// Where the test stands.
    pub(crate) state: Arc<LiveState>,
}

/// Where the test stands, for any thread to see.
#[derive(Debug)]
pub struct LiveState {
    /// Ticks done.
    pub ticks: AtomicU64,
    /// Number of the phase.
    pub phase: AtomicU8,
    /// Code of the trip, 0 for none.
    pub trip: AtomicU8,
    dropped: AtomicU64,
}

impl Tap {
    /// Both ends, for `frames` frames of `width` values.
    pub fn new(width: usize, frames: usize) -> (Self, TapReader) {
        let (ring, taken) = touched_ring(width * frames.max(1));
        let state = Arc::new(LiveState {
            ticks: AtomicU64::new(0),
            phase: AtomicU8::new(Phase::Initiating as u8),
            trip: AtomicU8::new(0),
            dropped: AtomicU64::new(0),
        });
        (Self { ring, width, state: Arc::clone(&state) }, TapReader { ring: taken, width, state })
    }

    /// Takes the first values of a frame. Neither allocates nor waits; no room is
    /// no trouble.
    #[inline]
    pub(crate) fn push(&mut self, frame: &[f64]) {
        let pushed = frame.get(..self.width).map(|frame| self.ring.push_entire_slice(frame));
        if !matches!(pushed, Some(Ok(()))) {
            self.state.dropped.fetch_add(1, Ordering::Relaxed);
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
        self.state.ticks.store(ticks, Ordering::Relaxed);
        self.state.phase.store(phase as u8, Ordering::Relaxed);
        self.state.trip.store(trip, Ordering::Relaxed);
    }
}

impl TapReader {
    /// Takes the next frame out, if there is one.
    pub fn pop(&mut self, frame: &mut [f64]) -> bool {
        frame.len() == self.width && self.ring.pop_entire_slice(frame).is_ok()
    }
}

impl LiveState {
    /// Frames that found no room on their way to those who look on.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}
