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
use crate::world::{self, DiskFile, Running, World};

/// The ring and the batch each stay below this, however wide the frames are.
const MAX_VALUES: usize = 32 << 20;

/// What a record is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It may be made again: a file of the same name is removed first, unless it is the
    /// record of a real test. Flushed frames survive a killed process.
    Rehearsal,
    /// It cannot be repeated: a file of the same name stays, and the recorder reports an
    /// error. Flushed frames survive a power cut.
    RealTest,
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
    /// What it is for.
    pub purpose: Purpose,
}

impl Options {
    /// For virtual time: the same frames give the same bytes, and a rehearsal
    /// may replace the one before.
    pub fn rehearsal() -> Self {
        Self { ring_frames: 4096, batch_frames: 8192, flush: None, purpose: Purpose::Rehearsal }
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
            purpose: Purpose::RealTest,
        }
    }
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
        Self::create_in(&world::system(), path, header, channels, extra, options)
    }

    /// Creates the file with its header and starts the writer.
    ///
    /// `channels` are the values of a frame, in order. `extra` are columns known
    /// beforehand, one value per frame pushed (lost ones included); past their
    /// end they read NaN. They cost the tick nothing.
    pub fn create_in(
        world: &Arc<dyn World>,
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

        let file = open(&**world, &path, options.purpose)?;
        let stride = channels.len() + 1;
        let frames = options.ring_frames.clamp(1, (MAX_VALUES / stride).max(1));
        let (producer, consumer) = touched_ring(stride * frames);
        let progress = Arc::<Progress>::default();
        let (now_ns, shared) = (world.now_ns(), Arc::clone(&progress));
        let writer = Writer::new(now_ns, file, consumer, shared, schema, extra, options)
            .map_err(|source| RecordError::Create(path.clone(), source))?;
        let writer = Arc::new(Mutex::new(Some(writer)));
        let at_work = Arc::clone(&writer);
        // Until who ends the record takes the writer away.
        let process = move |now_ns| lock(&at_work).as_mut().map(|writer| writer.poll(now_ns));
        let running = world
            .spawn("recorder", Box::new(process))
            .map_err(|source| RecordError::Thread(path.clone(), source))?;
        let thread = running.thread.as_ref().map(|thread| thread.thread().clone());
        let (width, clock) = (channels.len(), Arc::<dyn World>::clone(world));
        let sink = FrameSink::new(producer, width, Arc::clone(&progress), clock, thread);
        let (summary, running) = (Summary::default(), Some(running));
        let world = Arc::clone(world);
        Ok((sink, RecorderHandle { world, path, progress, summary, writer, running }))
    }
}

fn lock(writer: &Mutex<Option<Writer>>) -> MutexGuard<'_, Option<Writer>> {
    // A writer that failed in its thread is found out when that is joined.
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The operator's side of a running recorder. Dropped without
/// [`finish`](Self::finish), it leaves a readable record without a summary.
pub struct RecorderHandle {
    world: Arc<dyn World>,
    path: PathBuf,
    progress: Arc<Progress>,
    /// As far as it is known.
    summary: Summary,
    writer: Arc<Mutex<Option<Writer>>>,
    running: Option<Running>,
}

/// Events kept in a summary; a loop's own log is shorter.
const MOST_EVENTS: usize = 1024;

impl RecorderHandle {
    /// Frames safely in the file so far.
    pub fn frames_written(&self) -> u64 {
        self.progress.frames.load(Ordering::Relaxed)
    }

    /// Adds an event to the summary, in the order of time. Beyond a thousand
    /// none is kept.
    pub fn note(&mut self, event: EventNote) {
        let events = &mut self.summary.events;
        if events.len() < MOST_EVENTS {
            let place = events.partition_point(|known| known.time_s <= event.time_s);
            events.insert(place, event);
        }
    }

    /// Adds to the summary how punctual the run was.
    pub fn note_timing(&mut self, timing: TimingNote) {
        self.summary.timing = Some(timing);
    }

    /// Writes the frames that are left and the summary, and closes the record: so many
    /// ticks were done, and this trip occurred. Call it when the last tick is over: frames
    /// pushed later are not recorded.
    pub fn finish(mut self, ticks: u64, trip: Option<TripNote>) -> Result<Summary, RecordError> {
        let Some(writer) = self.stop() else {
            return Err(RecordError::WriterPanicked(self.path.clone()));
        };
        let summary = Summary {
            ticks,
            trip,
            frames: self.frames_written(),
            frames_lost: self.progress.lost.load(Ordering::Relaxed),
            ..std::mem::take(&mut self.summary)
        };
        match writer.close(&summary) {
            Ok(()) => Ok(summary),
            Err(source) => {
                let (path, summary) = (self.path.clone(), Box::new(summary));
                Err(RecordError::Write { path, summary, source })
            }
        }
    }

    /// No test came of it: the record that was begun goes.
    pub fn abandon(mut self) {
        let _ = self.stop();
        let _ = self.world.remove(&self.path);
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
    world: &dyn World,
    path: &Path,
    purpose: Purpose,
) -> Result<Box<dyn DiskFile>, RecordError> {
    if purpose == Purpose::Rehearsal {
        // A rehearsal carries no start time; a real test cannot be repeated.
        if Record::header_in(world, path).is_ok_and(|header| !header.started.is_empty()) {
            return Err(RecordError::Exists(path.into()));
        }
        // Removed, not truncated: whoever reads the old record keeps it, and
        // ext4 would wait for the disk when a truncated file is closed. A file
        // that cannot be removed shows in the next call.
        let _ = world.remove(path);
    }
    world.create(path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => RecordError::Exists(path.into()),
        _ => RecordError::Create(path.into(), source.into()),
    })
}
