//! Integrators of the numerical substructure.
//!
//! One period is two calls. [`Integrator::equilibrium`] takes the force just
//! measured and gives the acceleration of the present instant;
//! [`Integrator::advance`] carries displacement and velocity to the next
//! instant with that force held, while the load runs straight between its two
//! samples. Displacement and velocity are the whole state: what an algorithm
//! needs of the past acceleration it keeps to itself.
//!
//! For a linear model every algorithm is a constant matrix. It is found by
//! feeding unit vectors through the algorithm itself, so there is one
//! implementation of each, and the tick costs one matrix–vector product.

mod implicit;
mod kolay_ricles;
mod linear;
mod stability;
mod step_map;
mod stepper;
#[cfg(test)]
mod tests;

pub use stability::{UnstableStep, unstable_step};

use keys::Keys;
use nalgebra::DMatrix;
use numerics::block::vstack;
use numerics::lanes::Lane;
use numerics::linear_system::{LinearSystem, Time};
use numerics::small::copy;
use thiserror::Error;

use crate::equations::{ConnectedElement, Equations, RelativeDof};
use crate::first_order::Scheme;
use crate::motion::Motion;
use linear::LinearMap;
pub use step_map::{StepMap, StepShape};
use stepper::{Inertia, Stepper};

/// How the load runs between two samples, for the exact method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Hold {
    /// The load is constant over the step.
    Zero,
    /// The load is linear over the step.
    First,
}

/// The algorithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Classical Runge–Kutta of order four.
    RungeKutta4,
    /// Matrix exponential; linear models only.
    Exact(Hold),
    /// Newmark's average acceleration: implicit, second order, keeps energy. For
    /// equations of first order it is the trapezoidal rule.
    Newmark,
    /// Implicit Euler: first order, damps strongly. For comparison.
    ImplicitEuler,
    /// The CR algorithm: explicit, unconditionally stable, second order.
    ChenRicles,
    /// The KR-α algorithm: explicit, unconditionally stable, second order, with
    /// damping of high modes set by the spectral radius at infinite frequency.
    KolayRicles {
        /// 1 keeps all energy, 0 annihilates the highest modes in one step.
        spectral_radius: f64,
    },
}

impl Method {
    /// Every method, KR-α with this spectral radius.
    pub const fn all(spectral_radius: f64) -> [Self; 7] {
        [
            Self::RungeKutta4,
            Self::Exact(Hold::Zero),
            Self::Exact(Hold::First),
            Self::Newmark,
            Self::ImplicitEuler,
            Self::ChenRicles,
            Self::KolayRicles { spectral_radius },
        ]
    }

    /// The name used in the experiment file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RungeKutta4 => "rk4",
            Self::Exact(_) => "exact",
            Self::Newmark => "newmark",
            Self::ImplicitEuler => "implicit_euler",
            Self::ChenRicles => "cr",
            Self::KolayRicles { .. } => "kr_alpha",
        }
    }

    /// The scheme by which it carries a linear system of states over a period with
    /// its forces held; `None` for those that are more than that.
    pub fn scheme(&self) -> Option<Scheme> {
        match self {
            Self::RungeKutta4 => Some(Scheme::RungeKutta4),
            Self::Exact(Hold::Zero) => Some(Scheme::ExactZeroHold),
            Self::Exact(Hold::First) => Some(Scheme::ExactFirstHold),
            Self::Newmark => Some(Scheme::Trapezoidal),
            Self::ImplicitEuler => Some(Scheme::ImplicitEuler),
            Self::ChenRicles | Self::KolayRicles { .. } => None,
        }
    }
}

/// What an integrator needs beside the equations.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The algorithm.
    pub method: Method,
    /// Period, s.
    pub step_s: f64,
    /// The part of the measured force that is proportional to the present
    /// acceleration of the interface (a rig without delay), kg. It closes an
    /// algebraic loop, which [`Integrator::equilibrium`] solves.
    pub direct_inertia: Option<DMatrix<f64>>,
    /// Most iterations per step of an implicit method with nonlinear elements.
    pub iterations: usize,
}

/// Why an integrator cannot be made.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum IntegratorError {
    /// The mass matrix cannot be inverted.
    #[error("the mass matrix of the numerical substructure is singular")]
    SingularMass,
    /// The own matrix of this algorithm cannot be inverted.
    #[error("the matrix of the {0} step cannot be inverted: check damping and stiffness")]
    SingularStep(&'static str),
    /// This structural method was asked for a first-order model.
    #[error(
        "{0} integrates second-order equations, and the numerical part is of first order: \
         use exact, newmark (then the trapezoidal rule), implicit_euler or rk4"
    )]
    NeedsSecondOrder(&'static str),
    /// So many nonlinear elements on a first-order model.
    #[error("a first-order numerical part with {0} nonlinear element(s) is stepped by rk4 alone")]
    ElementsOfFirstOrder(usize),
    /// An exact method was asked for a model with so many nonlinear elements.
    #[error(
        "the exact method is for linear models, and the numerical part has {0} nonlinear \
         element(s): use rk4, cr, kr_alpha, newmark or implicit_euler"
    )]
    NotLinear(usize),
}

