//! Studies: the program's own commands, started from the page, with progress and growing results.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{Notify, Semaphore};
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::lock::lock;
use crate::process::{LastWords, command, document, interrupt, lines};

/// Studies that are remembered.
const MOST: usize = 50;
/// Studies that may wait or run.
const MOST_WAITING: usize = 8;
/// Events that are kept of one study.
const MOST_EVENTS: usize = 20_000;
/// Options of one study, and values of one option.
const MOST_OPTIONS: usize = 40;

/// A study that is asked for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskStudy {
    kind: Kind,
    /// Experiment, relative to the folder.
    pub(crate) path: String,
    /// Long options of the command by name: text, number, true, or a list for repeated ones.
    #[serde(default)]
    #[schema(value_type = Object)]
    options: Map<String, Value>,
    /// Other values in the file, as `integrator.rate=2 kHz`.
    #[serde(default)]
    set: Vec<String>,
}

/// Which study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Stability, margins, modes, time of a tick.
    Check,
    /// The actuator's transfer function.
    Identify,
    /// Where a test is stable.
    Chart,
    /// A frequency response by iteration.
    Trace,
    /// Many variants.
    Sweep,
    /// A large structure made small.
    Reduce,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Identify => "identify",
            Self::Chart => "chart",
            Self::Trace => "trace",
            Self::Sweep => "sweep",
            Self::Reduce => "reduce",
        }
    }

    /// The long options that the page may use: none that names a place outside of the folder.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Check => &["advise"],
            Self::Identify => &[
                "signal",
                "band",
                "rms",
                "amplitude",
                "duration",
                "seed",
                "segment",
                "order",
                "delay",
                "hold",
                "dof",
                "rate",
            ],
            Self::Chart => {
                &["x", "y", "grid", "full", "growth", "sampled", "cross-check", "threads"]
            }
            Self::Trace => &["restart"],
            Self::Sweep => &["runs", "seed", "threads", "restart"],
            Self::Reduce => &["points", "compare"],
        }
    }
}

/// How far a study has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StudyState {
    /// Others come first.
    Queued,
    /// It is computed.
    Running,
    /// It has a result.
    Done,
    /// It has none.
    Failed,
    /// Somebody stopped it.
    Stopped,
}

/// So much is done.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Share {
    done: u64,
    of: u64,
}

/// Something that happened in a study.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct StudyEvent {
    n: usize,
    /// `point`, `variant`, `notice` or `stage`.
    kind: String,
    #[schema(value_type = Object)]
    data: Value,
}

/// A study.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Study {
    id: String,
    kind: Kind,
    path: String,
    state: StudyState,
    /// Seconds since 1970.
    started_s: f64,
    took_s: f64,
    progress: Option<Share>,
    stage: Option<String>,
    /// Exit code of the command.
    exit: Option<i32>,
    /// What the command said last.
    message: Option<String>,
    /// The document of `--json`.
    #[schema(value_type = Option<Object>)]
    result: Option<Value>,
    /// In its folder.
    files: Vec<String>,
    events: Vec<StudyEvent>,
    /// Number of the next event.
    next: usize,
}

/// Studies, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StudyList {
    studies: Vec<Study>,
}

struct Entry {
    study: Study,
    begun: Instant,
    stop: Arc<Notify>,
}

/// All that were started.
#[derive(Clone)]
pub(crate) struct Studies(Arc<Shared>);

struct Shared {
    entries: Mutex<VecDeque<Entry>>,
    /// One at a time: they use all processors.
    turn: Semaphore,
    /// What computes them, and the folder in which.
    program: PathBuf,
    root: PathBuf,
}

