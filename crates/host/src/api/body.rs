//! The body of a request: bounded, in time, and of the shape that is declared.

use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// Time for a whole body: a client that sends a byte now and then holds nobody up.
const PATIENCE: Duration = Duration::from_secs(15);

/// A JSON document.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let read = tokio::time::timeout(PATIENCE, Json::<T>::from_request(request, state));
        let late = || {
            let text = "the request did not come whole in time";
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "bad_request", text)
        };
        let Json(value) = read.await.map_err(|_| late())??;
        Ok(Self(value))
    }
}
