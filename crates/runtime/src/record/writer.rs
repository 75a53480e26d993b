//! The writer: drains the ring, turns frames into columns and columns into Arrow
//! batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt8Array};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use rtrb::Consumer;

use super::Summary;
use super::output::Gather;
use super::recorder::Durability;
use super::schema::Storage;
use super::summary::summary_batch;
use crate::world::DiskFile;

/// How long the writer sleeps when the ring is nearly empty, ns. The tick cannot
/// wake it (that would be a system call), so the ring must hold this long.
const NAP_NS: u64 = 5_000_000;
/// Frames turned at once: small enough that a tile stays in the first cache.
const TILE_FRAMES: usize = 64;

/// What the recorder's parts share while it runs.
#[derive(Debug)]
pub(super) struct Progress {
    /// Set once, when the run is over.
    pub(super) stop: AtomicBool,
    /// Frames safely handed to the system.
    pub(super) frames: AtomicU64,
    /// Frames lost to a full ring or a failed write.
    pub(super) lost: Arc<AtomicU64>,
}

/// A column of the batch being filled; its memory is used again for the next.
enum Column {
    Float(Vec<f64>),
    Byte(Vec<u8>),
}

impl Column {
    fn new(storage: Storage, rows: usize) -> Self {
        match storage {
            Storage::Float => Self::Float(vec![0.0; rows]),
            Storage::Byte => Self::Byte(vec![0; rows]),
        }
    }

    /// Writes `values` from row `row` on.
    #[inline]
    fn fill(&mut self, row: usize, values: impl Iterator<Item = f64>) {
        match self {
            Self::Float(column) => {
                for (cell, value) in column[row..].iter_mut().zip(values) {
                    *cell = value;
                }
            }
            Self::Byte(column) => {
                for (cell, value) in column[row..].iter_mut().zip(values) {
                    *cell = value as u8;
                }
            }
        }
    }

    fn take(&mut self) -> Buffer {
        match self {
            Self::Float(column) => Buffer::from_vec(std::mem::take(column)),
            Self::Byte(column) => Buffer::from_vec(std::mem::take(column)),
        }
    }

    /// Takes the memory back after the batch is written.
    fn restore(&mut self, buffer: Buffer, rows: usize) {
        match self {
            Self::Float(column) => {
                *column = buffer.into_vec().unwrap_or_else(|_| vec![0.0; rows]);
            }
            Self::Byte(column) => *column = buffer.into_vec().unwrap_or_else(|_| vec![0; rows]),
        }
    }

    fn array(&self, buffer: &Buffer, rows: usize) -> ArrayRef {
        match self {
            Self::Float(_) => {
                Arc::new(Float64Array::new(ScalarBuffer::new(buffer.clone(), 0, rows), None))
            }
            Self::Byte(_) => {
                Arc::new(UInt8Array::new(ScalarBuffer::new(buffer.clone(), 0, rows), None))
            }
        }
    }
}

/// Takes frames from the ring to the file whenever it is asked, and says when it
/// wants to be asked again.
pub(super) struct Writer {
    ring: Consumer<f64>,
    progress: Arc<Progress>,
    schema: SchemaRef,
    stream: StreamWriter<Gather>,
    /// Values in a frame; in the ring one more, its number.
    width: usize,
    /// The frame's channels, then the ones known beforehand.
    columns: Vec<Column>,
    extra: Vec<Vec<f64>>,
    batch_frames: usize,
    rows: usize,
    flush: Option<Duration>,
    now_ns: u64,
    flushed_ns: u64,
    next_ns: u64,
    durability: Durability,
    /// Bytes up to the end of the last complete batch.
    good: u64,
    failure: Option<ArrowError>,
}

/// What the writer needs to know besides its ends.
pub(super) struct Layout {
    pub(super) schema: SchemaRef,
    pub(super) storage: Vec<Storage>,
    pub(super) width: usize,
    pub(super) extra: Vec<Vec<f64>>,
    pub(super) batch_frames: usize,
    pub(super) flush: Option<Duration>,
    pub(super) durability: Durability,
}

impl Writer {
    /// Writes the header, so that whatever fails at once fails before the run.
    pub(super) fn new(
        now_ns: u64,
        output: Box<dyn DiskFile>,
        ring: Consumer<f64>,
        progress: Arc<Progress>,
        layout: Layout,
    ) -> Result<Self, ArrowError> {
        let Layout { schema, storage, width, extra, batch_frames, flush, durability } = layout;
        let mut stream = StreamWriter::try_new(Gather::new(output), &schema)?;
        stream.flush()?;
        let good = stream.get_ref().written();
        Ok(Self {
            ring,
            progress,
            schema,
            stream,
            width,
            columns: storage.into_iter().map(|kind| Column::new(kind, batch_frames)).collect(),
            extra,
            batch_frames,
            rows: 0,
            flush,
            now_ns,
            flushed_ns: now_ns,
            next_ns: now_ns,
            durability,
            good,
            failure: None,
        })
    }

    /// Takes what is in the ring; writes a batch that is full or has waited long
    /// enough.
    pub(super) fn poll(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        let busy = self.ring.buffer().capacity() / (self.width + 1) / 4;
        let drained = self.drain();
        let waited = Duration::from_nanos(now_ns.saturating_sub(self.flushed_ns));
        if self.flush.is_some_and(|period| waited >= period) {
            self.write_batch();
        }
        self.next_ns = if drained < busy { now_ns + NAP_NS } else { now_ns };
    }

