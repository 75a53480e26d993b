//! How a test ended, in words.

use std::fmt;

use runtime::interlock::Phase;
use runtime::record::{EventKind, EventNote, TripNote};
use serde::Serialize;

use super::view::View;
use crate::evidence::trip_words;
use crate::page::text::{counted, label, plain, seconds};

/// How a test ended, the gravest last: a trip outweighs a record that ends too early, that a
/// load that broke off, that gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should.
    Completed,
    /// Frames were lost or are missing.
    Incomplete,
    /// The test ended as it should, but its load had broken off.
    LoadBrokeOff,
    /// The record ends without a summary: a crash or a kill.
    CutOff,
    /// It was stopped.
    Tripped,
}

impl Status {
    /// In a word or two.
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "Completed",
            Self::Incomplete => "Incomplete",
            Self::LoadBrokeOff => "Load broke off",
            Self::CutOff => "Cut off",
            Self::Tripped => "Tripped",
        }
    }
}

/// As in the JSON.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// How the test ended.
pub(super) struct Outcome {
    /// The gravest of what happened.
    pub(super) status: Status,
    /// Everything that happened, a sentence each.
    pub(super) statements: Vec<String>,
    /// From the summary or, in a record without one, from its channel.
    pub(super) trip: Option<TripNote>,
}

impl Outcome {
    pub(super) fn of(view: &View<'_>) -> Self {
        let broke_off = |event: &&EventNote| event.what == EventKind::LoadBrokeOff;
        let mut status = Status::Completed;
        let mut statements = Vec::new();
        let trip = find_trip(view);
        if let Some(trip) = &trip {
            status = Status::Tripped;
            statements.push(trip_words(&trip.text, trip.time_s));
            statements.push(after_trip(view, trip));
        }
        match &view.record.summary {
            None => {
                status = status.max(Status::CutOff);
                statements.push(format!(
                    "The record ends without a summary, as after a crash or a kill; it was read \
                     up to its last flush, {}.",
                    last_time(view)
                ));
            }
            Some(summary) => {
                for event in summary.events.iter().filter(broke_off) {
                    status = status.max(Status::LoadBrokeOff);
                    statements.push(format!(
                        "The load broke off at {}: {}.",
                        seconds(event.time_s),
                        label(&event.text)
                    ));
                }
                let missing = summary.frames.abs_diff(view.rows() as u64);
                if summary.frames_lost > 0 {
                    status = status.max(Status::Incomplete);
                    statements.push(format!(
                        "{} did not fit the recorder's buffer or the disk and {} lost: the record \
                         has gaps.",
                        counted(summary.frames_lost, "frame"),
                        if summary.frames_lost == 1 { "was" } else { "were" },
                    ));
                }
                if view.rows() == 0 && missing == 0 {
                    status = status.max(Status::Incomplete);
                    statements.push("The test ended without recording a frame.".to_owned());
                }
                if missing > 0 {
                    status = status.max(Status::Incomplete);
                    statements.push(format!(
                        "The test wrote {}, but {} could be read.",
                        counted(summary.frames, "frame"),
                        counted(view.rows() as u64, "frame"),
                    ));
                }
            }
        }
        if status == Status::LoadBrokeOff {
            statements.push(format!("The test ended, {}, without a trip.", last_time(view)));
        }
        if status == Status::Completed {
            statements.push(format!(
                "The test ran to its end, {}, without a trip and without losing a frame.",
                last_time(view)
            ));
        }
        Self { status, statements, trip }
    }
}

fn last_time(view: &View<'_>) -> String {
    match view.time.iter().rev().find(|time| time.is_finite()) {
        Some(time) => format!("at {}", seconds(*time)),
        None => "before its first frame".to_owned(),
    }
}

fn find_trip(view: &View<'_>) -> Option<TripNote> {
    if let Some(note) = view.record.summary.as_ref().and_then(|summary| summary.trip.as_ref()) {
        return Some(TripNote { text: plain(&note.text), ..note.clone() });
    }
    let column = view.column("trip")?;
    let row = column.iter().position(|code| *code > 0.0)?;
    let code = column[row] as u8;
    let named = view.record.header.trip_codes.iter().find(|(known, _)| *known == code);
    let text = named.map_or_else(|| format!("trip {code}"), |(_, text)| label(text));
    Some(TripNote { code, text, time_s: view.time[row], value: f64::NAN, limit: f64::NAN })
}

/// What the rig did after the trip, from the channel `phase`.
fn after_trip(view: &View<'_>, trip: &TripNote) -> String {
    if view.column("phase").is_none() {
        return "The record does not say what the rig did next.".to_owned();
    }
    let reached = |phase| view.reached(phase, trip.time_s);
    let steps = [
        (Phase::Holding, "held from"),
        (Phase::Ramping, "ramped down from"),
        (Phase::Safe, "safe at"),
    ];
    let steps = steps
        .iter()
        .filter_map(|(phase, words)| Some(format!("{words} {}", seconds(reached(*phase)?))));
    let steps: Vec<String> = steps.collect();
    if let Some(silent) = silent(view) {
        return format!(
            "The rig did not answer at the end: it is last known {silent}, and nobody can call it \
             safe from here."
        );
    }
    match (steps.is_empty(), reached(Phase::Safe)) {
        (true, _) => "The record ends before the rig reacted.".to_owned(),
        (false, Some(_)) => format!("The rig was {}.", steps.join(", ")),
        (false, None) => {
            format!("The rig was {}; the record ends before it was safe.", steps.join(", "))
        }
    }
}

