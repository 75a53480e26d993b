//! Waiting for a loop, and agreeing with it.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::link::wire::{
    Datagram, Flaw, Handshake, Header, Kind, LOCK_STEP, MOST_BYTES, PACED, Refusal, decode, encode,
};
use crate::link::{End, Heard, LinkCounts, Token, unguessable};
use crate::stop::StopButton;
use crate::system::now_ns;

/// How long the socket waits before the operator's button is looked at.
pub(super) const SLICE: Duration = Duration::from_millis(5);
/// How long a welcome waits for its arm.
const ARM_WITHIN: Duration = Duration::from_secs(2);
/// In lock-step the loop says how patient it is; nobody is patient for longer.
const MOST_PATIENCE_S: f64 = 60.0;

/// What a laboratory says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct House {
    /// Ticks per second.
    pub rate_hz: f64,
    /// What its gate lets through, per DOF: command in m, rate in m/s, force in N.
    pub limits: [Vec<f64>; 3],
    /// After this much silence of the loop it goes to safe by itself, s.
    pub watchdog_s: f64,
    /// What both sides know.
    pub token: Token,
    /// What it can: a sum of the constants in [`crate::link::wire`].
    pub modes: u32,
}

/// Why nobody can be waited for.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The address cannot be used.
    #[error(
        "cannot listen at {address}: {source}; choose another with --listen, or end the program \
         that has it"
    )]
    Bind {
        /// Which.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The socket failed later.
    #[error("the socket failed: {source}")]
    Socket {
        /// What the system said.
        source: io::Error,
    },
}

/// Waits for loops.
pub struct Listener {
    pub(super) socket: UdpSocket,
    pub(super) house: House,
    address: SocketAddr,
    /// What came between sessions.
    pub(super) counts: LinkCounts,
}

/// A loop that has been welcomed and has armed.
pub struct Visit {
    pub(super) peer: SocketAddr,
    pub(super) nonce: u64,
    pub(super) end: End,
    pub(super) lock_step: bool,
    /// After this much silence the rig goes to safe.
    pub(super) watchdog_s: f64,
    /// The clock of the arm, to be echoed.
    pub(super) arm_ns: u64,
}

impl Visit {
    /// Who it is.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Its number.
    pub fn session(&self) -> u64 {
        self.end.session()
    }

    /// Whether the session is in virtual time.
    pub fn is_lock_step(&self) -> bool {
        self.lock_step
    }

    /// After this much silence the rig goes to safe, s.
    pub fn watchdog_s(&self) -> f64 {
        self.watchdog_s
    }
}

