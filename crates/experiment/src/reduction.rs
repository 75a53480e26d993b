//! How a large structure is made small, as declared.

use std::f64::consts::TAU;

use super::dof::DofRef;
use super::tree::{Branch, Node};

/// `[reduction]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReductionSpec {
    /// The method.
    pub method: ReductionMethod,
    /// What stands beside the modes of `state_space`.
    pub completion: Completion,
    /// Which modes are kept.
    pub modes: ModeSpec,
    /// End of the band in which the model is judged, where it is given.
    pub band_rad_s: Option<f64>,
    /// Further DOFs that stay.
    pub retain: Vec<DofRef>,
    /// DOFs whose motion is wanted back.
    pub monitor: Vec<DofRef>,
    /// What becomes of an unstable model.
    pub unstable: Unstable,
}

/// How the basis is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReductionMethod {
    /// Free modes and flexibility modes.
    Rubin,
    /// Modes with the boundary held and constraint modes.
    CraigBampton,
    /// Free modes alone.
    ModesOnly,
    /// De Kraker's complex modes; judged and written, not stepped.
    StateSpace,
    /// Free modes and forces; judged and written, not stepped.
    DualCraigBampton,
}

/// What stands beside the modes in state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Flexibility modes.
    Flexibility,
    /// Residual flexibility modes.
    Residual,
    /// Nothing.
    None,
}

/// Which modes are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModeSpec {
    /// All up to this circular frequency.
    CutOff {
        /// ω_c.
        omega_rad_s: f64,
    },
    /// So many.
    Number(usize),
    /// As few as hold the interface response to this relative error.
    Error(f64),
}

/// What becomes of an unstable reduced model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unstable {
    /// It is an error.
    Refuse,
    /// It is used all the same.
    Accept,
}

impl ReductionSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        let dofs = |key| -> Vec<DofRef> {
            let list: &[Node] = branch.list(key).unwrap_or_default();
            list.iter().filter_map(DofRef::read).collect()
        };
        Self {
            method: match branch.must_word("method") {
                "rubin" => ReductionMethod::Rubin,
                "craig_bampton" => ReductionMethod::CraigBampton,
                "modes_only" => ReductionMethod::ModesOnly,
                "state_space" => ReductionMethod::StateSpace,
                "dual_craig_bampton" => ReductionMethod::DualCraigBampton,
                word => unreachable!("the grammar has no method {word}"),
            },
            completion: match branch.must_word("completion") {
                "residual" => Completion::Residual,
                "none" => Completion::None,
                _ => Completion::Flexibility,
            },
            modes: match (branch.number("cut_off"), branch.count("modes")) {
                (Some(hertz), _) => ModeSpec::CutOff { omega_rad_s: TAU * hertz },
                (None, Some(number)) => ModeSpec::Number(number as usize),
                (None, None) => ModeSpec::Error(branch.must_number("error")),
            },
            band_rad_s: branch.number("band").map(|hertz| TAU * hertz),
            retain: dofs("retain"),
            monitor: dofs("monitor"),
            unstable: match branch.must_word("unstable") {
                "accept" => Unstable::Accept,
                _ => Unstable::Refuse,
            },
        }
    }
}
