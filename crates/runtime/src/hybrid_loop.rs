//! The loop of a hybrid test: a numerical part and a rig, closed. Its source is the
//! numerical part under its load, with what comes before and after that.

pub mod course;

use model::compensator::Compensator;
use model::motion::Motion;

use crate::conduct::Conduct;
use crate::frame::{Block, MotionDetail};
use crate::gate::{Limits, Trip, TripKind};
use crate::interlock::{Phase, Ramped, SafePath, Stop};
use crate::load::Load;
use crate::monitor::{EnergyMonitor, Observation};
use crate::numerical::{Numerical, Plant};
use crate::record::FrameSink;
use crate::rig::{Measured, RigSlot};
use crate::source::{Proposal, Scene, Source, not_converged, ramp_from};
use crate::streamed_load::{LoadEnd, StreamedLoad};
use crate::tick::{Frames, Loop, Observers};
use crate::two_rate::{MainLoop, TwoRateModel};
use course::{Course, CoursePlan, Initiating, Stage};

/// The armed loop of a hybrid test.
pub type HybridLoop = Loop<ClosedLoop>;

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

impl HybridLoop {
    /// Arms the loop. `sink` takes the frames, if any are wanted.
    pub fn new(parts: LoopParts, sink: Option<FrameSink>) -> Self {
        let LoopParts { plant, compensator, safe_path, monitor, load, step_s, .. } = parts;
        let limits = Limits { step_s, ..parts.limits };
        let source = ClosedLoop::new(plant.numerical, load, step_s);
        let blocks = Block::hybrid(parts.detail);
        let frames = sink.map(|sink| Frames::new(sink, &blocks, parts.every));
        let observers = Observers { monitor: Some(monitor), frames, ..Observers::default() };
        Self::arm(source, Some(compensator), limits, safe_path, plant.rig, observers)
    }

    /// The same loop with a course around its load, which may arrive while the
    /// test runs: `stream` then takes the place of the known load, whose length
    /// is the longest time for it.
    pub fn along(mut self, plan: CoursePlan, stream: Option<StreamedLoad>) -> Self {
        self.source.go_along(plan, stream);
        self
    }

    /// The same loop, which follows the operator's wishes.
    pub fn conducted(mut self, conduct: Conduct, every: u64) -> Self {
        self.source.follow(conduct, every);
        self
    }

    /// What is simulated at two rates, where it is.
    pub fn two_rates(&self) -> Option<&TwoRateModel> {
        self.source.numerical.two_rate()
    }

    /// Takes the main loop of a two-rate test out of the tick, for a thread of
    /// its own; see [`TwoRateModel::detach_main`].
    pub fn detach_main(&mut self) -> Option<MainLoop> {
        match &mut self.source.numerical {
            Numerical::TwoRate(model) => model.detach_main(),
            _ => None,
        }
    }

    /// The monitor, for those who look on.
    pub fn monitor(&self) -> &EnergyMonitor {
        self.observers.monitor.as_ref().expect("a hybrid loop has one")
    }

    /// The compensator, for those who look on.
    pub fn compensator(&self) -> &Compensator {
        self.compensator.as_ref().expect("a hybrid loop has one")
    }

    /// Why the load is over, where it arrived while the test ran.
    pub fn load_end(&self) -> Option<LoadEnd> {
        self.source.stream()?.end
    }
}

/// The numerical part with its load. Where the test has a course, the source is a
/// ramp to the start, the closed loop and a ramp home, one after the other.
pub struct ClosedLoop {
    /// What is simulated.
    pub numerical: Numerical,
    excitation: Excitation,
    step_s: f64,
    /// This tick.
    tick: u64,
    /// That of the course; without one the test is running.
    stage: Stage,
    /// What comes before and after the load; without one the load is all there is.
    pub course: Option<Box<Course>>,
    /// What is desired while the rig is fetched and settles.
    start: Motion,
    /// What the operator wishes, where there is one.
    conducted: Option<Conducted>,
}

/// A test that follows its operator.
struct Conducted {
    wishes: Conduct,
    /// Ticks between two frames. The load stands still for whole numbers of them, so that what is
    /// known of it beforehand stays in its row.
    every: u64,
    /// Whether the load was to wait when the test was armed.
    waited: bool,
    /// Whether the test stands still in this tick.
    held: bool,
    /// Whether its load waits in this tick.
    waits: bool,
    /// The tick before which the operator let the load begin.
    let_go: Option<u64>,
}

