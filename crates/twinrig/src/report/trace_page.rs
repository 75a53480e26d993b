//! The page of an iterative test: one HTML file that needs nothing else.

use std::fmt::Write as _;

use analysis::iterative::TracePoint;
use serde_json::{Value, json};

use super::figure::{axis, base_layout, numbers};
use super::page::{POLICY, library};
use super::text::{escape, label, number, plus_minus, script_json};
use crate::iterative::{Branch, Ended, Mark, Outcome, Place, Setup, common_unit};

const MEASURED: &str = "#d55e00";
const SIMULATED: &str = "#0072b2";
const REFERENCE: &str = "#9aa5b1";
const FOLD: &str = "#7b3f61";
/// Colours of the harmonics from the second on.
const HIGHER: [&str; 6] = ["#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#000000", "#f0e442"];

/// The page: response, error, higher harmonics, cost, and every point's motion.
pub fn trace_html(
    setup: &Setup<'_>,
    places: &[Place],
    points: &[TracePoint],
    found: &Outcome,
) -> String {
    let experiment = setup.experiment();
    let title = escape(&label(&experiment.title));
    let mut page = String::new();
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} – twinrig trace</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<p class=\"kicker\">Iterative test</p>\n<h1>{title}</h1>\n</header>\n",
        include_str!("page.css"),
    );
    banner(&mut page, found);
    facts(&mut page, setup, places, found);
    let mut figures: Vec<(String, Value)> = Vec::new();
    for (dof, place) in places.iter().enumerate() {
        let shown = escape(&label(&place.name));
        section(&mut page, &format!("frf{dof}"), &format!("Response of {shown}"), RESPONSE_NOTE);
        figures.push((format!("frf{dof}"), response(found, dof, &place.shown_unit())));
    }
    if found.rows.first().is_some_and(|row| !row.dofs[0].higher_m.is_empty()) {
        section(&mut page, "higher", "Higher harmonics", HIGHER_NOTE);
        figures.push(("higher".into(), higher(found, places)));
    }
    section(&mut page, "error", "How well it is known", ERROR_NOTE);
    figures.push(("error".into(), errors(found, common_unit(places))));
    section(&mut page, "cost", "Corrections and time", COST_NOTE);
    figures.push(("cost".into(), cost(found)));
    if !points.is_empty() {
        page.push_str(MOTION);
    }
    let document = json!({
        "figures": figures.iter().map(|(id, figure)| json!({ "id": id, "figure": figure }))
            .collect::<Vec<_>>(),
        "points": points.iter().map(motion).collect::<Vec<_>>(),
        "names": places.iter().map(|place| escape(&label(&place.name))).collect::<Vec<_>>(),
        "unit": shown_units(places),
        "layout": base_layout(),
        "axis": axis(""),
        "colours": { "measured": MEASURED, "simulated": SIMULATED },
    });
    let _ = write!(
        page,
        "<section>\n<h2>Experiment</h2>\n<details>\n<summary>Experiment file {}</summary>\n\
         <pre>{}</pre>\n</details>\n</section>\n</main>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n",
        escape(&label(experiment.name())),
        escape(experiment.text()),
        script_json(&document)
    );
    page.push_str(&library());
    let _ = write!(page, "<script>\n{}</script>\n</body>\n</html>\n", include_str!("trace.js"));
    page
}

const RESPONSE_NOTE: &str = "Measured on the rig, with the interval of each point: what the \
    residual leaves open times its amplification, and twice the standard deviation of noise. Both \
    sides of the interface lie on each other where the test is right.";
const HIGHER_NOTE: &str = "Amplitudes of the measured displacement beyond the fundamental. Those \
    that are not matched show what the target leaves out.";
const ERROR_NOTE: &str = "Difference from the model of the whole structure, where there is one; the \
    interval of each point; and the bias, which is what the simulation itself adds: the simulated \
    part solved exactly with the measured force over displacement.";
const COST_NOTE: &str = "How many points took how many corrections, and the time on the rig.";

const MOTION: &str = "<section>\n<h2>Motion at a point</h2>\n<p><label>Point <select id=\"which\">\
    </select></label></p>\n<div class=\"figures\"><div id=\"profile\" class=\"plot\" role=\"img\" \
    aria-label=\"motion over one period\"></div><div id=\"lissajous\" class=\"plot\" role=\"img\" \
    aria-label=\"simulated over measured displacement\"></div></div>\n<p class=\"notes\">One period \
    of both sides, from their harmonics, and one over the other: a straight line where they move \
    alike.</p>\n</section>\n";

