//! The loop of an iterative test: the feedback is cut.
//!
//! The rig follows a periodic target; the measured force drives the simulated
//! side in step; after settling, the Fourier coefficients of both sides tell how
//! far apart they are. Who corrects the target knows nothing of ticks.

mod aligned;
mod generator;
mod numerical;
mod settling;
#[cfg(test)]
mod tests;
mod windows;

pub use numerical::Control;
pub use settling::Settling;

use model::equations::Equations;
use model::integrator::{IntegratorError, Method};
use model::motion::Motion;
use model::periodic::{Coefficients, Orbit};

use crate::gate::{Limits, Trip, TripKind, gate};
use crate::interlock::{Interlock, Phase, SafePath};
use crate::rig::{Measured, Rig};
use aligned::Aligned;
use generator::Generator;
use numerical::Numerical;
use settling::History;
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

/// Why there is no settled point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PeriodicError {
    /// The loop tripped, and the rig goes to safe.
    Tripped(Trip),
    /// The rig does not measure the acceleration that inertia compensation needs.
    NoAcceleration,
}

/// The loop with its rig.
pub struct PeriodicLoop {
    rig: Box<dyn Rig>,
    settings: PeriodicSettings,
    numerical: Numerical,
    aligned: Aligned,
    generator: Generator,
    windows: Windows,
    history: History,
    interlock: Interlock,
    measured: Measured,
    command: Motion,
    held: Motion,
    load: Vec<f64>,
    force: Vec<f64>,
    signals: Vec<f64>,
    estimate: Vec<Coefficients>,
    tick: u64,
    ticks_of_point: u64,
    settled: bool,
}

impl PeriodicLoop {
    /// Arms the loop at rest.
    pub fn new(rig: Box<dyn Rig>, settings: PeriodicSettings) -> Result<Self, IntegratorError> {
        let (dofs, step_s) = (settings.limits.command.len(), settings.limits.step_s);
        let seen = settings.seen_harmonics.max(settings.harmonics);
        let numerical =
            Numerical::new(&settings.equations, settings.control, settings.method, step_s)?;
        Ok(Self {
            rig,
            numerical,
            aligned: Aligned::new(settings.sensor_delays_s, dofs, step_s),
            generator: Generator::new(dofs, settings.harmonics, seen, step_s),
            windows: Windows::new(4 * dofs, seen),
            history: History::new(settings.settling, 3 * dofs * (2 * seen + 1)),
            interlock: Interlock::new(settings.safe_path, step_s),
            measured: Measured::zeros(dofs),
            command: Motion::rest(dofs),
            held: Motion::rest(dofs),
            load: vec![0.0; settings.load.len()],
            force: vec![0.0; dofs],
            signals: vec![0.0; 4 * dofs],
            estimate: vec![Coefficients::zeros(seen); 4 * dofs],
            tick: 0,
            ticks_of_point: 0,
            settled: false,
            settings,
        })
    }

    /// Whether inertia compensation has the acceleration it needs.
    pub fn check(&mut self) -> Result<(), PeriodicError> {
        let needed = self.settings.inertia_compensation_kg.iter().any(|&m| m != 0.0);
        if needed && self.rig.acceleration().is_none() {
            return Err(PeriodicError::NoAcceleration);
        }
        Ok(())
    }

    /// A new target; the means are kept where the rig's own are.
    pub fn set(&mut self, frequency_hz: f64, target: &[Coefficients]) {
        self.generator.set(frequency_hz, target);
        self.windows.restart();
        self.history.restart();
        self.ticks_of_point = 0;
        self.settled = false;
    }

    /// Ticks until the point has settled, its time is over, or the loop trips.
    /// For virtual time: in real time the driver ticks.
    pub fn settle(
        &mut self,
        frequency_hz: f64,
        target: &[Coefficients],
    ) -> Result<Orbit, PeriodicError> {
        self.check()?;
        self.set(frequency_hz, target);
        while !self.is_done() {
            self.tick();
        }
        self.result()
    }

