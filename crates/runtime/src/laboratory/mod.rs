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

pub use listener::{AcceptedSession, LabProfile, Listener, Reception, Transmit};
pub use server::{LabServer, ListenError};
pub use session::{Session, SessionEnd};

use model::channel::Channel;
use model::motion::Motion;

use crate::event::{Event, EventLog, What};
use crate::gate::{Limits, Trip, TripKind, gate};
use crate::interlock::{Interlock, Phase, SafePath, Stop};
use crate::record::FrameSink;
use crate::rig::{Measured, Rig, RigFault, RigSlot};

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

/// A rig with its own gate, interlock and record, moved tick by tick.
pub struct Laboratory {
    parts: LaboratoryParts,
    interlock: Interlock,
    measured: Measured,
    /// The newest command of the loop.
    received: Motion,
    /// The command the rig has.
    held: Motion,
    /// Next tick.
    tick: u64,
    step_s: f64,
    /// Ticks in a row without a command.
    missing: u64,
    /// Whether the rig is still on its way to a command that came after a gap.
    behind: bool,
    /// Where the loop said it stands.
    loop_phase: u8,
    /// The trip of the loop: its code, and the tick at which the loop said so.
    loop_trip: Option<(u8, u64)>,
    frame: Vec<f64>,
    sink: Option<FrameSink>,
    log: EventLog,
    /// Phase of the last frame: a change is recorded whatever the pace.
    recorded: Phase,
}

impl Laboratory {
    /// At rest, its sensors read once. `sink` takes the frames, if any are wanted.
    pub fn new(mut parts: LaboratoryParts, sink: Option<FrameSink>) -> Self {
        let (count, step_s) = (parts.limits.command.len(), parts.limits.step_s);
        let mut measured = Measured::with_auxiliary(count, parts.rig.channels().len());
        let health = parts.rig.measure(&Motion::rest(count), &mut measured);
        parts.limits.tracking_error.fill(f64::INFINITY);
        let mut held = Motion::rest(count);
        if parts.start == Start::WhereItStands
            && measured.displacement.iter().all(|x| x.is_finite())
        {
            held.displacement.copy_from_slice(&measured.displacement);
        }
        let mut laboratory = Self {
            interlock: Interlock::new(parts.safe_path, step_s),
            measured,
            received: held.clone(),
            held,
            tick: 0,
            step_s,
            missing: 0,
            behind: false,
            loop_phase: 0,
            loop_trip: None,
            frame: Vec::with_capacity(sink.as_ref().map_or(0, FrameSink::width)),
            sink,
            log: EventLog::new(),
            recorded: Phase::Running,
            parts,
        };
        laboratory.heed(health);
        laboratory
    }

    /// Trips where the rig says that it cannot go on.
    fn heed(&mut self, health: Result<(), RigFault>) {
        if let Err(fault) = health {
            self.trip(fault.into());
        }
    }

    /// The channels of a frame.
    pub fn channels(count: usize) -> Vec<Channel> {
        let mut channels = vec![
            Channel::new("time", "s", "Time since the loop was closed, in ticks of the loop"),
            Channel::new(
                "phase",
                "",
                "0 running, 1 holding after a trip, 2 ramping to safe, 3 safe",
            ),
            Channel::new(
                "trip",
                "",
                "Code of the laboratory's own trip, 0 for none or when the loop has left",
            ),
        ];
        for (name, unit, words) in [
            ("command", "m", "Displacement the rig was given"),
            ("achieved", "m", "True displacement of the specimen, known to virtual rigs only"),
            ("measured", "m", "Displacement the sensor reports"),
            ("force", "N", "Restoring force the load cell reports"),
        ] {
            channels.extend((1..=count).map(|i| Channel::new(format!("{name}.{i}"), unit, words)));
        }
        channels.push(Channel::new(
            "loop.missing",
            "",
            "Ticks in a row without a command of the loop; the rig holds meanwhile",
        ));
        channels.push(Channel::new(
            "loop.phase",
            "",
            "Where the loop said it stands: 0 running, 1 tripped and leading the rig to safe",
        ));
        channels
    }

    /// Takes the command of `tick`. Ticks whose command never came are made up
    /// for first, the rig standing still over them. Allocates nowhere.
    pub fn obey(&mut self, tick: u64, command: &Motion, loop_phase: u8) {
        let gap = tick.saturating_sub(self.tick);
        if gap > self.parts.bridge {
            let (value, limit) = (gap as f64 * self.step_s, self.parts.bridge as f64 * self.step_s);
            self.trip(Trip { kind: TripKind::PeerSilent, dof: 0, value, limit }.into());
            // Time has gone on, whatever became of the commands.
            self.tick = tick;
            self.go();
            return;
        }
        for _ in 0..gap {
            self.stand_still();
        }
        self.missing = 0;
        self.loop_phase = loop_phase;
        // The motion of all ticks since the last command may come at once.
        self.parts.limits.step_s = (gap + 1) as f64 * self.step_s;
        let passed = gate(&self.parts.limits, &self.received, command, &self.measured, command);
        if let Err(trip) = passed {
            self.trip(trip.into());
            self.go();
            return;
        }
        self.received.copy_from(command);
        self.behind |= gap > 0;
        self.follow();
        self.go();
    }

