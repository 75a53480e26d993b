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

use std::fmt;

use model::channel::Channel;
use serde::{Deserialize, Serialize};

use crate::event::{Event, What};
use crate::gate::{Trip, TripKind};
use crate::interlock::{Phase, Response};
use crate::verdict::Reason;

pub use error::RecordError;
pub use recorder::{Options, Purpose, Recorder, RecorderHandle};
pub use sink::FrameSink;

/// A file the experiment named (a ground motion, a matrix), kept with the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddedFile {
    /// The path as the experiment file spells it.
    pub name: String,
    /// Its contents.
    #[serde(rename = "base64", with = "schema::base64_text")]
    pub bytes: Vec<u8>,
}

/// What a record is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A test, seen from its loop.
    Loop,
    /// The laboratory at the other end of a wire.
    Laboratory,
    /// A test on the rig alone, without a numerical part.
    Drive,
    /// An iterative test, tick by tick.
    Iterative,
    /// An iterative test, a frame for each evaluation of the rig.
    Evaluations,
}

/// As in the header.
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// An interface DOF, as the record names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceDof {
    /// The end of its channels' names: `1` in `desired.1`.
    pub name: String,
    /// The numerical DOF that moves with it; none where it is a deformation.
    pub dof: Option<String>,
}

/// Everything known before the first tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// What the record is of.
    pub role: Role,
    /// The interface DOFs; empty in records of earlier versions, which do not say.
    pub interface: Vec<InterfaceDof>,
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
    /// What was known against the test before it ran; empty in records of earlier versions.
    pub prediction: Vec<Reason>,
}

/// How a test ended; absent from a record that was cut off.
#[derive(Debug, Clone, PartialEq, Default)]
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

    /// Whether the load of the test broke off before its end.
    pub fn load_broke_off(&self) -> bool {
        self.events.iter().any(|event| event.what == EventKind::LoadBrokeOff)
    }
}

/// A trip as it is remembered.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

impl TripNote {
    /// Of a trip at a time.
    pub fn of(trip: &Trip, time_s: f64) -> Self {
        let Trip { kind, value, limit, .. } = *trip;
        Self { code: kind.code(), text: trip.text(), time_s, value, limit }
    }

    /// Whether the operator stopped the test, at either end of a wire.
    pub fn is_stop(&self) -> bool {
        let operator = TripKind::Operator.code();
        let elsewhere = self.code == TripKind::PeerTripped.code();
        self.code == operator || elsewhere && self.value == f64::from(operator)
    }
}

/// What kind of event was noted. Its word is what the record says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// An indicator reached the level at which it warns.
    Warning,
    /// It is well clear of that level again.
    Recovered,
    /// A trip that holds.
    Trip,
    /// A trip that ramps down at once.
    #[serde(rename = "trip, ramp down")]
    TripRampDown,
    /// A trip that leaves the rig where it is.
    #[serde(rename = "trip, abort")]
    TripAbort,
    /// The operator ended the hold, or took an aborted rig down.
    #[serde(rename = "operator ramps down")]
    OperatorRampDown,
    /// A rehearsed fault begins or ends.
    Fault,
    /// A stage of the test begins.
    Phase,
    /// What became of a main loop's batches.
    #[serde(rename = "main loop")]
    MainLoop,
    /// What came and went over the wire.
    Link,
    /// What came and went over a link to a host.
    #[serde(rename = "host link")]
    HostLink,
    /// What an operator did over that link, and that one was there or lost.
    Operator,
    /// What became of a load that arrived while the test ran.
    #[serde(rename = "streamed load")]
    StreamedLoad,
    /// That load ended before its end was declared.
    #[serde(rename = "load broke off")]
    LoadBrokeOff,
    /// A laboratory remembers a trip of its loop.
    #[serde(rename = "trip of the loop")]
    TripOfLoop,
    /// The loop left its laboratory as a session should end.
    Goodbye,
    /// Something else to be known.
    Note,
    /// Of another version.
    #[serde(untagged)]
    Other(String),
}

/// As in the record.
impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl EventKind {
    /// Whether the loop tripped then.
    pub fn is_trip(&self) -> bool {
        matches!(self, Self::Trip | Self::TripRampDown | Self::TripAbort)
    }
}

impl From<What> for EventKind {
    fn from(what: What) -> Self {
        match what {
            What::Warning => Self::Warning,
            What::Recovered => Self::Recovered,
            What::Trip(Response::Hold) => Self::Trip,
            What::Trip(Response::RampDown) => Self::TripRampDown,
            What::Trip(Response::Abort) => Self::TripAbort,
            What::OperatorRampDown => Self::OperatorRampDown,
        }
    }
}

/// An event as it is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventNote {
    /// When.
    pub time_s: f64,
    /// What.
    pub what: EventKind,
    /// Its cause, by the number in the channel `trip`, where it has such a cause. Records
    /// of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u8>,
    /// Which fault, in a few words. Likewise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// In words, with value and level.
    pub text: String,
    /// The value, where there is one.
    pub value: Option<f64>,
    /// The level it reached, where there is one.
    pub limit: Option<f64>,
}

impl EventNote {
    /// Something without a value.
    pub fn new(time_s: f64, what: EventKind, text: impl Into<String>) -> Self {
        let (subject, text) = (String::new(), text.into());
        Self { time_s, what, code: None, subject, text, value: None, limit: None }
    }

    /// An event of a loop with this period.
    pub fn of(event: &Event, step_s: f64) -> Self {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Self {
            code: Some(event.cause.kind.code()),
            value: finite(event.cause.value),
            limit: finite(event.cause.limit),
            ..Self::new(event.tick as f64 * step_s, event.what.into(), event.cause.text())
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

    /// Where the test stood in each frame; empty if the record does not say, none where
    /// a number is no phase.
    pub fn phases(&self) -> Vec<Option<Phase>> {
        let codes = self.column("phase").unwrap_or_default();
        codes.iter().map(|&code| phase(code)).collect()
    }
}

/// The phase of a number in a column.
pub fn phase(code: f64) -> Option<Phase> {
    // A float-to-integer cast saturates, and makes zero of what is no number.
    Some(code as u8).filter(|&whole| f64::from(whole) == code).and_then(Phase::from_code)
}

#[cfg(test)]
mod tests;
