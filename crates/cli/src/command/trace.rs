//! `twinrig trace`: the frequency response of a structure by iteration.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use analysis::iterative::{Trace, TracePoint, Trial};
use clap::Args;
use numerics::random::fnv1a;
use runtime::realtime::Driver;
use serde_json::json;

use super::output::{Exit, Output, cannot_write, number, print, table, write_whole};
use super::rehearse::{Clock, Loaded, OtherValues, Wire, load, reach, test_name};
use super::signals::stop_on_signals;
use experiment::{Experiment, Source};
use twinrig::iterative::{
    Bench, Branch, Ended, Line, News, Outcome, Pace, Place, Setup, SetupError, follow, from_line,
    record_trials, to_line,
};
use twinrig::journal::{Journal, Kind, Opening};
use twinrig::page::text::{label, plus_minus};
use twinrig::trace_frames::{finish_frames, record_frames};
use twinrig::{realtime, rehearsal};

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
    /// Run against the clock. Ctrl-C stops the test: hold, then ramp to zero; the same command
    /// goes on later.
    #[arg(long)]
    realtime: bool,
    /// Laboratory to drive, host and port, instead of [rig] address; `virtual` for a rig in this
    /// process.
    #[arg(long, value_name = "ADDRESS")]
    rig: Option<String>,
}

const KIND: Kind = Kind { magic: "twinrig-trace-1 ", what: "trace" };

pub(super) fn trace(arguments: &TraceArguments, output: Output) -> Exit {
    let mut loaded = match load(&arguments.file, &arguments.set, output) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let clock = if arguments.realtime { Clock::Real } else { Clock::Virtual };
    if let Err(exit) = reach(&mut loaded, clock, Wire::Open, arguments.rig.clone(), output) {
        return exit;
    }
    let setup = match Setup::new(&loaded.experiment, &loaded.assembly) {
        Ok(setup) => setup,
        Err(error) => {
            output.fail(format!("{}: {error}", arguments.file.display()));
            return Exit::BadExperiment;
        }
    };
    let folder = arguments.out.clone().unwrap_or_else(|| {
        let mut name = test_name(&arguments.file).to_owned();
        name.push("-trace");
        Path::new("runs").join(name)
    });
    if let Err(error) = fs::create_dir_all(&folder) {
        return output.fail(cannot_write(&folder, &error));
    }
    let opening = if arguments.restart { Opening::Restart } else { Opening::Resume };
    let fingerprint = match fingerprint(&loaded.experiment, &loaded.folder) {
        Ok(fingerprint) => fingerprint,
        Err(error) => return output.fail(error),
    };
    let opened =
        Journal::open(&folder.join("trace.journal"), KIND, fingerprint, opening, from_line);
    let (mut journal, lines) = match opened {
        Ok(opened) => opened,
        Err(error) => return output.fail(error),
    };
    if let Some(damage) = journal.damage() {
        eprintln!("warning: {damage}");
    }
    let mut kept = Kept::from_lines(lines);
    let resumed = kept.points.len();
    let begun = Instant::now();
    let part = run(arguments, &loaded, &setup, &folder, &mut journal, &mut kept, output);
    let ended = match part {
        Ok(ended) => ended,
        Err(exit) => return exit,
    };
    let elapsed_s = begun.elapsed().as_secs_f64();
    finish(&loaded, &setup, &folder, &kept, ended, resumed, elapsed_s, output)
}

/// What there is so far.
#[derive(Default)]
struct Kept {
    trials: Vec<Trial>,
    points: Vec<TracePoint>,
    end: Option<String>,
}

impl Kept {
    fn from_lines(lines: Vec<Line>) -> Self {
        let mut kept = Self::default();
        for line in lines {
            match line {
                Line::Trial(trial) => kept.trials.push(trial),
                Line::Point(point) => kept.points.push(*point),
                Line::End(word) => kept.end = Some(word),
            }
        }
        kept
    }
}

