//! Will the loop be stable? Any linear loop that an experiment can describe.
//!
//! A [`LoopDescription`] is the loop as declared: numerical part, integrator,
//! compensator, transfer system, specimen, late force, one interface DOF or
//! several. From it an open loop L is built, in one of two ways:
//!
//! - [`OpenLoop::sampled`]: the loop that runs, tick by tick, with its holds,
//!   its integrator and its filters. This is exact: the same matrices that the
//!   tick multiplies, evaluated at z = e^{sh}.
//! - [`OpenLoop::continuous`]: the loop of the textbooks, without sampling and
//!   hold. This is what papers print.
//!
//! [`nyquist`](mod@nyquist) counts the growing motions, [`margins`] says how far
//! the loop is from its boundary, [`modes`] follows each mode of the true
//! structure into the loop: how wrong the test will be, not only whether it
//! explodes. A loop at two rates is a map from period to period:
//! [`TwoRateLoop`]. [`compensators`] tries others, [`crate::partitions`] other cuts.

pub mod compensators;
mod disk;
pub mod margins;
pub mod modes;
pub mod nyquist;
mod open_loop;
mod parts;
mod structure_modes;
#[cfg(test)]
mod tests;
mod two_rates;

pub use disk::DiskMargin;
pub use margins::{Crossing, Margins};
pub use modes::{Follow, LoopMode, Motion, TrueMode};
pub use nyquist::{Curve, Point};
pub use open_loop::OpenLoop;
pub use structure_modes::StructureModes;
pub use two_rates::TwoRateLoop;

use model::compensator::{CompensatorError, Design, ShapingDesign};
use model::equations::Equations;
use model::integrator::{Integrator, IntegratorError, Method, Options};
use model::partition::InternalDofs;
use model::predictor::PredictorError;
use model::specimen::Specimen;
use model::transfer::{TransferError, TransferSystem};

use numerics::Complex;
use numerics::eigen::{self, EigenError};
use numerics::linear_system::Time;
use thiserror::Error;

/// A hybrid loop with linear parts, as declared.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopDescription {
    /// What is simulated; without nonlinear elements.
    pub numerical: Equations,
    /// What stands in the laboratory; without nonlinear elements.
    pub specimen: Specimen,
    /// The DOFs that the specimen has beside those at the interface.
    pub inside: Option<InternalDofs>,
    /// Algorithm and period. Direct inertia is found, not taken from here.
    pub integrator: Options,
    /// Between command and motion.
    pub transfer_system: TransferSystem,
    /// Desired to command; those that adapt are refused, see
    /// [`compensators::as_started`].
    pub compensator: Design,
    /// What the command passes afterwards. A low-pass filter counts, limits do
    /// not matter to small motions.
    pub shaping: ShapingDesign,
    /// Whole samples by which the measured force comes late.
    pub force_delay: usize,
    /// How the force acts between two ticks.
    pub joint: Joint,
    /// Further delay of the whole loop.
    pub extra_delay_s: f64,
}

impl LoopDescription {
    /// A loop with nothing but what is simulated and what stands in the laboratory,
    /// for [`OpenLoop::continuous`]: its rig is ideal, its period any.
    pub fn ideal(
        numerical: &Equations,
        specimen: &Specimen,
        inside: Option<&InternalDofs>,
    ) -> Self {
        Self {
            numerical: numerical.clone(),
            specimen: specimen.clone(),
            inside: inside.cloned(),
            integrator: Options {
                method: Method::Newmark,
                step_s: 1e-3,
                direct_inertia: None,
                iterations: 1,
            },
            transfer_system: TransferSystem::Ideal,
            compensator: Design::None,
            shaping: ShapingDesign::default(),
            force_delay: 0,
            joint: Joint::Held,
            extra_delay_s: 0.0,
        }
    }
}

/// How the measured force acts between two ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// It is held, as a real test does.
    Held,
    /// It follows the rig's states, as papers simulate.
    Continuous,
}

