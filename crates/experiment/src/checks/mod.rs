//! Checks across keys, as far as the file alone allows them.
//!
//! They work on whatever the walker could read, so that a slip in one section
//! does not hide one in another.

mod excitation;
mod guard;
mod main_loop;
mod mesh;
mod phases;
mod structure;

use super::Experiment;
use super::closed_loop::{ChangeSpec, Pace, PureDelay, SensorsSpec, TransferKind};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::partition::Partition;
use super::realtime::RealtimeSpec;
use super::watch::{LimitsSpec, RecordSpec};
use keys::Keys as _;
use keys::tree::{Branch, Node};

/// Most steps of a test. At 4096 Hz this is nearly three days.
const MOST_TICKS: f64 = 1e9;
/// Longest delay line, in steps.
const MOST_DELAY_SAMPLES: f64 = 1e6;

/// Reports everything that single values cannot show.
pub(crate) fn check(root: &Branch, out: &mut Diagnostics) {
    check_time(root, out);
    structure::check(root, out);
    excitation::check(root, out);
    check_transfer_system(root, out);
    check_lists(root, out);
    check_limits(root, out);
    guard::check(root, out);
    phases::check(root, out);
    check_realtime(root, out);
    main_loop::check(root, out);
    super::rig::check(root, out);
}

/// How often the loop ticks, if the file says so.
pub(crate) fn pace(root: &Branch) -> Option<Pace> {
    root.table(Experiment::INTEGRATOR).and_then(Pace::read_table)
}

/// The interface as it is listed.
pub(crate) fn interface(root: &Branch) -> Option<&[Node]> {
    root.table(Experiment::PARTITION)?.list(Partition::INTERFACE)
}

/// The tick comes before the main loop.
fn check_realtime(root: &Branch, out: &mut Diagnostics) {
    let Some(realtime) = root.table(Experiment::REALTIME) else { return };
    if let (Some(tick), Some(main)) =
        (realtime.count(RealtimeSpec::PRIORITY), realtime.count(RealtimeSpec::MAIN_PRIORITY))
        && let Some(node) = realtime.node(RealtimeSpec::MAIN_PRIORITY)
        && main >= tick
    {
        let message = format!("the main loop has priority {main}, the tick {tick}");
        let remedy = "choose a `main_priority` below `priority`: the tick must never wait";
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
    }
}

fn check_time(root: &Branch, out: &mut Diagnostics) {
    let (Some(duration), Some(pace)) = (root.number(Experiment::DURATION_S), pace(root)) else {
        return;
    };
    let (rate, step) = (pace.rate_hz(), pace.step_s());
    let integrator = root.table(Experiment::INTEGRATOR);
    let written = |key| integrator.and_then(|table| table.node(key));
    let place = written(Pace::RATE).or(written(Pace::STEP)).map(|node| node.span.clone());
    let at = |error: Diagnostic| Diagnostic { span: place.clone(), ..error };
    let ticks = duration * rate;
    if ticks < 1.0 {
        let message = format!("a step of {step} s is longer than the test of {duration} s");
        out.push(at(Diagnostic::error(message).remedy("choose a shorter step or a longer test")));
    }
    if ticks > MOST_TICKS {
        let message =
            format!("{duration} s at {rate} Hz are {ticks:.3e} steps, at most 1e9 are run");
        out.push(at(Diagnostic::error(message).remedy("choose a longer step or a shorter test")));
    }
    if let Some(record) = root.table(Experiment::RECORD)
        && let (Some(every), Some(node)) =
            (record.count(RecordSpec::EVERY), record.node(RecordSpec::EVERY))
        && every as f64 > ticks.max(1.0)
    {
        let message =
            format!("one frame every {every} steps records nothing: the test has {ticks:.0}");
        out.push(
            Diagnostic::error(message).at(node.span.clone()).remedy("choose a smaller number"),
        );
    }
}

