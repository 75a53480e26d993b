//! The recorder: from the tick's frames to a record on disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::channel::Channel;

use super::schema::data_schema;
use super::writer::{Progress, Writer};
use super::{EventNote, FrameSink, Header, Record, RecordError, Summary, TimingNote, TripNote};
use crate::ring::touched_ring;
use crate::world::{Disk, DiskFile, Process, Running, World};

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
    /// A record on the system's disk, written by a thread of its own: see
    /// [`create_in`](Self::create_in).
    pub fn create(
        path: impl AsRef<Path>,
        header: &Header,
        channels: &[Channel],
        extra: Vec<(Channel, Vec<f64>)>,
        options: &Options,
    ) -> Result<(FrameSink, RecorderHandle), RecordError> {
        Self::create_in(&World::system(), path, header, channels, extra, options)
    }

    /// Creates the file with its header and starts the writer.
    ///
    /// `channels` are the values of a frame, in order. `extra` are columns known
    /// beforehand, one value per frame pushed (lost ones included); past their
    /// end they read NaN. They cost the tick nothing.
    pub fn create_in(
        world: &World,
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
        let options = Options {
            batch_frames: options.batch_frames.clamp(1, MAX_VALUES / all.len()),
            ..*options
        };
        let extra = extra.into_iter().map(|(_, values)| values).collect();

        let file = open(&*world.disk, &path, options.existing)?;
        let stride = channels.len() + 1;
        let frames = options.ring_frames.clamp(1, (MAX_VALUES / stride).max(1));
        let (producer, consumer) = touched_ring(stride * frames);
        let progress = Arc::<Progress>::default();
        let (now_ns, shared) = (world.clock.now_ns(), Arc::clone(&progress));
        let writer = Writer::new(now_ns, file, consumer, shared, schema, extra, options)
            .map_err(|source| RecordError::Create(path.clone(), source))?;
        let writer = Arc::new(Mutex::new(Some(writer)));
        let running = world
            .threads
            .spawn("recorder", Box::new(Writing(Arc::clone(&writer))))
            .map_err(|source| RecordError::Thread(path.clone(), source))?;
        let thread = running.thread.as_ref().map(|thread| thread.thread().clone());
        let (width, clock) = (channels.len(), Arc::clone(&world.clock));
        let sink = FrameSink::new(producer, width, Arc::clone(&progress), clock, thread);
        let running = Some(running);
        let handle =
            RecorderHandle { path, progress, events: Vec::new(), timing: None, writer, running };
        Ok((sink, handle))
    }
}

/// The writer as a process, until who ends the record takes it away.
struct Writing(Arc<Mutex<Option<Writer>>>);

impl Process for Writing {
    fn poll(&mut self, now_ns: u64) {
        if let Some(writer) = lock(&self.0).as_mut() {
            writer.poll(now_ns);
        }
    }

    fn next_timeout_ns(&self) -> u64 {
        lock(&self.0).as_ref().map_or(u64::MAX, Writer::next_timeout_ns)
    }

    fn is_over(&self) -> bool {
        lock(&self.0).is_none()
    }
}

fn lock(writer: &Mutex<Option<Writer>>) -> MutexGuard<'_, Option<Writer>> {
    // A writer that failed in its thread is found out when that is joined.
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The operator's side of a running recorder. Dropped without
/// [`finish`](Self::finish), it leaves a readable record without a summary.
pub struct RecorderHandle {
    path: PathBuf,
    progress: Arc<Progress>,
    events: Vec<EventNote>,
    timing: Option<TimingNote>,
    writer: Arc<Mutex<Option<Writer>>>,
    running: Option<Running>,
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
        let Some(writer) = self.stop() else {
            return Err(RecordError::WriterPanicked(self.path.clone()));
        };
        let summary = Summary {
            ticks: ending.ticks,
            frames: self.frames_written(),
            frames_lost: self.frames_lost(),
            trip: ending.trip,
            events: std::mem::take(&mut self.events),
            timing: self.timing.take(),
        };
        match writer.close(&summary) {
            Ok(()) => Ok(summary),
            Err(source) => {
                let (path, summary) = (self.path.clone(), Box::new(summary));
                Err(RecordError::Write { path, summary, source })
            }
        }
    }

    /// Ends the writer's work and writes what is left.
    fn stop(&mut self) -> Option<Writer> {
        let running = self.running.take()?;
        let writer = lock(&self.writer).take();
        let mut writer = writer.filter(|_| running.join())?;
        writer.flush();
        Some(writer)
    }
}

impl Drop for RecorderHandle {
    fn drop(&mut self) {
        // Nothing is left to report to; the missing summary tells the reader.
        let _ = self.stop();
    }
}

fn open(
    disk: &dyn Disk,
    path: &Path,
    existing: Existing,
) -> Result<Box<dyn DiskFile>, RecordError> {
    if existing == Existing::Replace {
        // A rehearsal carries no start time; a real test cannot be repeated.
        if Record::header_in(disk, path).is_ok_and(|header| !header.started.is_empty()) {
            return Err(RecordError::Exists(path.into()));
        }
        // Removed, not truncated: whoever reads the old record keeps it, and
        // ext4 would wait for the disk when a truncated file is closed. A file
        // that cannot be removed shows in the next call.
        let _ = disk.remove(path);
    }
    disk.create(path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => RecordError::Exists(path.into()),
        _ => RecordError::Create(path.into(), source.into()),
    })
}
