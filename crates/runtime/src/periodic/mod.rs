//! The loop of an iterative test: the feedback is cut.
//!
//! The rig follows a periodic target; the measured force drives the simulated
//! side in step; after settling, the Fourier coefficients of both sides tell how
//! far apart they are. Who corrects the target knows nothing of ticks.

mod aligned;
mod generator;
mod numerical;
#[cfg(test)]
mod same_bits;
mod settling;
mod stretch;
#[cfg(test)]
mod tests;
mod windows;

pub use numerical::Control;
pub use settling::Settling;

use model::equations::Equations;
use model::integrator::{IntegratorError, Method, NotConverged};
use model::motion::Motion;
use model::periodic::{Coefficients, Orbit};
use numerics::small::copy;

use crate::gate::{Limits, Trip, TripKind, gate};
use crate::interlock::{Interlock, Phase, SafePath};
use crate::rig::{Measured, Rig, RigSlot};
use aligned::Aligned;
use generator::Generator;
use numerical::{Numerical, Ticks};
use settling::History;
use stretch::Stretch;
use windows::Windows;

/// What is declared of a periodic test.
#[derive(Debug, Clone)]
pub struct PeriodicSettings {
    /// The simulated side: load patterns in its columns, interface.
    pub equations: Equations,
    /// Amplitude of each load pattern, in its unit; it acts as cos ωt.
    pub load: Vec<f64>,
    /// Algorithm of the simulated side.
    pub method: Method,
    /// Its control.
    pub control: Control,
    /// Mass at each interface DOF that stands in the laboratory but is
    /// simulated, kg: its inertia is taken out of the measured force.
    pub inertia_compensation_kg: Vec<f64>,
    /// How late displacement, force and acceleration are measured, s.
    pub sensor_delays_s: [f64; 3],
    /// What becomes of the target's mean.
    pub mean: Mean,
    /// How fast the target's amplitude may change, m/s; never faster than within
    /// half a period.
    pub ramp_m_s: f64,
    /// Harmonics of the target.
    pub harmonics: usize,
    /// Harmonics that are looked at; at least those of the target.
    pub seen_harmonics: usize,
    /// When a point has settled.
    pub settling: Settling,
    /// What the gate lets through, and the period.
    pub limits: Limits,
    /// The way to safe.
    pub safe_path: SafePath,
}

/// What becomes of the target's mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mean {
    /// It follows the rig's own mean, so that control adds no mean force: for
    /// actuators that push, while the specimen finds its place.
    Followed,
    /// It is that of the target: for actuators that hold a place.
    Commanded,
}

/// Why there is no settled point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PeriodicError {
    /// The loop tripped, and the rig goes to safe.
    Tripped(Trip),
    /// The thread of the loop has ended.
    Gone,
}

/// What a point has given, as plain numbers: mean and standard deviation of the
/// mean of every coefficient of displacement, simulated displacement, their
/// difference and force, all DOFs of one signal behind each other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settled {
    mean: Vec<f64>,
    scatter: Vec<f64>,
    estimates: usize,
    has_settled: bool,
    time_s: f64,
    /// By how much of a cycle all signals are late.
    late_cycles: f64,
    pub(crate) trip: Option<Trip>,
}

/// The loop with its rig.
pub struct PeriodicLoop {
    rig: RigSlot,
    settings: PeriodicSettings,
    numerical: Numerical,
    aligned: Aligned,
    generator: Generator,
    windows: Windows,
    stretch: Stretch,
    history: History,
    interlock: Interlock,
    measured: Measured,
    command: Motion,
    held: Motion,
    force: Vec<f64>,
    signals: Vec<f64>,
    estimate: Vec<Coefficients>,
    /// Acceleration from the harmonics of the displacement, for a rig that
    /// measures none.
    synthesised: Vec<f64>,
    tick: u64,
    ticks_of_point: u64,
    /// sin and cos of the angle by which all signals are late.
    late: (f64, f64),
    /// Ticks after which the point is taken as it is.
    most_ticks: u64,
    settled: bool,
}

