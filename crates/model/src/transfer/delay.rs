//! A pure delay of whole or fractional samples.

use nalgebra::DMatrix;

use crate::motion::Motion;

/// What rounding leaves of a number of samples, as a share.
const ROUNDING: f64 = 1e-12;

/// Remembers motions and gives them back late.
///
/// Whole samples come back bit for bit. Between samples the displacement is
/// the cubic through displacement and velocity at both ends, the velocity its
/// derivative, and the acceleration straight. The cubic leaves the
/// acceleration out on purpose: with a delay below one sample the newest
/// acceleration is still unknown (see [`newest_weight`](Self::newest_weight)).
#[derive(Debug, Clone)]
pub struct DelayLine {
    /// Whole samples, and the fraction beyond them.
    pub(super) whole: usize,
    pub(super) fraction: f64,
    step_s: f64,
    past: Vec<Motion>,
    newest: usize,
}

impl DelayLine {
    /// A delay of `samples` periods, from rest. `samples` is finite and not negative.
    pub fn new(samples: f64, step_s: f64, count: usize) -> Self {
        // A delay of whole samples stays one however its quotient was rounded: what holds its
        // command would otherwise be a sample early.
        let near = samples.round();
        let samples = if (samples - near).abs() <= ROUNDING * near { near } else { samples };
        let whole = samples.floor() as usize;
        let past = vec![Motion::rest(count); whole + 1];
        Self { whole, fraction: samples - samples.floor(), step_s, newest: 0, past }
    }

    /// The part of the present acceleration that comes out at once: 1 without
    /// delay, 0 from one sample on.
    pub fn newest_weight(&self) -> f64 {
        if self.whole == 0 { 1.0 - self.fraction } else { 0.0 }
    }

    /// Weights of the newer and of the older of the two motions it lies between,
    /// `[to][from]` of displacement, velocity and acceleration.
    pub(super) fn weights(&self) -> [DMatrix<f64>; 2] {
        let mut line = Self::new(self.fraction, self.step_s, 1);
        let mut out = Motion::rest(1);
        [0, 1].map(|age| {
            let mut weights = DMatrix::zeros(3, 3);
            for from in 0..3 {
                let mut motions = [Motion::rest(1), Motion::rest(1)];
                let mut unit = [0.0; 3];
                unit[from] = 1.0;
                motions[age].set(0, unit);
                line.push(&motions[1]);
                line.delayed(&motions[0], &mut out);
                weights.column_mut(from).copy_from_slice(&out.of(0));
            }
            weights
        })
    }

    /// The delayed motion, if `present` is the motion of this instant.
    #[inline(always)]
    pub fn delayed(&self, present: &Motion, out: &mut Motion) {
        let newer = self.ago(self.whole, present);
        if self.fraction == 0.0 {
            out.copy_from(newer);
        } else {
            let older = self.ago(self.whole + 1, present);
            interpolate(older, newer, 1.0 - self.fraction, self.step_s, out);
        }
    }

    /// Remembers the motion of this instant; the instant is over.
    #[inline(always)]
    pub fn push(&mut self, present: &Motion) {
        self.slot().copy_from(present);
    }

    /// The place of the next motion to be remembered, to be filled by the
    /// caller; the instant is over.
    #[inline(always)]
    pub fn slot(&mut self) -> &mut Motion {
        self.newest = if self.newest + 1 == self.past.len() { 0 } else { self.newest + 1 };
        &mut self.past[self.newest]
    }

    /// The motion `samples` ago; 0 is the present.
    #[inline(always)]
    fn ago<'a>(&'a self, samples: usize, present: &'a Motion) -> &'a Motion {
        if samples == 0 {
            return present;
        }
        let back = samples - 1;
        let index = if self.newest >= back {
            self.newest - back
        } else {
            self.newest + self.past.len() - back
        };
        &self.past[index]
    }
}

/// The motion at the part `s` of the way from `older` to `newer`.
fn interpolate(older: &Motion, newer: &Motion, s: f64, h: f64, out: &mut Motion) {
    let (s2, s3) = (s * s, s * s * s);
    for i in 0..out.count() {
        let ([x0, v0, a0], [x1, v1, a1]) = (older.of(i), newer.of(i));
        let x = (2.0 * s3 - 3.0 * s2 + 1.0) * x0
            + (s3 - 2.0 * s2 + s) * h * v0
            + (3.0 * s2 - 2.0 * s3) * x1
            + (s3 - s2) * h * v1;
        let v = 6.0 * (s2 - s) / h * (x0 - x1)
            + (3.0 * s2 - 4.0 * s + 1.0) * v0
            + (3.0 * s2 - 2.0 * s) * v1;
        out.set(i, [x, v, (1.0 - s) * a0 + s * a1]);
    }
}
