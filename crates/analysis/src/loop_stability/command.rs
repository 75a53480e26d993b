//! From desired motion to command, at a complex frequency.

use model::compensator::{Design, PiLeadDesign, ShapingDesign, Tap, taps};
use nalgebra::Complex;
use numerics::filter::{Cascade, Pass};

use super::LoopError;

/// The order of the filter behind every compensator.
const LOW_PASS_ORDER: usize = 2;

/// A compensator that is a filter, for one interface DOF.
#[derive(Debug, Clone)]
pub(super) struct Command {
    kind: Kind,
    low_pass: Option<Cascade>,
    step_s: f64,
}

#[derive(Debug, Clone)]
enum Kind {
    Taps(Vec<Tap>),
    PiLead(PiLeadDesign),
}

/// What the command is made of at one frequency.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gains {
    /// `[to][from]`: signals of the command from those of the desired motion.
    pub(super) ahead: [[Complex<f64>; 3]; 3],
    /// Displacement of the command from the measured displacement.
    pub(super) feedback: Complex<f64>,
}

impl Command {
    pub(super) fn new(
        design: &Design,
        shaping: &ShapingDesign,
        step_s: f64,
    ) -> Result<Self, LoopError> {
        let kind = match design {
            Design::PiLead(design) => Kind::PiLead(*design),
            design => Kind::Taps(taps(design, step_s)?.ok_or(LoopError::Adaptive)?),
        };
        let filter = |cutoff_hz| {
            Cascade::butterworth(Pass::Low, LOW_PASS_ORDER, cutoff_hz, 1.0 / step_s).map_err(
                |source| model::compensator::CompensatorError::Filter { key: "low_pass", source },
            )
        };
        let low_pass = shaping.low_pass_hz.map(filter).transpose()?;
        Ok(Self { kind, low_pass, step_s })
    }

    /// Whether the command hears the measurement.
    pub(super) fn feeds_back(&self) -> bool {
        matches!(self.kind, Kind::PiLead(_))
    }

    /// At z = e^{sh}, sample by sample.
    pub(super) fn at(&self, z: Complex<f64>) -> Gains {
        let smooth = self.low_pass.as_ref().map_or(Complex::ONE, |filter| filter.at(z));
        let mut gains = Gains { ahead: [[Complex::ZERO; 3]; 3], feedback: Complex::ZERO };
        match &self.kind {
            Kind::Taps(taps) => {
                for tap in taps {
                    gains.ahead[tap.to][tap.from] += tap.weight * z.powi(-(tap.lag as i32));
                }
            }
            Kind::PiLead(design) => {
                let (lead, feedback) = pi_lead(design, z, self.step_s);
                gains.ahead[0][0] = feedback * lead;
                gains.ahead[1][1] = lead;
                gains.ahead[2][2] = lead;
                gains.feedback = -feedback;
            }
        }
        gains.ahead.iter_mut().flatten().for_each(|gain| *gain *= smooth);
        gains.feedback *= smooth;
        gains
    }

    /// Displacement of the command from the desired displacement, and from the
    /// measured one, if velocity and acceleration are true derivatives.
    pub(super) fn along(&self, s: Complex<f64>) -> (Complex<f64>, Complex<f64>) {
        let gains = self.at((s * self.step_s).exp());
        let [of_x, of_v, of_a] = gains.ahead[0];
        (of_x + s * (of_v + s * of_a), gains.feedback)
    }
}

/// The lead and the feedback by Tustin's rule, which puts w in the place of s.
fn pi_lead(design: &PiLeadDesign, z: Complex<f64>, step_s: f64) -> (Complex<f64>, Complex<f64>) {
    let w = (z - 1.0) / (z + 1.0) * (2.0 / step_s);
    let lead = (w * design.lead_gain + design.lead_pole_1_s) / (w + design.lead_pole_1_s);
    (lead, w.inv() * design.integral_1_s + design.proportional)
}
