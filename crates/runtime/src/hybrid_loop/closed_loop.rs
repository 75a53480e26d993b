//! The closed loop as a source: the numerical part under its load, with what
//! comes before and after that.

use model::motion::Motion;

use super::course::{Course, CoursePlan, Initiating, Stage};
use crate::gate::{Trip, TripKind};
use crate::interlock::{Phase, Ramped, Stop};
use crate::load::Load;
use crate::monitor::Observation;
use crate::numerical::Numerical;
use crate::rig::{Measured, Rig, RigSlot};
use crate::source::{Proposal, Scene, Source, not_converged, ramp_from};
use crate::streamed_load::StreamedLoad;

/// The numerical part with its load. Where the test has a course, the source is a
/// ramp to the start, the closed loop and a ramp home, one after the other.
pub struct ClosedLoop {
    pub(crate) numerical: Numerical,
    pub(crate) load: Load,
    step_s: f64,
    /// This tick.
    tick: u64,
    /// The tick at which the load began.
    origin: u64,
    staged: Option<Box<Staged>>,
    /// Room for the accelerations of a frame.
    acceleration: Vec<f64>,
}

/// A course, and what the tick needs along it.
struct Staged {
    course: Course,
    /// A load that arrives while the test runs, in place of the one that is known.
    stream: Option<StreamedLoad>,
    /// No load acts.
    no_load: Vec<f64>,
    /// What is desired while the rig is fetched and settles.
    desired: Motion,
}

impl ClosedLoop {
    pub(super) fn new(mut numerical: Numerical, load: Load, step_s: f64) -> Self {
        numerical.rest(load.at(0));
        let acceleration = vec![0.0; numerical.displacement().len()];
        Self { numerical, load, step_s, tick: 0, origin: 0, staged: None, acceleration }
    }

    pub(super) fn go_along(&mut self, plan: CoursePlan, stream: Option<StreamedLoad>) {
        let count = self.numerical.desired().count();
        self.staged = Some(Box::new(Staged {
            course: Course::new(plan, count),
            stream,
            no_load: vec![0.0; self.load.signals()],
            desired: Motion::rest(count),
        }));
    }

    pub(super) fn course(&self) -> Option<&Course> {
        self.staged.as_ref().map(|staged| &staged.course)
    }

    pub(super) fn stream(&self) -> Option<&StreamedLoad> {
        self.staged.as_ref()?.stream.as_ref()
    }

    /// Numerical part and load where there is nothing besides them; see
    /// [`Loop::bare`](crate::tick::Loop::bare).
    pub(crate) fn bare(&self) -> Option<(&Numerical, &Load)> {
        let Self { numerical, load, step_s: _, tick: _, origin: _, staged, acceleration: _ } = self;
        staged.is_none().then_some((numerical, load))
    }

    /// The stage of the course; without one the test is running.
    #[inline(always)]
    fn stage(&self) -> Stage {
        self.staged.as_ref().map_or(Stage::Running, |staged| staged.course.stage())
    }

    /// Goes on to the stage that this tick belongs to.
    fn turn(&mut self, scene: &mut Scene<'_>) {
        let Some(staged) = &mut self.staged else { return };
        let Staged { course, stream, .. } = &mut **staged;
        let before = course.stage();
        let acted = scene.tick - self.origin;
        let time_up = before == Stage::Running && acted >= self.load.ticks() as u64;
        let (ready, over) = match stream {
            None => (true, time_up),
            Some(stream) => {
                if before.is_closed() {
                    stream.advance();
                }
                if time_up {
                    stream.time_up();
                }
                (before.is_closed() || stream.is_ready(), stream.end().is_some())
            }
        };
        course.turn(scene.tick, ready, over);
        if course.stage() == before {
            return;
        }
        if course.begun(Stage::Running) == Some(scene.tick) {
            self.origin = scene.tick;
            if let Some(stream) = stream {
                stream.begin();
                stream.advance();
            }
        }
        if course.stage() == Stage::Homing {
            // Taken out of the loop, the rig is led from the command it has.
            scene.held.velocity.fill(0.0);
            scene.held.acceleration.fill(0.0);
            self.numerical.release(scene.rig, scene.held);
        }
    }
}

