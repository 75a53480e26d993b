//! One description of a figure, whatever draws it: `figure.js` in a page, to which it goes as
//! JSON, or [`svg`](super::svg) in documents.

use serde::{Serialize, Serializer};

use super::decimate;
pub use super::series::{Field, Meaning, Point, Series, Symbol};

/// Points of one curve: more cannot be told apart on a screen, even zoomed in.
const MOST_POINTS: usize = 3000;
/// Share of a range that is left free at its ends.
const ROOM: f64 = 0.06;
/// Looks of curves that are one of several.
const OTHERS: usize = 6;

/// Panes above each other. All texts are shown as text, whatever they contain.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its heading.
    pub title: String,
    /// What it says, in a sentence or two.
    pub caption: String,
    /// How much of the page it takes.
    pub width: Width,
    /// From top to bottom.
    pub panes: Vec<Pane>,
}

/// How much of the page's width a figure takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// All of it.
    Whole,
    /// One half.
    Half,
    /// One third.
    Third,
}

/// Series over one pair of axes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pane {
    /// Along.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// Its proportions.
    pub shape: Shape,
    /// What is drawn, the first beneath the others.
    pub series: Vec<Series>,
    /// Points with words.
    pub marks: Vec<Mark>,
    /// Limits and events.
    pub lines: Vec<Rule>,
    /// Stretches of x.
    pub shaded: Vec<Shade>,
}

/// The proportions of a pane.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// As high as this, in pixels.
    High(f64),
    /// As high as wide.
    Square,
    /// One unit is as long on either axis.
    Equal,
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// `Quantity [unit]`.
    pub title: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// The range to show; the data decide otherwise.
    pub range: Option<(f64, f64)>,
    /// Values that are to be shown, wherever the data lie.
    #[serde(skip)]
    pub reach: Vec<f64>,
    /// Panes of one link share zoom and cursor; empty for none.
    pub link: &'static str,
}

/// How an axis is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By decades.
    Log,
}

/// A point with words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// Where.
    pub at: (f64, f64),
    /// What is to be said.
    pub text: String,
    /// Whether the place itself is marked.
    pub kind: MarkKind,
}

/// What stands at the place of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkKind {
    /// A cross beside its words.
    Place,
    /// The words alone.
    Words,
}

/// A straight line through the whole pane.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// An event: at this x, its words above the frame.
    Event(f64, String),
    /// A limit: at this y.
    Limit(f64, String),
}

/// A stretch of x.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shade {
    /// Its start.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// Its words, above the frame.
    pub text: String,
    /// What it means.
    pub tone: Tone,
}

/// What a shaded stretch means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// A phase of the test, or a band of frequencies.
    Phase,
    /// After a trip.
    Trip,
}

/// What a curve stands for. Its colour has this meaning on every page, and any two roles
/// that meet differ in dash or width as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What the numerical substructure asks for, or simulates.
    Desired,
    /// What is sent to the rig.
    Command,
    /// Where the actuator truly is.
    Achieved,
    /// What the sensors say.
    Measured,
    /// What it is compared with.
    Reference,
    /// The difference of two of them.
    Error,
    /// What acts from outside, and boundaries.
    Ink,
    /// One of several, by its number.
    Other(usize),
}

impl Role {
    /// The class of a curve of this role, which has its colour, width and dash.
    pub(super) fn name(self) -> String {
        match self {
            Self::Desired => "desired".to_owned(),
            Self::Command => "command".to_owned(),
            Self::Achieved => "achieved".to_owned(),
            Self::Measured => "measured".to_owned(),
            Self::Reference => "reference".to_owned(),
            Self::Error => "error".to_owned(),
            Self::Ink => "ink".to_owned(),
            Self::Other(number) => format!("other{}", number % OTHERS),
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.name())
    }
}

impl Figure {
    /// A figure of the whole width.
    pub fn new(title: impl Into<String>, caption: impl Into<String>, panes: Vec<Pane>) -> Self {
        Self { title: title.into(), caption: caption.into(), width: Width::Whole, panes }
    }

    /// The same, narrower.
    pub fn width(self, width: Width) -> Self {
        Self { width, ..self }
    }
}

impl Axis {
    /// A linear axis around its data.
    pub fn new(title: impl Into<String>) -> Self {
        let title = title.into();
        Self { title, scale: Scale::Linear, range: None, reach: Vec::new(), link: "" }
    }

