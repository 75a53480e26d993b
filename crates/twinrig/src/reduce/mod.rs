//! `Test::reduce`: a large model made small, and how far it can be trusted.

mod files;
mod found;
mod full;
mod history;
mod page;
mod verdict;

use std::path::Path;
use std::time::Instant;

use model::reduction::trust::Verdict;
use serde::{Serialize, Serializer};

use crate::assembly::{Assembly, Examined, acceptance, examine, examine_synthesis};
use crate::error::Error;
use crate::estimate::Estimate;
use crate::fit::Fit;
use crate::onlooker::{Event, Onlooker};
use crate::test::Test;
use experiment::reduction::ReductionMethod;
use experiment::{Diagnostic, Diagnostics, Experiment, ReductionSpec, Whole};
pub use found::Found;
use found::Model;
use history::History;

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
#[derive(Serialize)]
pub struct Reduction {
    /// What was found.
    #[serde(flatten)]
    pub found: Found,
    /// Where its files are.
    pub folder: String,
    /// Their names.
    pub files: Vec<String>,
    /// Why a test with this model is refused, if it is.
    #[serde(rename = "diagnostics", serialize_with = "as_json")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Box<Diagnostics>>,
}

fn as_json<S: Serializer>(
    refused: &Option<Box<Diagnostics>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    refused.as_ref().map(|found| found.to_json()).serialize(serializer)
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
        self.afford(&Estimate::reduce(experiment, |dofs| options.points(dofs)), onlooker)?;
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
        let compared = Found::of_matrices(self.experiment(), spec, &examined, points);
        // What the run would say against the model, and what a step of it costs.
        let assembled = self.assembly();
        let mut found = match (compared, &assembled) {
            (Ok(found), _) => found,
            (Err(error), Ok(_)) => return Err(error.into()),
            (Err(_), Err(_)) => return Err(assembled.err().unwrap_or(Error::NoMatrices)),
        };
        if let (Ok(assembly), Model::Matrices(matrices)) = (&assembled, &mut found.model) {
            let step = Fit::measure(assembly).ok().map(|fit| fit.step);
            matrices.ran(step, history(assembly, &examined, options.in_time, onlooker)?);
            onlooker.event(&Event::Warnings(&self.warnings_of_models()));
        }
        let refused = match assembled {
            Err(Error::Experiment(refused)) => Some(refused),
            _ => None,
        };
        found.verdict = verdict::verdict(&found, refused.as_deref());
        let files = files::write(folder, &found, files::of_matrices(&examined))?;
        Ok(Reduction { found, folder: folder.display().to_string(), files, refused })
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
        let mut found = Found::of_synthesis(experiment, spec, &made, points)?;
        let verdict = Verdict::of_eigenvalues(&made.eigenvalues()?, made.rigid_states());
        let refused = verdict.accept(acceptance(spec)).err().map(|error| {
            let error = Diagnostic::error(error.to_string())
                .remedy("take method = \"rubin\", or say unstable = \"accept\" in [reduction]");
            let mut refused = experiment.diagnostics();
            refused.push(experiment.place("reduction.method", error));
            Box::new(refused)
        });
        found.verdict = verdict::verdict(&found, refused.as_deref());
        let files = files::write(folder, &found, files::of_synthesis(&made, spec))?;
        Ok(Reduction { found, folder: folder.display().to_string(), files, refused })
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
    let remedy = match &experiment.whole {
        Whole::Structure(_) => "add one: [reduction] with cut_off = \"500 Hz\", or modes = 30",
        Whole::Components(_) => {
            "give the component whose reduction you want to see an experiment file of its own (`file`) \
             and name that, or add [reduction] for the whole"
        }
    };
    found.push(Diagnostic::error("the file has no [reduction] of the whole").remedy(remedy));
    found.into()
}
