//! The bench of an iterative test: a loop in virtual or in real time.

use analysis::iterative::PeriodicExperiment;
use model::periodic::{Coefficients, Orbit};
use runtime::periodic::{PeriodicError, PeriodicLoop};
use runtime::realtime::{Finished, Granted, PeriodicDriver, RealtimeError, RealtimePlan, Timing};
use runtime::stop::StopHandle;

/// What sets the pace.
pub enum Pace {
    /// As fast as it goes.
    Virtual,
    /// The clock.
    Real(RealtimePlan),
}

/// A loop with its rig, brought to one periodic motion after the other.
pub struct Bench<'a> {
    drive: Drive,
    stop: StopHandle,
    /// Before a point is accepted: frequency, Hz.
    asked: Box<dyn FnMut(f64) + 'a>,
}

enum Drive {
    Virtual(Box<PeriodicLoop>),
    Real(Box<PeriodicDriver>),
}

/// A bench that is at rest.
pub struct Rested {
    /// The loop after its last tick.
    pub test: Box<PeriodicLoop>,
    /// How punctual it was, in real time.
    pub timing: Option<Timing>,
}

impl<'a> Bench<'a> {
    /// Starts; `asked` is told each frequency that is tried.
    pub fn start(
        periodic: PeriodicLoop,
        pace: &Pace,
        stop: &StopHandle,
        asked: impl FnMut(f64) + 'a,
    ) -> Result<Self, RealtimeError> {
        let drive = match pace {
            Pace::Virtual => Drive::Virtual(Box::new(periodic)),
            Pace::Real(plan) => Drive::Real(Box::new(PeriodicDriver::start(plan, periodic, stop)?)),
        };
        Ok(Self { drive, stop: stop.clone(), asked: Box::new(asked) })
    }

    /// What the system granted and refused, in real time.
    pub fn granted(&self) -> Option<&Granted> {
        match &self.drive {
            Drive::Virtual(_) => None,
            Drive::Real(driver) => driver.granted(),
        }
    }

    /// Takes the rig to rest.
    pub fn finish(self) -> Result<Rested, RealtimeError> {
        match self.drive {
            Drive::Virtual(mut test) => {
                test.come_to_rest();
                Ok(Rested { test, timing: None })
            }
            Drive::Real(driver) => {
                let Finished { test, timing } = driver.finish()?;
                Ok(Rested { test, timing: Some(timing) })
            }
        }
    }
}

impl PeriodicExperiment for Bench<'_> {
    type Error = PeriodicError;

    fn apply(
        &mut self,
        frequency_hz: f64,
        target: &[Coefficients],
    ) -> Result<Orbit, PeriodicError> {
        (self.asked)(frequency_hz);
        match &mut self.drive {
            Drive::Virtual(periodic) => {
                periodic.set(frequency_hz, target);
                periodic.go_on_until_done(|| self.stop.presses());
                periodic.result()
            }
            Drive::Real(driver) => driver.settle(frequency_hz, target, || {}),
        }
    }

    fn refine(&mut self) -> Result<Option<Orbit>, PeriodicError> {
        match &mut self.drive {
            Drive::Virtual(periodic) => {
                if !periodic.refine() {
                    return Ok(None);
                }
                periodic.go_on_until_done(|| self.stop.presses());
                periodic.result().map(Some)
            }
            Drive::Real(driver) => driver.refine(|| {}),
        }
    }
}
