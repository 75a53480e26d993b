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
    /// State, load, next load, force: the input of the product.
    input: Vec<f64>,
    states: usize,
    loads: usize,
    advance: PanelMatrix,
    output: Vec<f64>,
    /// The part of the interface acceleration that the present state gives. It
    /// comes out of the step to that state, as rows below the state itself.
    of_state: Vec<f64>,
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
        let mut tall = DMatrix::zeros(states + forces, columns);
        tall.rows_mut(0, states).copy_from(&map);
        tall.rows_mut(states, forces).copy_from(&(&step.acceleration_of_state * &map));
        let advance = PanelMatrix::new(&tall);
        Self {
            step,
            input: vec![0.0; columns],
            states,
            loads,
            output: advance.output(),
            advance,
            of_state: vec![0.0; forces],
            stepper,
        }
    }

    pub(super) fn step(&self) -> &LinearStep {
        &self.step
    }

    #[inline]
    pub(super) fn state(&self) -> &[f64] {
        &self.input[..self.states]
    }

    pub(super) fn start(
        &mut self,
        displacement: &[f64],
        velocity: &[f64],
        load: &[f64],
        force: &[f64],
    ) {
        self.stepper.start(displacement, velocity, load, force);
        self.input[..self.states].copy_from_slice(self.stepper.state());
        self.update_of_state();
    }

    #[inline]
    pub(super) fn advance(&mut self, load: &[f64], next: &[f64], force: &[f64]) {
        let (_, rest) = self.input.split_at_mut(self.states);
        let (s, rest) = rest.split_at_mut(self.loads);
        let (s1, f) = rest.split_at_mut(self.loads);
        copy(s, load);
        copy(s1, next);
        copy(f, force);
        self.advance.multiply(&self.input, &mut self.output);
        let (state, rest) = self.output.split_at(self.states);
        copy(&mut self.input[..self.states], state);
        let forces = self.of_state.len();
        copy(&mut self.of_state, &rest[..forces]);
    }

    #[inline]
    pub(super) fn interface_acceleration(&mut self, load: &[f64], force: &[f64], out: &mut [f64]) {
        let (of_load, of_force) =
            (&self.step.acceleration_of_load, &self.step.acceleration_of_force);
        for (i, (a, of_state)) in out.iter_mut().zip(&self.of_state).enumerate() {
            *a = *of_state;
            for (j, s) in load.iter().enumerate() {
                *a += of_load[(i, j)] * s;
            }
            for (j, f) in force.iter().enumerate() {
                *a += of_force[(i, j)] * f;
            }
        }
    }

    /// After the state was set from outside.
    fn update_of_state(&mut self) {
        let state = nalgebra::DVector::from_column_slice(&self.input[..self.states]);
        let of_state = &self.step.acceleration_of_state * state;
        self.of_state.copy_from_slice(of_state.as_slice());
    }

    pub(super) fn acceleration(&mut self, load: &[f64], force: &[f64]) -> &[f64] {
        self.stepper.state_mut().copy_from_slice(&self.input[..self.states]);
        self.stepper.accelerate(load, force, Inertia::Own)
    }
}
