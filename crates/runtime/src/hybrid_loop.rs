//! The tick: the whole loop once.

pub mod course;
mod staged;

use model::compensator::Compensator;
use model::motion::Motion;

use crate::event::{Event, EventLog, What};
use crate::frame::MotionDetail;
use crate::gate::{Limits, Trip, TripKind, gate};
use crate::interlock::{Interlock, Phase, SafePath, Stop};
use crate::load::Load;
use crate::monitor::{EnergyMonitor, Observation, Sight, Watch};
use crate::plant::Plant;
use crate::record::FrameSink;
use crate::rig::{Measured, RigFault, Validity};
use crate::tap::Tap;
use crate::two_rate::MainLoop;

use staged::Staged;

/// Times that missing measurements are noted as events; the others are counted.
const MOST_GAPS_NOTED: u64 = 8;

/// What a loop is made of; built before arming.
pub struct LoopParts {
    /// Numerical substructure and rig.
    pub plant: Plant,
    /// Desired to command.
    pub compensator: Compensator,
    /// What may pass.
    pub limits: Limits,
    /// The way to safe.
    pub safe_path: SafePath,
    /// The energies.
    pub monitor: EnergyMonitor,
    /// The external load.
    pub load: Load,
    /// Period, s.
    pub step_s: f64,
    /// Ticks between two frames.
    pub every: u64,
    /// What a frame holds of the numerical motion.
    pub detail: MotionDetail,
}

/// The armed loop.
pub struct HybridLoop {
    parts: LoopParts,
    interlock: Interlock,
    measured: Measured,
    command: Motion,
    /// The command the rig has.
    held: Motion,
    tick: u64,
    frame: Vec<f64>,
    acceleration: Vec<f64>,
    sink: Option<FrameSink>,
    /// Indicators beyond the energies, if the file asks for any.
    watch: Option<Box<Watch>>,
    log: EventLog,
    /// Phase of the last frame: a change is recorded whatever the pace.
    recorded: Phase,
    /// What comes before and after the load, if the file asks for it.
    staged: Option<Box<Staged>>,
    /// The tick at which the load began.
    origin: u64,
    /// The way out to those who look on from afar.
    tap: Option<Box<Tap>>,
    /// Times that measurements began to be missing.
    gaps: u64,
}

impl Drop for HybridLoop {
    fn drop(&mut self) {
        self.parts.plant.disarm();
    }
}

impl HybridLoop {
    /// Arms the loop. `sink` takes the frames, if any are wanted.
    pub fn new(mut parts: LoopParts, sink: Option<FrameSink>) -> Self {
        parts.plant.rest(parts.load.at(0));
        let count = parts.plant.desired().count();
        let width = sink.as_ref().map_or(0, FrameSink::width);
        let dofs = parts.plant.displacement().len();
        Self {
            interlock: Interlock::new(parts.safe_path, parts.step_s),
            measured: Measured::with_auxiliary(count, parts.plant.rig_channels().len()),
            command: Motion::rest(count),
            held: Motion::rest(count),
            tick: 0,
            frame: Vec::with_capacity(width),
            acceleration: vec![0.0; dofs],
            sink,
            watch: None,
            log: EventLog::new(),
            recorded: Phase::Running,
            staged: None,
            origin: 0,
            tap: None,
            gaps: 0,
            parts,
        }
    }

    /// The same loop with a way out for its frames, beside the record.
    pub fn tapped(mut self, tap: Tap) -> Self {
        self.tap = Some(Box::new(tap));
        self
    }

    /// The way out to those who look on from afar.
    pub fn tap(&self) -> Option<&Tap> {
        self.tap.as_deref()
    }

    /// The same loop with further indicators. The frames get their channels
    /// behind the others.
    pub fn watched(mut self, watch: Watch) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// The whole loop once. Allocates, locks, formats and blocks nowhere.
    #[inline]
    pub fn tick(&mut self) {
        if self.interlock.phase() != Phase::Running {
            self.make_safe();
        } else if self.staged.is_none() {
            self.closed_loop();
        } else {
            self.along_course();
        }
        self.tick += 1;
        if let Some(tap) = &self.tap {
            let trip = self.interlock.trip().map_or(0, |(trip, _)| trip.kind.code());
            tap.tell(self.tick, self.phase(), trip);
        }
    }

    /// A tick of the test proper.
    #[inline(always)]
    fn closed_loop(&mut self) {
        match self.decide() {
            Ok(()) => {
                self.record();
                if let Err(trip) = self.act() {
                    // The way to the next instant failed: it trips there.
                    self.trip(trip.into(), self.tick + 1);
                }
            }
            Err(stop) => self.refuse(stop),
        }
    }

