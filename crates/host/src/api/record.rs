//! Records: listed, summed up, shown, exported and drawn over each other.

use std::fs;
use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use runtime::host::Token;
use runtime::record::Record;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use twinrig::export::Format;
use twinrig::run_folder::RECORD;
use utoipa::ToSchema;

use super::access::Caller;
use super::study::PageAddress;
use crate::curves::{Content, Curves};
use crate::error::{ApiError, Refusal};
use crate::folder::{Found, modified_s, record_folder, record_id};
use crate::host::Host;

/// Largest summary.
const LARGEST_SUMMARY: u64 = 64 << 20;
/// Largest record that is read whole for curves.
const LARGEST_RECORD: u64 = 4 << 30;
/// Most channels of one answer.
const MOST_CHANNELS: usize = 64;

/// Records of the folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Records {
    records: Vec<RecordFacts>,
}

/// A record of the folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordFacts {
    id: String,
    /// Relative to the folder.
    folder: String,
    title: Option<String>,
    /// UTC; empty for a rehearsal.
    started: String,
    role: Option<String>,
    bytes: u64,
    modified_s: f64,
    #[schema(value_type = Option<Object>)]
    verdict: Option<Value>,
    /// `completed`, `tripped` and others; null where there is no summary.
    status: Option<String>,
}

/// A record in full.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordAnswer {
    record: RecordFacts,
    /// The document `summary.json`.
    #[schema(value_type = Option<Object>)]
    summary: Option<Value>,
    #[schema(value_type = Vec<Object>)]
    events: Vec<Value>,
    #[schema(value_type = Vec<Object>)]
    channels: Vec<Value>,
    frames: usize,
    duration_s: f64,
    /// In its folder.
    files: Vec<String>,
}

/// In which format.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Export {
    /// `csv`, `mat` or `uff`.
    format: String,
}

/// Which part of a record.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Part {
    /// Names, with commas between them.
    channels: String,
    /// Stretches of time at most.
    #[serde(default = "usual_points")]
    points: usize,
    /// From this time, s.
    from: Option<f64>,
    /// To this time, s.
    to: Option<f64>,
}

fn usual_points() -> usize {
    2000
}

fn record_of(host: &Host, id: &str) -> Result<PathBuf, ApiError> {
    let folder = record_folder(id);
    host.served.file(&format!("{folder}/{RECORD}")).map_err(|error| match error.code {
        "not_found" => ApiError::not_found(format!("there is no record {id}")),
        _ => error,
    })
}

fn summary_beside(record: &FsPath) -> Option<Value> {
    let path = record.with_file_name("summary.json");
    let bytes = experiment::source::read_regular(&path, LARGEST_SUMMARY).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn facts(found: Found, record: &FsPath) -> (RecordFacts, Option<Value>) {
    let folder = found.path.strip_suffix(RECORD).unwrap_or("").trim_end_matches('/').to_owned();
    let header = Record::read_header(record).ok();
    let summary = summary_beside(record);
    let field = |name: &str| summary.as_ref().and_then(|it| it.get(name)).cloned();
    let role = header.as_ref().and_then(|header| serde_json::to_value(header.role).ok());
    let facts = RecordFacts {
        id: record_id(&folder),
        title: header.as_ref().map(|header| header.title.clone()),
        started: header.map(|header| header.started).unwrap_or_default(),
        role: role.and_then(|role| role.as_str().map(str::to_owned)),
        folder,
        bytes: found.bytes,
        modified_s: found.modified_s,
        verdict: field("verdict"),
        status: field("status").and_then(|status| status.as_str().map(str::to_owned)),
    };
    (facts, summary)
}

/// The records of the folder.
#[utoipa::path(get, path = "/api/records", tag = "records",
    responses((status = 200, body = Records), (status = 401, body = Refusal)))]
pub(crate) async fn list(
    State(host): State<Arc<Host>>,
    _: Caller,
) -> Result<Json<Records>, ApiError> {
    let listed = tokio::task::spawn_blocking(move || {
        let found = host.served.list(|name| name == RECORD);
        let all = found.into_iter().map(|found| {
            let path = host.served.root().join(&found.path);
            facts(found, &path).0
        });
        let mut records: Vec<RecordFacts> = all.collect();
        records.sort_by(|a, b| b.modified_s.total_cmp(&a.modified_s));
        records
    });
    Ok(Json(Records { records: listed.await? }))
}

/// What a record says.
#[utoipa::path(get, path = "/api/records/{id}", tag = "records", params(("id" = String, Path)),
    responses((status = 200, body = RecordAnswer), (status = 404, body = Refusal)))]