fn section(page: &mut String, id: &str, title: &str, note: &str) {
    let _ = write!(
        page,
        "<section>\n<h2>{title}</h2>\n<div id=\"{id}\" class=\"plot\" role=\"img\" \
         aria-label=\"{title}\"></div>\n<p class=\"notes\">{note}</p>\n</section>\n"
    );
}

fn banner(page: &mut String, found: &Outcome) {
    let (class, word) = match found.ended {
        Ended::Tripped(_) => ("bad", "Tripped"),
        Ended::Stopped => ("doubtful", "Stopped"),
        ended if ended.is_complete() && found.unsettled() == 0 => ("good", "Complete"),
        ended if ended.is_complete() => ("doubtful", "Complete, but not every point had settled"),
        ended if ended.is_final() => ("doubtful", "Not the whole band"),
        _ => ("bad", "Not complete"),
    };
    let _ = write!(
        page,
        "<section class=\"banner {class}\" role=\"status\">\n<h2>{word}</h2>\n<p>{}</p>\n</section>\n",
        escape(&found.ended.words())
    );
}

fn facts(page: &mut String, setup: &Setup<'_>, places: &[Place], found: &Outcome) {
    let mut facts: Vec<(String, String)> = Vec::new();
    let unit = places.first().map_or_else(String::new, Place::shown_unit);
    if let Some(why) = &found.still {
        facts.push(("nothing moved".into(), why.clone()));
    }
    for (place, peak) in places.iter().zip(&found.peaks) {
        let Mark { frequency_hz, amplitude_m } = peak.mark;
        let (size, unit) = (number(1e3 * amplitude_m), place.shown_unit());
        let value = format!("{size} {unit} at {frequency_hz:.4} Hz");
        facts.push((peak.from.label(&label(&place.name)), value));
    }
    for fold in &found.folds {
        let hz = plus_minus(fold.mark.frequency_hz, fold.interval_hz);
        let amplitude = plus_minus(1e3 * fold.mark.amplitude_m, 1e3 * fold.interval_m);
        facts.push(("fold".into(), format!("{hz} Hz, {amplitude} {unit}")));
    }
    for fold in found.reference.iter().flat_map(|reference| &reference.folds) {
        let size = number(1e3 * fold.amplitude_m);
        let value = format!("{:.4} Hz, {size} {unit}", fold.frequency_hz);
        facts.push(("fold of the model".into(), value));
    }
    let percent = |value: Option<f64>| {
        value.map_or_else(|| "–".to_owned(), |v| format!("{} % of peak", number(v)))
    };
    facts.push(("difference from the model".into(), percent(found.largest_difference_percent)));
    facts.push(("bias of the simulation".into(), percent(found.largest_bias_percent)));
    let median = found.median_iterations().map_or_else(|| "–".to_owned(), |n| n.to_string());
    facts.push(("corrections, median".into(), median));
    facts.push(("points".into(), found.rows.len().to_string()));
    facts.push(("evaluations".into(), found.evaluations.to_string()));
    facts.push(("time on the rig".into(), format!("{} min", number(found.rig_time_s / 60.0))));
    facts.push(("harmonics matched".into(), setup.spec().harmonics.to_string()));
    facts.push(("twinrig".into(), env!("CARGO_PKG_VERSION").into()));
    page.push_str("<dl class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(page, "<div><dt>{}</dt><dd>{}</dd></div>", escape(&name), escape(&value));
    }
    page.push_str("</dl>\n");
}

/// A layout with panes above each other over one frequency axis.
fn panes(titles: &[&str], height: u32) -> Value {
    let mut layout = base_layout();
    layout["height"] = json!(height);
    layout["hovermode"] = json!("closest");
    layout["showlegend"] = json!(true);
    layout["xaxis"] = axis("frequency [Hz]");
    let count = titles.len() as f64;
    for (index, title) in titles.iter().enumerate() {
        let key = if index == 0 { "yaxis".to_owned() } else { format!("yaxis{}", index + 1) };
        layout[&key] = axis(title);
        let top = 1.0 - index as f64 / count;
        layout[&key]["domain"] =
            json!([top - 1.0 / count + if index + 1 < titles.len() { 0.06 } else { 0.0 }, top]);
        layout[&key]["anchor"] = json!("x");
    }
    if titles.len() > 1 {
        layout["xaxis"]["anchor"] = json!(format!("y{}", titles.len()));
    }
    layout
}

fn hover(unit: &str, name: &str) -> String {
    format!("%{{x:.5f}} Hz: %{{y:.5g}} {unit}<extra>{name}</extra>")
}

