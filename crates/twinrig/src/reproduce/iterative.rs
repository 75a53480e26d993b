//! The rows of Beregi et al. that come from iterative tests on a virtual rig.

use crate::error::Error;
use std::f64::consts::TAU;

use analysis::iterative::{Trace, TracePoint};
use numerics::continuation::{Course, Steps};

use super::Row;
use super::shaken_building::{Legs, ShakenBuilding, trace_settings, whole_building};

/// Simulated share of storey 3's mass, its name, and the mass itself, kg.
const SPLITS: [(f64, &str, f64); 3] =
    [(0.67, "p067", 3.58), (0.5, "p050", 2.69), (0.33, "p033", 1.79)];

fn row(
    id: impl Into<String>,
    quantity: impl Into<String>,
    ours: Option<f64>,
    unit: &'static str,
) -> Row {
    Row { id: id.into(), quantity: quantity.into(), paper: None, ours, unit }
}

/// Frequency responses of the linear building, for three splits of its mass.
pub(super) fn linear_rows() -> Result<Vec<Row>, Error> {
    let truth = whole_building()?;
    let amplitude = |hz: f64| truth.response(&[], TAU * hz).map(|r| r.harmonics[1][2].norm());
    let mut rows = Vec::new();
    let (mut peaks, mut worst, mut iterations) = (Vec::new(), 0.0f64, Vec::new());
    for (p, name, simulated_kg) in SPLITS {
        let steps = Steps {
            first: 0.3,
            least: 0.01,
            most: 0.8,
            grow: 1.3,
            shrink: 0.5,
            most_turn_rad: 0.5,
            most_points: 120,
        };
        let course = Course::Arclength { steps, falling: false };
        let settings = trace_settings(Legs::Linear, 1, course);
        let rig = ShakenBuilding::new(Legs::Linear, simulated_kg, 1)?;
        let mut trace = Trace::new(rig, settings);
        trace.run()?;
        let points = trace.points();
        let peak = peak(points);
        rows.push(row(
            format!("frf_peak_{name}"),
            format!("peak of storey 3 by iteration, p = {p}"),
            peak.map(|(_, amplitude)| amplitude),
            "m",
        ));
        rows.push(row(
            format!("rig_minutes_{name}"),
            format!("time on the rig for it, {} points, p = {p}", points.len()),
            Some(points.iter().map(|point| point.rig_time_s).sum::<f64>() / 60.0),
            "min",
        ));
        peaks.extend(peak.map(|(hz, _)| hz));
        for point in points {
            let ours = point.amplitude_m(0);
            if let Some(truth) = amplitude(point.frequency_hz) {
                worst = worst.max((ours - truth).abs());
            }
            iterations.push(point.point.iterations);
        }
    }
    let mean = peaks.iter().sum::<f64>() / peaks.len() as f64;
    iterations.sort_unstable();
    let peak_m = amplitude(mean).unwrap_or(f64::NAN);
    rows.push(row("frf_peak_hz", "frequency of the peak, mean of the splits", Some(mean), "Hz"));
    rows.push(row(
        "frf_error_max",
        "largest difference from the whole building, of the peak, all splits",
        Some(100.0 * worst / peak_m),
        "%",
    ));
    rows.push(row(
        "iterations_median",
        "median of the corrections per point (the paper: 0 to 5)",
        iterations.get(iterations.len() / 2).map(|&n| n as f64),
        "",
    ));
    Ok(rows)
}

/// Frequency and height of the peak: near a resonance 1/|x|² is a parabola.
fn peak(points: &[TracePoint]) -> Option<(f64, f64)> {
    let value = |k: usize| points[k].amplitude_m(0);
    let top = (0..points.len()).max_by(|&a, &b| value(a).total_cmp(&value(b)))?;
    if top == 0 || top + 1 >= points.len() {
        return None;
    }
    let at = |k: usize| (points[k].frequency_hz, value(k).powi(-2));
    let ((x0, y0), (x1, y1), (x2, y2)) = (at(top - 1), at(top), at(top + 1));
    let (s1, s2) = ((y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1));
    let bend = (s2 - s1) / (x2 - x0);
    let slope = s1 + bend * (x1 - x0);
    let moved = -slope / (2.0 * bend);
    let least = y1 + slope * moved + bend * moved * moved;
    (bend > 0.0 && least > 0.0).then(|| (x1 + moved, least.powf(-0.5)))
}

