//! What a trace has found: rows, peak, folds, differences; as CSV, JSON, record.

use std::path::Path;

use analysis::iterative::{TracePoint, Trial};
use model::channel::Channel;
use runtime::record::{Ending, Header, Options, RecordError, Recorder, Role};
use serde_json::{Value, json};

use super::reference::Branch;
use super::{Ended, FoldMark, Mark, Peak, Place, Setup, bias, marks};

/// A point of the response as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct PointRow {
    /// Hz.
    pub frequency_hz: f64,
    /// One per interface DOF.
    pub dofs: Vec<DofRow>,
    /// What the simulation adds to or takes from the amplitude, m.
    pub bias_m: Option<f64>,
    /// ‖measured − simulated‖ over the matched harmonics, m.
    pub residual_m: f64,
    /// Its standard deviation, m.
    pub scatter_m: f64,
    /// Corrections.
    pub iterations: usize,
    /// Evaluations.
    pub evaluations: usize,
    /// Time on the rig, s.
    pub rig_time_s: f64,
    /// Periods averaged at the end.
    pub periods: usize,
    /// Whether it settled in time.
    pub settled: bool,
}

/// One interface DOF at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct DofRow {
    /// Fundamental, m: measured, less what the residual leaves open.
    pub amplitude_m: f64,
    /// Its phase against the load, degrees; negative when it lags.
    pub phase_deg: f64,
    /// Half-width of its interval, m.
    pub interval_m: f64,
    /// Of the simulated side, m.
    pub simulated_m: f64,
    /// Measured amplitudes of harmonics 2, 3, …, m.
    pub higher_m: Vec<f64>,
    /// Mean, m.
    pub mean_m: f64,
    /// Difference from the whole structure's response, m, where its model is known.
    pub difference_m: Option<f64>,
}

/// What a trace has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// The points.
    pub rows: Vec<PointRow>,
    /// Why there is no response to speak of, in words; then there are no peaks
    /// and nothing is told in per cent of them.
    pub still: Option<String>,
    /// The largest amplitude of every interface DOF.
    pub peaks: Vec<Peak>,
    /// Where the frequency turns back.
    pub folds: Vec<FoldMark>,
    /// Of the whole structure.
    pub reference: Option<Branch>,
    /// Largest difference from it, of its largest amplitude, every DOF; %.
    pub largest_difference_percent: Option<f64>,
    /// Largest bias, of the largest amplitude, %.
    pub largest_bias_percent: Option<f64>,
    /// Evaluations, those that led nowhere included.
    pub evaluations: usize,
    /// Time on the rig, s.
    pub rig_time_s: f64,
}

impl Outcome {
    /// Sums up.
    pub fn new(
        setup: &Setup<'_>,
        points: &[TracePoint],
        trials: &[Trial],
        folds: &[numerics::continuation::Fold],
        reference: Option<Branch>,
        ended: Ended,
    ) -> Self {
        let differences = reference.as_ref().map(|branch| &branch.differences_m);
        let difference = |k: usize| differences.and_then(|all| all.get(k)).map(Vec::as_slice);
        let rows: Vec<PointRow> = points
            .iter()
            .enumerate()
            .map(|(k, point)| row(setup, point, difference(k).unwrap_or(&[])))
            .collect();
        let count = setup.assembly().count();
        let is_linear = setup.assembly().substructures.whole.elements.is_empty();
        let still = still(setup, &rows);
        let peaks: Vec<Peak> = match still {
            None => (0..count).filter_map(|dof| marks::peak(&rows, dof, is_linear)).collect(),
            Some(_) => Vec::new(),
        };
        let folds = folds.iter().filter_map(|fold| marks::fold(&rows, fold)).collect();
        let largest = |of: &dyn Fn(&PointRow) -> Option<f64>| {
            let all = rows.iter().filter_map(of).map(f64::abs);
            all.reduce(f64::max)
        };
        let percent = |part: f64, whole: f64| {
            let share = 100.0 * part / whole;
            (still.is_none() && share.is_finite()).then_some(share)
        };
        let difference = (0..count)
            .filter_map(|dof| {
                let size = reference.as_ref()?.points.iter().map(|p| p.fundamental[dof].norm());
                percent(largest(&|row| row.dofs[dof].difference_m)?, size.fold(0.0, f64::max))
            })
            .reduce(f64::max);
        let bias = largest(&|row| row.bias_m).zip(peaks.first());
        let bias = bias.and_then(|(bias, peak)| percent(bias, peak.mark.amplitude_m));
        Self {
            ended,
            still,
            largest_difference_percent: difference,
            largest_bias_percent: bias,
            evaluations: trials.len(),
            rig_time_s: trials.iter().map(|trial| trial.orbit.time_s).sum(),
            peaks,
            folds,
            reference,
            rows,
        }
    }

