//! A figure as a picture that any browser, text processor or README shows.

use std::fmt::Write as _;

use super::figure::{
    Field, Figure, MarkKind, Meaning, Pane, Role, Rule, Scale, Series, Shape, Symbol, Tone,
};
use super::text::{escape, label};
use super::ticks::ticks;

const INK: &str = "#1f2933";
/// Width of one figure of several, and of one alone.
const WIDTHS: [f64; 2] = [560.0, 760.0];
/// Left and right margin, room below a frame, a row of words.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 18.0;
const BELOW: f64 = 48.0;
const ROW: f64 = 16.0;
/// About the width of a letter in the small font.
const LETTER: f64 = 6.6;

/// Stable and unstable, what nobody judged, and the strokes over the unstable.
pub(super) const STABILITY: [&str; 4] = ["#dcebf7", "#d9a37a", "#d9dde2", "#a86b3c"];
/// From decay to growth.
pub(super) const GROWTH: [&str; 11] = [
    "#2166ac", "#4b85bd", "#75a3cd", "#a2c2dd", "#cddcea", "#f7f7f7", "#edcfc9", "#e3a79c",
    "#d97f73", "#c84c4b", "#b2182b",
];

/// These figures beside each other, under one title.
pub fn svg(title: &str, figures: &[Figure]) -> String {
    let title = escape(&label(title));
    let each = WIDTHS[usize::from(figures.len() == 1)];
    let mut body = String::new();
    let mut height: f64 = 0.0;
    for (index, figure) in figures.iter().enumerate() {
        let mut drawing = Drawing { text: String::new(), width: each, clip: 100 * index };
        height = height.max(drawing.figure(figure, figures.len() > 1));
        let left = each * index as f64;
        let _ = writeln!(body, "<g transform=\"translate({left} 0)\">\n{}</g>", drawing.text);
    }
    let width = each * figures.len() as f64;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" \
         width=\"{width}\" height=\"{height:.0}\" font-family=\"system-ui, 'Segoe UI', Roboto, \
         Arial, sans-serif\" font-size=\"12\" fill=\"{INK}\">\n<title>{title}</title>\n\
         <defs><pattern id=\"hatch\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"8\" height=\"8\" fill=\"{}\"/>\
         <path d=\"M0 0V8\" stroke=\"{}\" stroke-width=\"1.4\"/></pattern></defs>\n\
         <rect width=\"{width}\" height=\"{height:.0}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\" font-weight=\"600\">{title}</text>\n\
         {body}</svg>\n",
        STABILITY[1], STABILITY[3]
    )
}

/// One figure while it is drawn.
struct Drawing {
    text: String,
    width: f64,
    clip: usize,
}

/// A pane with its place.
struct Frame<'a> {
    pane: &'a Pane,
    ranges: [(f64, f64); 2],
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Frame<'_> {
    fn x(&self, value: f64) -> f64 {
        let part = share(self.pane.x.scale, self.ranges[0], value);
        self.left + part.clamp(-5.0, 6.0) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        let part = share(self.pane.y.scale, self.ranges[1], value);
        self.bottom - part.clamp(-5.0, 6.0) * (self.bottom - self.top)
    }

    fn path(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let (mut path, mut last) = (String::new(), None);
        for (x, y) in points {
            let (x, y) = (self.x(x), self.y(y));
            if !(x.is_finite() && y.is_finite()) {
                last = None;
                continue;
            }
            // Nearer than a third of a pixel shows nothing new.
            if last.is_some_and(|(a, b): (f64, f64)| (x - a).hypot(y - b) < 0.3) {
                continue;
            }
            let _ = write!(path, "{}{x:.1} {y:.1}", if last.is_some() { 'L' } else { 'M' });
            last = Some((x, y));
        }
        path
    }
}

/// How far along an axis a value lies; NaN where it has no place on it.
fn share(scale: Scale, (low, high): (f64, f64), value: f64) -> f64 {
    match scale {
        Scale::Linear => (value - low) / (high - low),
        Scale::Log if value > 0.0 => (value / low).ln() / (high / low).ln(),
        Scale::Log => f64::NAN,
    }
}

