//! What runs inside the loop: integrator, transfer system, sensors.

use super::per_dof::PerDof;
use super::tree::Branch;

/// How the simulated part is advanced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntegratorSpec {
    /// The method with its options.
    pub method: Method,
    /// Steps per second.
    pub rate_hz: f64,
    /// Time from step to step, 1 / `rate_hz`.
    pub step_s: f64,
    /// What the measured force does between two steps.
    pub feedback: Feedback,
}

/// An integration method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Explicit Runge–Kutta of fourth order.
    Rk4,
    /// Exact for a linear structure.
    Exact {
        /// What the load does between two steps.
        hold: Hold,
    },
    /// Newmark with average acceleration.
    Newmark {
        /// Most Newton iterations per step.
        iterations: usize,
    },
    /// Backward Euler.
    ImplicitEuler {
        /// Most Newton iterations per step.
        iterations: usize,
    },
    /// Chen and Ricles.
    Cr,
    /// Kolay and Ricles.
    KrAlpha {
        /// Spectral radius at high frequency.
        spectral_radius: f64,
    },
}

/// What a load does between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// It is constant.
    Zero,
    /// It is linear.
    First,
}

/// What the measured force does between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// It is held, as real hardware does.
    Held,
    /// Virtual rig and simulated part are one system; rehearsal only.
    Continuous,
}

/// Actuator and controller as a rehearsal plays them.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferSystemSpec {
    /// From command to achieved motion.
    pub kind: TransferKind,
    /// Largest command, either way.
    pub saturation_m: Option<f64>,
    /// Smallest step of the command.
    pub quantum_m: Option<f64>,
    /// Largest force of the actuator.
    pub capacity_n: Option<f64>,
    /// What a servo-hydraulic rig becomes during the rehearsal.
    pub change: Option<ChangeSpec>,
}

/// A rig that becomes another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeSpec {
    /// When.
    pub at_s: f64,
    /// Stiffness of the specimen, as a share of what it was.
    pub specimen_stiffness: f64,
    /// The actuator from then on.
    pub servo: ServoHydraulic,
}

/// From command to achieved motion.
#[derive(Debug, Clone, PartialEq)]
pub enum TransferKind {
    /// The achieved motion is the command.
    Ideal,
    /// The achieved motion is the command of some time ago.
    Delay {
        /// How long ago.
        delay_s: f64,
        /// The same in steps, exactly as written if written so; may be fractional.
        samples: f64,
    },
    /// A linear system.
    TransferFunction {
        /// Descending powers of s.
        numerator: Vec<f64>,
        /// Descending powers of s; the first is not zero.
        denominator: Vec<f64>,
        /// Pure delay beside it.
        delay_s: f64,
    },
    /// A servo-hydraulic actuator that interacts with the specimen.
    ServoHydraulic(ServoHydraulic),
}

/// A servo-hydraulic actuator, in SI: e = `gain` x_c − x; servo valve
/// `servo_gain` / (s² + `servo_damping` s + `servo_stiffness`); actuator
/// 1 / (s + `leakage`) acting on (servo − `velocity_feedback` ẋ).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServoHydraulic {
    /// Gain on the command.
    pub gain: f64,
    /// a1 β0.
    pub servo_gain: f64,
    /// a2.
    pub velocity_feedback: f64,
    /// a3.
    pub leakage: f64,
    /// β1.
    pub servo_damping: f64,
    /// β2.
    pub servo_stiffness: f64,
}

/// Imperfections of the sensors; absent ones are zero.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorsSpec {
    /// Root mean square of the noise on the displacement, in m.
    pub displacement_noise: Option<PerDof>,
    /// Root mean square of the noise on the force, in N.
    pub force_noise: Option<PerDof>,
    /// Of the measured acceleration.
    pub acceleration_noise: Option<PerDof>,
    /// Smallest step of the displacement, in m.
    pub displacement_quantum: Option<PerDof>,
    /// Smallest step of the force, in N.
    pub force_quantum: Option<PerDof>,
    /// Steps by which the measured force comes late.
    pub force_delay_samples: usize,
}

