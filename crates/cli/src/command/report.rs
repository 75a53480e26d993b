//! `twinrig report`: the report of a record, again.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::output::{
    Exit, Output, cannot_write, is_record, print, read_record, would_overwrite, write_whole,
};
use twinrig::report;

pub(super) fn report(record: &Path, out: Option<PathBuf>, output: Output) -> Exit {
    let (path, record) = match read_record(record, output) {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    let (name, value) = twinrig::iterative::RECORD_OF;
    if record.header.machine.contains(&(name.to_owned(), value.to_owned())) {
        return output.fail(
            "the record holds the evaluations of an iterative test; `twinrig trace` with the same \
             file and --out writes its report again",
        );
    }
    let out = out.unwrap_or_else(|| path.with_file_name("report.html"));
    if is_record(&out, &path) {
        return output.fail(would_overwrite(&out));
    }
    let html = match report::html(&record) {
        Ok(html) => html,
        Err(error) => return output.fail(error),
    };
    if let Err(error) = write_whole(&out, &html) {
        return output.fail(cannot_write(&out, &error));
    }
    let shown = match output {
        Output::Json => output.document(&json!({
            "report": out.display().to_string(),
            "summary": report::summary_json(&record),
        })),
        Output::People => {
            print(&format!("{}\nwritten to {}\n", report::summary_text(&record), out.display()))
        }
    };
    match &record.summary {
        Some(summary) if summary.is_complete() => shown,
        _ => Exit::Incomplete,
    }
}
