//! Those who look on, each with a queue of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most values that wait for one client.
const MOST_WAITING: usize = 1 << 17;

/// Frames that wait for one client.
pub(super) struct Watcher {
    queue: Mutex<Queue>,
    ready: Condvar,
}

struct Queue {
    values: VecDeque<f64>,
    every: u32,
    until: u32,
    dropped: u64,
    /// No frame follows.
    closed: bool,
}

/// What a client takes from its queue.
pub(super) struct Batch {
    pub(super) values: Vec<f64>,
    pub(super) dropped: u64,
    /// No frame follows these.
    pub(super) last: bool,
}

impl Watcher {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing done under the lock can leave it half-done.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn offer(&self, frame: &[f64]) {
        let mut queue = self.lock();
        queue.until -= 1;
        if queue.until > 0 {
            return;
        }
        queue.until = queue.every;
        if queue.values.len() + frame.len() > MOST_WAITING.max(frame.len()) {
            queue.dropped += 1;
            return;
        }
        queue.values.extend(frame);
        drop(queue);
        self.ready.notify_one();
    }

    /// Counts those of `frames` frames that never came this far and would have
    /// been shown.
    fn skip(&self, frames: u64) {
        let mut queue = self.lock();
        let (every, until) = (u64::from(queue.every), u64::from(queue.until));
        if frames < until {
            queue.until -= frames as u32;
            return;
        }
        let beyond = frames - until;
        queue.dropped += 1 + beyond / every;
        queue.until = queue.every - (beyond % every) as u32;
    }

    /// Waits a while for frames and takes at most `most` values.
    pub(super) fn take(&self, most: usize, patience: Duration) -> Batch {
        let queue = self.lock();
        let empty = |queue: &mut Queue| queue.values.is_empty() && !queue.closed;
        let waited = self.ready.wait_timeout_while(queue, patience, empty);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let count = queue.values.len().min(most);
        Batch {
            values: queue.values.drain(..count).collect(),
            dropped: queue.dropped,
            last: queue.closed && queue.values.is_empty(),
        }
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Watchers {
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    each: Vec<Arc<Watcher>>,
    closed: bool,
}

impl Watchers {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more, who wants one frame in `every`.
    pub(super) fn join(&self, every: u32) -> Arc<Watcher> {
        let mut all = self.lock();
        let watcher = Arc::new(Watcher {
            queue: Mutex::new(Queue {
                values: VecDeque::new(),
                every: every.max(1),
                until: 1,
                dropped: 0,
                closed: all.closed,
            }),
            ready: Condvar::new(),
        });
        all.each.push(Arc::clone(&watcher));
        watcher
    }

    /// One less.
    pub(super) fn leave(&self, watcher: &Arc<Watcher>) {
        self.lock().each.retain(|other| !Arc::ptr_eq(other, watcher));
    }

    /// Tells each of frames that found no room on their way from the tick.
    pub(super) fn skip(&self, frames: u64) {
        self.lock().each.iter().for_each(|watcher| watcher.skip(frames));
    }

    /// Hands a frame to each.
    pub(super) fn offer(&self, frame: &[f64]) {
        self.lock().each.iter().for_each(|watcher| watcher.offer(frame));
    }

    /// No frame follows.
    pub(super) fn close(&self) {
        let mut all = self.lock();
        all.closed = true;
        for watcher in &all.each {
            watcher.lock().closed = true;
            watcher.ready.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shown and skipped frames are one in three, wherever the gaps are.
    #[test]
    fn frames_that_never_came_are_counted_as_they_would_have_been_shown() {
        let watchers = Watchers::default();
        let third = watchers.join(3);
        let (mut number, mut shown) = (0u64, Vec::new());
        for gap in [0, 1, 2, 3, 4, 10, 0, 7] {
            watchers.skip(gap);
            number += gap;
            for _ in 0..5 {
                watchers.offer(&[number as f64]);
                number += 1;
            }
        }
        let batch = third.take(usize::MAX, Duration::ZERO);
        shown.extend(batch.values);
        assert!(shown.iter().all(|frame| frame % 3.0 == 0.0), "{shown:?}");
        assert_eq!(shown.len() as u64 + batch.dropped, number.div_ceil(3));
    }

    #[test]
    fn who_does_not_take_loses_frames_and_is_told_how_many() {
        let watchers = Watchers::default();
        let (slow, thin) = (watchers.join(1), watchers.join(10));
        let frame = [1.0; 64];
        let frames = 3 * MOST_WAITING / 64;
        for _ in 0..frames {
            watchers.offer(&frame);
        }
        let batch = thin.take(usize::MAX, Duration::ZERO);
        assert_eq!((batch.values.len() / 64, batch.dropped), (frames.div_ceil(10), 0));
        let batch = slow.take(640, Duration::ZERO);
        assert_eq!((batch.values.len(), batch.dropped), (640, (frames - MOST_WAITING / 64) as u64));
        watchers.close();
        assert!(!slow.take(640, Duration::ZERO).last, "what waits is still delivered");
        assert!(slow.take(usize::MAX, Duration::ZERO).last);
        watchers.leave(&slow);
        assert_eq!(watchers.lock().each.len(), 1);
        assert!(watchers.join(1).take(1, Duration::from_secs(60)).last, "too late");
    }
}
