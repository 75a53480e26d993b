//! Roots and branches of equations that can only be evaluated, at a price and
//! with noise: a test on a rig, or a model.
//!
//! Three values are kept apart: the [`Problem`] (n equations in n + 1 unknowns,
//! the last of which is the parameter), the method ([`Corrector`], [`Steps`])
//! and the state of a run ([`Continuation`]) with its [`Point`]s.
//!
//! All unknowns are divided by a scale given with the problem: a branch turns
//! where its unknowns do, and metres beside hertz would hide every fold.

mod corrector;
mod fold;
mod jacobian;
mod run;
mod surrogate;
#[cfg(test)]
mod tests;

pub use corrector::{Corrector, Refresh};
pub use fold::{Estimate, Fold, folds};
pub use jacobian::Difference;
pub use run::{Advance, Continuation, Course, End, Steps};
pub use surrogate::{Surrogate, SurrogateRule};

use std::ops::Range;

use crate::{Matrix, Vector};

/// What an evaluation gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// One entry per equation.
    pub residual: Vec<f64>,
    /// Standard deviation of each entry; zeros for an exact problem.
    pub scatter: Vec<f64>,
}

impl Evaluation {
    /// Of an exact problem.
    pub fn exact(residual: Vec<f64>) -> Self {
        let scatter = vec![0.0; residual.len()];
        Self { residual, scatter }
    }

    /// ‖residual‖₂.
    pub fn norm(&self) -> f64 {
        norm(&self.residual)
    }

    /// Standard deviation of the residual as a whole: the root of the summed squares.
    pub fn noise(&self) -> f64 {
        norm(&self.scatter)
    }

    /// What the residual has changed by since `earlier`.
    fn change_since(&self, earlier: &Self) -> Vec<f64> {
        self.residual.iter().zip(&earlier.residual).map(|(b, a)| b - a).collect()
    }

    fn is_finite(&self) -> bool {
        self.residual.iter().chain(&self.scatter).all(|v| v.is_finite())
    }
}

/// n equations in n + 1 unknowns; the last unknown is the parameter.
///
/// `Error` ends the run at once (the rig tripped, the operator stopped); an
/// evaluation that merely went wrong gives NaN and is treated as a failed step.
pub trait Problem {
    /// Why the run must end.
    type Error;

    /// The residual at these unknowns, in their own units.
    fn evaluate(&mut self, unknowns: &[f64]) -> Result<Evaluation, Self::Error>;

    /// ∂residual/∂unknowns where the problem knows it; at least the columns that are
    /// `needed`.
    fn jacobian(&mut self, _unknowns: &[f64], _needed: Range<usize>) -> Option<Matrix> {
        None
    }
}

/// Scale and limits of the unknowns. Nothing outside the limits is ever
/// evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    /// By what each unknown is divided; all positive.
    pub scale: Vec<f64>,
    /// Least value of each.
    pub low: Vec<f64>,
    /// Greatest value of each.
    pub high: Vec<f64>,
    /// Groups of unknowns whose root of summed squares is limited: (first, count, most).
    pub radii: Vec<(usize, usize, f64)>,
}

impl Space {
    /// Unlimited, with this scale.
    pub fn scaled(scale: Vec<f64>) -> Self {
        let n = scale.len();
        Self { scale, low: vec![f64::NEG_INFINITY; n], high: vec![f64::INFINITY; n], radii: vec![] }
    }

    /// Whether these unknowns, in their own units, may be tried.
    pub fn allows(&self, unknowns: &[f64]) -> bool {
        let within = unknowns
            .iter()
            .zip(self.low.iter().zip(&self.high))
            .all(|(u, (low, high))| u >= low && u <= high);
        within
            && self.radii.iter().all(|&(at, count, most)| norm(&unknowns[at..at + count]) <= most)
    }

    /// How far apart two places are, scaled.
    pub fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        norm(&(self.divided(b) - self.divided(a)))
    }

    /// The unknowns in their own units.
    fn real(&self, scaled: &Vector) -> Vec<f64> {
        // Dividing and multiplying may cost the last bit: a limit stays a limit.
        let back = |i: usize| {
            let value = scaled[i] * self.scale[i];
            let within = value.max(self.low[i]).min(self.high[i]);
            if (value - within).abs() < 1e-9 * self.scale[i] { within } else { value }
        };
        (0..scaled.len()).map(back).collect()
    }

    fn divided(&self, unknowns: &[f64]) -> Vector {
        Vector::from_fn(unknowns.len(), |i, _| unknowns[i] / self.scale[i])
    }

    /// Whether these scaled unknowns may be tried.
    fn allows_scaled(&self, scaled: &Vector) -> bool {
        self.allows(&self.real(scaled))
    }
}

/// A solution.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// In their own units; the last is the parameter.
    pub unknowns: Vec<f64>,
    /// What is left of the equations there.
    pub evaluation: Evaluation,
    /// Direction of the branch, scaled unknowns, of length one.
    pub tangent: Vector,
    /// ∂residual/∂(scaled unknowns) at or near the point; without rows if it is not known.
    pub jacobian: Matrix,
    /// Corrections it took.
    pub iterations: usize,
    /// Evaluations it took, with those for the Jacobian.
    pub evaluations: usize,
}

impl Point {
    /// The last unknown.
    pub fn parameter(&self) -> f64 {
        self.unknowns.last().copied().unwrap_or(f64::NAN)
    }
}

fn norm<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn dot<'a>(a: impl IntoIterator<Item = &'a f64>, b: impl IntoIterator<Item = &'a f64>) -> f64 {
    a.into_iter().zip(b).map(|(x, y)| x * y).sum()
}
