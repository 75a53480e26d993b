//! ẏ = A y + B s(t) + H w + N r(y): a rig, or rig and numerical part as one.

use nalgebra::{Complex, DMatrix};
use numerics::block::hstack;
use numerics::discretise;
use numerics::gemv::{PanelMatrix, Product};
use numerics::small::copy;
use numerics::solve;

/// The system. `s` runs straight between its samples, `w` is held over a
/// period, `r` are the forces of nonlinear elements at the present state.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstOrder {
    /// A.
    pub dynamics: DMatrix<f64>,
    /// B, for the load signals.
    pub load: DMatrix<f64>,
    /// H, for held inputs.
    pub held: DMatrix<f64>,
    /// N, for element forces.
    pub elements: DMatrix<f64>,
}

impl FirstOrder {
    /// ẏ from (y, s, w, r).
    pub(crate) fn joined(&self) -> DMatrix<f64> {
        hstack(&[&self.dynamics, &self.load, &self.held, &self.elements])
    }

    /// Substeps such that |λ|h < 1, with the elements slack and at these slopes, the
    /// steepest: well inside the stability bound of 2.8.
    pub(crate) fn substeps(&self, slopes: &DMatrix<f64>, step_s: f64) -> usize {
        let steepest = &self.dynamics + &self.elements * slopes;
        let radius = |a: &DMatrix<f64>| numerics::eigen::spectral_radius(a).unwrap_or(0.0);
        let fastest = radius(&self.dynamics).max(radius(&steepest));
        (fastest * step_s).ceil().clamp(1.0, 1000.0) as usize
    }
}

/// How the system is carried over a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Classical Runge–Kutta, one step a period.
    RungeKutta4,
    /// Matrix exponential, the load straight between samples.
    ExactFirstHold,
    /// Matrix exponential, the load held.
    ExactZeroHold,
    /// The trapezoidal rule: implicit, second order, keeps energy.
    Trapezoidal,
    /// Implicit Euler: first order, damps strongly.
    ImplicitEuler,
}

impl Scheme {
    /// g(w) with which a step of ẏ = λy + u, u held, is y⁺ = y + h g(λh) (λy + u):
    /// what the scheme does to each motion of a linear system, and all it does.
    pub fn growth(self, w: Complex<f64>) -> Complex<f64> {
        match self {
            Self::RungeKutta4 => 1.0 + w / 2.0 * (1.0 + w / 3.0 * (1.0 + w / 4.0)),
            Self::ExactFirstHold | Self::ExactZeroHold => mean_exponential(w),
            Self::Trapezoidal => (1.0 - 0.5 * w).inv(),
            Self::ImplicitEuler => (1.0 - w).inv(),
        }
    }
}

/// (eʷ − 1)/w, by its series near zero.
fn mean_exponential(w: Complex<f64>) -> Complex<f64> {
    if w.norm() > 0.5 {
        return (w.exp() - 1.0) / w;
    }
    (2..18).rev().fold(Complex::ONE, |sum, k| 1.0 + w * sum / f64::from(k))
}

/// The prepared step, with its state.
#[derive(Debug, Clone)]
pub struct FirstOrderStepper {
    state: Vec<f64>,
    core: Core,
}

#[derive(Debug, Clone)]
enum Core {
    /// No elements: one product.
    Linear(Product),
    /// Runge–Kutta with element forces at every stage: so many substeps, ẏ from
    /// (y, s, w, r).
    Staged { rule: RungeKutta, step_s: f64, substeps: usize, slopes: Product },
}

impl FirstOrderStepper {
    /// Prepares a period of `step_s`. With elements the scheme is Runge–Kutta,
    /// in as many substeps as the fastest eigenvalue asks for. `slopes` are the
    /// derivatives ∂r/∂y with every element at its steepest.
    pub fn with_slopes(
        system: &FirstOrder,
        slopes: &DMatrix<f64>,
        scheme: Scheme,
        step_s: f64,
    ) -> Self {
        let states = system.dynamics.nrows();
        let core = if system.elements.ncols() > 0 {
            let substeps = system.substeps(slopes, step_s);
            let step_s = step_s / substeps as f64;
            let slopes = Product::new(&system.joined());
            Core::Staged { rule: RungeKutta::new(states), step_s, substeps, slopes }
        } else {
            Core::Linear(Product::new(&step_map(system, scheme, step_s)))
        };
        Self { state: vec![0.0; states], core }
    }

