//! The writer: drains the ring, turns frames into columns and columns into Arrow
//! batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt8Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use rtrb::Consumer;

use super::Summary;
use super::recorder::{Options, Purpose};
use super::summary::summary_batch;
use crate::world::DiskFile;

/// How long the writer sleeps when the ring is nearly empty, ns. The tick cannot
/// wake it (that would be a system call), so the ring must hold this long.
const NAP_NS: u64 = 5_000_000;
/// Frames turned at once: small enough that a tile stays in the first cache.
const TILE_FRAMES: usize = 64;

/// How far the record has come, for all to see.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Frames safely handed to the system.
    pub(super) frames: AtomicU64,
    /// Frames lost to a full ring or a failed write.
    pub(super) lost: AtomicU64,
}

/// Takes frames from the ring to the file whenever it is asked, and says when it
/// wants to be asked again.
pub(super) struct Writer {
    ring: Consumer<f64>,
    progress: Arc<Progress>,
    schema: SchemaRef,
    /// Encodes into memory; from there whole batches go to the file.
    stream: StreamWriter<Vec<u8>>,
    file: Box<dyn DiskFile>,
    /// Bytes up to the end of the last batch in the file.
    saved: u64,
    /// Values in a frame; in the ring one more, its number.
    width: usize,
    /// The frame's channels, then the ones known beforehand.
    columns: Vec<Vec<f64>>,
    extra: Vec<Vec<f64>>,
    options: Options,
    now_ns: u64,
    flushed_ns: u64,
    failure: Option<ArrowError>,
}

impl Writer {
    /// Writes the header, so that whatever fails at once fails before the run. The
    /// last channels of the schema are `extra`, known beforehand.
    pub(super) fn new(
        now_ns: u64,
        file: Box<dyn DiskFile>,
        ring: Consumer<f64>,
        progress: Arc<Progress>,
        schema: SchemaRef,
        extra: Vec<Vec<f64>>,
        options: Options,
    ) -> Result<Self, ArrowError> {
        let count = schema.fields().len();
        let mut writer = Self {
            ring,
            progress,
            stream: StreamWriter::try_new(Vec::new(), &schema)?,
            schema,
            file,
            saved: 0,
            width: count - extra.len(),
            columns: vec![Vec::new(); count],
            extra,
            options,
            now_ns,
            flushed_ns: now_ns,
            failure: None,
        };
        writer.save()?;
        Ok(writer)
    }

    /// Takes what is in the ring; writes a batch that is full or has waited long
    /// enough. Says when it wants to be asked again.
    pub(super) fn poll(&mut self, now_ns: u64) -> u64 {
        self.now_ns = now_ns;
        let busy = self.ring.buffer().capacity() / (self.width + 1) / 4;
        let drained = self.drain();
        let waited = Duration::from_nanos(now_ns.saturating_sub(self.flushed_ns));
        if self.options.flush.is_some_and(|period| waited >= period) {
            self.write_batch();
        }
        if drained < busy { now_ns + NAP_NS } else { now_ns }
    }

    /// Writes the frames that are left.
    pub(super) fn flush(&mut self) {
        self.drain();
        self.write_batch();
    }

