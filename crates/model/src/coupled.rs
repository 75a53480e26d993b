//! Numerical substructure and virtual rig integrated as one system.
//!
//! A real test holds the measured force over a period. Papers often simulate
//! rig and structure together instead, the force following the rig's states
//! within the step. This is that simulation: for comparison with them.

use nalgebra::DMatrix;
use numerics::block::{hstack, vstack};
use numerics::gemv::PanelMatrix;
use numerics::linear_system::{LinearSystem, Time};

use crate::equations::{ConnectedElement, Equations};
use crate::first_order::{FirstOrder, FirstOrderStepper, Scheme};
use crate::integrator::{ElementEnergy, IntegratorError};
use crate::motion::Motion;
use crate::specimen::Specimen;
use crate::transfer::ActuatorDynamics;

/// Both substructures in one state: x, v, and the rig's own.
#[derive(Debug, Clone)]
pub struct Coupled {
    size: usize,
    /// States of the numerical part.
    states: usize,
    count: usize,
    stepper: FirstOrderStepper,
    elements: Vec<ConnectedElement>,
    specimen: Specimen,
    /// Achieved (x; v; a), force and interface acceleration from (y; s; w; r).
    outputs: PanelMatrix,
    input: Vec<f64>,
    output: Vec<f64>,
    /// Acceleration of every numerical DOF from (y; s; w; r).
    slope: PanelMatrix,
    accelerations: Vec<f64>,
    /// Rig displacement from its states and the command, for element trials.
    rig_displacement: DMatrix<f64>,
    held: Vec<f64>,
    interface: Motion,
    achieved: Motion,
    force: Vec<f64>,
}

impl Coupled {
    /// Joins the numerical part with a rig.
    pub fn new(
        numerical: &Equations,
        dynamics: &ActuatorDynamics,
        specimen: &Specimen,
        scheme: Scheme,
        step_s: f64,
    ) -> Result<Self, IntegratorError> {
        let (n, own_states, count) = (numerical.size(), numerical.state_count(), specimen.count());
        let states = dynamics.system.dynamics.nrows();
        let nonlinear = !numerical.elements.is_empty() || !specimen.elements.is_empty();
        if nonlinear && scheme != Scheme::RungeKutta4 {
            let elements = numerical.elements.len() + specimen.elements.len();
            return Err(IntegratorError::NotLinear(elements));
        }
        let own = numerical.first_order().ok_or(IntegratorError::SingularMass)?;
        let of_specimen = if specimen.elements.is_empty() { 0 } else { count };
        let forces = force_rows(dynamics, specimen);
        let b = numerical.interface_matrix();
        let pulled = &own.held * &forces;

        // Columns: y = (x, v, …, z); s; w = (command ×3, force error); r = (numerical, specimen).
        let part = |from: usize, width: usize| pulled.columns(from, width).into_owned();
        let none = |columns: usize| DMatrix::zeros(states, columns);
        let of_numerical = own.elements.ncols();
        let system = FirstOrder {
            dynamics: hstack(&[
                &own.dynamics,
                &vstack(&[&part(0, states), &dynamics.system.dynamics]),
            ]),
            load: vstack(&[&own.load, &none(own.load.ncols())]),
            held: hstack(&[
                &vstack(&[&part(states, 3 * count), &dynamics.system.held]),
                &vstack(&[&own.held, &none(count)]),
            ]),
            elements: hstack(&[
                &vstack(&[&own.elements, &none(of_numerical)]),
                &vstack(&[
                    &part(states + 3 * count, of_specimen),
                    &dynamics.system.elements.columns(0, of_specimen).into_owned(),
                ]),
            ]),
        };

        let mut slopes = DMatrix::zeros(system.elements.ncols(), own_states + states);
        for (row, placed) in numerical.elements.iter().enumerate() {
            let steepest = placed.element.greatest_stiffness() * placed.place.direction(n);
            slopes.view_mut((row, 0), (1, n)).copy_from(&steepest.transpose());
        }
        if of_specimen > 0 {
            let displacement = dynamics.motion.view((0, 0), (count, states)).into_owned();
            slopes
                .view_mut((of_numerical, own_states), (count, states))
                .copy_from(&specimen.steepest_slopes(&displacement));
        }

        let slope = hstack(&[&system.dynamics, &system.load, &system.held, &system.elements]);
        let slope = PanelMatrix::new(&slope.rows(n, n).into_owned());
        let outputs = output_rows(&system, dynamics, &forces, &b, own_states, of_numerical);
        let outputs = PanelMatrix::new(&outputs);
        Ok(Self {
            size: n,
            states: own_states,
            count,
            stepper: FirstOrderStepper::with_slopes(&system, &slopes, scheme, step_s),
            elements: numerical.elements.clone(),
            specimen: specimen.clone(),
            input: vec![0.0; outputs.columns()],
            output: outputs.output(),
            outputs,
            accelerations: slope.output(),
            slope,
            rig_displacement: dynamics.motion.view((0, 0), (count, states + count)).into_owned(),
            held: vec![0.0; 4 * count],
            interface: Motion::rest(count),
            achieved: Motion::rest(count),
            force: vec![0.0; count],
        })
    }