impl Drawing {
    /// Draws it; the height it takes.
    fn figure(&mut self, figure: &Figure, titled: bool) -> f64 {
        let mut top = 34.0;
        if titled {
            let title = escape(&label(&figure.title));
            let _ = writeln!(
                self.text,
                "<text x=\"{LEFT}\" y=\"44\" font-weight=\"600\" font-size=\"13\">{title}</text>"
            );
            top = 52.0;
        }
        for pane in &figure.panes {
            let ranges = pane.ranges();
            top = self.legend(pane, top) + ROW * above(pane, self.width).1 as f64;
            let wide = self.width - LEFT - RIGHT;
            let high = match pane.shape {
                Shape::High(pixels) => pixels,
                Shape::Square => wide.min(480.0),
                Shape::Equal => {
                    let span = |(low, high): (f64, f64)| high - low;
                    (wide * span(ranges[1]) / span(ranges[0])).min(560.0)
                }
            };
            let (left, right, bottom) = (LEFT, LEFT + wide, top + high);
            self.pane(&Frame { pane, ranges, left, top, right, bottom });
            top = bottom + BELOW;
        }
        top
    }

    /// The names of the series, in as many rows as they need; where the next thing begins.
    fn legend(&mut self, pane: &Pane, top: f64) -> f64 {
        let (mut at, mut row) = (LEFT, top + 8.0);
        for (name, role, sample) in pane.series.iter().filter_map(named) {
            let wide = 44.0 + LETTER * name.chars().count() as f64;
            if at > LEFT && at + wide > self.width {
                (at, row) = (LEFT, row + ROW);
            }
            let look = role.look();
            let shape = match sample {
                Sample::Line => format!(
                    "<path d=\"M0 0h26\" stroke=\"{}\" stroke-width=\"{}\"{}/>",
                    look.light,
                    look.width,
                    dash(look.dash)
                ),
                Sample::Area => format!(
                    "<rect y=\"-4\" width=\"26\" height=\"8\" fill=\"{}\" opacity=\"0.35\"/>",
                    look.light
                ),
                Sample::Symbol(symbol) => shape(symbol, look.light, 13.0, 0.0),
            };
            let _ = writeln!(
                self.text,
                "<g transform=\"translate({at:.0} {row:.0})\">{shape}<text x=\"31\" y=\"4\">{}</text></g>",
                escape(name)
            );
            at += wide;
        }
        if at > LEFT { row + 12.0 } else { top }
    }

    fn pane(&mut self, frame: &Frame<'_>) {
        let Frame { pane, left, top, right, bottom, .. } = *frame;
        let (wide, high) = (right - left, bottom - top);
        self.clip += 1;
        let clip = self.clip;
        let _ = writeln!(
            self.text,
            "<clipPath id=\"pane{clip}\"><rect x=\"{left}\" y=\"{top:.1}\" width=\"{wide}\" \
             height=\"{high:.1}\"/></clipPath>\n<g clip-path=\"url(#pane{clip})\">"
        );
        for shade in &pane.shaded {
            let (from, to) = (frame.x(shade.from), frame.x(shade.to));
            let colour = match shade.tone {
                Tone::Phase => "#56b4e9",
                Tone::Trip => "#d55e00",
            };
            let _ = writeln!(
                self.text,
                "<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{high:.1}\" \
                 fill=\"{colour}\" opacity=\"0.12\"/>",
                to - from
            );
        }
        for series in &pane.series {
            if let Series::Field(field) = series {
                self.field(frame, field);
            }
        }
        let labels = self.grid(frame);
        for series in &pane.series {
            self.series(frame, series);
        }
        self.marks(frame);
        let _ = writeln!(
            self.text,
            "</g>\n<rect x=\"{left}\" y=\"{top:.1}\" width=\"{wide}\" height=\"{high:.1}\" \
             fill=\"none\" stroke=\"#7b8794\"/>\n{labels}\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"13\">{}</text>\n\
             <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\" \
             font-size=\"13\">{}</text>",
            0.5 * (left + right),
            bottom + 36.0,
            escape(&pane.x.title),
            0.5 * (top + bottom),
            escape(&pane.y.title),
        );
        for (x, text, at, row) in above(pane, self.width).0 {
            let y = top - 4.0 - ROW * row as f64;
            let _ = writeln!(
                self.text,
                "<path d=\"M{:.1} {top:.1}V{:.1}\" stroke=\"#7b8794\"/><text x=\"{at:.1}\" y=\"{y:.1}\">{}</text>",
                frame.x(x),
                y - 8.0,
                escape(&text)
            );
        }
    }

