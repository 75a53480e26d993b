//! A chart as a picture that any browser, text processor or README shows.

use std::fmt::Write as _;

use super::{Axis, Chart, Depth, Judged, Verdict};
use crate::report::markup;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 520.0;
/// Left, top, right and bottom of the frame.
const FRAME: [f64; 4] = [84.0, 56.0, 736.0, 452.0];

const STABLE: &str = "#c6e5d9";
const UNSTABLE: &str = "#f7dfd3";
const UNJUDGED: &str = "#d9dde2";
/// Ends and middle of the colours of a growth.
const DECAYS: [f64; 3] = [0.0, 116.0, 90.0];
const GROWS: [f64; 3] = [182.0, 68.0, 0.0];
const PALE: [f64; 3] = [244.0, 246.0, 248.0];
const BOUNDARY: &str = "#0b4f6c";
const INK: &str = "#1f2933";

impl Chart {
    /// The picture.
    pub fn svg(&self) -> String {
        let mut text = String::new();
        let [x, y] = self.judge.axes();
        let title = markup(&self.judge.experiment().title);
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"system-ui, 'Segoe UI', Roboto, \
             Arial, sans-serif\" font-size=\"13\" fill=\"{INK}\">\n<title>{title}</title>\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
             <text x=\"{}\" y=\"24\" font-size=\"15\" font-weight=\"600\">{title}</text>\n",
            FRAME[0]
        );
        self.legend(&mut text);
        let [left, top, right, bottom] = FRAME;
        let _ = writeln!(
            text,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"{UNSTABLE}\"/>",
            right - left,
            bottom - top
        );
        self.regions(&mut text);
        self.ticks(&mut text);
        self.lines(&mut text);
        let _ = write!(
            text,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"none\" \
             stroke=\"#7b8794\"/>\n<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(22 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            right - left,
            bottom - top,
            0.5 * (left + right),
            bottom + 42.0,
            markup(&x.title()),
            0.5 * (top + bottom),
            markup(&y.title()),
        );
        self.mark(&mut text);
        text.push_str("</svg>\n");
        text
    }

    fn legend(&self, text: &mut String) {
        let mut at = FRAME[0];
        let mut swatch = |text: &mut String, shape: &str, words: &str, width: f64| {
            let _ = writeln!(
                text,
                "<g transform=\"translate({at} 36)\">{shape}<text x=\"20\" y=\"10\" \
                 font-size=\"12\">{words}</text></g>"
            );
            at += width;
        };
        let block = |colour: &str| {
            format!("<rect width=\"14\" height=\"12\" fill=\"{colour}\" stroke=\"#9aa5b1\"/>")
        };
        if self.depth == Depth::Growth {
            let scale = self.growth_scale_1_s();
            let colour = |[r, g, b]: [f64; 3]| format!("rgb({r},{g},{b})");
            swatch(
                text,
                &block(&colour(DECAYS)),
                &format!("decays by {} 1/s", three(scale)),
                166.0,
            );
            swatch(
                text,
                &block(&colour(GROWS)),
                &format!("grows by {} 1/s or more", three(scale)),
                206.0,
            );
        } else {
            swatch(text, &block(STABLE), "stable", 84.0);
            swatch(text, &block(UNSTABLE), "unstable", 96.0);
        }
        if self.grid.points.iter().any(|point| point.verdict == Verdict::Unknown) {
            swatch(text, &block(UNJUDGED), "not judged", 108.0);
        }
        let line = format!("<path d=\"M0 6h14\" stroke=\"{BOUNDARY}\" stroke-width=\"2\"/>");
        swatch(text, &line, "boundary", 98.0);
        if self.declared.is_some() {
            swatch(text, &cross(7.0, 6.0), "the experiment as declared", 0.0);
        }
    }

    fn place(&self, [x, y]: [f64; 2]) -> (f64, f64) {
        let share = |axis: &Axis, value: f64| (value - axis.low) / (axis.high - axis.low);
        let [left, top, right, bottom] = FRAME;
        let axes = self.judge.axes();
        (left + share(&axes[0], x) * (right - left), bottom - share(&axes[1], y) * (bottom - top))
    }

    /// What is stable, as one path; what is not judged, in grey over it.
    fn regions(&self, text: &mut String) {
        if self.depth == Depth::Growth {
            let scale = self.growth_scale_1_s();
            return self.runs(text, &|point| self.growth_colour(point, scale));
        }
        let mut path = String::new();
        for polygon in &self.boundaries.stable {
            for (index, point) in polygon.iter().enumerate() {
                let (x, y) = self.place(*point);
                let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
            }
            path.push('Z');
        }
        let _ = writeln!(
            text,
            "<path d=\"{path}\" fill=\"{STABLE}\" stroke=\"{STABLE}\" stroke-width=\"0.6\"/>"
        );
        let unknown = |point: &Judged| (point.verdict == Verdict::Unknown).then_some(UNJUDGED);
        self.runs(text, &|point| unknown(point).map(str::to_owned));
    }

    /// Runs of points of one colour along x, as rectangles around their points.
    fn runs(&self, text: &mut String, colour: &dyn Fn(&Judged) -> Option<String>) {
        let [columns, rows] = self.grid.size;
        let [left, top, right, bottom] = FRAME;
        let axes = self.judge.axes();
        let half = |axis: &Axis, count: usize| 0.5 * (axis.high - axis.low) / (count - 1) as f64;
        let (dx, dy) = (half(&axes[0], columns), half(&axes[1], rows));
        text.push_str("<g shape-rendering=\"crispEdges\">\n");
        for j in 0..rows {
            let colours: Vec<_> = (0..columns).map(|i| colour(self.grid.at(i, j))).collect();
            let mut start = 0;
            for end in 1..=columns {
                if end < columns && colours[end] == colours[start] {
                    continue;
                }
                if let Some(colour) = &colours[start] {
                    let y = axes[1].at(j, rows);
                    let (x0, y0) = self.place([axes[0].at(start, columns) - dx, y + dy]);
                    let (x1, y1) = self.place([axes[0].at(end - 1, columns) + dx, y - dy]);
                    let (x0, x1) = (x0.max(left), x1.min(right));
                    let (y0, y1) = (y0.max(top), y1.min(bottom));
                    // A hair wider, so that no seam shows between two of them.
                    let _ = writeln!(
                        text,
                        "<rect x=\"{x0:.1}\" y=\"{y0:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                         fill=\"{colour}\"/>",
                        (x1 - x0 + 0.3).min(right - x0),
                        (y1 - y0 + 0.3).min(bottom - y0)
                    );
                }
                start = end;
            }
        }
        text.push_str("</g>\n");
    }

    /// The colour of a growth, in steps that an eye still tells apart.
    fn growth_colour(&self, point: &Judged, scale: f64) -> Option<String> {
        if point.verdict == Verdict::Unknown {
            return Some(UNJUDGED.to_owned());
        }
        let level = (10.0 * point.growth_1_s / scale).clamp(-10.0, 10.0).round();
        let ends = if level < 0.0 { DECAYS } else { GROWS };
        let share = level.abs() / 10.0;
        level.is_finite().then(|| {
            let mixed = [0, 1, 2].map(|k| PALE[k] + share * (ends[k] - PALE[k]));
            format!("rgb({:.0},{:.0},{:.0})", mixed[0], mixed[1], mixed[2])
        })
    }

    fn lines(&self, text: &mut String) {
        for line in &self.boundaries.lines {
            let mut path = String::new();
            for (index, point) in line.iter().enumerate() {
                let (x, y) = self.place(point.at);
                let _ = write!(path, "{}{x:.2} {y:.2}", if index == 0 { 'M' } else { 'L' });
            }
            let _ = writeln!(
                text,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{BOUNDARY}\" stroke-width=\"2\" \
                 stroke-linejoin=\"round\"/>"
            );
        }
    }

    fn ticks(&self, text: &mut String) {
        let [left, top, right, bottom] = FRAME;
        let axes = self.judge.axes();
        for value in ticks(axes[0].shown(axes[0].low), axes[0].shown(axes[0].high)) {
            let (x, _) = self.place([value * axes[0].factor, axes[1].low]);
            let _ = writeln!(
                text,
                "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#1f2933\" stroke-opacity=\"0.1\"/>\
                 <path d=\"M{x:.1} {bottom}v5\" stroke=\"#7b8794\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"12\">{}</text>",
                bottom + 19.0,
                short(value)
            );
        }
        for value in ticks(axes[1].shown(axes[1].low), axes[1].shown(axes[1].high)) {
            let (_, y) = self.place([axes[0].low, value * axes[1].factor]);
            let _ = writeln!(
                text,
                "<path d=\"M{left} {y:.1}H{right}\" stroke=\"#1f2933\" stroke-opacity=\"0.1\"/>\
                 <path d=\"M{left} {y:.1}h-5\" stroke=\"#7b8794\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"12\">{}</text>",
                left - 9.0,
                y + 4.0,
                short(value)
            );
        }
    }

    fn mark(&self, text: &mut String) {
        let Some((place, _)) = self.declared else { return };
        let (x, y) = self.place(place);
        text.push_str(&cross(x, y));
        text.push('\n');
    }
}

