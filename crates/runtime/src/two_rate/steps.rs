//! The numerical part step by step, through its integrator.

use model::equations::Equations;
use model::integrator::{Hold, Integrator, Method, NotConverged, Options, StepWork};

use super::numerical::{Newest, Numerical};
use super::period::{LoadRule, Period};
use super::{ForceUse, Rates, TwoRateError};
use crate::monitor::{EnergyMonitor, Observation, WorkRule};

/// Integrator and energies: every method, linear or not.
///
/// One step per tick where all samples are used, else one over the whole period
/// with the force held; see [`Rates::stepped`].
///
/// The work of the force is summed as it was integrated: ½ (f + f⁺) Δu over
/// each tick, or the held force times the way of the whole period. Damping and
/// load are summed by the straight rule over the same steps.
pub(super) struct Steps {
    integrator: Integrator,
    elements: usize,
    force: ForceUse,
    loads: usize,
    /// What the load does within a tick; the force always runs straight.
    load_rule: LoadRule,
    energies: EnergyMonitor,
    /// Interface displacement before a step.
    before: Vec<f64>,
    /// The force that is held, or the signals at the end of a tick.
    held: Vec<f64>,
    zeros: Vec<f64>,
    iterations: usize,
    first_order: bool,
}

impl Steps {
    pub(super) fn new(
        equations: &Equations,
        options: &Options,
        rates: &Rates,
    ) -> Result<Self, TwoRateError> {
        let (loads, count) = (equations.load.ncols(), equations.interface.len());
        let held = options.method == Method::Exact(Hold::Zero);
        let load_rule = match rates.force {
            ForceUse::AllSamples if held => LoadRule::Held,
            _ => LoadRule::Straight,
        };
        let (stepped, options) = rates.stepped(equations, options);
        let integrator = Integrator::new(&stepped, &options)?;
        let signals = match rates.force {
            ForceUse::AllSamples => loads + count,
            ForceUse::Average | ForceUse::Last => count,
        };
        Ok(Self {
            integrator,
            elements: equations.elements.len(),
            force: rates.force,
            loads,
            load_rule,
            energies: EnergyMonitor::new(equations, WorkRule::Trapezoid, 1.0, f64::INFINITY),
            before: vec![0.0; count],
            held: vec![0.0; signals],
            zeros: vec![0.0; count],
            iterations: 0,
            first_order: equations.states.is_some(),
        })
    }

    /// The same over a whole period as one product, where that is possible: a
    /// linear model whose state is displacement and velocity of one instant.
    pub(super) fn period(
        &self,
        equations: &Equations,
        options: &Options,
        ratio: usize,
    ) -> Option<Period> {
        let plain =
            matches!(options.method, Method::RungeKutta4 | Method::Exact(_) | Method::Newmark);
        let step = self.integrator.linear_step()?;
        let (states, signals) = (step.transition.nrows(), self.width());
        let (rows, columns) = (states + signals * ratio, states + signals * (ratio + 1));
        // For a small model and a great ratio the steps are the cheaper way.
        let cheaper = rows * columns <= ratio * (states + 8) * (states + 2 * signals);
        (plain && cheaper && self.force == ForceUse::AllSamples)
            .then(|| Period::new(equations, step, ratio, self.load_rule))
    }

    /// Signals of a tick.
    fn width(&self) -> usize {
        self.loads + self.zeros.len()
    }

    fn tick_by_tick(&mut self, rows: &[f64]) -> Result<f64, NotConverged> {
        let width = self.width();
        let mut feedback = 0.0;
        for (now, next) in rows.chunks_exact(width).zip(rows.chunks_exact(width).skip(1)) {
            self.before.copy_from_slice(&self.integrator.interface().displacement);
            self.held.copy_from_slice(next);
            if self.load_rule == LoadRule::Held {
                self.held[..self.loads].copy_from_slice(&now[..self.loads]);
            }
            self.zeros.fill(0.0);
            self.integrator.advance(now, &self.held, &self.zeros)?;
            self.iterations += self.integrator.iterations();
            let forces = now[self.loads..].iter().zip(&next[self.loads..]);
            let moved = self.integrator.interface().displacement.iter().zip(&self.before);
            let before = feedback;
            for ((f0, f), (u, u0)) in forces.zip(moved) {
                feedback -= 0.5 * (f0 + f) * (u - u0);
            }
            self.observe(&next[..self.loads], feedback - before);
        }
        Ok(feedback)
    }

