//! The program's own commands, in processes of their own.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::lock::lock;

/// Longest line of progress.
const LONGEST_LINE: u64 = 64 << 10;
/// Longest document.
const LONGEST_DOCUMENT: u64 = 64 << 20;

/// A command of the program, in the folder that is served.
pub(crate) fn command(program: &Path, folder: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

/// Asks a process to end as Ctrl-C does; one that has ended is left alone.
pub(crate) fn interrupt(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id as i32)) {
        let _ = kill_process(pid, Signal::INT);
    }
}

/// Reads lines as they come and hands them on.
pub(crate) async fn lines(from: impl AsyncRead + Unpin, mut each: impl FnMut(&str)) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut from).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => each(String::from_utf8_lossy(&line).trim_end()),
        }
    }
}

/// Reads a document to its end.
pub(crate) async fn document(from: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut whole = Vec::new();
    let _ = from.take(LONGEST_DOCUMENT).read_to_end(&mut whole).await;
    whole
}

/// The last lines that a process said, for people.
#[derive(Clone, Default)]
pub(crate) struct LastWords(Arc<std::sync::Mutex<Vec<String>>>);

impl LastWords {
    const MOST: usize = 12;

    pub(crate) fn push(&self, line: &str) {
        let mut lines = lock(&self.0);
        if lines.len() >= Self::MOST {
            lines.remove(0);
        }
        lines.push(line.to_owned());
    }

    pub(crate) fn text(&self) -> Option<String> {
        let lines = lock(&self.0);
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}
