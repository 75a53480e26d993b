//! What is drawn in a pane of a [figure](super::figure), and how it goes to a page: by columns.

use serde::{Serialize, Serializer};

use super::figure::Role;
use super::numbers::{column, columns, rounded};

/// What is drawn in a pane. A coordinate that is not finite is a gap.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Series {
    /// A curve.
    Line {
        /// What it stands for.
        role: Role,
        /// Its name in the legend.
        name: String,
        /// x and y.
        #[serde(flatten, serialize_with = "line_columns")]
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
        #[serde(flatten, serialize_with = "point_columns")]
        points: Vec<Point>,
    },
    /// From a lower to an upper bound.
    Band {
        /// What it belongs to.
        role: Role,
        /// Its name in the legend.
        name: String,
        /// x, lower and upper bound.
        #[serde(flatten, serialize_with = "band_columns")]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Field {
    /// First and last x.
    #[serde(rename = "across")]
    pub x: (f64, f64),
    /// First and last y.
    #[serde(rename = "along")]
    pub y: (f64, f64),
    /// Columns and rows.
    pub size: [usize; 2],
    /// Row by row; NaN where nothing is known.
    #[serde(serialize_with = "column")]
    pub values: Vec<f64>,
    /// What the values mean.
    #[serde(flatten)]
    pub meaning: Meaning,
}

/// What a field shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Meaning {
    /// Stable within these polygons, unstable elsewhere.
    #[serde(rename = "stable")]
    Stability(Vec<Vec<(f64, f64)>>),
    /// Growth, from minus to plus this.
    #[serde(rename = "most")]
    Growth(f64),
}

/// The mark of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
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

impl Series {
    /// What the legend says of it; empty for nothing.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Line { name, .. }
            | Self::Points { name, .. }
            | Self::Band { name, .. }
            | Self::Steps { name, .. } => name,
            Self::Field(_) => "",
        }
    }

    /// Every coordinate that the axes have to hold.
    pub(super) fn corners(&self) -> Vec<(f64, f64)> {
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

fn line_columns<S: Serializer>(points: &[(f64, f64)], to: S) -> Result<S::Ok, S::Error> {
    let (x, y) = points.iter().copied().unzip();
    columns(to, [("x", x), ("y", y)])
}

#[derive(Serialize)]
struct PointColumns<'a> {
    x: Vec<Option<f64>>,
    y: Vec<Option<f64>>,
    /// Half the width of the intervals.
    side: Vec<Option<f64>>,
    up: Vec<Option<f64>>,
    labels: Vec<&'a str>,
}

fn point_columns<S: Serializer>(points: &[Point], to: S) -> Result<S::Ok, S::Error> {
    let of = |value: fn(&Point) -> f64| rounded(&points.iter().map(value).collect::<Vec<f64>>());
    let columns = PointColumns {
        x: of(|point| point.at.0),
        y: of(|point| point.at.1),
        side: of(|point| point.interval.0),
        up: of(|point| point.interval.1),
        labels: points.iter().map(|point| point.label.as_str()).collect(),
    };
    columns.serialize(to)
}

fn band_columns<S: Serializer>(points: &[(f64, f64, f64)], to: S) -> Result<S::Ok, S::Error> {
    let of = |value: fn(&(f64, f64, f64)) -> f64| points.iter().map(value).collect();
    columns(
        to,
        [("x", of(|point| point.0)), ("low", of(|point| point.1)), ("high", of(|point| point.2))],
    )
}

impl From<(f64, f64)> for Point {
    fn from(at: (f64, f64)) -> Self {
        Self { at, interval: (0.0, 0.0), label: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn points_and_fields_go_by_columns() {
        let points = vec![Point { label: "here".to_owned(), ..Point::from((1.0, 2.0)) }];
        let (role, name, symbol) = (Role::Other(7), String::new(), Symbol::Cross);
        let drawn = serde_json::to_value(Series::Points { role, name, symbol, points }).unwrap();
        assert_eq!((&drawn["role"], &drawn["symbol"]), (&json!("other1"), &json!("cross")));
        assert_eq!((&drawn["x"], &drawn["labels"]), (&json!([1.0]), &json!(["here"])));
        let field = Field {
            x: (0.0, 1.0),
            y: (2.0, 3.0),
            size: [2, 1],
            values: vec![0.5, f64::NAN],
            meaning: Meaning::Growth(4.0),
        };
        let drawn = serde_json::to_value(Series::Field(field)).unwrap();
        assert_eq!((&drawn["kind"], &drawn["most"]), (&json!("field"), &json!(4.0)));
        assert_eq!((&drawn["across"], &drawn["values"]), (&json!([0.0, 1.0]), &json!([0.5, null])));
    }
}
