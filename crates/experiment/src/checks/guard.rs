//! Checks of `[monitor]` and `[[fault]]`.

use super::super::Experiment;
use super::super::closed_loop::Pace;
use super::super::diagnostic::{Diagnostic, Diagnostics};
use super::super::fault::{FaultEnd, FaultKindSpec, FaultSpec};
use super::super::watch::{
    ForecastSpec, LevelsSpec, MonitorSpec, StabilityWarningSpec, TrackingSpec, WindowedSpec,
};
use super::{interface, pace};
use keys::tree::{Branch, Node};

/// Longest extra delay, in steps: each keeps a command.
const MOST_LATE_TICKS: f64 = 1e5;

pub(super) fn check(root: &Branch, out: &mut Diagnostics) {
    check_windows(root, out);
    check_levels(root, out);
    for fault in root.tables(Experiment::FAULTS) {
        check_fault(fault, root, out);
    }
}

/// A window must hold a few steps and be shorter than the test.
fn check_windows(root: &Branch, out: &mut Diagnostics) {
    let Some(monitor) = root.table(Experiment::MONITOR) else { return };
    let step = pace(root).map(Pace::step_s);
    for (table, key, fewest) in [
        (MonitorSpec::WINDOWED_WARNING, WindowedSpec::WINDOW_S, 32.0),
        (MonitorSpec::FORECAST, ForecastSpec::WINDOW_S, 8.0),
        (MonitorSpec::TRACKING, TrackingSpec::WINDOW_S, 64.0),
    ] {
        let Some(node) = monitor.table(table).and_then(|table| table.given(key)) else {
            continue;
        };
        let (Some(window), Some(step)) = (node.number(), step) else { continue };
        if window < fewest * step {
            let error = Diagnostic::error(format!(
                "a window of {window} s holds {:.1} steps of {step:.4e} s",
                window / step
            ));
            let remedy = format!("choose at least \"{:.4} s\": {fewest} steps", fewest * step);
            out.push(error.at(node.span.clone()).remedy(remedy));
        } else if let Some(duration) = root.number(Experiment::DURATION_S)
            && window > duration
        {
            let warning = Diagnostic::warning(format!(
                "the window of {window} s is longer than the test of {duration} s"
            ));
            out.push(warning.at(node.span.clone()).remedy("choose a shorter window"));
        }
    }
}

/// A level that warns must lie on the good side of those that stop the test.
fn check_levels(root: &Branch, out: &mut Diagnostics) {
    let Some(monitor) = root.table(Experiment::MONITOR) else { return };
    let tracking = monitor.table(MonitorSpec::TRACKING);
    let rising = [
        monitor.table(MonitorSpec::STABILITY_WARNING),
        monitor.table(MonitorSpec::WINDOWED_WARNING),
        monitor.table(MonitorSpec::ENERGY_ERROR),
        monitor.table(MonitorSpec::LIMITS_USED),
        tracking.and_then(|table| table.table(TrackingSpec::DELAY)),
        tracking.and_then(|table| table.table(TrackingSpec::AMPLITUDE)),
    ];
    for table in rising.into_iter().flatten() {
        let graver = [
            StabilityWarningSpec::STOP_AT,
            LevelsSpec::HOLD_AT,
            LevelsSpec::RAMP_DOWN_AT,
            LevelsSpec::ABORT_AT,
        ];
        order(table, LevelsSpec::WARN_AT, &graver, |warn, stop| warn < stop, "lower", out);
    }
    if let Some(table) = monitor.table(MonitorSpec::FORECAST) {
        let graver = [
            ForecastSpec::HOLD_BELOW_S,
            ForecastSpec::RAMP_DOWN_BELOW_S,
            ForecastSpec::ABORT_BELOW_S,
        ];
        order(table, ForecastSpec::WARN_BELOW_S, &graver, |warn, stop| warn > stop, "higher", out);
    }
}

fn order(
    table: &Branch,
    warn: &str,
    graver: &[&str],
    fits: impl Fn(f64, f64) -> bool,
    wanted: &str,
    out: &mut Diagnostics,
) {
    let Some((node, level)) = table.node(warn).and_then(|node| Some((node, node.number()?))) else {
        return;
    };
    for key in graver {
        if let Some(stop) = table.number(key)
            && !fits(level, stop)
        {
            let warning =
                Diagnostic::warning(format!("`{warn}` never comes before `{key}` stops the test"));
            let remedy = format!("choose a {wanted} `{warn}`");
            out.push(warning.at(node.span.clone()).remedy(remedy));
            return;
        }
    }
}

fn check_fault(fault: &Branch, root: &Branch, out: &mut Diagnostics) {
    let interface = interface(root).map(<[Node]>::len);
    if let (Some(node), Some(count)) = (fault.node(FaultSpec::DOF), interface)
        && node.count().is_some_and(|dof| dof > count as u64)
    {
        let dof = node.count().unwrap_or_default();
        let error = Diagnostic::error(format!("there is no interface DOF {dof}"));
        let remedy = format!("[partition] interface lists {count}");
        out.push(error.at(node.span.clone()).remedy(remedy));
    }
    let Some(at) = fault.number(FaultSpec::AT_S) else { return };
    if let Some(node) = fault.node(FaultEnd::UNTIL)
        && node.number().is_some_and(|until| until <= at)
    {
        let error = Diagnostic::error(format!("the fault ends before it begins at {at} s"));
        out.push(error.at(node.span.clone()).remedy("end it later, or write `duration`"));
    }
    if let (Some(node), Some(duration)) =
        (fault.given(FaultSpec::AT_S), root.number(Experiment::DURATION_S))
        && at >= duration
        && root.table(Experiment::TRACE).is_none()
    {
        // A trace takes as long as it takes.
        let warning = Diagnostic::warning(format!(
            "the fault begins at {at} s, after the test of {duration} s"
        ));
        out.push(warning.at(node.span.clone()).remedy("begin it earlier"));
    }
    let step = pace(root).map(Pace::step_s);
    for key in [FaultKindSpec::BY_S, FaultKindSpec::MOST_S] {
        let (Some(node), Some(step)) = (fault.node(key), step) else { continue };
        let Some(ticks) = node.number().map(|late| late / step) else { continue };
        if ticks > MOST_LATE_TICKS {
            let error =
                Diagnostic::error(format!("{ticks:.3e} steps are too late: at most 1e5 are kept"));
            out.push(error.at(node.span.clone()).remedy("choose a shorter time"));
        } else if ticks < 0.5 {
            let error = Diagnostic::error(format!("{ticks:.3} steps round to none"));
            let remedy = format!("choose at least \"{:.4} ms\", one step", 1e3 * step);
            out.push(error.at(node.span.clone()).remedy(remedy));
        }
    }
}