    /// The grid's lines; what it returns stands outside of the frame.
    fn grid(&mut self, frame: &Frame<'_>) -> String {
        let Frame { pane, left, top, right, bottom, .. } = *frame;
        let mut outside = String::new();
        for (value, text) in ticks(pane.x.scale, frame.ranges[0], (right - left) / 80.0) {
            let x = frame.x(value);
            let _ = writeln!(
                self.text,
                "<path d=\"M{x:.1} {top:.1}V{bottom:.1}\" stroke=\"{INK}\" stroke-opacity=\"0.1\"/>"
            );
            let _ = writeln!(
                outside,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                bottom + 17.0
            );
        }
        let up = ticks(pane.y.scale, frame.ranges[1], (bottom - top) / 32.0);
        // An axis without a title is no axis.
        for (value, text) in up.into_iter().filter(|_| !pane.y.title.is_empty()) {
            let y = frame.y(value);
            let _ = writeln!(
                self.text,
                "<path d=\"M{left} {y:.1}H{right}\" stroke=\"{INK}\" stroke-opacity=\"0.1\"/>"
            );
            let _ = writeln!(
                outside,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                left - 6.0,
                y + 4.0
            );
        }
        outside
    }

    fn series(&mut self, frame: &Frame<'_>, series: &Series) {
        match series {
            Series::Line { role, points, .. } => {
                let (look, path) = (role.look(), frame.path(points.iter().copied()));
                let _ = writeln!(
                    self.text,
                    "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}/>",
                    look.light,
                    look.width,
                    dash(look.dash)
                );
            }
            Series::Points { role, symbol, points, .. } => {
                for point in points {
                    let (x, y) = (frame.x(point.at.0), frame.y(point.at.1));
                    if x.is_finite() && y.is_finite() {
                        self.text += &shape(*symbol, role.look().light, x, y);
                    }
                }
            }
            Series::Band { role, points, .. } => {
                for pair in points.windows(2) {
                    let corners = [
                        (pair[0].0, pair[0].1),
                        (pair[0].0, pair[0].2),
                        (pair[1].0, pair[1].2),
                        (pair[1].0, pair[1].1),
                    ];
                    let path = frame.path(corners.into_iter());
                    let _ = writeln!(
                        self.text,
                        "<path d=\"{path}Z\" fill=\"{}\" opacity=\"0.22\"/>",
                        role.look().light
                    );
                }
            }
            Series::Steps { role, bins, .. } => {
                for &(low, high, value) in bins {
                    let corners = [
                        (low, frame.ranges[1].0),
                        (low, value),
                        (high, value),
                        (high, frame.ranges[1].0),
                    ];
                    let path = frame.path(corners.into_iter());
                    let _ = writeln!(
                        self.text,
                        "<path d=\"{path}\" fill=\"{}\" fill-opacity=\"0.2\"/>",
                        role.look().light
                    );
                }
            }
            Series::Field(_) => {}
        }
    }

    fn marks(&mut self, frame: &Frame<'_>) {
        let Frame { pane, left, top, right, bottom, .. } = *frame;
        const HALO: &str = "paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\"";
        for rule in &pane.lines {
            let (path, text, y) = match rule {
                Rule::Event(at, _) => {
                    (format!("M{:.1} {top:.1}V{bottom:.1}", frame.x(*at)), "", 0.0)
                }
                Rule::Limit(at, text) => {
                    (format!("M{left} {:.1}H{right}", frame.y(*at)), text.as_str(), frame.y(*at))
                }
            };
            let _ = writeln!(
                self.text,
                "<path d=\"{path}\" stroke=\"{INK}\" stroke-dasharray=\"5 4\"/><text x=\"{:.1}\" \
                 y=\"{:.1}\" text-anchor=\"end\" {HALO}>{}</text>",
                right - 6.0,
                y - 5.0,
                escape(text)
            );
        }
        let mut words: Vec<(f64, f64)> = Vec::new();
        for mark in &pane.marks {
            let (x, y) = (frame.x(mark.at.0), frame.y(mark.at.1));
            let flip = x + 12.0 + LETTER * mark.text.chars().count() as f64 > right;
            let (anchor, at, up) = match mark.kind {
                MarkKind::Words => ("middle", x, y + 4.0),
                MarkKind::Place if flip => ("end", x - 9.0, y - 8.0),
                MarkKind::Place => ("start", x + 9.0, y - 8.0),
            };
            if mark.kind == MarkKind::Place {
                let cross = format!("M{:.1} {y:.1}h12M{x:.1} {:.1}v12", x - 6.0, y - 6.0);
                let _ = writeln!(
                    self.text,
                    "<path d=\"{cross}\" stroke=\"#ffffff\" stroke-width=\"5\"/><path d=\"{cross}\" \
                     stroke=\"{INK}\" stroke-width=\"2.2\"/>"
                );
            }
            // Below the place where the words of another stand above it.
            let near = |&(a, b): &(f64, f64)| (a - x).abs() < 90.0 && (b - y).abs() < 16.0;
            let up = if up < top + 12.0 || words.iter().any(near) { y + 18.0 } else { up };
            words.push((x, y));
            let _ = writeln!(
                self.text,
                "<text x=\"{at:.1}\" y=\"{up:.1}\" text-anchor=\"{anchor}\" font-weight=\"600\" {HALO}>{}</text>",
                escape(&mark.text)
            );
        }
    }

