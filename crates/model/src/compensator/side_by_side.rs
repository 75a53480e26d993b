//! Adaptive inverses of several loops, side by side in wide registers.

use numerics::filter::Section;
use numerics::lanes::{LANES, Lanes, Mask};

use super::adaptive_inverse::{AdaptiveInverse, N};
use super::estimator::{HISTORY, MOST_M, central_differences};
use super::{Active, Compensator, Kind};

/// The adaptive inverses of loops with one interface DOF each.
///
/// All of them do the same at the same time, so every step is taken for all at
/// once. Every number is that of the single one, bit for bit.
#[derive(Debug, Clone)]
pub struct AdaptiveInverses {
    latency_s: f64,
    rate_hz: f64,
    stride: u32,
    sections: [Section; 2],
    /// Per section its two delayed values, of the command and of the measurement.
    filters: [[[Lanes; 2]; 2]; 2],
    /// The last filtered commands and measurements, a ring.
    history: [[Lanes; 2]; HISTORY],
    oldest: usize,
    filled: usize,
    /// Ticks until the next update.
    wait: u32,
    parameters: [Lanes; N],
    last_acceleration: Option<Lanes>,
    estimate: Estimate,
}

/// What is learnt, and by what; the names are those of [`AdaptiveInverse`].
#[derive(Debug, Clone)]
struct Estimate {
    spread: [Lanes; N],
    lower: [Lanes; N],
    upper: [Lanes; N],
    variance: Lanes,
    walk: Lanes,
    threshold: Lanes,
    scaled: [Lanes; N],
    covariance: [[Lanes; N]; N],
}

impl AdaptiveInverses {
    /// Puts them side by side, all at rest; `None` if one is of another kind, is
    /// shaped, or differs in more than its numbers to learn.
    pub fn new(compensators: [&Compensator; LANES]) -> Option<Self> {
        let each: Vec<&AdaptiveInverse> =
            compensators.into_iter().map(single).collect::<Option<_>>()?;
        let first = *each.first()?;
        if each.iter().any(|one| !one.is_alike(first)) {
            return None;
        }
        let four = |of: &dyn Fn(&AdaptiveInverse) -> [f64; N]| -> [Lanes; N] {
            std::array::from_fn(|i| Lanes::each(|lane| of(each[lane])[i]))
        };
        let covariance =
            |row: usize| four(&|one: &AdaptiveInverse| one.first_state().covariance[row]);
        Some(Self {
            latency_s: first.latency_s,
            rate_hz: first.rate_hz,
            stride: first.stride,
            sections: first.sections(),
            filters: [[[Lanes::ZERO; 2]; 2]; 2],
            history: [[Lanes::ZERO; 2]; HISTORY],
            oldest: 0,
            filled: 0,
            wait: first.stride,
            parameters: four(&|one| one.first_state().parameters),
            last_acceleration: None,
            estimate: Estimate {
                spread: four(&|one| one.spread),
                lower: four(&|one| one.lower),
                upper: four(&|one| one.upper),
                variance: Lanes::each(|lane| each[lane].variance),
                walk: Lanes::each(|lane| each[lane].walk),
                threshold: Lanes::each(|lane| each[lane].threshold),
                scaled: four(&|one| one.first_state().scaled),
                covariance: std::array::from_fn(covariance),
            },
        })
    }

    /// The commands for the desired motions (displacement, velocity, acceleration).
    #[inline(always)]
    pub fn command(&mut self, desired: &[Lanes; 3]) -> [Lanes; 3] {
        let (late, rate_hz) = (self.latency_s, self.rate_hz);
        let [wanted, velocity, a] = *desired;
        let jerk = match self.last_acceleration {
            None => Lanes::ZERO,
            Some(last) => rate_hz * (a - last),
        };
        self.last_acceleration = Some(a);
        let [a0, a1, a2, a3] = self.parameters;
        let x = wanted + late * (velocity + 0.5 * late * a);
        let v = velocity + late * a;
        [a0 * x + a1 * v + a2 * a + a3 * jerk, a0 * v + a1 * a + a2 * jerk, a0 * a + a1 * jerk]
    }

