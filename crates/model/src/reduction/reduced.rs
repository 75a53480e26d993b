//! The small model that comes out.

use nalgebra::{DMatrix, DVector};
use numerics::second_order::SecondOrder;

use super::trust::{Acceptance, Verdict};
use super::{ReductionError, Result};
use crate::structure::Structure;

/// M q̈ + B q̇ + K q = f in the coordinates of a reduction: first the boundary
/// DOFs, as they are in the full model, then the amplitudes of modes.
#[derive(Debug, Clone, PartialEq)]
pub struct ReducedModel {
    /// Tᵀ M T, Tᵀ B T and Tᵀ K T.
    pub matrices: SecondOrder,
    /// DOF of the full model that each of the first coordinates is.
    pub boundary: Vec<usize>,
    /// How many of them, from the first on, are the interface.
    pub interface: usize,
    /// ω of the modes behind them; 0 for rigid-body modes.
    pub omega_rad_s: Vec<f64>,
    /// Tᵀ M ι: how the ground excites each coordinate.
    pub participation: DVector<f64>,
    /// ιᵀ M ι of the full model.
    pub excited_mass: f64,
    /// DOFs of the full model that can be recovered.
    pub monitored: Vec<usize>,
    /// Their motion from the coordinates: rows of T.
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
        let structure = Structure::new(mass, damping, stiffness)?;
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
