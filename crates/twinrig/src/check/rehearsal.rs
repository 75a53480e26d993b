//! A short rehearsal of what a prediction assumes.

use std::time::{Duration, Instant};

use model::predictor::Design as Predictor;
use runtime::record::Record;
use runtime::stop::StopHandle;
use serde::Serialize;

use crate::assembly::Assembly;
use crate::error::Error;
use crate::forecast::Forecast;
use crate::loop_record::{Prediction, record_run};
use crate::onlooker::Onlooker;
use crate::pace::Clock;
use crate::report;
use crate::run_folder::{RECORD, TemporaryFolder};
use crate::test::Test;
use crate::verdict::{Level, Reason};

/// Most ticks of the load that are rehearsed, and most multiplications in them.
const TICKS: usize = 32_768;
const WORK: usize = 4_000_000_000;

/// Findings of a test that say that its loop was not stable.
const AGAINST: [&str; 5] =
    ["tripped", "stability_warning", "self_excited", "not_finite", "reference_error"];

/// Longest wait for a rehearsal before a real test; what it has shown by then counts.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a prediction assumes, and what a rehearsal of the same file says of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rehearsal {
    /// What the prediction assumes.
    pub assumptions: Vec<&'static str>,
    /// How much of the test was rehearsed, s.
    pub duration_s: f64,
    /// What it found against the prediction.
    pub found: Option<Reason>,
    /// Why it could not be rehearsed, if so.
    pub not_done: Option<String>,
}

/// For how long a rehearsal may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as it takes: the same on every machine.
    Endless,
    /// Somebody waits for the test.
    Short,
}

/// What the prediction of a stable loop assumes.
fn assumptions(forecast: &Forecast, assembly: &Assembly, unmodelled: bool) -> Vec<&'static str> {
    let shaping = &assembly.shaping;
    let limited = assembly.converter.saturation.is_finite()
        || shaping.saturation_m.is_some()
        || shaping.rate_m_s.is_some();
    let predicts =
        assembly.rates.is_some_and(|rates| matches!(rates.predictor, Predictor::Adaptive { .. }));
    let all = [
        (forecast.compensator.is_adaptive(), "adaptive compensator after convergence"),
        (predicts, "adaptive predictor after convergence"),
        (!forecast.linear, "nonlinear elements with their initial stiffness"),
        (assembly.converter.quantum > 0.0, "a command without steps"),
        (limited, "an actuator without limits"),
        (unmodelled, "a rig that follows at once"),
    ];
    all.into_iter().filter_map(|(applies, words)| applies.then_some(words)).collect()
}

/// Rehearses what a stable prediction assumes; `None` where it assumes nothing. A rehearsal that
/// cannot be done is no reason to refuse a test, but one to doubt it.
pub(crate) fn rehearse(
    test: &Test,
    assembly: &Assembly,
    forecast: &Forecast,
    patience: Patience,
) -> Option<Rehearsal> {
    let experiment = test.experiment();
    let elsewhere = assembly.remote.is_some() || experiment.rig.address.is_some();
    let unmodelled = elsewhere && !experiment.transfer_system.stated;
    let assumptions = assumptions(forecast, assembly, unmodelled);
    if assumptions.is_empty() || forecast.is_unstable() {
        return None;
    }
    let done = match () {
        () if unmodelled => Err("the file has no [transfer_system], a model of the rig".to_owned()),
        () if assembly.stream.is_some() => Err("its load comes while the test runs".to_owned()),
        () => rehearsed(test, assembly, patience).map_err(|error| error.to_string()),
    };
    let (duration_s, found, not_done) = match done {
        Ok((duration_s, found)) => (duration_s, found, None),
        Err(why) => (0.0, None, Some(why)),
    };
    Some(Rehearsal { assumptions, duration_s, found, not_done })
}

/// How much was rehearsed, and what that says against a stable loop.
fn rehearsed(
    test: &Test,
    assembly: &Assembly,
    patience: Patience,
) -> Result<(f64, Option<Reason>), Error> {
    let states = 2 * assembly.structure.names.len();
    let most = TICKS.min(WORK / (states * states));
    let mut assembly = Assembly { faults: Vec::new(), remote: None, ..assembly.clone() };
    assembly.ticks = assembly.ticks.min(most.max(1));
    let folder = TemporaryFolder::new()?;
    let path = folder.path().join(RECORD);
    let (experiment, source) = (test.experiment(), test.source());
    let (pace, stop) = ((Clock::Virtual, None), StopHandle::default());
    let until = (patience == Patience::Short).then(|| Instant::now() + PATIENCE);
    let mut clock = Impatient { stop: &stop, until };
    let prediction = Prediction::default();
    record_run(experiment, source, &assembly, &path, prediction, pace, &stop, &mut clock)?;
    let record = Record::read(&path)?;
    let verdict = report::summary(&record)?.verdict;
    let stopped = record.summary.as_ref().and_then(|summary| summary.trip.as_ref());
    let stopped = stopped.filter(|_| stop.presses() > 0).map(|trip| trip.time_s);
    let duration_s = stopped.unwrap_or(assembly.ticks as f64 * assembly.integrator.step_s);
    let against =
        |reason: &Reason| AGAINST.contains(&reason.id.as_str()) && reason.level > Level::Doubtful;
    Ok((duration_s, verdict.reasons.into_iter().find(against)))
}

/// Ends a rehearsal when its time is over.
struct Impatient<'a> {
    stop: &'a StopHandle,
    until: Option<Instant>,
}

impl Onlooker for Impatient<'_> {
    fn progress(&mut self, _done: u64, _of: u64) {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            // Held, led home, frozen: nothing is moved, and it ends at once.
            self.stop.press();
        }
    }
}

impl Rehearsal {
    /// In words.
    pub fn words(&self) -> String {
        let assumed = self.assumptions.join(", ");
        let rehearsed = crate::page::text::seconds(self.duration_s);
        match (&self.found, &self.not_done) {
            (_, Some(why)) => {
                format!("the prediction assumes: {assumed}; it could not be rehearsed: {why}")
            }
            (None, None) => {
                format!("the prediction assumes: {assumed}; a rehearsal of {rehearsed} agrees")
            }
            (Some(found), None) => format!(
                "the prediction assumes: {assumed}; a rehearsal of {rehearsed} does not bear it \
                 out: {}",
                found.text
            ),
        }
    }

    /// What it means for the verdict.
    pub(crate) fn reason(&self) -> Option<Reason> {
        if self.not_done.is_some() {
            let remedy = "rehearse it with a model of the rig and a load of its own first";
            return Some(Reason::new(Level::Doubtful, "not_rehearsed", self.words(), remedy));
        }
        let remedy = "`twinrig run` shows what happens; choose a compensator that does not adapt, a \
                      smaller load, or an actuator that reaches further";
        self.found.as_ref()?;
        Some(Reason::new(Level::Doubtful, "rehearsal", self.words(), remedy))
    }
}
