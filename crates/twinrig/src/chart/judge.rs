//! The verdict at one point of a chart.

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::{Arc, Mutex, PoisonError};

use analysis::delay_stability::delay_system;
use numerics::delay_system::DelaySystem;
use numerics::delay_system::crossing::Crossings;

use super::Axis;
use super::axis::{DELAY, SAMPLES};
use crate::assembly::{Assembly, Coupling, SignalStore, structure_and_partition};
use crate::error::Error;
use crate::forecast::{self, Stability};
use experiment::closed_loop::TransferKind;
use experiment::reduction::ReductionMethod;
use experiment::sweep::Edits;
use experiment::{Diagnostics, Embedded, Experiment, Severity};
use runtime::record::EmbeddedFile;

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// The pure delay in continuous time: a delay system, exactly.
    Delay,
    /// The loop as it runs: sampled, the force held over the step.
    Loop,
}

/// Whether the loop is stable somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Stable,
    /// It is not.
    Unstable,
    /// There is no such test, or nothing can be said of it.
    Unknown,
}

impl Verdict {
    fn of(stable: bool) -> Self {
        if stable { Self::Stable } else { Self::Unstable }
    }

    /// In a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Unstable => "unstable",
            Self::Unknown => "unknown",
        }
    }
}

/// The verdict at one point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Whether the loop is stable.
    pub verdict: Verdict,
    /// Growth of the motion that decides, 1/s; NaN where it was not asked for.
    pub growth_1_s: f64,
    /// Its frequency; NaN likewise, infinite where the neutral part decides.
    pub frequency_hz: f64,
}

pub(super) const UNKNOWN: Judged =
    Judged { verdict: Verdict::Unknown, growth_1_s: f64::NAN, frequency_hz: f64::NAN };

/// Distance of ρ from 1 within which the neutral part is about to decide.
const NEAR_NEUTRAL: f64 = 0.02;

/// How much is asked of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Stable or not.
    Verdict,
    /// Growth and frequency as well.
    Growth,
}

/// Judges variants of one experiment by two of its numbers.
pub struct Judge {
    experiment: Experiment,
    edits: Edits,
    files: Vec<EmbeddedFile>,
    signals: Arc<SignalStore>,
    axes: [Axis; 2],
    model: Model,
    /// Which axis is the delay itself, so that one system serves a whole line.
    delay_axis: Option<(usize, DelayUnit)>,
    lines: Mutex<HashMap<[u64; 2], Arc<Line>>>,
    /// The first reason why a point could not be judged.
    trouble: Mutex<Option<String>>,
}

/// What the delay axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DelayUnit {
    Seconds,
    Samples,
}

/// Everything about the points that differ in their delay alone.
struct Line {
    system: Result<DelaySystem, String>,
    crossings: Option<Crossings>,
    delay_s: f64,
    step_s: f64,
}

impl Judge {
    /// Prepares to judge variants of `experiment`, whose text holds everything
    /// that varies.
    pub fn new(
        experiment: Experiment,
        files: Vec<EmbeddedFile>,
        store: Arc<SignalStore>,
        axes: [Axis; 2],
        model: Option<Model>,
    ) -> Result<Self, Error> {
        let mut edits = Edits::default();
        for axis in &axes {
            edits.add(experiment.text(), &axis.target.path, &axis.target.steps)?;
        }
        let pure = is_pure_delay(&experiment);
        let model = match model {
            Some(Model::Delay) if !pure => return Err(Error::NotPureDelay),
            Some(model) => model,
            None if pure => Model::Delay,
            None => Model::Loop,
        };
        let unit = |axis: &Axis| match axis.target.path.as_str() {
            DELAY => Some(DelayUnit::Seconds),
            SAMPLES => Some(DelayUnit::Samples),
            _ => None,
        };
        let delay_axis = (model == Model::Delay)
            .then(|| axes.iter().enumerate().find_map(|(at, axis)| Some((at, unit(axis)?))))
            .flatten();
        Ok(Self {
            experiment,
            edits,
            files,
            signals: store,
            axes,
            model,
            delay_axis,
            lines: Mutex::default(),
            trouble: Mutex::default(),
        })
    }

    /// What is judged.
    pub fn model(&self) -> Model {
        self.model
    }

    /// The two axes.
    pub fn axes(&self) -> &[Axis; 2] {
        &self.axes
    }

    /// The experiment as declared.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The axis that is the delay, 0 or 1, if one system serves a whole line.
    pub fn delay_axis(&self) -> Option<usize> {
        self.delay_axis.map(|(axis, _)| axis)
    }

    /// Why a point could not be judged: the first reason met.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The verdict at a point, SI.
    pub fn at(&self, point: [f64; 2], depth: Depth) -> Judged {
        match self.model {
            Model::Delay => self.by_delay(point, depth),
            Model::Loop => self.by_loop(point, depth),
        }
    }

