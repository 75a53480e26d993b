//! The laboratory's socket: a shell around listener and session.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::Laboratory;
use super::listener::{AcceptedSession, LabProfile, Listener, Reception, Refused, Transmit};
use super::session::{Session, SessionEnd};
use crate::stop::StopHandle;
use crate::world::{DatagramSocket, World};

/// How long the socket waits before the operator's stop is looked at.
const SLICE: Duration = Duration::from_millis(5);
/// Datagrams read before the clock is looked at: a flood must not stop it.
const MOST_READ: usize = 64;

/// Why nobody can be waited for: the address cannot be used.
#[derive(Debug, Error)]
#[error(
    "cannot listen at {address}: {source}; choose another with --listen, or end the program that \
     has it"
)]
pub struct ListenError {
    /// Which.
    pub address: SocketAddr,
    /// What the system said.
    pub source: io::Error,
}

/// A laboratory at its address.
pub struct LabServer {
    world: Arc<dyn World>,
    socket: Box<dyn DatagramSocket>,
    listener: Listener,
    /// Where it listens; with port 0 the system has chosen one.
    pub address: SocketAddr,
}

impl LabServer {
    /// Opens the address.
    pub fn bind(
        world: &Arc<dyn World>,
        address: SocketAddr,
        profile: LabProfile,
    ) -> Result<Self, ListenError> {
        let failed = |source| ListenError { address, source };
        let socket = world.listen(address).map_err(failed)?;
        let address = socket.address().map_err(failed)?;
        let listener = Listener::new(profile, Arc::clone(world));
        Ok(Self { world: Arc::clone(world), socket, listener, address })
    }

    /// Waits for a loop; `None` when the operator's stop is pressed. Of each reason why
    /// somebody was refused meanwhile the first is told.
    pub fn accept(
        &mut self,
        stop: &StopHandle,
        tell: &mut dyn FnMut(&Refused),
    ) -> Option<AcceptedSession> {
        let mut known = Vec::new();
        while stop.presses() == 0 {
            self.wait(u64::MAX);
            let accepted = self.accept_now(&mut |refused| {
                if !known.contains(&refused.reason) {
                    known.push(refused.reason);
                    tell(refused);
                }
            });
            if accepted.is_some() {
                return accepted;
            }
        }
        None
    }

    /// Takes what has come, without waiting.
    pub fn accept_now(&mut self, tell: &mut dyn FnMut(&Refused)) -> Option<AcceptedSession> {
        for _ in 0..MOST_READ {
            // A socket's error is that of a datagram sent before.
            let Ok(Some((bytes, from))) = self.socket.receive() else { break };
            let answer = match self.listener.handle(self.world.now_ns(), from, bytes) {
                Reception::Ignored => None,
                Reception::Answer(answer) => Some(answer),
                Reception::Refused(refused, answer) => {
                    tell(&refused);
                    answer
                }
                Reception::Accepted(accepted) => return Some(*accepted),
            };
            if let Some(Transmit { to, bytes }) = answer {
                // One that does not get there is asked for again.
                let _ = self.socket.send(to, bytes);
            }
        }
        None
    }

    /// Moves the laboratory for a loop, until the session is over and the rig is
    /// safe.
    pub fn serve(
        &mut self,
        accepted: AcceptedSession,
        laboratory: Laboratory,
        stop: &StopHandle,
    ) -> (Laboratory, SessionEnd) {
        let mut session = self.begin(accepted, laboratory, stop);
        while !session.is_over() {
            self.wait(session.next_timeout_ns());
            self.serve_now(&mut session);
        }
        session.finish()
    }

    /// Begins a session and answers the arm.
    pub fn begin(
        &mut self,
        accepted: AcceptedSession,
        laboratory: Laboratory,
        stop: &StopHandle,
    ) -> Session {
        let now_ns = self.world.now_ns();
        let mut session = Session::new(now_ns, accepted, laboratory, stop);
        let answer = session.open(now_ns);
        let sent = self.socket.send(answer.to, answer.bytes);
        session.note(sent);
        session
    }

    /// Does what a session has to do now, without waiting.
    pub fn serve_now(&mut self, session: &mut Session) {
        for _ in 0..MOST_READ {
            let Ok(Some((bytes, from))) = self.socket.receive() else { break };
            session.wait_for_room();
            let answer = session.handle(self.world.now_ns(), from, bytes);
            let sent = answer.map_or(Ok(()), |it| self.socket.send(it.to, it.bytes));
            session.note(sent);
        }
        session.wait_for_room();
        let answer = session.poll(self.world.now_ns());
        let sent = answer.map_or(Ok(()), |it| self.socket.send(it.to, it.bytes));
        session.note(sent);
    }

    fn wait(&mut self, until_ns: u64) {
        let look_ns = self.world.now_ns() + SLICE.as_nanos() as u64;
        self.socket.wait_until_ns(until_ns.min(look_ns));
    }
}
