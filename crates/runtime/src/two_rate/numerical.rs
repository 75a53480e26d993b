//! The numerical part over one period of the main loop.

use model::equations::Equations;
use model::integrator::{ElementEnergy, Hold, Integrator, Method, NotConverged, Options, StepWork};
use model::motion::Motion;

use super::period::{LoadRule, Period};
use super::{ForceUse, Rates, TwoRateError};
use crate::monitor::{EnergyMonitor, Observation, WorkRule};

/// The numerical part at the rate of the main loop: one step after the other, or,
/// for a linear model, all of a period at once.
pub(super) trait Numerical: Send {
    /// How far the velocity lies behind the displacement, s.
    fn velocity_lag_s(&self) -> f64 {
        0.0
    }

    /// The newest instant.
    fn newest(&self) -> Newest<'_>;

    /// At rest under the load of the first instant, not in the loop.
    fn rest(&mut self, load: &[f64]);

    /// Balances the forces of the newest instant: `signals` are load and force.
    fn equilibrium(&mut self, signals: &[f64]);

    /// Goes one period on. `rows` holds one row of load and force per tick, the
    /// first at its start and the last at its end.
    fn advance(&mut self, rows: &[f64]) -> Result<StepWork, NotConverged>;
}

/// The numerical part at the newest instant.
pub(super) struct Newest<'a> {
    /// Its acceleration is that of the last [`equilibrium`](Numerical::equilibrium).
    pub(super) interface: &'a Motion,
    /// Of every DOF.
    pub(super) displacement: &'a [f64],
    pub(super) velocity: &'a [f64],
    /// Of the nonlinear elements.
    pub(super) elements: ElementEnergy,
    /// Of the last period.
    pub(super) iterations: usize,
}

/// The numerical part by the cheaper way.
pub(super) fn numerical(
    equations: &Equations,
    options: &Options,
    rates: &Rates,
) -> Result<Box<dyn Numerical>, TwoRateError> {
    let steps = Steps::new(equations, options, rates)?;
    Ok(match steps.period(equations, options, rates.ratio) {
        Some(period) => Box::new(period),
        None => Box::new(steps),
    })
}

/// Integrator and energies: every method, linear or not.
///
/// One step per tick where all samples are used, else one over the whole period
/// with the force held; see [`Rates::stepped`].
///
/// The work of the force is summed as it was integrated: ½ (f + f⁺) Δu over
/// each tick, or the held force times the way of the whole period. Damping and
/// load are summed by the straight rule over the same steps.
struct Steps {
    integrator: Integrator,
    elements: usize,
    force: ForceUse,
    loads: usize,
    /// What the load does within a tick; the force always runs straight.
    load_rule: LoadRule,
    energies: EnergyMonitor,
    /// The weight of the force at the end of a tick in its work, where all samples are used.
    force_share: f64,
    /// Whether the force of an instant acts from half a step before it to half a step behind it.
    lags: bool,
    /// Interface displacement before a step, and the way of the step before that.
    before: Vec<f64>,
    way: Vec<f64>,
    /// The force that is held, or the signals at the end of a tick.
    held: Vec<f64>,
    zeros: Vec<f64>,
    iterations: usize,
    first_order: bool,
}

impl Steps {
    fn new(equations: &Equations, options: &Options, rates: &Rates) -> Result<Self, TwoRateError> {
        let (loads, count) = (equations.load.ncols(), equations.interface.len());
        let held = options.method == Method::Exact(Hold::Zero);
        let load_rule = match rates.force {
            ForceUse::AllSamples if held => LoadRule::Held,
            _ => LoadRule::Straight,
        };
        let (stepped, options) = rates.stepped(equations, options);
        let integrator = Integrator::new(&stepped, &options)?;
        let of_load =
            if load_rule == LoadRule::Held { Method::Exact(Hold::Zero) } else { options.method };
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
            energies: EnergyMonitor::new(equations, WorkRule::Trapezoid, 1.0, f64::INFINITY)
                .for_method(of_load, 0.0, equations),
            force_share: if options.method == Method::ImplicitEuler { 1.0 } else { 0.5 },
            lags: matches!(options.method, Method::ChenRicles | Method::KolayRicles { .. }),
            way: vec![0.0; count],
            before: vec![0.0; count],
            held: vec![0.0; signals],
            zeros: vec![0.0; count],
            iterations: 0,
            first_order: equations.states.is_some(),
        })
    }

    /// The same over a whole period as one product, where that is possible: a
    /// linear model whose state is displacement and velocity of one instant.
    fn period(&self, equations: &Equations, options: &Options, ratio: usize) -> Option<Period> {
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
                feedback -= ((1.0 - self.force_share) * f0 + self.force_share * f) * (u - u0);
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
        let mut feedback = 0.0;
        for ((f, (u, u0)), way) in self.held.iter().zip(moved).zip(&mut self.way) {
            let last = std::mem::replace(way, u - u0);
            feedback -= f * if self.lags { 0.5 * (last + *way) } else { *way };
        }
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
            age: 0,
        });
    }
}

impl Numerical for Steps {
    fn velocity_lag_s(&self) -> f64 {
        self.integrator.velocity_lag_s()
    }

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
        self.way.fill(0.0);
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

#[cfg(test)]
mod tests {
    use model::equations::RelativeDof;
    use model::predictor::Design;
    use nalgebra::DMatrix;
    use numerics::second_order::SecondOrder;

    use super::*;
    use crate::two_rate::Lead;

