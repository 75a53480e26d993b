//! The page, carried by the program.

use axum::body::Body;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

use crate::error::ApiError;

/// Everything in `crates/host/page`.
#[derive(RustEmbed)]
#[folder = "page"]
struct Assets;

/// A file of the page.
pub(crate) async fn asset(uri: Uri) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    match Assets::get(path) {
        Some(file) => {
            let kind = content_type(path);
            (StatusCode::OK, [(header::CONTENT_TYPE, kind)], Body::from(file.data)).into_response()
        }
        None => ApiError::not_found("there is nothing under this address").into_response(),
    }
}

/// What a browser is told that a file is, by its name.
pub(crate) fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or("") {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" | "webmanifest" => "application/json",
        "csv" => "text/csv; charset=utf-8",
        "toml" | "txt" | "md" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
