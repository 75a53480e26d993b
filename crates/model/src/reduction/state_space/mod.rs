//! De Kraker's method for generally damped components, in state space.
//!
//! C ẋ + D x = g with x = (q, q̇), C = [B M; M 0], D = [K 0; 0 −M]. The basis is
//! T = [Ψ V_R V_K]: flexibility modes of the boundary states, state rigid-body
//! modes (regular and generalised) and complex modes as their real and imaginary
//! parts; Martinez's coordinates put the boundary states back. Non-symmetric
//! matrices take a left basis of their own, that of the transposed matrices.
//!
//! Traps: the reduced model need be neither stable nor passive, although the
//! component is: judge it before use. The report's sign of G_E is wrong (G_E =
//! Pᵀ G P = −V Λ⁻¹ C⁻¹ Vᵀ), and r displacements are suppressed, no velocities.
//! Velocities are scaled by ω₀ ≈ ω_c inside, or Ψ_BB is hardly regular.
//!
//! Reference: de Kraker 1994, WFW 94.081.

mod modes;
mod system;

use keys::Keys;
use nalgebra::{Complex, DMatrix, SVD};
use numerics::block::{hstack, vstack};
use numerics::eigen;
use numerics::solve;
use numerics::sparse::SparseMatrix;
use numerics::sparse::dense::transposed_product;

use super::basis::{
    DEPENDENT, dependent_boundary, martinez_coordinates, modal_coordinates, omega_of_mode, units,
};
use super::trust::{Acceptance, Verdict};
use super::{Component, ReductionError, Result, check_dofs};
use crate::check::check_positive;
use modes::StateModes;
use system::System;

/// What stands beside the modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Completion {
    /// Flexibility modes of the DOFs that stay.
    Flexibility,
    /// Residual flexibility modes: the same span, worse conditioned.
    #[key(word = "residual")]
    ResidualFlexibility,
    /// Nothing: for comparison.
    None,
}

/// Which state modes are kept, beside the rigid ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StateChoice {
    /// |Im λ| up to this: overdamped modes always stay. For components of more
    /// than some 600 DOFs modes with |λ| beyond twice the cut-off are not looked
    /// for.
    Imaginary {
        /// ω_c.
        omega_rad_s: f64,
    },
    /// |λ| up to this.
    Modulus {
        /// ω_c.
        omega_rad_s: f64,
    },
    /// This many, slowest |λ| first; a pair is never parted: one more if need be.
    Number(usize),
}

/// What to make of a component in state space.
#[derive(Debug, Clone, PartialEq)]
pub struct StateRecipe {
    /// What stands beside the modes.
    pub completion: Completion,
    /// The modes.
    pub modes: StateChoice,
    /// Boundary DOFs; their displacements and velocities become coordinates.
    pub boundary: Vec<usize>,
}

/// C_p ẏ + D_p y = g, with y first the boundary displacements, then the boundary
/// velocities, then amplitudes.
#[derive(Debug, Clone, PartialEq)]
pub struct StateModel {
    /// T_Lᵀ C T.
    pub c: DMatrix<f64>,
    /// T_Lᵀ D T.
    pub d: DMatrix<f64>,
    /// DOFs of the full model whose states come first.
    pub boundary: Vec<usize>,
    /// λ of the kept modes.
    pub kept: Vec<Complex<f64>>,
    /// r: rigid-body modes of K.
    pub rigid_modes: usize,
    /// R: state rigid-body modes, regular and generalised.
    pub state_rigid_modes: usize,
    /// Those modes in the model's coordinates, and those of the transposed model, one column each;
    /// none where they are not known.
    pub rigid: [DMatrix<f64>; 2],
}

/// A reduced state-space model with the bases it stands on.
#[derive(Debug, Clone, PartialEq)]
pub struct StateReduction {
    /// The small model.
    pub model: StateModel,
    /// T: (q, q̇) = T y.
    pub right: DMatrix<f64>,
    /// T_L.
    pub left: DMatrix<f64>,
}

