//! What the simulation itself does to the answer.
//!
//! Both sides alike does not mean right: an integrator with damping of its own,
//! or a force that comes late, moves the whole response. The measured force over
//! the measured displacement tells the specimen's stiffness at this frequency;
//! with it the simulated part is solved once more, exactly and in continuous
//! time. The difference is the bias.

use std::f64::consts::TAU;

use model::equations::Equations;
use model::periodic::{Coefficients, Orbit};
use nalgebra::{Complex, DVector};

/// A·cos + B·sin as a complex amplitude.
fn fundamental(coefficients: &Coefficients) -> Complex<f64> {
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
