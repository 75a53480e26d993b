//! A load that arrives while the test runs, through one ring.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rtrb::{Consumer, Producer};
use thiserror::Error;

use crate::ring::touched_ring;

/// How a load is streamed.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamPlan {
    /// Largest value of each signal, either way.
    pub bounds: Vec<f64>,
    /// Ticks from one sample to the next; between them the load runs straight.
    pub ticks_per_sample: usize,
    /// Samples the ring holds.
    pub buffer_samples: usize,
    /// Samples that must be there before the load begins.
    pub prefill_samples: usize,
    /// Ticks in a row without a sample that are bridged, the load easing to zero.
    pub bridge_ticks: usize,
    /// Ticks in which the load eases to zero after its end.
    pub ease_ticks: usize,
    /// Ticks for which the first samples are waited for.
    pub patience_ticks: u64,
}

/// Why a load is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadEnd {
    /// Its end was declared.
    Declared,
    /// Nothing came for longer than may be bridged.
    Starved,
    /// The longest time of the test is over.
    TimeUp,
}

/// The tick's end. Nothing here allocates, locks or waits once it is made.
///
/// A sample that is due and not there is bridged: the load keeps its last value
/// under a gain that goes from one to zero over the ticks that may be bridged,
/// and back at the same pace when samples come again. The load is late then, but
/// nothing of it is left out. At a gain of zero the load is over.
#[derive(Debug)]
pub struct StreamedLoad {
    ring: Consumer<f64>,
    /// What both sides know.
    pub state: Arc<FeedState>,
    pub(crate) plan: StreamPlan,
    /// The samples around the instant of `next`, and the ticks since the first.
    earlier: Vec<f64>,
    later: Vec<f64>,
    part: usize,
    gain: f64,
    /// Why the load is over, if it is.
    pub end: Option<LoadEnd>,
    /// Load at this tick and at the one after it.
    pub(crate) now: Vec<f64>,
    pub(crate) next: Vec<f64>,
}

impl StreamedLoad {
    pub(crate) fn new(plan: &StreamPlan, ring: Consumer<f64>, state: Arc<FeedState>) -> Self {
        let zeros = vec![0.0; plan.bounds.len()];
        let plan = StreamPlan {
            ticks_per_sample: plan.ticks_per_sample.max(1),
            // The ring holds whole samples and never less than it needs to begin.
            prefill_samples: plan.prefill_samples.clamp(2, plan.buffer_samples.max(2)),
            bridge_ticks: plan.bridge_ticks.max(1),
            ease_ticks: plan.ease_ticks.max(1),
            ..plan.clone()
        };
        Self {
            ring,
            state,
            part: plan.ticks_per_sample,
            plan,
            earlier: zeros.clone(),
            later: zeros.clone(),
            gain: 1.0,
            end: None,
            now: zeros.clone(),
            next: zeros,
        }
    }

    /// Whether the load may begin: enough of it is there, or all of it.
    pub fn is_ready(&self) -> bool {
        // The mark is read first: what it ends is in the ring by then.
        let ended = self.state.is_ended();
        let samples = self.ring.slots() / self.now.len().max(1);
        samples >= self.plan.prefill_samples || ended
    }

    /// Whether the next tick would have to do without a sample that may still
    /// come. For a clock that can wait.
    pub fn is_dry(&self) -> bool {
        let (ended, broken) = (self.state.is_ended(), self.state.is_broken());
        self.end.is_none()
            && self.part >= self.plan.ticks_per_sample
            && self.ring.slots() < self.now.len()
            && !ended
            && !broken
    }

    /// Ends the load, if nothing has ended it before.
    pub(crate) fn finish(&mut self, end: LoadEnd) {
        self.end.get_or_insert(end);
        self.state.over.store(true, Ordering::Relaxed);
    }

    /// Takes the first sample; the load then begins with [`advance`](Self::advance).
    pub(crate) fn begin(&mut self) {
        if self.ring.pop_entire_slice(&mut self.later).is_ok() {
            self.state.used.store(1, Ordering::Relaxed);
        }
        self.part = self.plan.ticks_per_sample;
        self.next.copy_from_slice(&self.later);
    }

    /// One tick on: the load of the tick that begins, and of the one after it.
    #[inline]
    pub(crate) fn advance(&mut self) {
        std::mem::swap(&mut self.now, &mut self.next);
        if self.part < self.plan.ticks_per_sample {
            self.part += 1;
            self.recover();
        } else {
            self.turn_sample();
        }
        let part = self.part as f64 / self.plan.ticks_per_sample as f64;
        for ((out, a), b) in self.next.iter_mut().zip(&self.earlier).zip(&self.later) {
            // At the sample itself no rounding comes in.
            let value =
                if self.part == self.plan.ticks_per_sample { *b } else { a + (b - a) * part };
            *out = self.gain * value;
        }
    }

