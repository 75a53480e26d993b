//! `twinrig reduce`: a large model made small, and how far it can be trusted.

use std::path::PathBuf;

use twinrig::reduce::{InTime, ReduceOptions};
use twinrig::table::Table;
use twinrig::words::Words;

use super::error::CliError;
use super::file::{OtherValues, folder, read};
use super::identify::time;
use super::onlooker::Looker;
use super::output::{Exit, Output, written};

/// What `reduce` is asked.
#[derive(Debug, clap::Args)]
pub(super) struct ReduceArguments {
    /// Experiment file (TOML) with a [reduction].
    file: PathBuf,
    #[command(flatten)]
    set: OtherValues,
    /// Folder for the matrices, summary.json and report.html [default: runs/NAME-reduced].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Frequencies at which the full model is computed for comparison, each of which costs a
    /// factorisation [default: 40, and 8 beyond 5000 DOFs]. Resonances come on top, up to half
    /// as many.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(4..=2000))]
    points: Option<u16>,
    /// Also step the full structure through the load, or the first TIME of it, beside the reduced
    /// one and the hybrid test; each step costs a solution with the full model's factor.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, value_parser = span)]
    compare: Option<Option<f64>>,
}

pub(super) fn reduce(arguments: &ReduceArguments, output: Output) -> Result<Exit, CliError> {
    let test = read(&arguments.file, &arguments.set, output)?;
    let in_time = match arguments.compare {
        None => InTime::No,
        Some(None) => InTime::Whole,
        Some(Some(span_s)) => InTime::First(span_s),
    };
    let options = ReduceOptions { points: arguments.points.map(usize::from), in_time };
    let folder = folder(arguments.out.as_ref(), &arguments.file, "-reduced");
    let done = test.reduce(&folder, &options, &mut Looker::new(output, ""))?;
    let shown = output.show(&done, || {
        let mut words = Words::default();
        words.line(&done.found.title);
        words.verdict(&done.found.verdict);
        words.line("");
        let rows = done.found.rows().into_iter().map(|(name, value)| [name, value]);
        words.table(Table::new(&["quantity", "value"]).filled(rows));
        words.line(format!("\n{}", written(&done.folder, &done.files)));
        words
    });
    Ok(match &done.refused {
        None => Exit::of_verdict(&done.found.verdict, shown),
        Some(refused) => {
            if output == Output::People {
                output.refuse(refused);
            }
            Exit::BadExperiment
        }
    })
}

fn span(text: &str) -> Result<f64, String> {
    let span_s = time(text)?;
    if span_s > 0.0 { Ok(span_s) } else { Err("must be greater than zero".to_owned()) }
}
