//! A figure as data, and as what plotly draws.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::decimate;
use super::text::escape;

/// Up to this many points a curve also shows its samples.
const FEW_POINTS: usize = 60;
/// Share of the height between two panes.
const PANE_GAP: f64 = 0.09;

/// One figure of the report.
pub(super) struct Figure<'a> {
    /// Text; it may name a DOF.
    pub(super) title: String,
    /// Markup: our words and numbers, never text from a record.
    pub(super) caption: String,
    pub(super) width: Width,
    pub(super) height_px: u32,
    pub(super) content: Content<'a>,
}

/// How much of the page's width a figure takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Whole,
    Half,
}

/// What a figure draws.
pub(super) enum Content<'a> {
    /// Histories over one time axis, pane above pane.
    History {
        time: &'a [f64],
        panes: Vec<Pane<'a>>,
        /// Start of the time after a trip, to be shaded.
        tripped_s: Option<f64>,
        /// Times before and after the load, to be shaded: from, to, and a word
        /// of ours.
        phases: Vec<(f64, f64, &'static str)>,
    },
    /// One curve over another quantity.
    Loop { x: Axis<'a>, y: Axis<'a>, role: Role, shape: LoopShape },
    /// Counts over times, both on logarithmic axes.
    Histogram {
        distributions: Vec<Distribution<'a>>,
        /// A time to mark.
        mark_s: Option<f64>,
    },
}

/// How often each time occurred.
pub(super) struct Distribution<'a> {
    pub(super) role: Role,
    /// Its name in the legend, as markup: never text from a record.
    pub(super) name: &'static str,
    /// Lower edge, upper edge (s) and count, in rising order.
    pub(super) bins: &'a [(f64, f64, u64)],
}

/// How the axes of a loop relate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopShape {
    /// The same quantity on both axes: equal scales, and a line where they agree.
    Synchronisation,
    /// Two quantities.
    Free,
}

/// A quantity on one axis of a loop.
pub(super) struct Axis<'a> {
    pub(super) title: String,
    pub(super) values: Cow<'a, [f64]>,
    /// From SI to the unit of the title.
    pub(super) scale: f64,
}

/// Curves that share a vertical axis.
pub(super) struct Pane<'a> {
    pub(super) title: String,
    pub(super) unit: &'static str,
    /// Share of the figure's height.
    pub(super) weight: f64,
    /// From SI to the unit of the title.
    pub(super) scale: f64,
    pub(super) lines: Vec<Line<'a>>,
    /// Limits to draw, in the unit of the title, and their words: ours, never
    /// text from a record.
    pub(super) limits: Vec<(f64, String)>,
    /// The range to show first; the data decide otherwise.
    pub(super) range: Option<(f64, f64)>,
}

/// One history.
pub(super) struct Line<'a> {
    pub(super) role: Role,
    /// Its name in the legend, as markup: never text from a record.
    pub(super) name: &'static str,
    pub(super) values: Cow<'a, [f64]>,
}

/// What a curve stands for; it has the same look in every figure. The colours
/// are those of Okabe and Ito, which people of any colour vision can tell apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Desired,
    Command,
    Achieved,
    Measured,
    Reference,
    Error,
    Excitation,
    InputWork,
    FeedbackWork,
    Dissipated,
    Kinetic,
    Strain,
    Warning,
    Windowed,
    Forecast,
}

impl Role {
    /// Colour, width and dash.
    fn look(self) -> (&'static str, f64, &'static str) {
        match self {
            Self::Desired => ("#0072b2", 1.6, "solid"),
            Self::Command => ("#e69f00", 1.3, "dash"),
            Self::Achieved => ("#009e73", 1.6, "dot"),
            Self::Measured => ("#d55e00", 1.2, "solid"),
            // Wide and pale, drawn first: it stays visible under a good match.
            Self::Reference => ("#9aa5b1", 3.2, "solid"),
            Self::Error => ("#7b3f61", 1.0, "solid"),
            Self::Excitation => ("#3d4852", 1.0, "solid"),
            Self::InputWork => ("#000000", 1.8, "solid"),
            Self::FeedbackWork => ("#d55e00", 2.2, "solid"),
            Self::Dissipated => ("#0072b2", 1.8, "dash"),
            Self::Kinetic => ("#009e73", 0.9, "solid"),
            Self::Strain => ("#cc79a7", 0.9, "solid"),
            Self::Warning => ("#d55e00", 1.8, "solid"),
            Self::Windowed => ("#0072b2", 1.4, "solid"),
            Self::Forecast => ("#0072b2", 1.6, "solid"),
        }
    }
}

