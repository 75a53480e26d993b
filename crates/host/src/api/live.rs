//! The live stream: what happens, and curves, to everybody who looks on.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{interval, timeout};

use super::access::{Caller, LIVE_PROTOCOL};
use crate::curves::Content;
use crate::error::{ApiError, Refusal};
use crate::host::Host;
use crate::run::Live;

/// Longest message of a viewer.
const LONGEST: usize = 4096;
/// A viewer that takes nothing for so long is let go.
const STALL: Duration = Duration::from_secs(5);
/// Between two pings.
const PING: Duration = Duration::from_secs(10);

/// What happens to the run, and curves twenty times a second.
#[utoipa::path(get, path = "/api/live", tag = "run",
    params(("Sec-WebSocket-Protocol" = String, Header, description = "twinrig.v1, bearer.TOKEN")),
    responses((status = 101, description = "A WebSocket: text messages are JSON, binary ones curves"),
        (status = 401, body = Refusal), (status = 429, body = Refusal)))]
pub(crate) async fn live(
    State(host): State<Arc<Host>>,
    _: Caller,
    upgrade: WebSocketUpgrade,
) -> Result<Response, ApiError> {
    if host.viewers.available_permits() == 0 {
        let text = "as many look on already as are served";
        return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many", text));
    }
    let upgrade = upgrade.protocols([LIVE_PROTOCOL]).max_message_size(LONGEST);
    Ok(upgrade.max_frame_size(LONGEST).on_upgrade(move |socket| look_on(host, socket)))
}

async fn look_on(host: Arc<Host>, mut socket: WebSocket) {
    let Ok(_place) = host.viewers.try_acquire() else { return };
    let (mut news, first) = {
        let known = host.runs.known();
        let news = host.runs.listen();
        let mut first = vec![Message::Text(known.hello().to_string().into())];
        first.extend(known.history_message().map(Message::Binary));
        first.extend(known.events().map(|event| Message::Text(event.to_string().into())));
        (news, first)
    };
    for message in first {
        if !send(&mut socket, message).await {
            return;
        }
    }
    let mut ping = interval(PING);
    loop {
        let message = tokio::select! {
            live = news.recv() => match live {
                Ok(Live::Text(text)) => Message::Text(text),
                Ok(Live::Curves(bytes)) => Message::Binary(bytes),
                // A slow viewer misses the oldest; numbers of messages tell it so.
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return,
            },
            said = socket.recv() => match said {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
            _ = ping.tick() => Message::Ping(Vec::new().into()),
        };
        if !send(&mut socket, message).await {
            return;
        }
    }
}

async fn send(socket: &mut WebSocket, message: Message) -> bool {
    matches!(timeout(STALL, socket.send(message)).await, Ok(Ok(())))
}

impl crate::run::Known {
    /// Everything so far, in few stretches.
    fn history_message(&self) -> Option<bytes::Bytes> {
        let history = self.history()?;
        (!history.is_empty()).then(|| history.message(Content::History, self.next_number(), 0))
    }
}