impl PeriodicLoop {
    /// Arms the loop at rest.
    pub fn new(
        rig: impl Into<RigSlot>,
        mut settings: PeriodicSettings,
    ) -> Result<Self, IntegratorError> {
        // A pattern without an amplitude does not act.
        settings.load.resize(settings.equations.load.ncols(), 0.0);
        let (dofs, step_s) = (settings.limits.command.len(), settings.limits.step_s);
        let seen = settings.seen_harmonics.max(settings.harmonics);
        let numerical =
            Numerical::new(&settings.equations, settings.control, settings.method, step_s)?;
        let rig = rig.into();
        let measured = Measured::with_auxiliary(dofs, rig.channels().len());
        Ok(Self {
            rig,
            numerical,
            aligned: Aligned::new(settings.sensor_delays_s, dofs, step_s),
            generator: Generator::new(
                dofs,
                (settings.harmonics, seen),
                step_s,
                settings.mean,
                settings.ramp_m_s,
            ),
            windows: Windows::new(3 * dofs, seen),
            stretch: Stretch::new(dofs, seen),
            history: History::new(
                settings.settling,
                3 * dofs * (2 * seen + 1),
                4 * dofs * (2 * seen + 1),
            ),
            interlock: Interlock::new(settings.safe_path, step_s),
            measured,
            command: Motion::rest(dofs),
            held: Motion::rest(dofs),
            force: vec![0.0; dofs],
            signals: vec![0.0; 3 * dofs],
            estimate: vec![Coefficients::zeros(seen); 4 * dofs],
            synthesised: vec![0.0; dofs],
            tick: 0,
            ticks_of_point: 0,
            late: (0.0, 1.0),
            most_ticks: 0,
            settled: false,
            settings,
        })
    }

    /// A new target.
    pub fn set(&mut self, frequency_hz: f64, target: &[Coefficients]) {
        self.generator.set(frequency_hz, target);
        self.late = (std::f64::consts::TAU * self.late_cycles()).sin_cos();
        self.windows.restart();
        self.history.restart();
        self.ticks_of_point = 0;
        self.most_ticks = self.in_ticks(self.settings.settling.most_s);
        self.settled = false;
    }

    fn in_ticks(&self, time_s: f64) -> u64 {
        (time_s / self.settings.limits.step_s).ceil() as u64
    }

    /// Averages on at the same target, up to the estimates of a refined point.
    /// Whether that can help; if not, the point stays done.
    pub fn refine(&mut self) -> bool {
        if self.interlock.phase() != Phase::Running || !self.history.refine() {
            return false;
        }
        let longest = self.settings.settling.refined_estimates as f64 + 2.0;
        let more = self.in_ticks(longest / self.generator.frequency_hz());
        self.most_ticks = self.ticks_of_point.saturating_add(more);
        self.settled = false;
        true
    }

    /// Ticks until the point has settled, its time is over, or the loop trips.
    /// For virtual time: in real time the driver ticks.
    pub fn settle(
        &mut self,
        frequency_hz: f64,
        target: &[Coefficients],
    ) -> Result<Orbit, PeriodicError> {
        self.set(frequency_hz, target);
        while !self.is_done() {
            self.go_on();
        }
        self.result()
    }

    /// Whether the point is done, one way or the other.
    pub fn is_done(&self) -> bool {
        self.settled
            || self.interlock.phase() != Phase::Running
            || self.ticks_of_point >= self.most_ticks
    }

    fn time_of_point_s(&self) -> f64 {
        self.ticks_of_point as f64 * self.settings.limits.step_s
    }

    /// Time on the rig so far, s.
    pub fn time_s(&self) -> f64 {
        self.tick as f64 * self.settings.limits.step_s
    }

    /// What the point has given.
    pub fn result(&self) -> Result<Orbit, PeriodicError> {
        let mut settled = self.blank();
        self.write(&mut settled);
        let (dofs, harmonics) = self.shape();
        settled.orbit(dofs, harmonics)
    }

    /// Interface DOFs, and harmonics that are looked at.
    pub(crate) fn shape(&self) -> (usize, usize) {
        let seen = self.settings.seen_harmonics.max(self.settings.harmonics);
        (self.measured.displacement.len(), seen)
    }

    /// A target at rest.
    pub fn blank_target(&self) -> Vec<Coefficients> {
        vec![Coefficients::zeros(self.settings.harmonics); self.measured.displacement.len()]
    }

    /// Room for what a point gives.
    pub(crate) fn blank(&self) -> Settled {
        let width = self.estimate.iter().map(|c| c.0.len()).sum();
        Settled {
            mean: vec![f64::NAN; width],
            scatter: vec![f64::NAN; width],
            estimates: 0,
            has_settled: false,
            time_s: 0.0,
            late_cycles: 0.0,
            trip: None,
        }
    }

