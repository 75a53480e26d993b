//! How a page lays out a table.

use std::fmt::Write as _;

use super::text::{escape, label_of, pretty};
use crate::table::Table;

/// The longest table; what is beyond it is counted.
const MOST_ROWS: usize = 500;
/// A table with more columns than this takes the whole width.
const BROAD: usize = 7;
/// The longest text in a cell, in characters.
const CELL: usize = 400;

/// The table as markup; none without rows.
pub(super) fn html(table: &Table, page: &mut String) {
    if table.rows.is_empty() {
        return;
    }
    let shown = &table.rows[..table.rows.len().min(MOST_ROWS)];
    let columns: Vec<Alignment> = (0..table.header.len())
        .map(|column| Alignment::of(shown.iter().filter_map(|row| row.get(column))))
        .collect();
    let class = if table.header.len() > BROAD { " class=\"broad\"" } else { "" };
    let _ = writeln!(page, "<div class=\"wide\"><table{class}>");
    if !table.title.is_empty() {
        let _ = writeln!(page, "<caption>{}</caption>", escape(&table.title));
    }
    page.push_str("<thead><tr>");
    for (name, alignment) in table.header.iter().zip(&columns) {
        let _ = write!(page, "<th{}>{}</th>", alignment.class(), escape(name));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (index, row) in shown.iter().enumerate() {
        let marked = table.marked == Some(index);
        page.push_str(if marked { "<tr class=\"marked\">" } else { "<tr>" });
        for (column, (cell, alignment)) in row.iter().zip(&columns).enumerate() {
            let (text, class) = (alignment.cell(cell), alignment.class());
            let _ = match (column, alignment) {
                (0, Alignment::Text) => write!(page, "<th scope=\"row\">{text}</th>"),
                _ => write!(page, "<td{class}>{text}</td>"),
            };
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
    if shown.len() < table.rows.len() {
        let _ =
            writeln!(page, "<p class=\"notes\">The first {MOST_ROWS} of {}.</p>", table.rows.len());
    }
}

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alignment {
    Text,
    /// By the decimal point, with at most so many digits behind it.
    Decimal(usize),
}

impl Alignment {
    fn of<'a>(cells: impl Iterator<Item = &'a String>) -> Self {
        let mut most = None;
        for cell in cells.map(|cell| cell.trim()).filter(|cell| !is_empty(cell)) {
            let Some((_, fraction)) = parts(cell) else { return Self::Text };
            most = most.max(Some(fraction));
        }
        most.map_or(Self::Text, Self::Decimal)
    }

    fn class(self) -> &'static str {
        if self == Self::Text { "" } else { " class=\"n\"" }
    }

    /// The cell as markup; digits that others have are left free.
    fn cell(self, text: &str) -> String {
        let text = label_of(text, CELL);
        let Self::Decimal(most) = self else { return escape(&text) };
        let text = pretty(text.trim());
        match parts(&text) {
            Some((end, fraction)) if fraction < most => {
                let (number, rest) = text.split_at(end);
                let point = if fraction == 0 { "." } else { "" };
                let free = "0".repeat(most - fraction);
                format!("{}<i>{point}{free}</i>{}", escape(number), escape(rest))
            }
            _ => escape(&text),
        }
    }
}

fn is_empty(cell: &str) -> bool {
    cell.is_empty() || cell == "–"
}

/// Where the number at the start of a cell ends, and its digits behind the point; `None` if
/// it starts with none.
fn parts(cell: &str) -> Option<(usize, usize)> {
    let unsigned = cell.trim_start_matches(['-', '−', '+', '×', '>', '<', ' ']);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let start = cell.len() - unsigned.len();
    let digits = |c: char| c.is_ascii_digit() || c == '\u{202f}';
    let whole = unsigned.find(|c| !digits(c)).unwrap_or(unsigned.len());
    let behind = unsigned[whole..].strip_prefix('.').unwrap_or_default();
    let fraction = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    let end = start + whole + if fraction > 0 { 1 + fraction } else { 0 };
    // `12 of 40`, `3rd` and `1 – 2` are words that begin with a digit.
    let rest = cell[end..].trim();
    let short = rest.chars().count() <= 4 && !rest.contains(['–', ',']);
    (short || rest.starts_with(['e', '×'])).then_some((end, fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(rows: &[[&str; 2]]) -> String {
        let rows = rows.iter().map(|row| row.map(str::to_owned));
        let mut page = String::new();
        html(&Table::new(&["what", "Value [mm]"]).titled("<T>").filled(rows), &mut page);
        page
    }

    #[test]
    fn numbers_stand_below_each_other_by_their_points() {
        let page = laid(&[["a", "1.25"], ["<b>", "-17"], ["c", "–"], ["d", "1.5e-7"]]);
        assert!(page.contains("<td class=\"n\">−17<i>.00</i></td>"), "{page}");
        assert!(page.contains("1.5<i>0</i>×10⁻⁷") && page.contains(">–</td>"), "{page}");
        assert!(page.contains("<th scope=\"row\">&lt;b&gt;") && page.contains("&lt;T&gt;"));
    }

    #[test]
    fn words_are_no_numbers() {
        let page = laid(&[["1, 1 – 2", "12 of 40 points"], ["2", "none"]]);
        assert!(!page.contains("class=\"n\""), "{page}");
        assert!(laid(&[]).is_empty());
    }
}
