//! The energy monitor: observes, never acts.

use keys::Keys;
use model::equations::{Equations, RelativeDof};
use model::integrator::{ElementEnergy, Method, StepWork};
use numerics::gemv::PanelMatrix;
use numerics::lanes::Lane;
use numerics::small::copy;

use crate::gate::{Trip, TripKind};

/// How work is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Keys)]
pub enum Work {
    /// Exact for a force held over the step.
    #[default]
    Exact,
    /// By the trapezoidal rule, for comparison with publications.
    Trapezoid,
}

/// How the work of the measured force is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkRule {
    /// f[k] (x[k+1] − x[k]): exact for a force held over the step.
    Held,
    /// ½ (f[k] + f[k+1]) (x[k+1] − x[k]): the papers' rule.
    Trapezoid,
}

impl WorkRule {
    /// The work of the measured force over a step.
    #[inline(always)]
    pub(crate) fn feedback<T: Lane>(self, work: &StepWork<T>) -> T {
        match self {
            Self::Held => work.feedback_held,
            Self::Trapezoid => work.feedback_straight,
        }
    }

    /// The force that works over a step, from those at its start and its end.
    #[inline(always)]
    pub(super) fn force(self, start: f64, end: f64) -> f64 {
        match self {
            Self::Held => start,
            Self::Trapezoid => 0.5 * (end + start),
        }
    }

    /// The rule that closes the energy balance of a loop with this method.
    ///
    /// CR and KR-α take the force of an instant as acting at that instant, on
    /// the way from half a step before to half a step after it: summed up, that
    /// is the straight rule. All others hold it over the step.
    pub fn exact_for(method: Method) -> Self {
        match method {
            Method::ChenRicles | Method::KolayRicles { .. } => Self::Trapezoid,
            Method::RungeKutta4 | Method::Exact(_) | Method::Newmark | Method::ImplicitEuler => {
                Self::Held
            }
        }
    }
}

/// The energies of the numerical substructure, J. They balance:
/// kinetic + dissipated + strain + numerical = input + feedback.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energies {
    /// W_F: work of the measured force on the numerical part.
    pub feedback: f64,
    /// W_I: work of the external load.
    pub input: f64,
    /// E_d: lost in damping and hysteresis.
    pub dissipated: f64,
    /// E_k.
    pub kinetic: f64,
    /// E_s: stored in springs and elements.
    pub strain: f64,
    /// What the method itself takes out of the motion (numerical damping), or puts into it where
    /// it is negative; with it what summing over steps leaves, which is small.
    pub numerical: f64,
}

/// What the monitor is told at one instant.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// Displacement of every DOF.
    pub displacement: &'a [f64],
    /// Velocity of every DOF.
    pub velocity: &'a [f64],
    /// Displacement of the interface.
    pub interface: &'a [f64],
    /// Load signals.
    pub load: &'a [f64],
    /// Measured force.
    pub force: &'a [f64],
    /// Of the nonlinear elements.
    pub elements: ElementEnergy,
    /// The work since the last instant, where the integrator gives it; else the
    /// monitor finds it from the rest.
    pub work: Option<StepWork>,
    /// Ticks since the instant of the motion: with two rates the newest step of the main loop
    /// lies some ticks back.
    pub age: u64,
}

/// SW from W_F and E_d + C, of one test or of several side by side; infinite where
/// damping gives energy instead of taking it.
#[inline(always)]
pub(crate) fn stability_warning<T: Lane>(feedback: T, taken: T) -> T {
    let share = (feedback * 100.0 / taken).where_set(T::ZERO.below(taken), T::all(f64::INFINITY));
    T::ZERO.where_set(feedback.at_most(T::ZERO), share)
}

