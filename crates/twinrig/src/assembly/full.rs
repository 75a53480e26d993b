//! A structure as large as it is declared, by sparse matrices, and what its
//! DOFs are called.

use std::cell::RefCell;

use model::error::{BadNumber, ModelError};
use model::fem::{self, Member, Mesh};
use model::reduction::{Component, Dampers, ModeChoice, Recipe, ReductionError, reduce};
use model::structure::{DofKind, Structure, damping};
use nalgebra::DVector;
use numerics::second_order::SecondOrder;
use numerics::sparse::SparseMatrix;

use super::components::Joined;
use super::structure::Builder;
use experiment::input::{self, Triplets};
use experiment::mesh::{Brick, BrickEnds, Frame, GroundDirection};
use experiment::structure::{Entries, MatrixTable, Rayleigh};
use experiment::{
    DampingSource, Diagnostic, DofLabel, DofRef, MatrixSource, NodeRef, StructureSource, Whole,
    resolve,
};

/// DOFs up to which a dense matrix is no matter.
pub(super) const SMALL: usize = 1500;

/// The full model.
pub(super) struct FullModel {
    /// Its matrices.
    pub(super) component: Component,
    mesh: Option<Mesh>,
    /// Names of all DOFs, if the file gives them.
    names: Vec<String>,
    /// Kinds of all DOFs; empty where the mesh tells.
    kinds: Vec<DofKind>,
    /// Points of a mesh and their DOFs, or names that a builder gives.
    points: Vec<(String, usize)>,
    /// DOFs before supports held some, where they do.
    free: Option<(usize, Vec<usize>)>,
    /// The components that it is joined of.
    pub(super) joined: Option<Box<Joined>>,
}

impl FullModel {
    fn of(component: Component) -> Self {
        let (names, kinds, points) = (Vec::new(), Vec::new(), Vec::new());
        Self { component, mesh: None, names, kinds, points, free: None, joined: None }
    }

    /// The model that components make together.
    pub(super) fn of_components(component: Component, joined: Joined) -> Self {
        Self { joined: Some(Box::new(joined)), ..Self::of(component) }
    }

    /// The DOF, from 0, that the file means.
    pub(super) fn resolve(&self, dof: &DofRef) -> Result<usize, Diagnostic> {
        if let Some(joined) = &self.joined {
            return joined.resolve(dof);
        }
        let declared = self.declared(dof)?;
        let Some((_, free)) = &self.free else { return Ok(declared) };
        free.binary_search(&declared).map_err(|_| {
            let error = Diagnostic::error(format!("DOF {dof} is held by `supports`"));
            error.at(dof.span.clone()).remedy("name a DOF that moves")
        })
    }

    /// The DOF before supports hold any.
    fn declared(&self, dof: &DofRef) -> Result<usize, Diagnostic> {
        if let DofLabel::Name(name) = &dof.label
            && let Some((_, found)) = self.points.iter().find(|(known, _)| known == name)
        {
            return Ok(*found);
        }
        let size = self.free.as_ref().map_or(self.component.size(), |(size, _)| *size);
        let (Some(mesh), DofLabel::Name(name)) = (&self.mesh, &dof.label) else {
            // Names of a builder serve a slip as well.
            let known: Vec<String> = self.points.iter().map(|(name, _)| name.clone()).collect();
            let names = if self.names.is_empty() { &known } else { &self.names };
            return resolve(dof, names, size);
        };
        if let Some((node, direction)) = node_and_direction(name) {
            return mesh.dof(node, direction).ok_or_else(|| {
                let message = format!("\"{name}\" is held, or the mesh has no such DOF");
                let remedy = format!("the mesh has {} nodes, counted from 1", mesh.nodes.len());
                Diagnostic::error(message).at(dof.span.clone()).remedy(remedy)
            });
        }
        let points: Vec<String> = self.points.iter().map(|(name, _)| name.clone()).collect();
        match resolve(dof, &points, points.len()) {
            Err(error) if !points.is_empty() => Err(error),
            _ => Err(Diagnostic::error(format!("no degree of freedom is called \"{name}\""))
                .at(dof.span.clone())
                .remedy(
                    "name its place in [[structure.point]], or write node and direction: n42y",
                )),
        }
    }

