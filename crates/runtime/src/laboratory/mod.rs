//! The laboratory at the other end of a wire: a rig with a gate and a way to
//! safe of its own.
//!
//! A [`Listener`] agrees with a loop, a [`Session`] moves the [`Laboratory`] for
//! it until the session is over and the rig is safe: state machines without I/O,
//! which a [`LabServer`] joins to a socket.
//! The loop leads; but what the laboratory's own limits forbid does not pass,
//! and when the loop falls silent the rig goes to safe by itself.

mod listener;
mod server;
mod session;

pub use listener::{AcceptedSession, LabProfile, Listener, Reception, Refused, Transmit};
pub use server::{LabServer, ListenError};
pub use session::{Session, SessionEnd};

use model::channel::Channel;
use model::motion::Motion;

use crate::frame::{Block, FramePlan};
use crate::gate::{Limits, Trip, TripKind, gate};
use crate::interlock::{Phase, SafePath, Stop};
use crate::record::FrameSink;
use crate::rig::RigSlot;
use crate::source::{Proposal, Scene, Source};
use crate::tick::{Frames, Loop, Observers};

/// What a laboratory is made of.
pub struct LaboratoryParts {
    /// What is moved and measured.
    pub rig: RigSlot,
    /// What its own gate lets through. A laboratory does not know the desired
    /// motion, so the tracking error is not its business.
    pub limits: Limits,
    /// Its own way to safe.
    pub safe_path: SafePath,
    /// Ticks between two frames.
    pub every: u64,
    /// From where the first command may lead.
    pub start: Start,
    /// Most ticks in a row without a command that are bridged when the next one
    /// comes; one more trips.
    pub bridge: u64,
}

/// Where a rig is before its first command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At zero, as a command of zero would hold it.
    Zero,
    /// Where its sensors say it stands; the loop fetches it from there.
    WhereItStands,
}

/// A rig with its own gate, interlock and record: the same loop as any test's,
/// whose source are the commands from the wire. Whoever drives it ticks; commands
/// only say what the next tick does.
///
/// A tick of it begins in the middle: the command is given, then the sensors are
/// read, so that the answer belongs to the next tick of the loop.
pub type Laboratory = Loop<WireSource>;

/// Commands from a wire, followed no faster than the laboratory's own limit of the
/// rate in time.
pub struct WireSource {
    limits: Limits,
    bridge: u64,
    /// The newest command of the loop that passed.
    received: Motion,
    /// The newest command that has come.
    asked: Motion,
    /// Whether no tick has looked at it yet.
    fresh: bool,
    /// The tick whose command should come next.
    next: u64,
    /// The tick after that of the last command that passed.
    after_passed: u64,
    /// Time since the tick before by the laboratory's own clock, a period at most, s.
    elapsed_s: f64,
    /// Ticks in a row without a command.
    missing: u64,
    /// Whether the rig is still on its way to a command that came after a gap or
    /// too soon.
    behind: bool,
    /// Where the loop said it stands.
    loop_phase: u8,
    /// The trip of the loop: its code, and the tick at which the loop first said so.
    loop_trip: Option<(u8, u64)>,
}

/// A sum of steps of a rate is not exact: how much a stride may exceed the limit.
const ROUNDING: f64 = 1e-9;

impl Source for WireSource {
    const ANSWERS: bool = true;

    fn measure(&mut self, scene: &mut Scene<'_>) -> Result<(), Stop> {
        Ok(scene.rig.measure(scene.held, scene.measured)?)
    }

    fn propose(&mut self, scene: &mut Scene<'_>, command: &mut Motion) -> Result<Proposal, Stop> {
        command.copy_from(scene.held);
        if !std::mem::take(&mut self.fresh) {
            self.missing += 1;
            command.velocity.fill(0.0);
            command.acceleration.fill(0.0);
            return Ok(Proposal::Command);
        }
        self.missing = 0;
        let step_s = self.limits.step_s;
        let gap = (self.next - 1).saturating_sub(self.after_passed);
        if gap > self.bridge {
            let (value, limit) = (gap as f64 * step_s, self.bridge as f64 * step_s);
            return Err(TripKind::PeerSilent.trip(value, limit).into());
        }
        // The motion of all ticks since the last command may come at once.
        self.limits.step_s = (gap + 1) as f64 * step_s;
        let asked = &self.asked;
        let passed = gate(&self.limits, &self.received, asked, scene.measured, asked);
        self.limits.step_s = step_s;
        passed?;
        self.received.copy_from(&self.asked);
        self.after_passed = self.next;
        let early = self.elapsed_s < (1.0 - ROUNDING) * step_s;
        self.behind |= gap > 0 || early;
        self.follow(if early { self.elapsed_s } else { step_s }, command);
        Ok(Proposal::Command)
    }

    fn desired(&self) -> &Motion {
        &self.received
    }

    /// Nobody has asked for a motion before the first command.
    fn stands_anywhere(&self) -> bool {
        true
    }

    fn is_over(&self, _tick: u64) -> bool {
        false
    }

    fn write(&self, frame: &mut Vec<f64>) {
        // −1 before the first command.
        let tick = self.next as f64 - 1.0;
        frame.extend_from_slice(&[tick, self.missing as f64, f64::from(self.loop_phase)]);
    }
}