    /// Whether the crossings of the imaginary axis are known at a point.
    pub fn has_crossings(&self, point: [f64; 2]) -> bool {
        self.line(point).crossings.is_some()
    }

    /// The verdict by the discretised history instead of the crossings.
    pub fn by_history(&self, point: [f64; 2]) -> Judged {
        let line = self.line(point);
        let Ok(system) = &line.system else { return UNKNOWN };
        self.rightmost(system, self.delay_s(&line, point))
    }

    /// The verdict of Gao & You's equivalent matrices.
    pub fn by_equivalent(&self, point: [f64; 2]) -> Verdict {
        let line = self.line(point);
        let Ok(system) = &line.system else { return Verdict::Unknown };
        match system.equivalent_growth_1_s(self.delay_s(&line, point)) {
            Ok(growth) => Verdict::of(growth <= 0.0),
            Err(_) => Verdict::Unknown,
        }
    }

    /// The verdict of the loop as it runs.
    pub fn by_loop(&self, point: [f64; 2], depth: Depth) -> Judged {
        let text = self.text(point);
        let files = Embedded::new(&self.files);
        let assembly = Experiment::variant(self.experiment.name(), &text, &files)
            .and_then(|(experiment, _)| Assembly::sharing(&experiment, &files, &self.signals));
        let stability = assembly.map(|(assembly, _)| match depth {
            Depth::Verdict => forecast::stable_or_not(&assembly),
            Depth::Growth => forecast::stability(&assembly),
        });
        let stability = match stability {
            Ok(Stability::Unknown(reason)) => return self.unknown(reason),
            Err(found) => return self.unknown(first_error(&found)),
            Ok(stability) => stability,
        };
        stability.dominant().map_or(UNKNOWN, |dominant| Judged {
            verdict: Verdict::of(dominant.growing == 0),
            growth_1_s: dominant.growth_1_s,
            frequency_hz: dominant.frequency_hz,
        })
    }

    /// D(jω) at a point, for the bisection in three dimensions.
    pub fn characteristic(&self, point: [f64; 2], omega_rad_s: f64) -> [f64; 2] {
        let line = self.line(point);
        match &line.system {
            Ok(system) => {
                let delay_s = self.delay_s(&line, point);
                let value = system.characteristic_on_axis(omega_rad_s, delay_s);
                [value.re, value.im]
            }
            Err(_) => [f64::NAN; 2],
        }
    }

    /// On the delay axis, the place nearest to a point at which a root crosses the
    /// imaginary axis; `None` if none does, or no axis is the delay, or the point
    /// is so near to ρ = 1 that roots of all frequencies are near the axis.
    pub fn crossing_near(&self, point: [f64; 2]) -> Option<f64> {
        let (_, unit) = self.delay_axis?;
        let line = self.line(point);
        let radius = line.system.as_ref().ok()?.neutral_radius().ok()?;
        if (radius - 1.0).abs() < NEAR_NEUTRAL {
            return None;
        }
        let delay_s = self.delay_s(&line, point);
        let near = line.crossings.as_ref()?.all.iter().map(|crossing| {
            let period = TAU / crossing.omega_rad_s;
            let turns = ((delay_s - crossing.first_delay_s) / period).round().max(0.0);
            crossing.first_delay_s + turns * period
        });
        let nearest = near.min_by(|a, b| (a - delay_s).abs().total_cmp(&(b - delay_s).abs()))?;
        Some(match unit {
            DelayUnit::Seconds => nearest,
            DelayUnit::Samples => nearest / line.step_s,
        })
    }

    /// The places on the delay axis at which the verdict changes, through a point,
    /// in the axis's own measure; `None` where they are not known directly.
    pub fn delay_changes(&self, point: [f64; 2]) -> Option<Vec<f64>> {
        let (axis, unit) = self.delay_axis?;
        let line = self.line(point);
        let crossings = line.crossings.as_ref()?;
        let size_s = match unit {
            DelayUnit::Seconds => 1.0,
            DelayUnit::Samples => line.step_s,
        };
        let found = crossings.boundaries(self.axes[axis].high * size_s);
        Some(found.into_iter().map(|delay_s| delay_s / size_s).collect())
    }

    /// The experiment file of a point, complete.
    pub fn text(&self, point: [f64; 2]) -> String {
        let values: Vec<String> = self
            .axes
            .iter()
            .zip(point)
            .map(|(axis, value)| axis.target.measure.toml(value))
            .collect();
        self.edits.applied(self.experiment.text(), &values)
    }

