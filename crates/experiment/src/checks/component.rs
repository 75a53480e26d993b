//! Checks of `[[component]]` and `[[joint]]`, and of what is called by them.

use super::super::component::{Component, Components, Joint};
use super::super::diagnostic::{Diagnostic, shorten};
use super::super::dof::{DofLabel, DofRef, GROUND, NodeRef};
use super::super::partition::Partition;
use super::super::spelling::nearest;
use super::super::structure::StructureSource;
use super::File;
use keys::Keys;
use keys::tree::Branch;

impl Component {
    /// Its name serves as the first half of names.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let name = &self.name;
        if name == GROUND || name.contains('.') || name.parse::<i64>().is_ok() {
            let message = format!("\"{}\" is no name for a component", shorten(name));
            let remedy = "use a word without a full stop: its DOFs are called \"word.dof\"";
            found.push(branch.error(Self::NAME, message).remedy(remedy));
        }
    }
}

impl Joint {
    /// A joint holds something, and an arm has something to turn it.
    pub(crate) fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        match self {
            Self::Rigid { rigid: [first, second], arm_m, about, .. } => {
                if first.label == second.label {
                    let message = format!("the joint is between \"{first}\" and itself");
                    found.push(branch.error(Self::RIGID, message).remedy("give two DOFs"));
                }
                let (key, lacks) = match (arm_m, about) {
                    (Some(_), None) => (Self::ARM_M, Self::ABOUT),
                    (None, Some(_)) => (Self::ABOUT, Self::ARM_M),
                    _ => return,
                };
                let message = format!("`{key}` needs `{lacks}` beside it");
                let remedy = "write arm = \"0.2 m\" and about = \"component.rotation\"";
                found.push(branch.error(key, message).remedy(remedy));
            }
            Self::Elastic { between: [first, second], stiffness, damping, element } => {
                let label = |end: &NodeRef| end.dof().map(|dof| dof.label.clone());
                if label(first) == label(second) {
                    let message = "both ends of the joint are at the same place";
                    let error = branch.error(Self::BETWEEN, message);
                    found.push(error.remedy("give two different ends"));
                }
                if stiffness.is_none() && damping.is_none() && element.is_none() {
                    let message = "the joint has neither spring, damper nor element";
                    let remedy = "add `stiffness`, `damping` or `element`, or join with `rigid`";
                    found.push(branch.error(Self::BETWEEN, message).remedy(remedy));
                }
            }
        }
    }
}

/// Components have names of their own, each is joined, and whatever is called exists as far as the
/// file alone tells. `named` are the DOFs that the rest of the file calls.
pub(super) fn check(file: &File<'_>, named: &[DofRef], found: &mut Vec<Diagnostic>) {
    let tables: Vec<&Branch> = file.root.tables(Components::COMPONENTS).collect();
    let names: Vec<&str> = tables.iter().filter_map(|table| table.text(Component::NAME)).collect();
    // A component that cannot be read may be the one that is meant.
    if names.len() < tables.len() || file.root.refused.contains(&Components::COMPONENTS) {
        return;
    }
    for (index, (name, table)) in names.iter().zip(&tables).enumerate() {
        if names[..index].contains(name) {
            let message = format!("two components are called \"{}\"", shorten(name));
            let error = table.error(Component::NAME, message);
            found.push(error.remedy("give every component a name of its own"));
        }
        let lacks = !StructureSource::is_chosen(table) && table.refused.is_empty();
        if lacks && table.node(Component::FILE).is_some() {
            let error = table.error(Component::FILE, "the file has no [structure]");
            found.push(error.remedy("name an experiment file, or write the structure here"));
        }
    }
    let joints: Vec<(Joint, &Branch)> = file
        .root
        .tables(Components::JOINTS)
        .filter_map(|table| Some((Joint::read_table(table)?, table)))
        .collect();
    let joined = joints.iter().flat_map(|(joint, _)| joint.dofs());
    let ends: Vec<&DofRef> = joined.clone().collect();
    found.extend(ends.iter().copied().chain(named).filter_map(|dof| unknown(dof, &names)));
    let complete = file.root.list(Components::JOINTS).is_some()
        || !file.root.refused.contains(&Components::JOINTS);
    if names.len() > 1 && complete {
        for (name, table) in names.iter().zip(&tables) {
            if !ends.iter().any(|dof| dof.component() == Some(name)) {
                let message = format!("nothing joins component \"{}\"", shorten(name));
                let error = table.error(Component::NAME, message);
                found.push(error.remedy("add a [[joint]] that ends at it, or remove it"));
            }
        }
    }
    let Some(partition) = file.section(super::Experiment::PARTITION) else { return };
    for node in partition.list(Partition::COMPONENTS).unwrap_or_default() {
        let Some(name) = node.text().filter(|name| !names.contains(name)) else { continue };
        found.push(no_component(name, &names).at(node.span.clone()));
    }
}

fn unknown(dof: &DofRef, names: &[&str]) -> Option<Diagnostic> {
    let component = match &dof.label {
        DofLabel::Number(number) => {
            let message = format!("of which component is degree of freedom {number}?");
            let remedy = format!("write \"{}.{number}\"", names.first().unwrap_or(&"component"));
            return Some(Diagnostic::error(message).at(dof.span.clone()).remedy(remedy));
        }
        DofLabel::Name(name) => match dof.component() {
            Some(component) => component,
            None => {
                let message = format!("\"{}\" names no component and DOF", shorten(name));
                let remedy = "a DOF of a component is called \"component.dof\"";
                return Some(Diagnostic::error(message).at(dof.span.clone()).remedy(remedy));
            }
        },
    };
    let known = names.contains(&component);
    (!known).then(|| no_component(component, names).at(dof.span.clone()))
}

fn no_component(name: &str, names: &[&str]) -> Diagnostic {
    let error = Diagnostic::error(format!("no component is called \"{}\"", shorten(name)));
    match nearest(name, names.iter().copied()) {
        Some(near) => error.remedy(format!("did you mean \"{near}\"?")),
        None => error.remedy(format!("there are {}", names.join(", "))),
    }
}
