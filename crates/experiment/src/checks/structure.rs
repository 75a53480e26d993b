//! Checks of `[structure]` and `[partition]`: sizes, names, references.

use std::collections::BTreeMap;

use super::super::Experiment;
use super::super::component::{Components, Whole};
use super::super::diagnostic::{Diagnostic, shorten};
use super::super::dof::{DofLabel, DofRef, GROUND, NodeRef, resolve};
use super::super::element::{SpecimenPlace, StructureElement};
use super::super::excitation::{Excitation, Force};
use super::super::partition::{Interface, Partition, SpecimenMass};
use super::super::reduction::ReductionSpec;
use super::super::structure::{
    Beam, Chain, DampingSource, DampingTable, Entries, MatrixSource, MatrixTable, Rayleigh,
    ShearBuilding, Structure, StructureSource,
};
use super::{File, wrong_length};
use keys::tree::{Branch, Node};
use keys::value::{OneOrEach, Rows, key};
use keys::{Keys as _, Read};

/// Relative difference of mirrored entries that is not mere rounding.
const ASYMMETRY: f64 = 1e-6;

impl Structure {
    /// Sizes, names and points agree, and matrices are sound.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        check_sizes(self, branch, found);
        check_names(self, branch, found);
        super::mesh::check_points(self, branch, found);
        if let Some(size) = self.size() {
            check_damping(self, size, branch, found);
        }
        for (key, matrix) in self.matrices() {
            let table = matrix.and_then(MatrixSource::whole);
            found.extend(table.and_then(|table| check_matrix(table, key, branch)));
        }
    }
}

/// Everything that has an entry for each degree of freedom must have as many.
fn check_sizes(structure: &Structure, branch: &Branch, found: &mut Vec<Diagnostic>) {
    let sizes =
        structure.matrices().map(|(key, matrix)| (key, matrix.and_then(MatrixSource::size)));
    let names = (!structure.names.is_empty()).then_some(structure.names.len());
    let influence = structure.influence.as_ref().map(Vec::len);
    let listed =
        sizes.into_iter().chain([(Structure::NAMES, names), (Structure::INFLUENCE, influence)]);
    let mut known = match &structure.source {
        StructureSource::Matrices { .. } => None,
        built => built.size().map(|size| (size, "the structure")),
    };
    for (key, count) in listed.filter_map(|(key, count)| Some((key, count?))) {
        let (wanted, by) = *known.get_or_insert((count, key));
        let reason = format!("one per DOF; {by} has {wanted}");
        found.extend(wrong_length(branch, key, count, wanted, &reason));
    }
}

fn check_names(structure: &Structure, branch: &Branch, found: &mut Vec<Diagnostic>) {
    let mut seen = BTreeMap::new();
    let nodes = branch.list(Structure::NAMES).unwrap_or_default();
    for (number, (name, node)) in (1..).zip(structure.names.iter().zip(nodes)) {
        let shown = shorten(name);
        let (message, remedy) = if name == GROUND {
            ("\"ground\" is not a name for a DOF".to_owned(), "it means the ground itself")
        } else if name.parse::<i64>().is_ok() {
            (format!("the name \"{shown}\" is a number"), "a number means a DOF by its place")
        } else if let Some(first) = seen.insert(name, number) {
            let message = format!("\"{shown}\" is the name of DOF {first} and of DOF {number}");
            (message, "give every DOF its own name")
        } else {
            continue;
        };
        found.push(node.error(message).remedy(remedy));
    }
}

fn check_damping(structure: &Structure, size: usize, branch: &Branch, found: &mut Vec<Diagnostic>) {
    let Some(table) = branch.table(Structure::DAMPING) else { return };
    match &structure.damping {
        Some(DampingSource::Modal(ratios)) if ratios.len() > size => {
            let message = format!("{} modal ratios, but {size} modes", ratios.len());
            let error = table.error(DampingTable::MODAL, message);
            found.push(error.remedy("leave out the last ones"));
        }
        Some(DampingSource::Rayleigh(Rayleigh::Ratios { modes, .. })) => {
            let nodes = table.table(DampingTable::RAYLEIGH).and_then(|it| it.list(Rayleigh::MODES));
            for (node, mode) in nodes.unwrap_or_default().iter().zip(modes) {
                if *mode > size {
                    let error = node.error(format!("there is no mode {mode}"));
                    found.push(error.remedy(format!("the structure has {size} modes")));
                }
            }
        }
        _ => {}
    }
}

impl Rayleigh {
    /// The ratios are those of two modes.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        if let Self::Ratios { modes: [first, second], .. } = self
            && first == second
        {
            let error = branch.error(Self::MODES, format!("mode {first} is given twice"));
            found.push(error.remedy("give two different modes"));
        }
    }
}