    /// What DOF `dof` is called where the file does not name it.
    pub(super) fn name(&self, dof: usize) -> String {
        if let Some(joined) = &self.joined {
            return joined.name(dof);
        }
        let dof = self.before_supports(dof);
        match &self.mesh {
            Some(mesh) => mesh.name(dof),
            None => self.names.get(dof).cloned().unwrap_or_else(|| (dof + 1).to_string()),
        }
    }

    /// What DOF `dof` moves along.
    pub(super) fn kind(&self, dof: usize) -> DofKind {
        if let Some(joined) = &self.joined {
            return joined.kind(dof);
        }
        let dof = self.before_supports(dof);
        let turns = self.mesh.as_ref().is_some_and(|mesh| mesh.name(dof).contains('r'));
        let known = self.kinds.get(dof).copied();
        known.unwrap_or(if turns { DofKind::Rotation } else { DofKind::Translation })
    }

    /// Whether it is known what its DOFs move along.
    pub(super) fn knows_kinds(&self) -> bool {
        self.mesh.is_some() || !self.kinds.is_empty()
    }

    /// The name of DOF `dof`, that of its point where it has one.
    pub(super) fn title(&self, dof: usize) -> String {
        let declared = self.before_supports(dof);
        let point = self.points.iter().find(|(_, known)| *known == declared);
        point.map_or_else(|| self.name(dof), |(name, _)| name.clone())
    }

    fn before_supports(&self, dof: usize) -> usize {
        self.free.as_ref().map_or(dof, |(_, free)| free[dof])
    }

    /// As a structure of dense matrices.
    pub(super) fn dense(&self) -> Result<Structure, ModelError> {
        let matrices = self.component.matrices.map(SparseMatrix::to_dense);
        let dofs = 0..self.component.size();
        let structure = Structure::new(matrices.mass, matrices.damping, matrices.stiffness)?;
        let structure = structure.with_names(dofs.clone().map(|dof| self.title(dof)).collect())?;
        let structure = structure.with_kinds(dofs.map(|dof| self.kind(dof)).collect())?;
        structure.with_influence(self.component.influence.clone())
    }
}

/// `n42ry` is node 42, counted from 1, turning about y.
fn node_and_direction(name: &str) -> Option<(usize, fem::Direction)> {
    let rest = name.strip_prefix('n')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let node: usize = rest[..digits].parse().ok()?;
    let direction = match &rest[digits..] {
        "x" => fem::Direction::X,
        "y" => fem::Direction::Y,
        "z" => fem::Direction::Z,
        "rx" => fem::Direction::TurnX,
        "ry" => fem::Direction::TurnY,
        "rz" => fem::Direction::TurnZ,
        _ => return None,
    };
    Some((node.checked_sub(1)?, direction))
}