fn cross(x: f64, y: f64) -> String {
    format!(
        "<path d=\"M{:.1} {y:.1}h12M{x:.1} {:.1}v12\" stroke=\"#ffffff\" stroke-width=\"5\"/>\
         <path d=\"M{:.1} {y:.1}h12M{x:.1} {:.1}v12\" stroke=\"{INK}\" stroke-width=\"2.2\"/>",
        x - 6.0,
        y - 6.0,
        x - 6.0,
        y - 6.0
    )
}

/// Round values between two ends, five or so.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    let decade = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|part| part * decade)
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    if !(step.is_finite() && step > 0.0) {
        return Vec::new();
    }
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).take(20).map(|index| index as f64 * step).collect()
}

/// Three digits, as people write them.
fn three(value: f64) -> String {
    if !(1e-3..1e5).contains(&value) {
        return format!("{value:.2e}");
    }
    let digits = (2 - value.log10().floor() as i32).max(0) as usize;
    format!("{value:.digits$}")
}

/// A tick without noise in its last digits.
fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(
            ticks(0.0, 0.3),
            [0.0, 0.05, 0.1, 0.15000000000000002, 0.2, 0.25, 0.30000000000000004]
        );
        assert_eq!(ticks(0.0, 60.0), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        assert!(ticks(1.0, 1.0).is_empty());
        assert_eq!(short(0.15000000000000002), "0.15");
        assert_eq!(short(-0.0), "0");
        assert_eq!(short(2.5e-7), "2.50e-7");
        assert_eq!([three(10.0), three(0.1234), three(1234.6)], ["10.0", "0.123", "1235"]);
        assert_eq!(three(2.5e-7), "2.50e-7");
    }
}