impl Studies {
    pub(crate) fn new(program: PathBuf, root: PathBuf) -> Self {
        let (entries, turn) = (Mutex::default(), Semaphore::new(1));
        Self(Arc::new(Shared { entries, turn, program, root }))
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        lock(&self.0.entries)
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Study)) {
        if let Some(entry) = self.entries().iter_mut().find(|it| it.study.id == id) {
            entry.study.took_s = entry.begun.elapsed().as_secs_f64();
            change(&mut entry.study);
        }
    }

    /// All of them, the newest first, without their events and results.
    pub(crate) fn list(&self) -> StudyList {
        StudyList { studies: self.entries().iter().map(|entry| bare(&entry.study)).collect() }
    }

    /// One, with its events from a number on.
    pub(crate) fn get(&self, id: &str, after: usize) -> Result<Study, ApiError> {
        let entries = self.entries();
        let entry = entries.iter().find(|it| it.study.id == id);
        let entry = entry.ok_or_else(|| ApiError::not_found(format!("there is no study {id}")))?;
        let Study { events, .. } = &entry.study;
        let first = after.min(events.len());
        let events = events[first..].to_vec();
        Ok(Study { events, result: entry.study.result.clone(), ..bare(&entry.study) })
    }

    /// Asks one to end; a second time it is killed.
    pub(crate) fn stop(&self, id: &str) {
        if let Some(entry) = self.entries().iter().find(|it| it.study.id == id) {
            entry.stop.notify_one();
        }
    }

    /// The place of a file that a study has left, relative to the folder.
    pub(crate) fn file(&self, id: &str, name: &str) -> Result<String, ApiError> {
        let study = self.get(id, usize::MAX)?;
        if !study.files.iter().any(|known| known == name) {
            return Err(ApiError::not_found(format!("the study has no file {name}")));
        }
        Ok(format!("{}/{name}", study.folder()))
    }

    /// Starts one, behind those that wait.
    pub(crate) fn start(&self, asked: AskStudy) -> Result<Study, ApiError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let stop = Arc::new(Notify::new());
        let mut study = Study {
            id: format!("s{}", since.as_micros()),
            kind: asked.kind,
            path: String::new(),
            state: StudyState::Queued,
            started_s: since.as_secs_f64(),
            took_s: 0.0,
            progress: None,
            stage: None,
            exit: None,
            message: None,
            result: None,
            files: Vec::new(),
            events: Vec::new(),
            next: 0,
        };
        study.path.clone_from(&asked.path);
        let arguments = arguments(&asked, &study.folder())?;
        let mut entries = self.entries();
        let open = |it: &&Entry| matches!(it.study.state, StudyState::Queued | StudyState::Running);
        if entries.iter().filter(open).count() >= MOST_WAITING {
            let text = format!("{MOST_WAITING} studies wait or run already");
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many", text));
        }
        let entry = Entry { study: bare(&study), begun: Instant::now(), stop: Arc::clone(&stop) };
        entries.push_front(entry);
        entries.truncate(MOST);
        tokio::spawn(compute(self.clone(), study.id.clone(), arguments, study.folder(), stop));
        Ok(study)
    }
}

impl Study {
    /// Where its results lie, relative to the folder that is served.
    fn folder(&self) -> String {
        let stem = self.path.trim_end_matches(".toml").replace(['/', ' '], "-");
        format!("runs/{stem}-{}", self.kind.word())
    }
}

impl AskStudy {
    /// What it is, for the log.
    pub(crate) fn words(&self) -> String {
        format!("{} {}", self.kind.word(), self.path)
    }
}

/// A study without what is long.
fn bare(study: &Study) -> Study {
    Study {
        id: study.id.clone(),
        path: study.path.clone(),
        stage: study.stage.clone(),
        message: study.message.clone(),
        files: study.files.clone(),
        result: None,
        events: Vec::new(),
        ..*study
    }
}