/// When a rig behind a wire answered last, where it did not at the end.
fn silent(view: &View<'_>) -> Option<String> {
    let unanswered = view.column("rig.bridged")?;
    unanswered.last().filter(|ticks| **ticks > 0.0)?;
    let row = unanswered.iter().rposition(|ticks| *ticks == 0.0);
    Some(row.map_or_else(
        || "before its first answer".to_owned(),
        |row| format!("at {}", seconds(view.time[row])),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    fn outcome(record: &runtime::record::Record) -> Outcome {
        Outcome::of(&View::new(record, None).unwrap())
    }

    #[test]
    fn a_whole_test_is_completed() {
        let outcome = outcome(&sample::benchmark().rows(500).record());
        assert_eq!(outcome.status, Status::Completed);
        assert_eq!(outcome.statements.len(), 1);
    }

    #[test]
    fn a_trip_says_why_when_and_what_followed() {
        let outcome = outcome(&sample::tripped().record());
        assert_eq!(outcome.status, Status::Tripped);
        let said = outcome.statements.join(" ");
        assert!(said.starts_with("Stability warning 100.3 % reached its limit of 100 % at 10.2"));
        assert!(said.contains("held from") && said.contains("safe at"), "{said}");
    }

    /// A peer that was killed says nothing: what the loop went on to send it is no word of the rig.
    #[test]
    fn a_rig_that_no_longer_answers_is_last_known_and_never_safe() {
        let mut record = sample::tripped().record();
        let rows = record.columns[0].len();
        let mut unanswered = vec![0.0; rows];
        for (row, ticks) in unanswered[rows - 4..].iter_mut().zip(1..) {
            *row = f64::from(ticks);
        }
        record.channels.push(model::channel::Channel::new("rig.bridged", "", ""));
        record.columns.push(unanswered);
        let said = outcome(&record).statements.join(" ");
        let time = record.channels.iter().position(|channel| channel.name == "time").unwrap();
        let last = seconds(record.columns[time][rows - 5]);
        assert!(said.contains(&format!("last known at {last}")), "{said}");
        assert!(said.contains("nobody can call it safe"), "{said}");
        let answered = record.columns.last_mut().unwrap();
        *answered.last_mut().unwrap() = 0.0;
        assert!(!outcome(&record).statements.join(" ").contains("last known"));
    }

    #[test]
    fn a_cut_off_record_still_tells_its_trip() {
        let mut record = sample::tripped().record();
        record.summary = None;
        let outcome = outcome(&record);
        assert_eq!(outcome.status, Status::Tripped);
        assert_eq!(outcome.trip.unwrap().text, "stability warning");
        assert!(outcome.statements[2].contains("without a summary"));
    }

    #[test]
    fn lost_and_missing_frames_are_never_silent() {
        let mut record = sample::benchmark().rows(500).record();
        let summary = record.summary.as_mut().unwrap();
        summary.frames_lost = 3;
        summary.frames = 510;
        let outcome = outcome(&record);
        assert_eq!(outcome.status, Status::Incomplete);
        assert!(outcome.statements[0].starts_with("3 frames did not fit"));
        assert!(outcome.statements[1].contains("wrote 510 frames, but 500 frames"));
    }

    #[test]
    fn a_load_that_broke_off_is_no_completed_test() {
        let mut record = sample::benchmark().rows(500).record();
        let text = "sample 64 is not a finite number";
        let broke_off = EventNote::new(0.25, EventKind::LoadBrokeOff, text);
        record.summary.as_mut().unwrap().events.push(broke_off);
        let told = outcome(&record);
        assert_eq!(told.status, Status::LoadBrokeOff);
        let said = "The load broke off at 0.250 s: sample 64 is not a finite number.";
        assert_eq!(told.statements[0], said);
        assert!(told.statements[1].ends_with("without a trip."), "{:?}", told.statements);
        record.summary.as_mut().unwrap().frames_lost = 1;
        assert_eq!(outcome(&record).status, Status::LoadBrokeOff, "the graver of the two");
    }

    #[test]
    fn an_empty_record_is_never_completed() {
        let mut record = sample::benchmark().rows(0).record();
        assert_eq!(outcome(&record).statements, ["The test ended without recording a frame."]);
        record.summary = None;
        let outcome = outcome(&record);
        assert_eq!(outcome.status, Status::CutOff);
        assert!(outcome.statements[0].contains("before its first frame"));
    }
}
