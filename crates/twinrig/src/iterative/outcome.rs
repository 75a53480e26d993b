//! What a trace has found: points, peaks, folds, differences; as CSV, JSON, record.

use std::path::Path;

use analysis::iterative::{Branch, FoldMark, Mark, Peak, TracePoint, Trial, peak};
use model::channel::Channel;
use runtime::record::{Header, Options, RecordError, Recorder, Role};
use serde::{Serialize, Serializer};

use super::verdict::verdict;
use super::{Ended, Place, Setup};
use crate::verdict::Verdict;

/// What a trace has found; serialised, its summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// How far it can be trusted.
    pub verdict: Verdict,
    /// How it ended.
    pub ended: Ended,
    complete: bool,
    /// Lowest and highest frequency that were asked for, Hz.
    pub band_hz: (f64, f64),
    /// The points.
    #[serde(serialize_with = "length")]
    pub points: Vec<TracePoint>,
    interface: Vec<String>,
    interface_units: Vec<&'static str>,
    moved: bool,
    /// Why there is no response to speak of, in words; then there are no peaks
    /// and nothing is told in per cent of them.
    #[serde(skip)]
    pub still: Option<String>,
    /// The largest amplitude of every interface DOF.
    pub peaks: Vec<Peak>,
    /// Where the frequency turns back.
    pub folds: Vec<FoldMark>,
    reference_folds_hz: Option<Vec<f64>>,
    reference_folds: Option<Vec<Mark>>,
    /// Of the whole structure.
    #[serde(skip)]
    pub reference: Option<Branch>,
    /// Largest difference from it, of its largest amplitude, every DOF; %.
    pub largest_difference_percent: Option<f64>,
    /// What the simulation adds to or takes from the amplitude at every point, m.
    #[serde(skip)]
    pub biases_m: Vec<Option<f64>>,
    /// What the rig does in harmonics that are not matched, over the load's power, at every
    /// point.
    #[serde(skip)]
    pub unmatched_shares: Vec<Option<f64>>,
    /// The largest of them, where the response is at least a tenth of its peak, %.
    pub largest_unmatched_percent: Option<f64>,
    /// Largest bias, of the largest amplitude, %.
    pub largest_bias_percent: Option<f64>,
    /// How many points took 0, 1, 2 … corrections.
    pub iterations: Vec<usize>,
    /// The middle of the corrections per point.
    pub median_iterations: Option<usize>,
    /// Evaluations, those that led nowhere included.
    pub evaluations: usize,
    /// Time on the rig, s.
    pub rig_time_s: f64,
    /// Points that did not settle in time.
    pub unsettled_points: usize,
    title: String,
    reason: String,
}

fn length<S: Serializer>(points: &[TracePoint], serializer: S) -> Result<S::Ok, S::Error> {
    points.len().serialize(serializer)
}

impl Outcome {
    /// Sums up.
    pub fn new(
        setup: &Setup<'_>,
        points: Vec<TracePoint>,
        trials: &[Trial],
        folds: Vec<FoldMark>,
        ended: Ended,
    ) -> Self {
        let (assembly, places) = (setup.assembly(), Place::all(setup.assembly()));
        let reference = setup.whole().and_then(|whole| whole.branch(&setup.trace(), &points));
        let still = still(setup, &points);
        let is_linear = assembly.substructures.whole.elements.is_empty();
        let peaks: Vec<Peak> = match still {
            None => (0..places.len()).filter_map(|dof| peak(&points, dof, is_linear)).collect(),
            Some(_) => Vec::new(),
        };
        let biases_m: Vec<Option<f64>> = points.iter().map(|point| setup.bias_m(point)).collect();
        let percent = |part: f64, whole: f64| {
            let share = 100.0 * part / whole;
            (still.is_none() && share.is_finite()).then_some(share)
        };
        let largest_bias = biases_m.iter().flatten().map(|bias| bias.abs()).reduce(f64::max);
        let largest_bias_percent = largest_bias
            .zip(peaks.first())
            .and_then(|(bias, peak)| percent(bias, peak.mark.amplitude_m));
        let largest_difference_percent = (0..places.len()).filter_map(|dof| {
            let branch = reference.as_ref()?;
            let all = branch.differences_m.iter().map(|differences| differences[dof].abs());
            let sizes = branch.points.iter().map(|point| point.fundamental[dof].norm());
            percent(all.reduce(f64::max)?, sizes.fold(0.0, f64::max))
        });
        let unmatched_shares: Vec<Option<f64>> =
            points.iter().map(|point| setup.unmatched_share(point)).collect();
        let least_m = peaks.first().map_or(f64::INFINITY, |peak| 0.1 * peak.mark.amplitude_m);
        let large =
            points.iter().zip(&unmatched_shares).filter(|(p, _)| p.amplitude_m(0) >= least_m);
        let largest_unmatched = large.filter_map(|(_, share)| *share).reduce(f64::max);
        let mut corrections: Vec<usize> = points.iter().map(|p| p.point.iterations).collect();
        corrections.sort_unstable();
        let most = corrections.last().copied().unwrap_or(0);
        let count = |n: usize| corrections.iter().filter(|&&corrected| corrected == n).count();
        let reference_folds = reference.as_ref().map(|branch| branch.folds.clone());
        let mut found = Self {
            verdict: Verdict::default(),
            ended,
            complete: ended.is_complete(),
            band_hz: setup.spec().band_hz(),
            interface: places.iter().map(|place| place.name.clone()).collect(),
            interface_units: places.iter().map(Place::unit).collect(),
            moved: still.is_none(),
            folds,
            reference_folds_hz: reference_folds
                .as_ref()
                .map(|folds| folds.iter().map(|fold| fold.frequency_hz).collect()),
            reference_folds,
            largest_difference_percent: largest_difference_percent.reduce(f64::max),
            largest_bias_percent,
            largest_unmatched_percent: largest_unmatched.map(|share| 100.0 * share),
            unmatched_shares,
            iterations: (0..=most).map(count).collect(),
            median_iterations: corrections.get(corrections.len() / 2).copied(),
            evaluations: trials.len(),
            rig_time_s: trials.iter().map(|trial| trial.orbit.time_s).sum(),
            unsettled_points: points.iter().filter(|point| !point.orbit.settled).count(),
            title: setup.experiment().title.clone(),
            reason: ended.words(),
            points,
            still,
            peaks,
            reference,
            biases_m,
        };
        found.verdict = verdict(setup, &places, &found);
        found
    }

