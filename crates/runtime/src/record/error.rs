//! What can go wrong with a record, and what to do about it.

use std::io;
use std::path::PathBuf;

use arrow_schema::ArrowError;

use super::Summary;

/// A record that could not be written or read. Every message names the file
/// and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be created.
    #[error(
        "cannot create the record {path}: {source}; check that its folder exists and may be \
         written to"
    )]
    Create {
        /// The record.
        path: PathBuf,
        /// What the system or the encoder said.
        source: ArrowError,
    },
    /// A record of that name is there and may not be replaced.
    #[error("the record {path} exists and is not replaced; choose another name or move it away")]
    Exists {
        /// The record.
        path: PathBuf,
    },
    /// The writer's thread could not be started.
    #[error(
        "cannot start the thread that writes the record {path}: {source}; end other programs \
         or raise the limit of processes"
    )]
    Thread {
        /// The record.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A frame needs at least one channel.
    #[error("a record needs at least one channel; the loop declared none")]
    NoChannels,
    /// More channels than a record can describe.
    #[error("{count} channels are more than the {limit} a record holds; record fewer")]
    TooManyChannels {
        /// Channels asked for.
        count: usize,
        /// The most a record holds.
        limit: usize,
    },
    /// Two channels of one name.
    #[error("two channels are called \"{name}\"; channel names must differ")]
    DuplicateChannel {
        /// The name used twice.
        name: String,
    },
    /// The experiment and the files it names are too large to embed.
    #[error(
        "the experiment and its input files fill {bytes} bytes of the record's header, more \
         than the {limit} allowed; name smaller input files"
    )]
    HeaderTooLarge {
        /// Size of the header as it would be written.
        bytes: usize,
        /// The largest header.
        limit: usize,
    },
    /// Writing failed during the run (disk full, disk gone).
    #[error(
        "writing the record {path} failed: {source}; its first {} frames are safe, {} were lost; \
         make room or mend the disk and repeat the test",
        summary.frames,
        summary.frames_lost
    )]
    Write {
        /// The record.
        path: PathBuf,
        /// How the test ended, which is in no file.
        summary: Box<Summary>,
        /// What the system said.
        source: ArrowError,
    },
    /// The writer's thread ended by a panic: a defect of twinrig.
    #[error(
        "the thread that writes the record {path} failed; what it had flushed is readable; \
         please report this defect"
    )]
    WriterPanicked {
        /// The record.
        path: PathBuf,
    },
    /// The file could not be opened or read.
    #[error("cannot read the record {path}: {source}; check the name and the permissions")]
    Read {
        /// The record.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file ends before its header is complete.
    #[error(
        "the record {path} ends before its header does, so nothing can be read from it; \
         the run was stopped before its first flush, repeat it"
    )]
    NoHeader {
        /// The record.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{path} is not a twinrig record: {found}; name the .arrow file that a run wrote")]
    NotARecord {
        /// The file.
        path: PathBuf,
        /// What it looks like instead.
        found: String,
    },
    /// The record was made by a later version.
    #[error(
        "the record {path} has format {found}, this twinrig reads format {known}; \
         use the version that wrote it or a later one"
    )]
    NewerFormat {
        /// The record.
        path: PathBuf,
        /// Format in the file.
        found: String,
        /// Format this version knows.
        known: u32,
    },
    /// A fact of the header is missing or unreadable.
    #[error(
        "the header of the record {path} is damaged: {key} {problem}; copy the file again \
         from where it was recorded"
    )]
    Header {
        /// The record.
        path: PathBuf,
        /// Key of the schema's metadata.
        key: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The bytes are wrong in a way no crash explains.
    #[error(
        "the record {path} is damaged at byte {offset}: {problem}; its first {frames} frames \
         can be salvaged; copy the file again from where it was recorded"
    )]
    Damaged {
        /// The record.
        path: PathBuf,
        /// Where the damaged message starts.
        offset: u64,
        /// Frames before the damage.
        frames: usize,
        /// What is wrong there.
        problem: String,
    },
}
