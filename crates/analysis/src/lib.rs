//! Offline answers: evaluation criteria, critical delay, stability of the loop.

pub mod criteria;
pub mod critical_delay;
pub mod sampled_loop;
