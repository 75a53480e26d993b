//! Who did what, line by line, in a file of the host. Nobody waits for the disk.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Lines that may wait for the disk; more are left out and counted.
const WAITING: usize = 256;
/// Largest log; then the one before it is replaced.
const LARGEST: u64 = 4 << 20;
/// Longest piece of a line that somebody else wrote.
const LONGEST: usize = 200;

/// The way to the log.
pub(crate) struct Audit {
    lines: SyncSender<String>,
}

impl Audit {
    /// Opens the log and starts the thread that writes it.
    pub(crate) fn open(path: PathBuf) -> std::io::Result<Self> {
        let (lines, waiting) = sync_channel::<String>(WAITING);
        let mut file = append(&path)?;
        thread::Builder::new().name("audit".into()).spawn(move || {
            while let Ok(line) = waiting.recv() {
                if file.metadata().is_ok_and(|facts| facts.len() > LARGEST) {
                    let _ = fs::rename(&path, path.with_extension("old"));
                    match append(&path) {
                        Ok(fresh) => file = fresh,
                        Err(_) => continue,
                    }
                }
                // A full disk must not stop the host.
                let _ = file.write_all(line.as_bytes());
            }
        })?;
        Ok(Self { lines })
    }

    /// Notes an action and what came of it.
    pub(crate) fn note(&self, who: &str, what: &str, outcome: &str) {
        let line = format!(
            "{} {}: {}: {}\n",
            twinrig::machine::utc_now(),
            printable(who),
            printable(what),
            printable(outcome)
        );
        let _ = self.lines.try_send(line);
    }
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// What a line can hold of a text from outside.
pub(crate) fn printable(text: &str) -> String {
    text.chars().take(LONGEST).map(|c| if c.is_control() { '?' } else { c }).collect()
}
