//! Records in the formats of other programs.
//!
//! A file appears under its name only when it is whole: it is written beside
//! it first and renamed.

mod csv;
mod mat;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "without_parquet.rs"]
mod parquet;
mod universal;

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use runtime::record::Record;

/// Every format. A new one is a file with its `FORMAT`, and a line here.
pub const FORMATS: [&Format; 4] =
    [&csv::FORMAT, &mat::FORMAT, &parquet::FORMAT, &universal::FORMAT];

/// A format a record can be exported to.
#[derive(Debug)]
pub struct Format {
    /// Its name, which is also the ending of such a file's name.
    pub name: &'static str,
    /// What it is and who reads it.
    pub about: &'static str,
    /// Writes a record of so many frames, each column as long as that.
    write: fn(&Record, usize, &mut Output) -> Result<(), Refused>,
}

type Output = BufWriter<File>;

/// What an encoder says when it cannot go on.
type Refused = Box<dyn Error + Send + Sync>;

impl Format {
    /// The format of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.into_iter().find(|format| format.name == name)
    }
}

/// What was exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The file.
    pub path: PathBuf,
    /// Frames in it.
    pub frames: usize,
    /// Channels in it.
    pub channels: usize,
    /// Its size.
    pub bytes: u64,
}

/// An export that failed; nothing is left under the file's name.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The path names no file.
    #[error("\"{path}\" names no file; end it with a file name", path = path.display())]
    NotAFile {
        /// The path asked for.
        path: PathBuf,
    },
    /// A record put together by hand, with columns that do not fit its channels.
    #[error(
        "the record has {columns} columns for {channels} channels, or columns of unequal length; \
         read it again from its file"
    )]
    Uneven {
        /// Channels described.
        channels: usize,
        /// Columns present.
        columns: usize,
    },
    /// The file could not be written.
    #[error(
        "cannot write {path}: {source}; check that its folder exists, may be written to and has \
         room",
        path = path.display()
    )]
    Write {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The encoder refused.
    #[error("cannot write {path} as {format}: {source}", path = path.display())]
    Refused {
        /// The file asked for.
        path: PathBuf,
        /// The format asked for.
        format: &'static str,
        /// What the encoder said.
        source: Refused,
    },
}

/// Writes `record` to `path`. A file of that name is replaced, in one step,
/// when the new one is whole.
pub fn export(
    record: &Record,
    format: &'static Format,
    path: impl AsRef<Path>,
) -> Result<Exported, ExportError> {
    let path = path.as_ref();
    let frames = frames(record)?;
    let failed = |source| ExportError::Write { path: path.into(), source };
    let (part, file) = Part::create(path)?;
    let mut output = BufWriter::with_capacity(1 << 18, file);
    (format.write)(record, frames, &mut output).map_err(|source| {
        match source.downcast::<io::Error>() {
            Ok(source) => failed(*source),
            Err(source) => ExportError::Refused { path: path.into(), format: format.name, source },
        }
    })?;
    output.flush().map_err(failed)?;
    let bytes = output.get_ref().metadata().map_err(failed)?.len();
    drop(output);
    part.rename(path).map_err(failed)?;
    Ok(Exported { path: path.into(), frames, channels: record.channels.len(), bytes })
}

fn frames(record: &Record) -> Result<usize, ExportError> {
    let frames = record.columns.first().map_or(0, Vec::len);
    let even = record.columns.iter().all(|column| column.len() == frames);
    if record.columns.len() != record.channels.len() || !even {
        return Err(ExportError::Uneven {
            channels: record.channels.len(),
            columns: record.columns.len(),
        });
    }
    Ok(frames)
}

/// The unfinished file beside the one asked for; removed unless renamed.
struct Part {
    path: Option<PathBuf>,
}

impl Part {
    fn create(path: &Path) -> Result<(Self, File), ExportError> {
        let Some(name) = path.file_name() else {
            return Err(ExportError::NotAFile { path: path.into() });
        };
        let mut part = std::ffi::OsString::from(".");
        part.push(name);
        part.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(part);
        // Left over from a killed export that had the same process number.
        let _ = fs::remove_file(&part);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&part)
            .map_err(|source| ExportError::Write { path: path.into(), source })?;
        Ok((Self { path: Some(part) }, file))
    }

    fn rename(mut self, path: &Path) -> io::Result<()> {
        if let Some(part) = &self.path {
            fs::rename(part, path)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(part) = &self.path {
            // The error that brought us here matters more than this one.
            let _ = fs::remove_file(part);
        }
    }
}

/// Whether a channel holds small codes, which are written without a point.
fn is_code(name: &str) -> bool {
    matches!(name, "phase" | "trip")
}

#[cfg(test)]
mod tests;
