//! The page of an iterative test.

use std::f64::consts::TAU;

use analysis::iterative::{Branch, Mark, TracePoint};
use model::periodic::Coefficients;

use super::{Ended, Outcome, Place, Setup, common_unit};
use crate::page::text::{label, number, plus_minus};
use crate::page::{Axis, Block, Figure, KeyNumber, Page, Pane, Point, Role, Section, Series};
use crate::page::{Shape, Symbol, Table, Verdict, Width};

/// Samples of a period that is drawn.
const SAMPLES: usize = 120;
/// Points whose motion can be looked at.
const MOTIONS: usize = 200;
/// Harmonics below this share of the fundamental are none, but noise.
const LEAST_HARMONIC: f64 = 1e-4;

/// The page: response, higher harmonics, intervals, cost, and every point's motion.
pub fn page(setup: &Setup<'_>, places: &[Place], found: &Outcome) -> Page {
    let experiment = setup.experiment();
    let responses = places.iter().enumerate().map(|(dof, place)| {
        let blocks =
            vec![response(found, dof, place).into(), Block::Text(RESPONSE_NOTE.to_owned())];
        Section::new(format!("Response of {}", label(&place.name)), blocks)
    });
    let mut sections: Vec<Section> = responses.collect();
    sections.push(Section::new("Peaks and folds", vec![marks(places, found).into()]));
    sections.push(Section::new("Higher harmonics", higher(found, places)));
    sections.push(Section::new("How well it is known", errors(found, common_unit(places))));
    sections.push(Section::new("Corrections and time", cost(found)));
    if !found.points.is_empty() {
        let motions = motions(places, &found.points);
        sections.push(Section::new("Motion at a point", vec![motions]));
    }
    sections.push(Section::provenance(experiment.name(), experiment.text()));
    Page {
        kind: "Iterative test",
        title: experiment.title.clone(),
        verdict: verdict(places, found),
        facts: facts(setup, found),
        sections,
    }
}

const RESPONSE_NOTE: &str = "Measured on the rig, with the interval of each point: what the \
    residual leaves open times its amplification, twice the standard deviation of noise, twice the \
    bias of the simulation and twice what unmatched harmonics may do. Both sides of the interface \
    lie on each other where the test is right.";

fn verdict(places: &[Place], found: &Outcome) -> Verdict {
    let ending = match found.ended {
        Ended::Tripped(_) => "tripped",
        Ended::Stopped => "stopped",
        ended if ended.is_complete() => "complete",
        ended if ended.is_final() => "not the whole band",
        _ => "not complete",
    };
    let percent = |value: Option<f64>| value.map(|value| format!("{} %", number(value)));
    let mut numbers = Vec::new();
    if let (Some(place), Some(peak)) = (places.first(), found.peaks.first()) {
        let (size, unit) = (number(1e3 * peak.mark.amplitude_m), place.shown_unit());
        let at = format!("at {} Hz", number(peak.mark.frequency_hz));
        let name = format!("Peak response of {}", label(&place.name));
        numbers.push(KeyNumber::new(name, format!("{size} {unit}"), at));
    }
    let known = [
        ("Largest difference from the model", found.largest_difference_percent),
        ("Largest bias of the simulation", found.largest_bias_percent),
    ];
    for (name, value) in known {
        numbers.extend(percent(value).map(|value| KeyNumber::new(name, value, "of the peak")));
    }
    let words = found.ended.words();
    let said = found.verdict.reasons.iter().any(|reason| reason.text.starts_with(&words));
    let statements = if said { Vec::new() } else { vec![words] };
    Verdict::of(&found.verdict, ending, &statements, numbers)
}

