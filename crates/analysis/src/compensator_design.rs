//! Compensators from an identified transfer system: closed formulas.

use std::f64::consts::{FRAC_PI_2, TAU};

use model::compensator::{DerivativeSource, Design, InverseDesign};
use numerics::lti::TransferFunction;
use numerics::{Complex, Matrix, Vector};

/// What a compensator has to undo.
#[derive(Debug, Clone, PartialEq)]
pub struct Plant {
    /// Command to measured displacement.
    pub function: TransferFunction,
    /// Pure delay beside it.
    pub delay_s: f64,
    /// Period with which the command is held; 0 where it is not. A hold is half
    /// a period late.
    pub hold_s: f64,
}

impl Plant {
    /// Gain at frequency zero.
    pub fn dc_gain(&self) -> f64 {
        self.function.response(0.0).re
    }

    /// Delay at frequency zero, pure delay and hold included: a₁/a₀ − b₁/b₀ + τ + h/2.
    pub fn dc_delay_s(&self) -> f64 {
        let coefficient = |list: &[f64], power: usize| {
            list.len().checked_sub(power + 1).map_or(0.0, |index| list[index])
        };
        let (b, a) = (self.function.numerator(), self.function.denominator());
        coefficient(a, 1) / coefficient(a, 0) - coefficient(b, 1) / coefficient(b, 0)
            + self.late_s()
    }

    /// The lag in radians at a frequency, pure delay and hold included. Followed
    /// from zero up, so that it may exceed half a turn.
    pub fn lag_rad(&self, omega_rad_s: f64) -> f64 {
        let at_zero = Complex::from(self.dc_gain());
        followed_lag_rad(0.0, at_zero, omega_rad_s, |omega| self.function.response(omega))
            + omega_rad_s * self.late_s()
    }

    fn late_s(&self) -> f64 {
        self.delay_s + 0.5 * self.hold_s
    }
}

/// A lag followed from the response `before` at low frequencies up to `end`, so that it
/// may exceed half a turn.
pub(crate) fn followed_lag_rad(
    mut lag: f64,
    mut before: Complex,
    end: f64,
    response: impl Fn(f64) -> Complex,
) -> f64 {
    const STEPS: usize = 64;
    for step in 1..=STEPS {
        let now = response(end * step as f64 / STEPS as f64);
        lag -= (now / before).arg();
        before = now;
    }
    lag
}

/// An inverse of the desired motion's derivatives.
pub(crate) fn inverse_design(coefficients: Vec<f64>) -> Design {
    Design::Inverse(InverseDesign { coefficients, derivatives: DerivativeSource::Motion })
}

/// The coefficients of the inverse that leaves the least error in a band, Hz: what an
/// adaptive compensator of that form learns from motion that fills it evenly. `parts`
/// gives what every term achieves at a frequency, its coefficient 1 at the band's end.
pub(crate) fn best_inverse(
    (low, high): (f64, f64),
    points: usize,
    terms: usize,
    parts: impl Fn(f64) -> Vec<Complex>,
) -> Option<Vec<f64>> {
    let mut matrix = Matrix::zeros(2 * points, terms);
    let mut wanted = Vector::zeros(2 * points);
    for point in 0..points {
        let hertz = low + (high - low) * (point as f64 + 0.5) / points as f64;
        for (term, part) in parts(hertz).into_iter().enumerate() {
            matrix[(2 * point, term)] = part.re;
            matrix[(2 * point + 1, term)] = part.im;
        }
        wanted[2 * point] = 1.0;
    }
    if matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let solution = matrix.svd(true, true).solve(&wanted, 1e-12).ok()?;
    Some((0..terms).map(|term| solution[term] * term_scale(high, term)).collect())
}

/// In parts of the band's end, so that the columns are of one size.
pub(crate) fn term_scale(high_hz: f64, term: usize) -> f64 {
    (TAU * high_hz).powi(-(term as i32))
}

