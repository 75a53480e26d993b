//! Real time on this machine: our wake-up latency beside cyclictest's.

mod cyclictest;

use runtime::realtime::{Cpu, Driver, Granted, Latency, Memory, RealtimePlan, Timing};
use runtime::record::{Options, Recorder};
use runtime::stop::StopHandle;
use serde::Serialize;

use crate::assembly::{Assembly, LoopOptions, Recording};
use crate::error::Error;
use crate::notes::bare_header;
use crate::run_folder::TemporaryFolder;
use experiment::{Diagnostics, Embedded, Experiment};

use cyclictest::{Cyclictest, CyclictestError};

/// Longest slice: ours and cyclictest's take turns, so that a noisy neighbour
/// meets both.
const SLICE_S: f64 = 5.0;
/// Longest measurement of the large model.
const LARGE_S: f64 = 10.0;
/// As high as the default of `[realtime]`.
const PRIORITY: u8 = 80;

/// Our p50 and p99 should not exceed cyclictest's by more.
const GOAL_RATIO: f64 = 1.3;
/// A tick of the large model should not take more of its period.
const GOAL_LOAD: f64 = 0.2;

/// Latencies in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latencies {
    /// Half are shorter.
    pub p50_s: f64,
    /// 99 of 100 are shorter.
    pub p99_s: f64,
    /// The longest.
    pub max_s: f64,
}

/// Our loop at one rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ours {
    /// Ticks per second.
    pub rate_hz: f64,
    /// How late each tick began.
    pub wake_up: Latencies,
    /// How long half of the ticks took at most.
    pub execution_p50_s: f64,
    /// The same of 99 in 100.
    pub execution_p99_s: f64,
    /// Share of the period that half of the ticks took at most.
    pub load_p50: f64,
    /// The same of 99 in 100.
    pub load_p99: f64,
    /// Ticks late by a period or more.
    pub overruns: u64,
    /// Periods without a tick.
    pub missed: u64,
    /// Frames written.
    pub frames: u64,
    /// Frames lost.
    pub frames_lost: u64,
}

/// One rate, ours and cyclictest's in the same minute.
#[derive(Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Ours.
    #[serde(flatten)]
    pub ours: Ours,
    /// Cyclictest's.
    #[serde(flatten)]
    pub theirs: Theirs,
}

/// Cyclictest's, or why there is none.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Theirs {
    /// It ran.
    Measured {
        /// Its latencies.
        cyclictest: Latencies,
        /// Ours over its own.
        ratio_p50: f64,
        /// See `ratio_p50`.
        ratio_p99: f64,
        /// Its period, whole microseconds as it takes them.
        #[serde(skip)]
        interval_us: u64,
    },
    /// It did not.
    Missing {
        /// Why.
        cyclictest_error: String,
    },
}

/// Everything measured.
#[derive(Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Asked for each rate.
    pub seconds: u32,
    /// One entry per rate.
    pub rates: Vec<Comparison>,
    /// 10 kHz with a numerical part of 100 states.
    pub large: Ours,
    /// What our p50 and p99 should be of cyclictest's, at most.
    pub goal_ratio: f64,
    /// The share of its period that a tick of the large model should take, at most.
    pub goal_load: f64,
    /// What the system granted to the last loop.
    pub facts: Vec<(String, String)>,
    /// What it refused.
    pub notices: Vec<String>,
}

/// Measures. `seconds` for each of the two rates, for us and for cyclictest.
pub fn measure(seconds: u32, mut progress: impl FnMut(&str)) -> Result<Measured, Error> {
    let each_s = f64::from(seconds);
    let rates = [1000.0, 4096.0].map(|rate_hz| compare(rate_hz, each_s, &mut progress));
    let rates = rates.into_iter().collect::<Result<_, _>>()?;
    progress("10 kHz with a model of 100 states");
    let large = run(&assembly(50, 10_000.0, each_s.min(LARGE_S))?)?;
    Ok(Measured {
        seconds,
        rates,
        large: large.numbers(),
        goal_ratio: GOAL_RATIO,
        goal_load: GOAL_LOAD,
        facts: large.granted.facts,
        notices: large.granted.notices,
    })
}