    /// Time, shared by the whole page.
    pub fn time() -> Self {
        Self { link: "time", ..Self::new("Time [s]") }
    }

    /// Frequency, shared by the whole page.
    pub fn frequency() -> Self {
        Self { link: "frequency", ..Self::new("Frequency [Hz]") }
    }

    /// Divided by decades.
    pub fn log(self) -> Self {
        Self { scale: Scale::Log, ..self }
    }

    /// With this range.
    pub fn range(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }

    /// With a range that shows this value too.
    pub fn reach(mut self, value: f64) -> Self {
        self.reach.push(value);
        self
    }

    /// The range to show for these values.
    fn around(&self, values: impl Iterator<Item = f64>, room: f64) -> (f64, f64) {
        if let Some(range) = self.range.filter(|(low, high)| low < high) {
            return range;
        }
        let log = self.scale == Scale::Log;
        let usable = |value: &f64| value.is_finite() && (!log || *value > 0.0);
        let values = values.chain(self.reach.iter().copied()).filter(usable);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            return if log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if log {
            let factor = (high / low).powf(room).max(if room > 0.0 { 1.2 } else { 1.0 });
            return if high > low { (low / factor, high * factor) } else { (0.5 * low, 2.0 * low) };
        }
        let span = if high > low { high - low } else { low.abs().max(1.0) };
        // A value at zero stays at the frame where nothing lies beyond it.
        let from = if low == 0.0 && high > 0.0 { 0.0 } else { low - room * span };
        let room = if high > low { room } else { room.max(ROOM) };
        (from, high + room * span)
    }
}

impl Pane {
    /// An empty pane, as high as a history is.
    pub fn new(x: Axis, y: Axis) -> Self {
        let (series, marks, lines, shaded) = (vec![], vec![], vec![], vec![]);
        Self { x, y, shape: Shape::High(280.0), series, marks, lines, shaded }
    }

    /// As high as this.
    pub fn high(self, pixels: f64) -> Self {
        Self { shape: Shape::High(pixels), ..self }
    }

    /// With these proportions.
    pub fn shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// With a curve.
    pub fn line(
        self,
        role: Role,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let points = points.into_iter().collect();
        self.with(Series::Line { role, name: name.into(), points })
    }

    /// With a history: thinned, every extreme kept, times `scale`.
    pub fn history(
        self,
        role: Role,
        name: impl Into<String>,
        time: &[f64],
        values: &[f64],
        scale: f64,
    ) -> Self {
        let values = &values[..values.len().min(time.len())];
        let kept = decimate::min_max(values, MOST_POINTS).into_iter();
        self.line(role, name, kept.map(|row| (time[row], scale * values[row])))
    }

    /// With one signal over another, thinned, the extremes of both kept.
    pub fn orbit(
        self,
        role: Role,
        name: impl Into<String>,
        (x, x_scale): (&[f64], f64),
        (y, y_scale): (&[f64], f64),
    ) -> Self {
        let kept = decimate::evenly(x, y, MOST_POINTS).into_iter();
        self.line(role, name, kept.map(|row| (x_scale * x[row], y_scale * y[row])))
    }

    /// With another series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// With a limit; without it where that is no number. So it is with what follows.
    pub fn limit(mut self, at: f64, text: impl Into<String>) -> Self {
        self.lines.extend(at.is_finite().then(|| Rule::Limit(at, text.into())));
        self
    }

    /// With an event.
    pub fn event(mut self, at: f64, text: impl Into<String>) -> Self {
        self.lines.extend(at.is_finite().then(|| Rule::Event(at, text.into())));
        self
    }

    /// With words at a place.
    pub fn mark(mut self, at: (f64, f64), text: impl Into<String>, kind: MarkKind) -> Self {
        let known = at.0.is_finite() && at.1.is_finite();
        self.marks.extend(known.then(|| Mark { at, text: text.into(), kind }));
        self
    }

    /// With a shaded stretch of x.
    pub fn shade(mut self, from: f64, to: f64, text: impl Into<String>, tone: Tone) -> Self {
        let known = from.is_finite() && to.is_finite();
        self.shaded.extend(known.then(|| Shade { from, to, text: text.into(), tone }));
        self
    }

