//! Derivatives of the desired motion, as many as a compensator asks for.

use keys::Keys;

/// Where derivatives of the desired motion come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum DerivativeSource {
    /// Displacement, velocity and acceleration of the integrator.
    ///
    /// Or of the predictor; only what lies beyond comes from differences of the acceleration.
    Motion,
    /// Backward differences of the displacement, as papers do.
    Differences,
}

/// Highest derivative there is.
pub(super) const HIGHEST: usize = 5;

/// The derivatives of orders 0 to `HIGHEST`, of one interface DOF.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Derivatives {
    source: DerivativeSource,
    /// Highest order that is formed; those above are 0.
    order: usize,
    rate_hz: f64,
    /// Backward differences at the tick before, from order 0 of the signal that
    /// is differenced.
    pub(super) last: [f64; HIGHEST],
    started: bool,
}

impl Derivatives {
    pub(super) fn new(source: DerivativeSource, order: usize, step_s: f64) -> Self {
        let order = order.min(HIGHEST);
        Self { source, order, rate_hz: 1.0 / step_s, last: [0.0; HIGHEST], started: false }
    }

    /// The derivatives at this tick.
    #[inline]
    pub(super) fn take(&mut self, [x, v, a]: [f64; 3]) -> [f64; HIGHEST + 1] {
        let mut all = [x, v, a, 0.0, 0.0, 0.0];
        let known = self.known();
        if !self.started {
            // As if the signal had always been what it is: no jump at the start.
            self.started = true;
            self.last[0] = all[known];
        }
        let mut value = all[known];
        for (order, last) in (known + 1..=self.order).zip(&mut self.last) {
            let next = (value - *last) * self.rate_hz;
            *last = value;
            all[order] = next;
            value = next;
        }
        all
    }

    /// The motion is another one from here on, and would have had acceleration
    /// `a` a tick earlier: the next difference is taken along it, not across
    /// the jump.
    #[inline]
    pub(super) fn rejoin(&mut self, a: f64) {
        if self.source == DerivativeSource::Motion && self.started {
            self.last[0] = a;
        }
    }

    /// Differences that are remembered from tick to tick.
    pub(super) fn memory(&self) -> usize {
        self.order.saturating_sub(self.known())
    }

    /// As if it remembered this.
    pub(super) fn recall(&mut self, last: &[f64]) {
        self.last[..last.len()].copy_from_slice(last);
        self.started = true;
    }

    /// Order of the signal that is differenced.
    #[inline]
    fn known(&self) -> usize {
        match self.source {
            DerivativeSource::Motion => 2,
            DerivativeSource::Differences => 0,
        }
    }
}

/// Σ aᵢ x⁽ⁱ⁺ˢ⁾ for s = 0, 1, 2: displacement, velocity and acceleration of the
/// command. A linear filter of the motion gives its derivatives when fed with
/// the derivatives; those that are not there count as zero.
#[inline]
pub(super) fn filtered<const N: usize>(a: &[f64; N], x: &[f64; HIGHEST + 1]) -> [f64; 3] {
    std::array::from_fn(|shift| a.iter().zip(&x[shift..]).map(|(a, x)| a * x).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x(t) = t⁵ and its derivatives.
    fn quintic(t: f64) -> [f64; 6] {
        [t.powi(5), 5.0 * t.powi(4), 20.0 * t.powi(3), 60.0 * t * t, 120.0 * t, 120.0]
    }

    #[test]
    fn what_is_known_is_taken_and_the_rest_converges_to_the_derivatives() {
        for source in [DerivativeSource::Motion, DerivativeSource::Differences] {
            let error = |h: f64| {
                let mut derivatives = Derivatives::new(source, 5, h);
                let mut worst = [0.0f64; 6];
                for k in 0..=(1.0 / h) as usize {
                    let exact = quintic(k as f64 * h);
                    let found = derivatives.take([exact[0], exact[1], exact[2]]);
                    if k > 10 {
                        for ((worst, found), exact) in worst.iter_mut().zip(found).zip(exact) {
                            *worst = worst.max((found - exact).abs());
                        }
                    }
                }
                worst
            };
            let (coarse, fine) = (error(0.01), error(0.005));
            let known = if source == DerivativeSource::Motion { 3 } else { 1 };
            assert!(coarse[..known].iter().all(|&error| error == 0.0));
            for order in known..5 {
                let rate = (coarse[order] / fine[order]).log2();
                assert!((rate - 1.0).abs() < 0.1, "{source:?} {order}: {coarse:?} {fine:?}");
            }
            assert!(fine[5] < 0.5, "a constant is differenced exactly but for rounding");
        }
    }

    #[test]
    fn a_start_off_zero_makes_no_jump() {
        let mut derivatives = Derivatives::new(DerivativeSource::Differences, 5, 1e-3);
        for _ in 0..3 {
            assert_eq!(derivatives.take([0.7, 1.0, 1.0]), [0.7, 0.0, 0.0, 0.0, 0.0, 0.0]);
        }
    }
}