impl Listener {
    /// Opens the address.
    pub fn bind(address: SocketAddr, house: House) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Bind { address, source };
        let socket = UdpSocket::bind(address).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { socket, house, address, counts: LinkCounts::default() })
    }

    /// Where it listens; with port 0 the system has chosen one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What reached it between sessions.
    pub fn counts(&self) -> &LinkCounts {
        &self.counts
    }

    /// Waits for a loop; `None` when the operator's button is pressed.
    pub fn accept(&mut self, stop: &StopButton) -> Result<Option<Visit>, ListenError> {
        let failed = |source| ListenError::Socket { source };
        self.socket.set_nonblocking(false).map_err(failed)?;
        self.socket.set_read_timeout(Some(SLICE)).map_err(failed)?;
        let mut inbox = [0; MOST_BYTES + 1];
        let mut welcomed: Option<(Visit, Instant)> = None;
        while stop.presses() == 0 {
            if welcomed.as_ref().is_some_and(|(_, until)| Instant::now() >= *until) {
                welcomed = None;
            }
            let Ok((bytes, from)) = self.socket.recv_from(&mut inbox) else { continue };
            if let Some((visit, until)) = &mut welcomed
                && visit.peer == from
                && let Heard::Ours(datagram) = visit.end.hear(&inbox[..bytes])
                && datagram.header.kind == Kind::Arm
                && let Some(arm) = datagram.handshake
            {
                let tag = self.house.token.tag(Kind::Arm, visit.nonce, visit.session());
                if arm.nonce == visit.nonce && arm.tag == tag {
                    visit.arm_ns = datagram.header.time_ns;
                    return Ok(welcomed.map(|(visit, _)| visit));
                }
                *until = Instant::now();
                self.counts.foreign += 1;
                continue;
            }
            match decode(&inbox[..bytes]) {
                Ok(datagram) if datagram.header.kind == Kind::Hello => {
                    let known = welcomed.take().map(|(visit, _)| visit);
                    let visit = self.greet(&datagram, from, known);
                    welcomed = visit.map(|visit| (visit, Instant::now() + ARM_WITHIN));
                }
                Ok(_) | Err(Flaw::NotOurs | Flaw::Malformed) => self.counts.foreign += 1,
                Err(Flaw::Damaged) => self.counts.corrupt += 1,
                Err(Flaw::Version(_)) => {
                    self.counts.foreign += 1;
                    self.answer(Kind::Refuse, from, 1, 0, 0, refused(Refusal::Version, 0));
                }
            }
        }
        Ok(None)
    }

    /// Welcomes who fits, or says why not. `known` is who was welcomed before
    /// and has not armed: a hello that came twice means the same session.
    fn greet(
        &mut self,
        datagram: &Datagram<'_>,
        from: SocketAddr,
        known: Option<Visit>,
    ) -> Option<Visit> {
        let hello = datagram.handshake?;
        let dofs = self.house.limits[0].len();
        if let Err(reason) = self.judge(datagram, &hello) {
            self.counts.foreign += 1;
            let dofs = usize::from(datagram.header.dofs);
            let time_ns = datagram.header.time_ns;
            self.answer(Kind::Refuse, from, dofs, 0, time_ns, refused(reason, hello.nonce));
            return known;
        }
        let again = known.filter(|visit| visit.peer == from && visit.nonce == hello.nonce);
        let lock_step = hello.modes & LOCK_STEP != 0;
        let patience_s = 1e-9 * hello.watchdog_ns as f64;
        let visit = again.unwrap_or_else(|| Visit {
            peer: from,
            nonce: hello.nonce,
            end: End::new(unguessable(), dofs),
            lock_step,
            watchdog_s: if lock_step {
                // Virtual time may stand still for as long as the loop would wait.
                self.house.watchdog_s.max(patience_s.min(MOST_PATIENCE_S))
            } else {
                self.house.watchdog_s
            },
            arm_ns: 0,
        });
        self.welcome(&visit, datagram.header.time_ns);
        Some(visit)
    }

    fn judge(&self, datagram: &Datagram<'_>, hello: &Handshake) -> Result<(), Refusal> {
        let modes = hello.modes & (LOCK_STEP | PACED);
        if hello.tag != self.house.token.tag(Kind::Hello, hello.nonce, 0) {
            Err(Refusal::Token)
        } else if usize::from(datagram.header.dofs) != self.house.limits[0].len() {
            Err(Refusal::Dofs)
        } else if hello.rate_hz.to_bits() != self.house.rate_hz.to_bits() {
            Err(Refusal::Rate)
        } else if !modes.is_power_of_two() || modes & self.house.modes == 0 {
            Err(Refusal::Mode)
        } else {
            Ok(())
        }
    }

    /// Says again to whom it was said before.
    pub(super) fn welcome(&mut self, visit: &Visit, echo_ns: u64) {
        let session = visit.session();
        let welcome = Handshake {
            rate_hz: self.house.rate_hz,
            nonce: visit.nonce,
            tag: self.house.token.tag(Kind::Welcome, visit.nonce, session),
            watchdog_ns: (1e9 * visit.watchdog_s) as u64,
            modes: self.house.modes,
            reason: 0,
        };
        let dofs = self.house.limits[0].len();
        self.answer(Kind::Welcome, visit.peer, dofs, session, echo_ns, welcome);
    }

    /// Tells who asks during a session that there is one.
    pub(super) fn turn_away(&mut self, datagram: &Datagram<'_>, from: SocketAddr) {
        let Some(hello) = datagram.handshake else { return };
        let (dofs, time_ns) = (usize::from(datagram.header.dofs), datagram.header.time_ns);
        self.answer(Kind::Refuse, from, dofs, 0, time_ns, refused(Refusal::Busy, hello.nonce));
    }

    fn answer(
        &mut self,
        kind: Kind,
        to: SocketAddr,
        dofs: usize,
        session: u64,
        echo_ns: u64,
        handshake: Handshake,
    ) {
        let header = Header {
            kind,
            dofs: dofs as u8,
            session,
            sequence: 0,
            time_ns: now_ns(),
            tick: 0,
            echo_ns,
            state: 0,
            trip: 0,
        };
        let blocks = [&self.house.limits[0][..], &self.house.limits[1], &self.house.limits[2]];
        let mut out = [0; MOST_BYTES];
        let bytes = encode(&header, Some(&handshake), blocks, &mut out);
        if self.socket.send_to(bytes, to).is_err() {
            self.counts.unsent += 1;
        }
    }
}

fn refused(reason: Refusal, nonce: u64) -> Handshake {
    Handshake { rate_hz: 0.0, nonce, tag: 0, watchdog_ns: 0, modes: 0, reason: reason as u32 }
}
