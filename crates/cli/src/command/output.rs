//! What the commands print, and how they end: the only place that writes.

use std::io::{self, IsTerminal, Write};

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, TableStyle};
use experiment::{Diagnostics, Piece, Severity};
use owo_colors::OwoColorize;
use runtime::record::{Summary, TripNote};
use serde::Serialize;
use serde_json::json;
use twinrig::table::Table;
use twinrig::verdict::{Level, Verdict};
use twinrig::words::{Piece as WordPiece, Words};
use twinrig::{Error, NotKept, report};

use super::error::CliError;

/// Widest table on a terminal.
const COLUMNS: u16 = 80;

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
    /// The verdict is wrong: the numbers are not those of the structure.
    Wrong = 10,
    /// The verdict is unsafe: rig or specimen is or was in danger.
    Unsafe = 11,
    /// The verdict is doubtful, and nothing doubtful was to pass.
    Doubtful = 12,
    /// A check could not judge the loop.
    NotJudged = 13,
}

impl Exit {
    /// Every one in the order of the codes, and what it means: for the help and the
    /// README.
    pub(super) const ALL: [(Self, &'static str); 14] = [
        (Self::Done, "done"),
        (Self::Failed, "something failed (a file, the disk)"),
        (Self::Usage, "the command line is wrong"),
        (Self::BadExperiment, "the experiment file is wrong"),
        (Self::Tripped, "the test tripped"),
        (Self::Incomplete, "the record or the trace is incomplete"),
        (Self::ReplayDiffers, "a replay gave other commands than the record"),
        (Self::Unstable, "the loop is predicted to be unstable"),
        (Self::Stopped, "the operator stopped the test"),
        (Self::LoadBrokeOff, "the load that a host streamed broke off"),
        (Self::Wrong, "the verdict is wrong"),
        (Self::Unsafe, "the verdict is unsafe"),
        (Self::Doubtful, "the verdict is doubtful, with --strict"),
        (Self::NotJudged, "the loop could not be judged"),
    ];

    /// Of an error.
    fn of_error(error: &CliError) -> Self {
        match error {
            CliError::Library(error) => Self::of_library(error),
            CliError::Usage(_) => Self::Usage,
            _ => Self::Failed,
        }
    }

    fn of_library(error: &Error) -> Self {
        match error {
            Error::Experiment(_)
            | Error::NoLimits(_)
            | Error::TooMuch { .. }
            | Error::NoSweep { .. } => Self::BadExperiment,
            Error::Question(_) | Error::Value { .. } | Error::SameAxis { .. } => Self::Usage,
            // What a laboratory or an actuator lacks is not the file's fault.
            Error::Unfit { source, .. } => match **source {
                Error::Link(_) | Error::NoDynamics => Self::Failed,
                _ => Self::BadExperiment,
            },
            Error::DriveTripped { trip, .. } => Self::of_trip(trip),
            Error::NotKept { ended, .. } => Self::of(&ended.summary, Self::Incomplete),
            Error::Stopped => Self::Stopped,
            Error::PredictedUnstable { .. } => Self::Unstable,
            _ => Self::Failed,
        }
    }

    fn of_trip(trip: &TripNote) -> Self {
        if trip.is_stop() { Self::Stopped } else { Self::Tripped }
    }

    /// Of a verdict. A doubtful one passes unless the command line is strict.
    pub(super) fn of_verdict(verdict: &Verdict, done: Self) -> Self {
        match verdict.level {
            Level::Sound => done,
            Level::Doubtful => Self::Doubtful,
            Level::Wrong => Self::Wrong,
            Level::Unsafe => Self::Unsafe,
        }
    }

    /// How a test ended, the gravest first; `done` where nothing is wrong.
    pub(super) fn of(summary: &Summary, done: Self) -> Self {
        match &summary.trip {
            Some(trip) => Self::of_trip(trip),
            None if summary.load_broke_off() => Self::LoadBrokeOff,
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
    /// Shows a result: in words to people, as a document to machines.
    pub(super) fn show(self, result: &impl Serialize, words: impl FnOnce() -> Words) -> Exit {
        match self {
            Self::People => print(&rendered(&words())),
            Self::Json => self.document(result),
        }
    }

    /// Prints a document.
    fn document(self, result: &impl Serialize) -> Exit {
        match serde_json::to_value(result) {
            Ok(document) => print(&format!("{document:#}\n")),
            Err(error) => {
                eprintln!("error: {error}");
                Exit::Failed
            }
        }
    }

    /// Says that something failed.
    pub(super) fn fail(self, error: &CliError) -> Exit {
        match error {
            CliError::Library(Error::Experiment(found) | Error::Question(found)) => {
                self.refuse(found);
            }
            CliError::Library(Error::NoLimits(found)) => {
                self.refuse(found);
                self.note("the test was not started; a bench is moved --without-limits");
            }
            CliError::Library(Error::NotKept { ended, .. }) => self.not_kept(error, ended),
            CliError::Library(Error::DriveTripped { tests, .. }) if self == Self::Json => {
                self.document(&json!({ "error": error.words(), "tests": tests }));
            }
            CliError::Library(Error::DriveTripped { .. }) => eprintln!("{}", error.words()),
            _ if self == Self::Json => {
                self.document(&json!({ "error": error.words() }));
            }
            _ => eprintln!("error: {}", error.words()),
        }
        Exit::of_error(error)
    }

    /// Says that a file of a test that took place could not be written, and how
    /// the test ended all the same: that is in no other place.
    fn not_kept(self, error: &CliError, ended: &NotKept) {
        let NotKept { summary, record } = ended;
        match self {
            Self::People => {
                let mut words = match record {
                    Some(record) => report::summary_words(record),
                    None => Words::default(),
                };
                if record.is_none() {
                    words.line(match &summary.trip {
                        Some(trip) => format!("Tripped: {} at {:.3} s", trip.text, trip.time_s),
                        None => format!("The test ran to its end, {} ticks", summary.ticks),
                    });
                }
                print(&format!("{}\n", rendered(&words)));
                eprintln!("error: {}", error.words());
            }
            Self::Json => {
                self.document(&json!({
                    "error": error.words(),
                    "ticks": summary.ticks,
                    "trip": summary.trip.as_ref().map(|trip| &trip.text),
                    "summary": record.as_ref().and_then(|record| report::summary(record).ok()),
                }));
            }
        }
    }

    /// Shows what is wrong with an experiment file.
    pub(super) fn refuse(self, found: &Diagnostics) {
        match self {
            Self::People => eprint!("{}", found.render(paint)),
            Self::Json => {
                self.document(&json!({ "diagnostics": found.to_json() }));
            }
        }
    }

    /// Shows warnings, to people only; JSON carries them in its document.
    pub(super) fn warn(self, found: &Diagnostics) {
        if self == Self::People && !found.is_empty() {
            eprint!("{}", found.render(paint));
        }
    }

    /// Says something beside the result, to people only.
    pub(super) fn note(self, text: &str) {
        if self == Self::People {
            eprintln!("{text}");
        }
    }

    /// Whether a person looks at a terminal.
    pub(super) fn is_watched(self) -> bool {
        self == Self::People && io::stderr().is_terminal()
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

/// Words as a terminal shows them.
fn rendered(words: &Words) -> String {
    let pieces = words.0.iter().map(|piece| match piece {
        WordPiece::Lines(lines) => lines.clone(),
        WordPiece::Table(table) => layout(table),
        WordPiece::Headline(level, line) => format!("{}\n", painted(*level, line)),
    });
    pieces.collect()
}

/// A verdict in its colour, where a terminal shows it.
fn painted(level: Level, line: &str) -> String {
    if !io::stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some() {
        return line.to_owned();
    }
    match level {
        Level::Sound => line.green().bold().to_string(),
        Level::Doubtful => line.yellow().bold().to_string(),
        Level::Wrong | Level::Unsafe => line.red().bold().to_string(),
    }
}

/// A table in the house style.
fn layout(table: &Table) -> String {
    const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));
    let mut laid = comfy_table::Table::new();
    let width = |at: usize, head: &str| {
        let cells = table.rows.iter().map(|row| row[at].as_str());
        cells.chain([head]).map(|text| text.chars().count() + 2).max().unwrap_or(0)
    };
    let heads = || table.header.iter().map(String::as_str).enumerate();
    let whole: usize = heads().map(|(at, head)| width(at, head)).sum();
    // Where numbers stand below wide heads, the words of these stand below each other.
    let stacked = whole > usize::from(COLUMNS);
    let heads = heads().map(|(_, head)| match stacked {
        true => head.replace(' ', "\n"),
        false => head.to_owned(),
    });
    laid.load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(COLUMNS)
        .set_header(heads);
    let sides = [CellAlignment::Left, CellAlignment::Right];
    for row in &table.rows {
        laid.add_row(row.iter().enumerate().map(|(column, text)| {
            Cell::new(text).set_alignment(sides[usize::from(table.is_right(column))])
        }));
    }
    format!("{laid}\n")
}

/// Prints words to standard output.
pub(super) fn print_words(words: &Words) {
    print(&rendered(words));
}

/// The words "written to FOLDER: NAMES".
pub(super) fn written(folder: &str, files: &[String]) -> String {
    format!("written to {folder}: {}", files.join(", "))
}