fn check_transfer_system(root: &Branch, out: &mut Diagnostics) {
    let Some(system) = root.table(Experiment::TRANSFER_SYSTEM) else { return };
    let step = pace(root).map(Pace::step_s);
    let samples = system.number(PureDelay::SAMPLES).map(|samples| (samples, PureDelay::SAMPLES));
    let delay = system.number(PureDelay::DELAY).zip(step);
    let delay = delay.map(|(delay, step)| (delay / step, PureDelay::DELAY));
    if let Some((samples, key)) = samples.or(delay)
        && samples > MOST_DELAY_SAMPLES
        && let Some(node) = system.node(key)
    {
        let message = format!("the delay is {samples:.3e} steps, at most 1e6 are kept");
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy("shorten the delay"));
    }
    check_change(root, system, out);
    let numbers = |key| system.node(key).and_then(|node| Some((node, node.numbers()?)));
    let Some((place, denominator)) = numbers(TransferKind::DENOMINATOR) else { return };
    if denominator.first() == Some(&0.0) {
        let error = Diagnostic::error("the highest power in `denominator` has the coefficient 0");
        out.push(error.at(place.span.clone()).remedy("leave out leading zeros"));
    }
    let Some((place, numerator)) = numbers(TransferKind::NUMERATOR) else { return };
    if numerator.iter().all(|&coefficient| coefficient == 0.0) {
        let error = Diagnostic::error("`numerator` is zero: the actuator would never move");
        out.push(error.at(place.span.clone()).remedy("give a coefficient other than 0"));
    }
    if numerator.len() > denominator.len() {
        let error = Diagnostic::error(format!(
            "the numerator has degree {}, the denominator {}",
            numerator.len() - 1,
            denominator.len().saturating_sub(1),
        ));
        let remedy = "no actuator differentiates: the numerator's degree must not be the higher";
        out.push(error.at(place.span.clone()).remedy(remedy));
    }
}

/// A change after the end of the test is a slip.
fn check_change(root: &Branch, system: &Branch, out: &mut Diagnostics) {
    if let Some(change) = system.table(TransferKind::CHANGE)
        && let (Some(at), Some(duration)) =
            (change.number(ChangeSpec::AT_S), root.number(Experiment::DURATION_S))
        && let Some(node) = change.node(ChangeSpec::AT_S)
        && at >= duration
    {
        let message = format!("the rig changes at {at} s, the test lasts {duration} s");
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy("choose an earlier time"));
    }
}

/// Lists with one entry per interface degree of freedom.
fn check_lists(root: &Branch, out: &mut Diagnostics) {
    let Some(interface) = interface(root) else { return };
    let sections = [
        (Experiment::PARTITION, &[Partition::MASS, Partition::DAMPING, Partition::STIFFNESS][..]),
        (
            Experiment::SENSORS,
            &[
                SensorsSpec::DISPLACEMENT_NOISE,
                SensorsSpec::FORCE_NOISE,
                SensorsSpec::ACCELERATION_NOISE,
                SensorsSpec::DISPLACEMENT_QUANTUM,
                SensorsSpec::FORCE_QUANTUM,
            ][..],
        ),
        (
            Experiment::LIMITS,
            &[LimitsSpec::COMMAND, LimitsSpec::RATE, LimitsSpec::FORCE, LimitsSpec::TRACKING_ERROR]
                [..],
        ),
    ];
    for (section, keys) in sections {
        for key in keys {
            let node = root.table(section).and_then(|table| table.node(key));
            let Some((node, count)) = node.and_then(|node| Some((node, node.list()?.len()))) else {
                continue;
            };
            expect_length(out, node, key, count, interface.len(), "one per interface DOF");
        }
    }
}

fn check_limits(root: &Branch, out: &mut Diagnostics) {
    let Some(limits) = root.table(Experiment::LIMITS) else { return };
    if limits.mentions(LimitsSpec::COMMAND) {
        return;
    }
    let mut warning = Diagnostic::warning("the command has no limit")
        .remedy("add `command = \"20 mm\"` to [limits]: without it nothing bounds the actuator");
    // An absent section has no place; its defaults stand at the start of the file.
    warning.span = root.given(Experiment::LIMITS).map(|node| node.span.clone());
    out.push(warning);
}

/// Reports a list that has not the number of entries that something else asks for.
fn expect_length(
    out: &mut Diagnostics,
    node: &Node,
    key: &str,
    count: usize,
    wanted: usize,
    reason: &str,
) {
    if count != wanted {
        let entries = if count == 1 { "entry" } else { "entries" };
        let message = format!("`{key}` has {count} {entries}, not {wanted}");
        let remedy = format!("give {wanted}, {reason}");
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
    }
}
