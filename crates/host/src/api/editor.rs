//! The editor: errors, completion and verdict of a text as one types, and of the experiments of
//! the folder.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use experiment::completion::{Completion, complete};
use experiment::diagnostic::Diagnostic;
use experiment::{Diagnostics, Experiment, Severity, Source};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use twinrig::Test;
use twinrig::estimate::Budget;
use twinrig::verdict::Verdict;
use utoipa::ToSchema;

use super::access::Caller;
use super::body::Body;
use super::files::{LARGEST_TEXT, changed_s, text_of};
use crate::error::{ApiError, Refusal};
use crate::folder::Served;
use crate::host::Host;
use crate::lock::lock;

/// What judging a text may take.
const BUDGET: Budget = Budget { memory_bytes: 1e9, time_s: 60.0 };
/// Verdicts that are kept.
const MOST_KEPT: usize = 500;

/// A text and what it is called.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draft {
    /// Relative to the folder: the files that the text names are looked for beside it.
    path: String,
    text: String,
}

/// A place in a text.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DraftPlace {
    /// Relative to the folder.
    path: String,
    text: String,
    /// From 1.
    line: usize,
    /// From 1, in characters.
    column: usize,
}

/// What was found in a text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Validation {
    /// Whether it is an experiment.
    ok: bool,
    title: Option<String>,
    diagnostics: Vec<Finding>,
}

/// One finding.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Finding {
    severity: String,
    message: String,
    remedy: Option<String>,
    /// The file it is in.
    file: String,
    /// From 1; null where it is of no line.
    line: Option<usize>,
    /// From 1, in characters.
    column: Option<usize>,
    end_line: Option<usize>,
    /// Behind its last character.
    end_column: Option<usize>,
}

/// What may be typed next.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Proposals {
    /// Where the text begins that a proposal replaces, up to the cursor.
    from_column: usize,
    items: Vec<Proposal>,
}

/// One of them.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Proposal {
    label: String,
    /// `key`, `table`, `word`, `value` or `path`.
    kind: String,
    insert: String,
    detail: String,
    doc: String,
}

/// What can be said of a text before it runs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Judgement {
    ok: bool,
    diagnostics: Vec<Finding>,
    #[schema(value_type = Option<Object>)]
    verdict: Option<Verdict>,
    /// The document of `twinrig check --json`, without what is timed or rehearsed.
    #[schema(value_type = Option<Object>)]
    check: Option<Value>,
    /// Damping against a further delay.
    #[schema(value_type = Option<Object>)]
    delay_chart: Option<Value>,
    /// What is simulated and what stands in the laboratory.
    #[schema(value_type = Option<Object>)]
    structure: Option<Value>,
    limits: Vec<Limit>,
    /// What the record would hold.
    channels: Vec<String>,
    took_ms: f64,
}

/// A declared limit, of every interface DOF.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Limit {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) values: Vec<f64>,
}

/// The experiments of the folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Experiments {
    experiments: Vec<ExperimentFacts>,
}

/// An experiment of the folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExperimentFacts {
    path: String,
    title: Option<String>,
    bytes: u64,
    modified_s: f64,
    /// Errors in the file.
    errors: usize,
    /// Null as long as it is not computed.
    #[schema(value_type = Option<Object>)]
    verdict: Option<Verdict>,
}

/// The files that a text may name: inside the folder, looked for beside it.
struct Beside {
    served: Served,
    /// Of the text, relative to the folder.
    folder: PathBuf,
}

impl Beside {
    fn of(served: &Served, path: &str) -> Self {
        let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_path_buf();
        Self { served: served.clone(), folder }
    }

    fn find(&self, name: &str) -> io::Result<PathBuf> {
        let mut place = self.folder.clone();
        for component in Path::new(name).components() {
            let inside = match component {
                Component::Normal(part) => {
                    place.push(part);
                    true
                }
                Component::ParentDir => place.pop(),
                Component::CurDir => true,
                Component::RootDir | Component::Prefix(_) => false,
            };
            if !inside {
                return Err(io::Error::other("it is outside of the folder that is served"));
            }
        }
        let found = self.served.file(&place.to_string_lossy());
        found.map_err(|error| io::Error::new(io::ErrorKind::NotFound, error.message))
    }
}

impl Source for Beside {
    fn size(&self, name: &str) -> io::Result<u64> {
        Ok(std::fs::metadata(self.find(name)?)?.len())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        experiment::source::read_regular(&self.find(name)?, experiment::source::LARGEST_FILE)
    }
}

/// A text as an experiment, with what was found; nothing of it is run.
fn read(served: &Served, path: &str, text: &str) -> Result<Test, Diagnostics> {
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    match Test::from_text(&name, text, Beside::of(served, path)) {
        Ok(test) => Ok(test.within(BUDGET)),
        Err(error) => Err(found_in(error, &name, text)),
    }
}

fn found_in(error: twinrig::Error, name: &str, text: &str) -> Diagnostics {
    match error {
        twinrig::Error::Experiment(found) => *found,
        other => {
            let mut found = Diagnostics::new(name, text);
            found.push(Diagnostic::error(other.to_string()));
            found
        }
    }
}

