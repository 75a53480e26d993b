//! What every request meets first: whose name it calls, from which page, and what every answer
//! says to the browser.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::host::Host;

/// What the page may do: its own scripts and nothing of others.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: \
                      blob:; font-src 'self'; connect-src 'self'; frame-src 'self' blob:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/// What a report may do: its own inline script, in an origin of its own.
pub(crate) const REPORT_POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src \
                                        'unsafe-inline'; style-src 'unsafe-inline'; img-src data: \
                                        blob:; frame-ancestors 'self'; base-uri 'none'; \
                                        form-action 'none'";

/// Refuses what does not come from this host's own page or from a program.
pub(crate) async fn guard(State(host): State<Arc<Host>>, request: Request, next: Next) -> Response {
    let is_report = request.uri().path().starts_with("/view/");
    let mut response = match refusal(&host, request.headers()) {
        Some(refusal) => {
            host.audit.note("?", request.uri().path(), &refusal.message);
            refusal.into_response()
        }
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    let (policy, frames) = if is_report { (REPORT_POLICY, "SAMEORIGIN") } else { (POLICY, "DENY") };
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_FRAME_OPTIONS, frames),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn refusal(host: &Host, headers: &HeaderMap) -> Option<ApiError> {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("?"));
    let called = text(header::HOST).unwrap_or("");
    if headers.get_all(header::HOST).iter().count() != 1 || !may_be_called(called, &host.names) {
        return Some(ApiError::forbidden(
            "bad_host",
            "the host is reached by its address, by localhost or by a name it was started with",
        ));
    }
    let own = format!("{}://{called}", host.scheme());
    match text(header::ORIGIN) {
        Some(origin) if !origin.eq_ignore_ascii_case(&own) => Some(ApiError::forbidden(
            "bad_origin",
            "requests come from the host's own page, not from another site",
        )),
        _ => None,
    }
}

/// Whether a name in `Host` is one that no other site can make point here: an address, this
/// machine itself, or a name that was declared.
fn may_be_called(called: &str, names: &[String]) -> bool {
    let name = match called.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => called.split(':').next().unwrap_or(""),
    };
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_anybody_can_point_here_is_refused() {
        let names = ["lab.example".to_owned()];
        for good in ["127.0.0.1:7480", "[::1]:7480", "localhost", "LAB.example:1", "192.168.1.9"] {
            assert!(may_be_called(good, &names), "{good}");
        }
        for bad in ["", "evil.example", "127.0.0.1.evil.example:7480", "localhost.evil", "[evil]"] {
            assert!(!may_be_called(bad, &names), "{bad}");
        }
    }
}
