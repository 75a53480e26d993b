//! The rightmost root of a delay system from its discretised history.
//!
//! What the delay keeps is v(t + θ) = ẏ(t + θ), −τ ≤ θ ≤ 0: it moves on by
//! ∂v/∂t = ∂v/∂θ with v(t, 0) = E q̇(t), and gives the late signals
//!   ÿ(t − τ) = ∂v/∂θ(−τ),  ẏ(t − τ) = v(−τ),  y(t − τ) = E q − ∫v dθ.
//! Collocated at Chebyshev points this is an ordinary matrix of 2n + cN rows: the
//! history of the late velocities alone, neither of what is not late nor of the
//! displacement, which keeps it small. Its eigenvalues converge faster than any
//! power of N as soon as the points resolve the motion; the rightmost are then
//! polished on the characteristic function, so that the answer does not depend
//! on N.
//!
//! Trap: two or four points look smooth and misjudge; fewer than [`FEWEST`] are
//! never used. With ρ ≥ 1 nothing converges; see
//! [`DelaySystem::neutral_radius`].

use std::f64::consts::{PI, TAU};
use std::sync::OnceLock;

use super::{DelayError, DelaySystem, check_delay};
use crate::second_order::companion;
use crate::{Complex, Matrix};

/// Fewest points of the history.
pub const FEWEST: usize = 8;
/// Most points: beyond, a delay covers some forty periods.
const MOST: usize = 160;
/// Eigenvalues that are polished.
const POLISHED: usize = 6;

impl DelaySystem {
    /// The rightmost root at this delay, its imaginary part not negative.
    ///
    /// Of a neutral system its supremum: where the roots at high frequency lie
    /// further right than any other, the imaginary part is infinite.
    pub fn rightmost(&self, delay_s: f64) -> Result<Complex, DelayError> {
        let neutral = self.neutral_growth_1_s(delay_s)?;
        let by_neutral = Complex::new(neutral, f64::INFINITY);
        if neutral >= 0.0 {
            return Ok(by_neutral);
        }
        let mut points = self.points(delay_s)?;
        loop {
            let roots = self.candidates(delay_s, points)?;
            match self.best(&roots, delay_s, points) {
                Some(root) if root.re >= neutral => return Ok(root),
                Some(_) => return Ok(by_neutral),
                None if points >= MOST => {
                    let turns = points as f64 / PI;
                    return Err(DelayError::TooLong { delay_s, turns });
                }
                None => points = (points + points / 2).min(MOST),
            }
        }
    }

    /// The eigenvalues of the discretised history with this many points (at
    /// least [`FEWEST`] are used), upper half plane, rightmost first.
    pub fn candidates(&self, delay_s: f64, points: usize) -> Result<Vec<Complex>, DelayError> {
        check_delay(delay_s)?;
        let values = if delay_s == 0.0 {
            self.undelayed_roots()?
        } else {
            self.moving(&self.generator(delay_s, points.clamp(FEWEST, MOST)))?
        };
        let mut values: Vec<_> = values.into_iter().filter(|value| value.im >= 0.0).collect();
        values.sort_by(|a, b| b.re.total_cmp(&a.re));
        Ok(values)
    }

    /// Points that resolve the fastest motion of the undelayed parts with a margin.
    fn points(&self, delay_s: f64) -> Result<usize, DelayError> {
        // A bound on the eigenvalues that costs no iteration.
        let fastest = self.bound();
        let wanted = 0.5 * fastest * delay_s + FEWEST as f64;
        if wanted > MOST as f64 {
            return Err(DelayError::TooLong { delay_s, turns: fastest * delay_s / TAU });
        }
        Ok(wanted.ceil() as usize)
    }

    /// Of the fastest motion, from above: √‖M₀⁻¹K₀‖ + ‖M₀⁻¹C₀‖, delayed parts included.
    pub(super) fn bound(&self) -> f64 {
        let size = |matrix: Matrix| matrix.row_iter().map(|row| row.lp_norm(1)).fold(0.0, f64::max);
        let now = self.now.map(|now| size(&self.inverse * now));
        let late = self.late.map(|late| size(&self.inverse * late * &self.of));
        (now.stiffness + late.stiffness).sqrt() + now.damping + late.damping
    }

    /// The rightmost of the candidates that are roots; `None` if none is.
    fn best(&self, roots: &[Complex], delay_s: f64, points: usize) -> Option<Complex> {
        // Beyond one point per radian an eigenvalue is not resolved; it may still
        // lead to a root, but does not take the place of one that is.
        let resolved = |root: &&Complex| root.norm() * delay_s <= points as f64;
        let known = roots.iter().filter(resolved).take(POLISHED);
        let doubtful = roots.iter().filter(|root| !resolved(root)).take(2);
        let mut best: Option<Complex> = None;
        for &start in known.chain(doubtful) {
            // Eigenvalues err by far less than this; what lies further left stays there.
            let beyond = |best: Complex| start.re < best.re - 1e-3 * start.norm();
            if best.is_some_and(beyond) {
                continue;
            }
            // A root far from where it was sought says nothing about that place.
            let near = |root: &Complex| (root - start).norm() <= 0.1 * start.norm();
            let root = match self.polished(start, delay_s).filter(near) {
                Some(root) => root,
                // What is resolved is a root to some digits, polished or not.
                None if resolved(&&start) => start,
                None => continue,
            };
            if root.re.is_finite() && best.is_none_or(|best| root.re > best.re) {
                best = Some(Complex::new(root.re, root.im.abs()));
            }
        }
        best
    }