/// Findings with their places.
pub(crate) fn findings(found: &Diagnostics) -> Vec<Finding> {
    let finding = |item: &Diagnostic| {
        let (file, ends) = found.range(item);
        let (from, end) = (ends.map(|ends| ends[0]), ends.map(|ends| ends[1]));
        Finding {
            severity: item.severity.to_string(),
            message: item.message.clone(),
            remedy: item.remedy.clone(),
            file: file.to_owned(),
            line: from.map(|at| at.line),
            column: from.map(|at| at.column),
            end_line: end.map(|at| at.line),
            end_column: end.map(|at| at.column),
        }
    };
    found.items().iter().map(finding).collect()
}

fn refuse_long(text: &str) -> Result<(), ApiError> {
    if text.len() as u64 > LARGEST_TEXT {
        return Err(ApiError::bad("the text is longer than 1 MiB"));
    }
    Ok(())
}

/// What is wrong in a text.
#[utoipa::path(post, path = "/api/validate", tag = "editor", request_body = Draft,
    responses((status = 200, body = Validation), (status = 401, body = Refusal)))]
pub(crate) async fn validate(
    State(host): State<Arc<Host>>,
    _: Caller,
    Body(Draft { path, text }): Body<Draft>,
) -> Result<Json<Validation>, ApiError> {
    refuse_long(&text)?;
    host.served.place(&path)?;
    let served = host.served.clone();
    let _place = host.judges.acquire().await;
    let found = tokio::task::spawn_blocking(move || match read(&served, &path, &text) {
        Ok(test) => {
            let title = Some(test.experiment().title.clone());
            Validation { ok: true, title, diagnostics: findings(&test.warnings()) }
        }
        Err(found) => Validation { ok: false, title: None, diagnostics: findings(&found) },
    });
    Ok(Json(found.await?))
}

/// What may be typed next.
#[utoipa::path(post, path = "/api/complete", tag = "editor", request_body = DraftPlace,
    responses((status = 200, body = Proposals), (status = 401, body = Refusal)))]
pub(crate) async fn propose(
    State(host): State<Arc<Host>>,
    _: Caller,
    Body(asked): Body<DraftPlace>,
) -> Result<Json<Proposals>, ApiError> {
    refuse_long(&asked.text)?;
    host.served.place(&asked.path)?;
    let served = host.served.clone();
    let found = tokio::task::spawn_blocking(move || {
        let DraftPlace { path, text, line, column } = asked;
        let before =
            path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let names = served.list(|_| true).into_iter();
        let beside: Vec<String> =
            names.filter_map(|file| file.path.strip_prefix(&before).map(str::to_owned)).collect();
        complete(&text, line, column, &beside)
    });
    let Completion { from_column, items } = found.await?;
    let items = items.into_iter().map(|item| Proposal {
        label: item.label,
        kind: item.kind.to_owned(),
        insert: item.insert,
        detail: item.detail,
        doc: item.doc,
    });
    Ok(Json(Proposals { from_column, items: items.collect() }))
}

/// The JSON Schema of an experiment file.
#[utoipa::path(get, path = "/api/schema", tag = "editor",
    responses((status = 200, body = Object), (status = 401, body = Refusal)))]
pub(crate) async fn schema(_: Caller) -> Json<Value> {
    Json(experiment::schema::json_schema())
}

/// Verdict, modes, margins and delay chart of a text.
#[utoipa::path(post, path = "/api/judge", tag = "editor", request_body = Draft,
    responses((status = 200, body = Judgement), (status = 401, body = Refusal)))]
pub(crate) async fn judge(
    State(host): State<Arc<Host>>,
    _: Caller,
    Body(Draft { path, text }): Body<Draft>,
) -> Result<Json<Judgement>, ApiError> {
    refuse_long(&text)?;
    host.served.place(&path)?;
    let served = host.served.clone();
    let _place = host.judges.acquire().await;
    let judged = tokio::task::spawn_blocking(move || {
        let begun = Instant::now();
        let mut judged = judgement(&served, &path, &text);
        judged.took_ms = 1e3 * begun.elapsed().as_secs_f64();
        judged
    });
    Ok(Json(judged.await?))
}

fn judgement(served: &Served, path: &str, text: &str) -> Judgement {
    let failed = |found: &Diagnostics| Judgement {
        ok: false,
        diagnostics: findings(found),
        verdict: None,
        check: None,
        delay_chart: None,
        structure: None,
        limits: Vec::new(),
        channels: Vec::new(),
        took_ms: 0.0,
    };
    let test = match read(served, path, text) {
        Ok(test) => test,
        Err(found) => return failed(&found),
    };
    let name = test.experiment().name().to_owned();
    let check = match test.judge() {
        Ok(check) => check,
        Err(error) => return failed(&found_in(error, &name, text)),
    };
    let assembly = test.assembly().ok();
    let count = assembly.map_or(1, |assembly| assembly.count());
    Judgement {
        ok: true,
        diagnostics: findings(&test.warnings()),
        verdict: Some(check.verdict().clone()),
        delay_chart: check.delay_chart().map(|chart| json!(chart)),
        structure: Some(structure(&test)),
        limits: limits(test.experiment(), count),
        channels: assembly.map_or(Vec::new(), |assembly| {
            assembly.channels().into_iter().map(|channel| channel.name).collect()
        }),
        check: serde_json::to_value(&check).ok(),
        took_ms: 0.0,
    }
}

