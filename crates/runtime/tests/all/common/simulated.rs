//! A world of its own: one thread, virtual time, every chance drawn from a seed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::{self, Cursor, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numerics::random::Stream;

use runtime::world::{Clock, DatagramSocket, DiskFile, Process, Running, World};

/// What the network does to datagrams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Faults {
    /// Share that is lost.
    pub(crate) loss: f64,
    /// Share that comes twice.
    pub(crate) duplicate: f64,
    /// Share with a byte that is not what was sent.
    pub(crate) corrupt: f64,
    /// Shortest way, ns.
    pub(crate) delay_ns: u64,
    /// Longest way, ns. Few take that long, and may come after later ones.
    pub(crate) most_delay_ns: u64,
}

/// A world in one thread. Its clones are the same world.
///
/// Time passes only while somebody sleeps or waits: then the processes that were
/// [`spawn`](World::spawn)ed run, each at its time, and datagrams arrive. So the
/// same program with the same seed does the same, to the last byte.
#[derive(Clone)]
pub(crate) struct Simulated(Arc<Mutex<State>>);

struct State {
    now_ns: u64,
    faults: Faults,
    chance: Stream,
    entropy: Stream,
    /// What has arrived and was not read, by socket.
    inboxes: BTreeMap<SocketAddr, VecDeque<Arrival>>,
    flight: BinaryHeap<Reverse<Flying>>,
    sent: u64,
    port: u16,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// When each wants to be asked again; `None` while one runs, and when it is over.
    processes: Vec<Option<(u64, Process)>>,
}

struct Arrival {
    from: SocketAddr,
    bytes: Vec<u8>,
    at_ns: u64,
}

/// A datagram on its way; the number makes the order the same every time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Flying {
    at_ns: u64,
    number: u64,
    to: SocketAddr,
    from: SocketAddr,
    bytes: Vec<u8>,
}

/// Not zero: in a datagram that means none.
const START_NS: u64 = 1_000_000_000;
/// A process that asks for an instant that has passed is asked so much later.
const LEAST_STEP_NS: u64 = 1_000;
/// First port that is given away.
const FIRST_PORT: u16 = 49_152;

impl Simulated {
    /// A new world.
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        Self(Arc::new(Mutex::new(State {
            now_ns: START_NS,
            faults,
            chance: Stream::new(seed, "network"),
            entropy: Stream::new(seed, "entropy"),
            inboxes: BTreeMap::new(),
            flight: BinaryHeap::new(),
            sent: 0,
            port: FIRST_PORT,
            files: BTreeMap::new(),
            processes: Vec::new(),
        })))
    }

    /// To be handed in.
    pub(crate) fn world(&self) -> Arc<dyn World> {
        Arc::new(self.clone())
    }

    /// What a file holds.
    pub(crate) fn file(&self, path: &Path) -> Option<Vec<u8>> {
        self.lock().files.get(path).cloned()
    }

    /// What the network does from now on.
    pub(crate) fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // One thread: nobody else can have failed while holding it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets time pass until an instant, or until `is_ready`.
    fn pass_until(&self, instant_ns: u64, is_ready: impl Fn(&State) -> bool) {
        loop {
            let mut state = self.lock();
            if is_ready(&state) {
                return;
            }
            let due_ns = state.next_event_ns().max(state.now_ns);
            if due_ns > instant_ns {
                state.now_ns = instant_ns.max(state.now_ns);
                return;
            }
            state.now_ns = due_ns;
            state.deliver();
            let count = state.processes.len();
            drop(state);
            (0..count).for_each(|index| self.run(index));
        }
    }

    /// Lets a process do what is due. While it runs it is not in the list: it may
    /// itself sleep, and is not asked again meanwhile.
    fn run(&self, index: usize) {
        let mut state = self.lock();
        let now_ns = state.now_ns;
        let Some((_, mut process)) = state.processes[index].take() else { return };
        drop(state);
        if let Some(next_ns) = process(now_ns) {
            self.lock().processes[index] = Some((next_ns, process));
        }
    }
}

impl State {
    fn next_event_ns(&self) -> u64 {
        let asked = self.processes.iter().flatten();
        let asked =
            asked.map(
                |&(wanted, _)| {
                    if wanted <= self.now_ns { self.now_ns + LEAST_STEP_NS } else { wanted }
                },
            );
        let arrival = self.flight.peek().map(|Reverse(flying)| flying.at_ns);
        asked.chain(arrival).min().unwrap_or(u64::MAX)
    }

    /// Puts what has arrived where it is read.
    fn deliver(&mut self) {
        while self.flight.peek().is_some_and(|Reverse(flying)| flying.at_ns <= self.now_ns) {
            let Some(Reverse(Flying { at_ns, to, from, bytes, .. })) = self.flight.pop() else {
                return;
            };
            // Nobody there: lost.
            if let Some(inbox) = self.inboxes.get_mut(&to) {
                inbox.push_back(Arrival { from, bytes, at_ns });
            }
        }
    }

