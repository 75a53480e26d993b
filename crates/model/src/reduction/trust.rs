//! Whether a reduced model may be believed.

use std::f64::consts::TAU;

use nalgebra::Complex;
use numerics::eigen;
use numerics::second_order::{SecondOrder, is_symmetric};
use numerics::sparse::SparseMatrix;

use super::response::{Response, Spread};
use super::{Component, ReducedModel, ReductionError, Result};
use crate::error::{MatrixName, ModelError};

/// Growth below this part of the greatest |λ| is rounding.
const GROWTH_NOISE: f64 = 1e-10;

/// A negative eigenvalue below this part of the largest is rounding.
const DEFINITE_NOISE: f64 = 1e-10;

/// Whether an unstable reduced model may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// Only a stable one.
    StableOnly,
    /// Any, because the user said so.
    Any,
}

/// Eigenvalues that grow and matrices that feed energy.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Eigenvalues with a positive real part beyond rounding, Im ≥ 0, fastest
    /// growth first.
    pub growing: Vec<Complex<f64>>,
    /// Matrices that are not positive semidefinite, with their smallest
    /// eigenvalue over their largest: what keeps the model from being passive.
    pub active: Vec<(MatrixName, f64)>,
}

impl Verdict {
    /// Judges a second-order model. With M > 0, B ≥ 0 and K ≥ 0 it is passive,
    /// and so stable, whatever passive specimen it is joined to.
    pub fn of(model: &ReducedModel) -> Result<Self> {
        let mut active = Vec::new();
        for (name, matrix) in MatrixName::ALL.into_iter().zip(model.matrices.each()) {
            let values = eigen::symmetric_eigenvalues(&(0.5 * (matrix + matrix.transpose())))?;
            let largest = values.amax();
            let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
            if smallest < -DEFINITE_NOISE * largest {
                active.push((name, smallest / largest));
            }
        }
        let symmetric = is_symmetric(&model.matrices.stiffness);
        let growing =
            if active.is_empty() && symmetric { Vec::new() } else { growing(&eigenvalues(model)?) };
        Ok(Self { growing, active })
    }

    /// Judges any linear model by its eigenvalues alone; nothing is said of
    /// passivity.
    pub fn of_eigenvalues(values: &[Complex<f64>]) -> Self {
        Self { growing: growing(values), active: Vec::new() }
    }

    /// Whether nothing grows.
    pub fn is_stable(&self) -> bool {
        self.growing.is_empty()
    }

    /// Whether no motion takes energy out of it.
    pub fn is_passive(&self) -> bool {
        self.growing.is_empty() && self.active.is_empty()
    }

    /// Refuses an unstable model unless told.
    pub fn accept(&self, acceptance: Acceptance) -> Result<()> {
        if self.is_stable() || acceptance == Acceptance::Any {
            return Ok(());
        }
        Err(ReductionError::Unstable(self.offenders()))
    }

    /// The growing modes in words.
    pub fn offenders(&self) -> String {
        let words = self.growing.iter().map(|value| {
            if value.im == 0.0 {
                format!("a motion that grows by {:.3e} 1/s", value.re)
            } else {
                format!("the mode at {:.4} Hz grows by {:.3e} 1/s", value.im / TAU, value.re)
            }
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Eigenvalues of the reduced model.
pub fn eigenvalues(model: &ReducedModel) -> Result<Vec<Complex<f64>>> {
    quadratic_eigenvalues(&model.matrices)
}

/// λ of λ²M + λB + K.
pub(super) fn quadratic_eigenvalues(matrices: &SecondOrder) -> Result<Vec<Complex<f64>>> {
    let singular = ReductionError::MassNotPositiveDefinite(0);
    Ok(eigen::eigenvalues(&matrices.state_matrix().ok_or(singular)?)?)
}

/// Those that grow beyond rounding, Im ≥ 0, fastest first.
pub(super) fn growing(values: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let largest = values.iter().map(|value| value.norm()).fold(0.0, f64::max);
    let mut growing: Vec<_> = values
        .iter()
        .filter(|value| value.re > GROWTH_NOISE * largest && value.im >= 0.0)
        .copied()
        .collect();
    growing.sort_by(|a, b| b.re.total_cmp(&a.re));
    growing
}

/// A reduced model against the full one.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// States of the full model.
    pub states_before: usize,
    /// States of the reduced model.
    pub states_after: usize,
    /// The band the two were compared in, up to this circular frequency.
    pub band_rad_s: f64,
    /// Errors of the eigenvalues, see [`eigenvalue_spread`].
    pub eigenvalues: Option<Spread>,
    /// Error of the interface response over the grid.
    pub response: Spread,
    /// Circular frequency at which the response is worst.
    pub worst_rad_s: f64,
    /// Frequencies compared.
    pub points: usize,
    /// Part of the mass under ground motion that the model carries, 0 to 1.
    pub effective_mass: f64,
    /// Stable? Passive?
    pub verdict: Verdict,
}

/// DOFs up to which all eigenvalues of a full model are computed for comparison.
const MOST_DOFS_FOR_EIGENVALUES: usize = 400;

impl Comparison {
    /// Compares at the interface DOFs of the model, given the response of the full
    /// one there.
    pub fn new(component: &Component, model: &ReducedModel, full: &Response) -> Result<Self> {
        let omegas = &full.omegas_rad_s;
        let reduced = Response::of_model(model, omegas)?;
        let none = ModelError::WrongCount { what: "frequencies", given: 0, expected: 1 };
        let response = Spread::of(&reduced.errors(full)).ok_or(none)?;
        let band_rad_s = omegas.iter().copied().fold(0.0, f64::max);
        Ok(Self {
            states_before: 2 * component.size(),
            states_after: model.states(),
            band_rad_s,
            eigenvalues: eigenvalue_spread(component, || eigenvalues(model), band_rad_s)?,
            response,
            worst_rad_s: omegas[response.worst],
            points: omegas.len(),
            effective_mass: model.effective_mass(),
            verdict: Verdict::of(model)?,
        })
    }
}

/// All eigenvalues of a component, densely.
pub fn component_eigenvalues(component: &Component) -> Result<Vec<Complex<f64>>> {
    quadratic_eigenvalues(&component.matrices.map(SparseMatrix::to_dense))
}

/// |λ − λ_full|/|λ_full| over the full model's eigenvalues with |λ| in the band:
/// overdamped motions far beyond it are none of its business. `None` without any,
/// and where the full model is too large for all of them.
pub fn eigenvalue_spread(
    component: &Component,
    own: impl FnOnce() -> Result<Vec<Complex<f64>>>,
    band_rad_s: f64,
) -> Result<Option<Spread>> {
    if component.size() > MOST_DOFS_FOR_EIGENVALUES {
        return Ok(None);
    }
    let mut full = component_eigenvalues(component)?;
    full.retain(|value| value.norm() <= band_rad_s);
    Ok(Spread::of(&eigenvalue_errors(&full, &own()?, band_rad_s)))
}

/// For every full eigenvalue with |Im λ| up to the band's end, not a rigid one,
/// the relative distance of the nearest reduced one.
pub fn eigenvalue_errors(
    full: &[Complex<f64>],
    reduced: &[Complex<f64>],
    band_rad_s: f64,
) -> Vec<f64> {
    let largest = full.iter().map(|value| value.norm()).fold(0.0, f64::max);
    full.iter()
        .filter(|value| value.im.abs() <= band_rad_s && value.norm() > 1e-9 * largest)
        .map(|value| {
            let near = reduced.iter().map(|own| (own - value).norm()).fold(f64::INFINITY, f64::min);
            near / value.norm()
        })
        .collect()
}
