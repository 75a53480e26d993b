//! The scaled state-space matrices, their rigid states and their flexibility.

use nalgebra::DMatrix;
use numerics::solve;
use numerics::sparse::dense::{product, transposed_product};
use numerics::sparse::{Cholesky, Lu, SparseError, SparseMatrix};

use super::super::basis::units;
use super::super::flexibility::pivots;
use super::super::{Component, Flexibility, ReductionError, factored};

/// Singular values of YᵀBU below this part of their size are zero: the rigid-body
/// mode moves without damping, and its state mode is generalised.
const UNDAMPED: f64 = 1e-10;

/// Non-symmetric free-floating components are analysed densely up to this size.
const MOST_DENSE: usize = 2000;

/// K⁻¹ with the rigid-body modes held.
enum Grounded {
    Symmetric(Flexibility),
    /// LU without the suppressed rows and columns.
    General {
        factor: Lu,
        rows: Vec<usize>,
        columns: Vec<usize>,
    },
}

/// C and D with velocities v = q̇/ω₀: C = [B ω₀M; ω₀M 0], D = [K 0; 0 −ω₀²M].
pub(super) struct System<'a> {
    pub(super) component: &'a Component,
    pub(super) omega: f64,
    pub(super) symmetric: bool,
    /// r.
    pub(super) rigid_modes: usize,
    /// V_R and W_R.
    pub(super) right_rigid: DMatrix<f64>,
    pub(super) left_rigid: DMatrix<f64>,
    c_rr: DMatrix<f64>,
    grounded: Grounded,
    mass: Cholesky,
}

impl<'a> System<'a> {
    pub(super) fn new(component: &'a Component, omega: f64) -> Result<Self, ReductionError> {
        let n = component.size();
        let symmetric = component.is_symmetric();
        let (grounded, right, left) = if component.stiffness.is_symmetric() {
            let flexibility = Flexibility::of(component)?;
            let rigid = scaled_to_one(&flexibility.rigid);
            (Grounded::Symmetric(flexibility), rigid.clone(), rigid)
        } else {
            general(&component.stiffness)?
        };
        let mass = factored(&component.mass, ReductionError::MassNotPositiveDefinite)?;
        let mut system = Self {
            component,
            omega,
            symmetric,
            rigid_modes: right.ncols(),
            right_rigid: DMatrix::zeros(2 * n, 0),
            left_rigid: DMatrix::zeros(2 * n, 0),
            c_rr: DMatrix::zeros(0, 0),
            grounded,
            mass,
        };
        if right.ncols() > 0 {
            let (right, left) = system.rigid_states(&right, &left);
            let c_rr = transposed_product(&left, &system.c_times(&right));
            system.c_rr =
                solve::inverse(&c_rr).ok_or(ReductionError::MassNotPositiveDefinite(0))?;
            (system.right_rigid, system.left_rigid) = (right, left);
        }
        Ok(system)
    }

    /// State rigid-body modes: (u, 0) for every rigid-body mode, and (w, u) with
    /// K w = −B u for those that no damping holds, u ∈ null(YᵀBU).
    fn rigid_states(
        &self,
        right: &DMatrix<f64>,
        left: &DMatrix<f64>,
    ) -> (DMatrix<f64>, DMatrix<f64>) {
        let b = &self.component.damping;
        let held = transposed_product(left, &b.times(right));
        let sizes = b.abs().times(&right.map(f64::abs));
        let size = transposed_product(&left.map(f64::abs), &sizes).amax();
        let svd = held.svd(true, true);
        let (Some(u), Some(v)) = (svd.u, svd.v_t) else {
            return (self.padded(right), self.padded(left));
        };
        let (right, left) = (product(right, &v.transpose()), product(left, &u));
        let free: Vec<usize> =
            (0..right.ncols()).filter(|&k| svd.singular_values[k] <= UNDAMPED * size).collect();
        let chain = |modes: &DMatrix<f64>, mirrored: bool| {
            let n = modes.nrows();
            let undamped = modes.select_columns(&free);
            let mut below =
                if mirrored { -b.transposed_times(&undamped) } else { -b.times(&undamped) };
            self.grounded(&mut below, mirrored);
            let mut all = self.padded(modes).resize_horizontally(modes.ncols() + free.len(), 0.0);
            all.view_mut((0, modes.ncols()), (n, free.len())).copy_from(&below);
            all.view_mut((n, modes.ncols()), (n, free.len())).copy_from(&(undamped / self.omega));
            all
        };
        (chain(&right, false), chain(&left, true))
    }

    fn padded(&self, modes: &DMatrix<f64>) -> DMatrix<f64> {
        modes.clone().resize_vertically(2 * modes.nrows(), 0.0)
    }

    /// X ← G X, or Gᵀ X.
    fn grounded(&self, x: &mut DMatrix<f64>, mirrored: bool) {
        match &self.grounded {
            Grounded::Symmetric(flexibility) => flexibility.grounded(x),
            Grounded::General { factor, rows, columns } => {
                let (from, to) = if mirrored { (columns, rows) } else { (rows, columns) };
                let mut part = x.select_rows(from);
                if mirrored {
                    factor.solve_transposed(&mut part);
                } else {
                    factor.solve(&mut part);
                }
                x.fill(0.0);
                for (row, &dof) in to.iter().enumerate() {
                    x.row_mut(dof).copy_from(&part.row(row));
                }
            }
        }
    }

    /// C X.
    pub(super) fn c_times(&self, x: &DMatrix<f64>) -> DMatrix<f64> {
        self.c_product(x, false)
    }

