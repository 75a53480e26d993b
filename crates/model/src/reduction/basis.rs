//! The bases of the second-order methods.

use nalgebra::{ComplexField, DMatrix};
use numerics::block::hstack;
use numerics::eigen::symmetric_pairs;
use numerics::second_order::SecondOrder;
use numerics::sparse::dense::{add_product, product, transposed_product};
use numerics::sparse::{LowestModes, SparseError, SparseMatrix, Wanted, lowest_modes};

use super::component::check_symmetric;
use super::flexibility::spread;
use super::{
    Component, ErrorTarget, Facts, Flexibility, Method, ModeChoice, Recipe, ReducedModel,
    Reduction, ReductionError, Result, boundary_set, factored,
};
use crate::check::check_not_negative;
use crate::error::MatrixName;

/// A damping force below this part of those that it sums is rounding.
const UNDAMPED: f64 = 1e-10;
/// ω² that differ by less than this part are one.
const ALIKE: f64 = 1e-6;

/// A boundary flexibility below this part of the others is none.
pub(super) const DEPENDENT: f64 = 1e-13;

pub(super) fn reduce(component: &Component, recipe: &Recipe) -> Result<Reduction> {
    check_symmetric(MatrixName::Stiffness, &component.matrices.stiffness)?;
    let mut facts =
        Facts { full_size: component.size(), matrix_bytes: component.bytes(), ..Facts::default() };
    let boundary = boundary_set(component, recipe, &mut facts)?;
    let wanted = Basis { component, boundary: &boundary, modes: recipe.modes };
    let none = DMatrix::zeros(component.size(), 0);
    let (basis, omega_rad_s, rigid) = match recipe.method {
        Method::Rubin => wanted.rubin(&mut facts)?,
        Method::CraigBampton => with(wanted.craig_bampton(&mut facts)?, none),
        Method::ModesOnly => with(wanted.modes_only(&mut facts)?, none),
    };
    facts.vector_bytes += 8 * basis.len();
    let at_interface = |dof: &&usize| recipe.interface.contains(dof);
    let excited = component.excited_masses();
    let mut matrices = component.matrices.map(|matrix| congruent(matrix, &basis));
    if rigid.ncols() > 0 {
        let motions = rigid_coordinates(&rigid.select_rows(&boundary), basis.ncols());
        clear(&mut matrices.stiffness, &motions);
        if !acts_on(&component.matrices.damping, &rigid) {
            clear(&mut matrices.damping, &motions);
        }
    }
    let model = ReducedModel {
        matrices,
        interface: boundary.iter().take_while(at_interface).count(),
        boundary,
        omega_rad_s,
        participation: basis.tr_mul(&excited),
        excited_mass: component.influence.dot(&excited),
        monitored: recipe.monitored.clone(),
        recovery: basis.select_rows(&recipe.monitored),
    };
    Ok(Reduction { model, basis, facts })
}

fn with<A, B, C>((a, b): (A, B), c: C) -> (A, B, C) {
    (a, b, c)
}

/// Rigid motions in Martinez's coordinates: those of the boundary, then themselves.
fn rigid_coordinates(at_boundary: &DMatrix<f64>, size: usize) -> DMatrix<f64> {
    let (b, r) = at_boundary.shape();
    let mut motions = DMatrix::zeros(size, r);
    motions.rows_mut(0, b).copy_from(at_boundary);
    motions.view_mut((b, 0), (r, r)).fill_with_identity();
    motions
}

/// Whether a damping takes anything from rigid motions, beyond rounding.
fn acts_on(damping: &SparseMatrix, rigid: &DMatrix<f64>) -> bool {
    let sizes = damping.abs().times(&rigid.map(f64::abs));
    damping.times(rigid).amax() > UNDAMPED * sizes.amax()
}

/// Takes out of a matrix what rounding leaves of its action on motions that it does not act on. A
/// fine mesh is so much stiffer than its slow modes that this would be a stiffness of its own, of
/// either sign.
fn clear(matrix: &mut DMatrix<f64>, motions: &DMatrix<f64>) {
    let q = motions.clone().qr().q();
    *matrix -= &*matrix * &q * q.transpose();
    *matrix -= &q * (q.transpose() * &*matrix);
}

