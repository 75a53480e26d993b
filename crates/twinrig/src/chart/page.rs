//! The page and the picture of a stability chart.

use super::{Chart, Depth, End, Verdict};
use crate::page::figure::{Field, Meaning};
use crate::page::text::{count, number};
use crate::page::{Axis, Block, Figure, KeyNumber, MarkKind, Page, Pane, Point, Role};
use crate::page::{Section, Series, Shape, Symbol, Verdict as Banner, svg};

impl Chart {
    /// The chart, what it says of the declared experiment, and the file.
    pub fn page(&self, checked: Option<&[String]>) -> Page {
        let experiment = self.judge.experiment();
        let mut sections = vec![Section::new(
            "Chart",
            vec![self.figure().into(), Block::Text(self.model_words().into())],
        )];
        if let Some(checked) = checked {
            let lines = checked.iter().cloned().map(Block::Text).collect();
            sections.push(Section::new("Methods held against each other", lines));
        }
        sections.push(Section::provenance(experiment.name(), experiment.text()));
        Page {
            kind: "Stability chart",
            title: experiment.title.clone(),
            verdict: self.banner(),
            facts: self.facts(),
            sections,
        }
    }

    /// The picture for documents.
    pub fn svg(&self) -> String {
        svg(&self.judge.experiment().title, &[self.figure()])
    }

    fn banner(&self) -> Banner {
        let ended = match &self.declared {
            None => "the declared experiment is not on this chart",
            Some((_, judged)) => match judged.verdict {
                Verdict::Stable => "the declared experiment is stable",
                Verdict::Unstable => "the declared experiment is unstable",
                Verdict::Unknown => "the declared experiment could not be judged",
            },
        };
        let numbers = self.numbers();
        let told = numbers
            .iter()
            .map(|number| format!("{}: {}; you have {}.", number.name, number.limit, number.value));
        Banner::of(&self.verdict, ended, &told.collect::<Vec<_>>(), numbers)
    }

    /// The declared numbers, and how far each may go before the verdict changes; none where
    /// they do not lie on the chart, or could not be judged.
    pub fn numbers(&self) -> Vec<KeyNumber> {
        (0..2).filter_map(|index| self.key_number(index)).collect()
    }

    fn key_number(&self, index: usize) -> Option<KeyNumber> {
        let (place, judged) = self.declared.as_ref()?;
        let axis = &self.judge.axes()[index];
        let other = match judged.verdict {
            Verdict::Stable => "unstable",
            Verdict::Unstable => "stable",
            Verdict::Unknown => return None,
        };
        let ends = [("below", self.room(index)[0]), ("above", self.room(index)[1])];
        let words: Vec<String> = ends
            .into_iter()
            .filter_map(|(side, end)| match end? {
                End::Changes(at) => Some(format!("{other} {side} {}", axis.value(at))),
                End::Unjudged(at) => Some(format!("not judged {side} {}", axis.value(at))),
            })
            .collect();
        let limit =
            if words.is_empty() { "no change on this chart".to_owned() } else { words.join(", ") };
        Some(KeyNumber::new(axis.words(), axis.value(place[index]), limit))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let [columns, rows] = self.grid.size;
        let mut facts: Vec<(String, String)> = Vec::new();
        for axis in self.judge.axes() {
            facts.push((axis.target.path.clone(), axis.ends()));
            let declared = axis.target.declared.map(|value| axis.value(value));
            let declared = declared.unwrap_or_else(|| "–".to_owned());
            facts.push((format!("{} declared", axis.target.path), declared));
        }
        let more = [
            ("Grid", format!("{columns} × {rows}")),
            ("Points computed", count(self.grid.computed_count() as u64)),
            ("Stable", format!("{} %", number(100.0 * self.grid.stable_share()))),
            ("Model", self.model_word().replace('_', " ")),
        ];
        facts.extend(more.map(|(name, value)| (name.to_owned(), value)));
        facts
    }

