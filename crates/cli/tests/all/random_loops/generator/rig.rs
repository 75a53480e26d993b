//! Actuators with their controllers.

use std::fmt::Write as _;

use super::Draw;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RigKind {
    Ideal,
    IdealHeld,
    DelayWhole,
    DelayFractional,
    DelayBelowOneSample,
    Degree(usize),
    Servo,
}

/// Actuator and controller.
pub struct Rig {
    pub kind: RigKind,
    zeros: bool,
    /// Pure delay, s.
    pub delay_s: f64,
    /// How late it is in all at low frequency, s.
    pub late_s: f64,
    pub text: String,
}

impl Rig {
    pub fn draw(draw: &mut Draw, step_s: f64, slowest_hz: f64) -> Self {
        let late_s = draw.log_between(0.002, 0.12) / slowest_hz;
        let kind = draw.pick(&[
            RigKind::Ideal,
            RigKind::IdealHeld,
            RigKind::DelayWhole,
            RigKind::DelayWhole,
            RigKind::DelayFractional,
            RigKind::DelayFractional,
            RigKind::DelayBelowOneSample,
            RigKind::DelayBelowOneSample,
            RigKind::Degree(0),
            RigKind::Degree(0),
            RigKind::Degree(1),
            RigKind::Degree(1),
            RigKind::Degree(1),
            RigKind::Degree(2),
            RigKind::Degree(2),
            RigKind::Degree(2),
            RigKind::Degree(3),
            RigKind::Degree(3),
            RigKind::Degree(4),
            RigKind::Servo,
            RigKind::Servo,
        ]);
        let samples = (late_s / step_s).clamp(1.0, 150.0);
        match kind {
            RigKind::Ideal | RigKind::IdealHeld => {
                Self::plain(kind, 0.0, "kind = \"ideal\"".to_owned())
            }
            RigKind::DelayWhole => Self::delayed(kind, samples.round(), step_s),
            RigKind::DelayFractional => {
                let samples = samples.floor() + draw.between(0.02, 0.98);
                Self::delayed(kind, (1000.0 * samples).round() / 1000.0, step_s)
            }
            RigKind::DelayBelowOneSample => {
                let samples = draw.between(0.02, 0.99);
                Self::delayed(kind, (1000.0 * samples).round() / 1000.0, step_s)
            }
            RigKind::Degree(degree) => Self::transfer_function(draw, degree, late_s, step_s),
            RigKind::Servo => {
                let text = format!(
                    "kind = \"servo_hydraulic\"\ngain = {:.4}\nservo_gain = {:e}\nleakage = {:.3}",
                    draw.between(0.97, 1.03),
                    2.1283e13 * draw.between(0.6, 1.4),
                    3.3 * draw.between(0.5, 1.5)
                );
                Self::plain(kind, 0.02, text)
            }
        }
    }

    fn plain(kind: RigKind, late_s: f64, text: String) -> Self {
        Self { kind, zeros: false, delay_s: 0.0, late_s, text }
    }

    fn delayed(kind: RigKind, samples: f64, step_s: f64) -> Self {
        let text = format!("kind = \"delay\"\nsamples = {samples}");
        Self { delay_s: samples * step_s, ..Self::plain(kind, samples * step_s, text) }
    }

    fn transfer_function(draw: &mut Draw, degree: usize, late_s: f64, step_s: f64) -> Self {
        let zeros = if degree == 0 { 1 + draw.below(2) } else { draw.pick(&[0, 0, 0, 1, 1, 2]) };
        let poles = degree + zeros;
        // The lag of equal poles is that of one times their number.
        let corner = (poles as f64 / late_s).min(0.9 * std::f64::consts::PI / step_s);
        let gain = if draw.chance(0.5) { 1.0 } else { draw.between(0.93, 1.04) };
        let (mut denominator, mut left) = (vec![1.0], poles);
        while left > 0 {
            let omega = corner * draw.log_between(0.7, 1.6);
            if left > 1 && draw.chance(0.7) {
                let ratio = draw.between(0.35, 1.1);
                denominator =
                    product(&denominator, &[1.0 / omega.powi(2), 2.0 * ratio / omega, 1.0]);
                left -= 2;
            } else {
                denominator = product(&denominator, &[1.0 / omega, 1.0]);
                left -= 1;
            }
        }
        let (mut numerator, mut left) = (vec![gain], zeros);
        while left > 0 {
            let omega = corner * draw.log_between(0.8, 5.0);
            if left > 1 && draw.chance(0.3) {
                let ratio = draw.between(0.2, 1.0);
                numerator = product(&numerator, &[1.0 / omega.powi(2), 2.0 * ratio / omega, 1.0]);
                left -= 2;
            } else {
                let sign = if draw.chance(0.1) { -1.0 } else { 1.0 };
                numerator = product(&numerator, &[sign / omega, 1.0]);
                left -= 1;
            }
        }
        let lag = |polynomial: &[f64]| {
            let last = polynomial.len() - 1;
            if last == 0 { 0.0 } else { polynomial[last - 1] / polynomial[last] }
        };
        let own_s = (lag(&denominator) - lag(&numerator)).max(0.0);
        let first = denominator[0];
        let list = |polynomial: &[f64]| {
            let entries: Vec<String> =
                polynomial.iter().map(|value| format!("{:e}", value / first)).collect();
            entries.join(", ")
        };
        let mut text = format!(
            "kind = \"transfer_function\"\nnumerator = [{}]\ndenominator = [{}]",
            list(&numerator),
            list(&denominator)
        );
        let samples = match draw.below(8) {
            0 => 1.0 + draw.below(6) as f64,
            1 => draw.between(1.0, 7.0),
            2 => draw.between(0.05, 0.95),
            _ => 0.0,
        };
        let delay_s = samples * step_s;
        if samples > 0.0 {
            let _ = write!(text, "\ndelay = \"{delay_s:e} s\"");
        }
        let (kind, zeros) = (RigKind::Degree(degree), zeros > 0);
        Self { kind, zeros, delay_s, late_s: own_s + delay_s, text }
    }

    pub fn name(&self) -> String {
        let mut name = match self.kind {
            RigKind::Ideal => "ideal".to_owned(),
            RigKind::IdealHeld => "ideal, held".to_owned(),
            RigKind::DelayWhole => "delay, whole".to_owned(),
            RigKind::DelayFractional => "delay, fractional".to_owned(),
            RigKind::DelayBelowOneSample => "delay, below one sample".to_owned(),
            RigKind::Servo => "servo_hydraulic".to_owned(),
            RigKind::Degree(degree) => format!("degree {degree}"),
        };
        if self.zeros {
            name += ", zeros";
        }
        if matches!(self.kind, RigKind::Degree(_)) && self.delay_s > 0.0 {
            name += ", delay";
        }
        name
    }
}

fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut c = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            c[i + j] += x * y;
        }
    }
    c
}
