//! Nonlinear elements.

use keys::Keys;
use model::element::Law;

use super::dof::NodeRef;
use super::per_dof::MOST_INTERFACE;

/// A nonlinear element of the simulated part.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct StructureElement {
    /// The two ends: `"ground"`, a DOF number or a DOF name. The deformation is the second minus the
    /// first.
    pub between: [NodeRef; 2],
    /// Its law.
    #[key(flatten)]
    pub law: Law,
}

/// A nonlinear element of the specimen.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct SpecimenElement {
    /// Where it acts.
    #[key(flatten)]
    pub place: SpecimenPlace,
    /// Its law.
    #[key(flatten)]
    pub law: Law,
}

/// Where an element of the specimen acts.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(one_of)]
pub enum SpecimenPlace {
    /// The interface DOF it acts on, by its place in `interface`, from 1.
    #[key(count = 1..=MOST_INTERFACE as u64)]
    At(usize),
    /// Instead of `at`: two ends among the interface, the `inside` and `"ground"`, for the virtual
    /// shaker of \[trace\]. The deformation is the second minus the first.
    Between([NodeRef; 2]),
}
