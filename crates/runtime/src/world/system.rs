//! The real world: what the operating system gives, and nothing more.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::{Clock, DatagramSocket, Disk, DiskFile, Entropy, Network, Process, Running, Threads};

const NANOSECONDS: u64 = 1_000_000_000;

/// The operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

fn to_ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * NANOSECONDS + time.tv_nsec as u64
}

fn to_timespec(nanoseconds: u64) -> Timespec {
    let (seconds, rest) = (nanoseconds / NANOSECONDS, nanoseconds % NANOSECONDS);
    Timespec { tv_sec: seconds as i64, tv_nsec: rest as i64 }
}

impl Clock for System {
    #[inline]
    fn now_ns(&self) -> u64 {
        to_ns(clock_gettime(ClockId::Monotonic))
    }

    #[inline]
    fn wall_ns(&self) -> u64 {
        to_ns(clock_gettime(ClockId::Realtime))
    }

    #[inline]
    fn sleep_until_ns(&self, instant_ns: u64) {
        let time = to_timespec(instant_ns);
        // A signal ends the sleep early; the instant stays the same.
        while clock_nanosleep_absolute(ClockId::Monotonic, &time) == Err(Errno::INTR) {}
    }
}

impl Network for System {
    fn listen(&self, address: SocketAddr) -> io::Result<Box<dyn DatagramSocket>> {
        Ok(Box::new(Socket::new(UdpSocket::bind(address)?, None)?))
    }

    fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn DatagramSocket>> {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(address)?;
        Ok(Box::new(Socket::new(socket, Some(address))?))
    }
}

/// A socket of the system.
struct Socket {
    socket: UdpSocket,
    /// Whom it is connected to.
    peer: Option<SocketAddr>,
}

impl Socket {
    fn new(socket: UdpSocket, peer: Option<SocketAddr>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, peer })
    }
}

impl DatagramSocket for Socket {
    fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        let sent = match self.peer {
            Some(_) => self.socket.send(bytes),
            None => self.socket.send_to(bytes, to),
        };
        sent.map(|_| ())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
        let received = match self.peer {
            Some(peer) => self.socket.recv(buffer).map(|bytes| (bytes, peer)),
            None => self.socket.recv_from(buffer),
        };
        match received {
            Ok(received) => Ok(Some(received)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            },
        }
    }

    fn received_at_ns(&self) -> Option<u64> {
        const SIOCGSTAMPNS: libc::c_ulong = 0x8907;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the socket is open, and `time` is a valid place for the answer.
        let code = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCGSTAMPNS as _, &mut time) };
        (code == 0).then(|| time.tv_sec as u64 * NANOSECONDS + time.tv_nsec as u64)
    }

    fn wait_until_ns(&mut self, instant_ns: u64) {
        wait_for(&mut [PollFd::new(&self.socket, PollFlags::IN)], instant_ns);
    }
}

/// Waits until one of the descriptors is ready, at most until an instant of the
/// clock. Whether it ends by that, a signal or the time, the caller looks.
pub(crate) fn wait_for(wanted: &mut [PollFd<'_>], instant_ns: u64) {
    let left = to_timespec(instant_ns.saturating_sub(System.now_ns()));
    let _ = poll(wanted, Some(&left));
}

impl Disk for System {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenOptions::new().write(true).create_new(true).open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<(Box<dyn Read>, u64)> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok((Box::new(file), length))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

impl DiskFile for File {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(|_| ())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Entropy for System {
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        Ok(getrandom::fill(bytes)?)
    }
}

impl Threads for System {
    fn spawn(&self, name: &str, mut process: Box<dyn Process>) -> io::Result<Running> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            loop {
                let now_ns = Self.now_ns();
                process.poll(now_ns);
                if process.is_over() {
                    break;
                }
                let left_ns = process.next_timeout_ns().saturating_sub(now_ns);
                if left_ns > 0 {
                    thread::park_timeout(Duration::from_nanos(left_ns));
                }
            }
        })?;
        Ok(Running { thread: Some(thread) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_ends_at_its_instant_and_at_once_in_the_past() {
        let wanted = System.now_ns() + 2_000_000;
        System.sleep_until_ns(wanted);
        assert!(System.now_ns() >= wanted);
        System.sleep_until_ns(0);
    }

    #[test]
    fn a_socket_waits_for_a_datagram_and_no_longer_than_it_is_told() {
        let mut there = System.listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = there.address().unwrap();
        let mut here = System.connect(address).unwrap();
        let mut buffer = [0; 8];
        let until = System.now_ns() + 2_000_000;
        there.wait_until_ns(until);
        assert!(System.now_ns() >= until);
        assert!(there.receive(&mut buffer).unwrap().is_none());
        here.send(address, b"abc").unwrap();
        there.wait_until_ns(System.now_ns() + 10 * NANOSECONDS);
        let (bytes, from) = there.receive(&mut buffer).unwrap().unwrap();
        assert_eq!((&buffer[..bytes], from.port()), (&b"abc"[..], here.address().unwrap().port()));
        assert_ne!((&System as &dyn Entropy).number().unwrap(), 0);
    }
}
