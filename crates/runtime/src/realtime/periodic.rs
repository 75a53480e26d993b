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
    /// The loop while it ticks, and what was left of it afterwards.
    running: Option<Running<PeriodicSource>>,
    over: Option<Result<Finished<PeriodicSource>, RealtimeError>>,
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
        let errand = Errand {
            wanted: Wanted::Point,
            frequency_hz: 0.0,
            target: periodic.source().blank_target(),
            answer: periodic.source().blank(),
            trip: None,
            helped: false,
        };
        let (of_loop, requests, answers) = desk();
        periodic.source.desk = Some(of_loop);
        let (running, errand) = (Some(driver.begin(periodic, stop)?), Some(Box::new(errand)));
        Ok(Self { requests, answers, errand, running, over: None })
    }

    /// What the system granted.
    pub fn granted(&self) -> Option<&Granted> {
        self.running.as_ref().map(|running| &running.granted)
    }

    /// Asks for a point and waits until it has settled; meanwhile `look` is
    /// called now and then.
    pub fn settle(
        &mut self,
        frequency_hz: f64,
        target: &[Coefficients],
        look: impl FnMut(),
    ) -> Result<Orbit, PeriodicError> {
        let (orbit, _) = self.exchange(Wanted::Point, look, |errand| {
            errand.frequency_hz = frequency_hz;
            for (mine, new) in errand.target.iter_mut().zip(target) {
                mine.0.copy_from_slice(&new.0);
            }
        })?;
        orbit
    }

    /// Averages the last point on and waits; `None` if that cannot help.
    pub fn refine(&mut self, look: impl FnMut()) -> Result<Option<Orbit>, PeriodicError> {
        let (orbit, helped) = self.exchange(Wanted::Refined, look, |_| {})?;
        orbit.map(|orbit| helped.then_some(orbit))
    }

    /// Takes the rig to rest (or waits until it is safe after a trip) and ends
    /// the thread. Gives the loop and how punctual it was.
    pub fn finish(mut self) -> Result<Finished<PeriodicSource>, RealtimeError> {
        // A loop that has ended by itself, after a trip, takes no errand any more.
        let _ = self.exchange(Wanted::Rest, || {}, |_| {});
        match self.running {
            Some(running) => running.finish(),
            None => self.over.unwrap_or(Err(RealtimeError::Panicked)),
        }
    }

    /// Has an errand done; gives the orbit that was measured, and whether averaging on
    /// helped.
    fn exchange(
        &mut self,
        wanted: Wanted,
        mut look: impl FnMut(),
        fill: impl FnOnce(&mut Errand),
    ) -> Result<(Result<Orbit, PeriodicError>, bool), PeriodicError> {
        let mut errand = self.errand.take().ok_or(PeriodicError::Gone)?;
        errand.wanted = wanted;
        fill(&mut errand);
        self.requests.push(errand).map_err(|_| PeriodicError::Gone)?;
        loop {
            // Asked before looking: an answer may come just before the end.
            let over = self.running.as_ref().is_none_or(Running::is_over);
            if let Ok(errand) = self.answers.pop() {
                let errand = self.errand.insert(errand);
                return Ok((errand.orbit(), errand.helped));
            }
            if over {
                return Err(self.end());
            }
            look();
            thread::sleep(LOOK);
        }
    }

    /// Why the loop has ended.
    fn end(&mut self) -> PeriodicError {
        if let Some(running) = self.running.take() {
            self.over = Some(running.finish());
        }
        match &self.over {
            Some(Ok(Finished { test, .. })) => {
                test.tripped().map_or(PeriodicError::Gone, |(trip, _)| PeriodicError::Tripped(trip))
            }
            _ => PeriodicError::Gone,
        }
    }
}