    /// The matrix of q, q̇ and the history.
    fn generator(&self, delay_s: f64, points: usize) -> Matrix {
        let (n, count) = (self.size(), self.late_count());
        let (slope, weights) = known_chebyshev(points);
        let scale = 2.0 / delay_s;
        let size = 2 * n + count * points;
        let mut matrix = Matrix::zeros(size, size);
        let own = companion(&self.inverse, &self.now.damping, &self.now.stiffness);
        matrix.view_mut((0, 0), (2 * n, 2 * n)).copy_from(&own);
        // What acts late, per late signal: on ÿ, ẏ and y.
        let [second, first, zeroth] = self.late.each().map(|part| -&self.inverse * part);
        // Column of the state in which node `node` of the history lies; node 0 is
        // E q̇ itself.
        let mut add = |row: usize, rows: &Matrix, node: usize, factor: f64| {
            if node == 0 {
                let mut block = matrix.view_mut((row, n), (rows.nrows(), n));
                block += rows * &self.of * factor;
            } else {
                let column = 2 * n + (node - 1) * count;
                let mut block = matrix.view_mut((row, column), (rows.nrows(), count));
                block += rows * factor;
            }
        };
        let last = points;
        for node in 0..=points {
            // ÿ(t − τ), and the part of y(t − τ) that the history takes away.
            add(n, &second, node, scale * slope[(last, node)]);
            add(n, &zeroth, node, -weights[node] / scale);
        }
        add(n, &first, last, 1.0);
        let unit = Matrix::identity(count, count);
        for row in 1..=points {
            for node in 0..=points {
                add(2 * n + (row - 1) * count, &unit, node, scale * slope[(row, node)]);
            }
        }
        let mut block = matrix.view_mut((n, 0), (n, n));
        block += &zeroth * &self.of;
        matrix
    }
}

/// [`chebyshev`], computed once for each number of points.
fn known_chebyshev(points: usize) -> &'static (Matrix, Vec<f64>) {
    static KNOWN: [OnceLock<(Matrix, Vec<f64>)>; MOST + 1] = [const { OnceLock::new() }; MOST + 1];
    let points = points.clamp(FEWEST, MOST);
    KNOWN[points].get_or_init(|| chebyshev(points))
}

/// Differentiation matrix and weights of integration on N + 1 Chebyshev points
/// from 1 down to −1.
///
/// Reference: Trefethen 2000, Spectral Methods in MATLAB, chapters 6 and 12.
fn chebyshev(points: usize) -> (Matrix, Vec<f64>) {
    let n = points;
    let angle = |j: usize| PI * j as f64 / n as f64;
    // Differences of cosines without cancellation.
    let between = |i: usize, j: usize| {
        2.0 * (0.5 * (angle(i) + angle(j))).sin() * (0.5 * (angle(j) - angle(i))).sin()
    };
    let weight = |j: usize| {
        let end = if j == 0 || j == n { 2.0 } else { 1.0 };
        if j.is_multiple_of(2) { end } else { -end }
    };
    let mut slope = Matrix::from_fn(n + 1, n + 1, |i, j| {
        if i == j { 0.0 } else { weight(i) / weight(j) / between(i, j) }
    });
    for i in 0..=n {
        // A constant has no slope.
        slope[(i, i)] = -slope.row(i).sum();
    }
    let integral = |j: usize| {
        let mut sum = 1.0;
        for k in 1..=n / 2 {
            let half = if 2 * k == n { 1.0 } else { 2.0 };
            let turn = (2.0 * k as f64 * angle(j)).cos();
            sum -= half * turn / (4.0 * (k * k) as f64 - 1.0);
        }
        let end = if j == 0 || j == n { 1.0 } else { 2.0 };
        end * sum / n as f64
    };
    (slope, (0..=n).map(integral).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vector;

    #[test]
    fn polynomials_are_differentiated_and_integrated_exactly() {
        for n in [8, 9, 16] {
            let (slope, weights) = chebyshev(n);
            let x: Vec<f64> = (0..=n).map(|j| (PI * j as f64 / n as f64).cos()).collect();
            for power in 1..=n as i32 {
                let values = Vector::from_iterator(n + 1, x.iter().map(|x| x.powi(power)));
                let found = &slope * &values;
                for (found, x) in found.iter().zip(&x) {
                    let exact = f64::from(power) * x.powi(power - 1);
                    assert!((found - exact).abs() < 1e-11, "{n} {power} {found} {exact}");
                }
                let sum: f64 = values.iter().zip(&weights).map(|(v, w)| v * w).sum();
                let exact = if power % 2 == 0 { 2.0 / f64::from(power + 1) } else { 0.0 };
                assert!((sum - exact).abs() < 1e-13, "{n} {power}");
            }
        }
    }
}
