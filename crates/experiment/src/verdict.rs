//! From where on a result is doubtful, and from where on wrong.

use keys::Keys;

/// Thresholds of the verdict, each a pair: doubtful from the first on, wrong from the second on. The
/// defaults suit most tests; the verdict shows each beside the value that reached it.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct VerdictSpec {
    /// Error of the measured against the desired motion, rms over rms (J2).
    #[key(ratio, positive, default = ["5 %", "30 %"])]
    pub tracking_error: [f64; 2],
    /// Error of the measured motion against the whole structure, rms over rms (NRMSE, J4).
    #[key(ratio, positive, default = ["10 %", "30 %"])]
    pub reference_error: [f64; 2],
    /// Change of the damping of a mode by the loop, as a share of its own damping.
    #[key(ratio, positive, default = ["50 %", "300 %"])]
    pub damping_error: [f64; 2],
    /// Part of the measured motion that oscillates on its own, at a frequency that neither the load
    /// nor a mode explains, as a share of the motion.
    #[key(ratio, positive, default = ["2 %", "20 %"])]
    pub chatter: [f64; 2],
    /// Overruns, missed periods and answers of the rig that were bridged, as a share of all ticks.
    #[key(ratio, positive, default = ["0.1 %", "5 %"])]
    pub late_ticks: [f64; 2],
    /// Error of a reduced model: of the response at the interface, and of the eigenvalues and
    /// natural frequencies in the band.
    #[key(ratio, positive, default = ["1 %", "10 %"])]
    pub reduction_error: [f64; 2],
    /// Delay margin below which a stable loop is doubtful, as a share of the rig's own delay.
    #[key(ratio, not_negative, default = "25 %")]
    pub delay_margin: f64,
}
