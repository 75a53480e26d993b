//! What watches and remembers the test: monitor, limits and record.

use keys::{Keys, Stated};

use super::per_dof::{MOST_INTERFACE, PerDof};

/// What is watched while the test runs. The energies and the stability warning are always computed;
/// every other indicator only if its key is written, be it as `{}`.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct MonitorSpec {
    /// The stability warning: work put in by the specimen over energy taken out by damping.
    #[key(default = {})]
    pub stability_warning: Stated<StabilityWarningSpec>,
    /// How work is summed.
    #[key(default = "exact")]
    pub work: Work,
    /// The stability warning of the recent past alone: it forgets.
    pub windowed_warning: Option<WindowedSpec>,
    /// The energy error index: how far the energy balance is off at the measured motion.
    pub energy_error: Option<EnergyErrorSpec>,
    /// The time left until the stability warning reaches 100 %, if its trend holds.
    pub forecast: Option<ForecastSpec>,
    /// Amplitude and delay of the measured against the desired motion, in a moving window.
    pub tracking: Option<TrackingSpec>,
    /// The largest share of any limit in `[limits]` that is used.
    pub limits_used: Option<LimitsUsedSpec>,
}

/// Levels of an indicator that rises and what happens there; absent ones do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given, check = Self::check)]
pub struct LevelsSpec {
    /// Notes a warning when the indicator reaches this; the test goes on.
    #[key(given)]
    pub warn_at: Option<f64>,
    /// Trips when the indicator reaches this: the command is held as `[limits] safe` says, then
    /// ramps to zero.
    #[key(given)]
    pub hold_at: Option<f64>,
    /// Trips when the indicator reaches this: the command ramps to zero at once.
    #[key(given)]
    pub ramp_down_at: Option<f64>,
    /// Trips when the indicator reaches this: the test is over at once, and the command stays where
    /// it is.
    #[key(given)]
    pub abort_at: Option<f64>,
}

/// It is computed in every test; it stops one only if told to.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct StabilityWarningSpec {
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

/// Fed back over dissipated energy within the window. A test that has recovered reads as recovered
/// one window later.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct WindowedSpec {
    /// How far back it looks; 16 periods of the slowest motion or more.
    #[key(time, within = 0.001..=3600.0, default = "5 s")]
    pub window_s: f64,
    /// As ratios.
    #[key(ratio, within = 0.01..=10.0, flatten)]
    pub levels: LevelsSpec,
    /// Added to the energy dissipated in the window. Absent: that of the stability warning.
    #[key(energy, positive)]
    pub constant_j: Option<f64>,
}

/// Levels of its size, whatever its sign.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct EnergyErrorSpec {
    /// As ratios.
    #[key(ratio, within = 0.01..=10.0, flatten)]
    pub levels: LevelsSpec,
}

/// Levels of the largest share. At 100 % the gate trips by itself.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct LimitsUsedSpec {
    /// As ratios.
    #[key(ratio, within = 0.01..=10.0, flatten)]
    pub levels: LevelsSpec,
}

/// The trend is that of the crests of fed back minus dissipated energy.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct ForecastSpec {
    /// How far back the trend looks; four periods of the slowest motion or more.
    #[key(time, within = 0.001..=3600.0, default = "2 s")]
    pub window_s: f64,
    /// Notes a warning when less time than this is left.
    #[key(time, not_negative)]
    pub warn_below_s: Option<f64>,
    /// Trips when less time than this is left: hold, then ramp.
    #[key(time, not_negative)]
    pub hold_below_s: Option<f64>,
    /// Trips when less time than this is left: ramp.
    #[key(time, not_negative)]
    pub ramp_down_below_s: Option<f64>,
    /// Trips when less time than this is left: stop there.
    #[key(time, not_negative)]
    pub abort_below_s: Option<f64>,
}

/// Estimated sixteen times per window, where there is motion enough to tell.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct TrackingSpec {
    /// Length of the window; two periods of the slowest motion or more.
    #[key(time, within = 0.001..=3600.0, default = "1 s")]
    pub window_s: f64,
    /// Levels of the delay.
    #[key(default = {})]
    pub delay: TrackingDelaySpec,
    /// Levels of the amplitude.
    #[key(default = {})]
    pub amplitude: TrackingAmplitudeSpec,
}

/// Levels of the size of the delay; a lead counts as well.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct TrackingDelaySpec {
    /// In s.
    #[key(time, positive, flatten)]
    pub levels: LevelsSpec,
}

/// Levels of how far the amplitude ratio is from 1, either way.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct TrackingAmplitudeSpec {
    /// As ratios.
    #[key(ratio, within = 0.001..=10.0, flatten)]
    pub levels: LevelsSpec,
}

/// How work is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Work {
    /// Exact for a force held over the step.
    Exact,
    /// By the trapezoidal rule, for comparison with publications.
    Trapezoid,
}

/// What the gate never lets through; passing one stops the test. One value serves every interface
/// DOF; a list has one for each. A test in real time or over a wire needs `command`, `rate` and
/// `force`.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct LimitsSpec {
    /// Largest command, either way.
    #[key(length, of_dof, within = 1e-9..=1e9, entries = 1..=MOST_INTERFACE)]
    pub command: Option<PerDof>,
    /// Largest rate of change of the command.
    #[key(velocity, of_dof, within = 1e-6..=1e9, entries = 1..=MOST_INTERFACE)]
    pub rate: Option<PerDof>,
    /// Largest measured force.
    #[key(force, of_dof, within = 1e-6..=1e15, entries = 1..=MOST_INTERFACE)]
    pub force: Option<PerDof>,
    /// Largest difference between command and measured displacement.
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

impl StabilityWarningSpec {
    /// Its levels beside `stop_at`.
    pub fn levels(&self) -> LevelsSpec {
        LevelsSpec {
            warn_at: self.warn_at,
            hold_at: self.hold_at,
            ramp_down_at: self.ramp_down_at,
            abort_at: self.abort_at,
        }
    }
}

impl ForecastSpec {
    /// Its levels, in s, reached from above.
    pub fn levels(&self) -> LevelsSpec {
        LevelsSpec {
            warn_at: self.warn_below_s,
            hold_at: self.hold_below_s,
            ramp_down_at: self.ramp_down_below_s,
            abort_at: self.abort_below_s,
        }
    }
}
