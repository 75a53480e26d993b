//! The second stream of a record: one row that says how the run ended.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt8Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use serde::Serialize;

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

/// One value of the row.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Missing,
    Count(u64),
    Number(f64),
    Text(String),
}

impl Cell {
    /// Decodes a column of one row from its buffers, the one with the missing
    /// values first. Arrow's own decoder panics on some damaged strings.
    fn decode<'a>(
        data_type: &DataType,
        missing: i64,
        buffers: &mut impl Iterator<Item = &'a [u8]>,
    ) -> Option<Self> {
        let _validity = buffers.next()?;
        let values = buffers.next()?;
        let cell = match data_type {
            DataType::Boolean => Self::Count(u64::from(values.first()? & 1)),
            DataType::UInt8 => Self::Count(u64::from(*values.first()?)),
            DataType::UInt64 => Self::Count(u64::from_le_bytes(*values.first_chunk()?)),
            DataType::Float64 => Self::Number(f64::from_le_bytes(*values.first_chunk()?)),
            DataType::Utf8 => {
                let end = i32::from_le_bytes(*values.get(4..)?.first_chunk()?);
                let start = i32::from_le_bytes(*values.first_chunk()?);
                let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
                Self::Text(str::from_utf8(buffers.next()?.get(range)?).ok()?.to_owned())
            }
            _ => return None,
        };
        Some(if missing == 0 { cell } else { Self::Missing })
    }

    fn count(&self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(*count),
            _ => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// Reads the row back; `None` if it is damaged. `missing` are the columns'
/// numbers of missing values, `buffers` their buffers in file order.
pub(super) fn parse_summary<'a>(
    schema: &Schema,
    missing: impl Iterator<Item = i64>,
    mut buffers: impl Iterator<Item = &'a [u8]>,
) -> Option<Summary> {
    let mut row = HashMap::new();
    for (field, missing) in schema.fields().iter().zip(missing) {
        row.insert(field.name().as_str(), Cell::decode(field.data_type(), missing, &mut buffers)?);
    }
    let trip = match row.get("trip_code")? {
        Cell::Missing => None,
        code => Some(TripNote {
            code: u8::try_from(code.count()?).ok()?,
            text: match row.remove("trip_text")? {
                Cell::Text(text) => text,
                _ => return None,
            },
            time_s: row.get("trip_time_s")?.number()?,
            value: row.get("trip_value")?.number()?,
            limit: row.get("trip_limit")?.number()?,
        }),
    };
    let events = match row.get("events") {
        // Records of earlier versions have none.
        None => Vec::new(),
        Some(Cell::Text(text)) => serde_json::from_str(text).ok()?,
        Some(_) => return None,
    };
    let timing = match row.get("timing") {
        // Rehearsals have none.
        None => None,
        Some(Cell::Text(text)) => Some(serde_json::from_str(text).ok()?),
        Some(_) => return None,
    };
    Some(Summary {
        events,
        timing,
        ticks: row.get("ticks")?.count()?,
        frames: row.get("frames")?.count()?,
        frames_lost: row.get("frames_lost")?.count()?,
        trip,
    })
}
