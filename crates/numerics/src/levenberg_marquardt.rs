//! Nonlinear least squares by Levenberg and Marquardt.

use nalgebra::DVectorViewMut;

use crate::{Matrix, Vector};

/// A sum of squares to be made small.
pub trait LeastSquares {
    /// Number of residuals.
    fn count(&self) -> usize;

    /// The residuals r(p).
    fn residuals(&self, parameters: &[f64], residuals: &mut Vector);

    /// ∂r/∂p, one row per residual.
    fn jacobian(&self, parameters: &[f64], jacobian: &mut Matrix);
}

/// Most accepted or refused steps.
const MOST_ITERATIONS: usize = 200;
/// Relative change of the parameters below which nothing more is gained: the last
/// digits that the arithmetic has.
const LEAST_STEP: f64 = 1e-12;

/// A minimum.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// Where it is.
    pub parameters: Vec<f64>,
    /// Sum of the squared residuals there.
    pub cost: f64,
    /// Steps tried.
    pub iterations: usize,
    /// (JᵀJ)⁻¹ there: the covariance of the parameters for residuals of unit
    /// variance. `None` if a parameter is not determined.
    pub covariance: Option<Matrix>,
}

/// Minimises ‖r(p)‖² from a start; `None` where the residuals there are not finite
/// numbers, or fewer than the parameters.
///
/// A step δ minimises ‖r + J δ‖² + λ ‖D δ‖² with D the largest column norms of J
/// met so far, which makes the result independent of the parameters' units. The
/// problem is solved by QR factors of J, never by JᵀJ, whose condition is the
/// square. λ follows the gain of each step (Nielsen 1999).
///
/// Reference: Moré 1978, Lecture Notes in Mathematics 630.
pub fn minimise(problem: &impl LeastSquares, start: &[f64]) -> Option<Minimum> {
    let (m, n) = (problem.count(), start.len());
    let mut p = Vector::from_column_slice(start);
    let (mut r, mut jacobian) = (Vector::zeros(m), Matrix::zeros(m, n));
    problem.residuals(p.as_slice(), &mut r);
    let mut cost = r.norm_squared();
    if m < n || n == 0 || !cost.is_finite() {
        return None;
    }
    let mut scale = Vector::zeros(n);
    let (mut lambda, mut growth) = (1e-3, 2.0);
    let mut iterations = 0;
    'outer: while iterations < MOST_ITERATIONS {
        problem.jacobian(p.as_slice(), &mut jacobian);
        let factors = jacobian.clone().qr();
        let triangle = factors.r();
        let mut right = r.clone();
        factors.q_tr_mul(&mut right);
        let right = right.rows(0, n).into_owned();
        for j in 0..n {
            scale[j] = jacobian.column(j).norm().max(scale[j]);
        }
        loop {
            if iterations == MOST_ITERATIONS {
                break 'outer;
            }
            iterations += 1;
            let Some(step) = damped_step(&triangle, &right, &scale, lambda) else { break 'outer };
            let weighted = |v: &Vector| v.component_mul(&scale).norm();
            let tiny = weighted(&step) <= LEAST_STEP * (weighted(&p) + f64::MIN_POSITIVE);
            let trial = &p + &step;
            let mut trial_r = Vector::zeros(m);
            problem.residuals(trial.as_slice(), &mut trial_r);
            let trial_cost = trial_r.norm_squared();
            // ‖r‖² − ‖r + Jδ‖², from the factors.
            let predicted = right.norm_squared() - (&right + &triangle * &step).norm_squared();
            // NaN compares false: a step out of the domain is refused.
            if trial_cost <= cost {
                let gain = (cost - trial_cost) / predicted.max(f64::MIN_POSITIVE);
                lambda *= (1.0 - (2.0 * gain.min(1.0) - 1.0).powi(3)).max(1.0 / 3.0);
                growth = 2.0;
                (p, r, cost) = (trial, trial_r, trial_cost);
                if tiny || cost == 0.0 {
                    break 'outer;
                }
                break;
            }
            if tiny || lambda > 1e30 {
                break 'outer;
            }
            lambda = (lambda * growth).max(1e-20);
            growth *= 2.0;
        }
    }
    problem.jacobian(p.as_slice(), &mut jacobian);
    let covariance = inverse_gram(&jacobian);
    Some(Minimum { parameters: p.as_slice().to_vec(), cost, iterations, covariance })
}

/// The δ that minimises ‖right + R δ‖² + λ‖D δ‖². `None` if it is not finite.
fn damped_step(triangle: &Matrix, right: &Vector, scale: &Vector, lambda: f64) -> Option<Vector> {
    let n = right.len();
    let mut joined = Matrix::zeros(2 * n, n);
    joined.view_mut((0, 0), (n, n)).copy_from(triangle);
    for j in 0..n {
        // A parameter without influence stays where it is.
        joined[(n + j, j)] = lambda.sqrt() * if scale[j] > 0.0 { scale[j] } else { 1.0 };
    }
    let factors = joined.qr();
    let mut wide = Vector::zeros(2 * n);
    wide.rows_mut(0, n).copy_from(&(-right));
    factors.q_tr_mul(&mut wide);
    let mut step = wide.rows(0, n).into_owned();
    let solved = factors.r().solve_upper_triangular_mut(&mut step);
    (solved && step.iter().all(|value| value.is_finite())).then_some(step)
}

