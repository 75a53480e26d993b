//! What the signals of a test say against its result: of a record, and of a variant of a sweep.

use analysis::criteria::{Criterion, Interface, Measure, Subject};
use analysis::self_excited::self_excited;
use experiment::VerdictSpec;
use runtime::verdict::{Level, Reason};

use crate::page::text::{counted, label, seconds, sentence};
use crate::words::number;

/// What helps where a loop moves by itself.
const CALM: &str = "less delay, a compensator, or less of the structure in the laboratory";

/// The signals of a test while its load acted, and what was computed from them.
pub(crate) struct Evidence<'a> {
    /// From where on something counts.
    pub(crate) thresholds: &'a VerdictSpec,
    /// Frames per second, where that is known.
    pub(crate) rate_hz: Option<f64>,
    /// Motion of every interface DOF.
    pub(crate) interfaces: &'a [Interface<'a>],
    /// All criteria.
    pub(crate) criteria: &'a [Criterion],
}

impl Evidence<'_> {
    /// All that speaks against the result.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = Reason> {
        let errors = [self.tracking_error(), self.reference_error()];
        self.oscillation().into_iter().chain(errors.into_iter().flatten())
    }

    /// A motion that the load does not explain.
    fn oscillation(&self) -> Option<Reason> {
        let found = self.interfaces.iter().filter_map(|interface| {
            Some((
                self_excited(interface.measured, interface.reference?, self.rate_hz?)?,
                interface,
            ))
        });
        let (found, interface) = found.max_by(|(a, _), (b, _)| a.share.total_cmp(&b.share))?;
        Reason::beyond(self.thresholds.chatter, found.share, SELF_EXCITED, |threshold| {
            let text = format!(
                "interface DOF {} oscillates by itself at {} Hz with {} mm, {} % of its motion; \
                 {} % allowed",
                label(interface.name),
                number(found.frequency_hz),
                number(1e3 * found.amplitude),
                number(100.0 * found.share),
                number(100.0 * threshold),
            );
            (text, CALM.to_owned())
        })
    }

    fn tracking_error(&self) -> Option<Reason> {
        let remedy = "a compensator that suits the rig: `twinrig identify`";
        let (measure, thresholds) = (Measure::TrackingError, self.thresholds.tracking_error);
        self.error(measure, thresholds, "tracking_error", "tracking error", remedy)
    }

    fn reference_error(&self) -> Option<Reason> {
        let remedy = "`twinrig check` shows which mode the loop changes and what helps";
        let (measure, thresholds) = (Measure::Error, self.thresholds.reference_error);
        let words = "error against the whole structure";
        self.error(measure, thresholds, "reference_error", words, remedy)
    }

    /// An error of the worst interface DOF.
    fn error(
        &self,
        measure: Measure,
        thresholds: [f64; 2],
        id: &str,
        words: &str,
        remedy: &str,
    ) -> Option<Reason> {
        let of_interface = |criterion: &&Criterion| criterion.measure == measure;
        let values = self.criteria.iter().filter(of_interface).filter_map(|criterion| {
            let Subject::Interface(index) = criterion.subject else { return None };
            Some((criterion.value?, self.interfaces.get(index)?.name))
        });
        let (percent, name) = values.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Reason::beyond(thresholds, percent / 100.0, id, |threshold| {
            let text = format!(
                "{words} of {} % at interface DOF {}; {} % allowed",
                number(percent),
                label(name),
                number(100.0 * threshold)
            );
            (text, remedy.to_owned())
        })
    }
}

/// Name of the reason that a motion is not explained by the load.
pub(crate) const SELF_EXCITED: &str = "self_excited";
/// Name of the reason that the specimen gave the structure more energy than damping took out.
pub(crate) const STABILITY_WARNING: &str = "stability_warning";

/// That the stability warning reached 100 %.
pub(crate) fn warned(at_s: f64) -> Reason {
    let text = format!("the stability warning reached 100 % at {}", seconds(at_s));
    Reason::new(Level::Unsafe, STABILITY_WARNING, text, CALM)
}

/// That the test was stopped: a sentence.
pub(crate) fn trip_words(text: &str, time_s: f64) -> String {
    format!("{} at {}.", sentence(text), seconds(time_s))
}

/// Ticks that came late or went without an answer, and those that were extrapolated because a step
/// of the main loop was late, of all.
pub(crate) fn late_ticks(
    thresholds: &VerdictSpec,
    late: u64,
    extrapolated: u64,
    ticks: u64,
) -> Option<Reason> {
    let all = late + extrapolated;
    if all == 0 {
        return None;
    }
    let share = all as f64 / ticks.max(1) as f64;
    Reason::beyond(thresholds.late_ticks, share, "late_ticks", |threshold| {
        let (what, remedy) = match extrapolated {
            0 => ("late or without an answer".to_owned(), LATE_TICKS),
            _ if late == 0 => {
                ("extrapolated over late steps of the main loop".to_owned(), LATE_STEPS)
            }
            _ => {
                let steps = format!(
                    "late, without an answer or, {extrapolated} of them, extrapolated over late \
                     steps of the main loop"
                );
                (steps, LATE_TICKS)
            }
        };
        let text = format!(
            "{} {what}, {} % of all; {} % allowed",
            counted(all, "tick"),
            number(100.0 * share),
            number(100.0 * threshold)
        );
        (text, remedy.to_owned())
    })
}

const LATE_TICKS: &str = "a quieter machine, a real-time kernel, or a lower rate";
const LATE_STEPS: &str = "a longer `main_loop.task_time`, a larger ratio, or a smaller model";

/// That the monitor, the gate or the laboratory stopped it.
pub(crate) fn tripped(said: String) -> Reason {
    Reason::new(Level::Unsafe, "tripped", said, "find the cause before the rig is armed")
}
