//! The side of the test: who is let in, and what is handed to whom.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::channel::Channel;

use super::connection;
use super::protocol::{Refusal, Reply, StatusBody, VERSION, Welcome};
use super::tap::{Seen, TapReader};
use super::token::Token;
use super::watchers::Watchers;
use crate::feed::{Feed, FeedState};
use crate::realtime::StopButton;

/// Most clients at a time.
pub(super) const MOST_CLIENTS: usize = 16;
/// How often the threads look around.
const LOOK: Duration = Duration::from_millis(5);
/// Time in which clients may take what is left when the test is over.
const LINGER: Duration = Duration::from_secs(2);
/// Of a thread: small, because a real-time test keeps all memory in place.
const STACK_BYTES: usize = 256 << 10;

/// What clients are told of the test.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Title of the test.
    pub title: String,
    /// Whether a clock sets the pace, or the machine.
    pub real_time: RealTime,
    /// Ticks per second.
    pub tick_hz: f64,
    /// Samples of the load per second; 0 if it is not streamed.
    pub load_hz: f64,
    /// Samples of the load kept ahead.
    pub buffer: u64,
    /// Signals of a streamed load.
    pub signals: Vec<LoadSignal>,
    /// Channels of a frame; as many as a tap takes.
    pub channels: Vec<Channel>,
}

/// What sets the pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RealTime {
    /// The machine.
    No = 0,
    /// The clock.
    Yes = 1,
}

/// A signal of a streamed load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSignal {
    /// Name and unit.
    pub channel: Channel,
    /// Largest value, either way.
    pub bound: f64,
}

/// What a link joins.
pub struct HostParts {
    /// What clients must know.
    pub token: Token,
    /// What they are told.
    pub description: Description,
    /// The way in for a streamed load.
    pub feed: Option<Feed>,
    /// The way out for frames, and where the test stands.
    pub tap: TapReader,
    /// The same.
    pub seen: Arc<Seen>,
    /// What a stop presses.
    pub stop: &'static StopButton,
}

/// A link that is open.
pub struct HostLink {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
    distributor: Option<JoinHandle<()>>,
}

/// What the threads share.
pub(super) struct Shared {
    pub(super) token: Token,
    pub(super) welcome: Vec<u8>,
    pub(super) width: Option<u16>,
    pub(super) state: Option<Arc<FeedState>>,
    pub(super) stop: &'static StopButton,
    pub(super) watchers: Watchers,
    pub(super) over: AtomicBool,
    feed: Mutex<Option<Feed>>,
    seen: Arc<Seen>,
    clients: AtomicUsize,
    served: AtomicU64,
    turned_away: AtomicU64,
    sockets: Mutex<Vec<(u64, TcpStream)>>,
}

