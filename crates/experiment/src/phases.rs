//! What comes before and after the load, as declared.

use keys::Keys;

/// What comes before and after the load. Without this section the load begins with the first tick
/// and the test ends with it. Times in \[excitation\] and `duration` count from the start of the
/// load, those in the record from the first tick; criteria count the time of the load alone. See
/// `docs/host-link.md`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
pub struct PhasesSpec {
    /// The rig is fetched from where it stands to zero, and settles there.
    pub initiating: Option<InitiatingSpec>,
    /// The structure rings down in the closed loop, then the command goes home to zero.
    pub completing: Option<CompletingSpec>,
}

/// Before the load: the command begins where the rig stands and goes to zero, the numerical part at
/// rest. Takes reach / rate + settle, wherever the rig stands. A rig that stands further away than
/// `reach` trips the test before any command goes out.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct InitiatingSpec {
    /// How fast the rig is fetched.
    #[key(velocity, positive)]
    pub rate_m_s: f64,
    /// How far from zero the rig may stand at the start.
    #[key(length, positive)]
    pub reach_m: f64,
    /// How long it then stands still before the load begins.
    #[key(time, not_negative, default = "1 s")]
    pub settle_s: f64,
    /// How near to zero it must then stand, in the mean of the second half of `settle`; else the
    /// test trips.
    #[key(length, positive)]
    pub within_m: f64,
    /// Where the virtual rig stands at the start of a rehearsal.
    #[key(length, default = "0 mm")]
    pub stands_at_m: f64,
}

/// After the load.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct CompletingSpec {
    /// Time in which the last value of the load goes straight to zero.
    #[key(time, not_negative, default = "0.1 s")]
    pub ease_s: f64,
    /// How long the loop stays closed after the load, at most.
    #[key(time, positive)]
    pub ring_down_s: f64,
    /// The ringing down ends earlier once desired and measured displacement stay this near to zero.
    #[key(length, positive)]
    pub at_rest_m: Option<f64>,
    /// For how long they must, with `at_rest`: longer than half a cycle of the slowest mode.
    #[key(time, positive, default = "1 s")]
    pub rest_for_s: f64,
    /// How fast the command then goes to zero.
    #[key(velocity, positive)]
    pub home_rate_m_s: f64,
}
