//! A polynomial in s per interface DOF, with its derivatives.

use super::HIGHEST_ORDER;

/// c0 + c1 s + … + c5 s⁵.
pub(super) type Coefficients = [f64; HIGHEST_ORDER + 1];

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

impl<const N: usize> History<N> {
    pub(super) fn new() -> Self {
        Self { values: [0.0; N], started: false }
    }

    #[inline]
    pub(super) fn push(&mut self, value: f64) {
        if self.started {
            self.values.copy_within(..N - 1, 1);
            self.values[0] = value;
        } else {
            self.values = [value; N];
            self.started = true;
        }
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
