//! How a large structure is made small, as declared.

use std::f64::consts::TAU;

use keys::Keys;
pub use model::reduction::state_space::Completion;

use super::dof::DofRef;
use super::mesh::MOST_POINTS;

/// Most modes that are kept.
const MOST_MODES: u64 = 2000;

/// Component mode synthesis: the structure becomes a small model that still answers truly at the
/// DOFs that matter, and that is what is simulated. Interface DOFs, DOFs under forces, ends of
/// nonlinear elements and of discrete dampers stay as they are. Matrix files are then read sparse.
/// The reduced model is kept under `runs/cache` for the next time.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct ReductionSpec {
    /// The method.
    #[key(default = "rubin")]
    pub method: ReductionMethod,
    /// What stands beside the modes of `state_space`.
    #[key(default = "flexibility")]
    pub completion: Completion,
    /// Which modes are kept.
    #[key(flatten)]
    pub modes: ModeSpec,
    /// Further DOFs that stay as they are, by number or name.
    #[key(entries = 1..=MOST_POINTS, optional)]
    pub retain: Vec<DofRef>,
    /// DOFs whose motion is wanted back though they do not stay: `run` writes it to `monitored.csv`.
    #[key(entries = 1..=MOST_POINTS, optional)]
    pub monitor: Vec<DofRef>,
    /// What to do with a reduced model that is unstable.
    #[key(default = "refuse")]
    pub unstable: Unstable,
}

/// How the basis is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum ReductionMethod {
    /// Free modes and flexibility modes.
    Rubin,
    /// Modes with the retained DOFs held, and constraint modes.
    CraigBampton,
    /// Free modes alone, for comparison.
    ModesOnly,
    /// De Kraker's complex modes with flexibility modes: a first-order model, for heavily or
    /// non-symmetrically damped structures.
    StateSpace,
    /// Free modes and the forces at the DOFs that stay; for `twinrig reduce` alone, for some of its
    /// motions always grow.
    DualCraigBampton,
}

/// Which modes are kept, and the end of the band in which the model is judged.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(one_of)]
pub enum ModeSpec {
    /// All up to a frequency.
    CutOff {
        /// Keep all modes up to this frequency; in `state_space` by |Im λ|, so that overdamped modes
        /// always stay.
        #[key(frequency, positive)]
        cut_off_hz: f64,
        /// End of the band in which the reduced model is judged. Absent: `cut_off`, or the highest
        /// mode kept.
        #[key(frequency, positive)]
        band_hz: Option<f64>,
    },
    /// So many.
    Number {
        /// Keep this many modes.
        #[key(count = 1..=MOST_MODES)]
        modes: usize,
        /// End of the band in which the reduced model is judged. Absent: `cut_off`, or the highest
        /// mode kept.
        #[key(frequency, positive)]
        band_hz: Option<f64>,
    },
    /// As few as hold the response.
    Error {
        /// Keep as few modes as hold the response at the interface to this error, up to the end of
        /// `band`, resonances included. Costs 28 factorisations of the full model or more, 120 at
        /// most.
        #[key(ratio, within = 1e-12..=1.0)]
        error: f64,
        /// End of the band in which the reduced model is judged. Absent: `cut_off`, or the highest
        /// mode kept.
        #[key(frequency, positive)]
        band_hz: f64,
    },
}

/// What becomes of an unstable reduced model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Unstable {
    /// An unstable reduced model is an error.
    Refuse,
    /// It is used all the same.
    Accept,
}

impl ReductionSpec {
    /// End of the band in which the model is judged, where it is given.
    pub fn band_rad_s(&self) -> Option<f64> {
        let band_hz = match self.modes {
            ModeSpec::CutOff { band_hz, .. } | ModeSpec::Number { band_hz, .. } => band_hz,
            ModeSpec::Error { band_hz, .. } => Some(band_hz),
        };
        band_hz.map(|hertz| TAU * hertz)
    }
}
