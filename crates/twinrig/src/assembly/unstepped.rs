//! Reduced models that are judged and written, and not stepped by the loop:
//! first-order ones, and those with growing motions of their own.

use std::time::Instant;

use model::reduction::assembly::{DualAssembly, dual_component};
use model::reduction::state_space::{
    Completion, StateChoice, StateRecipe, StateReduction, reduce_states,
};
use model::reduction::{Component, ModeChoice, ReductionError};

use super::structure::Builder;
use crate::experiment::reduction::{ModeSpec, ReductionMethod};
use crate::experiment::{Diagnostic, ReductionSpec};

/// A reduced model that the loop does not step, beside the full one.
pub struct Unstepped {
    /// The full model.
    pub component: Component,
    /// The small one.
    pub model: UnsteppedModel,
    /// DOFs that stay, counted from 0: the interface first.
    pub boundary: Vec<usize>,
    /// Their names.
    pub names: Vec<String>,
    /// How many of them are the interface.
    pub interface: usize,
    /// DOFs that can be recovered.
    pub monitored: Vec<usize>,
    /// Seconds the reduction took.
    pub seconds: f64,
}

/// What the methods give.
pub enum UnsteppedModel {
    /// De Kraker's state-space model.
    States(Box<StateReduction>),
    /// Modes and the forces at the interface.
    Dual(Box<DualAssembly>),
}

impl Builder<'_> {
    /// Says so where a method gives nothing that the loop could step.
    pub(super) fn check_stepped(&mut self, spec: &ReductionSpec) -> Option<()> {
        let message = match spec.method {
            ReductionMethod::StateSpace => {
                "the method state_space gives a first-order model, and the loop steps \
                 second-order ones"
            }
            ReductionMethod::DualCraigBampton => {
                "the method dual_craig_bampton gives a model with motions that grow by themselves: \
                 it is never run"
            }
            _ => return Some(()),
        };
        let remedy =
            "`twinrig reduce` judges and writes it; to run the test take method = \"rubin\"";
        let error = Diagnostic::error(message).remedy(remedy);
        self.found.push(self.experiment.place("reduction.method", error));
        None
    }

    /// The full structure and the model that such a method makes of it.
    pub(super) fn unstepped(&mut self, spec: &ReductionSpec) -> Option<Unstepped> {
        let full = self.full_model()?;
        let wanted = self.wanted(spec, &full)?;
        let recipe = &wanted.recipe;
        let mut boundary: Vec<usize> = Vec::new();
        let mut interface = 0;
        for (at, &dof) in recipe.interface.iter().chain(&recipe.retained).enumerate() {
            if !boundary.contains(&dof) {
                boundary.push(dof);
                interface += usize::from(at < recipe.interface.len());
            }
        }
        let begun = Instant::now();
        let model = made(&full.component, spec, recipe.modes, &boundary);
        let model = self.accept(model, "reduction")?;
        let names = boundary.iter().map(|&dof| wanted.name(&full, dof)).collect();
        Some(Unstepped {
            model,
            names,
            interface,
            monitored: recipe.monitored.clone(),
            seconds: begun.elapsed().as_secs_f64(),
            boundary,
            component: full.component,
        })
    }
}

fn made(
    component: &Component,
    spec: &ReductionSpec,
    modes: ModeChoice,
    boundary: &[usize],
) -> Result<UnsteppedModel, ReductionError> {
    if spec.method == ReductionMethod::DualCraigBampton {
        let dual = dual_component(component, boundary, modes)?;
        return Ok(UnsteppedModel::Dual(Box::new(dual)));
    }
    let choice = match spec.modes {
        ModeSpec::CutOff { omega_rad_s } => StateChoice::Imaginary { omega_rad_s },
        ModeSpec::Number(number) => StateChoice::Number(number),
        // The file's own checks know better.
        ModeSpec::Error(_) => return Err(ReductionError::NoBoundary),
    };
    let completion = match spec.completion {
        crate::experiment::reduction::Completion::Flexibility => Completion::Flexibility,
        crate::experiment::reduction::Completion::Residual => Completion::ResidualFlexibility,
        crate::experiment::reduction::Completion::None => Completion::None,
    };
    let recipe = StateRecipe { completion, modes: choice, boundary: boundary.to_vec() };
    Ok(UnsteppedModel::States(Box::new(reduce_states(component, &recipe)?)))
}
