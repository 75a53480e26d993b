//! The verdict on a test that took place: what was predicted, how it ended, how close it came.

use experiment::VerdictSpec;
use runtime::interlock::Phase;
use runtime::record::EventKind;
use runtime::verdict::{Level, Reason, Verdict};

use super::findings::{Findings, Signals};
use super::outcome::Status;
use crate::evidence::{Evidence, late_ticks, tripped, warned};
use crate::page::text::counted;
use crate::rig_limits::{RigLimits, Seen};
use crate::words::number;

/// All that speaks against the result.
pub(super) fn verdict(findings: &Findings<'_>) -> Verdict {
    let predicted = findings.view.record.header.prediction.iter().cloned();
    let known = ending(findings).into_iter().chain(predicted);
    let known = known.chain(findings.warning_reached_s.map(warned)).chain(gaps(findings));
    let known = known.chain(held(findings));
    // A record without a file that can be read has no thresholds.
    let thresholds = findings.experiment.as_ref().map(|experiment| experiment.verdict);
    let measured = thresholds.iter().flat_map(|thresholds| {
        let limits = rig_limits(findings, thresholds);
        measured(findings, thresholds).into_iter().chain(limits).chain(late(findings, thresholds))
    });
    known.chain(measured).collect()
}

/// A test that did not end as it should.
fn ending(findings: &Findings<'_>) -> Option<Reason> {
    let outcome = &findings.outcome;
    let said = outcome.statements.first().cloned().unwrap_or_default();
    let reason = |level, id: &str, remedy: &str| Some(Reason::new(level, id, &said, remedy));
    match (&outcome.trip, outcome.status) {
        (Some(trip), _) if trip.is_stop() => {
            reason(Level::Doubtful, "stopped", "what follows the stop was not tested")
        }
        (Some(_), _) => Some(tripped(said.clone())),
        (None, Status::LoadBrokeOff) => reason(Level::Wrong, "load_broke_off", "repeat the test"),
        (None, Status::Completed | Status::Tripped) => None,
        (None, Status::Incomplete | Status::CutOff) => {
            reason(Level::Doubtful, "incomplete", "the numbers hold for what was recorded")
        }
    }
}

/// What the signals say.
fn measured(findings: &Findings<'_>, thresholds: &VerdictSpec) -> Vec<Reason> {
    let view = &findings.view;
    let signals = Signals::of(view);
    let (interfaces, criteria) = (signals.interfaces(view), findings.criteria.as_slice());
    let rate_hz = view.frame_rate_hz();
    Evidence { thresholds, rate_hz, interfaces: &interfaces, criteria }.reasons().collect()
}

/// Limits that were reached, noise and steps against the motion.
fn rig_limits(findings: &Findings<'_>, thresholds: &VerdictSpec) -> Vec<Reason> {
    let (Some(experiment), view) = (&findings.experiment, &findings.view) else {
        return Vec::new();
    };
    let played = experiment.rig.address.is_none() || view.record.header.started.is_empty();
    let rate_hz = view.frame_rate_hz().unwrap_or(f64::NAN);
    let limits = RigLimits::of(experiment, view.interfaces.len(), rate_hz, played);
    let bounds = RigLimits::bounds(|_| &limits);
    let seen = view.interfaces.iter().map(|interface| {
        let [command, measured, force] =
            [interface.command, &interface.measured, &interface.force].map(|of| view.running(of));
        let mut seen = Seen::default();
        for row in 0..command.len().max(measured.len()).max(force.len()) {
            let at = |column: &[f64]| column.get(row).copied().unwrap_or(f64::NAN);
            seen.add(&bounds, at(&command), at(&measured), at(&force));
        }
        (interface.name.as_str(), seen)
    });
    limits.reasons(&seen.collect::<Vec<_>>(), thresholds)
}

/// Ticks that came late, went without an answer or were extrapolated over a late step of the main
/// loop.
fn late(findings: &Findings<'_>, thresholds: &VerdictSpec) -> Option<Reason> {
    let missed = findings.timing().map_or(0, |timing| timing.overruns + timing.missed);
    let bridged = findings.view.bridged as u64 * findings.view.record.header.every.max(1);
    let main_loop = findings.events().iter().filter(|event| event.what == EventKind::MainLoop);
    // Counted by the loop itself: a record may hold every tenth tick only.
    let extrapolated: f64 = main_loop.filter_map(|event| event.value).sum();
    let ticks = findings.view.record.summary.as_ref()?.ticks;
    late_ticks(thresholds, missed + bridged, extrapolated as u64, ticks)
}

/// A test that stood still in between was none in real time.
fn held(findings: &Findings<'_>) -> Option<Reason> {
    let view = &findings.view;
    let rows = view.phases.iter().filter(|phase| **phase == Some(Phase::Held)).count();
    let held_s = rows as f64 / view.frame_rate_hz()?;
    let text = format!("the operator held the test, for {} s in all", number(held_s));
    (rows > 0).then(|| {
        let remedy = "forces that depend on rate, inertia or relaxation are not those of a test in \
                      one piece: repeat it without a hold";
        Reason::new(Level::Doubtful, "held", text, remedy)
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