    /// Learns from what left the converters and what was then measured. Gives
    /// which of them it can follow: a number out of all bounds opens a gap in the
    /// history of a single one, which has no place here.
    #[inline(always)]
    pub fn learn(&mut self, sent: Lanes, measured: Lanes) -> Mask {
        let mut signals = [sent, measured];
        for (Section { b, a }, [s1, s2]) in self.sections.iter().zip(&mut self.filters) {
            for (x, (s1, s2)) in signals.iter_mut().zip(s1.iter_mut().zip(s2)) {
                let y = b[0] * *x + *s1;
                *s1 = b[1] * *x - a[0] * y + *s2;
                *s2 = b[2] * *x - a[1] * y;
                *x = y;
            }
        }
        self.history[self.oldest] = signals;
        self.oldest = if self.oldest + 1 == HISTORY { 0 } else { self.oldest + 1 };
        self.filled = (self.filled + 1).min(HISTORY);
        self.wait = self.wait.saturating_sub(1);
        if self.wait == 0 && self.filled == HISTORY {
            self.wait = self.stride;
            self.update();
        }
        let most = Lanes::all(MOST_M);
        sent.abs().below(most) & measured.abs().below(most)
    }

    #[inline(always)]
    fn update(&mut self) {
        let past: [[Lanes; 2]; HISTORY] =
            std::array::from_fn(|age| self.history[(self.oldest + age) % HISTORY]);
        let [command, measured] = past[HISTORY / 2];
        let learns = self.estimate.threshold.below(measured.abs());
        if learns.any() {
            let derivatives = central_differences(past.map(|[_, m]| m), self.rate_hz);
            self.estimate.update(derivatives, command, learns, &mut self.parameters);
        }
    }
}

impl Estimate {
    /// [`AdaptiveInverse::update`] in those lanes that learn.
    #[inline(always)]
    fn update(
        &mut self,
        derivatives: [Lanes; N],
        command: Lanes,
        learns: Mask,
        parameters: &mut [Lanes; N],
    ) {
        let phi: [Lanes; N] = std::array::from_fn(|i| derivatives[i] * self.spread[i]);
        let mut gain = [Lanes::ZERO; N];
        for (row, phi) in self.covariance.iter().zip(phi) {
            for (gain, covariance) in gain.iter_mut().zip(row) {
                *gain += *covariance * phi;
            }
        }
        let inverse = Lanes::all(1.0).over(self.variance + dot(&phi, &gain));
        let residual = (command - dot(&phi, &self.scaled)) * inverse;
        for i in 0..N {
            let learnt = self.scaled[i] + gain[i] * residual;
            // What `clamp` gives: what is not a number stays.
            let learnt = learnt.below(self.lower[i]).choose(self.lower[i], learnt);
            let learnt = self.upper[i].below(learnt).choose(self.upper[i], learnt);
            self.scaled[i] = learns.choose(learnt, self.scaled[i]);
            parameters[i] = learns.choose(self.scaled[i] * self.spread[i], parameters[i]);
        }
        for (i, row) in self.covariance.iter_mut().enumerate() {
            for j in 0..N {
                let mut entry = row[j] - (gain[i] * gain[j]) * inverse;
                if i == j {
                    let certain = entry.below(Lanes::all(1.0));
                    entry = certain.choose(entry + self.walk, entry);
                }
                row[j] = learns.choose(entry, row[j]);
            }
        }
    }
}

/// The adaptive inverse of one DOF that a compensator is, if it is nothing more.
fn single(compensator: &Compensator) -> Option<&AdaptiveInverse> {
    let Compensator::Active(active) = compensator else { return None };
    match &**active {
        Active { kind: Kind::AdaptiveInverse(one), shaping: None, count: 1, .. } => Some(one),
        _ => None,
    }
}

#[inline(always)]
fn dot(a: &[Lanes; N], b: &[Lanes; N]) -> Lanes {
    (a[0] * b[0] + a[2] * b[2]) + (a[1] * b[1] + a[3] * b[3])
}
