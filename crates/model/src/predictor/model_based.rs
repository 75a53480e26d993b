//! Exact prediction by the rows of a matrix exponential.

use nalgebra::DMatrix;
use numerics::discretise;
use numerics::second_order::companion;
use numerics::solve;

use super::{Grid, Instant, Predict, PredictorError};
use crate::equations::Equations;
use crate::motion::Motion;
use crate::specimen::Specimen;

/// What a model-based predictor predicts with.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The numerical part.
    pub numerical: &'a Equations,
    /// What is believed of the specimen.
    pub specimen: &'a Specimen,
}

/// Numerical part and specimen go on as one linear structure under the load
/// ahead:
///   (M + B Mₑ Bᵀ) ẍ + (C + B Cₑ Bᵀ) ẋ + (K + B Kₑ Bᵀ) x = L s(t) − B g,
/// where g = f − Kₑ u − Cₑ u̇ − Mₑ ü is what the specimen's force is beyond its
/// model at the newest instant, held. The load runs straight between ticks.
///
/// The motion at a point is then a fixed combination of state, g and load:
/// rows of e^{Aτ}, computed beforehand. Exact, at any distance, as long as the
/// specimen is what it was declared to be and the load ahead is known.
#[derive(Debug, Clone)]
pub(super) struct ModelBased {
    count: usize,
    states: usize,
    rows_ahead: usize,
    /// Kₑ, Cₑ, Mₑ.
    specimen: [DMatrix<f64>; 3],
    /// Per point, displacement, velocity and acceleration of every DOF one
    /// after the other: weights of state, g and load rows.
    weights: Vec<DMatrix<f64>>,
    /// The same for every DOF of the numerical part, if asked for; see
    /// [`tabulate`](Self::tabulate).
    whole: Vec<DMatrix<f64>>,
    /// State, g, load.
    input: Vec<f64>,
}

impl ModelBased {
    /// At rest.
    pub(super) fn new(surroundings: &Surroundings, grid: Grid) -> Result<Self, PredictorError> {
        let Surroundings { numerical, .. } = surroundings;
        let elements = numerical.elements.len();
        if elements > 0 {
            return Err(PredictorError::NotLinear(elements));
        }
        let (n, count, loads) =
            (numerical.size(), numerical.interface.len(), numerical.load.ncols());
        let (a, by) = continuous(surroundings)?;
        let specimen = surroundings.specimen.linearised();
        let b = numerical.interface_matrix();
        // Displacement, velocity, acceleration of the interface.
        let across = b.transpose();
        let mut out = DMatrix::zeros(3 * count, 2 * n);
        out.view_mut((0, 0), (count, n)).copy_from(&across);
        out.view_mut((count, n), (count, n)).copy_from(&across);
        out.view_mut((2 * count, 0), (count, 2 * n)).copy_from(&(&across * a.rows(n, n)));
        let direct = &across * by.rows(n, n);
        let last = grid.first + grid.points as f64;
        let rows_ahead = last.max(0.0).ceil() as usize + 2;
        let problem = Problem { a: &a, by: &by, out: &out, direct: &direct, count, loads };
        let weights = problem.weights(&grid, rows_ahead);
        Ok(Self {
            count,
            states: 2 * n,
            rows_ahead,
            specimen: [specimen.stiffness, specimen.damping, specimen.mass],
            weights,
            whole: Vec::new(),
            input: vec![0.0; 2 * n + count + rows_ahead * loads],
        })
    }