/// Whether a loop is stable, and what it bears.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Number of growing motions, a pair counted twice; none: stable.
    pub growing: usize,
    /// Further delay that a stable loop bears, and the frequency at which it
    /// then goes; `None` if no delay makes it unstable, or if it is unstable.
    pub delay_margin: Option<Crossing>,
}

impl Verdict {
    fn of(open: &OpenLoop, curve: &Curve) -> Result<Self, LoopError> {
        let growing = curve.growing;
        let delay_margin = if growing == 0 { margins::delay_margin(open, curve)? } else { None };
        Ok(Self { growing, delay_margin })
    }

    /// Whether no motion grows.
    pub fn is_stable(&self) -> bool {
        self.growing == 0
    }

    /// The further delay a stable loop bears, s; infinite where none harms.
    pub fn margin_s(&self) -> Option<f64> {
        let margin_s = self.delay_margin.map_or(f64::INFINITY, |crossing| crossing.delay_s);
        self.is_stable().then_some(margin_s)
    }
}

/// Why a loop cannot be judged.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LoopError {
    /// The integrator cannot be made.
    #[error(transparent)]
    Integrator(#[from] IntegratorError),
    /// Eigenvalues cannot be found.
    #[error(transparent)]
    Eigen(#[from] EigenError),
    /// The transfer system does not fit the specimen.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// The compensator cannot be made.
    #[error(transparent)]
    Compensator(#[from] CompensatorError),
    /// The predictor cannot be made.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
    /// A loop gain belongs to a linear loop.
    #[error("the loop has nonlinear elements: its stability depends on the motion, so rehearse it")]
    NotLinear,
    /// An adaptive compensator is no filter.
    #[error(
        "an adaptive compensator changes while the test runs, so no loop gain holds for all of it"
    )]
    Adaptive,
    /// An ideal transfer system joined continuously is no loop at all.
    #[error("rig and structure move as one: there is no loop to judge")]
    NoLoop,
    /// A specimen with DOFs of its own is stepped by itself.
    #[error("a specimen with DOFs of its own cannot be joined continuously: hold the force")]
    ContinuousInside,
    /// Only a transfer system with dynamics can be joined continuously.
    #[error("a pure delay cannot be joined continuously: hold the force")]
    ContinuousDelay,
    /// Signals go round within one tick, without a unique solution.
    #[error(
        "the loop closes within one tick and its forces have no unique balance: check the masses \
         of specimen and structure"
    )]
    Algebraic,
    /// The loop without sampling has no sampled compensator.
    #[error("the loop without sampling is that of an uncompensated rig")]
    Uncompensated,
    /// The loop gain lost its digits: so many motions were counted.
    #[error(
        "{0:.2} growing motions were counted, which is no number of motions: the loop gain has \
         lost its digits, so rehearse the test"
    )]
    NotCounted(f64),
    /// The slowest motion of a large loop is not found.
    #[error("the slowest motion of so large a loop is not found among the others: rehearse it")]
    NotSettled,
    /// The eigenvalues of so large a part would take minutes.
    #[error(
        "a part of the loop has {states} states, and at most {most} are examined: rehearse it, or \
         reduce the structure"
    )]
    TooLarge {
        /// States of the part.
        states: usize,
        /// The most.
        most: usize,
    },
    /// So many interface DOFs are too many.
    #[error(
        "{0} interface DOFs are too many for the analysis, which takes {MOST_DOFS}: rehearse it"
    )]
    TooManyDofs(usize),
    /// The curve turns too often to be followed by so many frequencies.
    #[error(
        "the loop gain turns so fast that {0} frequencies do not resolve it: the delay is longer \
         than what can be judged, so rehearse it"
    )]
    TooFine(usize),
    /// The loop gain at this frequency, Hz, is none.
    #[error("the loop gain at {0} Hz is not a number: check masses and stiffnesses")]
    NotANumber(f64),
}

