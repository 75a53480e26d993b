//! Checks of `[phases]` and of a load that is streamed.

use super::super::Experiment;
use super::super::closed_loop::Pace;
use super::super::diagnostic::{Diagnostic, Diagnostics};
use super::super::excitation::{Excitation, SignalSource, StreamSpec};
use super::super::main_loop::MainLoopSpec;
use super::super::phases::{CompletingSpec, InitiatingSpec, PhasesSpec};
use super::super::watch::{MonitorSpec, StabilityWarningSpec};
use super::pace;
use keys::Keys as _;
use keys::tree::{Branch, Node};
use model::predictor::Design;

/// Most samples that are kept ahead.
const MOST_SAMPLES: f64 = 1e7;
/// Longest time of a phase, s.
const LONGEST_S: f64 = 24.0 * 3600.0;

pub(super) fn check(root: &Branch, out: &mut Diagnostics) {
    check_phases(root, out);
    check_stream(root, out);
}

fn check_phases(root: &Branch, out: &mut Diagnostics) {
    let Some(phases) = root.table(Experiment::PHASES) else { return };
    if let Some(table) = phases.table(PhasesSpec::INITIATING)
        && let (Some(rate), Some(reach)) =
            (table.number(InitiatingSpec::RATE_M_S), table.number(InitiatingSpec::REACH_M))
        && let Some(node) = table.node(InitiatingSpec::RATE_M_S)
        && reach / rate > LONGEST_S
    {
        let message = format!("the rig would be fetched for {:.3e} s", reach / rate);
        let remedy = "choose a higher `rate`, or a shorter `reach`";
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
    }
    if let Some(table) = phases.table(PhasesSpec::COMPLETING)
        && let (Some(ring), Some(ease)) =
            (table.number(CompletingSpec::RING_DOWN_S), table.number(CompletingSpec::EASE_S))
        && let Some(node) = table.node(CompletingSpec::RING_DOWN_S)
        && ring < ease
    {
        let message = format!("the load eases out for {ease} s, longer than the {ring} s after it");
        let remedy = "choose a longer `ring_down`, or a shorter `ease`";
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
    }
    if let Some(table) = phases.table(PhasesSpec::COMPLETING)
        && let (Some(rate), Some(node)) = (
            table.number(CompletingSpec::HOME_RATE_M_S),
            table.node(CompletingSpec::HOME_RATE_M_S),
        )
        // Less than a centimetre a day: nobody waits for that, and the record grows.
        && rate * LONGEST_S < 1e-2
    {
        let message = format!("the rig would go home by {:.3e} m in a day", rate * LONGEST_S);
        let error = Diagnostic::error(message).at(node.span.clone());
        out.push(error.remedy("choose a higher `home_rate`, such as \"5 mm/s\""));
    }
    let times = [
        (PhasesSpec::INITIATING, InitiatingSpec::SETTLE_S),
        (PhasesSpec::COMPLETING, CompletingSpec::RING_DOWN_S),
        (PhasesSpec::COMPLETING, CompletingSpec::EASE_S),
    ];
    for (table, key) in times {
        let Some(node) = phases.table(table).and_then(|table| table.node(key)) else { continue };
        if node.number().is_some_and(|time| time > LONGEST_S) {
            let error = Diagnostic::error(format!("`{key}` is longer than a day"));
            out.push(error.at(node.span.clone()).remedy("choose a shorter time"));
        }
    }
}

