//! What bounds and remembers the test: limits and record.

use keys::Keys;

use super::per_dof::{MOST_INTERFACE, PerDof};

/// What the gate never lets through; passing one stops the test. One value serves every interface
/// DOF; a list has one for each. A test in real time or over a wire needs `command`, `rate` and
/// `force`.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct LimitsSpec {
    /// Largest command, either way.
    #[key(length, of_dof, within = 1e-9..=1e9, entries = 1..=MOST_INTERFACE)]
    pub command: Option<PerDof>,
    /// Largest rate of change of the command, and largest velocity that it asks for or that its
    /// accelerations add up to.
    #[key(velocity, of_dof, within = 1e-6..=1e9, entries = 1..=MOST_INTERFACE)]
    pub rate: Option<PerDof>,
    /// Largest measured force.
    #[key(force, of_dof, within = 1e-6..=1e15, entries = 1..=MOST_INTERFACE)]
    pub force: Option<PerDof>,
    /// Largest difference between desired and measured displacement.
    #[key(length, of_dof, within = 1e-9..=1e9, entries = 1..=MOST_INTERFACE)]
    pub tracking_error: Option<PerDof>,
    /// How far the measured displacement may go beyond `command`, as a share of it.
    #[key(ratio, within = 0.0..=100.0, default = "20 %")]
    pub overshoot: f64,
    /// The path to the safe state after a trip: hold, then ramp to zero.
    #[key(default = {})]
    pub safe: SafeSpec,
}

/// After a trip the command is held, then taken to zero.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct SafeSpec {
    /// How long the command is held.
    #[key(time, within = 0.0..=3600.0, default = "0.5 s")]
    pub hold_s: f64,
    /// How fast it then goes to zero; never faster than `limits.rate`. From the largest command it
    /// must get there within an hour.
    #[key(velocity, of_dof, within = 1e-6..=1e9, default = "10 mm/s")]
    pub rate_m_s: f64,
}

/// What is written down.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct RecordSpec {
    /// Steps from one recorded frame to the next.
    #[key(count = 1..=1_000_000, default = 1)]
    pub every: u64,
    /// At most this much is lost in a crash.
    #[key(time, within = 0.001..=3600.0, default = "1 s")]
    pub flush_s: f64,
    /// What is recorded of the motion.
    #[key(default = "displacement")]
    pub motion: RecordedMotion,
    /// Which DOFs are recorded.
    #[key(default = "all")]
    pub displacements: RecordedDofs,
    /// Frames the ring between loop and recorder holds. Absent: chosen from the rate.
    #[key(count = 16..=1 << 24)]
    pub ring: Option<usize>,
}

/// What is recorded of the motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum RecordedMotion {
    /// Displacements only.
    Displacement,
    /// Also velocity and acceleration of every recorded DOF.
    Full,
}

/// Which DOFs are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum RecordedDofs {
    /// Every DOF of the structure.
    All,
    /// The interface only, for large structures.
    Interface,
}

impl LimitsSpec {
    /// Beyond these a limit bounds no rig: command in m, rate in m/s, force in N.
    const NO_LIMIT: [f64; 3] = [100.0, 1e3, 1e10];

    /// Which of the limits it lacks that a rig must have before it moves, as they are called.
    pub fn missing(&self) -> Vec<&'static str> {
        let limits =
            [(Self::COMMAND, &self.command), (Self::RATE, &self.rate), (Self::FORCE, &self.force)];
        let bounds = |limit: &Option<PerDof>, most: f64| match limit {
            None => false,
            Some(PerDof::All(value)) => *value <= most,
            Some(PerDof::Each(values)) => values.iter().all(|value| *value <= most),
        };
        let open =
            limits.iter().zip(Self::NO_LIMIT).filter(|((_, limit), most)| !bounds(limit, *most));
        open.map(|((key, _), _)| *key).collect()
    }

    /// The largest command that is meant as a limit, m; zero where there is none.
    pub(crate) fn farthest_m(&self) -> f64 {
        let values = self.command.as_ref().map_or_else(Vec::new, |all| all.expand(MOST_INTERFACE));
        values.into_iter().filter(|&value| value <= Self::NO_LIMIT[0]).fold(0.0, f64::max)
    }
}
