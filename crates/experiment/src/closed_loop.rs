//! What runs inside the loop: integrator, transfer system, sensors.

use keys::diagnostic::Diagnostic;
use keys::tree::Branch;
use keys::{Keys, Stated};
use model::integrator::Hold;
use model::transfer::ServoHydraulic;

use super::per_dof::{MOST_INTERFACE, PerDof};

/// How the simulated part is advanced, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct IntegratorSpec {
    /// The method with its options.
    #[key(flatten)]
    pub method: Method,
    /// How often.
    #[key(flatten)]
    pub pace: Pace,
    /// What the measured force does between two steps.
    #[key(default = "held")]
    pub feedback: Stated<Feedback>,
}

/// How often the simulated part is advanced, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(one_of)]
pub enum Pace {
    /// Steps per second.
    #[key(frequency, positive)]
    Rate(f64),
    /// Time from step to step.
    #[key(time, positive)]
    Step(f64),
}

/// The integration method.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(tag = "method")]
pub enum Method {
    /// Explicit Runge–Kutta of fourth order.
    Rk4,
    /// Exact for a linear structure, by the matrix exponential.
    Exact {
        /// What the load is taken to do between two steps. Absent: `zero`, the last one held; in a
        /// trace, whose forces are measured before the step, `first`, on a straight line.
        hold: Option<Hold>,
    },
    /// Average acceleration (Newmark); implicit.
    Newmark {
        /// Most Newton iterations per step, where there are nonlinear elements.
        #[key(count = 1..=1000, default = 20)]
        iterations: usize,
    },
    /// Backward Euler; implicit, damps strongly.
    ImplicitEuler {
        /// Most Newton iterations per step, where there are nonlinear elements.
        #[key(count = 1..=1000, default = 20)]
        iterations: usize,
    },
    /// Explicit, unconditionally stable (Chen and Ricles).
    Cr,
    /// Explicit, with adjustable numerical damping (Kolay and Ricles).
    KrAlpha {
        /// Spectral radius at high frequency: 1 damps nothing, 0 most.
        #[key(number, within = 0.0..=1.0, default = 0.5)]
        spectral_radius: f64,
    },
}

/// What the measured force does between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Feedback {
    /// The measured force is held over the step, as real hardware does.
    Held,
    /// Virtual rig and simulated part are integrated as one system; rehearsal only.
    Continuous,
}

/// Actuator and controller as a rehearsal plays them; one serves every interface DOF.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct TransferSystemSpec {
    /// From command to achieved motion.
    #[key(flatten)]
    pub kind: TransferKind,
    /// Largest command the controller takes, either way.
    #[key(length, of_dof, positive)]
    pub saturation_m: Option<f64>,
    /// Smallest step of the command (digital-to-analogue converter).
    #[key(length, of_dof, positive)]
    pub quantum_m: Option<f64>,
    /// Largest force of the actuator.
    #[key(force, of_dof, positive)]
    pub capacity_n: Option<f64>,
}

/// The model of actuator and controller.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(tag = "kind", check = Self::check)]
pub enum TransferKind {
    /// The achieved motion is the command.
    Ideal,
    /// The achieved motion is the command of some time ago.
    Delay(PureDelay),
    /// A linear system from command to achieved motion.
    TransferFunction {
        /// Coefficients in descending powers of s, SI.
        #[key(number, entries = 1..=32)]
        numerator: Vec<f64>,
        /// Coefficients in descending powers of s, SI.
        #[key(number, entries = 1..=32)]
        denominator: Vec<f64>,
        /// Pure delay of the motion.
        #[key(time, not_negative)]
        delay_s: Option<f64>,
    },
    /// A servo-hydraulic actuator that interacts with the specimen; the defaults are those of the
    /// virtual benchmark of Silva et al. 2020, in SI.
    ServoHydraulic {
        /// Its numbers.
        #[key(flatten)]
        servo: ServoHydraulic,
        /// A rig that becomes another one during the rehearsal. Absent: it does not.
        change: Option<ChangeSpec>,
    },
}

/// A pure delay, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(one_of)]
pub enum PureDelay {
    /// Pure delay of the motion.
    #[key(time, not_negative)]
    Delay(f64),
    /// The delay in steps of the integrator; may be fractional.
    #[key(number, not_negative)]
    Samples(f64),
}

/// What the rig becomes, its state carried over. Keys that are absent stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct ChangeSpec {
    /// When.
    #[key(time, positive)]
    pub at_s: f64,
    /// Stiffness of the specimen, as a share of what it was.
    #[key(ratio, within = 0.0..=10.0)]
    pub specimen_stiffness: Option<f64>,
    /// Gain on the command.
    #[key(number, positive)]
    pub gain: Option<f64>,
    /// Gain of the servo valve, a1β0.
    #[key(number, positive)]
    pub servo_gain: Option<f64>,
    /// Natural velocity feedback, a2.
    #[key(number, not_negative)]
    pub velocity_feedback: Option<f64>,
    /// Leakage of the actuator, a3.
    #[key(number, not_negative)]
    pub leakage: Option<f64>,
    /// Coefficient β1 of the servo valve.
    #[key(number, positive)]
    pub servo_damping: Option<f64>,
    /// Coefficient β2 of the servo valve.
    #[key(number, positive)]
    pub servo_stiffness: Option<f64>,
}

