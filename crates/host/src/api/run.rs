//! Requests about the run: prepare, arm, start, hold, resume, stop.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use runtime::host::{Action, ClientError, Token};
use serde::{Deserialize, Serialize};
use twinrig::verdict::Verdict;
use twinrig::{Test, machine};
use utoipa::ToSchema;

use super::access::{Caller, Holder, Operator};
use super::body::Body;
use super::editor::{Finding, Limit, findings, limits};
use super::files::{text_of, version};
use crate::error::{ApiError, Refusal};
use crate::host::Host;
use crate::lock::lock;
use crate::run::{Known, Order, Prepared, Run, RunState};

/// The run, or null.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunAnswer {
    run: Option<Run>,
}

/// Which clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClockWord {
    /// Each tick at its deadline.
    Real,
    /// As fast as the machine goes: a rehearsal.
    Virtual,
}

/// A test that is to be prepared.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prepare {
    /// Experiment, relative to the folder.
    path: String,
    clock: ClockWord,
    /// Other values in the file, as `integrator.rate=2 kHz`.
    #[serde(default)]
    set: Vec<String>,
    /// Laboratory, instead of the one that the file names.
    #[serde(default)]
    rig: Option<String>,
}

/// What is known of a test before it is armed. Nothing has moved.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreparedTest {
    /// For `/api/run/arm`.
    prepared: String,
    title: String,
    #[schema(value_type = Object)]
    verdict: Verdict,
    diagnostics: Vec<Finding>,
    duration_s: f64,
    limits: Vec<Limit>,
    /// Whether instability is predicted: a test in real time is then refused unless that is
    /// accepted.
    unstable: bool,
    /// SHA-256 of the file.
    version: String,
}

/// Which test is to be armed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arm {
    prepared: String,
    /// Although instability is predicted.
    #[serde(default)]
    accept_unstable: bool,
}

/// How often the stop was pressed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Presses {
    presses: u64,
}

impl From<ClientError> for ApiError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Over => Self::conflict("wrong_state", "the test is over"),
            ClientError::Refused { text, .. } => Self::conflict("wrong_state", text),
            other => Self::unreachable(other.to_string()),
        }
    }
}

fn answer(host: &Host) -> Json<RunAnswer> {
    Json(RunAnswer { run: host.runs.known().run.clone() })
}

fn refuse_while_running(host: &Host) -> Result<(), ApiError> {
    match &host.runs.known().run {
        Some(run) if run.state != RunState::Over => {
            Err(ApiError::conflict("busy", format!("{} runs already", run.path)))
        }
        _ => Ok(()),
    }
}

/// The test that runs, or was the last.
#[utoipa::path(get, path = "/api/run", tag = "run",
    responses((status = 200, body = RunAnswer), (status = 401, body = Refusal)))]
pub(crate) async fn run(State(host): State<Arc<Host>>, _: Caller) -> Json<RunAnswer> {
    answer(&host)
}

/// Prepares a test: what is known before anything moves.
#[utoipa::path(post, path = "/api/run/prepare", tag = "run", request_body = Prepare,
    params(("X-Twinrig-Lease" = String, Header, description = "Secret of the lease")),
    responses((status = 200, body = PreparedTest), (status = 403, body = Refusal), (status = 422, body = Refusal)))]
pub(crate) async fn prepare(
    State(host): State<Arc<Host>>,
    Holder(name): Holder,
    Body(asked): Body<Prepare>,
) -> Result<Json<PreparedTest>, ApiError> {
    let file = host.served.file(&asked.path)?;
    let version = version(text_of(&host, &asked.path)?.as_bytes());
    let mut values = Vec::new();
    for set in &asked.set {
        let pair = set.split_once('=');
        let (path, value) =
            pair.ok_or_else(|| ApiError::bad(format!("{set}: write PATH=VALUE")))?;
        values.push((path.to_owned(), value.to_owned()));
    }
    let looked = tokio::task::spawn_blocking(move || -> Result<_, twinrig::Error> {
        let mut test = Test::load(file)?;
        if !values.is_empty() {
            test = test.with_values(values)?;
        }
        let check = test.judge()?;
        let assembly = test.assembly()?;
        let duration_s = assembly.most_ticks() as f64 * assembly.integrator.step_s;
        let mut found = test.warnings();
        found.extend(test.experiment().missing_limits());
        Ok(PreparedTest {
            prepared: String::new(),
            title: test.experiment().title.clone(),
            verdict: check.verdict().clone(),
            diagnostics: findings(&found),
            duration_s,
            limits: limits(test.experiment(), assembly.count()),
            unstable: check.is_unstable(),
            version: String::new(),
        })
    });
    let looked = looked.await?.map_err(|error| match &error {
        twinrig::Error::Experiment(found) => {
            ApiError::invalid("the file is no experiment", Some(found.to_json()))
        }
        other => ApiError::invalid(other.to_string(), None),
    })?;
    let id = Token::random().map_err(|_| ApiError::internal("no random numbers"))?;
    let id = id.text()[..16].to_owned();
    let real_time = asked.clock == ClockWord::Real;
    let stem = asked.path.trim_end_matches(".toml").replace(['/', ' '], "-");
    let started = machine::utc_now().replace([':', '-'], "");
    let folder = if real_time { format!("runs/{stem}-{started}") } else { format!("runs/{stem}") };
    let Prepare { path, set, rig, .. } = asked;
    host.audit.note(&name, &path, "prepared");
    let order = Order { id: id.clone(), path, real_time, set, rig, accept_unstable: false, folder };
    *lock(&host.runs.prepared) = Some(Prepared { order, version: version.clone() });
    Ok(Json(PreparedTest { prepared: id, version, ..looked }))
}

