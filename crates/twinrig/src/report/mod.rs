//! The report of a test: an HTML file for the archive, a table for the terminal,
//! JSON for machines. All three say the same numbers, computed from the record.

mod findings;
mod histories;
mod monitor;
mod outcome;
mod page;
mod summary;
mod tables;
mod timing;
mod verdict;
mod view;

use runtime::record::Record;

use crate::words::Words;
use findings::Findings;
pub use outcome::Status;
pub use summary::{CriterionRow, FrequencyEvaluation, Gaps, InterfaceError, PeakRow, Summary};

/// Why a record cannot be reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The record names more or fewer channels than it has columns.
    #[error("the record names {channels} channels but holds {columns} columns")]
    ColumnCount {
        /// Channels named.
        channels: usize,
        /// Columns held.
        columns: usize,
    },
    /// A column is longer or shorter than the first.
    #[error("channel \"{channel}\" has {rows} rows where the others have {expected}")]
    ColumnLength {
        /// The channel.
        channel: String,
        /// Its rows.
        rows: usize,
        /// The rows of the first column.
        expected: usize,
    },
    /// There are rows, but no time to show them over.
    #[error("the record has no channel \"time\"")]
    NoTime,
}

/// The report as one HTML file with interactive plots that opens without a network.
///
/// Histories are thinned so that a long test stays below a few MB; every
/// extreme value is kept, and all numbers come from the whole record. Text from
/// the record is shown as text, whatever it contains.
pub fn html(record: &Record) -> Result<String, ReportError> {
    Ok(page::page(&Findings::of(record)?).html())
}

/// The result in short, for people: how the test ended, criteria and peaks.
pub fn summary_words(record: &Record) -> Words {
    match Findings::of(record) {
        Ok(findings) => summary::words(&findings),
        Err(error) => {
            let mut words = Words::default();
            words.line(format!("the record cannot be evaluated: {error}"));
            words
        }
    }
}

/// The result in numbers: status, trip, counts, criteria and peaks.
pub fn summary(record: &Record) -> Result<Summary, ReportError> {
    Findings::of(record).map(Summary::of)
}

#[cfg(test)]
mod tests;
