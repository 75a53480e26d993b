//! Diagnostics: what is wrong, where, and what to do about it.

use std::fmt::{self, Write as _};
use std::ops::Range;

pub use keys::diagnostic::{Diagnostic, Severity};
pub(crate) use keys::quote::shorten;
use keys::quote::{plain, printable};
use serde_json::{Value, json};

/// Everything found in one file and those it includes, in the order of their lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnostics {
    file: String,
    /// The file, and behind it those it includes.
    text: String,
    /// Where each included file begins in `text`, and its name.
    included: Vec<(usize, String)>,
    items: Vec<Diagnostic>,
    /// Diagnostics beyond [`MOST`], which are counted and not kept.
    left_out: usize,
}

/// What a piece of a printed diagnostic is, for those who colour it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// "error" or "warning".
    Severity(Severity),
    /// What was found.
    Message,
    /// Arrows and bars around it.
    Frame,
    /// The marks beneath the place.
    Marks,
}

/// A place in a text, both counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line number.
    pub line: usize,
    /// Column number.
    pub column: usize,
}

/// Findings kept of one file: nobody reads more, and a hostile file could make millions.
const MOST: usize = 100;
/// Characters of a source line that are shown; a matrix row may be far longer.
const WIDEST: usize = 100;

impl Diagnostics {
    /// No findings yet in `file`, which contains `text`.
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        let (items, included) = (Vec::new(), Vec::new());
        Self { file: file.into(), text: text.into(), included, items, left_out: 0 }
    }

    /// Adds an included file; gives where its text begins for spans.
    pub(crate) fn append(&mut self, file: &str, text: &str) -> usize {
        // The end of a text is a place of its own.
        self.text.push('\n');
        let start = self.text.len();
        self.text.push_str(text);
        self.included.push((start, file.to_owned()));
        start
    }

    /// The same files, without a finding.
    pub(crate) fn emptied(&self) -> Self {
        let (items, left_out) = (Vec::new(), 0);
        let (file, text, included) = (self.file.clone(), self.text.clone(), self.included.clone());
        Self { file, text, included, items, left_out }
    }

    /// File, line and column of a place, for a message.
    pub(crate) fn place(&self, offset: usize) -> String {
        let (file, text, start) = self.part_at(offset);
        let Position { line, column } = position(text, offset - start);
        format!("{}:{line}:{column}", printable(file))
    }

    /// Name, text and beginning of the file that a place is in.
    fn part_at(&self, offset: usize) -> (&str, &str, usize) {
        let start = self.included.iter().rev().map(|(start, _)| *start).find(|&s| s <= offset);
        let start = start.unwrap_or(0);
        let (file, text) = self.part(start);
        (file, text, start)
    }

    /// Name and text of the file that begins here.
    fn part(&self, start: usize) -> (&str, &str) {
        let next = self.included.iter().map(|(begin, _)| *begin).find(|&begin| begin > start);
        let end = next.map_or(self.text.len(), |next| next - 1);
        let name = self.included.iter().find(|(begin, _)| *begin == start && start > 0);
        (name.map_or(self.file.as_str(), |(_, name)| name), &self.text[start..end])
    }

    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.items.len() < MOST {
            self.items.push(diagnostic);
        } else if diagnostic.severity == Severity::Error && !self.has_errors() {
            // Warnings must never crowd out the one error that stops the test.
            self.items[MOST - 1] = diagnostic;
            self.left_out += 1;
        } else {
            self.left_out += 1;
        }
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: impl IntoIterator<Item = Diagnostic>) {
        for diagnostic in others {
            self.push(diagnostic);
        }
    }

    /// The findings, in the order of [`sort`](Self::sort) once that was called.
    pub fn items(&self) -> &[Diagnostic] {
        &self.items
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Nothing was found.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Something was found that stops the test.
    pub fn has_errors(&self) -> bool {
        self.items.iter().any(|item| item.severity == Severity::Error)
    }

    /// Puts the findings in the order of the file; those without a place go first.
    pub fn sort(&mut self) {
        self.items.sort_by_key(|item| item.span.as_ref().map(|span| (span.start, span.end)));
    }

    /// Line and column of a finding.
    pub fn position(&self, diagnostic: &Diagnostic) -> Option<Position> {
        let span = diagnostic.span.as_ref()?;
        let (_, text, start) = self.part_at(span.start);
        Some(position(text, span.start - start))
    }

    /// The file of a finding, and where in it the finding begins and ends; the end is behind its
    /// last character.
    pub fn range(&self, diagnostic: &Diagnostic) -> (&str, Option<[Position; 2]>) {
        let Some(span) = &diagnostic.span else { return (&self.file, None) };
        let (file, text, start) = self.part_at(span.start);
        let ends = [span.start, span.end.max(span.start)];
        (file, Some(ends.map(|at| position(text, at - start))))
    }

    /// Everything as text for a person; `paint` colours each piece.
    pub fn render(&self, paint: impl Fn(Piece, &str) -> String) -> String {
        let mut out = String::new();
        for (index, item) in self.items.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            self.render_item(&mut out, item, &paint);
        }
        if self.left_out > 0 {
            let _ = writeln!(out, "\n… and {} more", self.left_out);
        }
        out
    }

    /// Everything for a machine: a list of objects with the keys `severity`,
    /// `file`, `line`, `column`, `message` and `remedy`.
    pub fn to_json(&self) -> Value {
        let item = |item: &Diagnostic| {
            let place = self.position(item);
            json!({
                "severity": item.severity.to_string(),
                "file": item.span.as_ref().map_or(self.file.as_str(), |s| self.part_at(s.start).0),
                "line": place.map(|place| place.line),
                "column": place.map(|place| place.column),
                "message": item.message,
                "remedy": item.remedy,
            })
        };
        Value::Array(self.items.iter().map(item).collect())
    }

    fn render_item(
        &self,
        out: &mut String,
        item: &Diagnostic,
        paint: &impl Fn(Piece, &str) -> String,
    ) {
        let severity = paint(Piece::Severity(item.severity), &item.severity.to_string());
        let message = paint(Piece::Message, &item.message);
        let dim = |text: &str| paint(Piece::Frame, text);
        let _ = writeln!(out, "{severity}: {message}");
        match &item.span {
            None => {
                let _ = writeln!(out, "  {} {}", dim("-->"), printable(&self.file));
            }
            Some(span) => {
                let (file, text, start) = self.part_at(span.start);
                let local = span.start - start..span.end.max(span.start) - start;
                let Position { line, column } = position(text, local.start);
                let _ = writeln!(out, "  {} {}:{line}:{column}", dim("-->"), printable(file));
                let (source, marks) = excerpt(text, &local);
                let marks = paint(Piece::Marks, &marks);
                let _ = writeln!(out, "   {}  {source}", dim("|"));
                let _ = writeln!(out, "   {}  {marks}", dim("|"));
            }
        }
        if let Some(remedy) = &item.remedy {
            let _ = writeln!(out, "   {} {remedy}", dim("="));
        }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(|_, text| text.to_owned()))
    }
}

