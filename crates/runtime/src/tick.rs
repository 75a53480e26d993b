//! The tick: the whole loop once, for every kind of test.

use model::compensator::Compensator;
use model::motion::Motion;

use crate::event::{Event, EventLog, What};
use crate::frame::{Block, View};
use crate::gate::{FedForward, Limits, SafeGate, Trip, TripKind, gate};
use crate::interlock::{Interlock, Phase, Response, SafePath, Stop};
use crate::link::LinkCounts;
use crate::monitor::{EnergyMonitor, IndicatorSet, MonitorInput, MonitorPlan};
use crate::record::FrameSink;
use crate::rig::{Measured, RigFault, RigSlot, Validity};
use crate::source::{Proposal, Scene, Source};
use crate::tap::Tap;

/// Times that missing measurements are noted as events; the others are counted.
const MOST_GAPS_NOTED: u64 = 8;

/// An armed loop: a source that proposes, a rig that is moved and measured, and
/// what stands between them and looks on.
pub struct Loop<S: Source> {
    pub(crate) source: S,
    pub(crate) compensator: Option<Compensator>,
    pub(crate) limits: Limits,
    pub(crate) rig: RigSlot,
    /// The latch, and the way to safe that takes the source's place.
    pub(crate) interlock: Interlock,
    /// What the gate watches on that way.
    safe_gate: SafeGate,
    /// What the velocities and accelerations of the commands add up to.
    pub(crate) fed: FedForward,
    pub(crate) observers: Observers,
    pub(crate) measured: Measured,
    /// The command that is being made.
    pub(crate) command: Motion,
    /// The command the rig has.
    pub(crate) held: Motion,
    pub(crate) tick: u64,
    pub(crate) log: EventLog,
    /// Times that measurements began to be missing.
    gaps: u64,
}

/// Who looks on: all but the energies where a test asks for it.
#[derive(Default)]
pub struct Observers {
    /// The energies.
    pub monitor: Option<EnergyMonitor>,
    /// Indicators beyond them.
    pub indicators: Option<Box<IndicatorSet>>,
    /// The frames of a record.
    pub frames: Option<Frames>,
    /// The way out to those who look on from afar.
    pub tap: Option<Box<Tap>>,
}

/// Frames on their way to a record.
pub struct Frames {
    sink: FrameSink,
    blocks: Vec<Block>,
    /// Ticks between two of them.
    every: u64,
    /// Phase of the last one: a change is recorded whatever the pace.
    recorded: Phase,
}

impl Frames {
    /// Of these blocks, every so many ticks.
    pub fn new(sink: FrameSink, blocks: &[Block], every: u64) -> Self {
        Self { sink, blocks: blocks.to_vec(), every: every.max(1), recorded: Phase::Running }
    }
}

impl<S: Source> Drop for Loop<S> {
    fn drop(&mut self) {
        let left = self.phase();
        self.rig.disarm(left);
    }
}

impl<S: Source> Loop<S> {
    /// Arms a loop. `limits` tell the number of interface DOFs and the period.
    pub fn arm(
        source: S,
        compensator: Option<Compensator>,
        limits: Limits,
        safe_path: SafePath,
        rig: RigSlot,
        observers: Observers,
    ) -> Self {
        let count = limits.command.len();
        let auxiliary = vec![0.0; rig.channels().len()];
        // No way is faster than a command may be.
        let most_m_s = limits.rate.iter().copied().fold(safe_path.rate_m_s, f64::min);
        let safe_path = SafePath { rate_m_s: most_m_s, ..safe_path };
        Self {
            source,
            compensator,
            interlock: Interlock::new(safe_path, limits.step_s),
            safe_gate: SafeGate::new(&limits),
            fed: FedForward::new(count),
            limits,
            observers,
            measured: Measured { auxiliary, ..Measured::zeros(count) },
            rig,
            command: Motion::rest(count),
            held: Motion::rest(count),
            tick: 0,
            log: EventLog::default(),
            gaps: 0,
        }
    }

    /// The same loop with a way out for its frames, beside the record.
    pub fn tapped(mut self, tap: Tap) -> Self {
        self.observers.tap = Some(Box::new(tap));
        self
    }

    /// The same loop with further indicators. The frames get their channels
    /// behind the others.
    pub fn watched(mut self, plan: &MonitorPlan) -> Self {
        if let Some(energies) = &self.observers.monitor {
            let most_age = self.source.most_age();
            let indicators = IndicatorSet::new(plan, energies, &self.limits, most_age);
            self.observers.indicators = indicators.map(Box::new);
        }
        self
    }

