//! The numerical part over one period of the main loop.

use model::equations::Equations;
use model::integrator::{ElementEnergy, NotConverged, Options, StepWork};
use model::motion::Motion;

use super::steps::Steps;
use super::{Rates, TwoRateError};

/// The numerical part at the rate of the main loop: one step after the other, or,
/// for a linear model, all of a period at once.
pub(super) trait Numerical: Send {
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

#[cfg(test)]
mod tests {
    use model::equations::RelativeDof;
    use model::integrator::{Hold, Method};
    use model::predictor::Design;
    use nalgebra::DMatrix;
    use numerics::second_order::SecondOrder;

    use super::*;
    use crate::two_rate::{ForceUse, Lead};

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
