//! Components and the joints between them, as declared.

use keys::Keys;
use model::element::Law;

use super::dof::{DofRef, NodeRef};
use super::element::StructureElement;
use super::mesh::MOST_POINTS;
use super::reduction::ReductionSpec;
use super::structure::Structure;

/// Most components of a structure.
pub(crate) const MOST_COMPONENTS: usize = 50;

/// The whole structure: in one piece, or joined of components.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(one_of)]
#[expect(clippy::large_enum_variant, reason = "there is one in an experiment")]
pub enum Whole {
    /// The whole structure, as if it were built.
    Structure(Structure),
    /// Joined of components.
    #[key(flatten)]
    Components(Components),
}

/// Components and what joins them.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct Components {
    /// Instead of `structure`: parts that are modelled each on its own, each as `[[component]]`.
    #[key(entries = 1..=MOST_COMPONENTS, name = "component")]
    pub components: Vec<Component>,
    /// What joins them, each as `[[joint]]`.
    #[key(entries = 1..=MOST_POINTS, optional, name = "joint")]
    pub joints: Vec<Joint>,
}

/// A part of the structure that is modelled on its own: all that `[structure]` may hold, its
/// supports and its reduction. Everywhere else in the file its DOF `tip` (or number 3) is called
/// `"name.tip"` (or `"name.3"`).
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct Component {
    /// Its name.
    #[key(text)]
    pub name: String,
    /// An experiment file whose `[structure]` and `[reduction]` stand as if they were written here;
    /// the rest of it does not count. File names in it are relative to the folder of this file.
    #[key(file = &["toml"])]
    pub file: Option<String>,
    /// DOFs that are held.
    #[key(entries = 1..=MOST_POINTS, optional)]
    pub supports: Vec<DofRef>,
    /// How it is made small before it is joined. DOFs at which something joins it, acts on it or is
    /// measured stay as they are.
    pub reduction: Option<ReductionSpec>,
    /// What it consists of.
    #[key(flatten)]
    pub structure: Structure,
}

/// What joins two components, or one with the ground: rigid, or by springs and dampers.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(one_of, check = Self::check)]
pub enum Joint {
    /// They move together.
    Rigid {
        /// Two DOFs that move together: the first follows the second.
        rigid: [DofRef; 2],
        /// Which way the first follows.
        #[key(default = "same")]
        direction: JointDirection,
        /// The first stands at the end of a rigid arm: its motion is that of the second plus `arm`
        /// times the rotation `about`. May be negative.
        #[key(length)]
        arm_m: Option<f64>,
        /// The rotation that moves the end of `arm`.
        about: Option<DofRef>,
    },
    /// Something between them gives way.
    Elastic {
        /// The two ends: `"ground"` or a DOF. The deformation is the second minus the first.
        between: [NodeRef; 2],
        /// A spring.
        #[key(stiffness, of_dof, not_negative)]
        stiffness: Option<f64>,
        /// A damper.
        #[key(damping, of_dof, not_negative)]
        damping: Option<f64>,
        /// A nonlinear element.
        element: Option<Law>,
    },
}

/// Which way a DOF follows another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum JointDirection {
    /// The same way.
    Same,
    /// The opposite way: the two DOFs count positive in opposite directions.
    Opposite,
}

impl Components {
    /// Nonlinear elements of components and joints, their ends called as the whole structure does.
    pub fn elements(&self) -> Vec<StructureElement> {
        let own = self.components.iter().flat_map(|component| {
            let within = |end: &NodeRef| match end {
                NodeRef::Ground => NodeRef::Ground,
                NodeRef::Dof(dof) => NodeRef::Dof(dof.within(&component.name)),
            };
            let elements = component.structure.elements.iter();
            elements.map(move |element| StructureElement {
                between: element.between.each_ref().map(within),
                law: element.law,
            })
        });
        let joints = self.joints.iter().filter_map(|joint| match joint {
            Joint::Elastic { between, element: Some(law), .. } => {
                Some(StructureElement { between: between.clone(), law: *law })
            }
            _ => None,
        });
        own.chain(joints).collect()
    }
}

impl Joint {
    /// The DOFs that it needs.
    pub fn dofs(&self) -> Vec<&DofRef> {
        match self {
            Self::Rigid { rigid, about, .. } => rigid.iter().chain(about).collect(),
            Self::Elastic { between, .. } => between.iter().filter_map(NodeRef::dof).collect(),
        }
    }
}
