//! Component mode synthesis: a large component becomes a small model that still
//! answers truly at its boundary.
//!
//! The default is Rubin's method with real modes and every DOF that carries a
//! discrete damper or a nonlinear element in the boundary set. It is a congruence
//! (Tᵀ M T, Tᵀ B T, Tᵀ K T), so a passive component stays passive.
//!
//! References: Rubin 1975, AIAA J. 13(8); Craig & Bampton 1968, AIAA J. 6(7);
//! Martinez, Carne & Miller 1984, AIAA 84-0941; de Kraker 1994, WFW 94.081.

pub mod assembly;
mod basis;
mod component;
mod error;
mod flexibility;
pub mod response;
mod selection;
pub mod state_space;
mod stored;
#[cfg(test)]
mod tests;
pub mod transient;
pub mod trust;

pub use component::Component;
pub use error::{ReductionError, Result};
pub use flexibility::Flexibility;

use nalgebra::{DMatrix, DVector};
use numerics::second_order::SecondOrder;
use numerics::sparse::{Cholesky, SparseError, SparseMatrix};
use serde::{Deserialize, Serialize};

use crate::check::check_positive;
use crate::error::ModelError;
use crate::structure::Structure;
use trust::{Acceptance, Verdict};

/// Most DOFs that are taken for ends of discrete dampers; with more the damping
/// counts as spread over the component.
const MOST_DAMPER_DOFS: usize = 64;

/// The second-order methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Free-interface modes, rigid-body modes and flexibility modes.
    Rubin,
    /// Constraint modes and modes with the boundary held.
    CraigBampton,
    /// Free-interface modes and rigid-body modes alone: for comparison.
    ModesOnly,
}

impl Method {
    /// The name used in the experiment file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rubin => "rubin",
            Self::CraigBampton => "craig_bampton",
            Self::ModesOnly => "modes_only",
        }
    }
}

/// Which modes are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModeChoice {
    /// All up to this circular frequency.
    CutOff {
        /// ω_c.
        omega_rad_s: f64,
    },
    /// This many elastic modes.
    Number(usize),
    /// As few as keep the response at the interface true.
    InterfaceError(ErrorTarget),
}

/// How true the response at the interface is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorTarget {
    /// Largest error in the band, resonances included, as
    /// [`Response::errors`](response::Response::errors) measures it.
    pub relative: f64,
    /// End of the band in which it must hold.
    pub band_rad_s: f64,
    /// Frequencies at which the full model is computed first; those where
    /// the error is likely to be largest follow, at most four times as many.
    pub points: usize,
    /// Most elastic modes to try.
    pub most: usize,
}

/// Which DOFs stay because a discrete damper acts on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dampers {
    /// Those whose damping no αM + βK explains, if they are few.
    Found,
    /// None: dampers are left to the modes.
    Inside,
}

/// What to make of a component.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// The method.
    pub method: Method,
    /// The modes.
    pub modes: ModeChoice,
    /// DOFs at which the component meets the specimen or its neighbours.
    pub interface: Vec<usize>,
    /// Further DOFs that stay as they are: ends of nonlinear elements, DOFs under
    /// point loads.
    pub retained: Vec<usize>,
    /// DOFs of discrete dampers.
    pub dampers: Dampers,
    /// DOFs whose motion is to be recovered.
    pub monitored: Vec<usize>,
}

impl Recipe {
    /// The default method with these modes at this interface.
    pub fn rubin(interface: Vec<usize>, modes: ModeChoice) -> Self {
        Self {
            method: Method::Rubin,
            modes,
            interface,
            retained: Vec::new(),
            dampers: Dampers::Found,
            monitored: Vec::new(),
        }
    }
}

