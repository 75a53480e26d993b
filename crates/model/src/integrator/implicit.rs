//! Implicit steps: Newmark's average acceleration and implicit Euler.

use numerics::gemv::Product;
use numerics::second_order::{SecondOrder, inverted};

use super::stepper::{Acting, Balance};
use super::{Method, NotConverged, Options};
use crate::equations::Equations;

/// Both methods solve for the new displacement
///   L s⁺ − B f − r(x⁺) − C v⁺ − K x⁺ − M a⁺ = 0,
/// with v⁺ and a⁺ straight functions of x⁺:
///   average acceleration: v⁺ = 2/h Δx − v, a⁺ = 4/h² Δx − 4/h v − a
///   implicit Euler: v⁺ = Δx/h, a⁺ = (v⁺ − v)/h.
///
/// Corrections use one matrix, inverted beforehand, with every element at its
/// steepest. For elements whose slope stays between zero and that, each
/// iteration contracts, and a step costs the same whatever happens; Newton's
/// tangent would converge faster and could cycle at a gap.
#[derive(Debug, Clone)]
pub(super) struct Implicit {
    method: Method,
    step_s: f64,
    iterations: usize,
    /// Iterations of the last step.
    pub(super) used: usize,
    linear: bool,
    balance: Balance,
    mass: Product,
    inverse: Product,
    start: Vec<f64>,
    acceleration: Vec<f64>,
    new_acceleration: Vec<f64>,
    residual: Vec<f64>,
}

/// Corrections below this part of the largest displacement, or of the largest
/// way of the step, are noise.
const TOLERANCE: f64 = 1e-10;

impl Implicit {
    pub(super) fn new(equations: &Equations, options: &Options) -> Option<Self> {
        let n = equations.size();
        let h = options.step_s;
        let (of_damping, of_mass) = match options.method {
            Method::ImplicitEuler => (1.0 / h, 1.0 / (h * h)),
            _ => (2.0 / h, 4.0 / (h * h)),
        };
        let SecondOrder { mass, damping, stiffness } = &equations.steepest().matrices;
        let effective = of_mass * mass + of_damping * damping + stiffness;
        let identity = nalgebra::DMatrix::identity(n, n);
        Some(Self {
            method: options.method,
            step_s: h,
            iterations: options.iterations.max(1),
            used: 0,
            linear: equations.elements.is_empty(),
            balance: Balance::new(equations, &identity),
            start: vec![0.0; 2 * n],
            acceleration: vec![0.0; n],
            new_acceleration: vec![0.0; n],
            residual: vec![0.0; n],
            mass: Product::new(mass),
            inverse: Product::new(&inverted(&effective)?),
        })
    }

    pub(super) fn advance(
        &mut self,
        state: &mut [f64],
        now: Acting<'_>,
        next: &[f64],
        own: &mut Balance,
    ) -> Result<(), NotConverged> {
        let n = state.len() / 2;
        state.clone_into(&mut self.start);
        own.evaluate(state, now).clone_into(&mut self.acceleration);
        self.new_acceleration.resize(n, 0.0);
        self.residual.resize(n, 0.0);
        self.predict(state);
        let most = if self.linear { 1 } else { self.iterations };
        let (mut largest, mut tolerance) = (0.0, 0.0);
        self.used = 0;
        for _ in 0..most {
            self.used += 1;
            self.follow(state);
            let balance = self.balance.evaluate(state, Acting { load: next, ..now });
            let inertia = self.mass.of([&self.new_acceleration]);
            for ((r, b), m) in self.residual.iter_mut().zip(balance).zip(inertia) {
                *r = b - m;
            }
            let correction = self.inverse.of([&self.residual]);
            (largest, tolerance) = (0.0f64, 0.0f64);
            for ((x, c), start) in state[..n].iter_mut().zip(correction).zip(&self.start) {
                *x += c;
                // `max` passes over NaN, which must not count as settled.
                largest = largest.max(if c.is_nan() { f64::INFINITY } else { c.abs() });
                // Where the motion passes through zero, the way of this step
                // still gives the scale.
                tolerance = tolerance.max(TOLERANCE * x.abs().max((*x - start).abs()));
            }
            if largest <= tolerance {
                break;
            }
        }
        self.follow(state);
        // A linear step is exact after one correction, to rounding.
        if self.linear || largest <= tolerance.max(f64::MIN_POSITIVE) {
            Ok(())
        } else {
            Err(NotConverged { correction_m: largest, tolerance_m: tolerance })
        }
    }

    /// A first guess from the motion so far.
    fn predict(&self, state: &mut [f64]) {
        let (n, h) = (state.len() / 2, self.step_s);
        for i in 0..n {
            state[i] += h * self.start[n + i] + 0.5 * h * h * self.acceleration[i];
        }
    }

    /// Velocity and acceleration that belong to the displacement in `state`.
    fn follow(&mut self, state: &mut [f64]) {
        let (n, h) = (state.len() / 2, self.step_s);
        for i in 0..n {
            let change = state[i] - self.start[i];
            let velocity = self.start[n + i];
            let (new_velocity, new_acceleration) = match self.method {
                Method::ImplicitEuler => {
                    let new_velocity = change / h;
                    (new_velocity, (new_velocity - velocity) / h)
                }
                _ => (
                    2.0 / h * change - velocity,
                    4.0 / (h * h) * change - 4.0 / h * velocity - self.acceleration[i],
                ),
            };
            state[n + i] = new_velocity;
            self.new_acceleration[i] = new_acceleration;
        }
    }
}
