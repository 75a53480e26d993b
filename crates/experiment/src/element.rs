//! Nonlinear elements.

use keys::Keys;
use model::element::Side;

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
    pub law: ElementSpec,
}

/// A nonlinear element of the specimen.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct SpecimenElement {
    /// Where it acts.
    #[key(flatten)]
    pub place: SpecimenPlace,
    /// Its law.
    #[key(flatten)]
    pub law: ElementSpec,
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

/// The law of the element.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(tag = "kind")]
pub enum ElementSpec {
    /// Elastic up to the yield force, then a lower stiffness (kinematic hardening).
    Bilinear {
        /// Initial stiffness; of a gap, once closed.
        #[key(stiffness, of_dof, positive)]
        stiffness: f64,
        /// Force at yield.
        #[key(force, of_dof, positive)]
        yield_force: f64,
        /// Stiffness after yield as a ratio of the initial one.
        #[key(ratio, within = 0.0..=1.0)]
        hardening: f64,
    },
    /// Elastic up to the yield force, then a constant force.
    ElasticPlastic {
        /// Initial stiffness; of a gap, once closed.
        #[key(stiffness, of_dof, positive)]
        stiffness: f64,
        /// Force at yield.
        #[key(force, of_dof, positive)]
        yield_force: f64,
    },
    /// Smooth hysteresis after Bouc and Wen.
    BoucWen {
        /// Initial stiffness; of a gap, once closed.
        #[key(stiffness, of_dof, positive)]
        stiffness: f64,
        /// Force at yield.
        #[key(force, of_dof, positive)]
        yield_force: f64,
        /// Stiffness after yield as a ratio of the initial one.
        #[key(ratio, within = 0.0..=1.0)]
        hardening: f64,
        /// Sharpness of the transition, 1 or more.
        #[key(number, within = 1.0..=1000.0, default = 1)]
        exponent: f64,
        /// Shape factor β of the loop.
        #[key(number, default = 0.5)]
        beta: f64,
        /// Shape factor γ of the loop.
        #[key(number, default = 0.5)]
        gamma: f64,
    },
    /// A spring that acts once a gap has closed.
    Gap {
        /// Initial stiffness; of a gap, once closed.
        #[key(stiffness, of_dof, positive)]
        stiffness: f64,
        /// Width of the gap.
        #[key(length, of_dof, not_negative)]
        opening: f64,
        /// Where the gap closes.
        #[key(default = "both")]
        side: Side,
    },
}
