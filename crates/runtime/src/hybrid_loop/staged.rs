//! The tick of a test with a course: what comes before and after its load.

use model::motion::Motion;

use super::course::{Course, CoursePlan, Stage};
use super::{HybridLoop, LoopParts, note_gap};
use crate::gate::{Trip, TripKind, gate};
use crate::interlock::{Phase, Ramped, Response, Stop, ramp};
use crate::load::Load;
use crate::rig::RigFault;
use crate::streamed_load::{LoadEnd, StreamedLoad};

/// A course, and what the tick needs along it.
pub(super) struct Staged {
    course: Course,
    /// A load that arrives while the test runs, in place of the one that is known.
    stream: Option<StreamedLoad>,
    /// No load acts.
    no_load: Vec<f64>,
    /// What is desired while the rig is fetched and settles.
    desired: Motion,
}

impl HybridLoop {
    /// The same loop with a course around its load, which may arrive while the
    /// test runs: `stream` then takes the place of the known load, whose length
    /// is the longest time for it.
    pub fn along(mut self, plan: CoursePlan, stream: Option<StreamedLoad>) -> Self {
        let count = self.parts.plant.desired().count();
        self.staged = Some(Box::new(Staged {
            course: Course::new(plan, count),
            stream,
            no_load: vec![0.0; self.parts.load.signals()],
            desired: Motion::rest(count),
        }));
        self
    }

    /// A tick of a test with a course.
    pub(super) fn along_course(&mut self) {
        self.turn();
        match self.stage() {
            Stage::Fetching | Stage::Settling => self.initiate(),
            Stage::Running | Stage::RingingDown => {
                self.closed_loop();
                if let Some(staged) = &mut self.staged {
                    let desired = &self.parts.plant.desired().displacement;
                    staged.course.observe(desired, &self.measured.displacement);
                }
            }
            Stage::Homing | Stage::Done => self.go_home(),
        }
    }

    /// Goes on to the stage that this tick belongs to.
    fn turn(&mut self) {
        let Some(staged) = &mut self.staged else { return };
        let Staged { course, stream, .. } = &mut **staged;
        let before = course.stage();
        let acted = self.tick - self.origin;
        let time_up = before == Stage::Running && acted >= self.parts.load.ticks() as u64;
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
        course.turn(self.tick, ready, over);
        if course.stage() == before {
            return;
        }
        if course.begun(Stage::Running) == Some(self.tick) {
            self.origin = self.tick;
            if let Some(stream) = stream {
                stream.begin();
                stream.advance();
            }
        }
        if course.stage() == Stage::Homing {
            // Taken out of the loop, the rig is led from the command it has.
            self.held.velocity.fill(0.0);
            self.held.acceleration.fill(0.0);
            self.command.copy_from(&self.held);
            self.parts.plant.detach(&self.held);
        }
    }

    /// A tick before the load: the rig alone, brought to zero and settled there.
    fn initiate(&mut self) {
        let health = self.parts.plant.measure_rig(&self.held, &mut self.measured);
        if let Err(stop) = self.lead_to_start(health) {
            if self.tick == 0 {
                // A rig that stands elsewhere is left there: no command goes out.
                self.command.copy_from(&self.held);
                self.trip(Stop { response: Response::Abort, ..stop }, self.tick);
                self.record();
            } else {
                self.refuse(stop);
            }
            return;
        }
        self.record();
        self.parts.plant.actuate(&self.command);
        std::mem::swap(&mut self.held, &mut self.command);
    }

    fn lead_to_start(&mut self, health: Result<(), RigFault>) -> Result<(), Stop> {
        health?;
        note_gap(&self.measured, self.tick, &mut self.gaps, &mut self.log);
        let Some(staged) = &mut self.staged else { return Ok(()) };
        let Staged { course, stream, desired, .. } = &mut **staged;
        let LoopParts { compensator, limits, step_s, .. } = &mut self.parts;
        let measured = &self.measured.displacement;
        let plan = course.plan().initiating;
        // A rig that may stand anywhere is taken as it stands.
        if self.tick == 0
            && let Some(plan) = plan.filter(|plan| plan.reach_m.is_finite())
        {
            if let Some(dof) = measured.iter().position(|x| !x.is_finite()) {
                let (value, limit) = (measured[dof], f64::NAN);
                return Err(Trip { kind: TripKind::NotFinite, dof, value, limit }.into());
            }
            // From now on the command is where the rig stands.
            self.held.displacement.copy_from_slice(measured);
            if let Some(dof) = measured.iter().position(|x| x.abs() > plan.reach_m) {
                let (value, limit) = (measured[dof].abs(), plan.reach_m);
                return Err(Trip { kind: TripKind::NotAtStart, dof, value, limit }.into());
            }
        }
        if course.stage() == Stage::Fetching {
            let rate_m_s = plan.map_or(0.0, |plan| plan.rate_m_s);
            self.command.copy_from(&self.held);
            self.command.velocity.fill(0.0);
            ramp(&mut self.command, rate_m_s * *step_s, rate_m_s);
            desired.copy_from(&self.command);
        } else {
            desired.clear();
            compensator.step(desired, measured, &mut self.command);
        }
        gate(limits, &self.held, desired, &self.measured, &self.command)?;
        if course.stage() == Stage::Settling {
            if let Some((dof, value, limit)) = course.settled(self.tick, measured) {
                return Err(Trip { kind: TripKind::NotAtStart, dof, value, limit }.into());
            }
            let waited = self.tick - course.begun(Stage::Settling).unwrap_or(0);
            if let Some(stream) = stream
                && waited >= stream.patience()
            {
                let (value, limit) = (waited as f64, stream.patience() as f64);
                return Err(Trip { kind: TripKind::NoLoad, dof: 0, value, limit }.into());
            }
        }
        Ok(())
    }