    /// How many points took 0, 1, 2 … corrections.
    pub fn iterations(&self) -> Vec<usize> {
        let most = self.rows.iter().map(|row| row.iterations).max().unwrap_or(0);
        let count = |n| self.rows.iter().filter(|row| row.iterations == n).count();
        (0..=most).map(count).collect()
    }

    /// The middle of the corrections per point.
    pub fn median_iterations(&self) -> Option<usize> {
        let mut all: Vec<usize> = self.rows.iter().map(|row| row.iterations).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    }

    /// Points that did not settle in time.
    pub fn unsettled(&self) -> usize {
        self.rows.iter().filter(|row| !row.settled).count()
    }

    /// The points as comma-separated text, SI and degrees of phase.
    pub fn csv(&self, places: &[Place]) -> String {
        let mut head = vec!["point".to_owned(), "frequency_hz".to_owned()];
        let higher = self.rows.first().map_or(0, |row| row.dofs[0].higher_m.len());
        for place in places {
            let (name, unit) = (&place.name, place.unit());
            let mut add = |what: &str| head.push(format!("{name}.{what}"));
            add(&format!("amplitude_{unit}"));
            add("phase_deg");
            add(&format!("interval_{unit}"));
            add(&format!("simulated_{unit}"));
            add(&format!("mean_{unit}"));
            (0..higher).for_each(|k| add(&format!("harmonic{}_{unit}", k + 2)));
            add(&format!("difference_from_reference_{unit}"));
        }
        let rest = [
            "bias_m",
            "residual_m",
            "scatter_m",
            "iterations",
            "evaluations",
            "rig_time_s",
            "periods",
            "settled",
        ];
        head.extend(rest.map(str::to_owned));
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&head).expect("a vector takes every record");
        let text = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
        let maybe = |value: Option<f64>| value.map_or_else(String::new, text);
        for (index, row) in self.rows.iter().enumerate() {
            let mut fields = vec![(index + 1).to_string(), text(row.frequency_hz)];
            for dof in &row.dofs {
                let values =
                    [dof.amplitude_m, dof.phase_deg, dof.interval_m, dof.simulated_m, dof.mean_m];
                fields.extend(values.iter().chain(&dof.higher_m).map(|&value| text(value)));
                fields.push(maybe(dof.difference_m));
            }
            fields.extend([maybe(row.bias_m), text(row.residual_m), text(row.scatter_m)]);
            fields.extend([row.iterations.to_string(), row.evaluations.to_string()]);
            fields.extend([text(row.rig_time_s), row.periods.to_string()]);
            fields.push(u8::from(row.settled).to_string());
            writer.write_record(&fields).expect("a vector takes every record");
        }
        let bytes = writer.into_inner().expect("a vector can be flushed");
        String::from_utf8(bytes).expect("fields are text")
    }

    /// For machines.
    pub fn json(&self, places: &[Place]) -> Value {
        let mark = |mark: &Mark| json!({ "frequency_hz": mark.frequency_hz, "amplitude_m": mark.amplitude_m });
        let peak = |peak: &Peak| {
            let mut value = mark(&peak.mark);
            value["from"] = json!(peak.from.word());
            value
        };
        let fold = |fold: &FoldMark| {
            let mut value = mark(&fold.mark);
            value["frequency_interval_hz"] = json!(fold.interval_hz);
            value["amplitude_interval_m"] = json!(fold.interval_m);
            value
        };
        let reference_folds = self.reference.as_ref().map(|r| &r.folds);
        json!({
            "ended": self.ended.word(),
            "complete": self.ended.is_complete(),
            "points": self.rows.len(),
            "interface": places.iter().map(|place| &place.name).collect::<Vec<_>>(),
            "interface_units": places.iter().map(Place::unit).collect::<Vec<_>>(),
            "moved": self.still.is_none(),
            "peaks": self.peaks.iter().map(peak).collect::<Vec<_>>(),
            "folds": self.folds.iter().map(fold).collect::<Vec<_>>(),
            "reference_folds_hz": reference_folds
                .map(|folds| folds.iter().map(|fold| fold.frequency_hz).collect::<Vec<_>>()),
            "reference_folds": reference_folds
                .map(|folds| folds.iter().map(mark).collect::<Vec<_>>()),
            "largest_difference_percent": self.largest_difference_percent,
            "largest_bias_percent": self.largest_bias_percent,
            "iterations": self.iterations(),
            "median_iterations": self.median_iterations(),
            "evaluations": self.evaluations,
            "rig_time_s": self.rig_time_s,
            "unsettled_points": self.unsettled(),
        })
    }
}