    fn send(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        let Faults { loss, duplicate, corrupt, delay_ns, most_delay_ns } = self.faults;
        let copies = match self.chance.uniform() {
            lost if lost < loss => 0,
            again if again < loss + duplicate => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let mut bytes = bytes.to_vec();
            if self.chance.uniform() < corrupt {
                let place = (self.chance.uniform() * bytes.len() as f64) as usize;
                bytes[place] ^= 1 << (self.chance.uniform() * 8.0) as u8;
            }
            // As on a real wire: most take little more than the shortest, few much.
            let late = self.chance.uniform().powi(8);
            let late_ns = most_delay_ns.saturating_sub(delay_ns) as f64 * late;
            let at_ns = self.now_ns + delay_ns + late_ns as u64;
            self.sent += 1;
            self.flight.push(Reverse(Flying { at_ns, number: self.sent, to, from, bytes }));
        }
    }

    fn open(&mut self, address: SocketAddr) -> io::Result<SocketAddr> {
        let address = match address.port() {
            0 => {
                self.port += 1;
                SocketAddr::new(address.ip(), self.port)
            }
            _ => address,
        };
        if self.inboxes.contains_key(&address) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        self.inboxes.insert(address, VecDeque::new());
        Ok(address)
    }
}

impl Clock for Simulated {
    fn now_ns(&self) -> u64 {
        self.lock().now_ns
    }

    fn wall_ns(&self) -> u64 {
        self.now_ns()
    }

    fn sleep_until_ns(&self, instant_ns: u64) {
        self.pass_until(instant_ns, |_| false);
    }
}

impl World for Simulated {
    fn listen(&self, address: SocketAddr) -> io::Result<Box<dyn DatagramSocket>> {
        let address = self.lock().open(address)?;
        Ok(Box::new(Socket {
            world: self.clone(),
            address,
            peer: None,
            inbox: Vec::new(),
            came_ns: None,
        }))
    }

    fn connect(&self, peer: SocketAddr) -> io::Result<Box<dyn DatagramSocket>> {
        let address = self.lock().open((Ipv4Addr::LOCALHOST, 0).into())?;
        let (world, peer) = (self.clone(), Some(peer));
        Ok(Box::new(Socket { world, address, peer, inbox: Vec::new(), came_ns: None }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock();
        if state.files.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.files.insert(path.to_owned(), Vec::new());
        Ok(Box::new(SimulatedFile { world: self.clone(), path: path.to_owned() }))
    }

    fn open(&self, path: &Path) -> io::Result<(Box<dyn Read>, u64)> {
        let bytes = self.file(path).ok_or(io::ErrorKind::NotFound)?;
        let length = bytes.len() as u64;
        Ok((Box::new(Cursor::new(bytes)), length))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = self.lock().files.remove(path);
        removed.map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
    }

    fn secret_number(&self) -> io::Result<u64> {
        let mut state = self.lock();
        let mut bytes = [0; 8];
        bytes.fill_with(|| (state.entropy.uniform() * 256.0) as u8);
        Ok(u64::from_le_bytes(bytes).max(1))
    }

    fn spawn(&self, _name: &str, process: Process) -> io::Result<Running> {
        let mut state = self.lock();
        let now_ns = state.now_ns;
        state.processes.push(Some((now_ns, process)));
        Ok(Running { thread: None })
    }
}

struct Socket {
    world: Simulated,
    address: SocketAddr,
    peer: Option<SocketAddr>,
    /// The one that was read last.
    inbox: Vec<u8>,
    /// When the last one that was read had come.
    came_ns: Option<u64>,
}

impl DatagramSocket for Socket {
    fn address(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }

    fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        self.world.lock().send(self.address, self.peer.unwrap_or(to), bytes);
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Option<(&[u8], SocketAddr)>> {
        let mut state = self.world.lock();
        state.deliver();
        let Some(inbox) = state.inboxes.get_mut(&self.address) else { return Ok(None) };
        while let Some(arrival) = inbox.pop_front() {
            if self.peer.is_none_or(|peer| peer == arrival.from) {
                (self.inbox, self.came_ns) = (arrival.bytes, Some(arrival.at_ns));
                return Ok(Some((&self.inbox, arrival.from)));
            }
        }
        Ok(None)
    }

    fn received_at_ns(&self) -> Option<u64> {
        self.came_ns
    }

    fn wait_until_ns(&mut self, instant_ns: u64) {
        let here = self.address;
        let has_some =
            |state: &State| state.inboxes.get(&here).is_some_and(|inbox| !inbox.is_empty());
        self.world.pass_until(instant_ns, has_some);
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.world.lock().inboxes.remove(&self.address);
    }
}

struct SimulatedFile {
    world: Simulated,
    path: PathBuf,
}

impl SimulatedFile {
    fn with<T>(&self, change: impl FnOnce(&mut Vec<u8>) -> T) -> io::Result<T> {
        // A file that was removed is still written to, and nobody sees it.
        let mut state = self.world.lock();
        match state.files.get_mut(&self.path) {
            Some(file) => Ok(change(file)),
            None => Ok(change(&mut Vec::new())),
        }
    }
}

impl Write for SimulatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|file| file.extend_from_slice(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for SimulatedFile {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.with(|file| file.truncate(length as usize))
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