/// What acts on the numerical part.
struct Excitation {
    known: Load,
    /// A load that arrives while the test runs, in place of the one that is known.
    stream: Option<Box<StreamedLoad>>,
    /// The tick at which the load began.
    origin: u64,
    /// Outside of the closed loop no load acts.
    none: Vec<f64>,
}

impl Excitation {
    /// Whether there is no more of it.
    #[inline]
    fn is_over(&self, tick: u64) -> bool {
        match &self.stream {
            None => tick - self.origin >= self.known.ticks() as u64,
            Some(stream) => stream.end.is_some(),
        }
    }

    /// At a tick in this stage.
    #[inline(always)]
    fn at(&self, tick: u64, stage: Stage) -> &[f64] {
        match &self.stream {
            _ if !stage.is_closed() => &self.none,
            None => self.known.at((tick - self.origin) as usize),
            Some(stream) => &stream.now,
        }
    }

    /// A tick later, in the closed loop.
    #[inline(always)]
    fn after(&self, tick: u64) -> &[f64] {
        match &self.stream {
            None => self.known.at((tick - self.origin) as usize + 1),
            Some(stream) => &stream.next,
        }
    }
}

impl ClosedLoop {
    fn new(mut numerical: Numerical, known: Load, step_s: f64) -> Self {
        numerical.rest(known.at(0));
        let start = Motion::rest(numerical.desired().count());
        let none = vec![0.0; known.signals];
        let excitation = Excitation { known, stream: None, origin: 0, none };
        let (stage, course, conducted) = (Stage::Running, None, None);
        Self { numerical, excitation, step_s, tick: 0, stage, course, start, conducted }
    }

    /// A load that waits for the operator needs a course in which it can.
    fn follow(&mut self, wishes: Conduct, every: u64) {
        if wishes.is_waiting() && self.course.is_none() {
            self.go_along(CoursePlan { initiating: None, completing: None }, None);
        }
        if !self.numerical.is_apart() {
            wishes.is_inseparable();
        }
        let (every, waited) = (every.max(1), wishes.is_waiting());
        self.conducted =
            Some(Conducted { wishes, every, waited, held: false, waits: false, let_go: None });
    }

    fn go_along(&mut self, plan: CoursePlan, stream: Option<StreamedLoad>) {
        let course = self.course.insert(Box::new(Course::new(plan, self.start.count())));
        self.stage = course.stage;
        self.excitation.stream = stream.map(Box::new);
    }

    /// The load that arrives while the test runs, where it does.
    #[inline]
    pub fn stream(&self) -> Option<&StreamedLoad> {
        self.excitation.stream.as_deref()
    }

    /// Numerical part and load where there is nothing besides them; see
    /// [`Loop::is_bare`](crate::tick::Loop::is_bare).
    pub(crate) fn bare(&self) -> Option<(&Numerical, &Load)> {
        let Self { numerical, excitation, course, conducted, .. } = self;
        let Excitation { known, stream, origin: _, none: _ } = excitation;
        let is_bare = course.is_none() && stream.is_none() && conducted.is_none();
        is_bare.then_some((numerical, known))
    }

    /// Looks at what the operator wishes: whether the load may begin, and whether the test
    /// stands still in this tick.
    fn heed(&mut self, scene: &mut Scene<'_>) {
        let Some(conducted) = &mut self.conducted else { return };
        let on_frame = scene.tick.is_multiple_of(conducted.every);
        let settling = self.course.as_ref().is_some_and(|course| course.has_settled(scene.tick));
        conducted.waits =
            settling && conducted.waited && (conducted.wishes.is_waiting() || !on_frame);
        if !conducted.wishes.is_waiting() && conducted.let_go.is_none() {
            conducted.let_go = Some(scene.tick);
        }
        // Only where the load acts, and once it has acted: there is a command to keep.
        let may = self.stage == Stage::Running && scene.tick > self.excitation.origin;
        if on_frame && conducted.held != conducted.wishes.is_held() {
            conducted.held = may && !conducted.held;
        }
        if conducted.held {
            self.excitation.origin += 1;
            scene.held.velocity.fill(0.0);
            scene.held.acceleration.fill(0.0);
        }
    }

    #[inline(always)]
    fn is_held(&self) -> bool {
        self.conducted.as_ref().is_some_and(|conducted| conducted.held)
    }

    /// Whether the loop is closed and time goes on in it.
    #[inline(always)]
    fn is_live(&self) -> bool {
        self.stage.is_closed() && !self.is_held()
    }

