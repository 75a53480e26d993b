//! An iterative test in real time: points are asked for while its loop ticks.

use std::thread;
use std::time::Duration;

use model::periodic::{Coefficients, Orbit};
use rtrb::{Consumer, Producer};

use super::driver::{Driver, Finished, Running};
use super::grant::Granted;
use super::{RealtimeError, RealtimePlan};
use crate::periodic::{Errand, PeriodicError, PeriodicLoop, PeriodicSource, Wanted, desk};
use crate::stop::StopHandle;

/// How often the other side looks for an answer.
const LOOK: Duration = Duration::from_millis(2);

/// A loop that runs in real time in a thread of its own. Dropped, it takes the rig
/// to safe.
pub struct PeriodicDriver {
    requests: Producer<Box<Errand>>,
    answers: Consumer<Box<Errand>>,
    /// The box while it is here.
    errand: Option<Box<Errand>>,
    state: State,
    dofs: usize,
    harmonics: usize,
}

/// Whether the loop still ticks.
enum State {
    Running(Running<PeriodicSource>),
    Over(Box<Result<Finished<PeriodicSource>, RealtimeError>>),
}

impl PeriodicDriver {
    /// Starts the thread; the rig stands still until the first point. What the
    /// system refuses is noted, never an error.
    pub fn start(
        plan: &RealtimePlan,
        mut periodic: PeriodicLoop,
        stop: &StopHandle,
    ) -> Result<Self, RealtimeError> {
        let driver = Driver::start(plan)?;
        let (dofs, harmonics) = periodic.source().shape();
        let errand = Errand {
            wanted: Wanted::Point,
            frequency_hz: 0.0,
            target: periodic.source().blank_target(),
            answer: periodic.source().blank(),
            helped: false,
        };
        let (of_loop, requests, answers) = desk();
        periodic.source.sit_at(of_loop);
        let state = State::Running(driver.begin(periodic, stop)?);
        Ok(Self { requests, answers, errand: Some(Box::new(errand)), state, dofs, harmonics })
    }

    /// What the system granted.
    pub fn granted(&self) -> Option<&Granted> {
        match &self.state {
            State::Running(running) => Some(running.granted()),
            State::Over(_) => None,
        }
    }

    /// Asks for a point and waits until it has settled; meanwhile `look` is
    /// called now and then.
    pub fn settle(
        &mut self,
        frequency_hz: f64,
        target: &[Coefficients],
        look: impl FnMut(),
    ) -> Result<Orbit, PeriodicError> {
        let errand = self.exchange(Wanted::Point, look, |errand| {
            errand.frequency_hz = frequency_hz;
            for (mine, new) in errand.target.iter_mut().zip(target) {
                mine.0.copy_from_slice(&new.0);
            }
        })?;
        let orbit = errand.answer.orbit(self.dofs, self.harmonics);
        self.errand = Some(errand);
        orbit
    }

    /// Averages the last point on and waits; `None` if that cannot help.
    pub fn refine(&mut self, look: impl FnMut()) -> Result<Option<Orbit>, PeriodicError> {
        let errand = self.exchange(Wanted::Refined, look, |_| {})?;
        let orbit = errand.answer.orbit(self.dofs, self.harmonics);
        let helped = errand.helped;
        self.errand = Some(errand);
        orbit.map(|orbit| helped.then_some(orbit))
    }

    /// Takes the rig to rest (or waits until it is safe after a trip) and ends
    /// the thread. Gives the loop and how punctual it was.
    pub fn finish(mut self) -> Result<Finished<PeriodicSource>, RealtimeError> {
        // A loop that has ended by itself, after a trip, takes no errand any more.
        let _ = self.exchange(Wanted::Rest, || {}, |_| {});
        match self.state {
            State::Running(running) => running.finish(),
            State::Over(finished) => *finished,
        }
    }

    fn exchange(
        &mut self,
        wanted: Wanted,
        mut look: impl FnMut(),
        fill: impl FnOnce(&mut Errand),
    ) -> Result<Box<Errand>, PeriodicError> {
        let mut errand = self.errand.take().ok_or(PeriodicError::Gone)?;
        errand.wanted = wanted;
        fill(&mut errand);
        self.requests.push(errand).map_err(|_| PeriodicError::Gone)?;
        loop {
            // Asked before looking: an answer may come just before the end.
            let over = self.is_over();
            if let Ok(errand) = self.answers.pop() {
                return Ok(errand);
            }
            if over {
                return Err(self.end());
            }
            look();
            thread::sleep(LOOK);
        }
    }

    fn is_over(&self) -> bool {
        match &self.state {
            State::Running(running) => running.is_over(),
            State::Over(_) => true,
        }
    }

    /// Why the loop has ended.
    fn end(&mut self) -> PeriodicError {
        let over = State::Over(Box::new(Err(RealtimeError::Panicked)));
        self.state = match std::mem::replace(&mut self.state, over) {
            State::Running(running) => State::Over(Box::new(running.finish())),
            over => over,
        };
        let State::Over(over) = &self.state else { return PeriodicError::Gone };
        let trip = over.as_ref().as_ref().ok().and_then(|finished| finished.test.tripped());
        trip.map_or(PeriodicError::Gone, |(trip, _)| PeriodicError::Tripped(trip))
    }
}
