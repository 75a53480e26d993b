//! What a bench was asked and answered, as lines of a journal.

use model::periodic::{Coefficients, Orbit};
use serde_json::{Map, Value, json};

use super::resumed::{Answer, Request};

/// What a line holds.
#[derive(Debug, Clone, PartialEq)]
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
    let value = match line {
        Line::Answer(answer) => {
            let orbit = answer.orbit.as_ref().map(orbit);
            match &answer.request {
                Request::Apply { frequency_hz, target } => json!({
                    "number": answer.number,
                    "frequency": number(*frequency_hz),
                    "target": list(target),
                    "orbit": orbit,
                }),
                Request::Refine => json!({ "number": answer.number, "refined": orbit }),
            }
        }
        Line::End(number, word) => json!({ "number": number, "end": word }),
    };
    format!("{value}\n")
}

/// What a line holds, if it is one.
pub fn from_line(line: &str) -> Option<Line> {
    let Value::Object(map) = serde_json::from_str(line).ok()? else { return None };
    let number = count(&map, "number")?;
    if let Some(end) = map.get("end") {
        return Some(Line::End(number, end.as_str()?.to_owned()));
    }
    let (request, orbit) = match map.get("refined") {
        Some(Value::Null) => (Request::Refine, None),
        Some(orbit) => (Request::Refine, Some(read_orbit(orbit)?)),
        None => {
            let frequency_hz = read_number(map.get("frequency")?)?;
            let target = read_list(map.get("target")?)?;
            (Request::Apply { frequency_hz, target }, Some(read_orbit(map.get("orbit")?)?))
        }
    };
    Some(Line::Answer(Box::new(Answer { number, request, orbit })))
}

fn count(map: &Map<String, Value>, key: &str) -> Option<usize> {
    usize::try_from(map.get(key)?.as_u64()?).ok()
}

/// A number as text: what is not finite stays so, and every digit comes back.
fn number(value: f64) -> Value {
    Value::String(format!("{value:e}"))
}

/// Numbers as one text.
fn numbers(values: &[f64]) -> Value {
    let texts: Vec<String> = values.iter().map(|value| format!("{value:e}")).collect();
    Value::String(texts.join(" "))
}

fn read_number(value: &Value) -> Option<f64> {
    value.as_str()?.parse().ok()
}

fn read_numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_str()?.split_whitespace().map(|text| text.parse().ok()).collect()
}

fn list(list: &[Coefficients]) -> Vec<Value> {
    list.iter().map(|coefficients| numbers(&coefficients.0)).collect()
}

fn read_list(value: &Value) -> Option<Vec<Coefficients>> {
    let read = |entry| read_numbers(entry).map(Coefficients);
    value.as_array()?.iter().map(read).collect()
}

fn orbit(orbit: &Orbit) -> Value {
    json!({
        "measured": list(&orbit.measured),
        "measured_scatter": list(&orbit.measured_scatter),
        "simulated": list(&orbit.simulated),
        "difference_scatter": list(&orbit.difference_scatter),
        "force": list(&orbit.force),
        "time": number(orbit.time_s),
        "estimates": orbit.estimates,
        "settled": orbit.settled,
    })
}

fn read_orbit(value: &Value) -> Option<Orbit> {
    let map = value.as_object()?;
    let list = |key: &str| read_list(map.get(key)?);
    Some(Orbit {
        measured: list("measured")?,
        measured_scatter: list("measured_scatter")?,
        simulated: list("simulated")?,
        difference_scatter: list("difference_scatter")?,
        force: list("force")?,
        time_s: read_number(map.get("time")?)?,
        estimates: count(map, "estimates")?,
        settled: map.get("settled")?.as_bool()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "{\"number\":1}",
            "{\"end\":\"limit\"}",
            "{\"number\":1,\"end\":3}",
            "{\"number\":1,\"refined\":{}}",
            "{\"number\":1,\"frequency\":\"1\",\"target\":[],\"orbit\":null}",
        ] {
            assert_eq!(from_line(text), None, "{text}");
        }
    }
}
