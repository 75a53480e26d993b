//! A wire that misbehaves: between a loop and its laboratory, seeded.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use numerics::random::Stream;

/// How often what happens to a datagram, 0 to 1.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mischief {
    pub(crate) drop: f64,
    pub(crate) duplicate: f64,
    pub(crate) corrupt: f64,
    /// It waits until this many at most have overtaken it.
    pub(crate) reorder: f64,
    pub(crate) overtaken: u32,
}

impl Mischief {
    pub(crate) const ALL: Self =
        Self { drop: 0.05, duplicate: 0.05, corrupt: 0.05, reorder: 0.05, overtaken: 3 };
}

/// Two threads, one each way.
pub(crate) struct Proxy {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    cut: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Proxy {
    pub(crate) fn new(laboratory: SocketAddr, mischief: Mischief, seed: u64) -> Self {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let back = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        back.connect(laboratory).unwrap();
        let address = front.local_addr().unwrap();
        let client: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
        let (over, cut): (Arc<AtomicBool>, Arc<AtomicBool>) = Default::default();
        for socket in [&front, &back] {
            socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        }
        let mut threads = Vec::new();
        {
            let (front, back) = (Arc::clone(&front), Arc::clone(&back));
            let (client, over, cut) = (Arc::clone(&client), Arc::clone(&over), Arc::clone(&cut));
            let mut wire = Wire::new(mischief, seed, "there");
            threads.push(std::thread::spawn(move || {
                let mut inbox = [0; 2048];
                while !over.load(Ordering::Relaxed) {
                    let Ok((bytes, from)) = front.recv_from(&mut inbox) else { continue };
                    *client.lock().unwrap() = Some(from);
                    if !cut.load(Ordering::Relaxed) {
                        wire.pass(&inbox[..bytes], |bytes| drop(back.send(bytes)));
                    }
                }
            }));
        }
        {
            let (over, cut) = (Arc::clone(&over), Arc::clone(&cut));
            let mut wire = Wire::new(mischief, seed, "back");
            threads.push(std::thread::spawn(move || {
                let mut inbox = [0; 2048];
                while !over.load(Ordering::Relaxed) {
                    let Ok(bytes) = back.recv(&mut inbox) else { continue };
                    let Some(client) = *client.lock().unwrap() else { continue };
                    if !cut.load(Ordering::Relaxed) {
                        wire.pass(&inbox[..bytes], |bytes| drop(front.send_to(bytes, client)));
                    }
                }
            }));
        }
        Self { address, over, cut, threads }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Pulls the plug, both ways and for good.
    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

struct Wire {
    mischief: Mischief,
    stream: Stream,
    /// What waits, and how many may still overtake it.
    waiting: Vec<(u32, Vec<u8>)>,
}

impl Wire {
    fn new(mischief: Mischief, seed: u64, name: &str) -> Self {
        Self { mischief, stream: Stream::new(seed, name), waiting: Vec::new() }
    }

    fn pass(&mut self, bytes: &[u8], mut send: impl FnMut(&[u8])) {
        let mut bytes = bytes.to_vec();
        let Mischief { drop, duplicate, corrupt, reorder, overtaken } = self.mischief;
        let mut happens = |share: f64| self.stream.uniform() < share;
        if happens(drop) {
            return;
        }
        if happens(corrupt) {
            let place = (self.stream.uniform() * bytes.len() as f64) as usize;
            bytes[place] ^= 0x40;
            send(&bytes);
            return;
        }
        if self.stream.uniform() < reorder {
            let by = 1 + (self.stream.uniform() * f64::from(overtaken)) as u32;
            self.waiting.push((by, bytes));
            return;
        }
        send(&bytes);
        if self.stream.uniform() < duplicate {
            send(&bytes);
        }
        for (left, bytes) in &mut self.waiting {
            *left -= 1;
            if *left == 0 {
                send(bytes);
            }
        }
        self.waiting.retain(|(left, _)| *left > 0);
    }
}
