//! The verdict on a test that took place: what was predicted, how it ended, how close it came.

use analysis::criteria::{Measure, Subject};
use analysis::self_excited::self_excited;
use experiment::VerdictSpec;
use runtime::verdict::{Level, Reason, Verdict};

use super::findings::Findings;
use super::outcome::Status;
use super::rig_limits;
use crate::page::text::{counted, label, seconds};
use crate::words::number;

/// What helps where a loop moves by itself.
const CALM: &str = "less delay, a compensator, or less of the structure in the laboratory";

/// All that speaks against the result.
pub(super) fn verdict(findings: &Findings<'_>) -> Verdict {
    let predicted = findings.view.record.header.prediction.iter().cloned();
    let known = ending(findings).into_iter().chain(predicted);
    let known = known.chain(instability(findings)).chain(gaps(findings));
    // A record without a file that can be read has no thresholds.
    let thresholds = findings.experiment.as_ref().map(|experiment| experiment.verdict);
    let measured = thresholds.iter().flat_map(|thresholds| {
        let oscillation = oscillation(findings, thresholds).into_iter();
        let limits = rig_limits::reasons(findings, thresholds);
        let errors = errors(findings, thresholds).into_iter().chain(limits);
        oscillation.chain(errors).chain(late(findings, thresholds))
    });
    known.chain(measured).collect()
}

/// A test that did not end as it should.
fn ending(findings: &Findings<'_>) -> Option<Reason> {
    let outcome = &findings.outcome;
    let said = outcome.statements.first().cloned().unwrap_or_default();
    let reason = |level, id: &str, remedy: &str| Some(Reason::new(level, id, said, remedy));
    match (&outcome.trip, outcome.status) {
        (Some(trip), _) if trip.is_stop() => {
            reason(Level::Doubtful, "stopped", "what follows the stop was not tested")
        }
        (Some(_), _) => reason(Level::Unsafe, "tripped", "find the cause before the rig is armed"),
        (None, Status::LoadBrokeOff) => reason(Level::Wrong, "load_broke_off", "repeat the test"),
        (None, Status::Completed | Status::Tripped) => None,
        (None, Status::Incomplete | Status::CutOff) => {
            reason(Level::Doubtful, "incomplete", "the numbers hold for what was recorded")
        }
    }
}

/// The specimen gave the structure more energy than damping took out.
fn instability(findings: &Findings<'_>) -> Option<Reason> {
    let at = findings.warning_reached_s?;
    let text = format!("the stability warning reached 100 % at {}", seconds(at));
    Some(Reason::new(Level::Unsafe, "stability_warning", text, CALM))
}

/// A motion that the load does not explain.
fn oscillation(findings: &Findings<'_>, thresholds: &VerdictSpec) -> Option<Reason> {
    let (view, rate_hz) = (&findings.view, findings.view.frame_rate_hz()?);
    let found = view.interfaces.iter().filter_map(|interface| {
        let reference = view.running(interface.reference?);
        let found = self_excited(&view.running(&interface.measured), &reference, rate_hz)?;
        Some((found, interface))
    });
    let (found, interface) = found.max_by(|(a, _), (b, _)| a.share.total_cmp(&b.share))?;
    Reason::beyond(thresholds.chatter, found.share, "self_excited", |threshold| {
        let text = format!(
            "interface DOF {} oscillates by itself at {} Hz with {} mm, {} % of its motion; {} % \
             allowed",
            label(&interface.name),
            number(found.frequency_hz),
            number(1e3 * found.amplitude),
            number(100.0 * found.share),
            number(100.0 * threshold),
        );
        (text, CALM.to_owned())
    })
}

/// Errors of tracking, and against the whole structure, of the worst interface DOF.
fn errors(findings: &Findings<'_>, thresholds: &VerdictSpec) -> Vec<Reason> {
    let judged = |measure, pair, id: &str, what: &str, remedy: &str| {
        let values = (0..findings.view.interfaces.len()).filter_map(|index| {
            let value = findings.criterion(Subject::Interface(index), measure)?;
            Some((value, index))
        });
        let (percent, index) = values.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Reason::beyond(pair, percent / 100.0, id, |threshold| {
            let name = label(&findings.view.interfaces[index].name);
            let text = format!(
                "{what} of {} % at interface DOF {name}; {} % allowed",
                number(percent),
                number(100.0 * threshold)
            );
            (text, remedy.to_owned())
        })
    };
    let tracking = judged(
        Measure::TrackingError,
        thresholds.tracking_error,
        "tracking_error",
        "tracking error",
        "a compensator that suits the rig: `twinrig identify`",
    );
    let reference = judged(
        Measure::Error,
        thresholds.reference_error,
        "reference_error",
        "error against the whole structure",
        "`twinrig check` shows which mode the loop changes and what helps",
    );
    tracking.into_iter().chain(reference).collect()
}

/// Ticks that came late or went without an answer.
fn late(findings: &Findings<'_>, thresholds: &VerdictSpec) -> Option<Reason> {
    let missed = findings.timing().map_or(0, |timing| timing.overruns + timing.missed);
    let bridged = findings.view.bridged as u64 * findings.view.record.header.every.max(1);
    let ticks = findings.view.record.summary.as_ref()?.ticks;
    let share = (missed + bridged) as f64 / ticks.max(1) as f64;
    if missed + bridged == 0 {
        return None;
    }
    Reason::beyond(thresholds.late_ticks, share, "late_ticks", |threshold| {
        let text = format!(
            "{} late or without an answer, {} % of all; {} % allowed",
            counted(missed + bridged, "tick"),
            number(100.0 * share),
            number(100.0 * threshold)
        );
        (text, "a quieter machine, a real-time kernel, or a lower rate".to_owned())
    })
}

/// Samples that are no numbers.
fn gaps(findings: &Findings<'_>) -> Option<Reason> {
    let samples: usize = findings.gaps.iter().map(|gaps| gaps.samples).sum();
    let text = format!("{} not finite and left out", counted(samples as u64, "sample"));
    (samples > 0).then(|| {
        Reason::new(Level::Doubtful, "not_finite", text, "look at the channels that are named")
    })
}
