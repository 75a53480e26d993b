//! How punctual a real-time run was, as the record's summary keeps it.

use serde_json::{Value, json};

/// How punctual a real-time run was. A rehearsal has none.
#[derive(Debug, Clone, PartialEq)]
pub struct TimingNote {
    /// Period of the tick.
    pub period_s: f64,
    /// Ticks that began a period late, or after one that ended too late.
    pub overruns: u64,
    /// Periods without a tick: the rig held its command meanwhile.
    pub missed: u64,
    /// Most periods in a row that were bridged.
    pub most_in_a_row: u64,
    /// How many were allowed.
    pub overrun_limit: u64,
    /// What the system granted: name and value.
    pub facts: Vec<(String, String)>,
    /// What it refused, and what that means.
    pub notices: Vec<String>,
    /// The histograms.
    pub latencies: Vec<LatencyNote>,
}

/// A histogram as it is remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyNote {
    /// `wake_up`, `execution`, `round_trip` …
    pub name: String,
    /// Number of values.
    pub count: u64,
    /// The shortest.
    pub min_s: f64,
    /// The mean.
    pub mean_s: f64,
    /// Half of them are shorter.
    pub p50_s: f64,
    /// 90 % are shorter.
    pub p90_s: f64,
    /// 99 % are shorter.
    pub p99_s: f64,
    /// 99.9 % are shorter.
    pub p999_s: f64,
    /// The longest.
    pub max_s: f64,
    /// Lower edge, upper edge and count of every bin that is not empty.
    pub bins: Vec<(f64, f64, u64)>,
}

impl TimingNote {
    /// The histogram called `name`.
    pub fn latency(&self, name: &str) -> Option<&LatencyNote> {
        self.latencies.iter().find(|latency| latency.name == name)
    }

    /// For machines.
    pub fn to_json(&self) -> Value {
        json!({
            "period_s": self.period_s,
            "overruns": self.overruns,
            "missed": self.missed,
            "most_in_a_row": self.most_in_a_row,
            "overrun_limit": self.overrun_limit,
            "facts": self.facts,
            "notices": self.notices,
            "latencies": self.latencies.iter().map(LatencyNote::to_json).collect::<Vec<_>>(),
        })
    }

    /// Reads it back; `None` if it is damaged.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let count = |key: &str| value.get(key)?.as_u64();
        Some(Self {
            period_s: value.get("period_s")?.as_f64()?,
            overruns: count("overruns")?,
            missed: count("missed")?,
            most_in_a_row: count("most_in_a_row")?,
            overrun_limit: count("overrun_limit")?,
            facts: list(&value, "facts", |fact| {
                let text = |index: usize| Some(fact.get(index)?.as_str()?.to_owned());
                Some((text(0)?, text(1)?))
            })?,
            notices: list(&value, "notices", |notice| Some(notice.as_str()?.to_owned()))?,
            latencies: list(&value, "latencies", LatencyNote::parse)?,
        })
    }
}

impl LatencyNote {
    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "count": self.count,
            "min_s": self.min_s,
            "mean_s": self.mean_s,
            "p50_s": self.p50_s,
            "p90_s": self.p90_s,
            "p99_s": self.p99_s,
            "p999_s": self.p999_s,
            "max_s": self.max_s,
            "bins": self.bins,
        })
    }

    fn parse(value: &Value) -> Option<Self> {
        let number = |key: &str| value.get(key)?.as_f64();
        Some(Self {
            name: value.get("name")?.as_str()?.to_owned(),
            count: value.get("count")?.as_u64()?,
            min_s: number("min_s")?,
            mean_s: number("mean_s")?,
            p50_s: number("p50_s")?,
            p90_s: number("p90_s")?,
            p99_s: number("p99_s")?,
            p999_s: number("p999_s")?,
            max_s: number("max_s")?,
            bins: list(value, "bins", |bin| {
                Some((bin.get(0)?.as_f64()?, bin.get(1)?.as_f64()?, bin.get(2)?.as_u64()?))
            })?,
        })
    }
}

fn list<T>(value: &Value, key: &str, parse: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    value.get(key)?.as_array()?.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> TimingNote {
        TimingNote {
            period_s: 1.0 / 4096.0,
            overruns: 3,
            missed: 2,
            most_in_a_row: 2,
            overrun_limit: 10,
            facts: vec![("loop processor".into(), "1".into())],
            notices: vec!["no real-time priority".into()],
            latencies: vec![LatencyNote {
                name: "wake_up".into(),
                count: 12,
                // Binary fractions: the reader of JSON may be off by the last bit of others.
                min_s: 2f64.powi(-20),
                mean_s: 2f64.powi(-19),
                p50_s: 2f64.powi(-19),
                p90_s: 2f64.powi(-18),
                p99_s: 2f64.powi(-17),
                p999_s: 2f64.powi(-16),
                max_s: 2f64.powi(-15),
                bins: vec![(2f64.powi(-20), 2f64.powi(-19), 7), (2f64.powi(-16), 0.125, 5)],
            }],
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        assert_eq!(TimingNote::parse(&note().to_json().to_string()), Some(note()));
    }

    #[test]
    fn damage_is_found_wherever_it_is() {
        let whole = note().to_json();
        let keys: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
        for key in keys {
            let mut torn = whole.clone();
            torn[&key] = json!({ "other": true });
            assert_eq!(TimingNote::parse(&torn.to_string()), None, "{key}");
        }
        assert_eq!(TimingNote::parse("["), None);
    }
}