impl ShearBuilding {
    /// How many storeys there are is known, and all lists have as many entries.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let Some(storeys) = self.storeys() else {
            let error = Diagnostic::error("the number of storeys is not known");
            found.push(error.at(branch.span.clone()).remedy("add `storeys`, or write lists"));
            return;
        };
        let lists = [
            (Self::MASS, Some(&self.mass)),
            (Self::STIFFNESS, Some(&self.stiffness)),
            (Self::DAMPING, self.damping.as_ref()),
        ];
        for (key, values) in lists {
            if let Some(OneOrEach::Each(list)) = values {
                found.extend(wrong_length(branch, key, list.len(), storeys, "one per storey"));
            }
        }
    }
}

impl Chain {
    /// There are as many springs and dampers as the masses and the ends ask for.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let masses = self.mass.len();
        let springs = self.ends.springs(masses);
        let ends = branch.word(Self::ENDS).unwrap_or_default();
        let reason = format!("as {masses} masses with ends = \"{ends}\" have");
        let lists =
            [(Self::STIFFNESS, Some(&self.stiffness)), (Self::DAMPING, self.damping.as_ref())];
        for (key, list) in lists.into_iter().filter_map(|(key, list)| Some((key, list?))) {
            found.extend(wrong_length(branch, key, list.len(), springs, &reason));
        }
    }
}

impl Beam {
    /// Something of it can move.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        if self.size() == 0 {
            let error = Diagnostic::error("a clamped beam of one element cannot move");
            found.push(error.at(branch.span.clone()).remedy("use more elements"));
        }
    }
}

impl Partition {
    /// Its matrices fit the interface, and its elements act there.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let count = self.interface.len();
        let mass = match &self.mass {
            Some(SpecimenMass::Whole(table)) => Some(table),
            _ => None,
        };
        for (key, table) in [
            (Self::MASS, mass),
            (Self::DAMPING, self.damping.as_ref().and_then(MatrixSource::whole)),
            (Self::STIFFNESS, self.stiffness.as_ref().and_then(MatrixSource::whole)),
        ] {
            let Some(table) = table else { continue };
            found.extend(check_matrix(table, key, branch));
            if let Some(rows) = table.rows() {
                found.extend(wrong_length(branch, key, rows, count, "a row per interface DOF"));
            }
        }
        for (element, table) in self.elements.iter().zip(branch.tables(Self::ELEMENTS)) {
            if let SpecimenPlace::At(at) = element.place
                && at > count
            {
                let error =
                    table.error(SpecimenPlace::AT, format!("there is no interface DOF {at}"));
                found.push(error.remedy(format!("`interface` lists {count}")));
            }
        }
        let own = [Self::INSIDE, Self::MASS, Self::DAMPING, Self::STIFFNESS];
        for key in own.into_iter().filter(|_| !self.components.is_empty()) {
            if let Some(given) = branch.given(key) {
                let message = format!("`{key}` and `component` overlap");
                let remedy =
                    "remove it: what stands in the laboratory is all that its component has";
                found.push(given.error(message).remedy(remedy));
            }
        }
        let matrices = self.mass.is_some() || self.damping.is_some() || self.stiffness.is_some();
        let matrices = matrices || !self.components.is_empty();
        if !matrices && self.elements.is_empty() && self.inside.is_empty() {
            let message = "the specimen has neither mass, damping nor stiffness";
            let warning = Diagnostic::warning(message).at(branch.span.clone());
            let remedy = "state what is expected of it: a rehearsal would measure no force";
            found.push(warning.remedy(remedy));
        }
    }
}

/// A matrix written out must stay finite in SI and ought to be symmetric.
fn check_matrix(table: &MatrixTable, key: &str, section: &Branch) -> Option<Diagnostic> {
    let Entries::Rows(Rows { size, entries }) = &table.entries else { return None };
    let node = section.table(key)?.node(Entries::ROWS)?;
    let largest = entries.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    if !(largest * table.unit).is_finite() {
        let error = node.error("an entry is too large for a number in SI");
        return Some(error.remedy("check the exponents and the unit"));
    }
    let pairs = (0..*size).flat_map(|row| (0..row).map(move |column| (row, column)));
    let mirrored = |(row, column)| (entries[row * size + column], entries[column * size + row]);
    let (row, column) = pairs.into_iter().find(|&pair| {
        let (below, above) = mirrored(pair);
        (below - above).abs() > ASYMMETRY * largest
    })?;
    let (below, above) = mirrored((row, column));
    let (row, column) = (row + 1, column + 1);
    let warning = node.warning(format!(
        "the {key} matrix is not symmetric: {above} in row {column}, {below} in row {row}"
    ));
    Some(warning.remedy(format!("compare row {row} with column {row}")))
}

