//! What is known of the test that runs: for requests, and for those who look on.

use std::collections::VecDeque;

use axum::extract::ws::Utf8Bytes;
use bytes::Bytes;
use runtime::gate::TripKind;
use runtime::host::{Situation, Status};
use runtime::interlock::Phase;
use serde::Serialize;
use serde_json::{Value, json};
use twinrig::hosted::Found;
use twinrig::verdict::Verdict;
use utoipa::ToSchema;

use super::uses::Uses;
use crate::curves::Curves;

/// Events that are kept.
const MOST_EVENTS: usize = 200;
/// Shortest stretch of the curves, s.
pub(super) const STRETCH_S: f64 = 0.005;
/// Stretches of one message, and of everything so far.
pub(super) const STRETCHES: usize = 256;
const HISTORY: usize = 2048;

/// How a test gets on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunState {
    /// Its process begins, and finds its rig.
    Starting,
    /// It stands ready, and its load waits for the operator.
    Armed,
    /// It runs.
    Running,
    /// The operator holds it.
    Held,
    /// It has tripped or was stopped, and is on its way to safe.
    Stopping,
    /// It is over.
    Over,
    /// It cannot be reached, and its process lives.
    Lost,
}

/// A test.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) title: String,
    /// `real` or `virtual`.
    pub(crate) clock: String,
    pub(crate) state: RunState,
    /// Number and word of the phase, as in the record.
    pub(crate) phase: u8,
    pub(crate) phase_word: String,
    /// Of the loop, from its first tick.
    pub(crate) time_s: f64,
    pub(crate) ticks: u64,
    pub(crate) tick_hz: f64,
    /// Expected, but for the way home and what the operator adds.
    pub(crate) duration_s: f64,
    pub(crate) trip: Option<TripFacts>,
    /// Presses of the stop from here.
    pub(crate) presses: u64,
    /// The record, as `/api/records` calls it.
    pub(crate) record: String,
    #[schema(value_type = Option<Object>)]
    pub(crate) verdict: Option<Verdict>,
    /// Exit code of the process, where this host has started it.
    pub(crate) exit: Option<i32>,
    /// What the process said last.
    pub(crate) message: Option<String>,
    pub(crate) operator_lost: Option<LostOperator>,
    pub(crate) load: Option<LoadFacts>,
    /// What may be asked for now: `start`, `hold`, `resume`, `stop`.
    pub(crate) can: Vec<String>,
    /// Frames that this host has not got.
    pub(crate) frames_lost: u64,
    pub(crate) viewers: usize,
}

/// Why a test tripped.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct TripFacts {
    code: u8,
    text: String,
    time_s: f64,
}

/// What becomes of the test without its operator.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct LostOperator {
    /// `continue`, `hold` or `stop`.
    action: String,
    after_s: f64,
    /// Whether one is there.
    attended: bool,
}

/// A load that arrives while the test runs.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct LoadFacts {
    state: String,
    rate_hz: f64,
    samples: u64,
    used: u64,
    starved_ticks: u64,
}

/// To those who look on.
#[derive(Debug, Clone)]
pub(crate) enum Live {
    Text(Utf8Bytes),
    Curves(Bytes),
}

impl Live {
    pub(crate) fn json(value: &Value) -> Self {
        Self::Text(value.to_string().into())
    }
}

/// What can be asked about a run behind its lock.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) run: Option<Run>,
    pub(crate) found: Option<Found>,
    /// The process, where this host has started it.
    pub(super) child: Option<u32>,
    channels: Vec<(String, String)>,
    limits: Vec<Value>,
    pub(super) uses: Uses,
    pub(super) history: Option<Curves>,
    pub(super) number: u64,
    events: VecDeque<Value>,
    event: u64,
}

impl Known {
    /// A test begins.
    pub(super) fn begin(&mut self, run: Run) {
        *self = Self { run: Some(run), ..Self::default() };
    }

    /// The process of a test that is not over.
    pub(super) fn pid(&self) -> Option<u32> {
        let lives = self.run.as_ref().is_some_and(|run| run.state != RunState::Over);
        let pid = self.child.or(self.found.as_ref().map(|found| found.pid));
        pid.filter(|_| lives)
    }

    /// It is there, with these channels and limits.
    pub(super) fn meet(&mut self, found: Found, channels: Vec<(String, String)>) {
        self.uses = Uses::new(&channels, &found.limits);
        self.limits = self.uses.described(&channels);
        self.channels = channels;
        let more = self.uses.names().map(|name| (name, "%".to_owned()));
        self.channels.extend(more);
        self.history = Some(Curves::new(self.channels.len(), STRETCH_S, HISTORY));
        if let Some(run) = &mut self.run {
            run.title.clone_from(&found.title);
            run.duration_s = found.duration_s;
            run.verdict = Some(found.prediction.clone());
        }
        self.found = Some(found);
    }