    /// Ends the stream of frames and appends the stream with the summary.
    pub(super) fn close(mut self, summary: &Summary) -> Result<(), ArrowError> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let batch = summary_batch(summary)?;
        self.stream = StreamWriter::try_new(self.stream.into_inner()?, &batch.schema())?;
        self.stream.write(&batch)?;
        self.stream.finish()?;
        self.save()
    }

    /// Takes the frames that are in the ring now; returns their number.
    fn drain(&mut self) -> usize {
        let found = self.ring.slots() / (self.width + 1);
        let mut left = found;
        while left > 0 {
            let count = left.min(self.options.batch_frames - self.rows()).min(TILE_FRAMES);
            self.turn(count);
            left -= count;
            if self.rows() == self.options.batch_frames {
                self.write_batch();
            }
        }
        found
    }

    /// Moves `count` frames from the ring into the columns. After a failed write they are
    /// lost: the ring is emptied so that the tick goes on.
    fn turn(&mut self, count: usize) {
        let stride = self.width + 1;
        let Ok(chunk) = self.ring.read_chunk(count * stride) else { return };
        if self.failure.is_some() {
            self.progress.lost.fetch_add(count as u64, Ordering::Relaxed);
            return chunk.commit_all();
        }
        let (first, second) = chunk.as_slices();
        let (of_frame, beforehand) = self.columns.split_at_mut(self.width);
        for frames in [first, second].map(|frames| frames.chunks_exact(stride)) {
            for (index, column) in of_frame.iter_mut().enumerate() {
                column.extend(frames.clone().map(|frame| frame[index + 1]));
            }
            for (column, known) in beforehand.iter_mut().zip(&self.extra) {
                let value = |frame: &[f64]| known.get(frame[0] as usize).copied();
                column.extend(frames.clone().map(|frame| value(frame).unwrap_or(f64::NAN)));
            }
        }
        chunk.commit_all();
    }

    /// Frames in the batch that is being filled.
    fn rows(&self) -> usize {
        self.columns[0].len()
    }

    fn write_batch(&mut self) {
        self.flushed_ns = self.now_ns;
        let rows = self.rows();
        if rows == 0 || self.failure.is_some() {
            return;
        }
        let counted = match self.try_write_batch() {
            Ok(()) => &self.progress.frames,
            Err(error) => {
                // A torn batch would do no harm to a reader; cutting it off is
                // tidier, and no second failure if it cannot be done.
                let _ = self.file.truncate(self.saved);
                self.failure = Some(error);
                &self.progress.lost
            }
        };
        counted.fetch_add(rows as u64, Ordering::Relaxed);
    }

    fn try_write_batch(&mut self) -> Result<(), ArrowError> {
        let arrays = self.columns.iter_mut().zip(self.schema.fields()).map(|(column, field)| {
            let next = Vec::with_capacity(self.options.batch_frames);
            let values = std::mem::replace(column, next);
            match field.data_type() {
                DataType::UInt8 => {
                    let codes = values.into_iter().map(|value| value as u8);
                    Arc::new(UInt8Array::from_iter_values(codes)) as ArrayRef
                }
                _ => Arc::new(Float64Array::from(values)),
            }
        });
        let batch = RecordBatch::try_new(self.schema.clone(), arrays.collect())?;
        self.stream.write(&batch)?;
        self.save()
    }

    /// Hands what is encoded to the file.
    fn save(&mut self) -> Result<(), ArrowError> {
        let bytes = self.stream.get_mut();
        self.file.write_all(bytes)?;
        if self.options.purpose == Purpose::RealTest {
            self.file.sync()?;
        }
        self.saved += bytes.len() as u64;
        bytes.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::super::schema::data_schema;
    use super::super::tests::{channels, header};
    use super::super::{FrameSink, Record};
    use super::*;
    use crate::world::System;

    /// A disk with room for so many bytes.
    struct SmallDisk {
        bytes: Arc<std::sync::Mutex<Vec<u8>>>,
        room: usize,
    }

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut disk = self.bytes.lock().unwrap();
            let count = bytes.len().min(self.room.saturating_sub(disk.len()));
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            disk.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl DiskFile for SmallDisk {
        fn truncate(&mut self, length: u64) -> io::Result<()> {
            self.bytes.lock().unwrap().truncate(length as usize);
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A writer of `width` channels and those that are known beforehand.
    fn writer(
        disk: SmallDisk,
        ring: Consumer<f64>,
        progress: &Arc<Progress>,
        width: usize,
        extra: Vec<Vec<f64>>,
    ) -> Writer {
        let channels = channels(width + extra.len());
        let schema =
            Arc::new(data_schema(&header(), &channels.iter().collect::<Vec<_>>()).unwrap());
        let options = Options { batch_frames: 100, ..Options::rehearsal() };
        Writer::new(0, Box::new(disk), ring, Arc::clone(progress), schema, extra, options).unwrap()
    }

    fn read(bytes: &[u8]) -> Record {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        Record::read(file.path()).unwrap()
    }

    #[test]
    fn columns_known_beforehand_stay_aligned_when_frames_are_lost() {
        let bytes = Arc::default();
        let disk = SmallDisk { bytes: Arc::clone(&bytes), room: usize::MAX };
        let (producer, consumer) = rtrb::RingBuffer::new(2 * 10);
        let progress = Arc::default();
        let known = (0..35).map(|frame| f64::from(frame) * 100.0).collect();
        let mut writer = writer(disk, consumer, &progress, 1, vec![known]);
        let mut sink = FrameSink::new(producer, 1, progress, Arc::new(System), None);
        for burst in 0..3 {
            // Room for ten: of every fifteen frames five are lost.
            for frame in 0..15 {
                sink.push(&[f64::from(15 * burst + frame)]);
            }
            assert_eq!(writer.drain(), 10);
        }
        assert_eq!(sink.frames_lost(), 15);
        writer.flush();
        drop(writer);
        let record = read(&bytes.lock().unwrap());
        assert_eq!(record.columns[0].len(), 30);
        for (&frame, &known) in record.columns[0].iter().zip(&record.columns[1]) {
            assert!(known == frame * 100.0 || frame >= 35.0 && known.is_nan(), "{frame} {known}");
        }
    }

    #[test]
    fn a_full_disk_keeps_whole_batches_and_counts_the_rest() {
        let bytes = Arc::default();
        let disk = SmallDisk { bytes: Arc::clone(&bytes), room: 12_000 };
        let (mut ring, consumer) = rtrb::RingBuffer::new(4 * 1000);
        let progress = Arc::default();
        let mut writer = writer(disk, consumer, &progress, 3, vec![]);
        for frame in 0..1000 {
            ring.push_entire_slice(&[f64::from(frame), 1.0, 2.0, 3.0]).unwrap();
        }
        writer.flush();
        assert!(matches!(writer.failure, Some(ArrowError::IoError(..))));
        let kept = progress.frames.load(Ordering::Relaxed);
        assert!(kept > 0 && kept.is_multiple_of(100), "{kept} frames kept");
        assert_eq!(kept + progress.lost.load(Ordering::Relaxed), 1000);
        assert_eq!(ring.slots(), 4 * 1000, "the ring is emptied all the same");
        drop(writer);
        let record = read(&bytes.lock().unwrap());
        assert_eq!(record.columns[0].len() as u64, kept);
        assert_eq!(record.summary, None);
    }
}