/// The command line of a study.
fn arguments(asked: &AskStudy, out: &str) -> Result<Vec<String>, ApiError> {
    let word = asked.kind.word();
    let mut arguments = vec!["--json".to_owned(), word.to_owned()];
    if asked.options.len() + asked.set.len() > MOST_OPTIONS {
        return Err(ApiError::bad(format!("at most {MOST_OPTIONS} options")));
    }
    for (name, value) in &asked.options {
        if !asked.kind.options().contains(&name.as_str()) {
            let known = asked.kind.options().join(", ");
            return Err(ApiError::bad(format!("{word} has no option {name}: {known}")));
        }
        let values = match value {
            Value::Array(values) if values.len() <= MOST_OPTIONS => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        for value in values {
            arguments.push(match value {
                Value::Bool(true) => format!("--{name}"),
                Value::String(text) => format!("--{name}={text}"),
                Value::Number(number) => format!("--{name}={number}"),
                _ => return Err(ApiError::bad(format!("{name} is a text, a number or true"))),
            });
        }
    }
    arguments.extend(asked.set.iter().map(|set| format!("--set={set}")));
    if asked.kind != Kind::Check {
        arguments.push(format!("--out={out}"));
    }
    arguments.extend(["--".to_owned(), asked.path.clone()]);
    Ok(arguments)
}

/// Waits for its turn, runs the command and takes in what it says.
async fn compute(
    studies: Studies,
    id: String,
    arguments: Vec<String>,
    out: String,
    stop: Arc<Notify>,
) {
    let end = |state, message: Option<String>| {
        studies.change(&id, |study| {
            (study.state, study.message) = (state, message);
        });
    };
    let _turn = tokio::select! {
        turn = studies.0.turn.acquire() => turn,
        () = stop.notified() => return end(StudyState::Stopped, None),
    };
    studies.change(&id, |study| study.state = StudyState::Running);
    let mut command = command(&studies.0.program, &studies.0.root, &arguments);
    command.env("TWINRIG_PROGRESS", "lines").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(error) => return end(StudyState::Failed, Some(error.to_string())),
    };
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else { return };
    let words = LastWords::default();
    let (told, of, heard) = (studies.clone(), id.clone(), words.clone());
    let progress = tokio::spawn(async move {
        lines(stderr, |line| match serde_json::from_str(line) {
            Ok(Value::Object(event)) => told.change(&of, |study| take_in(study, event)),
            _ => heard.push(line),
        })
        .await;
    });
    let result = tokio::spawn(document(stdout));
    let mut stopped = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            () = stop.notified() => {
                // The first asks, the second does not.
                if stopped {
                    let _ = child.start_kill();
                }
                stopped = true;
                interrupt(&child);
            }
        }
    };
    let _ = progress.await;
    let result = result.await.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let exit = status.ok().and_then(|status| status.code());
    let folder = studies.0.root.join(&out);
    studies.change(&id, |study| {
        let has_result = result.is_some();
        (study.exit, study.result, study.message) = (exit, result, words.text());
        study.files = file_names(&folder);
        study.state = match () {
            () if stopped => StudyState::Stopped,
            () if has_result => StudyState::Done,
            () => StudyState::Failed,
        };
    });
}

/// Takes in what a command says of its progress: one object with one key.
fn take_in(study: &mut Study, event: Map<String, Value>) {
    for (kind, data) in event {
        match kind.as_str() {
            "progress" => {
                let number = |key: &str| data.get(key).and_then(Value::as_u64);
                if let (Some(done), Some(of)) = (number("done"), number("of")) {
                    study.progress = Some(Share { done, of });
                }
                continue;
            }
            "stage" => study.stage = data.as_str().map(str::to_owned),
            _ => {}
        }
        if study.events.len() < MOST_EVENTS {
            study.events.push(StudyEvent { n: study.next, kind, data });
            study.next += 1;
        }
    }
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_file()));
    let mut names: Vec<String> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_study_takes_declared_options_and_nothing_that_looks_like_one() {
        let asked = |options: Value| AskStudy {
            kind: Kind::Chart,
            path: "-rf.toml".into(),
            options: serde_json::from_value(options).unwrap(),
            set: vec!["a=--out=x".into()],
        };
        let line = arguments(&asked(json!({ "x": "--out=/tmp", "full": true })), "runs/o").unwrap();
        assert_eq!(
            line,
            [
                "--json",
                "chart",
                "--x=--out=/tmp",
                "--full",
                "--set=a=--out=x",
                "--out=runs/o",
                "--",
                "-rf.toml",
            ]
        );
        for bad in [json!({ "out": "x" }), json!({ "x": null }), json!({ "budget": "9 TB" })] {
            assert!(arguments(&asked(bad), "o").is_err());
        }
    }
}
