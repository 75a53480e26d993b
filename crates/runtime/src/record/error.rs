//! What can go wrong with a record, and what to do about it.

use std::io;
use std::path::PathBuf;

use arrow_schema::ArrowError;

use super::Summary;
use super::schema::{FORMAT, MAX_CHANNELS, MAX_HEADER_BYTES};

/// A record that could not be written or read. Every message names the file
/// and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be created.
    #[error(
        "cannot create the record {0}: {1}; check that its folder exists and may be \
         written to"
    )]
    Create(PathBuf, #[source] ArrowError),
    /// A record of that name is there and may not be replaced.
    #[error("the record {0} exists and is not replaced; choose another name or move it away")]
    Exists(PathBuf),
    /// The writer's thread could not be started.
    #[error(
        "cannot start the thread that writes the record {0}: {1}; end other programs \
         or raise the limit of processes"
    )]
    Thread(PathBuf, #[source] io::Error),
    /// A frame needs at least one channel.
    #[error("a record needs at least one channel; the loop declared none")]
    NoChannels,
    /// More channels than a record can describe.
    #[error("{0} channels are more than the {MAX_CHANNELS} a record holds; record fewer")]
    TooManyChannels(usize),
    /// Two channels of one name.
    #[error("two channels are called \"{0}\"; channel names must differ")]
    DuplicateChannel(String),
    /// The experiment and the files it names are too large to embed.
    #[error(
        "the experiment and its input files fill {0} bytes of the record's header, more \
         than the {MAX_HEADER_BYTES} allowed; name smaller input files"
    )]
    HeaderTooLarge(usize),
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
        "the thread that writes the record {0} failed; what it had flushed is readable; \
         please report this defect"
    )]
    WriterPanicked(PathBuf),
    /// The file could not be opened or read.
    #[error("cannot read the record {0}: {1}; check the name and the permissions")]
    Read(PathBuf, #[source] io::Error),
    /// The file ends before its header is complete.
    #[error(
        "the record {0} ends before its header does, so nothing can be read from it; \
         the run was stopped before its first flush, repeat it"
    )]
    NoHeader(PathBuf),
    /// The file is something else: what it looks like.
    #[error("{0} is not a twinrig record: {1}; name the .arrow file that a run wrote")]
    NotARecord(PathBuf, String),
    /// The record was made by a later version, in this format.
    #[error(
        "the record {0} has format {1}, this twinrig reads format {FORMAT}; \
         use the version that wrote it or a later one"
    )]
    NewerFormat(PathBuf, String),
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
