//! The loop of an iterative test: the feedback is cut.
//!
//! The rig follows a periodic target; the measured force drives the simulated
//! side in step; after settling, the Fourier coefficients of both sides tell how
//! far apart they are. Who corrects the target knows nothing of ticks.

mod aligned;
mod desk;
mod following;
mod generator;
mod numerical;
mod settling;
mod stretch;
#[cfg(test)]
mod tests;
mod windows;

pub use numerical::Control;
pub use settling::Settling;

use model::channel::Channel;
use model::equations::Equations;
use model::integrator::{IntegratorError, Method};
use model::motion::Motion;
use model::periodic::{Coefficients, Orbit};

use crate::frame::Block;
use crate::gate::{Limits, Trip};
use crate::interlock::{SafePath, Stop};
use crate::open_loop::OpenLoop;
use crate::operator::obey;
use crate::record::FrameSink;
use crate::rig::{Measured, RigSlot};
use crate::source::{Proposal, Scene, Source, not_converged};
use crate::tick::{Frames, Loop, Observers};
use aligned::Aligned;
pub(crate) use desk::{Desk, Errand, Wanted, desk};
use following::Following;
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

/// The loop with its rig.
pub type PeriodicLoop = Loop<PeriodicSource>;

/// The periodic target, and the simulated side that follows what is measured.
pub struct PeriodicSource {
    settings: PeriodicSettings,
    numerical: Numerical,
    aligned: Aligned,
    generator: Generator,
    windows: Windows,
    stretch: Stretch,
    history: History,
    /// How the target's means follow the rig's, one per DOF.
    following: Vec<Following>,
    /// Whether a period ends with the stretch.
    period_ends: bool,
    /// The target of this tick.
    desired: Motion,
    estimate: Vec<Coefficients>,
    ticks_of_point: u64,
    /// sin and cos of the angle by which all signals are late.
    late: (f64, f64),
    /// Ticks after which the point is taken as it is.
    most_ticks: u64,
    settled: bool,
    /// Whether the target goes to rest for good.
    resting: bool,
    /// Where points are asked for in real time.
    pub(crate) desk: Option<Desk>,
}

impl PeriodicLoop {
    /// Arms the loop at rest.
    pub fn new(
        rig: impl Into<RigSlot>,
        settings: PeriodicSettings,
    ) -> Result<Self, IntegratorError> {
        let (limits, safe_path) = (settings.limits.clone(), settings.safe_path);
        let source = PeriodicSource::new(settings)?;
        Ok(Self::arm(source, None, limits, safe_path, rig.into(), Observers::default()))
    }

    /// The channels of its frames.
    pub fn channels(&self) -> Vec<Channel> {
        OpenLoop::channels(self.source.desired.count(), &self.rig)
    }

    /// The same loop with a frame of every so many ticks.
    pub fn recorded(mut self, sink: FrameSink, every: u64) -> Self {
        self.observers.frames = Some(Frames::new(sink, Block::DRIVEN, every));
        self
    }

    /// A new target.
    pub fn set(&mut self, frequency_hz: f64, target: &[Coefficients]) {
        self.source.set(frequency_hz, target);
    }

    /// Averages on at the same target, up to the estimates of a refined point.
    /// Whether that can help; if not, the point stays done.
    pub fn refine(&mut self) -> bool {
        self.tripped().is_none() && self.source.refine()
    }

    /// Ticks until the point has settled, its time is over, or the loop trips.
    /// For virtual time: in real time the driver ticks.
    pub fn settle(
        &mut self,
        frequency_hz: f64,
        target: &[Coefficients],
    ) -> Result<Orbit, PeriodicError> {
        self.set(frequency_hz, target);
        self.go_on_until_done(|| 0);
        self.result()
    }

    /// Goes on in virtual time until the point is done or the operator's stop, of
    /// which `presses` tells, has tripped the loop.
    pub fn go_on_until_done(&mut self, presses: impl Fn() -> u32) {
        let mut seen = 0;
        while !self.is_done() {
            seen = obey(presses(), self, seen);
            self.go_on();
        }
    }

    /// Whether the point is done, one way or the other.
    pub fn is_done(&self) -> bool {
        self.tripped().is_some() || self.source.is_done()
    }

    /// What the point has given.
    pub fn result(&self) -> Result<Orbit, PeriodicError> {
        if let Some((trip, _)) = self.tripped() {
            return Err(PeriodicError::Tripped(trip));
        }
        let mut orbit = self.source.blank();
        self.source.report(&mut orbit);
        Ok(orbit)
    }