    /// The rig keeps the command it has; the frame shows what was seen.
    fn refuse(&mut self, stop: Stop) {
        self.command.copy_from(&self.held);
        self.trip(stop, self.tick);
        self.record();
        self.parts.plant.actuate(&self.held);
    }

    /// Measure, compensate, gate, observe.
    #[inline(always)]
    fn decide(&mut self) -> Result<(), Stop> {
        let LoopParts { plant, compensator, limits, monitor, load, .. } = &mut self.parts;
        let load = match &self.staged {
            Some(staged) => staged.load(load, self.tick - self.origin),
            None => load.at(self.tick as usize),
        };
        let health = plant.measure(load, &mut self.measured);
        plant.attend(self.tick, &mut self.log)?;
        health?;
        note_gap(&self.measured, self.tick, &mut self.gaps, &mut self.log);
        if let Some(before) = plant.rejoined() {
            compensator.rejoin(before);
        }
        let desired = plant.desired();
        compensator.step(desired, &self.measured.displacement, &mut self.command);
        gate(limits, &self.held, desired, &self.measured, &self.command)?;
        monitor.observe(&Observation {
            displacement: plant.displacement(),
            velocity: plant.velocity(),
            interface: &desired.displacement,
            load,
            force: &self.measured.force,
            elements: plant.element_energy(),
            work: plant.step_work(&self.measured.force),
        });
        if let Some(watch) = &mut self.watch {
            let sight = Sight {
                tick: self.tick,
                displacement: plant.displacement(),
                energies: monitor,
                desired,
                measured: &self.measured,
                held: &self.held,
                command: &self.command,
            };
            watch.observe(&sight, &mut self.log)?;
        }
        Ok(monitor.verdict()?)
    }

    /// Actuate, integrate.
    #[inline(always)]
    fn act(&mut self) -> Result<(), Trip> {
        let LoopParts { plant, load, .. } = &mut self.parts;
        plant.actuate(&self.command);
        // The next decision writes the whole command anew.
        std::mem::swap(&mut self.held, &mut self.command);
        let tick = (self.tick - self.origin) as usize;
        let (now, next) = match self.staged.as_ref().and_then(|staged| staged.stream()) {
            Some(stream) => (stream.now(), stream.next()),
            None => (load.at(tick), load.at(tick + 1)),
        };
        plant.advance(now, next, &self.measured).map_err(|failure| Trip {
            kind: TripKind::NotConverged,
            dof: 0,
            value: failure.correction_m,
            limit: failure.tolerance_m,
        })
    }

    fn trip(&mut self, stop: Stop, tick: u64) {
        self.interlock.latch(stop, tick);
        self.log.note(Event { tick, what: What::Trip(stop.response), cause: stop.trip });
        // Held means at rest: a rig must not go on with the last velocity.
        self.held.velocity.fill(0.0);
        self.held.acceleration.fill(0.0);
        // From here on the command is led from where the rig stands.
        self.command.copy_from(&self.held);
        self.parts.plant.release(&self.held, stop.trip.kind);
    }

    /// One tick of the way to safe: the rig alone, measured and recorded.
    fn make_safe(&mut self) {
        // What ails the rig now cannot stop it twice.
        let _ = self.parts.plant.measure_rig(&self.held, &mut self.measured);
        self.interlock.lead(&mut self.command);
        self.record();
        self.parts.plant.actuate(&self.command);
        self.held.copy_from(&self.command);
    }

    /// Fills the frame and hands it over, in the order of `FramePlan::channels`.
    #[inline]
    fn record(&mut self) {
        let phase = self.phase();
        let Some(sink) = &mut self.sink else { return };
        // A course begins its load at a tick of which there is a frame anyway.
        if !self.tick.is_multiple_of(self.parts.every) && phase == self.recorded {
            return;
        }
        self.recorded = phase;
        let LoopParts { plant, compensator, monitor, load, step_s, detail, .. } = &mut self.parts;
        let (load, desired) = match &self.staged {
            Some(staged) => {
                let load = staged.load(load, self.tick - self.origin);
                (load, staged.desired(plant.desired()))
            }
            None => (load.at(self.tick as usize), plant.desired()),
        };
        let frame = &mut self.frame;
        frame.clear();
        frame.push(self.tick as f64 * *step_s);
        frame.push(f64::from(phase as u8));
        frame.push(self.interlock.trip().map_or(0.0, |(trip, _)| f64::from(trip.kind.code())));
        frame.extend_from_slice(load);
        frame.extend_from_slice(&desired.displacement);
        frame.extend_from_slice(&self.command.displacement);
        frame.extend_from_slice(&self.measured.achieved);
        frame.extend_from_slice(&self.measured.displacement);
        frame.extend_from_slice(&self.measured.force);
        let energies = monitor.energies();
        frame.extend_from_slice(&[
            energies.feedback,
            energies.input,
            energies.dissipated,
            energies.kinetic,
            energies.strain,
            monitor.stability_warning(),
        ]);
        if *detail != MotionDetail::Interface {
            plant.show_displacement(*step_s, frame);
        }
        if *detail == MotionDetail::Full {
            plant.show_rates(load, &self.measured, *step_s, &mut self.acceleration, frame);
        }
        compensator.write_parameters(frame);
        if let Some(watch) = &self.watch {
            watch.write(frame);
        }
        plant.write(frame);
        frame.extend_from_slice(&self.measured.auxiliary);
        sink.push(frame);
        if let Some(tap) = &mut self.tap {
            tap.push(frame);
        }
    }

