//! A linear step as one matrix–vector product.

use nalgebra::{DMatrix, DVector};
use numerics::block::{hstack, vstack};
use numerics::gemv::PanelMatrix;
use numerics::sparse::parallel_for;

use super::LinearStep;
use super::step_map::{StepMap, StepShape};
use super::stepper::{Inertia, Stepper};
use crate::equations::Equations;

/// The step of a linear model, found by feeding unit vectors to its algorithm.
///
/// One product gives the next state and everything the tick reads off it.
#[derive(Debug, Clone)]
pub(super) struct LinearMap {
    pub(super) step: LinearStep,
    pub(super) map: StepMap,
    /// Rows behind the state, from the state.
    readout: DMatrix<f64>,
}

/// From this many states on the columns of a step are prepared so many side by side, and
/// so many by one processor at a time.
const LARGE: usize = 400;
const WIDTH: usize = 16;
const PIECE: usize = 256;

/// Up to this many DOFs the energies are read out of the step.
const WORK_DOFS: usize = 8;

/// The works of a first-order model are known to its states alone.
fn gives_work(equations: &Equations) -> bool {
    equations.size() <= WORK_DOFS || equations.states.is_some()
}

impl LinearMap {
    pub(super) fn probe(stepper: &Stepper, equations: &Equations, load_share: f64) -> Self {
        let (loads, forces) = (equations.load.ncols(), equations.interface.len());
        let states = stepper.state.len();
        let columns = states + 2 * loads + forces;
        let (width, piece) = if states < LARGE { (1, columns.max(1)) } else { (WIDTH, PIECE) };
        let found = probed(stepper, equations, width, piece);
        let map = found.rows(0, states).into_owned();
        // The acceleration of an instant does not know the next load.
        let interface = found.rows(states, forces).remove_columns(states + loads, loads);
        let block = |m: &DMatrix<f64>, from: usize, n: usize| m.columns(from, n).into_owned();
        let places = equations.interface_matrix().transpose();
        let read = |first: usize| {
            let mut rows = DMatrix::zeros(forces, states);
            rows.columns_mut(first, places.ncols()).copy_from(&places);
            rows
        };
        let step = LinearStep {
            displacement_of_state: read(0),
            velocity_of_state: read(places.ncols()),
            transition: block(&map, 0, states),
            load: block(&map, states, loads),
            next: block(&map, states + loads, loads),
            force: block(&map, states + 2 * loads, forces),
            acceleration_of_state: block(&interface, 0, states),
            acceleration_of_load: block(&interface, states, loads),
            acceleration_of_force: block(&interface, states + loads, forces),
            velocity_lag_s: stepper.velocity_lag_s,
        };
        // Columns: load, next load, force, state. Rows: state, readout of it.
        let inputs = columns - states;
        let ordered = hstack(&[&block(&map, states, inputs), &block(&map, 0, states)]);
        let readout = readout(equations, &step);
        let advance = PanelMatrix::new(&vstack(&[&ordered, &(&readout * &ordered)]));
        // The damping of a first-order model nobody knows.
        let dofs = if equations.states.is_some() { 0 } else { equations.size() };
        let work_dofs = gives_work(equations).then_some(dofs);
        let shape = StepShape { loads, forces, states, work_dofs, load_share };
        let by_row = |m: &DMatrix<f64>| m.transpose().as_slice().to_vec();
        let (of_load, of_force) =
            (by_row(&step.acceleration_of_load), by_row(&step.acceleration_of_force));
        let map = StepMap::new(shape, advance, of_load, of_force);
        Self { step, map, readout }
    }

    /// Starts anew from a state.
    pub(super) fn start(&mut self, state: &[f64]) {
        let readout = &self.readout * DVector::from_column_slice(state);
        let (of_state, of_readout) = self.map.output_mut().split_at_mut(state.len());
        of_state.copy_from_slice(state);
        of_readout[..readout.len()].copy_from_slice(readout.as_slice());
    }
}