/// α of the sampled form K(z) = (α z − (α − 1))/z, whose lead is a difference:
/// with θ = ω h, α − 1 = tan φ/(sin θ − tan φ (1 − cos θ)). `None` where no first order
/// leads so much: a lag of a quarter turn or more, or none at all.
pub fn sampled_alpha(plant: &Plant, frequency_hz: f64, step_s: f64) -> Option<f64> {
    let omega = TAU * frequency_hz;
    sampled_lead(plant.lag_rad(omega), omega * step_s).map(|lead| 1.0 + lead)
}

/// α − 1 of a lag φ and θ = ω h.
pub(crate) fn sampled_lead(lag: f64, theta: f64) -> Option<f64> {
    let below = theta.sin() - lag.tan() * (1.0 - theta.cos());
    let possible = (0.0..FRAC_PI_2).contains(&lag) && below > 0.0;
    possible.then(|| lag.tan() / below)
}

/// The first `terms` coefficients of the inverse 1/G(s) e^{s late} in ascending
/// powers of s: command = c₀ x + c₁ ẋ + c₂ ẍ + c₃ x⃛ …
///
/// For a plant b₀/a(s) without delay they are a_k/b₀, exact from `terms` = n + 1
/// on. Zeros and delays make an endless series, of which this is the beginning:
/// good as long as ω stays below the slowest zero and 1/late.
pub fn inverse(plant: &Plant, terms: usize) -> Vec<f64> {
    let ascending = |list: &[f64]| list.iter().rev().copied().collect::<Vec<f64>>();
    let (b, a) = (ascending(plant.function.numerator()), ascending(plant.function.denominator()));
    let late = plant.late_s();
    // e^{s late}: late^k/k!.
    let mut lead = vec![1.0; terms];
    for k in 1..terms {
        lead[k] = lead[k - 1] * late / k as f64;
    }
    let at = |list: &[f64], k: usize| list.get(k).copied().unwrap_or(0.0);
    // a/b by long division, then times the lead.
    let mut quotient: Vec<f64> = Vec::with_capacity(terms);
    for k in 0..terms {
        let known: f64 = (1..=k).map(|i| at(&b, i) * quotient[k - i]).sum();
        quotient.push((at(&a, k) - known) / b[0]);
    }
    (0..terms).map(|k| (0..=k).map(|i| quotient[i] * lead[k - i]).sum()).collect()
}

/// The time a forward prediction has to span so that a sine of this frequency
/// arrives in time; that of zero frequency for 0 Hz.
pub fn prediction_delay_s(plant: &Plant, frequency_hz: f64) -> f64 {
    if frequency_hz == 0.0 {
        return plant.dc_delay_s();
    }
    let omega = TAU * frequency_hz;
    plant.lag_rad(omega) / omega
}

#[cfg(test)]
mod tests {
    use super::*;

    /// command = gain · (x + lead · v).
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct FirstOrder {
        /// 1 over the plant's gain at frequency zero.
        gain: f64,
        /// The lead.
        lead_s: f64,
    }

    /// The first-order inverse that has the plant's phase at one frequency, and its
    /// gain at zero: arctan(ω lead) = lag(ω). `None` where no first order leads so
    /// much: a lag of a quarter turn or more, or none at all.
    fn first_order(plant: &Plant, frequency_hz: f64) -> Option<FirstOrder> {
        let omega = TAU * frequency_hz;
        let lag = plant.lag_rad(omega);
        if !(0.0..FRAC_PI_2).contains(&lag) {
            return None;
        }
        Some(FirstOrder { gain: 1.0 / plant.dc_gain(), lead_s: lag.tan() / omega })
    }

    /// The transfer system of the multi-rate paper, held for 1 ms.
    fn plant(hold_s: f64) -> Plant {
        let function = TransferFunction::new(&[5.163e6], &[1.0, 530.8, 8.899e4, 5.44e6]).unwrap();
        Plant { function, delay_s: 0.0, hold_s }
    }

