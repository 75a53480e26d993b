//! Newton-like correction with few evaluations.

use super::jacobian::{self, Difference};
use super::{Evaluation, Problem, Space, norm};
use crate::{Matrix, Vector};

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
    pub(super) at: Vector,
    pub(super) evaluation: Evaluation,
    pub(super) jacobian: Option<Matrix>,
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
        guess: Vector,
        row: &Vector,
        jacobian: Option<Matrix>,
    ) -> Result<Corrected, P::Error> {
        let mut now = Corrected {
            evaluation: problem.evaluate(&space.real(&guess))?,
            at: guess,
            jacobian,
            iterations: 0,
            evaluations: 1,
            converged: false,
        };
        // Where the parameter is fixed (`row` points along it alone), its own column
        // stays as it is.
        let last = row.len() - 1;
        let fixed = row.rows(0, last).iter().all(|&r| r == 0.0);
        let columns = 0..if fixed { last } else { last + 1 };
        // What of the residual a correction may leave before the Jacobian is measured anew.
        let (every_point, share) = match self.refresh {
            Refresh::EveryPoint => (true, 0.5),
            Refresh::WhenSlow { share } => (false, share),
        };
        let mut fresh = false;
        while now.evaluation.is_finite() {
            now.converged = self.accepts(&now.evaluation);
            if now.converged || now.iterations >= self.most_iterations {
                break;
            }
            let wanted = if every_point { now.iterations == 0 } else { now.jacobian.is_none() };
            if wanted {
                if !self.difference.measure(problem, space, &mut now, columns.clone())? {
                    break;
                }
                fresh = true;
            }
            let before = now.evaluation.norm();
            let lowered = self.step(problem, space, row, &mut now)?;
            if now.evaluation.norm() > share * before && !self.accepts(&now.evaluation) {
                // A Jacobian measured at this very point and still useless: give up.
                if fresh && !lowered
                    || !self.difference.measure(problem, space, &mut now, columns.clone())?
                {
                    break;
                }
                fresh = true;
            }
        }
        Ok(now)
    }

    fn accepts(&self, evaluation: &Evaluation) -> bool {
        evaluation.norm() <= self.accepted(evaluation)
    }

    /// One correction, halved until it lowers the residual. Whether it did.
    fn step<P: Problem>(
        &self,
        problem: &mut P,
        space: &Space,
        row: &Vector,
        now: &mut Corrected,
    ) -> Result<bool, P::Error> {
        now.iterations += 1;
        let Some(known) = &mut now.jacobian else { return Ok(false) };
        let Some(mut step) = jacobian::solve(known, row, &now.evaluation.residual, 0.0) else {
            return Ok(false);
        };
        for _ in 0..=self.most_halvings {
            let there = &now.at + &step;
            if space.allows_scaled(&there) {
                let tried = problem.evaluate(&space.real(&there))?;
                now.evaluations += 1;
                if tried.is_finite() {
                    let change = tried.change_since(&now.evaluation);
                    let noise = norm(&[tried.noise(), now.evaluation.noise()]);
                    jacobian::update(known, &step, &change, 3.0 * noise);
                    if tried.norm() < now.evaluation.norm() || self.accepts(&tried) {
                        now.at = there;
                        now.evaluation = tried;
                        return Ok(true);
                    }
                }
            }
            step *= 0.5;
        }
        Ok(false)
    }
}