    /// Regions, boundaries and the declared experiment.
    fn figure(&self) -> Figure {
        let [x, y] = self.judge.axes();
        let range = |axis: &super::Axis| (axis.shown(axis.low), axis.shown(axis.high));
        let shown = |[a, b]: [f64; 2]| (x.shown(a), y.shown(b));
        let axis = |axis: &super::Axis| {
            let (low, high) = range(axis);
            Axis::new(axis.title()).range(low, high)
        };
        let values = self.grid.points.iter().map(|point| match (point.verdict, self.depth) {
            (Verdict::Unknown, _) => f64::NAN,
            (_, Depth::Growth) => point.growth_1_s,
            (verdict, Depth::Verdict) => f64::from(u8::from(verdict == Verdict::Unstable)),
        });
        let most = self.growth_scale_1_s();
        let meaning = match self.depth {
            Depth::Growth => Meaning::Growth(most),
            Depth::Verdict => {
                let polygons = self.boundaries.stable.iter();
                Meaning::Stability(
                    polygons.map(|p| p.iter().copied().map(shown).collect()).collect(),
                )
            }
        };
        let field = Field {
            x: range(x),
            y: range(y),
            size: self.grid.size,
            values: values.collect(),
            meaning,
        };
        let mut pane =
            Pane::new(axis(x), axis(y)).shape(Shape::High(520.0)).with(Series::Field(field));
        for (index, line) in self.boundaries.lines.iter().enumerate() {
            let name = if index == 0 { "boundary" } else { "" };
            pane = pane.line(Role::Ink, name, line.iter().map(|point| shown(point.at)));
            let points = line.iter().map(|point| Point {
                label: swings(point.frequency_hz),
                ..Point::from(shown(point.at))
            });
            let (role, symbol, points) = (Role::Ink, Symbol::Hidden, points.collect());
            pane = pane.with(Series::Points { role, name: String::new(), symbol, points });
        }
        for verdict in [Verdict::Stable, Verdict::Unstable, Verdict::Unknown] {
            if let Some([column, row]) = self.middle_of(verdict) {
                let [columns, rows] = self.grid.size;
                let place = shown([x.at(column, columns), y.at(row, rows)]);
                let word = if verdict == Verdict::Unknown { "not judged" } else { verdict.word() };
                pane = pane.mark(place, word, MarkKind::Words);
            }
        }
        if let Some((place, _)) = self.declared {
            pane = pane.mark(shown(place), "declared", MarkKind::Place);
        }
        let mut panes = vec![pane];
        if self.depth == Depth::Growth {
            panes.push(colour_bar(most));
        }
        Figure::new("Where the test is stable", "", panes)
    }

    /// The grid point furthest from every other verdict and from the frame: where a word
    /// has most room. None if that is next to nothing.
    fn middle_of(&self, verdict: Verdict) -> Option<[usize; 2]> {
        let [columns, rows] = self.grid.size;
        let within = |i: usize, j: usize| self.grid.at(i, j).verdict == verdict;
        // Steps to the next point that is not within, by two passes over the grid.
        let mut far = vec![0usize; columns * rows];
        for j in 1..rows.saturating_sub(1) {
            for i in 1..columns.saturating_sub(1) {
                let before = [far[j * columns + i - 1], far[(j - 1) * columns + i]];
                far[j * columns + i] = if within(i, j) { 1 + before[0].min(before[1]) } else { 0 };
            }
        }
        for j in (1..rows.saturating_sub(1)).rev() {
            for i in (1..columns.saturating_sub(1)).rev() {
                let after = far[j * columns + i + 1].min(far[(j + 1) * columns + i]);
                let own = &mut far[j * columns + i];
                *own = (*own).min(1 + after);
            }
        }
        let best = (0..far.len()).max_by_key(|&index| far[index])?;
        (20 * far[best] >= columns.min(rows)).then_some([best % columns, best / columns])
    }
}

/// What swings at a boundary.
fn swings(frequency_hz: f64) -> String {
    if frequency_hz.is_finite() {
        format!("boundary, swings at {} Hz", number(frequency_hz))
    } else if frequency_hz.is_infinite() {
        "boundary, high frequencies go first".to_owned()
    } else {
        "boundary".to_owned()
    }
}

/// The colours of growth, with their numbers.
fn colour_bar(most: f64) -> Pane {
    let shades = 221;
    let value = |i: usize| most * (2.0 * i as f64 / (shades - 1) as f64 - 1.0);
    let row: Vec<f64> = (0..shades).map(value).collect();
    let values = [row.clone(), row].concat();
    let (x, y, size) = ((-most, most), (0.0, 1.0), [shades, 2]);
    let field = Field { x, y, size, values, meaning: Meaning::Growth(most) };
    let axis = Axis::new("Growth of the fastest motion [1/s]; beyond the ends the same colour");
    Pane::new(axis.range(-most, most), Axis::new("").range(0.0, 1.0))
        .high(22.0)
        .with(Series::Field(field))
}