    fn turn_sample(&mut self) {
        // The mark is read before the ring: see `is_ready`.
        let ended = self.state.is_ended();
        if self.end.is_none() && self.ring.slots() >= self.now.len() {
            std::mem::swap(&mut self.earlier, &mut self.later);
            if self.ring.pop_entire_slice(&mut self.later).is_ok() {
                self.state.used.fetch_add(1, Ordering::Relaxed);
                self.part = 1;
                self.recover();
                return;
            }
        }
        if ended {
            self.finish(LoadEnd::Declared);
        }
        if self.end.is_some() {
            self.gain = (self.gain - 1.0 / self.plan.ease_ticks as f64).max(0.0);
            return;
        }
        self.state.starved.fetch_add(1, Ordering::Relaxed);
        self.gain = (self.gain - 1.0 / self.plan.bridge_ticks as f64).max(0.0);
        // Sums of a fraction miss zero by a hair.
        if self.gain < 1e-9 {
            self.gain = 0.0;
            self.finish(LoadEnd::Starved);
        }
    }

    fn recover(&mut self) {
        if self.end.is_some() {
            self.gain = (self.gain - 1.0 / self.plan.ease_ticks as f64).max(0.0);
        } else if self.gain < 1.0 {
            self.gain = (self.gain + 1.0 / self.plan.bridge_ticks as f64).min(1.0);
        }
    }
}

/// Why samples are not taken.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum FeedError {
    /// Beyond what the file allows.
    #[error(
        "sample {sample} of load signal {} is {value}, beyond its bound of {bound}", .signal + 1
    )]
    BeyondBound {
        /// Sample, from 0.
        sample: u64,
        /// Signal, from 0.
        signal: usize,
        /// What came.
        value: f64,
        /// What is allowed.
        bound: f64,
    },
    /// Not a number.
    #[error("sample {sample} of load signal {} is not a finite number", .signal + 1)]
    NotFinite {
        /// Sample, from 0.
        sample: u64,
        /// Signal, from 0.
        signal: usize,
    },
    /// Samples after the end.
    #[error("the load has been ended: no sample can follow")]
    Ended,
    /// The test goes on without a load.
    #[error("the load of the test is over: nothing came for too long, or its time is up")]
    Over,
    /// A row with too few or too many values.
    #[error("{values} values do not make rows of {signals} load signals")]
    BadRow {
        /// Values given.
        values: usize,
        /// Signals of a row.
        signals: usize,
    },
}

/// What both sides know of each other.
#[derive(Debug, Default)]
pub struct FeedState {
    /// The last sample is in the ring.
    ended: AtomicBool,
    /// Who fed has gone without ending the load.
    broken: AtomicBool,
    /// The test goes on without a load.
    over: AtomicBool,
    /// Samples put in.
    fed: AtomicU64,
    /// Samples taken out.
    used: AtomicU64,
    /// Ticks without a sample that was due.
    starved: AtomicU64,
}

impl FeedState {
    /// Whether the last sample is in the ring or was taken out.
    #[inline]
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Whether who fed has gone.
    #[inline]
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Samples put in.
    pub fn fed(&self) -> u64 {
        self.fed.load(Ordering::Relaxed)
    }

    /// Samples taken out.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Ticks without a sample that was due.
    pub fn starved(&self) -> u64 {
        self.starved.load(Ordering::Relaxed)
    }

    /// Whether the test goes on without a load, be it ended or missed.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// The host's end of the ring.
#[derive(Debug)]
pub struct Feed {
    ring: Producer<f64>,
    /// Largest value of each signal of a sample, either way.
    pub(crate) bounds: Vec<f64>,
    /// What both sides know.
    pub state: Arc<FeedState>,
}

impl Feed {
    /// Both ends. Signals are bounded by `plan.bounds`, one entry each.
    pub fn new(plan: &StreamPlan) -> (Self, StreamedLoad) {
        let signals = plan.bounds.len();
        let (ring, taken) = touched_ring(plan.buffer_samples.max(2) * signals);
        let state = Arc::new(FeedState::default());
        let feed = Self { ring, bounds: plan.bounds.clone(), state: Arc::clone(&state) };
        (feed, StreamedLoad::new(plan, taken, state))
    }

    /// Samples for which there is room.
    pub fn room(&self) -> usize {
        self.ring.slots() / self.bounds.len().max(1)
    }

    /// Checks rows of samples, none of which has been put in yet.
    pub fn check(&self, rows: &[f64]) -> Result<(), FeedError> {
        let signals = self.bounds.len();
        if signals == 0 || !rows.len().is_multiple_of(signals) {
            return Err(FeedError::BadRow { values: rows.len(), signals });
        }
        if self.state.is_ended() {
            return Err(FeedError::Ended);
        }
        if self.state.is_over() {
            return Err(FeedError::Over);
        }
        for (row, values) in rows.chunks_exact(signals).enumerate() {
            let sample = self.state.fed() + row as u64;
            for (signal, (&value, &bound)) in values.iter().zip(&self.bounds).enumerate() {
                if !value.is_finite() {
                    return Err(FeedError::NotFinite { sample, signal });
                }
                if value.abs() > bound {
                    return Err(FeedError::BeyondBound { sample, signal, value, bound });
                }
            }
        }
        Ok(())
    }