/// The pieces that tests and the reproduction of the report look at.
#[derive(Debug, Clone, PartialEq)]
pub struct StateParts {
    /// λ of all modes, rigid ones left out.
    pub values: Vec<Complex<f64>>,
    /// C_RR = W_Rᵀ C V_R.
    pub c_rr: DMatrix<f64>,
    /// Ψ: one column per boundary displacement, then per boundary velocity,
    /// unscaled.
    pub flexibility: DMatrix<f64>,
}

/// Reduces a component in state space.
pub fn reduce_states(component: &Component, recipe: &StateRecipe) -> Result<StateReduction> {
    let (n, b) = (component.size(), recipe.boundary.len());
    if recipe.boundary.is_empty() {
        return Err(ReductionError::NoBoundary);
    }
    check_dofs(&recipe.boundary, n)?;
    let system = System::new(component, scale_of(component, recipe.modes)?)?;
    let modes = StateModes::of(&system, recipe.modes)?;
    let states = system.boundary_states(&recipe.boundary);
    let side = |mirrored: bool| -> Result<(DMatrix<f64>, DMatrix<f64>)> {
        let rigid = if mirrored { &system.left_rigid } else { &system.right_rigid };
        let inner = hstack(&[rigid, &modes.basis(2 * n, mirrored)]);
        if recipe.completion == Completion::None {
            let basis = modal_coordinates(&inner, &states)?;
            let unknown = DMatrix::zeros(basis.ncols(), 0);
            return Ok((basis, unknown));
        }
        // With (nearly) all modes the flexibility modes lie in their span; so many
        // columns span all states, and those need no basis.
        if inner.ncols() + states.len() >= 2 * n {
            let others = (0..2 * n).filter(|state| !states.contains(state));
            let order: Vec<usize> = states.iter().copied().chain(others).collect();
            return Ok((units(2 * n, &order), rigid.select_rows(&order)));
        }
        let mut psi = system.flexibility(&states, mirrored);
        if recipe.completion == Completion::ResidualFlexibility {
            modes.remove_from(&system, &mut psi, &states, mirrored);
        }
        let inverse = boundary_inverse(&psi.select_rows(&states), &recipe.boundary, n)?;
        let mut own = DMatrix::zeros(states.len() + inner.ncols(), rigid.ncols());
        own.rows_mut(0, states.len()).copy_from(&rigid.select_rows(&states));
        own.view_mut((states.len(), 0), (rigid.ncols(), rigid.ncols())).fill_with_identity();
        Ok((martinez_coordinates(&psi, &inverse, inner, &states), own))
    };
    let (mut right, mut right_rigid) = side(false)?;
    let (mut left, mut left_rigid) =
        if system.symmetric { (right.clone(), right_rigid.clone()) } else { side(true)? };
    let mut c = transposed_product(&left, &system.c_times(&right, false));
    let mut d = transposed_product(&left, &system.d_times(&right));
    // Back to true velocities: rows of T by ω₀, boundary velocity columns by 1/ω₀.
    for matrix in [&mut c, &mut d] {
        matrix.columns_mut(b, b).scale_mut(1.0 / system.omega);
        matrix.rows_mut(b, b).scale_mut(1.0 / system.omega);
    }
    for basis in [&mut right, &mut left] {
        basis.rows_mut(n, n).scale_mut(system.omega);
        basis.columns_mut(b, b).scale_mut(1.0 / system.omega);
    }
    for rigid in [&mut right_rigid, &mut left_rigid] {
        rigid.rows_mut(b, b).scale_mut(system.omega);
    }
    if system.symmetric {
        c = 0.5 * (&c + c.transpose());
        d = 0.5 * (&d + d.transpose());
    }
    let model = StateModel {
        c,
        d,
        boundary: recipe.boundary.clone(),
        kept: modes.values(),
        rigid_modes: system.rigid_modes,
        state_rigid_modes: system.right_rigid.ncols(),
        rigid: [right_rigid, left_rigid],
    };
    Ok(StateReduction { model, right, left })
}

