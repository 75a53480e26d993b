//! Components joined at their boundary DOFs.
//!
//! `joints[c][i]` numbers the joint that boundary DOF i of component c belongs
//! to; DOFs with one number are one DOF. Any number of components may meet. The boundary
//! of what is joined holds the joints, in ascending order.

use std::collections::BTreeSet;

use nalgebra::{Complex, DMatrix, DVector};
use numerics::block::{hstack, vstack};
use numerics::second_order::SecondOrder;
use numerics::solve;
use numerics::sparse::SparseMatrix;

use super::basis::{free_modes, units};
use super::component::check_symmetric;
use super::state_space::StateModel;
use super::trust::quadratic_eigenvalues;
use super::{Component, Flexibility, ModeChoice, ReducedModel, ReductionError, Result, check_dofs};
use crate::check::check_count;
use crate::error::MatrixName;

/// The joints in ascending order, once each, and where each component's lie among
/// them.
fn numbered_joints(
    counts: impl ExactSizeIterator<Item = usize>,
    joints: &[Vec<usize>],
) -> Result<(Vec<usize>, Vec<Vec<usize>>)> {
    check_count("lists of joints", joints.len(), counts.len())?;
    for (own, count) in joints.iter().zip(counts) {
        check_count("joints of a component", own.len(), count)?;
    }
    let all: BTreeSet<usize> = joints.iter().flatten().copied().collect();
    let all = Vec::from_iter(all);
    let place = |joint: &usize| all.partition_point(|other| other < joint);
    let places = joints.iter().map(|own| own.iter().map(place).collect()).collect();
    Ok((all, places))
}

/// The coordinates of one model: those of its joints, and the rest behind all before.
fn numbered(mut joints: Vec<usize>, size: usize, next: &mut usize) -> Vec<usize> {
    let before = *next;
    *next += size - joints.len();
    joints.extend(before..*next);
    joints
}

/// Matrices, each added at its places.
fn scattered<'a>(
    size: usize,
    matrices: impl Iterator<Item = &'a DMatrix<f64>>,
    places: &[Vec<usize>],
) -> DMatrix<f64> {
    let mut sum = DMatrix::zeros(size, size);
    for (matrix, places) in matrices.zip(places) {
        for (j, &column) in places.iter().enumerate() {
            for (i, &row) in places.iter().enumerate() {
                sum[(row, column)] += matrix[(i, j)];
            }
        }
    }
    sum
}

/// Joins second-order models: a congruence, so passive parts make a passive whole.
pub fn assemble(models: &[&ReducedModel], joints: &[Vec<usize>]) -> Result<ReducedModel> {
    let counts = models.iter().map(|model| model.boundary.len());
    let (boundary, joints) = numbered_joints(counts, joints)?;
    let mut next = boundary.len();
    let all = models.iter().zip(joints);
    let places: Vec<Vec<usize>> =
        all.map(|(model, own)| numbered(own, model.size(), &mut next)).collect();
    let [mass, damping, stiffness] = [0, 1, 2]
        .map(|k| scattered(next, models.iter().map(|model| model.matrices.each()[k]), &places));
    let mut participation = DVector::zeros(next);
    for (model, to) in models.iter().zip(&places) {
        for (value, &row) in model.participation.iter().zip(to) {
            participation[row] += value;
        }
    }
    Ok(ReducedModel {
        matrices: SecondOrder { mass, damping, stiffness },
        interface: boundary.len(),
        boundary,
        omega_rad_s: models.iter().flat_map(|model| model.omega_rad_s.clone()).collect(),
        participation,
        excited_mass: models.iter().map(|model| model.excited_mass).sum(),
        monitored: Vec::new(),
        recovery: DMatrix::zeros(0, next),
    })
}

/// Joins state-space models at displacements and velocities of their boundary.
pub fn assemble_states(models: &[&StateModel], joints: &[Vec<usize>]) -> Result<StateModel> {
    let counts = models.iter().map(|model| model.boundary.len());
    let (boundary, joints) = numbered_joints(counts, joints)?;
    let mut next = 2 * boundary.len();
    let mut places = Vec::new();
    for (model, mut own) in models.iter().zip(joints) {
        own.extend(own.clone().iter().map(|displacement| boundary.len() + displacement));
        places.push(numbered(own, model.states(), &mut next));
    }
    Ok(StateModel {
        c: scattered(next, models.iter().map(|model| &model.c), &places),
        d: scattered(next, models.iter().map(|model| &model.d), &places),
        boundary,
        kept: models.iter().flat_map(|model| model.kept.clone()).collect(),
        rigid_modes: models.iter().map(|model| model.rigid_modes).sum(),
        state_rigid_modes: models.iter().map(|model| model.state_rigid_modes).sum(),
        rigid: [DMatrix::zeros(next, 0), DMatrix::zeros(next, 0)],
    })
}

