//! The linear start of a fit.

use super::Orders;
use super::problem::{Problem, ascending};
use crate::eigen;
use crate::levenberg_marquardt::{LeastSquares as _, scale_columns};
use crate::{Complex, Matrix, Vector};

/// Repetitions of the linear step; its weights settle within a few.
const REPETITIONS: usize = 25;
/// Delays tried where it is free, from none to the whole of the lag.
const DELAYS: usize = 9;

/// The parameters to start from: the best of the linear fits, its poles turned
/// into the left half plane; `None` if none has a solution.
pub(super) fn start(problem: &Problem<'_>) -> Option<Vec<f64>> {
    let tried: Vec<f64> = match problem.fixed_delay {
        Some(delay) => vec![delay],
        None => {
            let whole = (problem.data.phase_slope().value * problem.scale_rad_s).max(0.0);
            (0..DELAYS).map(|i| whole * i as f64 / (DELAYS - 1) as f64).collect()
        }
    };
    let mut best: Option<(f64, Vec<f64>)> = None;
    for delay in tried {
        let Some(mut p) = sanathanan_koerner(problem, delay) else { continue };
        if problem.fixed_delay.is_none() {
            p.push(delay);
        }
        let mut r = Vector::zeros(problem.count());
        let mut cost = |p: &[f64]| {
            problem.residuals(p, &mut r);
            r.norm_squared()
        };
        for candidate in [stabilised(problem, &p), Some(p.clone())].into_iter().flatten() {
            let found = cost(&candidate);
            if found.is_finite() && best.as_ref().is_none_or(|(least, _)| found < *least) {
                best = Some((found, candidate));
                break;
            }
        }
    }
    best.map(|(_, p)| p)
}

/// b(s) − H a(s) made small in the least-squares sense, weighted by 1/|a| of the
/// repetition before. `None` if the equations are singular.
fn sanathanan_koerner(problem: &Problem<'_>, delay: f64) -> Option<Vec<f64>> {
    let Orders { numerator: m, denominator: n } = problem.orders;
    let (lines, count) = (problem.lines(), m + 1 + n);
    let mut below = vec![1.0; lines];
    let mut p: Option<Vec<f64>> = None;
    for _ in 0..REPETITIONS {
        let mut left = Matrix::zeros(2 * lines, count);
        let mut right = Vector::zeros(2 * lines);
        for line in 0..lines {
            let (omega, response, weight) = problem.line(line);
            let response = response * Complex::from_polar(1.0, omega * delay);
            let weight = weight / below[line];
            let s = Complex::new(0.0, omega);
            let mut put = |column: usize, value: Complex| {
                left[(2 * line, column)] = weight * value.re;
                left[(2 * line + 1, column)] = weight * value.im;
            };
            let mut power = Complex::ONE;
            for k in 0..=n {
                if k <= m {
                    put(k, power);
                }
                if k > 0 {
                    put(m + k, -response * power);
                }
                power *= s;
            }
            (right[2 * line], right[2 * line + 1]) = (weight * response.re, weight * response.im);
        }
        let Some(solution) = solve(left, right) else { break };
        let mut a = vec![1.0];
        a.extend_from_slice(&solution[m + 1..]);
        let largest = (0..lines).fold(0.0f64, |largest, line| {
            below[line] = ascending(&a, Complex::new(0.0, problem.line(line).0)).norm();
            largest.max(below[line])
        });
        // A zero of a on the axis would weigh one line infinitely.
        below.iter_mut().for_each(|below| *below = below.max(1e-6 * largest));
        p = Some(solution);
    }
    p
}

/// Least squares by QR with columns of unit norm.
fn solve(mut left: Matrix, mut right: Vector) -> Option<Vec<f64>> {
    let count = left.ncols();
    let norms = scale_columns(&mut left)?;
    let factors = left.qr();
    factors.q_tr_mul(&mut right);
    let solution = factors.r().solve_upper_triangular(&right.rows(0, count))?;
    let scaled: Vec<f64> = solution.iter().zip(&norms).map(|(value, norm)| value / norm).collect();
    scaled.iter().all(|value| value.is_finite()).then_some(scaled)
}

/// The same with every pole in the left half plane; `None` if the poles cannot
/// be found.
fn stabilised(problem: &Problem<'_>, p: &[f64]) -> Option<Vec<f64>> {
    let n = problem.orders.denominator;
    let (_, a) = problem.polynomials(p);
    if a[n] == 0.0 {
        return None;
    }
    let companion = Matrix::from_fn(n, n, |i, j| match i {
        0 => -a[n - 1 - j] / a[n],
        _ if i == j + 1 => 1.0,
        _ => 0.0,
    });
    let poles = eigen::eigenvalues(&companion).ok()?;
    let mut product = vec![Complex::ONE];
    for pole in poles {
        let pole = Complex::new(-pole.re.abs().max(1e-3 * pole.norm()), pole.im);
        // Ascending powers of Π (1 − s/pole), which keeps a(0) = 1.
        let mut next = vec![Complex::ZERO; product.len() + 1];
        for (k, value) in product.iter().enumerate() {
            next[k] += value;
            next[k + 1] -= value / pole;
        }
        product = next;
    }
    let mut stable = p.to_vec();
    for k in 1..=n {
        stable[problem.denominator_at(k)] = product[k].re;
    }
    stable.iter().all(|value| value.is_finite()).then_some(stable)
}