    /// Prepares the motion of every DOF at the points of a second grid, which
    /// reaches no further than the first: displacement alone (`orders` 1), with
    /// velocity (2) and acceleration (3), one after the other.
    pub(super) fn tabulate(
        &mut self,
        surroundings: &Surroundings,
        grid: Grid,
        orders: usize,
    ) -> Result<(), PredictorError> {
        let Surroundings { numerical, .. } = surroundings;
        let (n, orders) = (numerical.size(), orders.min(3));
        let (a, by) = continuous(surroundings)?;
        let mut out = DMatrix::zeros(orders * n, 2 * n);
        for order in 0..orders.min(2) {
            out.view_mut((order * n, order * n), (n, n)).fill_with_identity();
        }
        let mut direct = DMatrix::zeros(0, by.ncols());
        if orders == 3 {
            out.view_mut((2 * n, 0), (n, 2 * n)).copy_from(&a.rows(n, n));
            direct = by.rows(n, n).into_owned();
        }
        let (count, loads) = (self.count, numerical.load.ncols());
        let problem = Problem { a: &a, by: &by, out: &out, direct: &direct, count, loads };
        self.whole = problem.weights(&grid, self.rows_ahead);
        Ok(())
    }

    /// The motion of every DOF at a point of the second grid. Allocates nowhere.
    pub(super) fn whole(&self, index: usize, out: &mut [f64]) {
        let Some(weights) = self.whole.get(index) else { return };
        out.fill(0.0);
        for (column, &value) in weights.column_iter().zip(&self.input) {
            // Where there is no load, and before the first motion.
            if value == 0.0 {
                continue;
            }
            for (out, weight) in out.iter_mut().zip(column.iter()) {
                *out += weight * value;
            }
        }
    }

    /// Rows of the load, from the newest instant on, that are looked at.
    pub(super) fn rows_ahead(&self) -> usize {
        self.rows_ahead
    }
}

/// ẋ = A x + B (g, load) of numerical part and specimen in one piece.
fn continuous(surroundings: &Surroundings) -> Result<(DMatrix<f64>, DMatrix<f64>), PredictorError> {
    let Surroundings { numerical, .. } = surroundings;
    let specimen = surroundings.specimen.linearised();
    let (n, count, loads) = (numerical.size(), numerical.interface.len(), numerical.load.ncols());
    let b = numerical.interface_matrix();
    let joined = |part: &DMatrix<f64>, of: &DMatrix<f64>| part + &b * of * b.transpose();
    let inverse = solve::inverse(&joined(&numerical.mass, &specimen.mass))
        .ok_or(PredictorError::SingularMass)?;
    let stiffness = joined(&numerical.stiffness, &specimen.stiffness);
    let damping = joined(&numerical.damping, &specimen.damping);
    let a = companion(&inverse, &damping, &stiffness);
    // Inputs: g, then the load.
    let mut by = DMatrix::zeros(2 * n, count + loads);
    by.view_mut((n, 0), (n, count)).copy_from(&(-&inverse * &b));
    by.view_mut((n, count), (n, loads)).copy_from(&(&inverse * &numerical.load));
    Ok((a, by))
}

/// The continuous model, from which the weights are found.
struct Problem<'a> {
    a: &'a DMatrix<f64>,
    by: &'a DMatrix<f64>,
    /// What is wanted, from the state.
    out: &'a DMatrix<f64>,
    /// Acceleration from the inputs at once: the last rows of what is wanted.
    direct: &'a DMatrix<f64>,
    count: usize,
    loads: usize,
}