/// What a reduction cost and found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Facts {
    /// DOFs before.
    pub full_size: usize,
    /// DOFs kept because of dampers, counted from 0.
    pub damper_dofs: Vec<usize>,
    /// Whether the damping is spread over the component, so that no damper DOF
    /// was looked for any further.
    pub spread_damping: bool,
    /// Rigid-body modes.
    pub rigid_modes: usize,
    /// DOFs suppressed for the flexibility.
    pub suppressed: Vec<usize>,
    /// Memory of the component's matrices.
    pub matrix_bytes: usize,
    /// Memory of the factor.
    pub factor_bytes: usize,
    /// Memory of the Krylov space and the basis.
    pub vector_bytes: usize,
    /// Vectors of the Krylov space.
    pub krylov_vectors: usize,
    /// Single solutions with the factor.
    pub solves: usize,
    /// What an error that was asked for rests on.
    pub held: Option<ErrorEstimate>,
}

/// How an interface error was held to what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ErrorEstimate {
    /// Frequencies at which the full model was computed, a complex factor each.
    pub factors: usize,
    /// Largest error there.
    pub error: f64,
    /// Circular frequency of the largest.
    pub worst_rad_s: f64,
    /// Frequencies at which a richer model stood for the full one: resonances,
    /// their flanks, antiresonances and what lies between.
    pub probes: usize,
    /// Largest error there.
    pub estimate: f64,
    /// Largest error of the richer model where the full one is known.
    pub rich_error: f64,
    /// Modes of the richer model.
    pub rich_modes: usize,
}

/// A reduced model, the basis it stands on, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduction {
    /// The small model.
    pub model: ReducedModel,
    /// T: full motion = T × coordinates.
    pub basis: DMatrix<f64>,
    /// What it cost and found.
    pub facts: Facts,
}

/// M q̈ + B q̇ + K q = f in the coordinates of a reduction: first the boundary
/// DOFs, as they are in the full model, then the amplitudes of modes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReducedModel {
    /// Tᵀ M T, Tᵀ B T and Tᵀ K T.
    #[serde(with = "stored::matrices")]
    pub matrices: SecondOrder,
    /// DOF of the full model that each of the first coordinates is.
    pub boundary: Vec<usize>,
    /// How many of them, from the first on, are the interface.
    pub interface: usize,
    /// ω of the modes behind them; 0 for rigid-body modes.
    pub omega_rad_s: Vec<f64>,
    /// Tᵀ M ι: how the ground excites each coordinate.
    #[serde(with = "stored::vector")]
    pub participation: DVector<f64>,
    /// ιᵀ M ι of the full model.
    pub excited_mass: f64,
    /// DOFs of the full model that can be recovered.
    pub monitored: Vec<usize>,
    /// Their motion from the coordinates: rows of T.
    #[serde(with = "stored::matrix")]
    pub recovery: DMatrix<f64>,
}

impl ReducedModel {
    /// Number of coordinates.
    pub fn size(&self) -> usize {
        self.matrices.mass.nrows()
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        2 * self.size()
    }

    /// The coordinate that is this DOF of the full model.
    pub fn coordinate(&self, dof: usize) -> Result<usize> {
        let place = self.boundary.iter().position(|&kept| kept == dof);
        place.ok_or(ReductionError::NotRetained(dof))
    }

    /// The model with only its `modes` slowest modes. The columns of T do not
    /// depend on each other, so the rows and columns of the others just go.
    pub fn truncated(&self, modes: usize) -> Self {
        let size = (self.boundary.len() + modes).min(self.size());
        Self {
            matrices: self.matrices.map(|matrix| matrix.view((0, 0), (size, size)).into_owned()),
            omega_rad_s: self.omega_rad_s[..size - self.boundary.len()].to_vec(),
            participation: self.participation.rows(0, size).into_owned(),
            recovery: self.recovery.columns(0, size).into_owned(),
            boundary: self.boundary.clone(),
            monitored: self.monitored.clone(),
            ..*self
        }
    }