/// The limits of an experiment.
pub(crate) fn limits(experiment: &Experiment, count: usize) -> Vec<Limit> {
    let all = twinrig::hosted::limits(experiment, count).into_iter();
    all.map(|(name, unit, values)| Limit { name, unit, values }).collect()
}

/// What a picture of the test needs: the DOFs, their springs, and where the laboratory begins.
fn structure(test: &Test) -> Value {
    let Ok(assembly) = test.assembly() else { return Value::Null };
    let names = &assembly.structure.names;
    let matrices = &assembly.structure.matrices;
    let stiffness = &matrices.stiffness;
    let size = names.len().min(60);
    let mut elements = Vec::new();
    for row in 0..size {
        let to_ground: f64 = (0..names.len()).map(|column| stiffness[(row, column)]).sum();
        if to_ground.abs() > 1e-9 * stiffness[(row, row)].abs() {
            elements.push(json!({ "kind": "spring", "from": "ground", "to": names[row] }));
        }
        for column in 0..row {
            if stiffness[(row, column)] != 0.0 {
                let (from, to) = (&names[column], &names[row]);
                elements.push(json!({ "kind": "spring", "from": from, "to": to }));
            }
        }
    }
    let interface = assembly.partition.interface.iter().enumerate().map(|(index, place)| {
        let dof = |dof: Option<usize>| dof.map(|dof| names[dof].clone());
        json!({ "name": (index + 1).to_string(), "from": dof(place.from), "dof": dof(place.to) })
    });
    json!({
        "dofs": &names[..size],
        "left_out": names.len() - size,
        "interface": interface.collect::<Vec<_>>(),
        "elements": elements,
    })
}

/// The experiments of the folder.
#[utoipa::path(get, path = "/api/experiments", tag = "files",
    responses((status = 200, body = Experiments), (status = 401, body = Refusal)))]
pub(crate) async fn experiments(
    State(host): State<Arc<Host>>,
    _: Caller,
) -> Result<Json<Experiments>, ApiError> {
    let looked = Arc::clone(&host);
    let found = tokio::task::spawn_blocking(move || {
        let files = looked.served.list(|name| name.ends_with(".toml"));
        files.into_iter().filter_map(|file| facts(&looked, file)).collect::<Vec<_>>()
    });
    let experiments = found.await?;
    let missing: Vec<String> = experiments
        .iter()
        .filter(|it| it.verdict.is_none() && it.errors == 0)
        .map(|it| it.path.clone())
        .collect();
    if !missing.is_empty() {
        tokio::spawn(judge_later(host, missing));
    }
    Ok(Json(Experiments { experiments }))
}

fn facts(host: &Host, file: crate::folder::Found) -> Option<ExperimentFacts> {
    let text = text_of(host, &file.path).ok()?;
    // What `identify` writes for others to include has neither.
    let begins = |line: &str| {
        let key = line.trim_start_matches('[').trim_start();
        ["structure", "integrator"].iter().any(|it| key.starts_with(it))
    };
    if !text.lines().any(begins) {
        return None;
    }
    let kept = lock(&host.verdicts).get(&file.path).filter(|it| it.0 == file.modified_s).cloned();
    let read = read(&host.served, &file.path, &text);
    let errors = |found: &Diagnostics| {
        found.items().iter().filter(|item| item.severity == Severity::Error).count()
    };
    let (title, errors) = match &read {
        Ok(test) => (Some(test.experiment().title.clone()), 0),
        Err(found) => (None, errors(found)),
    };
    let verdict = kept.and_then(|(_, verdict)| verdict);
    let crate::folder::Found { path, bytes, modified_s } = file;
    Some(ExperimentFacts { path, title, bytes, modified_s, errors, verdict })
}

/// Computes verdicts, one after the other, behind whoever edits.
async fn judge_later(host: Arc<Host>, paths: Vec<String>) {
    for path in paths {
        let Ok(place) = host.served.file(&path) else { continue };
        let modified_s = changed_s(&place);
        {
            let mut kept = lock(&host.verdicts);
            // Somebody else is at it, or it was found that there is none.
            if kept.get(&path).is_some_and(|it| it.0 == modified_s) {
                continue;
            }
            if kept.len() >= MOST_KEPT {
                kept.clear();
            }
            kept.insert(path.clone(), (modified_s, None));
        }
        let _place = host.judges.acquire().await;
        let judging = Arc::clone(&host);
        let of = path.clone();
        let verdict = tokio::task::spawn_blocking(move || {
            let text = text_of(&judging, &of).ok()?;
            let check = read(&judging.served, &of, &text).ok()?.judge().ok()?;
            Some(check.verdict().clone())
        });
        if let Ok(verdict) = verdict.await {
            lock(&host.verdicts).insert(path, (modified_s, verdict));
        }
    }
}
