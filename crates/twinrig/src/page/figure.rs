//! One description of a figure, whatever draws it: [`script`](super::script) gives it to the
//! page, [`svg`](super::svg) to documents.

use super::decimate;

/// Points of one curve: more cannot be told apart on a screen, even zoomed in.
const MOST_POINTS: usize = 3000;
/// Share of a range that is left free at its ends.
const ROOM: f64 = 0.06;

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
#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// As high as this, in pixels.
    High(f64),
    /// As high as wide.
    Square,
    /// One unit is as long on either axis.
    Equal,
}

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// `Quantity [unit]`.
    pub title: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// The range to show; the data decide otherwise.
    pub range: Option<(f64, f64)>,
    /// Values that are to be shown, wherever the data lie.
    pub reach: Vec<f64>,
    /// Panes of one link share zoom and cursor; empty for none.
    pub link: &'static str,
}

/// How an axis is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By decades.
    Log,
}

/// What is drawn in a pane. A coordinate that is not finite is a gap.
#[derive(Debug, Clone, PartialEq)]
pub enum Series {
    /// A curve.
    Line {
        /// What it stands for.
        role: Role,
        /// Its name in the legend.
        name: String,
        /// x and y.
        points: Vec<(f64, f64)>,
    },
    /// Single values.
    Points {
        /// What they stand for.
        role: Role,
        /// Their name in the legend.
        name: String,
        /// Their mark.
        symbol: Symbol,
        /// The values.
        points: Vec<Point>,
    },
    /// From a lower to an upper bound.
    Band {
        /// What it belongs to.
        role: Role,
        /// Its name in the legend.
        name: String,
        /// x, lower and upper bound.
        points: Vec<(f64, f64, f64)>,
    },
    /// A histogram.
    Steps {
        /// What it stands for.
        role: Role,
        /// Its name in the legend.
        name: String,
        /// Lower edge, upper edge and value, rising.
        bins: Vec<(f64, f64, f64)>,
    },
    /// A value over both axes.
    Field(Field),
}

/// A value with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Where.
    pub at: (f64, f64),
    /// Half the width of the interval, in x and y; zero for none.
    pub interval: (f64, f64),
    /// What it is called where somebody points at it; empty for the series' name.
    pub label: String,
}

/// A value over both axes, on a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// First and last x.
    pub x: (f64, f64),
    /// First and last y.
    pub y: (f64, f64),
    /// Columns and rows.
    pub size: [usize; 2],
    /// Row by row; NaN where nothing is known.
    pub values: Vec<f64>,
    /// What the values mean.
    pub meaning: Meaning,
}

/// What a field shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// Stable within these polygons, unstable elsewhere.
    Stability(Vec<Vec<(f64, f64)>>),
    /// Growth, from minus to plus this.
    Growth(f64),
}

/// The mark of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    /// Filled.
    Circle,
    /// Open.
    Diamond,
    /// Two strokes.
    Cross,
    /// Nothing: found only by who points at it.
    Hidden,
}

/// A point with words.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Where.
    pub at: (f64, f64),
    /// What is to be said.
    pub text: String,
    /// Whether the place itself is marked.
    pub kind: MarkKind,
}

/// What stands at the place of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// A cross beside its words.
    Place,
    /// The words alone.
    Words,
}

/// A straight line through the whole pane.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// An event: at this x, its words above the frame.
    Event(f64, String),
    /// A limit: at this y.
    Limit(f64, String),
}

/// A stretch of x.
#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Name, colour on light and on dark, width and dash.
pub(super) struct Look {
    pub(super) name: &'static str,
    pub(super) light: &'static str,
    pub(super) dark: &'static str,
    pub(super) width: f64,
    pub(super) dash: &'static str,
}

