//! Cost of recording: the tick's side alone, and the whole way to the page cache.

#![allow(clippy::unwrap_used, missing_docs)]

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use model::channel::Channel;
use runtime::record::{FrameSink, Header, Options, Recorder, RecorderHandle, Role};

const CHANNELS: usize = 20;
/// Forty seconds at 4096 Hz.
const FRAMES: u64 = 163_840;
/// Frames pushed between two pauses when the tick's side is timed alone.
const BURST: usize = 2048;

fn start(folder: &tempfile::TempDir, options: &Options) -> (FrameSink, RecorderHandle) {
    let header = Header {
        role: Role::Loop,
        interface: vec![],
        version: String::new(),
        title: String::new(),
        experiment_name: String::new(),
        experiment: String::new(),
        inputs: vec![],
        seed: 0,
        rate_hz: 4096.0,
        every: 1,
        started: String::new(),
        machine: vec![],
        trip_codes: vec![],
        prediction: vec![],
    };
    let mut channels: Vec<_> =
        (2..CHANNELS).map(|index| Channel::new(format!("force.{index}"), "N", "")).collect();
    channels.push(Channel::new("phase", "", ""));
    channels.push(Channel::new("trip", "", ""));
    Recorder::create(folder.path().join("record.arrow"), &header, &channels, vec![], options)
        .unwrap()
}

/// `push` alone: the ring is emptied while the clock stands.
fn push(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let frame: Vec<f64> = (0..CHANNELS).map(|index| index as f64).collect();
    let options = Options { ring_frames: 4 * BURST, batch_frames: BURST, ..Options::rehearsal() };
    criterion.bench_function("push, 20 channels", |bencher| {
        bencher.iter_custom(|count| {
            let (mut sink, handle) = start(&folder, &options);
            let mut spent = Duration::ZERO;
            let mut left = count;
            while left > 0 {
                let burst = left.min(BURST as u64);
                let begin = Instant::now();
                for _ in 0..burst {
                    sink.push(std::hint::black_box(&frame));
                }
                spent += begin.elapsed();
                left -= burst;
                // At most an unfinished batch stays behind, so the next burst fits.
                while handle.frames_written() + BURST as u64 <= count - left {
                    sink.wait_for_room();
                    std::thread::yield_now();
                }
            }
            assert_eq!(sink.frames_lost(), 0);
            spent
        });
    });
}

/// A whole rehearsal's record, from creation to the closed file.
fn whole(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let mut frame: Vec<f64> = (0..CHANNELS).map(|index| index as f64).collect();
    let mut group = criterion.benchmark_group("record");
    group.throughput(Throughput::Elements(FRAMES)).sample_size(30);
    group.bench_function("163840 frames, 20 channels", |bencher| {
        bencher.iter(|| {
            let (mut sink, handle) = start(&folder, &Options::rehearsal());
            for tick in 0..FRAMES {
                frame[0] = tick as f64;
                sink.wait_for_room();
                sink.push(&frame);
            }
            handle.finish(FRAMES, None).unwrap()
        });
    });
    group.finish();
}

criterion_group!(benches, push, whole);
criterion_main!(benches);