impl Builder<'_> {
    /// The structure in full: matrices, damping, influence, links and names.
    pub(super) fn full_model(&mut self) -> Option<FullModel> {
        if let (None, Whole::Components(components)) = (&self.piece, &self.experiment.whole) {
            return self.joined_full(components);
        }
        let mut full = self.undamped()?;
        full.component = self.with_damping(full.component)?;
        let declared = self.declared();
        if !declared.names.is_empty() {
            let (given, expected) = (declared.names.len(), full.component.size());
            if given != expected {
                let what = "names of DOFs";
                let error = ModelError::WrongCount { what, given, expected };
                return self.keep(Err(error), "structure.names");
            }
            full.names.clone_from(&declared.names);
        }
        if let Some(influence) = &declared.influence {
            let influence = DVector::from_column_slice(influence);
            let changed = full.component.with_influence(influence);
            full.component = self.keep(changed, "structure.influence")?;
        }
        self.with_points(&mut full)?;
        let full = self.with_links(full)?;
        self.with_supports(full)
    }

    /// Without the DOFs that supports hold.
    fn with_supports(&mut self, full: FullModel) -> Option<FullModel> {
        let supports = self.piece.as_ref().map_or(&[][..], |piece| &piece.declared.supports);
        if supports.is_empty() {
            return Some(full);
        }
        let held: Vec<_> = supports.iter().map(|dof| full.resolve(dof)).collect();
        let wrong: Vec<_> = held.iter().filter_map(|dof| dof.clone().err()).collect();
        if !wrong.is_empty() {
            self.found.extend(wrong);
            return None;
        }
        let size = full.component.size();
        let free: Vec<usize> = (0..size).filter(|dof| !held.contains(&Ok(*dof))).collect();
        if free.is_empty() {
            let error = Diagnostic::error("the supports hold every DOF of the component");
            return self.refuse("structure.supports", error.remedy("leave some of them free"));
        }
        let Component { matrices, influence } = &full.component;
        let component = Component {
            matrices: matrices.map(|matrix| matrix.selected(&free, &free)),
            influence: influence.select_rows(&free),
        };
        Some(FullModel { component, free: Some((size, free)), ..full })
    }

    fn undamped(&mut self) -> Option<FullModel> {
        let declared = self.declared();
        match &declared.source {
            StructureSource::Brick(brick) => {
                let mesh = self.keep(built_brick(brick), "structure.brick")?;
                self.meshed(mesh, brick.ground)
            }
            StructureSource::Frame(frame) => {
                let mesh = self.keep(built_frame(frame), "structure.frame")?;
                self.meshed(mesh, frame.ground)
            }
            StructureSource::Matrices { mass, stiffness } => {
                let mass = self.sparse(mass, "structure.mass");
                let stiffness = self.sparse(stiffness, "structure.stiffness");
                let component = Component::undamped(mass?, stiffness?);
                self.keep(component, "structure").map(FullModel::of)
            }
            _ => {
                let built = self.built()?;
                let component = self.keep(Component::from_structure(&built), "structure")?;
                let named = built.names.iter().cloned().zip(0..);
                let points = named.filter(|(name, dof)| *name != (dof + 1).to_string()).collect();
                Some(FullModel { kinds: built.kinds, points, ..FullModel::of(component) })
            }
        }
    }

    fn meshed(&mut self, mut mesh: Mesh, ground: GroundDirection) -> Option<FullModel> {
        let influence = mesh.influence(ground.into());
        // The mesh keeps its nodes; its matrices move on.
        let none = SparseMatrix::zeros(0, 0);
        let empty = self.keep(Component::undamped(none.clone(), none), "structure")?;
        let component = std::mem::replace(&mut mesh.component, empty);
        let component = self.keep(component.with_influence(influence), "structure")?;
        Some(FullModel { mesh: Some(mesh), ..FullModel::of(component) })
    }

    fn with_damping(&mut self, component: Component) -> Option<Component> {
        const PATH: &str = "structure.damping";
        let size = component.size();
        match &self.declared().damping {
            None => Some(component),
            Some(DampingSource::Rayleigh(Rayleigh::Factors { mass_1_s, stiffness_s })) => {
                Some(component.with_rayleigh(*mass_1_s, *stiffness_s))
            }
            Some(DampingSource::Rayleigh(Rayleigh::Ratios { ratios, modes })) => {
                let omegas = frequencies(&component, modes[0].max(modes[1]));
                let omegas = self.keep(omegas, PATH)?;
                let (Some(&first), Some(&second)) =
                    (omegas.get(modes[0] - 1), omegas.get(modes[1] - 1))
                else {
                    let message = format!("the structure has only {} modes", omegas.len());
                    return self.refuse(PATH, Diagnostic::error(message));
                };
                // ζ = α/2ω + βω/2 at both.
                let determinant = second / first - first / second;
                let alpha = 2.0 * (ratios[0] * second - ratios[1] * first) / determinant;
                let beta = 2.0 * (ratios[1] / first - ratios[0] / second) / determinant;
                if !(alpha.is_finite() && beta.is_finite()) {
                    let error = Diagnostic::error("the two modes have one frequency, or none");
                    return self.refuse(PATH, error.remedy("choose two elastic modes that differ"));
                }
                Some(component.with_rayleigh(alpha, beta))
            }
            Some(DampingSource::Modal(ratios)) if size <= SMALL => {
                let last = ratios.last().copied().unwrap_or(0.0);
                let mut ratios = ratios.clone();
                ratios.resize(size.max(ratios.len()), last);
                let SecondOrder { mass, stiffness, .. } =
                    component.matrices.map(SparseMatrix::to_dense);
                let matrix = self.keep(damping::modal(&mass, &stiffness, &ratios), PATH)?;
                let damped = Component::from_dense(&mass, &matrix, &stiffness)
                    .and_then(|damped| damped.with_influence(component.influence));
                self.keep(damped, PATH)
            }
            Some(DampingSource::Modal(_)) => {
                let message = format!(
                    "modal damping of {size} DOFs would be a full matrix of {size} × {size}"
                );
                let remedy = "use `rayleigh`, with ratios of two modes or with both factors";
                self.refuse(PATH, Diagnostic::error(message).remedy(remedy))
            }
            Some(DampingSource::Matrix(source)) => {
                let damping = self.sparse(source, PATH)?;
                let damped = Component::new(SecondOrder { damping, ..component.matrices })
                    .and_then(|damped| damped.with_influence(component.influence));
                self.keep(damped, PATH)
            }
        }
    }

    fn with_points(&mut self, full: &mut FullModel) -> Option<()> {
        let Some(mesh) = &full.mesh else { return Some(()) };
        for (index, point) in self.declared().points.iter().enumerate() {
            let node = mesh.nearest(point.at_m);
            let Some(dof) = mesh.dof(node, point.direction) else {
                let [x, y, z] = mesh.nodes[node];
                let message = format!(
                    "the node nearest to \"{}\", at {x:.4} m, {y:.4} m, {z:.4} m, is held or has no \
                     such direction",
                    point.name
                );
                let error = Diagnostic::error(message).remedy("choose another place or direction");
                return self.refuse(&format!("structure.point[{}].at", index + 1), error);
            };
            full.points.push((point.name.clone(), dof));
        }
        Some(())
    }

    fn with_links(&mut self, full: FullModel) -> Option<FullModel> {
        let links = &self.declared().links;
        if links.is_empty() {
            return Some(full);
        }
        let size = full.component.size();
        let failed = RefCell::new(Vec::new());
        let index = |end: &NodeRef| {
            full.resolve(end.dof()?).map_err(|error| failed.borrow_mut().push(error)).ok()
        };
        let (mut springs, mut dampers, mut masses) = (Vec::new(), Vec::new(), Vec::new());
        for link in links {
            let ends = [(index(&link.between[0]), -1.0), (index(&link.between[1]), 1.0)];
            for (i, a) in ends {
                for (j, b) in ends {
                    if let (Some(i), Some(j)) = (i, j) {
                        springs.push((i, j, a * b * link.stiffness.unwrap_or(0.0)));
                        dampers.push((i, j, a * b * link.damping.unwrap_or(0.0)));
                    }
                }
            }
            masses.extend(ends[1].0.map(|dof| (dof, dof, link.mass.unwrap_or(0.0))));
        }
        let failed = failed.into_inner();
        if !failed.is_empty() {
            self.found.extend(failed);
            return None;
        }
        let mut component = full.component.clone();
        for (matrix, entries) in [
            (&mut component.matrices.stiffness, springs),
            (&mut component.matrices.damping, dampers),
            (&mut component.matrices.mass, masses),
        ] {
            let entries = entries.into_iter().filter(|&(_, _, value)| value != 0.0);
            let entries: Vec<_> = entries.collect();
            let added = SparseMatrix::from_triplets(size, size, entries);
            let added = self.keep(added, "structure.link")?;
            *matrix = SparseMatrix::sum(&[(1.0, matrix), (1.0, &added)]);
        }
        Some(FullModel { component, ..full })
    }

    fn sparse(&mut self, source: &MatrixSource, path: &str) -> Option<SparseMatrix> {
        let matrix = match source {
            MatrixSource::Diagonal(entries) => {
                let n = entries.len();
                let entries = entries.iter().enumerate().map(|(i, &value)| (i, i, value));
                SparseMatrix::from_triplets(n, n, entries)
            }
            MatrixSource::Whole(MatrixTable { unit, entries: Entries::File(name) })
                if is_matrix_market(name) =>
            {
                let read = self.input(name, path, input::matrix_market)?;
                self.check_filled(name, &read, path)?;
                let entries = read.entries.iter().map(|&(i, j, value)| (i, j, value * *unit));
                SparseMatrix::from_triplets(read.rows, read.columns, entries)
            }
            other => SparseMatrix::from_dense(&self.matrix(other, path)?),
        };
        let matrix = self.keep(matrix, path)?;
        if matrix.rows() != matrix.columns() {
            let (rows, columns) = (matrix.rows(), matrix.columns());
            let error = Diagnostic::error(format!("the matrix is {rows} × {columns}, not square"));
            return self.refuse(path, error.remedy("give one row and one column per DOF"));
        }
        Some(matrix)
    }

    /// Mass and stiffness without any entry are mistakes, and so is a stiffness
    /// that leaves most of its DOFs out. Dampers may be few.
    fn check_filled(&mut self, name: &str, read: &Triplets, path: &str) -> Option<()> {
        let (rows, entries) = (read.rows, read.entries.len());
        let fewest = match path {
            "structure.mass" => 1,
            "structure.stiffness" => 1.max(rows / 2),
            _ => 0,
        };
        // One that is not square is refused as such.
        if entries >= fewest || rows != read.columns {
            return Some(());
        }
        let message = format!("\"{name}\": {entries} entries cannot be the matrix of {rows} DOFs");
        let remedy = "check which matrix was written to it";
        self.refuse(path, Diagnostic::error(message).remedy(remedy))
    }
}

