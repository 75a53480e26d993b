//! The partition: what stands in the laboratory.

use super::dof::{DofRef, NodeRef};
use super::element::SpecimenElement;
use super::structure::MatrixSource;
use super::tree::{Branch, Node, Value};

/// What stands in the laboratory. Absent parts of the specimen are zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// Where simulation and laboratory meet; never empty.
    pub interface: Vec<Interface>,
    /// DOFs of the specimen away from it.
    pub inside: Vec<DofRef>,
    /// Mass of the specimen.
    pub mass: Option<SpecimenMass>,
    /// Damping of the specimen.
    pub damping: Option<MatrixSource>,
    /// Stiffness of the specimen.
    pub stiffness: Option<MatrixSource>,
    /// Nonlinear elements of the specimen.
    pub elements: Vec<SpecimenElement>,
}

/// One interface degree of freedom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interface {
    /// A degree of freedom of the structure.
    Dof(DofRef),
    /// The motion of `to` minus that of `from`.
    Deformation {
        /// Where it is measured from.
        from: NodeRef,
        /// Where it is measured to.
        to: NodeRef,
    },
}

/// Mass of the specimen.
#[derive(Debug, Clone, PartialEq)]
pub enum SpecimenMass {
    /// One entry per interface degree of freedom.
    Diagonal(Vec<MassEntry>),
    /// A matrix over the interface.
    Matrix(MatrixSource),
}

/// A mass, or a part of the structure's mass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MassEntry {
    /// In SI.
    Mass(f64),
    /// A share, 0 to 1, of the structure's mass at that degree of freedom.
    Share(f64),
}

impl Partition {
    pub(crate) fn read(branch: &Branch) -> Self {
        let interface = branch.must_list("interface").iter().filter_map(Interface::read);
        Self {
            interface: interface.collect(),
            inside: branch
                .list("inside")
                .unwrap_or_default()
                .iter()
                .filter_map(DofRef::read)
                .collect(),
            mass: branch.node("mass").map(SpecimenMass::read),
            damping: branch.node("damping").map(MatrixSource::read),
            stiffness: branch.node("stiffness").map(MatrixSource::read),
            elements: branch.tables("element").map(SpecimenElement::read).collect(),
        }
    }
}

impl Interface {
    pub(crate) fn read(node: &Node) -> Option<Self> {
        let Some(table) = node.table() else { return DofRef::read(node).map(Self::Dof) };
        let end = |key| table.node(key).and_then(NodeRef::read);
        Some(Self::Deformation { from: end("from")?, to: end("to")? })
    }
}

impl SpecimenMass {
    fn read(node: &Node) -> Self {
        let Some(list) = node.list() else { return Self::Matrix(MatrixSource::read(node)) };
        let entries = list.iter().filter_map(|entry| match entry.value {
            Value::Share(share) => Some(MassEntry::Share(share)),
            Value::Number(mass) => Some(MassEntry::Mass(mass)),
            _ => None,
        });
        Self::Diagonal(entries.collect())
    }
}
