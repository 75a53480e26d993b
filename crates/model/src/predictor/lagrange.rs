//! The polynomial through the last displacements.

use nalgebra::DMatrix;

use super::polynomial::{Coefficients, History, evaluate};
use super::{Grid, HIGHEST_ORDER, Instant, Predict, PredictorError, Stages};
use crate::motion::Motion;

/// d(s) = Σ aᵢ(s) dᵢ with the Lagrange polynomials of the nodes 0, −1, … −N.
/// For N = 3:
///   a0 = 1 + s(11/6 + s + s²/6), a1 = −s(3 + 5/2 s + s²/2),
///   a2 = s(3/2 + 2s + s²/2),     a3 = −s(1/3 + s/2 + s²/6).
///
/// With two stages the instants are first carried over the task time, and the
/// points are then taken from the polynomial through *those*: the published
/// scheme, which amplifies noise twice.
///
/// Every further degree is more accurate for slow signals and amplifies noise
/// and jumps about twice as much (2.1, 3.9, 7.1, 13.1, 24.5 at s = 0.9).
///
/// Reference: Waldbjørn et al., multi-rate real-time hybrid simulation, Eq 4–8
/// (the printed Eq 5 lacks the leading 1).
#[derive(Debug, Clone)]
pub struct Lagrange {
    grid: Grid,
    stages: Stages,
    /// Coefficients of s⁰ … from displacements, newest first.
    weights: DMatrix<f64>,
    of: Vec<Dof>,
}

#[derive(Debug, Clone)]
struct Dof {
    known: History<{ HIGHEST_ORDER + 1 }>,
    carried: History<{ HIGHEST_ORDER + 1 }>,
    polynomial: Coefficients,
}

impl Dof {
    fn new() -> Self {
        let (known, carried) = (History::new(), History::new());
        Self { known, carried, polynomial: [0.0; HIGHEST_ORDER + 1] }
    }
}

impl Lagrange {
    /// At rest.
    pub fn new(
        order: usize,
        stages: Stages,
        grid: Grid,
        count: usize,
    ) -> Result<Self, PredictorError> {
        let weights = weights(order)?;
        Ok(Self { grid, stages, weights, of: vec![Dof::new(); count] })
    }
}

impl Predict for Lagrange {
    fn observe(&mut self, now: &Instant) {
        let task = self.grid.task / self.grid.ratio as f64;
        for (dof, &x) in self.of.iter_mut().zip(&now.interface.displacement) {
            dof.known.push(x);
            dof.polynomial = through(&self.weights, dof.known.values());
            if self.stages == Stages::Two {
                let [carried, ..] = evaluate(&dof.polynomial, task, 1.0);
                dof.carried.push(carried);
                dof.polynomial = through(&self.weights, dof.carried.values());
            }
        }
    }

    fn point(&self, index: usize, out: &mut Motion) {
        let from = match self.stages {
            Stages::One => 0.0,
            Stages::Two => self.grid.task / self.grid.ratio as f64,
        };
        let (s, period_s) = (self.grid.s(index) - from, self.grid.period_s());
        for (i, dof) in self.of.iter().enumerate() {
            out.set(i, evaluate(&dof.polynomial, s, period_s));
        }
    }

    fn reset(&mut self) {
        self.of.fill(Dof::new());
    }
}

/// The coefficients of the polynomial that `weights` makes of displacements.
#[inline]
pub(super) fn through(weights: &DMatrix<f64>, displacements: &[f64]) -> Coefficients {
    let mut polynomial = [0.0; HIGHEST_ORDER + 1];
    for (column, d) in weights.column_iter().zip(displacements) {
        for (c, w) in polynomial.iter_mut().zip(column.iter()) {
            *c += w * d;
        }
    }
    polynomial
}

/// Column i: the coefficients of the Lagrange polynomial that is 1 at s = −i
/// and 0 at the other nodes.
pub(super) fn weights(order: usize) -> Result<DMatrix<f64>, PredictorError> {
    if order == 0 || order > HIGHEST_ORDER {
        return Err(PredictorError::BadOrder { order });
    }
    let mut weights = DMatrix::zeros(order + 1, order + 1);
    for i in 0..=order {
        // Whole numbers up to the division at the end: exact.
        let mut polynomial = vec![1.0];
        let mut below = 1.0;
        for j in (0..=order).filter(|&j| j != i) {
            below *= j as f64 - i as f64;
            // Times (s + j).
            let mut longer = vec![0.0; polynomial.len() + 1];
            for (power, c) in polynomial.iter().enumerate() {
                longer[power] += c * j as f64;
                longer[power + 1] += c;
            }
            polynomial = longer;
        }
        for (power, c) in polynomial.iter().enumerate() {
            weights[(power, i)] = c / below;
        }
    }
    Ok(weights)
}
