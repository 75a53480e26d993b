//! What turns the desired motion into the command.

use keys::Keys;
use model::compensator::{Design, ShapingDesign};

/// What turns the desired motion into the command, so that the achieved motion follows. One page for
/// each kind is in `docs/compensators`.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct CompensatorSpec {
    /// The kind with its numbers.
    #[key(flatten)]
    pub design: Design,
    /// Low-pass filter, end stops and rate limit.
    #[key(flatten)]
    pub shaping: ShapingDesign,
}