/// Tᵀ A T.
fn congruent(matrix: &SparseMatrix, basis: &DMatrix<f64>) -> DMatrix<f64> {
    let reduced = transposed_product(basis, &matrix.times(basis));
    if matrix.is_symmetric() { 0.5 * (&reduced + reduced.transpose()) } else { reduced }
}

/// Free-interface modes, orthogonal to the rigid ones, at most `most` of them.
pub(super) fn free_modes(
    component: &Component,
    flexibility: &Flexibility,
    choice: ModeChoice,
    most: usize,
    facts: &mut Facts,
) -> Result<LowestModes> {
    let solve = |x: &mut DMatrix<f64>| flexibility.apply(x);
    let (mass, rigid) = (&component.matrices.mass, &flexibility.rigid);
    let mut modes = modes_of(choice, most, |wanted| lowest_modes(&solve, mass, rigid, wanted))?;
    facts.rigid_modes = rigid.ncols();
    facts.suppressed = flexibility.suppressed.clone();
    facts.factor_bytes = flexibility.factor.bytes();
    facts.krylov_vectors = modes.vectors;
    facts.solves = modes.solves;
    facts.vector_bytes = 16 * component.size() * (modes.vectors + facts.rigid_modes);
    let count = modes.omega_squared.len().min(most);
    modes.omega_squared = modes.omega_squared.rows(0, count).into_owned();
    modes.shapes = modes.shapes.columns(0, count).into_owned();
    Ok(modes)
}

/// The modes of a choice; a number of them never parts modes of one frequency.
fn modes_of(
    choice: ModeChoice,
    most: usize,
    find: impl Fn(Wanted) -> std::result::Result<LowestModes, SparseError>,
) -> Result<LowestModes> {
    let wanted = wanted(choice, most)?;
    let Wanted::Number(number @ 1..) = wanted else { return Ok(find(wanted)?) };
    let mut asked = (number + 1).min(most);
    loop {
        let mut modes = find(Wanted::Number(asked))?;
        let squares = &modes.omega_squared;
        let is_alike = |k: &usize| squares[*k] - squares[k - 1] <= ALIKE * squares[*k];
        let more = (number..squares.len()).take_while(is_alike).count();
        let count = (number + more).min(squares.len());
        if count < asked || asked == most {
            modes.omega_squared = modes.omega_squared.rows(0, count).into_owned();
            modes.shapes = modes.shapes.columns(0, count).into_owned();
            return Ok(modes);
        }
        asked = (2 * asked).min(most);
    }
}

fn wanted(choice: ModeChoice, most: usize) -> Result<Wanted> {
    match choice {
        ModeChoice::Number(number)
        | ModeChoice::InterfaceError(ErrorTarget { most: number, .. }) => {
            Ok(Wanted::Number(number.min(most)))
        }
        ModeChoice::CutOff { omega_rad_s } => {
            Ok(Wanted::Below(check_not_negative("cut_off", omega_rad_s)?.powi(2)))
        }
    }
}

fn omegas(rigid: usize, modes: &LowestModes) -> Vec<f64> {
    let elastic = modes.omega_squared.iter().map(|square| square.max(0.0).sqrt());
    std::iter::repeat_n(0.0, rigid).chain(elastic).collect()
}

/// ω of an elastic mode, counted from 1; of the last where there are fewer.
pub(super) fn omega_of_mode(component: &Component, mode: usize) -> Result<f64> {
    let flexibility = Flexibility::of(component)?;
    let most = component.size() - flexibility.rigid.ncols();
    let choice = ModeChoice::Number(mode);
    let modes = free_modes(component, &flexibility, choice, most, &mut Facts::default())?;
    Ok(omegas(0, &modes).pop().unwrap_or(1.0))
}

/// Which basis to make: T, and ω of the modes in it.
struct Basis<'a> {
    component: &'a Component,
    boundary: &'a [usize],
    modes: ModeChoice,
}

