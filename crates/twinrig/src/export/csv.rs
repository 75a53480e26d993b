//! Comma-separated values: a line of names with units, then one line per frame.

use std::fmt::Write as _;
use std::io::{self, Write};

use model::channel::Channel;
use runtime::record::Record;

use super::{Format, is_code};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    about: "Comma-separated text, one row per frame",
    write: |record, frames, output| Ok(write(record, frames, output)?),
};

fn write(record: &Record, frames: usize, output: impl Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(output);
    table.write_record(record.channels.iter().map(title))?;
    let codes: Vec<bool> = record.channels.iter().map(|channel| is_code(&channel.name)).collect();
    let mut text = String::new();
    for frame in 0..frames {
        for (column, &code) in record.columns.iter().zip(&codes) {
            text.clear();
            // `{:?}` is the shortest text that reads back to the same number,
            // with an exponent where that is shorter.
            let value = column[frame];
            let written = if code { write!(text, "{value}") } else { write!(text, "{value:?}") };
            written.map_err(io::Error::other)?;
            table.write_field(&text)?;
        }
        table.write_record(None::<&[u8]>)?;
    }
    table.flush()
}

/// `force.1 [N]`; a pure number has no bracket.
fn title(channel: &Channel) -> String {
    if channel.unit.is_empty() {
        channel.name.clone()
    } else {
        format!("{} [{}]", channel.name, channel.unit)
    }
}
