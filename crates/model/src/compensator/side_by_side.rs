//! Adaptive inverses of several loops, side by side in wide registers.

use numerics::filter::Section;

use super::adaptive_inverse::AdaptiveInverse;
use super::estimator::{MOST_M, Window};
use super::{Active, Compensator, Kind};

/// One number of every loop.
type Lanes<const L: usize> = [f64; L];

/// The adaptive inverse of `L` loops with one interface DOF each.
///
/// What happens in every tick is done for all of them at once; what is learnt
/// now and then is learnt by each on its own, by the code of a single one. Every
/// number is that of the single one, bit for bit.
#[derive(Debug, Clone)]
pub struct AdaptiveInverses<const L: usize> {
    each: [AdaptiveInverse; L],
    sections: [Section; 2],
    /// Per section its two delayed values, of the command and of the measurement.
    filters: [[[Lanes<L>; 2]; 2]; 2],
    /// The last five filtered commands and measurements, newest last.
    window: [[Lanes<L>; 2]; 5],
    filled: u8,
    wait: u32,
    parameters: [Lanes<L>; 4],
    last_acceleration: Option<Lanes<L>>,
}

impl<const L: usize> AdaptiveInverses<L> {
    /// Puts them side by side, all at rest; `None` if one is of another kind, is
    /// shaped, or differs in more than its numbers to learn.
    pub fn new(compensators: [&Compensator; L]) -> Option<Self> {
        let single = |compensator: &Compensator| match compensator {
            Compensator::Active(active) => match &**active {
                Active { kind: Kind::AdaptiveInverse(one), shaping: None, count: 1, .. } => {
                    Some(one.clone())
                }
                _ => None,
            },
            Compensator::None => None,
        };
        let each: Vec<AdaptiveInverse> =
            compensators.into_iter().map(single).collect::<Option<_>>()?;
        let each: [AdaptiveInverse; L] = each.try_into().ok()?;
        let first = each.first()?;
        if each.iter().any(|one| !one.is_alike(first)) {
            return None;
        }
        Some(Self {
            sections: first.sections(),
            filters: [[[[0.0; L]; 2]; 2]; 2],
            window: [[[0.0; L]; 2]; 5],
            filled: 0,
            wait: first.stride(),
            parameters: std::array::from_fn(|i| {
                std::array::from_fn(|lane| each[lane].factors()[i])
            }),
            last_acceleration: None,
            each,
        })
    }

    /// The commands for the desired motions (displacement, velocity, acceleration).
    #[inline(always)]
    pub fn command(&mut self, desired: &[Lanes<L>; 3]) -> [Lanes<L>; 3] {
        let (late, rate_hz) = (self.each[0].latency_s(), self.each[0].rate_hz());
        let [wanted, velocity, a] = *desired;
        let jerk = match self.last_acceleration {
            None => [0.0; L],
            Some(last) => std::array::from_fn(|i| (a[i] - last[i]) * rate_hz),
        };
        self.last_acceleration = Some(a);
        let [a0, a1, a2, a3] = &self.parameters;
        let x: Lanes<L> =
            std::array::from_fn(|i| wanted[i] + late * (velocity[i] + 0.5 * late * a[i]));
        let v: Lanes<L> = std::array::from_fn(|i| velocity[i] + late * a[i]);
        [
            std::array::from_fn(|i| a0[i] * x[i] + a1[i] * v[i] + a2[i] * a[i] + a3[i] * jerk[i]),
            std::array::from_fn(|i| a0[i] * v[i] + a1[i] * a[i] + a2[i] * jerk[i]),
            std::array::from_fn(|i| a0[i] * a[i] + a1[i] * jerk[i]),
        ]
    }

    /// Learns from what left the converters and what was then measured. Gives
    /// which of them it can follow: a number out of all bounds opens a gap in the
    /// history of a single one, which has no place here.
    #[inline(always)]
    pub fn learn(&mut self, sent: Lanes<L>, measured: Lanes<L>) -> [bool; L] {
        let mut signals = [sent, measured];
        for (Section { b, a }, [s1, s2]) in self.sections.iter().zip(&mut self.filters) {
            for (x, (s1, s2)) in signals.iter_mut().zip(s1.iter_mut().zip(s2)) {
                for i in 0..L {
                    let y = b[0] * x[i] + s1[i];
                    s1[i] = b[1] * x[i] - a[0] * y + s2[i];
                    s2[i] = b[2] * x[i] - a[1] * y;
                    x[i] = y;
                }
            }
        }
        let [_, b, c, d, e] = self.window;
        self.window = [b, c, d, e, signals];
        self.filled = self.filled.saturating_add(1);
        self.wait = self.wait.saturating_sub(1);
        if self.wait == 0 && self.filled >= 5 {
            self.wait = self.each[0].stride();
            self.update();
        }
        let sound = [sent, measured].map(|value| value.map(|value| value.abs() < MOST_M));
        std::array::from_fn(|i| sound[0][i] & sound[1][i])
    }

    fn update(&mut self) {
        for (lane, one) in self.each.iter_mut().enumerate() {
            one.learn_from(Window::of(self.window.map(|[c, m]| [c[lane], m[lane]])));
            for (values, factor) in self.parameters.iter_mut().zip(one.factors()) {
                values[lane] = factor;
            }
        }
    }
}