    /// The same as a linear system, without nonlinear elements: from the command of
    /// a tick, held from there on, to displacement, velocity and acceleration of the
    /// interface and the achieved displacement. Its state is that of both parts, then
    /// the command held so far.
    pub fn linear_form(&self, step_s: f64) -> Option<LinearSystem> {
        let map = self.stepper.product()?;
        let (n, states) = (self.count, self.stepper.state().len());
        let loads = (map.columns() - states - self.held.len()) / 2;
        let command = 3 * n;
        let entries = |m: &PanelMatrix, rows: &[usize], from: usize, columns: usize| {
            DMatrix::from_fn(rows.len(), columns, |i, j| m.entry(rows[i], from + j))
        };
        let all: Vec<usize> = (0..states).collect();
        let mut a = DMatrix::zeros(states + command, states + command);
        a.view_mut((0, 0), (states, states)).copy_from(&entries(map, &all, 0, states));
        let mut b = DMatrix::zeros(states + command, command);
        b.rows_mut(0, states).copy_from(&entries(map, &all, states + 2 * loads, command));
        b.view_mut((states, 0), (command, command)).fill_with_identity();
        // The rows of `outputs` in the order of a motion, then the achieved displacement.
        let rows: Vec<usize> = (5 * n..7 * n).chain(4 * n..5 * n).chain(0..n).collect();
        let mut c = DMatrix::zeros(4 * n, states + command);
        c.columns_mut(0, states).copy_from(&entries(&self.outputs, &rows, 0, states));
        let held = entries(&self.outputs, &rows, states + loads, command);
        c.columns_mut(states, command).copy_from(&held);
        let d = DMatrix::zeros(4 * n, command);
        Some(LinearSystem::new(a, b, c, d, Time::Step(step_s)))
    }

    /// Displacement of every numerical DOF.
    pub fn displacement(&self) -> &[f64] {
        &self.stepper.state()[..self.size]
    }

    /// Velocity of every numerical DOF.
    pub fn velocity(&self) -> &[f64] {
        &self.stepper.state()[self.size..2 * self.size]
    }

    /// The rig's own states, for those who take the rig over after a trip.
    pub fn rig_state(&self) -> &[f64] {
        &self.stepper.state()[self.states..]
    }

    /// The specimen with its history, for the same.
    pub fn specimen(&self) -> &Specimen {
        &self.specimen
    }

    /// Motion of the interface on the numerical side.
    pub fn interface(&self) -> &Motion {
        &self.interface
    }

    /// Motion of the specimen.
    pub fn achieved(&self) -> &Motion {
        &self.achieved
    }

    /// Force of the specimen, without sensor errors.
    pub fn force(&self) -> &[f64] {
        &self.force
    }

    /// Energy of the numerical elements.
    pub fn element_energy(&self) -> ElementEnergy {
        ElementEnergy::of(&self.elements)
    }

    /// Brings motion, force and acceleration up to the present state. The force
    /// error of the last period still acts on the acceleration.
    pub fn observe(&mut self, load: &[f64]) {
        let y = self.stepper.state().len();
        self.input[..y].copy_from_slice(self.stepper.state());
        self.input[y..y + load.len()].copy_from_slice(load);
        let held_at = y + load.len();
        self.input[held_at..held_at + self.held.len()].copy_from_slice(&self.held);
        let (before, r) = self.input.split_at_mut(held_at + self.held.len());
        trial_forces(
            self.states,
            &self.elements,
            &self.specimen,
            &self.rig_displacement,
            &self.held,
            &before[..y],
            r,
        );
        self.outputs.multiply(&self.input, &mut self.output);
        let n = self.count;
        self.achieved.displacement.copy_from_slice(&self.output[..n]);
        self.achieved.velocity.copy_from_slice(&self.output[n..2 * n]);
        self.achieved.acceleration.copy_from_slice(&self.output[2 * n..3 * n]);
        self.force.copy_from_slice(&self.output[3 * n..4 * n]);
        self.interface.acceleration.copy_from_slice(&self.output[4 * n..5 * n]);
        for i in 0..n {
            self.interface.displacement[i] = self.output[5 * n + i];
            self.interface.velocity[i] = self.output[6 * n + i];
        }
    }

