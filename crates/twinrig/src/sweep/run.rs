//! One variant from its number to its row.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use analysis::criteria;
use runtime::gate::{Trip, TripKind};
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::Stage;
use runtime::numerical::Numerical;
use runtime::verdict::{Level, Reason, Verdict};

use super::VariantStatus;
use super::row::{Judged, Row, RowTrip, Signals, floors, is_unstable};
use super::shared::Answer;
use super::study::{Study, Variant};
use crate::assembly::{Assembly, LoopOptions, Recording};
use crate::error::Error;
use crate::estimate::Estimate;
use crate::evidence::{late_ticks, trip_words, tripped, warned};
use crate::loop_record::warning_constant;
use crate::page::text::label;
use crate::rig_limits::{Bounds, RigLimits, Seen};
use experiment::{Experiment, Severity, VerdictSpec};

/// The signals of one run, kept from variant to variant so that a thread asks
/// for its memory once.
#[derive(Debug, Default)]
pub struct Workspace {
    signals: Signals,
    /// What was seen of the rig's limits, by interface DOF.
    seen: Vec<Seen<f64>>,
    peaks: Peaks,
    /// Where variants run in step, side by side.
    pub(super) lanes: criteria::Room,
}

/// Largest values of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Peaks {
    pub(super) warning: f64,
    pub(super) tracking_error: f64,
    pub(super) force: f64,
}

/// What a run gave.
pub(super) struct Ran {
    pub(super) trip: Option<(Trip, f64)>,
    pub(super) peaks: Peaks,
    /// Whether the interface has left all bounds.
    pub(super) ran_away: bool,
    /// When the stability warning reached 100 %.
    pub(super) warned_s: Option<f64>,
    /// What its signals say.
    pub(super) judged: Judged,
}

/// An armed variant and what its results are compared with.
pub(super) struct ArmedVariant {
    pub(super) hybrid: HybridLoop,
    pub(super) variant: Variant,
    pub(super) assembly: Assembly,
    pub(super) answer: Arc<Answer>,
    pub(super) thresholds: VerdictSpec,
    pub(super) limits: RigLimits,
    /// What was known against it before.
    pub(super) prediction: Vec<Reason>,
}

/// Name of the reason that there is no result.
pub(super) const NOT_BUILT: &str = "not_built";

/// Why a variant has no result, in words for its row.
pub(super) struct Failure(String);

impl Study {
    /// Runs variant `index` and gives its row. A variant whose values make no
    /// sensible model gives a row that says so.
    pub fn run(&self, index: u64, workspace: &mut Workspace) -> Result<Row, Error> {
        let variant = self.variant(index)?;
        // Values far from anything tried must not take the whole study down.
        let caught = catch_unwind(AssertUnwindSafe(|| self.try_run(&variant, workspace)));
        let result = caught.unwrap_or_else(|_| {
            *workspace = Workspace::default();
            Err(Failure("the program stopped at these values, which is a defect of it".into()))
        });
        Ok(result.unwrap_or_else(|Failure(reason)| Row {
            variant,
            outcome: VariantStatus::Failed,
            stable: None,
            trip: None,
            verdict: Verdict::from_iter([Reason::new(
                Level::Doubtful,
                NOT_BUILT,
                label(&reason),
                "narrow the range of what varies",
            )]),
            reason: label(&reason),
            metrics: vec![None; self.columns().metrics.len()],
            notes: String::new(),
        }))
    }

    pub(super) fn variant_name(&self, variant: &Variant) -> String {
        format!("{} (variant {})", self.experiment().name(), variant.index)
    }

    /// The experiment of a variant, read and assembled as any other.
    pub fn assemble(&self, variant: &Variant) -> Result<(Experiment, Assembly), Error> {
        let text = self.text(variant).unwrap_or_default();
        let name = self.variant_name(variant);
        let (experiment, _) = Experiment::variant(&name, &text, &self.source())?;
        Estimate::run(&experiment).within(&self.budget)?;
        let (assembly, _) = Assembly::sharing(&experiment, &self.source(), &self.signals)?;
        Ok((experiment, assembly))
    }

    fn try_run(&self, variant: &Variant, workspace: &mut Workspace) -> Result<Row, Failure> {
        let mut test = self.arm(variant.clone())?;
        let prediction = std::mem::take(&mut test.prediction);
        let ran = workspace.run(test, self.spec().unstable_beyond)?;
        Ok(self.row(variant.clone(), prediction, ran))
    }

