//! Checks of `[structure]` and `[partition]`: sizes, names, references.

use std::collections::BTreeMap;

use super::super::Experiment;
use super::super::diagnostic::{Diagnostic, Diagnostics, shorten};
use super::super::dof::{DofLabel, DofRef, GROUND, NodeRef, resolve};
use super::super::element::{SpecimenPlace, StructureElement};
use super::super::excitation::{Excitation, Force};
use super::super::partition::{Deformation, Interface, Partition};
use super::super::reduction::ReductionSpec;
use super::super::structure::{
    Beam, BeamEnds, Chain, ChainEnds, DampingTable, Entries, MatrixTable, Rayleigh, ShearBuilding,
    Structure, StructureSource,
};
use super::{expect_length, interface};
use keys::Read as _;
use keys::tree::{Branch, Node, Value};
use keys::value::key;

/// Relative difference of mirrored entries that is not mere rounding.
const ASYMMETRY: f64 = 1e-6;

pub(super) fn check(root: &Branch, out: &mut Diagnostics) {
    let mut size = None;
    let mut names = Vec::new();
    if let Some(structure) = root.table(Experiment::STRUCTURE) {
        check_building(structure, out);
        check_chain(structure, out);
        size = check_sizes(structure, out);
        names = check_names(structure, out);
        size = size.or((!names.is_empty()).then_some(names.len()));
        check_damping(structure, size, out);
        for key in [StructureSource::MASS, StructureSource::STIFFNESS, Structure::DAMPING] {
            check_matrix(structure, key, out);
        }
    }
    super::mesh::check(root, size, out);
    check_references(root, &names, size, out);
    check_partition(root, out);
}

/// The number of degrees of freedom, after reporting who disagrees about it.
fn check_sizes(structure: &Branch, out: &mut Diagnostics) -> Option<usize> {
    let built = built_size(structure, out);
    let listed = [
        StructureSource::STIFFNESS,
        StructureSource::MASS,
        Structure::DAMPING,
        Structure::NAMES,
        Structure::INFLUENCE,
    ]
    .map(|key| structure.node(key).and_then(|node| Some((key, node, written_size(node)?))));
    let mut size = built.map(|size| (size, "the structure"));
    for (key, node, count) in listed.into_iter().flatten() {
        match size {
            None => size = Some((count, key)),
            Some((wanted, by)) => {
                let reason = format!("one per DOF; {by} has {wanted}");
                expect_length(out, node, key, count, wanted, &reason);
            }
        }
    }
    size.map(|(size, _)| size)
}

/// Degrees of freedom of a building, chain or beam.
fn built_size(structure: &Branch, out: &mut Diagnostics) -> Option<usize> {
    if let Some(building) = structure.table(StructureSource::SHEAR_BUILDING) {
        return ShearBuilding::storeys_of(building);
    }
    if let Some(chain) = structure.table(StructureSource::CHAIN) {
        return chain.list(Chain::MASS).map(<[Node]>::len);
    }
    if let Some(size) = super::mesh::size(structure) {
        return Some(size);
    }
    let beam = structure.table(StructureSource::BEAM)?;
    let ends: BeamEnds = key(beam, Beam::ENDS)?;
    let size = ends.free(key(beam, Beam::ELEMENTS)?);
    if size == 0 {
        let error = Diagnostic::error("a clamped beam of one element cannot move");
        out.push(error.at(beam.span.clone()).remedy("use more elements"));
        return None;
    }
    Some(size)
}

/// Entries of a list, or rows of a matrix that is written out.
fn written_size(node: &Node) -> Option<usize> {
    if let Some(list) = node.list() {
        return Some(list.len());
    }
    match node.table()?.node(Entries::ROWS)?.value {
        Value::Rows { size, .. } => Some(size),
        _ => None,
    }
}

fn check_building(structure: &Branch, out: &mut Diagnostics) {
    let Some(building) = structure.table(StructureSource::SHEAR_BUILDING) else { return };
    let Some(count) = ShearBuilding::storeys_of(building) else {
        // With a value missing or wrong, how many storeys there are is not the question.
        let sound = building.refused.is_empty() && building.number(ShearBuilding::MASS).is_some();
        if sound && building.number(ShearBuilding::STIFFNESS).is_some() {
            let error = Diagnostic::error("the number of storeys is not known");
            out.push(error.at(building.span.clone()).remedy("add `storeys`, or write lists"));
        }
        return;
    };
    for key in ShearBuilding::LISTS {
        if let Some((node, list)) = building.node(key).and_then(|node| Some((node, node.list()?))) {
            expect_length(out, node, key, list.len(), count, "one per storey");
        }
    }
}

fn check_chain(structure: &Branch, out: &mut Diagnostics) {
    let Some(chain) = structure.table(StructureSource::CHAIN) else { return };
    let (Some(masses), Some(ends)) = (chain.list(Chain::MASS), chain.word(Chain::ENDS)) else {
        return;
    };
    let Some(held) = key::<ChainEnds>(chain, Chain::ENDS) else { return };
    let springs = held.springs(masses.len());
    for key in [Chain::STIFFNESS, Chain::DAMPING] {
        if let Some((node, list)) = chain.node(key).and_then(|node| Some((node, node.list()?))) {
            let reason = format!("as {} masses with ends = \"{ends}\" have", masses.len());
            expect_length(out, node, key, list.len(), springs, &reason);
        }
    }
}

