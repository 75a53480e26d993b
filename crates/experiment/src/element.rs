//! Nonlinear elements.

use super::dof::NodeRef;
use super::tree::Branch;

/// A nonlinear element of the simulated part.
#[derive(Debug, Clone, PartialEq)]
pub struct StructureElement {
    /// Its ends; the deformation is the motion of the second minus that of the first.
    pub between: [NodeRef; 2],
    /// Its law.
    pub law: ElementSpec,
}

/// A nonlinear element of the specimen.
#[derive(Debug, Clone, PartialEq)]
pub struct SpecimenElement {
    /// Where it acts.
    pub place: SpecimenPlace,
    /// Its law.
    pub law: ElementSpec,
}

/// Where an element of the specimen acts.
#[derive(Debug, Clone, PartialEq)]
pub enum SpecimenPlace {
    /// At an interface DOF, by its index from 0.
    Interface(usize),
    /// Between two DOFs of the specimen.
    Between([NodeRef; 2]),
}

/// The law of a nonlinear element, in SI (newton, metre).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ElementSpec {
    /// Elastic, then a lower stiffness, with kinematic hardening.
    Bilinear {
        /// Initial stiffness.
        stiffness: f64,
        /// Force at yield.
        yield_force: f64,
        /// Stiffness after yield over the initial one.
        hardening: f64,
    },
    /// Elastic, then a constant force.
    ElasticPlastic {
        /// Initial stiffness.
        stiffness: f64,
        /// Force at yield.
        yield_force: f64,
    },
    /// Smooth hysteresis after Bouc and Wen.
    BoucWen {
        /// Initial stiffness.
        stiffness: f64,
        /// Force at yield.
        yield_force: f64,
        /// Stiffness after yield over the initial one.
        hardening: f64,
        /// Sharpness of the transition.
        exponent: f64,
        /// Shape factor β.
        beta: f64,
        /// Shape factor γ.
        gamma: f64,
    },
    /// A spring behind a gap.
    Gap {
        /// Stiffness once closed.
        stiffness: f64,
        /// Width of the gap.
        opening: f64,
        /// Where it closes.
        side: GapSide,
    },
}

/// The direction in which a gap closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapSide {
    /// Both directions.
    Both,
    /// The positive direction.
    Positive,
    /// The negative direction.
    Negative,
}

impl StructureElement {
    pub(crate) fn read(branch: &Branch) -> Self {
        Self { between: ends(branch), law: ElementSpec::read(branch) }
    }
}

impl SpecimenElement {
    pub(crate) fn read(branch: &Branch) -> Self {
        let place = match branch.count("at") {
            Some(at) => SpecimenPlace::Interface(at as usize - 1),
            None => SpecimenPlace::Between(ends(branch)),
        };
        Self { place, law: ElementSpec::read(branch) }
    }
}

fn ends(branch: &Branch) -> [NodeRef; 2] {
    let ends: Vec<NodeRef> = branch.must_list("between").iter().filter_map(NodeRef::read).collect();
    ends.try_into().expect("the grammar asks for two ends")
}

impl ElementSpec {
    fn read(branch: &Branch) -> Self {
        let number = |key| branch.must_number(key);
        let stiffness = number("stiffness");
        match branch.must_word("kind") {
            "bilinear" => Self::Bilinear {
                stiffness,
                yield_force: number("yield_force"),
                hardening: number("hardening"),
            },
            "elastic_plastic" => {
                Self::ElasticPlastic { stiffness, yield_force: number("yield_force") }
            }
            "bouc_wen" => Self::BoucWen {
                stiffness,
                yield_force: number("yield_force"),
                hardening: number("hardening"),
                exponent: number("exponent"),
                beta: number("beta"),
                gamma: number("gamma"),
            },
            "gap" => Self::Gap {
                stiffness,
                opening: number("opening"),
                side: match branch.must_word("side") {
                    "both" => GapSide::Both,
                    "positive" => GapSide::Positive,
                    "negative" => GapSide::Negative,
                    word => unreachable!("the grammar has no side {word}"),
                },
            },
            word => unreachable!("the grammar has no element {word}"),
        }
    }
}