/// The largest part whose eigenvalues are sought.
pub const MOST_STATES: usize = 3100;
/// Most interface DOFs.
pub const MOST_DOFS: usize = 12;

/// Counts the growing motions of the loop as it runs, and nothing else: the
/// cheapest entry, for those who ask for very many loops.
pub fn growing(description: &LoopDescription) -> Result<usize, LoopError> {
    let open = OpenLoop::sampled(description)?;
    match open.closed_poles()? {
        Some(poles) => Ok(nyquist::unstable_poles(&open, &poles)),
        None => Ok(Curve::follow(&open)?.growing),
    }
}

/// The motion of the loop as it runs that decays slowest, or grows fastest; rigid
/// motions left out. `None` where not all motions can be found at once.
pub fn dominant(description: &LoopDescription) -> Result<Option<Motion>, LoopError> {
    let open = OpenLoop::sampled(description)?;
    let Some(poles) = open.closed_poles()? else { return Ok(None) };
    let motions = poles.into_iter().map(|(exponent, _)| Motion { exponent });
    let moving = motions.filter(|motion| motion.exponent.norm() > open.zero_rad_s());
    Ok(Motion::slowest(moving))
}

/// The greatest whole delay, from a stable one up to `most`, before stability is lost
/// for the first time. It may come back for long delays: the search walks up in strides
/// of a quarter and narrows down on the first loss.
pub(crate) fn last_before_loss(
    mut good: usize,
    most: usize,
    mut stable: impl FnMut(usize) -> Result<bool, LoopError>,
) -> Result<usize, LoopError> {
    while good < most {
        let next = (good + (good / 4).max(1)).min(most);
        if stable(next)? {
            good = next;
            continue;
        }
        let mut bad = next;
        while bad - good > 1 {
            let middle = good.midpoint(bad);
            if stable(middle)? { good = middle } else { bad = middle }
        }
        break;
    }
    Ok(good)
}

/// Structure and specimen stepped as one, as an ideal rig moves them: the number of
/// growing motions, and the one that decays slowest. There is no loop, but an
/// explicit algorithm has a bound of its own.
pub fn as_one(
    whole: &Equations,
    integrator: &Options,
) -> Result<(usize, Option<Motion>), LoopError> {
    let options = Options { direct_inertia: None, ..integrator.clone() };
    let whole = whole.linearised();
    let poles = match options.method.scheme().filter(|_| structure_modes::is_large(&whole)) {
        Some(scheme) => {
            let step = |s: Complex| 1.0 + s * options.step_s * scheme.growth(s * options.step_s);
            structure_modes::exponents(&whole)?.into_iter().map(step).collect()
        }
        None => {
            parts::check_size(whole.state_count())?;
            let built = Integrator::new(&whole, &options)?;
            eigen::eigenvalues(&built.linear_step().ok_or(LoopError::NotLinear)?.transition)?
        }
    };
    let zero = 1e-6 * std::f64::consts::PI / options.step_s;
    let exponents =
        poles.into_iter().filter_map(|p| parts::exponent(p, Time::Step(options.step_s)));
    let moving: Vec<Complex> = exponents.filter(|s| s.norm() > zero).collect();
    let growing = moving.iter().filter(|s| s.re > nyquist::NEUTRAL * s.norm()).count();
    let upper = moving.iter().map(|s| Motion { exponent: Complex::new(s.re, s.im.abs()) });
    Ok((growing, Motion::slowest(upper)))
}

/// Judges the loop as it runs: growing motions and the delay it bears. A cheap
/// entry, for those who ask for many loops.
pub fn verdict(description: &LoopDescription) -> Result<Verdict, LoopError> {
    judge(&OpenLoop::sampled(description)?)
}

/// The same of a loop that is at hand.
pub fn judge(open: &OpenLoop) -> Result<Verdict, LoopError> {
    Verdict::of(open, &Curve::follow(open)?)
}
