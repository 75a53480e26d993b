//! Compensators: from the desired motion to the command.
//!
//! A [`Design`] declares one with its numbers; [`Compensator::new`] builds it
//! for a loop. One file per kind.

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
mod taps;
#[cfg(test)]
mod tests;

pub use adaptive_inverse::AdaptiveInverse;
pub use adaptive_model_based::AdaptiveModelBased;
pub use adaptive_time_series::AdaptiveTimeSeries;
pub use derivatives::DerivativeSource;
pub use design::{
    AdaptiveInverseDesign, AdaptiveModelBasedDesign, AdaptiveTimeSeriesDesign, CompensatorError,
    Design, FirstOrderDesign, ForwardPredictionDesign, InverseDesign, PiLeadDesign, delay_series,
};
pub use first_order::FirstOrder;
pub use forward_prediction::ForwardPrediction;
pub use inverse::Inverse;
pub use pi_lead::PiLead;
pub use shaping::{Shaping, ShapingDesign};
pub use taps::{Tap, taps};

use crate::motion::Motion;
use crate::sensor::Converter;

/// The duty of one kind of compensator. One entry per interface DOF; every
/// DOF has a state of its own.
///
/// `command` and `learn` run inside the tick: no allocation, no blocking, no
/// panic. They are given finite desired motions only; a measurement may be
/// anything and must never leave the state without a number in it.
pub trait Compensate {
    /// Turns the desired motion into the command of this tick.
    fn command(&mut self, desired: &Motion, measured: &[f64], command: &mut Motion);

    /// Is told the command within its limits and the measurement of the same
    /// instant. Kinds that do not adapt do nothing.
    fn learn(&mut self, _sent: &Motion, _measured: &[f64]) {}

    /// Is told that the desired motion comes from a new prediction, which would
    /// have been at `before` a tick earlier. Kinds that difference the motion
    /// then do so along the new one.
    fn rejoin(&mut self, _before: &Motion) {}

    /// The adapted parameters of one interface DOF, in the order of
    /// [`Design::parameters`]; none for fixed kinds.
    fn parameters(&self, _dof: usize) -> &[f64] {
        &[]
    }
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

/// Turns the *desired* interface motion into the *command*, so that the
/// *achieved* motion follows the desired one. A closed set, chosen by the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Compensator {
    /// The command is the desired motion.
    None,
    /// One that does something.
    Active(Box<Active>),
}

/// A kind of compensator and what its command passes through afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Active {
    kind: Kind,
    shaping: Option<Shaping>,
    count: usize,
}

/// The kinds.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Through,
    FirstOrder(FirstOrder),
    Inverse(Inverse),
    ForwardPrediction(ForwardPrediction),
    AdaptiveModelBased(AdaptiveModelBased),
    AdaptiveInverse(AdaptiveInverse),
    AdaptiveTimeSeries(AdaptiveTimeSeries),
    PiLead(PiLead),
}

/// Calls a method of whatever kind it is; `$through` for the one without state.
macro_rules! each {
    ($kind:expr, $one:ident => $call:expr, $through:expr) => {
        match $kind {
            Kind::Through => $through,
            Kind::FirstOrder($one) => $call,
            Kind::Inverse($one) => $call,
            Kind::ForwardPrediction($one) => $call,
            Kind::AdaptiveModelBased($one) => $call,
            Kind::AdaptiveInverse($one) => $call,
            Kind::AdaptiveTimeSeries($one) => $call,
            Kind::PiLead($one) => $call,
        }
    };
}

impl Compensator {
    /// Builds a declared compensator for a loop, at rest.
    pub fn new(
        design: &Design,
        shaping: &ShapingDesign,
        site: &Site,
    ) -> Result<Self, CompensatorError> {
        let kind = match design {
            Design::None => Kind::Through,
            Design::FirstOrder(design) => Kind::FirstOrder(FirstOrder::new(design, site)?),
            Design::Inverse(design) => Kind::Inverse(Inverse::new(design, site)?),
            Design::ForwardPrediction(design) => {
                Kind::ForwardPrediction(ForwardPrediction::new(design, site)?)
            }
            Design::AdaptiveModelBased(design) => {
                Kind::AdaptiveModelBased(AdaptiveModelBased::new(design, site)?)
            }
            Design::AdaptiveInverse(design) => {
                Kind::AdaptiveInverse(AdaptiveInverse::new(design, site)?)
            }
            Design::AdaptiveTimeSeries(design) => {
                Kind::AdaptiveTimeSeries(AdaptiveTimeSeries::new(design, site)?)
            }
            Design::PiLead(design) => Kind::PiLead(PiLead::new(design, site)?),
        };
        let shaping = Shaping::new(shaping, site)?;
        if kind == Kind::Through && shaping.is_none() {
            return Ok(Self::None);
        }
        Ok(Self::Active(Box::new(Active { kind, shaping, count: site.count })))
    }

    /// One tick: no allocation, no blocking, no panic.
    #[inline]
    pub fn step(&mut self, desired: &Motion, measured: &[f64], command: &mut Motion) {
        match self {
            Self::None => command.copy_from(desired),
            Self::Active(active) => active.step(desired, measured, command),
        }
    }

    /// Before the [`step`](Self::step) of a tick whose desired motion belongs to
    /// a new prediction, which would have been at `before` a tick earlier.
    #[inline]
    pub fn rejoin(&mut self, before: &Motion) {
        if let Self::Active(active) = self {
            each!(&mut active.kind, one => one.rejoin(before), ());
        }
    }

    /// Appends what [`parameters`](Self::parameters) gives; `frame` has room for it.
    #[inline]
    pub fn write_parameters(&self, frame: &mut Vec<f64>) {
        if let Self::Active(active) = self {
            for dof in 0..active.count {
                let of: &[f64] = each!(&active.kind, one => one.parameters(dof), &[]);
                frame.extend_from_slice(of);
            }
        }
    }

    /// The adapted parameters of every interface DOF, one DOF after the other.
    pub fn parameters(&self) -> Vec<f64> {
        let mut all = Vec::new();
        self.write_parameters(&mut all);
        all
    }
}

impl Active {
    fn step(&mut self, desired: &Motion, measured: &[f64], command: &mut Motion) {
        if !is_finite(desired) {
            // Not a number goes on to the gate, which trips; nothing is remembered.
            command.copy_from(desired);
            return;
        }
        each!(
            &mut self.kind,
            one => one.command(desired, measured, command),
            command.copy_from(desired)
        );
        if let Some(shaping) = &mut self.shaping {
            shaping.limit(command);
        }
        each!(&mut self.kind, one => one.learn(command, measured), ());
        if let Some(shaping) = &mut self.shaping {
            shaping.smooth(command);
        }
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
