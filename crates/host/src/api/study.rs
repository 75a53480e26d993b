//! Requests about studies.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::access::{Caller, Operator};
use super::body::Body;
use crate::error::{ApiError, Refusal};
use crate::host::Host;
use crate::page::content_type;
use crate::study::{AskStudy, Study, StudyList};

/// Which events are wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct After {
    /// Number of the first one.
    #[serde(default)]
    after: usize,
}

/// Which page is to be opened.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageName {
    name: String,
}

/// Where a page is found, once and for a minute.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PageAddress {
    pub(crate) url: String,
}

/// Starts a study.
#[utoipa::path(post, path = "/api/studies", tag = "studies", request_body = AskStudy,
    responses((status = 201, body = Study), (status = 400, body = Refusal), (status = 429, body = Refusal)))]
pub(crate) async fn start(
    State(host): State<Arc<Host>>,
    _: Operator,
    Body(asked): Body<AskStudy>,
) -> Result<(StatusCode, Json<Study>), ApiError> {
    host.served.file(&asked.path)?;
    let what = asked.words();
    let study = host.studies.start(asked)?;
    host.audit.note("operator", &what, "started");
    Ok((StatusCode::CREATED, Json(study)))
}

/// All studies since the host was started.
#[utoipa::path(get, path = "/api/studies", tag = "studies",
    responses((status = 200, body = StudyList), (status = 401, body = Refusal)))]
pub(crate) async fn list(State(host): State<Arc<Host>>, _: Caller) -> Json<StudyList> {
    Json(host.studies.list())
}

/// A study, with the events from one on.
#[utoipa::path(get, path = "/api/studies/{id}", tag = "studies", params(("id" = String, Path), After),
    responses((status = 200, body = Study), (status = 404, body = Refusal)))]
pub(crate) async fn one(
    State(host): State<Arc<Host>>,
    _: Caller,
    Path(id): Path<String>,
    query: Result<Query<After>, QueryRejection>,
) -> Result<Json<Study>, ApiError> {
    let Query(After { after }) = query?;
    host.studies.get(&id, after).map(Json)
}

/// Stops a study; a second time it is killed.
#[utoipa::path(delete, path = "/api/studies/{id}", tag = "studies", params(("id" = String, Path)),
    responses((status = 200, body = Study), (status = 404, body = Refusal)))]
pub(crate) async fn stop(
    State(host): State<Arc<Host>>,
    _: Operator,
    Path(id): Path<String>,
) -> Result<Json<Study>, ApiError> {
    host.studies.stop(&id);
    host.audit.note("operator", &id, "study stopped");
    host.studies.get(&id, usize::MAX).map(Json)
}

/// The place of a file that a study has left.
fn left_file(host: &Host, id: &str, name: &str) -> Result<PathBuf, ApiError> {
    host.served.file(&host.studies.file(id, name)?)
}

/// Where a page of a study can be opened.
#[utoipa::path(post, path = "/api/studies/{id}/page", tag = "studies", params(("id" = String, Path)),
    request_body = PageName, responses((status = 200, body = PageAddress), (status = 404, body = Refusal)))]
pub(crate) async fn page(
    State(host): State<Arc<Host>>,
    _: Caller,
    Path(id): Path<String>,
    Body(PageName { name }): Body<PageName>,
) -> Result<Json<PageAddress>, ApiError> {
    let file = left_file(&host, &id, &name)?;
    let url = host.tickets().give(file).map_err(|_| ApiError::internal("no random numbers"))?;
    Ok(Json(PageAddress { url }))
}

/// A file of a study.
#[utoipa::path(get, path = "/api/studies/{id}/files/{name}", tag = "studies",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, description = "Its bytes"), (status = 404, body = Refusal)))]
pub(crate) async fn file(
    State(host): State<Arc<Host>>,
    _: Caller,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let file = left_file(&host, &id, &name)?;
    let read = move || experiment::source::read_regular(&file, 256 << 20);
    let bytes = tokio::task::spawn_blocking(read).await?;
    let bytes = bytes.map_err(|_| ApiError::not_found("the file is not there any more"))?;
    // Never shown in the host's own origin: a report runs scripts.
    let kind = match content_type(&name) {
        "text/html; charset=utf-8" | "image/svg+xml" => "application/octet-stream",
        kind => kind,
    };
    Ok(([(header::CONTENT_TYPE, kind)], bytes).into_response())
}
