//! What a study will need, before it is begun: memory and computing time.
//!
//! The counts are exact (degrees of freedom, steps, frames, channels); what each costs is measured,
//! to a factor of about two.

use experiment::Experiment;
use experiment::excitation::SignalSource;
use experiment::watch::{RecordedDofs, RecordedMotion};

use crate::error::Error;
use crate::page::text::number_or_dash;
use crate::words::rounded;

/// Bytes of a number.
const NUMBER: f64 = 8.0;
/// Square matrices of a structure's size that its models, modes and stability need together.
const MATRICES: f64 = 100.0;
/// Of modes and stability, in seconds per cube of the degrees of freedom.
const MODES_S: f64 = 3e-8;
/// Of a step and its reference: at least, and per square of the degrees of freedom, s.
const STEP_S: [f64; 2] = [2e-6, 5e-9];
/// Numbers of a frame beside the degrees of freedom.
const CHANNELS: f64 = 18.0;
/// Signals of the size of a load while it is made.
const LOAD_COPIES: f64 = 3.0;
/// Fewest periods that one point of a response takes, by one evaluation and its correction.
const PERIODS: f64 = 20.0;
/// Numbers that are kept of each sample of a period.
const PERIOD_CHANNELS: f64 = 16.0;
/// What takes longer is said beforehand, s.
const LONG_S: f64 = 60.0;
/// The share of the memory allowed that is said beforehand.
const MUCH: f64 = 0.25;

/// What a study may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Memory, bytes.
    pub memory_bytes: f64,
    /// Computing time, s.
    pub time_s: f64,
}

impl Default for Budget {
    /// 4 GB and a day.
    fn default() -> Self {
        Self { memory_bytes: 4e9, time_s: 86_400.0 }
    }
}

/// What a study needs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Estimate {
    /// What needs how much.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
struct Part {
    what: String,
    memory_bytes: f64,
    time_s: f64,
    remedy: &'static str,
}

impl Estimate {
    /// The models of a test with their loads. A mesh that is reduced is counted by its reader.
    pub fn models(experiment: &Experiment) -> Self {
        let n = dofs(experiment);
        let mut signals: Vec<&SignalSource> =
            experiment.excitation.forces.iter().map(|force| &force.signal.0).collect();
        signals.extend(experiment.excitation.ground.iter().map(|ground| &ground.signal));
        signals.retain(|signal| !matches!(signal, SignalSource::Streamed(_)));
        let (ticks, loads) = (experiment.ticks() as f64, signals.len() as f64);
        let matrices = Part {
            what: format!("the matrices of {n} DOFs"),
            memory_bytes: MATRICES * NUMBER * n * n,
            time_s: MODES_S * n.powi(3),
            remedy: "use fewer DOFs, or reduce the structure ([reduction])",
        };
        let loads = Part {
            what: format!("loads of {ticks} steps"),
            memory_bytes: LOAD_COPIES * NUMBER * loads * ticks,
            time_s: 0.0,
            remedy: "shorten the test, or lower the rate",
        };
        Self { parts: vec![matrices, loads] }
    }

    /// A test, whose record is read for its report.
    pub fn run(experiment: &Experiment) -> Self {
        let (n, ticks) = (dofs(experiment), experiment.ticks() as f64);
        let per_dof = match (experiment.record.displacements, experiment.record.motion) {
            (RecordedDofs::Interface, _) => 0.0,
            (RecordedDofs::All, RecordedMotion::Displacement) => 2.0,
            (RecordedDofs::All, RecordedMotion::Full) => 4.0,
        };
        let frames = (ticks / experiment.record.every as f64).ceil();
        Self::models(experiment).and(Part {
            what: format!("{frames} frames"),
            memory_bytes: NUMBER * frames * (CHANNELS + per_dof * n),
            time_s: steps_s(n, ticks),
            remedy: "shorten the test, lower the rate, raise record.every, or record the \
                     interface only (record.displacements)",
        })
    }

    /// The response of an iterative test: at least its point of the lowest frequency.
    pub fn trace(experiment: &Experiment) -> Self {
        let models = Self::models(experiment);
        let Some(trace) = &experiment.trace else { return models };
        let low_hz = trace.band_hz().0;
        let samples = experiment.integrator.rate_hz() / low_hz;
        let [at, of] = [low_hz, samples].map(|value| number_or_dash(Some(value)));
        models.and(Part {
            what: format!("periods of {of} samples at {at} Hz"),
            memory_bytes: NUMBER * PERIOD_CHANNELS * samples,
            time_s: steps_s(dofs(experiment), PERIODS * samples),
            remedy: "raise the lowest frequency, or lower the rate",
        })
    }

    /// The same so many times, by so many threads at once.
    pub fn times(mut self, count: f64, threads: usize) -> Self {
        let at_once = count.clamp(1.0, threads.max(1) as f64);
        for part in &mut self.parts {
            part.memory_bytes *= at_once;
            part.time_s *= count / at_once;
        }
        self
    }