/// Imperfections of the sensors in a rehearsal. One value serves every interface DOF; a list has
/// one for each.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct SensorsSpec {
    /// Root mean square of the noise on the measured displacement.
    #[key(length, of_dof, within = 0.0..=1.0, entries = 1..=MOST_INTERFACE)]
    pub displacement_noise: Option<PerDof>,
    /// Root mean square of the noise on the measured force.
    #[key(force, of_dof, within = 0.0..=1e9, entries = 1..=MOST_INTERFACE)]
    pub force_noise: Option<PerDof>,
    /// Root mean square of the noise on the measured acceleration, for \[trace\].
    #[key(acceleration, of_dof, within = 0.0..=1e4, entries = 1..=MOST_INTERFACE)]
    pub acceleration_noise: Option<PerDof>,
    /// Smallest step of the measured displacement.
    #[key(length, of_dof, within = 0.0..=1.0, entries = 1..=MOST_INTERFACE)]
    pub displacement_quantum: Option<PerDof>,
    /// Smallest step of the measured force.
    #[key(force, of_dof, within = 0.0..=1e9, entries = 1..=MOST_INTERFACE)]
    pub force_quantum: Option<PerDof>,
    /// Whole steps by which the measured force comes late; the benchmark has 1.
    #[key(count = 0..=100_000, default = 0)]
    pub force_delay_samples: usize,
}

impl IntegratorSpec {
    /// Steps per second.
    pub fn rate_hz(&self) -> f64 {
        self.pace.rate_hz()
    }

    /// Time from step to step.
    pub fn step_s(&self) -> f64 {
        self.pace.step_s()
    }
}

impl Pace {
    /// The key by which it is written.
    pub fn key(self) -> &'static str {
        match self {
            Self::Rate(_) => Self::RATE,
            Self::Step(_) => Self::STEP,
        }
    }

    /// Steps per second.
    pub fn rate_hz(self) -> f64 {
        match self {
            Self::Rate(rate_hz) => rate_hz,
            Self::Step(step_s) => 1.0 / step_s,
        }
    }

    /// Time from step to step.
    pub fn step_s(self) -> f64 {
        match self {
            Self::Rate(rate_hz) => 1.0 / rate_hz,
            Self::Step(step_s) => step_s,
        }
    }
}

impl TransferKind {
    /// A transfer function moves, and does not differentiate.
    fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let Self::TransferFunction { numerator, denominator, .. } = self else { return };
        if denominator.first() == Some(&0.0) {
            let message = "the highest power in `denominator` has the coefficient 0";
            let error = branch.error(Self::DENOMINATOR, message);
            found.push(error.remedy("leave out leading zeros"));
        }
        if numerator.iter().all(|&coefficient| coefficient == 0.0) {
            let message = "`numerator` is zero: the actuator would never move";
            let error = branch.error(Self::NUMERATOR, message);
            found.push(error.remedy("give a coefficient other than 0"));
        }
        if numerator.len() > denominator.len() {
            let error = branch.error(
                Self::NUMERATOR,
                format!(
                    "the numerator has degree {}, the denominator {}",
                    numerator.len() - 1,
                    denominator.len() - 1,
                ),
            );
            let remedy =
                "no actuator differentiates: the numerator's degree must not be the higher";
            found.push(error.remedy(remedy));
        }
    }
}

impl TransferSystemSpec {
    /// What a servo-hydraulic rig becomes during the rehearsal: when, and how.
    pub fn change(&self) -> Option<(ChangeSpec, ServoHydraulic)> {
        match &self.kind {
            TransferKind::ServoHydraulic { servo, change } => {
                change.map(|change| (change, change.servo(servo)))
            }
            _ => None,
        }
    }
}

impl PureDelay {
    /// In seconds, for a loop with this step.
    pub fn delay_s(self, step_s: f64) -> f64 {
        match self {
            Self::Delay(delay_s) => delay_s,
            Self::Samples(samples) => samples * step_s,
        }
    }

    /// In steps, exactly as written if written so; may be fractional.
    pub fn samples(self, step_s: f64) -> f64 {
        match self {
            Self::Delay(delay_s) => delay_s / step_s,
            Self::Samples(samples) => samples,
        }
    }
}

impl ChangeSpec {
    /// The actuator from then on: what is not said stays.
    fn servo(&self, before: &ServoHydraulic) -> ServoHydraulic {
        ServoHydraulic {
            gain: self.gain.unwrap_or(before.gain),
            servo_gain: self.servo_gain.unwrap_or(before.servo_gain),
            velocity_feedback: self.velocity_feedback.unwrap_or(before.velocity_feedback),
            leakage: self.leakage.unwrap_or(before.leakage),
            servo_damping: self.servo_damping.unwrap_or(before.servo_damping),
            servo_stiffness: self.servo_stiffness.unwrap_or(before.servo_stiffness),
        }
    }
}
