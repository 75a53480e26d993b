//! What the sensors of a rig say.

/// What the sensors say in one tick, one entry per interface DOF.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Displacement, m.
    pub displacement: Vec<f64>,
    /// Restoring force, N.
    pub force: Vec<f64>,
    /// Where the specimen truly is, m: known to virtual rigs only, NaN elsewhere.
    pub achieved: Vec<f64>,
    /// Acceleration, m/s², from a rig that measures it.
    pub acceleration: Vec<f64>,
    /// Whether it does.
    pub has_acceleration: bool,
    /// The rig's own channels, in the order of `Rig::channels`.
    pub auxiliary: Vec<f64>,
    /// Whether all of this was measured now.
    pub validity: Validity,
    /// Nanoseconds from a command to the answer to it, if one came in this tick
    /// and the rig measures it.
    pub round_trip_ns: Option<u64>,
}

/// Whether a measurement is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Validity {
    /// The sensors were read now.
    Fresh,
    /// Nothing came from the sensors: values are held or extrapolated.
    Bridged {
        /// Ticks in a row.
        ticks: u64,
        /// For how long already, s.
        for_s: f64,
        /// How long that may last, s.
        allowed_s: f64,
    },
}

impl Measured {
    /// Zeros for `count` interface DOFs and a rig without channels of its own.
    pub fn zeros(count: usize) -> Self {
        let zeros = vec![0.0; count];
        Self {
            displacement: zeros.clone(),
            force: zeros.clone(),
            achieved: zeros.clone(),
            acceleration: zeros,
            has_acceleration: false,
            auxiliary: Vec::new(),
            validity: Validity::Fresh,
            round_trip_ns: None,
        }
    }
}