    fn field(&mut self, frame: &Frame<'_>, field: &Field) {
        let [columns, rows] = field.size;
        if columns < 2 || rows < 2 || field.values.len() < columns * rows {
            return;
        }
        if let Meaning::Stability(polygons) = &field.meaning {
            let _ = writeln!(
                self.text,
                "<rect x=\"{}\" y=\"{:.1}\" width=\"{}\" height=\"{:.1}\" fill=\"url(#hatch)\"/>",
                frame.left,
                frame.top,
                frame.right - frame.left,
                frame.bottom - frame.top
            );
            let path: String =
                polygons.iter().map(|polygon| frame.path(polygon.iter().copied()) + "Z").collect();
            let _ = writeln!(
                self.text,
                "<path d=\"{path}\" fill=\"{0}\" stroke=\"{0}\" stroke-width=\"0.6\"/>",
                STABILITY[0]
            );
        }
        let colour = |value: f64| match &field.meaning {
            _ if value.is_nan() => Some(STABILITY[2]),
            Meaning::Stability(_) => None,
            Meaning::Growth(most) => Some(GROWTH[level(value, *most)]),
        };
        let step = |(low, high): (f64, f64), count: usize| (high - low) / (count - 1) as f64;
        let (dx, dy) = (step(field.x, columns), step(field.y, rows));
        self.text.push_str("<g shape-rendering=\"crispEdges\">\n");
        for (row, values) in field.values.chunks(columns).take(rows).enumerate() {
            let mut start = 0;
            for run in values.chunk_by(|a, b| colour(*a) == colour(*b)) {
                let end = start + run.len();
                if let Some(colour) = colour(run[0]) {
                    let edge = |index: usize| frame.x(field.x.0 + (index as f64 - 0.5) * dx);
                    let (x0, x1) = (edge(start), edge(end));
                    let middle = field.y.0 + row as f64 * dy;
                    let (y0, y1) = (frame.y(middle + 0.5 * dy), frame.y(middle - 0.5 * dy));
                    // A hair wider, so that no seam shows between two of them.
                    let _ = writeln!(
                        self.text,
                        "<rect x=\"{x0:.1}\" y=\"{y0:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
                        x1 - x0 + 0.3,
                        y1 - y0 + 0.3
                    );
                }
                start = end;
            }
        }
        self.text.push_str("</g>\n");
    }
}

/// Which of the colours of growth a value has.
fn level(value: f64, most: f64) -> usize {
    (5.0 + (5.0 * value / most).clamp(-5.0, 5.0).round()) as usize
}

enum Sample {
    Line,
    Area,
    Symbol(Symbol),
}

/// What the legend says of a series, if it has a name.
fn named(series: &Series) -> Option<(&str, Role, Sample)> {
    let (name, role, sample) = match series {
        Series::Line { role, name, .. } => (name, role, Sample::Line),
        Series::Points { role, name, symbol, .. } => (name, role, Sample::Symbol(*symbol)),
        Series::Band { role, name, .. } | Series::Steps { role, name, .. } => {
            (name, role, Sample::Area)
        }
        Series::Field(_) => return None,
    };
    (!name.is_empty()).then_some((name.as_str(), *role, sample))
}

fn dash(pattern: &str) -> String {
    if pattern.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{pattern}\"") }
}