/// An implicit step did not settle within its iterations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotConverged {
    /// Last correction of the displacement, m.
    pub correction_m: f64,
    /// What would have been small enough, m.
    pub tolerance_m: f64,
}

/// An integrator, linear or not, with its state.
#[derive(Debug, Clone)]
pub struct Integrator {
    /// The algorithm. Where the step is a matrix it serves what is asked seldom: every
    /// DOF's acceleration, a fresh start.
    stepper: Box<Stepper>,
    /// The step of a linear model, and its state.
    linear: Option<Box<LinearMap>>,
    places: Vec<RelativeDof>,
    interface: Motion,
    direct: Option<DMatrix<f64>>,
}

impl Integrator {
    /// Prepares the algorithm for these equations, at rest.
    pub fn new(equations: &Equations, options: &Options) -> Result<Self, IntegratorError> {
        let stepper = Box::new(Stepper::new(equations, options)?);
        let is_linear = equations.elements.is_empty();
        Ok(Self {
            linear: is_linear.then(|| Box::new(LinearMap::probe(&stepper, equations))),
            stepper,
            places: equations.interface.clone(),
            interface: Motion::rest(equations.interface.len()),
            direct: options.direct_inertia.clone(),
        })
    }

    /// Number of DOFs.
    pub fn size(&self) -> usize {
        self.stepper.size
    }

    /// Displacement of every DOF, m.
    #[inline(always)]
    pub fn displacement(&self) -> &[f64] {
        &self.state()[..self.size()]
    }

    /// Velocity of every DOF, m/s; with CR and KR-α that of half a step (γ
    /// steps) earlier, see there.
    #[inline(always)]
    pub fn velocity(&self) -> &[f64] {
        &self.state()[self.size()..2 * self.size()]
    }

    /// Motion of the interface; its acceleration is that of the last
    /// [`equilibrium`](Self::equilibrium).
    #[inline(always)]
    pub fn interface(&self) -> &Motion {
        &self.interface
    }

    /// The state of the algorithm: displacement, velocity, and what it keeps of
    /// the past.
    #[inline(always)]
    pub fn state(&self) -> &[f64] {
        self.linear.as_ref().map_or(&self.stepper.state, |linear| linear.map.state())
    }

    /// Work put into the first `count` nonlinear elements and the part of it
    /// they store, J.
    #[inline(always)]
    pub fn element_energy(&self, count: usize) -> ElementEnergy {
        ElementEnergy::of(&self.stepper.elements[..count])
    }

    /// Balances the forces of the present instant. `force` is the measured
    /// force; where the rig has direct inertia it comes without that part and
    /// leaves with it.
    #[inline(always)]
    pub fn equilibrium(&mut self, load: &[f64], force: &mut [f64]) {
        let Motion { velocity, acceleration, .. } = &mut self.interface;
        if let Some(linear) = &self.linear {
            linear.map.interface_acceleration(load, force, acceleration);
        } else {
            let all = self.stepper.accelerate(load, force, Inertia::WithSpecimen);
            for (a, place) in acceleration.iter_mut().zip(&self.places) {
                *a = place.value(all);
            }
        }
        for (v, a) in velocity.iter_mut().zip(&*acceleration) {
            *v += self.stepper.velocity_lag_s * a;
        }
        if let Some(direct) = &self.direct {
            for (i, f) in force.iter_mut().enumerate() {
                for (j, a) in acceleration.iter().enumerate() {
                    *f += direct[(i, j)] * a;
                }
            }
        }
    }

    /// Goes one period on: `load` and `next` are the load signals at both ends,
    /// `force` the whole measured force, held.
    #[inline(always)]
    pub fn advance(
        &mut self,
        load: &[f64],
        next: &[f64],
        force: &[f64],
    ) -> Result<(), NotConverged> {
        match &mut self.linear {
            Some(linear) => linear.map.advance(load, next, force),
            None => self.stepper.advance(load, next, force)?,
        }
        self.update_interface();
        Ok(())
    }

    /// Acceleration of every DOF at the present instant under the whole
    /// measured force, for those who record it.
    pub fn acceleration(&mut self, load: &[f64], force: &[f64], out: &mut [f64]) {
        if let Some(linear) = &self.linear {
            self.stepper.state.copy_from_slice(linear.map.state());
        }
        let all = self.stepper.accelerate(load, force, Inertia::Own);
        out.copy_from_slice(all);
    }

    /// Starts anew from a displacement and velocity under a given load and
    /// interface force, the elements virgin.
    pub fn start(&mut self, displacement: &[f64], velocity: &[f64], load: &[f64], force: &[f64]) {
        self.stepper.start(displacement, velocity, load, force);
        if let Some(linear) = &mut self.linear {
            linear.start(&self.stepper.state);
        }
        self.update_interface();
    }

