//! Exact prediction by the rows of a matrix exponential.

use nalgebra::DMatrix;
use numerics::block::{hstack, vstack};
use numerics::discretise;
use numerics::second_order::companion;
use numerics::solve;

use super::{Grid, Instant, PredictorError};
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
    /// Rows of the load, from the newest instant on, that are looked at.
    pub(super) rows_ahead: usize,
    /// Kₑ, Cₑ, Mₑ.
    specimen: DMatrix<f64>,
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
        let (count, loads) = (numerical.interface.len(), numerical.load.ncols());
        let specimen = surroundings.specimen.linearised();
        let last = grid.first + grid.points as f64;
        let rows_ahead = last.max(0.0).ceil() as usize + 2;
        let across = numerical.interface_matrix().transpose();
        let weights = Problem::new(surroundings)?.weights(&grid, rows_ahead, &across, 3);
        let states = 2 * numerical.size();
        Ok(Self {
            count,
            states,
            rows_ahead,
            specimen: specimen.of_motion(),
            weights,
            whole: Vec::new(),
            input: vec![0.0; states + count + rows_ahead * loads],
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
        let n = surroundings.numerical.size();
        let every = DMatrix::identity(n, n);
        self.whole = Problem::new(surroundings)?.weights(&grid, self.rows_ahead, &every, orders);
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

    pub(super) fn observe(&mut self, now: &Instant) {
        let n = self.states / 2;
        let (motion, rest) = self.input.split_at_mut(self.states);
        motion[..n].copy_from_slice(&now.displacement[..n]);
        motion[n..].copy_from_slice(&now.velocity[..n]);
        let (g, load) = rest.split_at_mut(self.count);
        let interface = now.interface;
        let signals = [&interface.displacement, &interface.velocity, &interface.acceleration];
        for (i, g) in g.iter_mut().enumerate() {
            *g = now.force[i];
            for (k, value) in self.specimen.row(i).iter().zip(signals.into_iter().flatten()) {
                *g -= k * value;
            }
        }
        for (own, given) in load.iter_mut().zip(now.load) {
            *own = *given;
        }
    }

    pub(super) fn point(&self, index: usize, out: &mut Motion) {
        let Some(weights) = self.weights.get(index) else { return };
        let row = |row: usize| -> f64 {
            weights.row(row).iter().zip(&self.input).map(|(w, value)| w * value).sum()
        };
        for i in 0..self.count {
            out.set(i, [row(i), row(self.count + i), row(2 * self.count + i)]);
        }
    }
}

/// ẏ = A y + B (g, load) of numerical part and specimen in one piece, from which the
/// weights are found.
struct Problem {
    a: DMatrix<f64>,
    by: DMatrix<f64>,
    /// Entries of g.
    count: usize,
}

impl Problem {
    fn new(surroundings: &Surroundings) -> Result<Self, PredictorError> {
        let numerical = surroundings.numerical;
        let joined = numerical.joined(&surroundings.specimen.linearised().matrices).matrices;
        let inverse = solve::inverse(&joined.mass).ok_or(PredictorError::SingularMass)?;
        let of_g = -&inverse * numerical.interface_matrix();
        let inputs = hstack(&[&of_g, &(&inverse * &numerical.load)]);
        Ok(Self {
            a: companion(&inverse, &joined.damping, &joined.stiffness),
            by: vstack(&[&DMatrix::zeros(inverse.nrows(), 0), &inputs]),
            count: numerical.interface.len(),
        })
    }

    /// For every point of the grid the weights of state, g and load rows in `places` x,
    /// its velocity and its acceleration, or the first `orders` of these.
    fn weights(
        &self,
        grid: &Grid,
        rows_ahead: usize,
        places: &DMatrix<f64>,
        orders: usize,
    ) -> Vec<DMatrix<f64>> {
        let (count, states) = (self.count, self.a.nrows());
        let (n, loads) = (states / 2, self.by.ncols() - count);
        let nothing = DMatrix::zeros(places.nrows(), n);
        let rate = hstack(&[&nothing, places]);
        let wanted = places.nrows() * orders.min(3);
        let out = vstack(&[places, &rate, &(places * self.a.rows(n, n))]);
        let out = out.rows(0, wanted).into_owned();
        // The inputs of an instant act on its acceleration at once.
        let still = DMatrix::zeros(2 * places.nrows(), 0);
        let direct = vstack(&[&still, &(places * self.by.rows(n, n))]);
        let direct = direct.rows(0, wanted).into_owned();

        let whole = discretise::first_order_hold(&self.a, &self.by, grid.tick_s);
        // All points lie the same part of a tick behind a tick.
        let part = grid.first - grid.first.floor();
        let rest = discretise::first_order_hold(&self.a, &self.by, part * grid.tick_s);
        let width = states + count + rows_ahead * loads;
        let mut all = Vec::with_capacity(grid.points);
        // Rows that give the motion from the state a number of ticks before it,
        // and what the inputs since then have added.
        let mut rows = &out * &rest.transition;
        let mut ahead: Vec<DMatrix<f64>> = vec![&out * &rest.start, &out * &rest.end];
        for point in 0..grid.points {
            let position = grid.first + point as f64;
            if position < 0.0 {
                // Before the newest instant: the load is taken as it is then.
                let time_s = position * grid.tick_s;
                let back = discretise::zero_order_hold(&self.a, &self.by, time_s);
                let inputs = &out * back.start + &direct;
                let later = DMatrix::zeros(0, width - states - inputs.ncols());
                all.push(hstack(&[&(&out * back.transition), &inputs, &later]));
                continue;
            }
            while ahead.len() < position.floor() as usize + 2 {
                // One tick further back: its inputs come before all others.
                ahead.insert(0, &rows * &whole.start);
                let end = &rows * &whole.end;
                ahead[1] += end;
                rows *= &whole.transition;
            }
            let mut weights = DMatrix::zeros(wanted, width);
            weights.columns_mut(0, states).copy_from(&rows);
            let last = ahead.len() - 1;
            for (tick, inputs) in ahead.iter().chain([&direct]).enumerate() {
                // The last part of a tick ends between two samples of the load.
                let shares: &[(usize, f64)] = if tick < last {
                    &[(tick, 1.0)]
                } else {
                    &[(last - 1, 1.0 - part), (last, part)]
                };
                let mut of_g = weights.columns_mut(states, count);
                of_g += inputs.columns(0, count);
                for &(row, share) in shares {
                    let mut of_load = weights.columns_mut(states + count + row * loads, loads);
                    of_load += share * inputs.columns(count, loads);
                }
            }
            all.push(weights);
        }
        all
    }
}
