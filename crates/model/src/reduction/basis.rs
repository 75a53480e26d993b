//! The bases of the second-order methods.

use nalgebra::{ComplexField, DMatrix, DVector};
use numerics::block::hstack;
use numerics::eigen::symmetric_pairs;
use numerics::sparse::dense::{add_product, product, transposed_product};
use numerics::sparse::{LowestModes, SparseMatrix, Wanted, lowest_modes};

use super::component::check_symmetric;
use super::{
    Component, Facts, Flexibility, Method, ModeChoice, Recipe, ReducedModel, Reduction,
    ReductionError, boundary_set, factored,
};
use crate::check::check_not_negative;
use crate::error::MatrixName;

/// A boundary flexibility below this part of the others is none.
const DEPENDENT: f64 = 1e-13;

pub(super) fn reduce(component: &Component, recipe: &Recipe) -> Result<Reduction, ReductionError> {
    check_symmetric(MatrixName::Stiffness, &component.stiffness)?;
    let mut facts =
        Facts { full_size: component.size(), matrix_bytes: component.bytes(), ..Facts::default() };
    let boundary = boundary_set(component, recipe, &mut facts)?;
    let (basis, omega_rad_s) = match recipe.method {
        Method::Rubin => rubin(component, &boundary, recipe.modes, &mut facts)?,
        Method::CraigBampton => craig_bampton(component, &boundary, recipe.modes, &mut facts)?,
        Method::ModesOnly => modes_only(component, &boundary, recipe.modes, &mut facts)?,
    };
    facts.vector_bytes += 8 * basis.len();
    let mut interface = 0;
    while boundary.get(interface).is_some_and(|dof| recipe.interface.contains(dof)) {
        interface += 1;
    }
    let model = congruence(component, recipe, boundary, interface, &basis, omega_rad_s);
    Ok(Reduction { model, basis, facts })
}

/// The reduced matrices Tᵀ M T, Tᵀ B T, Tᵀ K T.
fn congruence(
    component: &Component,
    recipe: &Recipe,
    boundary: Vec<usize>,
    interface: usize,
    basis: &DMatrix<f64>,
    omega_rad_s: Vec<f64>,
) -> ReducedModel {
    let reduced = |matrix: &SparseMatrix| {
        let reduced = transposed_product(basis, &matrix.times(basis));
        if matrix.is_symmetric() { 0.5 * (&reduced + reduced.transpose()) } else { reduced }
    };
    let influence = DMatrix::from_column_slice(component.size(), 1, component.influence.as_slice());
    let excited = component.mass.times(&influence);
    ReducedModel {
        mass: reduced(&component.mass),
        damping: reduced(&component.damping),
        stiffness: reduced(&component.stiffness),
        boundary,
        interface,
        omega_rad_s,
        participation: basis.tr_mul(&excited).column(0).into_owned(),
        excited_mass: influence.dot(&excited),
        monitored: recipe.monitored.clone(),
        recovery: basis.select_rows(&recipe.monitored),
    }
}

/// Free-interface modes, orthogonal to the rigid ones, at most `most` of them.
pub(super) fn free_modes(
    component: &Component,
    flexibility: &Flexibility,
    choice: ModeChoice,
    most: usize,
    facts: &mut Facts,
) -> Result<LowestModes, ReductionError> {
    let solve = |x: &mut DMatrix<f64>| flexibility.apply(x);
    let wanted = wanted(choice, most)?;
    let modes = lowest_modes(&solve, &component.mass, &flexibility.rigid, wanted)?;
    facts.rigid_modes = flexibility.rigid.ncols();
    facts.suppressed = flexibility.suppressed.clone();
    facts.factor_bytes = flexibility.factor_bytes();
    facts.krylov_vectors = modes.vectors;
    facts.solves = modes.solves;
    facts.vector_bytes = 16 * component.size() * (modes.vectors + facts.rigid_modes);
    Ok(first(modes, most))
}

fn wanted(choice: ModeChoice, most: usize) -> Result<Wanted, ReductionError> {
    match choice {
        ModeChoice::Number(number) | ModeChoice::InterfaceError { most: number, .. } => {
            Ok(Wanted::Number(number.min(most)))
        }
        ModeChoice::CutOff { omega_rad_s } => {
            Ok(Wanted::Below(check_not_negative("cut_off", omega_rad_s)?.powi(2)))
        }
    }
}

/// The first `most` modes.
fn first(mut modes: LowestModes, most: usize) -> LowestModes {
    if modes.omega_squared.len() > most {
        modes.omega_squared = modes.omega_squared.rows(0, most).into_owned();
        modes.shapes = modes.shapes.columns(0, most).into_owned();
    }
    modes
}

