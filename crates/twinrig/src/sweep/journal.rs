//! The journal of a sweep: finished variants, appended one by one, so that a
//! study that was killed goes on where it stood.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::row::{Columns, Row};
use crate::error::Error;
pub use crate::journal::Opening;
use crate::journal::{Journal as Lines, Kind};
use crate::table::csv_text;

/// An open journal; nobody else can open it meanwhile.
#[derive(Debug)]
pub struct Journal {
    lines: Lines,
    columns: Columns,
}

const KIND: Kind = Kind { magic: "twinrig-sweep-2 ", what: "sweep" };

impl Journal {
    /// Opens or creates the journal at `path` and gives the rows it holds, by
    /// variant. Whatever does not belong there is cut off.
    pub fn open(
        path: &Path,
        columns: &Columns,
        fingerprint: u64,
        opening: Opening,
    ) -> Result<(Self, BTreeMap<u64, Row>), Error> {
        let read = |line: &str| {
            let mut reader =
                csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
            let fields = reader.records().next()?.ok()?;
            columns.row(&fields)
        };
        let (lines, rows) = Lines::open(path, KIND, fingerprint, opening, read)?;
        let rows = rows.into_iter().map(|row| (row.variant.index, row)).collect();
        Ok((Self { lines, columns: columns.clone() }, rows))
    }

    /// Appends a row, in one piece.
    pub fn append(&mut self, row: &Row) -> Result<(), Error> {
        let mut fields = self.columns.fields(row);
        fields.push(json!(row.verdict).to_string());
        self.lines.append(&csv_text(fields, []))
    }

    /// That rows were damaged and left out, in words.
    pub fn damage(&self) -> Option<String> {
        self.lines.damage()
    }

    /// Waits until the disk has everything.
    pub fn sync(&self) -> Result<(), Error> {
        self.lines.sync()
    }
}