/// Units of several places in one picture.
fn shown_units(places: &[Place]) -> String {
    common_unit(places).replace('µ', "m")
}

fn response(found: &Outcome, dof: usize, unit: &str) -> Value {
    let rows = &found.rows;
    let hz = || numbers(rows.iter().map(|row| row.frequency_hz));
    let mut data = Vec::new();
    if let Some(reference) = &found.reference {
        data.extend(reference_lines(reference, dof, unit));
    }
    data.push(json!({
        "type": "scatter", "mode": "lines+markers", "name": "simulated side", "x": hz(),
        "y": numbers(rows.iter().map(|row| 1e3 * row.dofs[dof].simulated_m)),
        "line": { "color": SIMULATED, "width": 1.2, "dash": "dot" }, "marker": { "size": 4 },
        "hovertemplate": hover(unit, "simulated"),
    }));
    data.push(json!({
        "type": "scatter", "mode": "lines+markers", "name": "measured", "x": hz(),
        "y": numbers(rows.iter().map(|row| 1e3 * row.dofs[dof].amplitude_m)),
        "error_y": {
            "type": "data", "color": MEASURED, "thickness": 1.2, "width": 3,
            "array": numbers(rows.iter().map(|row| 1e3 * row.dofs[dof].interval_m)),
        },
        "line": { "color": MEASURED, "width": 1.2 }, "marker": { "size": 5 },
        "hovertemplate": hover(unit, "measured"),
    }));
    if !found.folds.is_empty() && dof == 0 {
        data.push(json!({
            "type": "scatter", "mode": "markers", "name": "fold",
            "x": numbers(found.folds.iter().map(|fold| fold.mark.frequency_hz)),
            "y": numbers(found.folds.iter().map(|fold| 1e3 * fold.mark.amplitude_m)),
            "error_x": {
                "type": "data", "color": FOLD, "thickness": 1.6, "width": 4,
                "array": numbers(found.folds.iter().map(|fold| fold.interval_hz)),
            },
            "error_y": {
                "type": "data", "color": FOLD, "thickness": 1.6, "width": 4,
                "array": numbers(found.folds.iter().map(|fold| 1e3 * fold.interval_m)),
            },
            "marker": { "symbol": "diamond-open", "size": 13, "color": FOLD, "line": { "width": 2 } },
            "hovertemplate": hover(unit, "fold"),
        }));
    }
    data.push(json!({
        "type": "scatter", "mode": "lines+markers", "name": "phase", "showlegend": false, "x": hz(),
        "y": numbers(rows.iter().map(|row| row.dofs[dof].phase_deg)), "yaxis": "y2",
        "line": { "color": MEASURED, "width": 1.2 }, "marker": { "size": 4 },
        "hovertemplate": "%{x:.4f} Hz: %{y:.4g}°<extra>phase</extra>",
    }));
    let mut layout = panes(&[&format!("amplitude [{unit}]"), "phase [°]"], 620);
    layout["yaxis"]["domain"] = json!([0.34, 1.0]);
    layout["yaxis2"]["domain"] = json!([0.0, 0.26]);
    layout["yaxis"]["rangemode"] = json!("tozero");
    json!({ "data": data, "layout": layout })
}

/// The model's response, dashed where a free structure would not show it.
fn reference_lines(reference: &Branch, dof: usize, unit: &str) -> Vec<Value> {
    let mut lines: Vec<Value> = Vec::new();
    let mut drawn = [false, false];
    let mut start = 0;
    let points = &reference.points;
    while start + 1 < points.len() {
        let unstable = points[start + 1].stable == Some(false);
        let mut end = start + 1;
        while end + 1 < points.len() && (points[end + 1].stable == Some(false)) == unstable {
            end += 1;
        }
        let stretch = &points[start..=end];
        let known = usize::from(unstable);
        let name = if unstable { "model, unstable without control" } else { "model of the whole" };
        lines.push(json!({
            "type": "scatter", "mode": "lines", "name": name, "legendgroup": name,
            "showlegend": !drawn[known],
            "x": numbers(stretch.iter().map(|p| p.frequency_hz)),
            "y": numbers(stretch.iter().map(|p| 1e3 * p.fundamental[dof].norm())),
            "line": { "color": REFERENCE, "width": 3.2, "dash": if unstable { "dash" } else { "solid" } },
            "hovertemplate": hover(unit, "model"),
        }));
        drawn[known] = true;
        start = end;
    }
    lines
}

