//! Checks of meshes, their points and `[reduction]`.

use super::super::Experiment;
use super::super::diagnostic::{Diagnostic, Diagnostics, shorten};
use super::super::dof::GROUND;
use super::super::mesh::{Brick, Frame, Point};
use super::super::partition::Partition;
use super::super::reduction::{ModeSpec, ReductionMethod, ReductionSpec};
use super::super::structure::{Structure, StructureSource};
use keys::Keys as _;
use keys::tree::Branch;
use keys::value::key;

/// DOFs of a mesh beyond which it must be reduced.
const MOST_FULL: usize = 1500;
/// DOFs of the largest mesh.
const MOST_MESHED: usize = 3_000_000;

/// Whether the structure is a mesh, whose DOFs have names of their own.
pub(super) fn is_meshed(root: &Branch) -> bool {
    let mentions = |structure: &Branch| {
        structure.mentions(StructureSource::BRICK) || structure.mentions(StructureSource::FRAME)
    };
    root.table(Experiment::STRUCTURE).is_some_and(mentions)
}

/// Degrees of freedom of a mesh without errors.
pub(super) fn size(structure: &Branch) -> Option<usize> {
    if let Some(brick) = structure.table(StructureSource::BRICK) {
        return Brick::read_table(brick).map(|brick| brick.size());
    }
    Frame::read_table(structure.table(StructureSource::FRAME)?).map(|frame| frame.size())
}

pub(super) fn check(root: &Branch, size: Option<usize>, out: &mut Diagnostics) {
    let Some(structure) = root.table(Experiment::STRUCTURE) else { return };
    if let Some(size) = size.filter(|_| is_meshed(root)) {
        let mesh =
            structure.table(StructureSource::BRICK).or(structure.table(StructureSource::FRAME));
        let span = mesh.map_or(structure.span.clone(), |mesh| mesh.span.clone());
        if size > MOST_MESHED {
            let message = format!("the mesh has {size} DOFs, at most {MOST_MESHED} are built");
            let error = Diagnostic::error(message).remedy("use fewer elements");
            out.push(error.at(span));
        } else if size > MOST_FULL && !root.mentions(Experiment::REDUCTION) {
            let message = format!("the mesh has {size} DOFs, too many for the loop");
            let error = Diagnostic::error(message)
                .remedy("add [reduction], such as cut_off = \"500 Hz\", or use fewer elements");
            out.push(error.at(span));
        }
    }
    check_points(root, structure, out);
    if let Some(reduction) = root.table(Experiment::REDUCTION) {
        check_method(reduction, out);
    }
    if root.mentions(Experiment::REDUCTION)
        && let Some(inside) =
            root.table(Experiment::PARTITION).and_then(|p| p.given(Partition::INSIDE))
    {
        let error = Diagnostic::error("`inside` does not go with [reduction]");
        let remedy = "give the specimen's mass, damping and stiffness at the interface instead";
        out.push(error.at(inside.span.clone()).remedy(remedy));
    }
}

/// What goes with which method.
fn check_method(reduction: &Branch, out: &mut Diagnostics) {
    let Some(word) = reduction.word(ReductionSpec::METHOD) else { return };
    let Some(method) = key::<ReductionMethod>(reduction, ReductionSpec::METHOD) else { return };
    let states = method == ReductionMethod::StateSpace;
    let other = states || method == ReductionMethod::DualCraigBampton;
    if let (true, Some(error)) = (other, reduction.given(ModeSpec::ERROR)) {
        let message = format!("`error` does not go with method = \"{word}\"");
        let remedy = "give `cut_off` or `modes`";
        out.push(Diagnostic::error(message).at(error.span.clone()).remedy(remedy));
    }
    if let (false, Some(given)) = (states, reduction.given(ReductionSpec::COMPLETION)) {
        let message = format!("`completion` does not go with method = \"{word}\"");
        let remedy = "remove it, or take method = \"state_space\"";
        out.push(Diagnostic::error(message).at(given.span.clone()).remedy(remedy));
    }
}

fn check_points(root: &Branch, structure: &Branch, out: &mut Diagnostics) {
    let mut seen: Vec<&str> = Vec::new();
    for point in structure.tables(Structure::POINTS) {
        if !is_meshed(root) {
            let error = Diagnostic::error("a point needs a `brick` or `frame`");
            let remedy = "give the DOF's number, or a name in `names`";
            out.push(error.at(point.span.clone()).remedy(remedy));
            return;
        }
        let Some((node, name)) =
            point.node(Point::NAME).and_then(|node| Some((node, node.text()?)))
        else {
            continue;
        };
        let error = if name == GROUND || name.parse::<i64>().is_ok() {
            Some("neither a number nor \"ground\" names a point".to_owned())
        } else if seen.contains(&name) {
            Some(format!("two points are called \"{}\"", shorten(name)))
        } else {
            None
        };
        if let Some(message) = error {
            let remedy = "give every point a name of its own";
            out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
        }
        seen.push(name);
    }
}