impl HostLink {
    /// Opens the link on a listener and starts its threads.
    pub fn open(listener: TcpListener, parts: HostParts) -> io::Result<Self> {
        let HostParts { token, description, feed, tap, seen, stop } = parts;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let width = u16::try_from(tap.width()).ok().filter(|width| *width > 0);
        let shared = Arc::new(Shared {
            token,
            welcome: welcome(&description).bytes(),
            width,
            state: feed.as_ref().map(|feed| Arc::clone(feed.state())),
            stop,
            watchers: Watchers::default(),
            over: AtomicBool::new(false),
            feed: Mutex::new(feed),
            seen,
            clients: AtomicUsize::new(0),
            served: AtomicU64::new(0),
            turned_away: AtomicU64::new(0),
            sockets: Mutex::new(Vec::new()),
        });
        let of_thread = Arc::clone(&shared);
        let acceptor = thread::Builder::new()
            .name("host accept".into())
            .stack_size(STACK_BYTES)
            .spawn(move || accept(&listener, &of_thread))?;
        let of_thread = Arc::clone(&shared);
        let distributor = thread::Builder::new()
            .name("host frames".into())
            .stack_size(STACK_BYTES)
            .spawn(move || distribute(tap, &of_thread))?;
        let (acceptor, distributor) = (Some(acceptor), Some(distributor));
        Ok(Self { shared, address, acceptor, distributor })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Clients that were let in, and those that were not.
    pub fn clients(&self) -> (u64, u64) {
        (
            self.shared.served.load(Ordering::Relaxed),
            self.shared.turned_away.load(Ordering::Relaxed),
        )
    }

    /// Closes the link once the last tick is done. Clients get what waits for
    /// them if they take it soon.
    pub fn close(mut self) {
        self.end(LINGER);
    }

    fn end(&mut self, linger: Duration) {
        self.shared.over.store(true, Ordering::Release);
        for thread in [self.distributor.take(), self.acceptor.take()].into_iter().flatten() {
            // A thread that failed has nothing more to do.
            let _ = thread.join();
        }
        let begun = Instant::now();
        while self.shared.clients.load(Ordering::Acquire) > 0 && begun.elapsed() < linger {
            thread::sleep(LOOK);
        }
        for (_, socket) in self.shared.sockets().iter() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for HostLink {
    fn drop(&mut self) {
        if self.acceptor.is_some() {
            self.end(Duration::ZERO);
        }
    }
}

impl Shared {
    fn sockets(&self) -> MutexGuard<'_, Vec<(u64, TcpStream)>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_feed(&self) -> MutexGuard<'_, Option<Feed>> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to feed, if nobody has it.
    pub(super) fn take_feed(&self) -> Option<Feed> {
        self.lock_feed().take()
    }

    pub(super) fn give_back(&self, feed: Feed) {
        *self.lock_feed() = Some(feed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(super) fn status(&self) -> StatusBody {
        let mut status = StatusBody {
            ticks: self.seen.ticks(),
            phase: self.seen.phase(),
            trip: self.seen.trip(),
            dropped: self.seen.dropped(),
            ..StatusBody::default()
        };
        if let Some(state) = &self.state {
            (status.fed, status.used, status.starved) =
                (state.fed(), state.used(), state.starved());
            status.feeding = match state.is_ended() {
                true => 2,
                false => u8::from(self.lock_feed().is_none()),
            };
        }
        status
    }

    pub(super) fn over(&self, dropped: u64) -> Reply {
        let (phase, trip, ticks) = (self.seen.phase(), self.seen.trip(), self.seen.ticks());
        Reply::Over { phase, trip, ticks, dropped }
    }
}

fn welcome(description: &Description) -> Reply {
    let name = |channel: &Channel| (channel.name.clone(), channel.unit.clone());
    Reply::Welcome(Welcome {
        version: VERSION,
        clock: description.real_time as u8,
        tick_hz: description.tick_hz,
        load_hz: description.load_hz,
        buffer: description.buffer,
        title: description.title.clone(),
        signals: description
            .signals
            .iter()
            .map(|signal| (signal.channel.name.clone(), signal.channel.unit.clone(), signal.bound))
            .collect(),
        channels: description.channels.iter().map(name).collect(),
    })
}

/// Lets clients in until the test is over.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut number = 0;
    while !shared.is_over() {
        let Ok((stream, _)) = listener.accept() else {
            // Nobody there, or one that left again at once.
            thread::sleep(LOOK);
            continue;
        };
        number += 1;
        if shared.clients.load(Ordering::Acquire) >= MOST_CLIENTS {
            turn_away(&stream, shared);
            continue;
        }
        let Ok(socket) = stream.try_clone() else { continue };
        shared.sockets().push((number, socket));
        shared.clients.fetch_add(1, Ordering::AcqRel);
        let (of_thread, id) = (Arc::clone(shared), number);
        let named = thread::Builder::new().name("host client".into()).stack_size(STACK_BYTES);
        let spawned = named.spawn(move || {
            let _leaves = Leaves { shared: Arc::clone(&of_thread), id };
            if stream.set_nonblocking(false).is_ok() {
                of_thread.served.fetch_add(1, Ordering::Relaxed);
                connection::serve(stream, &of_thread);
            }
        });
        if spawned.is_err() {
            drop(Leaves { shared: Arc::clone(shared), id });
        }
    }
}

fn turn_away(stream: &TcpStream, shared: &Shared) {
    shared.turned_away.fetch_add(1, Ordering::Relaxed);
    let text = format!("{MOST_CLIENTS} clients are served already");
    let reply = Reply::Refused { request: 0, reason: Refusal::TooMany, text };
    // What does not fit at once is not said.
    let _ = io::Write::write(&mut &*stream, &reply.bytes());
}

/// Counts a client out, however its thread ends.
struct Leaves {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for Leaves {
    fn drop(&mut self) {
        self.shared.sockets().retain(|(id, _)| *id != self.id);
        self.shared.clients.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Hands the frames out until the test is over and the ring empty.
fn distribute(mut tap: TapReader, shared: &Shared) {
    let mut frame = vec![0.0; tap.width()];
    loop {
        let over = shared.is_over();
        while tap.pop(&mut frame) {
            shared.watchers.offer(&frame);
        }
        if over {
            break;
        }
        thread::sleep(LOOK);
    }
    shared.watchers.close();
}
