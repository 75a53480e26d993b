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
    /// Further levels of the stability warning, as ratios.
    pub stability: LevelsSpec,
    /// The windowed stability warning, if asked for.
    pub windowed: Option<WindowedSpec>,
    /// Levels of the energy error index as ratios, if asked for.
    pub energy_error: Option<LevelsSpec>,
    /// The time to 100 %, if asked for.
    pub forecast: Option<ForecastSpec>,
    /// Amplitude and delay of the tracking, if asked for.
    pub tracking: Option<TrackingSpec>,
    /// Levels of the largest share of a limit as ratios, if asked for.
    pub limits_used: Option<LevelsSpec>,
}

/// Levels of an indicator and what happens there; absent ones do nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelsSpec {
    /// A warning is noted.
    pub warn: Option<f64>,
    /// Hold, then ramp.
    pub hold: Option<f64>,
    /// Ramp at once.
    pub ramp_down: Option<f64>,
    /// Stop where the rig stands.
    pub abort: Option<f64>,
}

/// The windowed stability warning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowedSpec {
    /// How far back it looks.
    pub window_s: f64,
    /// Its constant; `None` for that of the stability warning.
    pub constant_j: Option<f64>,
    /// As ratios.
    pub levels: LevelsSpec,
}

/// The time to 100 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForecastSpec {
    /// How far back the trend looks.
    pub window_s: f64,
    /// In s, reached from above.
    pub levels: LevelsSpec,
}

/// Amplitude and delay of the tracking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrackingSpec {
    /// Length of the window.
    pub window_s: f64,
    /// Of the delay, in s.
    pub delay: LevelsSpec,
    /// Of the distance of the amplitude ratio from 1.
    pub amplitude: LevelsSpec,
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
            stability: LevelsSpec::read(warning, "at"),
            windowed: branch.table("windowed_warning").map(|table| WindowedSpec {
                window_s: table.must_number("window"),
                constant_j: table.number("constant"),
                levels: LevelsSpec::read(table, "at"),
            }),
            energy_error: branch.table("energy_error").map(|table| LevelsSpec::read(table, "at")),
            forecast: branch.table("forecast").map(|table| ForecastSpec {
                window_s: table.must_number("window"),
                levels: LevelsSpec::read(table, "below"),
            }),
            tracking: branch.table("tracking").map(|table| TrackingSpec {
                window_s: table.must_number("window"),
                delay: LevelsSpec::read(table.must_table("delay"), "at"),
                amplitude: LevelsSpec::read(table.must_table("amplitude"), "at"),
            }),
            limits_used: branch.table("limits_used").map(|table| LevelsSpec::read(table, "at")),
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

impl LevelsSpec {
    /// Reads `warn_at`, `hold_at` … or `warn_below`, `hold_below` ….
    fn read(branch: &Branch, side: &str) -> Self {
        let level = |action: &str| branch.number(&format!("{action}_{side}"));
        Self {
            warn: level("warn"),
            hold: level("hold"),
            ramp_down: level("ramp_down"),
            abort: level("abort"),
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