impl Staged {
    /// Before the load: the rig is brought to zero and settles there.
    fn lead_to_start(
        &mut self,
        scene: &mut Scene<'_>,
        step_s: f64,
        command: &mut Motion,
    ) -> Result<Proposal, Stop> {
        let plan = self.course.plan().initiating;
        if let Some(plan) = plan.filter(|_| scene.tick == 0) {
            take_as_it_stands(&plan, scene)?;
        }
        if self.course.stage() == Stage::Fetching {
            let rate_m_s = plan.map_or(0.0, |plan| plan.rate_m_s);
            ramp_from(scene.held, rate_m_s, step_s, command);
            self.desired.copy_from(command);
            return Ok(Proposal::Command);
        }
        self.desired.clear();
        let measured = &scene.measured.displacement;
        if let Some((dof, value, limit)) = self.course.settled(scene.tick, measured) {
            return Err(Trip { kind: TripKind::NotAtStart, dof, value, limit }.into());
        }
        let waited = scene.tick - self.course.begun(Stage::Settling).unwrap_or(0);
        if let Some(stream) = &self.stream
            && waited >= stream.patience()
        {
            let (value, limit) = (waited as f64, stream.patience() as f64);
            return Err(Trip { kind: TripKind::NoLoad, dof: 0, value, limit }.into());
        }
        Ok(Proposal::Desired)
    }

    /// After the load and the ringing down: the rig is led to zero.
    fn go_home(&mut self, scene: &Scene<'_>, step_s: f64, command: &mut Motion) -> Proposal {
        let rate_m_s = self.course.plan().completing.map_or(0.0, |plan| plan.home_rate_m_s);
        let ramped = ramp_from(scene.held, rate_m_s, step_s, command);
        if ramped == Ramped::AtZero && self.course.stage() == Stage::Homing {
            self.course.arrive(scene.tick);
        }
        Proposal::Command
    }

    /// The load that acts `acted` ticks after its start.
    #[inline]
    fn load<'a>(&'a self, known: &'a Load, acted: u64) -> &'a [f64] {
        match (self.course.stage(), &self.stream) {
            (Stage::Running | Stage::RingingDown, Some(stream)) => stream.now(),
            (Stage::Running | Stage::RingingDown, None) => known.at(acted as usize),
            _ => &self.no_load,
        }
    }
}

/// A rig that may stand anywhere is taken as it stands: from now on the command is
/// there. One that stands too far off stays there.
fn take_as_it_stands(plan: &Initiating, scene: &mut Scene<'_>) -> Result<(), Stop> {
    if plan.reach_m.is_infinite() {
        return Ok(());
    }
    let measured = &scene.measured.displacement;
    if let Some(dof) = measured.iter().position(|x| !x.is_finite()) {
        let (value, limit) = (measured[dof], f64::NAN);
        return Err(Trip { kind: TripKind::NotFinite, dof, value, limit }.into());
    }
    scene.held.displacement.copy_from_slice(measured);
    match measured.iter().position(|x| x.abs() > plan.reach_m) {
        None => Ok(()),
        Some(dof) => {
            let (value, limit) = (measured[dof].abs(), plan.reach_m);
            Err(Trip { kind: TripKind::NotAtStart, dof, value, limit }.into())
        }
    }
}

impl Source for ClosedLoop {
    #[inline(always)]
    fn measure(&mut self, scene: &mut Scene<'_>) -> Result<(), Stop> {
        self.tick = scene.tick;
        let load = match &self.staged {
            None => self.load.at(self.tick as usize),
            Some(_) => {
                self.turn(scene);
                if !self.stage().is_closed() {
                    return Ok(scene.rig.measure(scene.held, scene.measured)?);
                }
                match &self.staged {
                    Some(staged) => staged.load(&self.load, self.tick - self.origin),
                    None => &[],
                }
            }
        };
        self.numerical.measure(load, scene)
    }

    #[inline(always)]
    fn propose(&mut self, scene: &mut Scene<'_>, command: &mut Motion) -> Result<Proposal, Stop> {
        let Some(staged) = &mut self.staged else { return Ok(Proposal::Desired) };
        match staged.course.stage() {
            Stage::Running | Stage::RingingDown => Ok(Proposal::Desired),
            Stage::Fetching | Stage::Settling => staged.lead_to_start(scene, self.step_s, command),
            Stage::Homing | Stage::Done => Ok(staged.go_home(scene, self.step_s, command)),
        }
    }

    #[inline(always)]
    fn desired(&self) -> &Motion {
        match &self.staged {
            Some(staged) if matches!(staged.course.stage(), Stage::Fetching | Stage::Settling) => {
                &staged.desired
            }
            _ => self.numerical.desired(),
        }
    }