    /// The ranges of both axes: of all that is drawn, limits included.
    pub(super) fn ranges(&self) -> [(f64, f64); 2] {
        let limits = self.lines.iter().filter_map(|rule| match rule {
            Rule::Limit(at, _) => Some(*at),
            Rule::Event(..) => None,
        });
        let (x, y): (Vec<f64>, Vec<f64>) = self.series.iter().flat_map(Series::corners).unzip();
        let linked = if self.x.link == "time" || self.x.link == "close-up" { 0.0 } else { 0.02 };
        [self.x.around(x.into_iter(), linked), self.y.around(y.into_iter().chain(limits), ROOM)]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_peak_of_a_long_history_is_drawn_with_its_time() {
        let time: Vec<f64> = (0..160_000).map(|i| f64::from(i) / 4096.0).collect();
        let mut values: Vec<f64> = time.iter().map(|t| 1e-3 * (22.0 * t).sin()).collect();
        values[101_234] = -7.654_321e-3;
        let axis = || Axis::new("Displacement [mm]");
        let pane = Pane::new(Axis::time(), axis());
        let pane = pane.history(Role::Measured, "measured", &time, &values, 1e3);
        let Series::Line { points, .. } = &pane.series[0] else { panic!("a line") };
        assert!(points.len() <= MOST_POINTS);
        let is_peak = |&(x, y): &(f64, f64)| x == time[101_234] && (y + 7.654_321).abs() < 1e-9;
        assert!(points.iter().any(is_peak));
        assert!(pane.ranges()[1].0 < -7.654_321);
    }

    #[test]
    fn an_axis_holds_its_data_its_limits_and_what_it_is_to_reach() {
        let pane = |y: Axis| Pane::new(Axis::new("x"), y).line(Role::Desired, "", [(1.0, 2.0)]);
        let (low, high) = pane(Axis::new("y").reach(0.0)).limit(9.0, "stop").ranges()[1];
        assert!(low == 0.0 && high > 9.0);
        assert_eq!(pane(Axis::new("y").range(-1.0, 1.0)).ranges()[1], (-1.0, 1.0));
        assert_eq!(Pane::new(Axis::new("x"), Axis::new("y").log()).ranges()[1], (1.0, 10.0));
        let log = pane(Axis::new("y").log()).line(Role::Error, "", [(0.0, -3.0), (0.0, 0.02)]);
        let (low, high) = log.ranges()[1];
        assert!(low > 0.0 && low < 0.02 && high > 2.0);
    }

    /// What the style sheet says of a role: colour, width and dash.
    fn look(style: &str, role: Role) -> Vec<String> {
        let rule = style.split(&format!("svg .{} {{", role.name())).nth(1);
        let rule =
            rule.unwrap_or_else(|| panic!("{role:?} has no look")).split('}').next().unwrap();
        rule.split(';').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
    }

    #[test]
    fn no_two_roles_look_alike() {
        use Role::{Achieved, Command, Desired, Error, Ink, Measured, Other, Reference};
        let mut roles = vec![Desired, Command, Achieved, Measured, Reference, Error, Ink];
        roles.extend((0..OTHERS).map(Other));
        for style in [include_str!("drawing.css"), include_str!("page.css")] {
            for (i, &one) in roles.iter().enumerate() {
                for &other in &roles[i + 1..] {
                    assert_ne!(look(style, one)[0], look(style, other)[0], "{one:?} {other:?}");
                }
            }
        }
        // What meets in one pane differs in grey, too.
        let light = include_str!("drawing.css");
        for (i, &one) in roles[..4].iter().enumerate() {
            for &other in &roles[i + 1..4] {
                assert_ne!(look(light, one)[1..], look(light, other)[1..], "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn gaps_are_null_and_the_role_is_a_class() {
        let points = [(0.0, 1.0), (1.0, f64::NAN), (2.0, f64::INFINITY)];
        let pane = Pane::new(Axis::time(), Axis::new("Displacement [mm]"));
        let pane = pane.line(Role::Command, "</script>", points).event(f64::NAN, "never");
        let pane = pane.event(1.0, "now").high(130.0);
        let drawn = serde_json::to_value(pane).unwrap();
        let line = &drawn["series"][0];
        assert_eq!((&line["kind"], &line["role"]), (&json!("line"), &json!("command")));
        assert_eq!(line["y"], json!([1.0, null, null]));
        assert_eq!(drawn["lines"], json!([{ "event": [1.0, "now"] }]));
        assert_eq!(
            (&drawn["shape"], &drawn["y"]["range"]),
            (&json!({ "high": 130.0 }), &json!(null))
        );
    }
}