pub(crate) async fn one(
    State(host): State<Arc<Host>>,
    _: Caller,
    Path(id): Path<String>,
) -> Result<Json<RecordAnswer>, ApiError> {
    let path = record_of(&host, &id)?;
    let answer = tokio::task::spawn_blocking(move || -> Result<RecordAnswer, ApiError> {
        let record = read(&path)?;
        let metadata = fs::metadata(&path).ok();
        let found = Found {
            path: format!("{}/{RECORD}", record_folder(&id)),
            bytes: metadata.as_ref().map_or(0, |it| it.len()),
            modified_s: metadata.as_ref().map_or(0.0, modified_s),
        };
        let (facts, summary) = facts(found, &path);
        let events = record.summary.iter().flat_map(|it| &it.events).map(|event| json!(event));
        let channel = |it: &model::channel::Channel| json!({ "name": it.name, "unit": it.unit, "description": it.description });
        let time = record.column("time").unwrap_or_default();
        let duration_s = time.last().copied().unwrap_or(0.0) - time.first().copied().unwrap_or(0.0);
        let folder = path.parent().unwrap_or(FsPath::new(""));
        let names = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<String> =
            names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        files.sort();
        Ok(RecordAnswer {
            record: facts,
            summary,
            events: events.collect(),
            channels: record.channels.iter().map(channel).collect(),
            frames: time.len(),
            duration_s,
            files,
        })
    });
    Ok(Json(answer.await??))
}

fn read(path: &FsPath) -> Result<Record, ApiError> {
    let bytes = fs::metadata(path).map_or(0, |facts| facts.len());
    if bytes > LARGEST_RECORD {
        return Err(ApiError::bad(
            "the record is larger than 4 GiB: look at it with other programs",
        ));
    }
    Record::read(path).map_err(|error| ApiError::bad(error.to_string()))
}

/// Where the report of a record can be opened.
#[utoipa::path(get, path = "/api/records/{id}/page", tag = "records", params(("id" = String, Path)),
    responses((status = 200, body = PageAddress), (status = 404, body = Refusal)))]
pub(crate) async fn page(
    State(host): State<Arc<Host>>,
    _: Caller,
    Path(id): Path<String>,
) -> Result<Json<PageAddress>, ApiError> {
    record_of(&host, &id)?;
    let report = host.served.file(&format!("{}/report.html", record_folder(&id)))?;
    let url = host.tickets().give(report).map_err(|_| ApiError::internal("no random numbers"))?;
    Ok(Json(PageAddress { url }))
}

/// A record in another format.
#[utoipa::path(get, path = "/api/records/{id}/export", tag = "records",
    params(("id" = String, Path), Export),
    responses((status = 200, description = "The file"), (status = 400, body = Refusal), (status = 404, body = Refusal)))]
pub(crate) async fn export(
    State(host): State<Arc<Host>>,
    _: Caller,
    Path(id): Path<String>,
    query: Result<Query<Export>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(Export { format }) = query?;
    let known = Format::named(&format);
    let format = known.ok_or_else(|| ApiError::bad(format!("there is no format {format}")))?;
    let path = record_of(&host, &id)?;
    let name = format!("{}.{}", id.replace('~', "-"), format.name);
    let private = host.private.clone();
    let bytes = tokio::task::spawn_blocking(move || -> Result<Vec<u8>, ApiError> {
        let record = read(&path)?;
        let secret = Token::random().map_err(|_| ApiError::internal("no numbers"))?;
        let out = private.join(format!("export-{}", secret.text()));
        let made = twinrig::export::export(&record, format, &out);
        let bytes = made
            .map_err(|error| ApiError::bad(error.to_string()))
            .and_then(|_| fs::read(&out).map_err(|error| ApiError::internal(error.to_string())));
        let _ = fs::remove_file(&out);
        bytes
    });
    let bytes = bytes.await??;
    let disposition = format!("attachment; filename=\"{name}\"");
    let kind = "application/octet-stream".to_owned();
    let head = [(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, disposition)];
    Ok((head, bytes).into_response())
}

/// Channels of a record, made few without hiding a peak: the layout of the live stream.
#[utoipa::path(get, path = "/api/records/{id}/curves", tag = "records",
    params(("id" = String, Path), Part),
    responses((status = 200, description = "Curves in the layout of the live stream"), (status = 404, body = Refusal)))]
pub(crate) async fn curves(
    State(host): State<Arc<Host>>,
    _: Caller,
    Path(id): Path<String>,
    query: Result<Query<Part>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(part) = query?;
    let path = record_of(&host, &id)?;
    let drawn = tokio::task::spawn_blocking(move || draw(&read(&path)?, &part));
    let head = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((head, drawn.await??).into_response())
}

fn draw(record: &Record, part: &Part) -> Result<bytes::Bytes, ApiError> {
    let names: Vec<&str> = part.channels.split(',').filter(|name| !name.is_empty()).collect();
    if names.is_empty() || names.len() > MOST_CHANNELS {
        return Err(ApiError::bad(format!("1 to {MOST_CHANNELS} channels can be had at a time")));
    }
    let column = |name: &str| {
        let found = record.column(name);
        found.ok_or_else(|| ApiError::not_found(format!("the record has no channel {name}")))
    };
    let time = column("time")?;
    let columns = names.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
    let (from, to) = (part.from.unwrap_or(f64::MIN), part.to.unwrap_or(f64::MAX));
    let rows = || (0..time.len()).filter(|&row| time[row] >= from && time[row] <= to);
    let span = rows().next_back().zip(rows().next()).map_or(0.0, |(b, a)| time[b] - time[a]);
    let points = part.points.clamp(10, 20_000);
    let mut curves = Curves::new(columns.len(), span / points as f64, points + 1);
    for row in rows() {
        curves.push(time[row], columns.iter().map(|column| column[row]));
    }
    Ok(curves.message(Content::History, 0, 0))
}