    /// The whole loop once. Allocates, locks, formats and blocks nowhere.
    pub fn tick(&mut self) {
        if !S::ANSWERS {
            let health = self.measure();
            return self.act(health);
        }
        self.act(Ok(()));
        if let Err(stop) = self.measure() {
            self.stop_at(stop, self.tick);
        }
    }

    /// The first half of a tick: the sensors are read, and the source is told.
    #[inline(always)]
    pub(crate) fn measure(&mut self) -> Result<(), Stop> {
        if self.interlock.phase != Phase::Running {
            // What ails the rig now cannot stop it twice. But one that stands still by itself
            // is led no further, and nobody calls it safe.
            return match self.rig.measure(&self.held, &mut self.measured) {
                Err(fault) if fault.frozen && !self.is_over() => Err(fault.into()),
                _ => Ok(()),
            };
        }
        let Self { source, rig, held, measured, log, tick, .. } = self;
        source.measure(&mut Scene { tick: *tick, rig, held, measured, log })?;
        self.note_gap();
        Ok(())
    }

    /// The second half: propose, compensate, gate, observe, record, actuate, and
    /// on to the next instant.
    #[inline(always)]
    pub(crate) fn act(&mut self, health: Result<(), Stop>) {
        let leads = self.interlock.phase == Phase::Running;
        let passed = match health {
            Err(stop) => Err(stop),
            Ok(()) if leads => self.follow_source(),
            Ok(()) => self.follow_way_to_safe(),
        };
        if let Err(stop) = passed {
            self.stop_at(stop, self.tick);
        }
        self.record();
        if leads && self.interlock.phase == Phase::Running {
            self.source.actuate(&mut self.rig, &self.command);
            std::mem::swap(&mut self.held, &mut self.command);
            if let Err(trip) = self.source.advance(&self.measured) {
                // The way to the next instant failed: it trips there.
                self.stop_at(trip.into(), self.tick + 1);
            }
        } else if self.interlock.may_command {
            self.rig.actuate(&self.command);
            self.held.copy_from(&self.command);
        }
        self.tick = self.tick.saturating_add(1);
        if let Some(tap) = &self.observers.tap {
            let trip = self.interlock.trip.map_or(0, |(trip, _)| trip.kind.code());
            tap.tell(self.tick, self.phase(), trip);
        }
    }

    /// Propose, compensate, gate, observe.
    #[inline(always)]
    fn follow_source(&mut self) -> Result<(), Stop> {
        let Self { source, rig, held, measured, log, tick, command, .. } = self;
        let proposal =
            source.propose(&mut Scene { tick: *tick, rig, held, measured, log }, command)?;
        let desired = match (proposal, source.desired()) {
            (Proposal::Command, _) => &*command,
            (Proposal::Desired, desired) => {
                if let Some(compensator) = &mut self.compensator {
                    if let Some(before) = source.new_prediction() {
                        compensator.rejoin(before);
                    }
                    compensator.step(desired, &measured.displacement, command);
                } else {
                    command.copy_from(desired);
                }
                desired
            }
        };
        gate(&self.limits, held, desired, measured, command)?;
        self.fed.pass(&self.limits, command)?;
        let Observers { monitor: Some(monitor), indicators, .. } = &mut self.observers else {
            return Ok(());
        };
        let Some(observation) = source.observation(measured) else { return Ok(()) };
        monitor.observe(&observation);
        if let Some(indicators) = indicators {
            let seen = MonitorInput {
                tick: *tick,
                age: observation.age,
                energies: monitor,
                desired: source.desired(),
                measured,
                held,
                command,
            };
            indicators.observe(&seen, log)?;
        }
        Ok(monitor.verdict()?)
    }

    /// One tick of the way to safe; the gate goes on watching, and a limit that is
    /// met on the way freezes it.
    fn follow_way_to_safe(&mut self) -> Result<(), Stop> {
        self.command.copy_from(&self.held);
        let before = self.interlock.phase;
        self.interlock.lead(&mut self.command);
        if before != Phase::Ramping && self.interlock.phase == Phase::Ramping {
            self.safe_gate.begin_ramp(&self.limits, &self.measured);
        }
        if let Some(indicators) = &mut self.observers.indicators {
            indicators.observe_way_to_safe(&self.command, &self.held, &self.measured);
        }
        if matches!(before, Phase::Holding | Phase::Ramping) {
            self.safe_gate.pass(&self.limits, &self.measured)?;
        }
        Ok(())
    }

