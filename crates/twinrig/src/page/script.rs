//! A figure for the page's own script, `figure.js`.

use serde_json::{Value, json};

use super::figure::{
    Axis, Field, Figure, MarkKind, Meaning, Pane, Role, Rule, Scale, Series, Shape, Symbol, Tone,
};

/// The description that the script reads.
pub(super) fn description(figure: &Figure) -> Value {
    let panes: Vec<Value> = figure.panes.iter().map(pane).collect();
    json!({ "title": figure.title, "panes": panes })
}

fn pane(pane: &Pane) -> Value {
    let [x, y] = pane.ranges();
    let axis = |axis: &Axis, (low, high): (f64, f64)| {
        json!({
            "title": axis.title, "low": low, "high": high, "link": axis.link,
            "log": axis.scale == Scale::Log, "fixed": axis.range.is_some(),
        })
    };
    let (shape, height) = match pane.shape {
        Shape::High(pixels) => ("", pixels),
        Shape::Square => ("square", 0.0),
        Shape::Equal => ("equal", 0.0),
    };
    let lines = pane.lines.iter().filter_map(|rule| match rule {
        Rule::Event(at, text) => at.is_finite().then(|| json!({ "x": at, "text": text })),
        Rule::Limit(at, text) => at.is_finite().then(|| json!({ "y": at, "text": text })),
    });
    let finite = |a: f64, b: f64| a.is_finite() && b.is_finite();
    let marks = pane.marks.iter().filter(|mark| finite(mark.at.0, mark.at.1));
    let shaded = pane.shaded.iter().filter(|shade| finite(shade.from, shade.to));
    let unit = pane.y.title.split(['[', ']']).nth(1).unwrap_or_default();
    json!({
        "x": axis(&pane.x, x), "y": axis(&pane.y, y), "shape": shape, "height": height,
        "series": pane.series.iter().map(|one| series(one, unit)).collect::<Vec<_>>(),
        "lines": lines.collect::<Vec<_>>(),
        "marks": marks.map(|mark| json!({
            "x": mark.at.0, "y": mark.at.1, "text": mark.text, "dot": mark.kind == MarkKind::Place,
        })).collect::<Vec<_>>(),
        "shaded": shaded.map(|shade| {
            let tone = match shade.tone {
                Tone::Phase => "phase",
                Tone::Trip => "trip",
            };
            json!([shade.from, shade.to, shade.text, tone])
        }).collect::<Vec<_>>(),
    })
}

fn series(series: &Series, unit: &str) -> Value {
    let named = |kind: &str, role: Role, name: &str| {
        let look = role.look();
        json!({
            "kind": kind, "name": name, "colour": look.name, "width": look.width,
            "dash": look.dash, "unit": unit,
        })
    };
    match series {
        Series::Line { role, name, points } => {
            let mut value = named("line", *role, name);
            value["x"] = numbers(points.iter().map(|p| p.0));
            value["y"] = numbers(points.iter().map(|p| p.1));
            value
        }
        Series::Points { role, name, symbol, points } => {
            let mut value = named("points", *role, name);
            value["shape"] = json!(match symbol {
                Symbol::Circle => "circle",
                Symbol::Diamond => "diamond",
                Symbol::Cross => "cross",
                Symbol::Hidden => "",
            });
            value["x"] = numbers(points.iter().map(|p| p.at.0));
            value["y"] = numbers(points.iter().map(|p| p.at.1));
            if points.iter().any(|p| p.interval.0 > 0.0) {
                value["side"] = numbers(points.iter().map(|p| p.interval.0));
            }
            if points.iter().any(|p| p.interval.1 > 0.0) {
                value["up"] = numbers(points.iter().map(|p| p.interval.1));
            }
            if points.iter().any(|p| !p.label.is_empty()) {
                value["labels"] = points.iter().map(|p| p.label.as_str()).collect();
            }
            value
        }
        Series::Band { role, name, points } => {
            let mut value = named("band", *role, name);
            value["x"] = numbers(points.iter().map(|p| p.0));
            value["low"] = numbers(points.iter().map(|p| p.1));
            value["high"] = numbers(points.iter().map(|p| p.2));
            value
        }
        Series::Steps { role, name, bins } => {
            let mut value = named("steps", *role, name);
            value["bins"] =
                bins.iter().map(|&(low, high, height)| json!([low, high, height])).collect();
            value
        }
        Series::Field(found) => field(found),
    }
}

fn field(field: &Field) -> Value {
    let mut value = json!({
        "kind": "field", "across": field.x, "along": field.y, "size": field.size,
        "values": numbers(field.values.iter().copied()),
    });
    match &field.meaning {
        Meaning::Stability(stable) => value["stable"] = json!(stable),
        Meaning::Growth(most) => value["most"] = json!(most),
    }
    value
}

/// Numbers rounded to a millionth of their largest: finer than any screen, and
/// a third of the bytes. What is not finite becomes null, which draws as a gap.
fn numbers(values: impl Iterator<Item = f64> + Clone) -> Value {
    let finite = values.clone().filter(|value| value.is_finite());
    let largest = finite.fold(0.0f64, |largest, value| largest.max(value.abs()));
    // Bounded, so that neither a huge nor a tiny record asks for hundreds of digits.
    let digits = (6.0 - largest.max(f64::MIN_POSITIVE).log10().floor()).clamp(0.0, 40.0) as usize;
    values
        .map(|value| match format!("{value:.digits$}").parse::<f64>() {
            // Negative zero would cost a byte and puzzle a reader.
            Ok(rounded) if value.is_finite() => json!(rounded + 0.0),
            _ => Value::Null,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_null_and_the_look_goes_with_the_role() {
        let pane = Pane::new(Axis::time(), Axis::new("Displacement [mm]"));
        let points = [(0.0, 1.0), (1.0, f64::NAN), (2.0, f64::INFINITY)];
        let pane = pane.line(Role::Command, "</script>", points).event(f64::NAN, "never");
        let drawn = description(&Figure::new("", "", vec![pane]));
        let line = &drawn["panes"][0]["series"][0];
        assert_eq!(line["y"], json!([1.0, null, null]));
        assert_eq!((&line["dash"], &line["unit"]), (&json!("7 4"), &json!("mm")));
        assert_eq!(drawn["panes"][0]["lines"], json!([]));
    }

    #[test]
    fn numbers_of_any_size_stay_numbers() {
        let drawn = numbers([1e300, -1e-300, 0.0, f64::MAX, f64::NAN].into_iter());
        assert_eq!(drawn[0].as_f64(), Some(1e300));
        assert_eq!(drawn[4], Value::Null);
        assert_eq!(numbers([3e-320].into_iter()).as_array().map(Vec::len), Some(1));
    }
}
