//! What a bench was asked and answered, as lines of a journal.

use serde::{Deserialize, Serialize};

use super::resumed::Answer;

/// What a line holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// An answer of the bench.
    Answer(Box<Answer>),
    /// The course was run to its end after so many answers, in a word.
    End(usize, String),
}

impl Line {
    /// How many answers stand before it.
    pub fn number(&self) -> usize {
        match self {
            Self::Answer(answer) => answer.number,
            Self::End(number, _) => *number,
        }
    }
}

/// The line, with its end.
pub fn to_line(line: &Line) -> String {
    let text = serde_json::to_string(line).expect("texts and whole numbers have a JSON form");
    text + "\n"
}

/// What a line holds, if it is one.
pub fn from_line(line: &str) -> Option<Line> {
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use model::periodic::{Coefficients, Orbit};

    use super::*;
    use crate::iterative::Request;

    fn some_orbit() -> Orbit {
        let c = |k: f64| vec![Coefficients(vec![k, 0.1 * k, f64::NAN])];
        Orbit {
            measured: c(1.0 / 3.0),
            measured_scatter: c(1e-9),
            simulated: c(2.0),
            difference_scatter: c(3e-300),
            force: c(-4.0),
            time_s: 1.25,
            estimates: 7,
            settled: true,
        }
    }

    /// NaN is not equal to itself, its text is.
    fn same(a: &Line, b: &Line) -> bool {
        format!("{a:?}") == format!("{b:?}")
    }

    #[test]
    fn lines_come_back_as_they_went() {
        let target = vec![Coefficients(vec![0.0, 1.0 / 3.0, -2e-300])];
        let answer =
            |number, request, orbit| Line::Answer(Box::new(Answer { number, request, orbit }));
        let lines = [
            answer(0, Request::Apply { frequency_hz: 13.1, target }, Some(some_orbit())),
            answer(1, Request::Refine, Some(some_orbit())),
            answer(2, Request::Refine, None),
            Line::End(3, "limit".into()),
        ];
        for line in lines {
            let text = to_line(&line);
            assert_eq!(text.matches('\n').count(), 1);
            let back = from_line(&text).expect("a line of ours");
            assert!(same(&back, &line), "{back:?} {line:?}");
        }
    }

    #[test]
    fn what_is_no_line_is_none() {
        for text in [
            "",
            "{}",
            "[1]",
            "{\"end\":\"limit\"}",
            "{\"end\":[1,3]}",
            "{\"answer\":{\"number\":1}}",
            "{\"answer\":{\"number\":1,\"request\":\"refine\",\"orbit\":{}}}",
            "{\"answer\":{\"number\":1,\"request\":\"other\",\"orbit\":null}}",
        ] {
            assert_eq!(from_line(text), None, "{text}");
        }
    }
}