fn check_names(structure: &Branch, out: &mut Diagnostics) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = BTreeMap::new();
    for (index, node) in structure.list(Structure::NAMES).unwrap_or_default().iter().enumerate() {
        let Some(name) = node.text() else { continue };
        let shown = shorten(name);
        let error = if name == GROUND {
            Some(("\"ground\" is not a name for a DOF".to_owned(), "it means the ground itself"))
        } else if name.parse::<i64>().is_ok() {
            Some((format!("the name \"{shown}\" is a number"), "a number means a DOF by its place"))
        } else if let Some(first) = seen.insert(name, index + 1) {
            let message =
                format!("\"{shown}\" is the name of DOF {first} and of DOF {}", index + 1);
            Some((message, "give every DOF its own name"))
        } else {
            None
        };
        if let Some((message, remedy)) = error {
            out.push(Diagnostic::error(message).at(node.span.clone()).remedy(remedy));
        }
        names.push(name.to_owned());
    }
    names
}

fn check_damping(structure: &Branch, size: Option<usize>, out: &mut Diagnostics) {
    let Some(damping) = structure.table(Structure::DAMPING) else { return };
    if let (Some(node), Some(size)) = (damping.node(DampingTable::MODAL), size)
        && let Some(list) = node.list().filter(|list| list.len() > size)
    {
        let message = format!("{} modal ratios, but {size} modes", list.len());
        out.push(
            Diagnostic::error(message).at(node.span.clone()).remedy("leave out the last ones"),
        );
    }
    let Some(modes) =
        damping.table(DampingTable::RAYLEIGH).and_then(|rayleigh| rayleigh.node(Rayleigh::MODES))
    else {
        return;
    };
    let Some(list) = modes.list() else { return };
    let counts: Vec<u64> = list.iter().filter_map(Node::count).collect();
    if counts.len() == 2 && counts[0] == counts[1] {
        let error = Diagnostic::error(format!("mode {} is given twice", counts[0]));
        out.push(error.at(modes.span.clone()).remedy("give two different modes"));
    }
    for (node, &mode) in list.iter().zip(&counts) {
        if let Some(size) = size.filter(|&size| mode > size as u64) {
            let error = Diagnostic::error(format!("there is no mode {mode}"));
            out.push(error.at(node.span.clone()).remedy(format!("the structure has {size} modes")));
        }
    }
}

/// A matrix written out must stay finite in SI and ought to be symmetric.
fn check_matrix(section: &Branch, key: &str, out: &mut Diagnostics) {
    let Some(table) = section.table(key) else { return };
    let Some(node) = table.node(Entries::ROWS) else { return };
    let Value::Rows { size, entries } = &node.value else { return };
    let largest = entries.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    if !(largest * table.number(MatrixTable::UNIT).unwrap_or(1.0)).is_finite() {
        let error = Diagnostic::error("an entry is too large for a number in SI");
        out.push(error.at(node.span.clone()).remedy("check the exponents and the unit"));
        return;
    }
    for row in 0..*size {
        for column in 0..row {
            let (below, above) = (entries[row * size + column], entries[column * size + row]);
            if (below - above).abs() > ASYMMETRY * largest {
                let message = format!(
                    "the {key} matrix is not symmetric: {above} in row {}, {below} in row {}",
                    column + 1,
                    row + 1
                );
                let remedy = format!("compare row {} with column {0}", row + 1);
                out.push(Diagnostic::warning(message).at(node.span.clone()).remedy(remedy));
                return;
            }
        }
    }
}

/// Every degree of freedom the file refers to must exist.
fn check_references(root: &Branch, names: &[String], size: Option<usize>, out: &mut Diagnostics) {
    let meshed = super::mesh::is_meshed(root);
    // Without a size only names can be checked, and they need a list of names; the
    // names of a mesh are its builder's business.
    let known = |dof: &DofRef| match size {
        _ if meshed && matches!(dof.label, DofLabel::Name(_)) => Ok(None),
        Some(size) => resolve(dof, names, size).map(Some),
        None if matches!(dof.label, DofLabel::Number(_)) => Ok(None),
        None => resolve(dof, names, names.len()).map(Some),
    };
    let references = references(root);
    let dofs = references.iter().filter_map(|node| DofRef::read(node));
    out.extend(dofs.filter_map(|dof| known(&dof).err()));
    let interface = interface(root);
    // Two ends at the same place never move apart.
    let index = |node: &NodeRef| match node {
        NodeRef::Ground => Some(None),
        NodeRef::Dof(dof) => known(dof).ok().flatten().map(Some),
    };
    let apart =
        |a: &NodeRef, b: &NodeRef| index(a).is_none() || index(b).is_none() || index(a) != index(b);
    check_ends(root, &apart, out);
    check_interface(interface.unwrap_or_default(), &index, out);
}

