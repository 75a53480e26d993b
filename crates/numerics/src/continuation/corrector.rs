//! Newton-like correction with few evaluations.

use super::jacobian::{Difference, Jacobian};
use super::{Evaluation, Problem, Space, norm};

/// When the Jacobian is measured anew.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Refresh {
    /// At the first correction of every point.
    EveryPoint,
    /// When a correction left more than this share of the residual; else
    /// Broyden's updates carry it from point to point.
    WhenSlow {
        /// Between 0 and 1.
        share: f64,
    },
}

/// How a point is corrected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corrector {
    /// ‖residual‖ at which a point is accepted, in the residual's unit.
    pub tolerance: f64,
    /// The tolerance is never below this many standard deviations of the residual.
    pub floor: f64,
    /// Corrections before a step counts as failed.
    pub most_iterations: usize,
    /// Halvings of a correction that did not lower the residual.
    pub most_halvings: usize,
    /// When the Jacobian is measured.
    pub refresh: Refresh,
    /// How.
    pub difference: Difference,
}

/// A corrected point, or how far it came.
pub(super) struct Corrected {
    pub(super) at: Vec<f64>,
    pub(super) evaluation: Evaluation,
    pub(super) jacobian: Option<Jacobian>,
    pub(super) iterations: usize,
    pub(super) evaluations: usize,
    pub(super) converged: bool,
}

impl Corrector {
    /// The norm at which this evaluation counts as a root.
    pub fn accepted(&self, evaluation: &Evaluation) -> f64 {
        self.tolerance.max(self.floor * evaluation.noise())
    }

    /// From `guess` (scaled) to a root in the plane through it whose normal is `row`.
    pub(super) fn correct<P: Problem>(
        &self,
        problem: &mut P,
        space: &Space,
        guess: Vec<f64>,
        row: &[f64],
        jacobian: Option<Jacobian>,
    ) -> Result<Corrected, P::Error> {
        let evaluation = problem.evaluate(&space.real(&guess))?;
        let mut now = Corrected {
            at: guess,
            evaluation,
            jacobian,
            iterations: 0,
            evaluations: 1,
            converged: false,
        };
        let mut fresh = false;
        loop {
            if !now.evaluation.is_finite() {
                return Ok(now);
            }
            if now.evaluation.norm() <= self.accepted(&now.evaluation) {
                now.converged = true;
                return Ok(now);
            }
            if now.iterations >= self.most_iterations {
                return Ok(now);
            }
            let wanted = match self.refresh {
                Refresh::EveryPoint => now.iterations == 0,
                Refresh::WhenSlow { .. } => now.jacobian.is_none(),
            };
            if wanted && !self.refresh_jacobian(problem, space, row, &mut now)? {
                return Ok(now);
            }
            fresh |= wanted;
            let before = now.evaluation.norm();
            let lowered = self.step(problem, space, row, &mut now)?;
            let slow = match self.refresh {
                Refresh::WhenSlow { share } => now.evaluation.norm() > share * before,
                Refresh::EveryPoint => now.evaluation.norm() > 0.5 * before,
            };
            let done = now.evaluation.norm() <= self.accepted(&now.evaluation);
            if slow && !done {
                // A Jacobian measured at this very point and still useless: give up.
                if fresh && !lowered {
                    return Ok(now);
                }
                if !self.refresh_jacobian(problem, space, row, &mut now)? {
                    return Ok(now);
                }
                fresh = true;
            }
        }
    }

    /// Measures the columns that matter: where the parameter is fixed (`row`
    /// points along it alone), its own column is left as it is.
    fn refresh_jacobian<P: Problem>(
        &self,
        problem: &mut P,
        space: &Space,
        row: &[f64],
        now: &mut Corrected,
    ) -> Result<bool, P::Error> {
        let unknowns = now.at.len();
        let fixed = row[..unknowns - 1].iter().all(|&r| r == 0.0);
        let columns = 0..if fixed { unknowns - 1 } else { unknowns };
        let measured = Jacobian::measure(
            problem,
            space,
            self.difference,
            &now.at,
            &now.evaluation,
            columns,
            now.jacobian.as_ref(),
        )?;
        let Some((jacobian, evaluations)) = measured else { return Ok(false) };
        now.jacobian = Some(jacobian);
        now.evaluations += evaluations;
        Ok(true)
    }

    /// One correction, halved until it lowers the residual. Whether it did.
    fn step<P: Problem>(
        &self,
        problem: &mut P,
        space: &Space,
        row: &[f64],
        now: &mut Corrected,
    ) -> Result<bool, P::Error> {
        now.iterations += 1;
        let Some(jacobian) = &mut now.jacobian else { return Ok(false) };
        let Some(full) = jacobian.solve(row, &now.evaluation.residual, 0.0) else {
            return Ok(false);
        };
        let mut damping = 1.0;
        for _ in 0..=self.most_halvings {
            let step: Vec<f64> = full.iter().map(|s| damping * s).collect();
            let there: Vec<f64> = now.at.iter().zip(&step).map(|(w, s)| w + s).collect();
            damping *= 0.5;
            if !space.allows(&space.real(&there)) {
                continue;
            }
            let tried = problem.evaluate(&space.real(&there))?;
            now.evaluations += 1;
            if !tried.is_finite() {
                continue;
            }
            let change: Vec<f64> =
                tried.residual.iter().zip(&now.evaluation.residual).map(|(b, a)| b - a).collect();
            let noise = norm(&[tried.noise(), now.evaluation.noise()]);
            jacobian.update(&step, &change, 3.0 * noise);
            if tried.norm() < now.evaluation.norm() || tried.norm() <= self.accepted(&tried) {
                now.at = there;
                now.evaluation = tried;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
