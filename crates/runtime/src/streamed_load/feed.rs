//! The way of a streamed load from the host to the tick: one bounded ring.
//!
//! The host's thread pushes samples through a [`Feed`]; the tick takes them out
//! through a [`StreamedLoad`](super::StreamedLoad). Neither waits
//! for the other. What lies in the ring is all that is ever in memory of a load,
//! however long it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rtrb::Producer;
use thiserror::Error;

use super::{StreamPlan, StreamedLoad};
use crate::ring::touched_ring;

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
    pub(super) over: AtomicBool,
    /// Samples put in.
    fed: AtomicU64,
    /// Samples taken out.
    pub(super) used: AtomicU64,
    /// Ticks without a sample that was due.
    pub(super) starved: AtomicU64,
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