const fn look(
    name: &'static str,
    [light, dark]: [&'static str; 2],
    width: f64,
    dash: &'static str,
) -> Look {
    Look { name, light, dark, width, dash }
}

/// Okabe and Ito's colours for what every test has, Tol's muted ones for the rest: people
/// of any colour vision can tell them apart.
pub(super) const LOOKS: [Look; 13] = [
    look("desired", ["#0072b2", "#56b4e9"], 1.6, ""),
    look("command", ["#e69f00", "#f2bc4b"], 1.6, "7 4"),
    look("achieved", ["#009e73", "#3cc79b"], 1.6, "2 3"),
    look("measured", ["#d55e00", "#ff8f52"], 1.2, ""),
    look("reference", ["#7b8794", "#8e99a5"], 3.0, ""),
    look("error", ["#7b3f61", "#d294b7"], 1.0, ""),
    look("ink", ["#1f2933", "#e4e7eb"], 1.2, ""),
    look("other0", ["#332288", "#a99cf0"], 1.6, ""),
    look("other1", ["#aa4499", "#e093d2"], 1.6, "8 3"),
    look("other2", ["#117733", "#74c78c"], 1.6, "2 3"),
    look("other3", ["#999933", "#cfcf73"], 1.6, "9 3 2 3"),
    look("other4", ["#44aa99", "#7fd6c8"], 2.2, "5 5"),
    look("other5", ["#cc6677", "#eba4af"], 1.0, ""),
];

impl Role {
    pub(super) fn look(self) -> &'static Look {
        let index = match self {
            Self::Desired => 0,
            Self::Command => 1,
            Self::Achieved => 2,
            Self::Measured => 3,
            Self::Reference => 4,
            Self::Error => 5,
            Self::Ink => 6,
            Self::Other(number) => 7 + number % 6,
        };
        &LOOKS[index]
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

    /// With a limit.
    pub fn limit(mut self, at: f64, text: impl Into<String>) -> Self {
        self.lines.push(Rule::Limit(at, text.into()));
        self
    }

    /// With an event.
    pub fn event(mut self, at: f64, text: impl Into<String>) -> Self {
        self.lines.push(Rule::Event(at, text.into()));
        self
    }

    /// With words at a place.
    pub fn mark(mut self, at: (f64, f64), text: impl Into<String>, kind: MarkKind) -> Self {
        self.marks.push(Mark { at, text: text.into(), kind });
        self
    }

    /// With a shaded stretch of x.
    pub fn shade(mut self, from: f64, to: f64, text: impl Into<String>, tone: Tone) -> Self {
        self.shaded.push(Shade { from, to, text: text.into(), tone });
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

impl Series {
    /// Every coordinate that the axes have to hold.
    fn corners(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Line { points, .. } => points.clone(),
            Self::Points { points, .. } => points
                .iter()
                .flat_map(|point| {
                    let ((x, y), (dx, dy)) = (point.at, point.interval);
                    [(x - dx, y - dy), (x + dx, y + dy)]
                })
                .collect(),
            Self::Band { points, .. } => {
                points.iter().flat_map(|&(x, low, high)| [(x, low), (x, high)]).collect()
            }
            Self::Steps { bins, .. } => {
                bins.iter().flat_map(|&(low, high, value)| [(low, value), (high, value)]).collect()
            }
            Self::Field(Field { x, y, .. }) => vec![(x.0, y.0), (x.1, y.1)],
        }
    }
}

impl From<(f64, f64)> for Point {
    fn from(at: (f64, f64)) -> Self {
        Self { at, interval: (0.0, 0.0), label: String::new() }
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn no_two_roles_look_alike() {
        for (i, one) in LOOKS.iter().enumerate() {
            for other in &LOOKS[i + 1..] {
                assert!(one.light != other.light && one.dark != other.dark);
            }
        }
        // What meets in one pane differs in grey, too.
        let together = [Role::Desired, Role::Command, Role::Achieved, Role::Measured];
        for (i, one) in together.iter().enumerate() {
            for other in &together[i + 1..] {
                let (one, other) = (one.look(), other.look());
                assert!(one.dash != other.dash || one.width != other.width);
            }
        }
    }
}
