//! What the simulation itself does to the answer.
//!
//! Both sides alike does not mean right: an integrator with damping of its own,
//! or a force that comes late, moves the whole response. The measured force over
//! the measured displacement tells the specimen's stiffness at this frequency;
//! with it the simulated part is solved once more, exactly and in continuous
//! time. The difference is the bias.
//!
//! Harmonics that are not matched are another: in them the rig pushes the structure. What
//! power that may take or give, over the power of the load, is the share by which the
//! amplitude of a resonance may be off.

use std::f64::consts::TAU;

use model::equations::Equations;
use model::periodic::{Coefficients, Orbit};
use nalgebra::{Complex, DVector};

/// A·cos + B·sin as a complex amplitude.
pub(super) fn fundamental(coefficients: &Coefficients) -> Complex<f64> {
    Complex::new(coefficients.0[1], -coefficients.0[2])
}

/// |exact| − |measured| of the fundamental, m. `None` for several interface
/// DOFs, whose stiffness one motion does not tell, and for simulated parts that are
/// nonlinear or of first order.
pub fn bias_m(
    numerical: &Equations,
    amplitudes: &[f64],
    compensated_kg: &[f64],
    frequency_hz: f64,
    orbit: &Orbit,
) -> Option<f64> {
    let second_order = numerical.states.is_none();
    if numerical.interface.len() != 1 || !numerical.elements.is_empty() || !second_order {
        return None;
    }
    let omega = TAU * frequency_hz;
    let (x, force) = (fundamental(&orbit.measured[0]), fundamental(&orbit.force[0]));
    let specimen = force / x + omega * omega * compensated_kg[0];
    let b = numerical.interface_matrix().map(Complex::from);
    let own = numerical.matrices.at(Complex::new(0.0, omega));
    let whole = own + &b * b.transpose() * specimen;
    let load = &numerical.load * DVector::from_column_slice(amplitudes);
    let response = whole.lu().solve(&load.map(Complex::from))?;
    let exact = (b.transpose() * response)[0];
    let bias = exact.norm() - x.norm();
    bias.is_finite().then_some(bias)
}

/// Σ k |r_k| |x_k| over the power of the load: what the rig does to the structure in the
/// harmonics k above those that are matched. The force r = D x + f, with D the simulated
/// part's dynamic stiffness at the interface and f the specimen's force, is what is
/// missing for equilibrium. `None` for simulated parts that are nonlinear or of first
/// order, and where the load does no work.
pub fn unmatched_share(
    numerical: &Equations,
    amplitudes: &[f64],
    compensated_kg: &[f64],
    frequency_hz: f64,
    orbit: &Orbit,
    harmonics: usize,
) -> Option<f64> {
    if !numerical.elements.is_empty() || numerical.states.is_some() {
        return None;
    }
    let b = numerical.interface_matrix().map(Complex::from);
    let at = |signals: &[Coefficients], k: usize| {
        let of = |c: &Coefficients| Complex::new(c.0[2 * k - 1], -c.0[2 * k]);
        DVector::from_iterator(signals.len(), signals.iter().map(of))
    };
    // Stiffness at the interface, and what of the load acts there.
    let condensed = |k: usize, load: &DVector<Complex<f64>>| {
        let omega = TAU * frequency_hz * k as f64;
        let own = numerical.matrices.at(Complex::new(0.0, omega)).lu();
        let stiffness = (b.transpose() * own.solve(&b)?).try_inverse()?;
        let load = &stiffness * b.transpose() * own.solve(load)?;
        Some((stiffness, load))
    };
    let load = (&numerical.load * DVector::from_column_slice(amplitudes)).map(Complex::from);
    let (_, acting) = condensed(1, &load)?;
    let moved = at(&orbit.measured, 1);
    let power = acting.iter().zip(&moved).map(|(f, x)| (f.conj() * x * Complex::i()).re);
    let mut unmatched = 0.0;
    for k in harmonics + 1..=orbit.measured.first()?.harmonics() {
        let (x, mut force) = (at(&orbit.measured, k), at(&orbit.force, k));
        let omega = TAU * frequency_hz * k as f64;
        for ((force, x), mass) in force.iter_mut().zip(&x).zip(compensated_kg) {
            *force += x * (mass * omega * omega);
        }
        let missing = condensed(k, &load)?.0 * &x + force;
        unmatched +=
            k as f64 * missing.iter().zip(&x).map(|(r, x)| r.norm() * x.norm()).sum::<f64>();
    }
    let share = unmatched / power.sum::<f64>().abs();
    share.is_finite().then_some(share)
}
