//! The product: experiment files, reports and the command line.

pub mod assembly;
pub mod bench;
pub mod bench_realtime;
pub mod chart;
pub mod claim;
pub mod command;
pub mod experiment;
pub mod export;
pub mod fit;
pub mod forecast;
pub mod hosted;
pub mod identify;
pub mod input;
pub mod iterative;
pub mod journal;
pub mod load_rows;
pub mod machine;
pub mod realtime;
pub mod rehearsal;
pub mod remote;
pub mod replay;
pub mod report;
pub mod reproduce;
pub mod sweep;
mod terminal;
pub mod trace;
pub mod trace_frames;
