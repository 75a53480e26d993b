//! `twinrig reduce`: a large model made small, and how far it can be trusted.

mod files;
mod history;
mod page;
mod synthesis;

use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::time::Instant;

use model::reduction::response::{Response, Spread, band};
use model::reduction::trust::Comparison;
use model::reduction::{Dampers, ModeChoice, Recipe, ReductionError, reduce as reduce_component};
use nalgebra::DMatrix;
use numerics::eigen;
use serde_json::{Value, json};

use super::identify::time;
use super::output::{Exit, Output, number, print, table};
use super::rehearse::{OtherValues, Text, read, test_name};
use experiment::reduction::{ReductionMethod, Unstable};
use experiment::{Diagnostic, Diagnostics, Experiment, Folder, ReductionSpec};
use history::History;
use synthesis::Judged;
use twinrig::assembly::{Assembly, CACHE, Examined, SignalStore, examine, examine_synthesis};
use twinrig::fit::{Cost, Fit, NumericalCost};

/// DOFs beyond which a factorisation takes seconds.
const MANY_DOFS: usize = 5000;

/// What `reduce` is asked.
#[derive(Debug, clap::Args)]
pub(super) struct ReduceArguments {
    /// Experiment file (TOML) with a [reduction].
    file: PathBuf,
    #[command(flatten)]
    set: OtherValues,
    /// Folder for the matrices, summary.json and report.html [default: runs/NAME-reduced].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Frequencies at which the full model is computed for comparison, each of which costs a
    /// factorisation [default: 40, and 8 beyond 5000 DOFs]. Resonances come on top, up to half
    /// as many.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(4..=2000))]
    points: Option<u16>,
    /// Also step the full structure through the load, or the first TIME of it, beside the reduced
    /// one and the hybrid test; each step costs a solution with the full model's factor.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, value_parser = span)]
    compare: Option<Option<f64>>,
}

/// All that was found.
pub(super) struct Found {
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

pub(super) fn reduce(arguments: &ReduceArguments, output: Output) -> Exit {
    let read = read(&arguments.file, &arguments.set, Text::AsWritten, output);
    let (experiment, source, warnings) = match read {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    output.warn(&warnings);
    let Some(spec) = experiment.reduction.clone() else {
        return output.refuse(&nothing_to_reduce(&experiment));
    };
    let store = SignalStore::keeping(CACHE);
    if let ReductionMethod::StateSpace | ReductionMethod::DualCraigBampton = spec.method {
        return judge(arguments, &experiment, &spec, output);
    }
    let spinner = output.spinner();
    spinner.set_message("reducing");
    let examined = examine(&experiment, &source, &store);
    let examined = match examined {
        Ok(examined) => examined,
        Err(found) => {
            spinner.finish_and_clear();
            return output.refuse(&found);
        }
    };
    spinner.set_message("comparing with the full model");
    let points = arguments.points(examined.component.size());
    let compared = compare(&experiment, &spec, examined, points);
    // What the run would say against the model, and what a step of it costs.
    let assembled = Assembly::sharing(&experiment, &source, &store);
    let mut found = match (compared, &assembled) {
        (Ok(found), _) => found,
        (Err(error), refused) => {
            spinner.finish_and_clear();
            return match refused {
                Err(refused) => output.refuse(refused),
                Ok(_) => output.fail(error),
            };
        }
    };
    if let Ok((assembly, _)) = &assembled {
        found.step = Fit::measure(assembly).ok().map(|fit| match fit.numerical {
            NumericalCost::InTick(cost) | NumericalCost::MainLoop { step: cost, .. } => cost,
        });
    }
    if let (Some(span_s), Ok((assembly, _))) = (arguments.compare, &assembled) {
        let begun = Instant::now();
        let progress = |done: usize, all: usize| {
            let left_s = begun.elapsed().as_secs_f64() * (all - done) as f64 / done.max(1) as f64;
            let left = if done == 0 { String::new() } else { format!(", {left_s:.0} s to go") };
            spinner.set_message(format!("stepping the full model: {done} of {all}{left}"));
        };
        match History::new(assembly, &found.examined, span_s, progress) {
            Ok(history) => found.history = Some(history),
            Err(error) => {
                spinner.finish_and_clear();
                return output.fail(error);
            }
        }
    }
    spinner.finish_and_clear();
    if let Ok((_, warnings)) = &assembled {
        output.warn(warnings);
    }
    let folder = arguments.folder();
    if let Err(error) = files::write(&folder, &found) {
        return output.fail(error);
    }
    let shown = match output {
        Output::Json => {
            let mut document = found.document();
            document["folder"] = json!(folder.display().to_string());
            if let Err(refused) = &assembled {
                document["diagnostics"] = refused.to_json();
            }
            output.document(&document)
        }
        Output::People => {
            let mut files = files::NAMES.join(", ");
            if found.history.is_some() {
                files += ", history.csv";
            }
            if !found.examined.recipe.monitored.is_empty() {
                files += ", recovery.npy";
            }
            print(&format!("{}\nwritten to {}: {files}\n", found.text(), folder.display()))
        }
    };
    match (assembled, output) {
        (Ok(_), _) => shown,
        (Err(refused), Output::People) => output.refuse(&refused),
        (Err(_), Output::Json) => Exit::BadExperiment,
    }
}

impl ReduceArguments {
    fn folder(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let mut name = test_name(&self.file).to_owned();
            name.push("-reduced");
            Path::new("runs").join(name)
        })
    }

