//! `Test::reduce`: a large model made small, and how far it can be trusted.

mod files;
mod history;
mod page;
mod synthesis;

use std::f64::consts::TAU;
use std::path::Path;
use std::time::Instant;

use model::reduction::response::{Response, Spread, band};
use model::reduction::trust::Comparison;
use model::reduction::{Dampers, ModeChoice, Recipe, ReductionError, reduce as reduce_component};
use nalgebra::DMatrix;
use numerics::eigen;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::assembly::{Assembly, Examined, examine, examine_synthesis};
use crate::error::Error;
use crate::fit::{Cost, Fit};
use crate::onlooker::{Event, Onlooker};
use crate::test::Test;
use crate::words::number;
use experiment::reduction::{ReductionMethod, Unstable};
use experiment::{Diagnostic, Diagnostics, Experiment, ReductionSpec};
use history::History;
use synthesis::Judged;

/// DOFs beyond which a factorisation takes seconds.
const MANY_DOFS: usize = 5000;

/// How a reduced model is compared with the full one.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReduceOptions {
    /// Frequencies at which the full model is computed; 40 unless given, and 8 beyond
    /// 5000 DOFs.
    pub points: Option<usize>,
    /// Whether the full structure is stepped through the load as well.
    pub in_time: InTime,
}

/// How much of the load the full structure is stepped through.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum InTime {
    /// Nothing.
    #[default]
    No,
    /// All of it.
    Whole,
    /// So many seconds.
    First(f64),
}

impl ReduceOptions {
    fn points(&self, dofs: usize) -> usize {
        self.points.unwrap_or(if dofs > MANY_DOFS { 8 } else { 40 })
    }
}

/// A model made small, compared and written.
pub struct Reduction {
    /// What was found.
    pub found: ReducedModel,
    /// Where its files are.
    pub folder: String,
    /// Their names.
    pub files: Vec<String>,
    /// Why a test with this model is refused, if it is.
    pub refused: Option<Box<Diagnostics>>,
}

/// A reduced model with its comparison.
pub enum ReducedModel {
    /// With M, C and K at DOFs.
    Matrices(Box<Found>),
    /// Of states, or of forces.
    Synthesis(Box<Judged>),
}

impl Reduction {
    /// What the test is about.
    pub fn title(&self) -> &str {
        match &self.found {
            ReducedModel::Matrices(found) => &found.title,
            ReducedModel::Synthesis(judged) => &judged.title,
        }
    }

    /// Quantity and value, for people.
    pub fn rows(&self) -> Vec<(String, String)> {
        match &self.found {
            ReducedModel::Matrices(found) => found.rows(),
            ReducedModel::Synthesis(judged) => judged.rows(),
        }
    }
}

impl Serialize for Reduction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = match &self.found {
            ReducedModel::Matrices(found) => found.document(),
            ReducedModel::Synthesis(judged) => judged.document(),
        };
        document["folder"] = json!(self.folder);
        if let ReducedModel::Synthesis(_) = self.found {
            document["files"] = json!(self.files);
        }
        if let Some(refused) = &self.refused {
            document["diagnostics"] = refused.to_json();
        }
        document.serialize(serializer)
    }
}

/// All that was found.
pub struct Found {
    title: String,
    examined: Examined,
    full: Response,
    reduced: Response,
    errors: Vec<f64>,
    comparison: Comparison,
    /// Undamped natural frequencies of the full model in the band, and how far
    /// the nearest of the reduced one is off.
    frequencies: Option<(usize, Spread)>,
    step: Option<Cost>,
    period_s: f64,
    compare_s: f64,
    /// Both in time, if that was asked for.
    history: Option<History>,
}

