//! The side of the test: who is let in, and what is handed to whom.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::channel::Channel;

use super::connection;
use super::protocol::{Reply, StatusBody, VERSION, Welcome};
use super::token::Token;
use super::watchers::Watchers;
use crate::stop::StopButton;
use crate::streamed_load::{Feed, FeedState};
use crate::tap::{Seen, TapReader};

/// Most clients at a time that have greeted and were let in.
pub(super) const MOST_CLIENTS: usize = 16;
/// Places beyond these for clients that only stop the test or ask where it
/// stands: a stop must find one however many look on.
const STANDING: usize = 4;
/// Most connections at a time that have not greeted yet. One more, and the
/// oldest of them goes: who keeps silent takes no place from who has a token.
const MOST_STRANGERS: usize = 16;
/// Most connections whose threads have not ended yet, whatever they are.
const MOST_CONNECTIONS: usize = 2 * MOST_STRANGERS + MOST_CLIENTS + STANDING;
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
    /// The oldest first.
    sockets: Mutex<Vec<Guest>>,
    /// Why the last client that fed the load did not go on with it.
    feed_left: Mutex<Option<String>>,
}

/// A connection.
struct Guest {
    id: u64,
    socket: TcpStream,
    standing: Standing,
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It has not greeted.
    Stranger,
    /// The same, and it has been told to go.
    Leaving,
    /// It is let in.
    Greeted(Place),
}

/// What a client that was let in may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Everything.
    Whole,
    /// Stop the test and ask where it stands.
    StopAndStatus,
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
            feed_left: Mutex::new(None),
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

    /// Clients that were let in, and those that were not or kept silent.
    pub fn clients(&self) -> (u64, u64) {
        (
            self.shared.served.load(Ordering::Relaxed),
            self.shared.turned_away.load(Ordering::Relaxed),
        )
    }

    /// Why the last client that fed the load did not go on with it.
    pub fn feed_left(&self) -> Option<String> {
        self.shared.feed_left.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        for guest in self.shared.sockets().iter() {
            let _ = guest.socket.shutdown(Shutdown::Both);
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
    fn sockets(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection in that has not greeted; the oldest such one goes if
    /// there are too many.
    fn take_in(&self, id: u64, socket: TcpStream) {
        let mut guests = self.sockets();
        let is_stranger = |guest: &&mut Guest| guest.standing == Standing::Stranger;
        if guests.iter_mut().filter(is_stranger).count() >= MOST_STRANGERS
            && let Some(oldest) = guests.iter_mut().find(is_stranger)
        {
            oldest.standing = Standing::Leaving;
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            let _ = oldest.socket.shutdown(Shutdown::Both);
        }
        guests.push(Guest { id, socket, standing: Standing::Stranger });
        self.clients.fetch_add(1, Ordering::AcqRel);
    }

    /// A place for a client that has greeted with the right token, if there is one.
    pub(super) fn let_in(&self, id: u64) -> Option<Place> {
        let mut guests = self.sockets();
        let inside =
            guests.iter().filter(|guest| matches!(guest.standing, Standing::Greeted(_))).count();
        let place = match inside {
            0..MOST_CLIENTS => Place::Whole,
            _ if inside < MOST_CLIENTS + STANDING => Place::StopAndStatus,
            _ => {
                self.turned_away.fetch_add(1, Ordering::Relaxed);
                return None;
            }
        };
        guests.iter_mut().find(|guest| guest.id == id)?.standing = Standing::Greeted(place);
        self.served.fetch_add(1, Ordering::Relaxed);
        Some(place)
    }

    /// Takes down why a client that fed did not go on.
    pub(super) fn note_feed_left(&self, why: String) {
        *self.feed_left.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    fn lock_feed(&self) -> MutexGuard<'_, Option<Feed>> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to feed, if nobody has it.
    pub(super) fn take_feed(&self) -> Option<Feed> {
        let taken = self.lock_feed().take();
        if taken.is_some() {
            // Whatever became of the one before, the load goes on.
            *self.feed_left.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        taken
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
        let Ok(socket) = stream.try_clone() else { continue };
        // Those who were told to go are gone in a moment.
        while shared.clients.load(Ordering::Acquire) >= MOST_CONNECTIONS && !shared.is_over() {
            thread::sleep(LOOK);
        }
        shared.take_in(number, socket);
        let (of_thread, id) = (Arc::clone(shared), number);
        let named = thread::Builder::new().name("host client".into()).stack_size(STACK_BYTES);
        let spawned = named.spawn(move || {
            let _leaves = Leaves { shared: Arc::clone(&of_thread), id };
            if stream.set_nonblocking(false).is_ok() {
                connection::serve(stream, id, &of_thread);
            }
        });
        if spawned.is_err() {
            drop(Leaves { shared: Arc::clone(shared), id });
        }
    }
}

/// Counts a client out, however its thread ends.
struct Leaves {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for Leaves {
    fn drop(&mut self) {
        self.shared.sockets().retain(|guest| guest.id != self.id);
        self.shared.clients.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Hands the frames out until the test is over and the ring empty.
fn distribute(mut tap: TapReader, shared: &Shared) {
    let mut frame = vec![0.0; tap.width()];
    let mut skipped = 0;
    loop {
        let over = shared.is_over();
        let now = shared.seen.dropped();
        while tap.pop(&mut frame) {
            shared.watchers.offer(&frame);
        }
        // What found no room in the ring is missing behind what was in it.
        if now > skipped {
            shared.watchers.skip(now - skipped);
            skipped = now;
        }
        if over {
            break;
        }
        thread::sleep(LOOK);
    }
    shared.watchers.close();
}
