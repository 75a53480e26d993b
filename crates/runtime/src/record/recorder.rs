//! The recorder: from the tick's frames to a record on disk.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use model::channel::Channel;
use rtrb::{Consumer, Producer, RingBuffer};

use super::output::{Gather, Output};
use super::schema::{Storage, data_schema};
use super::summary::summary_batch;
use super::writer::{Layout, Progress, Writer, Written};
use super::{EventNote, FrameSink, Header, Record, RecordError, Summary, TimingNote, TripNote};

/// The ring and the batch each stay below this, however wide the frames are.
const MAX_VALUES: usize = 32 << 20;

/// What a record must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A killed process: flushed frames are with the operating system.
    Kill,
    /// A power cut: flushed frames are on the disk.
    PowerLoss,
}

/// What happens to a file of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the recorder reports an error.
    Keep,
    /// It is removed first, unless it is the record of a real test.
    Replace,
}

/// How a record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Frames the ring holds while the writer is busy; fewer if the ring would
    /// exceed 256 MiB.
    pub ring_frames: usize,
    /// Frames in a batch; fewer if a batch would exceed 256 MiB.
    pub batch_frames: usize,
    /// Longest time a frame waits for its batch to fill. `None`: as long as it
    /// takes, which makes the file a function of the frames alone.
    pub flush: Option<Duration>,
    /// What a flushed frame survives.
    pub durability: Durability,
    /// What happens to a file of the same name.
    pub existing: Existing,
}

impl Options {
    /// For virtual time: the same frames give the same bytes, and a rehearsal
    /// may replace the one before.
    pub fn rehearsal() -> Self {
        Self {
            ring_frames: 4096,
            batch_frames: 8192,
            flush: None,
            durability: Durability::Kill,
            existing: Existing::Replace,
        }
    }

    /// For a real test at `frames_per_s`: a ring of eight seconds, a flush to
    /// the disk each second, and no record ever overwritten.
    pub fn real_time(frames_per_s: f64) -> Self {
        // A float-to-integer cast saturates, and takes NaN to zero.
        let second = (frames_per_s.ceil() as usize).clamp(1, MAX_VALUES);
        Self {
            ring_frames: (8 * second).max(1024),
            batch_frames: second.clamp(1, 16_384),
            flush: Some(Duration::from_secs(1)),
            durability: Durability::PowerLoss,
            existing: Existing::Keep,
        }
    }
}

/// How the run ended, as far as the recorder cannot know.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// Ticks done.
    pub ticks: u64,
    /// The trip, if one occurred.
    pub trip: Option<TripNote>,
}

/// Makes records.
#[derive(Debug)]
pub struct Recorder;

impl Recorder {
    /// Creates the file with its header and starts the writer's thread.
    ///
    /// `channels` are the values of a frame, in order. `extra` are columns known
    /// beforehand, one value per frame pushed (lost ones included); past their
    /// end they read NaN. They cost the tick nothing.
    pub fn create(
        path: impl AsRef<Path>,
        header: &Header,
        channels: &[Channel],
        extra: Vec<(Channel, Vec<f64>)>,
        options: &Options,
    ) -> Result<(FrameSink, RecorderHandle), RecordError> {
        let path = path.as_ref().to_path_buf();
        if channels.is_empty() {
            return Err(RecordError::NoChannels);
        }
        let all: Vec<&Channel> =
            channels.iter().chain(extra.iter().map(|(channel, _)| channel)).collect();
        let schema = Arc::new(data_schema(header, &all)?);
        let storage = all.into_iter().map(Storage::of).collect::<Vec<_>>();
        let layout = Layout {
            schema,
            width: channels.len(),
            batch_frames: options.batch_frames.clamp(1, MAX_VALUES / storage.len()),
            storage,
            extra: extra.into_iter().map(|(_, values)| values).collect(),
            flush: options.flush,
            durability: options.durability,
        };

        let file = open(&path, options.existing)?;
        let (producer, consumer) = ring(channels.len() + 1, options.ring_frames);
        let lost = Arc::new(AtomicU64::new(0));
        let progress = Arc::new(Progress {
            stop: AtomicBool::new(false),
            frames: AtomicU64::new(0),
            lost: Arc::clone(&lost),
        });
        let writer = Writer::new(file, consumer, Arc::clone(&progress), layout)
            .map_err(|source| RecordError::Create { path: path.clone(), source })?;
        let thread = thread::Builder::new()
            .name("recorder".into())
            .spawn(move || writer.run())
            .map_err(|source| RecordError::Thread { path: path.clone(), source })?;
        let sink = FrameSink::new(producer, channels.len(), lost, thread.thread().clone());
        let handle = RecorderHandle {
            path,
            progress,
            durability: options.durability,
            events: Vec::new(),
            timing: None,
            thread: Some(thread),
        };
        Ok((sink, handle))
    }
}

