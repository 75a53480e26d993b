//! From where on a result is doubtful, and from where on wrong.

use keys::Keys;

/// Thresholds of the verdict, each a pair: doubtful from the first on, wrong from the second on. The
/// defaults suit most tests; the verdict shows each beside the value that reached it.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct VerdictSpec {
    /// Error of the measured against the desired motion, rms over rms (J2).
    #[key(ratio, positive, default = ["5 %", "30 %"])]
    pub tracking_error: [f64; 2],
    /// Error of the measured motion against the whole structure, rms over rms (NRMSE, J4); of a
    /// trace the largest deviation from the whole structure's response, over its peak.
    #[key(ratio, positive, default = ["10 %", "30 %"])]
    pub reference_error: [f64; 2],
    /// Change of the damping of a mode by the loop, as a share of its own damping.
    #[key(ratio, positive, default = ["50 %", "300 %"])]
    pub damping_error: [f64; 2],
    /// Part of the measured motion that oscillates on its own, at a frequency that neither the load
    /// nor a mode explains, as a share of the motion.
    #[key(ratio, positive, default = ["2 %", "20 %"])]
    pub chatter: [f64; 2],
    /// Share of the test in which a command or a force was at the limit of actuator or compensator
    /// (saturation, rate, capacity).
    #[key(ratio, positive, default = ["0.1 %", "10 %"])]
    pub limited: [f64; 2],
    /// Noise and steps of sensors and command, as a share of what they disturb, rms over rms.
    #[key(ratio, positive, default = ["20 %", "100 %"])]
    pub noise: [f64; 2],
    /// Overruns, missed periods, answers of the rig that were bridged and ticks that were
    /// extrapolated over late steps of a main loop, as a share of all ticks.
    #[key(ratio, positive, default = ["0.1 %", "5 %"])]
    pub late_ticks: [f64; 2],
    /// What the simulation itself changes in a traced response, as a share of its peak.
    #[key(ratio, positive, default = ["2 %", "10 %"])]
    pub bias: [f64; 2],
    /// Power that the rig moves in harmonics that a trace does not match, as a share of the load's.
    #[key(ratio, positive, default = ["2 %", "50 %"])]
    pub unmatched_harmonics: [f64; 2],
    /// Half-width of the interval that nine in ten points of a trace stay below, as a share of the
    /// peak.
    #[key(ratio, positive, default = ["5 %", "30 %"])]
    pub interval: [f64; 2],
    /// Error of a reduced model: of the response at the interface, and of the eigenvalues and
    /// natural frequencies in the band.
    #[key(ratio, positive, default = ["1 %", "10 %"])]
    pub reduction_error: [f64; 2],
    /// Error of the motion in time that a reduced model gives against the full one, rms over rms
    /// and at the peak (`reduce --compare`).
    #[key(ratio, positive, default = ["5 %", "30 %"])]
    pub motion_error: [f64; 2],
    /// Delay margin below which a stable loop is doubtful, as a share of the rig's own delay.
    #[key(ratio, not_negative, default = "25 %")]
    pub delay_margin: f64,
    /// Difference between the forces of several interface DOFs below which a stable loop that it
    /// makes unstable is doubtful.
    #[key(ratio, not_negative, default = "5 %")]
    pub interface_margin: f64,
}
