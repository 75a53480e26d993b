//! The tick's side of the recorder allocates nothing, not even when frames are lost.

use crate::allocations::calls;
use crate::common;

use runtime::record::{Options, Recorder};

#[test]
fn push_allocates_nothing_even_when_the_ring_is_full() {
    let folder = tempfile::tempdir().unwrap();
    // A ring this small overflows however fast the writer is.
    let options = Options { ring_frames: 8, ..Options::rehearsal() };
    let path = folder.path().join("record.arrow");
    let (mut sink, handle) =
        Recorder::create(&path, &common::header(), &common::channels(), vec![], &options).unwrap();
    let before = calls();
    for tick in 0..200_000 {
        sink.push(&[f64::from(tick), 1.0, 0.0]);
    }
    let lost = sink.frames_lost();
    let stored = 200_000 - lost;
    sink.push(&[1.0]);
    sink.push(&[1.0; 8]);
    let spent = calls() - before;
    assert_eq!(spent, 0, "{spent} allocations in {stored} stored and {lost} lost frames");
    assert!(stored > 0 && lost > 0, "{stored} stored, {lost} lost");

    let summary = handle.finish(200_002, None).unwrap();
    assert_eq!((summary.frames, summary.frames_lost), (stored, lost + 2));
    assert!(!summary.is_complete());
}