    fn late_cycles(&self) -> f64 {
        self.aligned.latency_s() * self.generator.frequency_hz()
    }

    /// Writes what the point has given. Allocates nothing.
    pub(crate) fn write(&self, out: &mut Settled) {
        out.estimates = self.history.average(&mut out.mean, &mut out.scatter);
        out.has_settled = self.history.has_settled();
        out.time_s = self.time_of_point_s();
        out.late_cycles = self.late_cycles();
        out.trip = self.interlock.trip().map(|(trip, _)| trip);
    }

    /// One tick. Allocates, locks, formats and blocks nowhere.
    pub fn tick(&mut self) {
        if self.interlock.phase() == Phase::Running {
            if let Err(trip) = self.follow() {
                self.latch(trip);
            }
        } else {
            // What ails the rig now cannot stop it twice.
            let _ = self.rig.measure(&self.held, &mut self.measured);
            self.interlock.lead(&mut self.command);
        }
        self.actuate();
        let wrapped = self.generator.advance();
        if wrapped && self.interlock.phase() == Phase::Running {
            self.period();
        }
        self.tick += 1;
        self.ticks_of_point += 1;
    }

    #[inline(always)]
    fn actuate(&mut self) {
        self.rig.actuate(&self.command);
        self.held.copy_from(&self.command);
    }

    fn latch(&mut self, trip: Trip) {
        self.interlock.latch(trip, self.tick);
        self.rig.on_trip(trip.kind);
        // Held means at rest: a rig must not go on with the last velocity.
        self.held.velocity.fill(0.0);
        self.held.acceleration.fill(0.0);
        self.command.copy_from(&self.held);
    }

    /// Stops a running test before its next tick: the rig holds, then ramps to
    /// zero. For the operator and for the clock in front of the tick.
    pub(crate) fn stop(&mut self, trip: Trip) {
        if self.interlock.trip().is_none() {
            self.latch(trip);
        }
    }

    /// The operator stops the test.
    pub fn stop_by_operator(&mut self) {
        self.stop(Trip { kind: TripKind::Operator, dof: 0, value: f64::NAN, limit: f64::NAN });
    }

    /// Whether the rig needs no further tick: it is safe after a trip, or its
    /// target is at rest.
    pub fn is_at_rest(&self) -> bool {
        match self.interlock.phase() {
            Phase::Running => self.generator.has_arrived() && self.generator.is_still(),
            Phase::Holding | Phase::Ramping => self.interlock.is_out_of_reach(&self.held),
            Phase::Safe | Phase::Initiating | Phase::Completing | Phase::Homing => true,
        }
    }

    /// Takes the target to rest, at the frequency it has.
    pub fn wind_down(&mut self) {
        self.generator.wind_down();
    }

    /// Winds down and ticks until the rig is at rest, or safe after a trip. For
    /// virtual time.
    pub fn come_to_rest(&mut self) {
        self.wind_down();
        while !self.is_at_rest() {
            self.tick();
        }
    }

    /// What a link to the rig has counted, if there is one.
    pub fn link(&self) -> Option<&crate::link::LinkCounts> {
        self.rig.link()
    }

    /// Nanoseconds from a command to its answer, where the rig tells.
    pub(crate) fn round_trip_ns(&self) -> Option<u64> {
        self.measured.round_trip_ns
    }

    /// Measures, moves the simulated side to the same instant, makes the command.
    fn follow(&mut self) -> Result<(), Trip> {
        self.rig.measure(&self.held, &mut self.measured)?;
        let dofs = self.measured.displacement.len();
        let acceleration = self.measured.acceleration();
        self.aligned.take(&self.measured.displacement, &self.measured.force, acceleration);
        let has_accelerometer = acceleration.is_some();
        if !has_accelerometer {
            self.synthesise();
        }
        let acceleration =
            if has_accelerometer { self.aligned.acceleration() } else { &self.synthesised };
        let masses = &self.settings.inertia_compensation_kg;
        compensate(masses, self.aligned.force(), acceleration, &mut self.force);
        // The signals are late together; the load waits for them.
        let wave = self.generator.wave(self.late);
        let displacement = self.aligned.displacement();
        let ticks = Ticks {
            amplitudes: &self.settings.load,
            waves: &[wave],
            forces: &self.force,
            measured: displacement,
        };
        let (of_rig, rest) = self.signals.split_at_mut(dofs);
        let (of_simulation, of_force) = rest.split_at_mut(dofs);
        self.numerical.run(&ticks, of_simulation).map_err(not_converged)?;
        copy(of_rig, displacement);
        copy(of_force, self.aligned.force());
        self.windows.add(self.generator.phase(), &self.signals);
        self.generator.target(&mut self.command);
        gate(&self.settings.limits, &self.held, &self.command, &self.measured, &self.command)
    }