/// The operator's side of a running recorder. Dropped without
/// [`finish`](Self::finish), it leaves a readable record without a summary.
#[derive(Debug)]
pub struct RecorderHandle {
    path: PathBuf,
    progress: Arc<Progress>,
    durability: Durability,
    events: Vec<EventNote>,
    timing: Option<TimingNote>,
    thread: Option<JoinHandle<Written<File>>>,
}

/// Events kept in a summary; a loop's own log is shorter.
const MOST_EVENTS: usize = 1024;

impl RecorderHandle {
    /// The record's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Frames safely in the file so far.
    pub fn frames_written(&self) -> u64 {
        self.progress.frames.load(Ordering::Relaxed)
    }

    /// Frames lost so far, to a full ring or a failed write.
    pub fn frames_lost(&self) -> u64 {
        self.progress.lost.load(Ordering::Relaxed)
    }

    /// Adds an event to the summary, in the order of time. Beyond a thousand
    /// none is kept.
    pub fn note(&mut self, event: EventNote) {
        if self.events.len() < MOST_EVENTS {
            let later = |known: &EventNote| known.time_s <= event.time_s;
            let place = self.events.partition_point(later);
            self.events.insert(place, event);
        }
    }

    /// Adds to the summary how punctual the run was.
    pub fn note_timing(&mut self, timing: TimingNote) {
        self.timing = Some(timing);
    }

    /// Writes the frames that are left and the summary, and closes the record.
    /// Call it when the last tick is over: frames pushed later are not recorded.
    pub fn finish(mut self, ending: Ending) -> Result<Summary, RecordError> {
        let Some(Ok(written)) = self.stop() else {
            return Err(RecordError::WriterPanicked { path: self.path.clone() });
        };
        let summary = Summary {
            ticks: ending.ticks,
            frames: self.frames_written(),
            frames_lost: self.frames_lost(),
            trip: ending.trip,
            events: std::mem::take(&mut self.events),
            timing: self.timing.take(),
        };
        let closed = match written.failure {
            Some(error) => Err(error),
            None => close(written.stream, &summary, self.durability),
        };
        match closed {
            Ok(()) => Ok(summary),
            Err(source) => Err(RecordError::Write {
                path: self.path.clone(),
                frames: self.frames_written(),
                lost: self.frames_lost(),
                summary: Box::new(summary),
                source,
            }),
        }
    }

    fn stop(&mut self) -> Option<thread::Result<Written<File>>> {
        let thread = self.thread.take()?;
        self.progress.stop.store(true, Ordering::Release);
        thread.thread().unpark();
        Some(thread.join())
    }
}

impl Drop for RecorderHandle {
    fn drop(&mut self) {
        // Nothing is left to report to; the missing summary tells the reader.
        let _ = self.stop();
    }
}

/// Ends the stream of frames and appends the stream with the summary.
fn close<O: Output>(
    stream: StreamWriter<Gather<O>>,
    summary: &Summary,
    durability: Durability,
) -> Result<(), ArrowError> {
    let output = stream.into_inner()?;
    let batch = summary_batch(summary)?;
    let mut stream = StreamWriter::try_new(output, &batch.schema())?;
    stream.write(&batch)?;
    let mut output = stream.into_inner()?;
    if durability == Durability::PowerLoss {
        output.sync()?;
    }
    Ok(())
}

fn open(path: &Path, existing: Existing) -> Result<File, RecordError> {
    if existing == Existing::Replace {
        // A rehearsal carries no start time; a real test cannot be repeated.
        if Record::read_header(path).is_ok_and(|header| !header.started.is_empty()) {
            return Err(RecordError::Exists { path: path.to_path_buf() });
        }
        // Removed, not truncated: whoever reads the old record keeps it, and
        // ext4 would wait for the disk when a truncated file is closed. A file
        // that cannot be removed shows in the next call.
        let _ = fs::remove_file(path);
    }
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|source| {
        match source.kind() {
            io::ErrorKind::AlreadyExists => RecordError::Exists { path: path.to_path_buf() },
            _ => RecordError::Create { path: path.to_path_buf(), source: source.into() },
        }
    })
}

/// A ring of whole frames whose memory has been touched, so that the tick meets
/// no page fault in it.
fn ring(stride: usize, frames: usize) -> (Producer<f64>, Consumer<f64>) {
    let values = stride * frames.clamp(1, (MAX_VALUES / stride).max(1));
    let (mut producer, mut consumer) = RingBuffer::new(values);
    if let Ok(chunk) = producer.write_chunk(values) {
        chunk.commit_all();
    }
    if let Ok(chunk) = consumer.read_chunk(values) {
        chunk.commit_all();
    }
    (producer, consumer)
}