/// Sums the energies and forms the stability warning
///   SW = 100 W_F / (E_d + C) where W_F > 0, else 0.
///
/// At 100 % the specimen has put more energy into the numerical part than its
/// damping took out. It is a warning, not a proof.
///
/// Reference: Gálmez & Fermandois 2020, Front. Built Environ. 6.
#[derive(Debug, Clone)]
pub struct EnergyMonitor {
    pub(crate) rule: WorkRule,
    /// C.
    pub(crate) constant_j: f64,
    /// %.
    pub(crate) stop_at: f64,
    /// C, and Lᵀ: the displacement each load signal works on.
    pub(super) damping: PanelMatrix,
    reach: PanelMatrix,
    pub(super) stiffness: PanelMatrix,
    pub(super) mass: PanelMatrix,
    /// See [`Method::load_share`].
    load_share: f64,
    /// How far the velocity lies behind the displacement, s.
    lag_s: f64,
    /// x − lag v: where the structure was at the velocity's instant. Empty without a lag.
    behind: Vec<f64>,
    places: Vec<RelativeDof>,
    /// L, by signal and DOF, where there is a lag.
    loaded: Vec<f64>,
    /// Number of DOFs.
    size: usize,
    /// W_F at the last observation, J.
    pub feedback: f64,
    /// W_I, J.
    pub input: f64,
    /// What linear damping has taken, J.
    pub(crate) linear_dissipated: f64,
    pub(super) elements: ElementEnergy,
    /// SW, %.
    pub stability_warning: f64,
    started: bool,
    /// x and v of the last instant, and what acted at it.
    motion: Vec<f64>,
    interface: Vec<f64>,
    force: Vec<f64>,
    load: Vec<f64>,
    /// C v and Lᵀx of the last instant and of the one before.
    drags: [Vec<f64>; 2],
    reaches: [Vec<f64>; 2],
}

impl EnergyMonitor {
    /// For the numerical substructure. `stop_at` in percent, infinite to watch only.
    pub fn new(numerical: &Equations, rule: WorkRule, constant_j: f64, stop_at: f64) -> Self {
        let n = numerical.size();
        let (interface, loads) = (numerical.interface.len(), numerical.load.ncols());
        let damping = PanelMatrix::new(&numerical.matrices.damping);
        // Of a first-order model the DOFs' part: its integrator gives the works.
        let reach = PanelMatrix::new(&numerical.load.rows(0, n).transpose());
        Self {
            rule,
            constant_j,
            stop_at,
            drags: [damping.output(), damping.output()],
            reaches: [reach.output(), reach.output()],
            damping,
            reach,
            stiffness: PanelMatrix::new(&numerical.matrices.stiffness),
            mass: PanelMatrix::new(&numerical.matrices.mass),
            load_share: 0.5,
            lag_s: 0.0,
            behind: Vec::new(),
            places: numerical.interface.clone(),
            loaded: Vec::new(),
            size: n,
            feedback: 0.0,
            input: 0.0,
            linear_dissipated: 0.0,
            elements: ElementEnergy { work: 0.0, stored: 0.0 },
            stability_warning: 0.0,
            started: false,
            motion: vec![0.0; 2 * n],
            interface: vec![0.0; interface],
            force: vec![0.0; interface],
            load: vec![0.0; loads],
        }
    }

    /// The same for an algorithm that lets load act as it does, whose velocity lies so far behind
    /// its displacement.
    pub fn for_method(mut self, method: Method, lag_s: f64, numerical: &Equations) -> Self {
        self.load_share = method.load_share();
        if lag_s > 0.0 && numerical.states.is_none() {
            self.lag_s = lag_s;
            self.behind = vec![0.0; self.size];
            self.loaded = numerical.load.as_slice().to_vec();
        }
        self
    }