fn higher(found: &Outcome, places: &[Place]) -> Value {
    let rows = &found.rows;
    let count = rows.first().map_or(0, |row| row.dofs[0].higher_m.len());
    let mut data = Vec::new();
    for (dof, place) in places.iter().enumerate() {
        for k in 0..count {
            let of = if places.len() > 1 {
                format!(" of {}", escape(&label(&place.name)))
            } else {
                String::new()
            };
            data.push(json!({
                "type": "scatter", "mode": "lines+markers",
                "name": format!("harmonic {}{of}", k + 2),
                "x": numbers(rows.iter().map(|row| row.frequency_hz)),
                "y": numbers(rows.iter().map(|row| 1e3 * row.dofs[dof].higher_m[k])),
                "line": { "color": HIGHER[k % HIGHER.len()], "width": 1.2 }, "marker": { "size": 4 },
                "hovertemplate": hover(&place.shown_unit(), "%{fullData.name}"),
            }));
        }
    }
    let mut layout = panes(&[&format!("amplitude [{}]", shown_units(places))], 380);
    layout["yaxis"]["rangemode"] = json!("tozero");
    json!({ "data": data, "layout": layout })
}

fn errors(found: &Outcome, unit: &str) -> Value {
    let rows = &found.rows;
    let mut data = Vec::new();
    let mut add = |name: &str, colour: &str, values: Vec<f64>| {
        if values.iter().any(|value| value.is_finite()) {
            data.push(json!({
                "type": "scatter", "mode": "lines+markers", "name": name,
                "x": numbers(rows.iter().map(|row| row.frequency_hz)),
                "y": numbers(values.iter().map(|v| 1e6 * v)),
                "line": { "color": colour, "width": 1.2 }, "marker": { "size": 4 },
                "hovertemplate": hover(unit, name),
            }));
        }
    };
    let of = |value: Option<f64>| value.unwrap_or(f64::NAN).abs();
    let first = |row: &crate::iterative::PointRow| row.dofs[0].clone();
    add("interval", MEASURED, rows.iter().map(|row| first(row).interval_m).collect());
    add(
        "difference from the model",
        "#7b3f61",
        rows.iter().map(|row| of(first(row).difference_m)).collect(),
    );
    add("bias of the simulation", "#009e73", rows.iter().map(|row| of(row.bias_m)).collect());
    add("residual", SIMULATED, rows.iter().map(|row| row.residual_m).collect());
    let mut layout = panes(&[&format!("[{unit}]")], 380);
    layout["yaxis"]["type"] = json!("log");
    layout["yaxis"]["exponentformat"] = json!("power");
    json!({ "data": data, "layout": layout })
}

fn cost(found: &Outcome) -> Value {
    let counts = found.iterations();
    let rows = &found.rows;
    let data = json!([
        {
            "type": "bar", "name": "points", "x": (0..counts.len()).collect::<Vec<_>>(), "y": counts,
            "marker": { "color": SIMULATED }, "showlegend": false,
            "hovertemplate": "%{y} points took %{x} corrections<extra></extra>",
        },
        {
            "type": "scatter", "mode": "markers", "name": "time on the rig", "showlegend": false,
            "x": numbers(rows.iter().map(|row| row.frequency_hz)),
            "y": numbers(rows.iter().map(|row| row.rig_time_s)), "xaxis": "x2", "yaxis": "y2",
            "marker": { "size": 5, "color": MEASURED },
            "hovertemplate": "%{x:.4f} Hz: %{y:.3g} s<extra></extra>",
        },
    ]);
    let mut layout = base_layout();
    layout["height"] = json!(320);
    layout["xaxis"] = axis("corrections");
    layout["xaxis"]["domain"] = json!([0.0, 0.38]);
    layout["xaxis"]["dtick"] = json!(1);
    layout["yaxis"] = axis("points");
    layout["xaxis2"] = axis("frequency [Hz]");
    layout["xaxis2"]["domain"] = json!([0.52, 1.0]);
    layout["yaxis2"] = axis("time on the rig [s]");
    layout["xaxis2"]["anchor"] = json!("y2");
    layout["yaxis2"]["anchor"] = json!("x2");
    layout["yaxis2"]["rangemode"] = json!("tozero");
    json!({ "data": data, "layout": layout })
}

/// Coefficients of both sides, in thousandths, for the page to draw.
fn motion(point: &TracePoint) -> Value {
    let list = |side: &[model::periodic::Coefficients]| -> Vec<Vec<Value>> {
        side.iter().map(|c| numbers(c.0.iter().map(|v| 1e3 * v))).collect()
    };
    json!({
        "hz": point.frequency_hz,
        "measured": list(&point.orbit.measured),
        "simulated": list(&point.orbit.simulated),
    })
}
