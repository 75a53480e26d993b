//! Structures, substructures, integrators, transfer systems and specimens.
//!
//! Nothing here reads a file, and nothing called `step` allocates.

pub mod channel;
pub mod element;
pub mod equations;
pub mod excitation;
pub mod integrator;
pub mod motion;
pub mod structure;
