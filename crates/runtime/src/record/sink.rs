//! The tick's side of the recorder.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, Thread};

use rtrb::Producer;

use super::writer::Progress;
use crate::world::Clock;

/// Between two looks for room in the ring, ns.
const PATIENCE_NS: u64 = 50_000;

/// Takes one frame per recorded tick and hands it to the writer's thread.
///
/// In the ring each frame is preceded by its number, so that the columns known
/// beforehand stay aligned when frames are lost. The ring's capacity is a
/// multiple of that stride: a frame never wraps around its end.
pub struct FrameSink {
    ring: Producer<f64>,
    /// Values of a frame.
    width: usize,
    /// The frame that is being made, behind its number.
    frame: Vec<f64>,
    /// Number of the next frame that is not beside the test; exact up to 2⁵³.
    sequence: f64,
    progress: Arc<Progress>,
    clock: Arc<dyn Clock>,
    /// To be woken; without a thread of its own the writer works while others sleep.
    writer: Option<Thread>,
    /// Frames between two nudges of the writer in virtual time.
    nudge_every: usize,
    until_nudge: usize,
}

impl FrameSink {
    pub(super) fn new(
        ring: Producer<f64>,
        width: usize,
        progress: Arc<Progress>,
        clock: Arc<dyn Clock>,
        writer: Option<Thread>,
    ) -> Self {
        let nudge_every = (ring.buffer().capacity() / (width + 1) / 4).max(1);
        Self {
            ring,
            width,
            frame: Vec::with_capacity(width + 2),
            sequence: 0.0,
            progress,
            clock,
            writer,
            nudge_every,
            until_nudge: nudge_every,
        }
    }

    /// Begins a frame of a test that stands still: what is known beforehand is not for it.
    pub(crate) fn begin_beside(&mut self) -> &mut Vec<f64> {
        self.frame.clear();
        // No row of what is known has this number.
        self.frame.push(f64::INFINITY);
        &mut self.frame
    }

    /// Begins a frame; its values are to be appended.
    #[inline]
    pub(crate) fn begin(&mut self) -> &mut Vec<f64> {
        self.frame.clear();
        self.frame.push(self.sequence);
        self.sequence += 1.0;
        &mut self.frame
    }

    /// Stores the frame that was begun and gives its values. Called in the tick: it does
    /// not allocate, lock, block, enter the system or panic. A frame that finds no room,
    /// or has the wrong width, is lost and counted.
    #[inline]
    pub(crate) fn store(&mut self) -> &[f64] {
        let fits = self.frame.len() == self.width + 1;
        if !fits || self.ring.push_entire_slice(&self.frame).is_err() {
            self.progress.lost.fetch_add(1, Ordering::Relaxed);
        }
        &self.frame[1..]
    }

    /// Stores a frame as a whole, in the same way.
    pub fn push(&mut self, frame: &[f64]) {
        // One value too many is wrong enough.
        let most = self.width + 1;
        self.begin().extend(frame.iter().take(most));
        self.store();
    }

    /// Frames lost so far, here or by a failed write.
    pub fn frames_lost(&self) -> u64 {
        self.progress.lost.load(Ordering::Relaxed)
    }

    /// How full the ring is, from 0 to 1.
    pub fn fill(&self) -> f64 {
        1.0 - self.ring.slots() as f64 / self.ring.buffer().capacity() as f64
    }

    /// Waits until the next frame finds room: for the virtual clock, between
    /// ticks, where the recorder may set the pace. Never call it in real time.
    /// Returns at once if the writer is gone.
    #[inline]
    pub fn wait_for_room(&mut self) {
        self.until_nudge -= 1;
        if self.until_nudge == 0 {
            // The writer looks only every few milliseconds on its own.
            self.until_nudge = self.nudge_every;
            self.wake_writer();
        }
        if self.ring.cached_slots() <= self.width {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        let mut tries = 0;
        while self.ring.slots() <= self.width && !self.ring.is_abandoned() {
            self.wake_writer();
            if tries < 100 && self.writer.is_some() {
                thread::yield_now();
            } else {
                self.clock.sleep_until_ns(self.clock.now_ns() + PATIENCE_NS);
            }
            tries += 1;
        }
    }

    fn wake_writer(&self) {
        if let Some(writer) = &self.writer {
            writer.unpark();
        }
    }
}
