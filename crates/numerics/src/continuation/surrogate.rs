//! A Gaussian process in front of a noisy problem.
//!
//! Differences of two noisy evaluations are noisier than either; an update from
//! one step is worth no more. Here every evaluation near a point counts: the
//! residual is modelled as
//!
//!   Φ(w) = a + B w + g(w),  cov g = s² exp(−½ Σ (Δw_i/ℓ_i)²)
//!
//! with broad priors on a and B, and noise as it was measured. What the problem
//! answers then is the process's mean with its deviation, and its slope is the
//! Jacobian. s and ℓ are those under which the evaluations are most likely, of a
//! few that are tried.
//!
//! Reference: Rasmussen & Williams 2006, Gaussian Processes for Machine Learning,
//! chapters 2 and 5.

use std::ops::Range;

use nalgebra::Dyn;
use nalgebra::linalg::Cholesky;

use super::{Evaluation, Problem};
use crate::{Matrix, Vector};

/// How a surrogate is made.
#[derive(Debug, Clone, PartialEq)]
pub struct SurrogateRule {
    /// By what the unknowns are divided, as in the problem's space.
    pub scale: Vec<f64>,
    /// Most evaluations that are used, the nearest.
    pub most: usize,
}

impl SurrogateRule {
    fn scaled(&self, unknowns: &[f64]) -> Vec<f64> {
        unknowns.iter().zip(&self.scale).map(|(u, s)| u / s).collect()
    }
}

/// A problem seen through a Gaussian process, or as it is.
pub struct Surrogate<P> {
    /// The problem behind.
    pub inner: P,
    rule: Option<SurrogateRule>,
    data: Vec<Datum>,
    fit: Option<Fit>,
}

#[derive(Debug, Clone)]
struct Datum {
    /// Scaled.
    at: Vec<f64>,
    residual: Vec<f64>,
    /// Mean variance of the entries.
    variance: f64,
}

/// The most likely process through the data near one place.
#[derive(Debug, Clone)]
struct Fit {
    centre: Vec<f64>,
    points: Vec<Vec<f64>>,
    kernel: Kernel,
    cholesky: Cholesky<f64, Dyn>,
    /// K⁻¹ Y, one column per entry of the residual, normalised.
    weights: Matrix,
    /// Size of the residuals.
    size: f64,
}

#[derive(Debug, Clone, Copy)]
struct Kernel {
    /// s, in units of the residuals' size.
    deviation: f64,
    /// ℓ of all unknowns but the last, and of the last, scaled.
    lengths: [f64; 2],
}

/// Prior deviation of a, and of the entries of B per scaled unknown.
const OFFSET: f64 = 30.0;
const SLOPE: f64 = 100.0;
/// A slope is known if its deviation is below this share of it.
const KNOWN: f64 = 0.25;
const DEVIATIONS: [f64; 4] = [0.003, 0.03, 0.2, 1.0];
const LENGTHS: [f64; 3] = [0.3, 1.0, 3.0];

impl<P: Problem> Surrogate<P> {
    /// `None`: the problem as it is.
    pub fn new(inner: P, rule: Option<SurrogateRule>) -> Self {
        Self { inner, rule, data: Vec::new(), fit: None }
    }
}

impl<P: Problem> Problem for Surrogate<P> {
    type Error = P::Error;

    fn evaluate(&mut self, unknowns: &[f64]) -> Result<Evaluation, P::Error> {
        let raw = self.inner.evaluate(unknowns)?;
        let Some(rule) = &self.rule else { return Ok(raw) };
        if !raw.is_finite() {
            return Ok(raw);
        }
        let at = rule.scaled(unknowns);
        let count = raw.scatter.len().max(1) as f64;
        let variance = raw.scatter.iter().map(|s| s * s).sum::<f64>() / count;
        self.data.push(Datum { at: at.clone(), residual: raw.residual.clone(), variance });
        // With fewer evaluations than unknowns a plane through them is no news.
        self.fit = if self.data.len() > at.len() { self.fit_around(&at) } else { None };
        Ok(self.fit.as_ref().map_or(raw, |fit| fit.predict(&at)))
    }

    fn jacobian(&mut self, unknowns: &[f64], needed: Range<usize>) -> Option<Matrix> {
        let Some(rule) = &self.rule else { return self.inner.jacobian(unknowns, needed) };
        let mut slopes = self.fit.as_ref()?.slopes(&rule.scaled(unknowns), needed)?;
        for (mut column, scale) in slopes.column_iter_mut().zip(&rule.scale) {
            column /= *scale;
        }
        Some(slopes)
    }
}

