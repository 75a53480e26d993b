//! What sets the pace of a loop, and how its record is written.

use std::time::Duration;

use runtime::realtime::{Cpu, Driver, RealtimePlan, ThreadPlan, machine_facts};
use runtime::record::{Header, Options};

use crate::error::Error;
use crate::machine;
use crate::onlooker::{Event, Onlooker};
use experiment::Experiment;

/// What sets the pace of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// As fast as the machine goes.
    #[default]
    Virtual,
    /// Each tick at its deadline.
    Real,
}

/// What drives a loop.
pub(crate) enum Pacer {
    /// Nothing but the machine's speed.
    Virtual,
    /// A thread that keeps deadlines.
    Real {
        /// The thread.
        driver: Box<Driver>,
        /// What was asked of the system for it.
        plan: RealtimePlan,
    },
}

impl Pacer {
    /// Starts the thread, if there is to be one, and says what the system refused.
    pub(crate) fn start(
        clock: Clock,
        experiment: &Experiment,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Self, Error> {
        if clock == Clock::Virtual {
            return Ok(Self::Virtual);
        }
        let plan = plan(experiment);
        let driver = Box::new(Driver::start(&plan)?);
        let notices = &driver.granted.notices;
        notices.iter().for_each(|notice| onlooker.event(&Event::Notice(notice)));
        Ok(Self::Real { driver, plan })
    }

    /// Adds to a header what only a real test has.
    pub(crate) fn describe(&self, header: &mut Header) {
        if let Self::Real { driver, .. } = self {
            header.started = machine::utc_now();
            header.machine.extend(machine_facts());
            header.machine.extend(driver.granted.facts.iter().cloned());
        }
    }
}

/// How the loop of an experiment runs against the clock.
pub(crate) fn plan(experiment: &Experiment) -> RealtimePlan {
    let spec = &experiment.realtime;
    RealtimePlan {
        period_s: experiment.integrator.step_s(),
        priority: spec.priority,
        cpu: spec.cpu.map_or(Cpu::Chosen, Cpu::Number),
        memory: spec.memory,
        overrun_limit: spec.overrun_limit,
        main_loop: experiment.main_loop.is_some().then_some(ThreadPlan {
            priority: spec.main_priority(),
            // The scheduler finds it a processor beside the tick's.
            cpu: Cpu::Any,
        }),
    }
}

/// How a record is written.
pub(crate) fn recording(experiment: &Experiment, clock: Clock) -> Options {
    let spec = &experiment.record;
    let batch_frames = flush_frames(experiment);
    match clock {
        // Flushes go by the test's own time, so that the same test gives the same
        // bytes; the ring is long enough for the writer to work in long strides.
        Clock::Virtual => {
            let ring_frames = spec.ring.unwrap_or(16_384);
            Options { ring_frames, batch_frames, ..Options::rehearsal() }
        }
        Clock::Real => {
            let usual = Options::real_time(experiment.integrator.rate_hz() / spec.every as f64);
            let ring_frames = spec.ring.unwrap_or(usual.ring_frames);
            let flush = Some(Duration::from_secs_f64(spec.flush_s));
            Options { ring_frames, batch_frames, flush, ..usual }
        }
    }
}

/// Frames between two flushes.
pub(crate) fn flush_frames(experiment: &Experiment) -> usize {
    let frames = experiment.record.flush_s * experiment.integrator.rate_hz()
        / experiment.record.every as f64;
    // A float-to-integer cast saturates.
    (frames.ceil() as usize).clamp(1, 65_536)
}
