//! Reads a record back, whole or cut off.
//!
//! A run that was killed leaves a file that ends within a message (or, after a
//! power cut, in zeros): that is no error, every complete batch is kept. Bytes
//! that no crash explains are one. Lengths and offsets in the file are checked
//! against what is there before anything is allocated or sliced.

use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Endianness, Message, root_as_message};
use arrow_schema::{DataType, Field, Schema};

use super::schema::{FORMAT, FORMAT_KEY, parse_channels, parse_header};
use super::summary::{MARK, parse_summary};
use super::{Header, Record, RecordError, Summary};
use crate::world::{System, World};

/// What begins every message of an Arrow stream.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// A batch's own description is small and grows with its columns.
const BATCH_METADATA: usize = 4096;
const BATCH_METADATA_PER_COLUMN: usize = 256;
/// The header embeds the experiment's files; the recorder stops well below.
const HEADER_METADATA: usize = 1 << 30;
/// The summary describes ten columns.
const SUMMARY_METADATA: usize = 64 << 10;

impl Record {
    /// Reads a record. One that was cut off by a crash or a kill is read up to
    /// its last complete batch and has no summary.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, RecordError> {
        Self::read_in(&System, path.as_ref())
    }

    /// The same from a world that is handed in.
    pub fn read_in(world: &dyn World, path: &Path) -> Result<Self, RecordError> {
        let (record, damage) = Self::salvage(world, path)?;
        damage.map_or(Ok(record), Err)
    }

    /// Reads what stands before the first damaged byte, and says what is wrong
    /// there. Needs a readable header.
    pub fn salvage(
        world: &dyn World,
        path: &Path,
    ) -> Result<(Self, Option<RecordError>), RecordError> {
        let mut messages = Messages::open(world, path)?;
        let schema = read_schema(&mut messages, path)?;
        let header = header_of(&schema, path)?;
        let channels =
            parse_channels(&schema).map_err(|found| RecordError::NotARecord(path.into(), found))?;
        let mut columns = vec![Vec::new(); channels.len()];
        let read = read_batches(&mut messages, &schema, &mut columns)
            .and_then(|()| read_summary(&mut messages));
        let frames = columns.first().map_or(0, Vec::len);
        let (summary, damage) = match read {
            Ok(summary) => (Some(summary), None),
            Err(Stop::Cut) => (None, None),
            Err(Stop::Read(source)) => {
                return Err(RecordError::Read(path.into(), source));
            }
            Err(Stop::Damaged(problem)) => {
                let offset = messages.start;
                (None, Some(RecordError::Damaged { path: path.into(), offset, frames, problem }))
            }
        };
        Ok((Self { header, channels, columns, summary }, damage))
    }

    /// Reads only what was known before the first tick.
    pub fn read_header(path: impl AsRef<Path>) -> Result<Header, RecordError> {
        Self::header_in(&System, path.as_ref())
    }

    pub(super) fn header_in(world: &dyn World, path: &Path) -> Result<Header, RecordError> {
        let schema = read_schema(&mut Messages::open(world, path)?, path)?;
        header_of(&schema, path)
    }
}

/// Why reading ended before the summary.
enum Stop {
    /// The file ends here, as a killed run leaves it.
    Cut,
    Read(io::Error),
    Damaged(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Someone cut the file while it was read.
            io::ErrorKind::UnexpectedEof => Self::Cut,
            _ => Self::Read(error),
        }
    }
}

fn damaged<T>(problem: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Damaged(problem.into()))
}

/// The messages of a file, one after the other.
struct Messages {
    input: BufReader<Box<dyn Read>>,
    /// Where the current message starts.
    start: u64,
    position: u64,
    length: u64,
}

impl Messages {
    fn open(world: &dyn World, path: &Path) -> Result<Self, RecordError> {
        let (bytes, length) =
            world.open(path).map_err(|source| RecordError::Read(path.into(), source))?;
        Ok(Self { input: BufReader::new(bytes), start: 0, position: 0, length })
    }

