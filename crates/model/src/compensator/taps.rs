//! A fixed linear compensator as the taps of a filter, for those who judge the
//! loop around it.

use super::{Compensator, CompensatorError, Design, ShapingDesign, Site};
use crate::motion::Motion;
use crate::sensor::Converter;

/// `to`[k] gets `weight` × `from`[k − `lag`]; signals are 0 displacement,
/// 1 velocity, 2 acceleration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tap {
    /// Ticks ago.
    pub lag: usize,
    /// Signal of the desired motion.
    pub from: usize,
    /// Signal of the command.
    pub to: usize,
    /// Factor.
    pub weight: f64,
}

/// The taps of one interface DOF, found by asking the compensator itself:
/// `None` for those that adapt or feed back.
pub fn taps(design: &Design, step_s: f64) -> Result<Option<Vec<Tap>>, CompensatorError> {
    let memory = match design {
        Design::None => 0,
        Design::FirstOrder(_) => 1,
        Design::Inverse(_) => super::derivatives::HIGHEST,
        Design::ForwardPrediction(design) => {
            let spacing = (design.delay_s / step_s).round().max(1.0);
            // Building it below refuses a history that is too long.
            design.order.saturating_mul(spacing as usize)
        }
        Design::AdaptiveModelBased(_)
        | Design::AdaptiveInverse(_)
        | Design::AdaptiveTimeSeries(_)
        | Design::PiLead(_) => return Ok(None),
    };
    let converter = Converter { quantum: 0.0, saturation: f64::INFINITY };
    let site = Site { count: 1, step_s, converter };
    let at_rest = Compensator::new(design, &ShapingDesign::default(), &site)?;
    let mut found = Vec::new();
    let mut command = Motion::rest(1);
    for from in 0..3 {
        let mut compensator = at_rest.clone();
        // From rest: what comes first is not taken for the past.
        compensator.step(&Motion::rest(1), &[0.0], &mut command);
        for lag in 0..=memory {
            let mut pulse = [0.0; 3];
            pulse[from] = if lag == 0 { 1.0 } else { 0.0 };
            let mut desired = Motion::rest(1);
            desired.set(0, pulse);
            compensator.step(&desired, &[0.0], &mut command);
            let response = command.of(0).into_iter().enumerate();
            let taps = response.map(|(to, weight)| Tap { lag, from, to, weight });
            found.extend(taps.filter(|tap| tap.weight != 0.0));
        }
    }
    Ok(Some(found))
}
