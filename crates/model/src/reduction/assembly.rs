//! Components joined at their boundary DOFs.
//!
//! `joints[c][i]` numbers the joint that boundary DOF i of component c belongs
//! to; DOFs with one number are one DOF. Any number of components may meet.

use nalgebra::{Complex, DMatrix, DVector};
use numerics::block::hstack;
use numerics::solve;

use super::state_space::StateModel;
use super::{Component, Flexibility, ModeChoice, ReducedModel, ReductionError};
use crate::reduction::basis::{free_modes, units};
use crate::reduction::trust::quadratic_eigenvalues;

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
    let wrong = |what, given, expected| Err(ReductionError::WrongCount { what, given, expected });
    if joints.len() != counts.len() {
        return wrong("lists of joints", joints.len(), counts.len());
    }
    for (own, &count) in joints.iter().zip(counts) {
        if own.len() != count {
            return wrong("joints of a component", own.len(), count);
        }
    }
    let mut all: Vec<usize> = joints.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn place(all: &[usize], joint: usize) -> usize {
    all.binary_search(&joint).expect("every joint is listed")
}

fn scattered(size: usize, parts: &[(&DMatrix<f64>, &[usize])]) -> DMatrix<f64> {
    let mut sum = DMatrix::zeros(size, size);
    for (matrix, places) in parts {
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
        let mut to: Vec<usize> = own.iter().map(|&joint| place(&all, joint)).collect();
        for _ in model.boundary.len()..model.size() {
            to.push(next);
            next += 1;
        }
        places.push(to);
    }
    let sum = |part: fn(&ReducedModel) -> &DMatrix<f64>| {
        let parts: Vec<_> =
            models.iter().zip(&places).map(|(m, to)| (part(m), to.as_slice())).collect();
        scattered(next, &parts)
    };
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
        let mut to: Vec<usize> = displacements.chain(velocities).collect();
        for _ in to.len()..model.states() {
            to.push(next);
            next += 1;
        }
        places.push(to);
    }
    let sum = |part: fn(&StateModel) -> &DMatrix<f64>| {
        let parts: Vec<_> =
            models.iter().zip(&places).map(|(m, to)| (part(m), to.as_slice())).collect();
        scattered(next, &parts)
    };
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
    let sum = |part: fn(&Component) -> &numerics::sparse::SparseMatrix| {
        let entries = components.iter().zip(&places).flat_map(move |(component, to)| {
            part(component).triplets().map(move |(i, j, value)| (to[i], to[j], value))
        });
        numerics::sparse::SparseMatrix::from_triplets(next, next, entries)
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
        let (size, inner) = (self.mass.nrows(), self.mass.nrows() - self.forces);
        let all = DMatrix::from_fn(size, size, |i, j| {
            let real = self.stiffness[(i, j)] - omega_rad_s * omega_rad_s * self.mass[(i, j)];
            Complex::new(real, omega_rad_s * self.damping[(i, j)])
        });
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

/// Reduces and joins components by dual Craig–Bampton.
pub fn dual_craig_bampton(
    components: &[&Component],
    boundaries: &[Vec<usize>],
    joints: &[Vec<usize>],
    modes: ModeChoice,
) -> Result<DualAssembly, ReductionError> {
    let counts: Vec<usize> = boundaries.iter().map(Vec::len).collect();
    let all = all_joints(&counts, joints)?;
    // One force for every further component at a joint.
    let mut first: Vec<Option<usize>> = vec![None; all.len()];
    let mut pulls: Vec<Vec<(usize, usize, f64)>> = vec![Vec::new(); components.len()];
    let mut forces = 0;
    for (c, own) in joints.iter().enumerate() {
        for (i, &joint) in own.iter().enumerate() {
            let at = place(&all, joint);
            match first[at] {
                None => first[at] = Some(c),
                Some(other) => {
                    let there = joints[other].iter().position(|&j| j == joint).unwrap_or(0);
                    pulls[other].push((there, forces, 1.0));
                    pulls[c].push((i, forces, -1.0));
                    forces += 1;
                }
            }
        }
    }
    let mut blocks = Vec::new();
    for ((component, boundary), pull) in components.iter().zip(boundaries).zip(&pulls) {
        let mut signs = DMatrix::zeros(boundary.len(), forces);
        for &(row, column, sign) in pull {
            signs[(row, column)] = sign;
        }
        blocks.push(dual_block(component, boundary, &signs, modes)?);
    }
    let inner: usize = blocks.iter().map(|block| block[0].nrows() - forces).sum();
    let size = inner + forces;
    let mut from = 0;
    let mut places: Vec<Vec<usize>> = Vec::new();
    for block in &blocks {
        let own = block[0].nrows() - forces;
        places.push((from..from + own).chain(inner..size).collect());
        from += own;
    }
    let sum = |which: usize| {
        let parts: Vec<_> =
            blocks.iter().zip(&places).map(|(block, to)| (&block[which], to.as_slice())).collect();
        scattered(size, &parts)
    };
    Ok(DualAssembly { mass: sum(0), damping: sum(1), stiffness: sum(2), forces })
}

/// One component by dual Craig–Bampton, with the forces at its boundary.
pub fn dual_component(
    component: &Component,
    boundary: &[usize],
    modes: ModeChoice,
) -> Result<DualAssembly, ReductionError> {
    let size = component.size();
    if let Some(&dof) = boundary.iter().find(|&&dof| dof >= size) {
        return Err(ReductionError::NoSuchDof { dof, size });
    }
    if let Some((row, column, relative)) = component.stiffness.worst_asymmetry() {
        let matrix = crate::error::MatrixName::Stiffness;
        return Err(ReductionError::NotSymmetric { matrix, row, column, relative });
    }
    let forces = boundary.len();
    let signs = DMatrix::identity(forces, forces);
    let [mass, damping, stiffness] = dual_block(component, boundary, &signs, modes)?;
    Ok(DualAssembly { mass, damping, stiffness, forces })
}

/// Mass, damping and stiffness of one component over (α, η, μ).
fn dual_block(
    component: &Component,
    boundary: &[usize],
    signs: &DMatrix<f64>,
    modes: ModeChoice,
) -> Result<[DMatrix<f64>; 3], ReductionError> {
    let n = component.size();
    let flexibility = Flexibility::of(component)?;
    let (rigid, forces) = (flexibility.rigid.ncols(), boundary.len());
    // With all modes nothing is left for the residual flexibility to be.
    let most = n.checked_sub(rigid + forces);
    let most = most.ok_or(ReductionError::TooManyForces { rigid, forces, size: n })?;
    let found = free_modes(component, &flexibility, modes, most, &mut Default::default())?;
    let mut residual = units(n, boundary);
    flexibility.apply(&mut residual);
    let at_boundary = found.shapes.select_rows(boundary);
    let carried = DMatrix::from_fn(found.shapes.ncols(), boundary.len(), |k, i| {
        at_boundary[(i, k)] / found.omega_squared[k]
    });
    residual -= &found.shapes * carried;
    let inner = hstack(&[&flexibility.rigid, &found.shapes]);
    let pulled = -(&residual * signs);
    let basis = hstack(&[&inner, &pulled]);
    let reduced = |matrix: &numerics::sparse::SparseMatrix| basis.tr_mul(&matrix.times(&basis));
    let (mass, damping) = (reduced(&component.mass), reduced(&component.damping));
    let (k, f) = (inner.ncols(), signs.ncols());
    let mut stiffness = DMatrix::zeros(k + f, k + f);
    for (mode, square) in found.omega_squared.iter().enumerate() {
        stiffness[(rigid + mode, rigid + mode)] = *square;
    }
    let coupling = inner.select_rows(boundary).tr_mul(signs);
    stiffness.view_mut((0, k), (k, f)).copy_from(&coupling);
    stiffness.view_mut((k, 0), (f, k)).copy_from(&coupling.transpose());
    let flexible = signs.tr_mul(&(residual.select_rows(boundary) * signs));
    stiffness.view_mut((k, k), (f, f)).copy_from(&-flexible);
    Ok([mass, damping, stiffness])
}
