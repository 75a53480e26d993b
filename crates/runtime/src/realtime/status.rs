//! What others may see of a running test: atomics, written by the tick's thread
//! and read by any other.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::latency::LiveLatency;

/// Where a running test stands. The loop stores and never waits; who reads sees
/// each value whole, but not all of one instant.
#[derive(Debug)]
pub struct Status {
    ticks: AtomicU64,
    phase: AtomicU8,
    overruns: AtomicU64,
    missed: AtomicU64,
    bridged: AtomicU64,
    unanswered: AtomicU64,
    late_answers: AtomicU64,
    stability_warning: AtomicU64,
    ring_per_mille: AtomicU32,
    frames_lost: AtomicU64,
    over: AtomicBool,
    wake_up: LiveLatency,
}

/// What a look at a running test shows.
#[derive(Debug, Clone, Copy, PartialEq)]
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
    /// 99 % of the ticks began within this after their deadline, ns, to an
    /// eighth; `None` before the first.
    pub wake_up_p99_ns: Option<f64>,
}

/// What the loop says after a tick.
pub(super) struct Said {
    pub(super) ticks: u64,
    pub(super) phase: u8,
    pub(super) overruns: u64,
    pub(super) missed: u64,
    pub(super) bridged: u64,
    pub(super) unanswered: u64,
    pub(super) late_answers: u64,
    pub(super) stability_warning: f64,
    pub(super) wake_up_ns: u64,
}

impl Status {
    pub(super) fn new() -> Self {
        Self {
            ticks: AtomicU64::new(0),
            phase: AtomicU8::new(0),
            overruns: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            bridged: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            late_answers: AtomicU64::new(0),
            stability_warning: AtomicU64::new(0),
            ring_per_mille: AtomicU32::new(0),
            frames_lost: AtomicU64::new(0),
            over: AtomicBool::new(false),
            wake_up: LiveLatency::new(),
        }
    }

    #[inline]
    pub(super) fn say(&self, said: &Said) {
        self.ticks.store(said.ticks, Ordering::Relaxed);
        self.phase.store(said.phase, Ordering::Relaxed);
        self.overruns.store(said.overruns, Ordering::Relaxed);
        self.missed.store(said.missed, Ordering::Relaxed);
        self.bridged.store(said.bridged, Ordering::Relaxed);
        self.unanswered.store(said.unanswered, Ordering::Relaxed);
        self.late_answers.store(said.late_answers, Ordering::Relaxed);
        self.stability_warning.store(said.stability_warning.to_bits(), Ordering::Relaxed);
        self.wake_up.record(said.wake_up_ns);
    }

    /// Before the first tick.
    pub(super) fn begin(&self, phase: u8) {
        self.phase.store(phase, Ordering::Relaxed);
    }

    pub(super) fn say_ring(&self, fill: f64, frames_lost: u64) {
        self.ring_per_mille.store((1e3 * fill) as u32, Ordering::Relaxed);
        self.frames_lost.store(frames_lost, Ordering::Relaxed);
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
        Glance {
            ticks: self.ticks.load(Ordering::Relaxed),
            phase: self.phase.load(Ordering::Relaxed),
            overruns: self.overruns.load(Ordering::Relaxed),
            missed: self.missed.load(Ordering::Relaxed),
            bridged: self.bridged.load(Ordering::Relaxed),
            unanswered: self.unanswered.load(Ordering::Relaxed),
            late_answers: self.late_answers.load(Ordering::Relaxed),
            stability_warning: f64::from_bits(self.stability_warning.load(Ordering::Relaxed)),
            ring: f64::from(self.ring_per_mille.load(Ordering::Relaxed)) / 1e3,
            frames_lost: self.frames_lost.load(Ordering::Relaxed),
            wake_up_p99_ns: self.wake_up.quantile_ns(0.99),
        }
    }
}
