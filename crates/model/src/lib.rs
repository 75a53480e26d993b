//! Structures, substructures, integrators, transfer systems and specimens.
//!
//! Nothing here reads a file, and nothing called `step` allocates.

#![forbid(unsafe_code)]

pub mod channel;
mod check;
pub mod compensator;
pub mod coupled;
pub mod element;
pub mod equations;
pub mod error;
pub mod excitation;
pub mod fem;
pub mod first_order;
pub mod integrator;
pub mod internal_motion;
pub mod joined;
pub mod motion;
pub mod partition;
pub mod periodic;
pub mod predictor;
pub mod rates;
pub mod reduction;
pub mod sensor;
pub mod shaken;
pub mod specimen;
pub mod structure;
pub mod transfer;

pub use error::ModelError;