/// What the points belong to: a change of the file, its inputs or the version
/// is another trace.
fn fingerprint(experiment: &Experiment, source: &dyn Source) -> Result<u64, String> {
    let mut content = format!("{}\n{}", env!("CARGO_PKG_VERSION"), experiment.text()).into_bytes();
    for name in experiment.files() {
        let bytes = source.read(name).map_err(|error| format!("\"{name}\": {error}"))?;
        content.extend_from_slice(&fnv1a(&bytes).to_le_bytes());
    }
    Ok(fnv1a(&content))
}

/// Follows the response from where it stands.
fn run(
    arguments: &TraceArguments,
    loaded: &Loaded,
    setup: &Setup<'_>,
    folder: &Path,
    journal: &mut Journal,
    kept: &mut Kept,
    output: Output,
) -> Result<(Ended, Vec<numerics::continuation::Fold>), Exit> {
    let periodic = setup.periodic().map_err(|error| {
        let failed = output.fail(format!("{}: {error}", arguments.file.display()));
        // What cannot be set up is wrong in the file; a laboratory may be away.
        if matches!(error, SetupError::Link(_)) { failed } else { Exit::BadExperiment }
    })?;
    let stop = stop_on_signals(output)?;
    let attended = stop.attend();
    // In real time what the rig did cannot be had again: it is recorded.
    let (periodic, frames) = match arguments.realtime && kept.end.is_none() {
        true => record_frames(setup, &loaded.folder, folder, periodic)
            .map(|(periodic, frames)| (periodic, Some(frames)))
            .map_err(|error| output.fail(error))?,
        false => (periodic, None),
    };
    let pace = match arguments.realtime {
        true => Pace::Real(realtime::plan(setup.experiment())),
        false => Pace::Virtual,
    };
    let progress = output.spinner();
    let (shown, say) = (progress.clone(), output == Output::People && progress.is_hidden());
    let asked = Box::new(move |hz: f64| shown.set_message(format!("trying {hz:.4} Hz")));
    let bench = Bench::start(periodic, &pace, &stop, asked);
    let bench = bench.map_err(|error| output.fail(error))?;
    let granted = bench.granted().cloned().unwrap_or_default();
    if output == Output::People {
        granted.notices.iter().for_each(|notice| eprintln!("notice: {notice}"));
        if !kept.points.is_empty() {
            eprintln!("going on behind {} points that are done", kept.points.len());
        }
    }
    let places = Place::all(setup);
    let mut traced = Trace::new(bench, setup.trace(), kept.points.clone());
    let outcome = match &kept.end {
        Some(word) => Ok(Ended::from_word(word)),
        None => follow(&mut traced, |news| -> Result<(), twinrig::journal::JournalError> {
            match news {
                News::Trial(_, trial) => {
                    journal.append(&to_line(&Line::Trial(trial.clone())))?;
                    kept.trials.push(trial.clone());
                }
                News::Point(point) => {
                    journal.append(&to_line(&Line::Point(Box::new(point.clone()))))?;
                    journal.sync()?;
                    kept.points.push(point.clone());
                    let words = told(kept.points.len(), point, &places);
                    if say { eprintln!("{words}") } else { progress.println(words) }
                }
            }
            Ok(())
        }),
    };
    let folds = traced.folds();
    progress.finish_and_clear();
    // Whatever happened, the rig is brought to rest first.
    let rested = traced.into_experiment().finish();
    drop(attended);
    let ended = outcome.map_err(|error| output.fail(error))?;
    let rested = rested.map_err(|error| output.fail(error))?;
    if output == Output::People {
        if let Some(link) = rested.test.link() {
            eprintln!("link: {}", link.words());
        }
        if let Some(timing) = &rested.timing {
            eprintln!(
                "real time: wake-up p99 {} µs, {} overruns, {} periods missed",
                number(1e-3 * timing.wake_up.quantile_ns(0.99) as f64),
                timing.overruns.count,
                timing.overruns.missed
            );
        }
    }
    if let Some(frames) = frames {
        let plan = realtime::plan(setup.experiment());
        let timing = rested.timing.map(|timing| Driver::note(&plan, &granted, &timing));
        finish_frames(frames, *rested.test, timing).map_err(|error| output.fail(error))?;
    }
    if ended.is_final() && kept.end.is_none() {
        journal.append(&to_line(&Line::End(ended.word().into()))).map_err(|e| output.fail(e))?;
        journal.sync().map_err(|error| output.fail(error))?;
    }
    Ok((ended, folds))
}

