//! What others may see of a running test: atomics, written by the tick's thread
//! and read by any other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where a running test stands. The loop stores and never waits; who reads sees
/// each value whole, but not all of one instant.
#[derive(Debug, Default)]
pub struct Status {
    /// The numbers of a [`Glance`], in its order.
    words: [AtomicU64; 11],
    over: AtomicBool,
}

/// What a look at a running test shows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Glance {
    /// Ticks done.
    pub ticks: u64,
    /// Number of the phase, as in the channel `phase`.
    pub phase: u8,
    /// Ticks that came too late or took too long.
    pub overruns: u64,
    /// Periods without a tick.
    pub missed: u64,
    /// Ticks of a two-rate test that were bridged because the main loop was late.
    pub bridged: u64,
    /// Ticks for which a rig behind a link had not answered in time.
    pub unanswered: u64,
    /// Of these, how many answers came afterwards.
    pub late_answers: u64,
    /// Stability warning, %.
    pub stability_warning: f64,
    /// How full the recorder's ring is, 0 to 1.
    pub ring: f64,
    /// Frames lost.
    pub frames_lost: u64,
    /// 99 % of the ticks began within this after their deadline, ns, to a
    /// tenth; 0 before some are done.
    pub wake_up_p99_ns: u64,
}

impl Status {
    /// Says where the test stands after a tick.
    pub(super) fn say(&self, now: &Glance) {
        let words = [
            now.ticks,
            u64::from(now.phase),
            now.overruns,
            now.missed,
            now.bridged,
            now.unanswered,
            now.late_answers,
            now.stability_warning.to_bits(),
            now.ring.to_bits(),
            now.frames_lost,
            now.wake_up_p99_ns,
        ];
        for (place, word) in self.words.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Whether the last tick is done.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// A look at it.
    pub fn glance(&self) -> Glance {
        let mut words = self.words.iter().map(|word| word.load(Ordering::Relaxed));
        let mut next = || words.next().unwrap_or_default();
        // In the order of the words.
        Glance {
            ticks: next(),
            phase: next() as u8,
            overruns: next(),
            missed: next(),
            bridged: next(),
            unanswered: next(),
            late_answers: next(),
            stability_warning: f64::from_bits(next()),
            ring: f64::from_bits(next()),
            frames_lost: next(),
            wake_up_p99_ns: next(),
        }
    }
}