impl<P> Surrogate<P> {
    fn fit_around(&self, centre: &[f64]) -> Option<Fit> {
        let most = self.rule.as_ref()?.most;
        let mut near: Vec<&Datum> = self.data.iter().collect();
        let far =
            |d: &Datum| -> f64 { d.at.iter().zip(centre).map(|(a, b)| (a - b).powi(2)).sum() };
        near.sort_by(|a, b| far(a).total_cmp(&far(b)));
        near.truncate(most.max(centre.len() + 1));
        let entries = near[0].residual.len();
        let squares: f64 = near.iter().flat_map(|d| &d.residual).map(|r| r * r).sum();
        let size = (squares / (near.len() * entries) as f64).sqrt();
        if size <= 0.0 {
            return None;
        }
        let values = Matrix::from_fn(near.len(), entries, |i, j| near[i].residual[j] / size);
        let points: Vec<Vec<f64>> = near.iter().map(|d| d.at.clone()).collect();
        let noise: Vec<f64> = near.iter().map(|d| d.variance / (size * size)).collect();
        let mut best: Option<(f64, Fit)> = None;
        let lengths = LENGTHS.map(|first| LENGTHS.map(|last| [first, last]));
        let kernels = DEVIATIONS.into_iter().flat_map(|deviation| {
            lengths.into_iter().flatten().map(move |lengths| Kernel { deviation, lengths })
        });
        for kernel in kernels {
            let covariance = Matrix::from_fn(points.len(), points.len(), |i, j| {
                let own = if i == j { noise[i] + 1e-9 } else { 0.0 };
                kernel.between(&points[i], &points[j], centre) + own
            });
            let Some(cholesky) = Cholesky::new(covariance) else { continue };
            let weights = cholesky.solve(&values);
            let logarithm: f64 = cholesky.l_dirty().diagonal().iter().map(|d| d.ln()).sum();
            let likelihood = -0.5 * weights.dot(&values) - entries as f64 * logarithm;
            if best.as_ref().is_none_or(|(most, _)| likelihood > *most) {
                let (centre, points) = (centre.to_vec(), points.clone());
                best = Some((likelihood, Fit { centre, points, kernel, cholesky, weights, size }));
            }
        }
        best.map(|(_, fit)| fit)
    }
}

impl Kernel {
    fn length(&self, index: usize, count: usize) -> f64 {
        if index + 1 == count { self.lengths[1] } else { self.lengths[0] }
    }

    fn bump(&self, a: &[f64], b: &[f64]) -> f64 {
        let square: f64 =
            (0..a.len()).map(|i| ((a[i] - b[i]) / self.length(i, a.len())).powi(2)).sum();
        self.deviation * self.deviation * (-0.5 * square).exp()
    }

    fn between(&self, a: &[f64], b: &[f64], centre: &[f64]) -> f64 {
        let inner: f64 = (0..a.len()).map(|i| (a[i] - centre[i]) * (b[i] - centre[i])).sum();
        OFFSET * OFFSET + SLOPE * SLOPE * inner + self.bump(a, b)
    }
}

impl Fit {
    /// Mean and deviation of the residual.
    fn predict(&self, at: &[f64]) -> Evaluation {
        let cross = Vector::from_fn(self.points.len(), |i, _| {
            self.kernel.between(at, &self.points[i], &self.centre)
        });
        let residual = (self.weights.tr_mul(&cross) * self.size).iter().copied().collect();
        let prior = self.kernel.between(at, at, &self.centre);
        let variance = (prior - cross.dot(&self.cholesky.solve(&cross))).max(0.0);
        let scatter = vec![self.size * variance.sqrt(); self.weights.ncols()];
        Evaluation { residual, scatter }
    }

    /// ∂mean/∂(scaled unknowns), if the data tell the slopes that are needed: a
    /// row of points along a branch says nothing of what lies beside it.
    fn slopes(&self, at: &[f64], needed: Range<usize>) -> Option<Matrix> {
        let count = at.len();
        // Covariance of the slope at `at` with the data.
        let by = Matrix::from_fn(count, self.points.len(), |j, i| {
            let point = &self.points[i];
            let length = self.kernel.length(j, count);
            let straight = SLOPE * SLOPE * (point[j] - self.centre[j]);
            straight - self.kernel.bump(at, point) * (at[j] - point[j]) / (length * length)
        });
        let slopes = &by * &self.weights;
        for j in needed {
            let row = by.row(j).transpose();
            let bump = self.kernel.deviation / self.kernel.length(j, count);
            let prior = SLOPE * SLOPE + bump * bump;
            let left = (prior - row.dot(&self.cholesky.solve(&row))).max(0.0).sqrt();
            let size = slopes.row(j).norm();
            if size.is_nan() || left > KNOWN * size {
                return None;
            }
        }
        Some(slopes.transpose() * self.size)
    }
}