/// The next state, then the interface acceleration, for every unit vector of state,
/// load, next load and force. The columns do not depend on each other, so those of a
/// large model are stepped `width` side by side and shared out among the processors in
/// pieces, with the same bits.
fn probed(stepper: &Stepper, equations: &Equations, width: usize, piece: usize) -> DMatrix<f64> {
    let (places, loads) = (&equations.interface, equations.load.ncols());
    let states = stepper.state.len();
    let columns = states + 2 * loads + places.len();
    let mut found = DMatrix::zeros(states + places.len(), columns);
    let rows = found.nrows().max(1);
    let pieces = found.as_mut_slice().chunks_mut(rows * piece).enumerate();
    parallel_for(pieces, |(index, piece_columns)| {
        let mut stepper = stepper.clone();
        for (batch, found) in piece_columns.chunks_mut(rows * width).enumerate() {
            let first = index * piece + batch * width;
            let mut unit = vec![0.0; columns * width];
            for one in 0..width.min(columns - first) {
                unit[(first + one) * width + one] = 1.0;
            }
            let (z, rest) = unit.split_at(states * width);
            let (load, rest) = rest.split_at(loads * width);
            let (next, force) = rest.split_at(loads * width);
            z.clone_into(&mut stepper.state);
            let each = |all: &[f64], one: usize| -> Vec<f64> {
                all[one..].iter().step_by(width).copied().collect()
            };
            let acceleration = stepper.accelerate(load, force, Inertia::WithSpecimen);
            for (one, column) in found.chunks_exact_mut(rows).enumerate() {
                let all = each(acceleration, one);
                for (row, place) in column[states..].iter_mut().zip(places) {
                    *row = place.value(&all);
                }
            }
            stepper.advance(load, next, force).expect("a linear step needs no iteration");
            for (one, column) in found.chunks_exact_mut(rows).enumerate() {
                column[..states].copy_from_slice(&each(&stepper.state, one));
            }
        }
    });
    found
}

/// What is read off a state: displacement, velocity and (the state's part of
/// the) acceleration of the interface, then what the energies need.
fn readout(equations: &Equations, step: &LinearStep) -> DMatrix<f64> {
    let drag = hstack(&[&DMatrix::zeros(0, equations.size()), &equations.matrices.damping]);
    let reach = equations.load.transpose();
    let mut blocks =
        vec![&step.displacement_of_state, &step.velocity_of_state, &step.acceleration_of_state];
    match &equations.states {
        Some(_) => blocks.push(&reach),
        None if gives_work(equations) => blocks.extend([&drag, &reach]),
        None => {}
    }
    vstack(&blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equations::RelativeDof;
    use crate::integrator::{Hold, Method, Options};
    use numerics::second_order::SecondOrder;

    #[test]
    fn columns_side_by_side_have_the_bits_of_single_ones() {
        let n = 6;
        let stiffness = DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
            0 => 8e3 + i as f64,
            1 => -3e3 + (i * j) as f64,
            _ => 0.0,
        });
        let equations = Equations {
            matrices: SecondOrder {
                mass: DMatrix::from_fn(n, n, |i, j| if i == j { 2.0 + i as f64 } else { 0.1 }),
                damping: 1e-3 * &stiffness,
                stiffness,
            },
            load: DMatrix::from_fn(n, 2, |i, j| (i + 2 * j) as f64),
            interface: vec![RelativeDof::of_dof(4), RelativeDof { from: Some(0), to: Some(2) }],
            elements: Vec::new(),
            states: None,
        };
        let methods = [
            Method::RungeKutta4,
            Method::Exact(Hold::First),
            Method::Newmark,
            Method::ImplicitEuler,
            Method::ChenRicles,
            Method::KolayRicles { spectral_radius: 0.6 },
        ];
        for method in methods {
            let direct = DMatrix::from_row_slice(2, 2, &[0.3, 0.1, 0.1, 0.2]);
            for direct_inertia in [None, Some(direct)] {
                let options = Options { method, step_s: 3e-3, direct_inertia, iterations: 1 };
                let stepper = Stepper::new(&equations, &options).unwrap();
                let single = probed(&stepper, &equations, 1, 100);
                assert!(single.amax() > 0.5);
                for (width, piece) in [(16, 64), (5, 5), (3, 6)] {
                    let wide = probed(&stepper, &equations, width, piece);
                    assert_eq!(single, wide, "{method:?}, {width}");
                }
            }
        }
    }
}
