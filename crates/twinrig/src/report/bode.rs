//! A page with Bode plots: what an identification found.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::figure::{axis, base_layout, numbers};
use super::page::{POLICY, library};
use super::text::{escape, label, script_json};

/// Most points of a curve: more cannot be told apart on a screen.
const MOST_POINTS: usize = 3000;

/// The page. All texts are shown as text, whatever they contain.
#[derive(Debug, Clone, PartialEq)]
pub struct BodePage {
    pub title: String,
    /// What the user should know first, and whether it is good.
    pub verdict: (Verdict, String),
    /// Names and values.
    pub facts: Vec<(String, String)>,
    pub sections: Vec<BodeSection>,
}

/// How far a result can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    Doubtful,
    Bad,
}

/// One system.
#[derive(Debug, Clone, PartialEq)]
pub struct BodeSection {
    pub heading: String,
    /// Header and rows of a table.
    pub table: Vec<[String; 4]>,
    /// A second table, across the page.
    pub below: Option<BodeTable>,
    pub notes: Vec<String>,
    pub points: Vec<BodePoint>,
    /// The band fitted, shaded.
    pub band_hz: (f64, f64),
}

/// A table with a heading and a remark.
#[derive(Debug, Clone, PartialEq)]
pub struct BodeTable {
    pub heading: String,
    /// Header and rows.
    pub rows: Vec<[String; 4]>,
    /// Row set in bold, from 0, the header not counted.
    pub marked: Option<usize>,
    pub note: String,
}

/// A number of a point.
type Reading<'a> = &'a dyn Fn(&BodePoint) -> f64;

/// The response at one frequency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodePoint {
    pub frequency_hz: f64,
    /// Data: dB, degrees, and half the width of their bounds.
    pub magnitude_db: f64,
    pub phase_deg: f64,
    pub magnitude_bound_db: f64,
    pub phase_bound_deg: f64,
    pub coherence: f64,
    /// Fit.
    pub fit_db: f64,
    pub fit_deg: f64,
}

impl BodePage {
    /// One HTML file that needs nothing else.
    pub fn html(&self) -> String {
        let title = escape(&label(&self.title));
        let mut page = String::new();
        let _ = write!(
            page,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title} – twinrig identification</title>\n<style>\n{}</style>\n</head>\n<body>\n\
             <main>\n<header>\n<p class=\"kicker\">Identification of the transfer system</p>\n\
             <h1>{title}</h1>\n</header>\n",
            include_str!("page.css")
        );
        let (class, word) = match self.verdict.0 {
            Verdict::Good => ("good", "Identified"),
            Verdict::Doubtful => ("doubtful", "Identified, with doubts"),
            Verdict::Bad => ("bad", "Not usable"),
        };
        let _ = write!(
            page,
            "<section class=\"banner {class}\" role=\"status\">\n<h2>{word}</h2>\n<p>{}</p>\n\
             </section>\n<dl class=\"facts\">\n",
            escape(&self.verdict.1)
        );
        for (name, value) in &self.facts {
            let (name, value) = (escape(name), escape(&label(value)));
            let _ = writeln!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        page.push_str("</dl>\n");
        for section in &self.sections {
            section.write(&mut page);
        }
        page.push_str("</main>\n");
        page.push_str(&library());
        let _ = write!(page, "<script>\n{}</script>\n</body>\n</html>\n", include_str!("page.js"));
        page
    }
}

impl BodeSection {
    fn write(&self, page: &mut String) {
        let heading = escape(&label(&self.heading));
        let _ = write!(page, "<section>\n<h2>{heading}</h2>\n<div class=\"columns\">\n");
        write_table(page, &self.table, None);
        page.push_str("</div>\n");
        for note in &self.notes {
            let _ = writeln!(page, "<p class=\"notes\">{}</p>", escape(note));
        }
        if let Some(below) = &self.below {
            let heading = escape(&label(&below.heading));
            let _ = writeln!(page, "<h3 style=\"margin:26px 0 6px\">{heading}</h3>");
            write_table(page, &below.rows, below.marked);
            let note = escape(&below.note);
            let _ = writeln!(page, "<p style=\"margin:10px 0 26px\">{note}</p>");
        }
        let _ = write!(
            page,
            "<div class=\"figures\">\n<figure class=\"whole\">\n<figcaption><h3>Frequency response\
             </h3><p>Points: H1 by Welch's method, the hold divided out, with bounds of 95 %. Line: \
             the fitted transfer function. The band fitted is shaded.</p></figcaption>\n\
             <div class=\"plot\" role=\"img\" aria-label=\"Bode plot\" style=\"height:760px\"></div>\n\
             <script type=\"application/json\">{}</script>\n</figure>\n</div>\n</section>\n",
            script_json(&self.plotly())
        );
    }

