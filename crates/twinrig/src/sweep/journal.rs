//! The journal: finished variants, appended one by one, so that a study that
//! was killed goes on where it stood.
//!
//! A text file. The first line names the format and the study's fingerprint,
//! every further one is a row of the table behind a checksum. What a kill or a
//! crash has torn at the end is cut off when the journal is opened again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use numerics::random::fnv1a;
use thiserror::Error;

use super::row::{Columns, Row};

/// An open journal; nobody else can open it meanwhile.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    columns: Columns,
}

/// What is wrong with a journal.
#[derive(Debug, Error)]
pub enum JournalError {
    /// Another process has it open.
    #[error("{} belongs to a sweep that is still running; wait for it, or use another --out", .path.display())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// It belongs to another study.
    #[error(
        "{} was begun with another experiment file, input, seed or version of twinrig: its \
         results do not belong together with new ones. Use another --out, or --restart to throw \
         them away",
        .path.display()
    )]
    OtherStudy {
        /// The journal.
        path: PathBuf,
    },
    /// It is something else.
    #[error("{} is not the journal of a sweep; use another --out, or remove the file", .path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// The disk.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Whether to go on with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Go on.
    Resume,
    /// Throw it away.
    Restart,
}

const MAGIC: &str = "twinrig-sweep-1 ";
/// A row is far shorter; a longer line is no row.
const LONGEST_LINE: usize = 1 << 20;

impl Journal {
    /// Opens or creates the journal at `path` and gives the rows it holds, by
    /// variant. Whatever does not belong there is cut off.
    pub fn open(
        path: &Path,
        columns: &Columns,
        fingerprint: u64,
        opening: Opening,
    ) -> Result<(Self, BTreeMap<u64, Row>), JournalError> {
        let io = |source| JournalError::Io { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::Busy { path: path.to_owned() });
            }
            // Some file systems know no locks: then nobody is kept out.
            Err(TryLockError::Error(_)) => {}
        }
        let head = format!("{MAGIC}{fingerprint:016x}\n");
        let mut bytes = Vec::new();
        if opening == Opening::Resume {
            file.read_to_end(&mut bytes).map_err(io)?;
        }
        let mut journal = Self { file, path: path.to_owned(), columns: columns.clone() };
        // A head that was torn holds nothing worth keeping.
        if head.as_bytes().starts_with(&bytes) && bytes.len() < head.len() {
            journal.cut(0)?;
            journal.write(head.as_bytes())?;
            return Ok((journal, BTreeMap::new()));
        }
        if !bytes.starts_with(MAGIC.as_bytes()) {
            return Err(JournalError::NotAJournal { path: path.to_owned() });
        }
        let Some(rest) = bytes.strip_prefix(head.as_bytes()) else {
            return Err(JournalError::OtherStudy { path: path.to_owned() });
        };
        let (rows, length) = journal.rows(rest);
        journal.cut((head.len() + length) as u64)?;
        Ok((journal, rows))
    }

    /// Appends a row, in one piece.
    pub fn append(&mut self, row: &Row) -> Result<(), JournalError> {
        let line = csv_line(&self.columns.fields(row));
        self.write(format!("{:016x},{line}", fnv1a(line.as_bytes())).as_bytes())
    }

    /// Waits until the disk has everything.
    pub fn sync(&self) -> Result<(), JournalError> {
        self.file.sync_data().map_err(|source| self.error(source))
    }

    /// The sound rows at the beginning of `bytes`, and where they end.
    fn rows(&self, bytes: &[u8]) -> (BTreeMap<u64, Row>, usize) {
        let (mut rows, mut length) = (BTreeMap::new(), 0);
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let Some(row) = self.row(line) else { break };
            rows.insert(row.variant.index, row);
            length += line.len();
        }
        (rows, length)
    }

    fn row(&self, line: &[u8]) -> Option<Row> {
        let text = std::str::from_utf8(line).ok().filter(|line| line.len() <= LONGEST_LINE)?;
        let (sum, line) = text.split_once(',').filter(|_| text.ends_with('\n'))?;
        if sum != format!("{:016x}", fnv1a(line.as_bytes())) {
            return None;
        }
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
        let fields = reader.records().next()?.ok()?;
        self.columns.row(&fields)
    }

    fn cut(&mut self, length: u64) -> Result<(), JournalError> {
        let cut = self.file.set_len(length);
        let cut = cut.and_then(|()| self.file.seek(SeekFrom::Start(length)).map(drop));
        cut.map_err(|source| self.error(source))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        // The file is not buffered: once written, a killed program cannot lose it.
        self.file.write_all(bytes).map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), source }
    }
}

/// One line of comma-separated text, with its end.
pub(super) fn csv_line(fields: &[String]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(fields).expect("a vector takes every record");
    let bytes = writer.into_inner().expect("a vector can be flushed");
    String::from_utf8(bytes).expect("fields are text")
}
