//! Where a record's bytes go.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// Writes below this size are gathered; larger ones go straight to the file.
const GATHER_BYTES: usize = 8 << 10;

/// Where the record goes. A trait so that a failing disk can be tested.
pub(super) trait Output: Write + Send + 'static {
    /// Cuts the output back to its first `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Waits until everything is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Output for File {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(|_| ())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Gathers small writes, counts bytes, and forgets what it holds on failure
/// (`BufWriter` would try to write it once more when dropped).
pub(super) struct Gather<O> {
    output: O,
    held: Vec<u8>,
    written: u64,
}

impl<O: Output> Gather<O> {
    pub(super) fn new(output: O) -> Self {
        Self { output, held: Vec::with_capacity(GATHER_BYTES), written: 0 }
    }

    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.output.sync()
    }

    /// Bytes handed to the output so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Forgets everything after the first `length` bytes.
    pub(super) fn cut_back(&mut self, length: u64) -> io::Result<()> {
        self.held.clear();
        self.output.truncate(length)?;
        self.written = length;
        Ok(())
    }
}

impl<O: Output> Write for Gather<O> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.len() + bytes.len() > GATHER_BYTES {
            self.flush()?;
        }
        if bytes.len() >= GATHER_BYTES {
            self.pass(bytes)?;
        } else {
            self.held.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let outcome = self.pass(&held);
        self.held = held;
        self.held.clear();
        outcome
    }
}
