//! Who looks on while a study runs.

use std::net::SocketAddr;
use std::path::Path;

use analysis::iterative::TracePoint;
use experiment::Diagnostics;
use runtime::host::Fingerprint;
use runtime::laboratory::{AcceptedSession, Refused, SessionEnd};
use runtime::link::LinkCounts;
use runtime::realtime::{Status, Timing};
use runtime::record::Record;
use runtime::rig::Peer;
use serde::Serialize;

use crate::interface_dof::Place;

/// Looks on while a study runs. What is of no interest may be left out. The loop
/// waits for none of these calls.
pub trait Onlooker: Send {
    /// So much of the work is done.
    fn progress(&mut self, _done: u64, _of: u64) {}

    /// What is being done now.
    fn stage(&mut self, _what: &str) {}

    /// How a loop in real time goes, ten times a second.
    fn live(&mut self, _status: &Status) {}

    /// Something happened.
    fn event(&mut self, _event: &Event<'_>) {}
}

/// Something that happened while a study ran.
pub enum Event<'a> {
    /// Found in the file while its models were built.
    Warnings(&'a Diagnostics),
    /// The system refused something, or something is to be known beforehand.
    Notice(&'a str),
    /// Lines of a journal were damaged and left out.
    Damaged(&'a str),
    /// So much was done before.
    Resumed {
        /// How many.
        count: usize,
        /// What they are.
        what: &'static str,
    },
    /// A link for a host is open.
    HostLink {
        /// Where.
        address: SocketAddr,
        /// What lets clients in, where it was drawn.
        token: Option<&'a str>,
        /// By what clients know the test, where the link is encrypted.
        fingerprint: Option<Fingerprint>,
    },
    /// The laboratory has answered.
    Laboratory(&'a Peer),
    /// A point of a response.
    Point {
        /// From 1.
        number: usize,
        /// The point.
        point: &'a TracePoint,
        /// The interface DOFs.
        places: &'a [Place],
    },
    /// A variant of a sweep is done.
    Variant {
        /// How it ended.
        status: VariantStatus,
        /// Whether its motion left all bounds.
        unstable: bool,
    },
    /// The link is closed.
    Link(&'a LinkCounts),
    /// The loop has ended; how punctual it was.
    Punctuality(&'a Timing),
    /// A laboratory waits for loops.
    Listening(SocketAddr),
    /// A loop does not fit, or has another token.
    Refused(&'a Refused),
    /// A loop has come.
    SessionBegins {
        /// Who, and how it keeps step.
        accepted: &'a AcceptedSession,
        /// How its file differs from the laboratory's, a sentence each.
        differences: &'a [String],
    },
    /// It has gone.
    SessionEnds {
        /// How it ended.
        end: &'a SessionEnd,
        /// What the system had refused.
        notices: &'a [String],
        /// Its record.
        record: &'a Record,
        /// Where that lies.
        folder: &'a Path,
    },
}

/// How a variant of a sweep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VariantStatus {
    /// It ran to its end.
    Completed,
    /// It was stopped.
    Tripped,
    /// It could not be run: its values make no sensible model.
    Failed,
}

impl VariantStatus {
    /// Every outcome.
    pub const ALL: [Self; 3] = [Self::Completed, Self::Tripped, Self::Failed];

    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Tripped => "tripped",
            Self::Failed => "failed",
        }
    }
}

/// Nobody looks on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Onlooker for Silent {}