fn row(setup: &Setup<'_>, point: &TracePoint, differences_m: &[f64]) -> PointRow {
    let orbit = &point.orbit;
    let numerical = &setup.assembly().substructures.numerical;
    let (amplitudes, compensated) = (setup.amplitudes(), setup.compensated_kg());
    let dofs = (0..orbit.measured.len()).map(|dof| {
        let measured = &orbit.measured[dof];
        let (amplitude_m, [cosine, sine]) = (point.amplitude_m(dof), point.fundamental[dof]);
        DofRow {
            amplitude_m,
            phase_deg: (-sine).atan2(cosine).to_degrees(),
            interval_m: point.interval_m.get(dof).copied().unwrap_or(f64::NAN),
            simulated_m: orbit.simulated[dof].amplitude(1),
            higher_m: (2..=measured.harmonics()).map(|k| measured.amplitude(k)).collect(),
            mean_m: measured.0[0],
            difference_m: differences_m.get(dof).copied(),
        }
    });
    PointRow {
        frequency_hz: point.frequency_hz,
        dofs: dofs.collect(),
        bias_m: bias::bias_m(numerical, amplitudes, &compensated, point.frequency_hz, orbit),
        residual_m: point.point.evaluation.norm(),
        scatter_m: point.point.evaluation.noise(),
        iterations: point.point.iterations,
        evaluations: point.point.evaluations,
        rig_time_s: point.rig_time_s,
        periods: orbit.estimates,
        settled: orbit.settled,
    }
}

/// Why there is no response to speak of, if so. Without a load both sides agree
/// at rest, up to the tolerance.
fn still(setup: &Setup<'_>, rows: &[PointRow]) -> Option<String> {
    let amplitudes = rows.iter().flat_map(|row| row.dofs.iter().map(|dof| dof.amplitude_m));
    let most = amplitudes.reduce(f64::max)?;
    let unit = Place::all(setup.assembly()).first().map_or_else(String::new, Place::shown_unit);
    let size = format!("{} {unit} at most", crate::page::text::number(1e3 * most));
    if setup.amplitudes().iter().all(|&load| load == 0.0) {
        return Some(format!("the load is zero; {size} are residual and noise"));
    }
    let within = most <= setup.spec().tolerance_m();
    within.then(|| format!("{size} are within the tolerance; is the load too small?"))
}

/// Writes a record with one frame per evaluation.
pub fn record_trials(
    path: &Path,
    mut header: Header,
    places: &[Place],
    harmonics: usize,
    trials: &[Trial],
) -> Result<(), RecordError> {
    header.role = Role::Evaluations;
    header.every = 1;
    let Some(first) = trials.first() else { return Ok(()) };
    let seen = first.orbit.measured.first().map_or(0, |c| c.harmonics());
    let mut channels = vec![
        Channel::new("time", "s", "Time on the rig at the end of the evaluation"),
        Channel::new("frequency", "Hz", "Frequency of the target"),
        Channel::new("settled", "", "1 if the coefficients had settled"),
        Channel::new("periods", "", "Periods averaged"),
    ];
    let parts = ["target", "measured", "simulated", "force"];
    for (dof, place) in places.iter().enumerate() {
        let name = &place.name;
        for part in parts {
            let unit = if part == "force" { place.force_unit() } else { place.unit() };
            let most = if part == "target" { harmonics } else { seen };
            for index in 0..=2 * most {
                let words = match index {
                    0 => format!("Mean of the {part} at {name}"),
                    i if i % 2 == 1 => format!("Cosine {} of the {part} at {name}", i.div_ceil(2)),
                    i => format!("Sine {} of the {part} at {name}", i / 2),
                };
                let key = match index {
                    0 => "mean".to_owned(),
                    i if i % 2 == 1 => format!("cos{}", i.div_ceil(2)),
                    i => format!("sin{}", i / 2),
                };
                channels.push(Channel::new(format!("{part}.{}.{key}", dof + 1), unit, words));
            }
        }
    }
    let options = Options { ring_frames: 1024, batch_frames: 64, ..Options::rehearsal() };
    let (mut sink, handle) = Recorder::create(path, &header, &channels, vec![], &options)?;
    let mut time_s = 0.0;
    let mut frame = Vec::with_capacity(channels.len());
    for trial in trials {
        let orbit = &trial.orbit;
        time_s += orbit.time_s;
        frame.clear();
        frame.push(time_s);
        frame.push(trial.unknowns.last().copied().unwrap_or(f64::NAN));
        frame.push(f64::from(u8::from(orbit.settled)));
        frame.push(orbit.estimates as f64);
        for dof in 0..places.len() {
            let width = (trial.unknowns.len() - 1) / places.len();
            // A mean that is no unknown follows the rig, or is zero like the rig's.
            if width == 2 * harmonics {
                frame.push(orbit.measured[dof].0[0]);
            }
            frame.extend(&trial.unknowns[dof * width..(dof + 1) * width]);
            frame.extend(&orbit.measured[dof].0);
            frame.extend(&orbit.simulated[dof].0);
            frame.extend(&orbit.force[dof].0);
        }
        sink.wait_for_room();
        sink.push(&frame);
    }
    drop(sink);
    handle.finish(Ending { ticks: trials.len() as u64, trip: None })?;
    Ok(())
}
