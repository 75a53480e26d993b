//! Universal file format, which programs for modal testing read: the units (dataset 164), then
//! one function of time for each channel (dataset 58, text, double precision).
//!
//! Every line has its fixed columns. Values have 13 digits. The number at the end of a channel's
//! name (`force.2`) is the response node; directions are not known and stand as scalar.

use std::io::{self, Write};

use model::channel::Channel;
use runtime::record::Record;

use super::Format;

pub(super) const FORMAT: Format = Format {
    name: "uff",
    about: "Universal file format, dataset 58, for programs for modal testing",
    write: |record, frames, output| {
        let step_s = even_step(record)?;
        units(output)?;
        for (channel, column) in record.channels.iter().zip(&record.columns) {
            if channel.name != "time" {
                function(record, channel, &column[..frames], step_s, output)?;
            }
        }
        Ok(())
    },
};

/// A line of text holds 80 characters.
const LINE: usize = 80;
/// Smaller values need a third digit of the exponent, for which the columns have no room.
const SMALLEST: f64 = 1e-99;

/// The time between two frames. The format gives it once, so frames must be evenly spaced.
fn even_step(record: &Record) -> Result<f64, &'static str> {
    let step_s = record.header.every as f64 / record.header.rate_hz;
    let time = record.channels.iter().position(|channel| channel.name == "time");
    let time = time.map_or(&[][..], |index| &record.columns[index]);
    let even = time.windows(2).all(|pair| ((pair[1] - pair[0]) / step_s - 1.0).abs() < 1e-3);
    even.then_some(step_s).ok_or("its frames are not evenly spaced in time; export to csv or mat")
}

/// SI, and what one of each unit is in SI: length, force, temperature, and the zero of temperature.
fn units(output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "{:6}\n{:6}", -1, 164)?;
    writeln!(output, "{:10}{:<20}{:10}", 1, "SI", 2)?;
    writeln!(output, "{one:>25}{one:>25}{one:>25}", one = "1.00000000000000000D+00")?;
    writeln!(output, "{:>25}\n{:6}", "2.73149999999999980D+02", -1)
}

fn function(
    record: &Record,
    channel: &Channel,
    values: &[f64],
    step_s: f64,
    output: &mut impl Write,
) -> io::Result<()> {
    let start_s = record
        .channels
        .iter()
        .position(|channel| channel.name == "time")
        .and_then(|index| record.columns[index].first().copied())
        .unwrap_or(0.0);
    let node: u32 = channel.name.rsplit('.').next().and_then(|end| end.parse().ok()).unwrap_or(0);
    let unit = if channel.unit.is_empty() { "NONE" } else { &channel.unit };
    writeln!(output, "{:6}\n{:6}", -1, 58)?;
    for text in [&channel.name, &channel.description, &record.header.started, &record.header.title]
    {
        writeln!(output, "{}", line(text))?;
    }
    writeln!(output, "twinrig {}", record.header.version)?;
    // Time response 1; no load case; node and scalar direction of response and of reference.
    writeln!(
        output,
        "{:5}{:10}{:5}{:10} {:<10}{node:10}{:4} {:<10}{:10}{:4}",
        1, 0, 0, 0, "NONE", 0, "NONE", 0, 0
    )?;
    // Real, double precision (4), evenly spaced (1).
    let (start, step) = (exponential(start_s, 5), exponential(step_s, 5));
    let zero = exponential(0.0, 5);
    writeln!(output, "{:10}{:10}{:10}{start:>13}{step:>13}{zero:>13}", 4, values.len(), 1)?;
    axis(output, 17, "Time", "s")?;
    axis(output, quantity(channel), &channel.name, unit)?;
    axis(output, 0, "NONE", "NONE")?;
    axis(output, 0, "NONE", "NONE")?;
    for row in values.chunks(4) {
        for &value in row {
            write!(output, "{:>20}", exponential(value, 12))?;
        }
        writeln!(output)?;
    }
    writeln!(output, "{:6}", -1)
}

/// An axis: its kind of data, exponents of length, force and temperature, name and unit.
fn axis(output: &mut impl Write, kind: u32, name: &str, unit: &str) -> io::Result<()> {
    let cut = |text: &str| text.chars().take(20).collect::<String>();
    writeln!(output, "{kind:10}{:5}{:5}{:5} {:<20} {:<20}", 0, 0, 0, cut(name), cut(unit))
}

/// What the format calls the channel's quantity: displacement 8, velocity 11, acceleration 12,
/// force 13, else unknown.
fn quantity(channel: &Channel) -> u32 {
    match &*channel.unit {
        "m" | "rad" => 8,
        "m/s" | "rad/s" => 11,
        "m/s²" | "m/s^2" | "rad/s²" | "rad/s^2" => 12,
        "N" | "N m" => 13,
        _ => 0,
    }
}

/// One line of text; none is empty, for readers that pass over empty lines.
fn line(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).take(LINE).collect();
    if text.trim().is_empty() { "NONE".into() } else { text }
}

/// `-1.25000E-02`: at least two digits of the exponent, always signed.
fn exponential(value: f64, digits: usize) -> String {
    let value = if value.abs() < SMALLEST { 0.0 } else { value };
    let text = format!("{value:.digits$E}");
    match text.split_once('E') {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or_default();
            format!("{mantissa}E{exponent:+03}")
        }
        None => text,
    }
}