    fn plotly(&self) -> Value {
        let stride = self.points.len().div_ceil(MOST_POINTS).max(1);
        let points: Vec<BodePoint> = self.points.iter().copied().step_by(stride).collect();
        let column = |of: &dyn Fn(&BodePoint) -> f64| -> Vec<Value> {
            numbers(points.iter().map(of).collect::<Vec<f64>>().into_iter())
        };
        let x = column(&|p| p.frequency_hz);
        let mut data = Vec::new();
        let panes: [(&str, &str, [Reading<'_>; 3]); 2] = [
            ("y", "dB", [&|p| p.magnitude_db, &|p| p.magnitude_bound_db, &|p| p.fit_db]),
            ("y2", "°", [&|p| p.phase_deg, &|p| p.phase_bound_deg, &|p| p.fit_deg]),
        ];
        for (index, (axis, unit, [value, bound, fit])) in panes.into_iter().enumerate() {
            let edge = json!({ "width": 0 });
            let upper = column(&|p| value(p) + bound(p));
            let lower = column(&|p| value(p) - bound(p));
            data.push(
                json!({ "type": "scatter", "mode": "lines", "x": x, "y": upper, "yaxis": axis,
                "line": edge, "showlegend": false, "hoverinfo": "skip" }),
            );
            data.push(
                json!({ "type": "scatter", "mode": "lines", "x": x, "y": lower, "yaxis": axis,
                "line": edge, "fill": "tonexty", "fillcolor": "rgba(0,114,178,0.22)",
                "name": "bounds of 95 %", "showlegend": index == 0, "hoverinfo": "skip" }),
            );
            let hover = format!("%{{y:.4g}} {unit}<extra>%{{fullData.name}}</extra>");
            data.push(json!({ "type": "scatter", "mode": "markers", "x": x, "y": column(value),
                "yaxis": axis, "marker": { "size": 4, "color": "#0072b2" }, "name": "measured (H1)",
                "showlegend": index == 0, "hovertemplate": hover }));
            data.push(json!({ "type": "scatter", "mode": "lines", "x": x, "y": column(fit),
                "yaxis": axis, "line": { "color": "#d55e00", "width": 1.8 }, "name": "fit",
                "showlegend": index == 0, "hovertemplate": hover }));
        }
        data.push(json!({ "type": "scatter", "mode": "lines", "x": x,
            "y": column(&|p| p.coherence), "yaxis": "y3",
            "line": { "color": "#009e73", "width": 1.4 }, "name": "coherence",
            "hovertemplate": "%{y:.5f}<extra>coherence</extra>" }));
        let mut layout = base_layout();
        layout["xaxis"] = axis("frequency [Hz]");
        layout["xaxis"]["type"] = json!("log");
        let ends = (points.first(), points.last());
        let lowest_hz = ends.0.map_or(0.1, |point| point.frequency_hz);
        if let (Some(first), Some(last)) = ends {
            // A logarithmic axis takes its range in powers of ten.
            let range = [first, last].map(|point| point.frequency_hz.log10());
            layout["xaxis"]["range"] = json!([range[0] - 0.03, range[1] + 0.03]);
        }
        layout["xaxis"]["anchor"] = json!("y3");
        layout["xaxis"]["mirror"] = json!("all");
        layout["hovermode"] = json!("x");
        layout["showlegend"] = json!(true);
        layout["height"] = json!(760);
        for (key, title, domain) in [
            ("yaxis", "magnitude [dB]", [0.62, 1.0]),
            ("yaxis2", "phase [°]", [0.24, 0.58]),
            ("yaxis3", "coherence [–]", [0.0, 0.2]),
        ] {
            layout[key] = axis(title);
            layout[key]["domain"] = json!(domain);
            layout[key]["anchor"] = json!("x");
        }
        layout["yaxis3"]["range"] = json!([0.0, 1.05]);
        layout["shapes"] = json!([{
            "type": "rect", "xref": "x", "yref": "paper", "x0": self.band_hz.0.max(lowest_hz),
            "x1": self.band_hz.1, "y0": 0, "y1": 1, "fillcolor": "#0072b2", "opacity": 0.05,
            "layer": "below", "line": { "width": 0 },
        }]);
        json!({ "data": data, "layout": layout })
    }
}

/// A table whose first row is its header; the row `marked` is set in bold.
fn write_table(page: &mut String, rows: &[[String; 4]], marked: Option<usize>) {
    page.push_str("<table>\n");
    for (index, row) in rows.iter().enumerate() {
        let (cell, open) = if index == 0 { ("th", "<thead>") } else { ("td", "") };
        let _ = write!(page, "{open}<tr>");
        let is_marked = index.checked_sub(1).is_some_and(|row| marked == Some(row));
        for (column, text) in row.iter().enumerate() {
            let class = if (1..3).contains(&column) { " class=\"n\"" } else { "" };
            let text = escape(text);
            let text = if is_marked { format!("<strong>{text}</strong>") } else { text };
            let _ = write!(page, "<{cell}{class}>{text}</{cell}>");
        }
        page.push_str(if index == 0 { "</tr></thead>\n<tbody>\n" } else { "</tr>\n" });
    }
    page.push_str("</tbody>\n</table>\n");
}