impl Basis<'_> {
    /// Rubin's basis in Martinez's coordinates: T = [Ψ U_r U_k] with Ψ = G_e F_B.
    /// Flexibility instead of residual flexibility modes: the span is the same, and
    /// Ψ_BB does not change with the number of modes. Gives the rigid-body modes beside it.
    fn rubin(&self, facts: &mut Facts) -> Result<(DMatrix<f64>, Vec<f64>, DMatrix<f64>)> {
        let Self { component, boundary, modes } = *self;
        let (n, b) = (component.size(), boundary.len());
        let flexibility = Flexibility::of(component)?;
        let rigid = flexibility.rigid.ncols();
        let mut psi = units(n, boundary);
        flexibility.apply(&mut psi);
        let most = n.saturating_sub(b + rigid);
        let modes = free_modes(component, &flexibility, modes, most, facts)?;
        facts.solves += b;
        let dependent = |at: usize| dependent_boundary(boundary, n, at);
        let inverse = definite_inverse(&psi.select_rows(boundary), dependent)?;
        let inner = hstack(&[&flexibility.rigid, &modes.shapes]);
        let basis = martinez_coordinates(&psi, &inverse, inner, boundary);
        Ok((basis, omegas(rigid, &modes), flexibility.rigid))
    }

    /// Craig–Bampton: constraint modes −K_ii⁻¹ K_ib and modes with the boundary held.
    fn craig_bampton(&self, facts: &mut Facts) -> Result<(DMatrix<f64>, Vec<f64>)> {
        let SecondOrder { mass, stiffness, .. } = &self.component.matrices;
        let (n, b) = (self.component.size(), self.boundary.len());
        let inner: Vec<usize> = (0..n).filter(|dof| !self.boundary.contains(dof)).collect();
        let does_not_hold =
            |row: usize| ReductionError::BoundaryDoesNotHold { boundary: b, dof: inner[row] };
        let factor = factored(&stiffness.selected(&inner, &inner), does_not_hold)?;
        let (row, pivot) = factor.weakest_pivot();
        if pivot < 1e-14 {
            return Err(does_not_hold(row));
        }
        let mut constraint = -stiffness.selected(&inner, self.boundary).to_dense();
        factor.solve(&mut constraint);
        let none = DMatrix::zeros(inner.len(), 0);
        let solve = |x: &mut DMatrix<f64>| factor.solve(x);
        let mass = mass.selected(&inner, &inner);
        let find = |wanted| lowest_modes(&solve, &mass, &none, wanted);
        let modes = modes_of(self.modes, inner.len(), find)?;
        facts.factor_bytes = factor.bytes();
        facts.krylov_vectors = modes.vectors;
        facts.solves = modes.solves + b;
        facts.vector_bytes = 16 * inner.len() * modes.vectors;
        let basis = spread(&hstack(&[&constraint, &modes.shapes]), &inner, n);
        Ok((with_boundary(basis, self.boundary), omegas(0, &modes)))
    }

    /// Modes alone; the slowest frequencies stand for what is left of them.
    fn modes_only(&self, facts: &mut Facts) -> Result<(DMatrix<f64>, Vec<f64>)> {
        let flexibility = Flexibility::of(self.component)?;
        let rigid = flexibility.rigid.ncols();
        let most = self.component.size() - rigid;
        let modes = free_modes(self.component, &flexibility, self.modes, most, facts)?;
        let inner = hstack(&[&flexibility.rigid, &modes.shapes]);
        let basis = modal_coordinates(&inner, self.boundary)?;
        let omega = omegas(rigid, &modes)[..basis.ncols() - self.boundary.len()].to_vec();
        Ok((basis, omega))
    }
}

/// The boundary DOF, by its place, that does not deform on its own.
pub(super) fn dependent_boundary(boundary: &[usize], size: usize, at: usize) -> ReductionError {
    ReductionError::DependentBoundary { boundary: boundary.len(), size, dof: boundary[at] }
}