    #[test]
    fn the_papers_values_come_out() {
        let held = plant(1e-3);
        // Spec: α = 17.9, phase-matched at 1 Hz with the hold; gain 1.0537.
        let alpha = sampled_alpha(&held, 1.0, 1e-3).unwrap();
        assert!((alpha - 17.9).abs() < 0.05, "{alpha}");
        let first = first_order(&held, 1.0).unwrap();
        assert!((first.gain - 1.0537).abs() < 5e-5, "{first:?}");
        // Third order: 1.053651, 1.723610e-2 s, 1.028084e-4 s², 1.936858e-7 s³.
        let bare = plant(0.0);
        let found = inverse(&bare, 4);
        for (found, printed) in found.iter().zip([1.053651, 1.723610e-2, 1.028084e-4, 1.936858e-7])
        {
            assert!((found / printed - 1.0).abs() < 5e-7, "{found} {printed}");
        }
        // Delay 16.36 ms at DC, 16.10 at 10 Hz, 15.65 at 15 Hz.
        for (hertz, printed) in [(0.0, 16.36), (10.0, 16.10), (15.0, 15.65)] {
            let found = 1e3 * prediction_delay_s(&bare, hertz);
            assert!((found - printed).abs() < 0.006, "{hertz} Hz: {found}");
        }
    }

    /// Plant times compensator, at a frequency.
    fn product(plant: &Plant, omega: f64, compensator: Complex) -> Complex {
        let late = Complex::from_polar(1.0, -omega * (plant.delay_s + 0.5 * plant.hold_s));
        plant.function.response(omega) * late * compensator
    }

    #[test]
    fn a_first_order_lead_has_no_phase_left_where_it_was_matched() {
        let plant = plant(1e-3);
        let first = first_order(&plant, 3.0).unwrap();
        let omega = TAU * 3.0;
        let left = product(&plant, omega, first.gain * Complex::new(1.0, omega * first.lead_s));
        assert!(left.arg().abs() < 1e-12, "{left}");
        let alpha = sampled_alpha(&plant, 3.0, 1e-3).unwrap();
        let turn = Complex::from_polar(1.0, -omega * 1e-3);
        let left = product(&plant, omega, alpha - (alpha - 1.0) * turn);
        assert!(left.arg().abs() < 1e-12, "{left}");
    }

    #[test]
    fn the_inverse_is_of_the_order_of_its_terms() {
        let function = TransferFunction::new(&[3.0, 700.0], &[1.0, 40.0, 900.0]).unwrap();
        let plant = Plant { function, delay_s: 0.004, hold_s: 1e-3 };
        let error = |terms: usize, omega: f64| {
            let s = Complex::new(0.0, omega);
            let c = inverse(&plant, terms);
            let k = c.iter().rev().fold(Complex::ZERO, |sum, &c| sum * s + c);
            (product(&plant, omega, k) - 1.0).norm()
        };
        for terms in 1..=5 {
            let order = (error(terms, 0.2) / error(terms, 0.1)).log2();
            assert!((order - terms as f64).abs() < 0.05, "{terms}: {order}");
        }
        // Without zeros and delay the series ends, and the inverse is exact.
        let plain = self::plant(0.0);
        let s = Complex::new(0.0, 90.0);
        let k = inverse(&plain, 4).iter().rev().fold(Complex::ZERO, |sum, &c| sum * s + c);
        assert!((product(&plain, 90.0, k) - 1.0).norm() < 1e-13);
    }

    #[test]
    fn what_no_first_order_can_lead_is_refused() {
        let slow = Plant { delay_s: 1.0, ..plant(0.0) };
        assert_eq!(first_order(&slow, 1.0), None);
        assert_eq!(sampled_alpha(&slow, 1.0, 1e-3), None);
        // The lag is followed through turns.
        assert!((slow.lag_rad(TAU) - TAU * 1.01636).abs() < 1e-3, "{}", slow.lag_rad(TAU));
    }
}
