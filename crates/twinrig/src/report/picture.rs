//! Curves in panes side by side: one description, drawn as SVG for documents and
//! as an interactive page.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::bode::Verdict;
use super::figure::{axis, base_layout, numbers};
use super::labels::{Area, Label};
use super::page::{POLICY, library};
use super::text::{escape, label, script_json};

/// Colours that people of any colour vision can tell apart (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const INK: &str = "#1f2933";
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 430.0;
/// Left, top, right and bottom of a pane's frame.
pub(super) const FRAME: Area = [76.0, 64.0, 500.0, 376.0];
/// Height of a row of the legend; the frame has room for one above it.
const LEGEND_ROW: f64 = 15.0;

/// A picture of several panes.
pub struct Picture {
    /// Text; it may be the user's.
    pub title: String,
    /// How good it is, and why, in words.
    pub verdict: (Verdict, &'static str, String),
    /// Names and values for the head of the page.
    pub facts: Vec<(String, String)>,
    /// Shown below the panes, on the page only.
    pub tables: Vec<Table>,
    pub panes: Vec<Pane>,
}

/// A table; our words and numbers.
pub struct Table {
    pub title: &'static str,
    pub header: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// Curves over one pair of axes.
pub struct Pane {
    pub title: String,
    /// Markup: our words, never text from a file.
    pub caption: String,
    pub x: Span,
    pub y: Span,
    /// Equal scales on both axes.
    pub square: Square,
    pub curves: Vec<Curve>,
    /// Points to mark, with our words.
    pub marks: Vec<(f64, f64, String)>,
    /// Values of x to mark, with our words.
    pub walls: Vec<(f64, String)>,
}

/// Whether both axes have one scale.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Square {
    Yes,
    No,
}

/// An axis.
pub struct Span {
    pub title: &'static str,
    pub low: f64,
    pub high: f64,
}

/// One curve; a point that is not finite is a gap.
pub struct Curve {
    /// Our words.
    pub name: String,
    pub look: Look,
    pub points: Vec<(f64, f64)>,
}

/// What a curve looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// One of many.
    Number(usize),
    /// To compare with.
    Faint,
}

impl Look {
    fn colour(self) -> &'static str {
        match self {
            Self::Number(i) => COLOURS[i % COLOURS.len()],
            Self::Faint => "#9aa5b1",
        }
    }

    fn dash(self) -> &'static str {
        match self {
            Self::Number(i) if i < COLOURS.len() => "solid",
            _ => "dash",
        }
    }
}

impl Picture {
    /// A picture for documents.
    pub fn svg(&self) -> String {
        let (width, title) = (WIDTH * self.panes.len() as f64, escape(&label(&self.title)));
        let rows = self.panes.iter().map(|pane| pane.legend_places().1).max().unwrap_or(1);
        let lift = LEGEND_ROW * (rows - 1) as f64;
        let height = HEIGHT + lift;
        let mut text = String::new();
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"system-ui, 'Segoe UI', Roboto, \
             Arial, sans-serif\" font-size=\"13\" fill=\"{INK}\">\n<title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
             <text x=\"{}\" y=\"22\" font-size=\"15\" font-weight=\"600\">{title}</text>\n",
            FRAME[0]
        );
        for (index, pane) in self.panes.iter().enumerate() {
            let _ = writeln!(text, "<g transform=\"translate({} 0)\">", WIDTH * index as f64);
            pane.svg(&mut text, index, lift);
            text.push_str("</g>\n");
        }
        text.push_str("</svg>\n");
        text
    }

    /// One HTML file that needs nothing else.
    pub fn html(&self, kicker: &str) -> String {
        let title = escape(&label(&self.title));
        let mut page = String::new();
        let _ = write!(
            page,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title} – twinrig</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n\
             <header>\n<p class=\"kicker\">{kicker}</p>\n<h1>{title}</h1>\n</header>\n",
            include_str!("page.css")
        );
        let class = match self.verdict.0 {
            Verdict::Good => "good",
            Verdict::Doubtful => "doubtful",
            Verdict::Bad => "bad",
        };
        let _ = write!(
            page,
            "<section class=\"banner {class}\" role=\"status\">\n<h2>{}</h2>\n<p>{}</p>\n\
             </section>\n<dl class=\"facts\">\n",
            self.verdict.1,
            escape(&self.verdict.2)
        );
        for (name, value) in &self.facts {
            let (name, value) = (escape(name), escape(&label(value)));
            let _ = writeln!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        page.push_str("</dl>\n<section>\n<div class=\"figures\">\n");
        for pane in &self.panes {
            let _ = write!(
                page,
                "<figure class=\"whole\">\n<figcaption><h3>{}</h3><p>{}</p></figcaption>\n\
                 <div class=\"plot\" role=\"img\" aria-label=\"{}\" style=\"height:560px\"></div>\n\
                 <script type=\"application/json\">{}</script>\n</figure>\n",
                escape(&pane.title),
                pane.caption,
                escape(&pane.title),
                script_json(&pane.plotly())
            );
        }
        page.push_str("</div>\n</section>\n");
        for table in &self.tables {
            table.html(&mut page);
        }
        page.push_str("</main>\n");
        page.push_str(&library());
        let _ = write!(page, "<script>\n{}</script>\n</body>\n</html>\n", include_str!("page.js"));
        page
    }
}

