//! The tests of this crate that use it from outside, in one program: one link instead of one a file.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, reason = "a test program")]

mod allocations;
mod batch;
mod common;
mod continuous_feedback;
mod course_cost;
mod determinism;
mod driver;
mod driver_limits;
mod energy_balance;
mod gate_limits;
mod host_link;
mod host_protocol;
mod host_service;
mod hostile_wire;
mod indicators;
mod killed_run;
mod linear_forms;
mod network;
mod operator;
mod periodic;
mod phases;
mod planned_change;
mod protocol_document;
mod push_allocates_nothing;
mod python_reads_records;
mod realtime;
mod scenarios;
mod stops;
mod tick_allocates_nothing;
mod two_rates;
mod way_to_safe;
mod whole_structure;
mod world;
