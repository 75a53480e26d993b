//! The energy monitor: observes, never acts.

use model::equations::Equations;
use model::integrator::{ElementEnergy, Method};
use numerics::panel::PanelMatrix;

use crate::gate::{Trip, TripKind};

/// How the work of the measured force is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkRule {
    /// f[k] (x[k+1] − x[k]): exact for a force held over the step.
    Held,
    /// ½ (f[k] + f[k+1]) (x[k+1] − x[k]): the papers' rule.
    Trapezoid,
}

impl WorkRule {
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
/// kinetic + dissipated + strain = input + feedback.
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
    rule: WorkRule,
    constant_j: f64,
    stop_at: f64,
    stiffness: PanelMatrix,
    damping: PanelMatrix,
    mass: PanelMatrix,
    /// Rows of Lᵀ: the displacement each load signal works on.
    reach: PanelMatrix,
    energies: Energies,
    stability_warning: f64,
    linear_dissipated: f64,
    started: bool,
    product: Vec<f64>,
    drag: Vec<f64>,
    reached: Vec<f64>,
    last: Last,
}

#[derive(Debug, Clone)]
struct Last {
    displacement: Vec<f64>,
    drag: Vec<f64>,
    interface: Vec<f64>,
    force: Vec<f64>,
    load: Vec<f64>,
    reach: Vec<f64>,
}

impl EnergyMonitor {
    /// For the numerical substructure. `stop_at` in percent, infinite to watch only.
    pub fn new(numerical: &Equations, rule: WorkRule, constant_j: f64, stop_at: f64) -> Self {
        let n = numerical.size();
        let panel = PanelMatrix::new;
        let mass = panel(&numerical.mass);
        let reach = panel(&numerical.load.transpose());
        let (interface, loads) = (numerical.interface.len(), numerical.load.ncols());
        let damping = panel(&numerical.damping);
        Self {
            rule,
            constant_j,
            stop_at,
            stiffness: panel(&numerical.stiffness),
            product: mass.output(),
            drag: damping.output(),
            reached: reach.output(),
            last: Last {
                displacement: vec![0.0; n],
                drag: damping.output(),
                interface: vec![0.0; interface],
                force: vec![0.0; interface],
                load: vec![0.0; loads],
                reach: reach.output(),
            },
            damping,
            mass,
            reach,
            energies: Energies::default(),
            stability_warning: 0.0,
            linear_dissipated: 0.0,
            started: false,
        }
    }

    /// The energies at the last observation.
    #[inline]
    pub fn energies(&self) -> &Energies {
        &self.energies
    }

    /// SW at the last observation, %.
    #[inline]
    pub fn stability_warning(&self) -> f64 {
        self.stability_warning
    }

    /// A trip if the stability warning has reached its threshold.
    #[inline]
    pub fn verdict(&self) -> Result<(), Trip> {
        // An infinite threshold only watches, even where the warning is infinite.
        if self.stop_at.is_finite() && self.stability_warning >= self.stop_at {
            let (value, limit) = (self.stability_warning, self.stop_at);
            return Err(Trip { kind: TripKind::StabilityWarning, dof: 0, value, limit });
        }
        Ok(())
    }

    /// Takes one instant in.
    #[inline]
    pub fn observe(&mut self, now: &Observation) {
        self.damping.multiply(now.velocity, &mut self.drag);
        if self.started {
            self.add_step(now);
        } else {
            self.reach.multiply(now.displacement, &mut self.reached);
            self.started = true;
        }
        self.stiffness.multiply(now.displacement, &mut self.product);
        self.energies.strain = 0.5 * dot(&self.product, now.displacement) + now.elements.stored;
        self.mass.multiply(now.velocity, &mut self.product);
        self.energies.kinetic = 0.5 * dot(&self.product, now.velocity);
        self.energies.dissipated = self.linear_dissipated + now.elements.work - now.elements.stored;
        let taken = self.energies.dissipated + self.constant_j;
        self.stability_warning = if self.energies.feedback <= 0.0 {
            0.0
        } else if taken > 0.0 {
            100.0 * self.energies.feedback / taken
        } else {
            // Damping that gives energy instead of taking it.
            f64::INFINITY
        };
        self.remember(now);
    }

    /// Adds the work done between the last instant and this one.
    #[inline]
    fn add_step(&mut self, now: &Observation) {
        let last = &mut self.last;
        for i in 0..now.displacement.len() {
            let change = now.displacement[i] - last.displacement[i];
            self.linear_dissipated += 0.5 * (self.drag[i] + last.drag[i]) * change;
        }
        for i in 0..now.interface.len() {
            let force = match self.rule {
                WorkRule::Held => last.force[i],
                WorkRule::Trapezoid => 0.5 * (last.force[i] + now.force[i]),
            };
            self.energies.feedback -= force * (now.interface[i] - last.interface[i]);
        }
        self.reach.multiply(now.displacement, &mut self.reached);
        for j in 0..now.load.len() {
            let load = 0.5 * (now.load[j] + last.load[j]);
            self.energies.input += load * (self.reached[j] - last.reach[j]);
        }
    }

    #[inline]
    fn remember(&mut self, now: &Observation) {
        let last = &mut self.last;
        last.displacement.copy_from_slice(now.displacement);
        last.drag.copy_from_slice(&self.drag);
        last.interface.copy_from_slice(now.interface);
        last.force.copy_from_slice(now.force);
        last.load.copy_from_slice(now.load);
        last.reach.copy_from_slice(&self.reached);
    }
}

#[inline]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use model::equations::Deformation;
    use nalgebra::DMatrix;

    use super::*;

    fn one(value: f64) -> DMatrix<f64> {
        DMatrix::from_element(1, 1, value)
    }

    fn monitor(damping: f64, constant_j: f64, stop_at: f64) -> EnergyMonitor {
        let equations = Equations {
            mass: one(2.0),
            damping: one(damping),
            stiffness: one(50.0),
            load: one(-2.0),
            interface: vec![Deformation::of_dof(0)],
            elements: Vec::new(),
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
        });
    }

    #[test]
    fn every_energy_is_what_a_hand_would_sum() {
        let mut monitor = monitor(3.0, 1.0, f64::INFINITY);
        observe(&mut monitor, 0.1, 0.5, -7.0, 4.0);
        observe(&mut monitor, 0.3, 1.0, 9.0, 6.0);
        let energies = *monitor.energies();
        let expected = Energies {
            feedback: 7.0 * 0.2,
            input: -2.0 * 5.0 * 0.2,
            dissipated: 3.0 * 0.75 * 0.2,
            kinetic: 0.5 * 2.0,
            strain: 0.5 * 50.0 * 0.09,
        };
        for (ours, hand) in [
            (energies.feedback, expected.feedback),
            (energies.input, expected.input),
            (energies.dissipated, expected.dissipated),
            (energies.kinetic, expected.kinetic),
            (energies.strain, expected.strain),
            (monitor.stability_warning(), 100.0 * 1.4 / 1.45),
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
    }

    #[test]
    fn watching_never_trips() {
        let mut monitor = monitor(0.0, 0.0, f64::INFINITY);
        observe(&mut monitor, 0.0, 1.0, -7.0, 0.0);
        observe(&mut monitor, 0.2, 1.0, 0.0, 0.0);
        assert_eq!(monitor.stability_warning(), f64::INFINITY);
        assert_eq!(monitor.verdict(), Ok(()));
    }
}