    /// Goes on to the stage that this tick belongs to.
    fn turn(&mut self, scene: &mut Scene<'_>) {
        let Some(course) = &mut self.course else { return };
        let Excitation { known, stream, origin, .. } = &mut self.excitation;
        let before = course.stage;
        let time_up = before == Stage::Running && scene.tick - *origin >= known.ticks() as u64;
        let (ready, over) = match stream {
            None => (true, time_up),
            Some(stream) => {
                if before.is_closed() {
                    stream.advance();
                }
                if time_up {
                    stream.finish(LoadEnd::TimeUp);
                }
                (before.is_closed() || stream.is_ready(), stream.end.is_some())
            }
        };
        let ready = ready && !self.conducted.as_ref().is_some_and(|conducted| conducted.waits);
        course.turn(scene.tick, ready, over);
        self.stage = course.stage;
        if self.stage == before {
            return;
        }
        if course.begun(Stage::Running) == Some(scene.tick) {
            *origin = scene.tick;
            if let Some(stream) = stream {
                stream.begin();
                stream.advance();
            }
        }
        if course.stage == Stage::Homing {
            // Taken out of the loop, the rig is led from the command it has.
            scene.held.velocity.fill(0.0);
            scene.held.acceleration.fill(0.0);
            self.numerical.release(scene.rig, scene.held);
        }
    }

    /// Before the load: the rig is brought to zero and settles there. After it and
    /// the ringing down: the rig is led to zero.
    fn lead(&mut self, scene: &mut Scene<'_>, command: &mut Motion) -> Result<Proposal, Stop> {
        let Some(course) = &mut self.course else { return Ok(Proposal::Desired) };
        let CoursePlan { initiating, completing } = course.plan;
        let stage = course.stage;
        if matches!(stage, Stage::Homing | Stage::Done) {
            let rate_m_s = completing.map_or(0.0, |plan| plan.home_rate_m_s);
            let ramped = ramp_from(scene.held, rate_m_s, self.step_s, command);
            if ramped == Ramped::AtZero && stage == Stage::Homing {
                course.arrive(scene.tick);
                self.stage = course.stage;
            }
            return Ok(Proposal::Command);
        }
        if let Some(plan) = initiating.filter(|_| scene.tick == 0) {
            take_as_it_stands(&plan, scene)?;
        }
        if stage == Stage::Fetching {
            let rate_m_s = initiating.map_or(0.0, |plan| plan.rate_m_s);
            ramp_from(scene.held, rate_m_s, self.step_s, command);
            self.start.copy_from(command);
            return Ok(Proposal::Command);
        }
        self.start.clear();
        let measured = &scene.measured.displacement;
        if let Some(trip) = course.settled(scene.tick, measured) {
            return Err(trip.into());
        }
        let since = course.begun(Stage::Settling).unwrap_or(0);
        let conducted = self.conducted.as_ref();
        // As long as the operator has not let the load begin nobody is late with it.
        let let_go = conducted.map_or(0, |conducted| conducted.let_go.unwrap_or(scene.tick));
        let waited = scene.tick - since.max(let_go);
        if let Some(stream) = &self.excitation.stream
            && waited >= stream.plan.patience_ticks
        {
            let patience = stream.plan.patience_ticks as f64;
            return Err(TripKind::NoLoad.trip(waited as f64, patience).into());
        }
        Ok(Proposal::Desired)
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
        let trip = TripKind::NotFinite.trip(measured[dof], f64::NAN);
        return Err(Trip { dof, ..trip }.into());
    }
    scene.held.displacement.copy_from_slice(measured);
    let Some(dof) = measured.iter().position(|x| x.abs() > plan.reach_m) else { return Ok(()) };
    Err(Trip { dof, ..TripKind::NotAtStart.trip(measured[dof].abs(), plan.reach_m) }.into())
}

impl Source for ClosedLoop {
    #[inline(always)]
    fn measure(&mut self, scene: &mut Scene<'_>) -> Result<(), Stop> {
        self.tick = scene.tick;
        if self.conducted.is_some() {
            self.heed(scene);
        }
        if self.course.is_some() && !self.is_held() {
            self.turn(scene);
        }
        if !self.is_live() {
            return Ok(scene.rig.measure(scene.held, scene.measured)?);
        }
        self.numerical.measure(self.excitation.at(self.tick, self.stage), scene)
    }

