//! Evaluations and points as lines of a journal.

use analysis::iterative::{TracePoint, Trial};
use model::periodic::{Coefficients, Orbit};
use nalgebra::DMatrix;
use numerics::continuation::{Evaluation, Point};
use serde_json::{Map, Value, json};

/// What a line holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// An evaluation.
    Trial(Trial),
    /// A point.
    Point(Box<TracePoint>),
    /// The course was run to its end, in a word.
    End(String),
}

/// The line, with its end.
pub fn to_line(line: &Line) -> String {
    let value = match line {
        Line::Trial(trial) => json!({
            "trial": numbers(&trial.unknowns),
            "residual": numbers(&trial.residual),
            "orbit": orbit(&trial.orbit),
        }),
        Line::Point(point) => json!({
            "point": numbers(&point.point.unknowns),
            "residual": numbers(&point.point.evaluation.residual),
            "scatter": numbers(&point.point.evaluation.scatter),
            "tangent": numbers(point.point.tangent.as_slice()),
            "jacobian": rows(&point.point.jacobian),
            "iterations": point.point.iterations,
            "evaluations": point.point.evaluations,
            "orbit": orbit(&point.orbit),
            "fundamental": point.fundamental.iter().map(|x| numbers(x)).collect::<Vec<_>>(),
            "interval": numbers(&point.interval_m),
            "rig_time": number(point.rig_time_s),
            "failures": point.failures,
        }),
        Line::End(word) => json!({ "end": word }),
    };
    format!("{value}\n")
}

/// What a line holds, if it is one.
pub fn from_line(line: &str) -> Option<Line> {
    let Value::Object(map) = serde_json::from_str(line).ok()? else { return None };
    if let Some(end) = map.get("end") {
        return Some(Line::End(end.as_str()?.to_owned()));
    }
    let orbit = read_orbit(map.get("orbit")?)?;
    let of = |key: &str| read_numbers(map.get(key)?);
    if map.contains_key("trial") {
        let (unknowns, residual) = (of("trial")?, of("residual")?);
        return Some(Line::Trial(Trial { unknowns, residual, orbit }));
    }
    let unknowns = of("point")?;
    let point = Point {
        evaluation: Evaluation { residual: of("residual")?, scatter: of("scatter")? },
        tangent: of("tangent")?.into(),
        jacobian: read_rows(map.get("jacobian")?, unknowns.len())?,
        iterations: count(&map, "iterations")?,
        evaluations: count(&map, "evaluations")?,
        unknowns,
    };
    let is_whole = point.tangent.len() == point.unknowns.len()
        && point.evaluation.residual.len() + 1 == point.unknowns.len()
        && point.evaluation.scatter.len() == point.evaluation.residual.len();
    is_whole.then(|| {
        Some(Line::Point(Box::new(TracePoint {
            frequency_hz: point.parameter(),
            orbit,
            fundamental: pairs(map.get("fundamental")?)?,
            interval_m: of("interval")?,
            rig_time_s: read_number(map.get("rig_time")?)?,
            failures: count(&map, "failures")?,
            point,
        })))
    })?
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

fn rows(matrix: &DMatrix<f64>) -> Value {
    matrix.row_iter().map(|row| numbers(row.transpose().as_slice())).collect()
}

/// A matrix of so many columns, or without rows.
fn read_rows(value: &Value, columns: usize) -> Option<DMatrix<f64>> {
    let rows: Vec<_> = value.as_array()?.iter().map(read_numbers).collect::<Option<_>>()?;
    let whole = rows.iter().all(|row| row.len() == columns);
    whole.then(|| DMatrix::from_row_slice(rows.len(), columns, &rows.concat()))
}

fn pairs(value: &Value) -> Option<Vec<[f64; 2]>> {
    let pair = |entry| <[f64; 2]>::try_from(read_numbers(entry)?).ok();
    value.as_array()?.iter().map(pair).collect()
}

fn orbit(orbit: &Orbit) -> Value {
    let list = |list: &[Coefficients]| list.iter().map(|c| numbers(&c.0)).collect::<Vec<_>>();
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
    let list = |key: &str| -> Option<Vec<Coefficients>> {
        let read = |entry| read_numbers(entry).map(Coefficients);
        map.get(key)?.as_array()?.iter().map(read).collect()
    };
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
        let trial = Trial {
            unknowns: vec![1e-3, -2e-4, 13.0],
            residual: vec![1e-9, 2e-9],
            orbit: some_orbit(),
        };
        let point = TracePoint {
            frequency_hz: 13.0,
            point: Point {
                unknowns: vec![1e-3, -2e-4, 13.0],
                evaluation: Evaluation { residual: vec![1e-9, 2e-9], scatter: vec![0.0, 0.0] },
                tangent: vec![0.6, 0.0, 0.8].into(),
                jacobian: DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                iterations: 2,
                evaluations: 5,
            },
            orbit: some_orbit(),
            fundamental: vec![[1.5e-3, -2e-4]],
            interval_m: vec![f64::NAN],
            rig_time_s: 4.5,
            failures: 1,
        };
        let lines = [Line::Trial(trial), Line::Point(Box::new(point)), Line::End("limit".into())];
        for line in lines {
            let text = to_line(&line);
            assert_eq!(text.matches('\n').count(), 1);
            let back = from_line(&text).expect("a line of ours");
            assert!(same(&back, &line), "{back:?} {line:?}");
        }
    }

    #[test]
    fn what_is_no_line_is_none() {
        for text in
            ["", "{}", "[1]", "{\"trial\":\"1\"}", "{\"end\":3}", "{\"point\":\"\",\"orbit\":{}}"]
        {
            assert_eq!(from_line(text), None, "{text}");
        }
    }
}
