//! What the commands print, and how they end.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use comfy_table::{Cell, CellAlignment};
use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize;
use runtime::gate::TripKind;
use runtime::record::{Record, Summary};
use serde_json::{Value, json};

use experiment::{Diagnostics, Piece, Severity};
use twinrig::rehearsal::broke_off;
use twinrig::remote::stopped_elsewhere;
use twinrig::{report, terminal};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Something failed.
    Failed = 1,
    /// The command line asks for something that cannot be.
    Usage = 2,
    /// The experiment file is wrong.
    BadExperiment = 3,
    /// The test tripped.
    Tripped = 4,
    /// The record is incomplete or was cut off.
    Incomplete = 5,
    /// A replay gave other commands.
    ReplayDiffers = 6,
    /// The loop is predicted to be unstable.
    Unstable = 7,
    /// The operator stopped the test.
    Stopped = 8,
    /// The load broke off: the test did not apply all that it was to apply.
    LoadBrokeOff = 9,
}

impl Exit {
    /// Every one, in the order of the codes.
    pub(super) const ALL: [Self; 10] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::BadExperiment,
        Self::Tripped,
        Self::Incomplete,
        Self::ReplayDiffers,
        Self::Unstable,
        Self::Stopped,
        Self::LoadBrokeOff,
    ];

    /// What it means, for the help and the README.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "something failed (a file, the disk)",
            Self::Usage => "the command line is wrong",
            Self::BadExperiment => "the experiment file is wrong",
            Self::Tripped => "the test tripped",
            Self::Incomplete => "the record or the trace is incomplete",
            Self::ReplayDiffers => "a replay gave other commands than the record",
            Self::Unstable => "the loop is predicted to be unstable",
            Self::Stopped => "the operator stopped the test",
            Self::LoadBrokeOff => "the load that a host streamed broke off",
        }
    }

    /// How a test ended, the gravest first; `done` where nothing is wrong.
    pub(super) fn of(summary: &Summary, done: Self) -> Self {
        match &summary.trip {
            Some(trip) if trip.code == TripKind::Operator.code() || stopped_elsewhere(trip) => {
                Self::Stopped
            }
            Some(_) => Self::Tripped,
            None if broke_off(summary) => Self::LoadBrokeOff,
            None if !summary.is_complete() => Self::Incomplete,
            None => done,
        }
    }
}

/// For whom a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Tables and progress.
    People,
    /// One JSON document.
    Json,
}

impl Output {
    /// Says that something failed.
    pub(super) fn fail(self, error: impl Display) -> Exit {
        match self {
            Self::People => eprintln!("error: {error}"),
            Self::Json => {
                print(&format!("{:#}\n", json!({ "error": error.to_string() })));
            }
        }
        Exit::Failed
    }

    /// Shows what is wrong with an argument that names a part of the file.
    pub(super) fn misused(self, found: &Diagnostics) -> Exit {
        self.refuse(found);
        Exit::Usage
    }

    /// Says that a file of a test that took place could not be written, and how
    /// the test ended all the same: that is in no other place.
    pub(super) fn fail_to_keep(
        self,
        error: impl Display,
        ended: Option<&Summary>,
        record: &Path,
    ) -> Exit {
        let Some(summary) = ended else { return self.fail(error) };
        // What was written before is readable; how it ended is known here.
        let read =
            Record::read(record).ok().map(|read| Record { summary: Some(summary.clone()), ..read });
        let document = read.as_ref().map(report::summary_json);
        match self {
            Self::People => {
                let text = read.as_ref().map_or_else(
                    || match &summary.trip {
                        Some(trip) => format!("Tripped: {} at {:.3} s\n", trip.text, trip.time_s),
                        None => format!("The test ran to its end, {} ticks\n", summary.ticks),
                    },
                    report::summary_text,
                );
                print(&format!("{text}\n"));
                eprintln!("error: {error}");
            }
            Self::Json => {
                let (error, ticks) = (error.to_string(), summary.ticks);
                let trip = summary.trip.as_ref().map(|trip| &trip.text);
                let said = json!({
                    "error": error, "ticks": ticks, "trip": trip, "summary": document,
                });
                print(&format!("{said:#}\n"));
            }
        }
        Exit::of(summary, Exit::Incomplete)
    }