    /// Whether there is nothing left to do: the load is over, or the rig is
    /// safe, or a command that ran away cannot be ramped back.
    #[inline]
    pub fn is_over(&self) -> bool {
        match self.interlock.phase() {
            Phase::Holding | Phase::Ramping => self.interlock.is_out_of_reach(&self.held),
            Phase::Safe => true,
            _ => match &self.staged {
                None => self.tick >= self.parts.load.ticks() as u64,
                Some(staged) => staged.is_over(self.tick - self.origin, &self.parts.load),
            },
        }
    }

    pub(crate) fn parts(&self) -> &LoopParts {
        &self.parts
    }

    /// Whether more is asked of it than the energies: frames or indicators.
    pub(crate) fn is_watched(&self) -> bool {
        self.sink.is_some() || self.watch.is_some()
    }

    /// Ticks done.
    pub fn ticks(&self) -> u64 {
        self.tick
    }

    /// Time of the next tick, s.
    pub fn time_s(&self) -> f64 {
        self.tick as f64 * self.parts.step_s
    }

    /// Where the test stands.
    #[inline]
    pub fn phase(&self) -> Phase {
        match self.interlock.phase() {
            Phase::Running => self.stage().phase(),
            phase => phase,
        }
    }

    /// The trip and the time of its tick, if one occurred.
    pub fn tripped(&self) -> Option<(Trip, f64)> {
        self.interlock.trip().map(|(trip, tick)| (trip, tick as f64 * self.parts.step_s))
    }

    /// What happened so far: warnings, the trip, what the operator did.
    pub fn events(&self) -> &EventLog {
        &self.log
    }

    /// The indicators beyond the energies, if the loop has any.
    pub fn watch(&self) -> Option<&Watch> {
        self.watch.as_deref()
    }

    /// The interlock and the log, for the operator side.
    pub(crate) fn operated(&mut self) -> (&mut Interlock, &mut EventLog) {
        (&mut self.interlock, &mut self.log)
    }

    /// Stops the test between two ticks, for the operator side.
    pub(crate) fn stop(&mut self, stop: Stop) {
        self.trip(stop, self.tick);
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
        if self.interlock.trip().is_none() {
            self.stop(overrun(periods, limit).into());
        }
    }

    /// Takes the main loop of a two-rate test out of the tick, for a thread of
    /// its own; see [`TwoRatePlant::detach_main`](crate::two_rate::TwoRatePlant::detach_main).
    pub fn detach_main(&mut self) -> Option<MainLoop> {
        match &mut self.parts.plant {
            Plant::TwoRate(plant) => plant.detach_main(),
            _ => None,
        }
    }

    /// The monitor, for those who look on.
    pub fn monitor(&self) -> &EnergyMonitor {
        &self.parts.monitor
    }

    /// The compensator, for those who look on.
    pub fn compensator(&self) -> &Compensator {
        &self.parts.compensator
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

    /// Both sides of the interface.
    pub fn plant(&self) -> &Plant {
        &self.parts.plant
    }

    /// The recorder's ring, for the virtual clock to wait on.
    pub fn sink_mut(&mut self) -> Option<&mut FrameSink> {
        self.sink.as_mut()
    }
}

/// Notes that measurements began to be missing; the first few times.
#[inline(always)]
fn note_gap(measured: &Measured, tick: u64, gaps: &mut u64, log: &mut EventLog) {
    if let Validity::Bridged { ticks: 1, for_s, allowed_s } = measured.validity {
        *gaps += 1;
        if *gaps <= MOST_GAPS_NOTED {
            let cause = RigFault::silent(for_s, allowed_s).into();
            log.note(Event { tick, what: What::Warning, cause });
        }
    }
}

fn overrun(periods: u64, limit: u64) -> Trip {
    Trip { kind: TripKind::Overrun, dof: 0, value: periods as f64, limit: limit as f64 }
}