impl WireSource {
    /// Moves the command to the received one: whole, or while behind as far as the
    /// limit of the rate lets it in this time. A jump would be a violent motion.
    fn follow(&mut self, elapsed_s: f64, command: &mut Motion) {
        let behind = std::mem::take(&mut self.behind);
        for dof in 0..command.count() {
            let rate = self.limits.rate[dof];
            let ahead = self.received.displacement[dof] - command.displacement[dof];
            let stride = rate * elapsed_s.max(0.0);
            if behind && ahead.abs() > stride {
                let x = command.displacement[dof] + stride.copysign(ahead);
                command.set(dof, [x, rate.copysign(ahead), 0.0]);
                self.behind = true;
            } else {
                command.set(dof, self.received.of(dof));
            }
        }
    }
}

impl Laboratory {
    /// At rest, its sensors read once. `sink` takes the frames, if any are wanted.
    pub fn new(parts: LaboratoryParts, sink: Option<FrameSink>) -> Self {
        let LaboratoryParts { rig, mut limits, safe_path, every, start, bridge } = parts;
        limits.tracking_error.fill(f64::INFINITY);
        let count = limits.command.len();
        let source = WireSource {
            limits: limits.clone(),
            bridge,
            received: Motion::rest(count),
            asked: Motion::rest(count),
            fresh: false,
            next: 0,
            after_passed: 0,
            elapsed_s: limits.step_s,
            missing: 0,
            behind: false,
            loop_phase: 0,
            loop_trip: None,
        };
        for rate in &mut limits.rate {
            *rate *= 1.0 + ROUNDING;
        }
        let frames = sink.map(|sink| Frames::new(sink, Block::LABORATORY, every));
        let observers = Observers { frames, ..Observers::default() };
        let mut new = Loop::arm(source, None, limits, safe_path, rig, observers);
        let health = new.measure();
        let measured = &new.measured.displacement;
        if start == Start::WhereItStands && measured.iter().all(|x| x.is_finite()) {
            new.held.displacement.copy_from_slice(measured);
            new.source.received.copy_from(&new.held);
        }
        if let Err(stop) = health {
            new.stop(stop);
        }
        new
    }

    /// The channels of a frame.
    pub fn channels(count: usize) -> Vec<Channel> {
        let source = [
            ("tick", "Tick of the newest command of the loop, −1 for none"),
            ("missing", "Ticks in a row without a command of the loop; the rig holds meanwhile"),
            (
                "phase",
                "Where the loop said it stands: 0 running, 1 tripped and leading the rig to safe",
            ),
        ];
        let channel = |(name, words)| Channel::new(format!("loop.{name}"), "", words);
        let source = source.map(channel).into();
        let plan = FramePlan { interface: count, source, ..FramePlan::default() };
        plan.channels(Block::LABORATORY)
    }

    /// Keeps the loop's limits too, where they are stricter than its own.
    pub(crate) fn restrict(&mut self, asked: &[Vec<f64>; 3]) {
        for (limits, allowance) in
            [(&mut self.source.limits, 1.0), (&mut self.limits, 1.0 + ROUNDING)]
        {
            let own = [&mut limits.command, &mut limits.rate, &mut limits.force];
            for ((own, asked), allowance) in own.into_iter().zip(asked).zip([1.0, allowance, 1.0]) {
                for (own, asked) in own.iter_mut().zip(asked) {
                    *own = own.min(asked * allowance);
                }
            }
        }
    }

    /// Takes a command of the loop: what the next tick does. An older one than the
    /// newest is none.
    pub fn take(&mut self, tick: u64, command: &Motion, loop_phase: u8) {
        let source = &mut self.source;
        if tick >= source.next {
            source.asked.copy_from(command);
            source.next = tick.saturating_add(1);
            (source.fresh, source.loop_phase) = (true, loop_phase);
        }
    }

    /// One tick, so long after the one before by the laboratory's own clock. The rig
    /// moves no faster than its limit in that time, however many commands came.
    /// Allocates nowhere.
    pub fn tick_after(&mut self, elapsed_s: f64) {
        self.source.elapsed_s = elapsed_s;
        self.tick();
    }

    /// Takes a command in virtual time, where it is a tick. Ticks whose command never
    /// came are made up for first, the rig standing still over them.
    pub fn obey(&mut self, tick: u64, command: &Motion, loop_phase: u8) {
        let gap = tick.saturating_sub(self.source.next);
        let step_s = self.step_s();
        if gap <= self.source.bridge && self.tripped().is_none() {
            (0..gap).for_each(|_| self.tick_after(step_s));
        }
        self.take(tick, command, loop_phase);
        self.tick_after(step_s);
    }

    /// Trips: the command is held where it is, then ramps to zero. A laboratory
    /// that has tripped already stays as it is; but a second stop of the loop's
    /// freezes a ramp.
    pub fn trip(&mut self, stop: Stop) {
        let again = stop.trip.kind == TripKind::PeerTripped && self.phase() == Phase::Ramping;
        if self.tripped().is_none() || again {
            self.stop(stop);
        }
    }

    /// Trips, and stays where it stands for good; a way to safe that has begun ends there.
    pub fn freeze(&mut self, trip: Trip) {
        if !matches!(self.phase(), Phase::Safe | Phase::Frozen) {
            self.stop(trip.into());
            self.interlock.freeze();
            // The rig must not go on with the last velocity.
            self.tick();
        }
    }

    /// The trip of the loop and the time at which it said so, if it did.
    pub fn loop_tripped(&self) -> Option<(Trip, f64)> {
        let (code, tick) = self.source.loop_trip?;
        let trip = TripKind::PeerTripped.trip(f64::from(code), 0.0);
        Some((trip, tick as f64 * self.step_s()))
    }

    /// Whether there is no further motion to be made on its own.
    pub fn is_safe(&self) -> bool {
        self.tripped().is_some() && self.is_over()
    }
}

#[cfg(test)]
mod tests;
