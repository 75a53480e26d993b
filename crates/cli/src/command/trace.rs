//! `twinrig trace`: the frequency response of a structure by iteration.

use std::path::PathBuf;

use clap::Args;
use twinrig::iterative::{Ended, Place, TraceOptions, Traced};
use twinrig::page::text::{label, plus_minus};
use twinrig::table::Table;
use twinrig::words::{Words, number, titled};

use super::error::CliError;
use super::file::{OtherValues, Pacing, folder, load};
use super::onlooker::Looker;
use super::output::{Exit, Output};
use super::signals::stop_on_signals;

/// What `twinrig trace` is told.
#[derive(Debug, Args)]
pub(super) struct TraceArguments {
    /// Experiment file (TOML) with a [trace].
    file: PathBuf,
    /// Folder for points.csv, record.arrow, report.html, summary.json and the journal, in real time
    /// frames.arrow as well [default: runs/NAME-trace].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    set: OtherValues,
    /// Throw away what an earlier trace has left in the folder.
    #[arg(long)]
    restart: bool,
    #[command(flatten)]
    pacing: Pacing,
}

pub(super) fn trace(arguments: &TraceArguments, output: Output) -> Result<Exit, CliError> {
    let stop = stop_on_signals()?;
    let test = arguments.pacing.bench.test(load(&arguments.file, &arguments.set, output)?);
    let folder = folder(arguments.out.as_ref(), &arguments.file, "-trace");
    let (clock, rig) = (arguments.pacing.clock(), arguments.pacing.rig.clone());
    let options = TraceOptions { clock, rig, restart: arguments.restart };
    let traced = test.trace(&folder, &options, &stop, &mut Looker::new(output, ""))?;
    let shown = output.show(&traced, || words(&test.experiment().title, &traced));
    Ok(match traced.outcome.ended {
        Ended::Tripped(_) => Exit::Tripped,
        Ended::Stopped => Exit::Stopped,
        ended if ended.is_complete() => Exit::of_verdict(&traced.verdict, shown),
        ended if ended.is_final() => Exit::Incomplete,
        _ => Exit::Failed,
    })
}

fn words(title: &str, traced: &Traced) -> Words {
    let Traced { places, outcome: found, elapsed_s, folder, .. } = traced;
    let mut words = Words::default();
    words.line(label(title));
    words.line(format!("{} points: {}", found.points.len(), found.ended.words()));
    if let Some(why) = &found.still {
        words.line(format!("nothing moved: {why}"));
    }
    words.verdict(&traced.verdict);
    words.line("");
    let mut marks = Table::new(&["", "amplitude", "frequency [Hz]"]);
    for (place, peak) in places.iter().zip(&found.peaks) {
        let name = titled(&peak.from.label(&place.name), &place.shown_unit());
        let (amplitude, at) = (1e3 * peak.mark.amplitude_m, peak.mark.frequency_hz);
        marks.row([&name, &number(amplitude), &number(at)]);
    }
    // Folds are told at the first place.
    let unit = places.first().map_or_else(String::new, Place::shown_unit);
    for fold in &found.folds {
        let value = plus_minus(1e3 * fold.mark.amplitude_m, 1e3 * fold.interval_m);
        let at = plus_minus(fold.mark.frequency_hz, fold.interval_hz);
        let name = if fold.doubtful { "fold (doubtful)" } else { "fold" };
        marks.row([&titled(name, &unit), &value, &at]);
    }
    for fold in found.reference.iter().flat_map(|reference| &reference.folds) {
        let name = titled("fold of the model", &unit);
        marks.row([&name, &number(1e3 * fold.amplitude_m), &number(fold.frequency_hz)]);
    }
    if !marks.rows.is_empty() {
        words.table(marks);
        words.line("");
    }
    let compared = match (found.largest_difference_percent, &found.still) {
        (Some(percent), _) => Some(number(percent)),
        (None, None) => Some("no model".to_owned()),
        (None, Some(_)) => None,
    };
    let corrections = found
        .median_iterations
        .map(|median| format!("median {median}, maximum {}", found.iterations.len() - 1));
    let unsettled = Some(found.unsettled_points).filter(|count| *count > 0);
    let rows = [
        ("largest deviation from the reference [% of peak]", compared),
        ("largest bias of the simulation [% of peak]", found.largest_bias_percent.map(number)),
        (
            "unmatched harmonics [% of the load's power]",
            found.largest_unmatched_percent.filter(|percent| *percent > 0.01).map(number),
        ),
        ("corrections per point", corrections),
        ("evaluations", Some(found.evaluations.to_string())),
        ("time on the rig [min]", Some(number(found.rig_time_s / 60.0))),
        ("computing time [s]", Some(number(*elapsed_s))),
        ("points that had not settled in time", unsettled.map(|count| count.to_string())),
    ];
    let known = rows.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
    words.table(Table::new(&["", "value"]).filled(known));
    words.line(format!("written to {folder}: points.csv, record.arrow, report.html, summary.json"));
    words
}
