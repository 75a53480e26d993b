//! Whether a reduced model may be believed.

use std::f64::consts::TAU;

use nalgebra::{Complex, DMatrix};
use numerics::eigen;

use super::{ReducedModel, ReductionError};

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
    pub active: Vec<(&'static str, f64)>,
}

impl Verdict {
    /// Judges a second-order model. With M > 0, B ≥ 0 and K ≥ 0 it is passive,
    /// and so stable, whatever passive specimen it is joined to.
    pub fn of(model: &ReducedModel) -> Result<Self, ReductionError> {
        let mut active = Vec::new();
        for (name, matrix) in
            [("mass", &model.mass), ("damping", &model.damping), ("stiffness", &model.stiffness)]
        {
            let values = eigen::symmetric_eigenvalues(&(0.5 * (matrix + matrix.transpose())))?;
            let largest = values.amax();
            let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
            if smallest < -DEFINITE_NOISE * largest {
                active.push((name, smallest / largest));
            }
        }
        let symmetric = eigen::is_symmetric(&model.stiffness, 1e-9);
        let growing =
            if active.is_empty() && symmetric { Vec::new() } else { growing(&eigenvalues(model)?) };
        Ok(Self { growing, active })
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
    pub fn accept(&self, acceptance: Acceptance) -> Result<(), ReductionError> {
        if self.is_stable() || acceptance == Acceptance::Any {
            return Ok(());
        }
        Err(ReductionError::Unstable { modes: self.offenders() })
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
pub fn eigenvalues(model: &ReducedModel) -> Result<Vec<Complex<f64>>, ReductionError> {
    let n = model.size();
    let factor = model.mass.clone().lu();
    let dof = 0;
    let solved = |matrix: &DMatrix<f64>| {
        factor.solve(matrix).ok_or(ReductionError::MassNotPositiveDefinite { dof })
    };
    let (stiffness, damping) = (solved(&model.stiffness)?, solved(&model.damping)?);
    let mut matrix = DMatrix::zeros(2 * n, 2 * n);
    matrix.view_mut((0, n), (n, n)).fill_diagonal(1.0);
    matrix.view_mut((n, 0), (n, n)).copy_from(&-stiffness);
    matrix.view_mut((n, n), (n, n)).copy_from(&-damping);
    Ok(eigen::eigenvalues(&matrix)?)
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
