//! The algorithms themselves, for linear and nonlinear models alike.

use nalgebra::{DMatrix, DVector};
use numerics::panel::PanelMatrix;

use super::explicit::{ExactStep, KolayRicles, RungeKutta};
use super::implicit::Implicit;
use super::{IntegratorError, Method, NotConverged, Options};
use crate::equations::{Deformation, Equations, PlacedElement};

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
    places: Vec<Deformation>,
    /// x, v, and what the algorithm keeps of the past.
    state: Vec<f64>,
    elements: Vec<PlacedElement>,
    own: Balance,
    with_specimen: Option<Balance>,
    algorithm: Algorithm,
    /// How far behind the displacement the algorithm's velocity lies, s.
    velocity_lag_s: f64,
}

#[derive(Debug, Clone)]
enum Algorithm {
    RungeKutta(RungeKutta),
    Exact(ExactStep),
    Implicit(Implicit),
    ChenRicles { step_s: f64, alpha: PanelMatrix, product: Vec<f64> },
    KolayRicles(KolayRicles),
}

impl Stepper {
    pub(super) fn new(equations: &Equations, options: &Options) -> Result<Self, IntegratorError> {
        let n = equations.size();
        let h = options.step_s;
        let singular = || IntegratorError::SingularStep { method: options.method.name() };
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
            Method::Exact(hold) => {
                if !equations.elements.is_empty() {
                    let elements = equations.elements.len();
                    return Err(IntegratorError::NotLinear { elements });
                }
                Algorithm::Exact(ExactStep::new(equations, &inverse, hold, h))
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

    pub(super) fn elements(&self) -> &[PlacedElement] {
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
        balance.evaluate(&self.state[..2 * self.size], load, force, &self.elements)
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
            Algorithm::Exact(exact) => exact.advance(state, load, next, force),
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

/// G [L s − B f − r(x) − C v − K x] for a fixed G, as one product.
#[derive(Debug, Clone)]
pub(super) struct Balance {
    matrix: PanelMatrix,
    /// x, v, s, f, r.
    input: Vec<f64>,
    output: Vec<f64>,
    size: usize,
}

impl Balance {
    pub(super) fn new(equations: &Equations, left: &DMatrix<f64>) -> Self {
        let n = equations.size();
        let blocks = [
            -&equations.stiffness,
            -&equations.damping,
            equations.load.clone(),
            -equations.interface_matrix(),
            -equations.element_matrix(),
        ];
        let columns = blocks.iter().map(DMatrix::ncols).sum();
        let mut joined = DMatrix::zeros(n, columns);
        let mut at = 0;
        for block in &blocks {
            joined.view_mut((0, at), (n, block.ncols())).copy_from(block);
            at += block.ncols();
        }
        let matrix = PanelMatrix::new(&(left * joined));
        let output = matrix.output();
        Self { matrix, input: vec![0.0; columns], output, size: n }
    }

    /// The balance at displacement and velocity `state` (elements at trial).
    pub(super) fn evaluate(
        &mut self,
        state: &[f64],
        load: &[f64],
        force: &[f64],
        elements: &[PlacedElement],
    ) -> &[f64] {
        let (motion, rest) = self.input.split_at_mut(2 * self.size);
        motion.copy_from_slice(&state[..2 * self.size]);
        let (s, rest) = rest.split_at_mut(load.len());
        s.copy_from_slice(load);
        let (f, r) = rest.split_at_mut(force.len());
        f.copy_from_slice(force);
        for (r, placed) in r.iter_mut().zip(elements) {
            *r = placed.element.trial_force(placed.place.value(&state[..self.size]));
        }
        self.matrix.multiply(&self.input, &mut self.output);
        &self.output[..self.size]
    }
}

/// The inverse of a symmetric positive definite matrix, or of any regular one.
pub(super) fn inverted(matrix: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    match nalgebra::linalg::Cholesky::new(matrix.clone()) {
        Some(cholesky) => Some(cholesky.inverse()),
        None => matrix.clone().try_inverse().filter(|m| m.iter().all(|v| v.is_finite())),
    }
}
