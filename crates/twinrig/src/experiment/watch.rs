//! What watches and remembers the test: monitor, limits and record.

use super::per_dof::PerDof;
use super::tree::Branch;

/// What is watched while the test runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MonitorSpec {
    /// Stability warning that stops the test, as a ratio (1 is 100 %); `None` for never.
    pub stop_at: Option<f64>,
    /// Constant of the stability warning; `None` to derive it from the expected input work.
    pub constant_j: Option<f64>,
    /// How work is summed.
    pub work: Work,
}

/// How work is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Exact for a held force.
    Exact,
    /// By the trapezoidal rule.
    Trapezoid,
}

/// What the gate never lets through; absent limits do not exist.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitsSpec {
    /// Largest command, either way, in m.
    pub command: Option<PerDof>,
    /// Largest rate of the command, in m/s.
    pub rate: Option<PerDof>,
    /// Largest measured force, in N.
    pub force: Option<PerDof>,
    /// Largest difference between command and measured displacement, in m.
    pub tracking_error: Option<PerDof>,
    /// How long the command is held after a trip.
    pub safe_hold_s: f64,
    /// How fast it then goes to zero.
    pub safe_rate_m_s: f64,
}

/// What is written down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordSpec {
    /// Steps from one recorded frame to the next.
    pub every: u64,
    /// At most this much is lost in a crash.
    pub flush_s: f64,
    /// What is recorded of the motion.
    pub motion: RecordedMotion,
    /// Which degrees of freedom are recorded.
    pub displacements: RecordedDofs,
    /// Frames between loop and recorder; `None` to choose from the rate.
    pub ring: Option<usize>,
}

/// What is recorded of the motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedMotion {
    /// Displacement only.
    Displacement,
    /// Velocity and acceleration too.
    Full,
}

/// Which degrees of freedom are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedDofs {
    /// All of the structure.
    All,
    /// Those of the interface.
    Interface,
}

impl MonitorSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        let warning = branch.must_table("stability_warning");
        Self {
            stop_at: warning.number("stop_at"),
            constant_j: warning.number("constant"),
            work: match branch.must_word("work") {
                "exact" => Work::Exact,
                "trapezoid" => Work::Trapezoid,
                word => unreachable!("the grammar has no work {word}"),
            },
        }
    }
}

impl LimitsSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        let safe = branch.must_table("safe");
        Self {
            command: PerDof::read(branch, "command"),
            rate: PerDof::read(branch, "rate"),
            force: PerDof::read(branch, "force"),
            tracking_error: PerDof::read(branch, "tracking_error"),
            safe_hold_s: safe.must_number("hold"),
            safe_rate_m_s: safe.must_number("rate"),
        }
    }
}

impl RecordSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        Self {
            every: branch.must_count("every"),
            flush_s: branch.must_number("flush"),
            motion: match branch.must_word("motion") {
                "displacement" => RecordedMotion::Displacement,
                "full" => RecordedMotion::Full,
                word => unreachable!("the grammar has no motion {word}"),
            },
            displacements: match branch.must_word("displacements") {
                "all" => RecordedDofs::All,
                "interface" => RecordedDofs::Interface,
                word => unreachable!("the grammar has no choice {word} of displacements"),
            },
            ring: branch.count("ring").map(|ring| ring as usize),
        }
    }
}