    /// As a structure, for partitions, integrators and analyses. Boundary
    /// coordinates carry the names `name` gives their DOFs, the others `mode 1`,
    /// `mode 2`, …. Its influence ι_r obeys M_r ι_r = Tᵀ M ι, so that the ground
    /// excites it as it would the full model.
    ///
    /// An unstable model is refused unless `acceptance` says otherwise.
    pub fn structure(
        &self,
        name: impl Fn(usize) -> String,
        acceptance: Acceptance,
    ) -> Result<Structure> {
        Verdict::of(self)?.accept(acceptance)?;
        let modes = self.size() - self.boundary.len();
        let names = self.boundary.iter().map(|&dof| name(dof));
        let names = names.chain((1..=modes).map(|mode| format!("mode {mode}"))).collect();
        let SecondOrder { mass, damping, stiffness } = self.matrices.clone();
        let structure = Structure::new(mass, damping, stiffness).map_err(|error| match error {
            ModelError::MassNotPositiveDefinite { .. } if modes > 0 => {
                ReductionError::TooManyModes(modes)
            }
            other => other.into(),
        })?;
        let influence = self.influence().ok_or(ReductionError::MassNotPositiveDefinite(0))?;
        Ok(structure.with_names(names)?.with_influence(influence)?)
    }

    /// Motion of the monitored DOFs from that of the coordinates.
    pub fn recover(&self, coordinates: &[f64]) -> DVector<f64> {
        &self.recovery * DVector::from_column_slice(coordinates)
    }

    /// The part of ιᵀMι that the coordinates carry, 0 to 1: below 1 the ground
    /// excites motion that the model does not have.
    pub fn effective_mass(&self) -> f64 {
        self.influence()
            .map_or(f64::NAN, |influence| self.participation.dot(&influence) / self.excited_mass)
    }

    /// ι_r with M_r ι_r = Tᵀ M ι.
    pub fn influence(&self) -> Option<DVector<f64>> {
        Some(self.matrices.mass.clone().cholesky()?.solve(&self.participation))
    }
}

/// Reduces a component.
pub fn reduce(component: &Component, recipe: &Recipe) -> Result<Reduction> {
    let ModeChoice::InterfaceError(target) = recipe.modes else {
        return basis::reduce(component, recipe);
    };
    check_positive("error", target.relative)?;
    check_positive("band", target.band_rad_s)?;
    check_positive("points", target.points as f64)?;
    selection::smallest(component, recipe, &target)
}

/// Whether all DOFs are there.
fn check_dofs(dofs: &[usize], size: usize) -> Result<()> {
    match dofs.iter().find(|&&dof| dof >= size) {
        Some(&dof) => Err(ReductionError::NoSuchDof { dof, size }),
        None => Ok(()),
    }
}

/// The factor of a matrix, or why the row at which there is none is refused.
fn factored(matrix: &SparseMatrix, refused: impl Fn(usize) -> ReductionError) -> Result<Cholesky> {
    Cholesky::new(matrix).map_err(|error| match error {
        SparseError::NotPositiveDefinite(row) => refused(row),
        other => other.into(),
    })
}

/// The boundary set: interface, retained and damper DOFs, each once, in that order.
fn boundary_set(component: &Component, recipe: &Recipe, facts: &mut Facts) -> Result<Vec<usize>> {
    if recipe.dampers == Dampers::Found {
        let found = component.damper_dofs(MOST_DAMPER_DOFS);
        facts.spread_damping = found.is_none();
        facts.damper_dofs = found.unwrap_or_default();
    }
    let size = component.size();
    let mut boundary: Vec<usize> = Vec::new();
    for &dof in recipe.interface.iter().chain(&recipe.retained).chain(&facts.damper_dofs) {
        if !boundary.contains(&dof) {
            boundary.push(dof);
        }
    }
    check_dofs(&boundary, size)?;
    check_dofs(&recipe.monitored, size)?;
    if boundary.is_empty() {
        return Err(ReductionError::NoBoundary);
    }
    Ok(boundary)
}