    /// The whole test of a variant, as a rehearsal runs it, but without a record.
    pub(super) fn arm(&self, variant: Variant) -> Result<ArmedVariant, Failure> {
        if let Some(at) = variant.values.iter().position(Option::is_none) {
            let path = &self.spec().vary[at].target.path;
            return Err(Failure(format!("hardly any draw of {path} lies between its limits")));
        }
        let (experiment, assembly) = self.assemble(&variant)?;
        let thresholds = experiment.verdict;
        let prediction = self.shared.prediction(&assembly, &thresholds)?;
        let load = self.shared.load(&assembly);
        let answer = self.shared.reference(&assembly, &load).map_err(Error::from)?;
        let plant = assembly.plant().map_err(Error::from)?;
        let constant_j = warning_constant(&assembly, &answer.reference);
        let options = LoopOptions { constant_j, recording: Recording::Off };
        let hybrid = assembly.whole_test(assembly.hybrid_loop(plant, load, options), None);
        let limits = RigLimits::of(&experiment, assembly.count(), frame_rate_hz(&assembly), true);
        Ok(ArmedVariant { hybrid, variant, assembly, answer, thresholds, limits, prediction })
    }

    pub(super) fn row(&self, variant: Variant, prediction: Vec<Reason>, ran: Ran) -> Row {
        let not_finite = ran.trip.is_some_and(|(trip, _)| trip.kind == TripKind::NotFinite);
        let Peaks { warning, tracking_error, force } = ran.peaks;
        let Judged { criteria, reasons, nrmse } = ran.judged;
        let trip = ran.trip.map(|(trip, time_s)| (trip, trip.text(), time_s));
        let ended = trip.as_ref().map(|(_, text, time_s)| tripped(trip_words(text, *time_s)));
        let known = ended.into_iter().chain(prediction).chain(ran.warned_s.map(warned));
        let verdict: Verdict = known.chain(reasons).collect();
        // By name: a variant may have more or fewer DOFs than the file.
        let value = |id: &str| match id {
            "NRMSE" => nrmse,
            "SW" => Some(warning),
            "tracking error" => Some(tracking_error),
            "force" => Some(force),
            _ => criteria.iter().find(|criterion| criterion.id == id)?.value,
        };
        let noted = criteria
            .iter()
            .filter_map(|criterion| criterion.note.map(|note| format!("{}: {note}", criterion.id)));
        Row {
            outcome: match trip {
                Some(_) => VariantStatus::Tripped,
                None => VariantStatus::Completed,
            },
            stable: Some(!not_finite && !ran.ran_away && !verdict.reasons.iter().any(is_unstable)),
            metrics: self.columns().metrics.iter().map(|metric| value(&metric.id)).collect(),
            notes: noted.collect::<Vec<_>>().join("; "),
            reason: trip.as_ref().map_or_else(String::new, |(_, text, _)| text.clone()),
            trip: trip.map(|(trip, _, time_s)| RowTrip { kind: word(trip.kind), time_s }),
            verdict,
            variant,
        }
    }
}

impl Workspace {
    /// Runs the test to its end or its trip, and keeps what the record would
    /// hold of the time before.
    fn run(&mut self, test: ArmedVariant, unstable_beyond: f64) -> Result<Ran, Failure> {
        let ArmedVariant { mut hybrid, assembly, answer, thresholds, limits, .. } = test;
        let bounds = RigLimits::bounds(|_| &limits);
        let (floors, frames) = (floors(&assembly), frames(&assembly));
        self.clear(assembly.count(), floors.len(), frames);
        // What is found by the tick itself, and would be old before it.
        let two_rates = hybrid.two_rates().is_some();
        let late = two_rates || matches!(hybrid.source().numerical, Numerical::Continuous(_));
        let mut shown = Vec::with_capacity(assembly.structure.size());
        let mut warned_s = None;
        // What the interlock does after a trip is for the record; here it is over.
        while !hybrid.is_over() && hybrid.tripped().is_none() {
            let (framed, now_s) = (hybrid.ticks().is_multiple_of(assembly.every), hybrid.time_s());
            if framed && !late {
                self.keep_desired(&hybrid.source().numerical);
            }
            if framed && !two_rates {
                self.keep_motion(hybrid.source().numerical.displacement(), &floors);
            }
            hybrid.tick();
            if framed && late {
                self.keep_desired(&hybrid.source().numerical);
            }
            if framed && let Some(model) = hybrid.two_rates() {
                shown.clear();
                model.show(0, assembly.integrator.step_s, &mut shown);
                self.keep_motion(&shown, &floors);
            }
            if framed {
                match is_running(&hybrid) && decided(&hybrid) {
                    true => {
                        self.keep_measured(&hybrid, &bounds);
                        let reached = hybrid.monitor().stability_warning >= 100.0;
                        warned_s = warned_s.or(reached.then_some(now_s));
                    }
                    false => self.drop_motion(),
                }
            }
        }
        let reference = Some(&answer.reference);
        let mut judged = Judged::of(&assembly, &thresholds, &self.signals, reference);
        judged.reasons.extend(limits.reasons(&named(&self.seen), &thresholds));
        let extrapolated = hybrid.two_rates().map_or(0, |model| model.counts.missing);
        judged.reasons.extend(late_ticks(&thresholds, 0, extrapolated, hybrid.ticks()));
        Ok(Ran {
            trip: hybrid.tripped(),
            peaks: self.peaks,
            ran_away: self.ran_away(&answer, unstable_beyond),
            warned_s,
            judged,
        })
    }