fn compare(
    rate_hz: f64,
    seconds: f64,
    progress: &mut dyn FnMut(&str),
) -> Result<Comparison, Error> {
    let slices = (seconds / SLICE_S).ceil().max(1.0);
    let slice_s = seconds / slices;
    let assembly = assembly(3, rate_hz, slice_s)?;
    let mut ours: Option<Slices> = None;
    let mut theirs: Option<Result<Cyclictest, CyclictestError>> = None;
    for slice in 0..slices as usize {
        progress(&format!("{rate_hz} Hz, slice {} of {slices}, ours", slice + 1));
        let part = run(&assembly)?;
        let (priority, cpu) = (part.granted.priority, part.granted.cpu);
        match &mut ours {
            Some(ours) => ours.add(&part),
            None => ours = Some(part),
        }
        if !matches!(theirs, Some(Err(_))) {
            progress(&format!("{rate_hz} Hz, slice {} of {slices}, cyclictest", slice + 1));
            let part = Cyclictest::run(rate_hz, slice_s, priority, cpu);
            theirs = Some(match (theirs, part) {
                (Some(Ok(sum)), Ok(part)) => Ok(sum.plus(&part)),
                (_, part) => part,
            });
        }
    }
    let ours = ours.expect("there is at least one slice").numbers();
    let theirs = match theirs.unwrap_or(Err(CyclictestError::NotRun)) {
        Ok(found) => {
            let of = found.latencies();
            Theirs::Measured {
                cyclictest: of,
                ratio_p50: ours.wake_up.p50_s / of.p50_s,
                ratio_p99: ours.wake_up.p99_s / of.p99_s,
                interval_us: found.interval_us,
            }
        }
        Err(why) => Theirs::Missing { cyclictest_error: why.to_string() },
    };
    Ok(Comparison { ours, theirs })
}

/// Runs of a loop, summed.
struct Slices {
    timing: Timing,
    rate_hz: f64,
    frames: u64,
    frames_lost: u64,
    /// What the system granted.
    granted: Granted,
}

impl Slices {
    fn add(&mut self, other: &Self) {
        self.timing.wake_up.add(&other.timing.wake_up);
        self.timing.execution.add(&other.timing.execution);
        self.timing.overruns.count += other.timing.overruns.count;
        self.timing.overruns.missed += other.timing.overruns.missed;
        self.frames += other.frames;
        self.frames_lost += other.frames_lost;
    }

    fn numbers(&self) -> Ours {
        let Timing { wake_up, execution, overruns, .. } = &self.timing;
        let at = |latency: &Latency, share: f64| 1e-9 * latency.quantile_ns(share) as f64;
        let (p50_s, p99_s) = (at(execution, 0.5), at(execution, 0.99));
        Ours {
            rate_hz: self.rate_hz,
            wake_up: Latencies {
                p50_s: at(wake_up, 0.5),
                p99_s: at(wake_up, 0.99),
                max_s: 1e-9 * wake_up.max_ns() as f64,
            },
            execution_p50_s: p50_s,
            execution_p99_s: p99_s,
            load_p50: p50_s * self.rate_hz,
            load_p99: p99_s * self.rate_hz,
            overruns: overruns.count,
            missed: overruns.missed,
            frames: self.frames,
            frames_lost: self.frames_lost,
        }
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
fn run(assembly: &Assembly) -> Result<Slices, Error> {
    let folder = TemporaryFolder::new()?;
    let record = folder.path().join("record.arrow");
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
        Recorder::create(&record, &header, &assembly.channels(), Vec::new(), &options)?;
    let loop_options = LoopOptions { constant_j: 1.0, recording: Recording::Into(sink) };
    let hybrid = assembly.hybrid_loop(assembly.plant()?, assembly.load(), loop_options);
    let finished = driver.run(hybrid, &StopHandle::default(), |_| {})?;
    let (ticks, timing) = (finished.test.ticks(), finished.timing);
    drop(finished.test);
    let summary = handle.finish(ticks, None)?;
    let rate_hz = 1.0 / plan.period_s;
    let (frames, frames_lost) = (summary.frames, summary.frames_lost);
    Ok(Slices { timing, rate_hz, frames, frames_lost, granted })
}
