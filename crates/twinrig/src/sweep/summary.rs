//! What many variants say together.

use std::collections::BTreeMap;

use runtime::verdict::{Level, Reason, Verdict};
use serde::Serialize;
use serde_json::{Value, json};

use super::VariantStatus;
use super::row::{Columns, Metric, Row};
use super::study::Study;
use crate::page::text::{counted, prefixed};
use crate::table::csv_text;
use crate::words::number;

/// What helps where a loop leaves all bounds.
const FAR: &str = "less delay, a compensator, or less of the structure in the laboratory";

/// The results of a study, in the order of the variants.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The columns of the table.
    pub columns: Columns,
    /// Every variant.
    pub rows: Vec<Row>,
    /// One per metric, over the variants that ran to their end.
    pub statistics: Vec<Statistics>,
    /// The variant to look at first, as a place in `rows`.
    pub worst: Option<usize>,
}

/// One metric over many variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statistics {
    /// Which.
    #[serde(flatten)]
    pub metric: Metric,
    /// Variants that have a value.
    pub count: usize,
    /// The numbers, if there is at least one value.
    #[serde(flatten)]
    pub numbers: Option<Numbers>,
}

/// Mean and order statistics.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Numbers {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation, over n − 1; 0 for one value.
    pub sd: f64,
    /// Smallest.
    pub min: f64,
    /// Half are below.
    pub median: f64,
    /// 95 % are below.
    pub p95: f64,
    /// Largest.
    pub max: f64,
    /// Number of the variant with the largest, the first of equals.
    #[serde(rename = "largest_in_variant")]
    pub largest_in: u64,
}

impl Summary {
    /// Sums up rows in the order of their variants.
    pub fn new(columns: &Columns, rows: Vec<Row>) -> Self {
        let statistics = columns
            .metrics
            .iter()
            .enumerate()
            .map(|(at, metric)| {
                let complete = rows.iter().filter(|row| row.outcome == VariantStatus::Completed);
                let values: Vec<(f64, u64)> = complete
                    .filter_map(|row| Some((row.metrics[at]?, row.variant.index)))
                    .collect();
                let (count, numbers) = (values.len(), Numbers::of(&values));
                Statistics { metric: metric.clone(), count, numbers }
            })
            .collect();
        let worst = worst(columns, &rows);
        Self { columns: columns.clone(), rows, statistics, worst }
    }

    /// Variants with an outcome.
    pub fn count(&self, outcome: VariantStatus) -> usize {
        self.rows.iter().filter(|row| row.outcome == outcome).count()
    }

    /// Variants that are unstable.
    pub fn unstable(&self) -> usize {
        self.rows.iter().filter(|row| row.stable == Some(false)).count()
    }

    /// How far the results can be trusted: every finding once, with the variants that have it.
    pub fn verdict(&self) -> Verdict {
        let mut found: Vec<(usize, u64, &Reason)> = Vec::new();
        for row in &self.rows {
            for reason in &row.verdict.reasons {
                match found.iter_mut().find(|(_, _, known)| known.id == reason.id) {
                    None => found.push((1, row.variant.index, reason)),
                    Some((count, index, known)) => {
                        *count += 1;
                        if reason.level > known.level {
                            (*index, *known) = (row.variant.index, reason);
                        }
                    }
                }
            }
        }
        let all = counted(self.rows.len() as u64, "variant");
        let of_all = found.into_iter().map(|(count, index, Reason { id, level, text, remedy })| {
            Reason::new(*level, id, format!("{count} of {all}, such as {index}: {text}"), remedy)
        });
        let far = self.rows.iter().filter(|row| row.ran_away()).count();
        let text = format!("the interface of {far} of {all} left all bounds (`unstable_beyond`)");
        let far = (far > 0).then(|| Reason::new(Level::Unsafe, "ran_away", text, FAR));
        of_all.chain(far).collect()
    }

    /// What a reader must know of the values, each with how many variants it concerns.
    pub fn notes(&self) -> Vec<String> {
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        let notes = self.rows.iter().flat_map(|row| row.notes.split("; "));
        notes.filter(|note| !note.is_empty()).for_each(|note| *found.entry(note).or_default() += 1);
        let all = self.rows.len();
        found.into_iter().map(|(note, count)| format!("{note} ({count} of {all})")).collect()
    }

    /// The variant to look at first.
    pub fn worst(&self) -> Option<&Row> {
        self.worst.map(|at| &self.rows[at])
    }

    /// The table, for spreadsheets and programs.
    pub fn csv(&self) -> String {
        csv_text(self.columns.head(), self.rows.iter().map(|row| self.columns.fields(row)))
    }