fn check_stream(root: &Branch, out: &mut Diagnostics) {
    let Some(excitation) = root.table(Experiment::EXCITATION) else { return };
    let ground = excitation.node(Excitation::GROUND);
    let signals = ground.into_iter().chain(excitation.list(Excitation::FORCES).unwrap_or_default());
    let is_streamed =
        |node: &&Node| node.table().is_some_and(|table| table.mentions(SignalSource::STREAMED));
    let (streamed, known): (Vec<&Node>, Vec<&Node>) = signals.partition(is_streamed);
    let at = |node: &Node, message: &str, remedy: &str| {
        Diagnostic::error(message).at(node.span.clone()).remedy(remedy)
    };
    let stream = excitation.given(Excitation::STREAM);
    match (streamed.first(), stream) {
        (None, None) => return,
        (None, Some(stream)) => {
            let remedy =
                "write `ground = { streamed = { bound = \"0.5 g\" } }`, or remove `stream`";
            out.push(at(stream, "no signal of the excitation is streamed", remedy));
            return;
        }
        (Some(signal), None) if !excitation.mentions(Excitation::STREAM) => {
            let remedy = "add `stream = { rate = \"200 Hz\" }` to [excitation]";
            out.push(at(signal, "it is not said how the streamed signal arrives", remedy));
        }
        _ => {}
    }
    if let Some(signal) = known.first() {
        let remedy = "let the host send every signal, or none";
        out.push(at(signal, "a load is streamed as a whole, and this signal is not", remedy));
    }
    let Some(&place) = streamed.first() else { return };
    if !root.table(Experiment::PHASES).is_some_and(|phases| phases.mentions(PhasesSpec::COMPLETING))
    {
        let message = "a streamed load ends when the host ends it or falls silent, and the file \
                       does not say what the rig does then";
        let remedy =
            "add `completing = { ring_down = \"10 s\", home_rate = \"5 mm/s\" }` to [phases]";
        out.push(at(place, message, remedy));
    }
    let warning = root
        .table(Experiment::MONITOR)
        .and_then(|monitor| monitor.table(MonitorSpec::STABILITY_WARNING));
    if !warning.is_some_and(|table| table.mentions(StabilityWarningSpec::CONSTANT_J)) {
        let message = "the constant of the stability warning follows from the load, which is not \
                       known before the test";
        let remedy = "add `stability_warning = { constant = \"10 J\" }` to [monitor]: about a \
                      hundredth of the work that the load will do";
        out.push(at(place, message, remedy));
    }
    let main_loop = root.table(Experiment::MAIN_LOOP);
    if let Some(predictor) = main_loop.and_then(|table| table.table(MainLoopSpec::PREDICTOR))
        && let Some(kind) = predictor.node(Design::TAG)
        && Design::read_table(predictor) == Some(Design::ModelBased)
    {
        let message = "a model-based predictor looks at the load ahead, and a streamed load is \
                       not known ahead";
        out.push(at(kind, message, "use another predictor, such as \"hermite\""));
    }
    if let Some(node) = root.given(Experiment::SWEEP_TABLE) {
        let message = "a sweep runs many variants of a test, and a streamed load comes but once";
        out.push(at(node, message, "give the load as a file for the sweep"));
    }
    check_rates(root, excitation, out);
}

fn check_rates(root: &Branch, excitation: &Branch, out: &mut Diagnostics) {
    let Some(stream) = excitation.table(Excitation::STREAM) else { return };
    let Some(tick_hz) = pace(root).map(Pace::rate_hz) else { return };
    let (Some(node), Some(rate_hz)) =
        (stream.node(StreamSpec::RATE_HZ), stream.number(StreamSpec::RATE_HZ))
    else {
        return;
    };
    let ratio = tick_hz / rate_hz;
    if ratio < 1.0 - 1e-9 || (ratio - ratio.round()).abs() > 1e-6 * ratio {
        let below = tick_hz / ratio.ceil().max(1.0);
        let message = format!("{rate_hz} Hz do not divide the {tick_hz} Hz of the loop");
        let remedy = format!("use \"{below} Hz\", or another whole fraction of the loop's rate");
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
    }
    if let (Some(buffer), Some(prefill)) =
        (stream.number(StreamSpec::BUFFER_S), stream.number(StreamSpec::PREFILL_S))
        && let Some(node) =
            stream.given(StreamSpec::PREFILL_S).or(stream.given(StreamSpec::BUFFER_S))
        && prefill > buffer
    {
        let message =
            format!("the load begins when {prefill} s are there, and {buffer} s are kept");
        let remedy = "choose a `prefill` that is not longer than `buffer`";
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
    }
    if let (Some(node), Some(buffer)) =
        (stream.node(StreamSpec::BUFFER_S), stream.number(StreamSpec::BUFFER_S))
        && buffer * rate_hz > MOST_SAMPLES
    {
        let message = format!("{:.3e} samples would be kept, at most 1e7 are", buffer * rate_hz);
        let remedy = "choose a shorter `buffer`";
        out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
    }
}
