//! The partition: what stands in the laboratory.

use keys::Keys;
use keys::value::OrShare;

use super::component::MOST_COMPONENTS;
use super::dof::{DofRef, NodeRef};
use super::element::SpecimenElement;
use super::per_dof::MOST_INTERFACE;
use super::structure::{MOST_DOFS, MatrixSource, MatrixTable};

/// What stands in the laboratory. Mass, damping and stiffness of the specimen are taken out of the
/// structure; what remains is simulated. Lists have one entry per interface DOF.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct Partition {
    /// Where simulation and laboratory meet: DOF numbers or names, or deformations
    /// `{ from = 2, to = 3 }`.
    #[key(entries = 1..=MOST_INTERFACE)]
    pub interface: Vec<Interface>,
    /// Components that stand in the laboratory, with all they have and the elastic joints that end
    /// at them. `interface` then lists the DOFs at which they meet the others.
    #[key(text, entries = 1..=MOST_COMPONENTS, optional, name = "component")]
    pub components: Vec<String>,
    /// DOFs of the specimen away from the interface, such as the storeys below the one that is
    /// driven. They stand in the laboratory with all their mass, damping and stiffness, and touch
    /// nothing that is simulated but the interface. In a shear building or chain the springs and
    /// dampers between them and the interface are the specimen's where `stiffness` and `damping` are
    /// absent.
    #[key(entries = 1..=MOST_DOFS, optional)]
    pub inside: Vec<DofRef>,
    /// Mass of the specimen; an entry like `"33 %"` is a share of the structure's mass at that DOF.
    /// Absent: none.
    #[key(mass, of_dof, not_negative, entries = 1..=MOST_INTERFACE)]
    pub mass: Option<SpecimenMass>,
    /// Damping of the specimen. Absent: none.
    #[key(damping, of_dof, not_negative, entries = 1..=MOST_INTERFACE)]
    pub damping: Option<MatrixSource>,
    /// Stiffness of the specimen. Absent: none.
    #[key(stiffness, of_dof, not_negative, entries = 1..=MOST_INTERFACE)]
    pub stiffness: Option<MatrixSource>,
    /// Nonlinear elements of the specimen, each as `[[partition.element]]`.
    #[key(entries = 1..=1000, optional, name = "element")]
    pub elements: Vec<SpecimenElement>,
}

/// One interface degree of freedom.
#[derive(Debug, Clone, PartialEq, Eq, Keys)]
#[key(either)]
pub enum Interface {
    /// A degree of freedom of the structure.
    Dof(DofRef),
    /// Between two of them.
    Deformation(Deformation),
}

/// The deformation between two DOFs: the motion of `to` minus that of `from`.
#[derive(Debug, Clone, PartialEq, Eq, Keys)]
pub struct Deformation {
    /// DOF number, DOF name or `"ground"`.
    pub from: NodeRef,
    /// DOF number, DOF name or `"ground"`.
    pub to: NodeRef,
}

/// Mass of the specimen.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(given, either)]
pub enum SpecimenMass {
    /// One entry per interface degree of freedom.
    #[key(given)]
    Diagonal(Vec<OrShare>),
    /// A matrix over the interface.
    #[key(given)]
    Whole(MatrixTable),
}

impl Interface {
    /// Its two ends: a lone degree of freedom moves against the ground.
    pub fn ends(&self) -> [NodeRef; 2] {
        match self {
            Self::Dof(dof) => [NodeRef::Ground, NodeRef::Dof(dof.clone())],
            Self::Deformation(Deformation { from, to }) => [from.clone(), to.clone()],
        }
    }
}
