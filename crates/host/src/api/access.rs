//! Who asks: by which token, and whether it holds the lease.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};

use crate::error::ApiError;
use crate::host::Host;
use crate::tokens::Role;

/// The header with the secret of the lease.
pub(crate) const LEASE: &str = "x-twinrig-lease";
/// What a WebSocket asks for beside its token.
pub(crate) const LIVE_PROTOCOL: &str = "twinrig.v1";
/// A wrong token costs so much time.
const PENALTY: Duration = Duration::from_millis(300);

/// Whoever has a token.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) role: Role,
    /// The name under which it holds the lease, if it does.
    pub(crate) holder: Option<String>,
}

/// Who has the operator's token.
pub(crate) struct Operator(pub(crate) Caller);

/// Who has the operator's token and the lease; its name.
pub(crate) struct Holder(pub(crate) String);

/// The token of a request: in its header, or beside the protocol that a WebSocket asks for.
fn token(headers: &HeaderMap) -> Option<&str> {
    let text = |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    bearer.map(str::trim).or_else(|| {
        let asked = text(header::SEC_WEBSOCKET_PROTOCOL)?;
        asked.split(',').find_map(|word| word.trim().strip_prefix("bearer."))
    })
}

impl FromRequestParts<Arc<Host>> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, host: &Arc<Host>) -> Result<Self, ApiError> {
        let refused = |code, message| ApiError::new(StatusCode::UNAUTHORIZED, code, message);
        let Some(token) = token(&parts.headers) else {
            return Err(refused("no_token", "this needs the token that the host printed"));
        };
        let Some(role) = host.tokens.role(token.as_bytes()) else {
            host.audit.note("?", parts.uri.path(), "refused: wrong token");
            tokio::time::sleep(PENALTY).await;
            return Err(refused("wrong_token", "the token is wrong, or no longer valid"));
        };
        let secret = parts.headers.get(LEASE).and_then(|value| value.to_str().ok());
        let holder = secret.and_then(|it| host.lease().holder_by(it, Instant::now()));
        Ok(Self { role, holder })
    }
}

impl FromRequestParts<Arc<Host>> for Operator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, host: &Arc<Host>) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, host).await?;
        if caller.role != Role::Operator {
            host.audit.note("viewer", parts.uri.path(), "refused: a viewer");
            return Err(ApiError::forbidden("viewer", "a viewer may look, and change nothing"));
        }
        Ok(Self(caller))
    }
}

impl FromRequestParts<Arc<Host>> for Holder {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, host: &Arc<Host>) -> Result<Self, ApiError> {
        let Operator(caller) = Operator::from_request_parts(parts, host).await?;
        caller.holder.map(Self).ok_or_else(|| {
            host.audit.note("operator", parts.uri.path(), "refused: without the lease");
            ApiError::forbidden("lease_needed", "another operator controls the test, or nobody")
                .remedy("take control first")
        })
    }
}
