//! What comes before and after the load, as declared.

use super::tree::Branch;

/// What comes before and after the load.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PhasesSpec {
    /// Before it.
    pub initiating: Option<InitiatingSpec>,
    /// After it.
    pub completing: Option<CompletingSpec>,
}

/// Before the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InitiatingSpec {
    /// How fast the rig is fetched.
    pub rate_m_s: f64,
    /// How far from zero it may stand.
    pub reach_m: f64,
    /// How long it then stands still.
    pub settle_s: f64,
    /// How near to zero it must then stand.
    pub within_m: f64,
    /// Where the virtual rig stands.
    pub stands_at_m: f64,
}

/// After the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompletingSpec {
    /// Time in which the load goes to zero.
    pub ease_s: f64,
    /// Longest time in the closed loop.
    pub ring_down_s: f64,
    /// Displacement that counts as rest.
    pub at_rest_m: Option<f64>,
    /// For how long.
    pub rest_s: f64,
    /// How fast the command then goes to zero.
    pub home_rate_m_s: f64,
}

impl PhasesSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        Self {
            initiating: branch.table("initiating").map(|table| InitiatingSpec {
                rate_m_s: table.must_number("rate"),
                reach_m: table.must_number("reach"),
                settle_s: table.must_number("settle"),
                within_m: table.must_number("within"),
                stands_at_m: table.must_number("stands_at"),
            }),
            completing: branch.table("completing").map(|table| CompletingSpec {
                ease_s: table.must_number("ease"),
                ring_down_s: table.must_number("ring_down"),
                at_rest_m: table.number("at_rest"),
                rest_s: table.must_number("rest_for"),
                home_rate_m_s: table.must_number("home_rate"),
            }),
        }
    }
}