/// The pieces of the method, for components small enough for all their modes.
pub fn state_parts(
    component: &Component,
    boundary: &[usize],
    omega_rad_s: f64,
) -> Result<StateParts> {
    let system = System::new(component, omega_rad_s)?;
    let all = StateChoice::Modulus { omega_rad_s: f64::MAX };
    let modes = StateModes::of(&system, all)?;
    let n = component.size();
    let states = system.boundary_states(boundary);
    let mut flexibility = system.flexibility(&states, false);
    // Ψ = G_E F: in true velocities G is scaled by ω₀ on both sides.
    flexibility.rows_mut(n, n).scale_mut(system.omega);
    flexibility.columns_mut(boundary.len(), boundary.len()).scale_mut(system.omega);
    Ok(StateParts { values: modes.values(), c_rr: system.c_rr(), flexibility })
}

/// ω₀, at which velocities and displacements weigh the same.
fn scale_of(component: &Component, choice: StateChoice) -> Result<f64> {
    let given = match choice {
        StateChoice::Imaginary { omega_rad_s } | StateChoice::Modulus { omega_rad_s } => {
            return Ok(check_positive("cut_off", omega_rad_s)?);
        }
        StateChoice::Number(number) => number,
    };
    // About the fastest of so many modes, by the slowest undamped ones.
    let symmetric = Component {
        matrices: component.matrices.map(SparseMatrix::symmetric_part),
        influence: component.influence.clone(),
    };
    let count = given.div_ceil(2).clamp(1, component.size());
    omega_of_mode(&symmetric, count)
}

/// Ψ_BB⁻¹, its rows scaled so that displacements and velocities compare.
fn boundary_inverse(psi: &DMatrix<f64>, boundary: &[usize], size: usize) -> Result<DMatrix<f64>> {
    let b = boundary.len();
    // Displacements of the boundary, then its velocities.
    let dependent = |state: usize| dependent_boundary(boundary, size, state % b);
    let lengths: Vec<f64> = psi.row_iter().map(|row| row.norm()).collect();
    if let Some(state) = lengths.iter().position(|&length| !length.is_finite() || length <= 0.0) {
        return Err(dependent(state));
    }
    let scaled = DMatrix::from_fn(2 * b, 2 * b, |i, j| psi[(i, j)] / lengths[i]);
    // The direction that no force moves, if there is one.
    let SVD { singular_values, u, .. } = scaled.clone().svd(true, false);
    let least = singular_values.imin();
    let state = u.map_or(0, |u| u.column(least).icamax());
    if singular_values[least] <= DEPENDENT * singular_values.max() {
        return Err(dependent(state));
    }
    let inverse = solve::inverse(&scaled).ok_or_else(|| dependent(state))?;
    Ok(DMatrix::from_fn(2 * b, 2 * b, |i, j| inverse[(i, j)] / lengths[j]))
}

impl StateModel {
    /// Number of states.
    pub fn states(&self) -> usize {
        self.c.nrows()
    }

    /// λ of the reduced model, those of its rigid motions exactly zero.
    ///
    /// Among the others a double zero is parted by the root of rounding, and may then pass for a slow
    /// motion that grows. So the motions beside the rigid ones, which are C-orthogonal to them, are
    /// found once more by themselves: what has no part there is rigid, whatever its size.
    pub fn eigenvalues(&self) -> Result<Vec<Complex<f64>>> {
        let of = |c: &DMatrix<f64>, d: &DMatrix<f64>| -> Result<Vec<Complex<f64>>> {
            let matrix = solve::solved(c.clone(), &-d);
            Ok(eigen::eigenvalues(&matrix.ok_or(ReductionError::MassNotPositiveDefinite(0))?)?)
        };
        let mut values = of(&self.c, &self.d)?;
        let [right, left] = &self.rigid;
        if right.ncols() == 0 {
            return Ok(values);
        }
        let others = beside(&self.c.tr_mul(left))?;
        let of_left = beside(&(&self.c * right))?;
        let part = |matrix: &DMatrix<f64>| of_left.tr_mul(&(matrix * &others));
        let mut elastic = of(&part(&self.c), &part(&self.d))?;
        elastic.sort_by(|a, b| b.norm().total_cmp(&a.norm()));
        let mut found = Vec::new();
        for value in elastic {
            let distance = |&k: &usize| (values[k] - value).norm();
            let near = (0..values.len()).min_by(|i, j| distance(i).total_cmp(&distance(j)));
            found.extend(near.map(|k| values.swap_remove(k)));
        }
        found.extend(std::iter::repeat_n(Complex::ZERO, values.len()));
        Ok(found)
    }

