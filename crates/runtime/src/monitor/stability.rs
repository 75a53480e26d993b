//! The keys of the stability warning, which is computed in every test.

use keys::Keys;
use keys::diagnostic::Diagnostic;
use keys::tree::Branch;

use super::alarm::{Levels, Sense, never_warns};

/// It is computed in every test; it stops one only if told to.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
#[key(check = Self::check)]
pub struct StabilityPlan {
    /// Stops the test when the warning reaches this: another name for `hold_at`. Absent: never.
    #[key(ratio, within = 0.01..=10.0, at_most_one)]
    pub stop_at: Option<f64>,
    /// Notes a warning when the indicator reaches this; the test goes on.
    #[key(ratio, within = 0.01..=10.0)]
    pub warn_at: Option<f64>,
    /// Trips when the indicator reaches this: the command is held as `[limits] safe` says, then
    /// ramps to zero.
    #[key(ratio, within = 0.01..=10.0, at_most_one)]
    pub hold_at: Option<f64>,
    /// Trips when the indicator reaches this: the command ramps to zero at once.
    #[key(ratio, within = 0.01..=10.0)]
    pub ramp_down_at: Option<f64>,
    /// Trips when the indicator reaches this: the test is over at once, and the command stays where
    /// it is.
    #[key(ratio, within = 0.01..=10.0)]
    pub abort_at: Option<f64>,
    /// Added to the dissipated energy. Absent: 1 % of the expected peak input work.
    #[key(energy, positive)]
    pub constant_j: Option<f64>,
}

impl StabilityPlan {
    /// Its levels beside `stop_at`.
    pub fn levels(&self) -> Levels {
        let Self { warn_at, hold_at, ramp_down_at, abort_at, .. } = *self;
        Levels { warn_at, hold_at, ramp_down_at, abort_at }
    }

    fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let stops = [
            (Self::STOP_AT, self.stop_at),
            (Self::HOLD_AT, self.hold_at),
            (Self::RAMP_DOWN_AT, self.ramp_down_at),
            (Self::ABORT_AT, self.abort_at),
        ];
        found.extend(never_warns(branch, (Self::WARN_AT, self.warn_at), &stops, Sense::Rising));
    }
}