/// The ends of an interface DOF and where it stands.
type Ends<'a> = (&'a Node, [NodeRef; 2]);

/// The degrees of freedom that the file calls outside its structure, those of the interface apart.
fn called<'a>(file: &File<'a>) -> (Vec<DofRef>, Vec<Ends<'a>>) {
    let listed =
        |section, list| file.section(section).and_then(|it| it.list(list)).unwrap_or_default();
    let interface = listed(Experiment::PARTITION, Partition::INTERFACE).iter();
    let interface =
        interface.filter_map(|node| Some((node, Interface::read(node)?.ends()))).collect();
    let mut dofs: Vec<DofRef> = Vec::new();
    for (section, list) in [
        (Experiment::PARTITION, Partition::INSIDE),
        (Experiment::REDUCTION, ReductionSpec::RETAIN),
        (Experiment::REDUCTION, ReductionSpec::MONITOR),
    ] {
        dofs.extend(listed(section, list).iter().filter_map(DofRef::read));
    }
    let forces = listed(Experiment::EXCITATION, Excitation::FORCES).iter().filter_map(Node::table);
    dofs.extend(forces.filter_map(|force| key::<DofRef>(force, Force::DOF)));
    (dofs, interface)
}

/// Every degree of freedom the file refers to must exist, and two ends must differ.
pub(super) fn check_references(file: &File<'_>, found: &mut Vec<Diagnostic>) {
    let Some(structure) = file.section(Whole::STRUCTURE) else {
        if file.root.mentions(Components::COMPONENTS) {
            let (dofs, ends) = called(file);
            let ends = ends.iter().flat_map(|(_, ends)| ends).filter_map(NodeRef::dof).cloned();
            super::component::check(file, &dofs.into_iter().chain(ends).collect::<Vec<_>>(), found);
        }
        return;
    };
    if let Some(given) = file
        .section(Experiment::PARTITION)
        .and_then(|partition| partition.given(Partition::COMPONENTS))
    {
        let error = given.error("the structure has no components");
        found.push(error.remedy("list DOFs in `inside`, or give `mass` and `stiffness`"));
    }
    // With something else wrong in the structure its size may be known all the same.
    let Some(source) = StructureSource::read_table(structure) else { return };
    let Some(names) = key::<Vec<String>>(structure, Structure::NAMES) else { return };
    let size = match Structure::read_table(structure) {
        Some(whole) => whole.size(),
        None => source.size().or((!names.is_empty()).then_some(names.len())),
    };
    // Without a size only names can be checked, and they need a list of names; the
    // names of a mesh are its builder's business.
    let known = |dof: &DofRef| match size {
        _ if source.is_mesh() && matches!(dof.label, DofLabel::Name(_)) => Ok(None),
        Some(size) => resolve(dof, &names, size).map(Some),
        None if matches!(dof.label, DofLabel::Number(_)) => Ok(None),
        None => resolve(dof, &names, names.len()).map(Some),
    };
    // Where an end is; `None` if that is not known.
    let index = |end: &NodeRef| match end {
        NodeRef::Ground => Some(None),
        NodeRef::Dof(dof) => known(dof).ok().flatten().map(Some),
    };
    let elements = structure.tables(Structure::ELEMENTS).chain(structure.tables(Structure::LINKS));
    let elements = elements.filter_map(|element| element.node(StructureElement::BETWEEN));
    let elements: Vec<_> = elements.filter_map(|node| Some((node, Read::read(node)?))).collect();
    let (mut dofs, interface) = called(file);
    let ends = elements.iter().chain(&interface).flat_map(|(_, ends)| ends);
    dofs.extend(ends.filter_map(NodeRef::dof).cloned());
    found.extend(dofs.iter().filter_map(|dof| known(dof).err()));

    // Two ends at the same place never move apart.
    let together = |[from, to]: &[NodeRef; 2]| index(from).is_some() && index(from) == index(to);
    for (pairs, message) in [
        (&elements, "both ends of the element are at the same place"),
        (&interface, "the deformation is between a DOF and itself"),
    ] {
        let same = pairs.iter().filter(|(_, ends)| together(ends));
        found.extend(same.map(|(node, _)| node.error(message).remedy("give two different ends")));
    }
    // An interface DOF may be listed once, whatever it is called.
    let mut seen = Vec::new();
    for (node, [from, to]) in &interface {
        let (Some(from), Some(to)) = (index(from), index(to)) else { continue };
        if seen.contains(&(from, to)) || seen.contains(&(to, from)) {
            let error = node.error("this interface DOF is listed twice");
            found.push(error.remedy("list every interface DOF once"));
        }
        seen.push((from, to));
    }
}
