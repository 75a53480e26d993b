//! The files of the folder: listed, read and saved.

use std::fs;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::access::{Caller, Operator};
use super::body::Body;
use crate::error::{ApiError, Refusal};
use crate::folder::{Found, modified_s};
use crate::host::Host;

/// Largest text that is edited.
pub(crate) const LARGEST_TEXT: u64 = 1 << 20;
/// What may be saved.
const WRITABLE: [&str; 4] = ["toml", "csv", "txt", "md"];

/// Files of the folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Files {
    files: Vec<FileFacts>,
}

/// A file of the folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileFacts {
    path: String,
    bytes: u64,
    /// Seconds since 1970.
    modified_s: f64,
}

/// A text and what it is known by.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TextFile {
    path: String,
    text: String,
    /// SHA-256 of the text.
    version: String,
}

/// A text to be saved.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SaveFile {
    text: String,
    /// Of the text that was read; null for a file that is not there yet.
    version: Option<String>,
}

/// What was saved.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Saved {
    /// SHA-256 of the text.
    version: String,
}

impl From<Found> for FileFacts {
    fn from(Found { path, bytes, modified_s }: Found) -> Self {
        Self { path, bytes, modified_s }
    }
}

/// SHA-256, in hexadecimal digits.
pub(crate) fn version(text: &[u8]) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text of the folder.
pub(crate) fn text_of(host: &Host, name: &str) -> Result<String, ApiError> {
    let path = host.served.file(name)?;
    let bytes = experiment::source::read_regular(&path, LARGEST_TEXT)
        .map_err(|error| ApiError::bad(format!("{name}: {error}")))?;
    String::from_utf8(bytes).map_err(|_| ApiError::bad(format!("{name} is no text")))
}

/// The files of the folder.
#[utoipa::path(get, path = "/api/files", tag = "files",
    responses((status = 200, body = Files), (status = 401, body = Refusal)))]
pub(crate) async fn list(
    State(host): State<Arc<Host>>,
    _: Caller,
) -> Result<Json<Files>, ApiError> {
    let served = host.served.clone();
    let found = tokio::task::spawn_blocking(move || served.list(|_| true)).await?;
    Ok(Json(Files { files: found.into_iter().map(Into::into).collect() }))
}

/// The text of a file.
#[utoipa::path(get, path = "/api/files/{*path}", tag = "files",
    params(("path" = String, Path, description = "Relative to the folder, with /")),
    responses((status = 200, body = TextFile), (status = 403, body = Refusal), (status = 404, body = Refusal)))]
pub(crate) async fn read(
    State(host): State<Arc<Host>>,
    _: Caller,
    Path(path): Path<String>,
) -> Result<Json<TextFile>, ApiError> {
    let text = text_of(&host, &path)?;
    Ok(Json(TextFile { version: version(text.as_bytes()), path, text }))
}

/// Saves the text of a file, unless another one has been saved meanwhile.
#[utoipa::path(put, path = "/api/files/{*path}", tag = "files", request_body = SaveFile,
    params(("path" = String, Path, description = "Relative to the folder, with /")),
    responses((status = 200, body = Saved), (status = 403, body = Refusal), (status = 409, body = Refusal)))]
pub(crate) async fn save(
    State(host): State<Arc<Host>>,
    _: Operator,
    Path(name): Path<String>,
    Body(save): Body<SaveFile>,
) -> Result<Json<Saved>, ApiError> {
    let path = host.served.place(&name)?;
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or("");
    if !WRITABLE.contains(&extension) {
        let text = format!("only files with the endings {} are saved", WRITABLE.join(", "));
        return Err(ApiError::forbidden("path_refused", text));
    }
    if save.text.len() as u64 > LARGEST_TEXT {
        return Err(ApiError::bad("the text is longer than 1 MiB"));
    }
    let now = match fs::symlink_metadata(&path) {
        Ok(_) => Some(version(text_of(&host, &name)?.as_bytes())),
        Err(_) => None,
    };
    if now != save.version {
        let text = format!("{name} is not what was read: somebody else has changed it");
        return Err(ApiError::conflict("changed", text).remedy("read it again"));
    }
    // Beside its place first: nobody ever reads half of it.
    let part = path.with_extension(format!("{extension}.part"));
    let written = fs::write(&part, &save.text).and_then(|()| fs::rename(&part, &path));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        ApiError::bad(format!("{name} cannot be written: {error}"))
    })?;
    host.audit.note("operator", &name, "saved");
    Ok(Json(Saved { version: version(save.text.as_bytes()) }))
}

/// When a file of the folder was written.
pub(crate) fn changed_s(path: &std::path::Path) -> f64 {
    fs::metadata(path).map_or(0.0, |facts| modified_s(&facts))
}