impl std::error::Error for Diagnostics {}

fn position(text: &str, offset: usize) -> Position {
    let before = &text[..boundary(text, offset)];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
        column: before[start..].chars().count() + 1,
    }
}

/// The line at `span` and the marks below it, cut to a readable width.
fn excerpt(text: &str, span: &Range<usize>) -> (String, String) {
    let start = boundary(text, span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let end = boundary(text, span.end).clamp(start, line_end);
    let line = text[line_start..line_end].trim_end();
    let column = text[line_start..start].chars().count();
    let length = text[start..end].trim_end().chars().count().max(1);
    let skip = if column > WIDEST / 2 { column - WIDEST / 4 } else { 0 };
    let mut shown: String = line.chars().skip(skip).take(WIDEST).map(plain).collect();
    if line.chars().nth(skip + WIDEST).is_some() {
        shown.push('…');
    }
    let mut indent = column - skip;
    if skip > 0 {
        shown.insert(0, '…');
        indent += 1;
    }
    let length = length.min(shown.chars().count().saturating_sub(indent).max(1));
    (shown, " ".repeat(indent) + &"^".repeat(length))
}

/// The nearest place at or before `offset` where the text may be cut.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "title = \"Tall frame\"\n\n[integrator]\nstep = \"20 ms\"\n";

    fn example() -> Diagnostics {
        let start = FILE.find("\"20 ms\"").expect("value");
        let mut all = Diagnostics::new("tall_frame.toml", FILE);
        all.push(
            Diagnostic::error("period \"20 ms\" leaves 2.6 points per cycle of the 19.2 Hz mode")
                .at(start..start + 7)
                .remedy("use a step of at most \"5.2 ms\""),
        );
        all
    }

    #[test]
    fn a_diagnostic_names_file_line_and_remedy() {
        assert_eq!(
            example().to_string(),
            "error: period \"20 ms\" leaves 2.6 points per cycle of the 19.2 Hz mode\n  \
             --> tall_frame.toml:4:8\n   |  step = \"20 ms\"\n   |         ^^^^^^^\n   \
             = use a step of at most \"5.2 ms\"\n"
        );
    }

    #[test]
    fn colour_changes_nothing_but_the_colour() {
        let painted = example().render(|piece, text| {
            let mark = match piece {
                Piece::Severity(_) => 'S',
                Piece::Message => 'M',
                Piece::Frame => 'F',
                Piece::Marks => '^',
            };
            format!("\u{1b}{mark}{text}")
        });
        let pieces: String =
            painted.split('\u{1b}').skip(1).filter_map(|rest| rest.chars().next()).collect();
        assert_eq!(pieces, "SMFFF^F");
        let plain: String = painted.split('\u{1b}').flat_map(|rest| rest.chars().skip(1)).collect();
        assert_eq!(plain, example().to_string());
    }

    #[test]
    fn the_json_form_carries_the_place() {
        let json = example().to_json();
        assert_eq!(json[0]["file"], "tall_frame.toml");
        assert_eq!(json[0]["line"], 4);
        assert_eq!(json[0]["column"], 8);
        assert_eq!(json[0]["severity"], "error");
        assert_eq!(json[0]["remedy"], "use a step of at most \"5.2 ms\"");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("rows = [[{}nan{}]]", "1.0, ".repeat(500), ", 1.0".repeat(500));
        let start = text.find("nan").expect("nan");
        let (line, marks) = excerpt(&text, &(start..start + 3));
        assert!(line.chars().count() <= WIDEST + 2);
        let marked: String = line
            .chars()
            .zip(marks.chars())
            .filter(|&(_, mark)| mark == '^')
            .map(|(c, _)| c)
            .collect();
        assert_eq!(marked, "nan");
    }

    #[test]
    fn a_flood_is_counted_and_never_hides_the_error() {
        let mut all = Diagnostics::new("f", "");
        for _ in 0..MOST + 10 {
            all.push(Diagnostic::warning("w"));
        }
        all.push(Diagnostic::error("e"));
        assert!(all.has_errors());
        assert_eq!(all.items().len(), MOST);
        assert!(all.to_string().ends_with("… and 11 more\n"));
    }

    proptest! {
        #[test]
        fn any_place_in_any_text_can_be_rendered(
            text in "(\\PC|\n|\t){0,60}", start in 0usize..300, length in 0usize..300,
        ) {
            let mut all = Diagnostics::new("f", text);
            all.push(Diagnostic::error("e").at(start..start + length));
            let rendered = all.to_string();
            prop_assert!(rendered.lines().count() == 4);
            prop_assert_eq!(all.to_json().as_array().map(Vec::len), Some(1));
        }
    }
}
