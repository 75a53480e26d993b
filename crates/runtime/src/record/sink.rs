//! The tick's side of the recorder.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, Thread};

use rtrb::{CopyToUninit, Producer};

use super::writer::Progress;
use crate::world::Clock;

/// Between two looks for room in the ring, ns.
const PATIENCE_NS: u64 = 50_000;

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It is on its way to the record.
    Stored,
    /// The ring was full (or the frame had the wrong width): it is lost and counted.
    Lost,
}

/// Takes one frame per recorded tick and hands it to the writer's thread.
///
/// In the ring each frame is preceded by its number, so that the columns known
/// beforehand stay aligned when frames are lost. The ring's capacity is a
/// multiple of that stride: a frame never wraps around its end.
pub struct FrameSink {
    ring: Producer<f64>,
    width: usize,
    /// Number of the next frame; exact up to 2⁵³.
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
        let until_nudge = nudge_every;
        Self { ring, width, sequence: 0.0, progress, clock, writer, nudge_every, until_nudge }
    }

    /// Number of values in a frame.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Stores a frame. Called in the tick: it does not allocate, lock, block,
    /// enter the system or panic. A frame that finds no room is lost and counted.
    #[inline]
    pub fn push(&mut self, frame: &[f64]) -> Pushed {
        let number = self.sequence;
        self.sequence += 1.0;
        if frame.len() == self.width
            && let Ok(mut chunk) = self.ring.write_chunk_uninit(self.width + 1)
        {
            let (slots, _) = chunk.as_mut_slices();
            if let Some((first, rest)) = slots.split_first_mut()
                && rest.len() == frame.len()
            {
                first.write(number);
                frame.copy_to_uninit(rest);
                // SAFETY: the chunk has `width + 1` slots, all of them in `slots`
                // (its second part is empty) and all written above.
                unsafe { chunk.commit_all() };
                return Pushed::Stored;
            }
        }
        self.progress.lost.fetch_add(1, Ordering::Relaxed);
        Pushed::Lost
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