    /// Whether the point is done, one way or the other.
    pub fn is_done(&self) -> bool {
        self.settled
            || self.interlock.phase() != Phase::Running
            || self.time_of_point_s() >= self.settings.settling.most_s
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
        if let Some((trip, _)) = self.interlock.trip() {
            return Err(PeriodicError::Tripped(trip));
        }
        let average = self.history.average();
        let width = 2 * self.settings.seen_harmonics.max(self.settings.harmonics) + 1;
        let dofs = self.measured.displacement.len();
        let late = self.aligned.latency_s() * self.generator.frequency_hz();
        let part = |values: &[f64], signal: usize| -> Vec<Coefficients> {
            (0..dofs)
                .map(|dof| {
                    let at = (signal * dofs + dof) * width;
                    let end = (at + width).min(values.len());
                    Coefficients(values.get(at..end).map_or(vec![f64::NAN; width], <[f64]>::to_vec))
                })
                .collect()
        };
        let turned = |signal: usize| -> Vec<Coefficients> {
            part(&average.mean, signal).iter().map(|c| c.advanced(late)).collect()
        };
        Ok(Orbit {
            measured: turned(0),
            measured_scatter: part(&average.scatter, 0),
            simulated: turned(1),
            difference_scatter: part(&average.scatter, 2),
            force: turned(3),
            time_s: self.time_of_point_s(),
            estimates: average.estimates,
            settled: self.history.has_settled(),
        })
    }

    /// One tick. Allocates nothing but when a period ends, for its estimate.
    pub fn tick(&mut self) {
        if self.interlock.phase() == Phase::Running {
            if let Err(trip) = self.follow() {
                self.interlock.latch(trip, self.tick);
                self.held.velocity.fill(0.0);
                self.held.acceleration.fill(0.0);
                self.command.copy_from(&self.held);
            }
        } else {
            self.rig.measure(&self.held, &mut self.measured);
            self.interlock.lead(&mut self.command);
        }
        self.rig.actuate(&self.command);
        self.held.copy_from(&self.command);
        let wrapped = self.generator.advance();
        if wrapped && self.interlock.phase() == Phase::Running {
            self.period();
        }
        self.tick += 1;
        self.ticks_of_point += 1;
    }

    /// Measures, moves the simulated side to the same instant, makes the command.
    fn follow(&mut self) -> Result<(), Trip> {
        self.rig.measure(&self.held, &mut self.measured);
        let dofs = self.measured.displacement.len();
        let acceleration = self.rig.acceleration();
        self.aligned.take(&self.measured.displacement, &self.measured.force, acceleration);
        for (i, force) in self.force.iter_mut().enumerate() {
            let compensated = self.settings.inertia_compensation_kg[i];
            let inertia =
                if compensated == 0.0 { 0.0 } else { compensated * self.aligned.acceleration()[i] };
            *force = inertia - self.aligned.force()[i];
        }
        // The signals are late together; the load waits for them.
        let late = self.aligned.latency_s() * self.generator.frequency_hz();
        let (cos, sin) = self.generator.phase().harmonics[0];
        let (shift_sin, shift_cos) = (std::f64::consts::TAU * late).sin_cos();
        let wave = cos * shift_cos + sin * shift_sin;
        for (load, amplitude) in self.load.iter_mut().zip(&self.settings.load) {
            *load = amplitude * wave;
        }
        let displacement = self.aligned.displacement();
        self.numerical.step(&self.load, &self.force, displacement).map_err(|e| Trip {
            kind: TripKind::NotConverged,
            dof: 0,
            value: e.correction_m,
            limit: e.tolerance_m,
        })?;
        let simulated = self.numerical.displacement();
        for i in 0..dofs {
            self.signals[i] = displacement[i];
            self.signals[dofs + i] = simulated[i];
            self.signals[2 * dofs + i] = displacement[i] - simulated[i];
            self.signals[3 * dofs + i] = self.aligned.force()[i];
        }
        self.windows.add(self.generator.phase(), &self.signals);
        self.generator.target(&mut self.command);
        gate(&self.settings.limits, &self.held, &self.command, &self.measured, &self.command)
    }

    /// A period has ended: an estimate, and the target's mean to where the rig's
    /// mean is, so that control adds no mean force.
    fn period(&mut self) {
        if !self.windows.wrap(&mut self.estimate) || !self.generator.has_arrived() {
            return;
        }
        let dofs = self.measured.displacement.len();
        for dof in 0..dofs {
            self.generator.set_mean(dof, self.estimate[dof].0[0]);
        }
        self.settled = self.history.add(&self.estimate);
    }

    /// The trip and its time, if one occurred.
    pub fn tripped(&self) -> Option<(Trip, f64)> {
        let step_s = self.settings.limits.step_s;
        self.interlock.trip().map(|(trip, tick)| (trip, tick as f64 * step_s))
    }
}