/// (JᵀJ)⁻¹ by the triangle of J with its columns scaled to one.
pub(crate) fn inverse_gram(jacobian: &Matrix) -> Option<Matrix> {
    let n = jacobian.ncols();
    let mut scaled = jacobian.clone();
    let norms = scale_columns(&mut scaled)?;
    let triangle = scaled.qr().r();
    let largest = triangle.diagonal().amax();
    if triangle.diagonal().iter().any(|entry| entry.abs() < 1e-14 * largest) {
        return None;
    }
    let inverse = triangle.solve_upper_triangular(&Matrix::identity(n, n))?;
    let gram = &inverse * inverse.transpose();
    Some(Matrix::from_fn(n, n, |i, j| gram[(i, j)] / (norms[i] * norms[j])))
}

/// Brings every column to length one and gives the lengths; `None` if one has none.
pub(crate) fn scale_columns(matrix: &mut Matrix) -> Option<Vec<f64>> {
    let scale = |mut column: DVectorViewMut<'_, f64>| {
        let norm = column.norm();
        column /= norm;
        (norm.is_finite() && norm > 0.0).then_some(norm)
    };
    matrix.column_iter_mut().map(scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y = p₀ exp(−p₁ t) at given times.
    struct Decay {
        t: Vec<f64>,
        y: Vec<f64>,
        unit: f64,
    }

    impl LeastSquares for Decay {
        fn count(&self) -> usize {
            self.t.len()
        }

        fn residuals(&self, p: &[f64], r: &mut Vector) {
            for (i, (t, y)) in self.t.iter().zip(&self.y).enumerate() {
                r[i] = p[0] * (-p[1] * self.unit * t).exp() - y;
            }
        }

        fn jacobian(&self, p: &[f64], j: &mut Matrix) {
            for (i, t) in self.t.iter().enumerate() {
                let e = (-p[1] * self.unit * t).exp();
                j[(i, 0)] = e;
                j[(i, 1)] = -p[0] * self.unit * t * e;
            }
        }
    }

    fn decay(unit: f64, noise: f64) -> Decay {
        let t: Vec<f64> = (0..30).map(|i| 0.1 * f64::from(i)).collect();
        let wobble = |i: usize| noise * (1.7 * (i * i) as f64).sin();
        let y = t.iter().enumerate().map(|(i, t)| 3.0 * (-1.3 * t).exp() + wobble(i)).collect();
        Decay { t, y, unit }
    }

    #[test]
    fn an_exact_decay_is_found_to_the_last_digits() {
        let found = minimise(&decay(1.0, 0.0), &[1.0, 0.2]).unwrap();
        assert!(found.iterations < MOST_ITERATIONS);
        assert!((found.parameters[0] - 3.0).abs() < 1e-11, "{found:?}");
        assert!((found.parameters[1] - 1.3).abs() < 1e-11, "{found:?}");
    }

    #[test]
    fn units_of_the_parameters_do_not_matter() {
        let plain = minimise(&decay(1.0, 0.05), &[1.0, 0.2]).unwrap();
        let scaled = minimise(&decay(1e-9, 0.05), &[1.0, 0.2e9]).unwrap();
        assert!((plain.parameters[1] / (1e-9 * scaled.parameters[1]) - 1.0).abs() < 1e-8);
        let (a, b) = (plain.covariance.unwrap(), scaled.covariance.unwrap());
        assert!((a[(1, 1)] / (1e-18 * b[(1, 1)]) - 1.0).abs() < 1e-5);
    }

    /// Rosenbrock's valley, r = (10 (y − x²), 1 − x), from the classic start.
    struct Valley;

    impl LeastSquares for Valley {
        fn count(&self) -> usize {
            2
        }

        fn residuals(&self, p: &[f64], r: &mut Vector) {
            (r[0], r[1]) = (10.0 * (p[1] - p[0] * p[0]), 1.0 - p[0]);
        }

        fn jacobian(&self, p: &[f64], j: &mut Matrix) {
            j.copy_from_slice(&[-20.0 * p[0], -1.0, 10.0, 0.0]);
        }
    }

    #[test]
    fn the_valley_of_rosenbrock_leads_to_one_and_one() {
        let found = minimise(&Valley, &[-1.2, 1.0]).unwrap();
        assert!(found.parameters.iter().all(|p| (p - 1.0).abs() < 1e-10), "{found:?}");
        assert!(found.iterations < 60, "{}", found.iterations);
    }

    #[test]
    fn what_cannot_be_determined_is_said() {
        let one = Decay { t: vec![0.0], y: vec![1.0], unit: 1.0 };
        assert_eq!(minimise(&one, &[1.0, 1.0]), None);
        let nan = Decay { t: vec![0.0; 3], y: vec![f64::NAN; 3], unit: 1.0 };
        assert_eq!(minimise(&nan, &[1.0, 1.0]), None);
        // All samples at t = 0: the rate has no influence.
        let blind = Decay { t: vec![0.0; 3], y: vec![1.0; 3], unit: 1.0 };
        let found = minimise(&blind, &[2.0, 1.0]).unwrap();
        assert!(found.covariance.is_none());
        assert!((found.parameters[0] - 1.0).abs() < 1e-9);
    }
}