/// A point in one line.
fn told(index: usize, point: &TracePoint, places: &[Place]) -> String {
    let amplitudes: Vec<String> = point
        .interval_m
        .iter()
        .zip(places)
        .enumerate()
        .map(|(dof, (interval, place))| {
            let (amplitude, unit) = (number(1e3 * point.amplitude_m(dof)), place.shown_unit());
            if interval.is_finite() {
                format!("{amplitude} ± {} {unit}", number(1e3 * interval))
            } else {
                format!("{amplitude} {unit}")
            }
        })
        .collect();
    format!(
        "{index:4}  {:9.4} Hz  {}  {} corrections, {} s on the rig",
        point.frequency_hz,
        amplitudes.join(", "),
        point.point.iterations,
        number(point.rig_time_s)
    )
}

#[expect(clippy::too_many_arguments, reason = "everything that is told at the end")]
fn finish(
    loaded: &Loaded,
    setup: &Setup<'_>,
    folder: &Path,
    kept: &Kept,
    (ended, folds): (Ended, Vec<numerics::continuation::Fold>),
    resumed: usize,
    elapsed_s: f64,
    output: Output,
) -> Exit {
    let Loaded { experiment, assembly, folder: source, .. } = loaded;
    let places = Place::all(setup);
    let reference = Branch::of(setup, &kept.points);
    let found = Outcome::new(setup, &kept.points, &kept.trials, &folds, reference, ended);
    let mut document = found.json(&places);
    document["title"] = json!(experiment.title);
    document["reason"] = json!(ended.words());
    let record = folder.join("record.arrow");
    let header = match rehearsal::header(experiment, source, assembly) {
        Ok(header) => header,
        Err(error) => return output.fail(error),
    };
    let harmonics = setup.spec().harmonics;
    if let Err(error) = record_trials(&record, header, &places, harmonics, &kept.trials) {
        return output.fail(error);
    }
    let html = twinrig::iterative::page::page(setup, &places, &kept.points, &found).html();
    let files = [
        ("points.csv", found.csv(&places)),
        ("summary.json", format!("{document:#}\n")),
        ("report.html", html),
    ];
    for (name, text) in files {
        if let Err(error) = write_whole(&folder.join(name), &text) {
            return output.fail(cannot_write(&folder.join(name), &error));
        }
    }
    let shown = match output {
        Output::Json => output.document(&json!({
            "folder": folder.display().to_string(),
            "resumed_points": resumed,
            "elapsed_s": elapsed_s,
            "summary": document,
        })),
        Output::People => print(&words(experiment, &places, &found, folder, elapsed_s)),
    };
    match ended {
        Ended::Tripped(_) => Exit::Tripped,
        Ended::Stopped => Exit::Stopped,
        ended if ended.is_complete() => shown,
        ended if ended.is_final() => Exit::Incomplete,
        _ => Exit::Failed,
    }
}

fn words(
    experiment: &Experiment,
    places: &[Place],
    found: &Outcome,
    folder: &Path,
    elapsed_s: f64,
) -> String {
    let mut text = format!(
        "{}\n{} points: {}\n\n",
        label(&experiment.title),
        found.rows.len(),
        found.ended.words()
    );
    if let Some(why) = &found.still {
        text.insert_str(text.len() - 1, &format!("nothing moved: {why}\n"));
    }
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
    add("time it took", format!("{} s", number(elapsed_s)));
    if found.unsettled() > 0 {
        add("points that had not settled in time", found.unsettled().to_string());
    }
    text.push_str(&table(&["", "value", "at"], &rows));
    text.push_str(&format!(
        "written to {}: points.csv, record.arrow, report.html, summary.json\n",
        folder.display()
    ));
    text
}