    /// The acceleration of the last period's harmonics. The rig feels nothing of
    /// the simulated side, so it settles by itself, and this with it.
    fn synthesise(&mut self) {
        let omega = std::f64::consts::TAU * self.generator.frequency_hz();
        let (cosines, sines) = self.generator.phase().harmonics();
        for (out, displacement) in self.synthesised.iter_mut().zip(&self.estimate) {
            *out = 0.0;
            for (k, pair) in displacement.0[1..].chunks_exact(2).enumerate() {
                let rate = (k + 1) as f64 * omega;
                *out -= rate * rate * (pair[0] * cosines[k + 1] + pair[1] * sines[k + 1]);
            }
        }
    }

    /// A period has ended: an estimate, and the target's mean may follow the rig's.
    fn period(&mut self) {
        let complete = self.windows.wrap(&mut self.estimate);
        let dofs = self.measured.displacement.len();
        for dof in 0..dofs {
            // Force last; the difference needs no sums of its own, for they are linear.
            self.estimate.swap(2 * dofs + dof, 3 * dofs + dof);
            for k in 0..self.estimate[dof].0.len() {
                let apart = self.estimate[dof].0[k] - self.estimate[dofs + dof].0[k];
                self.estimate[2 * dofs + dof].0[k] = apart;
            }
        }
        if !complete || !self.generator.has_arrived() {
            return;
        }
        if self.settings.mean == Mean::Followed {
            for dof in 0..dofs {
                self.generator.set_mean(dof, self.estimate[dof].0[0]);
            }
        }
        self.settled = self.history.add(&self.estimate);
    }

    /// The trip and its time, if one occurred.
    pub fn tripped(&self) -> Option<(Trip, f64)> {
        let step_s = self.settings.limits.step_s;
        self.interlock.trip().map(|(trip, tick)| (trip, tick as f64 * step_s))
    }
}

fn not_converged(found: NotConverged) -> Trip {
    let (value, limit) = (found.correction_m, found.tolerance_m);
    Trip { kind: TripKind::NotConverged, dof: 0, value, limit }
}

/// The forces on the simulated side, of one tick or of many: what is measured,
/// without the inertia of the mass that is simulated.
#[inline(always)]
fn compensate(masses: &[f64], measured: &[f64], acceleration: &[f64], out: &mut [f64]) {
    let signals = measured.iter().zip(acceleration).zip(masses.iter().cycle());
    for (out, ((measured, acceleration), mass)) in out.iter_mut().zip(signals) {
        let inertia = if *mass == 0.0 { 0.0 } else { mass * acceleration };
        *out = inertia - measured;
    }
}

impl Settled {
    /// The numbers as an orbit of so many DOFs and harmonics.
    pub(crate) fn orbit(&self, dofs: usize, harmonics: usize) -> Result<Orbit, PeriodicError> {
        if let Some(trip) = self.trip {
            return Err(PeriodicError::Tripped(trip));
        }
        let width = 2 * harmonics + 1;
        let part = |values: &[f64], signal: usize| -> Vec<Coefficients> {
            let of = |dof| Coefficients(values[(signal * dofs + dof) * width..][..width].to_vec());
            (0..dofs).map(of).collect()
        };
        let turned = |signal: usize| -> Vec<Coefficients> {
            part(&self.mean, signal).iter().map(|c| c.advanced(self.late_cycles)).collect()
        };
        Ok(Orbit {
            measured: turned(0),
            measured_scatter: part(&self.scatter, 0),
            simulated: turned(1),
            difference_scatter: part(&self.scatter, 2),
            force: turned(3),
            time_s: self.time_s,
            estimates: self.estimates,
            settled: self.has_settled,
        })
    }
}