fn omegas(rigid: usize, modes: &LowestModes) -> Vec<f64> {
    let elastic = modes.omega_squared.iter().map(|square| square.max(0.0).sqrt());
    std::iter::repeat_n(0.0, rigid).chain(elastic).collect()
}

/// ω of the last of the `count` slowest elastic modes.
pub(super) fn slow_omegas(component: &Component, count: usize) -> Result<f64, ReductionError> {
    let flexibility = Flexibility::of(component)?;
    let most = component.size() - flexibility.rigid.ncols();
    let choice = ModeChoice::Number(count);
    let modes = free_modes(component, &flexibility, choice, most, &mut Facts::default())?;
    Ok(modes.omega_squared.iter().next_back().map_or(1.0, |square| square.sqrt()))
}

/// Rubin's basis in Martinez's coordinates:
///   T = [Ψ U_r U_k] with Ψ = G_e F_B, then
///   T_t = [Ψ Ψ_BB⁻¹, V − Ψ Ψ_BB⁻¹ V_B], V = [U_r U_k],
/// so that the first coordinates are the boundary DOFs themselves. Flexibility
/// instead of residual flexibility modes: the span is the same, and Ψ_BB does
/// not change with the number of modes.
fn rubin(
    component: &Component,
    boundary: &[usize],
    choice: ModeChoice,
    facts: &mut Facts,
) -> Result<(DMatrix<f64>, Vec<f64>), ReductionError> {
    let (n, b) = (component.size(), boundary.len());
    let flexibility = Flexibility::of(component)?;
    let rigid = flexibility.rigid.ncols();
    let mut psi = units(n, boundary);
    flexibility.apply(&mut psi);
    let most = n.saturating_sub(b + rigid);
    let modes = free_modes(component, &flexibility, choice, most, facts)?;
    facts.solves += b;
    let constraint = martinez(&psi, boundary, n)?;
    let omega = omegas(rigid, &modes);
    let mut inner = hstack(&[&flexibility.rigid, &modes.shapes]);
    let at_boundary = inner.select_rows(boundary);
    add_product(&mut inner, &constraint, &at_boundary, -1.0);
    Ok((with_boundary(constraint, inner, boundary), omega))
}

/// Ψ Ψ_BB⁻¹. Ψ_BB is symmetric positive definite when the boundary DOFs deform
/// independently; scaled to a unit diagonal, metres and radians compare.
fn martinez(
    psi: &DMatrix<f64>,
    boundary: &[usize],
    size: usize,
) -> Result<DMatrix<f64>, ReductionError> {
    let at_boundary = psi.select_rows(boundary);
    let b = boundary.len();
    let dependent =
        |at: usize| ReductionError::DependentBoundary { boundary: b, size, dof: boundary[at] };
    let mut scale = DVector::zeros(b);
    for i in 0..b {
        if at_boundary[(i, i)] <= 0.0 {
            return Err(dependent(i));
        }
        scale[i] = 1.0 / at_boundary[(i, i)].sqrt();
    }
    let scaled = DMatrix::from_fn(b, b, |i, j| {
        0.5 * (at_boundary[(i, j)] + at_boundary[(j, i)]) * scale[i] * scale[j]
    });
    let (values, turn) = symmetric_pairs(&scaled)?;
    if values[0] <= DEPENDENT * values[b - 1] {
        return Err(dependent(turn.column(0).icamax()));
    }
    let inverse = DMatrix::from_fn(b, b, |i, j| {
        let sum: f64 = (0..b).map(|k| turn[(i, k)] * turn[(j, k)] / values[k]).sum();
        sum * scale[i] * scale[j]
    });
    Ok(product(psi, &inverse))
}