    /// Whether the rig needs no further tick: it is safe after a trip, or its
    /// target is at rest.
    pub fn is_at_rest(&self) -> bool {
        if self.tripped().is_some() { self.is_over() } else { self.source.is_at_rest() }
    }

    /// Takes the target to rest, at the frequency it has.
    pub fn wind_down(&mut self) {
        self.source.generator.wind_down();
    }

    /// Winds down and ticks until the rig is at rest, or safe after a trip. For
    /// virtual time.
    pub fn come_to_rest(&mut self) {
        self.wind_down();
        while !self.is_at_rest() {
            self.tick();
        }
    }
}

impl PeriodicSource {
    fn new(mut settings: PeriodicSettings) -> Result<Self, IntegratorError> {
        // A pattern without an amplitude does not act.
        settings.load.resize(settings.equations.load.ncols(), 0.0);
        let (dofs, step_s) = (settings.limits.command.len(), settings.limits.step_s);
        let seen = settings.seen_harmonics.max(settings.harmonics);
        let numerical =
            Numerical::new(&settings.equations, settings.control, settings.method, step_s)?;
        Ok(Self {
            numerical,
            aligned: Aligned::new(settings.sensor_delays_s, dofs, step_s),
            generator: Generator::new(&settings, seen),
            windows: Windows::new(3 * dofs, seen),
            stretch: Stretch::new(dofs),
            period_ends: false,
            history: History::new(settings.settling, dofs * (2 * seen + 1)),
            following: vec![Following::default(); dofs],
            desired: Motion::rest(dofs),
            estimate: vec![Coefficients::zeros(seen); 4 * dofs],
            ticks_of_point: 0,
            late: (0.0, 1.0),
            most_ticks: 0,
            settled: false,
            resting: false,
            desk: None,
            settings,
        })
    }

    pub(crate) fn set(&mut self, frequency_hz: f64, target: &[Coefficients]) {
        self.generator.set(frequency_hz, target);
        self.late = (std::f64::consts::TAU * self.late_cycles()).sin_cos();
        self.windows.restart();
        self.history.restart();
        self.following.fill(Following::default());
        self.ticks_of_point = 0;
        self.most_ticks = self.in_ticks(self.settings.settling.most_s);
        self.settled = false;
    }

    fn in_ticks(&self, time_s: f64) -> u64 {
        (time_s / self.settings.limits.step_s).ceil() as u64
    }

    pub(crate) fn refine(&mut self) -> bool {
        if !self.history.refine() {
            return false;
        }
        let longest = self.settings.settling.refined_estimates as f64 + 2.0;
        let more = self.in_ticks(longest / self.generator.frequency_hz);
        self.most_ticks = self.ticks_of_point.saturating_add(more);
        self.settled = false;
        true
    }

    /// The target goes to rest, and the loop is over then.
    pub(crate) fn rest(&mut self) {
        self.resting = true;
        self.generator.wind_down();
    }

    pub(crate) fn is_done(&self) -> bool {
        self.settled || self.ticks_of_point >= self.most_ticks
    }

    fn is_at_rest(&self) -> bool {
        self.generator.has_arrived() && self.generator.is_still()
    }

    /// A target at rest.
    pub fn blank_target(&self) -> Vec<Coefficients> {
        vec![Coefficients::zeros(self.settings.harmonics); self.desired.count()]
    }

    /// Room for what a point gives.
    pub(crate) fn blank(&self) -> Orbit {
        let dofs = self.desired.count();
        let zeros = || self.estimate[..dofs].iter().map(|c| Coefficients::zeros(c.harmonics()));
        Orbit {
            measured: zeros().collect(),
            measured_scatter: zeros().collect(),
            simulated: zeros().collect(),
            difference_scatter: zeros().collect(),
            force: zeros().collect(),
            time_s: 0.0,
            estimates: 0,
            settled: false,
        }
    }

    fn late_cycles(&self) -> f64 {
        self.aligned.latency_s * self.generator.frequency_hz
    }

    /// Writes what the point has given. Allocates nothing.
    pub(crate) fn report(&self, out: &mut Orbit) {
        let rows = self.history.averaged();
        let values = |signal: usize, lists: &mut [Coefficients], of: &dyn Fn(usize) -> f64| {
            let at = signal * lists.iter().map(|list| list.0.len()).sum::<usize>();
            for (i, value) in lists.iter_mut().flat_map(|list| &mut list.0).enumerate() {
                *value = of(at + i);
            }
        };
        let late_cycles = self.late_cycles();
        // In the order of the estimates: rig, simulated side, their difference, force.
        for (signal, means) in
            [(0, &mut out.measured), (1, &mut out.simulated), (3, &mut out.force)]
        {
            values(signal, means, &|i| self.history.mean(&rows, i));
            means.iter_mut().for_each(|mean| mean.advance(late_cycles));
        }
        for (signal, scatters) in [(0, &mut out.measured_scatter), (2, &mut out.difference_scatter)]
        {
            values(signal, scatters, &|i| self.history.scatter(&rows, i));
        }
        out.estimates = rows.len();
        out.settled = self.history.has_settled();
        out.time_s = self.ticks_of_point as f64 * self.settings.limits.step_s;
    }

