//! A folder for a record, kept from others while a test writes into it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use runtime::record::{Existing, Header, Record, RecordError};
use thiserror::Error;

use crate::remote::{LABORATORY, ROLE};

/// The name of the record in its folder.
pub const RECORD: &str = "record.arrow";

/// Which end of a test writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The loop, or a test in one process.
    Loop,
    /// The laboratory.
    Laboratory,
}

impl Side {
    fn of(header: &Header) -> Self {
        let is_laboratory = |(name, value): &(String, String)| name == ROLE && value == LABORATORY;
        if header.machine.iter().any(is_laboratory) { Self::Laboratory } else { Self::Loop }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Laboratory => "laboratory",
        }
    }
}

/// Why a folder cannot be had.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// It cannot be made or opened.
    #[error(
        "cannot write {}: {source}; check that its folder exists, may be written to and has room, \
         or name another place with --out", path.display()
    )]
    Folder {
        /// Which.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Somebody writes there.
    #[error(
        "another test or laboratory is writing its record into {}: name another folder with \
         --out", path.display()
    )]
    Busy {
        /// Which.
        path: PathBuf,
    },
    /// There is a record that stays.
    #[error(transparent)]
    Kept(#[from] RecordError),
    /// There is the record of the other end of a test.
    #[error(
        "{} holds the record of a {}, and this is a {}: name another folder with --out",
        path.display(), there.word(), here.word()
    )]
    OtherSide {
        /// Which.
        path: PathBuf,
        /// Whose record is there.
        there: Side,
        /// Who wants to write.
        here: Side,
    },
}

/// A folder that is ours until this is dropped, by any way the program may end.
#[derive(Debug)]
pub struct Claim {
    folder: PathBuf,
    /// Whether it was there before.
    made: Made,
    /// The folder itself, locked. It leaves nothing behind.
    _lock: File,
}

/// Whether a folder was made for a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Before,
    Here,
}

impl Claim {
    /// Takes a folder, made if it is not there. What lies in it must be
    /// replaceable: with [`Existing::Keep`] no record may, else only a rehearsal
    /// of the same end of a test.
    pub fn take(folder: &Path, side: Side, existing: Existing) -> Result<Self, ClaimError> {
        let path = || folder.to_path_buf();
        let failed = |source| ClaimError::Folder { path: path(), source };
        let made = if folder.exists() { Made::Before } else { Made::Here };
        fs::create_dir_all(folder).map_err(failed)?;
        let lock = File::open(folder).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ClaimError::Busy { path: path() }),
            // A file system without locks is still one to write on.
            Err(TryLockError::Error(_)) => {}
        }
        let claim = Self { folder: path(), made, _lock: lock };
        claim.may_write(side, existing)?;
        Ok(claim)
    }

    /// Whether a record can be written there.
    fn may_write(&self, side: Side, existing: Existing) -> Result<(), ClaimError> {
        let record = self.record();
        if !record.exists() {
            return Ok(());
        }
        if existing == Existing::Keep {
            return Err(RecordError::Exists(record).into());
        }
        // What cannot be read as a record is left to the recorder to judge.
        let Ok(header) = Record::read_header(&record) else { return Ok(()) };
        if !header.started.is_empty() {
            return Err(RecordError::Exists(record).into());
        }
        let there = Side::of(&header);
        if there != side {
            return Err(ClaimError::OtherSide { path: self.folder.clone(), there, here: side });
        }
        Ok(())
    }

    /// Which folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the record goes.
    pub fn record(&self) -> PathBuf {
        self.folder.join(RECORD)
    }
}

impl Drop for Claim {
    /// A folder that was made and not used goes again.
    fn drop(&mut self) {
        if self.made == Made::Here {
            // Only an empty one can be removed.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_writer_at_a_time() {
        let lab = tempfile::tempdir().unwrap();
        let folder = lab.path().join("a/b");
        let first = Claim::take(&folder, Side::Laboratory, Existing::Replace).unwrap();
        let second = Claim::take(&folder, Side::Loop, Existing::Replace);
        assert!(matches!(second, Err(ClaimError::Busy { .. })), "{second:?}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left behind");
        drop(first);
        assert!(!folder.exists(), "what was not used is gone");
        Claim::take(&folder, Side::Loop, Existing::Replace).unwrap();
        // Whatever lies there, a real test does not touch it.
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(RECORD), "what is this").unwrap();
        Claim::take(&folder, Side::Loop, Existing::Replace).unwrap();
        let kept = Claim::take(&folder, Side::Loop, Existing::Keep).unwrap_err();
        assert!(kept.to_string().contains("exists and is not replaced"), "{kept}");
        let file = folder.join(RECORD);
        let none = Claim::take(&file, Side::Loop, Existing::Replace).unwrap_err();
        assert!(none.to_string().contains("--out"), "{none}");
    }
}
