//! `twinrig chart`: stable or not, over any two numbers of the file.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::output::{Exit, Output, cannot_write, counted, number, print, write_whole};
use super::rehearse::{OtherValues, Text, read, test_name};
use twinrig::chart::{
    Chart, ChartError, CrossCheck, Depth, End, Model, NOTHING_TO_COMPARE, Options, Refinement,
    Verdict,
};
use twinrig::page::text::label;

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

pub(super) fn chart(arguments: &ChartArguments, output: Output) -> Exit {
    let chart = match compute(arguments, output) {
        Ok(chart) => chart,
        Err(exit) => return exit,
    };
    let checked = arguments.cross_check.then(|| {
        let spinner = output.spinner();
        spinner.set_message("comparing the methods");
        let checked = CrossCheck::new(&chart.judge, &chart.grid, &chart.boundaries);
        spinner.finish_and_clear();
        checked.map_or_else(|| vec![NOTHING_TO_COMPARE.to_owned()], |checked| checked.words())
    });
    let folder = arguments.out.clone().unwrap_or_else(|| {
        let mut name = test_name(&arguments.file).to_owned();
        name.push("-chart");
        Path::new("runs").join(name)
    });
    let mut summary = chart.summary();
    summary["cross_check"] = json!(checked);
    let files = [
        ("chart.svg", chart.svg()),
        ("chart.html", chart.page(checked.as_deref()).html()),
        ("points.csv", chart.points_csv()),
        ("boundary.csv", chart.boundary_csv()),
        ("summary.json", format!("{summary:#}\n")),
    ];
    if let Err(error) = fs::create_dir_all(&folder) {
        return output.fail(cannot_write(&folder, &error));
    }
    for (name, text) in files {
        let path = folder.join(name);
        if let Err(error) = write_whole(&path, &text) {
            return output.fail(cannot_write(&path, &error));
        }
    }
    match output {
        Output::Json => {
            summary["folder"] = json!(folder.display().to_string());
            output.document(&summary)
        }
        Output::People => print(&words(&chart, checked.as_deref(), &folder)),
    }
}

fn compute(arguments: &ChartArguments, output: Output) -> Result<Chart, Exit> {
    let (experiment, folder, warnings) = read(&arguments.file, &arguments.set, Text::Flat, output)?;
    output.warn(&warnings);
    let options = Options {
        size: arguments.grid,
        refinement: if arguments.full { Refinement::Full } else { Refinement::AlongBoundaries },
        depth: if arguments.growth { Depth::Growth } else { Depth::Verdict },
        model: arguments.sampled.then_some(Model::Loop),
        threads: arguments.threads.map_or_else(cores, usize::from),
    };
    let points = (options.size[0] * options.size[1]) as u64;
    let bar = output.progress(points, "points");
    let axes = [arguments.x.as_str(), arguments.y.as_str()];
    let chart =
        Chart::new(experiment, &folder, axes, &options, &|done| bar.set_position(done as u64));
    bar.finish_and_clear();
    chart.map_err(|error| match error {
        ChartError::Axis(found) => output.misused(&found),
        error @ ChartError::SameAxis { .. } => {
            output.fail(error);
            Exit::Usage
        }
        error => output.fail(error),
    })
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn words(chart: &Chart, checked: Option<&[String]>, folder: &Path) -> String {
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
    for line in checked.unwrap_or_default() {
        text += &format!("{line}\n");
    }
    let [columns, rows] = chart.grid.size;
    text += &format!(
        "{columns} × {rows} points, {} computed in {} s: {} per second and thread\n",
        chart.grid.computed_count(),
        number(chart.elapsed.as_secs_f64()),
        number(chart.pace())
    );
    text + &format!(
        "written to {}: chart.svg, chart.html, points.csv, boundary.csv, summary.json\n",
        folder.display()
    )
}