    /// The state.
    #[inline]
    pub fn state(&self) -> &[f64] {
        &self.state
    }

    /// The step of a system without elements: state, load, next load and held
    /// input to state.
    pub fn product(&self) -> Option<&PanelMatrix> {
        match &self.core {
            Core::Linear(step) => Some(step.matrix()),
            Core::Staged { .. } => None,
        }
    }

    /// The state, to be set.
    pub fn state_mut(&mut self) -> &mut [f64] {
        &mut self.state
    }

    /// One period. `forces` fills in the element forces at a trial state.
    #[inline]
    pub fn advance(
        &mut self,
        load: &[f64],
        next: &[f64],
        held: &[f64],
        forces: impl Fn(&[f64], &mut [f64]),
    ) {
        let y = &mut self.state;
        let (rule, step_s, substeps, slopes) = match &mut self.core {
            Core::Linear(step) => {
                let next = step.of([y, load, next, held]);
                return copy(y, next);
            }
            Core::Staged { rule, step_s, substeps, slopes } => (rule, *step_s, *substeps, slopes),
        };
        for substep in 0..substeps {
            rule.advance(y, step_s, slopes, |slopes, stage, y| {
                let part = (substep as f64 + [0.0, 0.5, 0.5, 1.0][stage]) / substeps as f64;
                let (s, rest) = slopes.take([y]).split_at_mut(load.len());
                for ((s, a), b) in s.iter_mut().zip(load).zip(next) {
                    *s = a + part * (b - a);
                }
                let (w, r) = rest.split_at_mut(held.len());
                copy(w, held);
                forces(y, r);
            });
        }
    }
}

/// Classical Runge–Kutta of order four, with room for its vectors.
#[derive(Debug, Clone)]
pub(crate) struct RungeKutta {
    start: Vec<f64>,
    sum: Vec<f64>,
}

impl RungeKutta {
    /// For so many states.
    pub(crate) fn new(states: usize) -> Self {
        Self { start: vec![0.0; states], sum: vec![0.0; states] }
    }

    /// Carries `y` over a step of `h`. `prepare` gives the product of the slopes what it
    /// takes at a stage, 0 to 3, and a trial state. Where there are fewer slopes than
    /// states, the first states are integrals of as many behind them.
    pub(crate) fn advance(
        &mut self,
        y: &mut [f64],
        h: f64,
        slopes: &mut Product,
        mut prepare: impl FnMut(&mut Product, usize, &[f64]),
    ) {
        y.clone_into(&mut self.start);
        self.sum.clear();
        self.sum.resize(y.len(), 0.0);
        let stages = [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)];
        for (stage, (weight, reach)) in stages.into_iter().enumerate() {
            prepare(slopes, stage, y);
            let slopes = slopes.multiply();
            let n = y.len() - slopes.len();
            for i in 0..y.len() {
                let slope = if i < n { y[n + i] } else { slopes[i - n] };
                self.sum[i] += weight * slope;
                y[i] = self.start[i] + reach * h * slope;
            }
        }
        for ((y, start), sum) in y.iter_mut().zip(&self.start).zip(&self.sum) {
            *y = start + h / 6.0 * sum;
        }
    }
}

/// The step of a system without elements: state, load, next load and held input
/// to state. NaN where a scheme has no step.
pub fn step_map(system: &FirstOrder, scheme: Scheme, step_s: f64) -> DMatrix<f64> {
    let FirstOrder { dynamics, load, held, .. } = system;
    let exact = |load: discretise::Discrete| {
        let held = discretise::zero_order_hold(dynamics, held, step_s);
        hstack(&[&load.transition, &load.start, &load.end, &held.start])
    };
    match scheme {
        Scheme::RungeKutta4 => runge_kutta_map(system, step_s),
        Scheme::ExactZeroHold => exact(discretise::zero_order_hold(dynamics, load, step_s)),
        Scheme::ExactFirstHold => exact(discretise::first_order_hold(dynamics, load, step_s)),
        Scheme::Trapezoidal => implicit_map(system, step_s, 0.5),
        Scheme::ImplicitEuler => implicit_map(system, step_s, 1.0),
    }
}

