//! A whole period of a linear model as one product.

use model::equations::{Equations, RelativeDof};
use model::integrator::{ElementEnergy, LinearStep, NotConverged, StepWork};
use model::motion::Motion;
use nalgebra::DMatrix;
use numerics::block::hstack;
use numerics::gemv::{PanelMatrix, Product};

use super::numerical::{Newest, Numerical};

/// R steps z⁺ = A z + B₀ s + B₁ s⁺ in one: the state at the end and, for the
/// works, the displacement of interface and loads at every tick between, from
/// the state at the start and the signals of all ticks.
///
/// It costs little more than one step, where R steps cost R. Works of force and
/// load are summed tick by tick as they act; what they put in and the model does
/// not hold at the end has been dissipated.
pub(super) struct Period {
    matrix: PanelMatrix,
    /// State, then the signals of every tick.
    input: Vec<f64>,
    /// State, then interface and load displacements of every tick.
    output: Vec<f64>,
    states: usize,
    dofs: usize,
    /// What is stored, and so what is dissipated, is not known then.
    first_order: bool,
    loads: usize,
    load_rule: LoadRule,
    places: Vec<RelativeDof>,
    interface: Motion,
    /// Lᵀx.
    reach: Vec<f64>,
    /// Interface acceleration from the state, and what the signals add to it.
    of_state: Product,
    of_signals: DMatrix<f64>,
    mass: PanelMatrix,
    stiffness: PanelMatrix,
    /// Kinetic and elastic energy now, J.
    energy: f64,
}

/// What the load does within a tick; the force always runs straight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadRule {
    Held,
    Straight,
}

impl Period {
    /// From the step of a tick, whose signals are the loads and then the forces.
    pub(super) fn new(
        equations: &Equations,
        step: &LinearStep,
        ratio: usize,
        load_rule: LoadRule,
    ) -> Self {
        let (n, loads) = (equations.size(), equations.load.ncols());
        let (a, mut start, mut end) = (&step.transition, step.load.clone(), step.next.clone());
        if load_rule == LoadRule::Held {
            let moved = end.columns(0, loads).into_owned();
            let mut columns = start.columns_mut(0, loads);
            columns += moved;
            end.columns_mut(0, loads).fill(0.0);
        }
        let states = a.nrows();
        let mut seen = DMatrix::zeros(equations.interface.len() + loads, states);
        let across = hstack(&[&equations.interface_matrix(), &equations.load]).transpose();
        seen.view_mut((0, 0), across.shape()).copy_from(&across);
        let matrix = PanelMatrix::new(&composed(a, &start, &end, &seen, ratio));
        let count = equations.interface.len();
        Self {
            input: vec![0.0; matrix.columns()],
            output: matrix.output(),
            matrix,
            states,
            dofs: n,
            first_order: equations.states.is_some(),
            loads,
            load_rule,
            places: equations.interface.clone(),
            interface: Motion::rest(count),
            reach: vec![0.0; loads],
            of_state: Product::new(&step.acceleration_of_state),
            of_signals: step.acceleration_of_load.clone(),
            mass: PanelMatrix::new(&equations.matrices.mass),
            stiffness: PanelMatrix::new(&equations.matrices.stiffness),
            energy: 0.0,
        }
    }
}

