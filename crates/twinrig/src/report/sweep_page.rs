//! The page of a sweep: one HTML file that needs nothing else.

use std::fmt::Write as _;

use numerics::distribution::{Distribution, Truncation};
use serde_json::{Value, json};

use super::page::{POLICY, library};
use super::text::{count, counted, escape, label, number, number_or_dash, script_json, seconds};
use crate::sweep::{Row, Study, Summary, VariantStatus};
use experiment::sweep::{SensorNoise, Spread, Variation};

/// Variants whose points the page carries; the table holds them all.
const POINTS: usize = 10_000;
/// The longest list of variants that did not come to their end.
const SHOWN_ROWS: usize = 100;
/// The longest experiment file shown whole, in characters.
const SHOWN_TEXT: usize = 200_000;

/// The page: summary, distributions, and every parameter against any criterion.
pub fn sweep_html(study: &Study, summary: &Summary) -> String {
    let title = escape(&label(&study.experiment().title));
    let mut page = String::new();
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} – twinrig sweep</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<p class=\"kicker\">Robustness study</p>\n<h1>{title}</h1>\n\
         <nav><a href=\"#results\">Results</a><a href=\"#distributions\">Distributions</a>\
         <a href=\"#parameters\">Parameters</a><a href=\"#experiment\">Experiment</a></nav>\n\
         </header>\n",
        include_str!("page.css"),
        include_str!("sweep.css"),
    );
    banner(&mut page, summary);
    facts(&mut page, study, summary);
    results(&mut page, summary);
    worst(&mut page, study, summary);
    stopped(&mut page, summary);
    figures(&mut page, study, summary);
    experiment(&mut page, study);
    page.push_str("</main>\n");
    page.push_str(&library());
    let _ = write!(page, "<script>\n{}</script>\n</body>\n</html>\n", include_str!("sweep.js"));
    page
}

fn banner(page: &mut String, summary: &Summary) {
    let [completed, tripped, failed] = VariantStatus::ALL.map(|outcome| summary.count(outcome));
    let unstable = summary.unstable();
    let (class, word) = match (unstable, tripped + failed) {
        (0, 0) => ("good", "Every variant completed"),
        (0, _) => ("doubtful", "Not every variant completed"),
        _ => ("bad", "Some variants are unstable"),
    };
    let _ = write!(
        page,
        "<section class=\"banner {class}\" role=\"status\">\n<h2>{word}</h2>\n<p>Of {}, {completed} \
         ran to their end, {tripped} tripped, {failed} could not be built; {unstable} became \
         unstable.</p>\n</section>\n",
        counted(summary.rows.len() as u64, "variant")
    );
}

fn facts(page: &mut String, study: &Study, summary: &Summary) {
    let (experiment, spec) = (study.experiment(), study.spec());
    let noise = match spec.sensor_noise {
        SensorNoise::Fresh => "fresh with every draw",
        SensorNoise::Same => "the same in every variant",
    };
    let rows = [
        ("Experiment", label(experiment.name())),
        ("Variants", count(summary.rows.len() as u64)),
        ("Draws", count(spec.runs)),
        ("Grid points", count(spec.combinations())),
        ("Seed of the draws", spec.seed.to_string()),
        ("Sensor noise", noise.to_owned()),
        ("Duration", seconds(experiment.duration_s)),
        ("twinrig", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    page.push_str("<dl class=\"facts\">\n");
    for (name, value) in rows {
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value));
    }
    page.push_str("</dl>\n");
}

