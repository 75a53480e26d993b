//! Tables, without a terminal or a page: who has one lays them out.

/// A table: a header with units over rows of text. All texts are shown as text, whatever they
/// contain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// Its heading on a page; may be empty.
    pub title: String,
    /// What is in each column, with its unit.
    pub header: Vec<String>,
    /// The rows, each with a text for every column.
    pub rows: Vec<Vec<String>>,
    /// A row to be set in bold.
    pub marked: Option<usize>,
    /// `<` or `>` for each column.
    sides: String,
}

impl Table {
    /// An empty table.
    pub fn new(header: &[&str]) -> Self {
        let header = header.iter().map(|&head| head.to_owned()).collect();
        Self { header, ..Self::default() }
    }

    /// The same under a heading.
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// The same with the sides on which the texts of its columns stand in a terminal, `<` or
    /// `>` for each.
    pub fn aligned(self, sides: &str) -> Self {
        Self { sides: sides.to_owned(), ..self }
    }

    /// The same with these rows.
    pub fn filled<R: IntoIterator<Item = String>>(
        mut self,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        self.rows.extend(rows.into_iter().map(|row| row.into_iter().collect()));
        self
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, texts: [&str; N]) {
        self.rows.push(texts.map(str::to_owned).to_vec());
    }

    /// Whether the texts of a column stand on the right in a terminal: unless it is said
    /// otherwise, words do not in the first column and numbers do in the others.
    pub fn is_right(&self, column: usize) -> bool {
        self.sides.chars().nth(column).map_or(column > 0, |side| side == '>')
    }
}

/// Comma-separated text: a head and the rows below it.
pub(crate) fn csv_text<Row: IntoIterator<Item = String>>(
    head: Row,
    rows: impl IntoIterator<Item = Row>,
) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in std::iter::once(head).chain(rows) {
        writer.write_record(row).expect("a vector takes it");
    }
    let bytes = writer.into_inner().expect("a vector can be flushed");
    String::from_utf8(bytes).expect("fields are text")
}