    /// How far a point lies from the whole structure's response, m, where that is known.
    pub fn difference_m(&self, point: usize, dof: usize) -> Option<f64> {
        Some(self.reference.as_ref()?.differences_m[point][dof])
    }

    /// The points as comma-separated text, SI and degrees of phase.
    pub fn csv(&self, places: &[Place]) -> String {
        let columns = self.columns(places);
        let mut writer = csv::Writer::from_writer(Vec::new());
        let heads = columns.iter().map(|(head, _)| head);
        writer.write_record(heads).expect("a vector takes every record");
        let text = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
        for point in 0..self.points.len() {
            let fields = columns.iter().map(|(_, value)| text(value(point)));
            writer.write_record(fields).expect("a vector takes every record");
        }
        let bytes = writer.into_inner().expect("a vector can be flushed");
        String::from_utf8(bytes).expect("fields are text")
    }

    fn columns<'a>(&'a self, places: &[Place]) -> Vec<(String, Reading<'a>)> {
        let points = &self.points;
        let mut columns: Vec<(String, Reading<'a>)> = vec![
            ("point".to_owned(), Box::new(|k| (k + 1) as f64)),
            ("frequency_hz".to_owned(), Box::new(|k| points[k].frequency_hz)),
        ];
        let seen = points.first().map_or(0, |point| point.orbit.measured[0].harmonics());
        for (dof, place) in places.iter().enumerate() {
            let (name, unit) = (&place.name, place.unit());
            let mut add =
                |what: String, value: Reading<'a>| columns.push((format!("{name}.{what}"), value));
            add(format!("amplitude_{unit}"), Box::new(move |k| points[k].amplitude_m(dof)));
            add("phase_deg".to_owned(), Box::new(move |k| points[k].phase_deg(dof)));
            add(format!("interval_{unit}"), Box::new(move |k| points[k].interval_m[dof]));
            let simulated = move |k: usize| points[k].orbit.simulated[dof].amplitude(1);
            add(format!("simulated_{unit}"), Box::new(simulated));
            add(format!("mean_{unit}"), Box::new(move |k| points[k].orbit.measured[dof].0[0]));
            for harmonic in 2..=seen {
                let value = move |k: usize| points[k].orbit.measured[dof].amplitude(harmonic);
                add(format!("harmonic{harmonic}_{unit}"), Box::new(value));
            }
            let difference = move |k| self.difference_m(k, dof).unwrap_or(f64::NAN);
            add(format!("difference_from_reference_{unit}"), Box::new(difference));
        }
        let rest: [(&str, Reading<'_>); 9] = [
            ("bias_m", Box::new(|k| self.biases_m[k].unwrap_or(f64::NAN))),
            ("residual_m", Box::new(|k| points[k].point.evaluation.norm())),
            ("unmatched_share", Box::new(|k| self.unmatched_shares[k].unwrap_or(f64::NAN))),
            ("scatter_m", Box::new(|k| points[k].point.evaluation.noise())),
            ("iterations", Box::new(|k| points[k].point.iterations as f64)),
            ("evaluations", Box::new(|k| points[k].point.evaluations as f64)),
            ("rig_time_s", Box::new(|k| points[k].rig_time_s)),
            ("periods", Box::new(|k| points[k].orbit.estimates as f64)),
            ("settled", Box::new(|k| f64::from(u8::from(points[k].orbit.settled)))),
        ];
        columns.extend(rest.map(|(head, value)| (head.to_owned(), value)));
        columns
    }
}

/// A number of every point.
type Reading<'a> = Box<dyn Fn(usize) -> f64 + 'a>;

/// Why there is no response to speak of, if so. Without a load both sides agree
/// at rest, up to the tolerance.
fn still(setup: &Setup<'_>, points: &[TracePoint]) -> Option<String> {
    let dofs = 0..setup.assembly().count();
    let amplitudes = points.iter().flat_map(|point| dofs.clone().map(|dof| point.amplitude_m(dof)));
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
    for (dof, place) in places.iter().enumerate() {
        let name = &place.name;
        for part in ["target", "measured", "simulated", "force"] {
            let unit = if part == "force" { place.force_unit() } else { place.unit() };
            let most = if part == "target" { harmonics } else { seen };
            for index in 0..=2 * most {
                let order = index.div_ceil(2);
                let (key, kind) = match index {
                    0 => ("mean".to_owned(), "Mean".to_owned()),
                    i if i % 2 == 1 => (format!("cos{order}"), format!("Cosine {order}")),
                    _ => (format!("sin{order}"), format!("Sine {order}")),
                };
                let words = format!("{kind} of the {part} at {name}");
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
        let frequency_hz = trial.unknowns.last().copied().unwrap_or(f64::NAN);
        let settled = f64::from(u8::from(orbit.settled));
        frame.clear();
        frame.extend([time_s, frequency_hz, settled, orbit.estimates as f64]);
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
    handle.finish(trials.len() as u64, None)?;
    Ok(())
}
