//! A linear component by its sparse matrices.

use std::collections::BTreeSet;

use nalgebra::{DMatrix, DVector};
use numerics::second_order::SecondOrder;
use numerics::sparse::SparseMatrix;

use super::{ReductionError, Result};
use crate::check::check_count;
use crate::error::MatrixName;
use crate::structure::Structure;

/// Mirrored entries may differ by this part of their size.
const SYMMETRY_TOLERANCE: f64 = 1e-9;

/// A residual of B = αM + βK below this part of the entry is no damper.
const RAYLEIGH_TOLERANCE: f64 = 1e-7;

/// M q̈ + B q̇ + K q = f of a component, large and sparse.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// M, symmetric; B and K.
    pub matrices: SecondOrder<SparseMatrix>,
    /// ι: the motion of each DOF when the ground moves by one metre.
    pub influence: DVector<f64>,
}

impl Component {
    /// A component whose DOFs all follow the ground. Damping and stiffness may
    /// be non-symmetric (rotors, followers); entries that mirror each other to
    /// 1e-9 are made equal.
    pub fn new(matrices: SecondOrder<SparseMatrix>) -> Result<Self> {
        let expected = matrices.mass.rows();
        for (matrix, values) in MatrixName::ALL.into_iter().zip(matrices.each()) {
            let (rows, columns) = (values.rows(), values.columns());
            if rows != expected || columns != expected {
                return Err(ReductionError::SizeMismatch { matrix, rows, columns, expected });
            }
        }
        let matrices = matrices.map(rounded_symmetric);
        check_symmetric(MatrixName::Mass, &matrices.mass)?;
        if let Some(dof) = matrices.mass.diagonal().iter().position(|&value| value < 0.0) {
            return Err(ReductionError::MassNotPositiveDefinite(dof));
        }
        Ok(Self { influence: DVector::from_element(expected, 1.0), matrices })
    }

    /// An undamped component.
    pub fn undamped(mass: SparseMatrix, stiffness: SparseMatrix) -> Result<Self> {
        let damping = SparseMatrix::zeros(mass.rows(), mass.rows());
        Self::new(SecondOrder { mass, damping, stiffness })
    }

    /// From dense matrices.
    pub fn from_dense(
        mass: &DMatrix<f64>,
        damping: &DMatrix<f64>,
        stiffness: &DMatrix<f64>,
    ) -> Result<Self> {
        let sparse = SparseMatrix::from_dense;
        let (mass, damping, stiffness) = (sparse(mass)?, sparse(damping)?, sparse(stiffness)?);
        Self::new(SecondOrder { mass, damping, stiffness })
    }

    /// A structure, with its influence.
    pub fn from_structure(structure: &Structure) -> Result<Self> {
        let [mass, damping, stiffness] = structure.matrices.each();
        Self::from_dense(mass, damping, stiffness)?.with_influence(structure.influence.clone())
    }

    /// The same component with another influence of the ground.
    pub fn with_influence(mut self, influence: DVector<f64>) -> Result<Self> {
        check_count("influence of the ground", influence.len(), self.size())?;
        self.influence = influence;
        Ok(self)
    }

    /// The same component with αM + βK added to its damping.
    pub fn with_rayleigh(mut self, alpha_1_s: f64, beta_s: f64) -> Self {
        let SecondOrder { mass, damping, stiffness } = &self.matrices;
        let terms = [(1.0, damping), (alpha_1_s, mass), (beta_s, stiffness)];
        self.matrices.damping = SparseMatrix::sum(&terms);
        self
    }

    /// The same component with a damper between two DOFs, or one and the ground.
    pub fn with_damper(
        mut self,
        from: Option<usize>,
        to: Option<usize>,
        damping_n_s_m: f64,
    ) -> Result<Self> {
        let n = self.size();
        let ends = [(from, -1.0), (to, 1.0)];
        let pairs = ends.into_iter().flat_map(|one| ends.map(|other| (one, other)));
        let entries = pairs.filter_map(|((i, a), (j, b))| Some((i?, j?, a * b * damping_n_s_m)));
        let damper = SparseMatrix::from_triplets(n, n, entries.collect::<Vec<_>>())?;
        self.matrices.damping = SparseMatrix::sum(&[(1.0, &self.matrices.damping), (1.0, &damper)]);
        Ok(self)
    }

    /// Number of DOFs.
    pub fn size(&self) -> usize {
        self.matrices.mass.rows()
    }

    /// M ι: what an acceleration of the ground acts on.
    pub fn excited_masses(&self) -> DVector<f64> {
        let influence = DMatrix::from_column_slice(self.size(), 1, self.influence.as_slice());
        self.matrices.mass.times(&influence).column(0).into_owned()
    }

    /// Whether damping and stiffness are symmetric.
    pub fn is_symmetric(&self) -> bool {
        self.matrices.damping.is_symmetric() && self.matrices.stiffness.is_symmetric()
    }

    /// Memory of the three matrices.
    pub fn bytes(&self) -> usize {
        self.matrices.each().map(SparseMatrix::bytes).iter().sum()
    }