    fn by_delay(&self, point: [f64; 2], depth: Depth) -> Judged {
        let line = self.line(point);
        let system = match &line.system {
            Ok(system) => system,
            Err(reason) => return self.unknown(reason.clone()),
        };
        let delay_s = self.delay_s(&line, point);
        if delay_s < 0.0 {
            return self.unknown("no rig answers before it is asked".to_owned());
        }
        match (&line.crossings, depth) {
            (None, _) => self.rightmost(system, delay_s),
            (Some(crossings), Depth::Verdict) => {
                Judged { verdict: Verdict::of(crossings.is_stable(delay_s)), ..UNKNOWN }
            }
            // The crossings are exact; the history gives the rest.
            (Some(crossings), Depth::Growth) => Judged {
                verdict: Verdict::of(crossings.is_stable(delay_s)),
                ..self.rightmost(system, delay_s)
            },
        }
    }

    fn rightmost(&self, system: &DelaySystem, delay_s: f64) -> Judged {
        match system.rightmost(delay_s) {
            Ok(found) => Judged {
                // At ρ = 1 the growth is nought, and every disturbance goes on for ever.
                verdict: Verdict::of(found.re < 0.0 || (found.re == 0.0 && found.im.is_finite())),
                growth_1_s: found.re,
                frequency_hz: found.im / TAU,
            },
            Err(error) => self.unknown(error.to_string()),
        }
    }

    fn delay_s(&self, line: &Line, point: [f64; 2]) -> f64 {
        match self.delay_axis {
            Some((axis, DelayUnit::Seconds)) => point[axis],
            Some((axis, DelayUnit::Samples)) => point[axis] * line.step_s,
            None => line.delay_s,
        }
    }

    /// The system of a point, made once for all points that share it.
    fn line(&self, point: [f64; 2]) -> Arc<Line> {
        let mut key = point.map(f64::to_bits);
        let mut built_at = point;
        if let Some((axis, _)) = self.delay_axis {
            key[axis] = 0;
            // Any delay does; the declared one, or else the longest, is allowed.
            built_at[axis] = self.axes[axis].target.declared.unwrap_or(self.axes[axis].high);
        }
        let known = self.lines.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(line) = known {
            return line;
        }
        let line = Arc::new(self.built(built_at));
        // Without a common delay axis every point has its own, and none is met again.
        if self.delay_axis.is_some() {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.insert(key, Arc::clone(&line));
        }
        line
    }

    fn built(&self, point: [f64; 2]) -> Line {
        let files = Embedded::new(&self.files);
        let read = Experiment::variant(self.experiment.name(), &self.text(point), &files);
        let (experiment, _) = match read {
            Ok(read) => read,
            Err(found) => return Line::failed(first_error(&found)),
        };
        let step_s = experiment.integrator.step_s();
        let delay_s = match experiment.transfer_system.kind {
            TransferKind::Delay(delay) => delay.delay_s(step_s),
            _ => 0.0,
        };
        let system = structure_and_partition(&experiment, &files, &self.signals)
            .map_err(|found| first_error(&found))
            .and_then(|(partition, substructures)| {
                delay_system(&substructures.whole, &partition).map_err(|error| error.to_string())
            });
        let crossings = system.as_ref().ok().and_then(|system| system.crossings().ok());
        Line { system, crossings, delay_s, step_s }
    }

    fn unknown(&self, reason: String) -> Judged {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.get_or_insert(reason);
        UNKNOWN
    }
}

impl Line {
    fn failed(reason: String) -> Self {
        Self { system: Err(reason), crossings: None, delay_s: f64::NAN, step_s: f64::NAN }
    }
}

/// What makes a file no experiment: its first error, in one line. What it is
/// merely warned of does not count.
fn first_error(found: &Diagnostics) -> String {
    let error = found.items().iter().find(|item| item.severity == Severity::Error);
    match error.map(|item| (&item.message, &item.remedy)) {
        Some((message, Some(remedy))) => format!("{message}: {remedy}"),
        Some((message, None)) => message.clone(),
        None => "the file makes no experiment".to_owned(),
    }
}

/// Whether the loop is a delay and nothing else, around M, C and K.
fn is_pure_delay(experiment: &Experiment) -> bool {
    let method = experiment.reduction.as_ref().map(|spec| spec.method);
    method != Some(ReductionMethod::StateSpace)
        && matches!(experiment.transfer_system.kind, TransferKind::Delay(_))
        && experiment.compensator.design == model::compensator::Design::None
        && experiment.compensator.shaping.low_pass_hz.is_none()
        && experiment.main_loop.is_none()
        && experiment.sensors.force_delay_samples == 0
}

/// Whether rig and structure of a file move as one, which has no delay to chart.
pub(super) fn is_rigid(experiment: &Experiment) -> bool {
    matches!(experiment.transfer_system.kind, TransferKind::Ideal)
        && Coupling::of(experiment) == Coupling::Continuous
}
