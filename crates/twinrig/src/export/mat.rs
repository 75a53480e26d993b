//! MATLAB 7.3: HDF5 with a user block and MATLAB's attributes.
//!
//! Every channel is a column vector; `names`, `units` and `descriptions` are
//! structs with the same fields as there are channels; `meta` holds the header
//! with the experiment file, `inputs` the files it named, `summary` how the run
//! ended.

use std::collections::HashSet;
use std::io::Write;

use hdf5_pure::mat::identifier::sanitize_name;
use hdf5_pure::mat::{MatBuilder, MatClass, MatError, Options, StructWriter};
use model::channel::Channel;
use runtime::record::{EmbeddedFile, Header, Record, Summary};

use super::Format;

pub(super) const FORMAT: Format = Format {
    name: "mat",
    about: "HDF5 laid out as a MATLAB v7.3 MAT file",
    write: |record, frames, output| Ok(write(record, frames, output)?),
};

/// One of a channel's texts.
type Text = fn(&Channel) -> &str;

/// The longest name MATLAB takes (`namelengthmax`).
const NAME_LIMIT: usize = 63;
/// Variables that are no channels.
const RESERVED: [&str; 6] = ["names", "units", "descriptions", "meta", "inputs", "summary"];

fn write(record: &Record, frames: usize, output: impl Write) -> Result<(), MatError> {
    let names = variable_names(record.channels.iter().map(|channel| channel.name.as_str()));
    let mut file = MatBuilder::new(Options::default());
    for (name, column) in names.iter().zip(&record.columns) {
        if frames == 0 {
            file.write_empty(name, MatClass::Double, &[0, 1])?;
        } else {
            file.write_f64(name, &[frames, 1], column)?;
        }
    }
    let texts: [(&str, Text); 3] = [
        ("names", |channel| &channel.name),
        ("units", |channel| &channel.unit),
        ("descriptions", |channel| &channel.description),
    ];
    for (title, text) in texts {
        file.struct_(title, |fields| {
            for (name, channel) in names.iter().zip(&record.channels) {
                fields.write_char(name, text(channel))?;
            }
            Ok(())
        })?;
    }
    file.struct_("meta", |fields| meta(fields, &record.header))?;
    file.struct_("inputs", |fields| inputs(fields, &record.header.inputs))?;
    file.struct_("summary", |fields| summary(fields, record.summary.as_ref()))?;
    file.finish_to(output)
}

fn meta(fields: &mut StructWriter<'_>, header: &Header) -> Result<(), MatError> {
    fields
        .write_char("version", &header.version)?
        .write_char("title", &header.title)?
        .write_char("experiment_name", &header.experiment_name)?
        .write_char("experiment", &header.experiment)?
        .write_scalar_u64("seed", header.seed)?
        .write_scalar_f64("rate_hz", header.rate_hz)?
        .write_scalar_u64("every", header.every)?
        .write_char("started", &header.started)?;
    let facts = variable_names(header.machine.iter().map(|(fact, _)| fact.as_str()));
    fields.struct_("machine", |fields| {
        for (fact, (_, value)) in facts.iter().zip(&header.machine) {
            fields.write_char(fact, value)?;
        }
        Ok(())
    })?;
    fields.struct_("trip_codes", |fields| {
        let mut written = HashSet::new();
        for (code, meaning) in &header.trip_codes {
            if written.insert(code) {
                fields.write_char(&format!("code_{code}"), meaning)?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn inputs(fields: &mut StructWriter<'_>, files: &[EmbeddedFile]) -> Result<(), MatError> {
    for (index, file) in files.iter().enumerate() {
        fields.struct_(&format!("file_{}", index + 1), |fields| {
            fields.write_char("name", &file.name)?;
            if file.bytes.is_empty() {
                fields.write_empty("bytes", MatClass::UInt8, &[0, 1])?;
            } else {
                fields.write_u8("bytes", &[file.bytes.len(), 1], &file.bytes)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// `finished` is false for a record that was cut off; the rest is then absent.
fn summary(fields: &mut StructWriter<'_>, summary: Option<&Summary>) -> Result<(), MatError> {
    fields.write_scalar_logical("finished", summary.is_some())?;
    let Some(summary) = summary else { return Ok(()) };
    fields
        .write_scalar_logical("complete", summary.is_complete())?
        .write_scalar_u64("ticks", summary.ticks)?
        .write_scalar_u64("frames", summary.frames)?
        .write_scalar_u64("frames_lost", summary.frames_lost)?
        .write_scalar_logical("tripped", summary.trip.is_some())?;
    if let Some(trip) = &summary.trip {
        fields
            .write_scalar_u8("trip_code", trip.code)?
            .write_char("trip_text", &trip.text)?
            .write_scalar_f64("trip_time_s", trip.time_s)?
            .write_scalar_f64("trip_value", trip.value)?
            .write_scalar_f64("trip_limit", trip.limit)?;
    }
    Ok(())
}

/// Legal, different names: `force.1` becomes `force_1`.
fn variable_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken: HashSet<String> = RESERVED.iter().map(|name| name.to_string()).collect();
    let mut unique = |name: &str| {
        let base: String = sanitize_name(name).chars().take(NAME_LIMIT).collect();
        let mut candidate = base.clone();
        let mut number = 2_usize;
        while !taken.insert(candidate.clone()) {
            let suffix = format!("_{number}");
            let keep = NAME_LIMIT.saturating_sub(suffix.len());
            candidate = base.chars().take(keep).chain(suffix.chars()).collect();
            number += 1;
        }
        candidate
    };
    names.map(&mut unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dots_become_underscores_and_collisions_are_numbered() {
        let names = ["force.1", "force_1", "units", "end", "1st", "", "αβ"];
        let legal = variable_names(names.into_iter());
        assert_eq!(legal, ["force_1", "force_1_2", "units_2", "end_", "x1st", "x", "x__"]);
    }

    proptest! {
        #[test]
        fn any_names_become_legal_and_different(names in proptest::collection::vec(".{0,80}", 0..20)) {
            let names: Vec<_> = names.iter().chain(&names).map(String::as_str).collect();
            let legal = variable_names(names.iter().copied());
            prop_assert_eq!(legal.iter().collect::<HashSet<_>>().len(), names.len());
            for name in &legal {
                prop_assert!(hdf5_pure::mat::identifier::is_valid_name(name), "{}", name);
                prop_assert!(name.len() <= NAME_LIMIT);
            }
        }
    }
}
