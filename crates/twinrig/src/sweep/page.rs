//! The page of a sweep.

use numerics::distribution::{Distribution, Truncation};

use super::{Row, Study, Summary, VariantStatus};
use crate::page::text::{
    count, counted, label, number, number_or_dash, prefixed, quantity, seconds,
};
use crate::page::{Axis, Block, Figure, KeyNumber, Page, Pane, Point, Role, Section, Series};
use crate::page::{Symbol, Table, Verdict, Width};
use crate::words::titled;
use experiment::sweep::{SensorNoise, Spread, Variation};

/// Variants whose points the page carries; the tables count them all.
const POINTS: usize = 2000;
/// The longest list of variants that did not come to their end.
const SHOWN_ROWS: usize = 100;
/// Standard deviations on either side of an interval of 95 %.
const BOUND: f64 = 1.96;

/// The page: summary, distributions, and every parameter against any criterion.
pub fn page(study: &Study, summary: &Summary) -> Page {
    let experiment = study.experiment();
    let mut distributions = vec![Block::Text(
        "Share of the variants that ran to their end and stay below a value. Point at one to see \
         its number."
            .to_owned(),
    )];
    let step = summary.rows.len().div_ceil(POINTS).max(1);
    if step > 1 {
        let words = format!("The figures show every {step}th variant; the tables count them all.");
        distributions.push(Block::Text(words));
    }
    let metrics = 0..summary.columns.metrics.len();
    distributions
        .extend(metrics.filter_map(|metric| distribution(summary, metric, step)).map(Block::from));
    let parameters = if study.spec().vary.is_empty() {
        vec![Block::Text("Nothing varies but the sensor noise.".to_owned())]
    } else {
        vec![parameters(study).into(), sensitivity(summary).into(), scatters(summary, step)]
    };
    Page {
        kind: "Robustness study",
        title: experiment.title.clone(),
        verdict: verdict(summary),
        facts: facts(study, summary),
        sections: vec![
            Section::new("Results", results(study, summary)),
            Section::new("Distributions", distributions),
            Section::new("Parameters", parameters),
            Section::provenance(experiment.name(), experiment.text()),
        ],
    }
}

fn verdict(summary: &Summary) -> Verdict {
    let [completed, tripped, failed] = VariantStatus::ALL.map(|outcome| summary.count(outcome));
    let unstable = summary.unstable();
    let ended = match (unstable, tripped + failed) {
        (0, 0) => "every variant completed",
        (0, _) => "not every variant completed",
        _ => "some variants are unstable",
    };
    let sentence = format!(
        "Of {}, {completed} ran to their end, {tripped} tripped, {failed} could not be built; \
         {unstable} are unstable.",
        counted(summary.rows.len() as u64, "variant")
    );
    let mut numbers = Vec::new();
    let built = completed + tripped;
    for (name, found) in
        [("Probability of a trip", tripped), ("Probability of instability", unstable)]
    {
        if let Some([low, high]) = interval(found, built) {
            let share = format!("{} %", number(100.0 * found as f64 / built as f64));
            let bounds = format!("{low:.1} to {high:.1} % with 95 % confidence");
            numbers.push(KeyNumber::new(name, share, bounds));
        }
    }
    let error =
        summary.statistics.iter().find(|statistics| statistics.metric.id.starts_with("NRMSE"));
    if let Some(found) = error.and_then(|statistics| statistics.numbers.as_ref()) {
        let (median, p95) = (number(found.median), number(found.p95));
        numbers.push(KeyNumber::new(
            "Median NRMSE",
            format!("{median} %"),
            format!("95 % below {p95} %"),
        ));
    }
    Verdict::of(&summary.verdict(), ended, &[sentence], numbers)
}

/// Wilson's interval of 95 % for a probability, in per cent.
fn interval(found: usize, of: usize) -> Option<[f64; 2]> {
    let (n, p, z) = (of as f64, found as f64 / of as f64, BOUND);
    let spread = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    (of > 0).then(|| [middle - spread, middle + spread].map(|x| 100.0 * x.clamp(0.0, 1.0)))
}

