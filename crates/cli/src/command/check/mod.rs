//! `twinrig check`: valid, stable, how far from the boundary, fast enough?

mod words;

use std::path::PathBuf;

use twinrig::check::Check;

use super::error::CliError;
use super::file::{ExperimentFile, load};
use super::output::{Exit, Output};

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

pub(super) fn check(arguments: &CheckArguments, output: Output) -> Result<Exit, CliError> {
    let test = load(&arguments.experiment.file, &arguments.experiment.set, output)?;
    let mut check = test.check()?;
    if let Check::Loop(found) = &mut check {
        if arguments.advise {
            found.advice = Some(test.advise()?);
        }
        if let Some(path) = &arguments.plot {
            check.plot(path).map_err(|error| match error {
                error @ twinrig::Error::Write { .. } => CliError::Plot(error),
                error => error.into(),
            })?;
        }
    }
    let mut missing = test.experiment().diagnostics();
    missing.extend(test.experiment().missing_limits());
    output.warn(&missing);
    let assembly = test.assembly()?;
    let shown = output.show(&check, || words::words(&check, assembly));
    Ok(if check.is_unstable() {
        Exit::Unstable
    } else if check.is_unknown() {
        Exit::NotJudged
    } else {
        Exit::of_verdict(check.verdict(), shown)
    })
}
