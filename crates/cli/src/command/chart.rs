//! `twinrig chart`: stable or not, over any two numbers of the file.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use twinrig::chart::{Chart, Depth, End, Model, Options, Refinement, Verdict};
use twinrig::page::text::label;
use twinrig::words::{counted, number};

use super::error::CliError;
use super::file::{OtherValues, folder, read};
use super::onlooker::Looker;
use super::output::{Exit, Output, written};
use super::records::line;

/// What `twinrig chart` is told.
#[derive(Debug, Args)]
pub(super) struct ChartArguments {
    /// Experiment file (TOML).
    file: PathBuf,
    #[command(flatten)]
    set: OtherValues,
    /// The number along x and its range, such as transfer_system.delay="0..4 ms".
    #[arg(long, value_name = "PATH=a..b")]
    x: String,
    /// The number along y and its range, such as partition.mass[1]="0..60 %".
    #[arg(long, value_name = "PATH=c..d")]
    y: String,
    /// Points along x and y.
    #[arg(long, value_name = "NxM", default_value = "200x200", value_parser = grid_size)]
    grid: [usize; 2],
    /// Compute every point, not only those along boundaries. What is smaller than eight points
    /// may be missed without it.
    #[arg(long)]
    full: bool,
    /// Compute and colour how fast the motion grows or decays, at every point.
    #[arg(long)]
    growth: bool,
    /// Judge the loop as it runs (sampled, the force held) even where it is a pure delay.
    #[arg(long)]
    sampled: bool,
    /// Compare the methods with each other and say how far they differ.
    #[arg(long)]
    cross_check: bool,
    /// Threads [default: one per core]. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Folder for chart.svg, chart.html, points.csv, boundary.csv and summary.json
    /// [default: runs/NAME-chart].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Most points of a chart.
const MOST_POINTS: usize = 4_000_000;

fn grid_size(text: &str) -> Result<[usize; 2], String> {
    let wrong = || format!("\"{text}\" is not a size such as 200x200");
    let (columns, rows) = text.split_once(['x', 'X', '×']).ok_or_else(wrong)?;
    let size = [columns, rows].map(|count| count.trim().parse::<usize>());
    let [Ok(columns), Ok(rows)] = size else { return Err(wrong()) };
    if columns < 2 || rows < 2 || columns.saturating_mul(rows) > MOST_POINTS {
        return Err(format!("from 2x2 to {MOST_POINTS} points in all"));
    }
    Ok([columns, rows])
}

pub(super) fn chart(arguments: &ChartArguments, output: Output) -> Result<Exit, CliError> {
    let test = read(&arguments.file, &arguments.set, output)?;
    let options = Options {
        size: arguments.grid,
        refinement: if arguments.full { Refinement::Full } else { Refinement::AlongBoundaries },
        depth: if arguments.growth { Depth::Growth } else { Depth::Verdict },
        model: arguments.sampled.then_some(Model::Loop),
        threads: arguments.threads.map(usize::from),
        cross_check: arguments.cross_check,
    };
    let axes = [arguments.x.as_str(), arguments.y.as_str()];
    let chart = test.chart(axes, &options, &mut Looker::new(output, "points"))?;
    let folder = folder(arguments.out.as_ref(), &arguments.file, "-chart");
    let files = chart.write(&folder)?;
    let folder = folder.display().to_string();
    let mut document = chart.summary();
    document["folder"] = json!(folder);
    Ok(output.show(&document, || line(words(&chart) + &written(&folder, &files))))
}

fn words(chart: &Chart) -> String {
    let axes = chart.judge.axes();
    let shown = |axis: usize, value: f64| {
        let axis = &axes[axis];
        format!("{} {}", number(axis.shown(value)), axis.unit).trim_end().to_owned()
    };
    let mut text = format!("{}\n", label(&chart.judge.experiment().title));
    for (index, axis) in axes.iter().enumerate() {
        text += &format!(
            "{}: {} from {} to {}\n",
            ["x", "y"][index],
            axis.target.path,
            shown(index, axis.low),
            shown(index, axis.high)
        );
    }
    text += &format!("{}\n\n", chart.model_words());
    match &chart.declared {
        None => text += "the declared experiment is not on this chart\n",
        Some((place, judged)) => {
            text += &format!(
                "declared: {} and {}: {}\n",
                shown(0, place[0]),
                shown(1, place[1]),
                match judged.verdict {
                    Verdict::Unstable => "UNSTABLE",
                    verdict => verdict.word(),
                }
            );
            for index in 0..2 {
                for (side, end) in ["below", "above"].into_iter().zip(chart.room(index)) {
                    let (what, at) = match end {
                        None => continue,
                        Some(End::Changes(at)) => ("changes", at),
                        Some(End::Unjudged(at)) => ("cannot be judged", at),
                    };
                    let name = &axes[index].target.path;
                    text += &format!("  {what} with {name} {side} {}\n", shown(index, at));
                }
            }
        }
    }
    let unknown = chart.grid.points.iter().filter(|p| p.verdict == Verdict::Unknown).count();
    let of = if unknown > 0 { "what could be judged" } else { "the chart" };
    text += &format!("{} % of {of} is stable\n", number(100.0 * chart.grid.stable_share()));
    if let Some(reason) = chart.judge.trouble().filter(|_| unknown > 0) {
        let (points, first) = (counted(unknown, "point"), reason.lines().next());
        let first = first.unwrap_or_default();
        text += &format!("{points} could not be judged, the first because: {first}\n");
    }
    for line in chart.cross_check.iter().flatten() {
        text += &format!("{line}\n");
    }
    let [columns, rows] = chart.grid.size;
    text += &format!(
        "{columns} × {rows} points, {} computed in {} s: {} per second and thread\n",
        chart.grid.computed_count(),
        number(chart.elapsed.as_secs_f64()),
        number(chart.pace())
    );
    text
}
