//! The tick's side of the recorder allocates nothing, not even when frames are lost.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use runtime::record::{Ending, Options, Pushed, Recorder};

thread_local! {
    /// Of this thread alone: the writer may allocate as it likes.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

fn count() {
    // A thread that is ending has no counter any more, and is not the one under test.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn calls() -> u64 {
    CALLS.with(Cell::get)
}

#[test]
fn push_allocates_nothing_even_when_the_ring_is_full() {
    let before = calls();
    drop(std::hint::black_box(vec![1.0_f64; 10]));
    assert_eq!(calls(), before + 2, "the counter counts");

    let folder = tempfile::tempdir().unwrap();
    // A ring this small overflows however fast the writer is.
    let options = Options { ring_frames: 8, ..Options::rehearsal() };
    let path = folder.path().join("record.arrow");
    let (mut sink, handle) =
        Recorder::create(&path, &common::header(), &common::channels(), vec![], &options).unwrap();
    let (mut stored, mut lost) = (0, 0);
    let before = calls();
    for tick in 0..200_000 {
        match sink.push(&[f64::from(tick), 1.0, 0.0]) {
            Pushed::Stored => stored += 1,
            Pushed::Lost => lost += 1,
        }
    }
    sink.push(&[1.0]);
    let spent = calls() - before;
    assert_eq!(spent, 0, "{spent} allocations in {stored} stored and {lost} lost frames");
    assert!(stored > 0 && lost > 0, "{stored} stored, {lost} lost");

    let summary = handle.finish(Ending { ticks: 200_001, trip: None }).unwrap();
    assert_eq!((summary.frames, summary.frames_lost), (stored, lost + 1));
    assert!(!summary.is_complete());
}