    /// Starts anew from rest under a load that may be there from the first
    /// instant on: what an algorithm keeps of the past then fits it.
    pub fn rest(&mut self, load: &[f64]) {
        let (zeros, mut force) = (vec![0.0; self.size()], vec![0.0; self.interface.count()]);
        self.start(&zeros, &zeros, load, &force);
        // With direct inertia the specimen takes its share of the load.
        self.equilibrium(load, &mut force);
        self.start(&zeros, &zeros, load, &force);
    }

    /// Iterations of the last step of an implicit method with nonlinear
    /// elements; 0 for every other.
    pub fn iterations(&self) -> usize {
        self.stepper.iterations()
    }

    /// The step as matrices, if the model is linear: z⁺ = A z + B₀ s + B₁ s⁺ + B_f f.
    pub fn linear_step(&self) -> Option<&LinearStep> {
        self.linear.as_ref().map(|linear| &linear.step)
    }

    /// The tick's part of a linear model as a linear system: from the measured
    /// force, without what direct inertia adds to it, to the motion ahead that the
    /// rig is shown (displacement and velocity) and to the desired motion after
    /// [`equilibrium`](Self::equilibrium) (displacement, velocity, acceleration).
    pub fn linear_form(&self, step_s: f64) -> Option<LinearSystem> {
        let step = self.linear_step()?;
        let (count, lag) = (self.interface.count(), step.velocity_lag_s);
        let (of_state, of_force) = (&step.acceleration_of_state, &step.acceleration_of_force);
        let (x, v) = (&step.displacement_of_state, &step.velocity_of_state);
        let c = vstack(&[x, v, x, &(v + lag * of_state), of_state]);
        let at_once = DMatrix::zeros(3 * count, count);
        let d = vstack(&[&at_once, &(lag * of_force), of_force]);
        let (mut a, mut b) = (step.transition.clone(), step.force.clone());
        if let Some(direct) = &self.direct {
            a += &step.force * direct * of_state;
            b += &step.force * direct * of_force;
        }
        Some(LinearSystem::new(a, b, c, d, Time::Step(step_s)))
    }

    /// The work done over the step just taken, where the step gives it without
    /// further ado: a small linear model. `force` is the one measured now.
    #[inline(always)]
    pub fn step_work(&self, force: &[f64]) -> Option<StepWork> {
        self.linear.as_ref()?.map.work(force)
    }

    /// The step of a linear model as the one product it is, where the rig has no
    /// direct inertia: for stepping several side by side.
    pub fn step_map(&self) -> Option<&StepMap> {
        let linear = self.linear.as_ref().filter(|_| self.direct.is_none())?;
        Some(&linear.map)
    }

    /// By how much the interface's velocity is brought up to date, s.
    pub fn velocity_lag_s(&self) -> f64 {
        self.stepper.velocity_lag_s
    }

    #[inline(always)]
    fn update_interface(&mut self) {
        if let Some(linear) = &self.linear {
            let (displacement, velocity) = linear.map.interface();
            copy(&mut self.interface.displacement, displacement);
            copy(&mut self.interface.velocity, velocity);
            return;
        }
        let (displacement, velocity) = self.stepper.state.split_at(self.size());
        for (i, place) in self.places.iter().enumerate() {
            self.interface.displacement[i] = place.value(displacement);
            self.interface.velocity[i] = place.value(velocity);
        }
    }
}

/// Work over one step, J.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepWork<T: Lane = f64> {
    /// Taken by damping.
    pub dissipated: T,
    /// Of the load, which runs straight between its samples.
    pub input: T,
    /// Of the measured force on the numerical part, held over the step.
    pub feedback_held: T,
    /// The same, running straight from the last measured force to this one.
    pub feedback_straight: T,
}

/// Energy of the nonlinear elements, J.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElementEnergy {
    /// Work put in since the start.
    pub work: f64,
    /// The part that would come back.
    pub stored: f64,
}

impl ElementEnergy {
    /// The sum over some elements.
    pub(crate) fn of(elements: &[ConnectedElement]) -> Self {
        let mut energy = Self { work: 0.0, stored: 0.0 };
        for placed in elements {
            energy.work += placed.element.work();
            energy.stored += placed.element.stored_energy();
        }
        energy
    }
}

/// A linear step as matrices, for analyses of the sampled loop.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearStep {
    /// A.
    pub transition: DMatrix<f64>,
    /// B₀, for the load at the start.
    pub load: DMatrix<f64>,
    /// B₁, for the load at the end.
    pub next: DMatrix<f64>,
    /// B_f, for the held force.
    pub force: DMatrix<f64>,
    /// Interface displacement from the state.
    pub displacement_of_state: DMatrix<f64>,
    /// Interface velocity from the state, but for `velocity_lag_s`.
    pub velocity_of_state: DMatrix<f64>,
    /// Interface acceleration from the state.
    pub acceleration_of_state: DMatrix<f64>,
    /// Interface acceleration from the load.
    pub acceleration_of_load: DMatrix<f64>,
    /// Interface acceleration from the force.
    pub acceleration_of_force: DMatrix<f64>,
    /// How far behind the displacement the velocity in the state lies, s; the
    /// interface's velocity is that plus this times its acceleration.
    pub velocity_lag_s: f64,
}