    /// Growing modes; passivity is judged by the response, see
    /// [`least_hermitian`] of the mobility.
    pub fn verdict(&self) -> Result<Verdict> {
        Ok(Verdict::of_eigenvalues(&self.eigenvalues()?, self.state_rigid_modes))
    }

    /// Boundary displacements from boundary forces at a frequency.
    pub fn receptance(&self, omega_rad_s: f64) -> Option<DMatrix<Complex<f64>>> {
        let b = self.boundary.len();
        let all = self.d.zip_map(&self.c, |d, c| Complex::new(d, omega_rad_s * c));
        let forces = DMatrix::identity(self.states(), b);
        Some(solve::solved(all, &forces)?.rows(0, b).into_owned())
    }

    /// ẏ = A y + B f, boundary forces in, for those who integrate it. An unstable
    /// model is refused unless `acceptance` says otherwise.
    pub fn first_order(&self, acceptance: Acceptance) -> Result<(DMatrix<f64>, DMatrix<f64>)> {
        self.verdict()?.accept(acceptance)?;
        let singular = ReductionError::MassNotPositiveDefinite(0);
        let forces = DMatrix::identity(self.states(), self.boundary.len());
        let both = solve::solved(self.c.clone(), &hstack(&[&-&self.d, &forces])).ok_or(singular)?;
        let (a, b) = both.columns_range_pair(..self.states(), self.states()..);
        Ok((a.into_owned(), b.into_owned()))
    }
}

/// An orthonormal basis of what is orthogonal to some columns.
fn beside(columns: &DMatrix<f64>) -> Result<DMatrix<f64>> {
    let (n, r) = columns.shape();
    let q = columns.clone().qr().q();
    let projection = DMatrix::identity(n, n) - &q * q.transpose();
    let (_, turn) = eigen::symmetric_pairs(&(0.5 * (&projection + projection.transpose())))?;
    Ok(turn.columns(r, n - r).into_owned())
}

/// Smallest eigenvalue of (A + Aᴴ)/2 over the largest entry of A, by the real
/// symmetric matrix [Re −Im; Im Re] of twice the size.
pub fn least_hermitian(a: &DMatrix<Complex<f64>>) -> f64 {
    let hermitian = (a + a.adjoint()).map(|value| 0.5 * value);
    let [re, im] = [hermitian.map(|value| value.re), hermitian.map(|value| value.im)];
    let real = vstack(&[&hstack(&[&re, &-&im]), &hstack(&[&im, &re])]);
    let size = a.iter().map(|value| value.norm()).fold(0.0, f64::max);
    eigen::smallest_symmetric_eigenvalue(&real).map_or(f64::NAN, |least| least / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_that_does_not_deform_independently_names_its_dof() {
        // Displacements, then velocities, of DOFs 1 and 4 of 5.
        let dof = |psi: &DMatrix<f64>| match boundary_inverse(psi, &[1, 4], 5) {
            Err(ReductionError::DependentBoundary { boundary: 2, size: 5, dof }) => Some(dof),
            _ => None,
        };
        let unit = DMatrix::identity(4, 4);
        assert_eq!(dof(&unit), None);
        let mut still = unit.clone();
        still.row_mut(3).fill(0.0);
        assert_eq!(dof(&still), Some(4));
        // The velocity of DOF 4 is all but that of DOF 1, and less of it.
        let mut same = unit;
        same[(3, 3)] = 0.0;
        same[(3, 2)] = 3.0;
        assert!(matches!(dof(&same), Some(1 | 4)));
    }
}