/// Everything in the file that means a degree of freedom.
fn references(root: &Branch) -> Vec<&Node> {
    let structure = root.table(Experiment::STRUCTURE).into_iter();
    let elements =
        structure.flat_map(|s| s.tables(Structure::ELEMENTS).chain(s.tables(Structure::LINKS)));
    let mut ends: Vec<&Node> = elements
        .flat_map(|element| element.list(StructureElement::BETWEEN).unwrap_or_default())
        .collect();
    let mut dofs = Vec::new();
    let interface = interface(root);
    for node in interface.unwrap_or_default() {
        match node.table() {
            Some(table) => ends.extend(
                [Deformation::FROM, Deformation::TO].iter().filter_map(|key| table.node(key)),
            ),
            None => dofs.push(node),
        }
    }
    let inside =
        root.table(Experiment::PARTITION).and_then(|partition| partition.list(Partition::INSIDE));
    dofs.extend(inside.unwrap_or_default());
    let forces =
        root.table(Experiment::EXCITATION).into_iter().flat_map(|e| e.tables(Excitation::FORCES));
    dofs.extend(forces.filter_map(|force| force.node(Force::DOF)));
    for key in [ReductionSpec::RETAIN, ReductionSpec::MONITOR] {
        let listed = root.table(Experiment::REDUCTION).and_then(|reduction| reduction.list(key));
        dofs.extend(listed.unwrap_or_default());
    }
    dofs.extend(ends.into_iter().filter(|node| node.text() != Some(GROUND)));
    dofs
}

fn check_ends(root: &Branch, apart: &dyn Fn(&NodeRef, &NodeRef) -> bool, out: &mut Diagnostics) {
    let structure = root.table(Experiment::STRUCTURE).into_iter();
    let elements =
        structure.flat_map(|s| s.tables(Structure::ELEMENTS).chain(s.tables(Structure::LINKS)));
    for node in elements.filter_map(|element| element.node(StructureElement::BETWEEN)) {
        let ends: Vec<NodeRef> =
            node.list().unwrap_or_default().iter().filter_map(NodeRef::read).collect();
        if let [first, second] = ends.as_slice()
            && !apart(first, second)
        {
            let error = Diagnostic::error("both ends of the element are at the same place");
            out.push(error.at(node.span.clone()).remedy("give two different ends"));
        }
    }
    let interface = interface(root);
    for node in interface.unwrap_or_default() {
        if let Some(Interface::Deformation(Deformation { from, to })) = Interface::read(node)
            && !apart(&from, &to)
        {
            let error = Diagnostic::error("the deformation is between a DOF and itself");
            out.push(error.at(node.span.clone()).remedy("give two different ends"));
        }
    }
}

/// An interface degree of freedom may be listed once, whatever it is called.
fn check_interface(
    interface: &[Node],
    index: &dyn Fn(&NodeRef) -> Option<Option<usize>>,
    out: &mut Diagnostics,
) {
    let mut seen: Vec<(Option<usize>, Option<usize>)> = Vec::new();
    for node in interface {
        let ends = match Interface::read(node) {
            Some(Interface::Dof(dof)) => Some(None).zip(index(&NodeRef::Dof(dof))),
            Some(Interface::Deformation(Deformation { from, to })) => index(&from).zip(index(&to)),
            None => None,
        };
        let Some((from, to)) = ends else { continue };
        if seen.contains(&(from, to)) || seen.contains(&(to, from)) {
            let error = Diagnostic::error("this interface DOF is listed twice");
            out.push(error.at(node.span.clone()).remedy("list every interface DOF once"));
        }
        seen.push((from, to));
    }
}

fn check_partition(root: &Branch, out: &mut Diagnostics) {
    let Some(partition) = root.table(Experiment::PARTITION) else { return };
    let count = partition.list(Partition::INTERFACE).map(<[Node]>::len);
    for key in [Partition::MASS, Partition::DAMPING, Partition::STIFFNESS] {
        check_matrix(partition, key, out);
        let Some((node, count)) = partition.node(key).zip(count) else { continue };
        let rows = node.table().and_then(|_| written_size(node));
        if let Some(rows) = rows {
            expect_length(out, node, key, rows, count, "a row per interface DOF");
        }
    }
    for at in
        partition.tables(Partition::ELEMENTS).filter_map(|element| element.node(SpecimenPlace::AT))
    {
        if let (Some(number), Some(count)) = (at.count(), count)
            && number > count as u64
        {
            let error = Diagnostic::error(format!("there is no interface DOF {number}"));
            out.push(error.at(at.span.clone()).remedy(format!("`interface` lists {count}")));
        }
    }
    let parts = [
        Partition::MASS,
        Partition::DAMPING,
        Partition::STIFFNESS,
        Partition::ELEMENTS,
        Partition::INSIDE,
    ];
    if count.is_some() && !parts.iter().any(|key| partition.mentions(key)) {
        let warning = Diagnostic::warning("the specimen has neither mass, damping nor stiffness")
            .remedy("state what is expected of it: a rehearsal would measure no force");
        out.push(warning.at(partition.span.clone()));
    }
}
