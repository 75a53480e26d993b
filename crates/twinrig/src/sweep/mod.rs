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
mod results;
mod row;
mod run;
mod shared;
mod study;
mod summary;
mod together;

/// How a variant ended.
pub use crate::onlooker::VariantStatus;
pub use journal::{Journal, Opening};
pub use results::{RecordedVariant, Sweep, SweepOptions};
pub use row::{Columns, Metric, Row, RowTrip};
pub use run::Workspace;
pub use study::{Study, Variant};
pub use summary::{Numbers, Statistics, Summary};
pub use together::BATCH;
