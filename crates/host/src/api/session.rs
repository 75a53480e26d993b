//! Who asks, and who controls the test.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use runtime::host::Token;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::access::{Caller, Holder, Operator};
use super::body::Body;
use crate::audit::printable;
use crate::error::{ApiError, Refusal};
use crate::host::Host;
use crate::lease::{HeldBy, LASTS};
use crate::tokens::Role;

/// Longest name of an operator.
const LONGEST_NAME: usize = 60;

/// Who asks, and of what.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Session {
    role: Role,
    /// Of the program.
    version: &'static str,
    /// Name of the folder that is served.
    folder: String,
    tls: bool,
    /// SHA-256 of the certificate.
    fingerprint: Option<String>,
    lease: Option<LeaseState>,
}

/// Who controls the test.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct LeaseState {
    holder: String,
    /// Whether it is who asks.
    mine: bool,
    /// Who would like to.
    asked_by: Option<String>,
    /// Unless it is renewed.
    expires_s: f64,
}

/// Who takes control.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TakeLease {
    /// As others and the record shall call it.
    name: String,
}

/// Control of the test.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Taken {
    /// For the header X-Twinrig-Lease.
    lease: String,
    holder: String,
    expires_s: f64,
}

/// The lease as this caller sees it.
pub(crate) fn lease_state(host: &Host, caller: Option<&str>) -> Option<LeaseState> {
    let holding = host.lease().holding(Instant::now())?;
    Some(LeaseState {
        mine: caller == Some(&holding.holder),
        holder: holding.holder,
        asked_by: holding.asked_by,
        expires_s: holding.expires.as_secs_f64(),
    })
}

/// Who asks.
#[utoipa::path(get, path = "/api/session", tag = "session",
    responses((status = 200, body = Session), (status = 401, body = Refusal)))]
pub(crate) async fn session(State(host): State<Arc<Host>>, caller: Caller) -> Json<Session> {
    let folder = host.served.root().file_name();
    Json(Session {
        role: caller.role,
        version: env!("CARGO_PKG_VERSION"),
        folder: folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        tls: host.fingerprint.is_some(),
        fingerprint: host.fingerprint.clone(),
        lease: lease_state(&host, caller.holder.as_deref()),
    })
}

/// Takes control of the test.
#[utoipa::path(post, path = "/api/lease", tag = "session", request_body = TakeLease,
    responses((status = 200, body = Taken), (status = 403, body = Refusal), (status = 409, body = Refusal)))]
pub(crate) async fn take_lease(
    State(host): State<Arc<Host>>,
    _: Operator,
    Body(asked): Body<TakeLease>,
) -> Result<Json<Taken>, ApiError> {
    let name = asked.name.trim();
    if name.is_empty() || name.chars().count() > LONGEST_NAME || printable(name) != name {
        let text = format!("a name has 1 to {LONGEST_NAME} printable characters");
        return Err(ApiError::bad(text));
    }
    let secret = Token::random().map_err(|_| ApiError::internal("no random numbers"))?;
    let taken = host.lease().take(name, secret.text().to_owned(), Instant::now());
    match taken {
        Err(HeldBy(holder)) => {
            let text = format!("{holder} controls the test");
            Err(ApiError::conflict("lease_held", text).remedy("ask to be handed the control"))
        }
        Ok(()) => {
            host.audit.note(name, "lease", "taken");
            host.runs.lease_changed();
            let (lease, holder) = (secret.text().to_owned(), name.to_owned());
            Ok(Json(Taken { lease, holder, expires_s: LASTS.as_secs_f64() }))
        }
    }
}

/// Keeps control of the test.
#[utoipa::path(put, path = "/api/lease", tag = "session",
    params(("X-Twinrig-Lease" = String, Header, description = "Secret of the lease")),
    responses((status = 200, body = LeaseState), (status = 403, body = Refusal)))]
pub(crate) async fn renew_lease(
    State(host): State<Arc<Host>>,
    Holder(name): Holder,
    headers: axum::http::HeaderMap,
) -> Result<Json<LeaseState>, ApiError> {
    host.lease().renew(secret(&headers), Instant::now());
    let state = lease_state(&host, Some(&name));
    state.map(Json).ok_or_else(|| ApiError::forbidden("lease_needed", "the lease is over"))
}

/// Hands control to who has asked for it.
#[utoipa::path(post, path = "/api/lease/give", tag = "session",
    params(("X-Twinrig-Lease" = String, Header, description = "Secret of the lease")),
    responses((status = 200, body = LeaseState), (status = 403, body = Refusal), (status = 409, body = Refusal)))]
pub(crate) async fn give_lease(
    State(host): State<Arc<Host>>,
    Holder(name): Holder,
    headers: axum::http::HeaderMap,
) -> Result<Json<LeaseState>, ApiError> {
    if !host.lease().give(secret(&headers), Instant::now()) {
        return Err(ApiError::conflict("wrong_state", "nobody has asked for the control"));
    }
    host.audit.note(&name, "lease", "given");
    host.runs.lease_changed();
    lease_state(&host, None).map(Json).ok_or_else(|| ApiError::internal("the lease is gone"))
}

/// Gives control back.
#[utoipa::path(delete, path = "/api/lease", tag = "session",
    params(("X-Twinrig-Lease" = String, Header, description = "Secret of the lease")),
    responses((status = 204), (status = 403, body = Refusal)))]
pub(crate) async fn release_lease(
    State(host): State<Arc<Host>>,
    Holder(name): Holder,
    headers: axum::http::HeaderMap,
) -> StatusCode {
    host.lease().release(secret(&headers), Instant::now());
    host.audit.note(&name, "lease", "released");
    host.runs.lease_changed();
    StatusCode::NO_CONTENT
}

fn secret(headers: &axum::http::HeaderMap) -> &str {
    headers.get(super::access::LEASE).and_then(|value| value.to_str().ok()).unwrap_or("")
}
