//! Many variants of one test, in parallel: how robust is it?
//!
//! A variant is the experiment file with other values in it ([`Study`]). It is
//! read, assembled and run like any test, but writes no record: its criteria
//! become one [`Row`]. Rows go to a [`Journal`] as they finish, so that a study
//! that was killed goes on where it stood, and from there into a table, a
//! [`Summary`] and a page.
//!
//! A row depends on the file, the sweep's seed and the variant's number alone,
//! and whatever is written is in the order of these numbers. So the results
//! have the same bytes whatever the number of threads, killed or not.

mod journal;
pub mod page;
mod pool;
mod row;
mod run;
mod shared;
mod study;
mod summary;
mod together;

pub use journal::{Journal, JournalError, Opening};
pub use pool::{PoolError, run_all};
pub use row::{Columns, Metric, Outcome, Row, RowTrip};
pub use run::Workspace;
pub use study::{Study, StudyError, Variant};
pub use summary::{Numbers, Statistics, Summary};
pub use together::BATCH;