    fn points(&self, dofs: usize) -> usize {
        let usual = if dofs > MANY_DOFS { 8 } else { 40 };
        self.points.map_or(usual, usize::from)
    }
}

fn span(text: &str) -> Result<f64, String> {
    let span_s = time(text)?;
    if span_s > 0.0 { Ok(span_s) } else { Err("must be greater than zero".to_owned()) }
}

/// A method whose model is judged and written, and not stepped.
fn judge(
    arguments: &ReduceArguments,
    experiment: &Experiment,
    spec: &ReductionSpec,
    output: Output,
) -> Exit {
    if arguments.compare.is_some() {
        return output.fail("--compare needs a method that gives M, C and K: take rubin");
    }
    let source = Folder::new(arguments.file.parent().unwrap_or(Path::new("")));
    let spinner = output.spinner();
    spinner.set_message("reducing");
    let made = examine_synthesis(experiment, &source, &SignalStore::default());
    let (made, warnings) = match made {
        Ok(made) => made,
        Err(found) => {
            spinner.finish_and_clear();
            return output.refuse(&found);
        }
    };
    spinner.suspend(|| output.warn(&warnings));
    spinner.set_message("comparing with the full model");
    let points = arguments.points(made.component.size());
    let judged = Judged::new(&experiment.title, spec, made, points);
    spinner.finish_and_clear();
    let judged = match judged {
        Ok(judged) => judged,
        Err(error) => return output.fail(error),
    };
    let folder = arguments.folder();
    let files = match judged.write(&folder, spec) {
        Ok(files) => files,
        Err(error) => return output.fail(error),
    };
    let mut refused = experiment.diagnostics();
    if !judged.is_stable() && spec.unstable == Unstable::Refuse {
        let error = ReductionError::Unstable(judged.offenders());
        let error = Diagnostic::error(error.to_string())
            .remedy("take method = \"rubin\", or say unstable = \"accept\" in [reduction]");
        refused.push(experiment.place("reduction.method", error));
    }
    let shown = match output {
        Output::Json => {
            let mut document = judged.document();
            document["folder"] = json!(folder.display().to_string());
            document["files"] = json!(files);
            if refused.has_errors() {
                document["diagnostics"] = refused.to_json();
            }
            output.document(&document)
        }
        Output::People => {
            let files = files.join(", ");
            print(&format!("{}\nwritten to {}: {files}\n", judged.text(), folder.display()))
        }
    };
    match (refused.has_errors(), output) {
        (false, _) => shown,
        (true, Output::People) => output.refuse(&refused),
        (true, Output::Json) => Exit::BadExperiment,
    }
}

fn nothing_to_reduce(experiment: &Experiment) -> Diagnostics {
    let mut found = experiment.diagnostics();
    found.push(
        Diagnostic::error("the file has no [reduction]")
            .remedy("add one: [reduction] with cut_off = \"500 Hz\", or modes = 30"),
    );
    found
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

    fn text(&self) -> String {
        let rows: Vec<Vec<String>> =
            self.rows().into_iter().map(|(name, value)| vec![name, value]).collect();
        format!("{}\n\n{}", self.title, table(&["quantity", "value"], &rows))
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