/// The bilinear building, traced with so many harmonics.
fn bilinear(simulated_kg: f64, harmonics: usize) -> Result<Trace<ShakenBuilding>, Error> {
    let steps = Steps {
        first: 0.2,
        least: 0.004,
        most: 0.35,
        grow: 1.1,
        shrink: 0.5,
        most_turn_rad: 0.6,
        most_points: 120,
    };
    let course = Course::Arclength { steps, falling: true };
    let settings = trace_settings(Legs::Bilinear, harmonics, course);
    let rig = ShakenBuilding::new(Legs::Bilinear, simulated_kg, harmonics)?;
    let mut trace = Trace::new(rig, settings);
    trace.run()?;
    Ok(trace)
}

/// The largest amplitude of a trace, and the middle of its corrections.
fn largest(trace: &Trace<ShakenBuilding>) -> (Option<f64>, Option<f64>) {
    let points = trace.points();
    let mut iterations: Vec<usize> = points.iter().map(|p| p.point.iterations).collect();
    iterations.sort_unstable();
    let most = points.iter().map(|point| point.amplitude_m(0)).reduce(f64::max);
    (most, iterations.get(iterations.len() / 2).map(|&n| n as f64))
}

/// What one harmonic misses: the rig's control resists those that are not in
/// the target, so how much depends on its gains.
fn one_harmonic_rows() -> Result<Vec<Row>, Error> {
    let (_, _, simulated_kg) = SPLITS[1];
    let mut rows = Vec::new();
    for (harmonics, words) in [(1, "one harmonic"), (3, "three harmonics")] {
        let (peak, median) = largest(&bilinear(simulated_kg, harmonics)?);
        rows.push(row(
            format!("bilinear_peak_{harmonics}"),
            format!("largest measured amplitude, bilinear, {words}, p = 0.5"),
            peak,
            "m",
        ));
        rows.push(row(
            format!("bilinear_iterations_{harmonics}"),
            format!("median of its corrections per point, {words}"),
            median,
            "",
        ));
    }
    Ok(rows)
}

/// The bilinear building through both folds with three harmonics.
pub(super) fn nonlinear_rows() -> Result<Vec<Row>, Error> {
    let mut rows = one_harmonic_rows()?;
    for (p, name, simulated_kg) in SPLITS {
        let trace = bilinear(simulated_kg, 3)?;
        let folds: Vec<f64> = trace.folds().iter().map(|fold| fold.unknowns[6]).collect();
        let low = folds.iter().copied().reduce(f64::min);
        let high = folds.iter().copied().reduce(f64::max);
        // The design's names carry no split; the middle one stands for them.
        let suffix = if name == "p050" { String::new() } else { format!("_{name}") };
        rows.push(row(format!("fold_low_hz{suffix}"), format!("lower fold, p = {p}"), low, "Hz"));
        rows.push(row(format!("fold_high_hz{suffix}"), format!("upper fold, p = {p}"), high, "Hz"));
        for (branch, ours) in
            ["upper", "middle", "lower"].into_iter().zip(branches(&trace, simulated_kg)?)
        {
            rows.push(row(
                format!("branch_{branch}_1396{suffix}"),
                format!("{branch} branch at 13.96 Hz, p = {p}"),
                ours,
                "m",
            ));
        }
    }
    Ok(rows)
}

/// The three responses at 13.96 Hz, largest first: from the nearest points of
/// the trace, corrected at that very frequency.
fn branches(trace: &Trace<ShakenBuilding>, simulated_kg: f64) -> Result<[Option<f64>; 3], Error> {
    const AT_HZ: f64 = 13.96;
    let mut found = Vec::new();
    for pair in trace.points().windows(2) {
        let (a, b) = (pair[0].frequency_hz - AT_HZ, pair[1].frequency_hz - AT_HZ);
        if a * b > 0.0 {
            continue;
        }
        let share = a / (a - b);
        let (from, to) = (&pair[0].point.unknowns, &pair[1].point.unknowns);
        let mut settings = trace_settings(Legs::Bilinear, 3, Course::Sweep { values: vec![AT_HZ] });
        settings.guess = from.iter().zip(to).map(|(a, b)| a + share * (b - a)).collect();
        let rig = ShakenBuilding::new(Legs::Bilinear, simulated_kg, 3)?;
        let mut one = Trace::new(rig, settings);
        one.run()?;
        found.extend(one.points().first().map(|point| point.amplitude_m(0)));
    }
    found.sort_by(|a, b| b.total_cmp(a));
    Ok([0, 1, 2].map(|k| found.get(k).copied()))
}
