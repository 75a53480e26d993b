//! Tables in the house style.

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};

/// Widest table on a terminal.
const COLUMNS: u16 = 100;

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// An empty table with its header.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(COLUMNS)
        .set_header(header.to_vec());
    table
}