    /// Latches a stop, or freezes the way to safe of an earlier one. The rig keeps
    /// the command it has.
    #[cold]
    pub(crate) fn stop_at(&mut self, stop: Stop, tick: u64) {
        let first = self.interlock.trip.is_none();
        let Stop { trip, mut response } = stop;
        if first {
            if tick == 0 && self.source.stands_anywhere() {
                // Nothing was commanded yet, and zero is not where the rig stands. What it is
                // told to hold, in the record too, is where it was measured.
                response = Response::Abort;
                self.interlock.may_command = false;
                if self.measured.displacement.iter().all(|x| x.is_finite()) {
                    self.held.displacement.copy_from_slice(&self.measured.displacement);
                }
            }
            self.interlock.latch(Stop { trip, response }, tick);
            if self.interlock.is_out_of_reach(&self.held) {
                // It stays where it is, and nobody calls that safe.
                self.interlock.freeze();
            }
            self.safe_gate.begin(&self.limits, &self.measured);
            if response == Response::RampDown {
                self.safe_gate.begin_ramp(&self.limits, &self.measured);
            }
        } else {
            response = Response::Abort;
            self.interlock.freeze();
        }
        // A goodbye is how a session should end.
        if trip.kind != TripKind::PeerLeft {
            self.log.note(Event { tick, what: What::Trip(response), cause: trip });
        }
        // Held means at rest: a rig must not go on with the last velocity.
        self.held.velocity.fill(0.0);
        self.held.acceleration.fill(0.0);
        self.command.copy_from(&self.held);
        if first {
            self.source.release(&mut self.rig, &self.held, trip);
            self.rig.on_trip(trip.kind);
        }
    }

    /// Stops the test between two ticks. On the way to safe a second stop freezes it.
    pub(crate) fn stop(&mut self, stop: Stop) {
        if !matches!(self.interlock.phase, Phase::Safe | Phase::Frozen) {
            self.stop_at(stop, self.tick);
        }
    }

    /// The ramp to zero begins with the next tick, for the operator side.
    pub(crate) fn ramp_down(&mut self) {
        if !self.interlock.may_command {
            return;
        }
        self.interlock.ramp_down();
        self.safe_gate.begin_ramp(&self.limits, &self.measured);
    }

    /// Notes that measurements began to be missing; the first few times.
    #[inline(always)]
    fn note_gap(&mut self) {
        if let Validity::Bridged { ticks: 1, for_s, allowed_s } = self.measured.validity {
            self.gaps += 1;
            if self.gaps <= MOST_GAPS_NOTED {
                let cause = RigFault::silent(for_s, allowed_s).trip;
                self.log.note(Event { tick: self.tick, what: What::Warning, cause });
            }
        }
    }

    /// Fills the frame and hands it over.
    fn record(&mut self) {
        let phase = self.phase();
        let Observers { monitor, indicators, frames, tap } = &mut self.observers;
        let Some(frames) = frames else { return };
        if !self.tick.is_multiple_of(frames.every) && phase == frames.recorded {
            return;
        }
        frames.recorded = phase;
        let code = match self.interlock.trip {
            Some((trip, _)) if trip.kind != TripKind::PeerLeft => trip.kind.code(),
            _ => 0,
        };
        let time_s = self.tick as f64 * self.limits.step_s;
        let mut view = View {
            tick: self.tick,
            state: [time_s, f64::from(phase as u8), f64::from(code)],
            source: &mut self.source,
            command: &self.command,
            measured: &self.measured,
            monitor: monitor.as_ref(),
            compensator: self.compensator.as_ref(),
            indicators: indicators.as_deref(),
        };
        let stands = view.source.stands_still();
        let frame = if stands { frames.sink.begin_beside() } else { frames.sink.begin() };
        for block in &frames.blocks {
            block.write(&mut view, frame);
        }
        let frame = frames.sink.store();
        if let Some(tap) = tap {
            tap.push(frame);
        }
    }

    /// Records where the rig was left, if no frame says so yet.
    pub(crate) fn record_end(&mut self) {
        let phase = self.phase();
        if self.observers.frames.as_ref().is_some_and(|frames| frames.recorded != phase) {
            self.command.copy_from(&self.held);
            self.record();
        }
    }

