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

use super::closed_loop::rate_and_step;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::tree::{Branch, Node};

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
    check_compensator(root, out);
    check_lists(root, out);
    check_limits(root, out);
    guard::check(root, out);
    phases::check(root, out);
    check_realtime(root, out);
    main_loop::check(root, out);
    super::rig::check(root, out);
    super::trace::check(root, out);
}

/// The tick comes before the main loop.
fn check_realtime(root: &Branch, out: &mut Diagnostics) {
    let Some(realtime) = root.table("realtime") else { return };
    if let (Some(tick), Some(main)) = (realtime.count("priority"), realtime.count("main_priority"))
        && let Some(node) = realtime.node("main_priority")
        && main >= tick
    {
        let message = format!("the main loop has priority {main}, the tick {tick}");
        let remedy = "choose a `main_priority` below `priority`: the tick must never wait";
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
    }
}

fn check_time(root: &Branch, out: &mut Diagnostics) {
    let (Some(duration), Some(integrator)) = (root.number("duration"), root.table("integrator"))
    else {
        return;
    };
    let Some((rate, step)) = rate_and_step(integrator) else { return };
    let place = integrator.node("rate").or(integrator.node("step")).map(|node| node.span.clone());
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
    if let Some(record) = root.table("record")
        && let (Some(every), Some(node)) = (record.count("every"), record.node("every"))
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
    let Some(system) = root.table("transfer_system") else { return };
    let step = root.table("integrator").and_then(rate_and_step).map(|(_, step)| step);
    let samples = system.number("samples").map(|samples| (samples, "samples"));
    let delay = system.number("delay").zip(step).map(|(delay, step)| (delay / step, "delay"));
    if let Some((samples, key)) = samples.or(delay)
        && samples > MOST_DELAY_SAMPLES
        && let Some(node) = system.node(key)
    {
        let message = format!("the delay is {samples:.3e} steps, at most 1e6 are kept");
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy("shorten the delay"));
    }
    check_change(root, system, out);
    let numbers = |key| system.node(key).and_then(|node| Some((node, node.numbers()?)));
    let Some((place, denominator)) = numbers("denominator") else { return };
    if denominator.first() == Some(&0.0) {
        let error = Diagnostic::error("the highest power in `denominator` has the coefficient 0");
        out.push(error.at(place.span.clone()).remedy("leave out leading zeros"));
    }
    let Some((place, numerator)) = numbers("numerator") else { return };
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
    if let Some(change) = system.table("change")
        && let (Some(at), Some(duration)) = (change.number("at"), root.number("duration"))
        && let Some(node) = change.node("at")
        && at >= duration
    {
        let message = format!("the rig changes at {at} s, the test lasts {duration} s");
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy("choose an earlier time"));
    }
}

/// Bounds have one entry for each adapted parameter.
fn check_compensator(root: &Branch, out: &mut Diagnostics) {
    let Some(compensator) = root.table("compensator") else { return };
    let wanted = match compensator.word("kind") {
        Some("adaptive_model_based") => 2,
        Some("adaptive_time_series") => 3,
        Some("adaptive_inverse") => 4,
        _ => return,
    };
    for key in ["lower", "upper"] {
        if let Some(node) = compensator.node(key)
            && let Some(list) = node.list()
        {
            expect_length(out, node, key, list.len(), wanted, "one per adapted parameter");
        }
    }
}

/// Lists with one entry per interface degree of freedom.
fn check_lists(root: &Branch, out: &mut Diagnostics) {
    let Some(interface) = root.table("partition").and_then(|p| p.list("interface")) else { return };
    let sections = [
        ("partition", &["mass", "damping", "stiffness"][..]),
        (
            "sensors",
            &[
                "displacement_noise",
                "force_noise",
                "acceleration_noise",
                "displacement_quantum",
                "force_quantum",
            ][..],
        ),
        ("limits", &["command", "rate", "force", "tracking_error"][..]),
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
    let Some(limits) = root.table("limits") else { return };
    if limits.mentions("command") {
        return;
    }
    let mut warning = Diagnostic::warning("the command has no limit")
        .remedy("add `command = \"20 mm\"` to [limits]: without it nothing bounds the actuator");
    // An absent section has no place; its defaults stand at the start of the file.
    warning.span = root.given("limits").map(|node| node.span.clone());
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
