//! What goes wrong: for who starts the host, and for who asks it something.

use std::io;
use std::path::PathBuf;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;
use utoipa::ToSchema;

/// Why the host cannot be started.
#[derive(Debug, Error)]
pub enum HostError {
    /// The address is taken, or not this machine's.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Which.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The folder cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A token file holds none.
    #[error("{}: {source}", path.display())]
    Token {
        /// Which.
        path: PathBuf,
        /// Why.
        source: runtime::host::BadToken,
    },
    /// Certificate or key.
    #[error("the certificate cannot be used: {0}")]
    Certificate(String),
    /// The system gave no threads or random numbers.
    #[error("the system refused: {0}")]
    System(#[from] io::Error),
}

/// An answer that is none: a status, a word for machines and a sentence for people.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) remedy: Option<String>,
    /// Boxed: a refusal is small, and rare.
    pub(crate) diagnostics: Option<Box<Value>>,
}

/// Why a request was refused.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Refusal {
    /// The reason.
    pub(crate) error: RefusalReason,
}

/// The reason of a refusal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RefusalReason {
    /// For machines.
    code: String,
    /// For people, one sentence.
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// What is wrong in the experiment file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    diagnostics: Option<Value>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), remedy: None, diagnostics: None }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    pub(crate) fn forbidden(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unreachable", message)
    }

    /// Something that should not happen; told without what only the machine's owner may know.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", message)
    }

    pub(crate) fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// An experiment file that cannot be used.
    pub(crate) fn invalid(message: impl Into<String>, diagnostics: Option<Value>) -> Self {
        let error =
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_experiment", message.into());
        Self { diagnostics: diagnostics.map(Box::new), ..error }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self { status, code, message, remedy, diagnostics } = self;
        let diagnostics = diagnostics.map(|found| *found);
        let error = RefusalReason { code: code.to_owned(), message, remedy, diagnostics };
        (status, Json(Refusal { error })).into_response()
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        let status = rejection.status();
        let code = match status {
            StatusCode::PAYLOAD_TOO_LARGE => "too_large",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported",
            _ => "bad_request",
        };
        // A well-formed document of another shape is a bad request like any other.
        let status = if code == "bad_request" { StatusCode::BAD_REQUEST } else { status };
        Self::new(status, code, rejection.body_text())
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad(rejection.body_text())
    }
}

impl From<tokio::task::JoinError> for ApiError {
    fn from(_: tokio::task::JoinError) -> Self {
        Self::internal("the computation failed")
    }
}