fn is_matrix_market(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".mtx")
}

/// The slowest elastic modes of a component, rad/s.
pub(crate) fn frequencies(component: &Component, count: usize) -> Result<Vec<f64>, ReductionError> {
    let stiffest = component.matrices.stiffness.diagonal();
    let at = (0..stiffest.len()).max_by(|&i, &j| stiffest[i].total_cmp(&stiffest[j])).unwrap_or(0);
    let recipe = Recipe {
        dampers: Dampers::Inside,
        ..Recipe::rubin(vec![at], ModeChoice::Number(count.min(component.size())))
    };
    let omegas = reduce(component, &recipe)?.model.omega_rad_s;
    Ok(omegas.into_iter().filter(|&omega| omega > 0.0).collect())
}

fn built_brick(brick: &Brick) -> Result<Mesh, ReductionError> {
    fem::brick(&fem::Brick {
        material: brick.material,
        size_m: brick.size_m,
        elements: brick.elements,
        held: brick.ends == BrickEnds::ClampedFree,
    })
}

/// Columns stand along z; their section's first edge is along x.
fn built_frame(frame: &Frame) -> Result<Mesh, ReductionError> {
    let [nx, ny] = frame.bays.map(|bays| bays + 1);
    let total = nx.saturating_mul(ny).saturating_mul(frame.storeys + 1);
    if total > 1_000_000 {
        let (name, value, requirement) = ("joints", total as f64, "at most 1000000");
        return Err(BadNumber { name, value, requirement }.into());
    }
    let joint = |i: usize, j: usize, k: usize| (k * ny + j) * nx + i;
    let mut nodes = Vec::new();
    let mut members = Vec::new();
    for k in 0..=frame.storeys {
        for j in 0..ny {
            for i in 0..nx {
                let here = joint(i, j, k);
                nodes.push([
                    i as f64 * frame.bay_m[0],
                    j as f64 * frame.bay_m[1],
                    k as f64 * frame.storey_m,
                ]);
                if k == 0 {
                    continue;
                }
                let mut member = |from: usize, section: usize| {
                    let elements = frame.elements;
                    members.push(Member { nodes: [from, here], section, elements });
                };
                member(joint(i, j, k - 1), 0);
                if i > 0 {
                    member(joint(i - 1, j, k), 1);
                }
                if j > 0 {
                    member(joint(i, j - 1, k), 1);
                }
            }
        }
    }
    fem::frame(&fem::Frame {
        material: frame.material,
        nodes,
        // `up` of a column is x, of a beam z.
        sections: vec![
            fem::FrameSection::rectangle(frame.column_m[1], frame.column_m[0]),
            fem::FrameSection::rectangle(frame.beam_m[0], frame.beam_m[1]),
        ],
        members,
        clamped: (0..nx * ny).collect(),
    })
}