    /// Channels of a message of curves.
    pub(super) fn width(&self) -> usize {
        self.channels.len()
    }

    /// What a new viewer is told first.
    pub(crate) fn hello(&self) -> Value {
        let channel = |(name, unit): &(String, String)| json!({ "name": name, "unit": unit });
        json!({
            "kind": "hello",
            "run": self.run,
            "channels": self.channels.iter().map(channel).collect::<Vec<_>>(),
            "limits": self.limits,
            "history_from_s": self.history.as_ref().and_then(Curves::begins_s),
        })
    }

    /// Everything so far, in few stretches.
    pub(crate) fn history(&self) -> Option<&Curves> {
        self.history.as_ref()
    }

    /// Number of the next message of curves.
    pub(crate) fn next_number(&self) -> u64 {
        self.number
    }

    /// What happened so far.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Value> {
        self.events.iter()
    }

    /// Notes what happened; gives it for those who look on.
    pub(crate) fn event(&mut self, what: &str, text: &str, by: Option<&str>) -> Live {
        let time_s = self.run.as_ref().map_or(0.0, |run| run.time_s);
        let (n, kind) = (self.event, "event");
        let event = json!({
            "kind": kind, "n": n, "time_s": time_s, "what": what, "text": text, "by": by,
        });
        self.event += 1;
        if self.events.len() >= MOST_EVENTS {
            self.events.pop_front();
        }
        let live = Live::json(&event);
        self.events.push_back(event);
        live
    }

    /// Takes in where the test stands; gives what is new for those who look on.
    pub(super) fn take_in(&mut self, status: &Status, situation: &Situation, hz: f64) -> Vec<Live> {
        let mut news = Vec::new();
        let load_hz = self.run.as_ref().and_then(|run| run.load.as_ref()).map(|load| load.rate_hz);
        let Some(run) = &mut self.run else { return news };
        let (phase, trip) = (run.phase, run.trip.is_some());
        (run.ticks, run.tick_hz, run.phase) = (status.ticks, hz, status.phase);
        run.time_s = status.ticks as f64 / hz;
        run.phase_word = Phase::word(status.phase).to_owned();
        run.operator_lost = Some(LostOperator {
            action: ["continue", "hold", "stop"][usize::from(situation.when_lost.min(2))]
                .to_owned(),
            after_s: situation.lost_after_s,
            attended: situation.attended == 1,
        });
        if let Some(rate_hz) = load_hz {
            let state = ["nobody feeds", "being fed", "ended"][usize::from(status.feeding.min(2))];
            run.load = Some(LoadFacts {
                state: state.to_owned(),
                rate_hz,
                samples: status.fed,
                used: status.used,
                starved_ticks: status.starved,
            });
        }
        run.state = match Phase::from_code(status.phase) {
            Some(Phase::Holding | Phase::Ramping) => RunState::Stopping,
            Some(Phase::Safe | Phase::Frozen) => RunState::Stopping,
            Some(Phase::Held) => RunState::Held,
            _ if situation.waiting == 1 => RunState::Armed,
            _ => RunState::Running,
        };
        run.can = can(run.state, situation);
        let word = run.phase_word.clone();
        if status.trip != 0 && !trip {
            let kind = TripKind::from_code(status.trip);
            let text = kind.map_or("tripped", |kind| kind.words()).to_owned();
            let (code, time_s) = (status.trip, run.time_s);
            run.trip = Some(TripFacts { code, text: text.clone(), time_s });
            news.push(self.event("trip", &text, None));
        }
        if phase != status.phase {
            news.push(self.event("phase", &word, None));
        }
        news
    }

    /// The load of this test arrives while it runs.
    pub(super) fn expects_load(&mut self, rate_hz: f64) {
        if let Some(run) = self.run.as_mut().filter(|_| rate_hz > 0.0) {
            let state = "nobody feeds".to_owned();
            let (samples, used, starved_ticks) = (0, 0, 0);
            run.load = Some(LoadFacts { state, rate_hz, samples, used, starved_ticks });
        }
    }
}

/// What may be asked for.
fn can(state: RunState, situation: &Situation) -> Vec<String> {
    let holds = situation.can_hold == 1;
    let words: &[&str] = match state {
        RunState::Armed => &["start", "stop"],
        RunState::Running if situation.held == 1 => &["resume", "stop"],
        RunState::Running if holds => &["hold", "stop"],
        RunState::Held => &["resume", "stop"],
        RunState::Over => &[],
        RunState::Starting | RunState::Running | RunState::Stopping | RunState::Lost => &["stop"],
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}
