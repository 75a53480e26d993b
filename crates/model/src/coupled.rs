//! Numerical substructure and virtual rig integrated as one system.
//!
//! A real test holds the measured force over a period. Papers often simulate
//! rig and structure together instead, the force following the rig's states
//! within the step. This is that simulation: for comparison with them.

use nalgebra::DMatrix;
use numerics::block::{hstack, vstack};
use numerics::gemv::Product;
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
    count: usize,
    stepper: FirstOrderStepper,
    elements: Elements,
    /// Achieved motion, force, and motion of the interface from (y; s; w; r).
    outputs: Product,
    /// Acceleration of every numerical DOF from the same.
    slope: Product,
    held: Vec<f64>,
    /// Motion of the interface on the numerical side.
    pub interface: Motion,
    /// Motion of the specimen.
    pub achieved: Motion,
    /// Force of the specimen, without sensor errors.
    pub force: Vec<f64>,
}

/// The nonlinear elements of both sides.
#[derive(Debug, Clone)]
struct Elements {
    numerical: Vec<ConnectedElement>,
    specimen: Specimen,
    /// States of the numerical part.
    states: usize,
    /// Rig displacement from its states and the command.
    rig_displacement: DMatrix<f64>,
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
        let of_numerical = own.elements.ncols();
        let forces = force_rows(dynamics, specimen);
        let pulled = &own.held * &forces;

        // Columns: y = (x, v, …, z); s; w = (command ×3, force error); r = (numerical, specimen).
        let columns = |m: &DMatrix<f64>, from, width| m.columns(from, width).into_owned();
        let none = |columns: usize| DMatrix::zeros(0, columns);
        let of_elements = dynamics.system.elements.columns(0, of_specimen).into_owned();
        let system = FirstOrder {
            dynamics: hstack(&[
                &own.dynamics,
                &vstack(&[&columns(&pulled, 0, states), &dynamics.system.dynamics]),
            ]),
            load: vstack(&[&own.load, &DMatrix::zeros(states, 0)]),
            held: hstack(&[
                &vstack(&[&columns(&pulled, states, 3 * count), &dynamics.system.held]),
                &own.held,
            ]),
            elements: hstack(&[
                &own.elements,
                &vstack(&[&columns(&pulled, states + 3 * count, of_specimen), &of_elements]),
            ]),
        };

