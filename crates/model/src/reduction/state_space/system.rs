//! The scaled state-space matrices, their rigid states and their flexibility.

use nalgebra::DMatrix;
use numerics::block::{hstack, vstack};
use numerics::solve;
use numerics::sparse::dense::{product, transposed_product};
use numerics::sparse::{Cholesky, Lu, SparseError, SparseMatrix};

use super::super::basis::units;
use super::super::flexibility::{pivots, spread};
use super::super::{Component, Flexibility, ReductionError, Result, factored};

/// Singular values of YᵀBU below this part of their size are zero: the rigid-body
/// mode moves without damping, and its state mode is generalised.
const UNDAMPED: f64 = 1e-10;

/// Non-symmetric free-floating components are analysed densely up to this size.
const MOST_DENSE: usize = 2000;

/// A factor of a matrix that may be non-symmetric.
pub(super) enum Factor {
    Symmetric(Cholesky),
    General(Lu),
}

impl Factor {
    /// By Cholesky if possible: not of what is non-symmetric, or of damping that
    /// feeds energy.
    pub(super) fn new(matrix: &SparseMatrix) -> Result<Self, SparseError> {
        match matrix.is_symmetric().then(|| Cholesky::new(matrix)) {
            Some(Ok(factor)) => Ok(Self::Symmetric(factor)),
            _ => Ok(Self::General(Lu::new(matrix)?)),
        }
    }

    /// X ← A⁻¹ X, or A⁻ᵀ X.
    pub(super) fn solve(&self, x: &mut DMatrix<f64>, mirrored: bool) {
        match self {
            Self::Symmetric(factor) => factor.solve(x),
            Self::General(factor) if mirrored => factor.solve_transposed(x),
            Self::General(factor) => factor.solve(x),
        }
    }
}

/// K⁻¹ with the rigid-body modes held: without the suppressed rows and columns.
struct Grounded {
    factor: Factor,
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl Grounded {
    /// G X, or Gᵀ X.
    fn times(&self, x: &DMatrix<f64>, mirrored: bool) -> DMatrix<f64> {
        let sides = (&self.rows, &self.columns);
        let (from, to) = if mirrored { (sides.1, sides.0) } else { sides };
        let mut part = x.select_rows(from);
        self.factor.solve(&mut part, mirrored);
        spread(&part, to, x.nrows())
    }
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
    /// C_RR⁻¹.
    c_rr_inverse: DMatrix<f64>,
    grounded: Grounded,
    mass: Cholesky,
}

impl<'a> System<'a> {
    pub(super) fn new(component: &'a Component, omega: f64) -> Result<Self> {
        let masses = component.matrices.mass.diagonal();
        if let Some(dof) = masses.into_iter().position(|mass| mass == 0.0) {
            return Err(ReductionError::MassNotPositiveDefinite(dof));
        }
        let (grounded, right, left) = if component.matrices.stiffness.is_symmetric() {
            let Flexibility { factor, kept, rigid, .. } = Flexibility::of(component)?;
            let factor = Factor::Symmetric(factor);
            let rigid = scaled_to_one(rigid);
            (Grounded { factor, rows: kept.clone(), columns: kept }, rigid.clone(), rigid)
        } else {
            general(&component.matrices.stiffness)?
        };
        let mut system = Self {
            component,
            omega,
            symmetric: component.is_symmetric(),
            rigid_modes: right.ncols(),
            right_rigid: DMatrix::zeros(2 * component.size(), 0),
            left_rigid: DMatrix::zeros(2 * component.size(), 0),
            c_rr_inverse: DMatrix::zeros(0, 0),
            grounded,
            mass: factored(&component.matrices.mass, ReductionError::MassNotPositiveDefinite)?,
        };
        if right.ncols() > 0 {
            (system.right_rigid, system.left_rigid) = system.rigid_states(&right, &left)?;
            system.c_rr_inverse =
                solve::inverse(&system.c_rr()).ok_or(ReductionError::MassNotPositiveDefinite(0))?;
        }
        Ok(system)
    }

    /// State rigid-body modes: (u, 0) for every rigid-body mode, and (w, u) with
    /// K w = −B u for those that no damping holds, u ∈ null(YᵀBU).
    fn rigid_states(
        &self,
        right: &DMatrix<f64>,
        left: &DMatrix<f64>,
    ) -> Result<(DMatrix<f64>, DMatrix<f64>)> {
        let sizes = self.component.matrices.damping.abs().times(&right.map(f64::abs));
        let size = transposed_product(&left.map(f64::abs), &sizes).amax();
        let held = transposed_product(left, &self.damping_times(right, false)).svd(true, true);
        let (Some(u), Some(v)) = (held.u, held.v_t) else {
            return Err(SparseError::Singular.into());
        };
        let is_free = |&k: &usize| held.singular_values[k] <= UNDAMPED * size;
        let free: Vec<usize> = (0..right.ncols()).filter(is_free).collect();
        let chain = |modes: DMatrix<f64>, mirrored: bool| {
            let undamped = modes.select_columns(&free);
            let push = -self.damping_times(&undamped, mirrored);
            let below = self.grounded.times(&push, mirrored);
            let regular = vstack(&[&modes, &DMatrix::zeros(modes.nrows(), 0)]);
            hstack(&[&regular, &vstack(&[&below, &(undamped / self.omega)])])
        };
        Ok((chain(product(right, &v.transpose()), false), chain(product(left, &u), true)))
    }

