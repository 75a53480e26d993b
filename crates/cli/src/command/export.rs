//! `twinrig export`: a record in another format.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::output::{Exit, Output, is_record, print, read_record, would_overwrite};
use twinrig::export::{Format, export as write};

pub(super) fn export(
    record: &Path,
    format: &'static Format,
    out: Option<PathBuf>,
    output: Output,
) -> Exit {
    let (path, record) = match read_record(record, output) {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    let out = out.unwrap_or_else(|| path.with_extension(format.name));
    if is_record(&out, &path) {
        return output.fail(would_overwrite(&out));
    }
    if let Err(error) = write(&record, format, &out) {
        return output.fail(error);
    }
    let rows = record.columns.first().map_or(0, Vec::len);
    let shown = match output {
        Output::Json => output.document(&json!({
            "file": out.display().to_string(),
            "rows": rows,
            "channels": record.channels.len(),
        })),
        Output::People => print(&format!(
            "{rows} frames of {} channels written to {}\n",
            record.channels.len(),
            out.display()
        )),
    };
    if record.summary.is_none() && shown == Exit::Done {
        if output == Output::People {
            eprintln!("note: the record was cut off; this is what had been flushed");
        }
        return Exit::Incomplete;
    }
    shown
}
