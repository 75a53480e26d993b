//! The page of a stability chart: one HTML file that needs nothing else.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::figure::{axis, base_layout, numbers};
use super::page::{POLICY, library};
use super::text::{count, escape, label, number, script_json};
use crate::chart::{Chart, Depth, End, Verdict};

const STABLE: &str = "#c6e5d9";
const UNSTABLE: &str = "#f7dfd3";
const UNJUDGED: &str = "#d9dde2";

/// The page: the chart, what it says of the declared experiment, and the file.
pub fn chart_html(chart: &Chart, checked: Option<&[String]>) -> String {
    let experiment = chart.judge.experiment();
    let title = escape(&label(&experiment.title));
    let mut page = String::new();
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} – twinrig chart</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<p class=\"kicker\">Stability chart</p>\n<h1>{title}</h1>\n</header>\n",
        include_str!("page.css"),
    );
    banner(&mut page, chart);
    facts(&mut page, chart);
    let _ = write!(
        page,
        "<section>\n<h2>Chart</h2>\n<div id=\"chart\" class=\"plot\" role=\"img\" aria-label=\"stable \
         and unstable regions\"></div>\n<p class=\"notes\">{}</p>\n</section>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n",
        chart.model_words(),
        script_json(&figure(chart))
    );
    if let Some(checked) = checked {
        cross_check(&mut page, checked);
    }
    let _ = write!(
        page,
        "<section>\n<h2>Experiment</h2>\n<details>\n<summary>Experiment file {}</summary>\n\
         <pre>{}</pre>\n</details>\n</section>\n</main>\n",
        escape(&label(experiment.name())),
        escape(experiment.text())
    );
    page.push_str(&library());
    page.push_str(
        "<script>\n\"use strict\";\nconst figure = JSON.parse(document.getElementById(\"data\")\
         .textContent);\nPlotly.newPlot(\"chart\", figure.data, figure.layout, { displaylogo: false, \
         responsive: true, toImageButtonOptions: { format: \"svg\" } });\n</script>\n</body>\n</html>\n",
    );
    page
}

fn banner(page: &mut String, chart: &Chart) {
    let (class, word, words) = match &chart.declared {
        None => ("doubtful", "The declared experiment is not on this chart", String::new()),
        Some((_, judged)) => match judged.verdict {
            Verdict::Stable => ("good", "The declared experiment is stable", room(chart)),
            Verdict::Unstable => ("bad", "The declared experiment is unstable", room(chart)),
            Verdict::Unknown => ("doubtful", "The declared experiment could not be judged", {
                chart.judge.trouble().unwrap_or_default()
            }),
        },
    };
    let _ = write!(
        page,
        "<section class=\"banner {class}\" role=\"status\">\n<h2>{word}</h2>\n<p>{}</p>\n</section>\n",
        escape(&words)
    );
}

/// How far each number may go before the verdict changes.
fn room(chart: &Chart) -> String {
    let mut words = Vec::new();
    for (index, axis) in chart.judge.axes().iter().enumerate() {
        let shown = |value: f64| format!("{} {}", number(axis.shown(value)), axis.unit);
        let [down, up] = chart.room(index);
        let sides = |of: fn(End) -> Option<f64>| {
            let ends = [("below", down), ("above", up)].into_iter();
            let ends = ends.filter_map(|(side, end)| Some((side, end.and_then(of)?)));
            ends.map(|(side, at)| format!("{side} {}", shown(at).trim_end())).collect::<Vec<_>>()
        };
        let (changes, unjudged) = (sides(End::change), sides(End::unjudged));
        let name = &axis.target.path;
        words.push(if changes.is_empty() {
            format!("{name} alone does not change that on this chart.")
        } else {
            format!("It changes with {name} {}.", changes.join(" or "))
        });
        if !unjudged.is_empty() {
            words.push(format!("With {name} {} nothing can be said.", unjudged.join(" or ")));
        }
    }
    words.join(" ")
}