impl IntegratorSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        let (rate_hz, step_s) = rate_and_step(branch).expect("the grammar asks for one of them");
        Self {
            method: Method::read(branch),
            rate_hz,
            step_s,
            feedback: match branch.must_word("feedback") {
                "held" => Feedback::Held,
                "continuous" => Feedback::Continuous,
                word => unreachable!("the grammar has no feedback {word}"),
            },
        }
    }
}

/// Rate and step of `[integrator]`, whichever of them was written.
pub(crate) fn rate_and_step(branch: &Branch) -> Option<(f64, f64)> {
    let rate = branch.number("rate").map(|rate| (rate, 1.0 / rate));
    rate.or_else(|| branch.number("step").map(|step| (1.0 / step, step)))
}

impl Method {
    fn read(branch: &Branch) -> Self {
        let iterations = || branch.must_count("iterations") as usize;
        match branch.must_word("method") {
            "rk4" => Self::Rk4,
            "exact" => Self::Exact {
                hold: match branch.must_word("hold") {
                    "zero" => Hold::Zero,
                    "first" => Hold::First,
                    word => unreachable!("the grammar has no hold {word}"),
                },
            },
            "newmark" => Self::Newmark { iterations: iterations() },
            "implicit_euler" => Self::ImplicitEuler { iterations: iterations() },
            "cr" => Self::Cr,
            "kr_alpha" => Self::KrAlpha { spectral_radius: branch.must_number("spectral_radius") },
            word => unreachable!("the grammar has no method {word}"),
        }
    }
}

impl TransferSystemSpec {
    pub(crate) fn read(branch: &Branch, step_s: f64) -> Self {
        Self {
            change: ChangeSpec::read(branch),
            kind: TransferKind::read(branch, step_s),
            saturation_m: branch.number("saturation"),
            quantum_m: branch.number("quantum"),
            capacity_n: branch.number("capacity"),
        }
    }
}

impl TransferKind {
    fn read(branch: &Branch, step_s: f64) -> Self {
        let number = |key| branch.must_number(key);
        let numbers = |key| branch.must_node(key).numbers().unwrap_or_default();
        match branch.must_word("kind") {
            "ideal" => Self::Ideal,
            "delay" => match branch.number("samples") {
                Some(samples) => Self::Delay { delay_s: samples * step_s, samples },
                None => {
                    let delay_s = number("delay");
                    Self::Delay { delay_s, samples: delay_s / step_s }
                }
            },
            "transfer_function" => Self::TransferFunction {
                numerator: numbers("numerator"),
                denominator: numbers("denominator"),
                delay_s: branch.number("delay").unwrap_or(0.0),
            },
            "servo_hydraulic" => Self::ServoHydraulic(ServoHydraulic::read(number)),
            word => unreachable!("the grammar has no transfer system {word}"),
        }
    }
}

impl ServoHydraulic {
    fn read(number: impl Fn(&'static str) -> f64) -> Self {
        Self {
            gain: number("gain"),
            servo_gain: number("servo_gain"),
            velocity_feedback: number("velocity_feedback"),
            leakage: number("leakage"),
            servo_damping: number("servo_damping"),
            servo_stiffness: number("servo_stiffness"),
        }
    }
}

impl ChangeSpec {
    /// `branch` is that of the whole transfer system.
    fn read(branch: &Branch) -> Option<Self> {
        let change = branch.table("change")?;
        Some(Self {
            at_s: change.must_number("at"),
            specimen_stiffness: change.number("specimen_stiffness").unwrap_or(1.0),
            // What is not said stays.
            servo: ServoHydraulic::read(|key| {
                change.number(key).unwrap_or_else(|| branch.must_number(key))
            }),
        })
    }
}

impl SensorsSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        Self {
            displacement_noise: PerDof::read(branch, "displacement_noise"),
            force_noise: PerDof::read(branch, "force_noise"),
            acceleration_noise: PerDof::read(branch, "acceleration_noise"),
            displacement_quantum: PerDof::read(branch, "displacement_quantum"),
            force_quantum: PerDof::read(branch, "force_quantum"),
            force_delay_samples: branch.must_count("force_delay_samples") as usize,
        }
    }
}
