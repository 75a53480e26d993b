//! The algorithms themselves, for linear and nonlinear models alike.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};
use numerics::block::hstack;
use numerics::gemv::PanelMatrix;
use numerics::second_order::{SecondOrder, inverted};

use super::explicit::{KolayRicles, MapStep, RungeKutta};
use super::implicit::Implicit;
use super::{IntegratorError, Method, NotConverged, Options};
use crate::equations::{ConnectedElement, Equations, RelativeDof};
use crate::first_order::{FirstOrder, Scheme};

/// Whose inertia answers to the forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inertia {
    /// The numerical substructure's.
    Own,
    /// With the specimen's direct inertia, where the rig has no delay.
    WithSpecimen,
}

/// State, force balance and algorithm.
#[derive(Debug, Clone)]
pub(super) struct Stepper {
    size: usize,
    loads: usize,
    places: Vec<RelativeDof>,
    /// x, v, and what the algorithm keeps of the past.
    state: Vec<f64>,
    elements: Vec<ConnectedElement>,
    own: Balance,
    with_specimen: Option<Balance>,
    algorithm: Algorithm,
    /// How far behind the displacement the algorithm's velocity lies, s.
    velocity_lag_s: f64,
}

#[derive(Debug, Clone)]
enum Algorithm {
    RungeKutta(RungeKutta),
    /// A first-order system with nonlinear elements: its slopes.
    Stages(RungeKutta, Box<Balance>),
    Map(MapStep),
    Implicit(Implicit),
    ChenRicles {
        step_s: f64,
        alpha: PanelMatrix,
        product: Vec<f64>,
    },
    KolayRicles(KolayRicles),
}

impl Stepper {
    pub(super) fn new(equations: &Equations, options: &Options) -> Result<Self, IntegratorError> {
        if equations.states.is_some() {
            return Self::of_states(equations, options);
        }
        let n = equations.size();
        let h = options.step_s;
        let singular = || IntegratorError::SingularStep(options.method.name());
        let inverse = inverted(&equations.mass).ok_or(IntegratorError::SingularMass)?;
        let own = Balance::new(equations, &inverse);
        let with_specimen = match &options.direct_inertia {
            Some(direct) => {
                let b = equations.interface_matrix();
                let mass = &equations.mass + &b * direct * b.transpose();
                let inverse = inverted(&mass).ok_or(IntegratorError::SingularMass)?;
                Some(Balance::new(equations, &inverse))
            }
            None => None,
        };
        let algorithm = match options.method {
            Method::RungeKutta4 => Algorithm::RungeKutta(RungeKutta::new(equations, h)),
            Method::Exact(_) => {
                if !equations.elements.is_empty() {
                    let elements = equations.elements.len();
                    return Err(IntegratorError::NotLinear(elements));
                }
                let system = equations.first_order().ok_or(IntegratorError::SingularMass)?;
                let scheme = options.method.scheme().ok_or_else(singular)?;
                Algorithm::Map(MapStep::new(&system, scheme, h).ok_or_else(singular)?)
            }
            Method::Newmark | Method::ImplicitEuler => {
                Algorithm::Implicit(Implicit::new(equations, options).ok_or_else(singular)?)
            }
            Method::ChenRicles => {
                let stiffness = equations.steepest_stiffness();
                let left = 4.0 * &equations.mass + 2.0 * h * &equations.damping + h * h * stiffness;
                let alpha = 4.0 * inverted(&left).ok_or_else(singular)? * &equations.mass;
                let alpha = PanelMatrix::new(&alpha);
                let product = alpha.output();
                Algorithm::ChenRicles { step_s: h, alpha, product }
            }
            Method::KolayRicles { spectral_radius } => Algorithm::KolayRicles(
                KolayRicles::new(equations, spectral_radius, options).ok_or_else(singular)?,
            ),
        };
        let velocity_lag_s = match &algorithm {
            Algorithm::ChenRicles { .. } => 0.5 * h,
            Algorithm::KolayRicles(kr) => kr.velocity_lag_s(),
            _ => 0.0,
        };
        let states = if matches!(algorithm, Algorithm::KolayRicles(_)) { 4 * n } else { 2 * n };
        Ok(Self {
            size: n,
            loads: equations.load.ncols(),
            places: equations.interface.clone(),
            state: vec![0.0; states],
            elements: equations.elements.clone(),
            own,
            with_specimen,
            algorithm,
            velocity_lag_s,
        })
    }

