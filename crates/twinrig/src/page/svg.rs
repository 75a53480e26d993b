//! A figure as a picture that any browser, text processor or README shows. What is drawn has
//! the classes of `drawing.css`, as in the page.

use std::fmt::Write as _;

use super::figure::{
    Field, Figure, MarkKind, Meaning, Pane, Role, Rule, Scale, Series, Shape, Symbol, Tone,
};
use super::text::{escape, label};
use super::ticks::ticks;

/// Width of one figure of several, and of one alone.
const WIDTHS: [f64; 2] = [560.0, 760.0];
/// Left and right margin, room below a frame, a row of words.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 18.0;
const BELOW: f64 = 48.0;
const ROW: f64 = 16.0;
/// About the width of a letter in the small font.
const LETTER: f64 = 6.6;

/// These figures beside each other, under one title.
pub fn svg(title: &str, figures: &[Figure]) -> String {
    let each = WIDTHS[usize::from(figures.len() == 1)];
    let mut drawing = Drawing { text: String::new(), width: each, clip: 0 };
    drawing.label((LEFT, 22.0), "head", &label(title));
    let mut height: f64 = 0.0;
    for (index, figure) in figures.iter().enumerate() {
        let _ = writeln!(drawing.text, "<g transform=\"translate({} 0)\">", each * index as f64);
        height = height.max(drawing.figure(figure, figures.len() > 1));
        drawing.text.push_str("</g>\n");
    }
    let width = each * figures.len() as f64;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" \
         width=\"{width}\" height=\"{height:.0}\">\n<title>{}</title>\n<style>\n{}</style>\n\
         <defs><pattern id=\"hatch\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"8\" height=\"8\" class=\"unstable\"/>\
         <path d=\"M0 0V8\" class=\"hatch\"/></pattern></defs>\n\
         <rect width=\"{width}\" height=\"{height:.0}\" class=\"paper\"/>\n{}</svg>\n",
        escape(&label(title)),
        include_str!("drawing.css"),
        drawing.text
    )
}

/// Figures while they are drawn.
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

    fn path(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
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

    fn across(&self, y: f64) -> String {
        format!("M{} {y:.1}H{}", self.left, self.right)
    }

    fn up(&self, x: f64) -> String {
        format!("M{x:.1} {:.1}V{:.1}", self.top, self.bottom)
    }
}

