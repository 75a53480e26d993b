//! Reduced models of other forms than M, C and K: de Kraker's of first order,
//! which the loop steps, and dual Craig–Bampton, which is for a look only.

use std::f64::consts::TAU;
use std::time::Instant;

use model::equations::Descriptor;
use model::reduction::assembly::{DualAssembly, dual_component};
use model::reduction::state_space::{StateChoice, StateRecipe, StateReduction, reduce_states};
use model::reduction::{Component, ModeChoice, ReductionError};
use model::structure::{DofKind, StateForm, Structure};
use nalgebra::DVector;
use nalgebra::{Complex, DMatrix};

use super::full::FullModel;
use super::reduced::{Wanted, resolve_kept};
use super::structure::{Builder, Origin};
use experiment::reduction::{ModeSpec, ReductionMethod};
use experiment::{Diagnostic, DofLabel, DofRef, ReductionSpec};

/// A reduced model of another form, beside the full one.
pub struct Synthesis {
    /// The full model.
    pub component: Component,
    /// The small one.
    pub model: SynthesisModel,
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

impl Synthesis {
    /// States of rigid-body motion, regular and generalised.
    pub fn rigid_states(&self) -> usize {
        match &self.model {
            SynthesisModel::States(states) => states.model.state_rigid_modes,
            SynthesisModel::Dual(_) => 0,
        }
    }

    /// Displacements at the interface for forces there, at a frequency; none at a pole.
    pub fn receptance(&self, omega_rad_s: f64) -> Option<DMatrix<Complex<f64>>> {
        let all = match &self.model {
            SynthesisModel::States(states) => states.model.receptance(omega_rad_s)?,
            SynthesisModel::Dual(dual) => dual.receptance(omega_rad_s)?,
        };
        Some(all.view((0, 0), (self.interface, self.interface)).into_owned())
    }

    /// Eigenvalues of the small model.
    pub fn eigenvalues(&self) -> Result<Vec<Complex<f64>>, ReductionError> {
        match &self.model {
            SynthesisModel::States(states) => states.model.eigenvalues(),
            SynthesisModel::Dual(dual) => dual.eigenvalues(),
        }
    }

    /// States of the small model.
    pub fn states(&self) -> usize {
        match &self.model {
            SynthesisModel::States(states) => states.model.states(),
            SynthesisModel::Dual(dual) => 2 * dual.matrices.mass.nrows(),
        }
    }

    /// Circular frequencies of the modes that were kept.
    pub fn kept(&self) -> Vec<f64> {
        match &self.model {
            SynthesisModel::States(states) => {
                states.model.kept.iter().map(|value| value.im).filter(|&im| im > 0.0).collect()
            }
            SynthesisModel::Dual(dual) => {
                let modes = dual.matrices.mass.nrows() - dual.forces;
                (0..modes).map(|k| dual.matrices.stiffness[(k, k)].max(0.0).sqrt()).collect()
            }
        }
    }
}

/// What the methods give.
pub enum SynthesisModel {
    /// De Kraker's state-space model.
    States(Box<StateReduction>),
    /// Modes and the forces at the interface.
    Dual(Box<DualAssembly>),
}

impl SynthesisModel {
    /// Whether any mode beside the rigid ones was kept.
    fn has_modes(&self) -> bool {
        match self {
            Self::States(states) => !states.model.kept.is_empty(),
            Self::Dual(dual) => (0..dual.matrices.mass.nrows() - dual.forces)
                .any(|k| dual.matrices.stiffness[(k, k)] > 0.0),
        }
    }
}

/// A structure of first order, with all that the file calls by name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StateReduced {
    form: StateForm,
    names: Vec<String>,
    kinds: Vec<DofKind>,
    boundary: Vec<usize>,
    labels: Vec<(DofLabel, usize)>,
}

impl StateReduced {
    /// The index of what the file calls a DOF.
    pub(super) fn resolve(&self, dof: &DofRef) -> Result<usize, Diagnostic> {
        resolve_kept(dof, &self.labels, &self.boundary)
    }
}

