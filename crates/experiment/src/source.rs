//! Where the files named by an experiment come from.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use runtime::record::EmbeddedFile;

/// Gives the contents of the files an experiment names: a matrix, a ground motion.
pub trait Source {
    /// The size of a file in bytes, or why it cannot be read. Reads nothing.
    fn size(&self, name: &str) -> io::Result<u64>;

    /// The contents of a file of at most [`LARGEST_FILE`] bytes.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
}

/// Largest file that is read, 1 GiB.
pub const LARGEST_FILE: u64 = 1 << 30;

/// Files relative to a folder, as a rule that of the experiment file.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    largest: u64,
}

/// Files kept in a record. A replay reads these and never the disk.
#[derive(Debug, Clone, Copy)]
pub struct Embedded<'a> {
    files: &'a [EmbeddedFile],
}

impl Folder {
    /// Files relative to `path`; absolute names stay as they are.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), largest: LARGEST_FILE }
    }

    /// The same, for files of at most `largest` bytes.
    pub fn up_to(self, largest: u64) -> Self {
        Self { largest, ..self }
    }

    fn open(&self, name: &str) -> io::Result<(File, u64)> {
        if name.is_empty() {
            return Err(empty_name());
        }
        open_regular(&self.path.join(Path::new(name)), self.largest)
    }
}

/// The contents of a regular file of at most `largest` bytes.
pub fn read_regular(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    let (file, _) = open_regular(path, largest)?;
    let mut bytes = Vec::new();
    // The file may grow while it is read, so the limit holds here again.
    file.take(largest + 1).read_to_end(&mut bytes)?;
    check_size(bytes.len() as u64, largest)?;
    Ok(bytes)
}

fn open_regular(path: &Path, largest: u64) -> io::Result<(File, u64)> {
    // Asked before opening: opening a pipe would wait for its other end.
    let facts = std::fs::metadata(path)?;
    if !facts.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    check_size(facts.len(), largest)?;
    Ok((File::open(path)?, facts.len()))
}

impl Source for Folder {
    fn size(&self, name: &str) -> io::Result<u64> {
        self.open(name).map(|(_, size)| size)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        if name.is_empty() {
            return Err(empty_name());
        }
        read_regular(&self.path.join(Path::new(name)), self.largest)
    }
}

impl<'a> Embedded<'a> {
    /// The files of a record.
    pub fn new(files: &'a [EmbeddedFile]) -> Self {
        Self { files }
    }

    fn find(&self, name: &str) -> io::Result<&'a EmbeddedFile> {
        self.files.iter().find(|file| file.name == name).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, "the record does not contain it")
        })
    }
}

impl Source for Embedded<'_> {
    fn size(&self, name: &str) -> io::Result<u64> {
        Ok(self.find(name)?.bytes.len() as u64)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(self.find(name)?.bytes.clone())
    }
}

fn empty_name() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the file name is empty")
}

fn check_size(size: u64, largest: u64) -> io::Result<()> {
    if size <= largest {
        return Ok(());
    }
    let text = format!("it is larger than the limit of {largest} bytes");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_reads_its_files_and_names_what_it_cannot() {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join("m.csv"), b"1,2").expect("write");
        let source = Folder::new(folder.path());
        assert_eq!(source.size("m.csv").expect("size"), 3);
        assert_eq!(source.read("m.csv").expect("read"), b"1,2");
        assert_eq!(source.read("k.csv").expect_err("absent").kind(), io::ErrorKind::NotFound);
        assert!(source.size(".").is_err(), "a folder is not a file");
        assert!(source.size("").is_err());
        let small = source.up_to(2);
        let error = small.read("m.csv").expect_err("too large");
        assert!(error.to_string().contains("larger than the limit of 2 bytes"), "{error}");
        assert!(small.size("m.csv").is_err());
    }

    #[test]
    fn a_record_gives_back_what_it_embeds() {
        let files = [EmbeddedFile { name: "kobe.csv".into(), bytes: vec![1, 2, 3] }];
        let source = Embedded::new(&files);
        assert_eq!(source.size("kobe.csv").expect("size"), 3);
        assert_eq!(source.read("kobe.csv").expect("read"), [1, 2, 3]);
        assert!(source.read("/etc/hostname").is_err(), "never the disk");
    }
}