fn rectangle(x: (f64, f64), y: (f64, f64)) -> String {
    format!("M{:.1} {:.1}H{:.1}V{:.1}H{:.1}Z", x.0, y.0, x.1, y.1, x.0)
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
    fn path(&mut self, path: &str, class: &str) {
        let _ = writeln!(self.text, "<path d=\"{path}\" class=\"{class}\"/>");
    }

    fn label(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let text = escape(text);
        let _ =
            writeln!(self.text, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{text}</text>");
    }

    fn symbol(&mut self, symbol: Symbol, role: Role, (x, y): (f64, f64)) {
        let (class, path) = match symbol {
            Symbol::Circle => ("dot", "a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0z"),
            Symbol::Diamond => ("open", "m-2 0l4.5-4.5l4.5 4.5l-4.5 4.5z"),
            Symbol::Cross => ("open", "m-1-3.5l7 7m-7 0l7-7"),
            Symbol::Hidden => return,
        };
        self.path(&format!("M{:.1} {y:.1}{path}", x - 2.5), &classes(class, role));
    }

    /// Draws it; the height it takes.
    fn figure(&mut self, figure: &Figure, titled: bool) -> f64 {
        let mut top = 34.0;
        if titled {
            self.label((LEFT, 44.0), "title strong", &label(&figure.title));
            top = 52.0;
        }
        for pane in &figure.panes {
            let ranges = pane.ranges();
            let (words, rows) = above(pane, self.width);
            top = self.legend(pane, top) + ROW * rows as f64;
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
            let frame = Frame { pane, ranges, left, top, right, bottom };
            self.pane(&frame);
            for (x, text, at, row) in words {
                let y = top - 4.0 - ROW * row as f64;
                self.path(&format!("M{:.1} {top:.1}V{:.1}", frame.x(x), y - 8.0), "leader");
                self.label((at, y), "", &text);
            }
            top = bottom + BELOW;
        }
        top
    }

    /// The names of the series, in as many rows as they need; where the next thing begins.
    fn legend(&mut self, pane: &Pane, top: f64) -> f64 {
        let (mut at, mut row) = (LEFT, top + 8.0);
        for series in pane.series.iter().filter(|series| !series.name().is_empty()) {
            let wide = 44.0 + LETTER * series.name().chars().count() as f64;
            if at > LEFT && at + wide > self.width {
                (at, row) = (LEFT, row + ROW);
            }
            match series {
                Series::Line { role, .. } => {
                    self.path(&format!("M{at:.0} {row:.0}h26"), &classes("curve", *role));
                }
                Series::Points { role, symbol, .. } => {
                    self.symbol(*symbol, *role, (at + 13.0, row))
                }
                Series::Band { role, .. } | Series::Steps { role, .. } => {
                    let area = rectangle((at, at + 26.0), (row - 4.0, row + 4.0));
                    self.path(&area, &classes("band", *role));
                }
                Series::Field(_) => {}
            }
            self.label((at + 31.0, row + 4.0), "", series.name());
            at += wide;
        }
        if at > LEFT { row + 12.0 } else { top }
    }

    fn pane(&mut self, frame: &Frame<'_>) {
        let Frame { pane, left, top, right, bottom, .. } = *frame;
        let whole = rectangle((left, right), (top, bottom));
        self.clip += 1;
        let _ = writeln!(
            self.text,
            "<clipPath id=\"pane{0}\"><path d=\"{whole}\"/></clipPath>\n\
             <g clip-path=\"url(#pane{0})\">",
            self.clip
        );
        for shade in &pane.shaded {
            let class = match shade.tone {
                Tone::Phase => "shade phase",
                Tone::Trip => "shade trip",
            };
            let x = (frame.x(shade.from), frame.x(shade.to));
            self.path(&rectangle(x, (top, bottom)), class);
        }
        for series in &pane.series {
            if let Series::Field(field) = series {
                self.field(frame, field);
            }
        }
        let along = ticks(pane.x.scale, frame.ranges[0], (right - left) / 80.0);
        let mut up = ticks(pane.y.scale, frame.ranges[1], (bottom - top) / 32.0);
        // An axis without a title is no axis.
        up.retain(|_| !pane.y.title.is_empty());
        along.iter().for_each(|(value, _)| self.path(&frame.up(frame.x(*value)), "grid"));
        up.iter().for_each(|(value, _)| self.path(&frame.across(frame.y(*value)), "grid"));
        pane.series.iter().for_each(|series| self.series(frame, series));
        self.marks(frame);
        self.text.push_str("</g>\n");
        self.path(&whole, "frame");
        for (value, text) in along {
            self.label((frame.x(value), bottom + 17.0), "middle", &text);
        }
        for (value, text) in up {
            self.label((left - 6.0, frame.y(value) + 4.0), "end", &text);
        }
        self.label((0.5 * (left + right), bottom + 36.0), "middle title", &pane.x.title);
        let _ = writeln!(
            self.text,
            "<text transform=\"translate(16 {:.1}) rotate(-90)\" class=\"middle title\">{}</text>",
            0.5 * (top + bottom),
            escape(&pane.y.title),
        );
    }

    fn series(&mut self, frame: &Frame<'_>, series: &Series) {
        match series {
            Series::Line { role, points, .. } => {
                self.path(&frame.path(points.iter().copied()), &classes("curve", *role));
            }
            Series::Points { role, symbol, points, .. } => {
                for point in points {
                    let (x, y) = (frame.x(point.at.0), frame.y(point.at.1));
                    if x.is_finite() && y.is_finite() {
                        self.symbol(*symbol, *role, (x, y));
                    }
                }
            }
            Series::Band { role, points, .. } => {
                for pair in points.windows(2) {
                    let [(a, a_low, a_high), (b, b_low, b_high)] = [pair[0], pair[1]];
                    let corners = [(a, a_low), (a, a_high), (b, b_high), (b, b_low)];
                    self.path(&(frame.path(corners) + "Z"), &classes("band", *role));
                }
            }
            Series::Steps { role, bins, .. } => {
                let foot = frame.ranges[1].0;
                for &(low, high, value) in bins {
                    let corners = [(low, foot), (low, value), (high, value), (high, foot)];
                    self.path(&frame.path(corners), &classes("steps", *role));
                }
            }
            Series::Field(_) => {}
        }
    }

    fn marks(&mut self, frame: &Frame<'_>) {
        for rule in &frame.pane.lines {
            match rule {
                Rule::Event(at, _) => self.path(&frame.up(frame.x(*at)), "event"),
                Rule::Limit(at, text) => {
                    let y = frame.y(*at);
                    self.path(&frame.across(y), "limit");
                    self.label((frame.right - 6.0, y - 5.0), "halo end", text);
                }
            }
        }
        let mut words: Vec<(f64, f64)> = Vec::new();
        for mark in &frame.pane.marks {
            let (x, y) = (frame.x(mark.at.0), frame.y(mark.at.1));
            let flip = x + 12.0 + LETTER * mark.text.chars().count() as f64 > frame.right;
            let (class, at, up) = match mark.kind {
                MarkKind::Words => ("halo strong middle", x, y + 4.0),
                MarkKind::Place if flip => ("halo strong end", x - 9.0, y - 8.0),
                MarkKind::Place => ("halo strong", x + 9.0, y - 8.0),
            };
            if mark.kind == MarkKind::Place {
                let cross = format!("M{:.1} {y:.1}h12M{x:.1} {:.1}v12", x - 6.0, y - 6.0);
                self.path(&cross, "mark under");
                self.path(&cross, "mark");
            }
            // Below the place where the words of another stand above it.
            let near = |&(a, b): &(f64, f64)| (a - x).abs() < 90.0 && (b - y).abs() < 16.0;
            let above = up >= frame.top + 12.0 && !words.iter().any(near);
            words.push((x, y));
            self.label((at, if above { up } else { y + 18.0 }), class, &mark.text);
        }
    }

    fn field(&mut self, frame: &Frame<'_>, field: &Field) {
        let [columns, rows] = field.size;
        if columns < 2 || rows < 2 || field.values.len() < columns * rows {
            return;
        }
        if let Meaning::Stability(polygons) = &field.meaning {
            let (x, y) = ((frame.left, frame.right), (frame.top, frame.bottom));
            let _ = writeln!(self.text, "<path d=\"{}\" fill=\"url(#hatch)\"/>", rectangle(x, y));
            let stable = polygons.iter().map(|polygon| frame.path(polygon.iter().copied()) + "Z");
            self.path(&stable.collect::<String>(), "stable");
        }
        let class = |value: f64| match &field.meaning {
            _ if value.is_nan() => Some("unjudged".to_owned()),
            Meaning::Stability(_) => None,
            Meaning::Growth(most) => Some(format!("growth{}", level(value, *most))),
        };
        let step = |(low, high): (f64, f64), count: usize| (high - low) / (count - 1) as f64;
        let (dx, dy) = (step(field.x, columns), step(field.y, rows));
        self.text.push_str("<g shape-rendering=\"crispEdges\">\n");
        for (row, values) in field.values.chunks(columns).take(rows).enumerate() {
            let mut start = 0;
            for run in values.chunk_by(|a, b| class(*a) == class(*b)) {
                let end = start + run.len();
                if let Some(class) = class(run[0]) {
                    let edge = |index: usize| frame.x(field.x.0 + (index as f64 - 0.5) * dx);
                    let side = |part: f64| frame.y(field.y.0 + (row as f64 + part) * dy);
                    // A hair wider, so that no seam shows between two of them.
                    let x = (edge(start), edge(end) + 0.3);
                    self.path(&rectangle(x, (side(0.5), side(-0.5) + 0.3)), &class);
                }
                start = end;
            }
        }
        self.text.push_str("</g>\n");
    }
}

/// What is drawn, and for which role.
fn classes(kind: &str, role: Role) -> String {
    format!("{kind} {}", role.name())
}

/// Which of the colours of growth a value has, from −5 to 5.
fn level(value: f64, most: f64) -> i32 {
    (5.0 * value / most).clamp(-5.0, 5.0).round() as i32
}

/// Words above the frame: x, text, left end and row; and how many rows there are.
fn above(pane: &Pane, width: f64) -> (Vec<(f64, String, f64, usize)>, usize) {
    let events = pane.lines.iter().filter_map(|rule| match rule {
        Rule::Event(at, text) => Some((*at, text.clone())),
        Rule::Limit(..) => None,
    });
    let shaded = pane.shaded.iter().map(|shade| (shade.from, shade.text.clone()));
    let mut words: Vec<(f64, String)> = events.chain(shaded).collect();
    words.retain(|(_, text)| !text.is_empty());
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
        assert_eq!(text.matches("curve other0\"").count(), 6, "legends, curves, one of 7 again");
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
        for class in ["growth-3", "growth0", "growth5", "unjudged"] {
            assert!(growth.contains(&format!("class=\"{class}\"")), "{class}");
        }
        let stability = field(Meaning::Stability(vec![vec![(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]]));
        assert!(stability.contains("url(#hatch)") && stability.contains("class=\"stable\""));
    }
}