impl Table {
    fn html(&self, page: &mut String) {
        let _ = write!(page, "<section>\n<h2>{}</h2>\n<table>\n<thead><tr>", escape(self.title));
        for (column, name) in self.header.iter().enumerate() {
            let class = if column == 0 { "" } else { " class=\"n\"" };
            let _ = write!(page, "<th{class}>{}</th>", escape(name));
        }
        page.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            page.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let cell = escape(&label(cell));
                let _ = match column {
                    0 => write!(page, "<th>{cell}</th>"),
                    _ => write!(page, "<td class=\"n\">{cell}</td>"),
                };
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</tbody>\n</table>\n</section>\n");
    }
}

impl Pane {
    pub(super) fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let share = |span: &Span, value: f64| (value - span.low) / (span.high - span.low);
        let [left, top, right, bottom] = FRAME;
        let (sx, sy) = (share(&self.x, x), share(&self.y, y));
        // Far outside is as good as outside, and keeps the numbers short.
        let clamp = |share: f64| share.clamp(-5.0, 6.0);
        (left + clamp(sx) * (right - left), bottom - clamp(sy) * (bottom - top))
    }

    /// `lift`: what further rows of the legend take above the frame.
    fn svg(&self, text: &mut String, index: usize, lift: f64) {
        let [left, top, right, bottom] = FRAME;
        let (title, (marks, walls)) = (escape(&self.title), self.labels());
        let _ = writeln!(text, "<text x=\"{left}\" y=\"44\" font-weight=\"600\">{title}</text>");
        self.legend(text);
        let _ = writeln!(text, "<g transform=\"translate(0 {lift})\">");
        let _ = writeln!(
            text,
            "<clipPath id=\"pane{index}\"><rect x=\"{left}\" y=\"{top}\" width=\"{}\" \
             height=\"{}\"/></clipPath>",
            right - left,
            bottom - top
        );
        self.ticks(text);
        let _ = writeln!(text, "<g clip-path=\"url(#pane{index})\">");
        for (x, _) in &self.walls {
            let (x, _) = self.place(*x, self.y.low);
            let _ = writeln!(
                text,
                "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"{INK}\" stroke-dasharray=\"5 4\"/>"
            );
        }
        for curve in &self.curves {
            let dash = if curve.look.dash() == "dash" { " stroke-dasharray=\"6 4\"" } else { "" };
            let _ = writeln!(
                text,
                "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{dash}/>",
                self.path(&curve.points),
                curve.look.colour()
            );
        }
        for (x, y, _) in &self.marks {
            let (x, y) = self.place(*x, *y);
            let _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{INK}\"/>");
        }
        text.push_str("</g>\n");
        let small = "font-size=\"12\" paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\"";
        let named = self.marks.iter().map(|mark| &mark.2).zip(&marks);
        for (words, label) in named.chain(self.walls.iter().map(|wall| &wall.1).zip(&walls)) {
            let (Label { x, y, .. }, words) = (label, escape(words));
            let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"{y:.1}\" {small}>{words}</text>");
        }
        let _ = write!(
            text,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"none\" \
             stroke=\"#7b8794\"/>\n<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n\
             </g>\n",
            right - left,
            bottom - top,
            0.5 * (left + right),
            bottom + 38.0,
            escape(self.x.title),
            0.5 * (top + bottom),
            escape(self.y.title),
        );
    }

    fn path(&self, points: &[(f64, f64)]) -> String {
        let (mut path, mut down) = (String::new(), false);
        let mut last = (f64::NAN, f64::NAN);
        for &(x, y) in points {
            if !(x.is_finite() && y.is_finite()) {
                down = false;
                continue;
            }
            let (x, y) = self.place(x, y);
            // Nearer than a third of a pixel shows nothing new.
            if down && (x - last.0).hypot(y - last.1) < 0.3 {
                continue;
            }
            let _ = write!(path, "{}{x:.1} {y:.1}", if down { 'L' } else { 'M' });
            (down, last) = (true, (x, y));
        }
        path
    }

    fn ticks(&self, text: &mut String) {
        let [left, top, right, bottom] = FRAME;
        for value in ticks(self.x.low, self.x.high) {
            let (x, _) = self.place(value, self.y.low);
            let _ = writeln!(
                text,
                "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#e4e7eb\"/><text x=\"{x:.1}\" \
                 y=\"{}\" text-anchor=\"middle\" font-size=\"12\">{value}</text>",
                bottom + 17.0
            );
        }
        for value in ticks(self.y.low, self.y.high) {
            let (_, y) = self.place(self.x.low, value);
            let _ = writeln!(
                text,
                "<path d=\"M{left} {y:.1}H{right}\" stroke=\"#e4e7eb\"/><text x=\"{}\" \
                 y=\"{:.1}\" text-anchor=\"end\" font-size=\"12\">{value}</text>",
                left - 6.0,
                y + 4.0
            );
        }
    }

    fn legend(&self, text: &mut String) {
        let (places, _) = self.legend_places();
        for (curve, (x, row)) in self.curves.iter().zip(places) {
            let dash = if curve.look.dash() == "dash" { " stroke-dasharray=\"4 3\"" } else { "" };
            let _ = writeln!(
                text,
                "<g transform=\"translate({x:.0} {:.0})\"><path d=\"M0 2h14\" stroke=\"{}\" \
                 stroke-width=\"2\"{dash}/><text x=\"18\" y=\"6\" font-size=\"11\">{}</text></g>",
                52.0 + LEGEND_ROW * row as f64,
                curve.look.colour(),
                escape(&curve.name)
            );
        }
    }

    /// Where each curve's name begins and in which row, and how many rows there are.
    fn legend_places(&self) -> (Vec<(f64, usize)>, usize) {
        let [left, _, right, _] = FRAME;
        let (mut at, mut row) = (left, 0);
        let mut places = Vec::new();
        for curve in &self.curves {
            let wide = 30.0 + 6.2 * curve.name.chars().count() as f64;
            if at > left && at + wide > right + 12.0 {
                (at, row) = (left, row + 1);
            }
            places.push((at, row));
            at += wide;
        }
        (places, row + 1)
    }

    fn plotly(&self) -> Value {
        let (marks, walls) = self.labels();
        let mut layout = base_layout();
        layout["xaxis"] = axis(self.x.title);
        layout["yaxis"] = axis(self.y.title);
        layout["xaxis"]["range"] = json!([self.x.low, self.x.high]);
        layout["yaxis"]["range"] = json!([self.y.low, self.y.high]);
        if self.square == Square::Yes {
            layout["yaxis"]["scaleanchor"] = json!("x");
        }
        layout["height"] = json!(560);
        layout["hovermode"] = json!("closest");
        let mut data: Vec<Value> = self
            .curves
            .iter()
            .map(|curve| {
                json!({
                    "type": "scatter", "mode": "lines", "name": escape(&curve.name),
                    "x": numbers(curve.points.iter().map(|p| p.0)),
                    "y": numbers(curve.points.iter().map(|p| p.1)),
                    "line": { "color": curve.look.colour(), "width": 1.8,
                              "dash": curve.look.dash() },
                    "connectgaps": false,
                })
            })
            .collect();
        if !self.marks.is_empty() {
            data.push(json!({
                "type": "scatter", "mode": "markers+text", "showlegend": false,
                "x": numbers(self.marks.iter().map(|m| m.0)),
                "y": numbers(self.marks.iter().map(|m| m.1)),
                "text": self.marks.iter().map(|m| escape(&m.2)).collect::<Vec<_>>(),
                "textposition": marks.iter().map(|mark| mark.side).collect::<Vec<_>>(),
                "marker": { "color": INK, "size": 8 },
            }));
        }
        layout["shapes"] = self
            .walls
            .iter()
            .map(|(x, _)| {
                json!({ "type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0,
                        "y1": 1, "line": { "color": INK, "width": 1.2, "dash": "dash" } })
            })
            .collect();
        layout["annotations"] = self
            .walls
            .iter()
            .zip(&walls)
            .map(|((x, words), label)| {
                let [_, top, _, bottom] = FRAME;
                let up = 1.0 - (label.y - 4.0 - top) / (bottom - top);
                json!({ "xref": "x", "x": x, "yref": "paper", "y": up, "text": escape(words),
                        "showarrow": false, "xanchor": label.side, "yanchor": "middle",
                        "xshift": if label.side == "left" { 5 } else { -5 },
                        "font": { "size": 12, "color": INK } })
            })
            .collect();
        json!({ "data": data, "layout": layout })
    }
}