/// Full components joined as they are: the reference.
pub fn assemble_components(
    components: &[&Component],
    boundaries: &[Vec<usize>],
    joints: &[Vec<usize>],
) -> Result<Component> {
    let (all, joints) = numbered_joints(boundaries.iter().map(Vec::len), joints)?;
    let mut next = all.len();
    let mut places = Vec::new();
    for ((component, boundary), own) in components.iter().zip(boundaries).zip(joints) {
        let size = component.size();
        check_dofs(boundary, size)?;
        let others = (0..size).filter(|dof| !boundary.contains(dof));
        let order = boundary.iter().copied().chain(others);
        let mut to = vec![0; size];
        for (dof, place) in order.zip(numbered(own, size, &mut next)) {
            to[dof] = place;
        }
        places.push(to);
    }
    let [mass, damping, stiffness] = [0, 1, 2].map(|k| {
        let entries = components.iter().zip(&places).flat_map(move |(component, to)| {
            let entries = component.matrices.each()[k].triplets();
            entries.map(move |(i, j, value)| (to[i], to[j], value))
        });
        SparseMatrix::from_triplets(next, next, entries)
    });
    let mut influence = DVector::zeros(next);
    for (component, to) in components.iter().zip(&places) {
        for (value, &row) in component.influence.iter().zip(to) {
            influence[row] = *value;
        }
    }
    let matrices = SecondOrder { mass: mass?, damping: damping?, stiffness: stiffness? };
    let whole = Component::new(matrices)?;
    whole.with_influence(influence)
}

/// An assembly by dual Craig–Bampton: free-interface modes of every component and
/// the forces in the joints.
///
/// q = U_r α + Φ η − G_res F L μ, with the residual flexibility G_res and the
/// forces μ that hold the joints together; put into M q̈ + K q + Lᵀμ = f and
/// L q = 0. The joints are compatible in the mean only, and as many motions
/// grow as there are forces (Rixen 2004): for comparison and eigenvalues, never
/// to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct DualAssembly {
    /// Over (α, η, μ); the stiffness is indefinite.
    pub matrices: SecondOrder,
    /// Forces in the joints: the last coordinates.
    pub forces: usize,
}

impl DualAssembly {
    /// Displacements over forces at the joints, which are open. The last rows say
    /// that they do not part; open, they part by u, and μ pulls inwards, so with
    /// S the Schur complement of the forces u = S μ = −S f.
    pub fn receptance(&self, omega_rad_s: f64) -> Option<DMatrix<Complex<f64>>> {
        let inner = self.matrices.mass.nrows() - self.forces;
        let all = self.matrices.at(Complex::new(0.0, omega_rad_s));
        let part = |i: usize, j: usize, rows: usize, columns: usize| {
            all.view((i, j), (rows, columns)).into_owned()
        };
        let forces = part(inner, inner, self.forces, self.forces);
        if inner == 0 {
            return Some(-forces);
        }
        let solved = solve::solved(part(0, 0, inner, inner), &part(0, inner, inner, self.forces))?;
        Some(part(inner, 0, self.forces, inner) * solved - forces)
    }

    /// λ, the growing ones of the forces among them.
    pub fn eigenvalues(&self) -> Result<Vec<Complex<f64>>> {
        quadratic_eigenvalues(&self.matrices)
    }
}

/// One component by dual Craig–Bampton, with the forces at its boundary.
pub fn dual_component(
    component: &Component,
    boundary: &[usize],
    modes: ModeChoice,
) -> Result<DualAssembly> {
    let n = component.size();
    check_dofs(boundary, n)?;
    check_symmetric(MatrixName::Stiffness, &component.matrices.stiffness)?;
    let flexibility = Flexibility::of(component)?;
    let (rigid, forces) = (flexibility.rigid.ncols(), boundary.len());
    // With all modes nothing is left for the residual flexibility to be.
    let most = n.checked_sub(rigid + forces);
    let most = most.ok_or(ReductionError::TooManyForces { rigid, forces, size: n })?;
    let found = free_modes(component, &flexibility, modes, most, &mut Default::default())?;
    let mut residual = units(n, boundary);
    flexibility.apply(&mut residual);
    let at_boundary = found.shapes.select_rows(boundary);
    let carried = DMatrix::from_fn(found.shapes.ncols(), forces, |k, i| {
        at_boundary[(i, k)] / found.omega_squared[k]
    });
    residual -= &found.shapes * carried;
    let inner = hstack(&[&flexibility.rigid, &found.shapes]);
    let squares = DVector::zeros(rigid).iter().chain(&found.omega_squared).copied().collect();
    let coupling = inner.select_rows(boundary);
    let stiffness = vstack(&[
        &hstack(&[&DMatrix::from_diagonal(&DVector::from_vec(squares)), &coupling.transpose()]),
        &hstack(&[&coupling, &-residual.select_rows(boundary)]),
    ]);
    let basis = hstack(&[&inner, &-residual]);
    let reduced = |matrix: &SparseMatrix| basis.tr_mul(&matrix.times(&basis));
    let matrices = SecondOrder { stiffness, ..component.matrices.map(reduced) };
    Ok(DualAssembly { matrices, forces })
}
