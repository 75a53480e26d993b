//! Which request goes where. The description of the API is made from the same list.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use axum::{Json, Router};
use utoipa::OpenApi;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod access;
mod body;
mod editor;
mod files;
mod guard;
mod live;
mod record;
mod run;
mod session;
mod study;
mod view;

use crate::error::ApiError;
use crate::host::Host;
use crate::page;
use guard::guard;

/// Largest body of a request: a text of 1 MiB, every character of it escaped.
const LARGEST_BODY: usize = 4 << 20;

/// What the description begins with.
#[derive(OpenApi)]
#[openapi(
    info(title = "twinrig host", description = "The API behind the page of `twinrig serve`."),
    security(("token" = [])),
)]
struct Description;

fn described() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(session::session))
        .routes(routes!(session::take_lease, session::renew_lease, session::release_lease))
        .routes(routes!(session::give_lease))
        .routes(routes!(editor::experiments))
        .routes(routes!(files::list))
        .routes(routes!(files::read, files::save))
        .routes(routes!(editor::validate))
        .routes(routes!(editor::propose))
        .routes(routes!(editor::schema))
        .routes(routes!(editor::judge))
        .routes(routes!(study::start, study::list))
        .routes(routes!(study::one, study::stop))
        .routes(routes!(study::page))
        .routes(routes!(study::file))
        .routes(routes!(run::run))
        .routes(routes!(run::prepare))
        .routes(routes!(run::arm))
        .routes(routes!(run::command))
        .routes(routes!(run::stop))
        .routes(routes!(run::clear))
        .routes(routes!(live::live))
        .routes(routes!(record::list))
        .routes(routes!(record::one))
        .routes(routes!(record::page))
        .routes(routes!(record::export))
        .routes(routes!(record::curves))
}

/// The description of the API.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut described = described().into_openapi();
    // What stands for several parts of a path has no star in this language.
    for path in described.paths.paths.keys().cloned().collect::<Vec<_>>() {
        if let Some(mut item) = described.paths.paths.remove(&path) {
            let path = path.replace("{*", "{");
            for (method, operation) in [
                ("get", &mut item.get),
                ("put", &mut item.put),
                ("post", &mut item.post),
                ("delete", &mut item.delete),
            ] {
                let Some(operation) = operation else { continue };
                // Handlers of several modules have one name.
                let words = path.split(['/', '{', '}', '.']).filter(|word| !word.is_empty());
                let words: Vec<&str> = std::iter::once(method).chain(words.skip(1)).collect();
                operation.operation_id = Some(words.join("_"));
                describe_answers(operation);
            }
            described.paths.paths.insert(path, item);
        }
    }
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let components = described.components.get_or_insert_default();
    components.add_security_scheme("token", bearer);
    described
}

/// An answer has a description, be it the name of its status alone.
fn describe_answers(operation: &mut Operation) {
    for (status, answer) in &mut operation.responses.responses {
        if let RefOr::T(answer) = answer
            && answer.description.is_empty()
        {
            let status = status.parse::<u16>().ok().and_then(|it| StatusCode::from_u16(it).ok());
            let name = status.and_then(|status| status.canonical_reason());
            answer.description = name.unwrap_or("Answer").to_owned();
        }
    }
}

/// All of it, with what every request meets first.
pub(crate) fn router(host: Arc<Host>) -> Router {
    let (router, _) = described().split_for_parts();
    let described = openapi();
    router
        .route("/api/openapi.json", get(move || async move { Json(described) }))
        .route("/view/{ticket}/{name}", get(view::view))
        .route("/api/{*rest}", axum::routing::any(nothing))
        .fallback(get(page::asset))
        .method_not_allowed_fallback(not_allowed)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn_with_state(Arc::clone(&host), guard))
        .with_state(host)
}

async fn nothing() -> ApiError {
    ApiError::not_found("there is nothing under this address")
}

async fn not_allowed() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "not_allowed", "this address has no such method")
}