fn results(page: &mut String, summary: &Summary) {
    page.push_str(
        "<section id=\"results\">\n<h2>Results</h2>\n<table>\n<caption>Variants that ran to their \
         end</caption>\n<thead><tr><th></th><th>What it says</th><th class=\"n\">mean</th>\
         <th class=\"n\">sd</th><th class=\"n\">min</th><th class=\"n\">median</th>\
         <th class=\"n\">95 %</th><th class=\"n\">max</th><th></th>\
         <th class=\"n\">in variant</th></tr></thead>\n<tbody>\n",
    );
    for statistics in &summary.statistics {
        let metric = &statistics.metric;
        let _ = write!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{}</td>",
            escape(&label(&metric.id)),
            escape(&label(&metric.quantity))
        );
        let n = statistics.numbers.as_ref();
        let cells = n.map(|n| [n.mean, n.sd, n.min, n.median, n.p95, n.max]);
        for at in 0..6 {
            let value = number_or_dash(cells.map(|cells| cells[at]));
            let _ = write!(page, "<td class=\"n\">{value}</td>");
        }
        let largest = n.map_or_else(|| "–".to_owned(), |n| n.largest_in.to_string());
        let _ = writeln!(
            page,
            "<td class=\"u\">{}</td><td class=\"n\">{largest}</td></tr>",
            escape(&metric.unit)
        );
    }
    page.push_str("</tbody>\n</table>\n</section>\n");
}

fn worst(page: &mut String, study: &Study, summary: &Summary) {
    let Some(row) = summary.worst.map(|at| &summary.rows[at]) else { return };
    let values = summary.columns.parameters.iter().zip(&row.variant.values);
    let values: Vec<String> = values
        .map(|((path, unit), value)| {
            format!("{path} = {} {unit}", number_or_dash(*value)).trim_end().to_owned()
        })
        .collect();
    let _ = writeln!(
        page,
        "<p class=\"notes\">The variant to look at first is {} (seed {}): {}. Alone and with its \
         full record: <code>{}</code></p>",
        row.variant.index,
        row.variant.seed,
        escape(&values.join(", ")),
        escape(&label(&study.hint(row.variant.index))),
    );
}

/// Variants that did not come to their end, and why.
fn stopped(page: &mut String, summary: &Summary) {
    let is_stopped =
        |row: &&Row| row.outcome != VariantStatus::Completed || row.stable == Some(false);
    let rows: Vec<&Row> = summary.rows.iter().filter(is_stopped).collect();
    if rows.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "<details>\n<summary>{} that tripped, failed or became unstable</summary>\n<table>\n<thead>\
         <tr><th>Variant</th><th>Seed</th><th>VariantStatus</th><th class=\"n\">at</th><th>Reason</th>\
         </tr></thead>\n<tbody>\n",
        counted(rows.len() as u64, "variant")
    );
    for row in rows.iter().take(SHOWN_ROWS) {
        let time = row.trip.as_ref().map_or_else(|| "–".to_owned(), |trip| seconds(trip.time_s));
        let unstable = if row.stable == Some(false) { ", unstable" } else { "" };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}{unstable}</td><td class=\"n\">{time}</td><td>{}</td></tr>",
            row.variant.index,
            row.variant.seed,
            row.outcome.word(),
            escape(&label(&row.reason))
        );
    }
    page.push_str("</tbody>\n</table>\n");
    if rows.len() > SHOWN_ROWS {
        let _ = writeln!(page, "<p class=\"notes\">The first {SHOWN_ROWS}.</p>");
    }
    page.push_str("</details>\n");
}

/// The plots are made in the browser from one set of numbers.
fn figures(page: &mut String, study: &Study, summary: &Summary) {
    page.push_str(
        "<section id=\"distributions\">\n<h2>Distributions</h2>\n<p class=\"notes\">Each point is a \
         variant; the box holds the middle half of those that ran to their end, the line in it is \
         the median. Point at one to see its number.</p>\n<div class=\"strips\"></div>\n</section>\n",
    );
    page.push_str("<section id=\"parameters\">\n<h2>Parameters</h2>\n");
    if study.spec().vary.is_empty() {
        page.push_str("<p class=\"notes\">Nothing varies but the sensor noise.</p>\n");
    } else {
        parameters(page, study);
        page.push_str(
            "<p class=\"choice\"><label>Against the parameters: <select id=\"metric\"></select>\
             </label></p>\n<div class=\"figures scatter\"></div>\n",
        );
    }
    page.push_str("</section>\n");
    let step = summary.rows.len().div_ceil(POINTS).max(1);
    if step > 1 {
        let _ = writeln!(
            page,
            "<p class=\"notes\">The plots show every {step}th variant; the tables count them \
             all.</p>"
        );
    }
    let _ = writeln!(
        page,
        "<script type=\"application/json\" id=\"sweep\">{}</script>",
        script_json(&data(summary, step))
    );
}