    /// A tick after the load and the ringing down: the rig alone, led to zero.
    fn go_home(&mut self) {
        let health = self.parts.plant.measure_rig(&self.held, &mut self.measured);
        let Some(staged) = &mut self.staged else { return };
        let completing = staged.course.plan().completing;
        let rate_m_s = completing.map_or(0.0, |plan| plan.home_rate_m_s);
        self.command.velocity.fill(0.0);
        let ramped = ramp(&mut self.command, rate_m_s * self.parts.step_s, rate_m_s);
        if ramped == Ramped::AtZero && staged.course.stage() == Stage::Homing {
            staged.course.arrive(self.tick);
        }
        // The force and the position of the rig are still bounded.
        let desired = &self.command;
        let limits = &self.parts.limits;
        let passed = health
            .map_err(Trip::from)
            .and_then(|()| gate(limits, &self.held, desired, &self.measured, &self.command));
        if let Err(trip) = passed {
            self.refuse(trip.into());
            return;
        }
        self.record();
        self.parts.plant.actuate(&self.command);
        self.held.copy_from(&self.command);
    }

    /// The stage of the course; without one the test is running.
    pub(super) fn stage(&self) -> Stage {
        self.staged.as_ref().map_or(Stage::Running, |staged| staged.course.stage())
    }

    /// What comes before and after the load, where there is more than the load.
    pub fn course(&self) -> Option<&Course> {
        self.staged.as_ref().map(|staged| &staged.course)
    }

    /// The load that arrives while the test runs, where it does.
    pub fn stream(&self) -> Option<&StreamedLoad> {
        self.staged.as_ref()?.stream.as_ref()
    }

    /// Why the load is over, where it arrived while the test ran.
    pub fn load_end(&self) -> Option<LoadEnd> {
        self.stream()?.end()
    }

    /// Whether the next tick would miss a sample of the load that may still
    /// come. For a clock that can wait.
    pub fn awaits_load(&self) -> bool {
        let Some(stream) = self.stream() else { return false };
        if self.interlock.phase() != Phase::Running {
            return false;
        }
        match self.stage() {
            Stage::Settling => {
                let settle = self.course().and_then(|course| course.plan().initiating);
                let begun = self.course().and_then(|course| course.begun(Stage::Settling));
                let since = self.tick - begun.unwrap_or(self.tick);
                since >= settle.map_or(0, |plan| plan.settle_ticks) && !stream.is_ready()
            }
            Stage::Running => stream.is_dry(),
            _ => false,
        }
    }

    /// The last tick done, counted from the start of the load, while the loop
    /// is closed: what wakes the main loop of a two-rate test.
    pub fn closed_tick(&self) -> Option<u64> {
        (self.stage().is_closed() && self.tick > self.origin).then(|| self.tick - 1 - self.origin)
    }
}

impl Staged {
    #[inline]
    pub(super) fn stream(&self) -> Option<&StreamedLoad> {
        self.stream.as_ref()
    }

    /// The load that acts `acted` ticks after its start.
    #[inline]
    pub(super) fn load<'a>(&'a self, known: &'a Load, acted: u64) -> &'a [f64] {
        match (self.course.stage(), &self.stream) {
            (Stage::Running | Stage::RingingDown, Some(stream)) => stream.now(),
            (Stage::Running | Stage::RingingDown, None) => known.at(acted as usize),
            _ => &self.no_load,
        }
    }

    pub(super) fn desired<'a>(&'a self, of_plant: &'a Motion) -> &'a Motion {
        match self.course.stage() {
            Stage::Fetching | Stage::Settling => &self.desired,
            _ => of_plant,
        }
    }

    /// Whether all of the course is done; without an end of its own it is over
    /// with the load.
    pub(super) fn is_over(&self, acted: u64, load: &Load) -> bool {
        match self.course.stage() {
            Stage::Done => true,
            Stage::Running if self.course.plan().completing.is_none() => match &self.stream {
                None => acted >= load.ticks() as u64,
                Some(stream) => stream.end().is_some(),
            },
            _ => false,
        }
    }
}