    /// With averaged forces the load runs straight over the long step, whatever
    /// the method holds within a tick: a held one would be late by half a period,
    /// just what averaging is to mend.
    #[test]
    fn averaged_forces_meet_a_straight_load() {
        let one = DMatrix::from_element(1, 1, 1.0);
        let equations = Equations {
            matrices: SecondOrder { mass: one.clone(), damping: 0.0 * &one, stiffness: 0.0 * &one },
            load: one,
            interface: vec![RelativeDof { from: None, to: Some(0) }],
            elements: Vec::new(),
            states: None,
        };
        let rates = Rates {
            ratio: 10,
            task_ticks: 1,
            force: ForceUse::Average,
            lead: Lead::None,
            bridge: 0,
            predictor: Design::Hermite,
            step_time: None,
        };
        for method in [Method::Exact(Hold::Zero), Method::Exact(Hold::First)] {
            let options = Options { method, step_s: 0.1, direct_inertia: None, iterations: 1 };
            // ẍ = s(t) − f(t) from rest over one second, s and f straight.
            let end = |s: f64, f: f64| {
                let mut part = numerical(&equations, &options, &rates).unwrap();
                part.rest(&[0.0]);
                let rows: Vec<f64> = (0..=10)
                    .flat_map(|k| [0.1 * s * f64::from(k), 0.1 * f * f64::from(k)])
                    .collect();
                part.advance(&rows).unwrap();
                (part.newest().displacement[0], part.newest().velocity[0])
            };
            let (x, v) = end(1.0, 0.0);
            assert!(
                (x - 1.0 / 6.0).abs() < 1e-12 && (v - 0.5).abs() < 1e-12,
                "{method:?}: {x} {v}"
            );
            // The force by its mean: right in velocity.
            assert!((end(0.0, 1.0).1 + 0.5).abs() < 1e-12, "{method:?}");
            assert!(end(1.0, 1.0).1.abs() < 1e-12, "{method:?}: they balance");
        }
    }

    /// One product over a period is its steps, with their works.
    #[test]
    fn a_period_at_once_is_its_steps() {
        let equations = Equations {
            matrices: SecondOrder {
                mass: DMatrix::from_row_slice(2, 2, &[2.0, 0.1, 0.1, 1.0]),
                damping: DMatrix::from_row_slice(2, 2, &[3.0, -1.0, -1.0, 1.0]),
                stiffness: DMatrix::from_row_slice(2, 2, &[900.0, -300.0, -300.0, 300.0]),
            },
            load: DMatrix::from_row_slice(2, 2, &[-2.0, 0.0, -1.0, 5.0]),
            interface: vec![RelativeDof { from: Some(0), to: Some(1) }],
            elements: Vec::new(),
            states: None,
        };
        let rates = Rates {
            ratio: 7,
            task_ticks: 1,
            force: ForceUse::AllSamples,
            lead: Lead::None,
            bridge: 0,
            predictor: Design::Hermite,
            step_time: None,
        };
        for method in [
            Method::RungeKutta4,
            Method::Exact(Hold::Zero),
            Method::Exact(Hold::First),
            Method::Newmark,
        ] {
            let options = Options { method, step_s: 1e-3, direct_inertia: None, iterations: 1 };
            let mut steps = Steps::new(&equations, &options, &rates).unwrap();
            let mut period = steps.period(&equations, &options, 7).unwrap();
            steps.rest(&[0.0, 0.0]);
            period.rest(&[0.0, 0.0]);
            let mut sums = [[0.0; 3]; 2];
            for k in 0..200 {
                let mut rows = Vec::new();
                for tick in 0..=7 {
                    let t = 1e-3 * f64::from(7 * k + tick);
                    rows.extend([(9.0 * t).sin(), (31.0 * t).cos() - 1.0, 20.0 * (17.0 * t).sin()]);
                }
                let works = [steps.advance(&rows).unwrap(), period.advance(&rows).unwrap()];
                for (sum, work) in sums.iter_mut().zip(works) {
                    sum[0] += work.dissipated;
                    sum[1] += work.input;
                    sum[2] += work.feedback_held;
                }
                steps.equilibrium(&rows[21..]);
                period.equilibrium(&rows[21..]);
                let ends = [steps.newest().interface.of(0), period.newest().interface.of(0)];
                for (a, b) in ends[0].iter().zip(ends[1]) {
                    assert!((a - b).abs() < 1e-11 * a.abs().max(1.0), "{method:?} {k}: {ends:?}");
                }
                for (a, b) in steps.newest().velocity.iter().zip(period.newest().velocity) {
                    assert!((a - b).abs() < 1e-12, "{method:?} {k}");
                }
            }
            // A held load is held in the works of the one and straight, half a step
            // earlier, in those of the other: ωh/2 of the work that goes to and fro.
            // Damping is summed by the straight rule in one: v² at twice the
            // fastest load's 31 rad/s is off by (2ωh)²/12.
            let held = if method == Method::Exact(Hold::Zero) { 2e-2 } else { 1e-5 };
            let straight = (2.0 * 31.0 * 1e-3f64).powi(2) / 12.0;
            let exchanged = sums[0].iter().fold(0.0, |most: f64, work| most.max(work.abs()));
            for (i, (a, b)) in sums[0].iter().zip(sums[1]).enumerate() {
                let tolerance = if i == 0 { straight } else { held };
                assert!((a - b).abs() < tolerance * exchanged, "{method:?} {i}: {sums:?}");
            }
        }
    }
}
