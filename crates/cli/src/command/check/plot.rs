//! The loop gain, and the damping of every mode against the delay, as a file.

use std::path::Path;

use super::{tables, words};
use crate::command::output::{cannot_write_by, write_whole};
use crate::command::rehearse::Loaded;
use twinrig::forecast::Forecast;
use twinrig::{loop_page, page};

/// Writes the picture, in the form that the name asks for.
pub(super) fn write(path: &Path, loaded: &Loaded, forecast: &Forecast) -> Result<(), String> {
    let Some(examined) = forecast.examined.as_deref() else {
        return Err(format!(
            "there is no loop gain to draw: {}; leave --plot out",
            words::verdict(forecast)
        ));
    };
    let title = &loaded.experiment.title;
    let text = match path.extension().and_then(|name| name.to_str()) {
        Some("html") => {
            let found = [Some(tables::modes(forecast)), tables::trials(examined)];
            let tables = found.into_iter().flatten().collect();
            loop_page::page(title, forecast, examined, words::verdict(forecast), tables)?.html()
        }
        Some("svg") => page::svg(title, &loop_page::figures(forecast, examined)?),
        _ => {
            return Err(format!(
                "{} ends neither in .html nor in .svg: name the picture loop.html or loop.svg",
                path.display()
            ));
        }
    };
    write_whole(path, &text).map_err(|error| cannot_write_by(path, &error, "--plot"))
}