    /// The energies at the last observation. Kinetic and strain energy follow
    /// from the state, so they are computed for those who ask.
    #[inline]
    pub fn energies(&self) -> Energies {
        let (x, v) = self.motion.split_at(self.size);
        let (input, feedback, dissipated) = (self.input, self.feedback, self.dissipated());
        let elastic = 0.5 * self.stiffness.quadratic(x);
        let mut kinetic = 0.5 * self.mass.quadratic(v);
        if self.lag_s > 0.0 {
            kinetic += self.since_velocity(v, elastic);
        }
        let strain = elastic + self.elements.stored;
        let numerical = input + feedback - (kinetic + dissipated + strain);
        Energies { feedback, input, dissipated, kinetic, strain, numerical }
    }

    /// What kinetic energy gains from the instant of a velocity that lags to this one: the work of
    /// all forces on the way. With it the CR algorithm, whose motion is that of average
    /// acceleration, keeps the balance to rounding:
    ///   τ w·(L s − f) + ½ x̄·K x̄ − ½ x·K x − ½ τ w·C w,  x̄ = x − τ w.
    fn since_velocity(&self, velocity: &[f64], elastic: f64) -> f64 {
        let mut power = -0.5 * self.damping.quadratic(velocity);
        for (s, column) in self.load.iter().zip(self.loaded.chunks_exact(self.size.max(1))) {
            power += s * column.iter().zip(velocity).map(|(l, v)| l * v).sum::<f64>();
        }
        for (f, place) in self.force.iter().zip(&self.places) {
            power -= f * place.value(velocity);
        }
        0.5 * self.stiffness.quadratic(&self.behind) - elastic + self.lag_s * power
    }

    /// E_d: what damping and hysteresis have taken up to the last observation, J.
    #[inline]
    pub fn dissipated(&self) -> f64 {
        self.linear_dissipated + (self.elements.work - self.elements.stored)
    }

    /// A trip if the stability warning has reached its threshold.
    #[inline]
    pub fn verdict(&self) -> Result<(), Trip> {
        // An infinite threshold only watches, even where the warning is infinite.
        // A warning that is not a number does not say that all is well.
        let below = self.stability_warning < self.stop_at;
        if self.stop_at.is_finite() && !below {
            return Err(TripKind::StabilityWarning.trip(self.stability_warning, self.stop_at));
        }
        Ok(())
    }

    /// Takes one instant in.
    #[inline(always)]
    pub fn observe(&mut self, observed: &Observation) {
        self.elements = observed.elements;
        if let Some(work) = observed.work {
            if self.started {
                self.linear_dissipated += work.dissipated;
                self.input += work.input;
                self.feedback += self.rule.feedback(&work);
            }
        } else {
            self.find_work(observed);
        }
        let (x, v) = self.motion.split_at_mut(self.size);
        copy(x, observed.displacement);
        copy(v, observed.velocity);
        if self.lag_s > 0.0 {
            for ((behind, x), v) in self.behind.iter_mut().zip(&*x).zip(&*v) {
                *behind = x - self.lag_s * v;
            }
            copy(&mut self.force, observed.force);
            copy(&mut self.load, observed.load);
        }
        self.started = true;
        let taken = self.dissipated() + self.constant_j;
        self.stability_warning = stability_warning(self.feedback, taken);
    }

    /// Finds the work done between the last instant and this one.
    fn find_work(&mut self, observed: &Observation) {
        self.drags.swap(0, 1);
        self.reaches.swap(0, 1);
        self.damping.multiply(observed.velocity, &mut self.drags[0]);
        self.reach.multiply(observed.displacement, &mut self.reaches[0]);
        if self.started {
            self.add_step(observed);
        }
        copy(&mut self.interface, observed.interface);
        copy(&mut self.force, observed.force);
        copy(&mut self.load, observed.load);
    }

