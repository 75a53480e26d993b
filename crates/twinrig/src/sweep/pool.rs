//! Variants spread over threads, rows gathered in the order of their numbers.

use crate::error::Error;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::journal::Journal;
use super::row::Row;
use super::run::Workspace;
use super::study::Study;
use super::together::BATCH;
use runtime::stop::StopHandle;

/// Runs every variant that has no row yet and appends its row to the journal.
/// Every thread takes a few variants at a time, so that none waits long for
/// a slow one.
/// `done` is told each time a row is safe. Pressing `stop` ends it behind the
/// variants that are under way.
pub fn run_all(
    study: &Study,
    threads: usize,
    journal: &mut Journal,
    rows: &mut BTreeMap<u64, Row>,
    stop: &StopHandle,
    mut done: impl FnMut(&Row),
) -> Result<(), Error> {
    let open: Vec<u64> =
        (1..=study.spec().variants()).filter(|index| !rows.contains_key(index)).collect();
    let next = AtomicUsize::new(0);
    let threads = threads.clamp(1, open.len().max(1));
    // Small enough that no thread stands idle while others have more than one left.
    let batch = open.len().div_ceil(threads).clamp(1, BATCH);
    let open: Vec<&[u64]> = open.chunks(batch).collect();
    // A few rows may wait for the disk; more would only fill the memory.
    let (sender, receiver) = mpsc::sync_channel(4 * threads);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, open) = (sender.clone(), &next, &open);
            scope.spawn(move || {
                let mut workspace = Workspace::default();
                while let Some(some) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if stop.presses() > 0 {
                        return;
                    }
                    for row in study.run_some(some, &mut workspace) {
                        if sender.send(row).is_err() {
                            // Nobody takes rows any more.
                            return;
                        }
                    }
                }
            });
        }
        // The threads hold the only senders: when they end, so does the loop.
        drop(sender);
        let gather = || -> Result<(), Error> {
            for row in receiver {
                let row = row?;
                journal.append(&row)?;
                done(&row);
                rows.insert(row.variant.index, row);
            }
            if stop.presses() > 0 { Err(Error::Stopped) } else { Ok(()) }
        };
        gather()
    })
}