    fn remaining(&self) -> u64 {
        self.length.saturating_sub(self.position)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Stop> {
        self.input.read_exact(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Reads `count` bytes into `bytes`; a count beyond the file's end is a cut.
    fn take(&mut self, count: usize, bytes: &mut Vec<u8>) -> Result<(), Stop> {
        if count as u64 > self.remaining() {
            return Err(Stop::Cut);
        }
        bytes.resize(count, 0);
        self.fill(bytes)
    }

    /// The next message's description, `None` at the end of the stream.
    fn next(&mut self, limit: usize) -> Result<Option<Vec<u8>>, Stop> {
        self.start = self.position;
        if self.remaining() < 8 {
            return Err(Stop::Cut);
        }
        let mut prefix = [0; 8];
        self.fill(&mut prefix)?;
        if prefix == [0; 8] {
            // Blocks that were promised to the file and never written.
            return Err(Stop::Cut);
        }
        let [a, b, c, d, size @ ..] = prefix;
        if [a, b, c, d] != CONTINUATION {
            return damaged("no message starts here");
        }
        match u32::from_le_bytes(size) as usize {
            0 => Ok(None),
            size if size > limit => damaged(format!("a message of {size} bytes")),
            size => {
                let mut metadata = Vec::new();
                self.take(size, &mut metadata)?;
                Ok(Some(metadata))
            }
        }
    }
}

/// Reads the first message, which makes the file a record or something else.
fn read_schema(messages: &mut Messages, path: &Path) -> Result<Schema, RecordError> {
    let other = |found: &str| RecordError::NotARecord(path.into(), found.into());
    let metadata = match messages.next(HEADER_METADATA) {
        Ok(Some(metadata)) => metadata,
        Ok(None) => return Err(other("an empty Arrow stream")),
        Err(Stop::Cut) => return Err(RecordError::NoHeader(path.into())),
        Err(Stop::Read(source)) => return Err(RecordError::Read(path.into(), source)),
        Err(Stop::Damaged(_)) => return Err(other("it does not start as an Arrow stream")),
    };
    parse_schema(&metadata).map_err(|problem| other(&problem))
}

fn message(metadata: &[u8]) -> Result<Message<'_>, String> {
    root_as_message(metadata).map_err(|error| {
        // The verifier's message runs over many lines.
        let text = error.to_string();
        format!("unreadable message: {}", text.lines().next().unwrap_or("malformed"))
    })
}

/// The schema in a message. Flatbuffers may point many times at one string;
/// an honest writer never does, so what is copied out is held to what is there.
fn parse_schema(metadata: &[u8]) -> Result<Schema, String> {
    let message = message(metadata)?;
    let schema = message.header_as_schema().ok_or("a stream without a schema")?;
    if message.bodyLength() != 0 || schema.endianness() != Endianness::Little {
        return Err("a schema of another byte order or with a body".into());
    }
    let mut copied = 0;
    let mut pairs = schema.custom_metadata().into_iter().collect::<Vec<_>>();
    for field in schema.fields().into_iter().flatten() {
        if field.children().is_some_and(|children| !children.is_empty())
            || field.dictionary().is_some()
        {
            return Err("columns with an inner structure".into());
        }
        copied += field.name().map_or(0, str::len);
        pairs.extend(field.custom_metadata());
    }
    for pair in pairs.into_iter().flatten() {
        copied += pair.key().map_or(0, str::len) + pair.value().map_or(0, str::len);
    }
    if copied > metadata.len() {
        return Err("a schema that repeats itself".into());
    }
    try_fb_to_schema(schema).map_err(|error| error.to_string())
}

fn header_of(schema: &Schema, path: &Path) -> Result<Header, RecordError> {
    let format = schema.metadata().get(FORMAT_KEY).ok_or_else(|| {
        RecordError::NotARecord(path.into(), "an Arrow stream of another program".into())
    })?;
    if *format != FORMAT.to_string() {
        let found = format.chars().take(40).collect();
        return Err(RecordError::NewerFormat(path.into(), found));
    }
    if schema.fields().is_empty() {
        let problem = "has no channels".into();
        return Err(RecordError::Header { path: path.into(), key: "schema", problem });
    }
    parse_header(schema.metadata()).map_err(|(key, problem)| RecordError::Header {
        path: path.into(),
        key,
        problem,
    })
}

/// Appends every batch of the first stream to the columns.
fn read_batches(
    messages: &mut Messages,
    schema: &Schema,
    columns: &mut [Vec<f64>],
) -> Result<(), Stop> {
    // Bytes of a value: a code or a number.
    let size = |field: &Arc<Field>| if *field.data_type() == DataType::UInt8 { 1 } else { 8 };
    let sizes: Vec<usize> = schema.fields().iter().map(size).collect();
    let expected = messages.remaining() / sizes.iter().sum::<usize>() as u64;
    for column in columns.iter_mut() {
        column.reserve_exact(expected as usize);
    }
    let limit = BATCH_METADATA + BATCH_METADATA_PER_COLUMN * sizes.len();
    let mut body = Vec::new();
    while let Some(metadata) = messages.next(limit)? {
        let batch = Batch::parse(&metadata).map_err(Stop::Damaged)?;
        batch.check_columns(&sizes).map_err(Stop::Damaged)?;
        messages.take(batch.body_bytes, &mut body)?;
        // Buffers come in pairs: which values are missing (none), the values.
        let values = batch.buffers.iter().skip(1).step_by(2);
        for ((column, &size), buffer) in columns.iter_mut().zip(&sizes).zip(values) {
            let bytes = &body[buffer.start..buffer.start + batch.rows * size];
            if size == 1 {
                column.extend(bytes.iter().map(|&code| f64::from(code)));
            } else {
                let (values, _) = bytes.as_chunks();
                column.extend(values.iter().map(|value| f64::from_le_bytes(*value)));
            }
        }
    }
    Ok(())
}

/// What a batch's message says of its body, checked.
struct Batch {
    rows: usize,
    body_bytes: usize,
    /// Rows and missing values of every column.
    nodes: Vec<(i64, i64)>,
    /// Where the columns' buffers stand in the body.
    buffers: Vec<Range<usize>>,
}

impl Batch {
    fn parse(metadata: &[u8]) -> Result<Self, String> {
        let message = message(metadata)?;
        let batch = message.header_as_record_batch().ok_or("a message that is no batch")?;
        if batch.compression().is_some() {
            return Err("a compressed batch".into());
        }
        let size = |value: i64| usize::try_from(value).map_err(|_| "a negative length");
        let body_bytes = size(message.bodyLength())?;
        let nodes = batch.nodes().ok_or("a batch without columns")?;
        let described = batch.buffers().ok_or("a batch without buffers")?;
        // Buffers stand one after the other, so that they cannot be larger
        // together than the body.
        let mut end = 0;
        let mut buffers = Vec::with_capacity(described.len());
        for buffer in described {
            let (offset, length) = (size(buffer.offset())?, size(buffer.length())?);
            let next =
                offset.checked_add(length).filter(|&next| offset >= end && next <= body_bytes);
            end = next.ok_or("a column outside its batch")?;
            buffers.push(offset..end);
        }
        if body_bytes - end >= 64 {
            return Err("a batch longer than its columns".into());
        }
        let nodes = nodes.iter().map(|node| (node.length(), node.null_count())).collect();
        Ok(Self { rows: size(batch.length())?, body_bytes, nodes, buffers })
    }

    /// Whether there is a column for each of these, with so many bytes a row.
    fn check_columns(&self, sizes: &[usize]) -> Result<(), String> {
        if self.nodes.len() != sizes.len() || self.buffers.len() != 2 * sizes.len() {
            return Err("a batch with another number of columns".into());
        }
        if self.nodes.iter().any(|&node| node != (self.rows as i64, 0)) {
            return Err("columns of unequal length or with missing values".into());
        }
        for (size, buffer) in sizes.iter().zip(self.buffers.iter().skip(1).step_by(2)) {
            if self.rows.checked_mul(*size).is_none_or(|needed| buffer.len() < needed) {
                return Err("a column shorter than its batch".into());
            }
        }
        Ok(())
    }
}

/// Reads the second stream: a schema and one row.
fn read_summary(messages: &mut Messages) -> Result<Summary, Stop> {
    let Some(metadata) = messages.next(SUMMARY_METADATA)? else {
        return damaged("an empty summary");
    };
    let schema = parse_schema(&metadata).map_err(Stop::Damaged)?;
    if schema.metadata().get(FORMAT_KEY).map(String::as_str) != Some(MARK) {
        return damaged("a second stream that is no summary");
    }
    let Some(metadata) = messages.next(SUMMARY_METADATA)? else {
        return damaged("a summary without its row");
    };
    let batch = Batch::parse(&metadata).map_err(Stop::Damaged)?;
    if batch.rows != 1 {
        return damaged("a summary that is not one row");
    }
    let mut body = Vec::new();
    messages.take(batch.body_bytes, &mut body)?;
    let missing = batch.nodes.iter().map(|(_, missing)| *missing);
    let buffers = batch.buffers.iter().map(|buffer| &body[buffer.clone()]);
    match parse_summary(&schema, missing, buffers) {
        Some(summary) => Ok(summary),
        None => damaged("an unreadable summary"),
    }
}
