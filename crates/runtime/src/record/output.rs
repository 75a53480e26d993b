//! Where a record's bytes go.

use std::io::{self, Write};

use crate::world::DiskFile;

/// Writes below this size are gathered; larger ones go straight to the file.
const GATHER_BYTES: usize = 8 << 10;

/// Gathers small writes, counts bytes, and forgets what it holds on failure
/// (`BufWriter` would try to write it once more when dropped).
pub(super) struct Gather {
    output: Box<dyn DiskFile>,
    held: Vec<u8>,
    written: u64,
}

impl Gather {
    pub(super) fn new(output: Box<dyn DiskFile>) -> Self {
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

impl Write for Gather {
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