    /// Gives the rig the received command: whole, or after a gap as far as the
    /// limit of the rate lets it in one tick. A jump would be a violent motion.
    fn follow(&mut self) {
        let behind = std::mem::take(&mut self.behind);
        for dof in 0..self.held.count() {
            let rate = self.parts.limits.rate[dof];
            let ahead = self.received.displacement[dof] - self.held.displacement[dof];
            let stride = rate * self.step_s;
            if behind && ahead.abs() > stride {
                let x = self.held.displacement[dof] + stride.copysign(ahead);
                self.held.set(dof, [x, rate.copysign(ahead), 0.0]);
                self.behind = true;
            } else {
                self.held.set(dof, self.received.of(dof));
            }
        }
    }

    /// A tick without a command.
    fn stand_still(&mut self) {
        self.missing += 1;
        self.rest();
        self.go();
    }

    /// One tick along the laboratory's own way to safe, without the loop.
    pub fn lead(&mut self) {
        self.interlock.lead(&mut self.held);
        self.go();
    }

    /// Trips: the command is held where it is, then ramps to zero. A laboratory
    /// that has tripped already stays as it is.
    pub fn trip(&mut self, stop: Stop) {
        if self.interlock.trip().is_none() {
            self.interlock.latch(stop, self.tick);
            let cause = stop.trip;
            // A goodbye is how a session should end.
            if cause.kind != TripKind::PeerLeft {
                self.log.note(Event { tick: self.tick, what: What::Trip(stop.response), cause });
            }
            self.parts.rig.on_trip(cause.kind);
            self.rest();
        }
    }

    /// Held means at rest: a rig must not go on with the last velocity.
    fn rest(&mut self) {
        self.held.velocity.fill(0.0);
        self.held.acceleration.fill(0.0);
    }

    /// Record, move, measure.
    fn go(&mut self) {
        self.record();
        self.parts.rig.actuate(&self.held);
        self.tick = self.tick.saturating_add(1);
        let health = self.parts.rig.measure(&self.held, &mut self.measured);
        self.heed(health);
    }

    /// Records where the rig was left, if no frame says so yet.
    pub(crate) fn finish(&mut self) {
        if self.recorded != self.phase() {
            self.record();
        }
    }

    fn record(&mut self) {
        let Some(sink) = &mut self.sink else { return };
        let phase = self.interlock.phase();
        if !self.tick.is_multiple_of(self.parts.every) && phase == self.recorded {
            return;
        }
        self.recorded = phase;
        let frame = &mut self.frame;
        frame.clear();
        frame.push(self.tick as f64 * self.step_s);
        frame.push(f64::from(phase as u8));
        let trip = self.interlock.trip().filter(|(trip, _)| trip.kind != TripKind::PeerLeft);
        frame.push(trip.map_or(0.0, |(trip, _)| f64::from(trip.kind.code())));
        frame.extend_from_slice(&self.held.displacement);
        frame.extend_from_slice(&self.measured.achieved);
        frame.extend_from_slice(&self.measured.displacement);
        frame.extend_from_slice(&self.measured.force);
        frame.push(self.missing as f64);
        frame.push(f64::from(self.loop_phase));
        sink.push(frame);
    }

    /// Next tick.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Where it stands.
    pub fn phase(&self) -> Phase {
        self.interlock.phase()
    }

    /// Its own trip and the time of its tick, if one occurred.
    pub fn tripped(&self) -> Option<(Trip, f64)> {
        self.interlock.trip().map(|(trip, tick)| (trip, tick as f64 * self.step_s))
    }

    /// Takes down that the loop says it has tripped, and why. What it said first
    /// stays.
    pub fn note_loop_trip(&mut self, code: u8) {
        self.loop_trip.get_or_insert((code, self.tick));
    }

    /// The trip of the loop and the time at which it said so, if it did.
    pub fn loop_tripped(&self) -> Option<(Trip, f64)> {
        let (code, tick) = self.loop_trip?;
        let trip = Trip { kind: TripKind::PeerTripped, dof: 0, value: f64::from(code), limit: 0.0 };
        Some((trip, tick as f64 * self.step_s))
    }

    /// Whether there is no further motion to be made on its own.
    pub fn is_safe(&self) -> bool {
        self.phase() == Phase::Safe || self.interlock.is_out_of_reach(&self.held)
    }

    /// What its sensors said last.
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// The command the rig has.
    pub fn command(&self) -> &Motion {
        &self.held
    }

    /// What happened.
    pub fn events(&self) -> &EventLog {
        &self.log
    }

    /// The recorder's ring, for a session in virtual time to wait on.
    pub fn sink_mut(&mut self) -> Option<&mut FrameSink> {
        self.sink.as_mut()
    }

    /// Period of the tick, s.
    pub fn step_s(&self) -> f64 {
        self.step_s
    }
}

#[cfg(test)]
mod tests;
