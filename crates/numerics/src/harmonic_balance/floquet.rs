//! Stability of a periodic response by Floquet multipliers.

use super::{HarmonicBalance, Response, System};
use crate::eigen::{EigenError, eigenvalues};
use crate::second_order::companion;
use crate::solve;
use crate::{Complex, Matrix, Vector};

/// Steps per period of the variational equation.
const STEPS: usize = 1024;

impl HarmonicBalance {
    /// Multipliers of the response: it is stable if all lie inside the unit
    /// circle.
    ///
    /// M δ̈ + C δ̇ + (K + Σ d f'(dᵀx(t)) dᵀ) δ = 0 over one period by the implicit
    /// midpoint rule, second order, whose own damping is zero.
    pub fn multipliers(&self, response: &Response) -> Result<Vec<Complex>, EigenError> {
        let system = &self.system;
        let n = system.linear.mass.nrows();
        let step_s = std::f64::consts::TAU / response.omega_rad_s / STEPS as f64;
        let Some(inverse) = solve::inverse(&system.linear.mass) else {
            return Ok(Vec::new());
        };
        let mut product = Matrix::identity(2 * n, 2 * n);
        // Piecewise linear springs have few slopes: a step is kept while they last.
        let mut kept: Option<(Vec<f64>, Matrix)> = None;
        for i in 0..STEPS {
            let phase = std::f64::consts::TAU * (i as f64 + 0.5) / STEPS as f64;
            let x = displacement(response, phase);
            let slopes: Vec<f64> =
                system.springs.iter().map(|s| (s.law)(s.direction.dot(&x)).1).collect();
            if kept.as_ref().is_none_or(|(known, _)| *known != slopes) {
                let Some(step) = midpoint(system, &inverse, &slopes, step_s) else {
                    return Ok(Vec::new());
                };
                kept = Some((slopes, step));
            }
            if let Some((_, step)) = &kept {
                product = step * product;
            }
        }
        eigenvalues(&product)
    }
}

/// x at a phase of the period.
fn displacement(response: &Response, phase: f64) -> Vector {
    let mut x = Vector::zeros(response.harmonics[0].len());
    for (k, amplitude) in response.harmonics.iter().enumerate() {
        let turn = Complex::from_polar(1.0, k as f64 * phase);
        x += amplitude.map(|a| (a * turn).re);
    }
    x
}

/// (I − ½hA)⁻¹(I + ½hA) with the springs' tangent stiffness in A.
fn midpoint(system: &System, inverse_mass: &Matrix, slopes: &[f64], step_s: f64) -> Option<Matrix> {
    let n = inverse_mass.nrows();
    let mut stiffness = system.linear.stiffness.clone();
    for (spring, slope) in system.springs.iter().zip(slopes) {
        stiffness += &spring.direction * spring.direction.transpose() * *slope;
    }
    let a = companion(inverse_mass, &system.linear.damping, &stiffness);
    let identity = Matrix::identity(2 * n, 2 * n);
    solve::solved(&identity - &a * (0.5 * step_s), &(identity + a * (0.5 * step_s)))
}
