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
    /// Rows that give the interface acceleration from (state, load, force).
    interface: PanelMatrix,
    interface_output: Vec<f64>,
    interface_input: Vec<f64>,
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
        let advance = PanelMatrix::new(&map);
        let interface = PanelMatrix::new(&interface);
        Self {
            step,
            input: vec![0.0; columns],
            states,
            loads,
            output: advance.output(),
            advance,
            interface_output: interface.output(),
            interface_input: vec![0.0; states + loads + forces],
            interface,
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
        copy(&mut self.input[..self.states], &self.output[..self.states]);
    }

    #[inline]
    pub(super) fn interface_acceleration(&mut self, load: &[f64], force: &[f64], out: &mut [f64]) {
        let (z, rest) = self.interface_input.split_at_mut(self.states);
        let (s, f) = rest.split_at_mut(self.loads);
        copy(z, &self.input[..self.states]);
        copy(s, load);
        copy(f, force);
        self.interface.multiply(&self.interface_input, &mut self.interface_output);
        copy(out, &self.interface_output[..out.len()]);
    }

    pub(super) fn acceleration(&mut self, load: &[f64], force: &[f64]) -> &[f64] {
        self.stepper.state_mut().copy_from_slice(&self.input[..self.states]);
        self.stepper.accelerate(load, force, Inertia::Own)
    }
}