/// Craig–Bampton: constraint modes −K_ii⁻¹ K_ib and modes with the boundary held.
fn craig_bampton(
    component: &Component,
    boundary: &[usize],
    choice: ModeChoice,
    facts: &mut Facts,
) -> Result<(DMatrix<f64>, Vec<f64>), ReductionError> {
    let (n, b) = (component.size(), boundary.len());
    let inner: Vec<usize> = (0..n).filter(|dof| !boundary.contains(dof)).collect();
    let held = component.stiffness.selected(&inner, &inner);
    let does_not_hold =
        |row: usize| ReductionError::BoundaryDoesNotHold { boundary: b, dof: inner[row] };
    let factor = factored(&held, does_not_hold)?;
    let (row, pivot) = factor.weakest_pivot();
    if pivot < 1e-14 {
        return Err(does_not_hold(row));
    }
    let mut constraint = -component.stiffness.selected(&inner, boundary).to_dense();
    factor.solve(&mut constraint);
    let mass = component.mass.selected(&inner, &inner);
    let none = DMatrix::zeros(inner.len(), 0);
    let solve = |x: &mut DMatrix<f64>| factor.solve(x);
    let wanted = wanted(choice, inner.len())?;
    let modes = lowest_modes(&solve, &mass, &none, wanted)?;
    facts.factor_bytes = factor.bytes();
    facts.krylov_vectors = modes.vectors;
    facts.solves = modes.solves + b;
    facts.vector_bytes = 16 * inner.len() * modes.vectors;
    let mut basis = DMatrix::zeros(n, b + modes.shapes.ncols());
    for (column, &dof) in boundary.iter().enumerate() {
        basis[(dof, column)] = 1.0;
    }
    for (row, &dof) in inner.iter().enumerate() {
        basis.view_mut((dof, 0), (1, b)).copy_from(&constraint.row(row));
        basis.view_mut((dof, b), (1, modes.shapes.ncols())).copy_from(&modes.shapes.row(row));
    }
    let omega = omegas(0, &modes);
    Ok((basis, omega))
}

/// Modes alone. Their boundary rows V_B have a right inverse V_B⁺ when there are
/// enough of them; T_t = V [V_B⁺ N], N the null space of V_B, brings the boundary
/// DOFs back without anything but modes.
fn modes_only(
    component: &Component,
    boundary: &[usize],
    choice: ModeChoice,
    facts: &mut Facts,
) -> Result<(DMatrix<f64>, Vec<f64>), ReductionError> {
    let (n, b) = (component.size(), boundary.len());
    let flexibility = Flexibility::of(component)?;
    let rigid = flexibility.rigid.ncols();
    let modes = free_modes(component, &flexibility, choice, n - rigid, facts)?;
    let all = hstack(&[&flexibility.rigid, &modes.shapes]);
    let turn = boundary_coordinates(&all.select_rows(boundary))
        .ok_or(ReductionError::TooFewModes { modes: all.ncols(), boundary: b })?;
    let basis = product(&all, &turn);
    // N mixes the modes; the slowest frequencies stand for it.
    let omega = omegas(rigid, &modes)[..all.ncols() - b].to_vec();
    let (constraint, inner) =
        (basis.columns(0, b).into_owned(), basis.columns(b, all.ncols() - b).into_owned());
    Ok((with_boundary(constraint, inner, boundary), omega))
}

/// [V_B⁺ N] for the boundary rows V_B of a basis; `None` if they have not full rank.
pub(super) fn boundary_coordinates(rows: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let (b, p) = rows.shape();
    if p < b {
        return None;
    }
    let lengths: Vec<f64> = rows.row_iter().map(|row| row.norm()).collect();
    if lengths.iter().any(|&length| length <= 0.0) {
        return None;
    }
    let scaled = DMatrix::from_fn(b, p, |i, j| rows[(i, j)] / lengths[i]);
    let qr = scaled.transpose().col_piv_qr();
    // Vᵀ Π = Q R: a rank below b shows in the last diagonal entry of R.
    let r = qr.unpack_r();
    if r[(b - 1, b - 1)].abs() <= 1e-10 * r[(0, 0)].abs() {
        return None;
    }
    let gram = &scaled * scaled.transpose();
    let inverse = gram.cholesky()?.inverse();
    let mut right = scaled.transpose() * inverse;
    for (mut column, length) in right.column_iter_mut().zip(&lengths) {
        column /= *length;
    }
    // N from the eigenvectors of the projection I − V⁺V that it keeps.
    let mut projection = -(&right * rows);
    for i in 0..p {
        projection[(i, i)] += 1.0;
    }
    let (_, turn) = symmetric_pairs(&(0.5 * (&projection + projection.transpose()))).ok()?;
    let null = turn.columns(b, p - b).into_owned();
    Some(hstack(&[&right, &null]))
}

pub(super) fn units<T: ComplexField>(n: usize, dofs: &[usize]) -> DMatrix<T> {
    let mut matrix = DMatrix::zeros(n, dofs.len());
    for (column, &dof) in dofs.iter().enumerate() {
        matrix[(dof, column)] = T::one();
    }
    matrix
}

/// [constraint, inner] with the rows of the boundary made exactly [I 0].
fn with_boundary(
    constraint: DMatrix<f64>,
    inner: DMatrix<f64>,
    boundary: &[usize],
) -> DMatrix<f64> {
    let mut basis = hstack(&[&constraint, &inner]);
    for (column, &dof) in boundary.iter().enumerate() {
        basis.row_mut(dof).fill(0.0);
        basis[(dof, column)] = 1.0;
    }
    basis
}