    /// B X, or Bᵀ X.
    pub(super) fn damping_times(&self, x: &DMatrix<f64>, mirrored: bool) -> DMatrix<f64> {
        let damping = &self.component.matrices.damping;
        if mirrored { damping.transposed_times(x) } else { damping.times(x) }
    }

    /// C X, or Cᵀ X.
    pub(super) fn c_times(&self, x: &DMatrix<f64>, mirrored: bool) -> DMatrix<f64> {
        let (q, v) = halves(x);
        let inertia = |x: &DMatrix<f64>| self.component.matrices.mass.times(x) * self.omega;
        vstack(&[&(self.damping_times(&q, mirrored) + inertia(&v)), &inertia(&q)])
    }

    /// D X.
    pub(super) fn d_times(&self, x: &DMatrix<f64>) -> DMatrix<f64> {
        let (q, v) = halves(x);
        let inertia = self.component.matrices.mass.times(&v) * (-self.omega * self.omega);
        vstack(&[&self.component.matrices.stiffness.times(&q), &inertia])
    }

    /// C_RR = W_Rᵀ C V_R.
    pub(super) fn c_rr(&self) -> DMatrix<f64> {
        transposed_product(&self.left_rigid, &self.c_times(&self.right_rigid, false))
    }

    /// Removes the rigid states from a motion: X ← P_L X (or, mirrored, that of
    /// the transposed system).
    pub(super) fn without_rigid(&self, x: &mut DMatrix<f64>, mirrored: bool) {
        if self.rigid_modes > 0 {
            let (v, w, inverse) = self.rigid_pair(mirrored);
            let along = transposed_product(w, &self.c_times(x, mirrored));
            *x -= product(v, &(inverse * along));
        }
    }

    fn rigid_pair(&self, mirrored: bool) -> (&DMatrix<f64>, &DMatrix<f64>, DMatrix<f64>) {
        if mirrored {
            (&self.left_rigid, &self.right_rigid, self.c_rr_inverse.transpose())
        } else {
            (&self.right_rigid, &self.left_rigid, self.c_rr_inverse.clone())
        }
    }

    /// Places of the boundary states: displacements, then velocities.
    pub(super) fn boundary_states(&self, boundary: &[usize]) -> Vec<usize> {
        let n = self.component.size();
        boundary.iter().copied().chain(boundary.iter().map(|dof| n + dof)).collect()
    }

    /// Ψ = G_E F with G_E = P_L G P_R.
    pub(super) fn flexibility(&self, states: &[usize], mirrored: bool) -> DMatrix<f64> {
        let mut psi = units(2 * self.component.size(), states);
        if self.rigid_modes > 0 {
            // P_R X = X − C V C_RR⁻¹ Wᵀ X.
            let (v, w, inverse) = self.rigid_pair(mirrored);
            let along = inverse * transposed_product(w, &psi);
            psi -= self.c_times(&product(v, &along), mirrored);
        }
        let (q, mut v) = halves(&psi);
        self.mass.solve(&mut v);
        v *= -1.0 / (self.omega * self.omega);
        psi = vstack(&[&self.grounded.times(&q, mirrored), &v]);
        self.without_rigid(&mut psi, mirrored);
        psi
    }
}

/// Displacements and velocities of some states.
fn halves(x: &DMatrix<f64>) -> (DMatrix<f64>, DMatrix<f64>) {
    let n = x.nrows() / 2;
    (x.rows(0, n).into_owned(), x.rows(n, n).into_owned())
}

/// Each column divided by its largest entry: a rigid translation is then 1.
fn scaled_to_one(mut modes: DMatrix<f64>) -> DMatrix<f64> {
    for mut column in modes.column_iter_mut() {
        let largest = column[column.icamax()];
        column /= largest;
    }
    modes
}

/// Null spaces and a grounded factor of a non-symmetric stiffness.
fn general(stiffness: &SparseMatrix) -> Result<(Grounded, DMatrix<f64>, DMatrix<f64>)> {
    let n = stiffness.rows();
    if n > MOST_DENSE {
        let all: Vec<usize> = (0..n).collect();
        let factor = Factor::General(Lu::new(stiffness)?);
        let grounded = Grounded { factor, rows: all.clone(), columns: all };
        return Ok((grounded, DMatrix::zeros(n, 0), DMatrix::zeros(n, 0)));
    }
    // Scaled so that metres and radians compare; null vectors are scaled back.
    let root = |value: &f64| if *value == 0.0 { 1.0 } else { value.abs().sqrt() };
    let scale: Vec<f64> = stiffness.diagonal().iter().map(root).collect();
    let dense = DMatrix::from_fn(n, n, |i, j| stiffness.get(i, j) / (scale[i] * scale[j]));
    let svd = dense.svd(true, true);
    let largest = svd.singular_values.amax();
    let null: Vec<usize> = (0..n).filter(|&k| svd.singular_values[k] <= 1e-12 * largest).collect();
    let (Some(u), Some(v)) = (svd.u, svd.v_t) else { return Err(SparseError::Singular.into()) };
    let side = |vectors: DMatrix<f64>| {
        let null = vectors.select_columns(&null);
        let suppressed = pivots(null.clone());
        let kept: Vec<usize> = (0..n).filter(|dof| !suppressed.contains(dof)).collect();
        let unscaled = DMatrix::from_fn(n, null.ncols(), |i, k| null[(i, k)] / scale[i]);
        (kept, scaled_to_one(unscaled))
    };
    let ((rows, left), (columns, right)) = (side(u), side(v.transpose()));
    let factor = Factor::General(Lu::new(&stiffness.selected(&rows, &columns))?);
    Ok((Grounded { factor, rows, columns }, right, left))
}
