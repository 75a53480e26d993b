//! The product: experiment files, reports and the command line.

pub mod assembly;
pub mod experiment;
pub mod export;
pub mod input;
pub mod machine;
pub mod rehearsal;
pub mod report;
pub mod reproduce;
pub mod trace;