    /// Makes room for the signals of a run; what was there is forgotten.
    fn clear(&mut self, interfaces: usize, floors: usize, frames: usize) {
        for (columns, count) in [
            (&mut self.signals.desired, interfaces),
            (&mut self.signals.measured, interfaces),
            (&mut self.signals.floors, floors),
        ] {
            columns.resize_with(count, Vec::new);
            for column in columns {
                column.clear();
                column.reserve(frames);
            }
        }
        self.peaks = Peaks::default();
        self.seen.clear();
        self.seen.resize(interfaces, Seen::default());
    }

    #[inline]
    fn keep_desired(&mut self, numerical: &Numerical) {
        for (column, desired) in
            self.signals.desired.iter_mut().zip(&numerical.desired().displacement)
        {
            column.push(*desired);
        }
    }

    #[inline]
    fn keep_motion(&mut self, x: &[f64], floors: &[usize]) {
        for (column, &dof) in self.signals.floors.iter_mut().zip(floors) {
            column.push(x[dof]);
        }
    }

    #[inline]
    fn keep_measured(&mut self, hybrid: &HybridLoop, bounds: &Bounds<f64>) {
        let (measured, peaks) = (hybrid.measured(), &mut self.peaks);
        let columns = self.signals.measured.iter_mut().zip(&self.signals.desired);
        for ((column, desired), (&x, &force)) in
            columns.zip(measured.displacement.iter().zip(&measured.force))
        {
            column.push(x);
            let error = desired.last().map_or(0.0, |desired| (x - desired).abs());
            peaks.tracking_error = peaks.tracking_error.max(error);
            peaks.force = peaks.force.max(force.abs());
        }
        peaks.warning = peaks.warning.max(hybrid.monitor().stability_warning);
        let commands = &hybrid.command().displacement;
        let of_dofs = commands.iter().zip(measured.displacement.iter().zip(&measured.force));
        for (seen, (command, (x, force))) in self.seen.iter_mut().zip(of_dofs) {
            seen.add(bounds, *command, *x, *force);
        }
    }

    fn drop_motion(&mut self) {
        for column in self.signals.desired.iter_mut().chain(&mut self.signals.floors) {
            column.pop();
        }
    }

    /// Whether the interface has left all bounds.
    fn ran_away(&self, answer: &Answer, beyond: f64) -> bool {
        let mut columns =
            self.signals.desired.iter().zip(&self.signals.measured).zip(&answer.peaks);
        columns.any(|((desired, measured), peak)| {
            let limit = beyond * peak;
            let far = |signal: &[f64]| criteria::exceeds(signal, limit);
            limit > 0.0 && (far(desired) || far(measured))
        })
    }
}

/// What was seen of interface DOFs, with their numbers.
pub(super) fn named(seen: &[Seen<f64>]) -> Vec<(String, Seen<f64>)> {
    seen.iter().enumerate().map(|(dof, seen)| ((dof + 1).to_string(), *seen)).collect()
}

/// Frames a second.
pub(super) fn frame_rate_hz(assembly: &Assembly) -> f64 {
    1.0 / assembly.integrator.step_s / assembly.every as f64
}

/// Frames of a test.
pub(super) fn frames(assembly: &Assembly) -> usize {
    assembly.ticks.div_ceil(assembly.every as usize)
}

/// Whether the load acted in the last tick: what comes before and after it is not
/// judged.
fn is_running(hybrid: &HybridLoop) -> bool {
    hybrid.source().course.as_ref().is_none_or(|course| course.stage == Stage::Running)
}

/// Whether the last tick came as far as a decision: its frame then belongs to
/// the test, even if the integrator gave up behind it.
fn decided(hybrid: &HybridLoop) -> bool {
    match hybrid.tripped() {
        None => true,
        Some((trip, _)) => trip.kind == TripKind::NotConverged,
    }
}

/// The kind of a trip in one word.
fn word(kind: TripKind) -> String {
    let mut word = String::new();
    for c in format!("{kind:?}").chars() {
        if c.is_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.extend(c.to_lowercase());
    }
    word
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let Error::Experiment(found) = error else { return Self(error.to_string()) };
        let errors = found.items().iter().filter(|item| item.severity == Severity::Error);
        let messages: Vec<&str> = errors.map(|item| item.message.as_str()).take(3).collect();
        Self(messages.join("; "))
    }
}
