//! The second stream of a record: one row that says how the run ended.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt8Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::schema::FORMAT_KEY;
use super::{Summary, TripNote};

/// What the schema carries under [`FORMAT_KEY`] in place of a version.
pub(super) const MARK: &str = "summary";

/// The row as it is written.
pub(super) fn summary_batch(summary: &Summary) -> Result<RecordBatch, ArrowError> {
    let trip = summary.trip.as_ref();
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("ticks", Arc::new(UInt64Array::from(vec![summary.ticks]))),
        ("frames", Arc::new(UInt64Array::from(vec![summary.frames]))),
        ("frames_lost", Arc::new(UInt64Array::from(vec![summary.frames_lost]))),
        ("complete", Arc::new(BooleanArray::from(vec![summary.is_complete()]))),
        ("trip_code", Arc::new(UInt8Array::from(vec![trip.map(|trip| trip.code)]))),
        ("trip_text", Arc::new(StringArray::from(vec![trip.map(|trip| trip.text.as_str())]))),
        ("trip_time_s", Arc::new(Float64Array::from(vec![trip.map(|trip| trip.time_s)]))),
        ("trip_value", Arc::new(Float64Array::from(vec![trip.map(|trip| trip.value)]))),
        ("trip_limit", Arc::new(Float64Array::from(vec![trip.map(|trip| trip.limit)]))),
        ("events", Arc::new(StringArray::from(vec![json(&summary.events)?]))),
    ];
    if let Some(timing) = &summary.timing {
        columns.push(("timing", Arc::new(StringArray::from(vec![json(timing)?]))));
    }
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column)| {
            Field::new(*name, column.data_type().clone(), name.starts_with("trip_"))
        })
        .collect();
    let schema = Schema::new_with_metadata(fields, [(FORMAT_KEY, MARK)]);
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, column)| column).collect())
}

/// As JSON. A number that is none becomes `null`.
fn json(value: &impl Serialize) -> Result<String, ArrowError> {
    serde_json::to_string(value).map_err(|error| ArrowError::JsonError(error.to_string()))
}

/// The row as it is read: type and bytes of every value, by column; no bytes where it
/// is missing.
struct Row<'a>(HashMap<&'a str, (&'a DataType, Option<&'a [u8]>)>);

impl<'a> Row<'a> {
    /// From the columns' numbers of missing values and their buffers in file order, of
    /// each column the one with the missing values first. Arrow's own decoder panics on
    /// some damaged strings.
    fn new(
        schema: &'a Schema,
        missing: impl Iterator<Item = i64>,
        mut buffers: impl Iterator<Item = &'a [u8]>,
    ) -> Option<Self> {
        let mut row = HashMap::new();
        for (field, missing) in schema.fields().iter().zip(missing) {
            let _validity = buffers.next()?;
            let mut value = buffers.next()?;
            match field.data_type() {
                DataType::Boolean | DataType::UInt8 | DataType::UInt64 | DataType::Float64 => {}
                DataType::Utf8 => {
                    let start = i32::from_le_bytes(*value.first_chunk()?);
                    let end = i32::from_le_bytes(*value.get(4..)?.first_chunk()?);
                    let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
                    value = buffers.next()?.get(range)?;
                }
                _ => return None,
            }
            let value = (missing == 0).then_some(value);
            row.insert(field.name().as_str(), (field.data_type(), value));
        }
        Some(Self(row))
    }

    fn bytes(&self, column: &str, wanted: &DataType) -> Option<&'a [u8]> {
        let (data_type, bytes) = *self.0.get(column)?;
        bytes.filter(|_| data_type == wanted)
    }

    fn count(&self, column: &str) -> Option<u64> {
        Some(u64::from_le_bytes(*self.bytes(column, &DataType::UInt64)?.first_chunk()?))
    }

    fn number(&self, column: &str) -> Option<f64> {
        Some(f64::from_le_bytes(*self.bytes(column, &DataType::Float64)?.first_chunk()?))
    }

    fn text(&self, column: &str) -> Option<&'a str> {
        str::from_utf8(self.bytes(column, &DataType::Utf8)?).ok()
    }

    /// What is written as JSON, in a column that not every record has.
    fn json<T: DeserializeOwned>(&self, column: &str) -> Option<Option<T>> {
        match self.0.contains_key(column) {
            false => Some(None),
            true => Some(Some(serde_json::from_str(self.text(column)?).ok()?)),
        }
    }
}

/// Reads the row back; `None` if it is damaged.
pub(super) fn parse_summary<'a>(
    schema: &'a Schema,
    missing: impl Iterator<Item = i64>,
    buffers: impl Iterator<Item = &'a [u8]>,
) -> Option<Summary> {
    let row = Row::new(schema, missing, buffers)?;
    let (_, code) = row.0.get("trip_code")?;
    let trip = match code {
        None => None,
        Some(_) => Some(TripNote {
            code: *row.bytes("trip_code", &DataType::UInt8)?.first()?,
            text: row.text("trip_text")?.to_owned(),
            time_s: row.number("trip_time_s")?,
            value: row.number("trip_value")?,
            limit: row.number("trip_limit")?,
        }),
    };
    Some(Summary {
        ticks: row.count("ticks")?,
        frames: row.count("frames")?,
        frames_lost: row.count("frames_lost")?,
        trip,
        // Records of earlier versions have no events, rehearsals no timing.
        events: row.json("events")?.unwrap_or_default(),
        timing: row.json("timing")?,
    })
}
