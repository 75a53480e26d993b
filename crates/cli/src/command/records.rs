//! `twinrig report`, `export` and `replay`: what is done with a record afterwards.

use std::path::{Path, PathBuf};

use serde_json::json;
use twinrig::export::{Format, export as write};
use twinrig::replay::{Replay, replay as replayed};
use twinrig::words::number;
use twinrig::{Error, Onlooker as _, read_record, report};

use super::error::CliError;
use super::onlooker::Looker;
use super::output::{Exit, Output};

/// Makes the report of a record again.
pub(super) fn report(
    record: &Path,
    out: Option<PathBuf>,
    output: Output,
) -> Result<Exit, CliError> {
    let (path, record) = read_record(record)?;
    let out = out.unwrap_or_else(|| path.with_file_name("report.html"));
    twinrig::write_report(&record, &path, &out)?;
    let out = out.display().to_string();
    let document =
        json!({ "report": out, "summary": report::summary(&record).map_err(Error::from)? });
    let shown = output.show(&document, || {
        let mut words = report::summary_words(&record);
        words.line(format!("\nwritten to {out}"));
        words
    });
    Ok(match &record.summary {
        Some(summary) if summary.is_complete() => shown,
        _ => Exit::Incomplete,
    })
}

/// Writes a record in another format.
pub(super) fn export(
    record: &Path,
    format: &'static Format,
    out: Option<PathBuf>,
    output: Output,
) -> Result<Exit, CliError> {
    let (path, record) = read_record(record)?;
    let out = out.unwrap_or_else(|| path.with_extension(format.name));
    twinrig::refuse_overwriting(&out, &path)?;
    write(&record, format, &out).map_err(Error::from)?;
    let (rows, channels) = (record.columns.first().map_or(0, Vec::len), record.channels.len());
    let out = out.display().to_string();
    let document = json!({ "file": out, "rows": rows, "channels": channels });
    let shown = output.show(&document, || {
        format!("{rows} frames of {channels} channels written to {out}").into()
    });
    Ok(cut_off(record.summary.is_none(), shown, output))
}

/// Feeds a record's measurements through the loop again.
pub(super) fn replay(record: &Path, output: Output) -> Result<Exit, CliError> {
    let (_, record) = read_record(record)?;
    let mut looker = Looker::new(output, "");
    looker.stage("replaying");
    let outcome = replayed(&record)?;
    drop(looker);
    let Replay { ticks, first_difference, kind } = &outcome;
    let shown = output.show(&outcome, || {
        let words = match first_difference {
            None => {
                let kind = kind.words();
                format!("{ticks} ticks, {kind}: every command is the same, bit for bit")
            }
            Some(d) => format!(
                "the command of interface DOF {} first differs at tick {}: recorded {} m, \
                 replayed {} m",
                d.dof + 1,
                d.tick,
                number(d.recorded),
                number(d.replayed)
            ),
        };
        words.into()
    });
    Ok(match first_difference {
        Some(_) => Exit::ReplayDiffers,
        None => cut_off(record.summary.is_none(), shown, output),
    })
}

/// A record without a summary was cut off.
fn cut_off(is_cut: bool, shown: Exit, output: Output) -> Exit {
    if !is_cut || shown != Exit::Done {
        return shown;
    }
    output.note("note: the record was cut off; this is what had been flushed");
    Exit::Incomplete
}
