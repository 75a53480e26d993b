//! Components joined at their boundary DOFs.
//!
//! `joints[c][i]` numbers the joint that boundary DOF i of component c belongs
//! to; DOFs with one number are one DOF. Any number of components may meet.

use nalgebra::{Complex, DMatrix, DVector};
use numerics::block::hstack;
use numerics::second_order::dynamic_stiffness;
use numerics::solve;
use numerics::sparse::SparseMatrix;

use super::basis::{free_modes, units};
use super::component::check_symmetric;
use super::state_space::StateModel;
use super::trust::quadratic_eigenvalues;
use super::{Component, Flexibility, ModeChoice, ReducedModel, ReductionError, check_dofs};
use crate::check::check_count;
use crate::error::MatrixName;

/// An assembly, and where each component's coordinates went.
#[derive(Debug, Clone, PartialEq)]
pub struct Assembly<M> {
    /// The joined model; its boundary holds the joints, in ascending order.
    pub model: M,
    /// Coordinate of the assembly for each coordinate of each component.
    pub places: Vec<Vec<usize>>,
}

/// The joints in ascending order, once each.
fn all_joints(counts: &[usize], joints: &[Vec<usize>]) -> Result<Vec<usize>, ReductionError> {
    check_count("lists of joints", joints.len(), counts.len())?;
    for (own, &count) in joints.iter().zip(counts) {
        check_count("joints of a component", own.len(), count)?;
    }
    let mut all: Vec<usize> = joints.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn place(all: &[usize], joint: usize) -> usize {
    all.binary_search(&joint).expect("every joint is listed")
}

/// The coordinates of one model: those given, and the rest behind all before.
fn numbered(given: impl Iterator<Item = usize>, size: usize, next: &mut usize) -> Vec<usize> {
    let mut to: Vec<usize> = given.collect();
    let more = size - to.len();
    to.extend(*next..*next + more);
    *next += more;
    to
}

/// The matrices of the models, each added at its places.
fn scattered<M>(
    size: usize,
    models: &[&M],
    part: fn(&M) -> &DMatrix<f64>,
    places: &[Vec<usize>],
) -> DMatrix<f64> {
    let mut sum = DMatrix::zeros(size, size);
    for (model, places) in models.iter().zip(places) {
        let matrix = part(model);
        for (j, &column) in places.iter().enumerate() {
            for (i, &row) in places.iter().enumerate() {
                sum[(row, column)] += matrix[(i, j)];
            }
        }
    }
    sum
}

/// Joins second-order models: a congruence, so passive parts make a passive whole.
pub fn assemble(
    models: &[&ReducedModel],
    joints: &[Vec<usize>],
) -> Result<Assembly<ReducedModel>, ReductionError> {
    let counts: Vec<usize> = models.iter().map(|model| model.boundary.len()).collect();
    let all = all_joints(&counts, joints)?;
    let mut next = all.len();
    let mut places = Vec::new();
    for (model, own) in models.iter().zip(joints) {
        let joints = own.iter().map(|&joint| place(&all, joint));
        places.push(numbered(joints, model.size(), &mut next));
    }
    let sum = |part| scattered(next, models, part, &places);
    let mut participation = DVector::zeros(next);
    for (model, to) in models.iter().zip(&places) {
        for (value, &row) in model.participation.iter().zip(to) {
            participation[row] += value;
        }
    }
    let model = ReducedModel {
        mass: sum(|model| &model.mass),
        damping: sum(|model| &model.damping),
        stiffness: sum(|model| &model.stiffness),
        interface: all.len(),
        omega_rad_s: models.iter().flat_map(|model| model.omega_rad_s.clone()).collect(),
        boundary: all,
        participation,
        excited_mass: models.iter().map(|model| model.excited_mass).sum(),
        monitored: Vec::new(),
        recovery: DMatrix::zeros(0, next),
    };
    Ok(Assembly { model, places })
}

/// Joins state-space models at displacements and velocities of their boundary.
pub fn assemble_states(
    models: &[&StateModel],
    joints: &[Vec<usize>],
) -> Result<Assembly<StateModel>, ReductionError> {
    let counts: Vec<usize> = models.iter().map(|model| model.boundary.len()).collect();
    let all = all_joints(&counts, joints)?;
    let mut next = 2 * all.len();
    let mut places = Vec::new();
    for (model, own) in models.iter().zip(joints) {
        let displacements = own.iter().map(|&joint| place(&all, joint));
        let velocities = own.iter().map(|&joint| all.len() + place(&all, joint));
        places.push(numbered(displacements.chain(velocities), model.states(), &mut next));
    }
    let sum = |part| scattered(next, models, part, &places);
    let model = StateModel {
        c: sum(|model| &model.c),
        d: sum(|model| &model.d),
        boundary: all,
        kept: models.iter().flat_map(|model| model.kept.clone()).collect(),
        rigid_modes: models.iter().map(|model| model.rigid_modes).sum(),
        state_rigid_modes: models.iter().map(|model| model.state_rigid_modes).sum(),
    };
    Ok(Assembly { model, places })
}

/// Full components joined as they are: the reference.
pub fn assemble_components(
    components: &[&Component],
    boundaries: &[Vec<usize>],
    joints: &[Vec<usize>],
) -> Result<(Component, Vec<Vec<usize>>), ReductionError> {
    let counts: Vec<usize> = boundaries.iter().map(Vec::len).collect();
    let all = all_joints(&counts, joints)?;
    let mut next = all.len();
    let mut places = Vec::new();
    for ((component, boundary), own) in components.iter().zip(boundaries).zip(joints) {
        let mut to = vec![usize::MAX; component.size()];
        for (&dof, &joint) in boundary.iter().zip(own) {
            let size = component.size();
            *to.get_mut(dof).ok_or(ReductionError::NoSuchDof { dof, size })? = place(&all, joint);
        }
        for slot in to.iter_mut().filter(|slot| **slot == usize::MAX) {
            *slot = next;
            next += 1;
        }
        places.push(to);
    }
    let sum = |part: fn(&Component) -> &SparseMatrix| {
        let entries = components.iter().zip(&places).flat_map(move |(component, to)| {
            part(component).triplets().map(move |(i, j, value)| (to[i], to[j], value))
        });
        SparseMatrix::from_triplets(next, next, entries)
    };
    let mut influence = DVector::zeros(next);
    for (component, to) in components.iter().zip(&places) {
        for (value, &row) in component.influence.iter().zip(to) {
            influence[row] = *value;
        }
    }
    let whole = Component::new(sum(|c| &c.mass)?, sum(|c| &c.damping)?, sum(|c| &c.stiffness)?)?
        .with_influence(influence)?;
    Ok((whole, places))
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
    /// Mass over (α, η, μ).
    pub mass: DMatrix<f64>,
    /// Damping.
    pub damping: DMatrix<f64>,
    /// Stiffness; indefinite.
    pub stiffness: DMatrix<f64>,
    /// Forces in the joints: the last coordinates.
    pub forces: usize,
}

impl DualAssembly {
    /// Displacements over forces at the joints, which are open. The last rows say
    /// that they do not part; open, they part by u, and μ pulls inwards, so with
    /// S the Schur complement of the forces u = S μ = −S f.
    pub fn receptance(&self, omega_rad_s: f64) -> Option<DMatrix<Complex<f64>>> {
        let inner = self.mass.nrows() - self.forces;
        let all = dynamic_stiffness(&self.mass, &self.damping, &self.stiffness, omega_rad_s);
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
    pub fn eigenvalues(&self) -> Result<Vec<Complex<f64>>, ReductionError> {
        quadratic_eigenvalues(&self.mass, &self.damping, &self.stiffness)
    }
}

/// One component by dual Craig–Bampton, with the forces at its boundary.
pub fn dual_component(
    component: &Component,
    boundary: &[usize],
    modes: ModeChoice,
) -> Result<DualAssembly, ReductionError> {
    let n = component.size();
    check_dofs(boundary, n)?;
    check_symmetric(MatrixName::Stiffness, &component.stiffness)?;
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
    let basis = hstack(&[&inner, &-&residual]);
    let reduced = |matrix: &SparseMatrix| basis.tr_mul(&matrix.times(&basis));
    let k = inner.ncols();
    let mut stiffness = DMatrix::zeros(k + forces, k + forces);
    for (mode, square) in found.omega_squared.iter().enumerate() {
        stiffness[(rigid + mode, rigid + mode)] = *square;
    }
    let coupling = inner.select_rows(boundary);
    stiffness.view_mut((0, k), (k, forces)).copy_from(&coupling.transpose());
    stiffness.view_mut((k, 0), (forces, k)).copy_from(&coupling);
    let flexible = residual.select_rows(boundary);
    stiffness.view_mut((k, k), (forces, forces)).copy_from(&-flexible);
    let (mass, damping) = (reduced(&component.mass), reduced(&component.damping));
    Ok(DualAssembly { mass, damping, stiffness, forces })
}
