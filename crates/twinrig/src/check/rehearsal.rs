//! A short rehearsal of what a prediction assumes.

use runtime::record::Record;
use runtime::stop::StopHandle;
use serde::Serialize;

use crate::assembly::Assembly;
use crate::error::Error;
use crate::forecast::Forecast;
use crate::loop_record::record_run;
use crate::onlooker::Silent;
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

/// What a prediction assumes, and what a rehearsal of the same file says of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rehearsal {
    /// What the prediction assumes.
    pub assumptions: Vec<&'static str>,
    /// How much of the test was rehearsed, s.
    pub duration_s: f64,
    /// What it found against the prediction.
    pub found: Option<Reason>,
}

/// What the prediction of a stable loop assumes.
fn assumptions(forecast: &Forecast, assembly: &Assembly) -> Vec<&'static str> {
    let shaping = &assembly.shaping;
    let limited = assembly.converter.saturation.is_finite()
        || shaping.saturation_m.is_some()
        || shaping.rate_m_s.is_some();
    let all = [
        (forecast.compensator.is_adaptive(), "adaptive compensator after convergence"),
        (!forecast.linear, "nonlinear elements with their initial stiffness"),
        (assembly.converter.quantum > 0.0, "a command without steps"),
        (limited, "an actuator without limits"),
    ];
    all.into_iter().filter_map(|(applies, words)| applies.then_some(words)).collect()
}

/// Rehearses what a stable prediction assumes; `None` where it assumes nothing, or the load comes
/// while the test runs.
pub(super) fn rehearse(test: &Test, forecast: &Forecast) -> Result<Option<Rehearsal>, Error> {
    let assembly = test.assembly()?;
    let assumptions = assumptions(forecast, assembly);
    if assumptions.is_empty() || forecast.is_unstable() || assembly.stream.is_some() {
        return Ok(None);
    }
    let states = 2 * assembly.structure.names.len();
    let most = TICKS.min(WORK / (states * states));
    let mut assembly = Assembly { faults: Vec::new(), remote: None, ..assembly.clone() };
    assembly.ticks = assembly.ticks.min(most.max(1));
    let folder = TemporaryFolder::new()?;
    let path = folder.path().join(RECORD);
    let (experiment, source) = (test.experiment(), test.source());
    let (pace, stop) = ((Clock::Virtual, None), StopHandle::default());
    record_run(experiment, source, &assembly, &path, Vec::new(), pace, &stop, &mut Silent)?;
    let verdict = report::summary(&Record::read(&path)?)?.verdict;
    let against =
        |reason: &Reason| AGAINST.contains(&reason.id.as_str()) && reason.level > Level::Doubtful;
    Ok(Some(Rehearsal {
        assumptions,
        duration_s: assembly.ticks as f64 * assembly.integrator.step_s,
        found: verdict.reasons.into_iter().find(against),
    }))
}

impl Rehearsal {
    /// In words.
    pub fn words(&self) -> String {
        let assumed = self.assumptions.join(", ");
        let rehearsed = crate::page::text::seconds(self.duration_s);
        match &self.found {
            None => format!("the prediction assumes: {assumed}; a rehearsal of {rehearsed} agrees"),
            Some(found) => format!(
                "the prediction assumes: {assumed}; a rehearsal of {rehearsed} does not bear it \
                 out: {}",
                found.text
            ),
        }
    }

    /// What it means for the verdict.
    pub(super) fn reason(&self) -> Option<Reason> {
        let remedy = "`twinrig run` shows what happens; choose a compensator that does not adapt, a \
                      smaller load, or an actuator that reaches further";
        self.found.as_ref()?;
        Some(Reason::new(Level::Doubtful, "rehearsal", self.words(), remedy))
    }
}