    /// The same in short, for machines.
    pub fn json(&self, study: &Study) -> Value {
        let spec = study.spec();
        let level = |level| self.rows.iter().filter(|row| row.verdict.level == level).count();
        json!({
            "verdict": self.verdict(),
            "title": study.experiment().title,
            "experiment": study.experiment().name(),
            "version": env!("CARGO_PKG_VERSION"),
            "fingerprint": format!("{:016x}", study.fingerprint()),
            "seed": spec.seed,
            "runs": spec.runs,
            "grid_points": spec.combinations(),
            "variants": self.rows.len(),
            "completed": self.count(VariantStatus::Completed),
            "tripped": self.count(VariantStatus::Tripped),
            "failed": self.count(VariantStatus::Failed),
            "unstable": self.unstable(),
            "sound": level(Level::Sound),
            "doubtful": level(Level::Doubtful),
            "wrong": level(Level::Wrong),
            "unsafe": level(Level::Unsafe),
            "notes": self.notes(),
            "metrics": self.statistics,
            "worst": self.worst().map(|row| self.row_json(row)),
        })
    }

    /// One variant, for machines.
    pub fn row_json(&self, row: &Row) -> Value {
        let Columns { parameters, metrics } = &self.columns;
        let parameters =
            parameters.iter().map(|(path, _)| path.clone()).zip(row.variant.values.clone());
        let metrics = metrics.iter().map(|metric| metric.id.clone()).zip(row.metrics.clone());
        json!({
            "variant": row.variant.index,
            "draw": row.variant.draw,
            "seed": row.variant.seed,
            "parameters": Value::from_iter(parameters),
            "outcome": row.outcome.word(),
            "stable": row.stable,
            "verdict": row.verdict,
            "notes": row.notes,
            "trip": row.trip,
            "reason": row.reason,
            "metrics": Value::from_iter(metrics),
        })
    }
}

impl Statistics {
    /// Mean, standard deviation, least, median, 95 %, largest, all in the unit that is told
    /// first, and the variant with the largest.
    pub fn cells(&self) -> (String, [String; 7]) {
        let Some(n) = &self.numbers else {
            return (self.metric.unit.clone(), std::array::from_fn(|_| "–".to_owned()));
        };
        let (unit, scale) = prefixed(&self.metric.unit, n.min.abs().max(n.max.abs()));
        let [mean, sd, min, median, p95, max] =
            [n.mean, n.sd, n.min, n.median, n.p95, n.max].map(|value| number(scale * value));
        (unit, [mean, sd, min, median, p95, max, n.largest_in.to_string()])
    }
}

impl Numbers {
    /// Of values and the variants they belong to.
    fn of(values: &[(f64, u64)]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().map(|(value, _)| value).sum::<f64>() / count;
        let squares: f64 = values.iter().map(|(value, _)| (value - mean).powi(2)).sum();
        let mut sorted: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
        sorted.sort_by(f64::total_cmp);
        let &max = sorted.last()?;
        let (_, largest_in) = values.iter().find(|(value, _)| *value == max)?;
        Some(Self {
            mean,
            sd: (squares / (count - 1.0).max(1.0)).sqrt(),
            min: sorted[0],
            median: quantile(&sorted, 0.5),
            p95: quantile(&sorted, 0.95),
            max,
            largest_in: *largest_in,
        })
    }
}

/// The value below which this share lies, by straight lines between the sorted
/// values (definition 7 of Hyndman and Fan, which spreadsheets use).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + part * (sorted[above] - sorted[below])
}

/// Unstable before tripped before the largest error against the reference;
/// failed variants have not run and are not compared.
fn worst(columns: &Columns, rows: &[Row]) -> Option<usize> {
    let place = |id: &str| columns.metrics.iter().position(|metric| metric.id == id);
    let measure = place("NRMSE")?;
    let rank = |row: &Row| {
        let error = row.metrics[measure].unwrap_or(0.0);
        let early = row.trip.as_ref().map_or(0.0, |trip| -trip.time_s);
        let (unstable, tripped) = (row.stable == Some(false), row.trip.is_some());
        (unstable, tripped, early, error)
    };
    let ran = rows.iter().enumerate().filter(|(_, row)| row.outcome != VariantStatus::Failed);
    let worse = |a: &(usize, &Row), b: &(usize, &Row)| {
        let (a, b) = (rank(a.1), rank(b.1));
        let order = (a.0, a.1).cmp(&(b.0, b.1));
        order.then(a.2.total_cmp(&b.2)).then(a.3.total_cmp(&b.3))
    };
    // Of equals the first.
    ran.rev().max_by(worse).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_the_textbook() {
        let values: Vec<(f64, u64)> = [4.0, 1.0, 3.0, 2.0, 10.0].into_iter().zip(1..).collect();
        let numbers = Numbers::of(&values).expect("values");
        assert_eq!((numbers.mean, numbers.min, numbers.median, numbers.max), (4.0, 1.0, 3.0, 10.0));
        // Squared deviations 0, 9, 1, 4, 36 over 4.
        assert!((numbers.sd - 12.5f64.sqrt()).abs() < 1e-15);
        // A fifth of the way from the fourth to the fifth: 3.8 of 4 steps.
        assert!((numbers.p95 - (4.0 + 0.8 * 6.0)).abs() < 1e-12);
        assert_eq!(numbers.largest_in, 5);
        assert_eq!(Numbers::of(&[]), None);
        assert_eq!(Numbers::of(&[(2.0, 7)]).map(|n| (n.sd, n.p95)), Some((0.0, 2.0)));
    }
}
