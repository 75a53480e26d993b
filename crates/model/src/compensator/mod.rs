//! Compensators: from the desired motion to the command.
//!
//! A [`Design`] declares one with its numbers; [`Compensator::new`] builds it
//! for a loop. A kind is one file and one line in the list below.

mod adaptive_inverse;
mod adaptive_model_based;
mod adaptive_time_series;
mod derivatives;
mod design;
mod estimator;
mod first_order;
mod forward_prediction;
mod inverse;
mod linear_form;
mod pi_lead;
mod shaping;
#[cfg(test)]
mod tests;

pub use adaptive_inverse::{AdaptiveInverse, AdaptiveInverseDesign};
pub use adaptive_model_based::{AdaptiveModelBased, AdaptiveModelBasedDesign};
pub use adaptive_time_series::{AdaptiveTimeSeries, AdaptiveTimeSeriesDesign};
pub use derivatives::DerivativeSource;
pub use design::{CompensatorError, delay_series};
pub use first_order::{FirstOrder, FirstOrderDesign};
pub use forward_prediction::{ForwardPrediction, ForwardPredictionDesign};
pub use inverse::{Inverse, InverseDesign};
pub use linear_form::{Tap, taps};
pub use pi_lead::{PiLead, PiLeadDesign};
pub use shaping::{Shaping, ShapingDesign};

use keys::Keys;
use numerics::lanes::Lane;
use numerics::linear_system::{LinearSystem, Time};

use crate::motion::Motion;
use crate::sensor::Converter;

/// The duty of one kind of compensator, of one interface DOF, or of the same DOF of
/// several tests side by side. A motion is displacement, velocity and acceleration.
///
/// `command` and `learn` run inside the tick: no allocation, no blocking, no
/// panic. They are given finite desired motions only; a measurement may be
/// anything and must never leave the state without a number in it.
pub trait Compensate<T: Lane = f64> {
    /// Turns the desired motion into the command of this tick.
    fn command(&mut self, desired: [T; 3], measured: T) -> [T; 3];

    /// Is told the displacement that left the converter and the measurement of the
    /// same instant. Kinds that do not adapt do nothing.
    fn learn(&mut self, _sent: T, _measured: T) {}

    /// Is told that the desired motion comes from a new prediction, which would
    /// have had this acceleration a tick earlier. Kinds that difference the motion
    /// then do so along the new one.
    fn rejoin(&mut self, _acceleration: T) {}

    /// The adapted parameters, in the order of [`Design::parameters`]; none for
    /// fixed kinds.
    fn parameters(&self) -> &[T] {
        &[]
    }

    /// Ticks of the past that the command depends on; `None` for kinds that adapt
    /// or feed back.
    fn memory(&self) -> Option<usize> {
        None
    }

    /// As a linear system, of a kind that feeds back without adapting; for the signals
    /// see [`Design::linear_form`].
    fn feedback_form(&self, _time: Time) -> Option<LinearSystem> {
        None
    }

    /// As linear systems, of a fixed kind that differences the motion; see
    /// [`Design::predicted_forms`].
    fn predicted_forms(&self, _time: Time) -> Option<[LinearSystem; 2]> {
        None
    }
}

/// What the numbers of a kind say beside the keys that they are.
pub trait Adapts {
    /// How many factors it learns, on the desired motion and its first derivatives; none for fixed
    /// kinds.
    const FACTORS: usize = 0;

    /// Where a kind that learns begins, and its bounds.
    fn learning(&self) -> Option<Learning<'_>> {
        None
    }
}

/// How a compensator learns the factors on the desired motion and its derivatives.
#[derive(Debug, Clone, PartialEq)]
pub struct Learning<'a> {
    /// Its first factors.
    pub start: Vec<f64>,
    /// The least that it may learn.
    pub lower: &'a [f64],
    /// The greatest.
    pub upper: &'a [f64],
    /// Where the derivatives come from.
    pub derivatives: DerivativeSource,
}

/// Where a compensator works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site {
    /// Number of interface DOFs.
    pub count: usize,
    /// Period of the loop, s.
    pub step_s: f64,
    /// What happens to a command on its way out: adaptive kinds learn from what
    /// has left it.
    pub converter: Converter,
}

/// Makes of the list of kinds what is declared, what is built, and the way to each.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($design:ident),)+) => {
        /// The kind of compensator.
        #[derive(Debug, Clone, PartialEq, Keys)]
        #[key(tag = "kind", absent = "adaptive_inverse")]
        pub enum Design {
            /// The command is the desired motion.
            None,
            $($(#[$doc])* $kind($design),)+
        }

        impl Design {
            /// How many factors each of its [`WORDS`](Self::WORDS) learns.
            pub const FACTORS: &[usize] = &[0, $($design::FACTORS,)+];

            /// How it learns; `None` for fixed kinds.
            pub fn learning(&self) -> Option<Learning<'_>> {
                match self {
                    Self::None => None,
                    $(Self::$kind(design) => design.learning(),)+
                }
            }
        }

        /// A compensator of one interface DOF.
        #[derive(Debug, Clone, PartialEq)]
        enum Kind {
            Through,
            $($kind($kind),)+
        }

        impl Kind {
            fn new(design: &Design, step_s: f64) -> Result<Self, CompensatorError> {
                Ok(match design {
                    Design::None => Self::Through,
                    $(Design::$kind(design) => Self::$kind($kind::new(design, step_s)?),)+
                })
            }

            /// What it does, if it does something.
            #[inline]
            fn active(&self) -> Option<&dyn Compensate> {
                match self {
                    Self::Through => None,
                    $(Self::$kind(one) => Some(one),)+
                }
            }

            #[inline]
            fn active_mut(&mut self) -> Option<&mut dyn Compensate> {
                match self {
                    Self::Through => None,
                    $(Self::$kind(one) => Some(one),)+
                }
            }
        }
    };
}

