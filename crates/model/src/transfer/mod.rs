//! Transfer systems: what lies between the command and the specimen's motion.

mod delay;
mod dynamics;
mod linear_form;
#[cfg(test)]
mod tests;

pub use delay::DelayLine;
pub use dynamics::{ActuatorDynamics, ServoHydraulic, TransferError};
pub use linear_form::whole_delay;

use numerics::lti::TransferFunction;

/// A transfer system as declared; one serves every interface DOF.
#[derive(Debug, Clone, PartialEq)]
pub enum TransferSystem {
    /// The specimen is where the numerical part wants it.
    Ideal,
    /// The motion arrives late and whole.
    Delay {
        /// In periods of the loop; a fraction is interpolated.
        samples: f64,
    },
    /// Displacement follows the command through a transfer function, after an
    /// optional pure delay. The specimen's reaction is part of the function.
    TransferFunction {
        /// Command to achieved displacement.
        function: TransferFunction,
        /// Pure delay before it, in periods.
        samples: f64,
    },
    /// The benchmark's servo-hydraulic actuator, which feels its specimen.
    ServoHydraulic(ServoHydraulic),
}
