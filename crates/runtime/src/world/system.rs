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

use super::{Clock, DatagramSocket, DiskFile, Process, Running, World};

const NANOSECONDS: u64 = 1_000_000_000;
/// Longest datagram that is received whole: what is longer is none of ours.
const LONGEST: usize = 2048;

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
    fn now_ns(&self) -> u64 {
        to_ns(clock_gettime(ClockId::Monotonic))
    }

    fn wall_ns(&self) -> u64 {
        to_ns(clock_gettime(ClockId::Realtime))
    }

    fn sleep_until_ns(&self, instant_ns: u64) {
        let time = to_timespec(instant_ns);
        // A signal ends the sleep early; the instant stays the same.
        while clock_nanosleep_absolute(ClockId::Monotonic, &time) == Err(Errno::INTR) {}
    }
}

impl World for System {
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

    fn secret_number(&self) -> io::Result<u64> {
        Ok(getrandom::u64()?.max(1))
    }

    fn spawn(&self, name: &str, mut process: Process) -> io::Result<Running> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            loop {
                let now_ns = Self.now_ns();
                let Some(next_ns) = process(now_ns) else { break };
                if next_ns > now_ns {
                    thread::park_timeout(Duration::from_nanos(next_ns - now_ns));
                }
            }
        })?;
        Ok(Running { thread: Some(thread) })
    }
}

/// A socket of the system.
struct Socket {
    socket: UdpSocket,
    /// Whom it is connected to.
    peer: Option<SocketAddr>,
    /// The datagram that was received last.
    inbox: [u8; LONGEST],
}

impl Socket {
    fn new(socket: UdpSocket, peer: Option<SocketAddr>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, peer, inbox: [0; LONGEST] })
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

    fn receive(&mut self) -> io::Result<Option<(&[u8], SocketAddr)>> {
        let received = match self.peer {
            Some(peer) => self.socket.recv(&mut self.inbox).map(|bytes| (bytes, peer)),
            None => self.socket.recv_from(&mut self.inbox),
        };
        match received {
            Ok((bytes, from)) => Ok(Some((&self.inbox[..bytes], from))),
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

impl DiskFile for File {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(|_| ())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
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
        let until = System.now_ns() + 2_000_000;
        there.wait_until_ns(until);
        assert!(System.now_ns() >= until);
        assert!(there.receive().unwrap().is_none());
        here.send(address, b"abc").unwrap();
        there.wait_until_ns(System.now_ns() + 10 * NANOSECONDS);
        let (bytes, from) = there.receive().unwrap().unwrap();
        assert_eq!((bytes, from.port()), (&b"abc"[..], here.address().unwrap().port()));
        assert_ne!(System.secret_number().unwrap(), 0);
    }
}