/// Ψ_BB⁻¹. Ψ_BB is symmetric positive definite when the boundary DOFs deform
/// independently; scaled to a unit diagonal, metres and radians compare.
fn definite_inverse(
    matrix: &DMatrix<f64>,
    dependent: impl Fn(usize) -> ReductionError,
) -> Result<DMatrix<f64>> {
    if let Some(row) = matrix.diagonal().iter().position(|&value| value <= 0.0) {
        return Err(dependent(row));
    }
    let scale = DMatrix::from_diagonal(&matrix.diagonal().map(|value| value.sqrt().recip()));
    let (values, turn) = symmetric_pairs(&(&scale * 0.5 * (matrix + matrix.transpose()) * &scale))?;
    if values[0] <= DEPENDENT * values[values.len() - 1] {
        return Err(dependent(turn.column(0).icamax()));
    }
    let turn = scale * turn;
    Ok(&turn * DMatrix::from_diagonal(&values.map(f64::recip)) * turn.transpose())
}

/// [Ψ Ψ_BB⁻¹, V − Ψ Ψ_BB⁻¹ V_B] with the boundary rows made exactly [I 0], so that
/// the first coordinates are the boundary's motions themselves.
pub(super) fn martinez_coordinates(
    psi: &DMatrix<f64>,
    inverse: &DMatrix<f64>,
    mut inner: DMatrix<f64>,
    boundary: &[usize],
) -> DMatrix<f64> {
    let constraint = product(psi, inverse);
    let at_boundary = inner.select_rows(boundary);
    add_product(&mut inner, &constraint, &at_boundary, -1.0);
    with_boundary(hstack(&[&constraint, &inner]), boundary)
}

/// Modes in coordinates of which the first are the boundary's motions. Their
/// boundary rows V_B have a right inverse V_B⁺ when there are enough of them;
/// T_t = V [V_B⁺ N], N the null space of V_B, brings the boundary back without
/// anything but modes.
pub(super) fn modal_coordinates(modes: &DMatrix<f64>, boundary: &[usize]) -> Result<DMatrix<f64>> {
    let turn = boundary_coordinates(&modes.select_rows(boundary));
    let too_few = ReductionError::TooFewModes { modes: modes.ncols(), boundary: boundary.len() };
    Ok(with_boundary(product(modes, &turn.ok_or(too_few)?), boundary))
}

/// [V_B⁺ N] for the boundary rows V_B of a basis; `None` if they have not full rank.
fn boundary_coordinates(rows: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let (b, p) = rows.shape();
    let mut scaled = rows.clone();
    for mut row in scaled.row_iter_mut() {
        let length = row.norm();
        row /= length;
    }
    if p < b || scaled.iter().any(|value| !value.is_finite()) {
        return None;
    }
    // Vᵀ Π = Q R: a rank below b shows in the last diagonal entry of R.
    let r = scaled.transpose().col_piv_qr().unpack_r();
    if r[(b - 1, b - 1)].abs() <= 1e-10 * r[(0, 0)].abs() {
        return None;
    }
    let gram = &scaled * scaled.transpose();
    let mut right = scaled.transpose() * gram.cholesky()?.inverse();
    for (mut column, row) in right.column_iter_mut().zip(rows.row_iter()) {
        column /= row.norm();
    }
    // N from the eigenvectors of the projection I − V⁺V that it keeps.
    let projection = DMatrix::identity(p, p) - &right * rows;
    let (_, turn) = symmetric_pairs(&(0.5 * (&projection + projection.transpose()))).ok()?;
    Some(hstack(&[&right, &turn.columns(b, p - b).into_owned()]))
}

pub(super) fn units<T: ComplexField>(n: usize, dofs: &[usize]) -> DMatrix<T> {
    let mut matrix = DMatrix::zeros(n, dofs.len());
    for (column, &dof) in dofs.iter().enumerate() {
        matrix[(dof, column)] = T::one();
    }
    matrix
}

/// A basis with the rows of the boundary made exactly [I 0].
fn with_boundary(mut basis: DMatrix<f64>, boundary: &[usize]) -> DMatrix<f64> {
    for (column, &dof) in boundary.iter().enumerate() {
        basis.row_mut(dof).fill(0.0);
        basis[(dof, column)] = 1.0;
    }
    basis
}