fn facts(study: &Study, summary: &Summary) -> Vec<(String, String)> {
    let (experiment, spec) = (study.experiment(), study.spec());
    let noise = match spec.sensor_noise {
        SensorNoise::Fresh => "fresh with every draw",
        SensorNoise::Same => "the same in every variant",
    };
    let facts = [
        ("Experiment", label(experiment.name())),
        ("Variants", count(summary.rows.len() as u64)),
        ("Draws", count(spec.runs)),
        ("Grid points", count(spec.combinations())),
        ("Seed of the draws", spec.seed.to_string()),
        ("Sensor noise", noise.to_owned()),
        ("Duration", seconds(experiment.duration_s)),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

fn results(study: &Study, summary: &Summary) -> Vec<Block> {
    let header = ["", "Criterion", "Unit", "Mean", "SD", "Min", "Median", "95 %", "Max", "Max in"];
    let rows = summary.statistics.iter().map(|statistics| {
        let metric = &statistics.metric;
        let (unit, cells) = statistics.cells();
        [label(&metric.id), label(&metric.quantity), unit].into_iter().chain(cells)
    });
    let table = Table::new(&header).titled("Variants that ran to their end").filled(rows);
    let mut blocks = vec![table.into()];
    blocks.extend(summary.notes().into_iter().map(|note| Block::Text(label(&note))));
    blocks.extend(worst(study, summary).into_iter().flatten());
    blocks.extend(stopped(summary));
    blocks
}

/// The variant to look at first.
fn worst(study: &Study, summary: &Summary) -> Option<[Block; 2]> {
    let row = summary.worst()?;
    let values = summary.columns.parameters.iter().zip(&row.variant.values);
    let values = values.map(|((path, unit), value)| format!("{path} = {}", quantity(*value, unit)));
    let words = format!(
        "The variant to look at first is {} (seed {}): {}. Alone and with its full record:",
        row.variant.index,
        row.variant.seed,
        values.collect::<Vec<_>>().join(", ")
    );
    Some([Block::Text(words), Block::Code(label(&study.hint(row.variant.index)))])
}

/// Variants that did not come to their end, and why.
fn stopped(summary: &Summary) -> Option<Block> {
    let is_stopped =
        |row: &&Row| row.outcome != VariantStatus::Completed || row.stable == Some(false);
    let rows: Vec<&Row> = summary.rows.iter().filter(is_stopped).collect();
    if rows.is_empty() {
        return None;
    }
    let cells = rows.iter().take(SHOWN_ROWS).map(|row| {
        let time =
            row.trip.as_ref().map_or_else(|| "–".to_owned(), |trip| format!("{:.3}", trip.time_s));
        let unstable = if row.stable == Some(false) { ", unstable" } else { "" };
        let outcome = format!("{}{unstable}", row.outcome.word());
        let (index, seed) = (row.variant.index.to_string(), row.variant.seed.to_string());
        let found = row.verdict.reasons.first().map_or(&row.reason, |reason| &reason.text);
        [index, seed, outcome, time, label(found)]
    });
    let header = ["Variant", "Seed", "Outcome", "Time [s]", "Reason"];
    let mut inner = vec![Table::new(&header).filled(cells).into()];
    if rows.len() > SHOWN_ROWS {
        inner.push(Block::Text(format!("The first {SHOWN_ROWS}.")));
    }
    let what = counted(rows.len() as u64, "variant");
    Some(Block::Details(format!("{what} that tripped, failed or are unstable"), inner))
}

/// The states of variants, each with its look; a trip ends the count of its errors early.
const STATES: [(State, Role, Symbol, &str); 3] = [
    (State::Completed, Role::Other(0), Symbol::Circle, "completed"),
    (State::Tripped, Role::Command, Symbol::Diamond, "tripped (until its trip)"),
    (State::Unstable, Role::Measured, Symbol::Cross, "unstable"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Completed,
    Tripped,
    Unstable,
    Failed,
}

fn state(row: &Row) -> State {
    match (row.outcome, row.stable) {
        (_, Some(false)) => State::Unstable,
        (VariantStatus::Completed, _) => State::Completed,
        (VariantStatus::Tripped, _) => State::Tripped,
        (VariantStatus::Failed, _) => State::Failed,
    }
}

/// The cumulative distribution of a criterion over the variants that completed.
fn distribution(summary: &Summary, metric: usize, step: usize) -> Option<Figure> {
    let column = &summary.columns.metrics[metric];
    let completed = summary.rows.iter().filter(|row| state(row) == State::Completed);
    let mut values: Vec<(f64, u64)> =
        completed.filter_map(|row| Some((row.metrics[metric]?, row.variant.index))).collect();
    values.retain(|(value, _)| value.is_finite());
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = values.last()?.0;
    let (unit, scale) = prefixed(&column.unit, last.abs().max(values[0].0.abs()));
    let share = |rank: usize| 100.0 * (rank as f64 + 0.5) / values.len() as f64;
    let points = values.iter().enumerate().step_by(step).map(|(rank, (value, index))| Point {
        label: format!("variant {index}"),
        ..Point::from((scale * value, share(rank)))
    });
    let (role, symbol, points) = (Role::Other(0), Symbol::Circle, points.collect());
    let x = Axis::new(titled(&column.id, &unit));
    let pane = Pane::new(x, Axis::new("Variants below [%]").range(0.0, 100.0))
        .high(220.0)
        .with(Series::Points { role, name: String::new(), symbol, points });
    Some(Figure::new(label(&column.id), label(&column.quantity), vec![pane]).width(Width::Third))
}

/// Every parameter against a criterion of the reader's choice.
fn scatters(summary: &Summary, step: usize) -> Block {
    let metrics = &summary.columns.metrics;
    let options = metrics.iter().enumerate().map(|(at, metric)| {
        let figures = 0..summary.columns.parameters.len();
        let figures = figures.map(|parameter| scatter(summary, at, parameter, step).into());
        (format!("{}: {}", metric.id, metric.quantity), figures.collect())
    });
    let first = metrics.iter().position(|metric| metric.id == "NRMSE").unwrap_or(0);
    Block::Choice("Against the parameters:".to_owned(), first, options.collect())
}

fn scatter(summary: &Summary, metric: usize, parameter: usize, step: usize) -> Figure {
    let column = &summary.columns.metrics[metric];
    let (path, unit) = &summary.columns.parameters[parameter];
    let largest = |of: &dyn Fn(&Row) -> Option<f64>| {
        let values = summary.rows.iter().filter_map(of).filter(|value| value.is_finite());
        values.fold(0.0, |most: f64, value| most.max(value.abs()))
    };
    let (x_unit, x_scale) = prefixed(unit, largest(&|row| row.variant.values[parameter]));
    let (y_unit, y_scale) = prefixed(&column.unit, largest(&|row| row.metrics[metric]));
    let x = Axis::new(titled(path, &x_unit));
    let mut pane = Pane::new(x, Axis::new(titled(&column.id, &y_unit))).high(300.0);
    for (wanted, role, symbol, name) in STATES {
        let rows = summary.rows.iter().step_by(step).filter(|row| state(row) == wanted);
        let points: Vec<Point> = rows
            .filter_map(|row| {
                let at = (x_scale * row.variant.values[parameter]?, y_scale * row.metrics[metric]?);
                Some(Point { label: format!("variant {}", row.variant.index), ..Point::from(at) })
            })
            .collect();
        if !points.is_empty() {
            pane = pane.with(Series::Points { role, name: name.to_owned(), symbol, points });
        }
    }
    Figure::new(label(path), "", vec![pane]).width(Width::Half)
}

/// Which parameter matters most: rank correlations with every criterion, the largest first.
fn sensitivity(summary: &Summary) -> Table {
    let completed: Vec<&Row> =
        summary.rows.iter().filter(|row| state(row) == State::Completed).collect();
    let mut rows: Vec<(f64, [String; 3])> = Vec::new();
    for (at, metric) in summary.columns.metrics.iter().enumerate() {
        for (parameter, (path, _)) in summary.columns.parameters.iter().enumerate() {
            let pairs = completed.iter().filter_map(|row| {
                let pair = (row.variant.values[parameter]?, row.metrics[at]?);
                (pair.0.is_finite() && pair.1.is_finite()).then_some(pair)
            });
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
            if let Some(found) = rank_correlation(&x, &y) {
                rows.push((found.abs(), [metric.id.clone(), path.clone(), format!("{found:+.2}")]));
            }
        }
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let header = ["Criterion", "Parameter", "Rank correlation [–]"];
    let rows = rows.into_iter().take(12).map(|(_, row)| row);
    Table::new(&header).titled("What matters most").filled(rows)
}

/// Spearman's coefficient: the correlation of the ranks, equal values sharing theirs.
/// `None` for fewer than eight pairs, or where nothing varies.
fn rank_correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() < 8 {
        return None;
    }
    let ranks = |values: &[f64]| -> Vec<f64> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = |value: &f64| {
            let below = sorted.partition_point(|other| other < value);
            let up_to = sorted.partition_point(|other| other <= value);
            0.5 * (below + up_to) as f64 - 0.5 * values.len() as f64
        };
        values.iter().map(rank).collect()
    };
    let (x, y) = (ranks(x), ranks(y));
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let size = (sum(&x, &x) * sum(&y, &y)).sqrt();
    (size > 0.0).then(|| sum(&x, &y) / size)
}

fn parameters(study: &Study) -> Table {
    let rows = study.spec().vary.iter().map(|Variation { target, spread }| {
        let (unit, scale) = prefixed(target.measure.unit(), target.declared.unwrap_or(0.0).abs());
        let declared = number_or_dash(target.declared.map(|value| scale * value));
        [target.path.clone(), declared, unit, words(spread, scale)]
    });
    Table::new(&["Parameter", "Declared", "Unit", "Varies"]).filled(rows)
}

fn words(spread: &Spread, scale: f64) -> String {
    let shown = |value: f64| number(scale * value);
    let cut = |range: &Truncation| match (range.min.is_finite(), range.max.is_finite()) {
        (true, true) => format!(", from {} to {}", shown(range.min), shown(range.max)),
        (true, false) => format!(", at least {}", shown(range.min)),
        (false, true) => format!(", at most {}", shown(range.max)),
        (false, false) => String::new(),
    };
    match spread {
        Spread::Random(Distribution::Normal { mean, deviation, range }) => {
            format!("normal, mean {}, sd {}{}", shown(*mean), shown(*deviation), cut(range))
        }
        Spread::Random(Distribution::LogNormal { median, dispersion, range }) => format!(
            "log-normal, median {}, dispersion {}{}",
            shown(*median),
            number(*dispersion),
            cut(range)
        ),
        Spread::Random(Distribution::Uniform { low, high }) => {
            format!("uniform from {} to {}", shown(*low), shown(*high))
        }
        Spread::Random(Distribution::Triangular { low, mode, high }) => {
            format!("triangular, {} – {} – {}", shown(*low), shown(*mode), shown(*high))
        }
        Spread::Grid(values) => {
            let listed: Vec<String> = values.iter().take(8).map(|value| shown(*value)).collect();
            let more = if values.len() > 8 { ", …" } else { "" };
            format!("values {}{more}", listed.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_has_its_interval() {
        // Brown, Cai and DasGupta 2001: none of 20 leaves room up to 16.1 %.
        let [low, high] = interval(0, 20).unwrap();
        assert!(low < 1e-9 && (high - 16.1).abs() < 0.05, "{high}");
        assert_eq!(interval(0, 0), None);
    }

    #[test]
    fn ranks_see_what_rises_whatever_its_shape() {
        let x: Vec<f64> = (0..20).map(f64::from).collect();
        let of = |f: fn(&f64) -> f64| rank_correlation(&x, &x.iter().map(f).collect::<Vec<_>>());
        assert!((of(|x| x.exp()).unwrap() - 1.0).abs() < 1e-12);
        assert!((of(|x| -x.powi(3)).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(of(|_| 3.0), None);
        assert!(of(|x| x % 2.0).unwrap().abs() < 0.2);
        assert_eq!(rank_correlation(&x[..5], &x[..5]), None);
    }
}
