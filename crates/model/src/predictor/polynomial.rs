//! A polynomial in s per interface DOF, with its derivatives.

use super::{Grid, HIGHEST_ORDER, Instant, Predict};
use crate::motion::Motion;

/// c0 + c1 s + … + c5 s⁵.
pub(super) type Coefficients = [f64; HIGHEST_ORDER + 1];

/// How a kind makes its polynomial.
pub(super) trait Rule {
    /// What it keeps of the instants before.
    type Memory: Clone + Default;

    /// The polynomial seen from a new instant: displacement, velocity and
    /// acceleration of one interface DOF.
    fn fit(&self, past: &mut Self::Memory, now: [f64; 3], period_s: f64) -> Coefficients;

    /// The s, counted from the newest instant, at which the polynomial has its own
    /// zero.
    fn origin(&self) -> f64 {
        0.0
    }
}

/// A predictor that follows one polynomial from instant to instant.
#[derive(Debug, Clone)]
pub(super) struct Polynomial<R: Rule> {
    grid: Grid,
    rule: R,
    of: Vec<(R::Memory, Coefficients)>,
}

impl<R: Rule> Polynomial<R> {
    /// At rest.
    pub(super) fn new(rule: R, grid: Grid, count: usize) -> Self {
        Self { grid, rule, of: vec![Default::default(); count] }
    }
}

impl<R: Rule> Predict for Polynomial<R> {
    fn observe(&mut self, now: &Instant) {
        let period_s = self.grid.period_s();
        for (i, (past, polynomial)) in self.of.iter_mut().enumerate() {
            *polynomial = self.rule.fit(past, now.interface.of(i), period_s);
        }
    }

    fn point(&self, index: usize, out: &mut Motion) {
        let (s, period_s) = (self.grid.s(index) - self.rule.origin(), self.grid.period_s());
        for (i, (_, polynomial)) in self.of.iter().enumerate() {
            out.set(i, evaluate(polynomial, s, period_s));
        }
    }

    fn reset(&mut self) {
        self.of.fill(Default::default());
    }
}

/// Displacement, velocity and acceleration at `s`, ΔT being `period_s`.
#[inline]
pub(super) fn evaluate(c: &Coefficients, s: f64, period_s: f64) -> [f64; 3] {
    let [mut x, mut v, mut a] = [0.0; 3];
    // Horner's rule for the polynomial and, alongside, its derivatives.
    for &c in c.iter().rev() {
        a = a * s + v;
        v = v * s + x;
        x = x * s + c;
    }
    [x, v / period_s, 2.0 * a / (period_s * period_s)]
}

/// The cubic through displacement and velocity (times ΔT) at both ends of one
/// period, in s from its start.
#[inline]
pub(super) fn between(start: [f64; 2], end: [f64; 2]) -> Coefficients {
    let ([d0, v0], [d1, v1]) = (start, end);
    let way = d1 - d0;
    [d0, v0, 3.0 * way - 2.0 * v0 - v1, v0 + v1 - 2.0 * way, 0.0, 0.0]
}

/// The last values of a signal, newest first. Before the first one the signal
/// counts as having always been what it then is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct History<const N: usize> {
    values: [f64; N],
    started: bool,
}

impl<const N: usize> Default for History<N> {
    fn default() -> Self {
        Self { values: [0.0; N], started: false }
    }
}

impl<const N: usize> History<N> {
    /// The values with a new one in front.
    #[inline]
    pub(super) fn push(&mut self, value: f64) -> &[f64; N] {
        if self.started {
            self.values.copy_within(..N - 1, 1);
            self.values[0] = value;
        } else {
            self.values = [value; N];
            self.started = true;
        }
        &self.values
    }

    #[inline]
    pub(super) fn values(&self) -> &[f64; N] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_polynomial() {
        let c = [1.0, -2.0, 3.0, 0.5, -0.25, 0.125];
        let (s, h) = (1.7, 0.01);
        let x: f64 = c.iter().enumerate().map(|(j, c)| c * f64::powi(s, j as i32)).sum();
        let v: f64 = (1..6).map(|j| c[j] * j as f64 * s.powi(j as i32 - 1)).sum();
        let a: f64 = (2..6).map(|j| c[j] * (j * (j - 1)) as f64 * s.powi(j as i32 - 2)).sum();
        let found = evaluate(&c, s, h);
        for (found, exact) in found.iter().zip([x, v / h, a / (h * h)]) {
            assert!((found - exact).abs() < 1e-13 * exact.abs(), "{found} {exact}");
        }
    }

    #[test]
    fn a_cubic_between_its_ends_is_itself() {
        let c = [1.0, -2.0, 3.0, 0.5, 0.0, 0.0];
        let [start, end] = [0.0, 1.0].map(|s| {
            let [x, v, _] = evaluate(&c, s, 1.0);
            [x, v]
        });
        for (found, exact) in between(start, end).iter().zip(c) {
            assert!((found - exact).abs() < 1e-14);
        }
    }
}