    fn and(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Memory, bytes.
    pub fn memory_bytes(&self) -> f64 {
        self.parts.iter().map(|part| part.memory_bytes).sum()
    }

    /// Computing time, s.
    pub fn time_s(&self) -> f64 {
        self.parts.iter().map(|part| part.time_s).sum()
    }

    /// Refuses what is beyond a budget, and names what needs most. What is large within it is
    /// said.
    pub fn within(&self, budget: &Budget) -> Result<Option<String>, Error> {
        let (memory, time) = (self.memory_bytes(), self.time_s());
        // What is no number has not been shown to fit.
        let fits = |value: f64, most: f64| value <= most;
        let refused = |of: fn(&Part) -> f64, needed: String, allowed: String| {
            let most = self.parts.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
            let (what, remedy) = most.map_or((String::new(), ""), |p| (p.what.clone(), p.remedy));
            Err(Error::TooMuch { what, needed, allowed, remedy })
        };
        if !fits(memory, budget.memory_bytes) {
            return refused(|part| part.memory_bytes, bytes(memory), bytes(budget.memory_bytes));
        }
        if !fits(time, budget.time_s) {
            return refused(|part| part.time_s, duration(time), duration(budget.time_s));
        }
        let large = memory > MUCH * budget.memory_bytes || time > LONG_S;
        let words = || format!("this needs about {} and {}", bytes(memory), duration(time));
        Ok(large.then(words))
    }
}

/// Degrees of freedom that the loop steps, where the file tells them.
fn dofs(experiment: &Experiment) -> f64 {
    let whole = experiment.structure.size().filter(|_| experiment.reduction.is_none());
    whole.unwrap_or_default() as f64
}

fn steps_s(n: f64, steps: f64) -> f64 {
    steps * (STEP_S[0] + STEP_S[1] * n * n)
}

fn bytes(value: f64) -> String {
    format!("{} GB of memory", rounded(1e-9 * value))
}

fn duration(value: f64) -> String {
    let (unit, size) = [("days", 86_400.0), ("h", 3600.0), ("min", 60.0)]
        .into_iter()
        .find(|(_, size)| value >= 2.0 * size)
        .unwrap_or(("s", 1.0));
    format!("{} {unit} of computing", number_or_dash(Some(value / size)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::Test;

    fn experiment(values: &[(&str, &str)]) -> Experiment {
        example("02-shear-building", values)
    }

    fn example(name: &str, values: &[(&str, &str)]) -> Experiment {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let test = Test::load(format!("{examples}/{name}/experiment.toml"))
            .and_then(|test| test.with_values(values.iter().copied()));
        test.expect("an example with other values").experiment().clone()
    }

    /// By hand: 30 720 frames of 18 numbers and twice five DOFs.
    #[test]
    fn a_run_needs_its_frames() {
        let run = Estimate::run(&experiment(&[]));
        let models = Estimate::models(&experiment(&[]));
        assert_eq!(run.memory_bytes() - models.memory_bytes(), 30_720.0 * 28.0 * 8.0);
        assert_eq!(models.memory_bytes(), 100.0 * 8.0 * 25.0 + 3.0 * 8.0 * 30_720.0);
        assert_eq!(run.within(&Budget::default()).expect("small"), None);
    }

    #[test]
    fn what_would_not_end_is_refused_with_what_needs_most() {
        let refused = |estimate: Estimate| match estimate.within(&Budget::default()) {
            Err(error) => error.to_string(),
            Ok(said) => panic!("{said:?}"),
        };
        let tall = refused(Estimate::models(&experiment(&[(
            "structure.shear_building.storeys",
            "20000",
        )])));
        assert!(tall.contains("matrices of 20000 DOFs") && tall.contains("320 GB"), "{tall}");
        let long = experiment(&[("duration", "1e6 s"), ("integrator.rate", "1 kHz")]);
        let long = refused(Estimate::run(&long));
        let slow = example("09-iterative-linear", &[("trace.frequency[1]", "1e-300 Hz")]);
        let slow = refused(Estimate::trace(&slow));
        assert!(slow.contains("samples at 1.000e-300 Hz"), "{slow}");
        assert!(long.contains("1000000000 frames") && long.contains("at most 4.00 GB"), "{long}");
    }

    #[test]
    fn a_budget_can_be_raised_and_what_is_large_is_said() {
        let long = experiment(&[("duration", "1e5 s"), ("integrator.rate", "1 kHz")]);
        let run = Estimate::run(&long);
        assert!(run.within(&Budget::default()).is_err());
        let more = Budget { memory_bytes: 1e11, ..Budget::default() };
        let said = run.within(&more).expect("allowed");
        assert!(said.is_some_and(|said| said.contains("24.8 GB of memory")), "said");
        let nothing = Budget { time_s: f64::NAN, ..more };
        assert!(run.within(&nothing).is_err());
    }
}