impl Figure<'_> {
    /// Number of curves over which a budget of points is shared.
    pub(super) fn curves(&self) -> usize {
        match &self.content {
            Content::History { panes, .. } => panes.iter().map(|pane| pane.lines.len()).sum(),
            Content::Loop { .. } => 1,
            // Few points, whatever the length of the test.
            Content::Histogram { .. } => 0,
        }
    }

    /// Data and layout for plotly, with about `points` points per curve.
    pub(super) fn plotly(&self, points: usize) -> Value {
        let (data, mut layout) = match &self.content {
            Content::History { time, panes, tripped_s, phases } => {
                history(time, panes, *tripped_s, phases, points)
            }
            Content::Loop { x, y, role, shape } => looped(x, y, *role, *shape, points),
            Content::Histogram { distributions, mark_s } => histogram(distributions, *mark_s),
        };
        layout["height"] = json!(self.height_px);
        json!({ "data": data, "layout": layout })
    }
}

fn history(
    time: &[f64],
    panes: &[Pane<'_>],
    tripped_s: Option<f64>,
    phases: &[(f64, f64, &'static str)],
    points: usize,
) -> (Vec<Value>, Value) {
    let mut layout = base_layout();
    layout["xaxis"] = axis("time [s]");
    layout["xaxis"]["hoverformat"] = json!(".4f");
    layout["xaxis"]["anchor"] = json!(axis_name("y", panes.len().saturating_sub(1)));
    // The frame around every pane, not only around the one that carries the time.
    layout["xaxis"]["mirror"] = json!("all");
    layout["xaxis"]["ticks"] = json!("");
    layout["hovermode"] = json!("x");
    let mut data = Vec::new();
    let (mut shapes, mut annotations) = (Vec::new(), Vec::new());
    let weights: f64 = panes.iter().map(|pane| pane.weight).sum();
    let free = 1.0 - PANE_GAP * panes.len().saturating_sub(1) as f64;
    let mut top = 1.0;
    for (index, pane) in panes.iter().enumerate() {
        let bottom = (top - free * pane.weight / weights).max(0.0);
        let name = axis_name("y", index);
        let key = name.replacen('y', "yaxis", 1);
        layout[&key] = axis(&pane.title);
        layout[&key]["domain"] = json!([bottom, top]);
        layout[&key]["anchor"] = json!("x");
        if let Some((low, high)) = pane.range {
            layout[&key]["range"] = json!([low, high]);
        }
        top = bottom - PANE_GAP;
        for (limit, words) in &pane.limits {
            shapes.push(json!({
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": name,
                "y0": limit, "y1": limit, "line": { "color": "#1f2933", "width": 1.4, "dash": "dash" },
            }));
            annotations.push(json!({
                "xref": "paper", "x": 0.005, "yref": name, "y": limit, "text": words,
                "showarrow": false, "xanchor": "left", "yanchor": "bottom",
                "font": { "size": 12, "color": "#1f2933" },
            }));
        }
        for line in &pane.lines {
            let mut trace = curve(time, 1.0, &line.values, pane.scale, line.role, &|values| {
                decimate::min_max(values, points)
            });
            trace["name"] = json!(line.name);
            trace["yaxis"] = json!(name);
            trace["hovertemplate"] =
                json!(format!("%{{y:.5g}} {}<extra>%{{fullData.name}}</extra>", pane.unit));
            data.push(trace);
        }
    }
    for (from, to, word) in phases.iter().filter(|(from, to, _)| from.is_finite() && to >= from) {
        shapes.push(json!({
            "type": "rect", "xref": "x", "yref": "paper", "x0": from, "x1": to, "y0": 0, "y1": 1,
            "fillcolor": "#56b4e9", "opacity": if *word == "going home" { 0.2 } else { 0.11 },
            "layer": "below", "line": { "width": 0 },
        }));
        // Below the trip's mark, should both stand at one place.
        annotations.push(json!({
            "xref": "x", "x": from, "yref": "paper", "y": 0, "text": word, "showarrow": false,
            "xanchor": "left", "yanchor": "bottom", "xshift": 3, "textangle": -90,
            "font": { "size": 11, "color": "#20587a" },
        }));
    }
    let last = time.iter().rev().find(|time| time.is_finite());
    if let (Some(start), Some(end)) = (tripped_s.filter(|time| time.is_finite()), last) {
        shapes.push(json!({
            "type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": end.max(start),
            "y0": 0, "y1": 1, "fillcolor": "#d55e00", "opacity": 0.09, "layer": "below",
            "line": { "width": 0 },
        }));
        shapes.push(json!({
            "type": "line", "xref": "x", "yref": "paper", "x0": start, "x1": start, "y0": 0, "y1": 1,
            "line": { "color": "#a33b00", "width": 1.2, "dash": "dot" },
        }));
        annotations.push(json!({
            "xref": "x", "x": start, "yref": "paper", "y": 1, "text": "trip", "showarrow": false,
            "xanchor": "left", "yanchor": "top", "xshift": 3,
            "font": { "size": 12, "color": "#a33b00" },
        }));
    }
    layout["shapes"] = json!(shapes);
    layout["annotations"] = json!(annotations);
    layout["showlegend"] = json!(data.len() > 1);
    (data, layout)
}

fn looped(
    x: &Axis<'_>,
    y: &Axis<'_>,
    role: Role,
    shape: LoopShape,
    points: usize,
) -> (Vec<Value>, Value) {
    let mut layout = base_layout();
    layout["xaxis"] = axis(&x.title);
    layout["yaxis"] = axis(&y.title);
    layout["showlegend"] = json!(false);
    layout["hovermode"] = json!("closest");
    let mut trace = curve(&x.values, x.scale, &y.values, y.scale, role, &|_| {
        decimate::evenly(&x.values, &y.values, points)
    });
    trace["line"]["width"] = json!(0.9);
    trace["opacity"] = json!(0.8);
    trace["hovertemplate"] = json!("%{x:.5g}, %{y:.5g}<extra></extra>");
    let mut data = vec![trace];
    if shape == LoopShape::Synchronisation {
        layout["yaxis"]["scaleanchor"] = json!("x");
        layout["yaxis"]["scaleratio"] = json!(1);
        let values = x.values.iter().chain(y.values.iter()).filter(|value| value.is_finite());
        let reach = 1.12 * x.scale * values.fold(0.0f64, |reach, value| reach.max(value.abs()));
        let (_, _, dash) = Role::Command.look();
        let agree = json!({
            "type": "scatter", "mode": "lines", "x": [-reach, reach], "y": [-reach, reach],
            "line": { "color": "#1f2933", "width": 1.4, "dash": dash }, "hoverinfo": "skip",
        });
        data.push(agree);
    }
    (data, layout)
}

/// Below a count of one, so that a single occurrence still stands out.
const FLOOR: f64 = 0.6;

fn histogram(distributions: &[Distribution<'_>], mark_s: Option<f64>) -> (Vec<Value>, Value) {
    let mut layout = base_layout();
    layout["xaxis"] = axis("time [µs]");
    layout["yaxis"] = axis("count");
    for key in ["xaxis", "yaxis"] {
        layout[key]["type"] = json!("log");
        layout[key]["exponentformat"] = json!("power");
        layout[key]["dtick"] = json!(1);
    }
    let counts = distributions.iter().flat_map(|found| found.bins).map(|bin| bin.2);
    let most = counts.max().unwrap_or(1).max(1) as f64;
    layout["yaxis"]["range"] = json!([FLOOR.log10(), (1.6 * most).log10()]);
    layout["hovermode"] = json!("closest");
    layout["showlegend"] = json!(true);
    if let Some(mark_s) = mark_s.filter(|mark| mark.is_finite() && *mark > 0.0) {
        layout["shapes"] = json!([{
            "type": "line", "xref": "x", "yref": "paper", "x0": 1e6 * mark_s, "x1": 1e6 * mark_s,
            "y0": 0, "y1": 1, "line": { "color": "#1f2933", "width": 1.4, "dash": "dash" },
        }]);
        // On a logarithmic axis an annotation stands at the exponent.
        layout["annotations"] = json!([{
            "xref": "x", "x": (1e6 * mark_s).log10(), "yref": "paper", "y": 1, "text": "period",
            "showarrow": false, "xanchor": "left", "yanchor": "top", "xshift": 3,
            "font": { "size": 12, "color": "#1f2933" },
        }]);
    }
    let data = distributions.iter().map(|found| {
        let (x, y) = outline(found.bins);
        let (colour, _, _) = found.role.look();
        json!({
            "type": "scatter", "mode": "lines", "name": found.name, "x": x, "y": y,
            "line": { "color": colour, "width": 1.4 }, "fill": "toself",
            "fillcolor": format!("{colour}2e"), "connectgaps": false,
            "hovertemplate": "%{x:.4g} µs: %{y:.0f}<extra>%{fullData.name}</extra>",
        })
    });
    (data.collect(), layout)
}

/// The outline of the bins, one closed shape for each group without a gap.
fn outline(bins: &[(f64, f64, u64)]) -> (Vec<Value>, Vec<Value>) {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut end = f64::NAN;
    let place = |edge: f64| json!(format!("{:.5e}", 1e6 * edge).parse::<f64>().ok());
    let usable = |bin: &&(f64, f64, u64)| bin.0 > 0.0 && bin.1 > bin.0 && bin.2 > 0;
    for &(low, high, count) in bins.iter().filter(usable) {
        // Edges that are one and the same may differ in their last digit.
        let adjoins = (low - end).abs() < 1e-6 * low;
        if !adjoins {
            if !end.is_nan() {
                x.extend([place(end), Value::Null]);
                y.extend([json!(FLOOR), Value::Null]);
            }
            x.push(place(low));
            y.push(json!(FLOOR));
        }
        x.extend([place(low), place(high)]);
        y.extend([json!(count), json!(count)]);
        end = high;
    }
    if !end.is_nan() {
        x.extend([place(end), Value::Null]);
        y.extend([json!(FLOOR), Value::Null]);
    }
    (x, y)
}

fn curve(
    x: &[f64],
    x_scale: f64,
    y: &[f64],
    y_scale: f64,
    role: Role,
    choose: &dyn Fn(&[f64]) -> Vec<usize>,
) -> Value {
    let length = x.len().min(y.len());
    let kept = choose(&y[..length]);
    let (colour, width, dash) = role.look();
    let mut trace = json!({
        "type": "scatter",
        "mode": if kept.len() <= FEW_POINTS { "lines+markers" } else { "lines" },
        "x": numbers(kept.iter().map(|&i| x[i] * x_scale)),
        "y": numbers(kept.iter().map(|&i| y[i] * y_scale)),
        "line": { "color": colour, "width": width, "dash": dash },
        "connectgaps": false,
    });
    if kept.len() <= FEW_POINTS {
        trace["marker"] = json!({ "size": 5, "color": colour });
    }
    trace
}

/// Numbers rounded to a millionth of their largest: finer than any screen, and
/// a third of the bytes. What is not finite becomes null, which draws as a gap.
pub(super) fn numbers(values: impl Iterator<Item = f64> + Clone) -> Vec<Value> {
    let finite = values.clone().filter(|value| value.is_finite());
    let largest = finite.fold(0.0f64, |largest, value| largest.max(value.abs()));
    // Bounded, so that neither a huge nor a tiny record asks for hundreds of digits.
    let digits = (6.0 - largest.max(f64::MIN_POSITIVE).log10().floor()).clamp(0.0, 40.0) as usize;
    values
        .map(|value| match format!("{value:.digits$}").parse::<f64>() {
            // Negative zero would cost a byte and puzzle a reader.
            Ok(rounded) if value.is_finite() => json!(rounded + 0.0),
            _ => Value::Null,
        })
        .collect()
}

pub(super) fn base_layout() -> Value {
    json!({
        "margin": { "l": 66, "r": 16, "t": 34, "b": 46 },
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "font": { "family": "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
                  "size": 13, "color": "#1f2933" },
        "legend": { "orientation": "h", "x": 0, "y": 1.01, "xanchor": "left", "yanchor": "bottom",
                    "font": { "size": 12.5 } },
        "hoverlabel": { "font": { "size": 12 } },
    })
}

pub(super) fn axis(title: &str) -> Value {
    json!({
        "title": { "text": escape(title), "standoff": 8 },
        "showline": true, "linecolor": "#7b8794", "linewidth": 1, "mirror": true,
        "ticks": "outside", "tickcolor": "#7b8794", "ticklen": 4,
        // Else a tick of 2.5e-7 in [mm] reads 250n, a prefix before a prefix.
        "exponentformat": "power",
        "gridcolor": "#e4e7eb", "zerolinecolor": "#cbd2d9", "automargin": true,
    })
}

/// `y`, `y2`, `y3` …
fn axis_name(letter: &str, index: usize) -> String {
    if index == 0 { letter.to_owned() } else { format!("{letter}{}", index + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure<'a>(time: &'a [f64], values: &'a [f64]) -> Figure<'a> {
        let line = Line { role: Role::Measured, name: "measured", values: Cow::Borrowed(values) };
        let pane = Pane {
            title: "displacement [mm]".into(),
            unit: "mm",
            weight: 1.0,
            scale: 1e3,
            lines: vec![line],
            limits: Vec::new(),
            range: None,
        };
        let content =
            Content::History { time, panes: vec![pane], tripped_s: Some(0.5), phases: vec![] };
        let (title, caption) = (String::new(), String::new());
        Figure { title, caption, width: Width::Whole, height_px: 300, content }
    }

    #[test]
    fn the_peak_of_a_long_history_is_drawn_with_its_time() {
        let time: Vec<f64> = (0..160_000).map(|i| i as f64 / 4096.0).collect();
        let mut values: Vec<f64> = time.iter().map(|t| 1e-3 * (22.0 * t).sin()).collect();
        values[101_234] = -7.654_321e-3;
        let drawn = figure(&time, &values).plotly(2000);
        let (x, y) = (&drawn["data"][0]["x"], &drawn["data"][0]["y"]);
        let y = y.as_array().unwrap();
        assert!(y.len() <= 2000);
        let at = y.iter().position(|y| (y.as_f64().unwrap() + 7.654_321).abs() < 1e-5).unwrap();
        assert!((x[at].as_f64().unwrap() - time[101_234]).abs() < 1e-4);
    }

    #[test]
    fn ticks_carry_no_prefix_of_their_own() {
        assert_eq!(axis("[mm]")["exponentformat"], "power");
    }

    #[test]
    fn gaps_are_null() {
        let drawn = figure(&[0.0, 1.0, 2.0], &[1e-3, f64::NAN, f64::INFINITY]).plotly(100);
        assert_eq!(drawn["data"][0]["y"], json!([1.0, null, null]));
        assert_eq!(drawn["data"][0]["mode"], "lines+markers");
    }

    #[test]
    fn numbers_of_any_size_stay_numbers() {
        let values = [1e300, -1e-300, 0.0, f64::MAX, f64::NAN];
        let drawn = numbers(values.into_iter());
        assert_eq!(drawn[0].as_f64(), Some(1e300));
        assert_eq!(drawn[4], Value::Null);
        assert_eq!(numbers([3e-320].into_iter()).len(), 1);
    }
}
