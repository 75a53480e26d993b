//! Whether an algorithm makes motions grow that the model lets decay.

use nalgebra::Complex;
use numerics::eigen::{self, EigenError};

use super::{Integrator, IntegratorError, Method, Options};
use crate::equations::Equations;

/// |λ|h up to which Runge–Kutta's region holds the whole left half-disc.
const WITHIN_REGION: f64 = 2.6;
/// A step may grow by this part more than the model itself: rounding.
const ROUNDING: f64 = 1e-7;

/// A motion that the algorithm makes grow and the model does not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnstableStep {
    /// λ of the fastest motion, Im ≥ 0.
    pub motion: Complex<f64>,
    /// How much the worst motion grows in a step.
    pub factor: f64,
}

/// Compares the whole step matrix with the model's own motions, dampers and all
/// elements at their steepest included. `None` where the step adds no growth,
/// and where the model is too wild for numbers.
pub fn unstable_step(
    equations: &Equations,
    options: &Options,
) -> Result<Option<UnstableStep>, IntegratorError> {
    let linear = equations.steepest();
    if is_surely_stable(&linear, options) {
        return Ok(None);
    }
    let integrator =
        Integrator::new(&linear, &Options { direct_inertia: None, ..options.clone() })?;
    let Some(step) = integrator.linear_step() else { return Ok(None) };
    let (Ok(factor), Ok(values)) = (eigen::spectral_radius(&step.transition), linear.eigenvalues())
    else {
        return Ok(None);
    };
    let growth = values.iter().map(|value| value.re).fold(0.0, f64::max);
    if factor <= (growth * options.step_s).exp() * (1.0 + ROUNDING) {
        return Ok(None);
    }
    let fastest = values.into_iter().max_by(|a, b| a.norm().total_cmp(&b.norm()));
    let motion = fastest.map_or(Complex::ZERO, |value| Complex::new(value.re, value.im.abs()));
    Ok(Some(UnstableStep { motion, factor }))
}

/// What needs no eigenvalues of a matrix of states: algorithms that are stable for
/// every structure, and short steps.
fn is_surely_stable(linear: &Equations, options: &Options) -> bool {
    let symmetric = linear.has_energies();
    match options.method {
        Method::Exact(_) => true,
        // A-stable, whatever the matrices are.
        Method::Newmark | Method::ImplicitEuler => true,
        Method::ChenRicles | Method::KolayRicles { .. } => symmetric,
        Method::RungeKutta4 => {
            symmetric && fastest(linear).is_ok_and(|rate| rate * options.step_s <= WITHIN_REGION)
        }
    }
}

/// A bound of |λ| for a symmetric structure: the root of λ² = λc + ω², with the
/// greatest ω² of (K, M) and the greatest c of (C, M).
fn fastest(linear: &Equations) -> Result<f64, EigenError> {
    let greatest = |matrix| -> Result<f64, EigenError> {
        let [low, high] = eigen::definite_range(matrix, &linear.matrices.mass)?;
        Ok(low.abs().max(high.abs()))
    };
    let (square, drag) =
        (greatest(&linear.matrices.stiffness)?, greatest(&linear.matrices.damping)?);
    Ok(0.5 * (drag + (drag * drag + 4.0 * square).sqrt()))
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;
    use numerics::second_order::SecondOrder;

    use super::*;

    fn equations(m: [f64; 2], c: [f64; 4], k: [f64; 4]) -> Equations {
        Equations {
            matrices: SecondOrder {
                mass: DMatrix::from_diagonal(&m.to_vec().into()),
                damping: DMatrix::from_row_slice(2, 2, &c),
                stiffness: DMatrix::from_row_slice(2, 2, &k),
            },
            load: DMatrix::zeros(2, 0),
            interface: Vec::new(),
            elements: Vec::new(),
            states: None,
        }
    }

    fn judged(equations: &Equations, method: Method, step_s: f64) -> Option<UnstableStep> {
        let options = Options { method, step_s, direct_inertia: None, iterations: 1 };
        unstable_step(equations, &options).unwrap()
    }

    #[test]
    fn a_strong_damper_is_too_fast_for_runge_kutta_on_its_own() {
        // c/m = 2000 1/s: the bound on the real axis is 2.785, whatever ω is.
        let damped = equations([1000.0, 10.0], [2000.0, 0.0, 0.0, 2e4], [4e5, -1e5, -1e5, 1e5]);
        let found = judged(&damped, Method::RungeKutta4, 2e-3).unwrap();
        assert!((found.motion.re + 2000.0).abs() < 10.0 && found.motion.im == 0.0, "{found:?}");
        assert!(found.factor > 4.0);
        assert_eq!(judged(&damped, Method::RungeKutta4, 2.7 / 2000.0), None);
        for method in [Method::Newmark, Method::ChenRicles, Method::ImplicitEuler] {
            assert_eq!(judged(&damped, method, 2e-3), None, "{method:?}");
        }
    }

    #[test]
    fn an_indefinite_stiffness_and_a_rotor_are_judged_as_well() {
        // One mass falls over at 10 1/s; the other swings at 2000 rad/s.
        let falls = equations([1.0, 1.0], [0.0; 4], [-100.0, 0.0, 0.0, 4e6]);
        assert!(judged(&falls, Method::RungeKutta4, 2e-3).is_some());
        assert_eq!(judged(&falls, Method::RungeKutta4, 1.4e-3), None);
        // Gyroscopic forces take one whirl to 2000 rad/s, and K alone says 447.
        let rotor = equations([1.0, 1.0], [0.0, 1900.0, -1900.0, 0.0], [2e5, 0.0, 0.0, 2e5]);
        assert!(judged(&rotor, Method::RungeKutta4, 1.5e-3).is_some());
        assert_eq!(judged(&rotor, Method::RungeKutta4, 1.3e-3), None);
        assert_eq!(judged(&rotor, Method::Newmark, 1.5e-3), None);
    }
}