    #[inline(always)]
    fn new_prediction(&self) -> Option<&Motion> {
        self.numerical.new_prediction().filter(|_| self.stage().is_closed())
    }

    #[inline(always)]
    fn observation<'a>(&'a self, measured: &'a Measured) -> Option<Observation<'a>> {
        if !self.stage().is_closed() {
            return None;
        }
        let numerical = &self.numerical;
        Some(Observation {
            displacement: numerical.displacement(),
            velocity: numerical.velocity(),
            interface: &numerical.desired().displacement,
            load: self.load(self.tick),
            force: &measured.force,
            elements: numerical.element_energy(),
            work: numerical.step_work(&measured.force),
        })
    }

    #[inline(always)]
    fn actuate(&mut self, rig: &mut RigSlot, command: &Motion) {
        self.numerical.actuate(rig, command);
    }

    #[inline(always)]
    fn advance(&mut self, measured: &Measured) -> Result<(), Trip> {
        let acted = (self.tick - self.origin) as usize;
        let Some(staged) = &mut self.staged else {
            let (now, next) = (self.load.at(acted), self.load.at(acted + 1));
            return self.numerical.advance(now, next, measured).map_err(not_converged);
        };
        if !staged.course.stage().is_closed() {
            return Ok(());
        }
        let (now, next) = match &staged.stream {
            Some(stream) => (stream.now(), stream.next()),
            None => (self.load.at(acted), self.load.at(acted + 1)),
        };
        let advanced = self.numerical.advance(now, next, measured).map_err(not_converged);
        let desired = &self.numerical.desired().displacement;
        staged.course.observe(desired, &measured.displacement);
        advanced
    }

    fn release(&mut self, rig: &mut RigSlot, held: &Motion, _cause: Trip) {
        self.numerical.release(rig, held);
    }

    fn stands_anywhere(&self) -> bool {
        matches!(self.stage(), Stage::Fetching | Stage::Settling)
    }

    #[inline]
    fn is_over(&self, tick: u64) -> bool {
        let acted = tick - self.origin;
        let Some(staged) = &self.staged else { return acted >= self.load.ticks() as u64 };
        match staged.course.stage() {
            Stage::Done => true,
            // Without an end of its own it is over with the load.
            Stage::Running if staged.course.plan().completing.is_none() => match &staged.stream {
                None => acted >= self.load.ticks() as u64,
                Some(stream) => stream.end().is_some(),
            },
            _ => false,
        }
    }

    #[inline(always)]
    fn phase(&self) -> Phase {
        self.stage().phase()
    }

    #[inline]
    fn is_waiting(&self, tick: u64) -> bool {
        let Some(stream) = self.stream() else { return false };
        let Some(course) = self.course() else { return false };
        match course.stage() {
            Stage::Settling => {
                let since = tick - course.begun(Stage::Settling).unwrap_or(tick);
                let settle = course.plan().initiating.map_or(0, |plan| plan.settle_ticks);
                since >= settle && !stream.is_ready()
            }
            Stage::Running => stream.is_dry(),
            _ => false,
        }
    }

    #[inline]
    fn closed_tick(&self, ticks: u64) -> Option<u64> {
        (self.stage().is_closed() && ticks > self.origin).then(|| ticks - 1 - self.origin)
    }

    #[inline]
    fn bridged(&self) -> u64 {
        match &self.numerical {
            Numerical::TwoRate(model) => model.counts().missing,
            _ => 0,
        }
    }

    #[inline(always)]
    fn load(&self, tick: u64) -> &[f64] {
        match &self.staged {
            None => self.load.at(tick as usize),
            Some(staged) => staged.load(&self.load, tick - self.origin),
        }
    }

    fn show(&mut self, order: usize, tick: u64, measured: &Measured, frame: &mut Vec<f64>) {
        if order == 0 {
            self.numerical.show_displacement(self.step_s, frame);
            return;
        }
        let load = match &self.staged {
            None => self.load.at(tick as usize),
            Some(staged) => staged.load(&self.load, tick - self.origin),
        };
        self.numerical.show_rates(load, measured, self.step_s, &mut self.acceleration, frame);
    }

    #[inline(always)]
    fn write(&self, frame: &mut Vec<f64>) {
        if let Numerical::TwoRate(model) = &self.numerical {
            model.write(frame);
        }
    }
}