/// Arms a prepared test: its process begins, finds its rig and stands ready.
#[utoipa::path(post, path = "/api/run/arm", tag = "run", request_body = Arm,
    params(("X-Twinrig-Lease" = String, Header, description = "Secret of the lease")),
    responses((status = 202, body = RunAnswer), (status = 403, body = Refusal), (status = 409, body = Refusal)))]
pub(crate) async fn arm(
    State(host): State<Arc<Host>>,
    Holder(name): Holder,
    Body(asked): Body<Arm>,
) -> Result<(StatusCode, Json<RunAnswer>), ApiError> {
    // Held until the process is there: two requests arm one test.
    let mut prepared = lock(&host.runs.prepared);
    refuse_while_running(&host)?;
    let known = prepared.as_ref().filter(|it| it.order.id == asked.prepared).cloned();
    let Some(Prepared { mut order, version: read }) = known else {
        return Err(ApiError::conflict("changed", "another test was prepared since")
            .remedy("prepare it again"));
    };
    if version(text_of(&host, &order.path)?.as_bytes()) != read {
        let text = format!("{} is not what was prepared", order.path);
        return Err(ApiError::conflict("changed", text).remedy("prepare it again"));
    }
    order.accept_unstable = asked.accept_unstable;
    let launched = host.runs.launch(&host.program, host.served.root(), &order);
    launched.map_err(|error| ApiError::internal(format!("the test cannot be started: {error}")))?;
    *prepared = None;
    host.audit.note(&name, &order.path, "armed");
    Ok((StatusCode::ACCEPTED, answer(&host)))
}

/// Begins the load, holds the test or lets it go on.
#[utoipa::path(post, path = "/api/run/{action}", tag = "run",
    params(("action" = String, Path, description = "start, hold or resume"),
        ("X-Twinrig-Lease" = String, Header, description = "Secret of the lease")),
    responses((status = 200, body = RunAnswer), (status = 403, body = Refusal), (status = 409, body = Refusal)))]
pub(crate) async fn command(
    State(host): State<Arc<Host>>,
    Holder(name): Holder,
    Path(word): Path<String>,
) -> Result<Json<RunAnswer>, ApiError> {
    let action = match word.as_str() {
        "start" => Action::Start,
        "hold" => Action::Hold,
        "resume" => Action::Resume,
        _ => return Err(ApiError::not_found("a run is started, held or resumed")),
    };
    {
        let known = host.runs.known();
        let can = known.run.as_ref().is_some_and(|run| run.can.contains(&word));
        if !can {
            return Err(ApiError::conflict("wrong_state", format!("{word} makes no sense now")));
        }
    }
    let (asked, by) = (Arc::clone(&host), name.clone());
    tokio::task::spawn_blocking(move || asked.runs.control(action, &by)).await??;
    host.audit.note(&name, "run", &word);
    Ok(answer(&host))
}

/// Stops the test: hold, then ramp to zero. Again: the ramp begins, or is frozen. Needs no lease.
///
/// A press that carries a name in `X-Twinrig-Press` counts once, however often it is sent.
#[utoipa::path(post, path = "/api/run/stop", tag = "run",
    params(("X-Twinrig-Press" = Option<String>, Header, description = "Name of the press")),
    responses((status = 200, body = Presses), (status = 403, body = Refusal), (status = 409, body = Refusal)))]
pub(crate) async fn stop(
    State(host): State<Arc<Host>>,
    Operator(caller): Operator,
    headers: HeaderMap,
) -> Result<Json<Presses>, ApiError> {
    let by = caller.holder.unwrap_or_else(|| "an operator without the lease".to_owned());
    let (asked, name) = (Arc::clone(&host), by.clone());
    let press = headers.get("x-twinrig-press").and_then(|press| press.to_str().ok());
    let press = press.map(str::to_owned);
    let pressing = move || asked.runs.stop(&name, press.as_deref());
    let pressed = tokio::task::spawn_blocking(pressing).await?;
    host.audit.note(&by, "run", if pressed.is_ok() { "stop" } else { "stop: not reached" });
    let presses = pressed?.ok_or_else(|| ApiError::unreachable("the stop is being pressed"))?;
    Ok(Json(Presses { presses }))
}

/// Forgets a test that is over.
#[utoipa::path(post, path = "/api/run/clear", tag = "run",
    params(("X-Twinrig-Lease" = String, Header, description = "Secret of the lease")),
    responses((status = 204), (status = 403, body = Refusal), (status = 409, body = Refusal)))]
pub(crate) async fn clear(
    State(host): State<Arc<Host>>,
    _: Holder,
) -> Result<StatusCode, ApiError> {
    refuse_while_running(&host)?;
    *host.runs.known() = Known::default();
    Ok(StatusCode::NO_CONTENT)
}