    /// Shows what is wrong with an experiment file.
    pub(super) fn refuse(self, found: &Diagnostics) -> Exit {
        match self {
            Self::People => eprint!("{}", found.render(paint)),
            Self::Json => {
                print(&format!("{:#}\n", json!({ "diagnostics": found.to_json() })));
            }
        }
        Exit::BadExperiment
    }

    /// Shows warnings, to people only; JSON carries them in its document.
    pub(super) fn warn(self, found: &Diagnostics) {
        if self == Self::People && !found.is_empty() {
            eprint!("{}", found.render(paint));
        }
    }

    /// Prints a document.
    pub(super) fn document(self, value: &Value) -> Exit {
        print(&format!("{value:#}\n"))
    }

    /// A progress bar over `length` steps, visible where a person looks on.
    pub(super) fn progress(self, length: u64, what: &str) -> ProgressBar {
        if self == Self::Json || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{msg:24} {bar:40} {percent:>3} %  {eta} left")
            .expect("the template is a constant")
            .progress_chars("━╸ ");
        ProgressBar::new(length).with_style(style).with_message(what.to_owned())
    }

    /// A spinner for work of unknown length.
    pub(super) fn spinner(self) -> ProgressBar {
        if self == Self::Json || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let spinner = ProgressBar::new_spinner();
        spinner.enable_steady_tick(Duration::from_millis(100));
        spinner
    }
}

/// Colours a piece of a diagnostic where a terminal shows it.
fn paint(piece: Piece, text: &str) -> String {
    if !io::stderr().is_terminal() || std::env::var_os("NO_COLOR").is_some() {
        return text.to_owned();
    }
    match piece {
        Piece::Message => text.bold().to_string(),
        Piece::Severity(Severity::Warning) => text.yellow().bold().to_string(),
        Piece::Severity(Severity::Error) | Piece::Marks => text.red().bold().to_string(),
        Piece::Frame => text.blue().bold().to_string(),
    }
}

/// Prints to standard output. A closed pipe (`| head`) ends the program quietly.
pub(super) fn print(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            eprintln!("error: standard output: {error}");
            Exit::Failed
        }
    }
}

/// A table in the house style.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = terminal::table(header);
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, text)| {
            let alignment = if column == 0 { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(alignment)
        });
        table.add_row(cells);
    }
    format!("{table}\n")
}

/// A number with five significant digits, as an engineer would write it.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{value:.4e}")
    } else {
        let digits = (4 - size.log10().floor() as i32).max(0) as usize;
        format!("{value:.digits$}")
    }
}

/// The record at `path`, or in the folder `path`.
pub(super) fn record_path(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("record.arrow") } else { path.to_path_buf() }
}

/// Reads a record, or says why not.
pub(super) fn read_record(path: &Path, output: Output) -> Result<(PathBuf, Record), Exit> {
    let path = record_path(path);
    match Record::read(&path) {
        Ok(record) => Ok((path, record)),
        Err(error) => Err(output.fail(error)),
    }
}

/// Whether writing to `out` would destroy the record at `record`.
pub(super) fn is_record(out: &Path, record: &Path) -> bool {
    match (out.canonicalize(), record.canonicalize()) {
        (Ok(out), Ok(record)) => out == record,
        _ => out == record,
    }
}

/// What to say when a file or folder cannot be written that --out names.
pub(super) fn cannot_write(path: &Path, error: &io::Error) -> String {
    cannot_write_by(path, error, "--out")
}

/// The same where another option names it.
pub(super) fn cannot_write_by(path: &Path, error: &io::Error, option: &str) -> String {
    format!(
        "cannot write {}: {error}; check that its folder exists, may be written to and has room, \
         or name another place with {option}",
        path.display()
    )
}

/// A number of things, in words.
pub(super) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// What to say when the output is the record itself.
pub(super) fn would_overwrite(out: &Path) -> String {
    format!("{} is the record itself; name another file with --out", out.display())
}

/// Writes a file whole: beside its place first, then moved there.
pub(super) fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    write_bytes(path, text.as_bytes())
}

/// The same for any contents.
pub(super) fn write_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    std::fs::write(&part, bytes)?;
    std::fs::rename(&part, path)
}
