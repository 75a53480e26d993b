//! The verdict of a study: the worst of all that is known, with reasons and remedies.
//!
//! Every study ends in one. What is found first does not hide what is found later: each finding is
//! a [`Reason`] of its own, the gravest stands first, and the gravest is the verdict.

use serde::{Deserialize, Serialize};

/// How far a result can be trusted, best first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing that is known speaks against it.
    #[default]
    Sound,
    /// It may be right; something has to be looked at first.
    Doubtful,
    /// Its numbers are not those of the structure.
    Wrong,
    /// The rig or the specimen is or was in danger.
    Unsafe,
}

impl Level {
    /// In one word, for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sound => "Sound",
            Self::Doubtful => "Doubtful",
            Self::Wrong => "Wrong",
            Self::Unsafe => "Unsafe",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Name for machines, such as `tracking_error`.
    pub id: String,
    /// How grave it is.
    pub level: Level,
    /// What was found, with value and threshold.
    pub text: String,
    /// What to do about it.
    pub remedy: String,
}

impl Reason {
    /// A finding.
    pub fn new(level: Level, id: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { id: id.to_owned(), level, text: text.into(), remedy: remedy.into() }
    }

    /// A value against its two thresholds; `None` where it reaches neither. What is no number
    /// has not been shown to be small.
    pub fn beyond(
        [doubtful, wrong]: [f64; 2],
        value: f64,
        id: &str,
        words: impl FnOnce(f64) -> (String, String),
    ) -> Option<Self> {
        let (level, threshold) = match value {
            value if value < doubtful => return None,
            value if value < wrong => (Level::Doubtful, doubtful),
            _ => (Level::Wrong, wrong),
        };
        let (text, remedy) = words(threshold);
        Some(Self::new(level, id, text, remedy))
    }
}

/// The verdict: the gravest of its reasons, or sound where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The gravest.
    pub level: Level,
    /// The gravest first, otherwise as they were found.
    pub reasons: Vec<Reason>,
}

impl FromIterator<Reason> for Verdict {
    fn from_iter<I: IntoIterator<Item = Reason>>(reasons: I) -> Self {
        let mut reasons: Vec<Reason> = reasons.into_iter().collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.level));
        let level = reasons.first().map_or(Level::Sound, |reason| reason.level);
        Self { level, reasons }
    }
}

impl Verdict {
    /// With what was found beside it.
    pub fn and(self, more: impl IntoIterator<Item = Reason>) -> Self {
        self.reasons.into_iter().chain(more).collect()
    }

    /// The headline and, a line each, every reason with its remedy.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("Verdict: {}", self.level.word().to_lowercase())];
        for Reason { level, text, remedy, .. } in &self.reasons {
            let remedy = if remedy.is_empty() { String::new() } else { format!(" → {remedy}") };
            lines.push(format!("  {}: {text}{remedy}", level.word().to_lowercase()));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_reason_is_the_verdict_and_stands_first() {
        let reason = |level, id| Reason::new(level, id, "found", "");
        let verdict: Verdict = [
            reason(Level::Doubtful, "a"),
            reason(Level::Unsafe, "b"),
            reason(Level::Doubtful, "c"),
            reason(Level::Wrong, "d"),
        ]
        .into_iter()
        .collect();
        assert_eq!(verdict.level, Level::Unsafe);
        let ids: Vec<&str> = verdict.reasons.iter().map(|reason| reason.id.as_str()).collect();
        assert_eq!(ids, ["b", "d", "a", "c"]);
        assert_eq!(Verdict::default().level, Level::Sound);
        assert_eq!(Verdict::default().and([reason(Level::Wrong, "e")]).level, Level::Wrong);
    }

    #[test]
    fn a_value_is_held_against_both_thresholds() {
        let level = |value| {
            let found = Reason::beyond([0.05, 0.3], value, "x", |at| (format!("{at}"), "".into()));
            found.map(|reason| (reason.level, reason.text))
        };
        assert_eq!(level(0.0499), None);
        assert_eq!(level(0.05), Some((Level::Doubtful, "0.05".into())));
        assert_eq!(level(0.3), Some((Level::Wrong, "0.3".into())));
        assert_eq!(level(f64::NAN).map(|(level, _)| level), Some(Level::Wrong));
    }

    #[test]
    fn it_reads_as_it_is_written() {
        let verdict = Verdict::from_iter([Reason::new(Level::Wrong, "bias", "bias 20 %", "rk4")]);
        let text = serde_json::to_string(&verdict).unwrap();
        assert_eq!(
            text,
            r#"{"level":"wrong","reasons":[{"id":"bias","level":"wrong","text":"bias 20 %","remedy":"rk4"}]}"#
        );
        assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
        assert_eq!(verdict.lines(), ["Verdict: wrong", "  wrong: bias 20 % → rk4"]);
    }
}
