//! Tables, without a terminal or a page: who has one lays them out.

use serde::Serialize;

/// A table: a header with units, rows of text, and on which side each column stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a text for every column.
    pub rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// What is in it, with its unit.
    pub head: String,
    /// Where its texts stand.
    pub side: Side,
}

/// Where the texts of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

impl Table {
    /// An empty table: words in the first column, numbers in the others.
    pub fn new(heads: &[&str]) -> Self {
        let column = |(place, head): (usize, &&str)| Column {
            head: (*head).to_owned(),
            side: if place == 0 { Side::Left } else { Side::Right },
        };
        Self { columns: heads.iter().enumerate().map(column).collect(), rows: Vec::new() }
    }

    /// The same with its sides given, `<` or `>` for each column.
    pub fn aligned(mut self, sides: &str) -> Self {
        for (column, side) in self.columns.iter_mut().zip(sides.chars()) {
            column.side = if side == '<' { Side::Left } else { Side::Right };
        }
        self
    }

    /// The same with these rows.
    pub fn filled<R: Into<Vec<String>>>(mut self, rows: impl IntoIterator<Item = R>) -> Self {
        self.rows.extend(rows.into_iter().map(Into::into));
        self
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, texts: [&str; N]) {
        self.rows.push(texts.map(str::to_owned).to_vec());
    }
}
