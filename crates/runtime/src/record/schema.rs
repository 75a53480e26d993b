//! The schema of a record's frames: the header as its metadata, the channels as
//! its fields.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Metadata, Schema};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use model::channel::Channel;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::json;

use super::{Header, RecordError, Role};

/// Version of the file format, under the key [`FORMAT_KEY`].
pub(super) const FORMAT: u32 = 1;
/// Its presence is what makes an Arrow stream a twinrig record.
pub(super) const FORMAT_KEY: &str = "twinrig_record";
/// The flatbuffer that holds the schema is verified as a whole before it is
/// read; beyond this its own limits would refuse it.
pub(super) const MAX_HEADER_BYTES: usize = 256 << 20;
/// Likewise: a field costs several flatbuffer tables of the million allowed.
pub(super) const MAX_CHANNELS: usize = 20_000;

/// `phase` and `trip` are small codes; everything else is a number.
fn data_type(channel: &Channel) -> DataType {
    match channel.name.as_str() {
        "phase" | "trip" => DataType::UInt8,
        _ => DataType::Float64,
    }
}

/// The schema of the first stream.
pub(super) fn data_schema(header: &Header, channels: &[&Channel]) -> Result<Schema, RecordError> {
    if channels.is_empty() {
        return Err(RecordError::NoChannels);
    }
    if channels.len() > MAX_CHANNELS {
        return Err(RecordError::TooManyChannels(channels.len()));
    }
    let mut names = HashSet::new();
    let mut fields = Vec::with_capacity(channels.len());
    for channel in channels {
        if !names.insert(&channel.name) {
            return Err(RecordError::DuplicateChannel(channel.name.clone()));
        }
        let field = Field::new(&channel.name, data_type(channel), false);
        fields.push(field.with_metadata([
            ("unit", channel.unit.as_str()),
            ("description", channel.description.as_str()),
        ]));
    }
    let metadata = header_metadata(header);
    let of_fields: usize =
        channels.iter().map(|c| c.name.len() + c.unit.len() + c.description.len()).sum();
    let bytes =
        of_fields + metadata.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    if bytes > MAX_HEADER_BYTES {
        return Err(RecordError::HeaderTooLarge(bytes));
    }
    Ok(Schema::new_with_metadata(fields, metadata))
}

fn header_metadata(header: &Header) -> Metadata {
    Metadata::from([
        (FORMAT_KEY, FORMAT.to_string()),
        ("role", header.role.to_string()),
        ("interface", json!(header.interface).to_string()),
        ("version", header.version.clone()),
        ("title", header.title.clone()),
        ("experiment_name", header.experiment_name.clone()),
        ("experiment", header.experiment.clone()),
        ("inputs", json!(header.inputs).to_string()),
        ("seed", header.seed.to_string()),
        ("rate_hz", header.rate_hz.to_string()),
        ("every", header.every.to_string()),
        ("started", header.started.clone()),
        ("machine", json!(header.machine).to_string()),
        ("trip_codes", json!(header.trip_codes).to_string()),
        ("prediction", json!(header.prediction).to_string()),
    ])
}

/// A key of the header and what is wrong with it.
pub(super) type HeaderProblem = (&'static str, String);

/// Reads the header back from the schema's metadata.
pub(super) fn parse_header(metadata: &Metadata) -> Result<Header, HeaderProblem> {
    let machine: Vec<(String, String)> = parsed(metadata, "machine", "a JSON array of pairs")?;
    Ok(Header {
        role: role(metadata, &machine)?,
        interface: match metadata.get("interface") {
            Some(_) => parsed(metadata, "interface", "a JSON array of interface DOFs")?,
            None => Vec::new(),
        },
        version: text(metadata, "version")?,
        title: text(metadata, "title")?,
        experiment_name: text(metadata, "experiment_name")?,
        experiment: text(metadata, "experiment")?,
        inputs: parsed(metadata, "inputs", "a JSON array of files")?,
        seed: number(metadata, "seed")?,
        rate_hz: number(metadata, "rate_hz")?,
        every: number(metadata, "every")?,
        started: text(metadata, "started")?,
        machine,
        trip_codes: parsed(metadata, "trip_codes", "a JSON array of codes and words")?,
        prediction: match metadata.get("prediction") {
            Some(_) => parsed(metadata, "prediction", "a JSON array of reasons")?,
            None => Vec::new(),
        },
    })
}

/// What the record is of. Records of earlier versions say it in a fact of the machine.
fn role(metadata: &Metadata, machine: &[(String, String)]) -> Result<Role, HeaderProblem> {
    if let Some(text) = metadata.get("role") {
        let role = serde_json::from_value(json!(text));
        return role.map_err(|_| ("role", format!("is \"{}\", not a role", shorten(text))));
    }
    let old = machine.iter().find_map(|(name, value)| match (name.as_str(), value.as_str()) {
        ("role", "laboratory") => Some(Role::Laboratory),
        ("role", "drive") => Some(Role::Drive),
        ("record of", _) => Some(Role::Evaluations),
        _ => None,
    });
    Ok(old.unwrap_or(Role::Loop))
}

fn text(metadata: &Metadata, key: &'static str) -> Result<String, HeaderProblem> {
    metadata.get(key).cloned().ok_or((key, "is missing".into()))
}

fn number<T: std::str::FromStr>(
    metadata: &Metadata,
    key: &'static str,
) -> Result<T, HeaderProblem> {
    let text = text(metadata, key)?;
    text.parse().map_err(|_| (key, format!("is \"{}\", not a number", shorten(&text))))
}

/// A value that is written as JSON.
fn parsed<T: DeserializeOwned>(
    metadata: &Metadata,
    key: &'static str,
    expected: &str,
) -> Result<T, HeaderProblem> {
    serde_json::from_str(&text(metadata, key)?)
        .map_err(|error| (key, format!("is not {expected} ({error})")))
}

/// The contents of an embedded file as text.
pub(super) mod base64_text {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        bytes: &[u8],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64.encode(bytes))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<u8>, D::Error> {
        BASE64.decode(String::deserialize(from)?).map_err(D::Error::custom)
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The channels of the first stream.
pub(super) fn parse_channels(schema: &Schema) -> Result<Vec<Channel>, String> {
    let channel = |field: &Arc<Field>| {
        let fact = |key| field.metadata().get(key).cloned().unwrap_or_default();
        match field.data_type() {
            DataType::Float64 | DataType::UInt8 => {
                Ok(Channel::new(field.name(), fact("unit"), fact("description")))
            }
            other => Err(format!("channel {} is stored as {other}", shorten(field.name()))),
        }
    };
    schema.fields().iter().map(channel).collect()
}