fn facts(setup: &Setup<'_>, found: &Outcome) -> Vec<(String, String)> {
    let median = found.median_iterations.map_or_else(|| "–".to_owned(), |n| n.to_string());
    let most = found.iterations.len().saturating_sub(1);
    let facts = [
        ("Nothing moved", found.still.clone().unwrap_or_default()),
        ("Points", found.points.len().to_string()),
        ("Points not settled", found.unsettled_points.to_string()),
        ("Corrections per point", format!("median {median}, maximum {most}")),
        ("Evaluations", found.evaluations.to_string()),
        ("Time on the rig", format!("{} min", number(found.rig_time_s / 60.0))),
        ("Harmonics matched", setup.spec().harmonics.to_string()),
        ("Folds", found.folds.len().to_string()),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// Peaks and folds, measured and of the model.
fn marks(places: &[Place], found: &Outcome) -> Table {
    let mut table = Table::new(&["", "Frequency [Hz]", "Amplitude", "Unit"]);
    let mut add = |name: String, hertz: String, amplitude: String, unit: String| {
        table.rows.push(vec![name, hertz, amplitude, unit]);
    };
    for (place, peak) in places.iter().zip(&found.peaks) {
        let Mark { frequency_hz, amplitude_m } = peak.mark;
        let (hertz, size) = (format!("{frequency_hz:.4}"), number(1e3 * amplitude_m));
        add(peak.from.label(&label(&place.name)), hertz, size, place.shown_unit());
    }
    let unit = places.first().map_or_else(String::new, Place::shown_unit);
    for (index, fold) in found.folds.iter().enumerate() {
        let hertz = plus_minus(fold.mark.frequency_hz, fold.interval_hz);
        let size = plus_minus(1e3 * fold.mark.amplitude_m, 1e3 * fold.interval_m);
        let doubt = if fold.doubtful { " (doubtful)" } else { "" };
        add(format!("fold {}{doubt}", index + 1), hertz, size, unit.clone());
    }
    let folds = found.reference.iter().flat_map(|reference| &reference.folds);
    for (index, fold) in folds.enumerate() {
        let (hertz, size) = (format!("{:.4}", fold.frequency_hz), number(1e3 * fold.amplitude_m));
        add(format!("fold {} of the model", index + 1), hertz, size, unit.clone());
    }
    table
}

/// Amplitude and phase of one place.
fn response(found: &Outcome, dof: usize, place: &Place) -> Figure {
    let of = |reading: &dyn Fn(&TracePoint) -> f64| -> Vec<(f64, f64)> {
        found.points.iter().map(|point| (point.frequency_hz, reading(point))).collect()
    };
    let title = format!("Amplitude [{}]", place.shown_unit());
    let mut pane = Pane::new(Axis::frequency(), Axis::new(title).reach(0.0)).high(340.0);
    if let Some(reference) = &found.reference {
        pane = reference_lines(pane, reference, dof);
    }
    let measured = of(&|point| 1e3 * point.amplitude_m(dof));
    let points = found.points.iter().zip(&measured).map(|(point, &at)| Point {
        at,
        interval: (0.0, 1e3 * point.interval_m[dof]),
        label: String::new(),
    });
    let points = points.collect();
    let name = "measured".to_owned();
    pane = pane
        .line(
            Role::Desired,
            "simulated",
            of(&|point| 1e3 * point.orbit.simulated[dof].amplitude(1)),
        )
        .line(Role::Measured, "measured", measured)
        .with(Series::Points { role: Role::Measured, name, symbol: Symbol::Circle, points });
    if !found.folds.is_empty() && dof == 0 {
        let folds = found.folds.iter().enumerate().map(|(index, fold)| Point {
            at: (fold.mark.frequency_hz, 1e3 * fold.mark.amplitude_m),
            interval: (fold.interval_hz, 1e3 * fold.interval_m),
            label: format!("fold {}", index + 1),
        });
        let (role, name, points) = (Role::Error, "fold".to_owned(), folds.collect());
        pane = pane.with(Series::Points { role, name, symbol: Symbol::Diamond, points });
    }
    let phase = Pane::new(Axis::frequency(), Axis::new("Phase [°]")).high(160.0);
    let phase = phase.line(Role::Measured, "measured", of(&|point| point.phase_deg(dof)));
    Figure::new("Amplitude and phase", "", vec![pane, phase])
}

/// The model's response, in another look where a free structure would not show it.
fn reference_lines(mut pane: Pane, reference: &Branch, dof: usize) -> Pane {
    let points = &reference.points;
    let mut start = 0;
    while start + 1 < points.len() {
        let unstable = points[start + 1].stable == Some(false);
        let mut end = start + 1;
        while end + 1 < points.len() && (points[end + 1].stable == Some(false)) == unstable {
            end += 1;
        }
        let (role, name) = match unstable {
            true => (Role::Other(1), "model, unstable without control"),
            false => (Role::Reference, "model of the whole"),
        };
        let line = points[start..=end].iter();
        let line = line.map(|point| (point.frequency_hz, 1e3 * point.fundamental[dof].norm()));
        pane = pane.line(role, name, line);
        start = end;
    }
    pane
}

fn higher(found: &Outcome, places: &[Place]) -> Vec<Block> {
    let points = &found.points;
    let seen = points.first().map_or(0, |point| point.orbit.measured[0].harmonics());
    if seen < 2 {
        return Vec::new();
    }
    let sizes = |harmonic: usize| {
        let all = points.iter().flat_map(|point| &point.orbit.measured);
        all.map(move |measured| measured.amplitude(harmonic))
    };
    let most = (2..=seen).flat_map(sizes).fold(0.0, f64::max);
    let amplitudes =
        points.iter().flat_map(|point| (0..places.len()).map(|dof| point.amplitude_m(dof)));
    let share = most / amplitudes.fold(0.0, f64::max);
    let unit = common_unit(places).replace('µ', "m");
    if share < LEAST_HARMONIC {
        let (size, percent) = (number(1e3 * most), number(100.0 * share));
        let words = format!(
            "None to speak of: at most {size} {unit}, {percent} % of the largest amplitude."
        );
        return vec![Block::Text(words)];
    }
    let mut pane =
        Pane::new(Axis::frequency(), Axis::new(format!("Amplitude [{unit}]")).reach(0.0));
    for (dof, place) in places.iter().enumerate() {
        let of =
            if places.len() > 1 { format!(" of {}", label(&place.name)) } else { String::new() };
        for k in 2..=seen {
            let size = |point: &TracePoint| 1e3 * point.orbit.measured[dof].amplitude(k);
            let line = points.iter().map(|point| (point.frequency_hz, size(point)));
            pane = pane.line(Role::Other(k - 2), format!("harmonic {k}{of}"), line);
        }
    }
    let caption = "Amplitudes of the measured displacement beyond the fundamental. Those that are \
                   not matched show what the target leaves out.";
    vec![Figure::new("Harmonics beyond the first", caption, vec![pane]).into()]
}

/// Each kind of error in a pane of its own, on one scale.
fn errors(found: &Outcome, unit: &str) -> Vec<Block> {
    let points = &found.points;
    let of = |value: Option<f64>| value.unwrap_or(f64::NAN).abs();
    type Reading<'a> = &'a dyn Fn(usize) -> f64;
    let kinds: [(Role, &str, Reading<'_>); 4] = [
        (Role::Measured, "interval", &|k| points[k].interval_m[0]),
        (Role::Error, "difference from the model", &|k| of(found.difference_m(k, 0))),
        (Role::Other(0), "bias of the simulation", &|k| of(found.biases_m[k])),
        (Role::Desired, "residual", &|k| points[k].point.evaluation.norm()),
    ];
    type Drawn<'a> = (Role, &'a str, Vec<(f64, f64)>);
    let drawn: Vec<Drawn<'_>> = kinds
        .into_iter()
        .map(|(role, name, reading)| {
            let values = (0..points.len()).map(|k| (points[k].frequency_hz, 1e6 * reading(k)));
            (role, name, values.collect::<Vec<_>>())
        })
        .filter(|(_, _, points)| points.iter().any(|(_, y)| y.is_finite() && *y > 0.0))
        .collect();
    let usable = || drawn.iter().flat_map(|(_, _, points)| points).filter(|(_, y)| *y > 0.0);
    let low = usable().fold(f64::INFINITY, |low, (_, y)| low.min(*y));
    let high = usable().fold(0.0, |high: f64, (_, y)| high.max(*y));
    let panes = drawn.into_iter().map(|(role, name, points)| {
        let mut title = name.to_owned();
        title[..1].make_ascii_uppercase();
        let title = format!("{} [{unit}]", title.split(' ').next().unwrap_or_default());
        let axis = Axis::new(title).log().range(0.7 * low, 1.4 * high);
        let marks = points.iter().map(|&at| Point::from(at)).collect();
        let name = name.to_owned();
        Pane::new(Axis::frequency(), axis).high(120.0).with(Series::Points {
            role,
            name,
            symbol: Symbol::Circle,
            points: marks,
        })
    });
    let panes: Vec<Pane> = panes.collect();
    if panes.is_empty() {
        return Vec::new();
    }
    let caption = "The interval of each point; the difference from the model of the whole \
                   structure, where there is one; the bias, which is what the simulation itself \
                   adds: the simulated part solved exactly with the measured force over \
                   displacement; and what was left of the residual.";
    vec![Figure::new("Interval, difference, bias and residual", caption, panes).into()]
}

fn cost(found: &Outcome) -> Vec<Block> {
    let bins = found
        .iterations
        .iter()
        .enumerate()
        .map(|(n, &count)| (n as f64 - 0.4, n as f64 + 0.4, count as f64));
    let (role, name, bins) = (Role::Other(0), String::new(), bins.collect());
    let histogram = Pane::new(Axis::new("Corrections [–]"), Axis::new("Points [–]").reach(0.0))
        .with(Series::Steps { role, name, bins });
    let points =
        found.points.iter().map(|point| Point::from((point.frequency_hz, point.rig_time_s)));
    let (role, name, points) = (Role::Measured, String::new(), points.collect());
    let times = Pane::new(Axis::frequency(), Axis::new("Time on the rig [s]").reach(0.0))
        .with(Series::Points { role, name, symbol: Symbol::Circle, points });
    let half =
        |title: &str, pane: Pane| Figure::new(title, "", vec![pane]).width(Width::Half).into();
    vec![half("Corrections per point", histogram), half("Time for each point", times)]
}

/// One period of both sides at a point of the reader's choice, the largest first.
fn motions(places: &[Place], points: &[TracePoint]) -> Block {
    let size = |point: &TracePoint| {
        let side = &point.orbit.measured[0].0;
        side.get(1).zip(side.get(2)).map_or(0.0, |(a, b)| a.hypot(*b))
    };
    let step = points.len().div_ceil(MOTIONS).max(1);
    let largest = (0..points.len()).max_by(|&a, &b| size(&points[a]).total_cmp(&size(&points[b])));
    let largest = largest.unwrap_or(0);
    let shown: Vec<usize> = (0..points.len()).filter(|i| i % step == 0 || *i == largest).collect();
    let first = shown.iter().position(|index| *index == largest).unwrap_or(0);
    let unit = places.first().map_or_else(String::new, Place::shown_unit);
    let options = shown.into_iter().map(|index| {
        let point = &points[index];
        let amplitude = number(1e3 * size(point));
        let name = format!("{}: {:.4} Hz, {amplitude} {unit}", index + 1, point.frequency_hz);
        (name, motion(places, point))
    });
    Block::Choice("Point".to_owned(), first, options.collect())
}

fn motion(places: &[Place], point: &TracePoint) -> Vec<Block> {
    let unit = common_unit(places).replace('µ', "m");
    let axis = |name: &str| Axis::new(format!("{name} [{unit}]"));
    let mut profile = Pane::new(Axis::new("Time [ms]"), axis("Motion"));
    let mut plane = Pane::new(axis("Measured"), axis("Simulated")).shape(Shape::Square);
    for (dof, place) in places.iter().enumerate() {
        let of = if places.len() > 1 { format!(" {}", label(&place.name)) } else { String::new() };
        let (measured, simulated) =
            (period(&point.orbit.measured[dof]), period(&point.orbit.simulated[dof]));
        let time = |i: usize| 1e3 * i as f64 / SAMPLES as f64 / point.frequency_hz;
        let timed = |side: &[f64]| -> Vec<(f64, f64)> {
            side.iter().enumerate().map(|(i, y)| (time(i), *y)).collect()
        };
        profile = profile.line(Role::Desired, format!("simulated{of}"), timed(&simulated)).line(
            Role::Measured,
            format!("measured{of}"),
            timed(&measured),
        );
        let role = if places.len() > 1 { Role::Other(dof) } else { Role::Measured };
        let name = format!("simulated over measured{of}");
        plane = plane.line(role, name, measured.into_iter().zip(simulated));
    }
    let half = |title: &str, caption: &str, pane: Pane| {
        Figure::new(title, caption, vec![pane]).width(Width::Half).into()
    };
    vec![
        half("One period", "Both sides, from their harmonics.", profile.shape(Shape::Square)),
        half("One side over the other", "A straight line where they move alike.", plane),
    ]
}

/// One period of a signal from its coefficients (mean, cosine, sine, …), in thousandths.
fn period(coefficients: &Coefficients) -> Vec<f64> {
    let values = &coefficients.0;
    let at = |phase: f64| {
        let harmonics = values[1..].chunks(2).zip(1..).map(|(pair, k)| {
            let (sine, cosine) = (f64::from(k) * phase).sin_cos();
            pair[0] * cosine + pair.get(1).unwrap_or(&0.0) * sine
        });
        1e3 * (values[0] + harmonics.sum::<f64>())
    };
    (0..=SAMPLES).map(|i| at(TAU * i as f64 / SAMPLES as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_the_sum_of_its_harmonics() {
        let drawn = period(&Coefficients(vec![1e-3, 2e-3, 0.0, 0.0, 1e-3]));
        assert!((drawn[0] - 3.0).abs() < 1e-12 && (drawn[SAMPLES] - 3.0).abs() < 1e-12);
        assert!((drawn[SAMPLES / 8] - (1.0 + 2f64.sqrt() + 1.0)).abs() < 1e-12);
    }
}