impl Builder<'_> {
    /// The structure that a state-space reduction makes, from memory or now.
    pub(super) fn first_order(&mut self, spec: &ReductionSpec) -> Option<Structure> {
        let key = self.digest(spec)?;
        let reduced = match self.store.states(key) {
            Some(known) => known,
            None => {
                let made = self.reduced_states(spec)?;
                self.store.keep_states(key, made)
            }
        };
        let StateReduced { form, names, kinds, .. } = &*reduced;
        let structure = self.keep(Structure::of_states(form.clone(), names.len()), "reduction")?;
        let structure = self.keep(structure.with_names(names.clone()), "reduction")?;
        let structure = self.keep(structure.with_kinds(kinds.clone()), "reduction")?;
        self.origin = Origin::States(reduced);
        Some(structure)
    }

    fn reduced_states(&mut self, spec: &ReductionSpec) -> Option<StateReduced> {
        let full = self.full_model()?;
        let wanted = self.wanted(spec, &full)?;
        let kinds = |made: &Synthesis| made.boundary.iter().map(|&dof| full.kind(dof)).collect();
        let made = self.synthesised(spec, &full, &wanted)?;
        let SynthesisModel::States(reduction) = &made.model else { return None };
        let verdict =
            reduction.model.verdict().and_then(|verdict| verdict.accept(self.acceptance(spec)));
        self.keep(verdict, "reduction")?;
        let ground = -ground(&full.component, reduction);
        let descriptor = Descriptor { e: reduction.model.c.clone(), a: -&reduction.model.d };
        Some(StateReduced {
            form: StateForm { descriptor, ground },
            kinds: kinds(&made),
            names: made.names,
            boundary: made.boundary,
            labels: wanted.labels,
        })
    }

    /// The full structure and the model that such a method makes of it.
    pub(super) fn synthesis(&mut self, spec: &ReductionSpec) -> Option<Synthesis> {
        let full = self.full_model()?;
        let wanted = self.wanted(spec, &full)?;
        self.synthesised(spec, &full, &wanted)
    }

    fn synthesised(
        &mut self,
        spec: &ReductionSpec,
        full: &FullModel,
        wanted: &Wanted,
    ) -> Option<Synthesis> {
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
        let model = self.keep(model, "reduction")?;
        if !model.has_modes() {
            self.warn_of_no_mode(spec);
        }
        Some(Synthesis {
            model,
            names: boundary.iter().map(|&dof| wanted.name(full, dof)).collect(),
            interface,
            monitored: recipe.monitored.clone(),
            seconds: begun.elapsed().as_secs_f64(),
            boundary,
            component: full.component.clone(),
        })
    }

    /// Says so where a method gives nothing that the loop could step.
    pub(super) fn refuse_dual(&mut self) {
        let message = "the method dual_craig_bampton gives a model with motions that grow by \
                       themselves, one for each force at the interface: it is never run";
        let remedy = "`twinrig reduce` judges and writes it; to run the test take method = \
                      \"rubin\" or \"state_space\"";
        self.refuse::<()>("reduction.method", Diagnostic::error(message).remedy(remedy));
    }
}

/// T_Lᵀ M ι: how the ground acts on the states of a reduced model, but for the sign.
pub fn ground(component: &Component, reduction: &StateReduction) -> DVector<f64> {
    reduction.left.rows(0, component.size()).tr_mul(&component.excited_masses())
}

fn made(
    component: &Component,
    spec: &ReductionSpec,
    modes: ModeChoice,
    boundary: &[usize],
) -> Result<SynthesisModel, ReductionError> {
    if spec.method == ReductionMethod::DualCraigBampton {
        let dual = dual_component(component, boundary, modes)?;
        return Ok(SynthesisModel::Dual(Box::new(dual)));
    }
    let choice = match spec.modes {
        ModeSpec::CutOff { cut_off_hz, .. } => {
            StateChoice::Imaginary { omega_rad_s: TAU * cut_off_hz }
        }
        ModeSpec::Number { modes, .. } => StateChoice::Number(modes),
        // The file's own checks know better.
        ModeSpec::Error { .. } => return Err(ReductionError::NoBoundary),
    };
    let completion = spec.completion;
    let recipe = StateRecipe { completion, modes: choice, boundary: boundary.to_vec() };
    Ok(SynthesisModel::States(Box::new(reduce_states(component, &recipe)?)))
}