    /// Target and load of the ticks to come, at most so many.
    fn begin_stretch(&mut self, most: usize) {
        self.period_ends = self.generator.stretch(self.late, most, &mut self.stretch);
    }

    /// Moves the simulated side through the instants that were measured. The signals
    /// are late together, and the load waits for them.
    fn simulate(&mut self) -> Result<(), Trip> {
        let rows = &mut self.stretch;
        let count = rows.ticks * rows.dofs;
        if !rows.has_acceleration {
            let omega = std::f64::consts::TAU * self.generator.frequency_hz;
            synthesise(&self.estimate, omega, self.generator.phase.harmonics(0), rows);
        }
        let (displacement, force) = (&mut rows.displacement[..count], &mut rows.force[..count]);
        let acceleration = &mut rows.acceleration[..count];
        let sensed = if rows.has_acceleration { &mut *acceleration } else { &mut [] };
        self.aligned.pass([&mut *displacement, &mut *force, sensed]);
        let masses = &self.settings.inertia_compensation_kg;
        compensate(masses, force, acceleration, &mut rows.compensated[..count]);
        let ticks = Ticks {
            amplitudes: &self.settings.load,
            waves: &rows.waves[..rows.ticks],
            forces: &rows.compensated[..count],
            measured: displacement,
        };
        self.numerical.run(&ticks, &mut rows.simulated[..count]).map_err(not_converged)?;
        self.windows.add(&self.generator.phase, &self.stretch);
        Ok(())
    }

    /// The stretch is gone through.
    fn end_stretch(&mut self) {
        self.ticks_of_point += self.stretch.ticks as u64;
        if self.period_ends {
            self.period();
        }
        if self.is_done() && !self.resting {
            self.answer(None);
        }
    }

    /// A period has ended: an estimate, and the target's mean may follow the rig's.
    fn period(&mut self) {
        let complete = self.windows.wrap(&mut self.estimate);
        let dofs = self.desired.count();
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
            for (dof, following) in self.following.iter_mut().enumerate() {
                let mean = following.next(self.generator.mean(dof), self.estimate[dof].0[0]);
                self.generator.set_mean(dof, mean);
            }
        }
        self.settled = self.history.add(&self.estimate);
    }
}

impl Source for PeriodicSource {
    fn measure(&mut self, scene: &mut Scene<'_>) -> Result<(), Stop> {
        self.take_errand();
        self.begin_stretch(1);
        scene.rig.measure(scene.held, scene.measured)?;
        self.stretch.take(scene.measured);
        Ok(self.simulate()?)
    }

    fn propose(&mut self, _scene: &mut Scene<'_>, command: &mut Motion) -> Result<Proposal, Stop> {
        self.stretch.first_command(&mut self.desired);
        command.copy_from(&self.desired);
        Ok(Proposal::Command)
    }

    fn desired(&self) -> &Motion {
        &self.desired
    }

    fn advance(&mut self, _measured: &Measured) -> Result<(), Trip> {
        self.end_stretch();
        Ok(())
    }

    fn release(&mut self, _rig: &mut RigSlot, _held: &Motion, cause: Trip) {
        // At once: the rig's way to safe needs nobody.
        self.answer(Some(cause));
    }

    fn is_over(&self, _tick: u64) -> bool {
        self.resting && self.is_at_rest()
    }
}

/// The acceleration of the last period's harmonics, for a rig that measures none.
/// The rig feels nothing of the simulated side, so it settles by itself, and this
/// with it.
fn synthesise(
    estimate: &[Coefficients],
    omega: f64,
    (cosines, sines): (&[f64], &[f64]),
    rows: &mut Stretch,
) {
    for (out, displacement) in rows.acceleration[..rows.dofs].iter_mut().zip(estimate) {
        *out = 0.0;
        for (k, pair) in displacement.0[1..].chunks_exact(2).enumerate() {
            let rate = (k + 1) as f64 * omega;
            *out -= rate * rate * (pair[0] * cosines[k + 1] + pair[1] * sines[k + 1]);
        }
    }
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
