//! Real time on this machine: our wake-up latency beside cyclictest's.

mod cyclictest;

use std::path::Path;

use runtime::realtime::{Cpu, Driver, Granted, Latency, Memory, RealtimePlan};
use runtime::record::{Ending, Options, Recorder};
use runtime::stop::StopHandle;

use crate::assembly::{Assembly, LoopOptions, Recording};
use crate::error::Error;
use crate::notes::bare_header;
use crate::run_folder::TemporaryFolder;
use experiment::{Diagnostics, Embedded, Experiment};

pub use cyclictest::{Cyclictest, CyclictestError};

/// Longest slice: ours and cyclictest's take turns, so that a noisy neighbour
/// meets both.
const SLICE_S: f64 = 5.0;
/// Longest measurement of the large model.
const LARGE_S: f64 = 10.0;
/// As high as the default of `[realtime]`.
const PRIORITY: u8 = 80;

/// Our loop at one rate.
#[derive(Debug, Clone)]
pub struct Ours {
    /// Ticks per second.
    pub rate_hz: f64,
    /// How late each tick began.
    pub wake_up: Latency,
    /// How long each took.
    pub execution: Latency,
    /// Ticks late by a period or more.
    pub overruns: u64,
    /// Periods without a tick.
    pub missed: u64,
    /// Frames written.
    pub frames: u64,
    /// Frames lost.
    pub frames_lost: u64,
    /// What the system granted.
    pub granted: Granted,
}

/// One rate, ours and cyclictest's in the same minute.
#[derive(Debug)]
pub struct Comparison {
    /// Ours.
    pub ours: Ours,
    /// Cyclictest's, or why there is none.
    pub theirs: Result<Cyclictest, CyclictestError>,
}

/// Everything measured.
#[derive(Debug)]
pub struct Measured {
    /// One entry per rate.
    pub comparisons: Vec<Comparison>,
    /// 10 kHz with a numerical part of 100 states.
    pub large: Ours,
}

/// Measures. `seconds` for each of the two rates, for us and for cyclictest.
pub fn measure(seconds: f64, mut progress: impl FnMut(&str)) -> Result<Measured, Error> {
    let mut comparisons = Vec::new();
    for rate_hz in [1000.0, 4096.0] {
        comparisons.push(compare(rate_hz, seconds, &mut progress)?);
    }
    progress("10 kHz with a model of 100 states");
    let large = run(&assembly(50, 10_000.0, seconds.min(LARGE_S))?)?;
    Ok(Measured { comparisons, large })
}

fn compare(
    rate_hz: f64,
    seconds: f64,
    progress: &mut dyn FnMut(&str),
) -> Result<Comparison, Error> {
    let slices = (seconds / SLICE_S).ceil().max(1.0);
    let slice_s = seconds / slices;
    let assembly = assembly(3, rate_hz, slice_s)?;
    let mut ours: Option<Ours> = None;
    let mut theirs: Option<Result<Cyclictest, CyclictestError>> = None;
    for slice in 0..slices as usize {
        progress(&format!("{rate_hz} Hz, slice {} of {slices}, ours", slice + 1));
        let part = run(&assembly)?;
        let granted = part.granted.clone();
        match &mut ours {
            Some(ours) => ours.add(&part),
            None => ours = Some(part),
        }
        if !matches!(theirs, Some(Err(_))) {
            progress(&format!("{rate_hz} Hz, slice {} of {slices}, cyclictest", slice + 1));
            let part = Cyclictest::run(rate_hz, slice_s, granted.priority, granted.cpu);
            theirs = Some(match (theirs, part) {
                (Some(Ok(sum)), Ok(part)) => Ok(sum.plus(&part)),
                (_, part) => part,
            });
        }
    }
    let theirs = theirs.unwrap_or(Err(CyclictestError::NotRun));
    let ours = ours.expect("there is at least one slice");
    Ok(Comparison { ours, theirs })
}

impl Ours {
    fn add(&mut self, other: &Self) {
        self.wake_up.add(&other.wake_up);
        self.execution.add(&other.execution);
        self.overruns += other.overruns;
        self.missed += other.missed;
        self.frames += other.frames;
        self.frames_lost += other.frames_lost;
    }

    /// Share of the period that a tick takes, in all but so many.
    pub fn load(&self, share: f64) -> f64 {
        1e-9 * self.execution.quantile_ns(share) as f64 * self.rate_hz
    }
}

/// A shear building on a short delay: `storeys` masses, twice as many states.
fn assembly(storeys: usize, rate_hz: f64, seconds: f64) -> Result<Assembly, Error> {
    let text = format!(
        "title = \"bench\"\nduration = \"{seconds} s\"\n\
         [structure]\nshear_building = {{ storeys = {storeys}, mass = \"20 t\", stiffness = \
         \"40 MN/m\" }}\ndamping = {{ modal = \"3 %\" }}\n\
         [partition]\ninterface = [1]\nmass = [\"200 kg\"]\ndamping = [\"1 kN s/m\"]\n\
         stiffness = [\"2 MN/m\"]\n\
         [excitation]\nground = {{ harmonic = {{ amplitude = \"1 m/s^2\", frequency = \"2 Hz\" }} }}\n\
         [integrator]\nmethod = \"exact\"\nrate = \"{rate_hz} Hz\"\n\
         [transfer_system]\nkind = \"delay\"\nsamples = 2\n\
         [sensors]\ndisplacement_noise = \"1 um\"\nforce_noise = \"2 N\"\n\
         [limits]\ncommand = \"1 m\"\n"
    );
    let wrong = |found: Diagnostics| Error::BuiltIn(Box::new(found));
    let source = Embedded::new(&[]);
    let (experiment, _) = Experiment::from_text("bench", &text, &source).map_err(wrong)?;
    Ok(Assembly::new(&experiment, &source).map_err(wrong)?.0)
}

/// Runs in real time into a record, as a test would.
fn run(assembly: &Assembly) -> Result<Ours, Error> {
    let folder = TemporaryFolder::new()?;
    run_into(assembly, &folder.path().join("record.arrow"))
}

fn run_into(assembly: &Assembly, record: &Path) -> Result<Ours, Error> {
    let plan = RealtimePlan {
        period_s: assembly.integrator.step_s,
        priority: PRIORITY,
        cpu: Cpu::Chosen,
        memory: Memory::Locked,
        // Nothing moves: it is counted, not stopped.
        overrun_limit: u64::MAX,
        main_loop: None,
    };
    let driver = Driver::start(&plan)?;
    let granted = driver.granted.clone();
    let header = bare_header(assembly);
    let options = Options::real_time(1.0 / assembly.integrator.step_s);
    let (sink, handle) =
        Recorder::create(record, &header, &assembly.channels(), Vec::new(), &options)?;
    let loop_options = LoopOptions { constant_j: 1.0, recording: Recording::Into(sink) };
    let hybrid = assembly.hybrid_loop(assembly.plant()?, assembly.load(), loop_options);
    let finished = driver.run(hybrid, &StopHandle::default(), |_| {})?;
    let (ticks, timing) = (finished.test.ticks(), finished.timing);
    drop(finished.test);
    let summary = handle.finish(Ending { ticks, trip: None })?;
    Ok(Ours {
        rate_hz: 1.0 / plan.period_s,
        wake_up: timing.wake_up,
        execution: timing.execution,
        overruns: timing.overruns.count,
        missed: timing.overruns.missed,
        frames: summary.frames,
        frames_lost: summary.frames_lost,
        granted,
    })
}