fn data(summary: &Summary, step: usize) -> Value {
    let rows: Vec<&Row> = summary.rows.iter().step_by(step).collect();
    let state = |row: &&Row| match (row.outcome, row.stable) {
        (_, Some(false)) => "unstable",
        (outcome, _) => outcome.word(),
    };
    // Five digits are finer than a screen and a third of the bytes.
    let short = |value: Option<f64>| match value {
        Some(value) if value.is_finite() => {
            format!("{value:.5e}").parse::<f64>().map_or(Value::Null, |short| json!(short))
        }
        _ => Value::Null,
    };
    let column = |values: &dyn Fn(&Row) -> Option<f64>| -> Vec<Value> {
        rows.iter().map(|row| short(values(row))).collect()
    };
    let metrics: Vec<Value> = (0..summary.columns.metrics.len())
        .map(|at| {
            let metric = &summary.columns.metrics[at];
            json!({
                "id": escape(&label(&metric.id)), "unit": metric.unit,
                "quantity": escape(&label(&metric.quantity)),
                "values": column(&|row| row.metrics[at]),
            })
        })
        .collect();
    let parameters: Vec<Value> = (0..summary.columns.parameters.len())
        .map(|at| {
            let (path, unit) = &summary.columns.parameters[at];
            json!({
                "path": escape(path), "unit": unit,
                "values": column(&|row| row.variant.values[at]),
            })
        })
        .collect();
    json!({
        "variant": rows.iter().map(|row| row.variant.index).collect::<Vec<_>>(),
        "state": rows.iter().map(state).collect::<Vec<_>>(),
        "metrics": metrics,
        "parameters": parameters,
    })
}

fn parameters(page: &mut String, study: &Study) {
    page.push_str(
        "<table>\n<thead><tr><th>Parameter</th><th class=\"n\">declared</th><th></th><th>varies\
         </th></tr></thead>\n<tbody>\n",
    );
    for Variation { target, spread } in &study.spec().vary {
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"u\">{}</td><td>{}</td></tr>",
            escape(&target.path),
            number_or_dash(target.declared),
            target.measure.unit(),
            escape(&words(spread))
        );
    }
    page.push_str("</tbody>\n</table>\n");
}

fn words(spread: &Spread) -> String {
    let cut = |range: &Truncation| match (range.min.is_finite(), range.max.is_finite()) {
        (true, true) => format!(", from {} to {}", number(range.min), number(range.max)),
        (true, false) => format!(", at least {}", number(range.min)),
        (false, true) => format!(", at most {}", number(range.max)),
        (false, false) => String::new(),
    };
    match spread {
        Spread::Random(Distribution::Normal { mean, deviation, range }) => {
            format!("normal, mean {}, sd {}{}", number(*mean), number(*deviation), cut(range))
        }
        Spread::Random(Distribution::LogNormal { median, dispersion, range }) => format!(
            "log-normal, median {}, dispersion {}{}",
            number(*median),
            number(*dispersion),
            cut(range)
        ),
        Spread::Random(Distribution::Uniform { low, high }) => {
            format!("uniform from {} to {}", number(*low), number(*high))
        }
        Spread::Random(Distribution::Triangular { low, mode, high }) => {
            format!("triangular, {} – {} – {}", number(*low), number(*mode), number(*high))
        }
        Spread::Grid(values) => {
            let shown: Vec<String> = values.iter().take(8).map(|value| number(*value)).collect();
            let more = if values.len() > 8 { ", …" } else { "" };
            format!("values {}{more}", shown.join(", "))
        }
    }
}

fn experiment(page: &mut String, study: &Study) {
    let text = study.experiment().text();
    let mut shown: String = text.chars().take(SHOWN_TEXT).collect();
    if shown.len() < text.len() {
        shown.push_str("\n… (cut here)");
    }
    let _ = write!(
        page,
        "<section id=\"experiment\">\n<h2>Experiment</h2>\n<details>\n<summary>Experiment file {}\
         </summary>\n<pre>{}</pre>\n</details>\n</section>\n",
        escape(&label(study.experiment().name())),
        escape(&shown)
    );
}