/// (I − θhA)⁻¹ [I + (1−θ)hA, (1−θ)hB, θhB, hH].
fn implicit_map(system: &FirstOrder, step_s: f64, theta: f64) -> DMatrix<f64> {
    let n = system.dynamics.nrows();
    let identity = DMatrix::<f64>::identity(n, n);
    let (before, after) = ((1.0 - theta) * step_s, theta * step_s);
    let right = hstack(&[
        &(&identity + before * &system.dynamics),
        &(before * &system.load),
        &(after * &system.load),
        &(step_s * &system.held),
    ]);
    let solved = solve::solved(identity - after * &system.dynamics, &right);
    solved.unwrap_or_else(|| right.map(|_| f64::NAN))
}

/// The classical Runge–Kutta step of a linear system, as a matrix: the Taylor
/// polynomial of the exponential to the fourth power, with the load taken at
/// both ends and halfway.
fn runge_kutta_map(system: &FirstOrder, step_s: f64) -> DMatrix<f64> {
    let FirstOrder { dynamics, load, held, .. } = system;
    let n = dynamics.nrows();
    let z = dynamics * step_s;
    // All columns at once, the input weighted at start, middle and end.
    let step = |start: DMatrix<f64>, input: &DMatrix<f64>, weights: [f64; 3]| {
        let slope = |y: &DMatrix<f64>, at: usize| &z * y + input * (step_s * weights[at]);
        let k1 = slope(&start, 0);
        let k2 = slope(&(&start + 0.5 * &k1), 1);
        let k3 = slope(&(&start + 0.5 * &k2), 1);
        let k4 = slope(&(&start + &k3), 2);
        start + (k1 + 2.0 * (k2 + k3) + k4) / 6.0
    };
    let rest = |input: &DMatrix<f64>| DMatrix::zeros(n, input.ncols());
    hstack(&[
        &step(DMatrix::identity(n, n), &DMatrix::zeros(n, n), [0.0; 3]),
        &step(rest(load), load, [1.0, 0.5, 0.0]),
        &step(rest(load), load, [0.0, 0.5, 1.0]),
        &step(rest(held), held, [1.0; 3]),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    impl FirstOrderStepper {
        /// Prepares a period of `step_s`, for a system without elements.
        pub(crate) fn new(system: &FirstOrder, scheme: Scheme, step_s: f64) -> Self {
            let slopes = DMatrix::zeros(system.elements.ncols(), system.dynamics.ncols());
            Self::with_slopes(system, &slopes, scheme, step_s)
        }
    }

    #[test]
    fn a_scheme_does_to_a_motion_what_its_step_does() {
        // ẏ = λy + u with λ = −30 + 200j, and slow as well: by the map of its real form.
        for (re, im) in [(-30.0, 200.0), (-0.1, 0.4), (0.0, 1e-3), (5.0, 0.0)] {
            let dynamics = DMatrix::from_row_slice(2, 2, &[re, -im, im, re]);
            let none = DMatrix::zeros(2, 0);
            let held = DMatrix::from_row_slice(2, 1, &[1.0, 0.0]);
            let system = FirstOrder { dynamics, load: none.clone(), held, elements: none };
            for scheme in [
                Scheme::RungeKutta4,
                Scheme::ExactFirstHold,
                Scheme::ExactZeroHold,
                Scheme::Trapezoidal,
                Scheme::ImplicitEuler,
            ] {
                let step_s = 4e-3;
                let map = step_map(&system, scheme, step_s);
                let w = Complex::new(re, im) * step_s;
                let growth = scheme.growth(w);
                let [state, input] = [1.0 + w * growth, step_s * growth];
                for (column, wanted) in [(0, state), (2, input)] {
                    let found = Complex::new(map[(0, column)], map[(1, column)]);
                    assert!((found - wanted).norm() < 1e-14, "{scheme:?} {w}: {found} {wanted}");
                }
            }
        }
    }
}
