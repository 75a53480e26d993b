//! Checks of meshes, their points and `[reduction]`.

use super::super::Experiment;
use super::super::component::{Component, Components, Whole};
use super::super::diagnostic::{Diagnostic, shorten};
use super::super::dof::GROUND;
use super::super::mesh::Point;
use super::super::partition::Partition;
use super::super::reduction::{ModeSpec, ReductionMethod, ReductionSpec};
use super::super::structure::{Structure, StructureSource};
use super::File;
use keys::Keys as _;
use keys::tree::Branch;

/// DOFs of a mesh beyond which it must be reduced.
const MOST_FULL: usize = 1500;
/// DOFs of the largest mesh.
const MOST_MESHED: usize = 3_000_000;

/// A mesh is not too large, and what is reduced has no DOFs inside the specimen.
pub(super) fn check_size(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let reduced = file.root.mentions(Experiment::REDUCTION);
    if let Some(structure) = file.section(Whole::STRUCTURE) {
        check_mesh(structure, reduced, found);
    }
    for component in file.root.tables(Components::COMPONENTS) {
        check_mesh(component, component.mentions(Component::REDUCTION), found);
    }
    if let Some(partition) = file.section(Experiment::PARTITION)
        && let (true, Some(inside)) = (reduced, partition.given(Partition::INSIDE))
    {
        let error = inside.error("`inside` does not go with [reduction]");
        let remedy = "give the specimen's mass, damping and stiffness at the interface instead";
        found.push(error.remedy(remedy));
    }
}

/// A mesh is not too large.
fn check_mesh(structure: &Branch, reduced: bool, found: &mut Vec<Diagnostic>) {
    let Some(source) = StructureSource::read_table(structure).filter(StructureSource::is_mesh)
    else {
        return;
    };
    let Some(size) = source.size() else { return };
    let brick = structure.mentions(StructureSource::BRICK);
    let key = if brick { StructureSource::BRICK } else { StructureSource::FRAME };
    if size > MOST_MESHED {
        let message = format!("the mesh has {size} DOFs, at most {MOST_MESHED} are built");
        found.push(structure.error(key, message).remedy("use fewer elements"));
    } else if size > MOST_FULL && !reduced {
        let message = format!("the mesh has {size} DOFs, too many for the loop");
        let remedy = "add [reduction], such as cut_off = \"500 Hz\", or use fewer elements";
        found.push(structure.error(key, message).remedy(remedy));
    }
}

impl ReductionSpec {
    /// What goes with which method.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let word = branch.word(Self::METHOD).unwrap_or_default();
        let states = self.method == ReductionMethod::StateSpace;
        let by_error = matches!(self.modes, ModeSpec::Error { .. });
        if by_error && (states || self.method == ReductionMethod::DualCraigBampton) {
            let message = format!("`error` does not go with method = \"{word}\"");
            found.push(branch.error(ModeSpec::ERROR, message).remedy("give `cut_off` or `modes`"));
        }
        if !states && let Some(given) = branch.given(Self::COMPLETION) {
            let message = format!("`completion` does not go with method = \"{word}\"");
            let remedy = "remove it, or take method = \"state_space\"";
            found.push(given.error(message).remedy(remedy));
        }
    }
}

/// Points name DOFs of a mesh, each by a name of its own.
pub(super) fn check_points(structure: &Structure, branch: &Branch, found: &mut Vec<Diagnostic>) {
    let points = structure.points.iter().zip(branch.tables(Structure::POINTS));
    for (index, (Point { name, .. }, table)) in points.enumerate() {
        if !structure.source.is_mesh() {
            let error = Diagnostic::error("a point needs a `brick` or `frame`");
            let remedy = "give the DOF's number, or a name in `names`";
            found.push(error.at(table.span.clone()).remedy(remedy));
            return;
        }
        let message = if name == GROUND || name.parse::<i64>().is_ok() {
            "neither a number nor \"ground\" names a point".to_owned()
        } else if structure.points[..index].iter().any(|other| other.name == *name) {
            format!("two points are called \"{}\"", shorten(name))
        } else {
            continue;
        };
        found.push(table.error(Point::NAME, message).remedy("give every point a name of its own"));
    }
}
