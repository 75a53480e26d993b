//! The loop gain, and the damping of every mode against the delay, as a file.

use std::path::Path;

use super::{LoopCheck, tables, verdict};
use crate::error::Error;
use crate::run_folder::write_whole;
use crate::{loop_page, page};

/// Writes the picture, in the form that the name asks for.
pub(super) fn plot(path: &Path, found: &LoopCheck) -> Result<(), Error> {
    let (forecast, title) = (&found.forecast, &found.title);
    let Some(examined) = forecast.examined.as_deref() else {
        return Err(Error::NoLoopGain { reason: verdict(forecast) });
    };
    let failed = |reason: String| Error::NoLoopGain { reason };
    let text = match path.extension().and_then(|name| name.to_str()) {
        Some("html") => {
            let tables = [Some(tables::modes(forecast)), tables::trials(examined)];
            let tables = tables.into_iter().flatten().collect();
            let page = loop_page::page(title, forecast, examined, verdict(forecast), tables);
            page.map_err(failed)?.html()
        }
        Some("svg") => page::svg(title, &loop_page::figures(forecast, examined).map_err(failed)?),
        _ => return Err(Error::PictureName { path: path.to_path_buf() }),
    };
    write_whole(path, text)
}
