//! A chart as data: its points, its boundaries, a summary.

use serde_json::{Value, json};

use super::judge::Model;
use super::{Axis, BoundaryPoint, Chart, End, Verdict};
use crate::table::csv_text;
use crate::words::titled;

impl Chart {
    /// Every point: x and y in SI, verdict, growth, frequency, and whether it was
    /// computed or taken over from a cell of one verdict.
    pub fn points_csv(&self) -> String {
        let ([x, y], [columns, rows]) = (self.judge.axes(), self.grid.size);
        let head = [axis_head(x), axis_head(y)].into_iter();
        let head =
            head.chain(["verdict", "growth_1_s", "frequency_hz", "computed"].map(str::to_owned));
        let rows = self.grid.places().zip(&self.grid.computed).map(|((i, j), &computed)| {
            let point = self.grid.at(i, j);
            vec![
                cell(x.at(i, columns)),
                cell(y.at(j, rows)),
                point.verdict.word().to_owned(),
                cell(point.growth_1_s),
                cell(point.frequency_hz),
                u8::from(computed).to_string(),
            ]
        });
        csv_text(head.collect(), rows)
    }

    /// The boundaries, each line with a number of its own.
    pub fn boundary_csv(&self) -> String {
        let [x, y] = self.judge.axes();
        let head = ["line".to_owned(), axis_head(x), axis_head(y), "frequency_hz".to_owned()];
        let lines = (1..).zip(&self.boundaries.lines);
        let points = lines.flat_map(|(number, line)| line.iter().map(move |point| (number, point)));
        let rows = points.map(|(number, BoundaryPoint { at: [x, y], frequency_hz })| {
            [format!("{number}"), cell(*x), cell(*y), cell(*frequency_hz)]
        });
        csv_text(head, rows)
    }

    /// The summary for machines.
    pub fn summary(&self) -> Value {
        let axis = |index: usize| {
            let axis = &self.judge.axes()[index];
            let [down, up] = self.room(index);
            json!({
                "path": axis.target.path, "unit": axis.target.measure.unit(),
                "low": axis.low, "high": axis.high, "declared": axis.target.declared,
                "verdict_changes_below": down.and_then(End::change),
                "verdict_changes_above": up.and_then(End::change),
                "unjudged_below": down.and_then(End::unjudged),
                "unjudged_above": up.and_then(End::unjudged),
            })
        };
        json!({
            "verdict": self.verdict,
            "title": self.judge.experiment().title,
            "model": self.model_word(),
            "x": axis(0),
            "y": axis(1),
            "grid": self.grid.size,
            "computed": self.grid.computed_count(),
            "stable": self.grid.count(Verdict::Stable),
            "unstable": self.grid.count(Verdict::Unstable),
            "unknown": self.grid.count(Verdict::Unknown),
            "unknown_because": self.judge.trouble(),
            "stable_share": self.grid.stable_share(),
            "boundaries": self.boundaries.lines.len(),
            "declared": self.declared.map(|(_, judged)| json!({
                "verdict": judged.verdict.word(),
                "growth_1_s": finite(judged.growth_1_s),
                "frequency_hz": finite(judged.frequency_hz),
            })),
            "elapsed_s": self.elapsed.as_secs_f64(),
            "threads": self.threads,
            "points_per_s_and_thread": self.pace(),
            "cross_check": self.cross_check,
        })
    }

    /// What was judged, in a word.
    pub fn model_word(&self) -> &'static str {
        match self.judge.model() {
            Model::Delay => "delay_system",
            Model::Loop => "sampled_loop",
        }
    }

    /// What was judged, in a sentence.
    pub fn model_words(&self) -> &'static str {
        match self.judge.model() {
            Model::Delay => {
                "The pure delay in continuous time, exactly: the sampling of the loop and the hold \
                 of its force are not part of it."
            }
            Model::Loop => "The loop as it runs: sampled, its force held over the step.",
        }
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn cell(value: f64) -> String {
    if value.is_nan() { String::new() } else { format!("{value:?}") }
}

fn axis_head(axis: &Axis) -> String {
    titled(&axis.target.path, axis.target.measure.unit())
}