    /// The same for equations of first order.
    fn of_states(equations: &Equations, options: &Options) -> Result<Self, IntegratorError> {
        let (n, h) = (equations.size(), options.step_s);
        let singular = || IntegratorError::SingularStep(options.method.name());
        let elements = equations.elements.len();
        let system = equations.first_order().ok_or(IntegratorError::SingularMass)?;
        // The velocities' slopes are the accelerations.
        let accelerations = n..2 * n;
        let with_specimen = match &options.direct_inertia {
            Some(direct) => {
                let none = DMatrix::zeros(direct.nrows(), direct.ncols());
                let specimen =
                    SecondOrder { mass: direct.clone(), damping: none.clone(), stiffness: none };
                let joined = equations.joined(&specimen).first_order();
                let joined = joined.ok_or(IntegratorError::SingularMass)?;
                Some(Balance::of_slopes(&joined, accelerations.clone(), n))
            }
            None => None,
        };
        let scheme = options
            .method
            .scheme()
            .ok_or(IntegratorError::NeedsSecondOrder(options.method.name()))?;
        let algorithm = match scheme {
            _ if elements == 0 => {
                Algorithm::Map(MapStep::new(&system, scheme, h).ok_or_else(singular)?)
            }
            Scheme::RungeKutta4 => {
                let slopes = Balance::of_slopes(&system, 0..equations.state_count(), n);
                Algorithm::Stages(RungeKutta::new(equations, h), Box::new(slopes))
            }
            _ => return Err(IntegratorError::ElementsOfFirstOrder(elements)),
        };
        Ok(Self {
            size: n,
            loads: equations.load.ncols(),
            places: equations.interface.clone(),
            state: vec![0.0; equations.state_count()],
            elements: equations.elements.clone(),
            own: Balance::of_slopes(&system, accelerations, n),
            with_specimen,
            algorithm,
            velocity_lag_s: 0.0,
        })
    }

    /// Numbers of load signals and interface forces.
    pub(super) fn inputs(&self) -> (usize, usize) {
        (self.loads, self.places.len())
    }

    /// Interface acceleration, as [`accelerate`](Self::accelerate) with the specimen.
    pub(super) fn interface_acceleration(&mut self, load: &[f64], force: &[f64]) -> DVector<f64> {
        let places = self.places.clone();
        let all = self.accelerate(load, force, Inertia::WithSpecimen);
        DVector::from_iterator(places.len(), places.iter().map(|place| place.value(all)))
    }

    /// Iterations of the last step; none for explicit methods.
    pub(super) fn iterations(&self) -> usize {
        match &self.algorithm {
            Algorithm::Implicit(implicit) => implicit.used(),
            _ => 0,
        }
    }

    pub(super) fn velocity_lag_s(&self) -> f64 {
        self.velocity_lag_s
    }

    pub(super) fn state(&self) -> &[f64] {
        &self.state
    }

    pub(super) fn state_mut(&mut self) -> &mut [f64] {
        &mut self.state
    }

    pub(super) fn elements(&self) -> &[ConnectedElement] {
        &self.elements
    }

    pub(super) fn start(
        &mut self,
        displacement: &[f64],
        velocity: &[f64],
        load: &[f64],
        force: &[f64],
    ) {
        let n = self.size;
        self.state[..n].copy_from_slice(displacement);
        self.state[n..2 * n].copy_from_slice(velocity);
        self.state[2 * n..].fill(0.0);
        for placed in &mut self.elements {
            placed.element.reset();
            placed.element.commit(placed.place.value(displacement));
        }
        let acceleration = self.own.evaluate(&self.state, load, force, &self.elements);
        for (v, a) in self.state[n..2 * n].iter_mut().zip(acceleration) {
            *v -= self.velocity_lag_s * a;
        }
        if let Algorithm::KolayRicles(kr) = &mut self.algorithm {
            kr.start(&mut self.state, load, force, &self.elements, &mut self.own);
        }
    }

