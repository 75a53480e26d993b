//! Connections: at most so many, none without a request for long.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Most connections at a time. Whoever has been idle for longest is not asked to go: it goes by
/// itself after the time for a request.
const MOST: usize = 1024;
/// Time for the head of a request, and between two of them.
const HEADERS: Duration = Duration::from_secs(10);
/// Time to agree on keys.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Largest head of a request.
const LARGEST_HEAD: usize = 32 << 10;
/// When no socket can be had, the next try.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until the program ends.
pub(crate) async fn listen(listener: TcpListener, tls: Option<TlsAcceptor>, router: Router) {
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Beyond that a connection is closed at once: who waits for a place would keep the
        // operator waiting as well.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let _ = stream.set_nodelay(true);
        let (tls, router) = (tls.clone(), router.clone());
        tokio::spawn(async move {
            match tls {
                None => serve(stream, router).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = timeout(HANDSHAKE, tls.accept(stream)).await {
                        serve(stream, router).await;
                    }
                }
            }
            drop(place);
        });
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router) {
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // Whatever breaks a connection is the client's affair.
    let _ = connection.await;
}