    /// Whether there is nothing left to do: the source is done, or the rig is
    /// safe or frozen.
    pub fn is_over(&self) -> bool {
        match self.interlock.phase {
            Phase::Safe | Phase::Frozen => true,
            Phase::Holding | Phase::Ramping => false,
            _ => self.source.is_over(self.tick),
        }
    }

    /// For how many periods the next tick may be put off, if it would miss something that may
    /// still come.
    pub fn waits(&self) -> Option<u64> {
        let running = self.interlock.phase == Phase::Running;
        if running { self.source.waits(self.tick) } else { None }
    }

    /// Where the test stands.
    pub fn phase(&self) -> Phase {
        match self.interlock.phase {
            Phase::Running => self.source.phase(),
            phase => phase,
        }
    }

    /// The trip and the time of its tick, if one occurred.
    pub fn tripped(&self) -> Option<(Trip, f64)> {
        self.interlock.trip.map(|(trip, tick)| (trip, tick as f64 * self.limits.step_s))
    }

    /// Ticks done.
    pub fn ticks(&self) -> u64 {
        self.tick
    }

    /// Time of the next tick, s.
    pub fn time_s(&self) -> f64 {
        self.tick as f64 * self.limits.step_s
    }

    /// Period, s.
    pub fn step_s(&self) -> f64 {
        self.limits.step_s
    }

    /// Whether nobody but the energies looks on and it has not ticked: what may go in
    /// a batch. Every field is named here, so that whatever a loop may have one day is
    /// thought of.
    pub(crate) fn is_bare(&self) -> bool {
        let Self {
            source: _,
            compensator: _,
            limits: _,
            rig: _,
            interlock,
            safe_gate: _,
            fed: _,
            observers: Observers { monitor: _, indicators, frames, tap },
            measured: _,
            command: _,
            held: _,
            tick,
            log: _,
            gaps: _,
        } = self;
        let more = indicators.is_some() || frames.is_some() || tap.is_some();
        *tick == 0 && interlock.trip.is_none() && !more
    }

    /// What proposes.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The last command: what the rig holds.
    #[expect(clippy::misnamed_getters, reason = "`command` is the one being made")]
    pub fn command(&self) -> &Motion {
        &self.held
    }

    /// The last measurement.
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// The stability warning, %; 0 without energies.
    pub fn stability_warning(&self) -> f64 {
        self.observers.monitor.as_ref().map_or(0.0, |monitor| monitor.stability_warning)
    }

    /// What a rig behind a link has counted.
    pub fn link(&self) -> Option<&LinkCounts> {
        self.rig.link()
    }

    /// What happened so far: warnings, the trip, what the operator did.
    pub fn events(&self) -> &EventLog {
        &self.log
    }

    /// The indicators beyond the energies, if the loop has any.
    pub fn indicators(&self) -> Option<&IndicatorSet> {
        self.observers.indicators.as_deref()
    }

    /// The way out to those who look on from afar.
    pub fn tap(&self) -> Option<&Tap> {
        self.observers.tap.as_deref()
    }

    /// The recorder's ring, for the virtual clock to wait on.
    pub fn sink_mut(&mut self) -> Option<&mut FrameSink> {
        self.observers.frames.as_mut().map(|frames| &mut frames.sink)
    }

    /// Notes periods without a tick on time, for a clock that bridges them.
    pub(crate) fn note_overrun(&mut self, periods: u64, limit: u64) {
        let cause = overrun(periods, limit);
        self.log.note(Event { tick: self.tick, what: What::Warning, cause });
    }

    /// Stops the test before its next tick because too many deadlines were
    /// missed in a row: the rig holds, then ramps. For the clock in front of the
    /// tick, and for a replay of what it did. A test that has tripped already
    /// stays as it is.
    pub fn trip_overrun(&mut self, periods: u64, limit: u64) {
        if self.interlock.trip.is_none() {
            self.stop(overrun(periods, limit).into());
        }
    }

    /// Stops the test before its next tick because its load did not come for so many
    /// periods.
    pub fn trip_no_load(&mut self, periods: u64) {
        if self.interlock.trip.is_none() {
            self.stop(TripKind::NoLoad.trip(periods as f64, periods as f64).into());
        }
    }
}

fn overrun(periods: u64, limit: u64) -> Trip {
    TripKind::Overrun.trip(periods as f64, limit as f64)
}
