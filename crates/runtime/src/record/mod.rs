//! The record of a test: what was measured, commanded and computed, and the
//! facts that explain it.
//!
//! The tick pushes frames into a [`FrameSink`]; a thread of its own turns them
//! into an Arrow IPC stream on disk ([`Recorder`]); [`Record::read`] reads it
//! back, whole or cut off. `docs/record-format.md` describes the file.

mod error;
mod reader;
mod recorder;
mod schema;
mod sink;
mod summary;
mod writer;

use model::channel::Channel;
use serde::{Deserialize, Serialize};

use crate::event::Event;

pub use error::RecordError;
pub use recorder::{Durability, Ending, Existing, Options, Recorder, RecorderHandle};
pub use sink::{FrameSink, Pushed};

/// A file the experiment named (a ground motion, a matrix), kept with the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddedFile {
    /// The path as the experiment file spells it.
    pub name: String,
    /// Its contents.
    #[serde(rename = "base64", with = "schema::base64_text")]
    pub bytes: Vec<u8>,
}

/// Everything known before the first tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Version of twinrig that made the record.
    pub version: String,
    /// Title of the experiment.
    pub title: String,
    /// Name of the experiment file.
    pub experiment_name: String,
    /// The experiment file, whole.
    pub experiment: String,
    /// Files the experiment named.
    pub inputs: Vec<EmbeddedFile>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Ticks per second.
    pub rate_hz: f64,
    /// Number of ticks between two recorded frames.
    pub every: u64,
    /// UTC start, ISO 8601; empty for a rehearsal, so that records compare.
    pub started: String,
    /// Facts of the machine (kernel, processor, scheduling), empty values left out.
    pub machine: Vec<(String, String)>,
    /// Meaning of the numbers in the channel `trip`.
    pub trip_codes: Vec<(u8, String)>,
}

/// How a test ended; absent from a record that was cut off.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Ticks done.
    pub ticks: u64,
    /// Frames written.
    pub frames: u64,
    /// Frames that found the ring full and were lost; a run with any is incomplete.
    pub frames_lost: u64,
    /// The trip, in words with its numbers, if one occurred.
    pub trip: Option<TripNote>,
    /// What else happened, in order: warnings, recoveries, the trip, rehearsed
    /// faults, what the operator did.
    pub events: Vec<EventNote>,
    /// How punctual a real-time run was; absent from a rehearsal.
    pub timing: Option<TimingNote>,
}

impl Summary {
    /// Whether every frame of the run is in the record.
    pub fn is_complete(&self) -> bool {
        self.frames_lost == 0
    }
}

/// A trip as it is remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct TripNote {
    /// Number as in the channel `trip`.
    pub code: u8,
    /// Reason in words, with value and limit.
    pub text: String,
    /// Time of the tick that tripped.
    pub time_s: f64,
    /// The value that was out of bounds.
    pub value: f64,
    /// The bound.
    pub limit: f64,
}

/// An event as it is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventNote {
    /// When.
    pub time_s: f64,
    /// One word: `warning`, `recovered`, `trip`, `fault`, `re-armed` …
    pub what: String,
    /// In words, with value and level.
    pub text: String,
    /// The value, where there is one.
    pub value: Option<f64>,
    /// The level it reached, where there is one.
    pub limit: Option<f64>,
}

impl EventNote {
    /// An event of a loop with this period.
    pub fn of(event: &Event, step_s: f64) -> Self {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Self {
            time_s: event.tick as f64 * step_s,
            what: event.what.word().to_owned(),
            text: event.cause.text(),
            value: finite(event.cause.value),
            limit: finite(event.cause.limit),
        }
    }
}

/// How punctual a real-time run was. A rehearsal has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimingNote {
    /// Period of the tick.
    pub period_s: f64,
    /// Ticks that began a period late, or after one that ended too late.
    pub overruns: u64,
    /// Periods without a tick: the rig held its command meanwhile.
    pub missed: u64,
    /// Most periods in a row that were bridged.
    pub most_in_a_row: u64,
    /// How many were allowed.
    pub overrun_limit: u64,
    /// What the system granted: name and value.
    pub facts: Vec<(String, String)>,
    /// What it refused, and what that means.
    pub notices: Vec<String>,
    /// The histograms.
    pub latencies: Vec<LatencyNote>,
}

/// A histogram as it is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyNote {
    /// `wake_up`, `execution`, `round_trip` …
    pub name: String,
    /// Number of values.
    pub count: u64,
    /// The shortest.
    pub min_s: f64,
    /// The mean.
    pub mean_s: f64,
    /// Half of them are shorter.
    pub p50_s: f64,
    /// 90 % are shorter.
    pub p90_s: f64,
    /// 99 % are shorter.
    pub p99_s: f64,
    /// 99.9 % are shorter.
    pub p999_s: f64,
    /// The longest.
    pub max_s: f64,
    /// Lower edge, upper edge and count of every bin that is not empty.
    pub bins: Vec<(f64, f64, u64)>,
}

impl TimingNote {
    /// The histogram called `name`.
    pub fn latency(&self, name: &str) -> Option<&LatencyNote> {
        self.latencies.iter().find(|latency| latency.name == name)
    }
}

/// A record read back, whole or up to its last flush.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// What was known before the first tick.
    pub header: Header,
    /// Channels in file order.
    pub channels: Vec<Channel>,
    /// One column per channel, all of one length.
    pub columns: Vec<Vec<f64>>,
    /// How the test ended; `None` if the record was cut off by a crash or a kill.
    pub summary: Option<Summary>,
}

impl Record {
    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let index = self.channels.iter().position(|channel| channel.name == name)?;
        Some(&self.columns[index])
    }
}

#[cfg(test)]
mod tests;
