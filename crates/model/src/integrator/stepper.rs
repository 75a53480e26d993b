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

/// What acts at an instant.
#[derive(Clone, Copy)]
pub(super) struct Acting<'a> {
    pub(super) load: &'a [f64],
    pub(super) force: &'a [f64],
    pub(super) elements: &'a [ConnectedElement],
}

/// State, force balance and algorithm.
#[derive(Debug, Clone)]
pub(super) struct Stepper {
    size: usize,
    loads: usize,
    places: Vec<RelativeDof>,
    /// x, v, and what the algorithm keeps of the past.
    pub(super) state: Vec<f64>,
    pub(super) elements: Vec<ConnectedElement>,
    own: Balance,
    with_specimen: Option<Balance>,
    algorithm: Algorithm,
    /// How far behind the displacement the algorithm's velocity lies, s.
    pub(super) velocity_lag_s: f64,
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
        let Parts { own, with_specimen, algorithm } = match equations.states {
            Some(_) => Parts::of_states(equations, options)?,
            None => Parts::of_motion(equations, options)?,
        };
        let (n, states) = (equations.size(), equations.state_count());
        let (states, velocity_lag_s) = match &algorithm {
            Algorithm::ChenRicles { .. } => (states, 0.5 * options.step_s),
            Algorithm::KolayRicles(kr) => (4 * n, kr.velocity_lag_s()),
            _ => (states, 0.0),
        };
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
            Algorithm::Implicit(implicit) => implicit.used,
            _ => 0,
        }
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
        let now = Acting { load, force, elements: &self.elements };
        let acceleration = self.own.evaluate(&self.state, now);
        for (v, a) in self.state[n..2 * n].iter_mut().zip(acceleration) {
            *v -= self.velocity_lag_s * a;
        }
        if let Algorithm::KolayRicles(kr) = &mut self.algorithm {
            kr.start(&mut self.state, now, &mut self.own);
        }
    }

    /// Acceleration of every DOF at the present instant.
    pub(super) fn accelerate(&mut self, load: &[f64], force: &[f64], inertia: Inertia) -> &[f64] {
        let now = Acting { load, force, elements: &self.elements };
        if let Algorithm::KolayRicles(kr) = &mut self.algorithm {
            return kr.accelerate(&self.state, now, inertia);
        }
        let balance = match (inertia, &mut self.with_specimen) {
            (Inertia::WithSpecimen, Some(balance)) => balance,
            _ => &mut self.own,
        };
        balance.evaluate(&self.state, now)
    }

    pub(super) fn advance(
        &mut self,
        load: &[f64],
        next: &[f64],
        force: &[f64],
    ) -> Result<(), NotConverged> {
        let now = Acting { load, force, elements: &self.elements };
        let state = &mut self.state;
        match &mut self.algorithm {
            Algorithm::RungeKutta(rk) => rk.advance(state, now, next, &mut self.own),
            Algorithm::Stages(stages, slopes) => stages.advance(state, now, next, slopes),
            Algorithm::Map(map) => map.advance(state, load, next, force),
            Algorithm::Implicit(implicit) => implicit.advance(state, now, next, &mut self.own)?,
            Algorithm::ChenRicles { step_s, alpha, product } => {
                let h = *step_s;
                alpha.multiply(self.own.evaluate(state, now), product);
                let (x, v) = state.split_at_mut(self.size);
                for ((x, v), a) in x.iter_mut().zip(v).zip(product.iter()) {
                    *x += h * *v + h * h * a;
                    *v += h * a;
                }
            }
            Algorithm::KolayRicles(kr) => kr.advance(state, now),
        }
        for placed in &mut self.elements {
            placed.element.commit(placed.place.value(&self.state[..self.size]));
        }
        Ok(())
    }
}

/// What differs between equations of second and of first order.
struct Parts {
    own: Balance,
    with_specimen: Option<Balance>,
    algorithm: Algorithm,
}

impl Parts {
    /// For equations of second order.
    fn of_motion(equations: &Equations, options: &Options) -> Result<Self, IntegratorError> {
        let h = options.step_s;
        let singular = || IntegratorError::SingularStep(options.method.name());
        let balance = |mass: &DMatrix<f64>| {
            let inverse = inverted(mass).ok_or(IntegratorError::SingularMass)?;
            Ok(Balance::new(equations, &inverse))
        };
        let own = balance(&equations.mass)?;
        let with_specimen = options.direct_inertia.as_ref().map(|direct| {
            let b = equations.interface_matrix();
            balance(&(&equations.mass + &b * direct * b.transpose()))
        });
        let algorithm = match options.method {
            Method::RungeKutta4 => Algorithm::RungeKutta(RungeKutta::new(equations, h)),
            Method::Exact(_) => {
                if !equations.elements.is_empty() {
                    return Err(IntegratorError::NotLinear(equations.elements.len()));
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
        Ok(Self { own, with_specimen: with_specimen.transpose()?, algorithm })
    }

    /// For equations of first order.
    fn of_states(equations: &Equations, options: &Options) -> Result<Self, IntegratorError> {
        let (n, h) = (equations.size(), options.step_s);
        let elements = equations.elements.len();
        let system = equations.first_order().ok_or(IntegratorError::SingularMass)?;
        // The velocities' slopes are the accelerations.
        let own = Balance::of_slopes(&system, n..2 * n, n);
        let with_specimen = options.direct_inertia.as_ref().map(|direct| {
            let none = DMatrix::zeros(direct.nrows(), direct.ncols());
            let specimen =
                SecondOrder { mass: direct.clone(), damping: none.clone(), stiffness: none };
            let joined = equations.joined(&specimen).first_order();
            let joined = joined.ok_or(IntegratorError::SingularMass)?;
            Ok(Balance::of_slopes(&joined, n..2 * n, n))
        });
        let scheme = options
            .method
            .scheme()
            .ok_or(IntegratorError::NeedsSecondOrder(options.method.name()))?;
        let algorithm = match scheme {
            _ if elements == 0 => {
                let singular = IntegratorError::SingularStep(options.method.name());
                Algorithm::Map(MapStep::new(&system, scheme, h).ok_or(singular)?)
            }
            Scheme::RungeKutta4 => {
                let slopes = Balance::of_slopes(&system, 0..equations.state_count(), n);
                Algorithm::Stages(RungeKutta::new(equations, h), Box::new(slopes))
            }
            _ => return Err(IntegratorError::ElementsOfFirstOrder(elements)),
        };
        Ok(Self { own, with_specimen: with_specimen.transpose()?, algorithm })
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
    pub(super) fn evaluate(&mut self, state: &[f64], now: Acting<'_>) -> &[f64] {
        let Acting { load, force, elements } = now;
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
