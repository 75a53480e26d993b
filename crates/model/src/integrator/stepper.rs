//! The algorithms themselves, for linear and nonlinear models alike.

use nalgebra::DMatrix;
use numerics::block::hstack;
use numerics::gemv::Product;
use numerics::second_order::{SecondOrder, inverted};

use super::implicit::Implicit;
use super::kolay_ricles::KolayRicles;
use super::{IntegratorError, LinearStep, Method, NotConverged, Options};
use crate::equations::{ConnectedElement, Equations};
use crate::first_order::{RungeKutta, Scheme, step_map};

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
///
/// A linear model may be stepped from several states at once, with as many loads and
/// forces: vectors entry by entry beside each other, with the bits of one step each.
#[derive(Debug, Clone)]
pub(super) struct Stepper {
    /// DOFs.
    pub(super) size: usize,
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
    RungeKutta {
        step_s: f64,
        rule: RungeKutta,
        /// The load halfway.
        middle: Vec<f64>,
        /// Of a first-order system, all its slopes; else the accelerations do.
        slopes: Option<Box<Balance>>,
    },
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
            state: vec![0.0; states],
            elements: equations.elements.clone(),
            own,
            with_specimen: with_specimen.transpose()?,
            algorithm,
            velocity_lag_s,
        })
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
        let motion = match self.algorithm {
            Algorithm::KolayRicles(_) => 2 * n,
            _ => self.state.len(),
        };
        let acceleration = self.own.evaluate(&self.state[..motion], now);
        for (v, a) in self.state[n..2 * n].iter_mut().zip(acceleration) {
            *v -= self.velocity_lag_s * a;
        }
        if let Algorithm::KolayRicles(kr) = &mut self.algorithm {
            kr.start(&mut self.state, now, &mut self.own);
        }
    }

    /// The last states from the others and the force of the instant before, where they
    /// follow from these.
    pub(super) fn dependent(&self, step: &LinearStep) -> Option<DMatrix<f64>> {
        match &self.algorithm {
            Algorithm::KolayRicles(kr) => Some(kr.unbalanced_before(step)),
            _ => None,
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
            Algorithm::RungeKutta { step_s, rule, middle, slopes } => {
                middle.clear();
                middle.extend(load.iter().zip(next).map(|(a, b)| 0.5 * (a + b)));
                let balance = slopes.as_deref_mut().unwrap_or(&mut self.own);
                rule.advance(state, *step_s, &mut balance.0, |product, stage, state| {
                    let load = [load, middle, middle, next][stage];
                    take(product, state, Acting { load, ..now });
                });
            }
            Algorithm::Map(map) => {
                let next = map.of([state, load, next, force]);
                state.copy_from_slice(next);
            }
            Algorithm::Implicit(implicit) => implicit.advance(state, now, next, &mut self.own)?,
            Algorithm::ChenRicles { step_s, alpha } => {
                let (n, h) = (state.len() / 2, *step_s);
                let changes = alpha.of([self.own.evaluate(state, now)]);
                let (x, v) = state.split_at_mut(n);
                for ((x, v), a) in x.iter_mut().zip(v).zip(changes) {
                    *x += h * *v + h * h * a;
                    *v += h * a;
                }
            }
            Algorithm::KolayRicles(kr) => kr.advance(state, now),
        }
        for placed in &mut self.elements {
            placed.element.commit(placed.place.value(&self.state));
        }
        Ok(())
    }
}

impl Algorithm {
    fn new(equations: &Equations, options: &Options) -> Result<Self, IntegratorError> {
        let (h, method) = (options.step_s, options.method);
        let elements = equations.elements.len();
        let singular = || IntegratorError::SingularStep(method.name());
        let first_order = || equations.first_order().ok_or(IntegratorError::SingularMass);
        let map = |scheme: Scheme| {
            let map = step_map(&first_order()?, scheme, h);
            let finite = map.iter().all(|value| value.is_finite());
            finite.then(|| Self::Map(Product::new(&map))).ok_or_else(singular)
        };
        let stages = |slopes: Option<Box<Balance>>| Self::RungeKutta {
            step_s: h,
            rule: RungeKutta::new(equations.state_count()),
            middle: vec![0.0; equations.load.ncols()],
            slopes,
        };
        if equations.states.is_some() {
            let scheme = method.scheme().ok_or(IntegratorError::NeedsSecondOrder(method.name()))?;
            return match scheme {
                _ if elements == 0 => map(scheme),
                Scheme::RungeKutta4 => {
                    let slopes = Balance(Product::new(&first_order()?.joined()));
                    Ok(stages(Some(Box::new(slopes))))
                }
                _ => Err(IntegratorError::ElementsOfFirstOrder(elements)),
            };
        }
        Ok(match method {
            Method::RungeKutta4 => stages(None),
            Method::Exact(_) if elements > 0 => return Err(IntegratorError::NotLinear(elements)),
            Method::Exact(_) => map(method.scheme().ok_or_else(singular)?)?,
            Method::Newmark | Method::ImplicitEuler => {
                Self::Implicit(Implicit::new(equations, options).ok_or_else(singular)?)
            }
            Method::ChenRicles => {
                let SecondOrder { mass, damping, stiffness } = &equations.steepest().matrices;
                let left = 4.0 * mass + 2.0 * h * damping + h * h * stiffness;
                let alpha = 4.0 * inverted(&left).ok_or_else(singular)? * mass;
                Self::ChenRicles { step_s: h, alpha: Product::new(&alpha) }
            }
            Method::KolayRicles { spectral_radius } => Self::KolayRicles(
                KolayRicles::new(equations, spectral_radius, options).ok_or_else(singular)?,
            ),
        })
    }
}

/// G [L s − B f − r(x) − C v − K x] for a fixed G, or slopes of a first-order system,
/// as one product of x, v (or all states), s, f and r.
#[derive(Debug, Clone)]
pub(super) struct Balance(Product);

impl Balance {
    pub(super) fn new(equations: &Equations, left: &DMatrix<f64>) -> Self {
        let joined = hstack(&[
            &-&equations.matrices.stiffness,
            &-&equations.matrices.damping,
            &equations.load,
            &-equations.interface_matrix(),
            &-equations.element_matrix(),
        ]);
        Self(Product::new(&(left * joined)))
    }

    /// The acceleration of every DOF.
    fn of_accelerations(equations: &Equations) -> Result<Self, IntegratorError> {
        let (n, singular) = (equations.size(), IntegratorError::SingularMass);
        if equations.states.is_some() {
            // The velocities' slopes are the accelerations.
            let slopes = equations.first_order().ok_or(singular)?.joined();
            return Ok(Self(Product::new(&slopes.rows(n, n).into_owned())));
        }
        Ok(Self::new(equations, &inverted(&equations.matrices.mass).ok_or(singular)?))
    }

    /// The balance at displacement and velocity `state` (elements at trial).
    pub(super) fn evaluate(&mut self, state: &[f64], now: Acting<'_>) -> &[f64] {
        take(&mut self.0, state, now);
        self.0.multiply()
    }
}

/// What a balance is the product of.
fn take(product: &mut Product, state: &[f64], Acting { load, force, elements }: Acting<'_>) {
    let r = product.take([state, load, force]);
    for (r, placed) in r.iter_mut().zip(elements) {
        *r = placed.element.trial_force(placed.place.value(state));
    }
}