impl Problem<'_> {
    fn weights(&self, grid: &Grid, rows_ahead: usize) -> Vec<DMatrix<f64>> {
        let (count, loads, states) = (self.count, self.loads, self.a.nrows());
        let whole = discretise::first_order_hold(self.a, self.by, grid.tick_s);
        // All points lie the same part of a tick behind a tick.
        let part = grid.first - grid.first.floor();
        let rest = discretise::first_order_hold(self.a, self.by, part * grid.tick_s);
        let width = states + count + rows_ahead * loads;
        let mut all = Vec::with_capacity(grid.points);
        // Rows that give the motion from the state a number of ticks before it,
        // and what the inputs since then have added.
        let mut rows = self.out * &rest.transition;
        let mut ahead: Vec<DMatrix<f64>> = vec![self.out * &rest.start, self.out * &rest.end];
        let mut ticks = 0;
        for point in 0..grid.points {
            let position = grid.first + point as f64;
            if position < 0.0 {
                all.push(self.before(position * grid.tick_s, width));
                continue;
            }
            let wanted = position.floor() as usize;
            while ticks < wanted {
                // One tick further back: its inputs come before all others.
                ahead.insert(0, &rows * &whole.start);
                let end = &rows * &whole.end;
                ahead[1] += end;
                rows *= &whole.transition;
                ticks += 1;
            }
            let (outputs, at_once) = (self.out.nrows(), self.direct.nrows());
            let mut weights = DMatrix::zeros(outputs, width);
            weights.columns_mut(0, states).copy_from(&rows);
            for (tick, inputs) in ahead.iter().enumerate() {
                let last = tick + 1 == ahead.len();
                // The last part of a tick ends between two samples of the load.
                let shares: &[(usize, f64)] =
                    if last { &[(tick - 1, 1.0 - part), (tick, part)] } else { &[(tick, 1.0)] };
                let mut of_g = weights.columns_mut(states, count);
                of_g += inputs.columns(0, count);
                for &(row, share) in shares {
                    let at = states + count + row * loads;
                    let mut of_load = weights.columns_mut(at, loads);
                    of_load += share * inputs.columns(count, loads);
                }
            }
            // The inputs of the instant act on its acceleration at once.
            let below = outputs - at_once;
            let mut of_g = weights.view_mut((below, states), (at_once, count));
            of_g += self.direct.columns(0, count);
            for (row, share) in [(ticks, 1.0 - part), (ticks + 1, part)] {
                let at = states + count + row * loads;
                let mut of_load = weights.view_mut((below, at), (at_once, loads));
                of_load += share * self.direct.columns(count, loads);
            }
            all.push(weights);
        }
        all
    }

    /// A point before the newest instant: the load is taken as it is then.
    fn before(&self, time_s: f64, width: usize) -> DMatrix<f64> {
        let (count, states) = (self.count, self.a.nrows());
        let back = discretise::zero_order_hold(self.a, self.by, time_s);
        let (outputs, at_once) = (self.out.nrows(), self.direct.nrows());
        let mut weights = DMatrix::zeros(outputs, width);
        weights.columns_mut(0, states).copy_from(&(self.out * back.transition));
        let mut inputs = weights.columns_mut(states, count + self.loads);
        inputs += self.out * back.start;
        let corner = (outputs - at_once, states);
        let mut direct = weights.view_mut(corner, (at_once, count + self.loads));
        direct += self.direct;
        weights
    }
}

impl Predict for ModelBased {
    fn observe(&mut self, now: &Instant) {
        let n = self.states / 2;
        let (motion, rest) = self.input.split_at_mut(self.states);
        motion[..n].copy_from_slice(&now.displacement[..n]);
        motion[n..].copy_from_slice(&now.velocity[..n]);
        let (g, load) = rest.split_at_mut(self.count);
        let interface = now.interface;
        let signals = [&interface.displacement, &interface.velocity, &interface.acceleration];
        for (i, g) in g.iter_mut().enumerate() {
            *g = now.force[i];
            for (matrix, signal) in self.specimen.iter().zip(signals) {
                for (j, value) in signal.iter().enumerate() {
                    *g -= matrix[(i, j)] * value;
                }
            }
        }
        for (own, given) in load.iter_mut().zip(now.load) {
            *own = *given;
        }
    }

    fn point(&self, index: usize, out: &mut Motion) {
        let Some(weights) = self.weights.get(index) else { return };
        let row = |row: usize| -> f64 {
            weights.row(row).iter().zip(&self.input).map(|(w, value)| w * value).sum()
        };
        for i in 0..self.count {
            out.set(i, [row(i), row(self.count + i), row(2 * self.count + i)]);
        }
    }

    fn reset(&mut self) {
        self.input.fill(0.0);
    }
}