    /// Acceleration of every DOF at the present instant.
    pub(super) fn accelerate(&mut self, load: &[f64], force: &[f64], inertia: Inertia) -> &[f64] {
        if let Algorithm::KolayRicles(kr) = &mut self.algorithm {
            return kr.accelerate(&self.state, load, force, &self.elements, inertia);
        }
        let balance = match (inertia, &mut self.with_specimen) {
            (Inertia::WithSpecimen, Some(balance)) => balance,
            _ => &mut self.own,
        };
        balance.evaluate(&self.state, load, force, &self.elements)
    }

    pub(super) fn advance(
        &mut self,
        load: &[f64],
        next: &[f64],
        force: &[f64],
    ) -> Result<(), NotConverged> {
        let (state, elements) = (&mut self.state, &self.elements);
        match &mut self.algorithm {
            Algorithm::RungeKutta(rk) => {
                rk.advance(state, load, next, force, elements, &mut self.own);
            }
            Algorithm::Stages(stages, slopes) => {
                stages.advance(state, load, next, force, elements, slopes);
            }
            Algorithm::Map(map) => map.advance(state, load, next, force),
            Algorithm::Implicit(implicit) => {
                implicit.advance(state, load, next, force, elements, &mut self.own)?;
            }
            Algorithm::ChenRicles { step_s, alpha, product } => {
                let h = *step_s;
                let acceleration = self.own.evaluate(state, load, force, elements);
                alpha.multiply(acceleration, product);
                let (x, v) = state.split_at_mut(self.size);
                for ((x, v), a) in x.iter_mut().zip(v).zip(product.iter()) {
                    *x += h * *v + h * h * a;
                    *v += h * a;
                }
            }
            Algorithm::KolayRicles(kr) => kr.advance(state, load, force, elements),
        }
        for placed in &mut self.elements {
            placed.element.commit(placed.place.value(&self.state[..self.size]));
        }
        Ok(())
    }
}

/// G [L s − B f − r(x) − C v − K x] for a fixed G, or slopes of a first-order
/// system, as one product.
#[derive(Debug, Clone)]
pub(super) struct Balance {
    matrix: PanelMatrix,
    /// x, v (or all states), s, f, r.
    input: Vec<f64>,
    output: Vec<f64>,
    states: usize,
    /// DOFs.
    size: usize,
}

impl Balance {
    pub(super) fn new(equations: &Equations, left: &DMatrix<f64>) -> Self {
        let n = equations.size();
        let joined = hstack(&[
            &-&equations.stiffness,
            &-&equations.damping,
            &equations.load,
            &-equations.interface_matrix(),
            &-equations.element_matrix(),
        ]);
        Self::of(left * joined, 2 * n, n)
    }

    /// Some slopes of a first-order system whose first `size` states are DOFs.
    fn of_slopes(system: &FirstOrder, rows: Range<usize>, size: usize) -> Self {
        let FirstOrder { dynamics, load, held, elements } = system;
        let all = hstack(&[dynamics, load, held, elements]);
        Self::of(all.rows(rows.start, rows.len()).into_owned(), dynamics.nrows(), size)
    }

    fn of(matrix: DMatrix<f64>, states: usize, size: usize) -> Self {
        let input = vec![0.0; matrix.ncols()];
        let matrix = PanelMatrix::new(&matrix);
        let output = matrix.output();
        Self { matrix, input, output, states, size }
    }

    /// The balance at displacement and velocity `state` (elements at trial).
    pub(super) fn evaluate(
        &mut self,
        state: &[f64],
        load: &[f64],
        force: &[f64],
        elements: &[ConnectedElement],
    ) -> &[f64] {
        let (motion, rest) = self.input.split_at_mut(self.states);
        motion.copy_from_slice(&state[..self.states]);
        let (s, rest) = rest.split_at_mut(load.len());
        s.copy_from_slice(load);
        let (f, r) = rest.split_at_mut(force.len());
        f.copy_from_slice(force);
        for (r, placed) in r.iter_mut().zip(elements) {
            *r = placed.element.trial_force(placed.place.value(&state[..self.size]));
        }
        self.matrix.multiply(&self.input, &mut self.output);
        &self.output[..self.matrix.rows()]
    }
}
