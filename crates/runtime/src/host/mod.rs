//! The host link: load in, feedback out, over TCP, beside a running test.
//!
//! The priorities are those of the tick first, load in second, feedback out
//! last. The tick never waits for any of it: the load comes through the ring of
//! a [`Feed`](crate::streamed_load::Feed), feedback leaves through the ring of a [`Tap`],
//! and what finds no room there is dropped and counted. Everything else happens
//! in one thread of ordinary priority. Buffers, messages and connections are
//! bounded.
//!
//! Between machines the same bytes go through TLS, unless the user says otherwise.
//!
//! [`protocol`] is the wire, described in `docs/host-link.md`; [`HostService`] the
//! side of the test as a state machine without I/O, [`HostLink`] its sockets,
//! [`Client`] the other side.

mod client;
mod connection;
pub mod protocol;
mod server;
mod service;
mod tls;
mod token;

pub use client::{Client, ClientError};
pub use protocol::{Action, Reply, Situation, Status, WhenLost};
pub use server::HostLink;
pub use service::{HostParts, HostService, OperatorLost};
pub use tls::{BadFingerprint, ClientStream, Fingerprint, Identity, TlsError, Trust};
pub use token::{BadToken, Token};
