//! What is said of a result, and numbers as an engineer writes them.

use std::fmt;

use serde::Serialize;

use crate::table::{Side, Table};

/// Lines and tables, one below the other, without a terminal: who has one lays them
/// out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Words(pub Vec<Piece>);

/// A piece of what is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Piece {
    /// Lines, each with its end.
    Lines(String),
    /// A table.
    Table(Table),
}

impl Words {
    /// Adds a line.
    pub fn line(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        match self.0.last_mut() {
            Some(Piece::Lines(lines)) => *lines += &format!("{text}\n"),
            _ => self.0.push(Piece::Lines(format!("{text}\n"))),
        }
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.0.push(Piece::Table(table));
    }
}

/// Columns side by side, however wide they are.
impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Lines(lines) => f.write_str(lines)?,
                Piece::Table(table) => table.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads: Vec<String> = self.columns.iter().map(|column| column.head.clone()).collect();
        let lines = || std::iter::once(&heads).chain(&self.rows);
        let width = |at: usize| lines().map(|row| row[at].chars().count()).max().unwrap_or(0);
        for row in lines() {
            let cells = row.iter().zip(&self.columns).enumerate();
            let cells = cells.map(|(at, (text, column))| match column.side {
                Side::Left => format!("{text:<width$}", width = width(at)),
                Side::Right => format!("{text:>width$}", width = width(at)),
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// A number with five significant digits, as an engineer would write it.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{value:.4e}")
    } else {
        let digits = (4 - size.log10().floor() as i32).max(0) as usize;
        format!("{value:.digits$}")
    }
}

/// A number of things.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A text without the quotes around it, if there are some.
pub fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text).trim()
}

/// The ends of a range such as `0..30 ms` and the unit of the second, which serves the
/// first as well; with or without quotes around it.
pub fn range(text: &str) -> Option<(String, String, String)> {
    let (low, high) = unquoted(text).split_once("..")?;
    let (low, high) = (unquoted(low), unquoted(high));
    let unit = unit_of(high);
    let bare = unit_of(low).is_empty() && !unit.is_empty();
    let low = if bare { format!("{low} {unit}") } else { low.to_owned() };
    Some((low, high.to_owned(), unit.to_owned()))
}

/// What stands behind the number.
fn unit_of(text: &str) -> &str {
    let number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | '_');
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        let exponent = matches!(c, 'e' | 'E')
            && at > 0
            && text[at + 1..]
                .starts_with(|next: char| next.is_ascii_digit() || "+-".contains(next));
        if !number(c) && !exponent {
            end = at;
            break;
        }
    }
    text[end..].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_told_from_numbers() {
        for (text, unit) in
            [("0.3 ms", "ms"), ("1e-3 s", "s"), ("5", ""), ("2e3", ""), ("12%", "%"), ("3 e", "e")]
        {
            assert_eq!(unit_of(text), unit, "{text}");
        }
    }

    #[test]
    fn ranges_share_their_unit_and_may_have_quotes() {
        let ends = |text| range(text).map(|(low, high, unit)| format!("{low}|{high}|{unit}"));
        for text in ["0..30 ms", "\"0..30 ms\"", "0 ms..30 ms", " 0 .. 30 ms "] {
            assert_eq!(ends(text).as_deref(), Some("0 ms|30 ms|ms"), "{text}");
        }
        assert_eq!(ends("1..5").as_deref(), Some("1|5|"));
        assert_eq!(ends("30 ms"), None);
    }
}
