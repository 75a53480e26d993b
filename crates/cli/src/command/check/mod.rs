//! `twinrig check`: valid, stable, how far from the boundary, fast enough?

mod cut;
mod document;
mod plot;
mod tables;
mod words;

use std::path::PathBuf;

use super::output::{Exit, Output, print};
use super::rehearse::{ExperimentFile, load};
use twinrig::forecast::{Forecast, describe};

/// What `check` is asked.
#[derive(Debug, clap::Args)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    experiment: ExperimentFile,
    /// Rank other partitions of the structure by the delay they bear.
    #[arg(long)]
    advise: bool,
    /// Draw the loop gain and the damping against the delay into FILE (.html or .svg).
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

pub(super) fn check(arguments: &CheckArguments, output: Output) -> Exit {
    let loaded = match load(&arguments.experiment.file, &arguments.experiment.set, output) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    if cut::is_cut(&loaded.experiment) {
        return cut::check(&loaded, output);
    }
    let forecast = match Forecast::new(&loaded.assembly) {
        Ok(forecast) => forecast,
        Err(error) => return output.fail(error),
    };
    let mut advice = None;
    if arguments.advise {
        let assembly = &loaded.assembly;
        let described = describe(assembly);
        let found =
            analysis::partitions::advise(&assembly.structure, &assembly.partition, &described);
        match found {
            Ok(found) => advice = Some(found),
            Err(error) => return output.fail(error),
        }
    }
    if let Some(path) = &arguments.plot
        && let Err(reason) = plot::write(path, &loaded, &forecast)
    {
        return output.fail(reason);
    }
    let shown = match output {
        Output::Json => output.document(&document::document(&loaded, &forecast, advice.as_ref())),
        Output::People => print(&words::text(&loaded, &forecast, advice.as_ref())),
    };
    if forecast.is_unstable() { Exit::Unstable } else { shown }
}
