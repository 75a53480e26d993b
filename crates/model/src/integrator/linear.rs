//! A linear step as one matrix–vector product.

use nalgebra::DMatrix;
use numerics::panel::PanelMatrix;
use numerics::small::copy;

use super::LinearStep;
use super::stepper::{Inertia, Stepper};

/// The step of a linear model, found by feeding unit vectors to its algorithm.
#[derive(Debug, Clone)]
pub(super) struct LinearMap {
    step: LinearStep,
    /// Input of this step and of the next, in turns: the rows that the product
    /// gives (state; the part of the interface acceleration that the state
    /// gives; padding), then load, next load, force. One step's output is the
    /// front of the next one's input, so nothing is moved.
    vectors: [Vec<f64>; 2],
    now: usize,
    states: usize,
    loads: usize,
    forces: usize,
    advance: PanelMatrix,
    /// For what is asked seldom: every DOF's acceleration, a fresh start.
    stepper: Stepper,
}

impl LinearMap {
    pub(super) fn probe(mut stepper: Stepper) -> Self {
        let states = stepper.state().len();
        let (loads, forces) = stepper.inputs();
        let columns = states + 2 * loads + forces;
        let mut map = DMatrix::zeros(states, columns);
        let mut interface = DMatrix::zeros(forces, states + loads + forces);
        let mut unit = vec![0.0; columns];
        for column in 0..columns {
            unit.fill(0.0);
            unit[column] = 1.0;
            let (z, rest) = unit.split_at(states);
            let (load, rest) = rest.split_at(loads);
            let (next, force) = rest.split_at(loads);
            stepper.state_mut().copy_from_slice(z);
            let row = stepper.interface_acceleration(load, force);
            // The acceleration of an instant does not know the next load.
            let at = match column {
                c if c < states + loads => Some(c),
                c if c < states + 2 * loads => None,
                c => Some(c - loads),
            };
            if let Some(at) = at {
                interface.set_column(at, &row);
            }
            stepper.advance(load, next, force).expect("a linear step needs no iteration");
            map.column_mut(column).copy_from_slice(stepper.state());
        }
        stepper.state_mut().fill(0.0);
        let block = |m: &DMatrix<f64>, from: usize, n: usize| m.columns(from, n).into_owned();
        let step = LinearStep {
            transition: block(&map, 0, states),
            load: block(&map, states, loads),
            next: block(&map, states + loads, loads),
            force: block(&map, states + 2 * loads, forces),
            acceleration_of_state: block(&interface, 0, states),
            acceleration_of_load: block(&interface, states, loads),
            acceleration_of_force: block(&interface, states + loads, forces),
            velocity_lag_s: stepper.velocity_lag_s(),
        };
        // Between the state's columns and those of the inputs stand zeros for
        // the rows that are given but not used. The product's padding falls
        // into the inputs, which every step writes anew.
        let rows = states + forces;
        let inputs = columns - states;
        let mut tall = DMatrix::zeros(rows, rows + inputs);
        let of_state = &step.acceleration_of_state * &map;
        for (from, to, width) in [(0, 0, states), (states, rows, inputs)] {
            let part = map.columns(from, width);
            tall.view_mut((0, to), (states, width)).copy_from(&part);
            let part = of_state.columns(from, width);
            tall.view_mut((states, to), (forces, width)).copy_from(&part);
        }
        let advance = PanelMatrix::new(&tall);
        let vector = vec![0.0; advance.padded_rows().max(rows + inputs)];
        Self {
            step,
            vectors: [vector.clone(), vector],
            now: 0,
            states,
            loads,
            forces,
            advance,
            stepper,
        }
    }

    pub(super) fn step(&self) -> &LinearStep {
        &self.step
    }

    #[inline]
    pub(super) fn state(&self) -> &[f64] {
        &self.vectors[self.now][..self.states]
    }

    pub(super) fn start(
        &mut self,
        displacement: &[f64],
        velocity: &[f64],
        load: &[f64],
        force: &[f64],
    ) {
        self.stepper.start(displacement, velocity, load, force);
        let state = nalgebra::DVector::from_column_slice(self.stepper.state());
        let of_state = &self.step.acceleration_of_state * &state;
        let (front, rest) = self.vectors[self.now].split_at_mut(self.states);
        front.copy_from_slice(state.as_slice());
        rest[..self.forces].copy_from_slice(of_state.as_slice());
    }

    #[inline]
    pub(super) fn advance(&mut self, load: &[f64], next: &[f64], force: &[f64]) {
        let padded = self.advance.padded_rows();
        let [first, second] = &mut self.vectors;
        let (input, output) = if self.now == 0 { (first, second) } else { (second, first) };
        let columns = self.advance.columns();
        let (s, rest) = input[self.states + self.forces..columns].split_at_mut(self.loads);
        let (s1, f) = rest.split_at_mut(self.loads);
        copy(s, load);
        copy(s1, next);
        copy(f, force);
        self.advance.multiply(&input[..columns], &mut output[..padded]);
        self.now = 1 - self.now;
    }

    #[inline]
    pub(super) fn interface_acceleration(&mut self, load: &[f64], force: &[f64], out: &mut [f64]) {
        let (of_load, of_force) =
            (&self.step.acceleration_of_load, &self.step.acceleration_of_force);
        let of_state = &self.vectors[self.now][self.states..];
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

    pub(super) fn acceleration(&mut self, load: &[f64], force: &[f64]) -> &[f64] {
        let state = &self.vectors[self.now][..self.states];
        self.stepper.state_mut().copy_from_slice(state);
        self.stepper.accelerate(load, force, Inertia::Own)
    }
}
