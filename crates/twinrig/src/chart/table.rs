//! A chart as data: its points, its boundaries, a summary.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::judge::Model;
use super::{Chart, End, Verdict};

impl Chart {
    /// Every point: x and y in SI, verdict, growth, frequency, and whether it was
    /// computed or taken over from a cell of one verdict.
    pub fn points_csv(&self) -> String {
        let [x, y] = self.judge.axes();
        let mut text = format!(
            "{},{},verdict,growth_1_s,frequency_hz,computed\n",
            column(&x.target.path, x.target.measure.unit()),
            column(&y.target.path, y.target.measure.unit())
        );
        let [columns, rows] = self.grid.size;
        for j in 0..rows {
            for i in 0..columns {
                let point = self.grid.at(i, j);
                let _ = writeln!(
                    text,
                    "{:?},{:?},{},{},{},{}",
                    x.at(i, columns),
                    y.at(j, rows),
                    point.verdict.word(),
                    cell(point.growth_1_s),
                    cell(point.frequency_hz),
                    u8::from(self.grid.computed[j * columns + i])
                );
            }
        }
        text
    }

    /// The boundaries, each line with a number of its own.
    pub fn boundary_csv(&self) -> String {
        let [x, y] = self.judge.axes();
        let mut text = format!(
            "line,{},{},frequency_hz\n",
            column(&x.target.path, x.target.measure.unit()),
            column(&y.target.path, y.target.measure.unit())
        );
        for (number, line) in self.boundaries.lines.iter().enumerate() {
            for point in line {
                let [x, y] = point.at;
                let _ = writeln!(text, "{},{x:?},{y:?},{}", number + 1, cell(point.frequency_hz));
            }
        }
        text
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
        let count = |verdict| self.grid.points.iter().filter(|p| p.verdict == verdict).count();
        json!({
            "title": self.judge.experiment().title,
            "model": self.model_word(),
            "x": axis(0),
            "y": axis(1),
            "grid": self.grid.size,
            "computed": self.grid.computed_count(),
            "stable": count(Verdict::Stable),
            "unstable": count(Verdict::Unstable),
            "unknown": count(Verdict::Unknown),
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

/// A column's name with its unit; a path holds no comma or quote.
fn column(path: &str, unit: &str) -> String {
    if unit.is_empty() { path.to_owned() } else { format!("{path} [{unit}]") }
}
