//! The report of a test: an HTML file for the archive, a table for the terminal,
//! JSON for machines. All three say the same numbers, computed from the record.

mod adaptation;
#[expect(missing_docs, reason = "goes when pages have one description")]
mod bode;
mod chapters;
mod chart_page;
mod decimate;
mod figure;
mod findings;
mod guard;
mod labels;
mod outcome;
mod page;
#[expect(missing_docs, reason = "goes when pages have one description")]
mod picture;
mod punctuality;
#[cfg(test)]
mod sample;
mod summary;
mod sweep_page;
mod text;
mod trace_page;
mod view;

use runtime::record::Record;
use serde_json::{Value, json};

use crate::words::Words;
pub use bode::{BodePage, BodePoint, BodeSection, BodeTable, Verdict};
pub use chart_page::chart_html;
pub use decimate::min_max;
use findings::Findings;
pub use picture::{Curve, Look, Pane, Picture, Span, Square, Table};
pub use sweep_page::sweep_html;
/// A text of the user as the content of a picture's element.
pub use text::escape as markup;
/// A text of the user on one line, fit for a terminal.
pub use text::label as one_line;
/// Numbers for people.
pub use text::{number, plus_minus};
pub use trace_page::trace_html;

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
/// Histories are thinned so that a long test stays below about 8 MB; every
/// extreme value is kept, and all numbers come from the whole record. Text from
/// the record is shown as text, whatever it contains.
pub fn html(record: &Record) -> Result<String, ReportError> {
    Ok(page::page(&Findings::of(record)?))
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

/// The result for machines: status, trip, counts, criteria and peaks, in SI
/// units. A record that cannot be evaluated gives `{"error": …}`.
pub fn summary_json(record: &Record) -> Value {
    match Findings::of(record) {
        Ok(findings) => summary::json(&findings),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// The same as plain text.
#[cfg(test)]
fn summary_text(record: &Record) -> String {
    summary_words(record).to_string()
}

#[cfg(test)]
mod tests;
