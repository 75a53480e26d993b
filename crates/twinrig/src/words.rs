//! What is said of a result, and numbers as an engineer writes them.

use std::fmt;

use crate::table::Table;
use crate::verdict::{Level, Verdict};

/// Lines and tables, one below the other, without a terminal: who has one lays them
/// out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words(pub Vec<Piece>);

/// A piece of what is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Lines, each with its end.
    Lines(String),
    /// A table.
    Table(Table),
    /// How far the result can be trusted, and the line that says so.
    Headline(Level, String),
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

    /// Adds a verdict: its headline, and every reason with its remedy.
    pub fn verdict(&mut self, verdict: &Verdict) {
        let mut lines = verdict.lines().into_iter();
        self.0.extend(lines.next().map(|headline| Piece::Headline(verdict.level, headline)));
        lines.for_each(|reason| self.line(reason));
    }

    /// Adds a table, if there is something in it.
    pub fn table(&mut self, table: Table) {
        self.0.extend((!table.rows.is_empty()).then_some(Piece::Table(table)));
    }
}

impl From<String> for Words {
    fn from(line: String) -> Self {
        let mut words = Self::default();
        words.line(line);
        words
    }
}

/// Columns side by side, however wide they are.
impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Lines(lines) => f.write_str(lines)?,
                Piece::Table(table) => table.fmt(f)?,
                Piece::Headline(_, line) => writeln!(f, "{line}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let width = |at: usize| lines().map(|row| row[at].chars().count()).max().unwrap_or(0);
        for row in lines() {
            let cells = row.iter().enumerate().map(|(at, text)| match self.is_right(at) {
                false => format!("{text:<width$}", width = width(at)),
                true => format!("{text:>width$}", width = width(at)),
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// A number with four significant digits, as an engineer would write it.
pub fn number(value: f64) -> String {
    significant(value, 4)
}

/// A number with three significant digits, for a sentence.
pub fn rounded(value: f64) -> String {
    significant(value, 3)
}

/// A number with so many significant digits.
fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    let exact = format!("{value:.*e}", (digits - 1).max(0) as usize);
    // The power of ten of the first digit, once the number is rounded.
    let first = exact.split_once('e').and_then(|(_, power)| power.parse().ok());
    match first {
        _ if value == 0.0 => "0".to_owned(),
        // No more than three digits that say nothing.
        Some(first @ -3..5) if first - digits < 3 => ending(value, first - digits + 1),
        _ => exact,
    }
}

/// The power of ten of the first digit.
fn place(value: f64) -> i32 {
    value.abs().log10().floor().clamp(-300.0, 300.0) as i32
}

/// A number whose last digit is that of this power of ten.
fn ending(value: f64, last: i32) -> String {
    if last <= 0 {
        return format!("{value:.*}", last.unsigned_abs() as usize);
    }
    let unit = 10f64.powi(last);
    format!("{:.0}", (value / unit).round() * unit)
}

/// A value and half the width of its interval. The interval has one digit, and the value
/// ends with it; it has seven digits at most.
pub fn bounded(value: f64, half_width: f64) -> [String; 2] {
    if !(half_width.is_finite() && half_width > 0.0) {
        return [number(value), String::new()];
    }
    let first = place(value).max(place(half_width));
    let digits = (first - place(half_width) + 1).min(7);
    let last = first - digits + 1;
    match first {
        -3..5 if half_width >= 0.5 * 10f64.powi(last) => {
            [ending(value, last), ending(half_width, last)]
        }
        -3..5 => [ending(value, last), significant(half_width, 1)],
        _ => [significant(value, digits), significant(half_width, 1)],
    }
}

/// Both in one.
pub fn plus_minus(value: f64, half_width: f64) -> String {
    let [value, half_width] = bounded(value, half_width);
    if half_width.is_empty() { value } else { format!("{value} ± {half_width}") }
}

/// A motion by its frequency, which is 0 of one that does not oscillate.
pub fn motion_words(hertz: f64, mode: Option<usize>) -> String {
    let of = of_mode(mode);
    match hertz {
        0.0 => format!("motion without oscillation{of}"),
        hertz => format!("motion at {} Hz{of}", rounded(hertz)),
    }
}

/// Which mode a motion belongs to.
pub fn of_mode(mode: Option<usize>) -> String {
    mode.map_or(String::new(), |number| format!(" (mode {number})"))
}

/// A name with its unit, `force.1 [N]`; a pure number has no bracket.
pub fn titled(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} [{unit}]") }
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
    fn numbers_have_four_digits() {
        let cases = [
            (0.0, "0"),
            (72.5412, "72.54"),
            (-0.0101234, "-0.01012"),
            (4096.0, "4096"),
            (55_102.3, "55100"),
            (999.96, "1000"),
            (5_163_000.0, "5.163e6"),
            (1.5e-7, "1.500e-7"),
            (f64::NAN, "not a number"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn an_interval_says_how_many_digits_its_value_has() {
        let cases = [
            (1.2160, 0.0015867, "1.216 ± 0.002"),
            (13.92, 0.31, "13.9 ± 0.3"),
            (5_163_000.0, 31_000.0, "5.16e6 ± 3e4"),
            (55_102.0, 230.0, "55100 ± 200"),
            (5_163_000.0, 5128.0, "5.163e6 ± 5000"),
            (1.0, 4e-9, "1.000000 ± 4e-9"),
            (0.0012, 0.05, "0.00 ± 0.05"),
            (2.5e-7, 1e-9, "2.50e-7 ± 1e-9"),
            (1.234567, 0.0, "1.235"),
            (1.234567, f64::NAN, "1.235"),
        ];
        for (value, half_width, text) in cases {
            assert_eq!(plus_minus(value, half_width), text);
        }
    }

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
