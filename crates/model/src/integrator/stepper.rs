//! The algorithms themselves, for linear and nonlinear models alike.

use std::ops::Range;

use nalgebra::DMatrix;
use numerics::block::hstack;
use numerics::gemv::Product;
use numerics::second_order::{SecondOrder, inverted};

use super::explicit::{KolayRicles, RungeKutta};
use super::implicit::Implicit;
use super::{IntegratorError, Method, NotConverged, Options};
use crate::equations::{ConnectedElement, Equations, RelativeDof};
use crate::first_order::{FirstOrder, Scheme, step_map};

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
    /// The step of a linear first-order system as it is: exact, implicit or by stages.
    Map(Product),
    Implicit(Implicit),
    ChenRicles {
        step_s: f64,
        alpha: Product,
    },
    KolayRicles(KolayRicles),
}

impl Stepper {
    pub(super) fn new(equations: &Equations, options: &Options) -> Result<Self, IntegratorError> {
        let own = Balance::of_accelerations(equations)?;
        let with_specimen = options.direct_inertia.as_ref().map(|direct| {
            let none = DMatrix::zeros(direct.nrows(), direct.ncols());
            let specimen =
                SecondOrder { mass: direct.clone(), damping: none.clone(), stiffness: none };
            Balance::of_accelerations(&equations.joined(&specimen))
        });
        let algorithm = Algorithm::new(equations, options)?;
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
            with_specimen: with_specimen.transpose()?,
            algorithm,
            velocity_lag_s,
        })
    }

    /// At rest, to step so many vectors of state, load and force side by side: entry
    /// by entry beside each other, with the bits of one step each. For linear models.
    pub(super) fn side_by_side(&self, width: usize) -> Self {
        let algorithm = match &self.algorithm {
            Algorithm::RungeKutta(rk) => Algorithm::RungeKutta(rk.side_by_side(width)),
            Algorithm::Stages(stages, slopes) => {
                Algorithm::Stages(stages.side_by_side(width), Box::new(slopes.side_by_side(width)))
            }
            Algorithm::Map(map) => Algorithm::Map(map.side_by_side(width)),
            Algorithm::Implicit(implicit) => Algorithm::Implicit(implicit.side_by_side(width)),
            Algorithm::ChenRicles { step_s, alpha } => {
                Algorithm::ChenRicles { step_s: *step_s, alpha: alpha.side_by_side(width) }
            }
            Algorithm::KolayRicles(kr) => Algorithm::KolayRicles(kr.side_by_side(width)),
        };
        Self {
            size: width * self.size,
            loads: width * self.loads,
            places: self.places.clone(),
            state: zeros(width, &self.state),
            elements: self.elements.clone(),
            own: self.own.side_by_side(width),
            with_specimen: self.with_specimen.as_ref().map(|own| own.side_by_side(width)),
            algorithm,
            velocity_lag_s: self.velocity_lag_s,
        }
    }

    /// Numbers of load signals and interface forces.
    pub(super) fn inputs(&self) -> (usize, usize) {
        (self.loads, self.places.len())
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
            Algorithm::Map(map) => {
                let next = map.of([state, load, next, force]);
                state.copy_from_slice(next);
            }
            Algorithm::Implicit(implicit) => implicit.advance(state, now, next, &mut self.own)?,
            Algorithm::ChenRicles { step_s, alpha } => {
                let h = *step_s;
                let changes = alpha.of([self.own.evaluate(state, now)]);
                let (x, v) = state.split_at_mut(self.size);
                for ((x, v), a) in x.iter_mut().zip(v).zip(changes) {
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

impl Algorithm {
    fn new(equations: &Equations, options: &Options) -> Result<Self, IntegratorError> {
        let (n, h, method) = (equations.size(), options.step_s, options.method);
        let elements = equations.elements.len();
        let singular = || IntegratorError::SingularStep(method.name());
        let first_order = || equations.first_order().ok_or(IntegratorError::SingularMass);
        let map = |scheme: Scheme| {
            let map = step_map(&first_order()?, scheme, h);
            let finite = map.iter().all(|value| value.is_finite());
            finite.then(|| Self::Map(Product::new(&map))).ok_or_else(singular)
        };
        if equations.states.is_some() {
            let scheme = method.scheme().ok_or(IntegratorError::NeedsSecondOrder(method.name()))?;
            return match scheme {
                _ if elements == 0 => map(scheme),
                Scheme::RungeKutta4 => {
                    let slopes = Balance::of_slopes(&first_order()?, 0..equations.state_count(), n);
                    Ok(Self::Stages(RungeKutta::new(equations, h), Box::new(slopes)))
                }
                _ => Err(IntegratorError::ElementsOfFirstOrder(elements)),
            };
        }
        Ok(match method {
            Method::RungeKutta4 => Self::RungeKutta(RungeKutta::new(equations, h)),
            Method::Exact(_) if elements > 0 => return Err(IntegratorError::NotLinear(elements)),
            Method::Exact(_) => map(method.scheme().ok_or_else(singular)?)?,
            Method::Newmark | Method::ImplicitEuler => {
                Self::Implicit(Implicit::new(equations, options).ok_or_else(singular)?)
            }
            Method::ChenRicles => {
                let stiffness = equations.steepest_stiffness();
                let left = 4.0 * &equations.mass + 2.0 * h * &equations.damping + h * h * stiffness;
                let alpha = 4.0 * inverted(&left).ok_or_else(singular)? * &equations.mass;
                Self::ChenRicles { step_s: h, alpha: Product::new(&alpha) }
            }
            Method::KolayRicles { spectral_radius } => Self::KolayRicles(
                KolayRicles::new(equations, spectral_radius, options).ok_or_else(singular)?,
            ),
        })
    }
}

/// G [L s − B f − r(x) − C v − K x] for a fixed G, or slopes of a first-order
/// system, as one product.
#[derive(Debug, Clone)]
pub(super) struct Balance {
    /// Of x, v (or all states), s, f, r.
    product: Product,
    states: usize,
    /// DOFs.
    size: usize,
}

/// Room for so many of a vector.
pub(super) fn zeros(width: usize, one: &[f64]) -> Vec<f64> {
    vec![0.0; width * one.len()]
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
        Self { product: Product::new(&(left * joined)), states: 2 * n, size: n }
    }

    /// The acceleration of every DOF.
    fn of_accelerations(equations: &Equations) -> Result<Self, IntegratorError> {
        let (n, singular) = (equations.size(), IntegratorError::SingularMass);
        if equations.states.is_some() {
            // The velocities' slopes are the accelerations.
            return Ok(Self::of_slopes(&equations.first_order().ok_or(singular)?, n..2 * n, n));
        }
        Ok(Self::new(equations, &inverted(&equations.mass).ok_or(singular)?))
    }

    /// Some slopes of a first-order system whose first `size` states are DOFs.
    fn of_slopes(system: &FirstOrder, rows: Range<usize>, size: usize) -> Self {
        let FirstOrder { dynamics, load, held, elements } = system;
        let all = hstack(&[dynamics, load, held, elements]);
        let product = Product::new(&all.rows(rows.start, rows.len()).into_owned());
        Self { product, states: dynamics.nrows(), size }
    }

    pub(super) fn side_by_side(&self, width: usize) -> Self {
        Self {
            product: self.product.side_by_side(width),
            states: width * self.states,
            size: width * self.size,
        }
    }

    /// The balance at displacement and velocity `state` (elements at trial).
    pub(super) fn evaluate(&mut self, state: &[f64], now: Acting<'_>) -> &[f64] {
        let Acting { load, force, elements } = now;
        let r = self.product.take([&state[..self.states], load, force]);
        for (r, placed) in r.iter_mut().zip(elements) {
            *r = placed.element.trial_force(placed.place.value(&state[..self.size]));
        }
        self.product.multiply()
    }
}