kinds! {
    /// A first-order lead with a gain.
    FirstOrder(FirstOrderDesign),
    /// The inverse of a fitted model: a0 x + a1 ẋ + a2 ẍ + ….
    Inverse(InverseDesign),
    /// Polynomial extrapolation over the delay.
    ForwardPrediction(ForwardPredictionDesign),
    /// A first-order inverse, adapted by a gradient.
    AdaptiveModelBased(AdaptiveModelBasedDesign),
    /// A second-order inverse, fitted over a moving window.
    AdaptiveTimeSeries(AdaptiveTimeSeriesDesign),
    /// A third-order inverse, tracked by a Kalman filter.
    AdaptiveInverse(AdaptiveInverseDesign),
    /// Proportional and integral feedback behind a lead; the defaults are the baseline of the virtual
    /// benchmark.
    PiLead(PiLeadDesign),
}

impl Kind {
    #[inline]
    fn command(&mut self, desired: [f64; 3], measured: f64) -> [f64; 3] {
        self.active_mut().map_or(desired, |one| one.command(desired, measured))
    }
}

/// Turns the *desired* interface motion into the *command*, so that the
/// *achieved* motion follows the desired one. A closed set, chosen by the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Compensator {
    /// One for each interface DOF; none where the command is the desired motion.
    kinds: Vec<Kind>,
    /// What the command passes through afterwards.
    shaping: Option<Shaping>,
    /// Where there is something to learn.
    converter: Option<Converter>,
}

impl Compensator {
    /// The command is the desired motion.
    pub const NONE: Self = Self { kinds: Vec::new(), shaping: None, converter: None };

    /// Builds a declared compensator for a loop, at rest.
    pub fn new(
        design: &Design,
        shaping: &ShapingDesign,
        site: &Site,
    ) -> Result<Self, CompensatorError> {
        let kind = Kind::new(design, site.step_s)?;
        let shaping = Shaping::new(shaping, site)?;
        if kind == Kind::Through && shaping.is_none() {
            return Ok(Self::NONE);
        }
        let converter = design.is_adaptive().then_some(site.converter);
        Ok(Self { kinds: vec![kind; site.count], shaping, converter })
    }

    /// One tick: no allocation, no blocking, no panic.
    #[inline]
    pub fn step(&mut self, desired: &Motion, measured: &[f64], command: &mut Motion) {
        if self.kinds.is_empty() || !is_finite(desired) {
            // Not a number goes on to the gate, which trips; nothing is remembered.
            command.copy_from(desired);
        } else {
            self.compensate(desired, measured, command);
        }
    }

    fn compensate(&mut self, desired: &Motion, measured: &[f64], command: &mut Motion) {
        for (i, kind) in self.kinds.iter_mut().enumerate() {
            command.set(i, kind.command(desired.of(i), measured[i]));
        }
        if let Some(shaping) = &mut self.shaping {
            shaping.limit(command);
        }
        if let Some(converter) = &self.converter {
            for (i, one) in self.kinds.iter_mut().filter_map(Kind::active_mut).enumerate() {
                one.learn(converter.convert(command.displacement[i]), measured[i]);
            }
        }
        if let Some(shaping) = &mut self.shaping {
            shaping.smooth(command);
        }
    }

    /// Before the [`step`](Self::step) of a tick whose desired motion belongs to
    /// a new prediction, which would have been at `before` a tick earlier.
    #[inline]
    pub fn rejoin(&mut self, before: &Motion) {
        let active = self.kinds.iter_mut().filter_map(Kind::active_mut);
        active.zip(&before.acceleration).for_each(|(one, &a)| one.rejoin(a));
    }

    /// Appends what [`parameters`](Self::parameters) gives; `frame` has room for it.
    #[inline]
    pub fn write_parameters(&self, frame: &mut Vec<f64>) {
        for one in self.kinds.iter().filter_map(Kind::active) {
            frame.extend_from_slice(one.parameters());
        }
    }

    /// The adapted parameters of every interface DOF, one DOF after the other.
    pub fn parameters(&self) -> Vec<f64> {
        let mut all = Vec::new();
        self.write_parameters(&mut all);
        all
    }
}

/// Whether every number of a motion is one.
#[inline]
fn is_finite(motion: &Motion) -> bool {
    let Motion { displacement, velocity, acceleration } = motion;
    // Zero times a number is zero, and only times a number.
    let all = displacement.iter().chain(velocity).chain(acceleration);
    all.map(|value| 0.0 * value).sum::<f64>() == 0.0
}