fn facts(page: &mut String, chart: &Chart) {
    let axes = chart.judge.axes();
    let range = |index: usize| {
        let axis = &axes[index];
        let (low, high) = (number(axis.shown(axis.low)), number(axis.shown(axis.high)));
        format!("{low} to {high} {}", axis.unit).trim_end().to_owned()
    };
    let declared = |index: usize| {
        let axis = &axes[index];
        let value = axis.target.declared.map(|value| number(axis.shown(value)));
        value.map_or_else(|| "–".to_owned(), |value| format!("{value} {}", axis.unit))
    };
    let [columns, rows] = chart.grid.size;
    let facts = [
        (label(&axes[0].target.path), range(0)),
        (label(&axes[1].target.path), range(1)),
        ("declared".to_owned(), format!("{}; {}", declared(0).trim(), declared(1).trim())),
        ("grid".to_owned(), format!("{columns} × {rows}")),
        ("points computed".to_owned(), count(chart.grid.computed_count() as u64)),
        ("stable".to_owned(), format!("{} %", number(100.0 * chart.grid.stable_share()))),
        ("twinrig".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
    ];
    page.push_str("<dl class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(page, "<div><dt>{}</dt><dd>{}</dd></div>", escape(&name), escape(&value));
    }
    page.push_str("</dl>\n");
}

/// Data and layout for plotly.
fn figure(chart: &Chart) -> Value {
    let axes = chart.judge.axes();
    let [columns, rows] = chart.grid.size;
    let x = numbers((0..columns).map(|i| axes[0].shown(axes[0].at(i, columns))));
    let y = numbers((0..rows).map(|j| axes[1].shown(axes[1].at(j, rows))));
    let mut data = vec![match chart.depth {
        Depth::Verdict => verdicts(chart, &x, &y),
        Depth::Growth => growth(chart, &x, &y),
    }];
    let mut names = match chart.depth {
        Depth::Verdict => vec![("stable", STABLE), ("unstable", UNSTABLE)],
        Depth::Growth => Vec::new(),
    };
    let unjudged = chart.grid.points.iter().any(|point| point.verdict == Verdict::Unknown);
    if unjudged {
        names.push(("not judged", UNJUDGED));
    }
    for (name, colour) in names {
        // A heat map has no entry of its own in the legend.
        data.push(json!({
            "type": "scatter", "mode": "markers", "name": name, "x": [null], "y": [null],
            "marker": { "symbol": "square", "size": 13, "color": colour,
                        "line": { "color": "#9aa5b1", "width": 1 } },
        }));
    }
    for (index, line) in chart.boundaries.lines.iter().enumerate() {
        let hover: Vec<String> = line
            .iter()
            .map(|point| match point.frequency_hz {
                hz if hz.is_finite() => format!("swings at {} Hz", number(hz)),
                hz if hz.is_infinite() => "high frequencies go first".to_owned(),
                _ => String::new(),
            })
            .collect();
        data.push(json!({
            "type": "scatter", "mode": "lines", "name": "boundary", "showlegend": index == 0,
            "legendgroup": "boundary",
            "x": numbers(line.iter().map(|point| axes[0].shown(point.at[0]))),
            "y": numbers(line.iter().map(|point| axes[1].shown(point.at[1]))),
            "text": hover, "line": { "color": "#0b4f6c", "width": 2.4 },
            "hovertemplate": "%{x:.6g}, %{y:.6g}<br>%{text}<extra>boundary</extra>",
        }));
    }
    if let Some(([x, y], judged)) = chart.declared {
        data.push(json!({
            "type": "scatter", "mode": "markers", "name": "the experiment as declared",
            "x": [axes[0].shown(x)], "y": [axes[1].shown(y)],
            "marker": { "symbol": "cross", "size": 13, "color": "#1f2933",
                        "line": { "color": "#ffffff", "width": 2 } },
            "hovertemplate": format!("%{{x:.6g}}, %{{y:.6g}}<extra>declared: {}</extra>",
                                     judged.verdict.word()),
        }));
    }
    let mut layout = base_layout();
    layout["height"] = json!(620);
    if unjudged {
        layout["plot_bgcolor"] = json!(UNJUDGED);
    }
    layout["xaxis"] = axis(&axes[0].title());
    layout["yaxis"] = axis(&axes[1].title());
    layout["xaxis"]["range"] = json!([axes[0].shown(axes[0].low), axes[0].shown(axes[0].high)]);
    layout["yaxis"]["range"] = json!([axes[1].shown(axes[1].low), axes[1].shown(axes[1].high)]);
    layout["hovermode"] = json!("closest");
    layout["showlegend"] = json!(true);
    json!({ "data": data, "layout": layout })
}

fn verdicts(chart: &Chart, x: &[Value], y: &[Value]) -> Value {
    let [columns, _] = chart.grid.size;
    let value = |verdict| match verdict {
        Verdict::Stable => json!(0),
        Verdict::Unstable => json!(1),
        Verdict::Unknown => Value::Null,
    };
    let rows: Vec<Vec<Value>> = chart
        .grid
        .points
        .chunks(columns)
        .map(|row| row.iter().map(|point| value(point.verdict)).collect())
        .collect();
    json!({
        "type": "heatmap", "x": x, "y": y, "z": rows, "zmin": 0, "zmax": 1, "showscale": false,
        "colorscale": [[0, STABLE], [0.5, STABLE], [0.5, UNSTABLE], [1, UNSTABLE]],
        "hovertemplate": "%{x:.5g}, %{y:.5g}<extra></extra>",
    })
}

/// Growth of the motion that decides.
fn growth(chart: &Chart, x: &[Value], y: &[Value]) -> Value {
    let [columns, _] = chart.grid.size;
    let most = chart.growth_scale_1_s();
    let rows: Vec<Vec<Value>> = chart
        .grid
        .points
        .chunks(columns)
        .map(|row| numbers(row.iter().map(|point| point.growth_1_s.clamp(-most, most))))
        .collect();
    json!({
        "type": "heatmap", "x": x, "y": y, "z": rows, "zmin": -most, "zmax": most,
        "colorscale": [[0, "#00745a"], [0.35, "#9fd3c0"], [0.5, "#f4f6f8"], [0.65, "#f0b48f"],
                       [1, "#b64400"]],
        "colorbar": { "title": { "text": "growth [1/s]" } },
        "hovertemplate": "%{x:.5g}, %{y:.5g}: %{z:.4g} 1/s<extra></extra>",
    })
}

fn cross_check(page: &mut String, checked: &[String]) {
    page.push_str("<section>\n<h2>Methods held against each other</h2>\n<ul class=\"notes\">\n");
    for line in checked {
        let _ = writeln!(page, "<li>{}</li>", escape(line));
    }
    page.push_str("</ul>\n</section>\n");
}
