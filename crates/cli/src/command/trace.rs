//! `twinrig trace`: the frequency response of a structure by iteration.

use std::path::PathBuf;

use clap::Args;
use twinrig::iterative::{Ended, Place, TraceOptions, Traced};
use twinrig::page::text::{label, plus_minus};
use twinrig::table::Table;
use twinrig::words::{Words, number};

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
    let test = load(&arguments.file, &arguments.set, output)?;
    let folder = folder(arguments.out.as_ref(), &arguments.file, "-trace");
    let (clock, rig) = (arguments.pacing.clock(), arguments.pacing.rig.clone());
    let options = TraceOptions { clock, rig, restart: arguments.restart };
    let stop = stop_on_signals()?;
    let traced = test.trace(&folder, &options, &stop, &mut Looker::new(output, ""))?;
    let shown = output.show(&traced, || words(&test.experiment().title, &traced));
    Ok(match traced.outcome.ended {
        Ended::Tripped(_) => Exit::Tripped,
        Ended::Stopped => Exit::Stopped,
        ended if ended.is_complete() => shown,
        ended if ended.is_final() => Exit::Incomplete,
        _ => Exit::Failed,
    })
}

fn words(title: &str, traced: &Traced) -> Words {
    let Traced { places, outcome: found, elapsed_s, folder, .. } = traced;
    let mut words = Words::default();
    words.line(label(title));
    words.line(format!("{} points: {}", found.rows.len(), found.ended.words()));
    if let Some(why) = &found.still {
        words.line(format!("nothing moved: {why}"));
    }
    words.line("");
    let mut rows = Vec::new();
    for (place, peak) in places.iter().zip(&found.peaks) {
        let value = format!("{} {}", number(1e3 * peak.mark.amplitude_m), place.shown_unit());
        let at = format!("{:.4} Hz", peak.mark.frequency_hz);
        rows.push(vec![peak.from.label(&place.name), value, at]);
    }
    // Folds are told at the first place.
    let unit = places.first().map_or_else(String::new, Place::shown_unit);
    for fold in &found.folds {
        let value = plus_minus(1e3 * fold.mark.amplitude_m, 1e3 * fold.interval_m);
        let at = plus_minus(fold.mark.frequency_hz, fold.interval_hz);
        rows.push(vec!["fold".into(), format!("{value} {unit}"), format!("{at} Hz")]);
    }
    for fold in found.reference.iter().flat_map(|reference| &reference.folds) {
        let value = format!("{} {unit}", number(1e3 * fold.amplitude_m));
        rows.push(vec!["fold of the model".into(), value, format!("{:.4} Hz", fold.frequency_hz)]);
    }
    let mut add = |name: &str, value: String| rows.push(vec![name.into(), value, String::new()]);
    match (found.largest_difference_percent, &found.still) {
        (Some(percent), _) => add(
            "largest difference from the whole structure's model",
            format!("{} % of peak", number(percent)),
        ),
        (None, None) => add("model of the whole structure", "none to compare with".into()),
        (None, Some(_)) => {}
    }
    if let Some(percent) = found.largest_bias_percent {
        add("largest bias of the simulation", format!("{} % of peak", number(percent)));
    }
    if let Some(median) = found.median_iterations() {
        let most = found.iterations().len() - 1;
        add("corrections per point", format!("{median} (median), {most} (most)"));
    }
    add("evaluations", found.evaluations.to_string());
    add("time on the rig", format!("{} min", number(found.rig_time_s / 60.0)));
    add("time it took", format!("{} s", number(*elapsed_s)));
    if found.unsettled() > 0 {
        add("points that had not settled in time", found.unsettled().to_string());
    }
    words.table(Table::new(&["", "value", "at"]).filled(rows));
    words.line(format!("written to {folder}: points.csv, record.arrow, report.html, summary.json"));
    words
}