impl Numerical for Period {
    fn newest(&self) -> Newest<'_> {
        let (displacement, rest) = self.input.split_at(self.dofs);
        Newest {
            interface: &self.interface,
            displacement,
            velocity: &rest[..self.dofs],
            elements: ElementEnergy { work: 0.0, stored: 0.0 },
            iterations: 0,
        }
    }

    fn rest(&mut self, _load: &[f64]) {
        self.input.fill(0.0);
        self.reach.fill(0.0);
        self.interface.clear();
        self.energy = 0.0;
    }

    fn equilibrium(&mut self, signals: &[f64]) {
        let of_state = self.of_state.of([&self.input[..self.states]]);
        for (i, a) in self.interface.acceleration.iter_mut().enumerate() {
            *a = of_state[i];
            for (j, s) in signals.iter().enumerate() {
                *a += self.of_signals[(i, j)] * s;
            }
        }
    }

    fn advance(&mut self, rows: &[f64]) -> Result<StepWork, NotConverged> {
        self.input[self.states..].copy_from_slice(rows);
        self.matrix.multiply(&self.input, &mut self.output);
        let count = self.places.len();
        let (mut feedback, mut input) = (0.0, 0.0);
        let ticks = self.output[self.states..self.matrix.rows()].chunks_exact(count + self.loads);
        let width = count + self.loads;
        for (tick, seen) in ticks.enumerate() {
            let (now, next) = (&rows[tick * width..], &rows[(tick + 1) * width..]);
            let (u, q) = seen.split_at(count);
            for (i, u) in u.iter().enumerate() {
                let at = self.loads + i;
                let before = &mut self.interface.displacement[i];
                feedback -= 0.5 * (now[at] + next[at]) * (u - *before);
                *before = *u;
            }
            for (i, q) in q.iter().enumerate() {
                let load = match self.load_rule {
                    LoadRule::Held => now[i],
                    LoadRule::Straight => 0.5 * (now[i] + next[i]),
                };
                input += load * (q - self.reach[i]);
                self.reach[i] = *q;
            }
        }
        self.input[..self.states].copy_from_slice(&self.output[..self.states]);
        let (x, v) = self.input[..2 * self.dofs].split_at(self.dofs);
        for (velocity, place) in self.interface.velocity.iter_mut().zip(&self.places) {
            *velocity = place.value(v);
        }
        let energy = 0.5 * (self.mass.quadratic(v) + self.stiffness.quadratic(x));
        let known = input + feedback - (energy - self.energy);
        let dissipated = if self.first_order { 0.0 } else { known };
        self.energy = energy;
        Ok(StepWork { dissipated, input, feedback_held: feedback, feedback_straight: feedback })
    }
}

/// Rows: the state after `ratio` steps, then what is `seen` of it after each.
/// Columns: the state before, then the signals of every tick.
fn composed(
    a: &DMatrix<f64>,
    start: &DMatrix<f64>,
    end: &DMatrix<f64>,
    seen: &DMatrix<f64>,
    ratio: usize,
) -> DMatrix<f64> {
    let (states, signals, rows) = (a.nrows(), start.ncols(), seen.nrows());
    let columns = states + signals * (ratio + 1);
    let mut whole = DMatrix::zeros(states + rows * ratio, columns);
    let at = |tick: usize| states + tick * signals;
    // What a signal does so many steps after it acted, on the state.
    let (mut by_start, mut by_end) = (start.clone(), end.clone());
    for past in 0..ratio {
        let mut column = whole.view_mut((0, at(ratio - 1 - past)), (states, signals));
        column += &by_start;
        let mut column = whole.view_mut((0, at(ratio - past)), (states, signals));
        column += &by_end;
        // And on what is seen, at every tick that lies so far behind its cause.
        let (seen_start, seen_end) = (seen * &by_start, seen * &by_end);
        for tick in past + 1..=ratio {
            let row = states + (tick - 1) * rows;
            let mut block = whole.view_mut((row, at(tick - 1 - past)), (rows, signals));
            block += &seen_start;
            let mut block = whole.view_mut((row, at(tick - past)), (rows, signals));
            block += &seen_end;
        }
        by_start = a * by_start;
        by_end = a * by_end;
    }
    let mut carried = seen.clone();
    for tick in 0..ratio {
        carried *= a;
        whole.view_mut((states + tick * rows, 0), (rows, states)).copy_from(&carried);
    }
    whole.view_mut((0, 0), (states, states)).copy_from(&power(a, ratio));
    whole
}

fn power(a: &DMatrix<f64>, exponent: usize) -> DMatrix<f64> {
    let mut result = DMatrix::identity(a.nrows(), a.ncols());
    let (mut square, mut left) = (a.clone(), exponent);
    while left > 0 {
        if left % 2 == 1 {
            result = &square * result;
        }
        left /= 2;
        if left > 0 {
            square = &square * &square;
        }
    }
    result
}