impl Test {
    /// Makes the structure small as `[reduction]` asks, compares it with the full one
    /// and writes matrices, summary and page into a folder.
    pub fn reduce(
        &self,
        folder: &Path,
        options: &ReduceOptions,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Reduction, Error> {
        let experiment = self.experiment();
        let Some(spec) = &experiment.reduction else { return Err(nothing_to_reduce(experiment)) };
        onlooker.stage("reducing");
        match spec.method {
            ReductionMethod::StateSpace | ReductionMethod::DualCraigBampton => {
                self.synthesise(folder, spec, options, onlooker)
            }
            _ => self.condense(folder, spec, options, onlooker),
        }
    }

    /// By a method that gives M, C and K.
    fn condense(
        &self,
        folder: &Path,
        spec: &ReductionSpec,
        options: &ReduceOptions,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Reduction, Error> {
        let examined = examine(self.experiment(), self.source(), self.store())?;
        onlooker.stage("comparing with the full model");
        let points = options.points(examined.component.size());
        let compared = compare(self.experiment(), spec, examined, points);
        // What the run would say against the model, and what a step of it costs.
        let assembled = self.assembly();
        let mut found = match (compared, &assembled) {
            (Ok(found), _) => found,
            (Err(error), Ok(_)) => return Err(error.into()),
            (Err(_), Err(_)) => return Err(assembled.err().unwrap_or(Error::NoMatrices)),
        };
        if let Ok(assembly) = assembled {
            found.step = Fit::measure(assembly).ok().map(|fit| fit.step());
            found.history = history(assembly, &found.examined, options.in_time, onlooker)?;
            onlooker.event(&Event::Warnings(&self.warnings_of_models()));
        }
        let files = files::write(folder, &found)?;
        let refused = match assembled {
            Err(Error::Experiment(found)) => Some(found),
            _ => None,
        };
        let folder = folder.display().to_string();
        Ok(Reduction { found: ReducedModel::Matrices(Box::new(found)), folder, files, refused })
    }

    /// By a method whose model has no M, C and K at DOFs.
    fn synthesise(
        &self,
        folder: &Path,
        spec: &ReductionSpec,
        options: &ReduceOptions,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Reduction, Error> {
        if options.in_time != InTime::No {
            return Err(Error::NoMatrices);
        }
        let experiment = self.experiment();
        let (made, warnings) = examine_synthesis(experiment, self.source(), self.store())?;
        onlooker.event(&Event::Warnings(&warnings));
        onlooker.stage("comparing with the full model");
        let points = options.points(made.component.size());
        let judged = Judged::new(&experiment.title, spec, made, points)?;
        let files = judged.write(folder, spec)?;
        let refused = (!judged.is_stable() && spec.unstable == Unstable::Refuse).then(|| {
            let error = ReductionError::Unstable(judged.offenders());
            let error = Diagnostic::error(error.to_string())
                .remedy("take method = \"rubin\", or say unstable = \"accept\" in [reduction]");
            let mut refused = experiment.diagnostics();
            refused.push(experiment.place("reduction.method", error));
            Box::new(refused)
        });
        let folder = folder.display().to_string();
        Ok(Reduction { found: ReducedModel::Synthesis(Box::new(judged)), folder, files, refused })
    }
}

/// Both models in time, if that was asked for.
fn history(
    assembly: &Assembly,
    examined: &Examined,
    in_time: InTime,
    onlooker: &mut dyn Onlooker,
) -> Result<Option<History>, Error> {
    let span_s = match in_time {
        InTime::No => return Ok(None),
        InTime::Whole => None,
        InTime::First(span_s) => Some(span_s),
    };
    let begun = Instant::now();
    let progress = |done: usize, all: usize| {
        let left_s = begun.elapsed().as_secs_f64() * (all - done) as f64 / done.max(1) as f64;
        let left = if done == 0 { String::new() } else { format!(", {left_s:.0} s to go") };
        onlooker.stage(&format!("stepping the full model: {done} of {all}{left}"));
    };
    History::new(assembly, examined, span_s, progress).map(Some)
}

fn nothing_to_reduce(experiment: &Experiment) -> Error {
    let mut found = experiment.diagnostics();
    found.push(
        Diagnostic::error("the file has no [reduction]")
            .remedy("add one: [reduction] with cut_off = \"500 Hz\", or modes = 30"),
    );
    found.into()
}

fn compare(
    experiment: &Experiment,
    spec: &ReductionSpec,
    examined: Examined,
    points: usize,
) -> Result<Found, ReductionError> {
    let begun = Instant::now();
    let model = &examined.reduced.model;
    let end = examined.reduced.band_rad_s(spec);
    let omegas = grid(end, points, &model.omega_rad_s);
    let dofs = &model.boundary[..model.interface];
    let full = Response::of_component(&examined.component, dofs, &omegas)?;
    let reduced = Response::of_model(model, &omegas)?;
    let errors = reduced.errors(&full);
    let comparison = Comparison::new(&examined.component, model, &full)?;
    let frequencies = match comparison.eigenvalues {
        Some(_) => None,
        None => in_band(&examined, end)?,
    };
    Ok(Found {
        title: experiment.title.clone(),
        full,
        reduced,
        errors,
        comparison,
        frequencies,
        step: None,
        period_s: experiment.integrator.step_s(),
        compare_s: begun.elapsed().as_secs_f64(),
        history: None,
        examined,
    })
}

/// The grid of a band, and the resonances in it.
fn grid(end: f64, points: usize, modes: &[f64]) -> Vec<f64> {
    let mut omegas = band(end, points);
    let inside: Vec<f64> =
        modes.iter().copied().filter(|&omega| omega > 1e-3 * end && omega <= end).collect();
    omegas.extend(inside.into_iter().take(points / 2));
    omegas.sort_by(f64::total_cmp);
    omegas
}

/// Undamped natural frequencies in the band: their number, and the errors of the
/// nearest ones of the reduced model.
fn in_band(examined: &Examined, end: f64) -> Result<Option<(usize, Spread)>, ReductionError> {
    let recipe = Recipe {
        interface: examined.recipe.interface.clone(),
        dampers: Dampers::Inside,
        ..Recipe::rubin(Vec::new(), ModeChoice::CutOff { omega_rad_s: end })
    };
    let full = reduce_component(&examined.component, &recipe)?.model.omega_rad_s;
    let model = &examined.reduced.model;
    let own = eigen::symmetric_modes(&model.matrices.stiffness, &model.matrices.mass)?;
    let own: Vec<f64> = own.omega_rad_s.iter().copied().collect();
    let off = |&omega: &f64| {
        let near = own.iter().map(|value| (value - omega).abs()).fold(f64::INFINITY, f64::min);
        near / omega
    };
    let errors: Vec<f64> = full.iter().filter(|&&omega| omega > 0.0).map(off).collect();
    Ok(Spread::of(&errors).map(|spread| (errors.len(), spread)))
}

impl Found {
    fn hertz(&self, index: usize) -> f64 {
        self.full.omegas_rad_s[index] / TAU
    }

    fn band_hz(&self) -> f64 {
        self.comparison.band_rad_s / TAU
    }

    fn elastic(&self) -> Vec<f64> {
        let omegas = self.examined.reduced.model.omega_rad_s.iter();
        omegas.filter(|&&omega| omega > 0.0).map(|omega| omega / TAU).collect()
    }

    /// What was made of the damping, in words.
    fn damping(&self) -> String {
        let facts = &self.examined.reduced.facts;
        match facts.damper_dofs.len() {
            _ if self.examined.component.matrices.damping.entries() == 0 => "none".to_owned(),
            _ if facts.spread_damping => "spread: no discrete dampers kept".to_owned(),
            0 => "αM + βK: no discrete dampers".to_owned(),
            1 => "one DOF with a discrete damper, kept".to_owned(),
            count => format!("{count} DOFs with discrete dampers, kept"),
        }
    }

    /// Stable? Passive? In words.
    fn verdict(&self) -> String {
        let verdict = &self.comparison.verdict;
        let active = verdict.active.iter();
        let active: Vec<String> = active
            .map(|(name, part)| format!("the {name} matrix takes {part:.1e} of its size away"))
            .collect();
        match (verdict.is_stable(), verdict.is_passive()) {
            (true, true) => "stable and passive".to_owned(),
            (true, false) => format!("stable, not passive: {}", active.join(", ")),
            (false, _) => format!("UNSTABLE: {}", verdict.offenders()),
        }
    }

    /// Quantity and value, for people.
    fn rows(&self) -> Vec<(String, String)> {
        let (reduced, comparison) = (&self.examined.reduced, &self.comparison);
        let facts = &reduced.facts;
        let elastic = self.elastic();
        let percent = |value: f64| format!("{} %", number(100.0 * value));
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
        row("method", self.examined.recipe.method.name().to_owned());
        row("DOFs", format!("{} → {}", facts.full_size, reduced.model.size()));
        row("states", format!("{} → {}", comparison.states_before, comparison.states_after));
        let kept = format!(
            "{} at the interface, {} elsewhere",
            reduced.model.interface,
            reduced.model.boundary.len() - reduced.model.interface
        );
        row("DOFs that stay", kept);
        row("damping", self.damping());
        let highest = elastic.iter().copied().fold(0.0, f64::max);
        row("modes kept", format!("{}, up to {} Hz", elastic.len(), number(highest)));
        if facts.rigid_modes > 0 {
            row("rigid-body modes", facts.rigid_modes.to_string());
        }
        let memory = facts.matrix_bytes + facts.factor_bytes + facts.vector_bytes;
        row("memory of the reduction", format!("{:.1} MiB", memory as f64 / 1048576.0));
        row("time of the reduction", format!("{} s", number(reduced.seconds)));
        row(
            "compared up to",
            format!("{} Hz, {} points", number(self.band_hz()), comparison.points),
        );
        if let Some(held) = &facts.held {
            let text =
                format!("{}, {} factors of the full model", percent(held.error), held.factors);
            row("error held, at most", text);
            let text = format!(
                "{}, {} frequencies of a model with {} modes",
                percent(held.estimate),
                held.probes,
                held.rich_modes
            );
            row("… and between, at most", text);
        }
        if let Some(spread) = &comparison.eigenvalues {
            row("eigenvalue error, worst", percent(spread.max));
            row("eigenvalue error, median", percent(spread.median));
        }
        if let Some((count, spread)) = &self.frequencies {
            row("natural frequencies in the band", count.to_string());
            row("frequency error, worst", percent(spread.max));
        }
        let worst = number(comparison.worst_rad_s / TAU);
        row("interface response error, worst", percent(comparison.response.max));
        row("… at", format!("{worst} Hz"));
        row("interface response error, median", percent(comparison.response.median));
        row("effective mass", percent(comparison.effective_mass));
        row("reduced model", self.verdict());
        if let Some(step) = self.step {
            let share = percent(step.p99_s / self.period_s);
            let (p50, p99) = (number(1e6 * step.p50_s), number(1e6 * step.p99_s));
            let period = number(1e6 * self.period_s);
            let text = format!("{p50} µs (p99 {p99} µs) of {period} µs: {share}");
            row("a step takes", text);
        }
        rows.extend(self.history.iter().flat_map(History::rows));
        rows
    }

    /// For machines.
    fn document(&self) -> Value {
        let (reduced, comparison) = (&self.examined.reduced, &self.comparison);
        let (facts, model) = (&reduced.facts, &reduced.model);
        let spread = |spread: &Spread| json!({ "max": spread.max, "median": spread.median });
        let response: Vec<Value> = (0..self.errors.len())
            .map(|k| {
                let diagonal = |h: &DMatrix<nalgebra::Complex<f64>>| -> Vec<f64> {
                    (0..h.nrows()).map(|i| h[(i, i)].norm()).collect()
                };
                json!({
                    "frequency_hz": self.hertz(k),
                    "full_m_n": diagonal(&self.full.receptances[k]),
                    "reduced_m_n": diagonal(&self.reduced.receptances[k]),
                    "error": self.errors[k],
                })
            })
            .collect();
        json!({
            "title": self.title,
            "method": self.examined.recipe.method.name(),
            "dofs_before": facts.full_size,
            "dofs_after": model.size(),
            "states_before": comparison.states_before,
            "states_after": comparison.states_after,
            "interface_dofs": model.interface,
            "retained": reduced.names,
            "damper_dofs": facts.damper_dofs.iter().map(|dof| dof + 1).collect::<Vec<_>>(),
            "damping": self.damping(),
            "held": facts.held.map(|held| json!({
                "error": held.error,
                "factors": held.factors,
                "estimate": held.estimate,
                "probes": held.probes,
                "rich_modes": held.rich_modes,
                "rich_error": held.rich_error,
            })),
            "modes_hz": self.elastic(),
            "rigid_modes": facts.rigid_modes,
            "matrix_bytes": facts.matrix_bytes,
            "factor_bytes": facts.factor_bytes,
            "vector_bytes": facts.vector_bytes,
            "reduction_s": reduced.seconds,
            "comparison_s": self.compare_s,
            "band_hz": self.band_hz(),
            "points": comparison.points,
            "eigenvalue_error": comparison.eigenvalues.as_ref().map(spread),
            "frequencies_in_band": self.frequencies.as_ref().map(|(count, _)| count),
            "frequency_error": self.frequencies.as_ref().map(|(_, s)| spread(s)),
            "response_error": spread(&comparison.response),
            "worst_hz": comparison.worst_rad_s / TAU,
            "effective_mass": comparison.effective_mass,
            "stable": comparison.verdict.is_stable(),
            "passive": comparison.verdict.is_passive(),
            "verdict": self.verdict(),
            "step_p50_s": self.step.map(|step| step.p50_s),
            "step_p99_s": self.step.map(|step| step.p99_s),
            "period_s": self.period_s,
            "history": self.history.as_ref().map(History::document),
            "response": response,
        })
    }
}
