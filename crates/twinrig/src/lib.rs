//! The library: a test from its file to its report.

pub mod assembly;
pub mod bench;
pub mod bench_realtime;
pub mod chart;
pub mod claim;
pub mod export;
pub mod fit;
pub mod forecast;
pub mod hosted;
pub mod identify;
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
pub mod terminal;
pub mod trace;
pub mod trace_frames;
