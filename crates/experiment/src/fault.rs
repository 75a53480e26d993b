//! Faults to rehearse.

use super::tree::Branch;

/// A fault, in SI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultSpec {
    /// What goes wrong.
    pub kind: FaultKindSpec,
    /// When it begins.
    pub at_s: f64,
    /// When it ends; infinite for never.
    pub until_s: f64,
    /// Index from 0 into the interface; `None` for all.
    pub dof: Option<usize>,
}

/// What goes wrong, in SI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FaultKindSpec {
    /// Commands arrive later.
    Delay {
        /// By this.
        by_s: f64,
    },
    /// Commands arrive later by random times.
    DelayJitter {
        /// Up to this.
        most_s: f64,
    },
    /// Commands are lost.
    DroppedCommands {
        /// How often.
        probability: f64,
    },
    /// Measurements are lost.
    RepeatedSamples {
        /// How often.
        probability: f64,
    },
    /// Sensors say what is not a number.
    SensorNan {
        /// Which.
        sensor: SensorChoice,
    },
    /// The displacement sensor freezes.
    FrozenDisplacement,
    /// The actuator stays where it is.
    StuckActuator,
    /// The actuator saturates.
    SaturatedActuator {
        /// Largest displacement; infinite for none.
        position_m: f64,
        /// Largest rate; infinite for none.
        rate_m_s: f64,
    },
    /// The load cell drifts.
    LoadCellDrift {
        /// Per second.
        drift_n_s: f64,
    },
    /// The load cell's sign is wrong.
    WrongSign,
    /// The specimen loses its strength.
    SpecimenFailure {
        /// The share of its force that is left.
        remaining: f64,
    },
}

/// Which sensors fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SensorChoice {
    /// The displacement sensor.
    Displacement,
    /// The load cell.
    Force,
    /// Both.
    Both,
}

impl FaultSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        let at_s = branch.must_number("at");
        let lasting = branch.number("duration").map(|duration| at_s + duration);
        Self {
            kind: FaultKindSpec::read(branch),
            at_s,
            until_s: branch.number("until").or(lasting).unwrap_or(f64::INFINITY),
            dof: branch.count("dof").map(|dof| dof as usize - 1),
        }
    }
}

impl FaultKindSpec {
    fn read(branch: &Branch) -> Self {
        let number = |key| branch.must_number(key);
        let or_none = |key| branch.number(key).unwrap_or(f64::INFINITY);
        match branch.must_word("kind") {
            "delay" => Self::Delay { by_s: number("by") },
            "delay_jitter" => Self::DelayJitter { most_s: number("most") },
            "dropped_commands" => Self::DroppedCommands { probability: number("probability") },
            "repeated_samples" => Self::RepeatedSamples { probability: number("probability") },
            "sensor_nan" => Self::SensorNan {
                sensor: match branch.must_word("sensor") {
                    "displacement" => SensorChoice::Displacement,
                    "force" => SensorChoice::Force,
                    "both" => SensorChoice::Both,
                    word => unreachable!("the grammar has no sensor {word}"),
                },
            },
            "frozen_displacement" => Self::FrozenDisplacement,
            "stuck_actuator" => Self::StuckActuator,
            "saturated_actuator" => Self::SaturatedActuator {
                position_m: or_none("position"),
                rate_m_s: or_none("rate"),
            },
            "load_cell_drift" => Self::LoadCellDrift { drift_n_s: number("drift") },
            "wrong_sign" => Self::WrongSign,
            "specimen_failure" => Self::SpecimenFailure { remaining: number("remaining") },
            word => unreachable!("the grammar has no fault {word}"),
        }
    }
}