    fn at_once(&mut self, rows: &[f64]) -> Result<f64, NotConverged> {
        let width = self.width();
        let steps = rows.len() / width - 1;
        let (first, last) = (&rows[..width], &rows[steps * width..]);
        self.before.copy_from_slice(&self.integrator.interface().displacement);
        for (i, held) in self.held.iter_mut().enumerate() {
            let at = self.loads + i;
            *held = match self.force {
                ForceUse::Last => first[at],
                _ => {
                    let inner: f64 = (1..steps).map(|row| rows[row * width + at]).sum();
                    (0.5 * (first[at] + last[at]) + inner) / steps as f64
                }
            };
        }
        let (load, next) = (&first[..self.loads], &last[..self.loads]);
        self.integrator.advance(load, next, &self.held)?;
        self.iterations = self.integrator.iterations();
        let moved = self.integrator.interface().displacement.iter().zip(&self.before);
        let feedback = self.held.iter().zip(moved).map(|(f, (u, u0))| -f * (u - u0)).sum();
        self.observe(next, 0.0);
        Ok(feedback)
    }

    /// Sums damping and load over the last step. `among` is what the step's own
    /// works count as a load's and is none.
    fn observe(&mut self, load: &[f64], among: f64) {
        self.zeros.fill(0.0);
        // Of a first-order model the integrator alone knows what a load works on.
        let known = self.integrator.step_work(&self.zeros).filter(|_| self.first_order);
        let work = known.map(|work| StepWork { input: work.input - among, ..work });
        self.energies.observe(&Observation {
            displacement: self.integrator.displacement(),
            velocity: self.integrator.velocity(),
            interface: &self.zeros,
            load,
            force: &self.zeros,
            elements: self.integrator.element_energy(self.elements),
            work,
        });
    }
}

impl Numerical for Steps {
    fn newest(&self) -> Newest<'_> {
        Newest {
            interface: self.integrator.interface(),
            displacement: self.integrator.displacement(),
            velocity: self.integrator.velocity(),
            elements: self.integrator.element_energy(self.elements),
            iterations: self.iterations,
        }
    }

    fn rest(&mut self, load: &[f64]) {
        match self.force {
            ForceUse::AllSamples => self.integrator.rest(&[load, &self.zeros].concat()),
            ForceUse::Average | ForceUse::Last => self.integrator.rest(load),
        }
        self.observe(load, 0.0);
    }

    fn equilibrium(&mut self, signals: &[f64]) {
        match self.force {
            ForceUse::AllSamples => {
                self.zeros.fill(0.0);
                self.integrator.equilibrium(signals, &mut self.zeros);
            }
            ForceUse::Average | ForceUse::Last => {
                let (load, force) = signals.split_at(self.loads);
                self.held.copy_from_slice(force);
                self.integrator.equilibrium(load, &mut self.held);
            }
        }
    }

    fn advance(&mut self, rows: &[f64]) -> Result<StepWork, NotConverged> {
        self.iterations = 0;
        // What nonlinear elements take is told apart.
        let works = |energies: &EnergyMonitor| (energies.linear_dissipated, energies.input);
        let (dissipated, input) = works(&self.energies);
        let feedback = match self.force {
            ForceUse::AllSamples => self.tick_by_tick(rows)?,
            ForceUse::Average | ForceUse::Last => self.at_once(rows)?,
        };
        let now = works(&self.energies);
        Ok(StepWork {
            dissipated: now.0 - dissipated,
            input: now.1 - input,
            feedback_held: feedback,
            feedback_straight: feedback,
        })
    }
}