    /// Acceleration of every numerical DOF at the last observation.
    pub fn acceleration(&mut self, out: &mut [f64]) {
        self.slope.multiply(&self.input, &mut self.accelerations);
        out.copy_from_slice(&self.accelerations[..self.size]);
    }

    /// One period with `command` held and `error` added to the force.
    pub fn advance(&mut self, load: &[f64], next: &[f64], command: &Motion, error: &[f64]) {
        let n = self.count;
        self.held[..n].copy_from_slice(&command.displacement);
        self.held[n..2 * n].copy_from_slice(&command.velocity);
        self.held[2 * n..3 * n].copy_from_slice(&command.acceleration);
        self.held[3 * n..].copy_from_slice(error);
        let (states, elements, specimen) = (self.states, &self.elements, &self.specimen);
        let (rows, held) = (&self.rig_displacement, &self.held);
        self.stepper.advance(load, next, held, |y, r| {
            trial_forces(states, elements, specimen, rows, held, y, r);
        });
        let y = self.stepper.state();
        for placed in &mut self.elements {
            placed.element.commit(placed.place.value(&y[..self.size]));
        }
        for (dof, element) in &mut self.specimen.elements {
            element.commit(row_value(&self.rig_displacement, *dof, &y[self.states..], &self.held));
        }
    }
}

/// Specimen force from (z; command ×3; specimen element forces).
fn force_rows(dynamics: &ActuatorDynamics, specimen: &Specimen) -> DMatrix<f64> {
    let count = specimen.count();
    let of_motion = hstack(&[&specimen.stiffness, &specimen.damping, &specimen.mass]);
    let mut rows = of_motion * &dynamics.motion;
    if !specimen.elements.is_empty() {
        let at = rows.ncols() - count;
        for i in 0..count {
            rows[(i, at + i)] += 1.0;
        }
    }
    rows
}

/// Rows of everything that is read off the joint state, from (y; s; w; r).
fn output_rows(
    system: &FirstOrder,
    dynamics: &ActuatorDynamics,
    forces: &DMatrix<f64>,
    b: &DMatrix<f64>,
    own_states: usize,
    numerical_elements: usize,
) -> DMatrix<f64> {
    let (n, count) = (b.nrows(), dynamics.count);
    let states = dynamics.system.dynamics.nrows();
    let loads = system.load.ncols();
    let held_at = own_states + states + loads;
    let columns = held_at + 4 * count + system.elements.ncols();
    let mut rows = DMatrix::zeros(7 * count, columns);
    // Rig rows know z, command and specimen elements.
    for (top, block) in [(0, &dynamics.motion), (3 * count, forces)] {
        let height = block.nrows();
        let elements = block.ncols() - states - 3 * count;
        let mut copy = |from: usize, to: usize, width: usize| {
            rows.view_mut((top, to), (height, width)).copy_from(&block.columns(from, width));
        };
        copy(0, own_states, states);
        copy(states, held_at, 3 * count);
        copy(states + 3 * count, held_at + 4 * count + numerical_elements, elements);
    }
    let slope = hstack(&[&system.dynamics, &system.load, &system.held, &system.elements]);
    let acceleration = b.transpose() * slope.rows(n, n);
    rows.view_mut((4 * count, 0), acceleration.shape()).copy_from(&acceleration);
    rows.view_mut((5 * count, 0), (count, n)).copy_from(&b.transpose());
    rows.view_mut((6 * count, n), (count, n)).copy_from(&b.transpose());
    rows
}

fn trial_forces(
    states: usize,
    elements: &[ConnectedElement],
    specimen: &Specimen,
    rows: &DMatrix<f64>,
    held: &[f64],
    y: &[f64],
    r: &mut [f64],
) {
    let (of_numerical, of_specimen) = r.split_at_mut(elements.len());
    for (r, placed) in of_numerical.iter_mut().zip(elements) {
        *r = placed.element.trial_force(placed.place.value(y));
    }
    of_specimen.fill(0.0);
    for (dof, element) in &specimen.elements {
        of_specimen[*dof] += element.trial_force(row_value(rows, *dof, &y[states..], held));
    }
}

/// One row of the rig's displacement, from its states and the command.
fn row_value(rows: &DMatrix<f64>, row: usize, z: &[f64], command: &[f64]) -> f64 {
    z.iter().chain(command).zip(rows.row(row).iter()).map(|(v, a)| v * a).sum()
}
