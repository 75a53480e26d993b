//! Checks of `[trace]`.

use super::super::Experiment;
use super::super::diagnostic::Diagnostic;
use super::super::trace::{ShakerSpec, StepsSpec, TraceSpec};
use super::super::watch::LimitsSpec;
use super::File;
use keys::tree::{Branch, Node};

/// Fewest samples in a period of the highest harmonic.
const FEWEST_SAMPLES: f64 = 10.0;
/// Largest tolerance, as a share of the largest target.
const LARGEST_TOLERANCE: f64 = 0.1;

impl TraceSpec {
    /// The band goes upwards, and what is matched is recorded.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let ((low, high), harmonics) = (self.band_hz(), self.harmonics);
        if low >= high {
            let message = format!("the band goes from {low} Hz to {high} Hz");
            let error = branch.error(Self::FREQUENCY_HZ, message);
            found.push(error.remedy("write the lower frequency first"));
        }
        if let Some(seen) = self.seen.filter(|&seen| seen < harmonics) {
            let message = format!("{harmonics} harmonics are matched and {seen} recorded");
            let error = branch.error(Self::SEEN, message);
            found.push(error.remedy("record at least those that are matched"));
        }
        if self.tolerance_m() > LARGEST_TOLERANCE * self.target_m {
            let message = format!(
                "a tolerance of {} mm, where no target is beyond {} mm",
                1e3 * self.tolerance_m(),
                1e3 * self.target_m
            );
            let error = branch.error(Self::TOLERANCE_M, message);
            found.push(error.remedy(
                "both sides would agree wherever they are: at most a tenth of `target`, a \
                 ten-thousandth is usual",
            ));
        }
    }
}

impl StepsSpec {
    /// The first step lies between the least and the most.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let Self { least, first, most, .. } = *self;
        if !(least <= first && first <= most) {
            let message = format!("steps of {least} (least), {first} (first) and {most} (most)");
            let error = Diagnostic::error(message).at(branch.span.clone());
            found.push(error.remedy("least ≤ first ≤ most"));
        }
    }
}

/// What single tables cannot show.
pub(super) fn check(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let Some(branch) = file.section(Experiment::TRACE) else { return };
    if let Some(trace) = file.read::<TraceSpec>(Experiment::TRACE) {
        check_samples(&trace, branch, file, found);
        check_limit(&trace, branch, file, found);
    }
    let lists = [
        branch.node(TraceSpec::INERTIA_COMPENSATION_KG),
        branch.table(TraceSpec::SHAKER).and_then(|shaker| shaker.node(ShakerSpec::PRELOAD_N)),
    ];
    for node in lists.into_iter().flatten() {
        if let (Some(list), Some(count)) = (node.list(), file.interface)
            && list.len() != count
        {
            let error = node.error(format!("{} values for {count} interface DOFs", list.len()));
            found.push(error.remedy("give one value, or one per interface DOF"));
        }
    }
}

/// Every harmonic has samples enough.
fn check_samples(trace: &TraceSpec, branch: &Branch, file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let Some(rate) = file.pace.map(|pace| pace.rate_hz()) else { return };
    let ((_, high), harmonics) = (trace.band_hz(), trace.harmonics);
    let seen = trace.seen.unwrap_or(harmonics + 2);
    if rate / high <= 2.0 * seen as f64 {
        let error = branch.error(TraceSpec::SEEN, format!(
            "{seen} harmonics are recorded, but a period of {high} Hz has {:.1} samples at {rate} Hz",
            rate / high
        ));
        found.push(error.remedy(
            "a harmonic needs more than two samples, or lower ones fold onto it: record fewer \
             (`seen`)",
        ));
    }
    let samples = rate / (high * harmonics as f64);
    if samples < FEWEST_SAMPLES {
        let error = branch.error(
            TraceSpec::FREQUENCY_HZ,
            format!(
                "harmonic {harmonics} of {high} Hz has {samples:.1} samples per period at {rate} Hz"
            ),
        );
        found.push(error.remedy(
            "at least 10 are needed: choose a higher [integrator] rate, a lower frequency or fewer \
             harmonics",
        ));
    }
}

/// A target that the gate would never let through.
fn check_limit(trace: &TraceSpec, branch: &Branch, file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let command = file.section(Experiment::LIMITS).and_then(|it| it.node(LimitsSpec::COMMAND));
    let each = |node: &Node| node.numbers().or_else(|| node.number().map(|one| vec![one]));
    let least = command.and_then(each).and_then(|each| each.into_iter().reduce(f64::min));
    if let Some(limit) = least.filter(|&limit| trace.target_m > limit) {
        let warning = branch.warning(
            TraceSpec::TARGET_M,
            format!(
                "targets up to {} mm may be tried, but [limits] command ends the test at {} mm",
                1e3 * trace.target_m,
                1e3 * limit
            ),
        );
        found.push(
            warning.remedy(
                "choose a `target` below the limit, so that the trace ends there by itself",
            ),
        );
    }
}
