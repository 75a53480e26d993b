//! The world a test runs in: clock, network, disk and entropy are handed in.
//!
//! Sessions, links, connections and the recorder are state machines that take
//! bytes and the time and say when they want to be asked again. The shells that
//! join them to sockets, files and threads take what they need from a [`World`].
//! The [`System`] is thin; the one of the tests runs everything in one thread on
//! virtual time, with losses, from a seed (`tests/common/simulated.rs`).

mod system;

pub use system::System;
pub(crate) use system::wait_for;

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Time, in nanoseconds.
pub trait Clock: Send + Sync {
    /// Now, by a clock that never goes back.
    fn now_ns(&self) -> u64;

    /// Now, by the clock that stamps what a socket receives.
    fn wall_ns(&self) -> u64;

    /// Sleeps until an instant of [`now_ns`](Self::now_ns); at once if it has passed.
    fn sleep_until_ns(&self, instant_ns: u64);
}

/// What a test gets from outside: time, datagrams, files, chance, and what goes on
/// beside it.
pub trait World: Clock {
    /// A socket at this address; with port 0 one is chosen.
    fn listen(&self, address: SocketAddr) -> io::Result<Box<dyn DatagramSocket>>;

    /// A socket that hears nobody but this address.
    fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn DatagramSocket>>;

    /// A new file; one that is there already is an error.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// The bytes of a file, and how many there are.
    fn open(&self, path: &Path) -> io::Result<(Box<dyn Read>, u64)>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// A number that nobody can guess and that is not zero.
    fn secret_number(&self) -> io::Result<u64>;

    /// Runs a process until it is over.
    fn spawn(&self, name: &str, process: Process) -> io::Result<Running>;
}

/// The real one.
pub fn system() -> Arc<dyn World> {
    Arc::new(System)
}

/// A socket for datagrams. Nothing but [`wait_until_ns`](Self::wait_until_ns)
/// waits, and nothing allocates.
pub trait DatagramSocket: Send {
    /// Its own address.
    fn address(&self) -> io::Result<SocketAddr>;

    /// Hands a datagram to the network.
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> io::Result<()>;

    /// The next datagram that has come, and its sender. `None` if there is none.
    fn receive(&mut self) -> io::Result<Option<(&[u8], SocketAddr)>>;

    /// When the datagram that was received last came in, by [`Clock::wall_ns`].
    /// The first question may only make the system stamp what follows.
    fn received_at_ns(&self) -> Option<u64>;

    /// Waits for a datagram, at most until an instant of [`Clock::now_ns`].
    fn wait_until_ns(&mut self, instant_ns: u64);
}

/// A file that is being written, from its start to its end.
pub trait DiskFile: Write + Send {
    /// Cuts the file back to its first `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Waits until everything is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// Something that goes on beside the test: a shell around a state machine. It is told
/// the time, does what is due, and says when it wants to be asked again, though nobody
/// wakes it; `None` once it has nothing more to do.
pub type Process = Box<dyn FnMut(u64) -> Option<u64> + Send>;

/// A process that was started. Without a thread of its own it runs while others
/// sleep.
#[derive(Debug)]
pub struct Running {
    /// Its thread, if it has one.
    pub thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Waits until it is over; says whether it came to its end.
    pub fn join(self) -> bool {
        let Some(thread) = self.thread else { return true };
        thread.thread().unpark();
        thread.join().is_ok()
    }
}
