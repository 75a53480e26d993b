//! The sockets of the host link: one thread that carries bytes to and from the
//! [`HostService`].

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::service::{HostParts, HostService, MOST_STRANGERS};
use super::tls::{Identity, ServerStream};
use crate::world::{Clock, System, wait_for};

/// Time in which clients may take what is left when the test is over.
const LINGER: Duration = Duration::from_secs(2);
/// Of the thread: small, because a real-time test keeps all memory in place.
const STACK_BYTES: usize = 256 << 10;
/// Reads and writes of one connection before it is another one's turn.
const TURNS: usize = 16;
/// Connections taken in before they are read: fewer than push one out again unread.
const MOST_ACCEPTED: usize = MOST_STRANGERS / 2;
/// Connections that the system keeps for the thread. One that finds no place there is
/// tried again by the client's system only after a second.
const BACKLOG: i32 = 4096;

/// A link that is open.
pub struct HostLink {
    shared: Arc<Shared>,
    /// Where it listens.
    pub address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    service: Mutex<HostService>,
    /// When the thread must end; far away while the test runs.
    until_ns: AtomicU64,
}

impl Shared {
    fn service(&self) -> MutexGuard<'_, HostService> {
        // Nothing done under the lock can leave it half-done.
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostLink {
    /// Opens the link on a listener, with TLS where the test has an identity, and starts its
    /// thread.
    pub fn open(
        listener: TcpListener,
        identity: Option<Identity>,
        parts: HostParts,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        rustix::net::listen(&listener, BACKLOG)?;
        let service = Mutex::new(HostService::new(parts));
        let shared = Arc::new(Shared { service, until_ns: AtomicU64::new(u64::MAX) });
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("host".into()).stack_size(STACK_BYTES).spawn(
            move || Sockets { listener, identity, streams: BTreeMap::new() }.carry(&of_thread),
        )?;
        Ok(Self { shared, address, thread: Some(thread) })
    }

    /// Clients that were let in, and those that were not or kept silent.
    pub fn clients(&self) -> (u64, u64) {
        self.shared.service().clients()
    }

    /// Why the last client that fed the load did not go on with it.
    pub fn feed_left(&self) -> Option<String> {
        self.shared.service().test.feed_left.clone()
    }

    /// What is to be in the record: ticks that were done, and what happened.
    pub fn notes(&self) -> Vec<(u64, String)> {
        self.shared.service().test.notes.clone()
    }

    /// Closes the link once the last tick is done. Clients get what waits for
    /// them if they take it soon.
    pub fn close(mut self) {
        self.end(LINGER);
    }

    fn end(&mut self, linger: Duration) {
        let until_ns = System.now_ns() + linger.as_nanos() as u64;
        self.shared.until_ns.store(until_ns, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A thread that failed has nothing more to do.
            let _ = thread.join();
        }
    }
}

impl Drop for HostLink {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

struct Sockets {
    listener: TcpListener,
    identity: Option<Identity>,
    streams: BTreeMap<u64, ServerStream>,
}

impl Sockets {
    /// Carries bytes until the test is over and everybody is told.
    fn carry(mut self, shared: &Shared) {
        let mut ended = false;
        let mut ready = Vec::new();
        loop {
            // Read first: what was in the ring at the end is handed out below.
            let until_ns = shared.until_ns.load(Ordering::Acquire);
            let now_ns = System.now_ns();
            let mut service = shared.service();
            if until_ns == u64::MAX {
                self.accept(&mut service, now_ns, &mut ready);
            }
            self.read(&mut service, now_ns, &ready);
            if until_ns == u64::MAX {
                service.poll(now_ns);
            } else if !ended {
                ended = true;
                service.end(now_ns);
            }
            self.write(&mut service, now_ns);
            self.streams.retain(|&id, _| service.is_open(id));
            if ended && (service.is_empty() || now_ns >= until_ns) {
                return;
            }
            let ((ids, mut wanted), mut next_ns) =
                (self.wanted(&service), service.next_timeout_ns(now_ns));
            // What was decrypted already wakes no socket.
            let at_hand = |(&id, stream): (&u64, &ServerStream)| {
                (stream.has_readable() && service.wants_bytes(id)).then_some(id)
            };
            ready = self.streams.iter().filter_map(at_hand).collect();
            if !ready.is_empty() {
                next_ns = now_ns;
            }
            drop(service);
            wait_for(&mut wanted, next_ns);
            let is_ready = |(_, it): &(&u64, &PollFd<'_>)| !it.revents().is_empty();
            ready.extend(ids.iter().zip(&wanted).filter(is_ready).map(|(&id, _)| id));
        }
    }

    /// What wakes the thread: numbers of connections and their sockets. The listener's
    /// number is none of theirs.
    fn wanted(&self, service: &HostService) -> (Vec<u64>, Vec<PollFd<'_>>) {
        let mut ids = Vec::with_capacity(self.streams.len() + 1);
        let mut wanted = Vec::with_capacity(ids.capacity());
        ids.push(0);
        wanted.push(PollFd::new(&self.listener, PollFlags::IN));
        for (&id, stream) in &self.streams {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, service.wants_bytes(id));
            flags.set(PollFlags::OUT, service.has_unsent(id) || stream.has_unsent());
            // Who has hung up would wake the thread whatever is asked.
            if !flags.is_empty() {
                ids.push(id);
                wanted.push(PollFd::new(&stream.tcp, flags));
            }
        }
        (ids, wanted)
    }

    /// Takes new connections in; what they have said already can be read.
    fn accept(&mut self, service: &mut HostService, now_ns: u64, ready: &mut Vec<u64>) {
        for _ in 0..MOST_ACCEPTED {
            let Ok((stream, _)) = self.listener.accept() else { break };
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = ServerStream::new(stream, self.identity.as_ref())
            {
                let _ = stream.tcp.set_nodelay(true);
                let id = service.connect(now_ns);
                self.streams.insert(id, stream);
                ready.push(id);
            }
        }
    }

    fn read(&mut self, service: &mut HostService, now_ns: u64, ready: &[u64]) {
        let mut piece = [0; 16_384];
        for &id in ready {
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            for _ in 0..TURNS {
                if !service.wants_bytes(id) {
                    break;
                }
                match stream.read(&mut piece) {
                    Ok(count) if count > 0 => service.handle(now_ns, id, &piece[..count]),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    _ => service.hang_up(id),
                }
            }
        }
    }

    fn write(&mut self, service: &mut HostService, now_ns: u64) {
        for (&id, stream) in &mut self.streams {
            // What stays is seen when bytes are written.
            let _ = stream.send();
            for _ in 0..TURNS {
                let bytes = service.pending(now_ns, id);
                if bytes.is_empty() {
                    break;
                }
                match stream.write(bytes) {
                    Ok(count) => service.note_sent(now_ns, id, count),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => service.leave(id),
                }
            }
        }
    }
}
