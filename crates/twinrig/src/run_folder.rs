//! A folder for a record, kept from others while a test writes into it.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use runtime::record::{Purpose, Record, RecordError, Role};

use crate::error::Error;

/// The name of the record in its folder.
pub const RECORD: &str = "record.arrow";

/// Writes a file whole: beside its place first, then moved there. What cannot be
/// finished is taken away again.
pub(crate) fn write_whole(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let written = fs::write(&part, contents).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        Error::write(path)(error)
    })
}

/// Writes files into a folder, made if it is not there; gives their names.
pub(crate) fn write_files<N: Into<String>, C: AsRef<[u8]>>(
    folder: &Path,
    files: impl IntoIterator<Item = (N, C)>,
) -> Result<Vec<String>, Error> {
    fs::create_dir_all(folder).map_err(Error::write(folder))?;
    let mut names = Vec::new();
    for (name, contents) in files {
        let name = name.into();
        write_whole(&folder.join(&name), contents)?;
        names.push(name);
    }
    Ok(names)
}

/// A folder of the system for what is not kept; it goes with this.
pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(crate) fn new() -> Result<Self, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("twinrig-{process}-{number}"));
        fs::create_dir_all(&folder).map_err(Error::NoTemporaryFolder)?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A folder that is ours until this is dropped, by any way the program may end.
#[derive(Debug)]
pub struct RunFolder {
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

impl RunFolder {
    /// Takes a folder, made if it is not there. What lies in it must be
    /// replaceable: with [`Purpose::RealTest`] no record may, else only a rehearsal
    /// of the same end of a test.
    pub fn take(folder: &Path, role: Role, purpose: Purpose) -> Result<Self, Error> {
        let path = || folder.to_path_buf();
        let made = if folder.exists() { Made::Before } else { Made::Here };
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
        let lock = File::open(folder).map_err(Error::write(folder))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::FolderBusy { path: path() }),
            // A file system without locks is still one to write on.
            Err(TryLockError::Error(_)) => {}
        }
        let taken = Self { folder: path(), made, _lock: lock };
        taken.may_write(role, purpose)?;
        Ok(taken)
    }

    /// Whether a record can be written there.
    fn may_write(&self, role: Role, purpose: Purpose) -> Result<(), Error> {
        let record = self.record();
        if !record.exists() {
            return Ok(());
        }
        if purpose == Purpose::RealTest {
            return Err(RecordError::Exists(record).into());
        }
        // What cannot be read as a record is left to the recorder to judge.
        let Ok(header) = Record::read_header(&record) else { return Ok(()) };
        if !header.started.is_empty() {
            return Err(RecordError::Exists(record).into());
        }
        let end = |role| if role == Role::Laboratory { "laboratory" } else { "loop" };
        let (there, here) = (end(header.role), end(role));
        if there != here {
            return Err(Error::OtherSide { path: self.folder.clone(), there, here });
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

impl Drop for RunFolder {
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
    fn a_file_that_cannot_be_written_leaves_nothing_behind() {
        let lab = tempfile::tempdir().unwrap();
        // Where the file should go there is a folder.
        let path = lab.path().join("report.html");
        fs::create_dir_all(path.join("inside")).unwrap();
        let failed = write_whole(&path, "a page").unwrap_err();
        assert!(matches!(failed, Error::Write { .. }), "{failed}");
        assert_eq!(fs::read_dir(lab.path()).unwrap().count(), 1, "only the folder");
    }

    #[test]
    fn a_folder_has_one_writer_at_a_time() {
        let lab = tempfile::tempdir().unwrap();
        let folder = lab.path().join("a/b");
        let first = RunFolder::take(&folder, Role::Laboratory, Purpose::Rehearsal).unwrap();
        let second = RunFolder::take(&folder, Role::Loop, Purpose::Rehearsal);
        assert!(matches!(second, Err(Error::FolderBusy { .. })), "{second:?}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left behind");
        drop(first);
        assert!(!folder.exists(), "what was not used is gone");
        RunFolder::take(&folder, Role::Loop, Purpose::Rehearsal).unwrap();
        // Whatever lies there, a real test does not touch it.
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(RECORD), "what is this").unwrap();
        RunFolder::take(&folder, Role::Loop, Purpose::Rehearsal).unwrap();
        let kept = RunFolder::take(&folder, Role::Loop, Purpose::RealTest).unwrap_err();
        assert!(kept.to_string().contains("exists and is not replaced"), "{kept}");
        let file = folder.join(RECORD);
        let none = RunFolder::take(&file, Role::Loop, Purpose::Rehearsal).unwrap_err();
        assert!(none.to_string().contains("cannot write"), "{none}");
    }
}
