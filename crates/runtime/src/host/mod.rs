//! The host link: load in, feedback out, over TCP, beside a running test.
//!
//! The priorities are those of the tick first, load in second, feedback out
//! last. The tick never waits for any of it: the load comes through the ring of
//! a [`Feed`](crate::streamed_load::Feed), feedback leaves through the ring of a [`Tap`],
//! and what finds no room there is dropped and counted. Everything else happens
//! on threads of ordinary priority: one that accepts, one that hands frames out,
//! one for each connection. Buffers, messages and connections are bounded.
//!
//! [`protocol`] is the wire, described in `docs/host-link.md`; [`HostLink`] the
//! side of the test, [`Client`] the other.

mod client;
mod connection;
pub mod protocol;
mod server;
mod token;
mod watchers;

pub use client::{Client, ClientError, Event, Status};
pub use server::{Description, HostLink, HostParts, LoadSignal, RealTime};
pub use token::{BadToken, Token};
