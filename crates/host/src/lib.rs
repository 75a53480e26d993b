//! The host: a live page and an API beside a test that runs in a process of its own.
//!
//! The loop never waits for any of it. The host starts the program's own `run --host`, or finds one
//! that runs, and is a client of its host link like any other: bounded queues on both sides, and
//! what a slow viewer does not take is dropped for that viewer. `docs/serve.md` describes the
//! operator's side and the messages.

#![forbid(unsafe_code)]

mod api;
mod audit;
mod curves;
mod error;
mod folder;
mod host;
mod lease;
mod listen;
mod lock;
mod page;
mod private;
mod process;
mod run;
mod study;
mod ticket;
mod tls;
mod tokens;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use runtime::host::Token;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use audit::Audit;
use folder::Served;
use host::{Host, Parts};
use run::Runs;
use tokens::Tokens;

pub use api::openapi;
pub use error::HostError;

/// What a host serves, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder with experiments and records.
    pub folder: PathBuf,
    /// Where it listens.
    pub listen: SocketAddr,
    /// The program that runs tests and studies.
    pub program: PathBuf,
    /// Names beside addresses by which it may be called.
    pub names: Vec<String>,
    /// How connections are encrypted.
    pub encryption: Encryption,
    /// What becomes of the tokens of an earlier host in the folder.
    pub tokens: Renewal,
}

/// How connections are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Encryption {
    /// Not on loopback; elsewhere with a certificate that the host signs itself.
    #[default]
    Usual,
    /// With a certificate that the host signs itself.
    SelfSigned,
    /// With this certificate and its key, both PEM.
    Own {
        /// The certificate, and those between it and the root.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
}

/// What becomes of tokens that lie there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Renewal {
    /// They stay good: a page that is open goes on.
    #[default]
    Kept,
    /// New ones are drawn, and the old ones are good for nothing.
    Fresh,
}

/// Where a host is found, and by whom.
#[derive(Debug, Clone)]
pub struct Ready {
    /// Where it listens.
    pub address: SocketAddr,
    /// The page for operators, with their token.
    pub operator: String,
    /// The page for viewers, with theirs.
    pub viewer: String,
    /// SHA-256 of the certificate, where there is one.
    pub fingerprint: Option<String>,
}

/// Serves a folder until the program ends. `ready` is told where.
pub fn serve(options: Options, ready: impl FnOnce(&Ready)) -> Result<(), HostError> {
    // Few threads: the loop's processor is not ours.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async move {
        let (host, listener, shown) = prepare(options).await?;
        let address = listener.local_addr()?;
        let page = |token: &Token| format!("{}://{address}/#token={}", host.scheme(), token.text());
        ready(&Ready {
            address,
            operator: page(&host.tokens.operator),
            viewer: page(&host.tokens.viewer),
            fingerprint: host.fingerprint.clone(),
        });
        listen::listen(listener, shown, api::router(host)).await;
        Ok(())
    })
}

/// Opens everything that can fail before anybody is served.
async fn prepare(
    options: Options,
) -> Result<(Arc<Host>, TcpListener, Option<TlsAcceptor>), HostError> {
    let Options { folder, listen, program, names, encryption, tokens } = options;
    let unusable = |source| HostError::Folder { path: folder.clone(), source };
    let served = Served::new(&folder).map_err(unusable)?;
    let private = private::make(served.root()).map_err(unusable)?;
    let fresh = tokens == Renewal::Fresh;
    let kept = |name: &str, fresh| private::kept_token(&private.join(name), fresh);
    let shown = match encryption {
        Encryption::Usual if listen.ip().is_loopback() => None,
        Encryption::Usual | Encryption::SelfSigned => {
            Some(tls::self_signed(&private, &names, listen.ip())?)
        }
        Encryption::Own { certificate, key } => Some(tls::own(&certificate, &key)?),
    };
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|source| HostError::Listen { address: listen.to_string(), source })?;
    let runs = Runs::new(private.clone(), kept("link.token", false)?);
    runs.find(served.root())?;
    let host = Arc::new(Host::new(Parts {
        tokens: Tokens {
            operator: kept("operator.token", fresh)?,
            viewer: kept("viewer.token", fresh)?,
        },
        audit: Audit::open(private.join("audit.log"))?,
        fingerprint: shown.as_ref().map(|shown| shown.fingerprint.clone()),
        served,
        private,
        program,
        names,
        runs,
    }));
    let of_runs = Arc::downgrade(&host);
    host.runs.attended_by(move || of_runs.upgrade()?.lease().is_attended(Instant::now()));
    Ok((host, listener, shown.map(|shown| shown.acceptor)))
}