    #[inline(always)]
    fn propose(&mut self, scene: &mut Scene<'_>, command: &mut Motion) -> Result<Proposal, Stop> {
        if self.is_held() {
            command.copy_from(scene.held);
            return Ok(Proposal::Command);
        }
        if self.stage.is_closed() { Ok(Proposal::Desired) } else { self.lead(scene, command) }
    }

    #[inline(always)]
    fn desired(&self) -> &Motion {
        if self.stands_anywhere() { &self.start } else { self.numerical.desired() }
    }

    #[inline(always)]
    fn new_prediction(&self) -> Option<&Motion> {
        self.numerical.new_prediction().filter(|_| self.is_live())
    }

    #[inline(always)]
    fn observation<'a>(&'a self, measured: &'a Measured) -> Option<Observation<'a>> {
        if !self.is_live() {
            return None;
        }
        Some(self.numerical.observation(self.load(self.tick), &measured.force))
    }

    fn most_age(&self) -> usize {
        self.numerical.most_age()
    }

    #[inline(always)]
    fn actuate(&mut self, rig: &mut RigSlot, command: &Motion) {
        self.numerical.actuate(rig, command);
    }

    #[inline(always)]
    fn advance(&mut self, measured: &Measured) -> Result<(), Trip> {
        if !self.is_live() {
            return Ok(());
        }
        let Self { excitation, tick, stage, .. } = self;
        let (now, next) = (excitation.at(*tick, *stage), excitation.after(*tick));
        let advanced = self.numerical.advance(now, next, measured).map_err(not_converged);
        if let Some(course) = &mut self.course {
            course.observe(&self.numerical.desired().displacement, &measured.displacement);
        }
        advanced
    }

    fn release(&mut self, rig: &mut RigSlot, held: &Motion, _cause: Trip) {
        self.numerical.release(rig, held);
    }

    #[inline(always)]
    fn stands_anywhere(&self) -> bool {
        matches!(self.stage, Stage::Fetching | Stage::Settling)
    }

    #[inline]
    fn is_over(&self, tick: u64) -> bool {
        // Without an end of its own a test is over with the load.
        let ends_with_load =
            self.course.as_ref().is_none_or(|course| course.plan.completing.is_none());
        match self.stage {
            Stage::Done => true,
            Stage::Running => ends_with_load && self.excitation.is_over(tick),
            _ => false,
        }
    }

    #[inline(always)]
    fn phase(&self) -> Phase {
        if self.is_held() { Phase::Held } else { self.stage.phase() }
    }

    #[inline]
    fn waits(&self, tick: u64) -> Option<u64> {
        if let Some(conducted) = &self.conducted {
            let settled = self.course.as_ref().is_some_and(|course| course.has_settled(tick));
            // For a person there is no hurry.
            if settled && conducted.wishes.is_waiting()
                || conducted.held && conducted.wishes.is_held()
            {
                return Some(u64::MAX);
            }
        }
        let (stream, course) = (self.stream()?, self.course.as_ref()?);
        let waits = match course.stage {
            Stage::Settling => {
                let since = tick - course.begun(Stage::Settling).unwrap_or(tick);
                let settle = course.plan.initiating.map_or(0, |plan| plan.settle_ticks);
                since >= settle && !stream.is_ready()
            }
            Stage::Running => stream.is_dry(),
            _ => false,
        };
        waits.then_some(stream.plan.patience_ticks)
    }

    #[inline]
    fn stands_still(&self) -> bool {
        self.conducted.as_ref().is_some_and(|it| it.held || it.waits && !self.stage.is_closed())
    }

    #[inline]
    fn closed_tick(&self, ticks: u64) -> Option<u64> {
        let origin = self.excitation.origin;
        (self.is_live() && ticks > origin).then(|| ticks - 1 - origin)
    }

    #[inline]
    fn bridged(&self) -> u64 {
        self.numerical.two_rate().map_or(0, |model| model.counts.missing)
    }

    #[inline(always)]
    fn load(&self, tick: u64) -> &[f64] {
        self.excitation.at(tick, self.stage)
    }

    fn show(&mut self, order: usize, tick: u64, measured: &Measured, frame: &mut Vec<f64>) {
        let load = self.excitation.at(tick, self.stage);
        self.numerical.show(order, load, measured, self.step_s, frame);
    }

    #[inline(always)]
    fn write(&self, frame: &mut Vec<f64>) {
        if let Some(model) = self.numerical.two_rate() {
            model.write(frame);
        }
    }
}
