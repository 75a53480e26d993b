//! Structures, substructures, integrators, transfer systems and specimens.
//!
//! Nothing here reads a file, and nothing called `step` allocates.

pub mod channel;
mod check;
pub mod error;
pub mod excitation;
pub mod structure;

pub use error::ModelError;
