//! Offline answers: evaluation criteria, critical delay, stability of the loop,
//! identification, compensator design.

#![forbid(unsafe_code)]

pub mod compensator_choice;
pub mod compensator_design;
pub mod criteria;
pub mod critical_delay;
pub mod delay_stability;
pub mod identification;
pub mod iterative;
pub mod loop_stability;
pub mod partitions;
pub mod self_excited;
