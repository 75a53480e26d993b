//! `twinrig chart`: stable or not, over any two numbers of the file.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use twinrig::chart::{Chart, Depth, Model, Options, Refinement, Verdict};
use twinrig::page::KeyNumber;
use twinrig::page::text::label;
use twinrig::words::{Words, number};

use super::error::CliError;
use super::file::{OtherValues, folder, read};
use super::onlooker::Looker;
use super::output::{Exit, Output, written};

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
    let shown = output.show(&document, || {
        let mut words = words(&chart);
        words.line(written(&folder, &files));
        words
    });
    Ok(Exit::of_verdict(&chart.verdict, shown))
}

fn words(chart: &Chart) -> Words {
    let (axes, grid) = (chart.judge.axes(), &chart.grid);
    let mut words = Words::from(label(&chart.judge.experiment().title));
    words.verdict(&chart.verdict);
    for (name, axis) in ["x", "y"].into_iter().zip(axes) {
        words.line(format!("{name}: {}, {}", axis.target.path, axis.ends()));
    }
    words.line(format!("{}\n", chart.model_words()));
    if let Some((_, judged)) = &chart.declared {
        words.line(match judged.verdict {
            Verdict::Unstable => "the declared experiment: UNSTABLE".to_owned(),
            verdict => format!("the declared experiment: {}", verdict.word()),
        });
    }
    for (axis, KeyNumber { value, limit, .. }) in axes.iter().zip(chart.numbers()) {
        words.line(format!("  {}: {limit}; declared {value}", axis.target.path));
    }
    let unknown = grid.count(Verdict::Unknown);
    let of = if unknown > 0 { "what could be judged" } else { "the chart" };
    words.line(format!("{} % of {of} is stable", number(100.0 * grid.stable_share())));
    chart.cross_check.iter().flatten().for_each(|line| words.line(line));
    let [columns, rows] = grid.size;
    words.line(format!(
        "{columns} × {rows} points, {} computed in {} s: {} per second and thread",
        grid.computed_count(),
        number(chart.elapsed.as_secs_f64()),
        number(chart.pace())
    ));
    words
}
