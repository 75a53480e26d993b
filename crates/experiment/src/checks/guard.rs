//! Checks of `[monitor]` and `[[fault]]`.

use super::super::Experiment;
use super::super::diagnostic::Diagnostic;
use super::super::fault::{FaultEnd, FaultKindSpec, FaultSpec};
use super::super::per_dof::MOST_INTERFACE;
use super::super::watch::{LimitsSpec, SafeSpec};
use super::File;
use keys::tree::Branch;
use runtime::interlock::LONGEST_RAMP_S;
use runtime::monitor::KINDS;

/// Longest extra delay, in steps: each keeps a command.
const MOST_LATE_TICKS: f64 = 1e5;

pub(super) fn check(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    check_windows(file, found);
    for fault in file.root.tables(Experiment::FAULTS) {
        check_fault(fault, file, found);
    }
}

/// A window must hold a few steps and be shorter than the test.
fn check_windows(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let (Some(monitor), Some(pace)) = (file.section(Experiment::MONITOR), file.pace) else {
        return;
    };
    let step = pace.step_s();
    for kind in KINDS {
        let Some((key, fewest)) = kind.about.window else { continue };
        let Some(node) = monitor.table(kind.key).and_then(|table| table.given(key)) else {
            continue;
        };
        let Some(window) = node.number() else { continue };
        if window < fewest * step {
            let error = node.error(format!(
                "a window of {window} s holds {:.1} steps of {step:.4e} s",
                window / step
            ));
            let least = fewest * step;
            found.push(error.remedy(format!("choose at least \"{least:.4} s\": {fewest} steps")));
        } else if let Some(duration) = file.duration_s
            && window > duration
        {
            let warning = node.warning(format!(
                "the window of {window} s is longer than the test of {duration} s"
            ));
            found.push(warning.remedy("choose a shorter window"));
        }
    }
}

impl LimitsSpec {
    /// The way to safe ends: from the largest command zero is near enough.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let rates = self.rate.as_ref().map_or_else(Vec::new, |all| all.expand(MOST_INTERFACE));
        let rate = rates.into_iter().fold(self.safe.rate_m_s, f64::min);
        let farthest = self.farthest_m();
        if farthest > LONGEST_RAMP_S * rate {
            let message = format!(
                "the way to safe from {farthest} m at {rate} m/s takes {:.3e} s, at most an hour \
                 is waited for",
                farthest / rate
            );
            let safe =
                branch.table(Self::SAFE).filter(|safe| safe.given(SafeSpec::RATE_M_S).is_some());
            let error = match safe {
                Some(safe) if rate == self.safe.rate_m_s => safe.error(SafeSpec::RATE_M_S, message),
                _ => branch.error(Self::RATE, message),
            };
            found.push(
                error.remedy("choose a faster `safe.rate` and `rate`, or a smaller `command`"),
            );
        }
    }
}

impl FaultSpec {
    /// It ends after it has begun.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let at = self.at_s;
        if self.until_s() <= at && branch.mentions(FaultEnd::UNTIL) {
            let message = format!("the fault ends before it begins at {at} s");
            let error = branch.error(FaultEnd::UNTIL, message);
            found.push(error.remedy("end it later, or write `duration`"));
        }
    }
}

fn check_fault(fault: &Branch, file: &File<'_>, found: &mut Vec<Diagnostic>) {
    if let (Some(dof), Some(count)) = (fault.count(FaultSpec::DOF), file.interface)
        && dof > count as u64
    {
        let error = fault.error(FaultSpec::DOF, format!("there is no interface DOF {dof}"));
        found.push(error.remedy(format!("[partition] interface lists {count}")));
    }
    // A trace takes as long as it takes.
    if let (Some(node), Some(duration)) = (fault.given(FaultSpec::AT_S), file.duration_s)
        && let Some(at) = node.number()
        && at >= duration
        && file.section(Experiment::TRACE).is_none()
    {
        let message = format!("the fault begins at {at} s, after the test of {duration} s");
        found.push(node.warning(message).remedy("begin it earlier"));
    }
    let Some(step) = file.pace.map(|pace| pace.step_s()) else { return };
    for key in [FaultKindSpec::BY_S, FaultKindSpec::MOST_S] {
        let Some(ticks) = fault.number(key).map(|late| late / step) else { continue };
        if ticks > MOST_LATE_TICKS {
            let message = format!("{ticks:.3e} steps are too late: at most 1e5 are kept");
            found.push(fault.error(key, message).remedy("choose a shorter time"));
        } else if ticks < 0.5 {
            let error = fault.error(key, format!("{ticks:.3} steps round to none"));
            found.push(error.remedy(format!("choose at least \"{:.4} ms\", one step", 1e3 * step)));
        }
    }
}
