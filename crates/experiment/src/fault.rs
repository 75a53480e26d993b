//! Faults to rehearse.

use keys::Keys;
use runtime::rig::FaultySensor;

use super::per_dof::MOST_INTERFACE;

/// Most faults of a test.
pub(crate) const MOST_FAULTS: usize = 64;

/// A fault to rehearse, in front of the virtual rig. Random ones follow the seed of the file.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct FaultSpec {
    /// What goes wrong.
    #[key(flatten)]
    pub kind: FaultKindSpec,
    /// When it begins.
    #[key(time, not_negative, default = "0 s")]
    pub at_s: f64,
    /// When it ends.
    #[key(flatten)]
    end: Option<FaultEnd>,
    /// The interface DOF it strikes, by its place in `interface`, from 1. Absent: all.
    #[key(count = 1..=MOST_INTERFACE as u64)]
    dof: Option<usize>,
}

/// When a fault ends.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(one_of)]
pub(crate) enum FaultEnd {
    /// When it ends. Absent: never.
    #[key(time, positive)]
    Until(f64),
    /// How long it lasts.
    #[key(time, positive)]
    Duration(f64),
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(tag = "kind")]
pub enum FaultKindSpec {
    /// Every command arrives later.
    Delay {
        /// How much later.
        #[key(time, positive)]
        by_s: f64,
    },
    /// Every command arrives later by a time drawn anew for each.
    DelayJitter {
        /// The longest of them.
        #[key(time, positive)]
        most_s: f64,
    },
    /// Commands are lost; the actuator keeps the one before.
    DroppedCommands {
        /// How likely a sample is lost.
        #[key(ratio, within = 0.0..=1.0)]
        probability: f64,
    },
    /// Measurements are lost; the ones before are said again.
    RepeatedSamples {
        /// How likely a sample is lost.
        #[key(ratio, within = 0.0..=1.0)]
        probability: f64,
    },
    /// Sensors say what is not a number.
    SensorNan {
        /// Which sensor.
        #[key(default = "both")]
        sensor: FaultySensor,
    },
    /// The displacement sensor says the same for ever.
    FrozenDisplacement,
    /// The actuator stays where it is.
    StuckActuator,
    /// The actuator goes no further or no faster than it can.
    SaturatedActuator {
        /// Largest displacement, either way.
        #[key(length, of_dof, positive, at_least_one)]
        position_m: Option<f64>,
        /// Largest rate.
        #[key(velocity, of_dof, positive, at_least_one)]
        rate_m_s: Option<f64>,
    },
    /// The measured force drifts away.
    LoadCellDrift {
        /// How far it drifts in every second.
        #[key(force, of_dof, name = "drift")]
        drift_n_s: f64,
    },
    /// The measured force has the wrong sign.
    WrongSign,
    /// The specimen loses its strength.
    SpecimenFailure {
        /// The share of its force that is left.
        #[key(ratio, within = 0.0..=1.0, default = 0.0)]
        remaining: f64,
    },
}

impl FaultSpec {
    /// When it ends; infinite for never.
    pub fn until_s(&self) -> f64 {
        match self.end {
            Some(FaultEnd::Until(until_s)) => until_s,
            Some(FaultEnd::Duration(duration_s)) => self.at_s + duration_s,
            None => f64::INFINITY,
        }
    }

    /// Index from 0 into the interface; `None` for all.
    pub fn dof_index(&self) -> Option<usize> {
        self.dof.map(|dof| dof - 1)
    }
}