    fn add_step(&mut self, now: &Observation) {
        let ([drag, last_drag], [reach, last_reach]) = (&self.drags, &self.reaches);
        let mut taken = 0.0;
        let moved = now.displacement.iter().zip(&self.motion[..self.size]);
        for ((x, x0), (d, d0)) in moved.zip(drag.iter().zip(last_drag)) {
            taken += (d + d0) * (x - x0);
        }
        self.linear_dissipated += 0.5 * taken;
        let moved = now.interface.iter().zip(&self.interface);
        for ((u, u0), (f, f0)) in moved.zip(now.force.iter().zip(&self.force)) {
            self.feedback -= self.rule.force(*f0, *f) * (u - u0);
        }
        let moved = reach.iter().zip(last_reach);
        for ((s, s0), (q, q0)) in now.load.iter().zip(&self.load).zip(moved) {
            self.input += (self.load_share * s + (1.0 - self.load_share) * s0) * (q - q0);
        }
    }
}

#[cfg(test)]
mod tests {
    use model::equations::RelativeDof;
    use nalgebra::DMatrix;
    use numerics::second_order::SecondOrder;

    use super::*;

    fn one(value: f64) -> DMatrix<f64> {
        DMatrix::from_element(1, 1, value)
    }

    fn monitor(damping: f64, constant_j: f64, stop_at: f64) -> EnergyMonitor {
        let equations = Equations {
            matrices: SecondOrder { mass: one(2.0), damping: one(damping), stiffness: one(50.0) },
            load: one(-2.0),
            interface: vec![RelativeDof::of_dof(0)],
            elements: Vec::new(),
            states: None,
        };
        EnergyMonitor::new(&equations, WorkRule::Held, constant_j, stop_at)
    }

    /// Moves to `x` at velocity `v` under a force and a load.
    fn observe(monitor: &mut EnergyMonitor, x: f64, v: f64, force: f64, load: f64) {
        let elements = ElementEnergy { work: 0.0, stored: 0.0 };
        monitor.observe(&Observation {
            displacement: &[x],
            velocity: &[v],
            interface: &[x],
            load: &[load],
            force: &[force],
            elements,
            work: None,
            age: 0,
        });
    }

    #[test]
    fn every_energy_is_what_a_hand_would_sum() {
        let mut monitor = monitor(3.0, 1.0, f64::INFINITY);
        observe(&mut monitor, 0.1, 0.5, -7.0, 4.0);
        observe(&mut monitor, 0.3, 1.0, 9.0, 6.0);
        let energies = monitor.energies();
        let expected = Energies {
            feedback: 7.0 * 0.2,
            input: -2.0 * 5.0 * 0.2,
            dissipated: 3.0 * 0.75 * 0.2,
            kinetic: 0.5 * 2.0,
            strain: 0.5 * 50.0 * 0.09,
            numerical: 0.0,
        };
        for (ours, hand) in [
            (energies.feedback, expected.feedback),
            (energies.input, expected.input),
            (energies.dissipated, expected.dissipated),
            (energies.kinetic, expected.kinetic),
            (energies.strain, expected.strain),
            (monitor.stability_warning, 100.0 * 1.4 / 1.45),
        ] {
            assert!((ours - hand).abs() < 1e-12 * hand.abs(), "{energies:?}");
        }
    }

    #[test]
    fn damping_that_gives_energy_cannot_hide_the_warning() {
        let mut monitor = monitor(-30.0, 1.0, 100.0);
        observe(&mut monitor, 0.0, 1.0, -7.0, 0.0);
        observe(&mut monitor, 0.2, 1.0, 0.0, 0.0);
        assert!(monitor.energies().dissipated < -1.0);
        assert_eq!(monitor.verdict().unwrap_err().kind, TripKind::StabilityWarning);
        monitor.stability_warning = f64::NAN;
        assert_eq!(monitor.verdict().unwrap_err().kind, TripKind::StabilityWarning);
    }

    #[test]
    fn watching_never_trips() {
        let mut monitor = monitor(0.0, 0.0, f64::INFINITY);
        observe(&mut monitor, 0.0, 1.0, -7.0, 0.0);
        observe(&mut monitor, 0.2, 1.0, 0.0, 0.0);
        assert_eq!(monitor.stability_warning, f64::INFINITY);
        assert_eq!(monitor.verdict(), Ok(()));
    }
}
