//! Apache Parquet with units in the columns' metadata.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt8Array};
use arrow_schema::{DataType, Field, Metadata, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use runtime::record::Record;

use super::{Format, is_code};

pub(super) const FORMAT: Format = Format {
    name: "parquet",
    about: "Apache Parquet",
    write: |record, frames, output| Ok(write(record, frames, output)?),
};

/// Frames handed to the encoder at once.
const FRAMES_AT_ONCE: usize = 1 << 16;

fn write(record: &Record, frames: usize, output: impl Write + Send) -> Result<(), ParquetError> {
    let schema = Arc::new(schema(record));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut table = ArrowWriter::try_new(output, schema.clone(), Some(properties))?;
    for start in (0..frames).step_by(FRAMES_AT_ONCE) {
        let range = start..frames.min(start + FRAMES_AT_ONCE);
        let columns = record.channels.iter().zip(&record.columns).map(|(channel, column)| {
            let values = column[range.clone()].iter().copied();
            if is_code(&channel.name) {
                Arc::new(UInt8Array::from_iter_values(values.map(|code| code as u8))) as ArrayRef
            } else {
                Arc::new(Float64Array::from_iter_values(values))
            }
        });
        table.write(&RecordBatch::try_new(schema.clone(), columns.collect())?)?;
    }
    table.close()?;
    Ok(())
}

fn schema(record: &Record) -> Schema {
    let field = |channel: &model::channel::Channel| {
        let kind = if is_code(&channel.name) { DataType::UInt8 } else { DataType::Float64 };
        Field::new(&channel.name, kind, false)
            .with_metadata([("unit", &*channel.unit), ("description", &*channel.description)])
    };
    let header = &record.header;
    let metadata = Metadata::from([
        ("version", header.version.clone()),
        ("title", header.title.clone()),
        ("experiment_name", header.experiment_name.clone()),
        ("experiment", header.experiment.clone()),
        ("seed", header.seed.to_string()),
        ("rate_hz", header.rate_hz.to_string()),
        ("every", header.every.to_string()),
        ("started", header.started.clone()),
    ]);
    Schema::new_with_metadata(record.channels.iter().map(field).collect::<Vec<_>>(), metadata)
}
