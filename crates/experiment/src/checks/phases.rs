//! Checks of `[phases]` and of a load that is streamed.

use super::super::Experiment;
use super::super::closed_loop::Pace;
use super::super::diagnostic::Diagnostic;
use super::super::excitation::{Excitation, SignalSource, StreamSpec};
use super::super::main_loop::MainLoopSpec;
use super::super::phases::{CompletingSpec, InitiatingSpec, PhasesSpec};
use super::File;
use keys::Keys as _;
use keys::tree::{Branch, Node};
use model::predictor::Design;
use runtime::monitor::{MonitorPlan, StabilityPlan};

/// Most samples that are kept ahead.
const MOST_SAMPLES: f64 = 1e7;
/// Longest time of a phase, s.
const LONGEST_S: f64 = 24.0 * 3600.0;

impl InitiatingSpec {
    /// The rig is there within a day.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let fetched_s = self.reach_m / self.rate_m_s;
        if fetched_s > LONGEST_S {
            let message = format!("the rig would be fetched for {fetched_s:.3e} s");
            let error = branch.error(Self::RATE_M_S, message);
            found.push(error.remedy("choose a higher `rate`, or a shorter `reach`"));
        }
        found.extend(too_long(self.settle_s, Self::SETTLE_S, branch));
    }
}

impl CompletingSpec {
    /// The load eases out while the structure rings down, and the rig comes home some day.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let (ring, ease) = (self.ring_down_s, self.ease_s);
        if ring < ease {
            let message =
                format!("the load eases out for {ease} s, longer than the {ring} s after it");
            let error = branch.error(Self::RING_DOWN_S, message);
            found.push(error.remedy("choose a longer `ring_down`, or a shorter `ease`"));
        }
        // Less than a centimetre a day: nobody waits for that, and the record grows.
        let a_day_m = self.home_rate_m_s * LONGEST_S;
        if a_day_m < 1e-2 {
            let message = format!("the rig would go home by {a_day_m:.3e} m in a day");
            let error = branch.error(Self::HOME_RATE_M_S, message);
            found.push(error.remedy("choose a higher `home_rate`, such as \"5 mm/s\""));
        }
        found.extend(too_long(ring, Self::RING_DOWN_S, branch));
        found.extend(too_long(ease, Self::EASE_S, branch));
    }
}

fn too_long(time_s: f64, key: &str, branch: &Branch) -> Option<Diagnostic> {
    let error = || branch.error(key, format!("`{key}` is longer than a day"));
    (time_s > LONGEST_S).then(|| error().remedy("choose a shorter time"))
}

impl StreamSpec {
    /// What must be there before the load begins fits into what is kept.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let (buffer, prefill) = (self.buffer_s, self.prefill_s);
        if prefill > buffer {
            let message =
                format!("the load begins when {prefill} s are there, and {buffer} s are kept");
            let given = branch.given(Self::PREFILL_S).is_some();
            let error = branch.error(if given { Self::PREFILL_S } else { Self::BUFFER_S }, message);
            found.push(error.remedy("choose a `prefill` that is not longer than `buffer`"));
        }
        let samples = buffer * self.rate_hz;
        if samples > MOST_SAMPLES {
            let message = format!("{samples:.3e} samples would be kept, at most 1e7 are");
            found.push(branch.error(Self::BUFFER_S, message).remedy("choose a shorter `buffer`"));
        }
    }
}

/// A streamed load comes whole, at a rate of its own, and is not known beforehand.
pub(super) fn check_stream(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let Some(excitation) = file.section(Experiment::EXCITATION) else { return };
    let ground = excitation.node(Excitation::GROUND);
    let signals = ground.into_iter().chain(excitation.list(Excitation::FORCES).unwrap_or_default());
    let is_streamed =
        |node: &&Node| node.table().is_some_and(|table| table.mentions(SignalSource::STREAMED));
    let (streamed, known): (Vec<&Node>, Vec<&Node>) = signals.partition(is_streamed);
    let Some(&signal) = streamed.first() else {
        if let Some(stream) = excitation.given(Excitation::STREAM) {
            let error = stream.error("no signal of the excitation is streamed");
            found.push(error.remedy(
                "write `ground = { streamed = { bound = \"0.5 g\" } }`, or remove `stream`",
            ));
        }
        return;
    };
    if !excitation.mentions(Excitation::STREAM) {
        let error = signal.error("it is not said how the streamed signal arrives");
        found.push(error.remedy("add `stream = { rate = \"200 Hz\" }` to [excitation]"));
    }
    if let Some(other) = known.first() {
        let error = other.error("a load is streamed as a whole, and this signal is not");
        found.push(error.remedy("let the host send every signal, or none"));
    }
    let mentions =
        |section, key| file.section(section).is_some_and(|section| section.mentions(key));
    if !mentions(Experiment::PHASES, PhasesSpec::COMPLETING) {
        let error = signal.error(
            "a streamed load ends when the host ends it or falls silent, and the file does not \
             say what the rig does then",
        );
        found.push(error.remedy(
            "add `completing = { ring_down = \"10 s\", home_rate = \"5 mm/s\" }` to [phases]",
        ));
    }
    let monitor = file.section(Experiment::MONITOR);
    let warning = monitor.and_then(|monitor| monitor.table(MonitorPlan::STABILITY_WARNING));
    if !warning.is_some_and(|table| table.mentions(StabilityPlan::CONSTANT_J)) {
        let error = signal.error(
            "the constant of the stability warning follows from the load, which is not known \
             before the test",
        );
        found.push(error.remedy(
            "add `stability_warning = { constant = \"10 J\" }` to [monitor]: about a hundredth of \
             the work that the load will do",
        ));
    }
    let main_loop = file.section(Experiment::MAIN_LOOP);
    if let Some(predictor) = main_loop.and_then(|table| table.table(MainLoopSpec::PREDICTOR))
        && Design::read_table(predictor) == Some(Design::ModelBased)
    {
        let message = "a model-based predictor looks at the load ahead, and a streamed load is \
                       not known ahead";
        let error = predictor.error(Design::TAG, message);
        found.push(error.remedy("use another predictor, such as \"hermite\""));
    }
    if let Some(sweep) = file.root.given(Experiment::SWEEP_TABLE) {
        let message = "a sweep runs many variants of a test, and a streamed load comes but once";
        found.push(sweep.error(message).remedy("give the load as a file for the sweep"));
    }
    if let (Some(stream), Some(pace)) = (excitation.table(Excitation::STREAM), file.pace) {
        found.extend(check_rate(stream, pace));
    }
}

/// A whole number of ticks lies between two samples.
fn check_rate(stream: &Branch, pace: Pace) -> Option<Diagnostic> {
    let (tick_hz, rate_hz) = (pace.rate_hz(), stream.number(StreamSpec::RATE_HZ)?);
    let ratio = tick_hz / rate_hz;
    if ratio >= 1.0 - 1e-9 && (ratio - ratio.round()).abs() <= 1e-6 * ratio {
        return None;
    }
    let below = tick_hz / ratio.ceil().max(1.0);
    let message = format!("{rate_hz} Hz do not divide the {tick_hz} Hz of the loop");
    let error = stream.error(StreamSpec::RATE_HZ, message);
    Some(error.remedy(format!("use \"{below} Hz\", or another whole fraction of the loop's rate")))
}
