//! Proportional and integral feedback behind a lead: the benchmark's baseline.

use keys::Keys;
use nalgebra::DMatrix;
use numerics::linear_system::{Join, LinearSystem, Time};

use super::estimator::MOST_M;
use super::{Adapts, Compensate, CompensatorError};
use crate::check::{check_finite, check_positive};
/// Keys of proportional and integral feedback behind a lead.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct PiLeadDesign {
    /// Gain on the tracking error.
    #[key(number, default = 2)]
    pub proportional: f64,
    /// Gain on its integral, 1/s.
    #[key(number, default = 95, name = "integral")]
    pub integral_1_s: f64,
    /// b of the lead (b s + p)/(s + p).
    #[key(number, default = 50.8316336)]
    pub lead_gain: f64,
    /// p of the lead, 1/s.
    #[key(number, positive, default = 8570.39734, name = "lead_pole")]
    pub lead_pole_1_s: f64,
}

impl Adapts for PiLeadDesign {}

impl PiLeadDesign {
    /// The baseline of the virtual benchmark.
    pub const BENCHMARK: Self = Self {
        proportional: 2.0,
        integral_1_s: 95.0,
        lead_gain: 50.8316336,
        lead_pole_1_s: 8570.39734,
    };
}

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
    of_lead: [Memory; 3],
    of_feedback: Memory,
    /// The last measurement that was a number.
    measured: f64,
}

impl PiLead {
    /// At rest.
    pub fn new(design: &PiLeadDesign, step_s: f64) -> Result<Self, CompensatorError> {
        let proportional = check_finite("proportional", design.proportional)?;
        let integral = check_finite("integral", design.integral_1_s)?;
        let pole = check_positive("lead_pole", design.lead_pole_1_s)?;
        let lead_gain = check_finite("lead_gain", design.lead_gain)?;
        Ok(Self {
            lead: Tustin::new([lead_gain, pole], [1.0, pole], step_s),
            feedback: Tustin::new([proportional, integral], [1.0, 0.0], step_s),
            of_lead: Default::default(),
            of_feedback: Memory::default(),
            measured: 0.0,
        })
    }
}

impl Compensate for PiLead {
    fn command(&mut self, desired: [f64; 3], measured: f64) -> [f64; 3] {
        // What is not a number trips the gate; the integral must not keep it.
        if measured.abs() < MOST_M {
            self.measured = measured;
        }
        let [x, v, a] = std::array::from_fn(|s| self.lead.step(&mut self.of_lead[s], desired[s]));
        [self.feedback.step(&mut self.of_feedback, x - self.measured), v, a]
    }

    fn feedback_form(&self, time: Time) -> Option<LinearSystem> {
        let mut join = Join::new(time);
        let lead = join.add(self.lead.linear_form(time).copies(3));
        // The lead of the displacement less the measured one.
        let difference =
            join.add(LinearSystem::gain(DMatrix::from_row_slice(1, 2, &[1.0, -1.0]), time));
        let feedback = join.add(self.feedback.linear_form(time));
        join.wire(lead.port(0..1), difference.port(0..1));
        join.wire(difference.port(0..1), feedback.port(0..1));
        let inputs = [lead.port(0..3), difference.port(1..2)];
        let outputs = [feedback.port(0..1), lead.port(1..3)];
        Some(join.system(&inputs, &outputs).expect("wired in a row"))
    }
}

/// (n1 s + n0)/(d1 s + d0) by the bilinear rule.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tustin {
    b: [f64; 2],
    a: f64,
}

/// Input and output of the tick before.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Memory {
    input: f64,
    output: f64,
}

impl Tustin {
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

    /// y = b0 u + w, w⁺ = b1 u − a y.
    fn linear_form(&self, time: Time) -> LinearSystem {
        let one = |value: f64| DMatrix::from_element(1, 1, value);
        let ([b0, b1], a) = (self.b, self.a);
        LinearSystem::new(one(-a), one(b1 - a * b0), one(1.0), one(b0), time)
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