fn shape(symbol: Symbol, colour: &str, x: f64, y: f64) -> String {
    let open = |path: &str| {
        format!(
            "<path transform=\"translate({x:.1} {y:.1})\" d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>\n"
        )
    };
    match symbol {
        Symbol::Circle => {
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"/>\n")
        }
        Symbol::Diamond => open("M0-4.5L4.5 0L0 4.5L-4.5 0Z"),
        Symbol::Cross => open("M-3.5-3.5L3.5 3.5M-3.5 3.5L3.5-3.5"),
        Symbol::Hidden => String::new(),
    }
}

/// Words above the frame: x, text, left end and row; and how many rows there are.
fn above(pane: &Pane, width: f64) -> (Vec<(f64, String, f64, usize)>, usize) {
    let events = pane.lines.iter().filter_map(|rule| match rule {
        Rule::Event(at, text) => Some((*at, text.clone())),
        Rule::Limit(..) => None,
    });
    let shaded = pane.shaded.iter().map(|shade| (shade.from, shade.text.clone()));
    let mut words: Vec<(f64, String)> = events.chain(shaded).collect();
    words.retain(|(x, text)| x.is_finite() && !text.is_empty());
    words.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (range, right) = (pane.ranges()[0], width - RIGHT);
    let mut ends: Vec<f64> = Vec::new();
    let placed = words.into_iter().map(|(x, text)| {
        let wide = LETTER * text.chars().count() as f64;
        let at = LEFT + share(pane.x.scale, range, x) * (right - LEFT) + 2.0;
        let at = at.min(right - wide).max(LEFT);
        let row = ends.iter().position(|end| *end < at).unwrap_or(ends.len());
        ends.resize(ends.len().max(row + 1), 0.0);
        ends[row] = at + wide + 10.0;
        (x, text, at, row)
    });
    let placed: Vec<_> = placed.collect();
    (placed, ends.len())
}

#[cfg(test)]
mod tests {
    use super::super::figure::Axis;
    use super::*;

    fn figure(curves: usize) -> Figure {
        let axis = |title: &str| Axis::new(title).range(-1.0, 2.0);
        let points = vec![(0.0, 0.0), (f64::NAN, 1.0), (1e300, 1.0), (0.5, 0.25)];
        let mut pane = Pane::new(axis("x"), axis("y")).event(0.5, "here").limit(0.7, "<limit>");
        for i in 0..curves {
            pane = pane.line(Role::Other(i), format!("mode {i}, {i}0.25 Hz"), points.clone());
        }
        Figure::new("Loop <gain>", "", vec![pane.mark((-1.0, 0.0), "−1", MarkKind::Place)])
    }

    #[test]
    fn a_picture_holds_its_curves_and_no_foreign_markup() {
        let text = svg("A <b>frame</b>", &[figure(1), figure(7)]);
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
        assert!(text.contains("A &lt;b&gt;frame") && text.contains("Loop &lt;gain"), "{text}");
        assert!(!text.contains("<b>") && !text.contains("NaN") && !text.contains("inf"), "{text}");
        assert_eq!(text.matches("<g").count(), text.matches("</g>").count());
        assert_eq!(
            text.matches("stroke=\"#332288\"").count(),
            6,
            "legends, curves, one of 7 again"
        );
    }

    #[test]
    fn a_long_legend_takes_further_rows() {
        let mut drawing = Drawing { text: String::new(), width: 560.0, clip: 0 };
        let one = drawing.figure(&figure(1), false);
        let mut drawing = Drawing { text: String::new(), width: 560.0, clip: 0 };
        assert!(drawing.figure(&figure(7), false) >= one + ROW);
    }

    #[test]
    fn a_field_is_coloured_by_its_meaning() {
        let field = |meaning| {
            let values = vec![-1.0, 0.0, f64::NAN, 9.0];
            let field = Field { x: (0.0, 1.0), y: (0.0, 1.0), size: [2, 2], values, meaning };
            let pane = Pane::new(Axis::new("x"), Axis::new("y")).with(Series::Field(field));
            svg("", &[Figure::new("", "", vec![pane])])
        };
        let growth = field(Meaning::Growth(2.0));
        for colour in [GROWTH[2], GROWTH[5], GROWTH[10], STABILITY[2]] {
            assert!(growth.contains(colour), "{colour}");
        }
        let stability = field(Meaning::Stability(vec![vec![(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]]));
        assert!(stability.contains("url(#hatch)") && stability.contains(STABILITY[0]));
    }
}