    /// The DOFs that carry discrete dampers: the rows of B that no αM + βK
    /// explains. `None` where that leaves more than `most` rows, as a modal
    /// damping matrix does: such damping is spread over the component.
    pub fn damper_dofs(&self, most: usize) -> Option<Vec<usize>> {
        let SecondOrder { mass, damping, stiffness } = &self.matrices;
        let rows = |matrix: &SparseMatrix, floor: &dyn Fn(usize, usize) -> f64| {
            let counts = |&(i, j, value): &(usize, usize, f64)| value.abs() > floor(i, j);
            let rows: BTreeSet<usize> =
                matrix.triplets().filter(counts).map(|(i, _, _)| i).collect();
            Vec::from_iter(rows)
        };
        let present = rows(damping, &|_, _| 0.0);
        if present.len() <= most.min(self.size() / 2) {
            return Some(present);
        }
        let (alpha, beta) = self.rayleigh_part();
        let rest = SparseMatrix::sum(&[(1.0, damping), (-alpha, mass), (-beta, stiffness)]);
        let (m, k) = (mass.diagonal(), stiffness.diagonal());
        let size = |i: usize| (alpha * m[i]).abs() + (beta * k[i]).abs();
        let floor = |i: usize, j: usize| RAYLEIGH_TOLERANCE * (size(i) * size(j)).sqrt();
        let outside = rows(&rest, &floor);
        (outside.len() <= most).then_some(outside)
    }

    /// α and β of the B = αM + βK that most entries obey.
    ///
    /// Where more than half of them obey one pair to the last digits, that is it.
    /// On a fine mesh αm is a millionth of βk, so that a heavy mass with a damper
    /// at one DOF would draw any fit that weighs misfits. Matrices that were
    /// written with few digits have no such pair. Then the sum of the relative
    /// misfits is made small, not that of their squares, so that a few dampers do
    /// not count.
    fn rayleigh_part(&self) -> (f64, f64) {
        let SecondOrder { mass, damping, stiffness } = &self.matrices;
        // Where all rows have one m/k, only entries beside the diagonal tell α from β.
        let step = damping.entries().div_ceil(MOST_ENTRIES).max(1);
        let entries = damping.triplets().step_by(step).filter(|entry| entry.2 != 0.0);
        let over_damping =
            |(i, j, b): (usize, usize, f64)| (mass.get(i, j) / b, stiffness.get(i, j) / b);
        if let Some(fit) = agreed(&entries.map(over_damping).collect::<Vec<_>>()) {
            return fit;
        }
        let diagonal = damping.diagonal().into_iter().enumerate().filter(|entry| entry.1 != 0.0);
        let rows: Vec<(f64, f64)> = diagonal.map(|(i, b)| over_damping((i, i, b))).collect();
        let mut fit = (0.0, 0.0);
        let mut weights = vec![1.0; rows.len()];
        for _ in 0..60 {
            // (αm + βk)/b = 1, each weighted by what it missed last time.
            let sum = |term: fn(f64, f64) -> f64| -> f64 {
                rows.iter().zip(&weights).map(|(&(x, y), w)| w * term(x, y)).sum()
            };
            let (mm, mk, kk) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
            let (m1, k1) = (sum(|x, _| x), sum(|_, y| y));
            let determinant = mm * kk - mk * mk;
            fit = if determinant > 1e-14 * mm * kk {
                ((kk * m1 - mk * k1) / determinant, (mm * k1 - mk * m1) / determinant)
            } else if kk > 0.0 {
                (0.0, k1 / kk)
            } else if mm > 0.0 {
                (m1 / mm, 0.0)
            } else {
                break;
            };
            for (&(x, y), w) in rows.iter().zip(&mut weights) {
                *w = 1.0 / (fit.0 * x + fit.1 * y - 1.0).abs().max(1e-9);
            }
        }
        fit
    }
}

/// Entries of a matrix that are asked for α and β.
const MOST_ENTRIES: usize = 4000;

/// α and β of αx + βy = 1 on which more than half of the rows agree to rounding:
/// of the pairs of some rows, the one that most others obey.
fn agreed(rows: &[(f64, f64)]) -> Option<(f64, f64)> {
    const TRIED: usize = 48;
    const ROUNDING: f64 = 1e-12;
    let every = rows.len().div_ceil(TRIED).max(1);
    let tried: Vec<(f64, f64)> = rows.iter().step_by(every).copied().collect();
    let mut best = (0, 0.0, (0.0, 0.0));
    for (at, &(x, y)) in tried.iter().enumerate() {
        for &(u, v) in &tried[..at] {
            let determinant = x * v - y * u;
            let relative = determinant.abs() / (x * v).abs().max((y * u).abs());
            if relative.is_nan() || relative <= 1e-6 {
                continue;
            }
            let fit = ((v - y) / determinant, (x - u) / determinant);
            let obeys = |&&(x, y): &&(f64, f64)| (fit.0 * x + fit.1 * y - 1.0).abs() < ROUNDING;
            let count = rows.iter().filter(obeys).count();
            // Of equal ones the pair that differs most.
            if (count, relative) > (best.0, best.1) {
                best = (count, relative, fit);
            }
        }
    }
    (2 * best.0 > rows.len()).then_some(best.2)
}

pub(super) fn check_symmetric(matrix: MatrixName, values: &SparseMatrix) -> Result<()> {
    let pair = values.worst_asymmetry();
    pair.map_or(Ok(()), |pair| Err(ReductionError::NotSymmetric { matrix, pair }))
}

fn rounded_symmetric(matrix: &SparseMatrix) -> SparseMatrix {
    match matrix.worst_asymmetry() {
        Some(worst) if worst.relative > SYMMETRY_TOLERANCE => matrix.clone(),
        _ => matrix.symmetric_part(),
    }
}
