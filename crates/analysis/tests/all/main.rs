//! The tests of this crate that use it from outside, in one program: one link instead of one a file.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "a test program")]

mod delay_stability;
mod iterative;
mod loop_stability;
mod oracle;
mod sampled_loop;
