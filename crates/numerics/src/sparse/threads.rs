//! How many threads large matrices get.
//!
//! Work is cut into pieces that do not depend on the number of threads, and each
//! piece is computed by one thread in one order. So results have the same bits on
//! one core and on many.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

thread_local! {
    static COUNT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs `work` with this many threads for factors, solutions and products of
/// large matrices. Otherwise there is one for each core the process may run on.
pub fn with_threads<T>(count: usize, work: impl FnOnce() -> T) -> T {
    /// Gives the old number back, also when `work` panics.
    struct Restore(Option<usize>);
    impl Drop for Restore {
        fn drop(&mut self) {
            COUNT.set(self.0);
        }
    }
    let _restore = Restore(COUNT.replace(Some(count.max(1))));
    work()
}

/// Threads to use now.
pub(super) fn threads() -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    COUNT.get().unwrap_or_else(cores)
}

/// Hands the pieces out, first come first served, to as many threads as there are.
pub fn parallel_for<P: Send>(pieces: impl IntoIterator<Item = P>, work: impl Fn(P) + Sync) {
    let mut pieces = pieces.into_iter().collect::<Vec<_>>();
    let helpers = threads().min(pieces.len()).saturating_sub(1);
    if helpers == 0 {
        pieces.into_iter().for_each(work);
        return;
    }
    pieces.reverse();
    let pieces = Mutex::new(pieces);
    let take = || pieces.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let labour = || {
        while let Some(piece) = take() {
            work(piece);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|| with_threads(1, labour));
        }
        with_threads(1, labour);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_piece_is_done_once_by_any_number_of_threads() {
        for count in [1, 2, 7] {
            let done: Vec<AtomicUsize> = (0..50).map(|_| AtomicUsize::new(0)).collect();
            with_threads(count, || {
                assert_eq!(threads(), count);
                parallel_for(&done, |count| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
            });
            assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
        parallel_for(Vec::<usize>::new(), |_| unreachable!("there is nothing to do"));
    }
}
