//! Proportional and integral feedback behind a lead: the benchmark's baseline.

use super::design::{PiLeadDesign, finite, positive};
use super::estimator::MOST_M;
use super::{Compensate, CompensatorError, Site};
use crate::motion::Motion;

/// c = (K_p + K_i/s) (L x − x_m),  L = (b s + p)/(s + p), both by Tustin's rule.
///
/// The lead shapes the desired motion, the feedback closes the loop around the
/// measured displacement. The command's velocity and acceleration are those of
/// the lead alone: a derivative of the feedback would be sensor noise.
///
/// The arrangement is the one that gives the benchmark's published baseline;
/// others (lead behind the feedback, lead on the measurement) are unstable there.
///
/// Reference: Silva et al. 2020, Mech. Syst. Signal Process. 135, 106381.
#[derive(Debug, Clone, PartialEq)]
pub struct PiLead {
    lead: Tustin,
    feedback: Tustin,
    states: Vec<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct State {
    lead: [Memory; 3],
    feedback: Memory,
    /// The last measurement that was a number.
    measured: f64,
}

impl PiLead {
    /// At rest.
    pub fn new(design: &PiLeadDesign, site: &Site) -> Result<Self, CompensatorError> {
        let proportional = finite("proportional", design.proportional)?;
        let integral = finite("integral", design.integral_1_s)?;
        let pole = positive("lead_pole", design.lead_pole_1_s)?;
        let lead_gain = finite("lead_gain", design.lead_gain)?;
        let checked =
            PiLeadDesign { proportional, integral_1_s: integral, lead_pole_1_s: pole, lead_gain };
        let (lead, feedback) = Tustin::of(&checked, site.step_s);
        Ok(Self { lead, feedback, states: vec![State::default(); site.count] })
    }
}

impl Compensate for PiLead {
    #[inline]
    fn command(&mut self, desired: &Motion, measured: &[f64], command: &mut Motion) {
        for (i, (state, &said)) in self.states.iter_mut().zip(measured).enumerate() {
            // What is not a number trips the gate; the integral must not keep it.
            if said.abs() < MOST_M {
                state.measured = said;
            }
            let wanted = desired.of(i);
            let [x, v, a] = std::array::from_fn(|s| self.lead.step(&mut state.lead[s], wanted[s]));
            let x = self.feedback.step(&mut state.feedback, x - state.measured);
            command.set(i, [x, v, a]);
        }
    }
}

/// (n1 s + n0)/(d1 s + d0) by the bilinear rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tustin {
    pub(super) b: [f64; 2],
    pub(super) a: f64,
}

/// Input and output of the tick before.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Memory {
    input: f64,
    output: f64,
}

impl Tustin {
    /// The lead and the feedback of a design.
    pub(super) fn of(design: &PiLeadDesign, step_s: f64) -> (Self, Self) {
        let pole = design.lead_pole_1_s;
        let lead = Self::new([design.lead_gain, pole], [1.0, pole], step_s);
        let both = [design.proportional, design.integral_1_s];
        (lead, Self::new(both, [1.0, 0.0], step_s))
    }

    fn new(numerator: [f64; 2], denominator: [f64; 2], step_s: f64) -> Self {
        let image = |[high, low]: [f64; 2]| {
            let high = high * 2.0 / step_s;
            [low + high, low - high]
        };
        let (b, a) = (image(numerator), image(denominator));
        Self { b: b.map(|b| b / a[0]), a: a[1] / a[0] }
    }

    #[inline]
    fn step(&self, memory: &mut Memory, input: f64) -> f64 {
        let output = self.b[0] * input + self.b[1] * memory.input - self.a * memory.output;
        *memory = Memory { input, output };
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integral_sums_by_the_straight_rule() {
        let pi = Tustin::new([2.0, 95.0], [1.0, 0.0], 0.01);
        let mut memory = Memory::default();
        let mut sum = 0.0;
        let mut last = 0.0;
        for k in 0..50 {
            let x = (0.3 * f64::from(k)).sin();
            sum += 0.5 * 0.01 * (x + last);
            last = x;
            assert!((pi.step(&mut memory, x) - (2.0 * x + 95.0 * sum)).abs() < 1e-12);
        }
    }

    #[test]
    fn the_lead_has_unit_gain_at_rest() {
        let lead = Tustin::new([50.8316336, 8570.39734], [1.0, 8570.39734], 1.0 / 4096.0);
        let mut memory = Memory::default();
        let settled = (0..200).map(|_| lead.step(&mut memory, 1.0)).last();
        assert!((settled.unwrap() - 1.0).abs() < 1e-12);
    }
}