        let slopes = steepest_slopes(numerical, dynamics, specimen, of_specimen);
        let slope = system.joined().rows(n, n).into_owned();
        // Rig rows know z, command and specimen elements.
        let rig = vstack(&[&dynamics.motion, &forces]);
        let rig = hstack(&[
            &none(own_states),
            &columns(&rig, 0, states),
            &none(system.load.ncols()),
            &columns(&rig, states, 3 * count),
            &none(count + of_numerical),
            &columns(&rig, states + 3 * count, of_specimen),
        ]);
        let across = numerical.interface_matrix().transpose();
        let velocity = hstack(&[&DMatrix::zeros(count, n), &across]);
        let outputs = vstack(&[&rig, &across, &velocity, &(&across * &slope)]);
        Ok(Self {
            size: n,
            count,
            stepper: FirstOrderStepper::with_slopes(&system, &slopes, scheme, step_s),
            elements: Elements {
                numerical: numerical.elements.clone(),
                specimen: specimen.clone(),
                states: own_states,
                rig_displacement: dynamics.motion.view((0, 0), (count, states + count)).into(),
            },
            outputs: Product::new(&outputs),
            slope: Product::new(&slope),
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
        let mut a = DMatrix::zeros(states + command, states + command);
        a.view_mut((0, 0), (states, states)).copy_from(&map.columns_of(0..states));
        let from = states + 2 * loads;
        let of_command = map.columns_of(from..from + command);
        let b = vstack(&[&of_command, &DMatrix::identity(command, command)]);
        // The motion of the interface, then the achieved displacement.
        let rows: Vec<usize> = (4 * n..7 * n).chain(0..n).collect();
        let (outputs, from) = (self.outputs.matrix(), states + loads);
        let held = outputs.columns_of(from..from + command);
        let c = hstack(&[&outputs.columns_of(0..states), &held]).select_rows(&rows);
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
        &self.stepper.state()[self.elements.states..]
    }

    /// The specimen with its history, for the same.
    pub fn specimen(&self) -> &Specimen {
        &self.elements.specimen
    }

    /// Energy of the numerical elements.
    pub fn element_energy(&self) -> ElementEnergy {
        ElementEnergy::of(&self.elements.numerical)
    }

    /// Brings motion, force and acceleration up to the present state. The force
    /// error of the last period still acts on the acceleration.
    pub fn observe(&mut self, load: &[f64]) {
        let y = self.stepper.state();
        let r = self.outputs.take([y, load, &self.held]);
        self.elements.forces(y, &self.held, r);
        let output = self.outputs.multiply();
        let n = self.count;
        self.achieved.copy_from_slice(&output[..3 * n]);
        self.force.copy_from_slice(&output[3 * n..4 * n]);
        self.interface.copy_from_slice(&output[4 * n..]);
    }

    /// Acceleration of every numerical DOF at the last observation.
    pub fn acceleration(&mut self, out: &mut [f64]) {
        out.copy_from_slice(self.slope.of([self.outputs.input()]));
    }

    /// One period with `command` held and `error` added to the force.
    pub fn advance(&mut self, load: &[f64], next: &[f64], command: &Motion, error: &[f64]) {
        let parts = [&command.displacement, &command.velocity, &command.acceleration];
        for (held, value) in self.held.iter_mut().zip(parts.into_iter().flatten().chain(error)) {
            *held = *value;
        }
        let (elements, held) = (&mut self.elements, &self.held);
        self.stepper.advance(load, next, held, |y, r| elements.forces(y, held, r));
        elements.commit(self.stepper.state(), held);
    }
}

/// Steepest slopes of the elements over the states of both parts.
fn steepest_slopes(
    numerical: &Equations,
    dynamics: &ActuatorDynamics,
    specimen: &Specimen,
    of_specimen: usize,
) -> DMatrix<f64> {
    let (n, own_states, count) = (numerical.size(), numerical.state_count(), specimen.count());
    let states = dynamics.system.dynamics.nrows();
    let of_numerical = numerical.elements.len();
    let mut slopes = DMatrix::zeros(of_numerical + of_specimen, own_states + states);
    for (row, placed) in numerical.elements.iter().enumerate() {
        let steepest = placed.element.greatest_stiffness() * placed.place.direction(n);
        slopes.view_mut((row, 0), (1, n)).copy_from(&steepest.transpose());
    }
    if of_specimen > 0 {
        let displacement = dynamics.motion.view((0, 0), (count, states)).into_owned();
        let mut of_rig = slopes.view_mut((of_numerical, own_states), (count, states));
        of_rig.copy_from(&specimen.steepest_slopes(&displacement));
    }
    slopes
}

/// Specimen force from (z; command ×3; specimen element forces).
fn force_rows(dynamics: &ActuatorDynamics, specimen: &Specimen) -> DMatrix<f64> {
    let count = specimen.count();
    let mut rows = specimen.of_motion() * &dynamics.motion;
    if !specimen.elements.is_empty() {
        let at = rows.ncols() - count;
        for i in 0..count {
            rows[(i, at + i)] += 1.0;
        }
    }
    rows
}

impl Elements {
    /// Their forces at the trial state `y` under the held command.
    fn forces(&self, y: &[f64], held: &[f64], r: &mut [f64]) {
        let (of_numerical, of_specimen) = r.split_at_mut(self.numerical.len());
        for (r, placed) in of_numerical.iter_mut().zip(&self.numerical) {
            *r = placed.element.trial_force(placed.place.value(y));
        }
        of_specimen.fill(0.0);
        for (dof, element) in &self.specimen.elements {
            let displacement = row_value(&self.rig_displacement, *dof, &y[self.states..], held);
            of_specimen[*dof] += element.trial_force(displacement);
        }
    }

    /// Moves their history on.
    fn commit(&mut self, y: &[f64], held: &[f64]) {
        for placed in &mut self.numerical {
            placed.element.commit(placed.place.value(y));
        }
        for (dof, element) in &mut self.specimen.elements {
            let rig = &y[self.states..];
            element.commit(row_value(&self.rig_displacement, *dof, rig, held));
        }
    }
}

/// One row of the rig's displacement, from its states and the command.
fn row_value(rows: &DMatrix<f64>, row: usize, z: &[f64], command: &[f64]) -> f64 {
    z.iter().chain(command).zip(rows.row(row).iter()).map(|(v, a)| v * a).sum()
}