    /// When it wants to be asked again.
    pub(super) fn next_timeout_ns(&self) -> u64 {
        self.next_ns
    }

    /// Writes the frames that are left.
    pub(super) fn flush(&mut self) {
        self.drain();
        self.write_batch();
    }

    /// Ends the stream of frames and appends the stream with the summary.
    pub(super) fn close(self, summary: &Summary) -> Result<(), ArrowError> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let batch = summary_batch(summary)?;
        let mut stream = StreamWriter::try_new(self.stream.into_inner()?, &batch.schema())?;
        stream.write(&batch)?;
        let mut output = stream.into_inner()?;
        if self.durability == Durability::PowerLoss {
            output.sync()?;
        }
        Ok(())
    }

    /// Takes the frames that are in the ring now; returns their number.
    fn drain(&mut self) -> usize {
        let stride = self.width + 1;
        let found = self.ring.slots() / stride;
        let mut left = found;
        while left > 0 {
            if self.failure.is_some() {
                self.discard(left);
                break;
            }
            let count = left.min(self.batch_frames - self.rows).min(TILE_FRAMES);
            self.turn(count);
            left -= count;
            if self.rows == self.batch_frames {
                self.write_batch();
            }
        }
        found
    }

    /// Moves `count` frames from the ring into the columns.
    fn turn(&mut self, count: usize) {
        let stride = self.width + 1;
        let Ok(chunk) = self.ring.read_chunk(count * stride) else { return };
        let (first, second) = chunk.as_slices();
        let (of_frame, beforehand) = self.columns.split_at_mut(self.width);
        for frames in [first, second] {
            for (index, column) in of_frame.iter_mut().enumerate() {
                column.fill(self.rows, frames.chunks_exact(stride).map(|frame| frame[index + 1]));
            }
            for (column, known) in beforehand.iter_mut().zip(&self.extra) {
                let value = |frame: &[f64]| known.get(frame[0] as usize).copied();
                let values = frames.chunks_exact(stride).map(value);
                column.fill(self.rows, values.map(|value| value.unwrap_or(f64::NAN)));
            }
            self.rows += frames.len() / stride;
        }
        chunk.commit_all();
    }

    /// After a failed write: empties the ring so that the tick goes on, and
    /// counts what is lost.
    fn discard(&mut self, count: usize) {
        if let Ok(chunk) = self.ring.read_chunk(count * (self.width + 1)) {
            chunk.commit_all();
            self.progress.lost.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    fn write_batch(&mut self) {
        self.flushed_ns = self.now_ns;
        if self.rows == 0 || self.failure.is_some() {
            return;
        }
        let rows = std::mem::take(&mut self.rows);
        match self.try_write_batch(rows) {
            Ok(()) => {
                self.good = self.stream.get_ref().written();
                self.progress.frames.fetch_add(rows as u64, Ordering::Relaxed);
            }
            Err(error) => {
                self.progress.lost.fetch_add(rows as u64, Ordering::Relaxed);
                // A torn batch would do no harm to a reader; cutting it off is
                // tidier, and no second failure if it cannot be done.
                let _ = self.stream.get_mut().cut_back(self.good);
                self.failure = Some(error);
            }
        }
    }

    fn try_write_batch(&mut self, rows: usize) -> Result<(), ArrowError> {
        let buffers: Vec<Buffer> = self.columns.iter_mut().map(Column::take).collect();
        let arrays =
            self.columns.iter().zip(&buffers).map(|(column, buffer)| column.array(buffer, rows));
        let written = RecordBatch::try_new(self.schema.clone(), arrays.collect())
            .and_then(|batch| self.stream.write(&batch))
            .and_then(|()| self.stream.flush());
        for (column, buffer) in self.columns.iter_mut().zip(buffers) {
            column.restore(buffer, self.batch_frames);
        }
        written?;
        if self.durability == Durability::PowerLoss {
            self.stream.get_mut().sync()?;
        }
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

    fn progress() -> Arc<Progress> {
        Arc::new(Progress {
            stop: AtomicBool::new(false),
            frames: AtomicU64::new(0),
            lost: Arc::default(),
        })
    }

    fn layout(width: usize, extra: Vec<Vec<f64>>) -> Layout {
        let channels = channels(width + extra.len());
        let refs: Vec<_> = channels.iter().collect();
        Layout {
            schema: Arc::new(data_schema(&header(), &refs).unwrap()),
            storage: vec![Storage::Float; channels.len()],
            width,
            extra,
            batch_frames: 100,
            flush: None,
            durability: Durability::Kill,
        }
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
        let progress = progress();
        let known = (0..35).map(|frame| f64::from(frame) * 100.0).collect();
        let mut writer =
            Writer::new(0, Box::new(disk), consumer, Arc::clone(&progress), layout(1, vec![known]))
                .unwrap();
        let lost = Arc::clone(&progress.lost);
        let mut sink = FrameSink::new(producer, 1, lost, Arc::new(System), None);
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
        let progress = progress();
        let mut writer =
            Writer::new(0, Box::new(disk), consumer, Arc::clone(&progress), layout(3, vec![]))
                .unwrap();
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
