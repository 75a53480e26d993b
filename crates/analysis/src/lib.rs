//! Offline answers: evaluation criteria, critical delay, stability of the loop.

pub mod criteria;
