//! A linear step as one matrix–vector product.

use std::thread::available_parallelism;

use nalgebra::DMatrix;
use numerics::block::hstack;
use numerics::gemv::PanelMatrix;
use numerics::small::copy;

use super::stepper::{Inertia, Stepper};
use super::{LinearStep, StepProduct, StepWork};
use crate::equations::Equations;

/// The step of a linear model, found by feeding unit vectors to its algorithm.
///
/// One product gives the next state and everything the tick reads off it.
#[derive(Debug, Clone)]
pub(super) struct LinearMap {
    step: LinearStep,
    /// This instant and the next, in turns: load, next load, force; state;
    /// readout; padding. The product reads the first two and writes the last
    /// three of the other one, so nothing is moved, and what was stays readable.
    vectors: [Vec<f64>; 2],
    now: usize,
    states: usize,
    loads: usize,
    forces: usize,
    advance: PanelMatrix,
    readout: DMatrix<f64>,
    work: Option<WorkRows>,
    /// For what is asked seldom: every DOF's acceleration, a fresh start.
    stepper: Stepper,
}

/// Readout for the energies, kept where it costs less than products of its own:
/// C v of every DOF, then Lᵀx of every load.
#[derive(Debug, Clone, Copy)]
struct WorkRows {
    /// Where they begin in a vector.
    at: usize,
    /// Rows of C v; none for a first-order model, whose damping nobody knows.
    dofs: usize,
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
        let vector = vec![0.0; inputs + advance.padded_rows()];
        let dofs = if equations.states.is_some() { 0 } else { equations.size() };
        let work =
            gives_work(equations).then_some(WorkRows { at: inputs + states + 3 * forces, dofs });
        Self {
            step,
            vectors: [vector.clone(), vector],
            now: 0,
            states,
            loads,
            forces,
            advance,
            readout,
            work,
            stepper,
        }
    }

    pub(super) fn step(&self) -> &LinearStep {
        &self.step
    }

    pub(super) fn product(&self, velocity_lag_s: f64) -> Option<StepProduct<'_>> {
        let rows = self.work.filter(|rows| rows.dofs > 0)?;
        Some(StepProduct {
            matrix: &self.advance,
            output: &self.vectors[self.now][self.inputs()..],
            loads: self.loads,
            forces: self.forces,
            states: self.states,
            dofs: rows.dofs,
            acceleration_of_load: &self.step.acceleration_of_load,
            acceleration_of_force: &self.step.acceleration_of_force,
            velocity_lag_s,
        })
    }

    /// Where the state begins.
    #[inline(always)]
    fn inputs(&self) -> usize {
        2 * self.loads + self.forces
    }

    #[inline(always)]
    pub(super) fn state(&self) -> &[f64] {
        let at = self.inputs();
        &self.vectors[self.now][at..at + self.states]
    }

    /// Displacement and velocity of the interface.
    #[inline(always)]
    pub(super) fn interface(&self) -> (&[f64], &[f64]) {
        let at = self.inputs() + self.states;
        self.vectors[self.now][at..at + 2 * self.forces].split_at(self.forces)
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
        let at = self.inputs();
        let vector = &mut self.vectors[self.now][at..];
        vector[..self.states].copy_from_slice(state.as_slice());
        vector[self.states..self.states + readout.len()].copy_from_slice(readout.as_slice());
    }

    #[inline(always)]
    pub(super) fn advance(&mut self, load: &[f64], next: &[f64], force: &[f64]) {
        let inputs = self.inputs();
        let [first, second] = &mut self.vectors;
        let (input, output) = if self.now == 0 { (first, second) } else { (second, first) };
        let input = &mut input[..inputs + self.states];
        let (s, rest) = input.split_at_mut(self.loads);
        let (s1, rest) = rest.split_at_mut(self.loads);
        copy(s, load);
        copy(s1, next);
        copy(&mut rest[..self.forces], force);
        self.advance.multiply(input, &mut output[inputs..]);
        self.now = 1 - self.now;
    }

    #[inline(always)]
    pub(super) fn interface_acceleration(&mut self, load: &[f64], force: &[f64], out: &mut [f64]) {
        let (of_load, of_force) =
            (&self.step.acceleration_of_load, &self.step.acceleration_of_force);
        let at = self.inputs() + self.states + 2 * self.forces;
        let of_state = &self.vectors[self.now][at..];
        if let ([a], [s], [f]) = (&mut *out, load, force) {
            *a = of_state[0] + of_load[(0, 0)] * s + of_force[(0, 0)] * f;
            return;
        }
        for (i, (a, of_state)) in out.iter_mut().zip(of_state).enumerate() {
            *a = *of_state;
            for (j, s) in load.iter().enumerate() {
                *a += of_load[(i, j)] * s;
            }
            for (j, f) in force.iter().enumerate() {
                *a += of_force[(i, j)] * f;
            }
        }
    }

    /// The work done over the step just taken; `force` is the one measured now.
    #[inline(always)]
    pub(super) fn step_work(&self, force: &[f64]) -> Option<StepWork> {
        let rows = self.work?;
        let (now, last) = (&self.vectors[self.now][..], &self.vectors[1 - self.now][..]);
        let mut work = StepWork::default();
        let (x, drag) = (self.inputs(), rows.at);
        let moved = now[x..x + rows.dofs].iter().zip(&last[x..x + rows.dofs]);
        let dragged = now[drag..drag + rows.dofs].iter().zip(&last[drag..drag + rows.dofs]);
        for ((x, x0), (d, d0)) in moved.zip(dragged) {
            work.dissipated += 0.5 * (d + d0) * (x - x0);
        }
        let (reach, loads) = (drag + rows.dofs, self.loads);
        let moved = now[reach..reach + loads].iter().zip(&last[reach..reach + loads]);
        for ((q, q0), (s0, s)) in moved.zip(last[..loads].iter().zip(&last[loads..2 * loads])) {
            work.input += 0.5 * (s + s0) * (q - q0);
        }
        let (held, u) = (2 * loads, x + self.states);
        let moved = now[u..u + self.forces].iter().zip(&last[u..u + self.forces]);
        let forces = last[held..held + self.forces].iter().zip(force);
        for ((u, u0), (f0, f)) in moved.zip(forces) {
            work.feedback_held -= f0 * (u - u0);
            work.feedback_straight -= 0.5 * (f + f0) * (u - u0);
        }
        Some(work)
    }

    pub(super) fn acceleration(&mut self, load: &[f64], force: &[f64]) -> &[f64] {
        let at = self.inputs();
        let state = &self.vectors[self.now][at..at + self.states];
        self.stepper.state.copy_from_slice(state);
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
