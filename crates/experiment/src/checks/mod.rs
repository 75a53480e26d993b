//! Checks between keys.
//!
//! What must hold within one table is declared with it, by `check = …`, and looked at once all
//! keys of that table could be read. What lies between sections is looked at here, as far as the
//! sections could be read, so that a slip in one does not hide one in another.

mod component;
mod excitation;
mod guard;
mod main_loop;
mod mesh;
mod phases;
mod structure;
mod trace;

use super::Experiment;
use super::closed_loop::{ChangeSpec, Pace, PureDelay, SensorsSpec, TransferKind};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::partition::Partition;
use super::watch::{LimitsSpec, RecordSpec};
use keys::Keys;
use keys::tree::{Branch, Node};

/// Most steps of a test. At 4096 Hz this is nearly three days.
const MOST_TICKS: f64 = 1e9;
/// Longest delay line, in steps.
const MOST_DELAY_SAMPLES: f64 = 1e6;

/// What checks between sections have in common.
struct File<'a> {
    root: &'a Branch,
    /// How long the test runs.
    duration_s: Option<f64>,
    /// How often the loop ticks.
    pace: Option<Pace>,
    /// Number of interface DOFs.
    interface: Option<usize>,
}

impl<'a> File<'a> {
    /// A section as it is written or by default.
    fn section(&self, key: &str) -> Option<&'a Branch> {
        self.root.table(key)
    }

    /// A section of which every key could be read.
    fn read<T: Keys>(&self, key: &str) -> Option<T> {
        self.section(key).and_then(T::read_table)
    }
}

/// Reports everything that single tables cannot show.
pub(crate) fn check(root: &Branch, out: &mut Diagnostics) {
    let interface = root.table(Experiment::PARTITION).and_then(|p| p.list(Partition::INTERFACE));
    let file = File {
        root,
        duration_s: root.number(Experiment::DURATION_S),
        pace: root.table(Experiment::INTEGRATOR).and_then(Pace::read_table),
        interface: interface.map(<[Node]>::len),
    };
    let mut found = Vec::new();
    check_time(&file, &mut found);
    structure::check_references(&file, &mut found);
    mesh::check_size(&file, &mut found);
    excitation::check(&file, &mut found);
    check_transfer_system(&file, &mut found);
    check_lists(&file, &mut found);
    check_limits(&file, &mut found);
    guard::check(&file, &mut found);
    phases::check_stream(&file, &mut found);
    main_loop::check(&file, &mut found);
    trace::check(&file, &mut found);
    out.extend(found);
}

fn check_time(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let (Some(duration), Some(pace)) = (file.duration_s, file.pace) else { return };
    let Some(integrator) = file.section(Experiment::INTEGRATOR) else { return };
    let (rate, step) = (pace.rate_hz(), pace.step_s());
    let ticks = duration * rate;
    if ticks < 1.0 {
        let message = format!("a step of {step} s is longer than the test of {duration} s");
        let error = integrator.error(pace.key(), message);
        found.push(error.remedy("choose a shorter step or a longer test"));
    }
    if ticks > MOST_TICKS {
        let message =
            format!("{duration} s at {rate} Hz are {ticks:.3e} steps, at most 1e9 are run");
        let error = integrator.error(pace.key(), message);
        found.push(error.remedy("choose a longer step or a shorter test"));
    }
    if let Some(record) = file.section(Experiment::RECORD)
        && let Some(every) = record.count(RecordSpec::EVERY)
        && every as f64 > ticks.max(1.0)
    {
        let message =
            format!("one frame every {every} steps records nothing: the test has {ticks:.0}");
        found.push(record.error(RecordSpec::EVERY, message).remedy("choose a smaller number"));
    }
}

fn check_transfer_system(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let Some(system) = file.section(Experiment::TRANSFER_SYSTEM) else { return };
    let samples = system.number(PureDelay::SAMPLES).map(|samples| (samples, PureDelay::SAMPLES));
    let delay = system.number(PureDelay::DELAY).zip(file.pace);
    let delay = delay.map(|(delay, pace)| (delay / pace.step_s(), PureDelay::DELAY));
    if let Some((samples, key)) = samples.or(delay)
        && samples > MOST_DELAY_SAMPLES
    {
        let message = format!("the delay is {samples:.3e} steps, at most 1e6 are kept");
        found.push(system.error(key, message).remedy("shorten the delay"));
    }
    // A change after the end of the test is a slip.
    if let Some(change) = system.table(TransferKind::CHANGE)
        && let (Some(at), Some(duration)) = (change.number(ChangeSpec::AT_S), file.duration_s)
        && at >= duration
    {
        let message = format!("the rig changes at {at} s, the test lasts {duration} s");
        found.push(change.error(ChangeSpec::AT_S, message).remedy("choose an earlier time"));
    }
}

/// Lists with one entry per interface degree of freedom.
fn check_lists(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let Some(interface) = file.interface else { return };
    let sections: [(&str, &[&str]); 3] = [
        (Experiment::PARTITION, &[Partition::MASS, Partition::DAMPING, Partition::STIFFNESS]),
        (
            Experiment::SENSORS,
            &[
                SensorsSpec::DISPLACEMENT_NOISE,
                SensorsSpec::FORCE_NOISE,
                SensorsSpec::ACCELERATION_NOISE,
                SensorsSpec::DISPLACEMENT_QUANTUM,
                SensorsSpec::FORCE_QUANTUM,
            ],
        ),
        (
            Experiment::LIMITS,
            &[LimitsSpec::COMMAND, LimitsSpec::RATE, LimitsSpec::FORCE, LimitsSpec::TRACKING_ERROR],
        ),
    ];
    for (section, keys) in sections {
        let Some(section) = file.section(section) else { continue };
        for (key, list) in keys.iter().filter_map(|key| Some((key, section.list(key)?))) {
            let reason = "one per interface DOF";
            found.extend(wrong_length(section, key, list.len(), interface, reason));
        }
    }
}

fn check_limits(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let Some(limits) = file.section(Experiment::LIMITS) else { return };
    if limits.mentions(LimitsSpec::COMMAND) {
        return;
    }
    let mut warning = Diagnostic::warning("the command has no limit")
        .remedy("add `command = \"20 mm\"` to [limits]: without it nothing bounds the actuator");
    // An absent section has no place; its defaults stand at the start of the file.
    warning.span = file.root.given(Experiment::LIMITS).map(|node| node.span.clone());
    found.push(warning);
}

/// A list that has not the number of entries that something else asks for.
fn wrong_length(
    table: &Branch,
    key: &str,
    count: usize,
    wanted: usize,
    reason: &str,
) -> Option<Diagnostic> {
    let entries = if count == 1 { "entry" } else { "entries" };
    let error = table.error(key, format!("`{key}` has {count} {entries}, not {wanted}"));
    (count != wanted).then(|| error.remedy(format!("give {wanted}, {reason}")))
}
