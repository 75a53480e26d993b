//! A linear step as one matrix–vector product.

use std::thread::available_parallelism;

use nalgebra::DMatrix;
use numerics::block::hstack;
use numerics::gemv::PanelMatrix;

use super::LinearStep;
use super::step_map::{StepMap, StepShape};
use super::stepper::{Inertia, Stepper};
use crate::equations::Equations;

/// The step of a linear model, found by feeding unit vectors to its algorithm.
///
/// One product gives the next state and everything the tick reads off it.
#[derive(Debug, Clone)]
pub(super) struct LinearMap {
    step: LinearStep,
    pub(super) map: StepMap,
    readout: DMatrix<f64>,
    /// For what is asked seldom: every DOF's acceleration, a fresh start.
    stepper: Stepper,
}

/// From this many states on the processors share the work of preparing a step.
const SHARED: usize = 400;

/// Up to this many DOFs the energies are read out of the step.
const WORK_DOFS: usize = 8;

/// The works of a first-order model are known to its states alone.
fn gives_work(equations: &Equations) -> bool {
    equations.size() <= WORK_DOFS || equations.states.is_some()
}

impl LinearMap {
    pub(super) fn probe(mut stepper: Stepper, equations: &Equations) -> Self {
        let states = stepper.state.len();
        let (loads, forces) = stepper.inputs();
        let columns = states + 2 * loads + forces;
        let (map, interface) = probed(&stepper, columns);
        stepper.state.fill(0.0);
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
        let mut tall = DMatrix::zeros(states + readout.nrows(), columns);
        tall.rows_mut(0, states).copy_from(&ordered);
        tall.rows_mut(states, readout.nrows()).copy_from(&(&readout * &ordered));
        let advance = PanelMatrix::new(&tall);
        // The damping of a first-order model nobody knows.
        let dofs = if equations.states.is_some() { 0 } else { equations.size() };
        let work_dofs = gives_work(equations).then_some(dofs);
        let shape = StepShape { loads, forces, states, work_dofs };
        let by_row = |m: &DMatrix<f64>| m.transpose().as_slice().to_vec();
        let (of_load, of_force) =
            (by_row(&step.acceleration_of_load), by_row(&step.acceleration_of_force));
        let map = StepMap::new(shape, advance, of_load, of_force);
        Self { step, map, readout, stepper }
    }

    pub(super) fn step(&self) -> &LinearStep {
        &self.step
    }

    pub(super) fn start(
        &mut self,
        displacement: &[f64],
        velocity: &[f64],
        load: &[f64],
        force: &[f64],
    ) {
        self.stepper.start(displacement, velocity, load, force);
        let state = nalgebra::DVector::from_column_slice(&self.stepper.state);
        let readout = &self.readout * &state;
        let output = self.map.output_mut();
        output[..state.len()].copy_from_slice(state.as_slice());
        output[state.len()..state.len() + readout.len()].copy_from_slice(readout.as_slice());
    }

    pub(super) fn acceleration(&mut self, load: &[f64], force: &[f64]) -> &[f64] {
        self.stepper.state.copy_from_slice(self.map.state());
        self.stepper.accelerate(load, force, Inertia::Own)
    }
}

/// The next state and the interface acceleration for every unit vector of state,
/// load, next load and force. The columns do not depend on each other, so those of a
/// large model are shared out among the processors, with the same bits.
fn probed(stepper: &Stepper, columns: usize) -> (DMatrix<f64>, DMatrix<f64>) {
    let states = stepper.state.len();
    let (loads, forces) = stepper.inputs();
    let mut map = DMatrix::zeros(states, columns);
    let mut rows = DMatrix::zeros(forces, columns);
    let threads = if states < SHARED { 1 } else { available_parallelism().map_or(1, usize::from) };
    let share = columns.div_ceil(threads);
    // Without interface DOFs there is nothing to write.
    let mut shares: Vec<&mut [f64]> = match forces {
        0 => (0..threads).map(|_| &mut [][..]).collect(),
        _ => rows.as_mut_slice().chunks_mut(share * forces).collect(),
    };
    std::thread::scope(|scope| {
        let parts = map.as_mut_slice().chunks_mut((share * states).max(1)).zip(shares.drain(..));
        for (part, (map, rows)) in parts.enumerate() {
            let mut stepper = stepper.clone();
            let mut work = move || {
                let mut unit = vec![0.0; columns];
                for (k, next_state) in map.chunks_mut(states.max(1)).enumerate() {
                    unit.fill(0.0);
                    unit[part * share + k] = 1.0;
                    let (z, rest) = unit.split_at(states);
                    let (load, rest) = rest.split_at(loads);
                    let (next, force) = rest.split_at(loads);
                    stepper.state.copy_from_slice(z);
                    let row = stepper.interface_acceleration(load, force);
                    rows[k * forces..(k + 1) * forces].copy_from_slice(row.as_slice());
                    stepper.advance(load, next, force).expect("a linear step needs no iteration");
                    next_state.copy_from_slice(&stepper.state);
                }
            };
            if threads == 1 {
                work();
            } else {
                scope.spawn(work);
            }
        }
    });
    // The acceleration of an instant does not know the next load.
    (map, rows.remove_columns(states + loads, loads))
}

/// What is read off a state: displacement, velocity and (the state's part of
/// the) acceleration of the interface, then what the energies need.
fn readout(equations: &Equations, step: &LinearStep) -> DMatrix<f64> {
    let (n, states) = (equations.size(), step.transition.nrows());
    let reach = equations.load.transpose();
    let of_work: &[(&DMatrix<f64>, usize)] = match &equations.states {
        Some(_) => &[(&reach, 0)],
        None if gives_work(equations) => &[(&equations.damping, n), (&reach, 0)],
        None => &[],
    };
    let blocks = [
        (&step.displacement_of_state, 0),
        (&step.velocity_of_state, 0),
        (&step.acceleration_of_state, 0),
    ];
    let blocks: Vec<_> = blocks.iter().chain(of_work).collect();
    let mut readout = DMatrix::zeros(blocks.iter().map(|(b, _)| b.nrows()).sum(), states);
    let mut row = 0;
    for (block, column) in blocks {
        readout.view_mut((row, *column), block.shape()).copy_from(*block);
        row += block.nrows();
    }
    readout
}
