//! How punctual a real-time run was, as the record's summary keeps it.

use serde::{Deserialize, Serialize};

/// How punctual a real-time run was. A rehearsal has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
        let text = serde_json::to_string(&note()).unwrap();
        assert_eq!(serde_json::from_str::<TimingNote>(&text).unwrap(), note());
        assert!(
            text.starts_with("{\"period_s\":0.000244140625,\"overruns\":3,\"missed\":2,"),
            "{text}"
        );
        assert!(text.contains("\"facts\":[[\"loop processor\",\"1\"]]"), "{text}");
    }

    #[test]
    fn damage_is_found_wherever_it_is() {
        let whole = serde_json::to_value(note()).unwrap();
        let keys: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
        for key in keys {
            let mut torn = whole.clone();
            torn[&key] = serde_json::json!({ "other": true });
            assert!(serde_json::from_value::<TimingNote>(torn).is_err(), "{key}");
        }
    }
}