/// Five or so round values within an axis.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough);
    let step = step.unwrap_or(10.0 * power);
    let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    let round = |value: f64| format!("{value:.digits$}").parse::<f64>().unwrap_or(value) + 0.0;
    (first..=last).take(40).map(|i| round(i as f64 * step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        let span = |title| Span { title, low: -1.0, high: 2.0 };
        let points = vec![(0.0, 0.0), (f64::NAN, 1.0), (1e300, 1.0), (0.5, 0.25)];
        Picture {
            title: "A <b>frame</b>".into(),
            verdict: (Verdict::Good, "Stable", "as <it> is".into()),
            facts: vec![("name".into(), "<value>".into())],
            tables: vec![Table {
                title: "Modes",
                header: vec!["mode", "damping"],
                rows: vec![vec!["1".into(), "<3 %>".into()]],
            }],
            panes: vec![Pane {
                title: "Loop gain".into(),
                caption: "A curve.".into(),
                x: span("x"),
                y: span("y"),
                square: Square::Yes,
                curves: vec![Curve { name: "L".into(), look: Look::Number(0), points }],
                marks: vec![(-1.0, 0.0, "−1".into())],
                walls: vec![(0.5, "here".into())],
            }],
        }
    }

    #[test]
    fn both_forms_hold_the_curve_and_no_foreign_markup() {
        let (svg, html) = (picture().svg(), picture().html("Check"));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains("<b>") && !html.contains("<b>frame") && !html.contains("<value>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(svg.contains("A &lt;b&gt;frame"), "{svg}");
        assert_eq!(
            svg.matches("<path").count(),
            svg.matches("/>").count()
                - svg.matches("<rect").count()
                - svg.matches("<circle").count()
        );
    }

    #[test]
    fn a_long_legend_takes_further_rows_and_stays_within() {
        let mut picture = picture();
        let curve = |i: usize| Curve {
            name: format!("mode {i}, {i}0.25 Hz"),
            look: Look::Number(i),
            points: vec![(0.0, 0.0)],
        };
        let pane = &mut picture.panes[0];
        assert_eq!(pane.legend_places().1, 1);
        pane.curves = (0..7).map(curve).collect();
        let (places, rows) = pane.legend_places();
        assert!(rows > 1);
        for (curve, (x, row)) in pane.curves.iter().zip(places) {
            assert!(x + 18.0 + 6.2 * curve.name.chars().count() as f64 <= WIDTH && row < rows);
        }
        let svg = picture.svg();
        assert!(svg.contains(&format!("height=\"{}\"", HEIGHT + LEGEND_ROW * (rows - 1) as f64)));
        assert_eq!(svg.matches("<g").count(), svg.matches("</g>").count());
        assert!(picture.html("Check").contains("&lt;3 %&gt;"));
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(ticks(0.0, 3.0), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]);
        assert_eq!(ticks(-0.031, 0.012), [-0.03, -0.02, -0.01, 0.0, 0.01]);
        assert!(ticks(1.0, 1.0).is_empty() && ticks(f64::NAN, 1.0).is_empty());
    }
}
