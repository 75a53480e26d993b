//! Rings between the tick and other threads.

use rtrb::{Consumer, Producer, RingBuffer};

/// A ring for so many values whose memory has been touched, so that the tick meets no
/// page fault in it.
pub(crate) fn touched_ring(values: usize) -> (Producer<f64>, Consumer<f64>) {
    let (mut producer, mut consumer) = RingBuffer::new(values);
    if let Ok(chunk) = producer.write_chunk(values) {
        chunk.commit_all();
    }
    if let Ok(chunk) = consumer.read_chunk(values) {
        chunk.commit_all();
    }
    (producer, consumer)
}