    fn c_product(&self, x: &DMatrix<f64>, mirrored: bool) -> DMatrix<f64> {
        let n = self.component.size();
        let (q, v) = (x.rows(0, n).into_owned(), x.rows(n, n).into_owned());
        let damping = &self.component.damping;
        let damped = if mirrored { damping.transposed_times(&q) } else { damping.times(&q) };
        let mut out = DMatrix::zeros(2 * n, x.ncols());
        let inertia = self.component.mass.times(&v) * self.omega;
        out.rows_mut(0, n).copy_from(&(damped + inertia));
        out.rows_mut(n, n).copy_from(&(self.component.mass.times(&q) * self.omega));
        out
    }

    /// D X.
    pub(super) fn d_times(&self, x: &DMatrix<f64>) -> DMatrix<f64> {
        let n = self.component.size();
        let (q, v) = (x.rows(0, n).into_owned(), x.rows(n, n).into_owned());
        let mut out = DMatrix::zeros(2 * n, x.ncols());
        out.rows_mut(0, n).copy_from(&self.component.stiffness.times(&q));
        let inertia = self.component.mass.times(&v) * (-self.omega * self.omega);
        out.rows_mut(n, n).copy_from(&inertia);
        out
    }

    /// Removes the rigid states from a motion: X ← P_L X (or, mirrored, that of
    /// the transposed system).
    pub(super) fn without_rigid(&self, x: &mut DMatrix<f64>, mirrored: bool) {
        if self.c_rr.is_empty() {
            return;
        }
        let (v, w, inverse) = self.rigid_pair(mirrored);
        let along = transposed_product(w, &self.c_product(x, mirrored));
        *x -= product(v, &(inverse * along));
    }

    fn rigid_pair(&self, mirrored: bool) -> (&DMatrix<f64>, &DMatrix<f64>, DMatrix<f64>) {
        if mirrored {
            (&self.left_rigid, &self.right_rigid, self.c_rr.transpose())
        } else {
            (&self.right_rigid, &self.left_rigid, self.c_rr.clone())
        }
    }

    /// X ← G_E X = P_L G P_R X.
    pub(super) fn apply(&self, x: &mut DMatrix<f64>, mirrored: bool) {
        let n = self.component.size();
        if !self.c_rr.is_empty() {
            // P_R X = X − C V C_RR⁻¹ Wᵀ X.
            let (v, w, inverse) = self.rigid_pair(mirrored);
            let along = inverse * transposed_product(w, x);
            *x -= self.c_product(&product(v, &along), mirrored);
        }
        let (mut q, mut v) = (x.rows(0, n).into_owned(), x.rows(n, n).into_owned());
        self.grounded(&mut q, mirrored);
        self.mass.solve(&mut v);
        x.rows_mut(0, n).copy_from(&q);
        x.rows_mut(n, n).copy_from(&(v * (-1.0 / (self.omega * self.omega))));
        self.without_rigid(x, mirrored);
    }

    /// Places of the boundary states: displacements, then velocities.
    pub(super) fn boundary_states(&self, boundary: &[usize]) -> Vec<usize> {
        let n = self.component.size();
        boundary.iter().copied().chain(boundary.iter().map(|dof| n + dof)).collect()
    }

    /// Ψ = G_E F.
    pub(super) fn flexibility(&self, states: &[usize], mirrored: bool) -> DMatrix<f64> {
        let mut psi = units(2 * self.component.size(), states);
        self.apply(&mut psi, mirrored);
        psi
    }
}

/// Each column divided by its largest entry: a rigid translation is then 1.
fn scaled_to_one(modes: &DMatrix<f64>) -> DMatrix<f64> {
    let mut scaled = modes.clone();
    for mut column in scaled.column_iter_mut() {
        let largest = column[column.icamax()];
        column /= largest;
    }
    scaled
}

/// Null spaces and a grounded factor of a non-symmetric stiffness.
fn general(
    stiffness: &SparseMatrix,
) -> Result<(Grounded, DMatrix<f64>, DMatrix<f64>), ReductionError> {
    let n = stiffness.rows();
    let all: Vec<usize> = (0..n).collect();
    let none = || DMatrix::zeros(n, 0);
    if n > MOST_DENSE {
        let factor = Lu::new(stiffness)?;
        let grounded = Grounded::General { factor, rows: all.clone(), columns: all };
        return Ok((grounded, none(), none()));
    }
    let scale: Vec<f64> = stiffness
        .diagonal()
        .iter()
        .map(|value| if *value == 0.0 { 1.0 } else { value.abs().sqrt() })
        .collect();
    // Scaled so that metres and radians compare; null vectors are scaled back.
    let dense = DMatrix::from_fn(n, n, |i, j| stiffness.get(i, j) / (scale[i] * scale[j]));
    let svd = dense.svd(true, true);
    let largest = svd.singular_values.amax();
    let null: Vec<usize> = (0..n).filter(|&k| svd.singular_values[k] <= 1e-12 * largest).collect();
    let (Some(u), Some(v)) = (svd.u, svd.v_t) else { return Err(SparseError::Singular.into()) };
    let unscaled =
        |vectors: DMatrix<f64>| DMatrix::from_fn(n, null.len(), |i, k| vectors[(i, k)] / scale[i]);
    let (left, right) = (u.select_columns(&null), v.transpose().select_columns(&null));
    let (rows, columns) = (pivots(left.clone()), pivots(right.clone()));
    let kept = |out: &[usize]| (0..n).filter(|dof| !out.contains(dof)).collect::<Vec<_>>();
    let (rows, columns) = (kept(&rows), kept(&columns));
    let factor = Lu::new(&stiffness.selected(&rows, &columns))?;
    let grounded = Grounded::General { factor, rows, columns };
    Ok((grounded, scaled_to_one(&unscaled(right)), scaled_to_one(&unscaled(left))))
}
