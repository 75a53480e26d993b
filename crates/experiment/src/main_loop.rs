//! The slow main loop as it is declared.

use keys::Keys;
use model::predictor::Design;
use runtime::two_rate::{ForceUse, Lead, Rates, StepTime};

use super::closed_loop::TransferKind;

/// The numerical part at a slower rate than the rig: a main loop that takes one step for every
/// `ratio` ticks of \[integrator\] `rate`, and predicts what the ticks between need. See
/// `docs/two-rates.md`.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct MainLoopSpec {
    /// Ticks per step of the main loop (execution ratio 1:R).
    #[key(count = 1..=1000)]
    ratio: usize,
    /// Time the main loop has for a step.
    #[key(flatten)]
    task: Option<Task>,
    /// How the points ahead are predicted.
    #[key(default = { kind = "hermite" })]
    predictor: Design,
    /// What becomes of the force samples of a period.
    #[key(default = "all_samples")]
    force: ForceUse,
    /// The instant for which a point is predicted; if absent, "half_sample" before a rig that holds
    /// its command over a tick, "none" before an ideal one or a pure delay.
    lead: Option<Lead>,
    /// Ticks in a row that may be bridged when a step is late, before the test trips; `ratio` if
    /// absent.
    #[key(count = 0..=1000)]
    bridge: Option<usize>,
    /// How long a step takes in a rehearsal; without it every step is in time.
    step_time: Option<StepTime>,
}

/// Time the main loop has for a step, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(one_of)]
enum Task {
    /// Time the main loop has for a step, rounded up to whole ticks; one tick if neither this nor
    /// `task_ticks` is given.
    #[key(time, not_negative)]
    TaskTime(f64),
    /// The same in ticks.
    #[key(count = 0..=1000)]
    TaskTicks(usize),
}

impl MainLoopSpec {
    /// How the two loops go together; `step_s` is the period of the tick.
    pub(crate) fn rates(&self, transfer: &TransferKind, step_s: f64) -> Rates {
        // Models of a pure delay hand the samples on; only dynamics see them held.
        let holds = !matches!(transfer, TransferKind::Ideal | TransferKind::Delay(_));
        Rates {
            ratio: self.ratio,
            task_ticks: match self.task {
                Some(Task::TaskTicks(ticks)) => ticks,
                // A whole number of ticks must not gain one to rounding.
                Some(Task::TaskTime(time_s)) => (time_s / step_s - 1e-6).ceil().max(0.0) as usize,
                None => 1,
            },
            force: self.force,
            lead: self.lead.unwrap_or(if holds { Lead::HalfSample } else { Lead::None }),
            bridge: self.bridge.unwrap_or(self.ratio),
            predictor: self.predictor,
            step_time: self.step_time,
        }
    }
}