    /// Puts in as many whole rows as there is room for; says how many. Nothing
    /// of a call with a bad value is put in.
    pub fn offer(&mut self, rows: &[f64]) -> Result<usize, FeedError> {
        self.check(rows)?;
        let signals = self.bounds.len();
        let count = (rows.len() / signals).min(self.room());
        if self.ring.push_entire_slice(&rows[..count * signals]).is_err() {
            return Ok(0);
        }
        self.state.fed.fetch_add(count as u64, Ordering::Relaxed);
        self.state.broken.store(false, Ordering::Release);
        Ok(count)
    }

    /// No sample follows.
    pub fn end(&mut self) {
        self.state.ended.store(true, Ordering::Release);
    }

    /// Who fed is gone without a word.
    pub fn break_off(&mut self) {
        if !self.state.is_ended() {
            self.state.broken.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(ticks_per_sample: usize) -> StreamPlan {
        StreamPlan {
            bounds: vec![10.0, 5.0],
            ticks_per_sample,
            buffer_samples: 8,
            prefill_samples: 4,
            bridge_ticks: 4,
            ease_ticks: 2,
            patience_ticks: 100,
        }
    }

    /// Runs `ticks` ticks, feeding where `feed` asks for it.
    fn first_signal(load: &mut StreamedLoad, ticks: usize) -> Vec<f64> {
        (0..ticks)
            .map(|_| {
                load.advance();
                load.now[0]
            })
            .collect()
    }

    #[test]
    fn samples_come_out_as_they_went_in_straight_between_them() {
        let (mut feed, mut load) = Feed::new(&plan(2));
        assert!(!load.is_ready());
        assert_eq!(feed.offer(&[1.0, 0.0, 3.0, 0.0, -1.0, 1.0]), Ok(3));
        assert!(!load.is_ready(), "three of four");
        feed.end();
        assert!(load.is_ready(), "all there is");
        load.begin();
        assert_eq!(first_signal(&mut load, 4), [1.0, 2.0, 3.0, 1.0]);
        assert_eq!(load.end, None);
        // The tick of the last sample is the first without load, as with a file.
        assert_eq!(first_signal(&mut load, 4), [-1.0, -0.5, 0.0, 0.0]);
        assert_eq!(
            (load.end, load.state.starved(), load.state.used()),
            (Some(LoadEnd::Declared), 0, 3)
        );
    }

    #[test]
    fn silence_is_bridged_and_counted_and_what_comes_late_is_not_left_out() {
        let (mut feed, mut load) = Feed::new(&plan(1));
        feed.offer(&[8.0, 0.0, 8.0, 0.0]).unwrap();
        load.begin();
        assert_eq!(first_signal(&mut load, 4), [8.0, 8.0, 6.0, 4.0]);
        assert!(load.is_dry());
        feed.offer(&[8.0, 0.0, 8.0, 0.0, 8.0, 0.0, 8.0, 0.0]).unwrap();
        assert!(!load.is_dry());
        assert_eq!(first_signal(&mut load, 4), [2.0, 4.0, 6.0, 8.0], "it comes back as it went");
        assert_eq!((load.state.starved(), load.end, load.state.used()), (3, None, 6));
        assert_eq!(first_signal(&mut load, 5), [8.0, 6.0, 4.0, 2.0, 0.0]);
        assert_eq!(load.end, Some(LoadEnd::Starved));
        // Too late: the load stays over.
        assert_eq!(feed.offer(&[8.0, 0.0]), Err(FeedError::Over));
        assert_eq!(first_signal(&mut load, 2), [0.0, 0.0]);
    }

    #[test]
    fn nothing_of_a_bad_call_goes_in_and_the_ring_is_bounded() {
        let (mut feed, _load) = Feed::new(&plan(1));
        assert_eq!(feed.offer(&[1.0]), Err(FeedError::BadRow { values: 1, signals: 2 }));
        let beyond = FeedError::BeyondBound { sample: 1, signal: 1, value: -5.5, bound: 5.0 };
        assert_eq!(feed.offer(&[1.0, 1.0, 1.0, -5.5]), Err(beyond));
        let bad = FeedError::NotFinite { sample: 0, signal: 0 };
        assert_eq!(feed.offer(&[f64::NAN, 1.0]), Err(bad));
        assert_eq!((feed.state.fed(), feed.room()), (0, 8));
        assert_eq!(feed.offer(&[1.0; 24]), Ok(8));
        assert_eq!(feed.offer(&[1.0; 2]), Ok(0));
        feed.end();
        assert_eq!(feed.offer(&[1.0; 2]), Err(FeedError::Ended));
    }
}
