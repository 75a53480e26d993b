//! What becomes of a test whose operator is lost, as declared.

use keys::Keys;
use runtime::host::{OperatorLost, WhenLost};

/// A test that an operator leads over the host link, with `twinrig serve` or another program. See
/// `docs/serve.md`.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct HostSpec {
    /// What becomes of the test when the operator who led it is not heard of any more. A test that
    /// cannot be held is stopped instead.
    #[key(default = "go_on")]
    pub operator_lost: Then,
    /// How long that may last.
    #[key(time, within = 1.0..=86_400.0, default = "30 s")]
    pub after_s: f64,
}

/// What becomes of a test without its operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Then {
    /// It goes on to its end.
    GoOn,
    /// It is held until an operator lets it go on, or stops it.
    Hold,
    /// It is stopped: hold, then ramp to zero.
    Stop,
}

impl HostSpec {
    /// As the link takes it.
    pub fn lost(&self) -> OperatorLost {
        let then = match self.operator_lost {
            Then::GoOn => WhenLost::GoOn,
            Then::Hold => WhenLost::Hold,
            Then::Stop => WhenLost::Stop,
        };
        OperatorLost { then, after_s: self.after_s }
    }
}
