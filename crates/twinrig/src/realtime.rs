//! A test in real time, from experiment to record.

use std::path::Path;

use runtime::host::RealTime;
use runtime::interlock::Phase;
use runtime::realtime::{
    Cpu, Driver, RealtimeError, RealtimePlan, Status, ThreadPlan, machine_facts,
};
use runtime::record::{Durability, Ending, Existing, Options, Recorder, Summary};
use runtime::stop::StopHandle;
use thiserror::Error;

use crate::assembly::{Assembly, LoopOptions, Recording};
use crate::hosted::{HostError, Hosting, join, part};
use crate::rehearsal::{
    Expected, Outcome, RehearsalError, events, flush_frames, header, trip_note,
};
use crate::{machine, remote};
use experiment::{Experiment, Source};

/// Why a test did not take place, or has no record.
#[derive(Debug, Error)]
pub enum RunError {
    /// What a rehearsal would have met as well.
    #[error(transparent)]
    Rehearsal(#[from] RehearsalError),
    /// The threads of the loop.
    #[error(transparent)]
    Realtime(#[from] RealtimeError),
}

impl RunError {
    /// How the test ended, where it did and only its record failed.
    pub fn unrecorded(&self) -> Option<&Summary> {
        match self {
            Self::Rehearsal(error) => error.unrecorded(),
            Self::Realtime(_) => None,
        }
    }
}

/// Who looks on while a test runs. Called from a thread that the loop does not
/// wait for.
pub trait Onlooker {
    /// The system refused something; said before the first tick.
    fn notice(&mut self, notice: &str);
    /// Ten times a second.
    fn look(&mut self, status: &Status);
}

/// How the loop of an experiment runs against the clock.
pub fn plan(experiment: &Experiment) -> RealtimePlan {
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

/// Runs the test against the clock and writes its record. A record that is
/// there already is never overwritten.
pub fn run(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    record: &Path,
    host: Option<Hosting>,
    stop: &StopHandle,
    onlooker: &mut dyn Onlooker,
) -> Result<Outcome, RunError> {
    if assembly.stream.is_some() && host.is_none() {
        return Err(RehearsalError::from(HostError::NoHost).into());
    }
    let load = assembly.load();
    let Expected { constant_j, columns } =
        Expected::of(assembly, &load).map_err(RehearsalError::from)?;
    let plan = plan(experiment);
    // From here on, so that whatever is allocated below is kept in place too.
    let driver = Driver::start(&plan)?;
    let granted = driver.granted.clone();
    granted.notices.iter().for_each(|notice| onlooker.notice(notice));
    let mut header = header(experiment, source, assembly)?;
    header.started = machine::utc_now();
    header.machine.extend(machine_facts());
    header.machine.extend(granted.facts.iter().cloned());
    let options = options(experiment);
    let (sink, mut handle) =
        Recorder::create(record, &header, &assembly.channels(), columns, &options)
            .map_err(RehearsalError::from)?;
    let loop_options = LoopOptions { constant_j, recording: Recording::Into(sink) };
    // Before the laboratory is asked to close the loop: from there on a signal
    // must be a stop that it hears of.
    let attended = stop.attend();
    let plant = remote::plant(assembly)?;
    let hybrid = assembly.hybrid_loop(plant, load, loop_options);
    let (hybrid, link) = join(experiment, assembly, hybrid, host, stop, RealTime::Yes)
        .map_err(RehearsalError::from)?;
    let finished = driver.run(hybrid, stop, |status| onlooker.look(status))?;
    drop(attended);
    let (hybrid, timing) = (finished.test, finished.timing);
    let trip = hybrid.tripped().map(|(trip, time_s)| trip_note(&trip, time_s));
    let ticks = hybrid.ticks();
    let main_loop = hybrid.two_rates().map(|model| model.counts);
    let wire = hybrid.link().copied();
    for note in events(assembly, &hybrid) {
        handle.note(note);
    }
    let step_s = assembly.integrator.step_s;
    for note in link.into_iter().flat_map(|link| part(link, &hybrid, step_s)) {
        handle.note(note);
    }
    handle.note_timing(Driver::note(&plan, &granted, &timing));
    // The sink goes with the loop: the writer then knows that no frame follows.
    drop(hybrid);
    let summary = handle.finish(Ending { ticks, trip }).map_err(RehearsalError::from)?;
    Ok(Outcome { summary, constant_j, main_loop, link: wire })
}

/// How the record of a real test is written.
pub(crate) fn options(experiment: &Experiment) -> Options {
    let spec = &experiment.record;
    let usual = Options::real_time(experiment.integrator.rate_hz() / spec.every as f64);
    Options {
        ring_frames: spec.ring.unwrap_or(usual.ring_frames),
        batch_frames: flush_frames(experiment),
        flush: Some(std::time::Duration::from_secs_f64(spec.flush_s)),
        durability: Durability::PowerLoss,
        existing: Existing::Keep,
    }
}

/// A phase in a word, by its number.
pub fn phase_word(phase: u8) -> &'static str {
    const RUNNING: u8 = Phase::Running as u8;
    const HOLDING: u8 = Phase::Holding as u8;
    const RAMPING: u8 = Phase::Ramping as u8;
    const SAFE: u8 = Phase::Safe as u8;
    const INITIATING: u8 = Phase::Initiating as u8;
    const COMPLETING: u8 = Phase::Completing as u8;
    const HOMING: u8 = Phase::Homing as u8;
    const FROZEN: u8 = Phase::Frozen as u8;
    match phase {
        RUNNING => "running",
        HOLDING => "HOLDING",
        RAMPING => "RAMPING",
        SAFE => "safe",
        INITIATING => "initiating",
        COMPLETING => "completing",
        HOMING => "going home",
        FROZEN => "FROZEN",
        _ => "under way",
    }
}
