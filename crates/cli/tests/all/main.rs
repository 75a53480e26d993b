//! The tests of this crate that use it from outside, in one program: one link instead of one a file.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "a test program")]

mod attacks;
mod chart;
mod check;
mod commands;
mod common;
mod compensators;
mod declared_defaults;
mod experiments;
mod golden;
mod guard;
mod host;
mod identify;
mod identify_references;
mod inside;
mod known_cases;
mod main_loop;
mod network;
mod phases;
mod random_loops;
mod realtime;
mod records;
mod reduce;
mod reduce_files;
mod reduce_states;
mod refusals;
mod rehearsed;
mod supply;
mod sweep;
mod sweep_rows;
mod tidy;
mod trace;
mod trace_intervals;
mod trace_verdict;
mod verdict;
