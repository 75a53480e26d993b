//! Journals: lines appended one by one, so that work that was killed goes on
//! where it stood.
//!
//! A text file. The first line names the format and what the work belongs to by
//! a fingerprint; every further one stands behind a checksum. What a kill or a
//! crash has torn at the end is cut off when the journal is opened again; a line
//! that was damaged later, among good ones, is left out and counted.

use crate::error::Error;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use numerics::random::fnv1a;

/// An open journal; nobody else can open it meanwhile.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    damaged: usize,
    /// Where the head and every line end.
    ends: Vec<u64>,
}

/// What a journal is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The beginning of its first line, with the space behind it.
    pub magic: &'static str,
    /// What writes it, as in "a sweep".
    pub what: &'static str,
}

/// Whether to go on with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Go on.
    Resume,
    /// Throw it away.
    Restart,
}

/// Real lines are far shorter; a longer one is none.
const LONGEST_LINE: usize = 1 << 20;

impl Journal {
    /// Opens or creates the journal at `path` and gives what `read` makes of its
    /// lines. Lines that are damaged, or that `read` does not know, are left out;
    /// behind the last good one everything is cut off.
    pub fn open<T>(
        path: &Path,
        kind: Kind,
        fingerprint: u64,
        opening: Opening,
        mut read: impl FnMut(&str) -> Option<T>,
    ) -> Result<(Self, Vec<T>), Error> {
        let io = |source| Error::Write { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(io)?;
        // A device may never end.
        if !file.metadata().map_err(io)?.is_file() {
            return Err(Error::NotAJournal { path: path.to_owned(), what: kind.what });
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::JournalBusy { path: path.to_owned(), what: kind.what });
            }
            // Some file systems know no locks: then nobody is kept out.
            Err(TryLockError::Error(_)) => {}
        }
        let head = format!("{}{fingerprint:016x}\n", kind.magic);
        let mut bytes = Vec::new();
        if opening == Opening::Resume {
            file.read_to_end(&mut bytes).map_err(io)?;
        }
        let ends = vec![head.len() as u64];
        let mut journal = Self { file, path: path.to_owned(), damaged: 0, ends };
        // A head that was torn holds nothing worth keeping.
        if head.as_bytes().starts_with(&bytes) && bytes.len() < head.len() {
            journal.cut(0)?;
            journal.write(head.as_bytes())?;
            return Ok((journal, Vec::new()));
        }
        if !bytes.starts_with(kind.magic.as_bytes()) {
            return Err(Error::NotAJournal { path: path.to_owned(), what: kind.what });
        }
        let Some(rest) = bytes.strip_prefix(head.as_bytes()) else {
            // A head alone keeps nothing of the other study.
            if bytes.split_inclusive(|&byte| byte == b'\n').skip(1).any(|l| checked(l).is_some()) {
                return Err(Error::OtherStudy { path: path.to_owned() });
            }
            journal.cut(0)?;
            journal.write(head.as_bytes())?;
            return Ok((journal, Vec::new()));
        };
        let (mut found, mut length, mut seen, mut bad) = (Vec::new(), 0, 0, 0);
        for line in rest.split_inclusive(|&byte| byte == b'\n') {
            seen += line.len();
            match checked(line).and_then(&mut read) {
                Some(one) => {
                    found.push(one);
                    (length, journal.damaged) = (seen, bad);
                    journal.ends.push((head.len() + seen) as u64);
                }
                None => bad += 1,
            }
        }
        journal.cut((head.len() + length) as u64)?;
        Ok((journal, found))
    }

    /// That lines among good ones were left out, in words.
    pub fn damage(&self) -> Option<String> {
        let lines = if self.damaged == 1 { "line is" } else { "lines are" };
        (self.damaged > 0).then(|| {
            let path = self.path.display();
            format!("{} {lines} damaged in {path} and left out", self.damaged)
        })
    }

    /// Appends a line, in one piece. It ends with the only line break in it.
    pub fn append(&mut self, line: &str) -> Result<(), Error> {
        let line = format!("{:016x},{line}", fnv1a(line.as_bytes()));
        self.write(line.as_bytes())?;
        let before = self.ends.last().copied().unwrap_or_default();
        self.ends.push(before + line.len() as u64);
        Ok(())
    }

    /// Good lines in it.
    pub fn lines(&self) -> usize {
        self.ends.len() - 1
    }

    /// Cuts off all but the first lines.
    pub fn keep_first(&mut self, lines: usize) -> Result<(), Error> {
        if lines < self.lines() {
            self.ends.truncate(lines + 1);
            self.cut(self.ends[lines])?;
        }
        Ok(())
    }

    /// Waits until the disk has everything.
    pub fn sync(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(|source| self.error(source))
    }

    fn cut(&mut self, length: u64) -> Result<(), Error> {
        let cut = self.file.set_len(length);
        let cut = cut.and_then(|()| self.file.seek(SeekFrom::Start(length)).map(drop));
        cut.map_err(|source| self.error(source))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        // The file is not buffered: once written, a killed program cannot lose it.
        self.file.write_all(bytes).map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> Error {
        Error::Write { path: self.path.clone(), source }
    }
}

/// A line whose checksum is right.
fn checked(line: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(line).ok().filter(|line| line.len() <= LONGEST_LINE)?;
    let (sum, line) = text.split_once(',').filter(|_| text.ends_with('\n'))?;
    (sum == format!("{:016x}", fnv1a(line.as_bytes()))).then_some(line)
}
