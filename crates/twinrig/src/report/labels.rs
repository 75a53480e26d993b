//! Where the words of a picture lie, so that they cover neither a curve nor each other.

use super::picture::{FRAME, Pane};

/// Pixels between two points of a line that is to stay free.
const SPACING: f64 = 3.0;
/// What lies outside the frame is as bad as this many covered points.
const OUTSIDE: usize = 1000;
/// Points on one segment of a line, at most.
const MOST: f64 = 500.0;

/// Where words stand.
pub(super) struct Label {
    /// Their left end.
    pub(super) x: f64,
    /// Their base line.
    pub(super) y: f64,
    /// What plotly calls this place: the side of a mark, the end that lies at a wall.
    pub(super) side: &'static str,
}

impl Pane {
    /// Where the words at the marks and at the walls lie best.
    pub(super) fn labels(&self) -> (Vec<Label>, Vec<Label>) {
        let [_, top, _, bottom] = FRAME;
        let mut room = Room::new(FRAME);
        for curve in &self.curves {
            room.keep_free(curve.points.iter().map(|&(x, y)| {
                if x.is_finite() && y.is_finite() { self.place(x, y) } else { (x, y) }
            }));
        }
        for (x, _) in &self.walls {
            let (x, _) = self.place(*x, self.y.low);
            room.keep_free([(x, top), (x, bottom)]);
        }
        for (x, y, _) in &self.marks {
            let (x, y) = self.place(*x, *y);
            room.keep_free([(x - 4.0, y), (x + 4.0, y)]);
        }
        let mut choose = |places: Vec<Label>, wide: f64| {
            let area = |place: &Label| [place.x, place.y - 10.0, place.x + wide, place.y + 3.0];
            let areas: Vec<Area> = places.iter().map(area).collect();
            let best = room.choose(&areas);
            places.into_iter().nth(best).unwrap_or(Label { x: 0.0, y: 0.0, side: "" })
        };
        let marks = self.marks.iter().map(|(x, y, words)| {
            let ((x, y), wide) = (self.place(*x, *y), width(words));
            choose(around(x, y, wide), wide)
        });
        let marks: Vec<Label> = marks.collect();
        let walls = self.walls.iter().map(|(x, words)| {
            let ((x, _), wide) = (self.place(*x, self.y.low), width(words));
            let rows = ((bottom - top) / 15.0) as usize;
            let beside = |row: usize| {
                let y = top + 16.0 + 15.0 * row as f64;
                [
                    Label { x: x + 5.0, y, side: "left" },
                    Label { x: x - 5.0 - wide, y, side: "right" },
                ]
            };
            choose((0..rows).flat_map(beside).collect(), wide)
        });
        let walls = walls.collect();
        (marks, walls)
    }
}

/// The places around a mark at which words so wide may stand.
fn around(x: f64, y: f64, wide: f64) -> Vec<Label> {
    let sides = [
        ("top right", x + 7.0, y - 6.0),
        ("bottom right", x + 7.0, y + 16.0),
        ("top left", x - 7.0 - wide, y - 6.0),
        ("bottom left", x - 7.0 - wide, y + 16.0),
        ("top center", x - 0.5 * wide, y - 10.0),
        ("bottom center", x - 0.5 * wide, y + 20.0),
        ("middle right", x + 10.0, y + 4.0),
        ("middle left", x - 10.0 - wide, y + 4.0),
    ];
    sides.map(|(side, x, y)| Label { x, y, side }).into()
}

/// Left, top, right and bottom, in pixels.
pub(super) type Area = [f64; 4];

/// The room of a picture in which words are to be placed.
struct Room {
    frame: Area,
    points: Vec<(f64, f64)>,
    taken: Vec<Area>,
}

impl Room {
    /// An empty frame.
    fn new(frame: Area) -> Self {
        Self { frame, points: Vec::new(), taken: Vec::new() }
    }

    /// A line that words should not cover; a point that is not finite is a gap.
    fn keep_free(&mut self, line: impl IntoIterator<Item = (f64, f64)>) {
        let [left, top, right, bottom] = self.frame;
        let mut before: Option<(f64, f64)> = None;
        for (x, y) in line {
            if !(x.is_finite() && y.is_finite()) {
                before = None;
                continue;
            }
            let (from_x, from_y) = before.unwrap_or((x, y));
            let parts = ((x - from_x).hypot(y - from_y) / SPACING).ceil().clamp(1.0, MOST);
            for part in 1..=parts as usize {
                let share = part as f64 / parts;
                let (x, y) = (from_x + share * (x - from_x), from_y + share * (y - from_y));
                if (left..=right).contains(&x) && (top..=bottom).contains(&y) {
                    self.points.push((x, y));
                }
            }
            before = Some((x, y));
        }
    }

    /// The first of those places that cover least; it is taken from then on.
    fn choose(&mut self, places: &[Area]) -> usize {
        let best = (0..places.len()).min_by_key(|&index| self.covered(places[index]));
        let best = best.unwrap_or(0);
        self.taken.extend(places.get(best));
        best
    }

    fn covered(&self, [x0, y0, x1, y1]: Area) -> usize {
        let [left, top, right, bottom] = self.frame;
        let outside = x0 < left || y0 < top || x1 > right || y1 > bottom;
        let apart =
            |other: &&Area| x1 < other[0] || other[2] < x0 || y1 < other[1] || other[3] < y0;
        let words = self.taken.len() - self.taken.iter().filter(apart).count();
        let within = |(x, y): &&(f64, f64)| (x0..=x1).contains(x) && (y0..=y1).contains(y);
        self.points.iter().filter(within).count() + OUTSIDE * (usize::from(outside) + words)
    }
}

/// About as wide as these words are in a small font.
fn width(words: &str) -> f64 {
    6.6 * words.chars().count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_where_no_curve_and_no_other_word_is() {
        let mut room = Room::new([0.0, 0.0, 100.0, 100.0]);
        room.keep_free([(0.0, 20.0), (100.0, 20.0), (f64::NAN, 0.0), (50.0, 90.0)]);
        let (covering, free) = ([10.0, 10.0, 40.0, 30.0], [10.0, 40.0, 40.0, 60.0]);
        let (outside, lower) = ([-5.0, 40.0, 25.0, 60.0], [20.0, 70.0, 40.0, 95.0]);
        assert_eq!(room.choose(&[covering, outside, free, lower]), 2);
        // Now it is taken, and the line is better than the word.
        assert_eq!(room.choose(&[free, covering]), 1);
        assert_eq!(room.choose(&[covering, lower]), 1);
    }
}
