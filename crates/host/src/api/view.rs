//! Reports, opened by a ticket.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::host::Host;
use crate::page::content_type;

/// Largest page.
const LARGEST: u64 = 256 << 20;

/// What a ticket is for.
pub(crate) async fn view(
    State(host): State<Arc<Host>>,
    Path((secret, _)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let Some(file) = host.tickets().take(&secret) else {
        return Err(ApiError::not_found(
            "this address was for one use and a minute; open it again",
        ));
    };
    let kind = content_type(&file.to_string_lossy());
    let read = move || experiment::source::read_regular(&file, LARGEST);
    let bytes = tokio::task::spawn_blocking(read).await?;
    let bytes = bytes.map_err(|_| ApiError::not_found("the file is not there any more"))?;
    Ok(([(header::CONTENT_TYPE, kind)], bytes).into_response())
}
