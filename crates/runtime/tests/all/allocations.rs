//! Counts what a thread allocates and frees.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Of this thread alone: a recorder's writer may allocate as it likes.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// How often this thread has called the allocator.
pub(crate) fn calls() -> u64 {
    CALLS.with(Cell::get)
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

#[test]
fn the_counter_counts() {
    let before = calls();
    drop(std::hint::black_box(vec![1.0_f64; 10]));
    assert_eq!(calls(), before + 2);
}
