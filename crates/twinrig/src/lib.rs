//! The library: a test from its file to its report.
//!
//! [`Test`] is the one value. Every study is a call on it and gives a typed result;
//! none prints, exits, takes signals or looks at the working directory.

#![forbid(unsafe_code)]

pub mod assembly;
pub mod bench;
pub mod bench_realtime;
pub mod chart;
pub mod check;
mod error;
pub mod estimate;
mod evidence;
pub mod export;
pub mod fit;
pub mod forecast;
pub mod hosted;
pub mod identify;
pub mod interface_dof;
pub mod iterative;
pub mod journal;
pub mod laboratory;
pub mod load_rows;
pub mod loop_record;
pub mod machine;
pub mod notes;
pub mod onlooker;
mod pace;
pub mod page;
pub mod reduce;
pub mod remote;
pub mod replay;
pub mod report;
pub mod reproduce;
mod rig_limits;
mod run;
pub mod run_folder;
pub mod sweep;
pub mod table;
mod test;
mod text_edit;
pub mod trace;
pub mod words;

pub use error::{Driven, Error, NotKept};
pub use onlooker::{Event, Onlooker, Silent};
pub use pace::Clock;
pub use run::{
    Run, RunOptions, Unstable, read_record, record_path, refuse_overwriting, write_report,
};
pub use runtime::stop::StopHandle;
pub use runtime::verdict;
pub use test::{IN_PROCESS, Test};
